//! Captures of what crosses a link, for Wireshark: nanosecond time stamps, no FCS.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use thiserror::Error;

/// A capture file can't be written.
#[derive(Debug, Error)]
#[error("can't write capture {}: {source}", path.display())]
pub struct CaptureError {
    path: PathBuf,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// A capture file being written.
pub struct Capture {
    path: PathBuf,
    writer: PcapWriter<BufWriter<File>>,
    frames: u64,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture")
            .field("path", &self.path)
            .field("frames", &self.frames)
            .finish_non_exhaustive()
    }
}

impl Capture {
    /// Creates the file, replacing an old one.
    ///
    /// # Errors
    /// The file can't be created or written.
    pub fn create(path: &Path) -> Result<Self, CaptureError> {
        let error = |source: Box<dyn std::error::Error + Send + Sync>| CaptureError {
            path: path.to_owned(),
            source,
        };
        let file = File::create(path).map_err(|e| error(e.into()))?;
        let header = PcapHeader {
            snaplen: 0x4_0000,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::native(),
            ..PcapHeader::default()
        };
        let writer =
            PcapWriter::with_header(BufWriter::new(file), header).map_err(|e| error(e.into()))?;
        Ok(Self {
            path: path.to_owned(),
            writer,
            frames: 0,
        })
    }

    /// Adds a frame; `frame` includes the FCS, which is left out.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write(&mut self, time_fs: u64, frame: &[u8]) -> Result<(), CaptureError> {
        let data = &frame[..frame.len().saturating_sub(4)];
        let packet = PcapPacket::new(
            Duration::from_nanos(time_fs / crate::time::NS_FS),
            data.len() as u32,
            data,
        );
        self.frames += 1;
        self.writer
            .write_packet(&packet)
            .map_err(|source| CaptureError {
                path: self.path.clone(),
                source: source.into(),
            })?;
        Ok(())
    }

    /// Frames written.
    pub fn frames(&self) -> u64 {
        self.frames
    }
}

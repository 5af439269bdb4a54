//! Frames, as bytes and as beats.

use ferroce_abi::icrc::fcs;
use ferroce_emit::prelude::*;
use ferroce_rtl::stream::Beat;
use rand::Rng;

/// `len` random bytes.
pub fn noise(len: usize, random: &mut impl Rng) -> Vec<u8> {
    let mut bytes = vec![0; len];
    random.fill_bytes(&mut bytes);
    bytes
}

/// A frame as it must arrive: padded.
pub fn padded(frame: &[u8]) -> Vec<u8> {
    let mut padded = frame.to_vec();
    padded.resize(frame.len().max(60), 0);
    padded
}

/// A frame as it is on the wire: padded, with FCS.
pub fn on_wire(frame: &[u8]) -> Vec<u8> {
    with_fcs(&padded(frame))
}

/// With FCS, not padded.
pub fn with_fcs(frame: &[u8]) -> Vec<u8> {
    [frame, &fcs(frame)].concat()
}

/// The beats of a frame, with noise beyond its end.
pub fn beats(frame: &[u8], random: &mut impl Rng) -> Vec<Beat> {
    let count = frame.len().div_ceil(64);
    frame
        .chunks(64)
        .enumerate()
        .map(|(index, chunk)| {
            let mut bytes = noise(64, random);
            bytes[..chunk.len()].copy_from_slice(chunk);
            let words: Vec<u32> = bytes
                .chunks(4)
                .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
                .collect();
            Beat {
                data: unpack(&words),
                len: (chunk.len() as u64).into(),
                last: index + 1 == count,
                err: false,
            }
        })
        .collect()
}

/// Puts frames together from beats.
#[derive(Default)]
pub struct Collector {
    /// Complete frames.
    pub frames: Vec<Vec<u8>>,
    present: Vec<u8>,
}

impl Collector {
    /// Takes a beat; an undamaged one of legal shape is expected.
    pub fn take(&mut self, beat: &Beat) {
        let len = beat.len.index();
        assert!(
            len == 64 || beat.last && (1..64).contains(&len),
            "{len} bytes"
        );
        assert!(!beat.err, "a damaged frame");
        let bytes = pack(&beat.data);
        let bytes = bytes.iter().flat_map(|word| word.to_le_bytes());
        self.present.extend(bytes.take(len));
        if beat.last {
            self.frames.push(std::mem::take(&mut self.present));
        }
    }

    /// Whether the last beat was not the last of its frame.
    pub fn is_inside(&self) -> bool {
        !self.present.is_empty()
    }
}

/// Compares frames; a difference is told by number and length, not by pages of bytes.
pub fn assert_frames(found: &[Vec<u8>], expected: &[Vec<u8>]) {
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.len(), expected.len(), "length of frame {index}");
        let at = found.iter().zip(expected).position(|(f, e)| f != e);
        assert_eq!(at, None, "frame {index} of {} bytes", expected.len());
    }
    assert_eq!(found.len(), expected.len(), "number of frames");
}

//! Building frames.

use super::{Frame, Ip, Packet};
use crate::headers::net::MIN_FRAME;
use crate::headers::{Bth, Ipv4, Udp, WireHeader};
use crate::icrc;

/// Why a frame cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The extension headers are not those of the opcode.
    #[error("the extension headers do not belong to opcode {0:#04x}")]
    Extensions(u8),
    /// The lengths do not fit the 16-bit fields.
    #[error("a payload of {0} bytes does not fit an IP packet")]
    TooLong(usize),
    /// Not enough bytes, or no IPv4 or IPv6 packet.
    #[error("the bytes are no RoCE packet")]
    NotRoce,
}

impl Packet {
    /// BTH, extension headers, payload and pad.
    fn put(&self, out: &mut Vec<u8>) {
        let pad = self.payload.len().wrapping_neg() & 3;
        Bth {
            pad: pad as u8,
            ..self.bth
        }
        .put(out);
        let ext = &self.ext;
        if let Some(h) = &ext.deth {
            h.put(out);
        }
        if let Some(h) = &ext.xrceth {
            h.put(out);
        }
        if let Some(h) = &ext.reth {
            h.put(out);
        }
        if let Some(h) = &ext.atomic {
            h.put(out);
        }
        if let Some(h) = &ext.aeth {
            h.put(out);
        }
        if let Some(h) = &ext.atomic_ack {
            h.put(out);
        }
        for word in [ext.imm, ext.ieth].into_iter().flatten() {
            out.extend_from_slice(&word);
        }
        if self.is_cnp() {
            out.extend_from_slice(&[0; 16]);
        }
        out.extend_from_slice(&self.payload);
        out.resize(out.len() + pad, 0);
    }
}

impl Frame {
    /// The bytes from the destination MAC to the ICRC. Lengths, pad count, EtherType, IPv4 checksum and
    /// ICRC are computed; everything else is taken as it is. The extension headers of an unknown opcode are
    /// not checked.
    ///
    /// # Errors
    /// [`BuildError`] when the headers do not fit the opcode or the payload is too long.
    pub fn encode(&self) -> Result<Vec<u8>, BuildError> {
        if let Some(opcode) = self.packet.opcode() {
            if !self.packet.ext.fit(opcode) {
                return Err(BuildError::Extensions(opcode.byte()));
            }
        }
        let too_long = |_| BuildError::TooLong(self.packet.payload.len());
        let mut transport = Vec::new();
        self.packet.put(&mut transport);
        let udp_len = Udp::BYTES + transport.len() + icrc::BYTES;
        let udp = Udp {
            len: u16::try_from(udp_len).map_err(too_long)?,
            ..self.udp
        };
        let mut packet = Vec::new();
        match self.ip {
            Ip::V4(mut ip) => {
                ip.total_len = u16::try_from(Ipv4::BYTES + udp_len).map_err(too_long)?;
                ip.checksum = ip.computed_checksum();
                ip.put(&mut packet);
            }
            Ip::V6(mut ip) => {
                ip.payload_len = udp.len;
                ip.put(&mut packet);
            }
        }
        udp.put(&mut packet);
        packet.extend_from_slice(&transport);
        let crc = icrc::icrc(&packet).ok_or(BuildError::NotRoce)?;
        packet.extend_from_slice(&crc);

        let mut eth = self.eth;
        eth.ethertype = Self::ethertype_of(&self.ip);
        let mut frame = Vec::with_capacity(18 + packet.len());
        eth.put(&mut frame);
        frame.extend_from_slice(&packet);
        Ok(frame)
    }
}

/// Recomputes the ICRC (the last four bytes) of an untagged frame whose other bytes were changed.
///
/// # Errors
/// [`BuildError::NotRoce`] when the frame is too short or not IPv4 or IPv6.
pub fn reseal(frame: &mut [u8]) -> Result<(), BuildError> {
    const ETHERNET: usize = 14;
    let end = frame
        .len()
        .checked_sub(icrc::BYTES)
        .filter(|&end| end >= ETHERNET)
        .ok_or(BuildError::NotRoce)?;
    let crc = icrc::icrc(&frame[ETHERNET..end]).ok_or(BuildError::NotRoce)?;
    frame[end..].copy_from_slice(&crc);
    Ok(())
}

/// The frame as it goes over the wire: padded to 60 bytes, FCS appended.
pub fn on_wire(mut frame: Vec<u8>) -> Vec<u8> {
    frame.resize(frame.len().max(MIN_FRAME), 0);
    let fcs = icrc::fcs(&frame);
    frame.extend_from_slice(&fcs);
    frame
}

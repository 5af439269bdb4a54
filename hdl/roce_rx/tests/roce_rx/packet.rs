//! RoCEv2 frames, built byte by byte from the wire formats.

use crc::{Crc, CRC_32_ISO_HDLC};
use ferroce_abi::opcode::rc;

/// The card's addresses.
pub const CARD_MAC: [u8; 6] = [0x02, 0x46, 0x52, 0, 0, 0x0B];
pub const CARD_IP: [u8; 4] = [10, 0, 0, 2];
/// The peer's.
pub const PEER_IP: [u8; 4] = [10, 0, 0, 1];

/// Syndrome of an ACK without credits.
pub const ACK: u8 = 0x1F;
/// Syndrome of a NAK for a PSN sequence error.
pub const SEQUENCE: u8 = 0x60;

/// A packet; fields left alone make a right one.
#[derive(Clone, Debug)]
pub struct Packet {
    pub dmac: [u8; 6],
    pub source: [u8; 4],
    pub destination: [u8; 4],
    pub tos: u8,
    pub ttl: u8,
    pub udp_checksum: u16,
    pub opcode: u8,
    pub se: bool,
    pub pad: Option<u8>,
    pub tver: u8,
    pub pkey: u16,
    pub qpn: u32,
    pub ackreq: bool,
    pub psn: u32,
    pub va: u64,
    pub rkey: u32,
    pub dma_len: Option<u32>,
    pub imm: [u8; 4],
    pub syndrome: u8,
    pub msn: u32,
    pub payload: Vec<u8>,
    /// Bytes after the packet, beyond the padding to 60.
    pub trailer: usize,
}

impl Default for Packet {
    fn default() -> Self {
        Self {
            dmac: CARD_MAC,
            source: PEER_IP,
            destination: CARD_IP,
            tos: 2,
            ttl: 64,
            udp_checksum: 0,
            opcode: rc::SEND_ONLY,
            se: false,
            pad: None,
            tver: 0,
            pkey: 0xFFFF,
            qpn: 0,
            ackreq: true,
            psn: 0,
            va: 0,
            rkey: 0,
            dma_len: None,
            imm: [0; 4],
            syndrome: 0x1F,
            msn: 0,
            payload: Vec::new(),
            trailer: 0,
        }
    }
}

/// How many payload bytes precede the end in pad, for alignment.
fn natural_pad(len: usize) -> u8 {
    (len.wrapping_neg() & 3) as u8
}

/// One's complement sum of 16-bit words, inverted.
pub fn ip_checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = header
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// ICRC of an Ethernet frame that ends before it.
pub fn icrc(frame: &[u8]) -> u32 {
    let mut covered = vec![0xFF; 8];
    covered.extend_from_slice(&frame[14..]);
    let at = |offset: usize| offset - 14 + 8;
    for offset in [15, 22, 24, 25, 40, 41, 46] {
        covered[at(offset)] = 0xFF;
    }
    Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(&covered)
}

impl Packet {
    fn operation(&self) -> u8 {
        self.opcode & 0x1F
    }

    /// Bytes between BTH and payload.
    fn extension(&self) -> Vec<u8> {
        let reth = || {
            let mut bytes = self.va.to_be_bytes().to_vec();
            bytes.extend(self.rkey.to_be_bytes());
            let len = self.dma_len.unwrap_or(self.payload.len() as u32);
            bytes.extend(len.to_be_bytes());
            bytes
        };
        let aeth = || [&[self.syndrome], &self.msn.to_be_bytes()[1..]].concat();
        match self.operation() {
            rc::WRITE_FIRST | rc::WRITE_ONLY | rc::READ_REQUEST => reth(),
            rc::WRITE_ONLY_IMM => [reth(), self.imm.to_vec()].concat(),
            rc::SEND_LAST_IMM | rc::SEND_ONLY_IMM | rc::WRITE_LAST_IMM => self.imm.to_vec(),
            rc::SEND_LAST_INV | rc::SEND_ONLY_INV => self.imm.to_vec(),
            rc::READ_RESPONSE_FIRST | rc::READ_RESPONSE_LAST | rc::READ_RESPONSE_ONLY => aeth(),
            rc::ACKNOWLEDGE => aeth(),
            rc::ATOMIC_ACKNOWLEDGE => [aeth(), vec![0; 8]].concat(),
            rc::CMP_SWAP | rc::FETCH_ADD => {
                let mut bytes = self.va.to_be_bytes().to_vec();
                bytes.extend(self.rkey.to_be_bytes());
                bytes.resize(28, 0);
                bytes
            }
            _ => Vec::new(),
        }
    }

    /// The frame without FCS; `tamper` sees it before its ICRC is computed.
    pub fn frame_with(&self, tamper: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let extension = self.extension();
        let pad = self.pad.unwrap_or(natural_pad(self.payload.len()));
        let udp_len = 8 + 12 + extension.len() + self.payload.len() + usize::from(pad) + 4;
        let mut frame = Vec::new();
        frame.extend(self.dmac);
        frame.extend([0x02, 0, 0, 0, 0, 0x0A, 0x08, 0x00]);
        frame.extend([0x45, self.tos]);
        frame.extend((20 + udp_len as u16).to_be_bytes());
        frame.extend([0x12, 0x34, 0x40, 0x00, self.ttl, 17, 0, 0]);
        frame.extend(self.source);
        frame.extend(self.destination);
        let checksum = ip_checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&checksum.to_be_bytes());
        frame.extend(0xC123u16.to_be_bytes());
        frame.extend(4791u16.to_be_bytes());
        frame.extend((udp_len as u16).to_be_bytes());
        frame.extend(self.udp_checksum.to_be_bytes());
        frame.push(self.opcode);
        frame.push(u8::from(self.se) << 7 | 1 << 6 | pad << 4 | self.tver);
        frame.extend(self.pkey.to_be_bytes());
        frame.extend(self.qpn.to_be_bytes());
        frame.extend((u32::from(self.ackreq) << 31 | self.psn & 0xFF_FFFF).to_be_bytes());
        frame.extend(extension);
        frame.extend(&self.payload);
        frame.extend(std::iter::repeat_n(0, usize::from(pad)));
        tamper(&mut frame);
        let icrc = icrc(&frame);
        frame.extend(icrc.to_le_bytes());
        let padded = frame.len().max(60) + self.trailer;
        frame.resize(padded, 0xEE);
        frame
    }

    /// The frame without FCS.
    pub fn frame(&self) -> Vec<u8> {
        self.frame_with(|_| {})
    }
}

//! Base transport header, 12 bytes.

use super::{be, put_u24, take_bytes, Truncated, WireHeader};
use crate::limits::DEFAULT_PKEY;

/// BTH. The reserved bits are sent as 0 and ignored when read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bth {
    /// Opcode, see [`crate::opcode`]; any byte.
    pub opcode: u8,
    /// Solicited event.
    pub se: bool,
    /// MigReq: "migrated"; 1 without automatic path migration.
    pub mig: bool,
    /// Pad bytes behind the payload, 0 to 3.
    pub pad: u8,
    /// Transport version, 4 bits; 0.
    pub tver: u8,
    /// P_Key.
    pub pkey: u16,
    /// Forward explicit congestion notification.
    pub fecn: bool,
    /// Backward explicit congestion notification; 1 in CNPs.
    pub becn: bool,
    /// Destination QPN, 24 bits.
    pub dqpn: u32,
    /// The requester wants an acknowledgement.
    pub ackreq: bool,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
}

impl Bth {
    /// Bytes.
    pub const BYTES: usize = 12;

    /// A BTH as Ferroce sends it: MigReq 1, default P_Key, everything else 0.
    pub const fn new(opcode: u8, dqpn: u32, psn: u32) -> Self {
        Self {
            opcode,
            se: false,
            mig: true,
            pad: 0,
            tver: 0,
            pkey: DEFAULT_PKEY,
            fecn: false,
            becn: false,
            dqpn,
            ackreq: false,
            psn,
        }
    }
}

impl WireHeader for Bth {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.opcode);
        out.push(
            u8::from(self.se) << 7
                | u8::from(self.mig) << 6
                | (self.pad & 3) << 4
                | self.tver & 0xF,
        );
        out.extend_from_slice(&self.pkey.to_be_bytes());
        out.push(u8::from(self.fecn) << 7 | u8::from(self.becn) << 6);
        put_u24(out, self.dqpn);
        out.push(u8::from(self.ackreq) << 7);
        put_u24(out, self.psn);
    }

    fn take(input: &mut &[u8]) -> Result<Self, Truncated> {
        let b: [u8; Self::BYTES] = take_bytes(input, "BTH")?;
        Ok(Self {
            opcode: b[0],
            se: b[1] & 0x80 != 0,
            mig: b[1] & 0x40 != 0,
            pad: b[1] >> 4 & 3,
            tver: b[1] & 0xF,
            pkey: be(&b[2..4]) as u16,
            fecn: b[4] & 0x80 != 0,
            becn: b[4] & 0x40 != 0,
            dqpn: be(&b[5..8]) as u32,
            ackreq: b[8] & 0x80 != 0,
            psn: be(&b[9..12]) as u32,
        })
    }
}

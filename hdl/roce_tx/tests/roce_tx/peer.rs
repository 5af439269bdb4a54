//! What must be on the wire: messages cut into packets and built as frames, in plain software.

use crate::host::bytes_at;
use ferroce_abi::cfg::{mac_bits, AvCfg, PortCfg, SenderCfg};
use ferroce_abi::frame::{Endpoint, Extensions, Frame, Ip, Packet};
use ferroce_abi::headers::{Aeth, AtomicEth, Bth, Mac, Reth, Syndrome};
use ferroce_abi::limits::{Pmtu, MAX_READS};
use ferroce_abi::opcode::rc;
use ferroce_abi::wqe::{flags, WrOpcode};
use std::net::Ipv4Addr;

pub const PSN_MASK: u32 = 0xFF_FFFF;

/// A work request.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub opcode: WrOpcode,
    pub flags: u8,
    pub imm: [u8; 4],
    pub va: u64,
    pub rkey: u32,
    pub len: u32,
    pub addr: u64,
}

impl Message {
    fn writes(&self) -> bool {
        matches!(
            self.opcode,
            WrOpcode::RdmaWrite | WrOpcode::RdmaWriteWithImm
        )
    }

    fn has_imm(&self) -> bool {
        matches!(
            self.opcode,
            WrOpcode::SendWithImm | WrOpcode::RdmaWriteWithImm
        )
    }

    /// The peer gets a completion that can be solicited.
    fn completes_at_peer(&self) -> bool {
        !matches!(self.opcode, WrOpcode::RdmaWrite) && !self.is_job()
    }

    /// A READ or atomic.
    pub fn is_job(&self) -> bool {
        self.opcode == WrOpcode::RdmaRead || self.opcode.is_atomic()
    }

    /// Operands of an atomic.
    pub fn atomic(&self) -> AtomicEth {
        AtomicEth {
            va: self.va,
            rkey: self.rkey,
            operand: self.va.rotate_left(17),
            compare: self.va.rotate_left(31),
        }
    }
}

/// A connected QP as both ends know it.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    pub local: Endpoint,
    pub remote: Endpoint,
    pub sport: u16,
    pub dqpn: u32,
    pub pkey: u16,
    pub tos: u8,
    pub ttl: u8,
    pub pmtu: Pmtu,
    pub first_psn: u32,
    pub max_reads: u8,
}

/// Table entries of a connection.
pub struct Entries {
    pub port: [u64; 4],
    pub av: [u64; 4],
    pub sender: [u64; 4],
}

impl Connection {
    /// Connection number `qp`, with everything different.
    pub fn example(qp: usize, pmtu: Pmtu, first_psn: u32) -> Self {
        let n = qp as u8;
        Self {
            local: Endpoint {
                mac: Mac([0x02, 0xF0, 0x0C, 0xE0, 0x00, 0x01]),
                ip: Ipv4Addr::new(10, 20, 30, 40),
            },
            remote: Endpoint {
                mac: Mac([0x06, 0x5A, n, 0x11, !n, 0xC3]),
                ip: Ipv4Addr::new(192, 168, n ^ 0xFF, 255 - n),
            },
            sport: 0xC000 | u16::from(n) << 5 | 9,
            dqpn: 0x00A5_0000 | (qp as u32) << 8 | 0x3C,
            pkey: 0x8001 ^ u16::from(n) << 4,
            tos: n << 2 | 2,
            ttl: 64 + n,
            pmtu,
            first_psn,
            max_reads: MAX_READS,
        }
    }

    /// The card's table entries for it.
    pub fn entries(&self, pd: u16) -> Entries {
        let port = PortCfg {
            mac: mac_bits(self.local.mac.0),
            ip: self.local.ip.into(),
        };
        let av = AvCfg {
            dmac: mac_bits(self.remote.mac.0),
            dip: self.remote.ip.into(),
            sport: self.sport,
            dqpn: self.dqpn,
            pkey: self.pkey,
            tos: self.tos,
            ttl: self.ttl,
        };
        let sender = SenderCfg {
            enabled: true,
            pmtu: self.pmtu.log2(),
            pd,
            psn: self.first_psn,
            max_reads: self.max_reads,
        };
        Entries {
            port: port.to_bits().expect("the port fits its entry"),
            av: av.to_bits().expect("the address fits its entry"),
            sender: sender.to_bits().expect("the QP fits its entry"),
        }
    }

    fn frame(&self, packet: Packet) -> Vec<u8> {
        let mut frame = Frame::ipv4(self.local, self.remote, self.sport, packet);
        if let Ip::V4(ip) = &mut frame.ip {
            ip.tos = self.tos;
            ip.ttl = self.ttl;
        }
        frame.encode().expect("a packet that can be built")
    }

    /// The request of a READ or atomic for all that its answer has from packet `n` on.
    fn job(&self, message: &Message, n: u32, first_psn: u32) -> Vec<u8> {
        let opcode = match message.opcode {
            WrOpcode::RdmaRead => rc::READ_REQUEST,
            WrOpcode::AtomicCmpAndSwp => rc::CMP_SWAP,
            _ => rc::FETCH_ADD,
        };
        let mut bth = Bth::new(opcode, self.dqpn, (first_psn + n) & PSN_MASK);
        bth.pkey = self.pkey;
        bth.ackreq = true;
        let start = n * self.pmtu.bytes();
        let reads = message.opcode == WrOpcode::RdmaRead;
        self.frame(Packet {
            bth,
            ext: Extensions {
                reth: reads.then_some(Reth {
                    va: message.va.wrapping_add(start.into()),
                    rkey: message.rkey,
                    dma_len: message.len - start,
                }),
                atomic: (!reads).then_some(message.atomic()),
                ..Extensions::default()
            },
            payload: Vec::new(),
        })
    }

    /// Packet `n` of a message whose first one has `first_psn`.
    pub fn request(&self, message: &Message, n: u32, first_psn: u32) -> Vec<u8> {
        if message.is_job() {
            return self.job(message, n, first_psn);
        }
        let size = self.pmtu.bytes();
        let count = self.pmtu.packets(message.len);
        let (first, last) = (n == 0, n + 1 == count);
        let has_imm = message.has_imm() && last;
        let opcode = match (message.writes(), first, last, has_imm) {
            (false, true, false, _) => rc::SEND_FIRST,
            (false, false, false, _) => rc::SEND_MIDDLE,
            (false, false, true, false) => rc::SEND_LAST,
            (false, false, true, true) => rc::SEND_LAST_IMM,
            (false, true, true, false) => rc::SEND_ONLY,
            (false, true, true, true) => rc::SEND_ONLY_IMM,
            (true, true, false, _) => rc::WRITE_FIRST,
            (true, false, false, _) => rc::WRITE_MIDDLE,
            (true, false, true, false) => rc::WRITE_LAST,
            (true, false, true, true) => rc::WRITE_LAST_IMM,
            (true, true, true, false) => rc::WRITE_ONLY,
            (true, true, true, true) => rc::WRITE_ONLY_IMM,
        };
        let mut bth = Bth::new(opcode, self.dqpn, (first_psn + n) & PSN_MASK);
        bth.pkey = self.pkey;
        bth.se = last && message.flags & flags::SOLICITED != 0 && message.completes_at_peer();
        bth.ackreq = last || n % 16 == 15;
        let start = n * size;
        let len = size.min(message.len - start);
        self.frame(Packet {
            bth,
            ext: Extensions {
                reth: (message.writes() && first).then_some(Reth {
                    va: message.va,
                    rkey: message.rkey,
                    dma_len: message.len,
                }),
                imm: has_imm.then_some(message.imm),
                ..Extensions::default()
            },
            payload: bytes_at(message.addr + u64::from(start), len as usize),
        })
    }

    /// An ACK, or a NAK.
    pub fn answer(&self, psn: u32, syndrome: Syndrome, msn: u32) -> Vec<u8> {
        let mut bth = Bth::new(rc::ACKNOWLEDGE, self.dqpn, psn);
        bth.pkey = self.pkey;
        self.frame(Packet {
            bth,
            ext: Extensions {
                aeth: Some(Aeth { syndrome, msn }),
                ..Extensions::default()
            },
            payload: Vec::new(),
        })
    }
}

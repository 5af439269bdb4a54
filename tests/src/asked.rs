//! READs and atomics of the card, whose peer is software: what it must send, and data for it.

use std::ops::Range;

use anyhow::{ensure, Result};
use ferroce_abi::frame::{on_wire, Packet};
use ferroce_abi::headers::{Aeth, AtomicAckEth, AtomicEth, Bth, Reth, Syndrome};
use ferroce_abi::opcode::rc;
use ferroce_driver::{Completion, Counter, SendOp, SendWr, SgeList, Status, WcOpcode};

use crate::bench::{Bench, Counts, ACK};
use crate::model;
use crate::peer::{add24, same_frames, PeerConfig};
use crate::requester::REMOTE;
use crate::seed::seed;

/// First PSN of the card's requests: PSNs wrap in the middle of the first longer READ.
pub const PSN: u32 = 0xff_fffe;

/// Core cycles from a posted request to its packet, and from data to all that it brings about.
const CYCLES: u64 = 3000;

/// A READ or atomic of the first QP; the peer's memory is [`REMOTE`].
#[derive(Debug, Clone)]
pub struct Asked {
    /// Number of the work request.
    pub wr_id: u64,
    /// Operation.
    pub op: SendOp,
    /// Where its data goes in the bench's memory.
    pub place: Range<usize>,
    /// First PSN.
    pub psn: u32,
    /// What the peer's memory holds.
    pub bytes: Vec<u8>,
}

impl Asked {
    /// A READ of `len` bytes whose first PSN is `psn`.
    ///
    /// # Errors
    /// The memory is used up.
    pub fn read(bench: &mut Bench, wr_id: u64, len: usize, psn: u32) -> Result<Self> {
        Self::new(bench, wr_id, SendOp::Read(REMOTE), len, psn)
    }

    /// Any operation.
    ///
    /// # Errors
    /// The memory is used up.
    pub fn new(bench: &mut Bench, wr_id: u64, op: SendOp, len: usize, psn: u32) -> Result<Self> {
        Ok(Self {
            wr_id,
            op,
            place: bench.image.reserve(len, &mut bench.rng)?,
            psn,
            bytes: bench.payload(len),
        })
    }

    /// The work request.
    ///
    /// # Errors
    /// None for memory of the bench.
    pub fn request(&self, bench: &Bench) -> Result<SendWr> {
        let sges = if self.place.is_empty() {
            SgeList::default()
        } else {
            bench.image.mr.sge(self.place.clone())?.into()
        };
        Ok(SendWr::new(self.wr_id, self.op, sges))
    }

    /// PSNs that it takes.
    pub fn psns(&self, bench: &Bench) -> u32 {
        self.bytes.len().div_ceil(mtu(bench)).max(1) as u32
    }

    /// PSN of data packet `n`.
    pub fn at(&self, n: u32) -> u32 {
        add24(self.psn, n)
    }

    /// The request packet that asks for all data from packet `n` on.
    ///
    /// # Errors
    /// None for real packets.
    pub fn packet(&self, bench: &Bench, n: u32) -> Result<Vec<u8>> {
        let skip = n as usize * mtu(bench);
        let peer = &bench.peers[0];
        let opcode = match self.op {
            SendOp::CompareAndSwap { .. } => rc::CMP_SWAP,
            SendOp::FetchAndAdd { .. } => rc::FETCH_ADD,
            _ => rc::READ_REQUEST,
        };
        let mut packet = Packet::new(Bth {
            ackreq: true,
            ..Bth::new(opcode, peer.qpn, self.at(n))
        });
        let atomic = |operand, compare| AtomicEth {
            va: REMOTE.addr,
            rkey: REMOTE.rkey,
            operand,
            compare,
        };
        match self.op {
            SendOp::CompareAndSwap { compare, swap, .. } => {
                packet.ext.atomic = Some(atomic(swap, compare));
            }
            SendOp::FetchAndAdd { add, .. } => packet.ext.atomic = Some(atomic(add, 0)),
            _ => {
                packet.ext.reth = Some(Reth {
                    va: REMOTE.addr.wrapping_add(skip as u64),
                    rkey: REMOTE.rkey,
                    dma_len: (self.bytes.len() - skip) as u32,
                });
            }
        }
        peer.from_card(&bench.open, packet)
    }

    /// Data packet `n` with another opcode and payload than it should have.
    ///
    /// # Errors
    /// None for real packets.
    pub fn odd(&self, bench: &Bench, n: u32, opcode: u8, payload: &[u8]) -> Result<Vec<u8>> {
        let peer = &bench.peers[0];
        let mut packet = Packet::new(Bth::new(opcode, peer.qp.qpn(), self.at(n)));
        packet.ext.aeth = (opcode != rc::READ_RESPONSE_MIDDLE).then_some(Aeth {
            syndrome: Syndrome::from(ACK),
            msn: 1,
        });
        if opcode == rc::ATOMIC_ACKNOWLEDGE {
            let mut value = [0; 8];
            value.copy_from_slice(&self.bytes[..8]);
            packet.ext.atomic_ack = Some(AtomicAckEth {
                original: u64::from_le_bytes(value),
            });
        } else {
            packet.payload = payload.to_vec();
        }
        Ok(on_wire(peer.to_card(&bench.open, packet).encode()?))
    }

    /// Data packet `n` of an answer that begins with packet `from`.
    ///
    /// # Errors
    /// None for real packets.
    pub fn data_from(&self, bench: &Bench, from: u32, n: u32) -> Result<Vec<u8>> {
        let (first, last) = (n == from, n + 1 == self.psns(bench));
        let opcode = match (self.op, first, last) {
            (SendOp::CompareAndSwap { .. } | SendOp::FetchAndAdd { .. }, ..) => {
                rc::ATOMIC_ACKNOWLEDGE
            }
            (_, true, true) => rc::READ_RESPONSE_ONLY,
            (_, true, false) => rc::READ_RESPONSE_FIRST,
            (_, false, true) => rc::READ_RESPONSE_LAST,
            (_, false, false) => rc::READ_RESPONSE_MIDDLE,
        };
        let start = n as usize * mtu(bench);
        let end = self.bytes.len().min(start + mtu(bench));
        self.odd(bench, n, opcode, &self.bytes[start..end])
    }

    /// Data packet `n`.
    ///
    /// # Errors
    /// None for real packets.
    pub fn data(&self, bench: &Bench, n: u32) -> Result<Vec<u8>> {
        self.data_from(bench, 0, n)
    }

    /// All data from packet `n` on, as it is asked for again.
    ///
    /// # Errors
    /// None for real packets.
    pub fn rest(&self, bench: &Bench, n: u32) -> Result<Vec<Vec<u8>>> {
        (n..self.psns(bench))
            .map(|k| self.data_from(bench, n, k))
            .collect()
    }

    /// Plans that its data is in memory.
    pub fn landed(&self, bench: &mut Bench) {
        bench.image.expect(self.place.start, &self.bytes);
    }

    /// Its completion.
    pub fn completion(&self, bench: &Bench, status: Status) -> Completion {
        Completion {
            wr_id: self.wr_id,
            qpn: bench.peers[0].qp.qpn(),
            opcode: match self.op {
                SendOp::CompareAndSwap { .. } => WcOpcode::CompSwap,
                SendOp::FetchAndAdd { .. } => WcOpcode::FetchAdd,
                _ => WcOpcode::RdmaRead,
            },
            status,
            byte_len: match status {
                Status::Success => self.bytes.len() as u32,
                _ => 0,
            },
            imm: None,
            invalidated: None,
            solicited: false,
            vendor_err: 0,
        }
    }
}

fn mtu(bench: &Bench) -> usize {
    bench.peers[0].config.pmtu.bytes() as usize
}

/// A bench with two QPs connected like this, but for the first PSN, which is [`PSN`].
///
/// # Errors
/// Of simulation and driver.
pub fn bench_with(config: PeerConfig) -> Result<Bench> {
    let config = PeerConfig {
        card_psn: PSN,
        ..config
    };
    Bench::new(&model::small()?, seed(), &[config; 2])
}

/// [`bench_with`] short packets and no time-out.
///
/// # Errors
/// Of simulation and driver.
pub fn bench() -> Result<Bench> {
    bench_with(PeerConfig::default())
}

/// Posts READs and atomics, and checks that the packets of the first `sent` are sent.
///
/// # Errors
/// The card sends anything else.
pub fn ask(bench: &mut Bench, asked: &[Asked], sent: usize) -> Result<()> {
    let requests: Vec<_> = asked
        .iter()
        .map(|one| one.request(bench))
        .collect::<Result<_>>()?;
    bench.peers[0].qp.post_send_list(&requests)?;
    let want: Vec<_> = asked[..sent]
        .iter()
        .map(|one| one.packet(bench, 0))
        .collect::<Result<_>>()?;
    same_frames(&bench.open.run(CYCLES)?, &want)?;
    let sent = sent as u64;
    bench.counted(&[(Counter::TxFrames, sent), (Counter::TxRequests, sent)])
}

/// Lets packets come; the card must send `sent`, and count what follows from that beside `counts`.
///
/// # Errors
/// It does anything else.
pub fn come(
    bench: &mut Bench,
    packets: &[Vec<u8>],
    sent: &[Vec<u8>],
    counts: &[(Counter, u64)],
) -> Result<()> {
    for packet in packets {
        bench.open.inject_raw(packet.clone());
    }
    same_frames(&bench.open.run(CYCLES)?, sent)?;
    let (came, went) = (packets.len() as u64, sent.len() as u64);
    let mut all = counts.to_vec();
    all.extend([
        (Counter::RxFrames, came),
        (Counter::RxPackets, came),
        (Counter::TxFrames, went),
        (Counter::TxRequests, went),
    ]);
    bench.counted(&all)
}

/// What is counted when so many packets with so much data are placed.
pub fn placed(packets: u64, bytes: u64) -> Counts {
    vec![(Counter::RxData, packets), (Counter::RxPayloadBytes, bytes)]
}

/// What is counted when a READ or atomic, signaled, has all its data.
pub fn good(bench: &Bench, asked: &Asked) -> Counts {
    let mut counts = placed(asked.psns(bench).into(), asked.bytes.len() as u64);
    counts.push((Counter::CqeWritten, 1));
    counts
}

/// Exactly these completions are there, and memory is as planned.
///
/// # Errors
/// They are not, or it is not.
pub fn done(bench: &Bench, want: &[Completion]) -> Result<()> {
    let got = bench.open.cq.poll(64)?;
    ensure!(got == want, "{got:#?}, not {want:#?}");
    bench.image.check()
}

//! The receive side in its surroundings: wire, RQ WQE cache, MR check, host memory, transmit side.

use crate::packet::{CARD_IP, CARD_MAC, PEER_IP};
use crate::sim::Sim;
use ferroce_abi::cfg::{mac_bits, CompleterCfg, PortCfg, ResponderCfg, RingCfg};
use ferroce_abi::regs::Counter;
use ferroce_emit::prelude::*;
use ferroce_roce_rx::events::RxEvents;
use ferroce_roce_rx::{RoceRx, RxSizes};
use ferroce_rtl::desc::cfg::{table, CfgWrite, CFG_SPACING};
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::desc::lookup::{
    MrAnswer, MrCheck, WqeData, WqeRead, MR_CHECK_LATENCY, WQE_READ_LATENCY,
};
use ferroce_rtl::desc::rx::{AckJob, CqeJob, RqPub};
use ferroce_rtl::desc::tx::{
    CompleterPub, Consumed, Kick, LocalError, Rewind, SenderPub, SentWrite, SqPub,
};
use ferroce_rtl::stream::Beat;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::{HashMap, VecDeque};

pub const LOG2_QPS: usize = 3;
pub const QPS: usize = 1 << LOG2_QPS;
pub const LOG2_WINDOW: usize = 4;

/// A memory region of the model.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    pub key: u32,
    pub base: u64,
    pub len: u64,
    pub pd: u16,
    pub access: u8,
}

/// A receive buffer of the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Buffer {
    pub addr: u64,
    pub lkey: u32,
    pub len: u32,
    pub sges: u8,
}

/// A CQE as tests compare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cqe {
    pub cq: u16,
    pub qp: u16,
    pub opcode: u8,
    pub status: u8,
    pub flags: u8,
    pub len: u32,
    pub imm: u32,
    pub wqe: u16,
}

impl From<CqeJob> for Cqe {
    fn from(job: CqeJob) -> Self {
        Self {
            cq: job.cq.to_u64() as u16,
            qp: job.qp.to_u64() as u16,
            opcode: job.opcode.to_u64() as u8,
            status: job.status.to_u64() as u8,
            flags: job.flags.to_u64() as u8,
            len: job.byte_len.to_u64() as u32,
            imm: job.imm.to_u64() as u32,
            wqe: job.wqe.to_u64() as u16,
        }
    }
}

/// An answer as tests compare it: QP, PSN, syndrome, MSN.
pub type Ack = (u16, u32, u8, u32);

/// A rewind as tests compare it: QP, WQE, PSN, first PSN, halt.
pub type Back = (u16, u16, u32, u32, bool);

/// Cycles in 100 in which something happens.
#[derive(Clone, Copy, Debug)]
pub struct Knobs {
    /// The wire has a beat.
    pub wire: u32,
    /// The write arbiter takes a beat.
    pub writes: u32,
    /// Other sinks take an item.
    pub others: u32,
}

pub const SMOOTH: Knobs = Knobs {
    wire: 100,
    writes: 100,
    others: 100,
};

pub const ROUGH: Knobs = Knobs {
    wire: 70,
    writes: 60,
    others: 50,
};

pub struct World {
    pub sim: Sim,
    pub rng: ChaCha8Rng,
    pub knobs: Knobs,
    cfg: VecDeque<CfgWrite>,
    cfg_wait: usize,
    beats: VecDeque<Beat>,
    pub local_errors: VecDeque<LocalError>,
    rq_pubs: VecDeque<RqPub>,
    pub sq_pubs: VecDeque<SqPub>,
    pub sender_pubs: VecDeque<SenderPub>,
    pub sent: VecDeque<SentWrite>,
    wqe_answers: VecDeque<WqeData>,
    mr_answers: VecDeque<MrAnswer>,
    pub regions: Vec<Region>,
    pub buffers: Vec<Vec<Buffer>>,
    fetched: Vec<usize>,
    memory: HashMap<u64, u8>,
    write: Option<(u64, usize, usize)>,
    pub acks: Vec<Ack>,
    pub rx_cqes: Vec<Cqe>,
    pub tx_cqes: Vec<Cqe>,
    pub consumed: Vec<(u16, u16)>,
    pub rewinds: Vec<Back>,
    pub kicks: Vec<u16>,
    pub published: HashMap<u16, (u32, u16)>,
    pub counters: HashMap<Counter, u64>,
    /// Expected bytes of receive completions: (QP, WQE) to address and bytes, compared when the CQE comes.
    pub promised: HashMap<(u16, u16), (u64, Vec<u8>)>,
    /// Cycles in which frames ended on the wire.
    pub frame_cycles: Vec<u64>,
    pub last_write: u64,
    /// Frames that were kept or dropped, by the parser's events.
    pub judged_frames: u64,
    quiet: u64,
}

/// Frames that the parser's events of a cycle say are through.
fn judged(events: &RxEvents) -> u64 {
    let p = &events.parse;
    [
        p.packets,
        p.drop_fcs,
        p.drop_runt,
        p.drop_oversize,
        p.drop_not_roce,
        p.drop_ip_checksum,
        p.drop_length,
        p.drop_icrc,
        p.drop_tver,
        p.drop_overflow,
        p.drop_address,
        p.drop_opcode,
    ]
    .map(u64::from)
    .iter()
    .sum()
}

fn counts(events: &RxEvents) -> Vec<(Counter, u64)> {
    let (p, c, r) = (&events.parse, &events.control, &events.completer);
    let bit = u64::from;
    vec![
        (Counter::RxFrames, bit(p.frames)),
        (Counter::RxBytes, p.bytes.to_u64()),
        (Counter::RxPackets, bit(p.packets)),
        (Counter::RxDropFcs, bit(p.drop_fcs)),
        (Counter::RxDropRunt, bit(p.drop_runt)),
        (Counter::RxDropOversize, bit(p.drop_oversize)),
        (Counter::RxDropNotRoce, bit(p.drop_not_roce)),
        (Counter::RxDropIpChecksum, bit(p.drop_ip_checksum)),
        (Counter::RxDropLength, bit(p.drop_length)),
        (Counter::RxDropIcrc, bit(p.drop_icrc)),
        (Counter::RxDropTver, bit(p.drop_tver)),
        (Counter::RxDropOverflow, bit(p.drop_overflow)),
        (Counter::RxDropAddress, bit(p.drop_address)),
        (
            Counter::RxDropOpcode,
            bit(p.drop_opcode) + bit(c.drop_opcode),
        ),
        (Counter::RxDropQpn, bit(c.drop_qpn)),
        (Counter::RxDropQpState, bit(c.drop_qp_state)),
        (Counter::RxDropPkey, bit(c.drop_pkey)),
        (Counter::RxDropPeer, bit(c.drop_peer)),
        (Counter::RxDuplicate, bit(c.duplicate)),
        (Counter::RxOutOfSequence, bit(c.out_of_sequence)),
        (Counter::RxNoReceiveWqe, bit(c.no_receive_wqe)),
        (Counter::RxRequests, bit(c.requests)),
        (Counter::RxMessages, bit(c.messages)),
        (Counter::ResponderErrors, bit(c.responder_errors)),
        (Counter::RxPayloadBytes, events.payload_bytes.to_u64()),
        (Counter::RxAcks, bit(r.acks)),
        (Counter::RxIgnoredAcks, bit(r.ignored_acks)),
        (Counter::Retransmits, bit(r.retransmits)),
        (Counter::Timeouts, bit(r.timeouts)),
        (Counter::RnrWaits, bit(r.rnr_waits)),
        (Counter::SequenceNaks, bit(r.sequence_naks)),
        (Counter::RequesterErrors, bit(r.requester_errors)),
    ]
}

/// Counters that tests do not name when they compare: volume, not judgement.
const VOLUME: [Counter; 5] = [
    Counter::RxFrames,
    Counter::RxBytes,
    Counter::RxPackets,
    Counter::RxPayloadBytes,
    Counter::RxMessages,
];

/// A right configuration of a responder, path MTU 1024, everything allowed.
pub fn responder(qp: usize, psn: u32) -> ResponderCfg {
    ResponderCfg {
        enabled: true,
        restart: true,
        restart_rq: true,
        pmtu: 10,
        pd: 7,
        access: 0b0111,
        cq: qp as u16 + 1,
        psn,
        min_rnr: 12,
        pkey: 0xFFFF,
        peer_ip: u32::from_be_bytes(PEER_IP),
    }
}

/// A right configuration of a completer.
pub fn completer(qp: usize, psn: u32) -> CompleterCfg {
    CompleterCfg {
        enabled: true,
        cq: qp as u16 + 0x100,
        psn,
        timeout: 0,
        retry_cnt: 7,
        rnr_retry: 7,
        pmtu: 10,
        flush: false,
    }
}

fn bits256(words: [u64; 4]) -> Bits<256> {
    let words: Vec<u32> = words
        .iter()
        .flat_map(|word| [*word as u32, (*word >> 32) as u32])
        .collect();
    unpack(&words)
}

impl World {
    pub fn new(rng: ChaCha8Rng, knobs: Knobs) -> Self {
        Self::with_buffer(rng, knobs, 9)
    }

    pub fn with_buffer(rng: ChaCha8Rng, knobs: Knobs, log2_buffer_beats: usize) -> Self {
        let sim = Sim::new("roce_rx", move || {
            RoceRx::new(RxSizes {
                log2_qps: LOG2_QPS,
                log2_window: LOG2_WINDOW,
                log2_buffer_beats,
            })
        });
        let mut world = Self {
            sim,
            rng,
            knobs,
            cfg: VecDeque::new(),
            cfg_wait: 0,
            beats: VecDeque::new(),
            local_errors: VecDeque::new(),
            rq_pubs: VecDeque::new(),
            sq_pubs: VecDeque::new(),
            sender_pubs: VecDeque::new(),
            sent: VecDeque::new(),
            wqe_answers: vec![WqeData::default(); WQE_READ_LATENCY].into(),
            mr_answers: vec![MrAnswer::default(); MR_CHECK_LATENCY].into(),
            regions: Vec::new(),
            buffers: vec![Vec::new(); QPS],
            fetched: vec![0; QPS],
            memory: HashMap::new(),
            write: None,
            acks: Vec::new(),
            rx_cqes: Vec::new(),
            tx_cqes: Vec::new(),
            consumed: Vec::new(),
            rewinds: Vec::new(),
            kicks: Vec::new(),
            published: HashMap::new(),
            counters: HashMap::new(),
            promised: HashMap::new(),
            frame_cycles: Vec::new(),
            last_write: 0,
            judged_frames: 0,
            quiet: 0,
        };
        let port = PortCfg {
            mac: mac_bits(CARD_MAC),
            ip: u32::from_be_bytes(CARD_IP),
        };
        world.configure(table::PORT, 0, port.to_bits().expect("fits"));
        world
    }

    pub fn configure(&mut self, table: u64, index: usize, words: [u64; 4]) {
        self.cfg.push_back(CfgWrite {
            valid: true,
            table: table.into(),
            index: (index as u64).into(),
            data: bits256(words),
        });
    }

    pub fn configure_responder(&mut self, qp: usize, cfg: &ResponderCfg) {
        self.configure(table::RESPONDER, qp, cfg.to_bits().expect("fits"));
    }

    pub fn configure_completer(&mut self, qp: usize, cfg: &CompleterCfg) {
        self.configure(table::COMPLETER, qp, cfg.to_bits().expect("fits"));
    }

    pub fn configure_sq(&mut self, qp: usize) {
        let ring = RingCfg {
            enabled: true,
            base: 0x1000,
            log_size: 6,
        };
        self.configure(table::SQ, qp, ring.to_bits().expect("fits"));
    }

    /// Posts a receive buffer, in the cache at once.
    pub fn post_receive(&mut self, qp: usize, buffer: Buffer) {
        self.buffers[qp].push(buffer);
        self.fetch(qp, self.buffers[qp].len());
    }

    /// Posts a receive buffer that is not in the cache yet.
    pub fn post_unfetched(&mut self, qp: usize, buffer: Buffer) {
        self.buffers[qp].push(buffer);
        self.fetch(qp, self.fetched[qp]);
    }

    /// The cache now has so many of the buffers posted.
    pub fn fetch(&mut self, qp: usize, count: usize) {
        self.fetched[qp] = count;
        self.rq_pubs.push_back(RqPub {
            valid: true,
            qp: (qp as u64).into(),
            fetched: (count as u64 & 0xFFFF).into(),
            posted: (self.buffers[qp].len() as u64 & 0xFFFF).into(),
        });
    }

    /// Empties an RQ and its cache, as its configuration does.
    pub fn clear_receives(&mut self, qp: usize) {
        self.buffers[qp].clear();
        self.fetch(qp, 0);
    }

    /// Sends a frame; `damaged` as the MAC marks one with a bad FCS.
    pub fn send_frame(&mut self, frame: &[u8], damaged: bool) {
        let beats = frame.len().div_ceil(64);
        for (index, chunk) in frame.chunks(64).enumerate() {
            let words: Vec<u32> = chunk
                .chunks(4)
                .map(|bytes| {
                    bytes
                        .iter()
                        .enumerate()
                        .fold(0, |word, (k, &byte)| word | u32::from(byte) << (8 * k))
                })
                .collect();
            let last = index + 1 == beats;
            self.beats.push_back(Beat {
                data: unpack(&words),
                len: (chunk.len() as u64).into(),
                last,
                err: last && damaged,
            });
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        percent >= 100 || self.rng.gen_range(0..100) < percent
    }

    fn answer_wqe(&self, read: &WqeRead) -> WqeData {
        let (qp, wqe) = (read.qp.to_u64() as usize, read.wqe.to_u64() as usize);
        let Some(buffer) = self.buffers.get(qp).and_then(|buffers| {
            // RQ indices have 16 bits.
            let index = buffers.len().checked_sub(1)? & !0xFFFF | wqe;
            buffers[..self.fetched[qp]].get(index)
        }) else {
            return WqeData::default();
        };
        WqeData {
            avail: true,
            sges: u64::from(buffer.sges).into(),
            addr: buffer.addr.into(),
            lkey: u64::from(buffer.lkey).into(),
            sge_len: u64::from(buffer.len).into(),
            ..WqeData::default()
        }
    }

    fn answer_mr(&self, check: &MrCheck) -> MrAnswer {
        let (va, len) = (check.va.to_u64(), check.len.to_u64());
        let access = check.access.to_u64() as u8;
        let inside = |region: &&Region| {
            u64::from(region.key) == check.key.to_u64()
                && u64::from(region.pd) == check.pd.to_u64()
                && region.access & access == access
                && va >= region.base
                && u128::from(va) + u128::from(len)
                    <= u128::from(region.base) + u128::from(region.len)
        };
        MrAnswer {
            ok: len == 0 || self.regions.iter().any(|region| inside(&region)),
        }
    }

    fn take_write(&mut self, beat: &DmaWriteBeat) {
        let (addr, len) = (beat.addr.to_u64(), beat.len.to_u64() as usize);
        let (start, total, mut done) = self.write.take().unwrap_or((addr, len, 0));
        assert_eq!((start, total), (addr, len), "address and length hold");
        assert!((1..=4096).contains(&total), "a write of {total} bytes");
        assert!(
            (start & 4095) as usize + total <= 4096,
            "write {start:#x}+{total} crosses a page"
        );
        let words = pack(&beat.data);
        let lane = (start as usize + done) % 64;
        let count = (64 - lane).min(total - done);
        for k in lane..lane + count {
            let byte = (words[k / 4] >> (8 * (k % 4))) as u8;
            self.memory.insert(start.wrapping_add(done as u64), byte);
            done += 1;
        }
        assert_eq!(
            beat.last,
            done == total,
            "last beat of {total} bytes at {done}"
        );
        if done < total {
            self.write = Some((start, total, done));
        }
        self.last_write = self.sim.cycle;
    }

    fn take_rx_cqe(&mut self, cqe: Cqe) {
        if let Some((addr, bytes)) = self.promised.remove(&(cqe.qp, cqe.wqe)) {
            assert_eq!(self.memory_at(addr, bytes.len()), bytes, "data of {cqe:?}");
        }
        self.rx_cqes.push(cqe);
    }

    /// Bytes of host memory; never written ones are 0.
    pub fn memory_at(&self, addr: u64, len: usize) -> Vec<u8> {
        (0..len as u64)
            .map(|k| self.memory.get(&addr.wrapping_add(k)).copied().unwrap_or(0))
            .collect()
    }

    /// Bytes of host memory that were ever written.
    pub fn bytes_written(&self) -> usize {
        self.memory.len()
    }

    pub fn cycle(&mut self) {
        let mut active = false;
        // Inputs of this cycle.
        let cfg = if self.cfg_wait == 0 {
            self.cfg.pop_front()
        } else {
            None
        };
        self.cfg_wait = if cfg.is_some() {
            CFG_SPACING - 1
        } else {
            self.cfg_wait.saturating_sub(1)
        };
        active |= cfg.is_some() || !self.cfg.is_empty();
        self.sim.set("cfg", &cfg.unwrap_or_default());
        let beat = if self.chance(self.knobs.wire) {
            self.beats.front().copied()
        } else {
            None
        };
        self.sim.offer("frames", beat.as_ref());
        let rq_pub = self.rq_pubs.pop_front();
        let sq_pub = self.sq_pubs.pop_front();
        let sender_pub = self.sender_pubs.pop_front();
        let sent = self.sent.pop_front();
        self.sim.set("rq_pub", &rq_pub.unwrap_or_default());
        self.sim.set("sq_pub", &sq_pub.unwrap_or_default());
        self.sim.set("sender_pub", &sender_pub.unwrap_or_default());
        self.sim.set("sent_write", &sent.unwrap_or_default());
        let local = self.local_errors.front().copied();
        self.sim.offer("local_errors", local.as_ref());
        let wqe_answer = self.wqe_answers.pop_front().expect("a pipeline");
        let mr_answer = self.mr_answers.pop_front().expect("a pipeline");
        self.sim.set("rq_data", &wqe_answer);
        self.sim.set("mr_answer", &mr_answer);
        let take_write = self.chance(self.knobs.writes);
        self.sim.set("writes_ready", &take_write);
        for sink in [
            "acks",
            "rx_cqes",
            "tx_cqes",
            "rq_consumed",
            "rewinds",
            "kicks",
        ] {
            let take = self.chance(self.knobs.others);
            self.sim.set(&format!("{sink}_ready"), &take);
        }
        self.sim.settle();

        // Outputs of this cycle.
        let read: WqeRead = self.sim.get("rq_read");
        let check: MrCheck = self.sim.get("mr_check");
        let answer = self.answer_wqe(&read);
        self.wqe_answers.push_back(answer);
        let answer = self.answer_mr(&check);
        self.mr_answers.push_back(answer);
        if beat.is_some() {
            assert!(self.sim.high("frames_ready"), "the wire can't wait");
            if let Some(Beat { last: true, .. }) = self.beats.pop_front() {
                self.frame_cycles.push(self.sim.cycle);
            }
        }
        active |= !self.beats.is_empty();
        if self.sim.taken("local_errors") {
            self.local_errors.pop_front();
        }
        if self.sim.taken("writes") {
            let beat = self.sim.get("writes_data");
            self.take_write(&beat);
        }
        if self.sim.taken("acks") {
            let ack: AckJob = self.sim.get("acks_data");
            self.acks.push((
                ack.qp.to_u64() as u16,
                ack.psn.to_u64() as u32,
                ack.syndrome.to_u64() as u8,
                ack.msn.to_u64() as u32,
            ));
        }
        if self.sim.taken("rx_cqes") {
            let cqe: CqeJob = self.sim.get("rx_cqes_data");
            self.take_rx_cqe(cqe.into());
        }
        if self.sim.taken("tx_cqes") {
            let cqe: CqeJob = self.sim.get("tx_cqes_data");
            self.tx_cqes.push(cqe.into());
        }
        if self.sim.taken("rq_consumed") {
            let consumed: Consumed = self.sim.get("rq_consumed_data");
            self.consumed
                .push((consumed.qp.to_u64() as u16, consumed.wqe.to_u64() as u16));
        }
        if self.sim.taken("rewinds") {
            let rewind: Rewind = self.sim.get("rewinds_data");
            self.rewinds.push((
                rewind.qp.to_u64() as u16,
                rewind.wqe.to_u64() as u16,
                rewind.psn.to_u64() as u32,
                rewind.first_psn.to_u64() as u32,
                rewind.halt,
            ));
        }
        if self.sim.taken("kicks") {
            let kick: Kick = self.sim.get("kicks_data");
            self.kicks.push(kick.qp.to_u64() as u16);
        }
        let published: CompleterPub = self.sim.get("completer_pub");
        if published.valid {
            self.published.insert(
                published.qp.to_u64() as u16,
                (
                    published.una_psn.to_u64() as u32,
                    published.una_wqe.to_u64() as u16,
                ),
            );
        }
        let events: RxEvents = self.sim.get("events");
        self.judged_frames += judged(&events);
        for (counter, count) in counts(&events) {
            *self.counters.entry(counter).or_default() += count;
        }
        for stream in [
            "writes",
            "acks",
            "rx_cqes",
            "tx_cqes",
            "rq_consumed",
            "rewinds",
            "kicks",
        ] {
            active |= self.sim.high(&format!("{stream}_valid"));
        }
        active |= published.valid || !self.local_errors.is_empty();
        self.sim.tick();
        self.quiet = if active { 0 } else { self.quiet + 1 };
    }

    pub fn cycles(&mut self, count: u64) {
        for _ in 0..count {
            self.cycle();
        }
    }

    /// Runs until nothing has moved for longer than any pipeline is.
    pub fn settle(&mut self) {
        self.quiet = 0;
        let start = self.sim.cycle;
        while self.quiet < 150 {
            self.cycle();
            assert!(self.sim.cycle - start < 2_000_000, "it never comes to rest");
        }
        assert!(self.write.is_none(), "half a write");
    }

    /// Answers since the last call.
    pub fn take_acks(&mut self) -> Vec<Ack> {
        std::mem::take(&mut self.acks)
    }

    /// Receive completions since the last call.
    pub fn take_rx_cqes(&mut self) -> Vec<Cqe> {
        std::mem::take(&mut self.rx_cqes)
    }

    /// Send completions since the last call, as (WQE, status).
    pub fn take_tx(&mut self) -> Vec<(u16, u8)> {
        std::mem::take(&mut self.tx_cqes)
            .iter()
            .map(|cqe| (cqe.wqe, cqe.status))
            .collect()
    }

    /// Rewinds since the last call.
    pub fn take_rewinds(&mut self) -> Vec<Back> {
        std::mem::take(&mut self.rewinds)
    }

    /// Counters other than those of volume, since the last call, in order.
    pub fn take_counters(&mut self) -> Vec<(Counter, u64)> {
        let mut counted: Vec<_> = std::mem::take(&mut self.counters)
            .into_iter()
            .filter(|(counter, count)| *count > 0 && !VOLUME.contains(counter))
            .collect();
        counted.sort_unstable();
        counted
    }
}

//! Which READ or atomic a response brings data for.

use crate::control::packet::{Checked, DataStep};
use ferroce_abi::cqe::Status;
use ferroce_abi::opcode::rc;
use ferroce_abi::wqe::WrOpcode;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::tx::{SenderPub, SentWrite};
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::rmw_ram::RmwRam;

/// Log2 of the READs and atomics that a QP may have unanswered.
const LOG2_JOBS: usize = 4;
/// Bits of an opcode's operation.
const FIRST: u64 = rc::READ_RESPONSE_FIRST as u64;
const LAST: u64 = rc::READ_RESPONSE_LAST as u64;
const ONLY: u64 = rc::READ_RESPONSE_ONLY as u64;
const ATOMIC: u64 = rc::ATOMIC_ACKNOWLEDGE as u64;
const READ_WR: u64 = WrOpcode::RdmaRead as u64;
const LOC_LEN: u64 = Status::LocLen as u64;
const BAD_RESP: u64 = Status::BadResp as u64;

/// Cycles from a packet at `early_qp` to its `checked`.
pub const MATCH_LEAD: usize = 2 * RAM_LATENCY + 1;

/// What was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Landing {
    first_psn: Bits<24>,
    last_psn: Bits<24>,
    atomic: Bit,
    /// Length modulo 8192.
    len: Bits<13>,
    empty: Bit,
    addr: Bits<64>,
    lkey: Bits<32>,
}

/// What the sender publishes, as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Asked {
    max_psn: Bits<24>,
    jobs: Bits<6>,
}

/// How far the oldest READ has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Progress {
    /// Some of its data is here.
    inside: Bit,
    /// PSN of the next data, if `inside`; else it is its first PSN.
    next_psn: Bits<24>,
    /// A gap before the expected data was told.
    told: Bit,
}

/// Comparisons of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Compared {
    data: Bit,
    /// There is something asked for.
    open: Bit,
    restart: Bit,
    /// PSN is the first, the next, the last one.
    at_first: Bit,
    at_next: Bit,
    at_last: Bit,
    /// Distance of the PSN from the first, from the next one, and from the one behind all that was asked for.
    from_first: Bits<24>,
    from_next: Bits<24>,
    from_end: Bits<24>,
    psn_next: Bits<24>,
    jobs_next: Bits<6>,
    atomic: Bit,
    begins: Bit,
    ends: Bit,
    full: Bit,
    fits: Bit,
    /// Payload.
    some: Bit,
    /// Bytes asked for minus payload, and the bits of it below the path MTU.
    len_left: Bits<13>,
    len_mask: Bits<13>,
    pmtu: Bits<4>,
    psn: Bits<24>,
    qp: Bits<14>,
}

/// Keeps where the data of each READ and atomic goes, and takes data of a QP's oldest one in the order of its PSNs: PSN, opcode and length must be what was asked for. Behind a gap nothing is taken until
/// what is missing has come; the gap is told once. Data that came before is dropped.
///
/// A loop of two cycles like the responder's. The packet that ends a READ changes what the next one is compared with
/// [`MATCH_LEAD`] and one cycle after its own reading; [`crate::control::rx_entry::RxEntry`] holds data of its QP back for so long.
#[derive(LogicBlock, Module)]
pub struct DataMatch {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// QP of the packet that comes in `checked` in [`MATCH_LEAD`] cycles.
    pub early_qp: Signal<In, Bits<14>>,
    /// QP of the packet that comes in `checked` in three cycles.
    pub rd_qp: Signal<In, Bits<14>>,
    /// Checked packets, at most every second cycle.
    pub checked: Signal<In, Checked>,
    /// READs and atomics begun.
    pub sent_write: Signal<In, SentWrite>,
    /// The sender's progress.
    pub sender_pub: Signal<In, SenderPub>,
    /// What the packet is, two cycles later.
    pub step: Signal<Out, DataStep>,
    landings: Ram<Landing>,
    asked: Ram<Asked>,
    /// READs and atomics whose data has come, modulo 64.
    finished: Ram<Bits<6>>,
    progress: RmwRam<Progress>,
    qps: Delay<Bits<14>>,
    jobs3: Delay<Bits<6>>,
    landing5: DFF<Landing>,
    asked5: DFF<Asked>,
    jobs5: DFF<Bits<6>>,
    open5: DFF<Bit>,
    c6: DFF<Compared>,
    landing6: DFF<Landing>,
    progress6: DFF<Progress>,
    out7: DFF<DataStep>,
    op: Signal<Local, Bits<5>>,
    m: Signal<Local, Compared>,
    e: Signal<Local, Landing>,
    expected: Signal<Local, Bit>,
    ahead: Signal<Local, Bit>,
    wrong_kind: Signal<Local, Bit>,
    wrong_len: Signal<Local, Bit>,
    here: Signal<Local, Bit>,
    lands: Signal<Local, Bit>,
    beyond: Signal<Local, Bit>,
    missing: Signal<Local, Bit>,
}

impl DataMatch {
    /// For `2^log2_qps` QPs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            clock: Signal::default(),
            early_qp: Signal::default(),
            rd_qp: Signal::default(),
            checked: Signal::default(),
            sent_write: Signal::default(),
            sender_pub: Signal::default(),
            step: Signal::default(),
            landings: Ram::new(log2_qps + LOG2_JOBS),
            asked: Ram::new(log2_qps),
            finished: Ram::new(log2_qps),
            progress: RmwRam::new(log2_qps),
            qps: Delay::new(RAM_LATENCY),
            jobs3: Delay::new(RAM_LATENCY),
            landing5: DFF::default(),
            asked5: DFF::default(),
            jobs5: DFF::default(),
            open5: DFF::default(),
            c6: DFF::default(),
            landing6: DFF::default(),
            progress6: DFF::default(),
            out7: DFF::default(),
            op: Signal::default(),
            m: Signal::default(),
            e: Signal::default(),
            expected: Signal::default(),
            ahead: Signal::default(),
            wrong_kind: Signal::default(),
            wrong_len: Signal::default(),
            here: Signal::default(),
            lands: Signal::default(),
            beyond: Signal::default(),
            missing: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for DataMatch {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for DataMatch {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, landing5, asked5, jobs5, open5, c6, landing6, progress6, out7);
        clock!(self, clock, landings, asked, finished, progress, qps, jobs3);

        // The sender's writes.
        self.landings.wr_valid.next = self.sent_write.val().valid & self.sent_write.val().job;
        self.landings.wr_addr.next = (bit_cast::<20, 14>(self.sent_write.val().qp)
            << LOG2_JOBS as u64)
            | bit_cast::<20, 4>(self.sent_write.val().number);
        self.landings.wr_data.next.first_psn = self.sent_write.val().first_psn;
        self.landings.wr_data.next.last_psn = self.sent_write.val().last_psn;
        self.landings.wr_data.next.atomic = self.sent_write.val().opcode != READ_WR;
        self.landings.wr_data.next.len = self.sent_write.val().len.get_bits::<13>(0);
        self.landings.wr_data.next.empty = self.sent_write.val().len == 0;
        self.landings.wr_data.next.addr = self.sent_write.val().addr;
        self.landings.wr_data.next.lkey = self.sent_write.val().lkey;
        self.asked.wr_valid.next = self.sender_pub.val().valid;
        self.asked.wr_addr.next = bit_cast::<20, 14>(self.sender_pub.val().qp);
        self.asked.wr_data.next.max_psn = self.sender_pub.val().max_psn;
        self.asked.wr_data.next.jobs = self.sender_pub.val().jobs;

        // The QP's oldest READ or atomic.
        self.finished.rd_addr.next = bit_cast::<20, 14>(self.early_qp.val());
        self.qps.data_in.next = self.early_qp.val();
        self.landings.rd_addr.next = (bit_cast::<20, 14>(self.qps.data_out.val())
            << LOG2_JOBS as u64)
            | bit_cast::<20, 4>(self.finished.rd_data.val().get_bits::<4>(0));
        self.asked.rd_addr.next = bit_cast::<20, 14>(self.qps.data_out.val());
        self.jobs3.data_in.next = self.finished.rd_data.val();
        self.landing5.d.next = self.landings.rd_data.val();
        self.asked5.d.next = self.asked.rd_data.val();
        self.jobs5.d.next = self.jobs3.data_out.val();
        self.open5.d.next = self.asked.rd_data.val().jobs != self.jobs3.data_out.val();
        self.progress.rd_valid.next = true;
        self.progress.rd_addr.next = bit_cast::<20, 14>(self.rd_qp.val());

        // First cycle: compare.
        self.e.next = self.landing5.q.val();
        self.op.next = self.checked.val().meta.opcode.get_bits::<5>(0);
        self.landing6.d.next = self.e.val();
        self.progress6.d.next = self.progress.rd_data.val();
        self.c6.d.next.data = self.checked.val().data;
        self.c6.d.next.open = self.open5.q.val();
        self.c6.d.next.restart = self.checked.val().reconfig & self.checked.val().restart;
        self.c6.d.next.at_first = self.checked.val().meta.psn == self.e.val().first_psn;
        self.c6.d.next.at_next =
            self.checked.val().meta.psn == self.progress.rd_data.val().next_psn;
        self.c6.d.next.at_last = self.checked.val().meta.psn == self.e.val().last_psn;
        self.c6.d.next.from_first = self.checked.val().meta.psn - self.e.val().first_psn;
        self.c6.d.next.from_next =
            self.checked.val().meta.psn - self.progress.rd_data.val().next_psn;
        self.c6.d.next.from_end = self.checked.val().meta.psn - self.asked5.q.val().max_psn;
        self.c6.d.next.psn_next = self.checked.val().meta.psn + 1;
        self.c6.d.next.jobs_next = self.jobs5.q.val() + 1;
        self.c6.d.next.atomic = self.op.val() == ATOMIC;
        self.c6.d.next.begins = (self.op.val() == FIRST) | (self.op.val() == ONLY);
        self.c6.d.next.ends = (self.op.val() == LAST) | (self.op.val() == ONLY);
        self.c6.d.next.full = self.checked.val().full;
        self.c6.d.next.fits = self.checked.val().fits;
        self.c6.d.next.some = self.checked.val().meta.len.any();
        self.c6.d.next.len_left = self.e.val().len - self.checked.val().meta.len;
        self.c6.d.next.len_mask = 0xFFF.into();
        if self.checked.val().pmtu == 8 {
            self.c6.d.next.len_mask = 0xFF.into();
        } else if self.checked.val().pmtu == 9 {
            self.c6.d.next.len_mask = 0x1FF.into();
        } else if self.checked.val().pmtu == 10 {
            self.c6.d.next.len_mask = 0x3FF.into();
        } else if self.checked.val().pmtu == 11 {
            self.c6.d.next.len_mask = 0x7FF.into();
        }
        self.c6.d.next.pmtu = self.checked.val().pmtu;
        self.c6.d.next.psn = self.checked.val().meta.psn;
        self.c6.d.next.qp = self.checked.val().qp;

        // Second cycle: choose and write.
        self.m.next = self.c6.q.val();
        self.expected.next = self.m.val().at_first;
        self.ahead.next = !self.m.val().from_first.get_bit(23);
        if self.progress6.q.val().inside {
            self.expected.next = self.m.val().at_next;
            self.ahead.next = !self.m.val().from_next.get_bit(23);
        }
        self.here.next = self.m.val().data & self.m.val().open & self.expected.val();
        // All but the last are full; the last has what is left, and nothing only if nothing was asked for.
        self.wrong_len.next = (self.m.val().ends != self.m.val().at_last)
            | (!self.m.val().ends & !self.m.val().full)
            | (self.m.val().ends
                & (!self.m.val().fits
                    | (self.m.val().some == self.landing6.q.val().empty)
                    | (self.m.val().len_left & self.m.val().len_mask).any()));
        // What is asked for again may come with the opcodes of the first time.
        self.wrong_kind.next = (self.m.val().atomic != self.landing6.q.val().atomic)
            | (!self.m.val().atomic & self.m.val().at_first & !self.m.val().begins)
            | (self.m.val().atomic & self.m.val().some);
        self.lands.next = self.here.val()
            & !self.wrong_kind.val()
            & (self.m.val().atomic | !self.wrong_len.val());
        self.beyond.next =
            self.m.val().data & self.m.val().open & !self.expected.val() & self.ahead.val();
        self.missing.next =
            self.beyond.val() & self.m.val().from_end.get_bit(23) & !self.progress6.q.val().told;
        self.progress.wr_valid.next = self.lands.val() | self.missing.val() | self.m.val().restart;
        self.progress.wr_addr.next = bit_cast::<20, 14>(self.m.val().qp);
        self.progress.wr_data.next = self.progress6.q.val();
        self.progress.wr_data.next.told = self.missing.val();
        if self.lands.val() {
            self.progress.wr_data.next.inside = !self.m.val().at_last;
            self.progress.wr_data.next.next_psn = self.m.val().psn_next;
        }
        if self.m.val().restart {
            self.progress.wr_data.next.inside = false;
        }
        self.finished.wr_valid.next =
            (self.lands.val() & self.m.val().at_last) | self.m.val().restart;
        self.finished.wr_addr.next = bit_cast::<20, 14>(self.m.val().qp);
        self.finished.wr_data.next = self.m.val().jobs_next;
        if self.m.val().restart {
            self.finished.wr_data.next = 0.into();
        }

        self.out7.d.next.lands = self.lands.val();
        self.out7.d.next.missing = self.missing.val();
        self.out7.d.next.misfit = self.here.val() & !self.lands.val();
        self.out7.d.next.stray = (self.m.val().data & !self.m.val().open)
            | (self.beyond.val() & !self.m.val().from_end.get_bit(23));
        self.out7.d.next.ahead = self.beyond.val() & self.m.val().from_end.get_bit(23);
        self.out7.d.next.behind =
            self.m.val().data & self.m.val().open & !self.expected.val() & !self.ahead.val();
        self.out7.d.next.status = LOC_LEN.into();
        if self.wrong_kind.val() {
            self.out7.d.next.status = BAD_RESP.into();
        }
        self.out7.d.next.psn = self.landing6.q.val().first_psn;
        if self.progress6.q.val().inside {
            self.out7.d.next.psn = self.progress6.q.val().next_psn;
        }
        self.out7.d.next.atomic = self.m.val().atomic;
        self.out7.d.next.addr = self.landing6.q.val().addr;
        self.out7.d.next.lkey = self.landing6.q.val().lkey;
        self.out7.d.next.offset = bit_cast::<32, 24>(self.m.val().from_first) << 12;
        if self.m.val().pmtu == 8 {
            self.out7.d.next.offset = bit_cast::<32, 24>(self.m.val().from_first) << 8;
        } else if self.m.val().pmtu == 9 {
            self.out7.d.next.offset = bit_cast::<32, 24>(self.m.val().from_first) << 9;
        } else if self.m.val().pmtu == 10 {
            self.out7.d.next.offset = bit_cast::<32, 24>(self.m.val().from_first) << 10;
        } else if self.m.val().pmtu == 11 {
            self.out7.d.next.offset = bit_cast::<32, 24>(self.m.val().from_first) << 11;
        }
        self.step.next = self.out7.q.val();
    }
}

ferroce_emit::register_leaf!("data_match", DataMatch::default);

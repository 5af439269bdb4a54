//! Visits to QPs that have READs and atomics to answer.

use crate::answer_desc::{
    AnswerChunk, AtomicOrder, AtomicValue, Job, JobDone, JobProgress, JobVisit, RegionLife,
    JOBS_LOG2, VISIT_BYTES,
};
use crate::desc::LifeWrite;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::pages::RegionWrite;
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};

// The tables are read in the steps Read and Wait, and their data is taken in Load; the region is read in Left and Size, and taken in Count.
const _: () = assert!(RAM_LATENCY == 2);

/// What a visit is at.
#[derive(Clone, Copy, Debug, PartialEq, LogicState, FromBits)]
pub enum VisitStep {
    /// Nothing.
    Idle,
    /// The job is being read.
    Read,
    /// The same.
    Wait,
    /// It is here.
    Load,
    /// What is left of it.
    Left,
    /// What this visit answers.
    Size,
    /// In how many packets.
    Count,
    /// Packets or an atomic are handed over.
    Emit,
    /// The visit ends.
    End,
}

/// One visit at a time, nine cycles each: up to 4 KiB of a READ's answer; or an atomic, which takes two visits, one that hands it to the
/// atomic unit and one that takes the result from there. Jobs of an earlier life of their QP are left alone,
/// and one whose region has gone since it was checked is refused (NAK 0x62) from there on.
#[derive(LogicBlock, Module)]
pub struct AnswerVisit {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// QPs to visit.
    pub visits: StreamIn<JobVisit>,
    /// QPs restarted.
    pub life: Signal<In, LifeWrite>,
    /// Regions made and taken away.
    pub region: Signal<In, RegionWrite>,
    /// Job to read.
    pub job_addr: Signal<Out, Bits<20>>,
    /// The job, `RAM_LATENCY` cycles later.
    pub job: Signal<In, Job>,
    /// QP whose atomic's value is wanted.
    pub value_addr: Signal<Out, Bits<20>>,
    /// The value, `RAM_LATENCY` cycles later.
    pub value: Signal<In, AtomicValue>,
    /// Atomics for the unit.
    pub order: StreamOut<AtomicOrder>,
    /// Packets.
    pub chunk: StreamOut<AnswerChunk>,
    /// Ends of visits.
    pub done: StreamOut<JobDone>,
    progress: Ram<JobProgress>,
    lives: Ram<Bits<8>>,
    regions: Ram<RegionLife>,
    step: DFF<VisitStep>,
    visit: DFF<JobVisit>,
    j: DFF<Job>,
    v: DFF<AtomicValue>,
    sent: DFF<Bits<32>>,
    stale: DFF<Bit>,
    left: DFF<Bits<32>>,
    before: DFF<Bits<24>>,
    addr: DFF<Bits<64>>,
    psn: DFF<Bits<24>>,
    bytes: DFF<Bits<13>>,
    last: DFF<Bit>,
    more: DFF<Bits<4>>,
    gone: DFF<Bit>,
    asks: Signal<Local, Bit>,
    same: Signal<Local, Bit>,
    over: Signal<Local, Bits<13>>,
}

impl AnswerVisit {
    /// For `2^log2_qps` QPs and `2^log2_mrs` regions.
    #[must_use]
    pub fn new(log2_qps: usize, log2_mrs: usize) -> Self {
        Self {
            clock: Signal::default(),
            visits: StreamIn::default(),
            life: Signal::default(),
            region: Signal::default(),
            job_addr: Signal::default(),
            job: Signal::default(),
            value_addr: Signal::default(),
            value: Signal::default(),
            order: StreamOut::default(),
            chunk: StreamOut::default(),
            done: StreamOut::default(),
            progress: Ram::new(log2_qps),
            lives: Ram::new(log2_qps),
            regions: Ram::new(log2_mrs),
            step: DFF::default(),
            visit: DFF::default(),
            j: DFF::default(),
            v: DFF::default(),
            sent: DFF::default(),
            stale: DFF::default(),
            left: DFF::default(),
            before: DFF::default(),
            addr: DFF::default(),
            psn: DFF::default(),
            bytes: DFF::default(),
            last: DFF::default(),
            more: DFF::default(),
            gone: DFF::default(),
            asks: Signal::default(),
            same: Signal::default(),
            over: Signal::default(),
        }
    }
}

/// 16 QPs, 16 regions.
impl Default for AnswerVisit {
    fn default() -> Self {
        Self::new(4, 4)
    }
}

impl Logic for AnswerVisit {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, step, visit, j, v, sent, stale, left, before, addr, psn, bytes, last,
            more, gone
        );
        clock!(self, clock, progress, lives, regions);
        self.regions.rd_addr.next = bit_cast::<20, 16>(self.j.q.val().via.mr);
        self.regions.wr_valid.next = self.region.val().valid;
        self.regions.wr_addr.next = bit_cast::<20, 16>(self.region.val().index);
        self.regions.wr_data.next.valid = self.region.val().region.valid;
        self.regions.wr_data.next.epoch = self.region.val().region.epoch;
        self.visits.ready.next = self.step.q.val() == VisitStep::Idle;
        self.job_addr.next = (bit_cast::<20, 14>(self.visit.q.val().qp) << JOBS_LOG2 as u64)
            | bit_cast::<20, JOBS_LOG2>(self.visit.q.val().slot);
        self.value_addr.next = bit_cast::<20, 14>(self.visit.q.val().qp);
        self.progress.rd_addr.next = bit_cast::<20, 14>(self.visit.q.val().qp);
        self.lives.rd_addr.next = bit_cast::<20, 14>(self.visit.q.val().qp);
        self.lives.wr_valid.next = self.life.val().valid;
        self.lives.wr_addr.next = bit_cast::<20, 14>(self.life.val().qp);
        self.lives.wr_data.next = self.life.val().life;

        // The first visit to an atomic asks, the second answers.
        self.asks.next = self.j.q.val().atomic & !self.sent.q.val().any() & !self.gone.q.val();
        self.same.next = (self.progress.rd_data.val().slot == self.visit.q.val().slot)
            & (self.progress.rd_data.val().life == self.visit.q.val().life);
        self.over.next = self.bytes.q.val() - 1;
        match self.step.q.val() {
            VisitStep::Idle => {
                self.visit.d.next = self.visits.data.val();
                if self.visits.valid.val() {
                    self.step.d.next = VisitStep::Read;
                }
            }
            VisitStep::Read => {
                self.step.d.next = VisitStep::Wait;
            }
            VisitStep::Wait => {
                self.step.d.next = VisitStep::Load;
            }
            VisitStep::Load => {
                self.j.d.next = self.job.val();
                self.v.d.next = self.value.val();
                self.sent.d.next = 0.into();
                if self.same.val() {
                    self.sent.d.next = self.progress.rd_data.val().sent;
                }
                self.stale.d.next = self.lives.rd_data.val() != self.visit.q.val().life;
                self.step.d.next = VisitStep::Left;
            }
            VisitStep::Left => {
                self.left.d.next = self.j.q.val().operand.get_bits::<32>(0) - self.sent.q.val();
                self.addr.d.next = self.j.q.val().addr + bit_cast::<64, 32>(self.sent.q.val());
                // 2^31 bytes at most are sent, so these are all bits that count.
                self.before.d.next = bit_cast::<24, 32>(self.sent.q.val() >> self.j.q.val().pmtu);
                if self.j.q.val().atomic {
                    self.before.d.next = 0.into();
                }
                self.step.d.next = VisitStep::Size;
                if self.stale.q.val() {
                    self.step.d.next = VisitStep::End;
                }
            }
            VisitStep::Size => {
                self.psn.d.next = self.j.q.val().psn + self.before.q.val();
                self.last.d.next = self.j.q.val().atomic | (self.left.q.val() <= VISIT_BYTES);
                self.bytes.d.next = VISIT_BYTES.into();
                if self.left.q.val() <= VISIT_BYTES {
                    self.bytes.d.next = self.left.q.val().get_bits::<13>(0);
                }
                self.step.d.next = VisitStep::Count;
            }
            VisitStep::Count => {
                self.gone.d.next = ((self.bytes.q.val().any() & !self.j.q.val().atomic)
                    | (self.j.q.val().atomic & !self.sent.q.val().any()))
                    & (!self.regions.rd_data.val().valid
                        | (self.regions.rd_data.val().epoch != self.j.q.val().via.epoch));
                self.more.d.next = 0.into();
                if self.bytes.q.val().any() {
                    self.more.d.next = (self.over.val() >> self.j.q.val().pmtu).get_bits::<4>(0);
                }
                self.step.d.next = VisitStep::Emit;
            }
            VisitStep::Emit => {
                if (self.asks.val() & self.order.ready.val())
                    | (!self.asks.val() & self.chunk.ready.val())
                {
                    self.step.d.next = VisitStep::End;
                }
            }
            VisitStep::End => {
                if self.done.ready.val() {
                    self.step.d.next = VisitStep::Idle;
                }
            }
        }

        self.order.valid.next = (self.step.q.val() == VisitStep::Emit) & self.asks.val();
        self.order.data.next.qp = self.visit.q.val().qp;
        self.order.data.next.life = self.visit.q.val().life;
        self.order.data.next.psn = self.j.q.val().psn;
        self.order.data.next.counted = self.j.q.val().counted;
        self.order.data.next.swap = self.j.q.val().swap;
        self.order.data.next.addr = self.j.q.val().addr;
        self.order.data.next.operand = self.j.q.val().operand;
        self.order.data.next.compare = self.j.q.val().compare;

        self.chunk.valid.next = (self.step.q.val() == VisitStep::Emit) & !self.asks.val();
        self.chunk.data.next.qp = self.visit.q.val().qp;
        self.chunk.data.next.life = self.visit.q.val().life;
        self.chunk.data.next.counted = self.j.q.val().counted;
        self.chunk.data.next.first = !self.sent.q.val().any();
        self.chunk.data.next.last = self.last.q.val();
        self.chunk.data.next.more = self.more.q.val();
        self.chunk.data.next.pmtu = self.j.q.val().pmtu;
        self.chunk.data.next.psn = self.psn.q.val();
        self.chunk.data.next.msn = self.j.q.val().msn;
        self.chunk.data.next.bytes = self.bytes.q.val();
        self.chunk.data.next.addr = self.addr.q.val();
        self.chunk.data.next.via = self.j.q.val().via;
        self.chunk.data.next.refused = self.gone.q.val();
        self.chunk.data.next.atomic = self.j.q.val().atomic;
        self.chunk.data.next.value = self.v.q.val().value;
        self.chunk.data.next.failed = self.v.q.val().failed;
        self.chunk.data.next.silent = self.v.q.val().gone;
        if self.j.q.val().atomic | self.gone.q.val() {
            self.chunk.data.next.last = true;
            self.chunk.data.next.more = 0.into();
            self.chunk.data.next.bytes = 0.into();
        }

        self.done.valid.next = self.step.q.val() == VisitStep::End;
        self.done.data.next.qp = self.visit.q.val().qp;
        self.done.data.next.life = self.visit.q.val().life;
        self.done.data.next.issued =
            !self.stale.q.val() & !self.asks.val() & (self.last.q.val() | self.gone.q.val());
        self.done.data.next.parked = !self.stale.q.val() & self.asks.val();
        self.progress.wr_valid.next = (self.step.q.val() == VisitStep::End) & !self.stale.q.val();
        self.progress.wr_addr.next = bit_cast::<20, 14>(self.visit.q.val().qp);
        self.progress.wr_data.next.slot = self.visit.q.val().slot;
        self.progress.wr_data.next.life = self.visit.q.val().life;
        self.progress.wr_data.next.sent = self.sent.q.val() + VISIT_BYTES;
        if !self.asks.val() & (self.last.q.val() | self.gone.q.val()) {
            self.progress.wr_data.next.sent = 0.into();
        }
    }
}

ferroce_emit::register_leaf!("answer_visit", AnswerVisit::default);

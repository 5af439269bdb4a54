//! Answers to the peers' requests.

use crate::answer_cut::AnswerCut;
use crate::answer_desc::{AnswerChunk, AnswerPassed, AtomicOrder, JobDone, JobVisit};
use crate::answer_order::AnswerOrder;
use crate::answer_visit::AnswerVisit;
use crate::atomic_unit::AtomicUnit;
use crate::desc::{LifeWrite, Request};
use ferroce_emit::prelude::*;
use ferroce_mmu::drain::Drain;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq, DmaWriteBeat};
use ferroce_rtl::desc::pages::RegionWrite;
use ferroce_rtl::desc::rx::{AckJob, Answer, AnsweredPub, Kill};
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Cycles in which an atomic whose region was found is handed to the unit, and spare.
const CHECK_CYCLES: u64 = 15;

/// ACKs, NAKs, and answers to READs and atomics: [`AnswerOrder`] decides when, [`AnswerVisit`] and [`AnswerCut`] make packets,
/// [`AtomicUnit`] executes atomics.
#[derive(LogicBlock, Module)]
pub struct TxAnswers {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The responder's answers.
    pub answers: StreamIn<Answer>,
    /// READs and atomics that may begin, in this cycle.
    pub fences: Signal<In, Bits<7>>,
    /// Answers that have left.
    pub passed: StreamIn<AnswerPassed>,
    /// ACKs and NAKs to send.
    pub acks: StreamOut<AckJob>,
    /// Answers to READs and atomics.
    pub packets: StreamOut<Request>,
    /// QPs restarted.
    pub life: Signal<Out, LifeWrite>,
    /// Regions made and taken away.
    pub region: Signal<In, RegionWrite>,
    /// No atomic uses a region any more that had gone before the last `drain`.
    pub drained: Signal<Out, Bit>,
    /// Begin to wait for that.
    pub drain: Signal<In, Bit>,
    /// READs and atomics that are answered.
    pub answered: Signal<Out, AnsweredPub>,
    /// QPs of which an answer failed.
    pub kills: StreamOut<Kill>,
    /// Atomics: reads of the host's memory.
    pub read: StreamOut<DmaReadReq>,
    /// Their data.
    pub data: StreamIn<DmaReadBeat>,
    /// Atomics: writes to the host's memory.
    pub write: StreamOut<DmaWriteBeat>,
    /// A write was taken.
    pub written: Signal<Out, Bit>,
    /// It can't be overtaken any more.
    pub settled: Signal<In, Bit>,
    order: AnswerOrder,
    visit: AnswerVisit,
    cut: AnswerCut,
    unit: AtomicUnit,
    drains: Drain,
}

impl TxAnswers {
    /// For `2^log2_qps` QPs and `2^log2_mrs` regions; atomics read with the DMA tag `tag`.
    #[must_use]
    pub fn new(log2_qps: usize, log2_mrs: usize, tag: u8) -> Self {
        Self {
            clock: Signal::default(),
            answers: StreamIn::default(),
            fences: Signal::default(),
            passed: StreamIn::default(),
            acks: StreamOut::default(),
            packets: StreamOut::default(),
            life: Signal::default(),
            region: Signal::default(),
            drained: Signal::default(),
            drain: Signal::default(),
            answered: Signal::default(),
            kills: StreamOut::default(),
            read: StreamOut::default(),
            data: StreamIn::default(),
            write: StreamOut::default(),
            written: Signal::default(),
            settled: Signal::default(),
            order: AnswerOrder::new(log2_qps),
            visit: AnswerVisit::new(log2_qps, log2_mrs),
            cut: AnswerCut::default(),
            unit: AtomicUnit::new(log2_qps, tag),
            drains: Drain::new(CHECK_CYCLES, 0),
        }
    }
}

/// 16 QPs, 16 regions, tag 255.
impl Default for TxAnswers {
    fn default() -> Self {
        Self::new(4, 4, 255)
    }
}

impl Logic for TxAnswers {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, order, visit, cut, unit, drains);
        StreamIn::<Answer>::link(&mut self.answers, &mut self.order.answers);
        self.order.fences.next = self.fences.val();
        StreamIn::<AnswerPassed>::link(&mut self.passed, &mut self.order.passed);
        StreamOut::<AckJob>::link(&mut self.acks, &mut self.order.acks);
        StreamOut::<Kill>::link(&mut self.kills, &mut self.order.kills);
        self.answered.next = self.order.answered.val();
        self.life.next = self.order.life.val();
        self.visit.life.next = self.order.life.val();
        self.unit.life.next = self.order.life.val();
        self.visit.region.next = self.region.val();
        self.drains.mark.next = self.drain.val();
        self.drains.stalled_before.next = false;
        self.drains.entered.next = self.visit.order.valid.val() & self.unit.order.ready.val();
        self.drains.left.next = self.unit.done.valid.val() & self.order.atomic_done.ready.val();
        self.drains.stalled_behind.next = false;
        self.drained.next = self.drains.drained.val();

        StreamOut::<JobVisit>::join(&mut self.order.visits, &mut self.visit.visits);
        self.order.job_addr.next = self.visit.job_addr.val();
        self.visit.job.next = self.order.job.val();
        StreamOut::<JobDone>::join(&mut self.visit.done, &mut self.order.done);
        StreamOut::<AnswerChunk>::join(&mut self.visit.chunk, &mut self.cut.chunk);
        StreamOut::<Request>::link(&mut self.packets, &mut self.cut.answer);

        StreamOut::<AtomicOrder>::join(&mut self.visit.order, &mut self.unit.order);
        self.unit.value_addr.next = self.visit.value_addr.val();
        self.visit.value.next = self.unit.value.val();
        StreamOut::<JobDone>::join(&mut self.unit.done, &mut self.order.atomic_done);
        StreamOut::<DmaReadReq>::link(&mut self.read, &mut self.unit.read);
        StreamIn::<DmaReadBeat>::link(&mut self.data, &mut self.unit.data);
        StreamOut::<DmaWriteBeat>::link(&mut self.write, &mut self.unit.write);
        self.written.next = self.unit.written.val();
        self.unit.settled.next = self.settled.val();
    }
}

ferroce_emit::register_leaf!("answers", TxAnswers::default);

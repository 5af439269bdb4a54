//! Executes atomics.

use crate::answer_desc::{
    AtomicOrder, AtomicResult, AtomicValue, JobDone, ResultRing, RESULTS_LOG2,
};
use crate::desc::LifeWrite;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq, DmaWriteBeat};
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

// Tables are read in two steps, and their data is taken in the third.
const _: () = assert!(RAM_LATENCY == 2);

/// Bytes of an atomic's operand.
const ATOMIC_BYTES: u64 = 8;
/// Results that are kept of a QP.
const RESULTS: u64 = 1 << RESULTS_LOG2;

/// What the unit is at.
#[derive(Clone, Copy, Debug, PartialEq, LogicState, FromBits)]
pub enum AtomicStep {
    /// Nothing.
    Idle,
    /// The QP's results are being read.
    Look,
    /// The same.
    Wait,
    /// They are here.
    Known,
    /// The word is asked for.
    Ask,
    /// The host's memory reads it.
    Fetch,
    /// The word is here.
    Compute,
    /// The new one is written.
    Write,
    /// The write is on its way out.
    Settle,
    /// The result is kept.
    Keep,
    /// An earlier result is being read.
    Probe,
    /// The same.
    ProbeWait,
    /// It is here.
    Compare,
    /// All is done.
    End,
}

/// One atomic at a time, in the order of `orders`, for all QPs: the word is read behind every write of the card, and the next
/// atomic is begun when the write of this one can't be overtaken any more. So atomics of this card are atomic among each other, whatever else the
/// host does.
///
/// A duplicate is never executed: its result is looked for among the last 16 of its QP.
#[derive(LogicBlock, Module)]
pub struct AtomicUnit {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Atomics.
    pub order: StreamIn<AtomicOrder>,
    /// QPs restarted.
    pub life: Signal<In, LifeWrite>,
    /// Reads of the host's memory.
    pub read: StreamOut<DmaReadReq>,
    /// Their data.
    pub data: StreamIn<DmaReadBeat>,
    /// Writes to the host's memory.
    pub write: StreamOut<DmaWriteBeat>,
    /// A write was taken.
    pub written: Signal<Out, Bit>,
    /// It can't be overtaken any more.
    pub settled: Signal<In, Bit>,
    /// Atomics that are done.
    pub done: StreamOut<JobDone>,
    /// QP whose atomic's value is wanted.
    pub value_addr: Signal<In, Bits<20>>,
    /// The value, `RAM_LATENCY` cycles later.
    pub value: Signal<Out, AtomicValue>,
    tag: Constant<Bits<8>>,
    orders: SyncFifo<AtomicOrder>,
    lives: Ram<Bits<8>>,
    rings: Ram<ResultRing>,
    results: Ram<AtomicResult>,
    values: Ram<AtomicValue>,
    step: DFF<AtomicStep>,
    o: DFF<AtomicOrder>,
    ring: DFF<ResultRing>,
    word: DFF<Bits<64>>,
    found: DFF<AtomicValue>,
    sum: DFF<Bits<64>>,
    equal: DFF<Bit>,
    place: DFF<Bits<RESULTS_LOG2>>,
    tried: DFF<Bits<5>>,
    fresh: Signal<Local, Bits<64>>,
    lane: Signal<Local, Bits<3>>,
    known: Signal<Local, ResultRing>,
    keep: Signal<Local, Bit>,
}

impl AtomicUnit {
    /// For `2^log2_qps` QPs, reading with the DMA tag `tag`.
    #[must_use]
    pub fn new(log2_qps: usize, tag: u8) -> Self {
        Self {
            clock: Signal::default(),
            order: StreamIn::default(),
            life: Signal::default(),
            read: StreamOut::default(),
            data: StreamIn::default(),
            write: StreamOut::default(),
            written: Signal::default(),
            settled: Signal::default(),
            done: StreamOut::default(),
            value_addr: Signal::default(),
            value: Signal::default(),
            tag: Constant::new(u64::from(tag).into()),
            // A QP has one here at most, so who hands it over never waits.
            orders: SyncFifo::new(log2_qps),
            lives: Ram::new(log2_qps),
            rings: Ram::new(log2_qps),
            results: Ram::new(log2_qps + RESULTS_LOG2),
            values: Ram::new(log2_qps),
            step: DFF::default(),
            o: DFF::default(),
            ring: DFF::default(),
            word: DFF::default(),
            found: DFF::default(),
            sum: DFF::default(),
            equal: DFF::default(),
            place: DFF::default(),
            tried: DFF::default(),
            fresh: Signal::default(),
            lane: Signal::default(),
            known: Signal::default(),
            keep: Signal::default(),
        }
    }
}

/// 16 QPs, tag 255.
impl Default for AtomicUnit {
    fn default() -> Self {
        Self::new(4, 255)
    }
}

impl Logic for AtomicUnit {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, step, o, ring, word, found, sum, equal, place, tried);
        clock!(self, clock, orders, lives, rings, results, values);
        StreamIn::<AtomicOrder>::link(&mut self.order, &mut self.orders.input);
        self.orders.output.ready.next = self.step.q.val() == AtomicStep::Idle;
        self.lives.rd_addr.next = bit_cast::<20, 14>(self.o.q.val().qp);
        self.lives.wr_valid.next = self.life.val().valid;
        self.lives.wr_addr.next = bit_cast::<20, 14>(self.life.val().qp);
        self.lives.wr_data.next = self.life.val().life;
        self.rings.rd_addr.next = bit_cast::<20, 14>(self.o.q.val().qp);
        self.known.next = self.rings.rd_data.val();
        // The answer has one beat; the word's place in it is that in memory.
        self.lane.next = self.o.q.val().addr.get_bits::<3>(3);
        self.fresh.next = self.o.q.val().operand;
        if !self.o.q.val().swap {
            self.fresh.next = self.sum.q.val();
        }
        self.keep.next = self.step.q.val() == AtomicStep::Keep;

        match self.step.q.val() {
            AtomicStep::Idle => {
                self.o.d.next = self.orders.output.data.val();
                if self.orders.output.valid.val() {
                    self.step.d.next = AtomicStep::Look;
                }
            }
            AtomicStep::Look => {
                self.step.d.next = AtomicStep::Wait;
            }
            AtomicStep::Wait => {
                self.step.d.next = AtomicStep::Known;
            }
            AtomicStep::Known => {
                self.ring.d.next = self.known.val();
                self.ring.d.next.life = self.o.q.val().life;
                if self.known.val().life != self.o.q.val().life {
                    self.ring.d.next.count = 0.into();
                }
                self.place.d.next = self.known.val().place - 1;
                self.tried.d.next = 0.into();
                self.found.d.next = AtomicValue::default();
                self.step.d.next = AtomicStep::Ask;
                if !self.o.q.val().counted {
                    self.step.d.next = AtomicStep::Probe;
                }
                if self.lives.rd_data.val() != self.o.q.val().life {
                    self.step.d.next = AtomicStep::End;
                }
            }
            AtomicStep::Ask => {
                if self.read.ready.val() {
                    self.step.d.next = AtomicStep::Fetch;
                }
            }
            AtomicStep::Fetch => {
                self.word.d.next = (self.data.data.val().data
                    >> (bit_cast::<9, 3>(self.lane.val()) << 6))
                    .get_bits::<64>(0);
                if self.data.valid.val() & self.data.data.val().last {
                    self.found.d.next.failed = self.data.data.val().err;
                    self.step.d.next = AtomicStep::Compute;
                }
            }
            AtomicStep::Compute => {
                self.found.d.next.value = self.word.q.val();
                self.sum.d.next = self.word.q.val() + self.o.q.val().operand;
                self.equal.d.next = self.word.q.val() == self.o.q.val().compare;
                self.step.d.next = AtomicStep::Write;
                if self.found.q.val().failed {
                    self.step.d.next = AtomicStep::Keep;
                }
            }
            AtomicStep::Write => {
                if self.o.q.val().swap & !self.equal.q.val() {
                    self.step.d.next = AtomicStep::Keep;
                } else if self.write.ready.val() {
                    self.step.d.next = AtomicStep::Settle;
                }
            }
            AtomicStep::Settle => {
                if self.settled.val() {
                    self.step.d.next = AtomicStep::Keep;
                }
            }
            AtomicStep::Probe => {
                self.step.d.next = AtomicStep::ProbeWait;
                if self.tried.q.val() == self.ring.q.val().count {
                    self.found.d.next.gone = true;
                    self.step.d.next = AtomicStep::Keep;
                }
            }
            AtomicStep::ProbeWait => {
                self.step.d.next = AtomicStep::Compare;
            }
            AtomicStep::Compare => {
                self.found.d.next.value = self.results.rd_data.val().value;
                self.tried.d.next = self.tried.q.val() + 1;
                self.place.d.next = self.place.q.val() - 1;
                self.step.d.next = AtomicStep::Probe;
                if self.results.rd_data.val().psn == self.o.q.val().psn {
                    self.step.d.next = AtomicStep::Keep;
                }
            }
            AtomicStep::Keep => {
                self.step.d.next = AtomicStep::End;
            }
            AtomicStep::End => {
                if self.done.ready.val() {
                    self.step.d.next = AtomicStep::Idle;
                }
            }
        }

        self.read.valid.next = self.step.q.val() == AtomicStep::Ask;
        self.read.data.next.addr = self.o.q.val().addr;
        self.read.data.next.len = ATOMIC_BYTES.into();
        self.read.data.next.tag = self.tag.val();
        self.read.data.next.ordered = true;
        self.data.ready.next = true;
        self.write.valid.next =
            (self.step.q.val() == AtomicStep::Write) & (!self.o.q.val().swap | self.equal.q.val());
        self.write.data.next.data = bit_cast::<512, 64>(self.fresh.val())
            | (bit_cast::<512, 64>(self.fresh.val()) << 64)
            | (bit_cast::<512, 64>(self.fresh.val()) << 128)
            | (bit_cast::<512, 64>(self.fresh.val()) << 192)
            | (bit_cast::<512, 64>(self.fresh.val()) << 256)
            | (bit_cast::<512, 64>(self.fresh.val()) << 320)
            | (bit_cast::<512, 64>(self.fresh.val()) << 384)
            | (bit_cast::<512, 64>(self.fresh.val()) << 448);
        self.write.data.next.addr = self.o.q.val().addr;
        self.write.data.next.len = ATOMIC_BYTES.into();
        self.write.data.next.last = true;
        self.written.next = (self.step.q.val() == AtomicStep::Write)
            & (!self.o.q.val().swap | self.equal.q.val())
            & self.write.ready.val();

        // What was executed is kept; a duplicate's result is there already.
        self.results.rd_addr.next = (bit_cast::<20, 14>(self.o.q.val().qp) << RESULTS_LOG2 as u64)
            | bit_cast::<20, RESULTS_LOG2>(self.place.q.val());
        self.results.wr_valid.next =
            self.keep.val() & self.o.q.val().counted & !self.found.q.val().failed;
        self.results.wr_addr.next = (bit_cast::<20, 14>(self.o.q.val().qp) << RESULTS_LOG2 as u64)
            | bit_cast::<20, RESULTS_LOG2>(self.ring.q.val().place);
        self.results.wr_data.next.psn = self.o.q.val().psn;
        self.results.wr_data.next.value = self.found.q.val().value;
        self.rings.wr_valid.next =
            self.keep.val() & self.o.q.val().counted & !self.found.q.val().failed;
        self.rings.wr_addr.next = bit_cast::<20, 14>(self.o.q.val().qp);
        self.rings.wr_data.next.life = self.ring.q.val().life;
        self.rings.wr_data.next.place = self.ring.q.val().place + 1;
        self.rings.wr_data.next.count = self.ring.q.val().count;
        if self.ring.q.val().count != RESULTS {
            self.rings.wr_data.next.count = self.ring.q.val().count + 1;
        }
        self.values.wr_valid.next = self.keep.val();
        self.values.wr_addr.next = bit_cast::<20, 14>(self.o.q.val().qp);
        self.values.wr_data.next = self.found.q.val();
        self.values.rd_addr.next = self.value_addr.val();
        self.value.next = self.values.rd_data.val();

        self.done.valid.next = self.step.q.val() == AtomicStep::End;
        self.done.data.next.qp = self.o.q.val().qp;
        self.done.data.next.life = self.o.q.val().life;
        self.done.data.next.issued = false;
        self.done.data.next.parked = false;
    }
}

ferroce_emit::register_leaf!("atomic_unit", AtomicUnit::default);

//! The reading half of the requester.

use super::deliver::Deliver;
use super::rc_intake::RcIntake;
use super::read_budget::COMPLETION_HEADERS;
use super::read_split::{ReadSplit, CLASSES};
use super::reorder_buffer::ReorderBuffer;
use super::retire::Retire;
use super::slot::{ReadJob, PAYLOAD_LOG2, RQ_LOG2, SQ_LOG2};
use crate::axis::RcBeat;
use crate::desc::{PcieLimits, RqTlp};
use crate::tags;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq};
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Time-out of a read (log2 of core cycles): 67 ms at 250 MHz, above the 50 ms at which the default range of the PCIe block's own time-out ends
/// (PCIe Base 2.8), so it acts only when that one is switched off.
pub const DEFAULT_LOG2_TIMEOUT: usize = 24;
/// Steps in which the time-out is measured (log2).
const STEPS_LOG2: usize = 4;

/// Reads host memory: from the clients' requests to read TLPs, and from completions to the clients' data. Data of a class comes in the order of its requests.
///
/// Nothing that arrives is held up by anything but the beats before it, and every request is answered: with data, or with `err`
/// after a completion that says so or after the time-out.
#[derive(LogicBlock, Module)]
pub struct RequesterRx {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The host's settings.
    pub limits: Signal<In, PcieLimits>,
    /// Reads of all clients. A client's tags are those of [`crate::tags`], and it uses each once at a time.
    pub request: StreamIn<DmaReadReq>,
    /// Completions.
    pub rc: StreamIn<RcBeat>,
    /// Read TLPs.
    pub reads: StreamOut<RqTlp>,
    /// Data for the clients.
    pub data: StreamOut<DmaReadBeat>,
    /// Pulse: a read TLP was answered with an error.
    pub failed: Signal<Out, Bit>,
    /// Read TLPs, 0 to 3, that turn out in this cycle not to have been answered in time.
    pub timeouts: Signal<Out, Bits<2>>,
    /// Pulse: a completion for which nothing waits was dropped.
    pub unexpected: Signal<Out, Bit>,
    step_cycles: Constant<Bits<24>>,
    cycle: DFF<Bits<24>>,
    now: DFF<Bits<5>>,
    timeouts_reg: DFF<Bits<2>>,
    split: ReadSplit,
    intake: RcIntake,
    buffer: ReorderBuffer,
    retire: [Retire; CLASSES],
    deliver: Deliver,
}

impl RequesterRx {
    /// A read fails between 15/16 of `2^log2_timeout` cycles and all of them after it was issued, if it is its class's oldest by then.
    ///
    /// # Panics
    /// If `log2_timeout` is not 5 to 28.
    #[must_use]
    pub fn new(log2_timeout: usize) -> Self {
        Self::with_headers(log2_timeout, COMPLETION_HEADERS)
    }

    /// [`Self::new`] for a block that can hold `headers` completions of 64 bytes.
    ///
    /// # Panics
    /// As [`Self::new`] and [`super::read_budget::ReadBudget::new`].
    #[must_use]
    pub fn with_headers(log2_timeout: usize, headers: usize) -> Self {
        assert!(
            (STEPS_LOG2 + 1..=STEPS_LOG2 + 24).contains(&log2_timeout),
            "a time-out of 2^{log2_timeout} cycles"
        );
        Self {
            clock: Signal::default(),
            limits: Signal::default(),
            request: StreamIn::default(),
            rc: StreamIn::default(),
            reads: StreamOut::default(),
            data: StreamOut::default(),
            failed: Signal::default(),
            timeouts: Signal::default(),
            unexpected: Signal::default(),
            step_cycles: Constant::new(((1u64 << (log2_timeout - STEPS_LOG2)) - 1).into()),
            cycle: DFF::default(),
            now: DFF::default(),
            timeouts_reg: DFF::default(),
            split: ReadSplit::new(headers),
            intake: RcIntake::default(),
            buffer: ReorderBuffer::default(),
            retire: [
                Retire::new(tags::PAYLOAD, PAYLOAD_LOG2),
                Retire::new(tags::SQ, SQ_LOG2),
                Retire::new(tags::RQ, RQ_LOG2),
            ],
            deliver: Deliver::default(),
        }
    }
}

impl Default for RequesterRx {
    fn default() -> Self {
        Self::new(DEFAULT_LOG2_TIMEOUT)
    }
}

impl Logic for RequesterRx {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, cycle, now, timeouts_reg);
        clock!(self, clock, split, intake, buffer, deliver);
        self.cycle.d.next = (self.cycle.q.val() + 1) & self.step_cycles.val();
        if self.cycle.q.val() == 0 {
            self.now.d.next = self.now.q.val() + 1;
        }

        self.split.limits.next = self.limits.val();
        self.split.now.next = self.now.q.val();
        StreamIn::<DmaReadReq>::link(&mut self.request, &mut self.split.request);
        StreamOut::<RqTlp>::link(&mut self.reads, &mut self.split.reads);
        StreamIn::<RcBeat>::link(&mut self.rc, &mut self.intake.rc);
        self.intake.opened.next = self.split.opened.val();
        for i in 0..16 {
            self.buffer.write[i].next = self.intake.write[i].val();
        }
        for i in 0..3 {
            self.retire[i].clock.next = self.clock.val();
            self.retire[i].record.next = self.split.record.val();
            self.retire[i].record_valid.next = self.split.record_valid.val();
            self.retire[i].end.next = self.intake.end.val();
            self.retire[i].now.next = self.now.q.val();
        }
        StreamOut::<ReadJob>::join(&mut self.retire[0].job, &mut self.deliver.payload);
        StreamOut::<ReadJob>::join(&mut self.retire[1].job, &mut self.deliver.sq);
        StreamOut::<ReadJob>::join(&mut self.retire[2].job, &mut self.deliver.rq);
        self.split.end.next = self.intake.end.val();
        self.split.freed.next = self.deliver.freed.val();
        self.buffer.rd_line.next = self.deliver.rd_line.val();
        self.deliver.rd_data.next = self.buffer.rd_data.val();
        StreamOut::<DmaReadBeat>::link(&mut self.data, &mut self.deliver.data);

        self.failed.next = self.intake.end.val().valid & self.intake.end.val().err;
        self.timeouts_reg.d.next = bit_cast::<2, 1>(self.retire[0].timeout.val().into())
            + bit_cast::<2, 1>(self.retire[1].timeout.val().into())
            + bit_cast::<2, 1>(self.retire[2].timeout.val().into());
        self.timeouts.next = self.timeouts_reg.q.val();
        self.unexpected.next = self.intake.unexpected.val();
    }
}

ferroce_emit::register_leaf!("requester_rx", || RequesterRx::new(8));

//! The mover as a whole.

use crate::mover::move_job::{MoveLabel, MovedBeat};
use crate::mover::move_plan::{MovePlan, LOG2_CQES};
use crate::mover::move_writes::MoveWrites;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::desc::rx::{CqeJob, Verdict};
use ferroce_rtl::header::{HeaderStrip, STRIP_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Log2 of the beats that wait for the write arbiter: more than the pipeline holds, so that it is never
/// stopped while the arbiter takes a beat a cycle.
const LOG2_BEATS: usize = 5;
/// Cycles without a stall in which every beat that has been read leaves the mover: those of its output FIFO, and the way to it.
pub const BEATS_BEHIND: u64 = (1 << LOG2_BEATS) + STRIP_LATENCY as u64 + 16;
/// Log2 of the CQEs that wait for the CQE writer.
const LOG2_READY_CQES: usize = 4;
// Every CQE on the way has its place.
const _: () = assert!(1 << LOG2_CQES > (1 << LOG2_BEATS) + STRIP_LATENCY + 16);

/// Carries out verdicts in order: payload from the packet buffer to the write arbiter, one beat a cycle, split at
/// 4 KiB; and each frame's CQE when its last payload beat has been taken, so that no CQE overtakes data.
#[derive(LogicBlock, Module)]
pub struct Mover {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// One a frame, in order.
    pub verdicts: StreamIn<Verdict>,
    /// Beat of the packet buffer to read.
    pub rd_addr: Signal<Out, Bits<16>>,
    /// The beat, `RAM_LATENCY` cycles later.
    pub rd_data: Signal<In, Bits<512>>,
    /// Number of the oldest beat still needed.
    pub freed: Signal<Out, Bits<16>>,
    /// Writes to host memory.
    pub writes: StreamOut<DmaWriteBeat>,
    /// Receive completions.
    pub cqes: StreamOut<CqeJob>,
    /// Bytes of a write whose first beat was taken in the cycle before, else 0.
    pub payload_bytes: Signal<Out, Bits<13>>,
    /// A frame has been read out of the packet buffer.
    pub done: Signal<Out, Bit>,
    /// A beat waits for the write arbiter or for the place of a CQE.
    pub stalled: Signal<Out, Bit>,
    /// A verdict with `fence` was reached: all payload before it was taken from `writes`.
    pub fenced: Signal<Out, Bit>,
    /// All of a verdict with `landing` was taken from `writes`, in their order.
    pub landed: Signal<Out, Bit>,
    plan: MovePlan,
    strip: HeaderStrip<MoveLabel>,
    cut: MoveWrites,
    beat_fifo: SyncFifo<MovedBeat>,
    cqe_fifo: SyncFifo<CqeJob>,
    hold: DFF<Bit>,
    bytes: DFF<Bits<13>>,
    item: Signal<Local, MovedBeat>,
    may_go: Signal<Local, Bit>,
    gone: Signal<Local, Bit>,
}

impl Default for Mover {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            verdicts: StreamIn::default(),
            rd_addr: Signal::default(),
            rd_data: Signal::default(),
            freed: Signal::default(),
            writes: StreamOut::default(),
            cqes: StreamOut::default(),
            payload_bytes: Signal::default(),
            done: Signal::default(),
            stalled: Signal::default(),
            fenced: Signal::default(),
            landed: Signal::default(),
            plan: MovePlan::default(),
            strip: HeaderStrip::default(),
            cut: MoveWrites::default(),
            // One cycle of `hold` beside the pipeline.
            beat_fifo: SyncFifo::new_with_reserve(LOG2_BEATS, STRIP_LATENCY + 2),
            cqe_fifo: SyncFifo::new(LOG2_READY_CQES),
            hold: DFF::default(),
            bytes: DFF::default(),
            item: Signal::default(),
            may_go: Signal::default(),
            gone: Signal::default(),
        }
    }
}

impl Logic for Mover {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, hold, bytes);
        clock!(self, clock, plan, strip, cut, beat_fifo, cqe_fifo);
        StreamIn::<Verdict>::link(&mut self.verdicts, &mut self.plan.verdicts);
        StreamOut::<CqeJob>::link(&mut self.cqes, &mut self.cqe_fifo.output);
        self.hold.d.next = self.beat_fifo.almost_full.val();
        self.strip.hold.next = self.hold.q.val();

        // The frame's way out of the buffer, and beside it what becomes of its beats.
        self.strip.jobs.data.next = self.plan.jobs.data.val().strip;
        self.strip.jobs.valid.next = self.plan.jobs.valid.val();
        self.plan.jobs.ready.next = self.strip.jobs.ready.val();
        self.cut.job.next = self.plan.jobs.data.val();
        self.cut.load.next = self.strip.jobs.ready.val();
        self.cut.step.next = self.strip.step.val();
        self.strip.side_in.next = self.cut.label.val();
        self.freed.next = self.cut.freed.val();
        self.done.next = self.cut.done.val();
        self.rd_addr.next = self.strip.rd_addr.val();
        self.strip.rd_data.next = self.rd_data.val();
        self.beat_fifo.input.data.next.beat.data = self.strip.data_out.val();
        self.beat_fifo.input.data.next.beat.addr = self.strip.side_out.val().addr;
        self.beat_fifo.input.data.next.beat.len = self.strip.side_out.val().len;
        self.beat_fifo.input.data.next.beat.last = self.strip.side_out.val().last;
        self.beat_fifo.input.data.next.empty = self.strip.side_out.val().empty;
        self.beat_fifo.input.data.next.first = self.strip.side_out.val().first;
        self.beat_fifo.input.data.next.cqe = self.strip.side_out.val().cqe;
        self.beat_fifo.input.data.next.fence = self.strip.side_out.val().fence;
        self.beat_fifo.input.data.next.landing = self.strip.side_out.val().landing;
        self.beat_fifo.input.valid.next = self.strip.valid_out.val();

        // A beat with a CQE behind it goes when that CQE has a place. Its place and the CQE itself are there to
        // stay, so `valid` never falls.
        self.item.next = self.beat_fifo.output.data.val();
        self.may_go.next = self.beat_fifo.output.valid.val()
            & (!self.item.val().cqe
                | (self.plan.cqes.valid.val() & self.cqe_fifo.input.ready.val()));
        self.writes.data.next = self.item.val().beat;
        self.writes.valid.next = self.may_go.val() & !self.item.val().empty;
        self.gone.next = self.may_go.val() & (self.item.val().empty | self.writes.ready.val());
        self.beat_fifo.output.ready.next = self.gone.val();
        self.stalled.next = self.beat_fifo.output.valid.val() & !self.gone.val();
        self.fenced.next = self.gone.val() & self.item.val().fence;
        self.landed.next = self.gone.val() & self.item.val().landing;
        self.cqe_fifo.input.data.next = self.plan.cqes.data.val();
        self.cqe_fifo.input.valid.next = self.gone.val() & self.item.val().cqe;
        self.plan.cqes.ready.next = self.gone.val() & self.item.val().cqe;

        self.bytes.d.next = 0.into();
        if self.gone.val() & self.item.val().first & !self.item.val().empty {
            self.bytes.d.next = self.item.val().beat.len;
        }
        self.payload_bytes.next = self.bytes.q.val();
    }
}

ferroce_emit::register_leaf!("mover", Mover::default);

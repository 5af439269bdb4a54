//! Address arithmetic of the mover.

use crate::mover::move_job::MoveJob;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::{CqeJob, Verdict};
use ferroce_rtl::flow_gate::FlowGate;
use ferroce_rtl::header::{StripPlanner, STRIP_PLAN_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Log2 of the planned frames.
const LOG2_JOBS: usize = 4;
/// Cycles from the gate's output to the FIFO's input.
const PLAN_CYCLES: usize = 1 + STRIP_PLAN_LATENCY;
/// Log2 of the CQEs whose frames are on the way: a place for every planned frame, every step in the pipeline and every beat
/// in the mover's output FIFO.
pub const LOG2_CQES: usize = 7;

/// Verdict and first results.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Draft {
    valid: Bit,
    job: MoveJob,
    /// Number of the frame's first beat.
    head: Bits<16>,
    hdr_len: Bits<7>,
    /// Bytes of the first write beat before the payload.
    offset: Bits<6>,
    /// Bytes up to the 4 KiB boundary.
    to_boundary: Bits<13>,
    cqe: CqeJob,
}

/// Turns verdicts into jobs: where the frame is in the packet buffer, how its payload gets out, and how many writes it makes. A verdict
/// in every cycle, three stages.
#[derive(LogicBlock, Module)]
pub struct MovePlan {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// One a frame, in order.
    pub verdicts: StreamIn<Verdict>,
    /// One a verdict, in order.
    pub jobs: StreamOut<MoveJob>,
    /// One for each job with `has_cqe`, in order.
    pub cqes: StreamOut<CqeJob>,
    gate: FlowGate<Verdict>,
    strip: StripPlanner,
    job_fifo: SyncFifo<MoveJob>,
    cqe_fifo: SyncFifo<CqeJob>,
    hold: DFF<Bit>,
    head: DFF<Bits<16>>,
    draft1: DFF<Draft>,
    draft2: DFF<Draft>,
    draft3: DFF<Draft>,
    v: Signal<Local, Verdict>,
    next_head: Signal<Local, Bits<16>>,
}

impl Default for MovePlan {
    fn default() -> Self {
        // The gate, the plan, and one cycle of `hold`.
        let reserve = PLAN_CYCLES + 3;
        Self {
            clock: Signal::default(),
            verdicts: StreamIn::default(),
            jobs: StreamOut::default(),
            cqes: StreamOut::default(),
            gate: FlowGate::default(),
            strip: StripPlanner::default(),
            job_fifo: SyncFifo::new_with_reserve(LOG2_JOBS, reserve),
            cqe_fifo: SyncFifo::new_with_reserve(LOG2_CQES, reserve),
            hold: DFF::default(),
            head: DFF::default(),
            draft1: DFF::default(),
            draft2: DFF::default(),
            draft3: DFF::default(),
            v: Signal::default(),
            next_head: Signal::default(),
        }
    }
}

impl Logic for MovePlan {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, hold, head, draft1, draft2, draft3);
        clock!(self, clock, gate, strip, job_fifo, cqe_fifo);
        StreamIn::<Verdict>::link(&mut self.verdicts, &mut self.gate.input);
        StreamOut::<MoveJob>::link(&mut self.jobs, &mut self.job_fifo.output);
        StreamOut::<CqeJob>::link(&mut self.cqes, &mut self.cqe_fifo.output);
        self.hold.d.next = self.job_fifo.almost_full.val() | self.cqe_fifo.almost_full.val();
        self.gate.hold.next = self.hold.q.val();

        // Where the frame lies. A frame that is only removed counts as one without payload.
        self.v.next = self.gate.data.val();
        self.next_head.next = self.head.q.val() + bit_cast::<16, 8>(self.v.val().beats);
        if self.gate.valid.val() {
            self.head.d.next = self.next_head.val();
        }
        self.draft1.d.next = Default::default();
        self.draft1.d.next.valid = self.gate.valid.val();
        self.draft1.d.next.job.place = self.v.val().place;
        self.draft1.d.next.job.has_cqe = self.v.val().has_cqe;
        self.draft1.d.next.job.fence = self.v.val().fence;
        self.draft1.d.next.job.landing = self.v.val().landing;
        self.draft1.d.next.job.freed = self.next_head.val();
        self.draft1.d.next.job.addr = self.v.val().addr;
        if self.v.val().place {
            self.draft1.d.next.job.len = self.v.val().len;
        }
        self.draft1.d.next.head = self.head.q.val();
        self.draft1.d.next.hdr_len = self.v.val().hdr_len;
        self.draft1.d.next.job.page2 = self.v.val().page2;
        self.draft1.d.next.offset = self.v.val().addr.get_bits::<6>(0);
        self.draft1.d.next.to_boundary =
            bits::<13>(4096) - bit_cast::<13, 12>(self.v.val().addr.get_bits::<12>(0));
        self.draft1.d.next.cqe.cq = self.v.val().cq;
        self.draft1.d.next.cqe.qp = self.v.val().qp;
        self.draft1.d.next.cqe.opcode = self.v.val().opcode;
        self.draft1.d.next.cqe.status = self.v.val().status;
        self.draft1.d.next.cqe.flags = self.v.val().flags;
        self.draft1.d.next.cqe.byte_len = self.v.val().byte_len;
        self.draft1.d.next.cqe.imm = self.v.val().imm;
        self.draft1.d.next.cqe.wqe = self.v.val().wqe;
        self.draft1.d.next.cqe.last = self.v.val().last;

        // Way out of the frame. A job for which nobody waits gives no beats.
        self.strip.head.next = self.draft1.q.val().head;
        self.strip.hdr_len.next = self.draft1.q.val().hdr_len;
        self.strip.len.next = self.draft1.q.val().job.len;
        self.strip.offset.next = self.draft1.q.val().offset;
        self.strip.emit.next = self.draft1.q.val().job.place
            | self.draft1.q.val().job.has_cqe
            | self.draft1.q.val().job.fence
            | self.draft1.q.val().job.landing;

        // Boundary.
        self.draft2.d.next = self.draft1.q.val();
        self.draft2.d.next.job.split =
            self.draft1.q.val().job.len > self.draft1.q.val().to_boundary;
        self.draft2.d.next.job.len2 = self.draft1.q.val().job.len - self.draft1.q.val().to_boundary;
        self.draft2.d.next.job.first_beats =
            bits::<7>(64) - bit_cast::<7, 6>(self.draft1.q.val().job.addr.get_bits::<6>(6));

        self.draft3.d.next = self.draft2.q.val();
        if self.draft2.q.val().job.split {
            self.draft3.d.next.job.len = self.draft2.q.val().to_boundary;
        }
        self.job_fifo.input.data.next = self.draft3.q.val().job;
        self.job_fifo.input.data.next.strip = self.strip.job.val();
        self.job_fifo.input.valid.next = self.draft3.q.val().valid;
        self.cqe_fifo.input.data.next = self.draft3.q.val().cqe;
        self.cqe_fifo.input.valid.next =
            self.draft3.q.val().valid & self.draft3.q.val().job.has_cqe;
    }
}

ferroce_emit::register_leaf!("move_plan", MovePlan::default);

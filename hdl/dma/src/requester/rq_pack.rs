//! TLPs into RQ beats.

use super::pack_merge::{PackMerge, MERGE_LATENCY};
use super::pack_steps::PackSteps;
use super::rq_user::RqUser;
use super::tlp::{PackBeat, PackTlp};
use crate::axis::RqBeat;
use crate::desc::RqPayload;
use ferroce_emit::prelude::*;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Cycles from the decision for a step to the FIFO.
const PIPE: usize = 1 + MERGE_LATENCY;
/// Places left when steps stop: one cycle for `almost_full` and what is in flight.
const RESERVE: usize = PIPE + 1;
/// RQ beats stored. Steps stop with `16 - RESERVE` = 11 beats inside and go on `PIPE` + 2 = 6 cycles before their first beat is at
/// the output, so that back-pressure never makes a gap: 16 is the smallest power of two with more than 6.
const BEATS_LOG2: usize = 4;

/// Writes and reads in turns, TLP by TLP unless a write is such that a read finds room behind it, into beats without a gap inside a TLP: with straddling, two TLPs may share a beat, and RQ is busy until none is
/// unfinished. A beat a cycle; a read takes half of one.
#[derive(LogicBlock, Module)]
pub struct RqPack {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Writes.
    pub writes: StreamIn<PackTlp>,
    /// Their payload; offered without a gap from the time when its TLP is.
    pub payload: StreamIn<RqPayload>,
    /// Reads.
    pub reads: StreamIn<PackTlp>,
    /// To the block.
    pub rq: StreamOut<RqBeat>,
    /// The last TLP of a DMA write got its place: reads that are taken from the next cycle on leave behind it.
    pub write_placed: Signal<Out, Bit>,
    /// Reads that the block takes in this cycle, 0 to 2.
    pub reads_left: Signal<Out, Bits<2>>,
    straddle: Constant<Bit>,
    steps: PackSteps,
    merge: PackMerge,
    user: RqUser,
    beats: SyncFifo<PackBeat>,
    next: Signal<Local, PackBeat>,
    head: Signal<Local, PackBeat>,
    beat: Signal<Local, RqBeat>,
}

impl RqPack {
    /// With or without two TLPs in a beat.
    #[must_use]
    pub fn new(straddle: bool) -> Self {
        Self {
            clock: Signal::default(),
            writes: StreamIn::default(),
            payload: StreamIn::default(),
            reads: StreamIn::default(),
            rq: StreamOut::default(),
            write_placed: Signal::default(),
            reads_left: Signal::default(),
            straddle: Constant::new(straddle),
            steps: PackSteps::new(straddle),
            merge: PackMerge::default(),
            user: RqUser::new(straddle),
            beats: SyncFifo::new_with_reserve(BEATS_LOG2, RESERVE),
            next: Signal::default(),
            head: Signal::default(),
            beat: Signal::default(),
        }
    }
}

/// With straddling.
impl Default for RqPack {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Logic for RqPack {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, steps, merge, user, beats);
        StreamIn::<PackTlp>::link(&mut self.writes, &mut self.steps.tlp);
        StreamIn::<PackTlp>::link(&mut self.reads, &mut self.steps.read);
        StreamIn::<RqPayload>::link(&mut self.payload, &mut self.steps.payload);
        self.steps.hold.next = self.beats.almost_full.val();
        self.write_placed.next =
            self.writes.valid.val() & self.steps.tlp.ready.val() & self.writes.data.val().closes;

        self.merge.step.next = self.steps.step.val();
        self.merge.data.next = self.steps.data.val();
        self.user.step.next = self.steps.step.val();
        self.next.next.data = self.merge.beat.val();
        self.next.next.keep = self.user.side.val().keep;
        self.next.next.first_be = self.user.side.val().first_be;
        self.next.next.last_be = self.user.side.val().last_be;
        self.next.next.is_sop = self.user.side.val().is_sop;
        self.next.next.upper = self.user.side.val().upper;
        self.next.next.is_eop = self.user.side.val().is_eop;
        self.next.next.is_eop0_ptr = self.user.side.val().is_eop0_ptr;
        self.next.next.is_eop1_ptr = self.user.side.val().is_eop1_ptr;
        self.next.next.seq_num0 = self.user.side.val().seq_num0;
        self.next.next.seq_num1 = self.user.side.val().seq_num1;
        self.next.next.reads = self.user.side.val().reads;
        self.beats.input.data.next = self.next.val();
        self.beats.input.valid.next = self.user.valid.val();

        self.head.next = self.beats.output.data.val();
        self.beat.next.data = self.head.val().data;
        self.beat.next.keep = 0xFFFF.into();
        if !self.straddle.val() {
            self.beat.next.keep = self.head.val().keep;
        }
        self.beat.next.last = self.head.val().is_eop.get_bit(0);
        self.beat.next.first_be = self.head.val().first_be;
        self.beat.next.last_be = self.head.val().last_be;
        self.beat.next.addr_offset = 0.into();
        self.beat.next.is_sop = self.head.val().is_sop;
        self.beat.next.is_sop0_ptr = bit_cast::<2, 1>(self.head.val().upper.into()) << 1;
        self.beat.next.is_sop1_ptr =
            bit_cast::<2, 1>(self.head.val().is_sop.get_bit(1).into()) << 1;
        self.beat.next.is_eop = self.head.val().is_eop;
        self.beat.next.is_eop0_ptr = self.head.val().is_eop0_ptr;
        self.beat.next.is_eop1_ptr = self.head.val().is_eop1_ptr;
        self.beat.next.discontinue = false;
        self.beat.next.tph_present = 0.into();
        self.beat.next.tph_type = 0.into();
        self.beat.next.tph_indirect_tag_en = 0.into();
        self.beat.next.tph_st_tag = 0.into();
        self.beat.next.seq_num0 = self.head.val().seq_num0;
        self.beat.next.seq_num1 = self.head.val().seq_num1;
        self.beat.next.parity = 0.into();
        self.rq.data.next = self.beat.val();
        self.rq.valid.next = self.beats.output.valid.val();
        self.beats.output.ready.next = self.rq.ready.val();
        self.reads_left.next = 0.into();
        if self.beats.output.valid.val() & self.rq.ready.val() {
            self.reads_left.next = self.head.val().reads;
        }
    }
}

ferroce_emit::register_leaf!("rq_pack", RqPack::default);
ferroce_emit::register_leaf!("rq_pack_one_a_beat", || RqPack::new(false));

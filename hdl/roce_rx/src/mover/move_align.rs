//! Shifts payload to the byte lanes of its host address.

use crate::mover::move_step::MoveStep;
use ferroce_emit::prelude::*;
use ferroce_rtl::byte_mask::{ByteMask, BYTE_MASK_LATENCY};
use ferroce_rtl::byte_spread::ByteSpread;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::ram::RAM_LATENCY;
use ferroce_rtl::rotate64::{Rotate64, ROTATE_LATENCY};

/// Cycles from a step to its beat.
pub const ALIGN_LATENCY: usize = RAM_LATENCY + ROTATE_LATENCY + 1;

/// A beat for the host, or just a CQE's turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MovedBeat {
    /// The beat.
    pub beat: DmaWriteBeat,
    /// No beat.
    pub empty: Bit,
    /// First beat of its write.
    pub first: Bit,
    /// The next CQE may go when this has gone.
    pub cqe: Bit,
}

/// Rotates each beat of a frame by the same amount; a write beat is the low bytes of the beat before and the high
/// bytes of this one. Free running.
#[derive(LogicBlock, Module)]
pub struct MoveAlign {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Steps.
    pub step: Signal<In, MoveStep>,
    /// The beat of the step of `RAM_LATENCY` cycles ago.
    pub data: Signal<In, Bits<512>>,
    /// The outcome, [`ALIGN_LATENCY`] cycles after its step.
    pub moved: Signal<Out, MovedBeat>,
    /// `moved` is valid.
    pub moved_valid: Signal<Out, Bit>,
    arrive: Delay<MoveStep>,
    rotate: Rotate64<MoveStep>,
    early: Delay<Bits<6>>,
    low_bytes: ByteMask,
    spread: ByteSpread,
    before: DFF<Bits<512>>,
    out: DFF<MovedBeat>,
    out_valid: DFF<Bit>,
    s: Signal<Local, MoveStep>,
}

impl Default for MoveAlign {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            step: Signal::default(),
            data: Signal::default(),
            moved: Signal::default(),
            moved_valid: Signal::default(),
            arrive: Delay::new(RAM_LATENCY),
            rotate: Rotate64::default(),
            early: Delay::new(RAM_LATENCY + ROTATE_LATENCY - BYTE_MASK_LATENCY),
            low_bytes: ByteMask::default(),
            spread: ByteSpread::default(),
            before: DFF::default(),
            out: DFF::default(),
            out_valid: DFF::default(),
            s: Signal::default(),
        }
    }
}

impl Logic for MoveAlign {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, before, out, out_valid);
        clock!(self, clock, arrive, rotate, early, low_bytes);
        self.arrive.data_in.next = self.step.val();
        self.rotate.side_in.next = self.arrive.data_out.val();
        self.rotate.amount.next = self.arrive.data_out.val().rotate;
        self.rotate.data_in.next = self.data.val();
        self.early.data_in.next = self.step.val().rotate;
        self.low_bytes.len.next = bit_cast::<7, 6>(self.early.data_out.val());
        self.spread.bits.next = self.low_bytes.mask.val();

        // Steps of one frame may have pauses between them.
        self.s.next = self.rotate.side_out.val();
        if self.s.val().valid {
            self.before.d.next = self.rotate.data_out.val();
        }
        self.out.d.next.beat.data = (self.before.q.val() & self.spread.bytes.val())
            | (self.rotate.data_out.val() & !self.spread.bytes.val());
        self.out.d.next.beat.addr = self.s.val().addr;
        self.out.d.next.beat.len = self.s.val().len;
        self.out.d.next.beat.last = self.s.val().last;
        self.out.d.next.empty = self.s.val().empty;
        self.out.d.next.first = self.s.val().first;
        self.out.d.next.cqe = self.s.val().cqe;
        self.out_valid.d.next = self.s.val().valid & !self.s.val().prime;
        self.moved.next = self.out.q.val();
        self.moved_valid.next = self.out_valid.q.val();
    }
}

ferroce_emit::register_leaf!("move_align", MoveAlign::default);

//! Takes payload out of frames.

use super::strip_plan::StripJob;
use super::strip_steps::{StripStep, StripSteps};
use crate::byte_mask::{ByteMask, BYTE_MASK_LATENCY};
use crate::byte_spread::ByteSpread;
use crate::delay::Delay;
use crate::ram::RAM_LATENCY;
use crate::rotate64::{Rotate64, ROTATE_LATENCY};
use crate::stream::StreamIn;
use ferroce_emit::prelude::*;

/// Cycles from a step to its payload beat.
pub const STRIP_LATENCY: usize = RAM_LATENCY + ROTATE_LATENCY + 1;

/// Removes 0 to 127 bytes from a frame's front, and what comes behind the payload. Frames lie in a RAM, their beats one after the other;
/// a job says where. Payload beats are the frame's, moved so that the payload begins at the byte that the job wants: each is the low
/// bytes of the rotated beat before and the high bytes of the rotated beat of its step. One frame beat a cycle, from one job
/// to the next too.
///
/// Free running from the step on: wire `hold` to the `almost_full` of the FIFO that takes the payload beats; it needs a reserve of
/// [`STRIP_LATENCY`]` + 1`, and one more for each register before `hold`. A side value of any type (lengths, addresses, end
/// marks) goes from each step to its payload beat.
#[derive(LogicBlock, Module)]
pub struct HeaderStrip<S: Synth> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Payloads to be taken out, with plans of a [`StripPlanner`](super::StripPlanner). A job taken makes its first step one cycle later,
    /// if nothing holds it.
    pub jobs: StreamIn<StripJob>,
    /// Make no step; from a register.
    pub hold: Signal<In, Bit>,
    /// Number of the frame beat to read.
    pub rd_addr: Signal<Out, Bits<16>>,
    /// That beat, `RAM_LATENCY` cycles later.
    pub rd_data: Signal<In, Bits<512>>,
    /// The step of this cycle.
    pub step: Signal<Out, StripStep>,
    /// Goes along with it.
    pub side_in: Signal<In, S>,
    /// Payload beat of the step of [`STRIP_LATENCY`] cycles ago; bytes outside the payload are undefined.
    pub data_out: Signal<Out, Bits<512>>,
    /// `side_in` of that step.
    pub side_out: Signal<Out, S>,
    /// That step gives a payload beat.
    pub valid_out: Signal<Out, Bit>,
    steps: StripSteps,
    arrive: Delay<StripStep>,
    rotate: Rotate64<StripStep>,
    early: Delay<Bits<6>>,
    low_bytes: ByteMask,
    spread: ByteSpread,
    side_wait: Delay<S>,
    before: DFF<Bits<512>>,
    out: DFF<Bits<512>>,
    out_side: DFF<S>,
    out_valid: DFF<Bit>,
}

impl<S: Synth> Default for HeaderStrip<S> {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            jobs: StreamIn::default(),
            hold: Signal::default(),
            rd_addr: Signal::default(),
            rd_data: Signal::default(),
            step: Signal::default(),
            side_in: Signal::default(),
            data_out: Signal::default(),
            side_out: Signal::default(),
            valid_out: Signal::default(),
            steps: StripSteps::default(),
            arrive: Delay::new(RAM_LATENCY),
            rotate: Rotate64::default(),
            early: Delay::new(RAM_LATENCY + ROTATE_LATENCY - BYTE_MASK_LATENCY),
            low_bytes: ByteMask::default(),
            spread: ByteSpread::default(),
            side_wait: Delay::new(RAM_LATENCY + ROTATE_LATENCY),
            before: DFF::default(),
            out: DFF::default(),
            out_side: DFF::default(),
            out_valid: DFF::default(),
        }
    }
}

impl<S: Synth> Logic for HeaderStrip<S> {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, before, out, out_side, out_valid);
        clock!(self, clock, steps, arrive, rotate, early, low_bytes, side_wait);
        StreamIn::<StripJob>::link(&mut self.jobs, &mut self.steps.jobs);
        self.steps.hold.next = self.hold.val();
        self.rd_addr.next = self.steps.rd_addr.val();
        self.step.next = self.steps.step.val();

        self.arrive.data_in.next = self.steps.step.val();
        self.rotate.side_in.next = self.arrive.data_out.val();
        self.rotate.amount.next = self.arrive.data_out.val().rotate;
        self.rotate.data_in.next = self.rd_data.val();
        self.early.data_in.next = self.steps.step.val().rotate;
        self.low_bytes.len.next = bit_cast::<7, 6>(self.early.data_out.val());
        self.spread.bits.next = self.low_bytes.mask.val();
        self.side_wait.data_in.next = self.side_in.val();

        // Steps of one job may have pauses between them.
        if self.rotate.side_out.val().valid {
            self.before.d.next = self.rotate.data_out.val();
        }
        self.out.d.next = (self.before.q.val() & self.spread.bytes.val())
            | (self.rotate.data_out.val() & !self.spread.bytes.val());
        self.out_side.d.next = self.side_wait.data_out.val();
        self.out_valid.d.next = self.rotate.side_out.val().emit;
        self.data_out.next = self.out.q.val();
        self.side_out.next = self.out_side.q.val();
        self.valid_out.next = self.out_valid.q.val();
    }
}

ferroce_emit::register_leaf!("header_strip", HeaderStrip::<Bits<20>>::default);

//! Round-robin arbiter of four streams of frames.

use crate::round_robin4::RoundRobin4;
use crate::skid::Skid;
use crate::stream::{StreamIn, StreamOut};
use ferroce_emit::prelude::*;

/// Passes items of four streams to one, round robin, without a switch inside a frame. Latency 1, an item
/// every cycle, output from registers. The other arbiters are this one with `last` wired to their item type.
#[derive(LogicBlock, Module, Default)]
pub struct FrameArb4<T: Synth> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Source 0.
    pub in0: StreamIn<T>,
    /// Source 1.
    pub in1: StreamIn<T>,
    /// Source 2.
    pub in2: StreamIn<T>,
    /// Source 3.
    pub in3: StreamIn<T>,
    /// The item that source `i` offers is the last of its frame.
    pub last: Signal<In, Bits<4>>,
    /// Items of all sources.
    pub output: StreamOut<T>,
    grant: RoundRobin4,
    slice: Skid<T>,
}

impl<T: Synth> Logic for FrameArb4<T> {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, grant, slice);
        self.grant.valid.next = bit_cast::<4, 1>(self.in0.valid.val().into())
            | (bit_cast::<4, 1>(self.in1.valid.val().into()) << 1)
            | (bit_cast::<4, 1>(self.in2.valid.val().into()) << 2)
            | (bit_cast::<4, 1>(self.in3.valid.val().into()) << 3);
        self.grant.last.next = self.last.val();
        self.grant.space.next = self.slice.input.ready.val();
        self.in0.ready.next = self.grant.ready.val().get_bit(0);
        self.in1.ready.next = self.grant.ready.val().get_bit(1);
        self.in2.ready.next = self.grant.ready.val().get_bit(2);
        self.in3.ready.next = self.grant.ready.val().get_bit(3);

        self.slice.input.valid.next = self.grant.select_valid.val();
        if self.grant.select.val().get_bit(1) {
            if self.grant.select.val().get_bit(0) {
                self.slice.input.data.next = self.in3.data.val();
            } else {
                self.slice.input.data.next = self.in2.data.val();
            }
        } else if self.grant.select.val().get_bit(0) {
            self.slice.input.data.next = self.in1.data.val();
        } else {
            self.slice.input.data.next = self.in0.data.val();
        }
        self.output.data.next = self.slice.output.data.val();
        self.output.valid.next = self.slice.output.valid.val();
        self.slice.output.ready.next = self.output.ready.val();
    }
}

ferroce_emit::register_leaf!("frame_arb4", FrameArb4::<Bits<40>>::default);

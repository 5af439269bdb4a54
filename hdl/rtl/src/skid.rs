//! Register slice of a stream.

use crate::stream::{StreamIn, StreamOut};
use ferroce_emit::prelude::*;

/// Two places; `data`, `valid` and `ready` all come from registers, and an item passes in every cycle.
/// Latency 1.
#[derive(LogicBlock, Module, Default)]
pub struct Skid<T: Synth> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Items in.
    pub input: StreamIn<T>,
    /// The same items out.
    pub output: StreamOut<T>,
    front: DFF<T>,
    front_valid: DFF<Bit>,
    /// Takes the item that arrives in the cycle in which the output stalls.
    spare: DFF<T>,
    spare_valid: DFF<Bit>,
    advance: Signal<Local, Bit>,
}

impl<T: Synth> Logic for Skid<T> {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, front, front_valid, spare, spare_valid);
        self.input.ready.next = !self.spare_valid.q.val();
        self.output.data.next = self.front.q.val();
        self.output.valid.next = self.front_valid.q.val();

        self.advance.next = self.output.ready.val() | !self.front_valid.q.val();
        // The spare place copies the input while it is free, so no wide enable depends on `valid`.
        if !self.spare_valid.q.val() {
            self.spare.d.next = self.input.data.val();
        }
        self.spare_valid.d.next =
            !self.advance.val() & (self.spare_valid.q.val() | self.input.valid.val());
        if self.advance.val() {
            self.front.d.next = self.input.data.val();
            if self.spare_valid.q.val() {
                self.front.d.next = self.spare.q.val();
            }
            self.front_valid.d.next = self.spare_valid.q.val() | self.input.valid.val();
        }
    }
}

ferroce_emit::register_leaf!("skid", Skid::<crate::stream::Beat>::default);

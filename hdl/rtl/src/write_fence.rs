//! Tells when a write has left its arbiter.

use ferroce_emit::prelude::*;

/// Passes on marks, each when every beat that the arbiter had taken with the mark or before has left it: when the arbiter
/// is empty, or two beats later, as it holds no more than two.
#[derive(LogicBlock, Module, Default)]
pub struct WriteFence {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A mark: what was taken up to this cycle is meant.
    pub mark: Signal<In, Bit>,
    /// The arbiter offers a beat.
    pub offered: Signal<In, Bit>,
    /// The beat is taken.
    pub taken: Signal<In, Bit>,
    /// Marks that have passed, in this cycle.
    pub passed: Signal<Out, Bits<7>>,
    arrived: DFF<Bit>,
    /// Marks with two beats before them.
    two: DFF<Bits<7>>,
    /// Marks with one beat before them.
    one: DFF<Bits<7>>,
    out: DFF<Bits<7>>,
}

impl Logic for WriteFence {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, arrived, two, one, out);
        // In the cycle after it was taken, a beat is offered or waits behind one that is.
        self.arrived.d.next = self.mark.val();
        self.out.d.next = 0.into();
        self.two.d.next = self.two.q.val() + bit_cast::<7, 1>(self.arrived.q.val().into());
        if !self.offered.val() {
            self.out.d.next =
                self.one.q.val() + self.two.q.val() + bit_cast::<7, 1>(self.arrived.q.val().into());
            self.one.d.next = 0.into();
            self.two.d.next = 0.into();
        } else if self.taken.val() {
            self.out.d.next = self.one.q.val();
            self.one.d.next = self.two.q.val() + bit_cast::<7, 1>(self.arrived.q.val().into());
            self.two.d.next = 0.into();
        }
        self.passed.next = self.out.q.val();
    }
}

ferroce_emit::register_leaf!("write_fence", WriteFence::default);

//! Tells when everything that was in a pipeline has left it.

use ferroce_emit::prelude::*;

/// Waits, after `mark`, until all items have left that were in a stretch of pipeline at that time. The stretch may begin and end with FIFOs of which only
/// the far end can be seen: there a number of cycles passes in which that end does not stall, in each of which an item moves on.
///
/// In between, items are counted in and out, in order.
#[derive(LogicBlock, Module)]
pub struct Drain {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Begin; what it says of `drained` holds two cycles later.
    pub mark: Signal<In, Bit>,
    /// The far end of what is before the counted stretch holds an item and can't hand it on.
    pub stalled_before: Signal<In, Bit>,
    /// An item enters the counted stretch.
    pub entered: Signal<In, Bit>,
    /// An item leaves it.
    pub left: Signal<In, Bit>,
    /// The far end of what is behind the counted stretch holds an item and can't hand it on.
    pub stalled_behind: Signal<In, Bit>,
    /// All have left.
    pub drained: Signal<Out, Bit>,
    cycles_before: Constant<Bits<12>>,
    cycles_behind: Constant<Bits<12>>,
    entries: DFF<Bits<16>>,
    exits: DFF<Bits<16>>,
    phase: DFF<DrainPhase>,
    wait: DFF<Bits<12>>,
    target: DFF<Bits<16>>,
    ahead: DFF<Bits<16>>,
    /// `ahead` is of this target.
    fresh: DFF<Bits<2>>,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, LogicState, FromBits)]
pub enum DrainPhase {
    /// Nothing.
    Drained,
    /// What is before the counted stretch.
    Before,
    /// The counted stretch.
    Counted,
    /// What is behind it.
    Behind,
}

impl Drain {
    /// With so many cycles without a stall before and behind the counted stretch, at most 4095 each.
    #[must_use]
    pub fn new(cycles_before: u64, cycles_behind: u64) -> Self {
        Self {
            clock: Signal::default(),
            mark: Signal::default(),
            stalled_before: Signal::default(),
            entered: Signal::default(),
            left: Signal::default(),
            stalled_behind: Signal::default(),
            drained: Signal::default(),
            cycles_before: Constant::new(cycles_before.into()),
            cycles_behind: Constant::new(cycles_behind.into()),
            entries: DFF::default(),
            exits: DFF::default(),
            phase: DFF::default(),
            wait: DFF::default(),
            target: DFF::default(),
            ahead: DFF::default(),
            fresh: DFF::default(),
        }
    }
}

/// Four cycles before, four behind.
impl Default for Drain {
    fn default() -> Self {
        Self::new(4, 4)
    }
}

impl Logic for Drain {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, entries, exits, phase, wait, target, ahead, fresh);
        self.entries.d.next = self.entries.q.val() + bit_cast::<16, 1>(self.entered.val().into());
        self.exits.d.next = self.exits.q.val() + bit_cast::<16, 1>(self.left.val().into());
        // Fewer than 2^15 items are inside, so the sign tells.
        self.ahead.d.next = self.target.q.val() - self.exits.q.val();
        self.fresh.d.next = self.fresh.q.val() >> 1;
        match self.phase.q.val() {
            DrainPhase::Before => {
                if !self.stalled_before.val() {
                    self.wait.d.next = self.wait.q.val() - 1;
                }
                if self.wait.q.val() == 0 {
                    self.phase.d.next = DrainPhase::Counted;
                    self.target.d.next = self.entries.q.val();
                    self.fresh.d.next = 3.into();
                }
            }
            DrainPhase::Counted => {
                self.wait.d.next = self.cycles_behind.val();
                if (self.fresh.q.val() == 0)
                    & (self.ahead.q.val().get_bit(15) | !self.ahead.q.val().any())
                {
                    self.phase.d.next = DrainPhase::Behind;
                }
            }
            DrainPhase::Behind => {
                if !self.stalled_behind.val() {
                    self.wait.d.next = self.wait.q.val() - 1;
                }
                if self.wait.q.val() == 0 {
                    self.phase.d.next = DrainPhase::Drained;
                }
            }
            _ => {}
        }
        if self.mark.val() {
            self.phase.d.next = DrainPhase::Before;
            self.wait.d.next = self.cycles_before.val();
        }
        self.drained.next = self.phase.q.val() == DrainPhase::Drained;
    }
}

ferroce_emit::register_leaf!("drain", Drain::default);

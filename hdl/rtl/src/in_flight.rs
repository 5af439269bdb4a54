//! Counter of what is under way.

use ferroce_emit::prelude::*;

/// Counts operations between `start` and `done` and says when the limit is reached: the credit counter
/// of "reserve before issue".
#[derive(LogicBlock, Module)]
pub struct InFlight {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// An operation begins; not while `full`.
    pub start: Signal<In, Bit>,
    /// One of the operations under way ends.
    pub done: Signal<In, Bit>,
    /// As many as the limit allows are under way; from a register.
    pub full: Signal<Out, Bit>,
    /// None is under way; from a register.
    pub idle: Signal<Out, Bit>,
    /// Operations under way.
    pub count: Signal<Out, Bits<16>>,
    one_below: Constant<Bits<16>>,
    counter: DFF<Bits<16>>,
    at_limit: DFF<Bit>,
    busy: DFF<Bit>,
    step: Signal<Local, Bits<16>>,
}

impl InFlight {
    /// Allows `limit` operations at a time.
    ///
    /// # Panics
    /// If `limit` is 0 or above 65535.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        assert!(
            (1..=0xFFFF).contains(&limit),
            "a limit of {limit} operations"
        );
        Self {
            clock: Signal::default(),
            start: Signal::default(),
            done: Signal::default(),
            full: Signal::default(),
            idle: Signal::default(),
            count: Signal::default(),
            one_below: Constant::new((limit as u64 - 1).into()),
            counter: DFF::default(),
            at_limit: DFF::default(),
            busy: DFF::default(),
            step: Signal::default(),
        }
    }
}

/// 16 operations at a time.
impl Default for InFlight {
    fn default() -> Self {
        Self::new(16)
    }
}

impl Logic for InFlight {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, counter, at_limit, busy);
        self.step.next = 0.into();
        if self.start.val() & !self.done.val() {
            self.step.next = 1.into();
            self.at_limit.d.next = self.counter.q.val() == self.one_below.val();
            self.busy.d.next = true;
        }
        if !self.start.val() & self.done.val() {
            self.step.next = 0xFFFF.into();
            self.at_limit.d.next = false;
            self.busy.d.next = self.counter.q.val() != 1;
        }
        self.counter.d.next = self.counter.q.val() + self.step.val();
        self.full.next = self.at_limit.q.val();
        self.idle.next = !self.busy.q.val();
        self.count.next = self.counter.q.val();
    }
}

ferroce_emit::register_leaf!("in_flight", || InFlight::new(5));

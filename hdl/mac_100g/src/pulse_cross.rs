//! Counts events of one clock in another.

use ferroce_emit::prelude::*;
use ferroce_rtl::sync2::Sync2;

/// Brings pulses of one clock domain into another; none is lost as long as at most 255 more have come in than could go out at
/// one a cycle. Each pulse is one cycle of its clock long; some cycles of both clocks pass between.
#[derive(LogicBlock, Module, Default)]
pub struct PulseCross {
    /// Clock of `event`.
    pub from_clock: Signal<In, Clock>,
    /// High in each cycle that counts.
    pub event: Signal<In, Bit>,
    /// Clock of `pulse`.
    pub to_clock: Signal<In, Clock>,
    /// High for one cycle for each event.
    pub pulse: Signal<Out, Bit>,
    count: DFF<Bits<8>>,
    gray: DFF<Bits<8>>,
    sync: Sync2<Bits<8>>,
    decode1: Signal<Local, Bits<8>>,
    decode2: Signal<Local, Bits<8>>,
    seen: DFF<Bits<8>>,
    reported: DFF<Bits<8>>,
    pulse_reg: DFF<Bit>,
}

impl Logic for PulseCross {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, from_clock, count, gray);
        dff_setup!(self, to_clock, seen, reported, pulse_reg);
        self.sync.clock.next = self.to_clock.val();
        if self.event.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
        self.gray.d.next = self.count.q.val() ^ (self.count.q.val() >> 1);
        self.sync.d.next = self.gray.q.val();
        self.decode1.next = self.sync.q.val() ^ (self.sync.q.val() >> 1);
        self.decode2.next = self.decode1.val() ^ (self.decode1.val() >> 2);
        self.seen.d.next = self.decode2.val() ^ (self.decode2.val() >> 4);
        self.pulse_reg.d.next = self.seen.q.val() != self.reported.q.val();
        if self.seen.q.val() != self.reported.q.val() {
            self.reported.d.next = self.reported.q.val() + 1;
        }
        self.pulse.next = self.pulse_reg.q.val();
    }
}

ferroce_emit::register_leaf!("pulse_cross", PulseCross::default);

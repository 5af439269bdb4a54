//! When a write that the write arbiter took has left the card.

use ferroce_emit::prelude::*;

/// Beats towards the host behind which nothing is left that was in the card: more than the write arbiters (two writes of at most 64 beats before this one), the
/// PCIe engine's 64 beats of payload and 16 RQ beats hold, with a read before each.
const BEATS: u64 = 1 << BEATS_LOG2;
const BEATS_LOG2: usize = 9;
/// Cycles without a beat to offer after which nothing is left: several times the length of the pipelines to RQ, which stop for the host only.
const QUIET: u64 = 1 << QUIET_LOG2;
const QUIET_LOG2: usize = 8;

/// Waits until the writes have left that were in the card at `start`. The host's read of a register then finds them before it.
#[derive(LogicBlock, Module, Default)]
pub struct WriteDrain {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The last write of interest was taken by an arbiter. One at a time.
    pub start: Signal<In, Bit>,
    /// A beat is offered to the host.
    pub offered: Signal<In, Bit>,
    /// The host takes it.
    pub taken: Signal<In, Bit>,
    /// They have left.
    pub drained: Signal<Out, Bit>,
    running: DFF<Bit>,
    beats: DFF<Bits<10>>,
    quiet: DFF<Bits<9>>,
    over: DFF<Bit>,
}

impl Logic for WriteDrain {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, running, beats, quiet, over);
        self.over.d.next = false;
        if self.running.q.val() {
            if self.offered.val() & self.taken.val() {
                self.beats.d.next = self.beats.q.val() + 1;
            }
            self.quiet.d.next = self.quiet.q.val() + 1;
            if self.offered.val() {
                self.quiet.d.next = 0.into();
            }
            if (self.beats.q.val() == BEATS) | (self.quiet.q.val() == QUIET) {
                self.running.d.next = false;
                self.over.d.next = true;
            }
        }
        if self.start.val() {
            self.running.d.next = true;
            self.beats.d.next = 0.into();
            self.quiet.d.next = 0.into();
        }
        self.drained.next = self.over.q.val();
    }
}

ferroce_emit::register_leaf!("write_drain", WriteDrain::default);

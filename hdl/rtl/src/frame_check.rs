//! Watches the shape of frames on a beat stream.

use crate::stream::Beat;
use ferroce_emit::prelude::*;

/// Listens to a stream of beats and remembers broken rules: `len` is 1 to 64, and 64 unless `last`; `err` comes only with
/// `last`; where the sink needs it (the MAC), no cycle inside a frame is without a beat.
#[derive(LogicBlock, Module, Default)]
pub struct FrameCheck {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The stream's data.
    pub data: Signal<In, Beat>,
    /// The stream's valid.
    pub valid: Signal<In, Bit>,
    /// The stream's ready.
    pub ready: Signal<In, Bit>,
    /// A cycle inside a frame in which the sink is ready and no beat is offered is a violation.
    pub gapless: Signal<In, Bit>,
    /// A beat had a wrong `len` or `err`, from the cycle after on.
    pub bad_beat: Signal<Out, Bit>,
    /// A frame had a gap, from the cycle after on.
    pub gap: Signal<Out, Bit>,
    /// Frames that went through, modulo 2^32.
    pub frames: Signal<Out, Bits<32>>,
    inside: DFF<Bit>,
    beat_broken: DFF<Bit>,
    gap_seen: DFF<Bit>,
    count: DFF<Bits<32>>,
}

impl Logic for FrameCheck {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, inside, beat_broken, gap_seen, count);
        if self.valid.val() {
            if (self.data.val().len == 0) | (self.data.val().len > 64) {
                self.beat_broken.d.next = true;
            }
            if !self.data.val().last & ((self.data.val().len != 64) | self.data.val().err) {
                self.beat_broken.d.next = true;
            }
        }
        if self.valid.val() & self.ready.val() {
            self.inside.d.next = !self.data.val().last;
            if self.data.val().last {
                self.count.d.next = self.count.q.val() + 1;
            }
        }
        if self.gapless.val() & self.inside.q.val() & self.ready.val() & !self.valid.val() {
            self.gap_seen.d.next = true;
        }
        self.bad_beat.next = self.beat_broken.q.val();
        self.gap.next = self.gap_seen.q.val();
        self.frames.next = self.count.q.val();
    }
}

ferroce_emit::register_leaf!("frame_check", FrameCheck::default);

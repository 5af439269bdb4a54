//! Pads short frames.

use ferroce_emit::prelude::*;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};

/// Pads frames to 60 bytes with zeros, so that they have Ethernet's minimum of 64 with the FCS; a
/// CMAC may lock up on shorter ones. Latency 1.
#[derive(LogicBlock, Module, Default)]
pub struct Pad60 {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Frames in.
    pub from: StreamIn<Beat>,
    /// Frames of 60 bytes and more.
    pub to: StreamOut<Beat>,
    short: Signal<Local, Bit>,
    padded: Signal<Local, Beat>,
    skid: Skid<Beat>,
    inside: DFF<Bit>,
}

impl Logic for Pad60 {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, inside);
        clock!(self, clock, skid);
        if self.from.valid.val() & self.skid.input.ready.val() {
            self.inside.d.next = !self.from.data.val().last;
        }
        self.short.next =
            !self.inside.q.val() & self.from.data.val().last & (self.from.data.val().len < 60);
        self.padded.next = self.from.data.val();
        if self.short.val() {
            self.padded.next.len = 60.into();
        }
        // Beyond `len` a beat may carry anything; here that becomes part of the frame.
        self.padded.next.data = self.from.data.val().data
            & !(!bits::<512>(0) << (bit_cast::<10, 7>(self.from.data.val().len) << 3));
        self.skid.input.valid.next = self.from.valid.val();
        self.skid.input.data.next = self.padded.val();
        self.from.ready.next = self.skid.input.ready.val();
        StreamOut::<Beat>::link(&mut self.to, &mut self.skid.output);
    }
}

ferroce_emit::register_leaf!("pad60", Pad60::default);

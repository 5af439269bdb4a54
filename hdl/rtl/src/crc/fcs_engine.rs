//! Frame check sequence of a stream of frames.

use super::crc32::INIT;
use super::crc_core::{CrcCore, CORE_LATENCY};
use super::tail_zero::TailZero;
use crate::stream::Beat;
use ferroce_emit::prelude::*;

/// Cycles from a last beat at the input of [`FcsEngine`] to its CRC.
pub const FCS_LATENCY: usize = CORE_LATENCY + 1;

/// CRC-32 of every byte of each frame. One beat a cycle, no gap needed between frames.
#[derive(LogicBlock, Module)]
pub struct FcsEngine {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A beat is here; there is no back-pressure.
    pub valid: Signal<In, Bit>,
    /// The beat.
    pub beat: Signal<In, Beat>,
    /// `valid`, one cycle later.
    pub zeroed_valid: Signal<Out, Bit>,
    /// The beat, one cycle later, 0 beyond `len`.
    pub zeroed: Signal<Out, Beat>,
    /// FCS of a frame; it goes on the wire least significant byte first.
    pub crc: Signal<Out, Bits<32>>,
    /// `crc` is valid: [`FCS_LATENCY`] cycles after a last beat.
    pub done: Signal<Out, Bit>,
    tail: TailZero,
    core: CrcCore,
}

impl FcsEngine {
    /// For beats that are 0 beyond `len`: everything comes one cycle earlier than with [`Self::default`].
    #[must_use]
    pub fn of_zeroed() -> Self {
        Self::new(false)
    }

    fn new(clears: bool) -> Self {
        Self {
            clock: Signal::default(),
            valid: Signal::default(),
            beat: Signal::default(),
            zeroed_valid: Signal::default(),
            zeroed: Signal::default(),
            crc: Signal::default(),
            done: Signal::default(),
            tail: TailZero::new(clears),
            core: CrcCore::new(INIT, 0),
        }
    }
}

/// For any beats.
impl Default for FcsEngine {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Logic for FcsEngine {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, tail, core);
        self.tail.valid.next = self.valid.val();
        self.tail.beat.next = self.beat.val();
        self.core.valid.next = self.tail.zeroed_valid.val();
        self.core.first.next = self.tail.first.val();
        self.core.last.next = self.tail.zeroed.val().last;
        self.core.len.next = self.tail.zeroed.val().len;
        self.core.data.next = self.tail.zeroed.val().data;
        self.zeroed_valid.next = self.tail.zeroed_valid.val();
        self.zeroed.next = self.tail.zeroed.val();
        self.crc.next = self.core.crc.val();
        self.done.next = self.core.done.val();
    }
}

ferroce_emit::register_leaf!("fcs_engine", FcsEngine::default);
ferroce_emit::register_leaf!("fcs_engine_of_zeroed", FcsEngine::of_zeroed);

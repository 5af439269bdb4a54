//! Invariant CRC of a stream of RoCEv2 frames.

use super::crc_core::{CrcCore, CORE_LATENCY};
use super::icrc_mask::{IcrcMask, ETHERNET_BYTES};
use super::tail_zero::TailZero;
use crate::stream::Beat;
use ferroce_abi::icrc::AFTER_PREFIX;
use ferroce_emit::prelude::*;

/// Cycles from a last beat at the input of [`IcrcEngine`] to its ICRC.
pub const ICRC_LATENCY: usize = CORE_LATENCY + 2;

/// ICRC of each frame (InfiniBand volume 1, annex A17): frames begin at the Ethernet destination
/// address, are untagged, and end where the covered bytes end. One beat a cycle, no gap needed
/// between frames. The value means nothing for frames that are no RoCEv2 frames.
#[derive(LogicBlock, Module)]
pub struct IcrcEngine {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A beat is here; there is no back-pressure.
    pub valid: Signal<In, Bit>,
    /// The beat.
    pub beat: Signal<In, Beat>,
    /// `valid`, one cycle later.
    pub zeroed_valid: Signal<Out, Bit>,
    /// The beat, one cycle later, not masked but 0 beyond `len`.
    pub zeroed: Signal<Out, Beat>,
    /// ICRC of a frame; it goes on the wire least significant byte first.
    pub crc: Signal<Out, Bits<32>>,
    /// `crc` is valid: [`ICRC_LATENCY`] cycles after a last beat.
    pub done: Signal<Out, Bit>,
    tail: TailZero,
    mask: IcrcMask,
    core: CrcCore,
}

impl IcrcEngine {
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
            mask: IcrcMask::default(),
            core: CrcCore::new(AFTER_PREFIX, ETHERNET_BYTES),
        }
    }
}

/// For any beats.
impl Default for IcrcEngine {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Logic for IcrcEngine {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, tail, mask, core);
        self.tail.valid.next = self.valid.val();
        self.tail.beat.next = self.beat.val();
        self.mask.valid.next = self.tail.zeroed_valid.val();
        self.mask.first.next = self.tail.first.val();
        self.mask.beat.next = self.tail.zeroed.val();
        self.core.valid.next = self.mask.masked_valid.val();
        self.core.first.next = self.mask.masked_first.val();
        self.core.last.next = self.mask.masked.val().last;
        self.core.len.next = self.mask.masked.val().len;
        self.core.data.next = self.mask.masked.val().data;
        self.zeroed_valid.next = self.tail.zeroed_valid.val();
        self.zeroed.next = self.tail.zeroed.val();
        self.crc.next = self.core.crc.val();
        self.done.next = self.core.done.val();
    }
}

ferroce_emit::register_leaf!("icrc_engine", IcrcEngine::default);
ferroce_emit::register_leaf!("icrc_engine_of_zeroed", IcrcEngine::of_zeroed);

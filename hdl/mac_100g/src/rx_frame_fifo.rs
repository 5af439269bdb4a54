//! Received frames from the MAC clock to the core's.

use ferroce_emit::prelude::*;
use ferroce_rtl::async_fifo::AsyncFifo;
use ferroce_rtl::stream::{Beat, StreamOut};

use crate::frame_fifo::{FrameFifo, WhenFull};
use crate::tx_frame_fifo::CROSSING_LOG2_DEPTH;

/// Takes frames from a MAC that can't wait: keeps whole undamaged ones, drops damaged ones and, when it is
/// full, the newest; then crosses to the core clock.
#[derive(LogicBlock, Module)]
pub struct RxFrameFifo {
    /// MAC clock, of everything but `to`.
    pub mac_clock: Signal<In, Clock>,
    /// Core clock, of `to`.
    pub core_clock: Signal<In, Clock>,
    /// A beat is here.
    pub valid: Signal<In, Bit>,
    /// The beat.
    pub beat: Signal<In, Beat>,
    /// Undamaged frames.
    pub to: StreamOut<Beat>,
    /// Pulse of the MAC clock: a frame was dropped for lack of room.
    pub overflow: Signal<Out, Bit>,
    frames: FrameFifo,
    crossing: AsyncFifo<Beat>,
}

impl RxFrameFifo {
    /// `2^log2_depth` beats for frames of at most `max_beats` beats.
    #[must_use]
    pub fn new(log2_depth: usize, max_beats: usize) -> Self {
        Self {
            mac_clock: Signal::default(),
            core_clock: Signal::default(),
            valid: Signal::default(),
            beat: Signal::default(),
            to: StreamOut::default(),
            overflow: Signal::default(),
            frames: FrameFifo::new(log2_depth, max_beats, WhenFull::Drop),
            crossing: AsyncFifo::new(CROSSING_LOG2_DEPTH),
        }
    }
}

impl Logic for RxFrameFifo {
    #[kernel]
    fn update(&mut self) {
        self.frames.clock.next = self.mac_clock.val();
        self.crossing.wr_clock.next = self.mac_clock.val();
        self.crossing.rd_clock.next = self.core_clock.val();
        self.frames.input.valid.next = self.valid.val();
        self.frames.input.data.next = self.beat.val();
        StreamOut::<Beat>::join(&mut self.frames.output, &mut self.crossing.input);
        StreamOut::<Beat>::link(&mut self.to, &mut self.crossing.output);
        self.overflow.next = self.frames.overflow.val();
    }
}

ferroce_emit::register_leaf!("rx_frame_fifo", || RxFrameFifo::new(3, 5));

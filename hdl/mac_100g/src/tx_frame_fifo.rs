//! Transmit frames from the core clock to the MAC's.

use ferroce_emit::prelude::*;
use ferroce_rtl::async_fifo::AsyncFifo;
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};

use crate::frame_fifo::{FrameFifo, WhenFull};

/// Depth (log2) of the crossings. A pointer takes up to 6 cycles of either clock to be seen on the other
/// side, about 14 beats at one a cycle both ways; twice that, in LUT RAM, where 32 and 64 places
/// cost the same.
pub const CROSSING_LOG2_DEPTH: usize = 5;

/// Crosses to the MAC clock, then collects whole frames, so that the MAC never starves inside one although the core
/// may pause. Damaged and endless frames are dropped there.
#[derive(LogicBlock, Module)]
pub struct TxFrameFifo {
    /// Core clock, of `from`.
    pub core_clock: Signal<In, Clock>,
    /// MAC clock, of everything else.
    pub mac_clock: Signal<In, Clock>,
    /// Frames in, with pauses.
    pub from: StreamIn<Beat>,
    /// Whole frames out, without bubbles.
    pub to: StreamOut<Beat>,
    /// Pulse of the MAC clock: a frame was dropped because it was marked or too long.
    pub discarded: Signal<Out, Bit>,
    crossing: AsyncFifo<Beat>,
    frames: FrameFifo,
}

impl TxFrameFifo {
    /// `2^log2_depth` beats for frames of at most `max_beats` beats.
    #[must_use]
    pub fn new(log2_depth: usize, max_beats: usize) -> Self {
        Self {
            core_clock: Signal::default(),
            mac_clock: Signal::default(),
            from: StreamIn::default(),
            to: StreamOut::default(),
            discarded: Signal::default(),
            crossing: AsyncFifo::new(CROSSING_LOG2_DEPTH),
            frames: FrameFifo::new(log2_depth, max_beats, WhenFull::Wait),
        }
    }
}

impl Logic for TxFrameFifo {
    #[kernel]
    fn update(&mut self) {
        self.crossing.wr_clock.next = self.core_clock.val();
        self.crossing.rd_clock.next = self.mac_clock.val();
        self.frames.clock.next = self.mac_clock.val();
        StreamIn::<Beat>::link(&mut self.from, &mut self.crossing.input);
        StreamOut::<Beat>::join(&mut self.crossing.output, &mut self.frames.input);
        StreamOut::<Beat>::link(&mut self.to, &mut self.frames.output);
        self.discarded.next = self.frames.discarded.val();
    }
}

ferroce_emit::register_leaf!("tx_frame_fifo", || TxFrameFifo::new(3, 5));

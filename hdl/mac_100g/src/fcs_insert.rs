//! Appends the frame check sequence.

use ferroce_emit::prelude::*;
use ferroce_rtl::crc::crc_append::CrcAppend;
use ferroce_rtl::crc::{FcsEngine, FCS_LATENCY};
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};

use crate::mac_100g::Fcs;

/// Appends the FCS to each frame, or passes frames as they are when the MAC appends it. A frame marked `err` gets
/// a wrong FCS and stays marked. No bubbles inside a frame if there are none at the input; outputs come from registers if the input does.
#[derive(LogicBlock, Module)]
pub struct FcsInsert {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Frames without FCS; beats are 0 beyond `len`.
    pub from: StreamIn<Beat>,
    /// Frames for the MAC.
    pub to: StreamOut<Beat>,
    here: Constant<Bit>,
    engine: FcsEngine,
    append: CrcAppend,
}

impl FcsInsert {
    /// `fcs` says who appends.
    #[must_use]
    pub fn new(fcs: Fcs) -> Self {
        Self {
            clock: Signal::default(),
            from: StreamIn::default(),
            to: StreamOut::default(),
            here: Constant::new(fcs == Fcs::InCard),
            engine: FcsEngine::of_zeroed(),
            append: CrcAppend::new(FCS_LATENCY - 1),
        }
    }
}

impl Logic for FcsInsert {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, engine, append);
        self.engine.beat.next = self.from.data.val();
        self.append.zeroed_valid.next = self.engine.zeroed_valid.val();
        self.append.zeroed.next = self.engine.zeroed.val();
        self.append.crc.next = self.engine.crc.val();
        if self.here.val() {
            self.engine.valid.next = self.from.valid.val() & self.append.room.val();
            self.from.ready.next = self.append.room.val();
            self.to.valid.next = self.append.to.valid.val();
            self.to.data.next = self.append.to.data.val();
        } else {
            self.engine.valid.next = false;
            self.from.ready.next = self.to.ready.val();
            self.to.valid.next = self.from.valid.val();
            self.to.data.next = self.from.data.val();
        }
        self.append.to.ready.next = self.to.ready.val();
    }
}

ferroce_emit::register_leaf!("fcs_insert", || FcsInsert::new(Fcs::InCard));
ferroce_emit::register_leaf!("fcs_insert_bypassed", || FcsInsert::new(Fcs::InMac));

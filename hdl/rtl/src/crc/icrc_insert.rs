//! Appends the ICRC to RoCEv2 frames.

use super::crc_append::CrcAppend;
use super::icrc_engine::{IcrcEngine, ICRC_LATENCY};
use crate::stream::{Beat, StreamIn, StreamOut};
use ferroce_emit::prelude::*;

/// Appends the ICRC to each frame (untagged, from the Ethernet destination address to the end of the
/// payload's pad). Full rate except for the beat that a frame may grow by; no bubbles of its own
/// inside a frame. A frame marked `err` stays marked and gets a wrong ICRC.
#[derive(LogicBlock, Module)]
pub struct IcrcInsert {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Frames without ICRC.
    pub from: StreamIn<Beat>,
    /// Frames with ICRC.
    pub to: StreamOut<Beat>,
    engine: IcrcEngine,
    append: CrcAppend,
}

impl IcrcInsert {
    /// For beats that are 0 beyond `len`, a cycle faster than [`Self::default`].
    #[must_use]
    pub fn of_zeroed() -> Self {
        Self {
            engine: IcrcEngine::of_zeroed(),
            ..Self::default()
        }
    }
}

/// For any beats.
impl Default for IcrcInsert {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            from: StreamIn::default(),
            to: StreamOut::default(),
            engine: IcrcEngine::default(),
            append: CrcAppend::new(ICRC_LATENCY - 1),
        }
    }
}

impl Logic for IcrcInsert {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, engine, append);
        self.from.ready.next = self.append.room.val();
        self.engine.valid.next = self.from.valid.val() & self.append.room.val();
        self.engine.beat.next = self.from.data.val();
        self.append.zeroed_valid.next = self.engine.zeroed_valid.val();
        self.append.zeroed.next = self.engine.zeroed.val();
        self.append.crc.next = self.engine.crc.val();
        StreamOut::<Beat>::link(&mut self.to, &mut self.append.to);
    }
}

ferroce_emit::register_leaf!("icrc_insert", IcrcInsert::default);
ferroce_emit::register_leaf!("icrc_insert_of_zeroed", IcrcInsert::of_zeroed);

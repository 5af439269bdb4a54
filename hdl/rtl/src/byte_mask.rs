//! Byte count to byte mask.

use ferroce_emit::prelude::*;

/// Cycles from `len` to `mask`.
pub const BYTE_MASK_LATENCY: usize = 1;

/// Thermometer decoder: bit `k` of `mask` is `k < len`. Latency 1.
#[derive(LogicBlock, Module, Default)]
pub struct ByteMask {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Bytes, 0 to 64; above 64 counts as 64.
    pub len: Signal<In, Bits<7>>,
    /// The lowest `len` bits are set, one cycle later.
    pub mask: Signal<Out, Bits<64>>,
    decoded: DFF<Bits<64>>,
    ones: Signal<Local, Bits<64>>,
}

impl Logic for ByteMask {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, decoded);
        self.ones.next = 0xFFFF_FFFF_FFFF_FFFF_u64.into();
        self.decoded.d.next = !(self.ones.val() << self.len.val());
        self.mask.next = self.decoded.q.val();
    }
}

ferroce_emit::register_leaf!("byte_mask", ByteMask::default);

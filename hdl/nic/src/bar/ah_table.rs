//! Address handles.

use ferroce_abi::cfg::{AhCfg, BitField};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::ram::Ram;

const LAST: BitField = AhCfg::FIELDS[AhCfg::FIELDS.len() - 1];
/// Bits of an address handle, laid out as `ferroce_abi::cfg::AhCfg`.
pub const AH_BITS: usize = LAST.offset + LAST.width;

/// Keeps the address handles that the host has made. Queries read them.
#[derive(LogicBlock, Module, Default)]
pub struct AhTable {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// Handle to look at.
    pub asked: Signal<In, Bits<14>>,
    /// What it holds, three cycles later.
    pub handle: Signal<Out, Bits<AH_BITS>>,
    handles: Ram<Bits<AH_BITS>>,
    write: DFF<Bit>,
    index: DFF<Bits<14>>,
    entry: DFF<Bits<AH_BITS>>,
    asked_now: DFF<Bits<14>>,
}

impl AhTable {
    /// For `2^ahs_log2` handles.
    #[must_use]
    pub fn new(ahs_log2: usize) -> Self {
        Self {
            handles: Ram::new(ahs_log2),
            ..Self::default()
        }
    }
}

impl Logic for AhTable {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, write, index, entry, asked_now);
        clock!(self, clock, handles);
        self.write.d.next = self.cfg.val().valid & (self.cfg.val().table == table::AH);
        self.index.d.next = self.cfg.val().index.get_bits::<14>(0);
        self.entry.d.next = self.cfg.val().data.get_bits::<AH_BITS>(0);
        self.asked_now.d.next = self.asked.val();
        self.handles.wr_valid.next = self.write.q.val();
        self.handles.wr_addr.next = bit_cast::<20, 14>(self.index.q.val());
        self.handles.wr_data.next = self.entry.q.val();
        self.handles.rd_addr.next = bit_cast::<20, 14>(self.asked_now.q.val());
        self.handle.next = self.handles.rd_data.val();
    }
}

ferroce_emit::register_leaf!("ah_table", || AhTable::new(3));

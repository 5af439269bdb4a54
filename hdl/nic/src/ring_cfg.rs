//! Ring configuration off the configuration bus.

use ferroce_abi::cfg::{field_offset, BitField, RingCfg};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::CfgWrite;

const ENABLED: usize = field_offset(RingCfg::FIELDS, "enabled");
const BASE: usize = field_offset(RingCfg::FIELDS, "base");
const LOG_SIZE: usize = field_offset(RingCfg::FIELDS, "log_size");

/// First bit behind the fields that all rings have.
pub const MORE: usize = PAGE.offset + PAGE.width;
const PAGE: BitField = RingCfg::FIELDS[RingCfg::FIELDS.len() - 1];
/// Bits that [`RingWrite::more`] holds.
pub const MORE_BITS: usize = 19;

/// A write of a queue's [`ferroce_rtl::desc::cfg::RingCfg`], or of an entry that begins as it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RingWrite {
    /// Write in this cycle.
    pub valid: Bit,
    /// QP, CQ or EQ index; an SRQ's number behind the QPs.
    pub index: Bits<14>,
    /// The ring exists.
    pub enabled: Bit,
    /// Base address, a multiple of 4096.
    pub base: Bits<64>,
    /// Log2 of the number of entries, 1 to 15.
    pub log_size: Bits<4>,
    /// What follows in the entry: fields that only CQs or only EQs have.
    pub more: Bits<MORE_BITS>,
}

/// Picks one table's writes off the bus. Latency 1.
#[derive(LogicBlock, Module)]
pub struct RingCfgPort {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// Writes of this table.
    pub ring: Signal<Out, RingWrite>,
    table: Constant<Bits<4>>,
    /// Table of the rings that are numbered behind those of `table`, and where they begin.
    behind: Constant<Bits<4>>,
    first_behind: Constant<Bits<14>>,
    is_behind: Signal<Local, Bit>,
    write: DFF<RingWrite>,
}

impl RingCfgPort {
    /// Port of a table of rings, see [`ferroce_rtl::desc::cfg::table`].
    #[must_use]
    pub fn new(table: u64) -> Self {
        Self::with_behind(table, table, 0)
    }

    /// Port of table `table`, and of table `behind`, whose rings are numbered from `first_behind` on, a power of two.
    #[must_use]
    pub fn with_behind(table: u64, behind: u64, first_behind: u64) -> Self {
        Self {
            behind: Constant::new(behind.into()),
            first_behind: Constant::new(first_behind.into()),
            is_behind: Signal::default(),
            clock: Signal::default(),
            cfg: Signal::default(),
            ring: Signal::default(),
            table: Constant::new(table.into()),
            write: DFF::default(),
        }
    }
}

impl Logic for RingCfgPort {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, write);
        self.is_behind.next = self.cfg.val().table == self.behind.val();
        self.write.d.next.valid = self.cfg.val().valid
            & ((self.cfg.val().table == self.table.val()) | self.is_behind.val());
        self.write.d.next.index = self.cfg.val().index.get_bits::<14>(0);
        if self.is_behind.val() {
            self.write.d.next.index =
                self.cfg.val().index.get_bits::<14>(0) | self.first_behind.val();
        }
        self.write.d.next.enabled = self.cfg.val().data.get_bit(ENABLED);
        self.write.d.next.base = self.cfg.val().data.get_bits::<64>(BASE);
        self.write.d.next.log_size = self.cfg.val().data.get_bits::<4>(LOG_SIZE);
        self.write.d.next.more = self.cfg.val().data.get_bits::<MORE_BITS>(MORE);
        self.ring.next = self.write.q.val();
    }
}

ferroce_emit::register_leaf!("ring_cfg_port", || RingCfgPort::new(
    ferroce_rtl::desc::cfg::table::SQ
));

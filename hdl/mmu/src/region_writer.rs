//! The comings and goings of memory regions.

use ferroce_abi::cfg::field_offset as offset;
use ferroce_abi::cfg::MrCfg as Layout;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::pages::{PageTable, PageTableWrite, Region, RegionWrite};
use ferroce_rtl::ram::Ram;

const VALID: usize = offset(Layout::FIELDS, "valid");
const TAG: usize = offset(Layout::FIELDS, "tag");
const PD: usize = offset(Layout::FIELDS, "pd");
const ACCESS: usize = offset(Layout::FIELDS, "access");
const BASE: usize = offset(Layout::FIELDS, "base");
const LEN: usize = offset(Layout::FIELDS, "len");
const PAGED: usize = offset(Layout::FIELDS, "paged");
const INDIRECT: usize = offset(Layout::FIELDS, "indirect");
const PAGE_SIZE: usize = offset(Layout::FIELDS, "page_size");
const ORIGIN: usize = offset(Layout::FIELDS, "table");

/// Cycle of `Look` in which the region's past has been read.
const JUDGE_AT: u64 = 4;
/// Cycles from a region's end to the drains' beginning: more than from any access check to where the drains count.
const SETTLE: u64 = 63;
/// Cycles after which the drains' and the caches' answers to a pulse are true.
const RESPONSE: u64 = 4;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, LogicState, FromBits)]
pub enum RegionPhase {
    /// Nothing.
    Idle,
    /// The region's past is read.
    Look,
    /// The region is gone for new accesses, and those that were allowed spread to where they are counted.
    Settle,
    /// They leave the card.
    Drain,
    /// Epochs repeat: the caches are emptied.
    Flush,
    /// The new region is written.
    Finish,
}

/// A region's past.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Past {
    live: Bit,
    epoch: Bits<8>,
}

/// Writes the tables of regions and page tables. A region that exists first goes for all accesses to come, then every access that it has allowed leaves the card, and only then
/// is the table written and the command done. So host memory is free for other use when the driver hears of it, and translations of two lives of an index are never in
/// use at once. An index's epoch changes whenever its region goes; when epochs repeat, the caches are emptied while the region does not exist.
#[derive(LogicBlock, Module)]
pub struct RegionWriter {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// For the access checks.
    pub region: Signal<Out, RegionWrite>,
    /// For the translators.
    pub table: Signal<Out, PageTableWrite>,
    /// Drains begin.
    pub mark: Signal<Out, Bit>,
    /// All drains have ended.
    pub drained: Signal<In, Bit>,
    /// Translators' caches are to be emptied.
    pub flush: Signal<Out, Bit>,
    /// One of them is.
    pub flushing: Signal<In, Bit>,
    /// The command that wrote is not done.
    pub busy: Signal<Out, Bit>,
    past: Ram<Past>,
    phase: DFF<RegionPhase>,
    cycle: DFF<Bits<6>>,
    index: DFF<Bits<16>>,
    wanted: DFF<Region>,
    wanted_table: DFF<PageTable>,
    epoch: DFF<Bits<8>>,
    repeats: DFF<Bit>,
    region_reg: DFF<RegionWrite>,
    table_reg: DFF<PageTableWrite>,
    mark_reg: DFF<Bit>,
    flush_reg: DFF<Bit>,
    responded: Signal<Local, Bit>,
}

impl RegionWriter {
    /// For `2^mrs_log2` regions.
    #[must_use]
    pub fn new(mrs_log2: usize) -> Self {
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            region: Signal::default(),
            table: Signal::default(),
            mark: Signal::default(),
            drained: Signal::default(),
            flush: Signal::default(),
            flushing: Signal::default(),
            busy: Signal::default(),
            past: Ram::new(mrs_log2),
            phase: DFF::default(),
            cycle: DFF::default(),
            index: DFF::default(),
            wanted: DFF::default(),
            wanted_table: DFF::default(),
            epoch: DFF::default(),
            repeats: DFF::default(),
            region_reg: DFF::default(),
            table_reg: DFF::default(),
            mark_reg: DFF::default(),
            flush_reg: DFF::default(),
            responded: Signal::default(),
        }
    }
}

/// 16 regions.
impl Default for RegionWriter {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for RegionWriter {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            phase,
            cycle,
            index,
            wanted,
            wanted_table,
            epoch,
            repeats,
            region_reg,
            table_reg,
            mark_reg,
            flush_reg
        );
        clock!(self, clock, past);
        self.past.rd_addr.next = bit_cast::<20, 16>(self.index.q.val());
        self.past.wr_addr.next = bit_cast::<20, 16>(self.index.q.val());
        self.past.wr_valid.next = false;
        self.past.wr_data.next.live = self.wanted.q.val().valid;
        self.past.wr_data.next.epoch = self.epoch.q.val();

        self.region_reg.d.next.valid = false;
        self.region_reg.d.next.index = self.index.q.val();
        self.region_reg.d.next.region = self.wanted.q.val();
        self.region_reg.d.next.region.epoch = self.epoch.q.val();
        self.table_reg.d.next.valid = false;
        self.table_reg.d.next.index = self.index.q.val();
        self.table_reg.d.next.table = self.wanted_table.q.val();
        self.mark_reg.d.next = false;
        self.flush_reg.d.next = false;
        self.cycle.d.next = self.cycle.q.val() + 1;
        self.responded.next = self.cycle.q.val() == RESPONSE;

        match self.phase.q.val() {
            RegionPhase::Idle => {
                self.cycle.d.next = 0.into();
                self.index.d.next = self.cfg.val().index;
                self.wanted.d.next.valid = self.cfg.val().data.get_bit(VALID);
                self.wanted.d.next.tag = self.cfg.val().data.get_bits::<8>(TAG);
                self.wanted.d.next.pd = self.cfg.val().data.get_bits::<16>(PD);
                self.wanted.d.next.access = self.cfg.val().data.get_bits::<8>(ACCESS);
                self.wanted.d.next.base = self.cfg.val().data.get_bits::<64>(BASE);
                self.wanted.d.next.len = self.cfg.val().data.get_bits::<64>(LEN);
                self.wanted.d.next.paged = self.cfg.val().data.get_bit(PAGED);
                self.wanted_table.d.next.indirect = self.cfg.val().data.get_bit(INDIRECT);
                self.wanted_table.d.next.size = self.cfg.val().data.get_bits::<2>(PAGE_SIZE);
                self.wanted_table.d.next.origin = self.cfg.val().data.get_bits::<64>(ORIGIN);
                if self.cfg.val().valid & (self.cfg.val().table == table::MR) {
                    self.phase.d.next = RegionPhase::Look;
                }
            }
            RegionPhase::Look => {
                self.epoch.d.next = self.past.rd_data.val().epoch;
                self.repeats.d.next = self.past.rd_data.val().epoch.all();
                if self.cycle.q.val() == JUDGE_AT {
                    self.cycle.d.next = 0.into();
                    self.phase.d.next = RegionPhase::Finish;
                    if self.past.rd_data.val().live {
                        self.epoch.d.next = self.past.rd_data.val().epoch + 1;
                        self.region_reg.d.next.valid = true;
                        self.region_reg.d.next.region.valid = false;
                        self.phase.d.next = RegionPhase::Settle;
                    }
                }
            }
            RegionPhase::Settle => {
                if self.cycle.q.val() == SETTLE {
                    self.cycle.d.next = 0.into();
                    self.mark_reg.d.next = true;
                    self.phase.d.next = RegionPhase::Drain;
                }
            }
            RegionPhase::Drain => {
                if self.responded.val() {
                    self.cycle.d.next = self.cycle.q.val();
                    if self.drained.val() {
                        self.cycle.d.next = 0.into();
                        self.phase.d.next = RegionPhase::Finish;
                        if self.repeats.q.val() {
                            self.flush_reg.d.next = true;
                            self.phase.d.next = RegionPhase::Flush;
                        }
                    }
                }
            }
            RegionPhase::Flush => {
                if self.responded.val() {
                    self.cycle.d.next = self.cycle.q.val();
                    if !self.flushing.val() {
                        self.phase.d.next = RegionPhase::Finish;
                    }
                }
            }
            _ => {
                self.region_reg.d.next.valid = true;
                self.table_reg.d.next.valid = true;
                self.past.wr_valid.next = true;
                self.phase.d.next = RegionPhase::Idle;
            }
        }
        self.region.next = self.region_reg.q.val();
        self.table.next = self.table_reg.q.val();
        self.mark.next = self.mark_reg.q.val();
        self.flush.next = self.flush_reg.q.val();
        self.busy.next = self.phase.q.val() != RegionPhase::Idle;
    }
}

ferroce_emit::register_leaf!("region_writer", RegionWriter::default);

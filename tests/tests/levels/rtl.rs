//! Logic depth of the building blocks at the sizes a card uses, on the netlist of Yosys for UltraScale+.

use ferroce_emit::prelude::*;
use ferroce_report::check_levels;
use ferroce_rtl::async_fifo::AsyncFifo;
use ferroce_rtl::byte_mask::ByteMask;
use ferroce_rtl::crc::crc_append::CrcAppend;
use ferroce_rtl::crc::{FcsEngine, IcrcCheck, IcrcInsert, FCS_LATENCY};
use ferroce_rtl::dma_write_arb4::DmaWriteArb4;
use ferroce_rtl::frame_arb4::FrameArb4;
use ferroce_rtl::frame_check::FrameCheck;
use ferroce_rtl::header::{HeaderInsert, HeaderStrip, InsertPlanner, StripPlanner};
use ferroce_rtl::in_flight::InFlight;
use ferroce_rtl::lutram::Lutram;
use ferroce_rtl::ram::Ram;
use ferroce_rtl::ram_style::RamStyle;
use ferroce_rtl::rmw_ram::RmwRam;
use ferroce_rtl::rotate64::Rotate64;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::Beat;
use ferroce_rtl::sync_fifo::SyncFifo;
use ferroce_rtl::weighted_arb4::WeightedArb4;

/// LUT levels of a block with inputs and outputs that have registers or none behind them: blocks are wired to each
/// other, so this leaves room for the neighbour's first level.
const CORE_LEVELS: u32 = 5;
/// The same in the MAC's clock domain.
const MAC_LEVELS: u32 = 4;

macro_rules! levels {
    ($($name: ident <= $limit: ident: $make: expr;)+) => {
        $(
            #[test]
            fn $name() {
                check_levels(stringify!($name), $limit, || $make);
            }
        )+
    };
}

levels! {
    skid_of_beats <= MAC_LEVELS: Skid::<Beat>::default();
    ultra_ram <= CORE_LEVELS: Ram::<Bits<100>>::new(14);
    asynchronous_lut_ram <= CORE_LEVELS: Lutram::<Bits<32>>::new(8);
    state_ram <= CORE_LEVELS: RmwRam::<Bits<160>>::new(14);
    shallow_fifo <= MAC_LEVELS: SyncFifo::<Bits<128>>::new_with_reserve(5, 8);
    quick_fifo <= MAC_LEVELS: SyncFifo::<Beat>::quick_with_reserve(5, 8);
    block_ram_fifo <= CORE_LEVELS: SyncFifo::<Beat>::new_with_reserve(9, 20);
    ultra_ram_fifo <= CORE_LEVELS: SyncFifo::<Beat>::with_style(12, 20, RamStyle::Ultra);
    shallow_async_fifo <= MAC_LEVELS: AsyncFifo::<Beat>::new(5);
    block_ram_async_fifo <= MAC_LEVELS: AsyncFifo::<Beat>::new_with_reserve(9, 160);
    frame_arbiter <= CORE_LEVELS: FrameArb4::<Beat>::default();
    dma_write_arbiter <= CORE_LEVELS: DmaWriteArb4::default();
    weighted_arbiter <= CORE_LEVELS: WeightedArb4::<Bits<64>>::default();
    rotator <= MAC_LEVELS: Rotate64::<Bits<16>>::default();
    byte_mask <= MAC_LEVELS: ByteMask::default();
    credit_counter <= CORE_LEVELS: InFlight::new(64);
    fcs_engine <= MAC_LEVELS: FcsEngine::default();
    fcs_engine_of_zeroed <= MAC_LEVELS: FcsEngine::of_zeroed();
    crc_append <= MAC_LEVELS: CrcAppend::new(FCS_LATENCY - 1);
    icrc_check <= CORE_LEVELS: IcrcCheck::default();
    icrc_insert <= CORE_LEVELS: IcrcInsert::of_zeroed();
    insert_planner <= CORE_LEVELS: InsertPlanner::default();
    header_insert <= CORE_LEVELS: HeaderInsert::default();
    strip_planner <= CORE_LEVELS: StripPlanner::default();
    header_strip <= CORE_LEVELS: HeaderStrip::<Bits<87>>::default();
    frame_monitor <= MAC_LEVELS: FrameCheck::default();
}

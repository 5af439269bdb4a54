//! The memory of all slots.

use super::rc_lane::{LaneWrite, LANES};
use super::slot::{LINES_LOG2, SLOTS_LOG2};
use ferroce_emit::prelude::*;
use ferroce_rtl::ram::Ram;
use ferroce_rtl::ram_style::RamStyle;

/// A block RAM for each doubleword lane, so that the doublewords of a beat may go to two lines. Reads a line in
/// [`RAM_LATENCY`](ferroce_rtl::ram::RAM_LATENCY) cycles.
#[derive(LogicBlock, Module)]
pub struct ReorderBuffer {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Writes of each lane.
    pub write: [Signal<In, LaneWrite>; LANES],
    /// Line to read.
    pub rd_line: Signal<In, Bits<11>>,
    /// The line.
    pub rd_data: Signal<Out, Bits<512>>,
    lanes: [Ram<Bits<32>>; LANES],
    quarters: [Signal<Local, Bits<128>>; LANES / 4],
}

impl Default for ReorderBuffer {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            write: std::array::from_fn(|_| Signal::default()),
            rd_line: Signal::default(),
            rd_data: Signal::default(),
            lanes: std::array::from_fn(|_| {
                Ram::with_style(SLOTS_LOG2 + LINES_LOG2, RamStyle::Block)
            }),
            quarters: std::array::from_fn(|_| Signal::default()),
        }
    }
}

impl Logic for ReorderBuffer {
    #[kernel]
    fn update(&mut self) {
        for i in 0..16 {
            self.lanes[i].clock.next = self.clock.val();
            self.lanes[i].wr_valid.next = self.write[i].val().valid;
            self.lanes[i].wr_addr.next = bit_cast::<20, 11>(self.write[i].val().line);
            self.lanes[i].wr_data.next = self.write[i].val().data;
            self.lanes[i].rd_addr.next = bit_cast::<20, 11>(self.rd_line.val());
        }
        for i in 0..4 {
            self.quarters[i].next = bit_cast::<128, 32>(self.lanes[4 * i].rd_data.val())
                | (bit_cast::<128, 32>(self.lanes[4 * i + 1].rd_data.val()) << 32)
                | (bit_cast::<128, 32>(self.lanes[4 * i + 2].rd_data.val()) << 64)
                | (bit_cast::<128, 32>(self.lanes[4 * i + 3].rd_data.val()) << 96);
        }
        self.rd_data.next = bit_cast::<512, 128>(self.quarters[0].val())
            | (bit_cast::<512, 128>(self.quarters[1].val()) << 128)
            | (bit_cast::<512, 128>(self.quarters[2].val()) << 256)
            | (bit_cast::<512, 128>(self.quarters[3].val()) << 384);
    }
}

ferroce_emit::register_leaf!("reorder_buffer", ReorderBuffer::default);

//! Looks pages up in the cache.

use crate::desc::{Fill, Line, LineTag, Lookup, Walk};
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::pages::{PageReq, PageTable, PageTableWrite};
use ferroce_rtl::flow_gate::FlowGate;
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Look-ups that wait for the oldest one's page (log2): at a round trip of 250 cycles to host memory and a packet every two cycles, as many
/// as there are packets meanwhile.
const LOOKUPS_LOG2: usize = 7;
/// Walks that wait for a slot (log2): those in flight when the FIFO is nearly full, and as many again.
const WALKS_LOG2: usize = 5;
/// Cycles from the gate's output to the FIFOs: region, page number, cache, comparison.
const PIPE: usize = RAM_LATENCY + 1 + RAM_LATENCY + 1;
/// What may be under way to the FIFOs, with a cycle of `hold`.
const RESERVE: usize = PIPE + 3;

/// A request in the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Asked {
    valid: Bit,
    req: PageReq,
}

/// With the page's number, which is known when the region's page size is.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Numbered {
    valid: Bit,
    tag: LineTag,
    /// Number of the table's entry.
    place: Bits<52>,
    low: Bits<9>,
    table: PageTable,
}

/// While the cache is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Reading {
    valid: Bit,
    same: Bit,
    size: Bits<2>,
    low: Bits<9>,
    walk: Walk,
}

/// A look-up a cycle. The cache is direct-mapped; its lines are named by MR index, the region's epoch, and page number, so that nothing of a region
/// that has gone is ever found again. A request for the page of the request before shares its answer, be it still under way: packets of one
/// message that follow each other cost one walk.
#[derive(LogicBlock, Module)]
pub struct PageFront {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Pages to look up.
    pub request: StreamIn<PageReq>,
    /// Page tables of regions.
    pub table: Signal<In, PageTableWrite>,
    /// Lines to fill.
    pub fill: Signal<In, Fill>,
    /// Empty the cache.
    pub flush: Signal<In, Bit>,
    /// The cache is being emptied.
    pub flushing: Signal<Out, Bit>,
    /// The last answer was a fault: the next request is to be looked up anew.
    pub forget: Signal<In, Bit>,
    /// Look-ups, in order.
    pub lookup: StreamOut<Lookup>,
    /// One for each look-up that misses, in order.
    pub walk: StreamOut<Walk>,
    /// A page was looked up.
    pub looked: Signal<Out, Bit>,
    /// It was not there.
    pub missed: Signal<Out, Bit>,
    last_line: Constant<Bits<20>>,
    gate: FlowGate<PageReq>,
    hold: DFF<Bit>,
    tables: Ram<PageTable>,
    asked: Delay<Asked>,
    numbered3: DFF<Numbered>,
    /// The request before.
    before: DFF<LineTag>,
    before_valid: DFF<Bit>,
    reading4: DFF<Reading>,
    reading5: DFF<Reading>,
    reading6: DFF<Reading>,
    frame6: DFF<Bits<52>>,
    hit6: DFF<Bit>,
    lines: Ram<Line>,
    sweeping: DFF<Bit>,
    sweep_at: DFF<Bits<20>>,
    lookups: SyncFifo<Lookup>,
    walks: SyncFifo<Walk>,
    a: Signal<Local, Asked>,
    info: Signal<Local, PageTable>,
    number: Signal<Local, Bits<52>>,
    n: Signal<Local, Numbered>,
    line_number: Signal<Local, Bits<16>>,
    found: Signal<Local, Line>,
    miss: Signal<Local, Bit>,
}

impl PageFront {
    /// For `2^mrs_log2` regions and a cache of `2^lines_log2` pages.
    ///
    /// # Panics
    /// If `lines_log2` is not 1 to 16.
    #[must_use]
    pub fn new(mrs_log2: usize, lines_log2: usize) -> Self {
        assert!(
            (1..=16).contains(&lines_log2),
            "a cache of 2^{lines_log2} pages"
        );
        Self {
            clock: Signal::default(),
            request: StreamIn::default(),
            table: Signal::default(),
            fill: Signal::default(),
            flush: Signal::default(),
            flushing: Signal::default(),
            forget: Signal::default(),
            lookup: StreamOut::default(),
            walk: StreamOut::default(),
            looked: Signal::default(),
            missed: Signal::default(),
            last_line: Constant::new(((1u64 << lines_log2) - 1).into()),
            gate: FlowGate::default(),
            hold: DFF::default(),
            tables: Ram::new(mrs_log2),
            asked: Delay::new(RAM_LATENCY),
            numbered3: DFF::default(),
            before: DFF::default(),
            before_valid: DFF::default(),
            reading4: DFF::default(),
            reading5: DFF::default(),
            reading6: DFF::default(),
            frame6: DFF::default(),
            hit6: DFF::default(),
            lines: Ram::new(lines_log2),
            sweeping: DFF::default(),
            sweep_at: DFF::default(),
            lookups: SyncFifo::new_with_reserve(LOOKUPS_LOG2, RESERVE),
            walks: SyncFifo::new_with_reserve(WALKS_LOG2, RESERVE),
            a: Signal::default(),
            info: Signal::default(),
            number: Signal::default(),
            n: Signal::default(),
            line_number: Signal::default(),
            found: Signal::default(),
            miss: Signal::default(),
        }
    }
}

/// 16 regions, 16 pages.
impl Default for PageFront {
    fn default() -> Self {
        Self::new(4, 4)
    }
}

const _: () = assert!(RAM_LATENCY == 2, "`reading4` and `reading5` are the wait");

impl Logic for PageFront {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            hold,
            numbered3,
            before,
            before_valid,
            reading4,
            reading5,
            reading6,
            frame6,
            hit6,
            sweeping,
            sweep_at
        );
        clock!(self, clock, gate, tables, asked, lines, lookups, walks);
        StreamIn::<PageReq>::link(&mut self.request, &mut self.gate.input);
        self.hold.d.next = self.lookups.almost_full.val() | self.walks.almost_full.val();
        self.gate.hold.next = self.hold.q.val();

        // The region's table and page size.
        self.tables.wr_valid.next = self.table.val().valid;
        self.tables.wr_addr.next = bit_cast::<20, 16>(self.table.val().index);
        self.tables.wr_data.next = self.table.val().table;
        self.tables.rd_addr.next = bit_cast::<20, 16>(self.gate.data.val().mr);
        self.asked.data_in.next.valid = self.gate.valid.val();
        self.asked.data_in.next.req = self.gate.data.val();

        self.a.next = self.asked.data_out.val();
        self.info.next = self.tables.rd_data.val();
        self.number.next = self.a.val().req.page;
        if self.info.val().size == 1 {
            self.number.next = self.a.val().req.page >> 4;
        } else if self.info.val().size.get_bit(1) {
            self.number.next = self.a.val().req.page >> 9;
        }
        self.numbered3.d.next.valid = self.a.val().valid;
        self.numbered3.d.next.tag.mr = self.a.val().req.mr;
        self.numbered3.d.next.tag.epoch = self.a.val().req.epoch;
        self.numbered3.d.next.tag.number = self.number.val();
        self.numbered3.d.next.place = self.number.val();
        if self.info.val().indirect {
            self.numbered3.d.next.place = self.number.val() >> 9;
        }
        self.numbered3.d.next.low = self.a.val().req.page.get_bits::<9>(0);
        self.numbered3.d.next.table = self.info.val();

        // Its line. Neighbouring pages take neighbouring lines, and regions begin at different ones.
        self.n.next = self.numbered3.q.val();
        self.line_number.next = self.n.val().tag.number.get_bits::<16>(0)
            ^ self.n.val().tag.number.get_bits::<16>(16)
            ^ (self.n.val().tag.mr << 5);
        self.lines.rd_addr.next = bit_cast::<20, 16>(self.line_number.val());
        self.reading4.d.next.valid = self.n.val().valid;
        self.reading4.d.next.same =
            self.before_valid.q.val() & (self.before.q.val() == self.n.val().tag);
        self.reading4.d.next.size = self.n.val().table.size;
        self.reading4.d.next.low = self.n.val().low;
        self.reading4.d.next.walk.entry =
            self.n.val().table.origin + (bit_cast::<64, 52>(self.n.val().place) << 3);
        self.reading4.d.next.walk.indirect = self.n.val().table.indirect;
        self.reading4.d.next.walk.line = self.line_number.val();
        self.reading4.d.next.walk.tag = self.n.val().tag;
        if self.n.val().valid {
            self.before.d.next = self.n.val().tag;
            self.before_valid.d.next = true;
        }
        if self.forget.val() | self.sweeping.q.val() {
            self.before_valid.d.next = false;
        }

        // Compare.
        self.reading5.d.next = self.reading4.q.val();
        self.found.next = self.lines.rd_data.val();
        self.reading6.d.next = self.reading5.q.val();
        self.frame6.d.next = self.found.val().frame;
        self.hit6.d.next =
            self.found.val().valid & (self.found.val().tag == self.reading5.q.val().walk.tag);

        self.miss.next = !self.reading6.q.val().same & !self.hit6.q.val();
        self.lookups.input.valid.next = self.reading6.q.val().valid;
        self.lookups.input.data.next.same = self.reading6.q.val().same;
        self.lookups.input.data.next.miss = self.miss.val();
        self.lookups.input.data.next.size = self.reading6.q.val().size;
        self.lookups.input.data.next.low = self.reading6.q.val().low;
        self.lookups.input.data.next.frame = self.frame6.q.val();
        self.walks.input.valid.next = self.reading6.q.val().valid & self.miss.val();
        self.walks.input.data.next = self.reading6.q.val().walk;
        self.looked.next = self.reading6.q.val().valid;
        self.missed.next = self.reading6.q.val().valid & self.miss.val();
        StreamOut::<Lookup>::link(&mut self.lookup, &mut self.lookups.output);
        StreamOut::<Walk>::link(&mut self.walk, &mut self.walks.output);

        // Fill; empty in the cycles between.
        self.lines.wr_valid.next = self.fill.val().valid | self.sweeping.q.val();
        self.lines.wr_addr.next = self.sweep_at.q.val();
        self.lines.wr_data.next.valid = self.fill.val().valid;
        self.lines.wr_data.next.tag = self.fill.val().tag;
        self.lines.wr_data.next.frame = self.fill.val().frame;
        if self.fill.val().valid {
            self.lines.wr_addr.next = bit_cast::<20, 16>(self.fill.val().line);
        } else if self.sweeping.q.val() {
            self.sweep_at.d.next = self.sweep_at.q.val() + 1;
            if self.sweep_at.q.val() == self.last_line.val() {
                self.sweeping.d.next = false;
            }
        }
        if self.flush.val() {
            self.sweeping.d.next = true;
            self.sweep_at.d.next = 0.into();
        }
        self.flushing.next = self.sweeping.q.val();
    }
}

ferroce_emit::register_leaf!("page_front", PageFront::default);

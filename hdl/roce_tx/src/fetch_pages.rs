//! Finds out where in host memory payload lies.

use crate::fetch_split::FetchPart;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::pages::{PageAnswer, PageReq};
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Parts that wait for their page (log2): at 100 Gb/s and a round trip of a microsecond, 64 parts of 196 bytes.
const WAITING_LOG2: usize = 6;

/// Parts stay in order. One with a virtual address asks for its page when it comes, and goes on with the answer; others wait for those before them
/// only. No part crosses 4 KiB, so each has one page.
#[derive(LogicBlock, Module)]
pub struct FetchPages {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Parts.
    pub from: StreamIn<FetchPart>,
    /// Pages wanted.
    pub page_req: StreamOut<PageReq>,
    /// Their places.
    pub page_answer: StreamIn<PageAnswer>,
    /// Parts with bus addresses.
    pub to: StreamOut<FetchPart>,
    arrived: Skid<FetchPart>,
    waiting: SyncFifo<FetchPart>,
    placed: Skid<FetchPart>,
    asks: Signal<Local, Bit>,
    head_asks: Signal<Local, Bit>,
    there: Signal<Local, Bit>,
}

impl Default for FetchPages {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            from: StreamIn::default(),
            page_req: StreamOut::default(),
            page_answer: StreamIn::default(),
            to: StreamOut::default(),
            arrived: Skid::default(),
            waiting: SyncFifo::new(WAITING_LOG2),
            placed: Skid::default(),
            asks: Signal::default(),
            head_asks: Signal::default(),
            there: Signal::default(),
        }
    }
}

impl Logic for FetchPages {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, arrived, waiting, placed);
        StreamIn::<FetchPart>::link(&mut self.from, &mut self.arrived.input);

        // Each of the two sinks takes the part only together with the other.
        self.asks.next = self.arrived.output.data.val().via.paged;
        self.page_req.data.next.mr = self.arrived.output.data.val().via.mr;
        self.page_req.data.next.epoch = self.arrived.output.data.val().via.epoch;
        self.page_req.data.next.page = self.arrived.output.data.val().addr.get_bits::<52>(12);
        self.page_req.valid.next =
            self.arrived.output.valid.val() & self.asks.val() & self.waiting.input.ready.val();
        self.waiting.input.data.next = self.arrived.output.data.val();
        self.waiting.input.valid.next =
            self.arrived.output.valid.val() & (!self.asks.val() | self.page_req.ready.val());
        self.arrived.output.ready.next =
            self.waiting.input.ready.val() & (!self.asks.val() | self.page_req.ready.val());

        self.head_asks.next = self.waiting.output.data.val().via.paged;
        self.there.next = !self.head_asks.val() | self.page_answer.valid.val();
        self.waiting.output.ready.next = self.there.val() & self.placed.input.ready.val();
        self.page_answer.ready.next =
            self.head_asks.val() & self.waiting.output.valid.val() & self.placed.input.ready.val();
        self.placed.input.valid.next = self.waiting.output.valid.val() & self.there.val();
        self.placed.input.data.next = self.waiting.output.data.val();
        if self.head_asks.val() {
            self.placed.input.data.next.addr =
                (bit_cast::<64, 52>(self.page_answer.data.val().page) << 12)
                    | bit_cast::<64, 12>(self.waiting.output.data.val().addr.get_bits::<12>(0));
            self.placed.input.data.next.fault = self.page_answer.data.val().fault;
        }
        StreamOut::<FetchPart>::link(&mut self.to, &mut self.placed.output);
    }
}

ferroce_emit::register_leaf!("fetch_pages", FetchPages::default);

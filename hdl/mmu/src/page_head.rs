//! Answers look-ups in order.

use crate::desc::{Lookup, WalkEnd, SLOTS_LOG2};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::pages::PageAnswer;
use ferroce_rtl::lutram::Lutram;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// What the last walk in a slot found.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SlotResult {
    lap: Bit,
    fault: Bit,
    frame: Bits<52>,
}

/// An answer a cycle. A look-up that missed waits for its walk; slots go in a circle, so it is the oldest one, and its lap tells whether it has
/// ended. Hits behind it wait too.
#[derive(LogicBlock, Module)]
pub struct PageHead {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Look-ups.
    pub lookup: StreamIn<Lookup>,
    /// Ends of walks.
    pub end: Signal<In, WalkEnd>,
    /// Answers.
    pub answer: StreamOut<PageAnswer>,
    /// The oldest ended walk's slot is free.
    pub released: Signal<Out, Bit>,
    /// The answer of this cycle is a fault.
    pub faulted: Signal<Out, Bit>,
    results: Lutram<SlotResult>,
    /// Slot of the oldest walk, and above it its lap.
    oldest: DFF<Bits<6>>,
    last_frame: DFF<Bits<52>>,
    last_fault: DFF<Bit>,
    answers: Skid<PageAnswer>,
    result: Signal<Local, SlotResult>,
    there: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    frame: Signal<Local, Bits<52>>,
    fault: Signal<Local, Bit>,
    page: Signal<Local, Bits<52>>,
}

impl Default for PageHead {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            lookup: StreamIn::default(),
            end: Signal::default(),
            answer: StreamOut::default(),
            released: Signal::default(),
            faulted: Signal::default(),
            results: Lutram::new(SLOTS_LOG2),
            oldest: DFF::default(),
            last_frame: DFF::default(),
            last_fault: DFF::default(),
            answers: Skid::default(),
            result: Signal::default(),
            there: Signal::default(),
            go: Signal::default(),
            frame: Signal::default(),
            fault: Signal::default(),
            page: Signal::default(),
        }
    }
}

impl Logic for PageHead {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, oldest, last_frame, last_fault);
        clock!(self, clock, results, answers);
        self.results.wr_valid.next = self.end.val().valid;
        self.results.wr_addr.next = bit_cast::<20, 5>(self.end.val().slot);
        self.results.wr_data.next.lap = self.end.val().lap;
        self.results.wr_data.next.fault = self.end.val().fault;
        self.results.wr_data.next.frame = self.end.val().frame;
        self.results.rd_addr.next = bit_cast::<20, 5>(self.oldest.q.val().get_bits::<5>(0));

        self.result.next = self.results.rd_data.val();
        self.there.next = !self.lookup.data.val().miss
            | (self.result.val().lap != self.oldest.q.val().get_bit(SLOTS_LOG2));
        self.go.next = self.lookup.valid.val() & self.there.val() & self.answers.input.ready.val();
        self.lookup.ready.next = self.there.val() & self.answers.input.ready.val();
        self.released.next = self.go.val() & self.lookup.data.val().miss;
        self.frame.next = self.lookup.data.val().frame;
        self.fault.next = false;
        if self.lookup.data.val().same {
            self.frame.next = self.last_frame.q.val();
            self.fault.next = self.last_fault.q.val();
        } else if self.lookup.data.val().miss {
            self.frame.next = self.result.val().frame;
            self.fault.next = self.result.val().fault;
        }
        if self.go.val() {
            self.last_frame.d.next = self.frame.val();
            self.last_fault.d.next = self.fault.val();
        }
        if self.released.val() {
            self.oldest.d.next = self.oldest.q.val() + 1;
        }
        self.faulted.next = self.go.val() & self.fault.val();

        // The frame's address, and the 4 KiB wanted in it.
        self.page.next = self.frame.val();
        if self.lookup.data.val().size == 1 {
            self.page.next = ((self.frame.val() >> 4) << 4)
                | bit_cast::<52, 4>(self.lookup.data.val().low.get_bits::<4>(0));
        } else if self.lookup.data.val().size.get_bit(1) {
            self.page.next =
                ((self.frame.val() >> 9) << 9) | bit_cast::<52, 9>(self.lookup.data.val().low);
        }
        self.answers.input.valid.next = self.lookup.valid.val() & self.there.val();
        self.answers.input.data.next.page = self.page.val();
        self.answers.input.data.next.fault = self.fault.val();
        StreamOut::<PageAnswer>::link(&mut self.answer, &mut self.answers.output);
    }
}

ferroce_emit::register_leaf!("page_head", PageHead::default);

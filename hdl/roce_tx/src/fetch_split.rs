//! Cuts a packet's payload at 4 KiB boundaries.

use crate::desc::FetchReq;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::pages::Via;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Bytes between two boundaries that no DMA read may cross.
const PAGE_BYTES: u64 = 4096;
/// Beats of a page.
const PAGE_BEATS: u64 = 64;

/// What one DMA read fetches.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchPart {
    /// First byte.
    pub addr: Bits<64>,
    /// Bytes, 1 to 4096.
    pub len: Bits<13>,
    /// Beats that the answer has: one for each 64-byte block that it touches, 1 to 64.
    pub beats: Bits<7>,
    /// Last part of its packet.
    pub last: Bit,
    /// Whether `addr` is virtual.
    pub via: Via,
    /// It can't be read: its page is not there.
    pub fault: Bit,
    /// See [`FetchReq`].
    pub ordered: Bit,
}

/// One or two parts a packet, one a cycle. The boundary is a multiple of the beat, so the beats of both parts in a row are
/// those of the undivided payload.
#[derive(LogicBlock, Module, Default)]
pub struct FetchSplit {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Payloads.
    pub from: StreamIn<FetchReq>,
    /// Their parts.
    pub to: StreamOut<FetchPart>,
    reqs: Skid<FetchReq>,
    req1: DFF<FetchReq>,
    valid1: DFF<Bit>,
    room1: DFF<Bits<13>>,
    span1: DFF<Bits<13>>,
    req2: DFF<FetchReq>,
    valid2: DFF<Bit>,
    crosses2: DFF<Bit>,
    room2: DFF<Bits<13>>,
    rest2: DFF<Bits<13>>,
    whole_beats2: DFF<Bits<7>>,
    page_beats2: DFF<Bits<7>>,
    next_page2: DFF<Bits<52>>,
    second: DFF<Bit>,
    parts: Skid<FetchPart>,
    advance1: Signal<Local, Bit>,
    advance2: Signal<Local, Bit>,
}

impl Logic for FetchSplit {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            req1,
            valid1,
            room1,
            span1,
            req2,
            valid2,
            crosses2,
            room2,
            rest2,
            whole_beats2,
            page_beats2,
            next_page2,
            second
        );
        clock!(self, clock, reqs, parts);
        StreamIn::<FetchReq>::link(&mut self.from, &mut self.reqs.input);

        self.advance2.next = !self.valid2.q.val()
            | (self.parts.input.ready.val() & (!self.crosses2.q.val() | self.second.q.val()));
        self.advance1.next = !self.valid1.q.val() | self.advance2.val();
        self.reqs.output.ready.next = self.advance1.val();

        if self.advance1.val() {
            self.req1.d.next = self.reqs.output.data.val();
            self.valid1.d.next = self.reqs.output.valid.val();
            self.room1.d.next = bits::<13>(PAGE_BYTES)
                - bit_cast::<13, 12>(self.reqs.output.data.val().addr.get_bits::<12>(0));
            self.span1.d.next = self.reqs.output.data.val().len
                + bit_cast::<13, 6>(self.reqs.output.data.val().addr.get_bits::<6>(0));
        }
        if self.advance2.val() {
            self.req2.d.next = self.req1.q.val();
            self.valid2.d.next = self.valid1.q.val();
            self.crosses2.d.next = self.req1.q.val().len > self.room1.q.val();
            self.room2.d.next = self.room1.q.val();
            self.rest2.d.next = self.req1.q.val().len - self.room1.q.val();
            self.whole_beats2.d.next = (self.span1.q.val() + 63).get_bits::<7>(6);
            self.page_beats2.d.next =
                bits::<7>(PAGE_BEATS) - bit_cast::<7, 6>(self.req1.q.val().addr.get_bits::<6>(6));
            self.next_page2.d.next = self.req1.q.val().addr.get_bits::<52>(12) + 1;
        }
        if self.valid2.q.val() & self.parts.input.ready.val() {
            self.second.d.next = self.crosses2.q.val() & !self.second.q.val();
        }

        self.parts.input.valid.next = self.valid2.q.val();
        self.parts.input.data.next.addr = self.req2.q.val().addr;
        self.parts.input.data.next.ordered = self.req2.q.val().ordered;
        self.parts.input.data.next.len = self.req2.q.val().len;
        self.parts.input.data.next.beats = self.whole_beats2.q.val();
        self.parts.input.data.next.via = self.req2.q.val().via;
        self.parts.input.data.next.fault = false;
        self.parts.input.data.next.last = !self.crosses2.q.val() | self.second.q.val();
        if self.second.q.val() {
            self.parts.input.data.next.addr = bit_cast::<64, 52>(self.next_page2.q.val()) << 12;
            self.parts.input.data.next.len = self.rest2.q.val();
            self.parts.input.data.next.beats = (self.rest2.q.val() + 63).get_bits::<7>(6);
        } else if self.crosses2.q.val() {
            self.parts.input.data.next.len = self.room2.q.val();
            self.parts.input.data.next.beats = self.page_beats2.q.val();
        }
        StreamOut::<FetchPart>::link(&mut self.to, &mut self.parts.output);
    }
}

ferroce_emit::register_leaf!("fetch_split", FetchSplit::default);

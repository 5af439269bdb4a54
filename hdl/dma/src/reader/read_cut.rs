//! Cuts DMA reads into pieces that are one TLP each.

use super::slot::ReadPiece;
use crate::desc::PcieLimits;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaReadReq;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Pieces that wait for a slot (log2): what the pipeline holds, and enough to go on while it fills again.
const FIFO_LOG2: usize = 3;
/// Cycles from a piece's bounds to the FIFO.
const PIECE_LATENCY: usize = 2;

/// Cuts at multiples of min(max read request, 512 bytes). A piece a cycle, without a gap between requests.
#[derive(LogicBlock, Module)]
pub struct ReadCut {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The host's settings.
    pub limits: Signal<In, PcieLimits>,
    /// Reads of 1 to 4096 bytes within a page.
    pub request: StreamIn<DmaReadReq>,
    /// Their pieces, in address order.
    pub piece: StreamOut<ReadPiece>,
    /// Address bits within the largest piece.
    inner: DFF<Bits<12>>,
    /// The request, `len` less one.
    short: DFF<DmaReadReq>,
    short_valid: DFF<Bit>,
    /// The request and its last byte.
    whole: DFF<DmaReadReq>,
    whole_last: DFF<Bits<12>>,
    whole_valid: DFF<Bit>,
    /// The request that is being cut, `at` its first byte that is not yet in a piece.
    page: DFF<Bits<52>>,
    at: DFF<Bits<12>>,
    last_byte: DFF<Bits<12>>,
    tag: DFF<Bits<8>>,
    ordered: DFF<Bit>,
    busy: DFF<Bit>,
    /// What is left fits into one piece.
    ends: DFF<Bit>,
    /// Bounds of a piece.
    b_valid: DFF<Bit>,
    b_page: DFF<Bits<52>>,
    b_first: DFF<Bits<12>>,
    b_last: DFF<Bits<12>>,
    b_tag: DFF<Bits<8>>,
    b_ordered: DFF<Bit>,
    b_ends: DFF<Bit>,
    /// Its size and byte enables.
    s_valid: DFF<Bit>,
    s_addr: DFF<Bits<62>>,
    s_span: DFF<Bits<7>>,
    s_first_be: DFF<Bits<4>>,
    s_last_be: DFF<Bits<4>>,
    s_first_line: DFF<Bits<3>>,
    s_last_line: DFF<Bits<3>>,
    s_end: DFF<Bits<9>>,
    s_tag: DFF<Bits<8>>,
    s_ordered: DFF<Bit>,
    s_ends: DFF<Bit>,
    pieces: SyncFifo<ReadPiece>,
    go: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    load_whole: Signal<Local, Bit>,
    load_short: Signal<Local, Bit>,
    next_at: Signal<Local, Bits<12>>,
}

impl Default for ReadCut {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            limits: Signal::default(),
            request: StreamIn::default(),
            piece: StreamOut::default(),
            inner: DFF::default(),
            short: DFF::default(),
            short_valid: DFF::default(),
            whole: DFF::default(),
            whole_last: DFF::default(),
            whole_valid: DFF::default(),
            page: DFF::default(),
            at: DFF::default(),
            last_byte: DFF::default(),
            tag: DFF::default(),
            ordered: DFF::default(),
            busy: DFF::default(),
            ends: DFF::default(),
            b_valid: DFF::default(),
            b_page: DFF::default(),
            b_first: DFF::default(),
            b_last: DFF::default(),
            b_tag: DFF::default(),
            b_ordered: DFF::default(),
            b_ends: DFF::default(),
            s_valid: DFF::default(),
            s_addr: DFF::default(),
            s_span: DFF::default(),
            s_first_be: DFF::default(),
            s_last_be: DFF::default(),
            s_first_line: DFF::default(),
            s_last_line: DFF::default(),
            s_end: DFF::default(),
            s_tag: DFF::default(),
            s_ordered: DFF::default(),
            s_ends: DFF::default(),
            pieces: SyncFifo::new_with_reserve(FIFO_LOG2, PIECE_LATENCY + 1),
            go: Signal::default(),
            load: Signal::default(),
            load_whole: Signal::default(),
            load_short: Signal::default(),
            next_at: Signal::default(),
        }
    }
}

impl Logic for ReadCut {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            inner,
            short,
            short_valid,
            whole,
            whole_last,
            whole_valid,
            page,
            at,
            last_byte,
            tag,
            ordered,
            busy,
            ends,
            b_valid,
            b_page,
            b_first,
            b_last,
            b_tag,
            b_ordered,
            b_ends,
            s_valid,
            s_addr,
            s_span,
            s_first_be,
            s_last_be,
            s_first_line,
            s_last_line,
            s_end,
            s_tag,
            s_ordered,
            s_ends
        );
        clock!(self, clock, pieces);
        self.inner.d.next = 511.into();
        if self.limits.val().max_read_req == 0 {
            self.inner.d.next = 127.into();
        }
        if self.limits.val().max_read_req == 1 {
            self.inner.d.next = 255.into();
        }

        self.go.next = self.busy.q.val() & !self.pieces.almost_full.val();
        self.load.next = !self.busy.q.val() | (self.go.val() & self.ends.q.val());
        self.load_whole.next = !self.whole_valid.q.val() | self.load.val();
        self.load_short.next = !self.short_valid.q.val() | self.load_whole.val();
        self.request.ready.next = self.load_short.val();

        if self.load_short.val() {
            self.short.d.next = self.request.data.val();
            self.short.d.next.len = self.request.data.val().len - 1;
            self.short_valid.d.next = self.request.valid.val();
        }
        if self.load_whole.val() {
            self.whole.d.next = self.short.q.val();
            self.whole_last.d.next = self.short.q.val().addr.get_bits::<12>(0)
                + self.short.q.val().len.get_bits::<12>(0);
            self.whole_valid.d.next = self.short_valid.q.val();
        }
        // What is behind the last byte of a piece is the first one of the next.
        self.next_at.next = (self.at.q.val() | self.inner.q.val()) + 1;
        if self.go.val() {
            self.at.d.next = self.next_at.val();
            self.ends.d.next =
                !((self.next_at.val() ^ self.last_byte.q.val()) & !self.inner.q.val()).any();
        }
        if self.load.val() {
            self.page.d.next = self.whole.q.val().addr.get_bits::<52>(12);
            self.at.d.next = self.whole.q.val().addr.get_bits::<12>(0);
            self.last_byte.d.next = self.whole_last.q.val();
            self.tag.d.next = self.whole.q.val().tag;
            self.ordered.d.next = self.whole.q.val().ordered;
            self.busy.d.next = self.whole_valid.q.val();
            self.ends.d.next = !((self.whole.q.val().addr.get_bits::<12>(0)
                ^ self.whole_last.q.val())
                & !self.inner.q.val())
            .any();
        }

        self.b_valid.d.next = self.go.val();
        self.b_page.d.next = self.page.q.val();
        self.b_first.d.next = self.at.q.val();
        self.b_last.d.next = self.at.q.val() | self.inner.q.val();
        if self.ends.q.val() {
            self.b_last.d.next = self.last_byte.q.val();
        }
        self.b_tag.d.next = self.tag.q.val();
        self.b_ordered.d.next = self.ordered.q.val();
        self.b_ends.d.next = self.ends.q.val();

        self.s_valid.d.next = self.b_valid.q.val();
        self.s_addr.d.next = (bit_cast::<62, 52>(self.b_page.q.val()) << 10)
            | bit_cast::<62, 10>(self.b_first.q.val().get_bits::<10>(2));
        self.s_span.d.next =
            self.b_last.q.val().get_bits::<7>(2) - self.b_first.q.val().get_bits::<7>(2);
        self.s_first_be.d.next =
            bits::<4>(0xF) << bit_cast::<4, 2>(self.b_first.q.val().get_bits::<2>(0));
        self.s_last_be.d.next =
            bits::<4>(0xF) >> bit_cast::<4, 2>(!self.b_last.q.val().get_bits::<2>(0));
        self.s_first_line.d.next = self.b_first.q.val().get_bits::<3>(6);
        self.s_last_line.d.next = self.b_last.q.val().get_bits::<3>(6);
        self.s_end.d.next = self.b_last.q.val().get_bits::<9>(0) + 1;
        self.s_tag.d.next = self.b_tag.q.val();
        self.s_ordered.d.next = self.b_ordered.q.val();
        self.s_ends.d.next = self.b_ends.q.val();

        self.pieces.input.valid.next = self.s_valid.q.val();
        self.pieces.input.data.next.addr = self.s_addr.q.val();
        self.pieces.input.data.next.dwords = bit_cast::<8, 7>(self.s_span.q.val()) + 1;
        self.pieces.input.data.next.first_be = self.s_first_be.q.val();
        self.pieces.input.data.next.last_be = self.s_last_be.q.val();
        if self.s_span.q.val() == 0 {
            self.pieces.input.data.next.first_be = self.s_first_be.q.val() & self.s_last_be.q.val();
            self.pieces.input.data.next.last_be = 0.into();
        }
        self.pieces.input.data.next.ordered = self.s_ordered.q.val();
        self.pieces.input.data.next.tag = self.s_tag.q.val();
        self.pieces.input.data.next.last = self.s_ends.q.val();
        self.pieces.input.data.next.first_line = self.s_first_line.q.val();
        self.pieces.input.data.next.more_lines =
            self.s_last_line.q.val() - self.s_first_line.q.val();
        self.pieces.input.data.next.end = self.s_end.q.val();
        StreamOut::<ReadPiece>::link(&mut self.piece, &mut self.pieces.output);
    }
}

ferroce_emit::register_leaf!("read_cut", ReadCut::default);

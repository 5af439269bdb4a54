//! Completions: a descriptor and up to 64 bytes.

use super::desc::CcJob;
use crate::axis::CcBeat;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::BarResp;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Doublewords of the longest completion's payload.
const LANES: usize = 16;
/// Doublewords of payload in the first beat, behind the descriptor.
const FIRST_LANES: usize = 13;
const FIRST_DWORDS: u64 = FIRST_LANES as u64;
/// Doublewords behind the descriptor of a completion with UR or CA, for the block's error log: byte enables and descriptor of the
/// request (PG213, completions with error status).
const LOG_DWORDS: u64 = 5;
/// Bits of the descriptor.
const HEAD_BITS: usize = 96;
/// Places for beats, log2. A completion is put here in cycles that follow each other, and so it leaves: the PCIe block must see no
/// gap in it.
const BEATS_LOG2: usize = 4;
/// A completion is begun while there is room for its two beats and for two of the one before that are on the way.
const BEATS_RESERVE: usize = 4;

/// What differs between beats of completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CcPart {
    /// The bytes.
    pub data: Bits<512>,
    /// Valid doublewords.
    pub keep: Bits<16>,
    /// Last beat.
    pub last: Bit,
    /// First beat.
    pub first: Bit,
    /// Last doubleword, with `last`.
    pub end: Bits<4>,
}

/// Collects the answers of one completion after the other. Each answer goes to the doublewords of the payload that it holds,
/// whose places are one-hot. A completion with an error waits for its `released`; the request goes behind its descriptor. Two cycles for a completion of one answer.
#[derive(LogicBlock, Module)]
pub struct CcPack {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Completions, in order.
    pub job: StreamIn<CcJob>,
    /// The next completion that has no payload may leave.
    pub released: Signal<In, Bit>,
    /// Answers, in order.
    pub answer: StreamIn<BarResp>,
    /// Completions for the PCIe block.
    pub cc: StreamOut<CcBeat>,
    beats: SyncFifo<CcPart>,
    /// Completions without payload that may leave.
    tokens: DFF<Bits<8>>,
    token_there: DFF<Bit>,
    active: DFF<Bit>,
    phase: DFF<Bit>,
    words_left: DFF<Bits<4>>,
    /// The answer that comes next; bit 9 stays 0.
    hot: DFF<Bits<10>>,
    head: DFF<Bits<HEAD_BITS>>,
    lanes: [DFF<Bits<32>>; LANES],
    two: DFF<Bit>,
    front_keep: DFF<Bits<16>>,
    front_end: DFF<Bits<4>>,
    tail_keep: DFF<Bits<16>>,
    tail_end: DFF<Bits<4>>,
    /// The first beat is complete.
    front: DFF<Bit>,
    /// The second beat follows.
    tail: DFF<Bit>,
    keep_held: DFF<Bits<16>>,
    end_held: DFF<Bits<4>>,
    j: Signal<Local, CcJob>,
    empty: Signal<Local, Bit>,
    sent: Signal<Local, Bits<5>>,
    start: Signal<Local, Bit>,
    spend: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
    odd: Signal<Local, Bits<32>>,
    even: Signal<Local, Bits<32>>,
    odd_hot: Signal<Local, Bits<10>>,
    ones: Signal<Local, Bits<16>>,
    first_beat: Signal<Local, Bits<512>>,
    second_beat: Signal<Local, Bits<512>>,
}

impl Default for CcPack {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            job: StreamIn::default(),
            released: Signal::default(),
            answer: StreamIn::default(),
            cc: StreamOut::default(),
            beats: SyncFifo::new_with_reserve(BEATS_LOG2, BEATS_RESERVE),
            tokens: DFF::default(),
            token_there: DFF::default(),
            active: DFF::default(),
            phase: DFF::default(),
            words_left: DFF::default(),
            hot: DFF::default(),
            head: DFF::default(),
            lanes: std::array::from_fn(|_| DFF::default()),
            two: DFF::default(),
            front_keep: DFF::default(),
            front_end: DFF::default(),
            tail_keep: DFF::default(),
            tail_end: DFF::default(),
            front: DFF::default(),
            tail: DFF::default(),
            keep_held: DFF::default(),
            end_held: DFF::default(),
            j: Signal::default(),
            empty: Signal::default(),
            sent: Signal::default(),
            start: Signal::default(),
            spend: Signal::default(),
            take: Signal::default(),
            done: Signal::default(),
            odd: Signal::default(),
            even: Signal::default(),
            odd_hot: Signal::default(),
            ones: Signal::default(),
            first_beat: Signal::default(),
            second_beat: Signal::default(),
        }
    }
}

impl Logic for CcPack {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            tokens,
            token_there,
            active,
            phase,
            words_left,
            hot,
            head,
            two,
            front_keep,
            front_end,
            tail_keep,
            tail_end,
            front,
            tail,
            keep_held,
            end_held
        );
        clock!(self, clock, beats);
        for i in 0..LANES {
            self.lanes[i].clock.next = self.clock.val();
            self.lanes[i].d.next = self.lanes[i].q.val();
        }

        // A completion begins.
        self.j.next = self.job.data.val();
        self.empty.next = self.j.val().words == 0;
        self.sent.next = self.j.val().dwords;
        if self.empty.val() {
            self.sent.next = LOG_DWORDS.into();
        }
        self.start.next = self.job.valid.val()
            & !self.active.q.val()
            & !(self.front.q.val() & self.two.q.val())
            & !self.beats.almost_full.val()
            & (!self.empty.val() | self.token_there.q.val());
        self.job.ready.next = !self.active.q.val()
            & !(self.front.q.val() & self.two.q.val())
            & !self.beats.almost_full.val()
            & (!self.empty.val() | self.token_there.q.val());
        self.spend.next = self.start.val() & self.empty.val();
        if self.released.val() & !self.spend.val() {
            self.tokens.d.next = self.tokens.q.val() + 1;
            self.token_there.d.next = true;
        }
        if !self.released.val() & self.spend.val() {
            self.tokens.d.next = self.tokens.q.val() - 1;
            self.token_there.d.next = self.tokens.q.val() != 1;
        }
        self.ones.next = 0xFFFF.into();
        if self.start.val() {
            self.active.d.next = !self.empty.val();
            self.phase.d.next = self.j.val().phase;
            self.words_left.d.next = self.j.val().words;
            self.hot.d.next = 1.into();
            self.two.d.next = self.sent.val() > FIRST_DWORDS;
            self.front_keep.d.next = !(self.ones.val() << (bit_cast::<6, 5>(self.sent.val()) + 3));
            self.front_end.d.next = bit_cast::<4, 5>(self.sent.val() + 2);
            if self.sent.val() > FIRST_DWORDS {
                self.front_end.d.next = 15.into();
            }
            self.tail_keep.d.next = !(self.ones.val() << (self.sent.val() - FIRST_DWORDS));
            self.tail_end.d.next = bit_cast::<4, 5>(self.sent.val() - (FIRST_DWORDS + 1));
            // PG213, completer completion descriptor: requester ID, tag, function, TC and attributes are the request's; the block
            // fills in the bus number.
            self.head.d.next = bit_cast::<HEAD_BITS, 7>(self.j.val().lower_address)
                | (bit_cast::<HEAD_BITS, 2>(self.j.val().at) << 8)
                | (bit_cast::<HEAD_BITS, 13>(self.j.val().byte_count) << 16)
                | (bit_cast::<HEAD_BITS, 1>(self.j.val().locked.into()) << 29)
                | (bit_cast::<HEAD_BITS, 5>(self.j.val().dwords) << 32)
                | (bit_cast::<HEAD_BITS, 3>(self.j.val().status) << 43)
                | (bit_cast::<HEAD_BITS, 16>(self.j.val().descriptor.get_bits::<16>(80)) << 48)
                | (bit_cast::<HEAD_BITS, 16>(self.j.val().descriptor.get_bits::<16>(96)) << 64)
                | (bit_cast::<HEAD_BITS, 6>(self.j.val().descriptor.get_bits::<6>(121)) << 89);
        }

        // Answer `k` holds doublewords `2k` and `2k + 1` of the payload, or `2k - 1` and `2k` when that begins in an upper half.
        self.take.next = self.active.q.val() & self.answer.valid.val();
        self.answer.ready.next = self.active.q.val();
        self.done.next = self.take.val() & (self.words_left.q.val() == 1);
        if self.take.val() {
            self.hot.d.next = self.hot.q.val() << 1;
            self.words_left.d.next = self.words_left.q.val() - 1;
        }
        if self.done.val() {
            self.active.d.next = false;
        }
        self.even.next = self.answer.data.val().data.get_bits::<32>(0);
        self.odd.next = self.answer.data.val().data.get_bits::<32>(32);
        self.odd_hot.next = self.hot.q.val();
        if self.phase.q.val() {
            self.even.next = self.answer.data.val().data.get_bits::<32>(32);
            self.odd.next = self.answer.data.val().data.get_bits::<32>(0);
            self.odd_hot.next = self.hot.q.val() >> 1;
        }
        for i in 0..8 {
            if self.take.val() & self.hot.q.val().get_bit(i) {
                self.lanes[2 * i].d.next = self.even.val();
            }
            if self.take.val() & self.odd_hot.val().get_bit(i) {
                self.lanes[2 * i + 1].d.next = self.odd.val();
            }
        }

        if self.spend.val() {
            self.lanes[0].d.next = bit_cast::<32, 8>(self.j.val().enables);
            for i in 0..4 {
                self.lanes[i + 1].d.next = self.j.val().descriptor.get_bits::<32>(32 * i);
            }
        }

        // It leaves: the next one can't reach the doublewords of its second beat before they are gone.
        self.front.d.next = self.done.val() | self.spend.val();
        self.tail.d.next = self.front.q.val() & self.two.q.val();
        self.keep_held.d.next = self.tail_keep.q.val();
        self.end_held.d.next = self.tail_end.q.val();
        self.first_beat.next = 0.into();
        for i in 0..FIRST_LANES {
            self.first_beat.next = (self.first_beat.val() << 32)
                | bit_cast::<512, 32>(self.lanes[FIRST_LANES - 1 - i].q.val());
        }
        self.second_beat.next = 0.into();
        for i in FIRST_LANES..LANES {
            self.second_beat.next = (self.second_beat.val() << 32)
                | bit_cast::<512, 32>(self.lanes[LANES - 1 + FIRST_LANES - i].q.val());
        }
        self.beats.input.valid.next = self.front.q.val() | self.tail.q.val();
        self.beats.input.data.next.data = (self.first_beat.val() << (HEAD_BITS as u64))
            | bit_cast::<512, HEAD_BITS>(self.head.q.val());
        self.beats.input.data.next.keep = self.front_keep.q.val();
        self.beats.input.data.next.end = self.front_end.q.val();
        self.beats.input.data.next.first = !self.tail.q.val();
        self.beats.input.data.next.last = self.tail.q.val() | !self.two.q.val();
        if self.tail.q.val() {
            self.beats.input.data.next.data = self.second_beat.val();
            self.beats.input.data.next.keep = self.keep_held.q.val();
            self.beats.input.data.next.end = self.end_held.q.val();
        }

        self.cc.valid.next = self.beats.output.valid.val();
        self.beats.output.ready.next = self.cc.ready.val();
        self.cc.data.next.data = self.beats.output.data.val().data;
        self.cc.data.next.keep = self.beats.output.data.val().keep;
        self.cc.data.next.last = self.beats.output.data.val().last;
        self.cc.data.next.is_sop = bit_cast::<2, 1>(self.beats.output.data.val().first.into());
        self.cc.data.next.is_sop0_ptr = 0.into();
        self.cc.data.next.is_sop1_ptr = 0.into();
        self.cc.data.next.is_eop = bit_cast::<2, 1>(self.beats.output.data.val().last.into());
        self.cc.data.next.is_eop0_ptr = self.beats.output.data.val().end;
        self.cc.data.next.is_eop1_ptr = 0.into();
        self.cc.data.next.discontinue = false;
        self.cc.data.next.parity = 0.into();
    }
}

ferroce_emit::register_leaf!("cc_pack", CcPack::default);

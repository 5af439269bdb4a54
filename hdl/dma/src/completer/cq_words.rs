//! From a request's beats to accesses of 64-bit words.

use super::desc::CqRequest;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::BarReq;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Places for accesses, log2. They wait here for `access`, so that its `ready` does not reach the wide registers.
const ITEMS_LOG2: usize = 4;
/// 64-bit words of payload in a TLP's first beat, behind the descriptor.
const FIRST_SLOTS: u64 = 6;
/// 64-bit words of payload in the other beats.
const SLOTS: u64 = 8;
/// Bits of the descriptor.
const HEAD_BITS: u64 = 128;

/// An access, or in its place the news that all accesses before it were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AccessItem {
    /// It is an access.
    pub access: Bit,
    /// A write.
    pub write: Bit,
    /// 64-bit word.
    pub addr: Bits<17>,
    /// Bytes to write.
    pub strobe: Bits<8>,
    /// Word to write.
    pub data: Bits<64>,
}

/// Makes an access a cycle, without a gap between requests. A beat is loaded into a register that shifts by a 64-bit word a
/// cycle; when the payload begins in the upper half of a word, each access takes its lower half from the shift before.
#[derive(LogicBlock, Module)]
pub struct CqWords {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Requests.
    pub request: StreamIn<CqRequest>,
    /// Their beats.
    pub beat: StreamIn<Bits<512>>,
    /// Accesses.
    pub access: StreamOut<BarReq>,
    /// A request without accesses that has a completion is here, and all accesses before it were taken.
    pub released: Signal<Out, Bit>,
    items: SyncFifo<AccessItem>,
    busy: DFF<Bit>,
    active: DFF<CqRequest>,
    shift: DFF<Bits<512>>,
    /// Upper half of the word that was shifted out last.
    carry: DFF<Bits<32>>,
    /// Words in `shift`.
    slots: DFF<Bits<4>>,
    slots_end: DFF<Bit>,
    beats_left: DFF<Bits<5>>,
    more_beats: DFF<Bit>,
    words_left: DFF<Bits<8>>,
    is_first: DFF<Bit>,
    is_last: DFF<Bit>,
    n: Signal<Local, CqRequest>,
    wants_beat: Signal<Local, Bit>,
    finish: Signal<Local, Bit>,
    step: Signal<Local, Bit>,
    refill: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
}

impl Default for CqWords {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            request: StreamIn::default(),
            beat: StreamIn::default(),
            access: StreamOut::default(),
            released: Signal::default(),
            items: SyncFifo::quick(ITEMS_LOG2),
            busy: DFF::default(),
            active: DFF::default(),
            shift: DFF::default(),
            carry: DFF::default(),
            slots: DFF::default(),
            slots_end: DFF::default(),
            beats_left: DFF::default(),
            more_beats: DFF::default(),
            words_left: DFF::default(),
            is_first: DFF::default(),
            is_last: DFF::default(),
            n: Signal::default(),
            wants_beat: Signal::default(),
            finish: Signal::default(),
            step: Signal::default(),
            refill: Signal::default(),
            free: Signal::default(),
            load: Signal::default(),
        }
    }
}

impl Logic for CqWords {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, busy, active, shift, carry, slots, slots_end, beats_left, more_beats,
            words_left, is_first, is_last
        );
        clock!(self, clock, items);
        self.n.next = self.request.data.val();

        // A step makes an access, or drops a beat of a request that makes none.
        self.wants_beat.next =
            self.more_beats.q.val() & (!self.active.q.val().access | self.slots_end.q.val());
        self.finish.next = (self.active.q.val().access & self.is_last.q.val())
            | (!self.active.q.val().access & !self.more_beats.q.val());
        self.step.next = self.busy.q.val()
            & self.items.input.ready.val()
            & (!self.wants_beat.val() | self.beat.valid.val());
        self.refill.next = self.step.val() & self.wants_beat.val();
        self.free.next = !self.busy.q.val() | (self.step.val() & self.finish.val());
        self.load.next = self.free.val() & self.request.valid.val() & self.beat.valid.val();
        self.request.ready.next = self.free.val() & self.beat.valid.val();
        self.beat.ready.next = self.load.val() | self.refill.val();

        if self.step.val() {
            self.carry.d.next = self.shift.q.val().get_bits::<32>(32);
            self.shift.d.next = self.shift.q.val() >> 64;
            self.slots.d.next = self.slots.q.val() - 1;
            self.slots_end.d.next = self.slots.q.val() == 2;
            self.active.d.next.addr = self.active.q.val().addr + 1;
            self.words_left.d.next = self.words_left.q.val() - 1;
            self.is_first.d.next = false;
            self.is_last.d.next = self.words_left.q.val() == 2;
            if self.finish.val() {
                self.busy.d.next = false;
            }
        }
        if self.refill.val() {
            self.shift.d.next = self.beat.data.val();
            self.slots.d.next = SLOTS.into();
            self.slots_end.d.next = false;
            self.beats_left.d.next = self.beats_left.q.val() - 1;
            self.more_beats.d.next = self.beats_left.q.val() != 1;
        }
        if self.load.val() {
            self.busy.d.next = true;
            self.active.d.next = self.n.val();
            self.shift.d.next = self.beat.data.val() >> HEAD_BITS;
            self.slots.d.next = FIRST_SLOTS.into();
            self.slots_end.d.next = false;
            self.beats_left.d.next = self.n.val().beats - 1;
            self.more_beats.d.next = self.n.val().beats != 1;
            self.words_left.d.next = self.n.val().words;
            self.is_first.d.next = true;
            self.is_last.d.next = self.n.val().words == 1;
        }

        self.items.input.valid.next = self.step.val()
            & (self.active.q.val().access | (self.finish.val() & self.active.q.val().answer));
        self.items.input.data.next.access = self.active.q.val().access;
        self.items.input.data.next.write = self.active.q.val().write;
        self.items.input.data.next.addr = self.active.q.val().addr;
        self.items.input.data.next.strobe = 0xFF.into();
        if self.is_first.q.val() {
            self.items.input.data.next.strobe = self.active.q.val().first_strobe;
        } else if self.is_last.q.val() {
            self.items.input.data.next.strobe = self.active.q.val().last_strobe;
        }
        self.items.input.data.next.data = self.shift.q.val().get_bits::<64>(0);
        if self.active.q.val().phase {
            self.items.input.data.next.data = bit_cast::<64, 32>(self.carry.q.val())
                | (bit_cast::<64, 32>(self.shift.q.val().get_bits::<32>(0)) << 32);
        }

        self.access.valid.next =
            self.items.output.valid.val() & self.items.output.data.val().access;
        self.access.data.next.addr = bit_cast::<20, 17>(self.items.output.data.val().addr) << 3;
        self.access.data.next.write = self.items.output.data.val().write;
        self.access.data.next.data = self.items.output.data.val().data;
        self.access.data.next.strobe = self.items.output.data.val().strobe;
        self.items.output.ready.next =
            self.access.ready.val() | !self.items.output.data.val().access;
        self.released.next = self.items.output.valid.val() & !self.items.output.data.val().access;
    }
}

ferroce_emit::register_leaf!("cq_words", CqWords::default);

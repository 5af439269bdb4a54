//! Whole requests: a TLP is seen behind this block only when all of it came and is sound.

use super::desc::CqHead;
use crate::axis::CqBeat;
use ferroce_emit::prelude::*;
use ferroce_rtl::fifo_ram::FifoRam;
use ferroce_rtl::flow_gate::FlowGate;
use ferroce_rtl::ram_style::RamStyle;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Beats of the longest TLP: descriptor and 1024 bytes, the largest max payload of the block.
pub const MAX_BEATS: u64 = 17;
/// Places for beats, log2: the longest TLP, and the sound ones that the next stage has not taken.
pub const STORE_LOG2: usize = 5;
/// Beats of sound TLPs from which on no beat is taken. With one less and the longest TLP unfinished, [`STALL_LAG`] beats
/// more fit before the places (one stays free) run out.
const HOLD_FROM: u64 = 10;
/// Beats that are still taken after the one that fills up to [`HOLD_FROM`].
const STALL_LAG: u64 = 3;
const _: () = assert!(HOLD_FROM - 1 + MAX_BEATS + STALL_LAG < 1 << STORE_LOG2);

/// Writes beats to a RAM and hands a TLP over when its last beat is there. A TLP that the block gave up (`discontinue`), that
/// is too long, or that another one interrupts is taken back by its write pointer: nothing behind ever sees it. Beats
/// without a start are dropped up to the next start.
#[derive(LogicBlock, Module)]
pub struct CqStore {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Requests of the PCIe block.
    pub cq: StreamIn<CqBeat>,
    /// Take no beat; from a register.
    pub hold: Signal<In, Bit>,
    /// Descriptor of the TLP that is handed over.
    pub head: Signal<Out, CqHead>,
    /// A TLP is handed over in this cycle.
    pub commit: Signal<Out, Bit>,
    /// Its beats.
    pub beats: Signal<Out, Bits<5>>,
    /// Beats of TLPs that were handed over, available as soon as `commit`.
    pub beat: StreamOut<Bits<512>>,
    /// One TLP, or two that met in a beat, was damaged and is dropped.
    pub damaged: Signal<Out, Bit>,
    gate: FlowGate<CqBeat>,
    ram: FifoRam<Bits<512>>,
    /// Place of the next TLP's first beat.
    start: DFF<Bits<STORE_LOG2>>,
    /// Place of the next beat of a TLP.
    place: DFF<Bits<STORE_LOG2>>,
    count: DFF<Bits<5>>,
    /// A TLP is not at its end.
    inside: DFF<Bit>,
    /// The rest of a dropped TLP is coming.
    skip: DFF<Bit>,
    busy: DFF<Bit>,
    held_head: DFF<CqHead>,
    commit_now: DFF<Bit>,
    damaged_now: DFF<Bit>,
    rd_ptr: DFF<Bits<STORE_LOG2>>,
    out_valid: DFF<Bit>,
    valid: Signal<Local, Bit>,
    sop: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
    full: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    sound: Signal<Local, Bit>,
    here: Signal<Local, Bits<STORE_LOG2>>,
    number: Signal<Local, Bits<5>>,
    load: Signal<Local, Bit>,
    waiting: Signal<Local, Bit>,
    used: Signal<Local, Bits<STORE_LOG2>>,
}

impl Default for CqStore {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            cq: StreamIn::default(),
            hold: Signal::default(),
            head: Signal::default(),
            commit: Signal::default(),
            beats: Signal::default(),
            beat: StreamOut::default(),
            damaged: Signal::default(),
            gate: FlowGate::default(),
            ram: FifoRam::new(STORE_LOG2, RamStyle::Distributed),
            start: DFF::default(),
            place: DFF::default(),
            count: DFF::default(),
            inside: DFF::default(),
            skip: DFF::default(),
            busy: DFF::default(),
            held_head: DFF::default(),
            commit_now: DFF::default(),
            damaged_now: DFF::default(),
            rd_ptr: DFF::default(),
            out_valid: DFF::default(),
            valid: Signal::default(),
            sop: Signal::default(),
            last: Signal::default(),
            full: Signal::default(),
            take: Signal::default(),
            sound: Signal::default(),
            here: Signal::default(),
            number: Signal::default(),
            load: Signal::default(),
            waiting: Signal::default(),
            used: Signal::default(),
        }
    }
}

impl Logic for CqStore {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            start,
            place,
            count,
            inside,
            skip,
            busy,
            held_head,
            commit_now,
            damaged_now,
            rd_ptr,
            out_valid
        );
        clock!(self, clock, gate);
        self.ram.wr_clock.next = self.clock.val();
        self.ram.rd_clock.next = self.clock.val();
        StreamIn::<CqBeat>::link(&mut self.cq, &mut self.gate.input);
        self.gate.hold.next = self.hold.val() | self.busy.q.val();

        // Where a TLP begins and ends.
        self.valid.next = self.gate.valid.val();
        self.sop.next = self.valid.val() & self.gate.data.val().is_sop.get_bit(0);
        self.last.next = self.gate.data.val().last;
        self.full.next = self.count.q.val() == MAX_BEATS;
        self.take.next =
            self.sop.val() | (self.valid.val() & self.inside.q.val() & !self.full.val());
        self.sound.next = self.take.val() & self.last.val() & !self.gate.data.val().discontinue;
        if self.valid.val() {
            self.inside.d.next = self.take.val() & !self.last.val();
            self.skip.d.next = !self.take.val() & !self.last.val();
        }
        self.damaged_now.d.next = (self.sop.val() & self.inside.q.val())
            | (self.valid.val() & !self.take.val() & !self.skip.q.val())
            | (self.take.val() & self.last.val() & self.gate.data.val().discontinue);

        // Write side: a start takes the place of what was left unfinished.
        self.here.next = self.place.q.val();
        self.number.next = self.count.q.val() + 1;
        if self.sop.val() {
            self.here.next = self.start.q.val();
            self.number.next = 1.into();
        }
        self.ram.wr_valid.next = self.take.val();
        self.ram.wr_addr.next = bit_cast::<20, STORE_LOG2>(self.here.val());
        self.ram.wr_data.next = self.gate.data.val().data;
        self.ram.pass.next = false;
        if self.take.val() {
            self.place.d.next = self.here.val() + 1;
            self.count.d.next = self.number.val();
        }
        if self.sound.val() {
            self.start.d.next = self.here.val() + 1;
        }
        self.commit_now.d.next = self.sound.val();
        self.commit.next = self.commit_now.q.val();
        self.beats.next = self.count.q.val();
        self.damaged.next = self.damaged_now.q.val();

        if self.sop.val() {
            self.held_head.d.next.descriptor = self.gate.data.val().data.get_bits::<128>(0);
            self.held_head.d.next.first_be = self.gate.data.val().first_be.get_bits::<4>(0);
            self.held_head.d.next.last_be = self.gate.data.val().last_be.get_bits::<4>(0);
        }
        self.head.next = self.held_head.q.val();

        // Read side: the RAM's read register is the output.
        self.load.next = self.beat.ready.val() | !self.out_valid.q.val();
        self.waiting.next = self.rd_ptr.q.val() != self.start.q.val();
        self.ram.rd_en.next = self.load.val();
        self.ram.out_en.next = self.load.val();
        self.ram.rd_addr.next = bit_cast::<20, STORE_LOG2>(self.rd_ptr.q.val());
        if self.load.val() {
            self.out_valid.d.next = self.waiting.val();
            if self.waiting.val() {
                self.rd_ptr.d.next = self.rd_ptr.q.val() + 1;
            }
        }
        self.beat.data.next = self.ram.rd_data.val();
        self.beat.valid.next = self.out_valid.q.val();
        self.used.next = self.start.q.val() - self.rd_ptr.q.val();
        self.busy.d.next = self.used.val() >= HOLD_FROM;
    }
}

ferroce_emit::register_leaf!("cq_store", CqStore::default);

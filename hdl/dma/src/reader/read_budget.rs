//! Room for completions in the PCIe block.

use super::slot::{ReadPiece, SlotEnd, SlotOpen, SLOTS_LOG2};
use ferroce_emit::prelude::*;
use ferroce_rtl::arb4::Arb4;
use ferroce_rtl::lutram::Lutram;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Completions that the UltraScale+ block can hold. A completion never crosses a multiple of 64 bytes without ending at one, so with its
/// header it takes at most 80 bytes for each multiple: 256 of them are 20 KiB of the block's 32 KiB, and headers run out first.
pub const COMPLETION_HEADERS: usize = 256;
/// Lines of the largest piece.
const MOST_LINES: usize = 8;
/// Pieces that hold a reservation and wait for a slot (log2): a ring takes one in two cycles, the reservation one a cycle.
const QUEUE_LOG2: usize = 3;
/// Pieces between the entry and the queue: two in the arbiter, one that is next, one that waits for room, one in the queue's register.
const UNDER_WAY: usize = 5;

/// Reserve before issue: a piece goes on only when the block has room for its completions in the shortest pieces that the read completion
/// boundary of 64 bytes permits, one a line. The room is given back when the slot's completions are over: a read that has timed out keeps
/// it, since its completions may still come and fill the buffer. Classes take turns, piece by piece; one that waits for slots holds up no other.
///
/// When no piece has got room and none was given back for the whole time-out, dead reads have what is reserved. Then pieces that don't fit
/// fail at once, so that no client waits for ever.
#[derive(LogicBlock, Module)]
pub struct ReadBudget {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Pieces of payload reads.
    pub payload: StreamIn<ReadPiece>,
    /// Pieces of SQ WQE reads.
    pub sq: StreamIn<ReadPiece>,
    /// Pieces of RQ WQE reads.
    pub rq: StreamIn<ReadPiece>,
    /// The same with `reserved`.
    pub to_payload: StreamOut<ReadPiece>,
    /// The same with `reserved`.
    pub to_sq: StreamOut<ReadPiece>,
    /// The same with `reserved`.
    pub to_rq: StreamOut<ReadPiece>,
    /// Slots that wait from now on.
    pub opened: Signal<In, SlotOpen>,
    /// Their lines.
    pub opened_lines: Signal<In, Bits<4>>,
    /// Completions that are over.
    pub end: Signal<In, SlotEnd>,
    /// Lines of a piece, 0 to 8, that has a reservation and is not read.
    pub returned: Signal<In, Bits<4>>,
    /// Time, in sixteenths of the time-out.
    pub now: Signal<In, Bits<5>>,
    most: Constant<Bits<12>>,
    /// Lines of each slot.
    lines: Lutram<Bits<4>>,
    pieces: Arb4<ReadPiece>,
    queues: [SyncFifo<ReadPiece>; 3],
    next: DFF<ReadPiece>,
    next_valid: DFF<Bit>,
    next_lines: DFF<Bits<4>>,
    head: DFF<ReadPiece>,
    head_valid: DFF<Bit>,
    /// Less the head's lines.
    head_back: DFF<Bits<12>>,
    /// The head fails.
    refused: DFF<Bit>,
    /// Lines reserved, the head's included.
    need: DFF<Bits<12>>,
    /// Lines given back in the cycle before.
    given: DFF<Bits<5>>,
    /// Less the lines given back that `need` still has.
    back: DFF<Bits<12>>,
    /// Time of the newest change of what is reserved.
    changed: DFF<Bits<5>>,
    /// No reservation is younger than the time-out.
    stale: DFF<Bit>,
    fits: Signal<Local, Bit>,
    waits: Signal<Local, Bit>,
    step: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    refuse: Signal<Local, Bit>,
    change: Signal<Local, Bits<12>>,
    ended_lines: Signal<Local, Bits<5>>,
    age: Signal<Local, Bits<5>>,
    leaving: Signal<Local, ReadPiece>,
    leaves: Signal<Local, Bit>,
    upper: Signal<Local, Bit>,
    rq_half: Signal<Local, Bit>,
    room: Signal<Local, Bits<3>>,
}

impl ReadBudget {
    /// For a block that can hold `headers` completions of 64 bytes.
    ///
    /// # Panics
    /// If they are fewer than a piece may need, 8, or more than all slots have, 2048.
    #[must_use]
    pub fn new(headers: usize) -> Self {
        assert!(
            (MOST_LINES..=MOST_LINES << SLOTS_LOG2).contains(&headers),
            "room for {headers} completions"
        );
        Self {
            clock: Signal::default(),
            payload: StreamIn::default(),
            sq: StreamIn::default(),
            rq: StreamIn::default(),
            to_payload: StreamOut::default(),
            to_sq: StreamOut::default(),
            to_rq: StreamOut::default(),
            opened: Signal::default(),
            opened_lines: Signal::default(),
            end: Signal::default(),
            returned: Signal::default(),
            now: Signal::default(),
            most: Constant::new((headers as u64).into()),
            lines: Lutram::new(SLOTS_LOG2),
            pieces: Arb4::default(),
            queues: std::array::from_fn(|_| SyncFifo::new_with_reserve(QUEUE_LOG2, UNDER_WAY + 1)),
            next: DFF::default(),
            next_valid: DFF::default(),
            next_lines: DFF::default(),
            head: DFF::default(),
            head_valid: DFF::default(),
            head_back: DFF::default(),
            refused: DFF::default(),
            need: DFF::default(),
            given: DFF::default(),
            back: DFF::default(),
            changed: DFF::default(),
            stale: DFF::default(),
            fits: Signal::default(),
            waits: Signal::default(),
            step: Signal::default(),
            take: Signal::default(),
            refuse: Signal::default(),
            change: Signal::default(),
            ended_lines: Signal::default(),
            age: Signal::default(),
            leaving: Signal::default(),
            leaves: Signal::default(),
            upper: Signal::default(),
            rq_half: Signal::default(),
            room: Signal::default(),
        }
    }
}

impl Default for ReadBudget {
    fn default() -> Self {
        Self::new(COMPLETION_HEADERS)
    }
}

impl Logic for ReadBudget {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, next, next_valid, next_lines, head, head_valid, head_back, refused, need,
            given, back, changed, stale
        );
        clock!(self, clock, lines, pieces);

        // A class enters only while its queue has a place for all that is under way, so that nothing stops behind it.
        self.room.next = bit_cast::<3, 1>((!self.queues[0].almost_full.val()).into())
            | (bit_cast::<3, 1>((!self.queues[1].almost_full.val()).into()) << 1)
            | (bit_cast::<3, 1>((!self.queues[2].almost_full.val()).into()) << 2);
        self.pieces.in0.data.next = self.payload.data.val();
        self.pieces.in0.valid.next = self.payload.valid.val() & self.room.val().get_bit(0);
        self.payload.ready.next = self.pieces.in0.ready.val() & self.room.val().get_bit(0);
        self.pieces.in1.data.next = self.sq.data.val();
        self.pieces.in1.valid.next = self.sq.valid.val() & self.room.val().get_bit(1);
        self.sq.ready.next = self.pieces.in1.ready.val() & self.room.val().get_bit(1);
        self.pieces.in2.data.next = self.rq.data.val();
        self.pieces.in2.valid.next = self.rq.valid.val() & self.room.val().get_bit(2);
        self.rq.ready.next = self.pieces.in2.ready.val() & self.room.val().get_bit(2);
        // There is no fourth class.
        self.pieces.in3.data.next = self.rq.data.val();
        self.pieces.in3.valid.next = false;

        self.fits.next = self.need.q.val() <= self.most.val();
        self.waits.next = self.head_valid.q.val() & !self.fits.val();
        self.step.next = !self.waits.val();
        self.take.next = self.step.val() & self.next_valid.q.val();
        self.refuse.next = self.waits.val() & self.stale.q.val();
        self.pieces.output.ready.next = self.step.val();
        if self.step.val() {
            self.next.d.next = self.pieces.output.data.val();
            self.next_valid.d.next = self.pieces.output.valid.val();
            self.next_lines.d.next = bit_cast::<4, 3>(self.pieces.output.data.val().more_lines) + 1;
            self.head.d.next = self.next.q.val();
            self.head_valid.d.next = self.next_valid.q.val();
            self.head_back.d.next = bits::<12>(0) - bit_cast::<12, 4>(self.next_lines.q.val());
            self.refused.d.next = false;
        }
        if self.refuse.val() {
            self.refused.d.next = true;
        }

        // One addition a cycle: what is given back waits while pieces come.
        self.change.next = self.back.q.val();
        if self.take.val() {
            self.change.next = bit_cast::<12, 4>(self.next_lines.q.val());
        }
        if self.refuse.val() {
            self.change.next = self.head_back.q.val();
        }
        self.need.d.next = self.need.q.val() + self.change.val();
        self.back.d.next = bits::<12>(0) - bit_cast::<12, 5>(self.given.q.val());
        if self.take.val() | self.refuse.val() {
            self.back.d.next = self.back.q.val() - bit_cast::<12, 5>(self.given.q.val());
        }

        self.lines.wr_valid.next = self.opened.val().valid;
        self.lines.wr_addr.next = bit_cast::<20, 8>(self.opened.val().slot);
        self.lines.wr_data.next = self.opened_lines.val();
        self.lines.rd_addr.next = bit_cast::<20, 8>(self.end.val().slot);
        self.ended_lines.next = 0.into();
        if self.end.val().valid {
            self.ended_lines.next = bit_cast::<5, 4>(self.lines.rd_data.val());
        }
        self.given.d.next = self.ended_lines.val() + bit_cast::<5, 4>(self.returned.val());

        self.leaves.next = self.head_valid.q.val() & self.fits.val();
        self.age.next = self.now.val() - self.changed.q.val();
        if self.age.val().get_bit(4) {
            self.stale.d.next = true;
        }
        if (self.leaves.val() & !self.refused.q.val()) | self.given.q.val().any() {
            self.changed.d.next = self.now.val();
            self.stale.d.next = false;
        }

        self.leaving.next = self.head.q.val();
        self.leaving.next.reserved = !self.refused.q.val();
        self.upper.next = self.head.q.val().tag.get_bit(7);
        self.rq_half.next = self.head.q.val().tag.get_bit(6);
        for i in 0..3 {
            self.queues[i].clock.next = self.clock.val();
            self.queues[i].input.data.next = self.leaving.val();
        }
        self.queues[0].input.valid.next = self.leaves.val() & !self.upper.val();
        self.queues[1].input.valid.next =
            self.leaves.val() & self.upper.val() & !self.rq_half.val();
        self.queues[2].input.valid.next = self.leaves.val() & self.upper.val() & self.rq_half.val();
        StreamOut::<ReadPiece>::link(&mut self.to_payload, &mut self.queues[0].output);
        StreamOut::<ReadPiece>::link(&mut self.to_sq, &mut self.queues[1].output);
        StreamOut::<ReadPiece>::link(&mut self.to_rq, &mut self.queues[2].output);
    }
}

ferroce_emit::register_leaf!("read_budget", || ReadBudget::new(16));

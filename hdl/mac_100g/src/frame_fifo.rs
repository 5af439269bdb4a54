//! Store-and-forward FIFO of whole frames.

use ferroce_emit::prelude::*;
use ferroce_rtl::fifo_ram::FifoRam;
use ferroce_rtl::ram_style::RamStyle;
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};

/// What happens to a frame that finds no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It waits: `input.ready` goes low.
    Wait,
    /// It is dropped as a whole: `input.ready` is always high.
    Drop,
}

/// FIFO on one clock that shows a frame at its output only when it is complete, and then without
/// bubbles: one beat a cycle while `output.ready` is high. Frames marked `err` and frames longer than
/// a limit are dropped as a whole, so a frame that never ends can't block it.
///
/// A frame appears at the output 4 cycles after its last beat came in.
#[derive(LogicBlock, Module)]
pub struct FrameFifo {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Frames in.
    pub input: StreamIn<Beat>,
    /// Undamaged frames out.
    pub output: StreamOut<Beat>,
    /// Pulse: a frame was dropped for lack of room ([`WhenFull::Drop`] only).
    pub overflow: Signal<Out, Bit>,
    /// Pulse: a frame was dropped because it was marked or too long.
    pub discarded: Signal<Out, Bit>,
    drop_when_full: Constant<Bit>,
    ptr_mask: Constant<Bits<16>>,
    full_above: Constant<Bits<16>>,
    last_allowed: Constant<Bits<8>>,
    ram: FifoRam<Beat>,
    /// Place of the next beat. Pointers have one bit more than an address.
    wr_ptr: DFF<Bits<16>>,
    /// Place after the last complete frame.
    commit_ptr: DFF<Bits<16>>,
    rd_ptr: DFF<Bits<16>>,
    /// `rd_ptr + 1`, with bit 0 inverted because it starts at 1.
    rd_ahead: DFF<Bits<16>>,
    wr_next: Signal<Local, Bits<16>>,
    rd_next: Signal<Local, Bits<16>>,
    fill: DFF<Bits<16>>,
    full: DFF<Bit>,
    /// Beats of the present frame that are stored.
    beats: DFF<Bits<8>>,
    /// The present frame has as many beats as allowed.
    at_limit: DFF<Bit>,
    /// The rest of the present frame is thrown away.
    discarding: DFF<Bit>,
    arrives: Signal<Local, Bit>,
    no_room: Signal<Local, Bit>,
    abandon: Signal<Local, Bit>,
    overflow_pulse: DFF<Bit>,
    discarded_pulse: DFF<Bit>,
    waiting: DFF<Bit>,
    mid_valid: DFF<Bit>,
    out_valid: DFF<Bit>,
    load_out: Signal<Local, Bit>,
    load_first: Signal<Local, Bit>,
}

impl FrameFifo {
    /// Beats that `fill` doesn't count yet when `full` is computed from it and seen.
    const UNCOUNTED: usize = 2;

    /// `2^log2_depth` beats of block RAM for frames of at most `max_beats` beats.
    ///
    /// # Panics
    /// If `log2_depth` is above 15, or a frame of `max_beats` does not fit with the two beats that the full
    /// flag is late, or `max_beats` is 0 or above 255.
    #[must_use]
    pub fn new(log2_depth: usize, max_beats: usize, when_full: WhenFull) -> Self {
        let depth = 1usize << log2_depth;
        assert!(log2_depth <= 15, "2^{log2_depth} beats are too many");
        assert!(
            (1..=255).contains(&max_beats) && max_beats + Self::UNCOUNTED < depth,
            "frames of {max_beats} beats in a FIFO of {depth}"
        );
        Self {
            clock: Signal::default(),
            input: StreamIn::default(),
            output: StreamOut::default(),
            overflow: Signal::default(),
            discarded: Signal::default(),
            drop_when_full: Constant::new(when_full == WhenFull::Drop),
            ptr_mask: Constant::new((2 * depth as u64 - 1).into()),
            full_above: Constant::new(((depth - Self::UNCOUNTED - 1) as u64).into()),
            last_allowed: Constant::new((max_beats as u64 - 1).into()),
            ram: FifoRam::new(log2_depth, RamStyle::Block),
            wr_ptr: DFF::default(),
            commit_ptr: DFF::default(),
            rd_ptr: DFF::default(),
            rd_ahead: DFF::default(),
            wr_next: Signal::default(),
            rd_next: Signal::default(),
            fill: DFF::default(),
            full: DFF::default(),
            beats: DFF::default(),
            at_limit: DFF::default(),
            discarding: DFF::default(),
            arrives: Signal::default(),
            no_room: Signal::default(),
            abandon: Signal::default(),
            overflow_pulse: DFF::default(),
            discarded_pulse: DFF::default(),
            waiting: DFF::default(),
            mid_valid: DFF::default(),
            out_valid: DFF::default(),
            load_out: Signal::default(),
            load_first: Signal::default(),
        }
    }
}

impl Logic for FrameFifo {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, wr_ptr, commit_ptr, fill, full, beats, at_limit);
        dff_setup!(self, clock, discarding, overflow_pulse, discarded_pulse);
        dff_setup!(self, clock, rd_ptr, rd_ahead, waiting, mid_valid, out_valid);
        self.ram.wr_clock.next = self.clock.val();
        self.ram.rd_clock.next = self.clock.val();

        // Write side.
        self.input.ready.next =
            self.drop_when_full.val() | !self.full.q.val() | self.discarding.q.val();
        self.arrives.next = self.input.valid.val()
            & (self.drop_when_full.val() | !self.full.q.val())
            & !self.discarding.q.val();
        self.no_room.next = self.drop_when_full.val() & self.full.q.val();
        self.abandon.next = self.no_room.val()
            | self.at_limit.q.val()
            | (self.input.data.val().last & self.input.data.val().err);
        self.ram.wr_valid.next = self.arrives.val() & !self.no_room.val();
        self.ram.wr_addr.next = bit_cast::<20, 16>(self.wr_ptr.q.val());
        self.ram.wr_data.next = self.input.data.val();
        self.ram.pass.next = false;
        self.wr_next.next = (self.wr_ptr.q.val() + 1) & self.ptr_mask.val();
        self.overflow_pulse.d.next = self.arrives.val() & self.no_room.val();
        self.discarded_pulse.d.next = self.arrives.val() & self.abandon.val() & !self.no_room.val();
        if self.arrives.val() {
            if self.abandon.val() {
                self.wr_ptr.d.next = self.commit_ptr.q.val();
            } else {
                self.wr_ptr.d.next = self.wr_next.val();
            }
            if self.input.data.val().last & !self.abandon.val() {
                self.commit_ptr.d.next = self.wr_next.val();
            }
            self.discarding.d.next = self.abandon.val() & !self.input.data.val().last;
            self.at_limit.d.next =
                (self.beats.q.val() == self.last_allowed.val()) & !self.input.data.val().last;
            self.beats.d.next = self.beats.q.val() + 1;
            if self.input.data.val().last | self.abandon.val() {
                self.beats.d.next = 0.into();
                self.at_limit.d.next = false;
            }
        }
        if self.input.valid.val() & self.discarding.q.val() & self.input.data.val().last {
            self.discarding.d.next = false;
        }
        self.fill.d.next = (self.wr_ptr.q.val() - self.rd_ptr.q.val()) & self.ptr_mask.val();
        self.full.d.next = self.fill.q.val() > self.full_above.val();
        self.overflow.next = self.overflow_pulse.q.val();
        self.discarded.next = self.discarded_pulse.q.val();

        // Read side: the RAM's read stages are the output pipeline.
        self.output.valid.next = self.out_valid.q.val();
        self.output.data.next = self.ram.rd_data.val();
        self.load_out.next = self.output.ready.val() | !self.out_valid.q.val();
        self.load_first.next = self.load_out.val() | !self.mid_valid.q.val();
        if self.load_first.val() {
            self.mid_valid.d.next = self.waiting.q.val();
        }
        if self.load_out.val() {
            self.out_valid.d.next = self.mid_valid.q.val();
        }
        self.ram.rd_en.next = self.load_first.val();
        self.ram.out_en.next = self.load_out.val();
        self.ram.rd_addr.next = bit_cast::<20, 16>(self.rd_ptr.q.val());
        self.rd_next.next = self.rd_ahead.q.val() ^ 1;
        self.waiting.d.next = self.rd_ptr.q.val() != self.commit_ptr.q.val();
        if self.load_first.val() & self.waiting.q.val() {
            self.rd_ptr.d.next = self.rd_next.val();
            self.rd_ahead.d.next = ((self.rd_next.val() + 1) & self.ptr_mask.val()) ^ 1;
            self.waiting.d.next = self.rd_next.val() != self.commit_ptr.q.val();
        }
    }
}

ferroce_emit::register_leaf!("frame_fifo_waiting", || FrameFifo::new(
    3,
    5,
    WhenFull::Wait
));
ferroce_emit::register_leaf!("frame_fifo_dropping", || FrameFifo::new(
    3,
    5,
    WhenFull::Drop
));

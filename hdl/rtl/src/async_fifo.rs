//! FIFO between two clocks.

use crate::fifo_ram::FifoRam;
use crate::memory::ADDR_BITS;
use crate::ram_style::RamStyle;
use crate::stream::{StreamIn, StreamOut};
use crate::sync2::Sync2;
use ferroce_emit::prelude::*;

/// First-word-fall-through FIFO with Gray-coded pointers, one item a cycle in both domains (if deep enough: each
/// pointer takes up to 6 cycles of either clock to be seen on the other side, so 32 places and more).
/// `input.ready`, `output.valid` and `output.data` come from registers.
///
/// It has `2^log2_depth` places; the write side sees old pointers and stops up to
/// [`AsyncFifo::UNUSED_PLACES`] before the last one.
#[derive(LogicBlock, Module)]
pub struct AsyncFifo<T: Synth> {
    /// Clock of `input`, `wr_used` and `wr_almost_full`.
    pub wr_clock: Signal<In, Clock>,
    /// Clock of `output`.
    pub rd_clock: Signal<In, Clock>,
    /// Items in.
    pub input: StreamIn<T>,
    /// The same items out.
    pub output: StreamOut<T>,
    /// Items inside as of one cycle ago, counting those already read but not yet known to be.
    pub wr_used: Signal<Out, Bits<16>>,
    /// When low, `input.ready` is and stays high for at least `reserve` more items. When the FIFO has drained, it goes low.
    pub wr_almost_full: Signal<Out, Bit>,
    two_stages: Constant<Bit>,
    ptr_mask: Constant<Bits<16>>,
    /// Highest `wr_used` with which `ready` is high.
    ready_up_to: Constant<Bits<16>>,
    /// Highest `wr_used` without `wr_almost_full`.
    busy_above: Constant<Bits<16>>,
    ram: FifoRam<T>,
    // Write side. Pointers have one bit more than an address.
    wr_ptr: DFF<Bits<16>>,
    wr_gray: DFF<Bits<16>>,
    sync_to_wr: Sync2<Bits<16>>,
    wr_side_rd_ptr: DFF<Bits<16>>,
    fill: DFF<Bits<16>>,
    full: DFF<Bit>,
    busy: DFF<Bit>,
    push: Signal<Local, Bit>,
    wr_decode1: Signal<Local, Bits<16>>,
    wr_decode2: Signal<Local, Bits<16>>,
    wr_decode4: Signal<Local, Bits<16>>,
    // Read side.
    rd_ptr: DFF<Bits<16>>,
    /// `rd_ptr + 1`, with bit 0 inverted because it starts at 1.
    rd_ahead: DFF<Bits<16>>,
    rd_next: Signal<Local, Bits<16>>,
    rd_gray: DFF<Bits<16>>,
    sync_to_rd: Sync2<Bits<16>>,
    rd_side_wr_ptr: DFF<Bits<16>>,
    waiting: DFF<Bit>,
    /// Both stages of the output hold an item: one look at `ready` decides.
    both_valid: DFF<Bit>,
    mid_valid: DFF<Bit>,
    out_valid: DFF<Bit>,
    load_out: Signal<Local, Bit>,
    load_first: Signal<Local, Bit>,
    rd_decode1: Signal<Local, Bits<16>>,
    rd_decode2: Signal<Local, Bits<16>>,
    rd_decode4: Signal<Local, Bits<16>>,
}

impl<T: Synth> AsyncFifo<T> {
    /// Deepest one (log2): pointers have 16 bits.
    pub const MAX_LOG2_DEPTH: usize = 14;
    /// Places that the write side may leave empty, because `ready` is a register behind a registered difference.
    pub const UNUSED_PLACES: usize = 2;
    /// Pushes that `fill` does not count yet in the cycle in which the registers computed from it are seen.
    const UNCOUNTED: usize = 2;

    /// `2^log2_depth` places; `wr_almost_full` keeps a reserve of 1.
    ///
    /// # Panics
    /// If `log2_depth` is not 3 to 14.
    #[must_use]
    pub fn new(log2_depth: usize) -> Self {
        Self::new_with_reserve(log2_depth, 1)
    }

    /// `2^log2_depth` places; with `wr_almost_full` low at least `reserve` items are taken without a stall.
    ///
    /// # Panics
    /// If `log2_depth` is not 3 to 14, or `reserve` is 0 or above `2^log2_depth - 5`.
    #[must_use]
    pub fn new_with_reserve(log2_depth: usize, reserve: usize) -> Self {
        assert!(
            (3..=Self::MAX_LOG2_DEPTH).contains(&log2_depth),
            "an asynchronous FIFO has 2^3 to 2^14 places, not 2^{log2_depth}"
        );
        let depth = 1usize << log2_depth;
        // With `ready` high a push may follow the uncounted ones and must fit.
        let ready_up_to = depth - Self::UNCOUNTED - 1;
        assert!(
            (1..=ready_up_to - Self::UNCOUNTED).contains(&reserve),
            "a reserve of {reserve} places in a FIFO of {depth}"
        );
        // The last item of the reserve is pushed with `fill` at most this plus the uncounted and the others.
        let busy_above = ready_up_to + 1 - Self::UNCOUNTED - reserve;
        let style = if log2_depth <= RamStyle::DISTRIBUTED_LOG2_DEPTH {
            RamStyle::Distributed
        } else {
            // UltraRAM has one clock.
            RamStyle::Block
        };
        Self {
            wr_clock: Signal::default(),
            rd_clock: Signal::default(),
            input: StreamIn::default(),
            output: StreamOut::default(),
            wr_used: Signal::default(),
            wr_almost_full: Signal::default(),
            two_stages: Constant::new(FifoRam::<T>::has_two_stages(style)),
            ptr_mask: Constant::new((2 * depth as u64 - 1).into()),
            ready_up_to: Constant::new((ready_up_to as u64).into()),
            busy_above: Constant::new((busy_above as u64).into()),
            ram: FifoRam::new(log2_depth, style),
            wr_ptr: DFF::default(),
            wr_gray: DFF::default(),
            sync_to_wr: Sync2::default(),
            wr_side_rd_ptr: DFF::default(),
            fill: DFF::default(),
            full: DFF::default(),
            busy: DFF::default(),
            push: Signal::default(),
            wr_decode1: Signal::default(),
            wr_decode2: Signal::default(),
            wr_decode4: Signal::default(),
            rd_ptr: DFF::default(),
            rd_ahead: DFF::default(),
            rd_next: Signal::default(),
            rd_gray: DFF::default(),
            sync_to_rd: Sync2::default(),
            rd_side_wr_ptr: DFF::default(),
            waiting: DFF::default(),
            both_valid: DFF::default(),
            mid_valid: DFF::default(),
            out_valid: DFF::default(),
            load_out: Signal::default(),
            load_first: Signal::default(),
            rd_decode1: Signal::default(),
            rd_decode2: Signal::default(),
            rd_decode4: Signal::default(),
        }
    }
}

/// 32 places.
impl<T: Synth> Default for AsyncFifo<T> {
    fn default() -> Self {
        Self::new(5)
    }
}

impl<T: Synth> Logic for AsyncFifo<T> {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            wr_clock,
            wr_ptr,
            wr_gray,
            wr_side_rd_ptr,
            fill,
            full,
            busy
        );
        dff_setup!(
            self,
            rd_clock,
            rd_ptr,
            rd_ahead,
            rd_gray,
            rd_side_wr_ptr,
            waiting,
            both_valid,
            mid_valid,
            out_valid
        );
        self.sync_to_wr.clock.next = self.wr_clock.val();
        self.sync_to_rd.clock.next = self.rd_clock.val();
        self.ram.wr_clock.next = self.wr_clock.val();
        self.ram.rd_clock.next = self.rd_clock.val();

        // Write side.
        self.input.ready.next = !self.full.q.val();
        self.wr_used.next = self.fill.q.val();
        self.wr_almost_full.next = self.busy.q.val();
        self.push.next = self.input.valid.val() & !self.full.q.val();
        self.ram.wr_valid.next = self.push.val();
        self.ram.wr_addr.next = bit_cast::<ADDR_BITS, 16>(self.wr_ptr.q.val());
        self.ram.wr_data.next = self.input.data.val();
        self.ram.pass.next = false;
        if self.push.val() {
            self.wr_ptr.d.next = (self.wr_ptr.q.val() + 1) & self.ptr_mask.val();
        }
        self.wr_gray.d.next = self.wr_ptr.q.val() ^ (self.wr_ptr.q.val() >> 1);
        self.sync_to_wr.d.next = self.rd_gray.q.val();
        self.wr_decode1.next = self.sync_to_wr.q.val() ^ (self.sync_to_wr.q.val() >> 1);
        self.wr_decode2.next = self.wr_decode1.val() ^ (self.wr_decode1.val() >> 2);
        self.wr_decode4.next = self.wr_decode2.val() ^ (self.wr_decode2.val() >> 4);
        self.wr_side_rd_ptr.d.next = self.wr_decode4.val() ^ (self.wr_decode4.val() >> 8);
        self.fill.d.next =
            (self.wr_ptr.q.val() - self.wr_side_rd_ptr.q.val()) & self.ptr_mask.val();
        self.full.d.next = self.fill.q.val() > self.ready_up_to.val();
        self.busy.d.next = self.fill.q.val() > self.busy_above.val();

        // Read side: the RAM's read stages are the output pipeline.
        self.output.valid.next = self.out_valid.q.val();
        self.output.data.next = self.ram.rd_data.val();
        self.load_out.next = self.output.ready.val() | !self.out_valid.q.val();
        self.load_first.next = self.load_out.val();
        if self.two_stages.val() {
            self.load_first.next = self.output.ready.val() | !self.both_valid.q.val();
            if self.load_first.val() {
                self.mid_valid.d.next = self.waiting.q.val();
            }
            if self.load_out.val() {
                self.out_valid.d.next = self.mid_valid.q.val();
            }
        } else if self.load_out.val() {
            self.out_valid.d.next = self.waiting.q.val();
        }
        self.both_valid.d.next = self.mid_valid.d.val() & self.out_valid.d.val();
        self.ram.rd_en.next = self.load_first.val();
        self.ram.out_en.next = self.load_out.val();
        self.ram.rd_addr.next = bit_cast::<ADDR_BITS, 16>(self.rd_ptr.q.val());
        self.rd_next.next = self.rd_ahead.q.val() ^ 1;
        self.waiting.d.next = (self.rd_ptr.q.val() != self.rd_side_wr_ptr.q.val())
            & (!self.waiting.q.val()
                | !self.load_first.val()
                | (self.rd_next.val() != self.rd_side_wr_ptr.q.val()));
        if self.load_first.val() & self.waiting.q.val() {
            self.rd_ptr.d.next = self.rd_next.val();
            self.rd_ahead.d.next = ((self.rd_next.val() + 1) & self.ptr_mask.val()) ^ 1;
        }
        self.rd_gray.d.next = self.rd_ptr.q.val() ^ (self.rd_ptr.q.val() >> 1);
        self.sync_to_rd.d.next = self.wr_gray.q.val();
        self.rd_decode1.next = self.sync_to_rd.q.val() ^ (self.sync_to_rd.q.val() >> 1);
        self.rd_decode2.next = self.rd_decode1.val() ^ (self.rd_decode1.val() >> 2);
        self.rd_decode4.next = self.rd_decode2.val() ^ (self.rd_decode2.val() >> 4);
        self.rd_side_wr_ptr.d.next = self.rd_decode4.val() ^ (self.rd_decode4.val() >> 8);
    }
}

ferroce_emit::register_leaf!("async_fifo_one_stage", || AsyncFifo::<Bits<40>>::new(3));
ferroce_emit::register_leaf!("async_fifo_two_stages", || {
    AsyncFifo::<Bits<40>>::new_with_reserve(7, 100)
});

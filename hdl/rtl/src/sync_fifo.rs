//! FIFO on one clock.

use crate::fifo_ram::FifoRam;
use crate::memory::ADDR_BITS;
use crate::ram_style::RamStyle;
use crate::stream::{StreamIn, StreamOut};
use ferroce_emit::prelude::*;

/// First-word-fall-through FIFO of exactly `2^log2_depth` places, one item a cycle in and out.
/// `input.ready`, `output.valid`, `output.data`, `used` and `almost_full` come from registers.
///
/// An item that enters an empty FIFO in cycle `t` is at the output in cycle `t + 2` (LUT RAM) or `t + 3` (block
/// RAM, UltraRAM). One made by [`Self::quick`] lets an item that finds the output free pass by the RAM: it is there in cycle `t + 1`,
/// for the price of a 2:1 multiplexer a bit.
#[derive(LogicBlock, Module)]
pub struct SyncFifo<T: Synth> {
    /// Clock of both sides.
    pub clock: Signal<In, Clock>,
    /// Items in.
    pub input: StreamIn<T>,
    /// The same items out.
    pub output: StreamOut<T>,
    /// Items inside: accepted before this cycle and not yet taken.
    pub used: Signal<Out, Bits<16>>,
    /// Fewer than `reserve` places are free. A pipeline of which items come out here `n` cycles after they
    /// pass its entry needs a reserve of `n + 1` to gate that entry with `almost_full`.
    pub almost_full: Signal<Out, Bit>,
    two_stages: Constant<Bit>,
    /// Items may pass by the RAM.
    passes: Constant<Bit>,
    ptr_mask: Constant<Bits<16>>,
    /// `used` with one place left.
    last_place_at: Constant<Bits<16>>,
    /// Highest `used` without `almost_full`.
    busy_above: Constant<Bits<16>>,
    ram: FifoRam<T>,
    wr_ptr: DFF<Bits<16>>,
    /// Place of the newest item.
    newest: DFF<Bits<16>>,
    rd_ptr: DFF<Bits<16>>,
    /// The RAM has an item that no read stage has.
    waiting: DFF<Bit>,
    mid_valid: DFF<Bit>,
    out_valid: DFF<Bit>,
    fill: DFF<Bits<16>>,
    full: DFF<Bit>,
    busy: DFF<Bit>,
    push: Signal<Local, Bit>,
    /// The RAM is empty, so what is pushed is next.
    pass: Signal<Local, Bit>,
    /// What is pushed stays in the RAM.
    store: Signal<Local, Bit>,
    pop: Signal<Local, Bit>,
    load_out: Signal<Local, Bit>,
    load_first: Signal<Local, Bit>,
    fetch: Signal<Local, Bit>,
    step: Signal<Local, Bits<16>>,
}

impl<T: Synth> SyncFifo<T> {
    /// Deepest one (log2), so that `used` counts to `2^log2_depth`.
    pub const MAX_LOG2_DEPTH: usize = 15;

    /// `2^log2_depth` places; `almost_full` is high when the last place is taken.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to 15.
    #[must_use]
    pub fn new(log2_depth: usize) -> Self {
        Self::new_with_reserve(log2_depth, 1)
    }

    /// `2^log2_depth` places; `almost_full` is high when fewer than `reserve` are free.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to 15, or `reserve` is 0 or above the number of places.
    #[must_use]
    pub fn new_with_reserve(log2_depth: usize, reserve: usize) -> Self {
        Self::with_style(log2_depth, reserve, RamStyle::for_size(log2_depth, T::BITS))
    }

    /// [`Self::new`] without the RAM's latency when it is empty; for latency that counts.
    ///
    /// # Panics
    /// As [`Self::quick_with_reserve`].
    #[must_use]
    pub fn quick(log2_depth: usize) -> Self {
        Self::quick_with_reserve(log2_depth, 1)
    }

    /// [`Self::new_with_reserve`] without the RAM's latency when it is empty; in LUT RAM.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to 15, or `reserve` is 0 or above the number of places.
    #[must_use]
    pub fn quick_with_reserve(log2_depth: usize, reserve: usize) -> Self {
        Self {
            passes: Constant::new(true),
            ..Self::with_style(log2_depth, reserve, RamStyle::Distributed)
        }
    }

    /// [`Self::new_with_reserve`] in the given RAM resource.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to 15, or `reserve` is 0 or above the number of places.
    #[must_use]
    pub fn with_style(log2_depth: usize, reserve: usize, style: RamStyle) -> Self {
        assert!(
            (1..=Self::MAX_LOG2_DEPTH).contains(&log2_depth),
            "a FIFO has 2^1 to 2^15 places, not 2^{log2_depth}"
        );
        let depth = 1u64 << log2_depth;
        let reserve = reserve as u64;
        assert!(
            (1..=depth).contains(&reserve),
            "a reserve of {reserve} places in a FIFO of {depth}"
        );
        Self {
            clock: Signal::default(),
            input: StreamIn::default(),
            output: StreamOut::default(),
            used: Signal::default(),
            almost_full: Signal::default(),
            two_stages: Constant::new(FifoRam::<T>::has_two_stages(style)),
            passes: Constant::new(false),
            ptr_mask: Constant::new((depth - 1).into()),
            last_place_at: Constant::new((depth - 1).into()),
            busy_above: Constant::new((depth - reserve).into()),
            ram: FifoRam::new(log2_depth, style),
            wr_ptr: DFF::default(),
            newest: DFF::default(),
            rd_ptr: DFF::default(),
            waiting: DFF::default(),
            mid_valid: DFF::default(),
            out_valid: DFF::default(),
            fill: DFF::default(),
            full: DFF::default(),
            busy: DFF::default(),
            push: Signal::default(),
            pass: Signal::default(),
            store: Signal::default(),
            pop: Signal::default(),
            load_out: Signal::default(),
            load_first: Signal::default(),
            fetch: Signal::default(),
            step: Signal::default(),
        }
    }
}

/// 16 places.
impl<T: Synth> Default for SyncFifo<T> {
    fn default() -> Self {
        Self::new(4)
    }
}

impl<T: Synth> Logic for SyncFifo<T> {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, wr_ptr, newest, rd_ptr, waiting, mid_valid, out_valid, fill, full, busy
        );
        self.ram.wr_clock.next = self.clock.val();
        self.ram.rd_clock.next = self.clock.val();
        self.input.ready.next = !self.full.q.val();
        self.output.valid.next = self.out_valid.q.val();
        self.output.data.next = self.ram.rd_data.val();
        self.used.next = self.fill.q.val();
        self.almost_full.next = self.busy.q.val();

        self.push.next = self.input.valid.val() & !self.full.q.val();
        self.pop.next = self.output.ready.val() & self.out_valid.q.val();

        // Write side. What passes by is written too, into a free place that the next one takes.
        self.load_out.next = self.output.ready.val() | !self.out_valid.q.val();
        self.pass.next = self.passes.val() & !self.waiting.q.val();
        self.store.next = self.push.val() & !(self.pass.val() & self.load_out.val());
        self.ram.wr_valid.next = self.push.val();
        self.ram.wr_addr.next = bit_cast::<ADDR_BITS, 16>(self.wr_ptr.q.val());
        self.ram.wr_data.next = self.input.data.val();
        self.ram.pass.next = self.pass.val();
        if self.store.val() {
            self.wr_ptr.d.next = (self.wr_ptr.q.val() + 1) & self.ptr_mask.val();
            self.newest.d.next = self.wr_ptr.q.val();
        }

        // Read side: the RAM's read stages are the output pipeline.
        self.load_first.next = self.load_out.val();
        if self.two_stages.val() {
            self.load_first.next = self.load_out.val() | !self.mid_valid.q.val();
            if self.load_first.val() {
                self.mid_valid.d.next = self.waiting.q.val();
            }
            if self.load_out.val() {
                self.out_valid.d.next = self.mid_valid.q.val();
            }
        } else if self.load_out.val() {
            self.out_valid.d.next = self.waiting.q.val() | (self.passes.val() & self.push.val());
        }
        self.ram.rd_en.next = self.load_first.val();
        self.ram.out_en.next = self.load_out.val();
        self.ram.rd_addr.next = bit_cast::<ADDR_BITS, 16>(self.rd_ptr.q.val());
        self.fetch.next = self.load_first.val() & self.waiting.q.val();
        if self.fetch.val() {
            self.rd_ptr.d.next = (self.rd_ptr.q.val() + 1) & self.ptr_mask.val();
            self.waiting.d.next = self.newest.q.val() != self.rd_ptr.q.val();
        }
        if self.store.val() {
            self.waiting.d.next = true;
        }

        // Fill level.
        self.step.next = 0.into();
        if self.push.val() & !self.pop.val() {
            self.step.next = 1.into();
            self.full.d.next = self.fill.q.val() == self.last_place_at.val();
            self.busy.d.next = self.fill.q.val() >= self.busy_above.val();
        }
        if !self.push.val() & self.pop.val() {
            self.step.next = 0xFFFF.into();
            self.full.d.next = false;
            self.busy.d.next = self.fill.q.val() > (self.busy_above.val() + 1);
        }
        self.fill.d.next = self.fill.q.val() + self.step.val();
    }
}

ferroce_emit::register_leaf!("sync_fifo_one_stage", || {
    SyncFifo::<Bits<40>>::new_with_reserve(3, 3)
});
ferroce_emit::register_leaf!("sync_fifo_quick", || {
    SyncFifo::<Bits<40>>::quick_with_reserve(3, 3)
});
ferroce_emit::register_leaf!("sync_fifo_two_stages", || SyncFifo::<Bits<40>>::with_style(
    3,
    3,
    RamStyle::Block
));

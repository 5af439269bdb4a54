//! RAM with one write port and two read ports.

use crate::memory::ADDR_BITS;
use crate::ram::Ram;
use crate::ram_style::RamStyle;
use ferroce_emit::prelude::*;

/// Two copies of a [`Ram`] behind one write port; both reads have its latency and its old-data rule.
#[derive(LogicBlock, Module, Default)]
pub struct Ram2<T: Synth> {
    /// Clock of all ports.
    pub clock: Signal<In, Clock>,
    /// Write in this cycle.
    pub wr_valid: Signal<In, Bit>,
    /// Word to write.
    pub wr_addr: Signal<In, Bits<ADDR_BITS>>,
    /// Its new value.
    pub wr_data: Signal<In, T>,
    /// Word to read at port 0.
    pub rd0_addr: Signal<In, Bits<ADDR_BITS>>,
    /// The word, two cycles later.
    pub rd0_data: Signal<Out, T>,
    /// Word to read at port 1.
    pub rd1_addr: Signal<In, Bits<ADDR_BITS>>,
    /// The word, two cycles later.
    pub rd1_data: Signal<Out, T>,
    copy0: Ram<T>,
    copy1: Ram<T>,
}

impl<T: Synth> Ram2<T> {
    /// `2^log2_depth` words, twice, in the resource that suits them.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to 20.
    #[must_use]
    pub fn new(log2_depth: usize) -> Self {
        Self::with_style(log2_depth, RamStyle::for_size(log2_depth, T::BITS))
    }

    /// `2^log2_depth` words, twice, in the given resource.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to 20.
    #[must_use]
    pub fn with_style(log2_depth: usize, style: RamStyle) -> Self {
        Self {
            copy0: Ram::with_style(log2_depth, style),
            copy1: Ram::with_style(log2_depth, style),
            ..Self::default()
        }
    }
}

impl<T: Synth> Logic for Ram2<T> {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, copy0, copy1);
        self.copy0.wr_valid.next = self.wr_valid.val();
        self.copy0.wr_addr.next = self.wr_addr.val();
        self.copy0.wr_data.next = self.wr_data.val();
        self.copy0.rd_addr.next = self.rd0_addr.val();
        self.rd0_data.next = self.copy0.rd_data.val();
        self.copy1.wr_valid.next = self.wr_valid.val();
        self.copy1.wr_addr.next = self.wr_addr.val();
        self.copy1.wr_data.next = self.wr_data.val();
        self.copy1.rd_addr.next = self.rd1_addr.val();
        self.rd1_data.next = self.copy1.rd_data.val();
    }
}

ferroce_emit::register_leaf!("ram2", || Ram2::<Bits<33>>::new(3));

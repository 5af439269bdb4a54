//! RAM for read-modify-write state loops.

use crate::memory::ADDR_BITS;
use crate::ram::Ram;
use crate::ram_style::RamStyle;
use ferroce_emit::prelude::*;

/// Cycles from `rd_addr` to `rd_data`.
pub const RMW_LATENCY: usize = 3;

/// One write and one read port with write-to-read bypass. A read issued in cycle `t` gives `rd_data` in
/// cycle `t + 3`, with every write whose `wr_valid` was in cycle `t + 2` or before.
///
/// So a loop that takes `rd_data`, computes and writes in that same cycle can read the same word in every
/// cycle; a loop that writes one cycle later needs two cycles between reads of the same word.
///
/// `wr_data` passes one 3:1 multiplexer on its way into a register, `wr_valid` one more LUT, `wr_addr`
/// its comparison (2 levels).
#[derive(LogicBlock, Module)]
pub struct RmwRam<T: Synth> {
    /// Clock of both ports.
    pub clock: Signal<In, Clock>,
    /// A read begins; only `data_valid` depends on it.
    pub rd_valid: Signal<In, Bit>,
    /// Word to read.
    pub rd_addr: Signal<In, Bits<ADDR_BITS>>,
    /// The word, three cycles after its address.
    pub rd_data: Signal<Out, T>,
    /// `rd_valid`, three cycles later.
    pub data_valid: Signal<Out, Bit>,
    /// Write in this cycle.
    pub wr_valid: Signal<In, Bit>,
    /// Word to write.
    pub wr_addr: Signal<In, Bits<ADDR_BITS>>,
    /// Its new value.
    pub wr_data: Signal<In, T>,
    /// Address bits that count.
    addr_mask: Constant<Bits<ADDR_BITS>>,
    ram: Ram<T>,
    valid1: DFF<Bit>,
    valid2: DFF<Bit>,
    valid3: DFF<Bit>,
    addr1: DFF<Bits<ADDR_BITS>>,
    addr2: DFF<Bits<ADDR_BITS>>,
    /// A write of the read's first cycle hit, and its data.
    hit1: DFF<Bit>,
    newer1: DFF<T>,
    /// A write of the read's first two cycles hit, and the newest one's data.
    hit2: DFF<Bit>,
    newer2: DFF<T>,
    data3: DFF<T>,
    write: Signal<Local, Bits<ADDR_BITS>>,
    match0: Signal<Local, Bit>,
    match1: Signal<Local, Bit>,
    match2: Signal<Local, Bit>,
}

impl<T: Synth> RmwRam<T> {
    /// `2^log2_depth` words in the resource that suits them.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to 20.
    #[must_use]
    pub fn new(log2_depth: usize) -> Self {
        Self::with_style(log2_depth, RamStyle::for_size(log2_depth, T::BITS))
    }

    /// `2^log2_depth` words in the given resource.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to 20.
    #[must_use]
    pub fn with_style(log2_depth: usize, style: RamStyle) -> Self {
        Self {
            clock: Signal::default(),
            rd_valid: Signal::default(),
            rd_addr: Signal::default(),
            rd_data: Signal::default(),
            data_valid: Signal::default(),
            wr_valid: Signal::default(),
            wr_addr: Signal::default(),
            wr_data: Signal::default(),
            addr_mask: Constant::new(((1u64 << log2_depth) - 1).into()),
            ram: Ram::with_style(log2_depth, style),
            valid1: DFF::default(),
            valid2: DFF::default(),
            valid3: DFF::default(),
            addr1: DFF::default(),
            addr2: DFF::default(),
            hit1: DFF::default(),
            newer1: DFF::default(),
            hit2: DFF::default(),
            newer2: DFF::default(),
            data3: DFF::default(),
            write: Signal::default(),
            match0: Signal::default(),
            match1: Signal::default(),
            match2: Signal::default(),
        }
    }
}

/// 16 words.
impl<T: Synth> Default for RmwRam<T> {
    fn default() -> Self {
        Self::new(4)
    }
}

impl<T: Synth> Logic for RmwRam<T> {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, valid1, valid2, valid3, addr1, addr2, hit1, newer1, hit2, newer2, data3
        );
        clock!(self, clock, ram);
        self.ram.rd_addr.next = self.rd_addr.val();
        self.ram.wr_valid.next = self.wr_valid.val();
        self.ram.wr_addr.next = self.wr_addr.val();
        self.ram.wr_data.next = self.wr_data.val();

        self.valid1.d.next = self.rd_valid.val();
        self.valid2.d.next = self.valid1.q.val();
        self.valid3.d.next = self.valid2.q.val();
        self.addr1.d.next = self.rd_addr.val() & self.addr_mask.val();
        self.addr2.d.next = self.addr1.q.val();
        self.write.next = self.wr_addr.val() & self.addr_mask.val();
        self.match0.next =
            self.wr_valid.val() & (self.write.val() == (self.rd_addr.val() & self.addr_mask.val()));
        self.match1.next = self.wr_valid.val() & (self.write.val() == self.addr1.q.val());
        self.match2.next = self.wr_valid.val() & (self.write.val() == self.addr2.q.val());

        // The RAM has the writes before the read's own cycle; three cycles are bypassed.
        self.hit1.d.next = self.match0.val();
        self.newer1.d.next = self.wr_data.val();
        self.hit2.d.next = self.hit1.q.val() | self.match1.val();
        self.newer2.d.next = self.newer1.q.val();
        if self.match1.val() {
            self.newer2.d.next = self.wr_data.val();
        }
        self.data3.d.next = self.ram.rd_data.val();
        if self.match2.val() {
            self.data3.d.next = self.wr_data.val();
        } else if self.hit2.q.val() {
            self.data3.d.next = self.newer2.q.val();
        }
        self.rd_data.next = self.data3.q.val();
        self.data_valid.next = self.valid3.q.val();
    }
}

ferroce_emit::register_leaf!("rmw_ram", || RmwRam::<Bits<40>>::new(2));

//! The card's counters.

pub mod counter_cell;

use counter_cell::CounterCell;
use ferroce_abi::regs::Counter;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::ram::RAM_LATENCY;
use ferroce_rtl::ram2::Ram2;

/// Cells: one for each counter number up to the last one that has a name.
pub const CELLS: usize = last_counter() + 1;
/// Log2 of the cycles between two visits of a cell. What a cell is told in that time must fit 16 bits: 64 bytes
/// a cycle and one frame's 4 KiB do.
const PERIOD_LOG2: usize = Counter::WINDOW.ilog2() as usize;

const fn last_counter() -> usize {
    let mut last = 0;
    let mut index = 0;
    while index < Counter::ALL.len() {
        if Counter::ALL[index] as usize > last {
            last = Counter::ALL[index] as usize;
        }
        index += 1;
    }
    last
}

/// 64-bit counters in a RAM, by counter number. Small cells near the events collect what happens; a token visits
/// them in turn, and what they hold travels along a chain of registers to the RAM. No wide
/// multiplexer, no wide adder but one.
#[derive(LogicBlock, Module)]
pub struct Counters {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// What each counter grows by in this cycle.
    pub add: [Signal<In, Bits<16>>; CELLS],
    /// Counter to read.
    pub number: Signal<In, Bits<7>>,
    /// Its value [`RAM_LATENCY`] cycles later.
    pub value: Signal<Out, Bits<64>>,
    cells: [CounterCell; CELLS],
    sums: Ram2<Bits<64>>,
    /// Cycle in the period; cell `k`'s amount leaves the chain in cycle `CELLS + k`.
    cycle: DFF<Bits<7>>,
    amounts: Delay<Bits<16>>,
    numbers: Delay<Bits<7>>,
    /// Lower half of the sum.
    low_number: DFF<Bits<7>>,
    low: DFF<Bits<33>>,
    high_before: DFF<Bits<32>>,
    /// Sum.
    sum_number: DFF<Bits<7>>,
    sum: DFF<Bits<64>>,
    leaving: Signal<Local, Bits<7>>,
    high: Signal<Local, Bits<32>>,
}

/// All counters 0.
impl Default for Counters {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            add: std::array::from_fn(|_| Signal::default()),
            number: Signal::default(),
            value: Signal::default(),
            cells: std::array::from_fn(|_| CounterCell::default()),
            sums: Ram2::new(PERIOD_LOG2),
            cycle: DFF::default(),
            amounts: Delay::new(RAM_LATENCY),
            numbers: Delay::new(RAM_LATENCY),
            low_number: DFF::default(),
            low: DFF::default(),
            high_before: DFF::default(),
            sum_number: DFF::default(),
            sum: DFF::default(),
            leaving: Signal::default(),
            high: Signal::default(),
        }
    }
}

impl Logic for Counters {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            cycle,
            low_number,
            low,
            high_before,
            sum_number,
            sum
        );
        clock!(self, clock, sums, amounts, numbers);
        for k in 0..CELLS {
            self.cells[k].clock.next = self.clock.val();
            self.cells[k].add.next = self.add[k].val();
        }
        self.cycle.d.next = self.cycle.q.val() + 1;
        self.cells[0].token.next = self.cycle.q.val() == 0;
        self.cells[0].amount.next = 0.into();
        for k in 1..CELLS {
            self.cells[k].token.next = self.cells[k - 1].token_out.val();
            self.cells[k].amount.next = self.cells[k - 1].amount_out.val();
        }

        // Numbers beyond the cells pass too, with an amount of 0.
        self.leaving.next = self.cycle.q.val() - (CELLS as u64);
        self.numbers.data_in.next = self.leaving.val();
        self.amounts.data_in.next = self.cells[CELLS - 1].amount_out.val();
        self.sums.rd0_addr.next = bit_cast::<20, 7>(self.leaving.val());
        self.low_number.d.next = self.numbers.data_out.val();
        self.low.d.next = bit_cast::<33, 32>(self.sums.rd0_data.val().get_bits::<32>(0))
            + bit_cast::<33, 16>(self.amounts.data_out.val());
        self.high_before.d.next = self.sums.rd0_data.val().get_bits::<32>(32);
        self.high.next = self.high_before.q.val();
        if self.low.q.val().get_bit(32) {
            self.high.next = self.high_before.q.val() + 1;
        }
        self.sum_number.d.next = self.low_number.q.val();
        self.sum.d.next = (bit_cast::<64, 32>(self.high.val()) << 32)
            | bit_cast::<64, 32>(self.low.q.val().get_bits::<32>(0));
        self.sums.wr_valid.next = true;
        self.sums.wr_addr.next = bit_cast::<20, 7>(self.sum_number.q.val());
        self.sums.wr_data.next = self.sum.q.val();
        self.sums.rd1_addr.next = bit_cast::<20, 7>(self.number.val());
        self.value.next = self.sums.rd1_data.val();
    }
}

ferroce_emit::register_leaf!("counters", Counters::default);

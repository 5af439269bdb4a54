//! The MSI-X table and the host's view of it.

use super::{beyond, MsixEntry, MAX_VECTORS, PBA_OFFSET, VECTOR_BITS};
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::bar::{BarReq, BarResp};
use ferroce_rtl::flow_gate::FlowGate;
use ferroce_rtl::ram::RAM_LATENCY;
use ferroce_rtl::ram2::Ram2;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Cycles from the gate to the tables.
const DECODE_LATENCY: usize = 1;
/// Places of the answer FIFO, log2: those under way and as many that wait for the PCIe engine.
const ANSWERS_LOG2: usize = 4;
/// Cycles from the gate's entry to the answer FIFO, and one more for its flag.
const UNDER_WAY: usize = 1 + DECODE_LATENCY + RAM_LATENCY + 1;
/// Address bit that tells pending bits from table.
const PBA_BIT: usize = PBA_OFFSET.ilog2() as usize;

/// An access to the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MsixAccess {
    /// It is a read.
    pub read: Bit,
    /// Of an existing vector's entry.
    pub table: Bit,
    /// Of pending bits.
    pub pba: Bit,
    /// The word at address bit 3 = 1: data and control, or the upper pending bits.
    pub upper: Bit,
}

/// Takes an access a cycle; reads are answered in order.
#[derive(LogicBlock, Module)]
pub struct MsixRegs {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Accesses.
    pub access: StreamIn<BarReq>,
    /// Answers to reads.
    pub answer: StreamOut<BarResp>,
    /// Pending bits.
    pub pending: Signal<In, Bits<MAX_VECTORS>>,
    /// Vector to look up.
    pub vector: Signal<In, Bits<VECTOR_BITS>>,
    /// Its entry, [`RAM_LATENCY`] cycles later.
    pub entry: Signal<Out, MsixEntry>,
    beyond: Constant<Bits<VECTOR_BITS>>,
    gate: FlowGate<BarReq>,
    low: Ram2<Bits<30>>,
    high: Ram2<Bits<32>>,
    data: Ram2<Bits<32>>,
    /// The mask bit inverted: zero at the start, so that all are masked.
    unmasked: Ram2<Bit>,
    reads: Delay<MsixAccess>,
    answers: SyncFifo<BarResp>,
    item: DFF<MsixAccess>,
    index: DFF<Bits<VECTOR_BITS>>,
    write_low: DFF<Bit>,
    write_high: DFF<Bit>,
    write_data: DFF<Bit>,
    write_control: DFF<Bit>,
    word: DFF<Bits<64>>,
    number: Signal<Local, Bits<VECTOR_BITS>>,
    in_pba: Signal<Local, Bit>,
    in_table: Signal<Local, Bit>,
    upper: Signal<Local, Bit>,
    writes: Signal<Local, Bit>,
    half0: Signal<Local, Bit>,
    half1: Signal<Local, Bit>,
    shown: Signal<Local, MsixAccess>,
    seen: Signal<Local, Bits<64>>,
}

impl MsixRegs {
    /// `2^vectors_log2` entries.
    ///
    /// # Panics
    /// If `vectors_log2` is not 1 to [`MAX_VECTORS_LOG2`](super::MAX_VECTORS_LOG2).
    #[must_use]
    pub fn new(vectors_log2: usize) -> Self {
        Self {
            clock: Signal::default(),
            access: StreamIn::default(),
            answer: StreamOut::default(),
            pending: Signal::default(),
            vector: Signal::default(),
            entry: Signal::default(),
            beyond: beyond(vectors_log2),
            gate: FlowGate::default(),
            low: Ram2::new(vectors_log2),
            high: Ram2::new(vectors_log2),
            data: Ram2::new(vectors_log2),
            unmasked: Ram2::new(vectors_log2),
            reads: Delay::new(RAM_LATENCY),
            answers: SyncFifo::new_with_reserve(ANSWERS_LOG2, UNDER_WAY),
            item: DFF::default(),
            index: DFF::default(),
            write_low: DFF::default(),
            write_high: DFF::default(),
            write_data: DFF::default(),
            write_control: DFF::default(),
            word: DFF::default(),
            number: Signal::default(),
            in_pba: Signal::default(),
            in_table: Signal::default(),
            upper: Signal::default(),
            writes: Signal::default(),
            half0: Signal::default(),
            half1: Signal::default(),
            shown: Signal::default(),
            seen: Signal::default(),
        }
    }
}

/// 32 entries.
impl Default for MsixRegs {
    fn default() -> Self {
        Self::new(5)
    }
}

impl Logic for MsixRegs {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            item,
            index,
            write_low,
            write_high,
            write_data,
            write_control,
            word
        );
        clock!(self, clock, gate, low, high, data, unmasked, reads, answers);
        StreamIn::<BarReq>::link(&mut self.access, &mut self.gate.input);
        self.gate.hold.next = self.answers.almost_full.val();

        // What is accessed.
        self.number.next = self.gate.data.val().addr.get_bits::<VECTOR_BITS>(4);
        self.upper.next = self.gate.data.val().addr.get_bit(3);
        self.in_pba.next = self.gate.data.val().addr.get_bit(PBA_BIT) & !self.number.val().any();
        self.in_table.next = !self.gate.data.val().addr.get_bit(PBA_BIT)
            & !(self.number.val() & self.beyond.val()).any();
        self.writes.next = self.gate.valid.val() & self.gate.data.val().write & self.in_table.val();
        self.half0.next = self.gate.data.val().strobe.get_bits::<4>(0).all();
        self.half1.next = self.gate.data.val().strobe.get_bits::<4>(4).all();
        self.item.d.next.read = self.gate.valid.val() & !self.gate.data.val().write;
        self.item.d.next.table = self.in_table.val();
        self.item.d.next.pba = self.in_pba.val();
        self.item.d.next.upper = self.upper.val();
        self.index.d.next = self.number.val();
        self.write_low.d.next = self.writes.val() & !self.upper.val() & self.half0.val();
        self.write_high.d.next = self.writes.val() & !self.upper.val() & self.half1.val();
        self.write_data.d.next = self.writes.val() & self.upper.val() & self.half0.val();
        self.write_control.d.next = self.writes.val() & self.upper.val() & self.half1.val();
        self.word.d.next = self.gate.data.val().data;

        // The table: one copy for the host, one for the messages.
        self.low.wr_valid.next = self.write_low.q.val();
        self.low.wr_addr.next = bit_cast::<20, VECTOR_BITS>(self.index.q.val());
        self.low.wr_data.next = self.word.q.val().get_bits::<30>(2);
        self.low.rd0_addr.next = bit_cast::<20, VECTOR_BITS>(self.index.q.val());
        self.low.rd1_addr.next = bit_cast::<20, VECTOR_BITS>(self.vector.val());
        self.high.wr_valid.next = self.write_high.q.val();
        self.high.wr_addr.next = bit_cast::<20, VECTOR_BITS>(self.index.q.val());
        self.high.wr_data.next = self.word.q.val().get_bits::<32>(32);
        self.high.rd0_addr.next = bit_cast::<20, VECTOR_BITS>(self.index.q.val());
        self.high.rd1_addr.next = bit_cast::<20, VECTOR_BITS>(self.vector.val());
        self.data.wr_valid.next = self.write_data.q.val();
        self.data.wr_addr.next = bit_cast::<20, VECTOR_BITS>(self.index.q.val());
        self.data.wr_data.next = self.word.q.val().get_bits::<32>(0);
        self.data.rd0_addr.next = bit_cast::<20, VECTOR_BITS>(self.index.q.val());
        self.data.rd1_addr.next = bit_cast::<20, VECTOR_BITS>(self.vector.val());
        self.unmasked.wr_valid.next = self.write_control.q.val();
        self.unmasked.wr_addr.next = bit_cast::<20, VECTOR_BITS>(self.index.q.val());
        self.unmasked.wr_data.next = !self.word.q.val().get_bit(32);
        self.unmasked.rd0_addr.next = bit_cast::<20, VECTOR_BITS>(self.index.q.val());
        self.unmasked.rd1_addr.next = bit_cast::<20, VECTOR_BITS>(self.vector.val());
        self.entry.next.low = self.low.rd1_data.val();
        self.entry.next.high = self.high.rd1_data.val();
        self.entry.next.data = self.data.rd1_data.val();
        self.entry.next.unmasked = self.unmasked.rd1_data.val();

        // The answer.
        self.reads.data_in.next = self.item.q.val();
        self.shown.next = self.reads.data_out.val();
        self.seen.next = 0.into();
        if self.shown.val().table & self.shown.val().upper {
            self.seen.next = bit_cast::<64, 32>(self.data.rd0_data.val())
                | (bit_cast::<64, 1>((!self.unmasked.rd0_data.val()).into()) << 32);
        } else if self.shown.val().table {
            self.seen.next = (bit_cast::<64, 30>(self.low.rd0_data.val()) << 2)
                | (bit_cast::<64, 32>(self.high.rd0_data.val()) << 32);
        } else if self.shown.val().pba & self.shown.val().upper {
            self.seen.next = self.pending.val().get_bits::<64>(64);
        } else if self.shown.val().pba {
            self.seen.next = self.pending.val().get_bits::<64>(0);
        }
        self.answers.input.valid.next = self.shown.val().read;
        self.answers.input.data.next.data = self.seen.val();
        StreamOut::<BarResp>::link(&mut self.answer, &mut self.answers.output);
    }
}

ferroce_emit::register_leaf!("msix_regs", MsixRegs::default);

//! From completions to host writes, and to events behind them.

use super::desc::CqePlace;
use crate::eq_writer::desc::EventJob;
use ferroce_abi::cqe;
use ferroce_abi::eqe::EventKind;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::desc::rx::CqeJob;
use ferroce_rtl::stream::StreamOut;
use ferroce_rtl::sync_fifo::SyncFifo;

/// Cycles from a place to the FIFO.
pub const FORMAT_LATENCY: usize = 2;
/// Places of the FIFO, log2: the completions under way and as many that wait for the arbiter.
pub const WRITES_LOG2: usize = 4;
/// Log2 of a CQE's bytes.
const CQE_LOG2: u64 = ferroce_abi::limits::CQE_BYTES.ilog2() as u64;
/// Lowest bits of the fields.
const STATUS: u64 = 8 * cqe::STATUS as u64;
const FLAGS: u64 = 8 * cqe::FLAGS as u64;
const QPN: u64 = 8 * cqe::QPN as u64;
const BYTE_LEN: u64 = 8 * cqe::BYTE_LEN as u64;
const IMM: u64 = 8 * cqe::IMM as u64;
const WQE_INDEX: u64 = 8 * cqe::WQE_INDEX as u64;
const PHASE: u64 = 8 * cqe::PHASE as u64;

const COMPLETION: u64 = EventKind::Completion as u64;
const OVERRUN: u64 = EventKind::CqOverrun as u64;

/// A CQE and its address, an event, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqeWrite {
    /// Byte address.
    pub addr: Bits<64>,
    /// Phase bit.
    pub phase: Bit,
    /// There is a CQE.
    pub write: Bit,
    /// There is an event.
    pub event: Bit,
    /// It is an overrun.
    pub overrun: Bit,
    /// EQ of the event.
    pub eq: Bits<7>,
    /// CQ index.
    pub cq: Bits<14>,
    /// Content.
    pub job: CqeJob,
}

/// Computes addresses and lays out the 32 bytes. A CQE fills the lower or the upper half of a beat; both halves
/// carry it, since bytes outside the write are ignored. An event goes on when the CQEs before it, its own too, have been taken as
/// host writes.
#[derive(LogicBlock, Module)]
pub struct CqeFormat {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Completions with their places.
    pub place: Signal<In, CqePlace>,
    /// There is room for completions.
    pub open: Signal<Out, Bit>,
    /// Host writes.
    pub write: StreamOut<DmaWriteBeat>,
    /// Events.
    pub event: Signal<Out, EventJob>,
    /// There is an event.
    pub event_valid: Signal<Out, Bit>,
    writes: SyncFifo<CqeWrite>,
    /// Lower half of the address.
    s1_valid: DFF<Bit>,
    s1_high: DFF<Bits<32>>,
    s1_low: DFF<Bits<33>>,
    s1_place: DFF<CqePlace>,
    /// Whole address.
    s2_valid: DFF<Bit>,
    s2_write: DFF<CqeWrite>,
    event_out: DFF<EventJob>,
    event_valid_out: DFF<Bit>,
    pop: Signal<Local, Bit>,
    high: Signal<Local, Bits<32>>,
    item: Signal<Local, CqeWrite>,
    bytes: Signal<Local, Bits<256>>,
}

impl CqeFormat {
    /// `under_way`: completions that may still come after `open` was taken back.
    #[must_use]
    pub fn new(under_way: usize) -> Self {
        Self {
            clock: Signal::default(),
            place: Signal::default(),
            open: Signal::default(),
            write: StreamOut::default(),
            event: Signal::default(),
            event_valid: Signal::default(),
            writes: SyncFifo::new_with_reserve(WRITES_LOG2, under_way),
            s1_valid: DFF::default(),
            s1_high: DFF::default(),
            s1_low: DFF::default(),
            s1_place: DFF::default(),
            s2_valid: DFF::default(),
            s2_write: DFF::default(),
            event_out: DFF::default(),
            event_valid_out: DFF::default(),
            pop: Signal::default(),
            high: Signal::default(),
            item: Signal::default(),
            bytes: Signal::default(),
        }
    }
}

/// 8 completions under way.
impl Default for CqeFormat {
    fn default() -> Self {
        Self::new(8)
    }
}

impl Logic for CqeFormat {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            s1_valid,
            s1_high,
            s1_low,
            s1_place,
            s2_valid,
            s2_write,
            event_out,
            event_valid_out
        );
        clock!(self, clock, writes);
        self.s1_valid.d.next = self.place.val().write | self.place.val().event;
        self.s1_high.d.next = self.place.val().base.get_bits::<32>(32);
        self.s1_low.d.next = bit_cast::<33, 32>(self.place.val().base.get_bits::<32>(0))
            + (bit_cast::<33, 15>(self.place.val().slot) << CQE_LOG2);
        self.s1_place.d.next = self.place.val();

        self.high.next = self.s1_high.q.val();
        if self.s1_low.q.val().get_bit(32) {
            self.high.next = self.s1_high.q.val() + 1;
        }
        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_write.d.next.addr = (bit_cast::<64, 32>(self.high.val()) << 32)
            | bit_cast::<64, 32>(self.s1_low.q.val().get_bits::<32>(0));
        self.s2_write.d.next.phase = self.s1_place.q.val().phase;
        self.s2_write.d.next.write = self.s1_place.q.val().write;
        self.s2_write.d.next.event = self.s1_place.q.val().event;
        self.s2_write.d.next.overrun = self.s1_place.q.val().overrun;
        self.s2_write.d.next.eq = self.s1_place.q.val().eq;
        self.s2_write.d.next.cq = self.s1_place.q.val().cq;
        self.s2_write.d.next.job = self.s1_place.q.val().job;
        self.writes.input.valid.next = self.s2_valid.q.val();
        self.writes.input.data.next = self.s2_write.q.val();
        self.open.next = !self.writes.almost_full.val();

        self.item.next = self.writes.output.data.val();
        self.bytes.next = bit_cast::<256, 8>(self.item.val().job.opcode)
            | (bit_cast::<256, 8>(self.item.val().job.status) << STATUS)
            | (bit_cast::<256, 8>(self.item.val().job.flags) << FLAGS)
            | (bit_cast::<256, 14>(self.item.val().job.qp) << QPN)
            | (bit_cast::<256, 32>(self.item.val().job.byte_len) << BYTE_LEN)
            | (bit_cast::<256, 32>(self.item.val().job.imm) << IMM)
            | (bit_cast::<256, 16>(self.item.val().job.wqe) << WQE_INDEX)
            | (bit_cast::<256, 1>(self.item.val().phase.into()) << PHASE);
        self.write.valid.next = self.writes.output.valid.val() & self.item.val().write;
        self.pop.next = self.write.ready.val() | !self.item.val().write;
        self.writes.output.ready.next = self.pop.val();
        self.event_valid_out.d.next =
            self.writes.output.valid.val() & self.item.val().event & self.pop.val();
        self.event_out.d.next.kind = COMPLETION.into();
        if self.item.val().overrun {
            self.event_out.d.next.kind = OVERRUN.into();
        }
        self.event_out.d.next.index = self.item.val().cq;
        self.event_out.d.next.eq = self.item.val().eq;
        self.event.next = self.event_out.q.val();
        self.event_valid.next = self.event_valid_out.q.val();
        self.write.data.next.data = bit_cast::<512, 256>(self.bytes.val())
            | (bit_cast::<512, 256>(self.bytes.val()) << 256);
        self.write.data.next.addr = self.item.val().addr;
        self.write.data.next.len = (1 << CQE_LOG2).into();
        self.write.data.next.last = true;
    }
}

ferroce_emit::register_leaf!("cqe_format", CqeFormat::default);

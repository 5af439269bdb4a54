//! From completions to CQEs with their addresses.

use super::desc::CqePlace;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::CqeJob;
use ferroce_rtl::stream::StreamOut;
use ferroce_rtl::sync_fifo::SyncFifo;

/// Cycles from a place to the FIFO.
pub const FORMAT_LATENCY: usize = 2;
/// Places of the FIFO, log2: the completions under way and as many that wait for the arbiter.
pub const WRITES_LOG2: usize = 4;
/// Log2 of a CQE's bytes.
const CQE_LOG2: u64 = ferroce_abi::limits::CQE_BYTES.ilog2() as u64;
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
    /// The CQ is gone: nothing for it comes behind this.
    pub gone: Bit,
    /// The last completion of a QP with an SRQ is before this.
    pub last: Bit,
    /// It is an overrun.
    pub overrun: Bit,
    /// EQ of the event.
    pub eq: Bits<7>,
    /// CQ index.
    pub cq: Bits<14>,
    /// Content.
    pub job: CqeJob,
}

/// Computes addresses, and keeps what the write arbiter has not taken.
#[derive(LogicBlock, Module)]
pub struct CqeFormat {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Completions with their places.
    pub place: Signal<In, CqePlace>,
    /// There is room for completions.
    pub open: Signal<Out, Bit>,
    /// CQEs with their addresses, and events.
    pub output: StreamOut<CqeWrite>,
    writes: SyncFifo<CqeWrite>,
    /// Lower half of the address.
    s1_valid: DFF<Bit>,
    s1_high: DFF<Bits<32>>,
    s1_low: DFF<Bits<33>>,
    s1_place: DFF<CqePlace>,
    /// Whole address.
    s2_valid: DFF<Bit>,
    s2_write: DFF<CqeWrite>,
    high: Signal<Local, Bits<32>>,
}

impl CqeFormat {
    /// `under_way`: completions that may still come after `open` was taken back.
    #[must_use]
    pub fn new(under_way: usize) -> Self {
        Self {
            clock: Signal::default(),
            place: Signal::default(),
            open: Signal::default(),
            output: StreamOut::default(),
            writes: SyncFifo::new_with_reserve(WRITES_LOG2, under_way),
            s1_valid: DFF::default(),
            s1_high: DFF::default(),
            s1_low: DFF::default(),
            s1_place: DFF::default(),
            s2_valid: DFF::default(),
            s2_write: DFF::default(),
            high: Signal::default(),
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
        dff_setup!(self, clock, s1_valid, s1_high, s1_low, s1_place, s2_valid, s2_write);
        clock!(self, clock, writes);
        self.s1_valid.d.next = self.place.val().write
            | self.place.val().event
            | self.place.val().gone
            | self.place.val().last;
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
        self.s2_write.d.next.gone = self.s1_place.q.val().gone;
        self.s2_write.d.next.last = self.s1_place.q.val().last;
        self.s2_write.d.next.overrun = self.s1_place.q.val().overrun;
        self.s2_write.d.next.eq = self.s1_place.q.val().eq;
        self.s2_write.d.next.cq = self.s1_place.q.val().cq;
        self.s2_write.d.next.job = self.s1_place.q.val().job;
        self.writes.input.valid.next = self.s2_valid.q.val();
        self.writes.input.data.next = self.s2_write.q.val();
        self.open.next = !self.writes.almost_full.val();

        StreamOut::<CqeWrite>::link(&mut self.output, &mut self.writes.output);
    }
}

ferroce_emit::register_leaf!("cqe_format", CqeFormat::default);

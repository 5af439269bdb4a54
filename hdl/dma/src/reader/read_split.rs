//! From DMA reads to read TLPs, each with a slot for its data.

use super::read_budget::{ReadBudget, COMPLETION_HEADERS};
use super::read_cut::ReadCut;
use super::slot::{
    ReadIssue, ReadPiece, SlotEnd, SlotOpen, SlotRecord, PAYLOAD_LOG2, RQ_LOG2, SQ_LOG2,
};
use super::slot_ring::SlotRing;
use crate::desc::{PcieLimits, RqTlp};
use crate::tags;
use ferroce_emit::prelude::*;
use ferroce_rtl::arb4::Arb4;
use ferroce_rtl::desc::dma::DmaReadReq;
use ferroce_rtl::ram_style::RamStyle;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Classes of reads: payload, SQ WQEs, RQ WQEs.
pub const CLASSES: usize = 3;

/// Every class has a FIFO, a cutter and a ring of its own; they share the block's room for
/// completions and the TLP stream, piece by piece in turn. A FIFO holds as many requests as
/// its client has tags, so a class that waits for slots never holds up the port.
#[derive(LogicBlock, Module)]
pub struct ReadSplit {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The host's settings.
    pub limits: Signal<In, PcieLimits>,
    /// Reads of all clients.
    pub request: StreamIn<DmaReadReq>,
    /// Completions that are over.
    pub end: Signal<In, SlotEnd>,
    /// Bit `c`: the oldest place of class `c` is free again.
    pub freed: Signal<In, Bits<3>>,
    /// Time, in sixteenths of the time-out.
    pub now: Signal<In, Bits<5>>,
    /// Read TLPs.
    pub reads: StreamOut<RqTlp>,
    /// Their slots.
    pub opened: Signal<Out, SlotOpen>,
    /// Places of the rings, in the order in which they are taken.
    pub record: Signal<Out, SlotRecord>,
    /// A place is taken in this cycle.
    pub record_valid: Signal<Out, Bit>,
    requests: [SyncFifo<DmaReadReq>; CLASSES],
    cuts: [ReadCut; CLASSES],
    budget: ReadBudget,
    rings: [SlotRing; CLASSES],
    issues: Arb4<ReadIssue>,
    opened_reg: DFF<SlotOpen>,
    record_reg: DFF<SlotRecord>,
    record_valid_reg: DFF<Bit>,
    tlps: Skid<RqTlp>,
    upper: Signal<Local, Bit>,
    rq_half: Signal<Local, Bit>,
    taken: Signal<Local, ReadIssue>,
    go: Signal<Local, Bit>,
}

/// A place for each of a client's tags, in LUT RAM: 86 bits are too few for a block RAM.
fn requests(log2_tags: usize) -> SyncFifo<DmaReadReq> {
    SyncFifo::with_style(log2_tags, 1, RamStyle::Distributed)
}

impl ReadSplit {
    /// For a block that can hold `headers` completions of 64 bytes.
    ///
    /// # Panics
    /// As [`ReadBudget::new`].
    #[must_use]
    pub fn new(headers: usize) -> Self {
        Self {
            clock: Signal::default(),
            limits: Signal::default(),
            request: StreamIn::default(),
            end: Signal::default(),
            freed: Signal::default(),
            now: Signal::default(),
            reads: StreamOut::default(),
            opened: Signal::default(),
            record: Signal::default(),
            record_valid: Signal::default(),
            requests: [requests(PAYLOAD_LOG2), requests(SQ_LOG2), requests(RQ_LOG2)],
            cuts: std::array::from_fn(|_| ReadCut::default()),
            budget: ReadBudget::new(headers),
            rings: [
                SlotRing::new(tags::PAYLOAD, PAYLOAD_LOG2),
                SlotRing::new(tags::SQ, SQ_LOG2),
                SlotRing::new(tags::RQ, RQ_LOG2),
            ],
            issues: Arb4::default(),
            opened_reg: DFF::default(),
            record_reg: DFF::default(),
            record_valid_reg: DFF::default(),
            tlps: Skid::default(),
            upper: Signal::default(),
            rq_half: Signal::default(),
            taken: Signal::default(),
            go: Signal::default(),
        }
    }
}

/// For the UltraScale+ block.
impl Default for ReadSplit {
    fn default() -> Self {
        Self::new(COMPLETION_HEADERS)
    }
}

impl Logic for ReadSplit {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, opened_reg, record_reg, record_valid_reg);
        clock!(self, clock, budget, issues, tlps);

        self.upper.next = self.request.data.val().tag.get_bit(7);
        self.rq_half.next = self.request.data.val().tag.get_bit(6);
        for i in 0..3 {
            self.requests[i].clock.next = self.clock.val();
            self.cuts[i].clock.next = self.clock.val();
            self.rings[i].clock.next = self.clock.val();
            self.requests[i].input.data.next = self.request.data.val();
            self.cuts[i].limits.next = self.limits.val();
            StreamOut::<DmaReadReq>::join(&mut self.requests[i].output, &mut self.cuts[i].request);
            StreamOut::<ReadPiece>::join(&mut self.cuts[i].piece, &mut self.rings[i].piece);
            self.rings[i].opened.next = self.opened_reg.q.val();
            self.rings[i].end.next = self.end.val();
            self.rings[i].freed.next = self.freed.val().get_bit(i);
        }
        self.requests[0].input.valid.next = self.request.valid.val() & !self.upper.val();
        self.requests[1].input.valid.next =
            self.request.valid.val() & self.upper.val() & !self.rq_half.val();
        self.requests[2].input.valid.next =
            self.request.valid.val() & self.upper.val() & self.rq_half.val();
        self.request.ready.next = self.requests[0].input.ready.val();
        if self.upper.val() {
            self.request.ready.next = self.requests[1].input.ready.val();
            if self.rq_half.val() {
                self.request.ready.next = self.requests[2].input.ready.val();
            }
        }

        StreamOut::<ReadIssue>::join(&mut self.rings[0].issue, &mut self.issues.in0);
        StreamOut::<ReadIssue>::join(&mut self.rings[1].issue, &mut self.issues.in1);
        StreamOut::<ReadIssue>::join(&mut self.rings[2].issue, &mut self.issues.in2);
        // There is no fourth class.
        self.issues.in3.data.next = self.rings[2].issue.data.val();
        self.issues.in3.valid.next = false;

        StreamOut::<ReadIssue>::join(&mut self.issues.output, &mut self.budget.from);
        self.budget.now.next = self.now.val();
        self.budget.end.next = self.end.val();

        self.taken.next = self.budget.to.data.val();
        self.budget.to.ready.next = self.tlps.input.ready.val();
        self.go.next = self.budget.to.valid.val() & self.tlps.input.ready.val();
        self.tlps.input.valid.next = self.budget.to.valid.val() & self.taken.val().read;
        self.tlps.input.data.next.write = false;
        self.tlps.input.data.next.addr = self.taken.val().addr;
        self.tlps.input.data.next.dwords = bit_cast::<11, 8>(self.taken.val().dwords);
        self.tlps.input.data.next.first_be = self.taken.val().first_be;
        self.tlps.input.data.next.last_be = self.taken.val().last_be;
        self.tlps.input.data.next.tag = self.taken.val().slot;
        self.tlps.input.data.next.ordered = self.taken.val().ordered;
        StreamOut::<RqTlp>::link(&mut self.reads, &mut self.tlps.output);

        self.opened_reg.d.next.valid = self.go.val() & self.taken.val().read;
        self.opened_reg.d.next.slot = self.taken.val().slot;
        self.opened_reg.d.next.lap = self.taken.val().lap;
        self.opened_reg.d.next.end = self.taken.val().end;
        self.opened.next = self.opened_reg.q.val();
        self.record_valid_reg.d.next = self.go.val();
        self.record_reg.d.next.slot = self.taken.val().slot;
        self.record_reg.d.next.lap = self.taken.val().lap;
        self.record_reg.d.next.read = self.taken.val().read;
        self.record_reg.d.next.void = self.taken.val().void;
        self.record_reg.d.next.tag = self.taken.val().tag;
        self.record_reg.d.next.last = self.taken.val().last;
        self.record_reg.d.next.first_line = self.taken.val().first_line;
        self.record_reg.d.next.more_lines = self.taken.val().more_lines;
        self.record_reg.d.next.stamp = self.now.val();
        self.record.next = self.record_reg.q.val();
        self.record_valid.next = self.record_valid_reg.q.val();
    }
}

ferroce_emit::register_leaf!("read_split", ReadSplit::default);

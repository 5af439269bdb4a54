//! From CQEs to host writes: two neighbours that wait together go as one write.

use super::cqe_format::CqeWrite;
use crate::eq_writer::desc::{EventJob, QUEUE_GONE};
use ferroce_abi::cqe;
use ferroce_abi::eqe::EventKind;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Completions in the block's registers.
pub const PAIR_PLACES: usize = 2;

/// Bytes of a CQE.
const CQE_BYTES: u64 = ferroce_abi::limits::CQE_BYTES as u64;
/// Address bits above a pair of CQEs, up to those that differ inside of a ring.
const LINE: usize = 6;
const LINE_BITS: usize = 15;
const _: () = assert!(2 * CQE_BYTES == 1 << LINE);
const _: () = assert!(CQE_BYTES << ferroce_abi::limits::RING_LOG_MAX <= 1 << (LINE + LINE_BITS));

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
const LAST: u64 = EventKind::QpLastWqe as u64;

/// Lays out the 32 bytes of a CQE. A lone one is in both halves of the beat, since bytes outside the write are ignored.
///
/// A CQE goes at once when the write arbiter takes it. While one waits, the next two are looked at: neighbours in one
/// line of 64 bytes of one CQ become one write, unless an event must follow the first. An event goes on when the CQEs
/// before it, its own too, have been taken as host writes.
#[derive(LogicBlock, Module, Default)]
pub struct CqePair {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// CQEs and events.
    pub input: StreamIn<CqeWrite>,
    /// Host writes of 32 or 64 bytes.
    pub write: StreamOut<DmaWriteBeat>,
    /// Events.
    pub event: Signal<Out, EventJob>,
    /// There is an event.
    pub event_valid: Signal<Out, Bit>,
    /// What waits behind the output.
    next_valid: DFF<Bit>,
    next: DFF<CqeWrite>,
    /// The output.
    out_valid: DFF<Bit>,
    out_write: DFF<Bit>,
    out_event: DFF<Bit>,
    out_job: DFF<EventJob>,
    out_beat: DFF<DmaWriteBeat>,
    event_valid_out: DFF<Bit>,
    event_out: DFF<EventJob>,
    free: Signal<Local, Bit>,
    pair: Signal<Local, Bit>,
    pop: Signal<Local, Bit>,
    head: Signal<Local, CqeWrite>,
    first: Signal<Local, CqeWrite>,
    last: Signal<Local, CqeWrite>,
    low: Signal<Local, Bits<256>>,
    high: Signal<Local, Bits<256>>,
}

impl Logic for CqePair {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            next_valid,
            next,
            out_valid,
            out_write,
            out_event,
            out_job,
            out_beat,
            event_valid_out,
            event_out
        );
        self.head.next = self.input.data.val();
        self.free.next = !self.out_valid.q.val() | !self.out_write.q.val() | self.write.ready.val();
        self.pair.next = self.next_valid.q.val()
            & self.input.valid.val()
            & self.next.q.val().write
            & self.head.val().write
            & !self.next.q.val().event
            & !self.next.q.val().addr.get_bit(5)
            & self.head.val().addr.get_bit(5)
            & (self.next.q.val().cq == self.head.val().cq)
            & (self.next.q.val().addr.get_bits::<LINE_BITS>(LINE)
                == self.head.val().addr.get_bits::<LINE_BITS>(LINE));

        // The head moves to the output, beside it, or to the waiting place.
        self.pop.next = self.free.val() | !self.next_valid.q.val();
        self.input.ready.next = self.pop.val();
        if self.free.val() {
            self.next_valid.d.next =
                self.next_valid.q.val() & self.input.valid.val() & !self.pair.val();
        } else {
            self.next_valid.d.next = self.next_valid.q.val() | self.input.valid.val();
        }
        if self.pop.val() {
            self.next.d.next = self.head.val();
        }

        self.first.next = self.head.val();
        if self.next_valid.q.val() {
            self.first.next = self.next.q.val();
        }
        self.last.next = self.first.val();
        if self.pair.val() {
            self.last.next = self.head.val();
        }
        self.low.next = bit_cast::<256, 8>(self.first.val().job.opcode)
            | (bit_cast::<256, 8>(self.first.val().job.status) << STATUS)
            | (bit_cast::<256, 8>(self.first.val().job.flags) << FLAGS)
            | (bit_cast::<256, 14>(self.first.val().job.qp) << QPN)
            | (bit_cast::<256, 32>(self.first.val().job.byte_len) << BYTE_LEN)
            | (bit_cast::<256, 32>(self.first.val().job.imm) << IMM)
            | (bit_cast::<256, 16>(self.first.val().job.wqe) << WQE_INDEX)
            | (bit_cast::<256, 1>(self.first.val().phase.into()) << PHASE);
        self.high.next = bit_cast::<256, 8>(self.last.val().job.opcode)
            | (bit_cast::<256, 8>(self.last.val().job.status) << STATUS)
            | (bit_cast::<256, 8>(self.last.val().job.flags) << FLAGS)
            | (bit_cast::<256, 14>(self.last.val().job.qp) << QPN)
            | (bit_cast::<256, 32>(self.last.val().job.byte_len) << BYTE_LEN)
            | (bit_cast::<256, 32>(self.last.val().job.imm) << IMM)
            | (bit_cast::<256, 16>(self.last.val().job.wqe) << WQE_INDEX)
            | (bit_cast::<256, 1>(self.last.val().phase.into()) << PHASE);
        if self.free.val() {
            self.out_valid.d.next = self.next_valid.q.val() | self.input.valid.val();
            self.out_write.d.next = self.first.val().write;
            self.out_event.d.next =
                self.last.val().event | self.last.val().gone | self.last.val().last;
            self.out_job.d.next.kind = COMPLETION.into();
            if self.last.val().overrun {
                self.out_job.d.next.kind = OVERRUN.into();
            } else if self.last.val().gone {
                self.out_job.d.next.kind = QUEUE_GONE.into();
            } else if self.last.val().last {
                self.out_job.d.next.kind = LAST.into();
            }
            self.out_job.d.next.index = self.last.val().cq;
            if self.last.val().last {
                self.out_job.d.next.index = self.last.val().job.qp;
            }
            self.out_job.d.next.eq = self.last.val().eq;
            self.out_beat.d.next.data = bit_cast::<512, 256>(self.low.val())
                | (bit_cast::<512, 256>(self.high.val()) << 256);
            self.out_beat.d.next.addr = self.first.val().addr;
            self.out_beat.d.next.len = CQE_BYTES.into();
            if self.pair.val() {
                self.out_beat.d.next.len = (2 * CQE_BYTES).into();
            }
            self.out_beat.d.next.last = true;
        }
        self.write.valid.next = self.out_valid.q.val() & self.out_write.q.val();
        self.write.data.next = self.out_beat.q.val();
        self.event_valid_out.d.next =
            self.out_valid.q.val() & self.out_event.q.val() & self.free.val();
        self.event_out.d.next = self.out_job.q.val();
        self.event.next = self.event_out.q.val();
        self.event_valid.next = self.event_valid_out.q.val();
    }
}

ferroce_emit::register_leaf!("cqe_pair", CqePair::default);

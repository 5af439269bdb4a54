//! What queries answer.

use super::command_table::object_number;
use super::desc::{CqRecord, QpPosition, QpRecord, QueuePosition, SrqPosition};
use ferroce_abi::cfg::{field_offset, BitField, QpInfo, QueueInfo, SrqInfo};
use ferroce_abi::limits::SRQ_BITS;
use ferroce_abi::mailbox::Object;
use ferroce_emit::prelude::*;

const QP: u64 = object_number(Object::Qp);
const CQ: u64 = object_number(Object::Cq);
const EQ: u64 = object_number(Object::Eq);
const AH: u64 = object_number(Object::Ah);
const SRQ: u64 = object_number(Object::Srq);

const fn qp(name: &str) -> u64 {
    field_offset(QpInfo::FIELDS, name) as u64
}
const fn queue(name: &str) -> u64 {
    field_offset(QueueInfo::FIELDS, name) as u64
}
const fn srq(name: &str) -> u64 {
    field_offset(SrqInfo::FIELDS, name) as u64
}
const fn bits_of(fields: &[BitField]) -> usize {
    fields[fields.len() - 1].offset + fields[fields.len() - 1].width
}
const QP_STATE: u64 = qp("state");
const QP_HAS_RECV: u64 = qp("has_recv");
const QP_RECV_CQ: u64 = qp("recv_cq");
const QP_HAS_SEND: u64 = qp("has_send");
const QP_SEND_CQ: u64 = qp("send_cq");
const QP_SQ_PSN: u64 = qp("sq_psn");
const QP_UNA_PSN: u64 = qp("una_psn");
const QP_SQ_POSTED: u64 = qp("sq_posted");
const QP_SQ_BEGUN: u64 = qp("sq_begun");
const QP_SQ_OLDEST: u64 = qp("sq_oldest");
const QP_RQ_POSTED: u64 = qp("rq_posted");
const QP_RQ_NEXT: u64 = qp("rq_next");
const QP_HAS_SRQ: u64 = qp("has_srq");
const QP_SRQ: u64 = qp("srq");
const SRQ_LIMIT: u64 = srq("limit");
const SRQ_POSTED: u64 = srq("posted");
const SRQ_NEXT: u64 = srq("next");
const QUEUE_LOST: u64 = queue("lost");
const QUEUE_ARMED: u64 = queue("armed");
const QUEUE_PRODUCER: u64 = queue("producer");
const QUEUE_CONSUMER: u64 = queue("consumer");
const QUEUE_HAS_EQ: u64 = queue("has_eq");
const QUEUE_EQ: u64 = queue("eq");
/// Bits of an answer: four words.
pub const ANSWER_BITS: usize = 256;
const _: () = assert!(bits_of(QpInfo::FIELDS) <= ANSWER_BITS);
const _: () = assert!(bits_of(QueueInfo::FIELDS) <= ANSWER_BITS);
const _: () = assert!(bits_of(SrqInfo::FIELDS) <= ANSWER_BITS);

/// Lays the answer out and keeps it until the next one.
#[derive(LogicBlock, Module, Default)]
pub struct QueryAnswer {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Take what is asked for now.
    pub take: Signal<In, Bit>,
    /// Kind of object, see [`object_number`]. Of a region there is nothing to tell.
    pub object: Signal<In, Bits<3>>,
    /// Record of the QP.
    pub qp: Signal<In, QpRecord>,
    /// Where it is.
    pub qp_position: Signal<In, QpPosition>,
    /// Record of the CQ.
    pub cq: Signal<In, CqRecord>,
    /// Where it is.
    pub cq_position: Signal<In, QueuePosition>,
    /// Where the EQ is.
    pub eq_position: Signal<In, QueuePosition>,
    /// What the AH holds.
    pub ah: Signal<In, Bits<ANSWER_BITS>>,
    /// Where the SRQ is.
    pub srq_position: Signal<In, SrqPosition>,
    /// The answer.
    pub answer: Signal<Out, Bits<ANSWER_BITS>>,
    kept: DFF<Bits<ANSWER_BITS>>,
    queue: Signal<Local, QueuePosition>,
}

impl Logic for QueryAnswer {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, kept);
        self.queue.next = self.eq_position.val();
        if self.object.val() == CQ {
            self.queue.next = self.cq_position.val();
        }
        if self.take.val() {
            self.kept.d.next = 0.into();
            if self.object.val() == QP {
                self.kept.d.next = (bit_cast::<256, 3>(self.qp.val().state) << QP_STATE)
                    | (bit_cast::<256, 1>(self.qp.val().has_recv.into()) << QP_HAS_RECV)
                    | (bit_cast::<256, 14>(self.qp.val().recv_cq) << QP_RECV_CQ)
                    | (bit_cast::<256, 1>(self.qp.val().has_send.into()) << QP_HAS_SEND)
                    | (bit_cast::<256, 14>(self.qp.val().send_cq) << QP_SEND_CQ)
                    | (bit_cast::<256, 24>(self.qp_position.val().sq_psn) << QP_SQ_PSN)
                    | (bit_cast::<256, 24>(self.qp_position.val().una_psn) << QP_UNA_PSN)
                    | (bit_cast::<256, 16>(self.qp_position.val().sq_posted) << QP_SQ_POSTED)
                    | (bit_cast::<256, 16>(self.qp_position.val().sq_begun) << QP_SQ_BEGUN)
                    | (bit_cast::<256, 16>(self.qp_position.val().sq_oldest) << QP_SQ_OLDEST)
                    | (bit_cast::<256, 16>(self.qp_position.val().rq_posted) << QP_RQ_POSTED)
                    | (bit_cast::<256, 16>(self.qp_position.val().rq_next) << QP_RQ_NEXT)
                    | (bit_cast::<256, 1>(self.qp.val().has_srq.into()) << QP_HAS_SRQ)
                    | (bit_cast::<256, SRQ_BITS>(self.qp.val().srq) << QP_SRQ);
            } else if self.object.val() == SRQ {
                self.kept.d.next = (bit_cast::<256, 16>(self.srq_position.val().limit)
                    << SRQ_LIMIT)
                    | (bit_cast::<256, 16>(self.srq_position.val().posted) << SRQ_POSTED)
                    | (bit_cast::<256, 16>(self.srq_position.val().taken) << SRQ_NEXT);
            } else if (self.object.val() == CQ) | (self.object.val() == EQ) {
                self.kept.d.next = (bit_cast::<256, 1>(self.queue.val().lost.into()) << QUEUE_LOST)
                    | (bit_cast::<256, 1>(self.queue.val().armed.into()) << QUEUE_ARMED)
                    | (bit_cast::<256, 24>(self.queue.val().producer) << QUEUE_PRODUCER)
                    | (bit_cast::<256, 24>(self.queue.val().consumer) << QUEUE_CONSUMER)
                    | (bit_cast::<256, 1>(
                        (self.cq.val().has_eq & (self.object.val() == CQ)).into(),
                    ) << QUEUE_HAS_EQ)
                    | (bit_cast::<256, 7>(self.cq.val().eq) << QUEUE_EQ);
            } else if self.object.val() == AH {
                self.kept.d.next = self.ah.val();
            }
        }
        self.answer.next = self.kept.q.val();
    }
}

ferroce_emit::register_leaf!("query_answer", QueryAnswer::default);

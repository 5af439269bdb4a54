//! Where each QP is, for queries.

use crate::bar::desc::QpPosition;
use crate::wqe_cache::desc::WindowPub;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::tx::{CompleterPub, Consumed, SenderPub};
use ferroce_rtl::ram::Ram;

/// PSN after the highest one sent, and index after the newest WQE begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SentUpTo {
    /// PSN.
    pub psn: Bits<24>,
    /// SQ index.
    pub wqe: Bits<16>,
}

/// Copies of what the owners of a QP's state publish, each beside its owner's own RAM in time; queries disturb nobody.
#[derive(LogicBlock, Module)]
pub struct QpView {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Of the sender.
    pub sender: Signal<In, SenderPub>,
    /// Of the completer.
    pub completer: Signal<In, CompleterPub>,
    /// Of the SQ's WQE cache.
    pub sq: Signal<In, WindowPub>,
    /// Of the RQ's WQE cache. SRQs, which are numbered behind the QPs, are not kept.
    pub rq: Signal<In, WindowPub>,
    /// The responder has moved on in an RQ.
    pub received: Signal<In, Bit>,
    /// To here.
    pub position: Signal<In, Consumed>,
    /// QP to look at.
    pub qp: Signal<In, Bits<14>>,
    /// Where it is, three cycles later.
    pub shown: Signal<Out, QpPosition>,
    /// Number of the first SRQ among the receive queues.
    first_srq: Constant<Bits<14>>,
    sent: Ram<SentUpTo>,
    oldest: Ram<SentUpTo>,
    sq_posted: Ram<Bits<16>>,
    rq_posted: Ram<Bits<16>>,
    rq_next: Ram<Bits<16>>,
    sender_now: DFF<SenderPub>,
    completer_now: DFF<CompleterPub>,
    sq_now: DFF<WindowPub>,
    rq_now: DFF<WindowPub>,
    received_now: DFF<Bit>,
    position_now: DFF<Consumed>,
    qp_now: DFF<Bits<14>>,
}

impl QpView {
    /// For `2^qps_log2` QPs.
    #[must_use]
    pub fn new(qps_log2: usize) -> Self {
        Self {
            first_srq: Constant::new((1u64 << qps_log2).into()),
            sent: Ram::new(qps_log2),
            oldest: Ram::new(qps_log2),
            sq_posted: Ram::new(qps_log2),
            rq_posted: Ram::new(qps_log2),
            rq_next: Ram::new(qps_log2),
            clock: Signal::default(),
            sender: Signal::default(),
            completer: Signal::default(),
            sq: Signal::default(),
            rq: Signal::default(),
            received: Signal::default(),
            position: Signal::default(),
            qp: Signal::default(),
            shown: Signal::default(),
            sender_now: DFF::default(),
            completer_now: DFF::default(),
            sq_now: DFF::default(),
            rq_now: DFF::default(),
            received_now: DFF::default(),
            position_now: DFF::default(),
            qp_now: DFF::default(),
        }
    }
}

/// 8 QPs.
impl Default for QpView {
    fn default() -> Self {
        Self::new(3)
    }
}

impl Logic for QpView {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            sender_now,
            completer_now,
            sq_now,
            rq_now,
            received_now,
            position_now,
            qp_now
        );
        clock!(self, clock, sent, oldest, sq_posted, rq_posted, rq_next);
        self.sender_now.d.next = self.sender.val();
        self.completer_now.d.next = self.completer.val();
        self.sq_now.d.next = self.sq.val();
        self.rq_now.d.next = self.rq.val();
        self.received_now.d.next = self.received.val();
        self.position_now.d.next = self.position.val();
        self.qp_now.d.next = self.qp.val();

        self.sent.wr_valid.next = self.sender_now.q.val().valid;
        self.sent.wr_addr.next = bit_cast::<20, 14>(self.sender_now.q.val().qp);
        self.sent.wr_data.next.psn = self.sender_now.q.val().max_psn;
        self.sent.wr_data.next.wqe = self.sender_now.q.val().begun;
        self.oldest.wr_valid.next = self.completer_now.q.val().valid;
        self.oldest.wr_addr.next = bit_cast::<20, 14>(self.completer_now.q.val().qp);
        self.oldest.wr_data.next.psn = self.completer_now.q.val().una_psn;
        self.oldest.wr_data.next.wqe = self.completer_now.q.val().una_wqe;
        self.sq_posted.wr_valid.next = self.sq_now.q.val().valid;
        self.sq_posted.wr_addr.next = bit_cast::<20, 14>(self.sq_now.q.val().qp);
        self.sq_posted.wr_data.next = self.sq_now.q.val().producer;
        self.rq_posted.wr_valid.next =
            self.rq_now.q.val().valid & !(self.rq_now.q.val().qp & self.first_srq.val()).any();
        self.rq_posted.wr_addr.next = bit_cast::<20, 14>(self.rq_now.q.val().qp);
        self.rq_posted.wr_data.next = self.rq_now.q.val().producer;
        self.rq_next.wr_valid.next = self.received_now.q.val()
            & !(self.position_now.q.val().qp & self.first_srq.val()).any();
        self.rq_next.wr_addr.next = bit_cast::<20, 14>(self.position_now.q.val().qp);
        self.rq_next.wr_data.next = self.position_now.q.val().wqe;

        self.sent.rd_addr.next = bit_cast::<20, 14>(self.qp_now.q.val());
        self.oldest.rd_addr.next = bit_cast::<20, 14>(self.qp_now.q.val());
        self.sq_posted.rd_addr.next = bit_cast::<20, 14>(self.qp_now.q.val());
        self.rq_posted.rd_addr.next = bit_cast::<20, 14>(self.qp_now.q.val());
        self.rq_next.rd_addr.next = bit_cast::<20, 14>(self.qp_now.q.val());
        self.shown.next.sq_psn = self.sent.rd_data.val().psn;
        self.shown.next.una_psn = self.oldest.rd_data.val().psn;
        self.shown.next.sq_posted = self.sq_posted.rd_data.val();
        self.shown.next.sq_begun = self.sent.rd_data.val().wqe;
        self.shown.next.sq_oldest = self.oldest.rd_data.val().wqe;
        self.shown.next.rq_posted = self.rq_posted.rd_data.val();
        self.shown.next.rq_next = self.rq_next.rd_data.val();
    }
}

ferroce_emit::register_leaf!("qp_view", QpView::default);

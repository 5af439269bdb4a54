//! Which objects exist, and which of them use which.

use super::desc::{CqRecord, QpRecord};
use crate::config::NicConfig;
use ferroce_abi::limits::SRQ_BITS;
use ferroce_emit::prelude::*;
use ferroce_rtl::ram::Ram;

/// Cycles from the last look of a search to what it found.
const SEARCH_TAIL: u64 = 8;

/// A record of every QP, CQ, EQ, SRQ, memory region and address handle. There are no counts of uses that could go wrong: whether an object is in use is found by a
/// search through the records of all that could use it, one a cycle, which only commands that take it away make.
#[derive(LogicBlock, Module)]
pub struct ObjectBook {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Object of the command.
    pub index: Signal<In, Bits<14>>,
    /// MR of the command.
    pub mr: Signal<In, Bits<16>>,
    /// Look at `look_cq`, `look_eq` and `look_srq` instead.
    pub look: Signal<In, Bit>,
    /// CQ to look at.
    pub look_cq: Signal<In, Bits<14>>,
    /// EQ to look at.
    pub look_eq: Signal<In, Bits<7>>,
    /// SRQ to look at.
    pub look_srq: Signal<In, Bits<SRQ_BITS>>,
    /// Go through all QPs, CQs and SRQs while this is high, and see whether they use CQ, EQ or SRQ `index`.
    pub search: Signal<In, Bit>,
    /// The search is for an EQ.
    pub search_eq: Signal<In, Bit>,
    /// The search is for an SRQ.
    pub search_srq: Signal<In, Bit>,
    /// The search is over.
    pub searched: Signal<Out, Bit>,
    /// It has found a user.
    pub in_use: Signal<Out, Bit>,
    /// Replace the QP's record.
    pub write_qp: Signal<In, Bit>,
    /// Replace the CQ's record.
    pub write_cq: Signal<In, Bit>,
    /// Replace the EQ's record.
    pub write_eq: Signal<In, Bit>,
    /// Replace the SRQ's record.
    pub write_srq: Signal<In, Bit>,
    /// Replace the MR's record.
    pub write_mr: Signal<In, Bit>,
    /// Replace the AH's record.
    pub write_ah: Signal<In, Bit>,
    /// Replace the port's record: `has_eq` and `eq` of `new_cq`.
    pub write_port: Signal<In, Bit>,
    /// The QP's new record.
    pub new_qp: Signal<In, QpRecord>,
    /// The new record of a CQ or SRQ; `exists` is that of an EQ, MR or AH too.
    pub new_cq: Signal<In, CqRecord>,
    /// Record of the QP, two cycles after its index.
    pub qp: Signal<Out, QpRecord>,
    /// Record of the CQ.
    pub cq: Signal<Out, CqRecord>,
    /// Record of the SRQ.
    pub srq: Signal<Out, CqRecord>,
    /// The EQ exists.
    pub eq_exists: Signal<Out, Bit>,
    /// The MR exists.
    pub mr_exists: Signal<Out, Bit>,
    /// The AH exists.
    pub ah_exists: Signal<Out, Bit>,
    /// Where a search ends.
    end: Constant<Bits<16>>,
    qps: Ram<QpRecord>,
    cqs: Ram<CqRecord>,
    eqs: Ram<Bit>,
    srqs: Ram<CqRecord>,
    mrs: Ram<Bit>,
    ahs: Ram<Bit>,
    count: DFF<Bits<16>>,
    valid1: DFF<Bit>,
    valid2: DFF<Bit>,
    by_recv: DFF<Bit>,
    by_send: DFF<Bit>,
    by_cq: DFF<Bit>,
    by_srq: DFF<Bit>,
    by_taker: DFF<Bit>,
    by_port: DFF<Bit>,
    port_has_eq: DFF<Bit>,
    port_eq: DFF<Bits<7>>,
    found: DFF<Bit>,
    over: DFF<Bit>,
}

impl ObjectBook {
    /// For the tables of such a card.
    #[must_use]
    pub fn new(config: &NicConfig) -> Self {
        // There are not more SRQs than QPs.
        let end = (1 << config.qps_log2.max(config.cqs_log2)) + SEARCH_TAIL;
        Self {
            clock: Signal::default(),
            index: Signal::default(),
            mr: Signal::default(),
            look: Signal::default(),
            look_cq: Signal::default(),
            look_eq: Signal::default(),
            look_srq: Signal::default(),
            search: Signal::default(),
            search_eq: Signal::default(),
            search_srq: Signal::default(),
            searched: Signal::default(),
            in_use: Signal::default(),
            write_qp: Signal::default(),
            write_cq: Signal::default(),
            write_eq: Signal::default(),
            write_srq: Signal::default(),
            write_mr: Signal::default(),
            write_ah: Signal::default(),
            write_port: Signal::default(),
            new_qp: Signal::default(),
            new_cq: Signal::default(),
            qp: Signal::default(),
            cq: Signal::default(),
            srq: Signal::default(),
            eq_exists: Signal::default(),
            mr_exists: Signal::default(),
            ah_exists: Signal::default(),
            end: Constant::new(end.into()),
            qps: Ram::new(config.qps_log2),
            cqs: Ram::new(config.cqs_log2),
            eqs: Ram::new(config.eqs_log2),
            srqs: Ram::new(config.srqs_log2),
            mrs: Ram::new(config.mrs_log2),
            ahs: Ram::new(config.ahs_log2),
            count: DFF::default(),
            valid1: DFF::default(),
            valid2: DFF::default(),
            by_recv: DFF::default(),
            by_send: DFF::default(),
            by_cq: DFF::default(),
            by_srq: DFF::default(),
            by_taker: DFF::default(),
            by_port: DFF::default(),
            port_has_eq: DFF::default(),
            port_eq: DFF::default(),
            found: DFF::default(),
            over: DFF::default(),
        }
    }
}

/// For a small card.
impl Default for ObjectBook {
    fn default() -> Self {
        Self::new(&NicConfig::SMALL)
    }
}

impl Logic for ObjectBook {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, count, valid1, valid2, by_recv, by_send, by_cq, found, over);
        dff_setup!(self, clock, by_srq, by_taker);
        dff_setup!(self, clock, by_port, port_has_eq, port_eq);
        if self.write_port.val() {
            self.port_has_eq.d.next = self.new_cq.val().has_eq;
            self.port_eq.d.next = self.new_cq.val().eq;
        }
        self.by_port.d.next = self.port_has_eq.q.val()
            & (bit_cast::<14, 7>(self.port_eq.q.val()) == self.index.val());
        clock!(self, clock, qps, cqs, eqs, srqs, mrs, ahs);
        self.qps.wr_valid.next = self.write_qp.val();
        self.qps.wr_addr.next = bit_cast::<20, 14>(self.index.val());
        self.qps.wr_data.next = self.new_qp.val();
        self.cqs.wr_valid.next = self.write_cq.val();
        self.cqs.wr_addr.next = bit_cast::<20, 14>(self.index.val());
        self.cqs.wr_data.next = self.new_cq.val();
        self.srqs.wr_valid.next = self.write_srq.val();
        self.srqs.wr_addr.next = bit_cast::<20, 14>(self.index.val());
        self.srqs.wr_data.next = self.new_cq.val();
        self.eqs.wr_valid.next = self.write_eq.val();
        self.eqs.wr_addr.next = bit_cast::<20, 14>(self.index.val());
        self.eqs.wr_data.next = self.new_cq.val().exists;
        self.mrs.wr_valid.next = self.write_mr.val();
        self.mrs.wr_addr.next = bit_cast::<20, 16>(self.mr.val());
        self.mrs.wr_data.next = self.new_cq.val().exists;
        self.ahs.wr_valid.next = self.write_ah.val();
        self.ahs.wr_addr.next = bit_cast::<20, 14>(self.index.val());
        self.ahs.wr_data.next = self.new_cq.val().exists;

        self.qps.rd_addr.next = bit_cast::<20, 14>(self.index.val());
        self.cqs.rd_addr.next = bit_cast::<20, 14>(self.index.val());
        self.eqs.rd_addr.next = bit_cast::<20, 14>(self.index.val());
        self.srqs.rd_addr.next = bit_cast::<20, 14>(self.index.val());
        self.mrs.rd_addr.next = bit_cast::<20, 16>(self.mr.val());
        self.ahs.rd_addr.next = bit_cast::<20, 14>(self.index.val());
        if self.search.val() {
            self.qps.rd_addr.next = bit_cast::<20, 16>(self.count.q.val());
            self.cqs.rd_addr.next = bit_cast::<20, 16>(self.count.q.val());
            self.srqs.rd_addr.next = bit_cast::<20, 16>(self.count.q.val());
        } else if self.look.val() {
            self.cqs.rd_addr.next = bit_cast::<20, 14>(self.look_cq.val());
            self.eqs.rd_addr.next = bit_cast::<20, 7>(self.look_eq.val());
            self.srqs.rd_addr.next = bit_cast::<20, SRQ_BITS>(self.look_srq.val());
        }
        self.qp.next = self.qps.rd_data.val();
        self.cq.next = self.cqs.rd_data.val();
        self.srq.next = self.srqs.rd_data.val();
        self.eq_exists.next = self.eqs.rd_data.val();
        self.mr_exists.next = self.mrs.rd_data.val();
        self.ah_exists.next = self.ahs.rd_data.val();

        // A smaller table is gone through more than once, which finds the same.
        self.count.d.next = 0.into();
        self.over.d.next = false;
        self.found.d.next = false;
        if self.search.val() {
            self.count.d.next = self.count.q.val() + 1;
            self.over.d.next = self.over.q.val() | (self.count.q.val() == self.end.val());
            self.found.d.next = self.found.q.val()
                | (self.search_eq.val()
                    & (self.by_cq.q.val() | self.by_srq.q.val() | self.by_port.q.val()))
                | (self.search_srq.val() & self.by_taker.q.val())
                | (!self.search_eq.val()
                    & !self.search_srq.val()
                    & (self.by_recv.q.val() | self.by_send.q.val()));
        }
        self.valid1.d.next = self.search.val();
        self.valid2.d.next = self.valid1.q.val();
        self.by_recv.d.next = self.valid2.q.val()
            & self.qps.rd_data.val().has_recv
            & (self.qps.rd_data.val().recv_cq == self.index.val());
        self.by_send.d.next = self.valid2.q.val()
            & self.qps.rd_data.val().has_send
            & (self.qps.rd_data.val().send_cq == self.index.val());
        self.by_cq.d.next = self.valid2.q.val()
            & self.cqs.rd_data.val().exists
            & self.cqs.rd_data.val().has_eq
            & (bit_cast::<14, 7>(self.cqs.rd_data.val().eq) == self.index.val());
        self.by_srq.d.next = self.valid2.q.val()
            & self.srqs.rd_data.val().exists
            & self.srqs.rd_data.val().has_eq
            & (bit_cast::<14, 7>(self.srqs.rd_data.val().eq) == self.index.val());
        self.by_taker.d.next = self.valid2.q.val()
            & self.qps.rd_data.val().has_srq
            & (bit_cast::<14, SRQ_BITS>(self.qps.rd_data.val().srq) == self.index.val());
        self.searched.next = self.over.q.val();
        self.in_use.next = self.found.q.val();
    }
}

ferroce_emit::register_leaf!("object_book", ObjectBook::default);

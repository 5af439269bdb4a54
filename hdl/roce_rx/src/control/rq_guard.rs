//! Patience with receive WQEs that are posted but not in the cache yet.

use ferroce_abi::cfg::field_offset as offset;
use ferroce_abi::cfg::ResponderCfg;
use ferroce_abi::limits::SRQ_BITS;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::rx::{RqPosition, RqPub, RxMeta};
use ferroce_rtl::ram::Ram;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Receive WQEs in the cache, as known here, that make a closer look needless: six packets for the queue
/// may be under way of which the position read here does not know.
const PLENTY: u64 = 7;
/// Cycles without a start until what was read here is exact: 9 from a start to its position, 2 to read it,
/// one to compare it, and spare.
const SETTLED: u64 = 14;
const SHARED: usize = offset(ResponderCfg::FIELDS, "shared");
const SRQ: usize = offset(ResponderCfg::FIELDS, "srq");
/// Cycles that a packet waits at most, 65 us: longer than a fetch ever takes, so that a queue without memory
/// behind it can't stop the others for good.
const LONGEST_WAIT: u64 = 1 << 14;

/// Whether a QP has an SRQ, and which.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct SrqUse {
    shared: Bit,
    srq: Bits<SRQ_BITS>,
}

/// A receive queue as its WQE cache sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Fill {
    fetched: Bits<16>,
    posted: Bits<16>,
}

/// Passes packets on, one every second cycle. A packet that needs a receive WQE is held back while the next one is posted
/// but still on its way from host memory: an RNR NAK would cost the peer a thousand times as long. An RQ that is
/// really empty holds nothing back.
///
/// Four places: `m` finds the packet's receive queue, `a` reads, `b` compares, `head` waits. What is read is at most [`PLENTY`] - 1 packets old;
/// when that is not good enough, the head lets everything before it pass and reads again.
#[derive(LogicBlock, Module)]
pub struct RqGuard {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Packets in.
    pub packets: StreamIn<RxMeta>,
    /// The same packets.
    pub released: StreamOut<RxMeta>,
    /// Configuration: which QPs have an SRQ; `RESPONDER` entries.
    pub cfg: Signal<In, CfgWrite>,
    /// Fill of the RQ WQE cache.
    pub rq_pub: Signal<In, RqPub>,
    /// The responder's positions.
    pub position: Signal<In, RqPosition>,
    /// Something enters the pipeline in this cycle.
    pub start: Signal<In, Bit>,
    qps: Constant<Bits<24>>,
    /// Number of the first SRQ among the receive queues.
    first_srq: Constant<Bits<14>>,
    srq_mask: Constant<Bits<SRQ_BITS>>,
    own_mask: Constant<Bits<14>>,
    uses: Ram<SrqUse>,
    cfg_valid: DFF<Bit>,
    cfg_qp: DFF<Bits<14>>,
    cfg_use: DFF<SrqUse>,
    m_valid: DFF<Bit>,
    m: DFF<RxMeta>,
    a_fresh: DFF<Bit>,
    /// Receive queue of `a`, of `b`, of the head.
    a_queue: DFF<Bits<14>>,
    b_queue: DFF<Bits<14>>,
    head_queue: DFF<Bits<14>>,
    fills: Ram<Fill>,
    positions: Ram<Bits<16>>,
    a_valid: DFF<Bit>,
    a: DFF<RxMeta>,
    b_valid: DFF<Bit>,
    b: DFF<RxMeta>,
    b_fresh: DFF<Bit>,
    b_plenty: DFF<Bit>,
    head_valid: DFF<Bit>,
    head: DFF<RxMeta>,
    /// The head must look closer.
    doubt: DFF<Bit>,
    /// It has, and may go.
    cleared: DFF<Bit>,
    pause: DFF<Bit>,
    calm: DFF<Bits<4>>,
    /// The read port has been the head's for one, two, three cycles: `there` and `none` are about it.
    looked1: DFF<Bit>,
    looked2: DFF<Bit>,
    looked3: DFF<Bit>,
    patience: DFF<Bits<15>>,
    there: DFF<Bit>,
    none: DFF<Bit>,
    op: Signal<Local, Bits<5>>,
    needs: Signal<Local, Bit>,
    level: Signal<Local, Bits<16>>,
    leave: Signal<Local, Bit>,
    advance: Signal<Local, Bit>,
    found: Signal<Local, Bits<14>>,
    look: Signal<Local, Bits<14>>,
}

impl RqGuard {
    /// For `2^log2_qps` QPs and `2^log2_srqs` SRQs.
    #[must_use]
    pub fn new(log2_qps: usize, log2_srqs: usize) -> Self {
        Self {
            clock: Signal::default(),
            packets: StreamIn::default(),
            released: StreamOut::default(),
            cfg: Signal::default(),
            rq_pub: Signal::default(),
            position: Signal::default(),
            start: Signal::default(),
            qps: Constant::new((1u64 << log2_qps).into()),
            first_srq: Constant::new((1u64 << log2_qps).into()),
            srq_mask: Constant::new(((1u64 << log2_srqs) - 1).into()),
            own_mask: Constant::new(((1u64 << log2_qps) - 1).into()),
            uses: Ram::new(log2_qps),
            cfg_valid: DFF::default(),
            cfg_qp: DFF::default(),
            cfg_use: DFF::default(),
            m_valid: DFF::default(),
            m: DFF::default(),
            a_fresh: DFF::default(),
            a_queue: DFF::default(),
            b_queue: DFF::default(),
            head_queue: DFF::default(),
            fills: Ram::new(log2_qps + 1),
            positions: Ram::new(log2_qps + 1),
            a_valid: DFF::default(),
            a: DFF::default(),
            b_valid: DFF::default(),
            b: DFF::default(),
            b_fresh: DFF::default(),
            b_plenty: DFF::default(),
            head_valid: DFF::default(),
            head: DFF::default(),
            doubt: DFF::default(),
            cleared: DFF::default(),
            pause: DFF::default(),
            calm: DFF::default(),
            looked1: DFF::default(),
            looked2: DFF::default(),
            looked3: DFF::default(),
            patience: DFF::default(),
            there: DFF::default(),
            none: DFF::default(),
            op: Signal::default(),
            needs: Signal::default(),
            level: Signal::default(),
            leave: Signal::default(),
            advance: Signal::default(),
            found: Signal::default(),
            look: Signal::default(),
        }
    }
}

/// 16 QPs and 4 SRQs.
impl Default for RqGuard {
    fn default() -> Self {
        Self::new(4, 2)
    }
}

impl Logic for RqGuard {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, a_valid, a, b_valid, b, b_fresh, b_plenty, head_valid, head, doubt,
            cleared, pause, calm, looked1, looked2, looked3, patience, there, none
        );
        dff_setup!(
            self, clock, cfg_valid, cfg_qp, cfg_use, m_valid, m, a_fresh, a_queue, b_queue,
            head_queue
        );
        clock!(self, clock, uses, fills, positions);
        self.fills.wr_valid.next = self.rq_pub.val().valid;
        self.fills.wr_addr.next = bit_cast::<20, 14>(self.rq_pub.val().queue);
        self.fills.wr_data.next.fetched = self.rq_pub.val().fetched;
        self.fills.wr_data.next.posted = self.rq_pub.val().posted;
        self.positions.wr_valid.next = self.position.val().valid;
        self.positions.wr_addr.next = bit_cast::<20, 14>(self.position.val().queue);
        self.positions.wr_data.next = self.position.val().rq;

        self.cfg_valid.d.next = self.cfg.val().valid & (self.cfg.val().table == table::RESPONDER);
        self.cfg_qp.d.next = self.cfg.val().index.get_bits::<14>(0);
        self.cfg_use.d.next.shared = self.cfg.val().data.get_bit(SHARED);
        self.cfg_use.d.next.srq = self.cfg.val().data.get_bits::<SRQ_BITS>(SRQ);
        self.uses.wr_valid.next = self.cfg_valid.q.val();
        self.uses.wr_addr.next = bit_cast::<20, 14>(self.cfg_qp.q.val());
        self.uses.wr_data.next = self.cfg_use.q.val();
        self.uses.rd_addr.next = bit_cast::<20, 24>(self.m.q.val().dqpn);

        // The places move on when the head leaves, every second cycle at most. After a closer look `a` gets
        // the read port back first.
        self.released.data.next = self.head.q.val();
        self.released.valid.next =
            self.head_valid.q.val() & (!self.doubt.q.val() | self.cleared.q.val());
        self.leave.next = self.released.ready.val()
            & self.head_valid.q.val()
            & (!self.doubt.q.val() | self.cleared.q.val());
        self.advance.next = (!self.head_valid.q.val() | (self.leave.val() & !self.doubt.q.val()))
            & !self.pause.q.val();
        self.packets.ready.next = self.advance.val();
        self.pause.d.next = self.advance.val() | (self.leave.val() & self.doubt.q.val());
        if self.leave.val() {
            self.head_valid.d.next = false;
            self.doubt.d.next = false;
        }
        // What was read for `a` while it stood in `m`.
        self.a_fresh.d.next = self.advance.val();
        self.found.next = self.a_queue.q.val();
        if self.a_fresh.q.val() {
            self.found.next = self.a.q.val().dqpn.get_bits::<14>(0) & self.own_mask.val();
            if self.uses.rd_data.val().shared {
                self.found.next =
                    bit_cast::<14, SRQ_BITS>(self.uses.rd_data.val().srq & self.srq_mask.val())
                        | self.first_srq.val();
            }
        }
        self.a_queue.d.next = self.found.val();
        self.op.next = self.b.q.val().opcode.get_bits::<5>(0);
        // SEND FIRST and ONLY, WRITE with immediate.
        self.needs.next = (self.op.val() == 0x00)
            | (self.op.val() == 0x04)
            | (self.op.val() == 0x05)
            | (self.op.val() == 0x09)
            | (self.op.val() == 0x0B);
        self.b_fresh.d.next = self.advance.val();
        if self.advance.val() {
            self.m.d.next = self.packets.data.val();
            self.m_valid.d.next = self.packets.valid.val();
            self.a.d.next = self.m.q.val();
            self.a_valid.d.next = self.m_valid.q.val();
            self.b.d.next = self.a.q.val();
            self.b_valid.d.next = self.a_valid.q.val();
            self.b_queue.d.next = self.found.val();
            self.head_queue.d.next = self.b_queue.q.val();
            self.head.d.next = self.b.q.val();
            self.head_valid.d.next = self.b_valid.q.val();
            self.doubt.d.next = self.b_valid.q.val()
                & self.needs.val()
                & !self.b_plenty.q.val()
                & (self.b.q.val().dqpn < self.qps.val());
        }

        // What was read for `b` while it stood in `a`.
        self.look.next = self.found.val();
        if self.doubt.q.val() {
            self.look.next = self.head_queue.q.val();
        }
        self.fills.rd_addr.next = bit_cast::<20, 14>(self.look.val());
        self.positions.rd_addr.next = bit_cast::<20, 14>(self.look.val());
        self.level.next = self.fills.rd_data.val().fetched - self.positions.rd_data.val();
        if self.b_fresh.q.val() {
            self.b_plenty.d.next = self.level.val() >= PLENTY;
        }

        // The closer look.
        self.there.d.next = self.fills.rd_data.val().fetched != self.positions.rd_data.val();
        self.none.d.next = self.fills.rd_data.val().fetched == self.fills.rd_data.val().posted;
        if self.start.val() {
            self.calm.d.next = 0.into();
        } else if self.calm.q.val() != SETTLED {
            self.calm.d.next = self.calm.q.val() + 1;
        }
        self.looked1.d.next = self.doubt.q.val() & !self.leave.val();
        self.looked2.d.next = self.looked1.q.val() & self.doubt.q.val() & !self.leave.val();
        self.looked3.d.next = self.looked2.q.val() & self.doubt.q.val() & !self.leave.val();
        self.patience.d.next = 0.into();
        self.cleared.d.next = false;
        if self.doubt.q.val() & !self.leave.val() {
            self.patience.d.next = self.patience.q.val() + 1;
            self.cleared.d.next = self.cleared.q.val()
                | ((self.calm.q.val() == SETTLED)
                    & self.looked3.q.val()
                    & (self.there.q.val() | self.none.q.val()))
                | (self.patience.q.val() == LONGEST_WAIT);
        }
    }
}

ferroce_emit::register_leaf!("rq_guard", RqGuard::default);

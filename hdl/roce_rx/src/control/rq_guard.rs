//! Patience with receive WQEs that are posted but not in the cache yet.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::{RqPub, RxMeta};
use ferroce_rtl::ram::Ram;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Receive WQEs in the cache, as known here, that make a closer look needless: five packets of the QP
/// may be under way of which the position read here does not know.
const PLENTY: u64 = 6;
/// Cycles without a start until what was read here is exact: 8 from a start to its position, 2 to read it,
/// one to compare it, and spare.
const SETTLED: u64 = 13;
/// Cycles that a packet waits at most, 65 us: longer than a fetch ever takes, so that a queue without memory
/// behind it can't stop the others for good.
const LONGEST_WAIT: u64 = 1 << 14;

/// A QP's RQ as its WQE cache sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Fill {
    fetched: Bits<16>,
    posted: Bits<16>,
}

/// The responder's position in an RQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RqPosition {
    /// It changes in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// RQ index of the next receive WQE.
    pub rq: Bits<16>,
}

/// Passes packets on, one every second cycle. A packet that needs a receive WQE is held back while the next one is posted
/// but still on its way from host memory: an RNR NAK would cost the peer a thousand times as long. An RQ that is
/// really empty holds nothing back.
///
/// Three places: `a` reads, `b` compares, `head` waits. What is read is at most [`PLENTY`] - 1 packets old;
/// when that is not good enough, the head lets everything before it pass and reads again.
#[derive(LogicBlock, Module)]
pub struct RqGuard {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Packets in.
    pub packets: StreamIn<RxMeta>,
    /// The same packets.
    pub released: StreamOut<RxMeta>,
    /// Fill of the RQ WQE cache.
    pub rq_pub: Signal<In, RqPub>,
    /// The responder's positions.
    pub position: Signal<In, RqPosition>,
    /// Something enters the pipeline in this cycle.
    pub start: Signal<In, Bit>,
    qps: Constant<Bits<24>>,
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
    look: Signal<Local, Bits<20>>,
}

impl RqGuard {
    /// For `2^log2_qps` QPs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            clock: Signal::default(),
            packets: StreamIn::default(),
            released: StreamOut::default(),
            rq_pub: Signal::default(),
            position: Signal::default(),
            start: Signal::default(),
            qps: Constant::new((1u64 << log2_qps).into()),
            fills: Ram::new(log2_qps),
            positions: Ram::new(log2_qps),
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
            look: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for RqGuard {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for RqGuard {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, a_valid, a, b_valid, b, b_fresh, b_plenty, head_valid, head, doubt,
            cleared, pause, calm, looked1, looked2, looked3, patience, there, none
        );
        clock!(self, clock, fills, positions);
        self.fills.wr_valid.next = self.rq_pub.val().valid;
        self.fills.wr_addr.next = bit_cast::<20, 14>(self.rq_pub.val().qp);
        self.fills.wr_data.next.fetched = self.rq_pub.val().fetched;
        self.fills.wr_data.next.posted = self.rq_pub.val().posted;
        self.positions.wr_valid.next = self.position.val().valid;
        self.positions.wr_addr.next = bit_cast::<20, 14>(self.position.val().qp);
        self.positions.wr_data.next = self.position.val().rq;

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
        self.op.next = self.b.q.val().opcode.get_bits::<5>(0);
        // SEND FIRST and ONLY, WRITE with immediate.
        self.needs.next = (self.op.val() == 0x00)
            | (self.op.val() == 0x04)
            | (self.op.val() == 0x05)
            | (self.op.val() == 0x09)
            | (self.op.val() == 0x0B);
        self.b_fresh.d.next = self.advance.val();
        if self.advance.val() {
            self.a.d.next = self.packets.data.val();
            self.a_valid.d.next = self.packets.valid.val();
            self.b.d.next = self.a.q.val();
            self.b_valid.d.next = self.a_valid.q.val();
            self.head.d.next = self.b.q.val();
            self.head_valid.d.next = self.b_valid.q.val();
            self.doubt.d.next = self.b_valid.q.val()
                & self.needs.val()
                & !self.b_plenty.q.val()
                & (self.b.q.val().dqpn < self.qps.val());
        }

        // What was read for `b` while it stood in `a`.
        self.look.next = bit_cast::<20, 24>(self.a.q.val().dqpn);
        if self.doubt.q.val() {
            self.look.next = bit_cast::<20, 24>(self.head.q.val().dqpn);
        }
        self.fills.rd_addr.next = self.look.val();
        self.positions.rd_addr.next = self.look.val();
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

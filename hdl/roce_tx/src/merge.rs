//! Joins ACKs with all other packets.

use crate::answer_desc::AnswerPassed;
use ferroce_abi::opcode::rc;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::AckJob;
use ferroce_rtl::desc::tx::TxPkt;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

const ACKNOWLEDGE: u64 = rc::ACKNOWLEDGE as u64;

/// ACKs in a row while a request waits. A request takes up to 66 cycles on its way out, 16 ACKs take about as many as
/// they have beats: so, at worst, an ACK leaves every 5 cycles, and the responder, which makes at most one a received frame of
/// one or two beats and merges those of one QP, is not held up for long; and a request never waits for
/// more than 16 ACKs.
const ACK_BURST: u64 = 16;
/// Answers whose leaving is not yet noted, log2: a few, as it is noted at once unless ACKs are in the way.
const PASSED_LOG2: usize = 3;

/// ACKs and NAKs first, but at most `ACK_BURST` of them while a request waits.
#[derive(LogicBlock, Module)]
pub struct TxMerge {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Answers to send.
    pub ack: StreamIn<AckJob>,
    /// Requests, and answers to READs and atomics.
    pub request: StreamIn<TxPkt>,
    /// Both.
    pub to: StreamOut<TxPkt>,
    /// Answers that end here or have failed: an ACK that comes now goes out behind them.
    pub passed: StreamOut<AnswerPassed>,
    merged: Skid<TxPkt>,
    ends: SyncFifo<AnswerPassed>,
    burst: DFF<Bits<5>>,
    /// Requests have waited for long enough.
    request_turn: DFF<Bit>,
    tells: Signal<Local, Bit>,
    may_pass: Signal<Local, Bit>,
    take_request: Signal<Local, Bit>,
    take_ack: Signal<Local, Bit>,
    ack_pkt: Signal<Local, TxPkt>,
}

impl Default for TxMerge {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            ack: StreamIn::default(),
            request: StreamIn::default(),
            to: StreamOut::default(),
            passed: StreamOut::default(),
            merged: Skid::default(),
            ends: SyncFifo::new(PASSED_LOG2),
            burst: DFF::default(),
            request_turn: DFF::default(),
            tells: Signal::default(),
            may_pass: Signal::default(),
            take_request: Signal::default(),
            take_ack: Signal::default(),
            ack_pkt: Signal::default(),
        }
    }
}

impl Logic for TxMerge {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, burst, request_turn);
        clock!(self, clock, merged, ends);

        self.ack_pkt.next = TxPkt::default();
        self.ack_pkt.next.qp = self.ack.data.val().qp;
        self.ack_pkt.next.opcode = ACKNOWLEDGE.into();
        self.ack_pkt.next.psn = self.ack.data.val().psn;
        self.ack_pkt.next.has_aeth = true;
        self.ack_pkt.next.syndrome = self.ack.data.val().syndrome;
        self.ack_pkt.next.msn = self.ack.data.val().msn;

        // A request that can't be told of yet lets ACKs pass, for they may be what keeps it waiting.
        self.tells.next = self.request.data.val().ends | self.request.data.val().failed;
        self.may_pass.next =
            self.request.valid.val() & (!self.tells.val() | self.ends.input.ready.val());
        self.take_ack.next =
            self.ack.valid.val() & !(self.request_turn.q.val() & self.may_pass.val());
        self.take_request.next =
            self.may_pass.val() & !self.take_ack.val() & self.merged.input.ready.val();
        self.merged.input.data.next = self.request.data.val();
        if self.take_ack.val() {
            self.merged.input.data.next = self.ack_pkt.val();
        }
        self.merged.input.valid.next =
            self.take_ack.val() | (self.may_pass.val() & !self.request.data.val().silent);
        self.ack.ready.next = self.take_ack.val() & self.merged.input.ready.val();
        self.request.ready.next = self.take_request.val();
        self.ends.input.valid.next = self.take_request.val() & self.tells.val();
        self.ends.input.data.next.qp = self.request.data.val().qp;
        self.ends.input.data.next.life = self.request.data.val().life;
        self.ends.input.data.next.ends = self.request.data.val().ends;
        self.ends.input.data.next.counted = self.request.data.val().counted;
        self.ends.input.data.next.failed = self.request.data.val().failed;
        StreamOut::<AnswerPassed>::link(&mut self.passed, &mut self.ends.output);

        if self.merged.input.ready.val() {
            if !self.may_pass.val() | !self.take_ack.val() {
                self.burst.d.next = 0.into();
                self.request_turn.d.next = false;
            } else {
                self.burst.d.next = self.burst.q.val() + 1;
                self.request_turn.d.next = self.burst.q.val() == (ACK_BURST - 1);
            }
        }
        StreamOut::<TxPkt>::link(&mut self.to, &mut self.merged.output);
    }
}

ferroce_emit::register_leaf!("merge", TxMerge::default);

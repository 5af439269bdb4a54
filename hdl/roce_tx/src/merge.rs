//! Joins the responder's answers and the sender's requests.

use ferroce_abi::opcode::rc;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::AckJob;
use ferroce_rtl::desc::tx::TxPkt;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};

const ACKNOWLEDGE: u64 = rc::ACKNOWLEDGE as u64;

/// ACKs in a row while a request waits. A request takes up to 66 cycles on its way out, 16 ACKs take about as many as
/// they have beats: so, at worst, an ACK leaves every 5 cycles, and the responder, which makes at most one a received frame of
/// one or two beats and merges those of one QP, is not held up for long; and a request never waits for
/// more than 16 ACKs.
const ACK_BURST: u64 = 16;

/// ACKs and NAKs first, but at most `ACK_BURST` of them while a request waits.
#[derive(LogicBlock, Module, Default)]
pub struct TxMerge {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Answers to send.
    pub ack: StreamIn<AckJob>,
    /// Requests to send.
    pub request: StreamIn<TxPkt>,
    /// Both.
    pub to: StreamOut<TxPkt>,
    merged: Skid<TxPkt>,
    burst: DFF<Bits<5>>,
    /// Requests have waited for long enough.
    request_turn: DFF<Bit>,
    take_ack: Signal<Local, Bit>,
    ack_pkt: Signal<Local, TxPkt>,
}

impl Logic for TxMerge {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, burst, request_turn);
        clock!(self, clock, merged);

        self.ack_pkt.next = TxPkt::default();
        self.ack_pkt.next.qp = self.ack.data.val().qp;
        self.ack_pkt.next.opcode = ACKNOWLEDGE.into();
        self.ack_pkt.next.psn = self.ack.data.val().psn;
        self.ack_pkt.next.has_aeth = true;
        self.ack_pkt.next.syndrome = self.ack.data.val().syndrome;
        self.ack_pkt.next.msn = self.ack.data.val().msn;

        self.take_ack.next =
            self.ack.valid.val() & !(self.request_turn.q.val() & self.request.valid.val());
        self.merged.input.data.next = self.request.data.val();
        if self.take_ack.val() {
            self.merged.input.data.next = self.ack_pkt.val();
        }
        self.merged.input.valid.next = self.ack.valid.val() | self.request.valid.val();
        self.ack.ready.next = self.take_ack.val() & self.merged.input.ready.val();
        self.request.ready.next = !self.take_ack.val() & self.merged.input.ready.val();

        if self.merged.input.ready.val() {
            if !self.request.valid.val() | !self.take_ack.val() {
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

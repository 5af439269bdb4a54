//! The control pipeline as a whole.

use crate::control::data_match::DataMatch;
use crate::control::packet::Flush;
use crate::control::responder_loop::ResponderLoop;
use crate::control::rq_guard::RqGuard;
use crate::control::rx_front::RxFront;
use crate::control::rx_pages::RxPages;
use crate::control::rx_place::RxPlace;
use crate::control::rx_verdict::{RxVerdict, DEAD_LEAD};
use crate::events::ControlEvents;
use ferroce_abi::cqe::{Status, WcOpcode};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::CfgWrite;
use ferroce_rtl::desc::lookup::{MrAnswer, MrCheck, WqeData, WqeRead};
use ferroce_rtl::desc::pages::{PageAnswer, PageReq};
use ferroce_rtl::desc::rx::{
    AckInfo, Answer, AnsweredPub, Kill, RqPosition, RqPub, RxMeta, Verdict,
};
use ferroce_rtl::desc::tx::{Consumed, Kick, SenderPub, SentWrite};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Log2 of the places of each output FIFO.
const LOG2_OUTPUT: usize = 6;
const RECV: u64 = WcOpcode::Recv as u64;
const WR_FLUSH: u64 = Status::WrFlush as u64;
/// Places that must be free to let a packet go to its verdict: what is on the way from there, and a cycle of `stop`.
const OUTPUT_RESERVE: usize = DEAD_LEAD + 6;
/// Log2 of the places for WQEs to be flushed: one stops all packets before their verdicts, so only those on the way can follow.
const LOG2_FLUSHES: usize = 4;
const _: () = assert!(OUTPUT_RESERVE <= 1 << LOG2_FLUSHES);

/// One packet every two cycles, in order, whatever the QPs. Packets start while there is room for all that are under way where
/// they wait for their pages ([`RxPages`]), and leave there while every output FIFO has room, so the pipelines themselves never stop. The outputs drain into blocks that do not wait for
/// the receive side: the mover, the transmit side, the completer, the RQ WQE cache. Page walks
/// wait for host memory only.
#[derive(LogicBlock, Module)]
pub struct RxControl {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Descriptors of good frames.
    pub packets: StreamIn<RxMeta>,
    /// Configuration.
    pub cfg: Signal<In, CfgWrite>,
    /// Fill of the RQ WQE cache.
    pub rq_pub: Signal<In, RqPub>,
    /// READs and atomics that are answered.
    pub answered: Signal<In, AnsweredPub>,
    /// QPs of which an answer failed.
    pub kills: StreamIn<Kill>,
    /// Messages begun; of these, READs and atomics.
    pub sent_write: Signal<In, SentWrite>,
    /// The sender's progress.
    pub sender_pub: Signal<In, SenderPub>,
    /// QPs whose requester has failed; each is told of in `responses` once nothing is taken for it any more.
    pub halts: StreamIn<Kick>,
    /// RQ WQE cache read.
    pub wqe_read: Signal<Out, WqeRead>,
    /// Its answer.
    pub wqe_data: Signal<In, WqeData>,
    /// MR check.
    pub mr_check: Signal<Out, MrCheck>,
    /// Its answer.
    pub mr_answer: Signal<In, MrAnswer>,
    /// Pages of payload.
    pub page_req: StreamOut<PageReq>,
    /// Their places, in the same order.
    pub page_answer: StreamIn<PageAnswer>,
    /// Write no `RESPONDER` entry.
    pub hold_configs: Signal<Out, Bit>,
    /// One verdict a frame, to the mover.
    pub verdicts: StreamOut<Verdict>,
    /// What is to be answered.
    pub answers: StreamOut<Answer>,
    /// ACKs and NAKs received, to the completer.
    pub responses: StreamOut<AckInfo>,
    /// RQ positions, to the RQ WQE cache.
    pub consumed: StreamOut<Consumed>,
    /// New position in a receive queue.
    pub rq_position: Signal<Out, RqPosition>,
    /// What is counted.
    pub events: Signal<Out, ControlEvents>,
    guard: RqGuard,
    front: RxFront,
    progress: ResponderLoop,
    data: DataMatch,
    place: RxPlace,
    pages: RxPages,
    judge: RxVerdict,
    verdict_fifo: SyncFifo<Verdict>,
    answer_fifo: SyncFifo<Answer>,
    response_fifo: SyncFifo<AckInfo>,
    consumed_fifo: SyncFifo<Consumed>,
    /// QPs that were stopped; they wait for a cycle without another verdict.
    flushes: SyncFifo<Flush>,
    /// The WQE of the first of them was flushed.
    flushed: DFF<Bit>,
    stop: DFF<Bit>,
    tells: Signal<Local, Bit>,
    tells_last: Signal<Local, Bit>,
}

impl RxControl {
    /// For `2^log2_qps` QPs and `2^log2_srqs` SRQs.
    ///
    /// # Panics
    /// If `log2_qps` is not 1 to 13, or `log2_srqs` above it or above `SRQ_BITS`.
    #[must_use]
    pub fn new(log2_qps: usize, log2_srqs: usize) -> Self {
        Self {
            clock: Signal::default(),
            packets: StreamIn::default(),
            cfg: Signal::default(),
            rq_pub: Signal::default(),
            sent_write: Signal::default(),
            sender_pub: Signal::default(),
            halts: StreamIn::default(),
            wqe_read: Signal::default(),
            wqe_data: Signal::default(),
            mr_check: Signal::default(),
            mr_answer: Signal::default(),
            page_req: StreamOut::default(),
            page_answer: StreamIn::default(),
            hold_configs: Signal::default(),
            verdicts: StreamOut::default(),
            answered: Signal::default(),
            kills: StreamIn::default(),
            answers: StreamOut::default(),
            responses: StreamOut::default(),
            consumed: StreamOut::default(),
            rq_position: Signal::default(),
            events: Signal::default(),
            guard: RqGuard::new(log2_qps, log2_srqs),
            front: RxFront::new(log2_qps, log2_srqs),
            progress: ResponderLoop::new(log2_qps),
            data: DataMatch::new(log2_qps),
            place: RxPlace::new(log2_qps),
            pages: RxPages::default(),
            judge: RxVerdict::new(log2_qps),
            verdict_fifo: SyncFifo::new_with_reserve(LOG2_OUTPUT, OUTPUT_RESERVE),
            answer_fifo: SyncFifo::new_with_reserve(LOG2_OUTPUT, OUTPUT_RESERVE),
            response_fifo: SyncFifo::new_with_reserve(LOG2_OUTPUT, OUTPUT_RESERVE),
            consumed_fifo: SyncFifo::new_with_reserve(LOG2_OUTPUT, OUTPUT_RESERVE),
            flushes: SyncFifo::new(LOG2_FLUSHES),
            flushed: DFF::default(),
            stop: DFF::default(),
            tells: Signal::default(),
            tells_last: Signal::default(),
        }
    }
}

/// 16 QPs and 4 SRQs.
impl Default for RxControl {
    fn default() -> Self {
        Self::new(4, 2)
    }
}

impl Logic for RxControl {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, flushed, stop);
        clock!(self, clock, guard, front, progress, data, place, pages, judge);
        clock!(
            self,
            clock,
            verdict_fifo,
            answer_fifo,
            response_fifo,
            consumed_fifo,
            flushes
        );
        self.stop.d.next = self.verdict_fifo.almost_full.val()
            | self.answer_fifo.almost_full.val()
            | self.response_fifo.almost_full.val()
            | self.consumed_fifo.almost_full.val()
            | self.flushes.output.valid.val();

        self.guard.packets.data.next = self.packets.data.val();
        self.guard.packets.valid.next = self.packets.valid.val();
        self.packets.ready.next = self.guard.packets.ready.val();
        self.guard.cfg.next = self.cfg.val();
        self.guard.rq_pub.next = self.rq_pub.val();
        self.guard.position.next = self.progress.position.val();
        self.guard.start.next = self.front.starting.val();
        StreamOut::<RxMeta>::join(&mut self.guard.released, &mut self.front.packets);
        self.front.cfg.next = self.cfg.val();
        self.front.rq_pub.next = self.rq_pub.val();
        self.front.mark.next = self.judge.mark.val();
        self.front.hold.next = self.pages.hold.val();
        self.front.answered.next = self.answered.val();
        self.front.kills.data.next = self.kills.data.val();
        self.front.kills.valid.next = self.kills.valid.val();
        self.kills.ready.next = self.front.kills.ready.val();
        StreamIn::<Kick>::link(&mut self.halts, &mut self.front.halts);
        self.progress.rd_qp.next = self.front.rd_qp.val();
        self.progress.rd_queue.next = self.front.rd_queue.val();
        self.rq_position.next = self.progress.position.val();
        self.progress.checked.next = self.front.checked.val();
        self.data.early_qp.next = self.front.early_qp.val();
        self.data.rd_qp.next = self.front.rd_qp.val();
        self.data.checked.next = self.front.checked.val();
        self.data.sent_write.next = self.sent_write.val();
        self.data.sender_pub.next = self.sender_pub.val();
        self.place.decided.next = self.progress.decided.val();
        self.place.data.next = self.data.step.val();
        self.wqe_read.next = self.place.wqe_read.val();
        self.place.wqe_data.next = self.wqe_data.val();
        self.mr_check.next = self.place.mr_check.val();
        self.pages.packet_in.next = self.place.packet.val();
        self.pages.placed_in.next = self.place.placed.val();
        self.pages.mr_answer.next = self.mr_answer.val();
        self.pages.stop.next = self.stop.q.val();
        self.hold_configs.next = self.pages.hold_configs.val();
        StreamOut::<PageReq>::link(&mut self.page_req, &mut self.pages.page_req);
        StreamIn::<PageAnswer>::link(&mut self.page_answer, &mut self.pages.page_answer);
        self.judge.dead_qp.next = self.pages.dead_qp.val();
        self.judge.packet.next = self.pages.packet.val();
        self.judge.placed.next = self.pages.placed.val();
        self.events.next = self.judge.events.val();

        self.verdict_fifo.input.data.next = self.judge.verdict.val();
        self.verdict_fifo.input.valid.next = self.judge.verdict_valid.val();
        // Verdicts without a frame, one or two a QP. While one waits, no packet goes to its own.
        self.flushes.input.data.next = self.judge.flush.val();
        self.flushes.input.valid.next = self.judge.flush_valid.val();
        self.tells.next = self.flushes.output.valid.val()
            & !self.judge.verdict_valid.val()
            & !self.verdict_fifo.almost_full.val();
        self.tells_last.next = self.flushed.q.val() | !self.flushes.output.data.val().holds;
        self.flushes.output.ready.next =
            self.tells.val() & (self.tells_last.val() | !self.flushes.output.data.val().last);
        if self.tells.val() {
            self.flushed.d.next = !self.tells_last.val() & self.flushes.output.data.val().last;
        }
        if !self.judge.verdict_valid.val() {
            self.verdict_fifo.input.valid.next = self.tells.val();
            self.verdict_fifo.input.data.next = Default::default();
            self.verdict_fifo.input.data.next.has_cqe = true;
            self.verdict_fifo.input.data.next.cq = self.flushes.output.data.val().cq;
            self.verdict_fifo.input.data.next.qp = self.flushes.output.data.val().qp;
            self.verdict_fifo.input.data.next.opcode = RECV.into();
            self.verdict_fifo.input.data.next.status = WR_FLUSH.into();
            self.verdict_fifo.input.data.next.wqe = self.flushes.output.data.val().wqe;
            self.verdict_fifo.input.data.next.last = self.tells_last.val();
        }
        self.answer_fifo.input.data.next = self.judge.answer.val();
        self.answer_fifo.input.valid.next = self.judge.answer_valid.val();
        self.response_fifo.input.data.next = self.judge.response.val();
        self.response_fifo.input.valid.next = self.judge.response_valid.val();
        self.consumed_fifo.input.data.next = self.judge.consumed.val();
        self.consumed_fifo.input.valid.next = self.judge.consumed_valid.val();
        StreamOut::<Verdict>::link(&mut self.verdicts, &mut self.verdict_fifo.output);
        StreamOut::<Answer>::link(&mut self.answers, &mut self.answer_fifo.output);
        StreamOut::<AckInfo>::link(&mut self.responses, &mut self.response_fifo.output);
        StreamOut::<Consumed>::link(&mut self.consumed, &mut self.consumed_fifo.output);
    }
}

ferroce_emit::register_leaf!("rx_control", RxControl::default);

//! The sender: from a scheduler's visit to packets.

use crate::desc::{LifeWrite, Request, Visit};
use crate::send_commit::{TxSendCommit, COMMIT_LATENCY};
use crate::send_cut::TxSendCut;
use crate::send_desc::{SendContext, SendGate, TxChunk};
use crate::send_front::TxSendFront;
use crate::send_packet::{TxSendPacket, INLINE_BIT, PACKET_LATENCY, WR_JOB_BIT};
use crate::send_state::{TxSendState, STATE_LATENCY};
use crate::send_window::{TxSendWindow, WINDOW_LATENCY};
use ferroce_abi::mr::Access;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::cfg::CfgWrite;
use ferroce_rtl::desc::lookup::{
    MrAnswer, MrCheck, WqeData, WqeRead, MR_CHECK_LATENCY, WQE_READ_LATENCY,
};
use ferroce_rtl::desc::tx::{
    CompleterPub, Kick, LocalError, Rewind, SenderPub, SentWrite, SqConsumed, VisitDone,
};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

const LOCAL_WRITE: u64 = Access::LOCAL_WRITE.bits() as u64;

/// Cycles from the state to the answered MR check: one register before each look-up.
const LOOKUPS: usize = 1 + WQE_READ_LATENCY + 1 + MR_CHECK_LATENCY;
/// Cycles from the entry's output to the state's write port and the output FIFOs.
pub const SEND_PIPE: usize = STATE_LATENCY + LOOKUPS + COMMIT_LATENCY;
/// The packets are planned while the MR check runs.
const PLAN_WAIT: usize = MR_CHECK_LATENCY - PACKET_LATENCY;
/// Cycles from the state to the planning of packets.
const STATE_TO_PLAN: usize = 1 + WQE_READ_LATENCY + 1 + PLAN_WAIT;

/// Output FIFOs: what is in flight plus 11 items of slack, so that a slower sink does not stop the
/// pipeline for its whole length.
const FIFO_LOG2: usize = 5;
/// Items that may be on their way when `almost_full` rises: the pipeline's, one in the entry's register, and one for the cycle in
/// which the entry registers `almost_full`, see `SyncFifo::almost_full`.
const FIFO_RESERVE: usize = SEND_PIPE + 3;

/// A visit a cycle, each of up to 4 KiB of one message: 1 to 16 packets. The pipeline runs freely; the entry admits an item only when every output FIFO has
/// room for everything that is in flight.
///
/// | cycle | |
/// |---|---|
/// | 0 | item from [`TxSendFront`], state RAMs are addressed |
/// | 2 | state; window check begins |
/// | 3 | `wqe_read` |
/// | 8 | WQE registered, `mr_check` |
/// | 10 | planning begins |
/// | 16 | decision |
/// | 18 | state written, outputs |
#[derive(LogicBlock, Module)]
pub struct TxSend {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// QPs that may send, each at most once until its `done`.
    pub visit: StreamIn<Visit>,
    /// Positions to go back to.
    pub rewind: StreamIn<Rewind>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// The completer's position.
    pub una: Signal<In, CompleterPub>,
    /// Wanted WQE.
    pub wqe_read: Signal<Out, WqeRead>,
    /// A WQE is wanted.
    pub wqe_read_valid: Signal<Out, Bit>,
    /// The WQE, `WQE_READ_LATENCY` cycles later.
    pub wqe_data: Signal<In, WqeData>,
    /// Local access to check.
    pub mr_check: Signal<Out, MrCheck>,
    /// An access is to be checked.
    pub mr_check_valid: Signal<Out, Bit>,
    /// The answer, `MR_CHECK_LATENCY` cycles later.
    pub mr_answer: Signal<In, MrAnswer>,
    /// Packets.
    pub request: StreamOut<Request>,
    /// QPs configured.
    pub life: Signal<Out, LifeWrite>,
    /// Ends of visits.
    pub done: StreamOut<VisitDone>,
    /// QPs to be visited after a rewind or a configuration.
    pub kick: StreamOut<Kick>,
    /// Positions for the SQ WQE cache.
    pub consumed: StreamOut<SqConsumed>,
    /// Failed WQEs.
    pub error: StreamOut<LocalError>,
    /// Furthest position.
    pub publish: Signal<Out, SenderPub>,
    /// Messages begun.
    pub sent: Signal<Out, SentWrite>,
    front: TxSendFront,
    state: TxSendState,
    window: TxSendWindow,
    packet: TxSendPacket,
    commit: TxSendCommit,
    read_reg: DFF<WqeRead>,
    read_valid: DFF<Bit>,
    wqe_reg: DFF<WqeData>,
    /// Bytes of host memory to check; none for a payload that is in the WQE.
    check_len: DFF<Bits<32>>,
    context_to_check: Delay<SendContext>,
    context_to_plan: Delay<SendContext>,
    context_to_commit: Delay<SendContext>,
    wqe_to_plan: Delay<WqeData>,
    wqe_to_commit: Delay<WqeData>,
    gate_to_commit: Delay<SendGate>,
    chunk_fifo: SyncFifo<TxChunk>,
    cut: TxSendCut,
    done_fifo: SyncFifo<VisitDone>,
    kick_fifo: SyncFifo<Kick>,
    consumed_fifo: SyncFifo<SqConsumed>,
    error_fifo: SyncFifo<LocalError>,
    set_room: Signal<Local, Bit>,
}

impl TxSend {
    /// For `2^log2_qps` QPs and a retransmit table of `2^log2_messages` messages a QP.
    ///
    /// # Panics
    /// If `log2_messages` is above 15.
    #[must_use]
    pub fn new(log2_qps: usize, log2_messages: usize) -> Self {
        Self {
            clock: Signal::default(),
            visit: StreamIn::default(),
            rewind: StreamIn::default(),
            cfg: Signal::default(),
            una: Signal::default(),
            wqe_read: Signal::default(),
            wqe_read_valid: Signal::default(),
            wqe_data: Signal::default(),
            mr_check: Signal::default(),
            mr_check_valid: Signal::default(),
            mr_answer: Signal::default(),
            request: StreamOut::default(),
            life: Signal::default(),
            done: StreamOut::default(),
            kick: StreamOut::default(),
            consumed: StreamOut::default(),
            error: StreamOut::default(),
            publish: Signal::default(),
            sent: Signal::default(),
            front: TxSendFront::default(),
            state: TxSendState::new(log2_qps),
            window: TxSendWindow::new(log2_messages),
            packet: TxSendPacket::default(),
            commit: TxSendCommit::default(),
            read_reg: DFF::default(),
            read_valid: DFF::default(),
            wqe_reg: DFF::default(),
            check_len: DFF::default(),
            context_to_check: Delay::new(1 + WQE_READ_LATENCY + 1),
            context_to_plan: Delay::new(PLAN_WAIT),
            context_to_commit: Delay::new(PACKET_LATENCY),
            wqe_to_plan: Delay::new(PLAN_WAIT),
            wqe_to_commit: Delay::new(PACKET_LATENCY),
            gate_to_commit: Delay::new(STATE_TO_PLAN + PACKET_LATENCY - WINDOW_LATENCY),
            cut: TxSendCut::default(),
            chunk_fifo: SyncFifo::quick_with_reserve(FIFO_LOG2, FIFO_RESERVE),
            done_fifo: SyncFifo::new_with_reserve(FIFO_LOG2, FIFO_RESERVE),
            kick_fifo: SyncFifo::new_with_reserve(FIFO_LOG2, FIFO_RESERVE),
            consumed_fifo: SyncFifo::new_with_reserve(FIFO_LOG2, FIFO_RESERVE),
            error_fifo: SyncFifo::new_with_reserve(FIFO_LOG2, FIFO_RESERVE),
            set_room: Signal::default(),
        }
    }
}

/// 16 QPs with 16 messages each.
impl Default for TxSend {
    fn default() -> Self {
        Self::new(4, 4)
    }
}

impl Logic for TxSend {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, read_reg, read_valid, wqe_reg, check_len);
        clock!(
            self,
            clock,
            front,
            state,
            window,
            packet,
            commit,
            context_to_check,
            context_to_plan,
            context_to_commit,
            wqe_to_plan,
            wqe_to_commit,
            gate_to_commit,
            chunk_fifo,
            cut,
            done_fifo,
            kick_fifo,
            consumed_fifo,
            error_fifo
        );
        StreamIn::<Visit>::link(&mut self.visit, &mut self.front.visit);
        StreamIn::<Rewind>::link(&mut self.rewind, &mut self.front.rewind);
        self.front.cfg.next = self.cfg.val();
        self.set_room.next =
            !self.kick_fifo.almost_full.val() & !self.consumed_fifo.almost_full.val();
        self.front.set_room.next = self.set_room.val();
        self.front.visit_room.next = self.set_room.val()
            & !self.chunk_fifo.almost_full.val()
            & !self.done_fifo.almost_full.val()
            & !self.error_fifo.almost_full.val();

        self.state.item.next = self.front.item.val();
        self.state.una.next = self.una.val();
        self.state.write.next = self.commit.write.val();
        self.state.write_high.next = self.commit.write_high.val();
        self.life.next.valid = self.commit.write.val().configure;
        self.life.next.qp = self.commit.write.val().qp;
        self.life.next.life = self.commit.write.val().cfg.life;

        self.window.context.next = self.state.context.val();
        self.gate_to_commit.data_in.next = self.window.gate.val();
        self.context_to_check.data_in.next = self.state.context.val();
        self.context_to_plan.data_in.next = self.context_to_check.data_out.val();
        self.context_to_commit.data_in.next = self.context_to_plan.data_out.val();

        self.read_reg.d.next.qp = self.state.context.val().item.qp;
        self.read_reg.d.next.wqe = self.state.context.val().state.wqe;
        self.read_valid.d.next = self.state.context.val().item.visit;
        self.wqe_read.next = self.read_reg.q.val();
        self.wqe_read_valid.next = self.read_valid.q.val();
        self.wqe_reg.d.next = self.wqe_data.val();
        self.check_len.d.next = self.wqe_data.val().len;
        if self.wqe_data.val().flags.get_bit(INLINE_BIT) {
            self.check_len.d.next = 0.into();
        }

        self.mr_check.next.key = self.wqe_reg.q.val().lkey;
        self.mr_check.next.va = self.wqe_reg.q.val().addr;
        self.mr_check.next.len = self.check_len.q.val();
        self.mr_check.next.pd = self.context_to_check.data_out.val().cfg.pd;
        // Reading needs membership of the region only; what READs and atomics bring is written.
        self.mr_check.next.access = 0.into();
        if self.wqe_reg.q.val().opcode.get_bit(WR_JOB_BIT) {
            self.mr_check.next.access = LOCAL_WRITE.into();
        }
        self.mr_check_valid.next = self.context_to_check.data_out.val().item.visit;

        self.wqe_to_plan.data_in.next = self.wqe_reg.q.val();
        self.wqe_to_commit.data_in.next = self.wqe_to_plan.data_out.val();
        self.packet.context.next = self.context_to_plan.data_out.val();
        self.packet.wqe.next = self.wqe_to_plan.data_out.val();

        self.commit.context.next = self.context_to_commit.data_out.val();
        self.commit.gate.next = self.gate_to_commit.data_out.val();
        self.commit.wqe.next = self.wqe_to_commit.data_out.val();
        self.commit.plan.next = self.packet.plan.val();
        self.commit.mr.next = self.mr_answer.val();
        self.publish.next = self.commit.publish.val();
        self.sent.next = self.commit.sent.val();

        self.chunk_fifo.input.data.next = self.commit.chunk.val();
        self.chunk_fifo.input.valid.next = self.commit.chunk_push.val();
        StreamOut::<TxChunk>::join(&mut self.chunk_fifo.output, &mut self.cut.chunk);
        StreamOut::<Request>::link(&mut self.request, &mut self.cut.request);
        self.done_fifo.input.data.next = self.commit.done.val();
        self.done_fifo.input.valid.next = self.commit.done_push.val();
        StreamOut::<VisitDone>::link(&mut self.done, &mut self.done_fifo.output);
        self.kick_fifo.input.data.next = self.commit.kick.val();
        self.kick_fifo.input.valid.next = self.commit.kick_push.val();
        StreamOut::<Kick>::link(&mut self.kick, &mut self.kick_fifo.output);
        self.consumed_fifo.input.data.next = self.commit.consumed.val();
        self.consumed_fifo.input.valid.next = self.commit.consumed_push.val();
        StreamOut::<SqConsumed>::link(&mut self.consumed, &mut self.consumed_fifo.output);
        self.error_fifo.input.data.next = self.commit.error.val();
        self.error_fifo.input.valid.next = self.commit.error_push.val();
        StreamOut::<LocalError>::link(&mut self.error, &mut self.error_fifo.output);
    }
}

ferroce_emit::register_leaf!("send", TxSend::default);

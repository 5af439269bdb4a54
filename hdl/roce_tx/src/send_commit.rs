//! Last stage of the sender: decides, writes the state and tells everybody.

use crate::send_desc::{SendContext, SendGate, SendPlan, TxChunk};
use crate::send_state::{HighWrite, StateWrite};
use ferroce_abi::mr::Key;
use ferroce_abi::wqe::{flags, WrOpcode};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::lookup::{MrAnswer, WqeData};
use ferroce_rtl::desc::tx::{Kick, LocalError, SenderPub, SentWrite, SqConsumed, VisitDone};

/// Cycles from the inputs to the outputs.
pub const COMMIT_LATENCY: usize = 2;

/// Completion status of a wrong key or range of an SGE (`Status::LocProt`).
pub const LOC_PROT: u64 = 4;

const WR_READ: u64 = WrOpcode::RdmaRead as u64;
const WR_SWAP: u64 = WrOpcode::AtomicCmpAndSwp as u64;
const SIGNALED_BIT: usize = flags::SIGNALED.trailing_zeros() as usize;

/// Takes everything that is known of an item in one cycle, decides in the next, and drives all outputs from
/// registers after it. `*_push` are pulses; whoever admits items has reserved room for them.
#[derive(LogicBlock, Module, Default)]
pub struct TxSendCommit {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Item and positions of its QP.
    pub context: Signal<In, SendContext>,
    /// What the windows allow.
    pub gate: Signal<In, SendGate>,
    /// The WQE.
    pub wqe: Signal<In, WqeData>,
    /// What to send of it.
    pub plan: Signal<In, SendPlan>,
    /// Whether the SGE lies in its memory region, and how its addresses are to be taken.
    pub mr: Signal<In, MrAnswer>,
    /// New state.
    pub write: Signal<Out, StateWrite>,
    /// New furthest position.
    pub write_high: Signal<Out, HighWrite>,
    /// The same for the completer.
    pub publish: Signal<Out, SenderPub>,
    /// A message was begun.
    pub sent: Signal<Out, SentWrite>,
    /// Packets of the message.
    pub chunk: Signal<Out, TxChunk>,
    /// `chunk` is to be sent.
    pub chunk_push: Signal<Out, Bit>,
    /// Answer to the scheduler.
    pub done: Signal<Out, VisitDone>,
    /// `done` is to be sent.
    pub done_push: Signal<Out, Bit>,
    /// Position for the WQE cache, and payload in the WQE before it.
    pub consumed: Signal<Out, SqConsumed>,
    /// `consumed` is to be sent.
    pub consumed_push: Signal<Out, Bit>,
    /// Failed WQE.
    pub error: Signal<Out, LocalError>,
    /// `error` is to be sent.
    pub error_push: Signal<Out, Bit>,
    /// The QP may go on after a `set`.
    pub kick: Signal<Out, Kick>,
    /// `kick` is to be sent.
    pub kick_push: Signal<Out, Bit>,
    context1: DFF<SendContext>,
    wqe1: DFF<WqeData>,
    mr1: DFF<MrAnswer>,
    plan1: DFF<SendPlan>,
    send1: DFF<Bit>,
    fail1: DFF<Bit>,
    skip1: DFF<Bit>,
    status1: DFF<Bits<8>>,
    write2: DFF<StateWrite>,
    high2: DFF<HighWrite>,
    sent2: DFF<SentWrite>,
    chunk2: DFF<TxChunk>,
    send2: DFF<Bit>,
    done2: DFF<VisitDone>,
    done_push2: DFF<Bit>,
    consumed2: DFF<SqConsumed>,
    consumed_push2: DFF<Bit>,
    error2: DFF<LocalError>,
    fail2: DFF<Bit>,
    set2: DFF<Bit>,
    real: Signal<Local, Bit>,
    ready: Signal<Local, Bit>,
    bad: Signal<Local, Bit>,
    resume_wqe1: Signal<Local, Bits<16>>,
    resume_sent1: Signal<Local, Bits<24>>,
}

impl Logic for TxSendCommit {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            context1,
            wqe1,
            mr1,
            plan1,
            send1,
            fail1,
            skip1,
            status1,
            write2,
            high2,
            sent2,
            chunk2,
            send2,
            done2,
            done_push2,
            consumed2,
            consumed_push2,
            error2,
            fail2,
            set2
        );

        // Decision.
        self.context1.d.next = self.context.val();
        self.wqe1.d.next = self.wqe.val();
        self.mr1.d.next = self.mr.val();
        self.plan1.d.next = self.plan.val();
        self.real.next = self.context.val().item.visit & !self.context.val().item.bounce;
        self.ready.next = self.real.val() & self.gate.val().open & self.wqe.val().avail;
        self.bad.next = (self.plan.val().status != 0) | !self.mr.val().ok;
        self.send1.d.next = self.ready.val() & !self.bad.val() & !self.plan.val().hold;
        self.fail1.d.next = self.ready.val() & self.bad.val();
        self.skip1.d.next = self.real.val() & self.gate.val().skip;
        self.status1.d.next = self.plan.val().status;
        if self.plan.val().status == 0 {
            self.status1.d.next = LOC_PROT.into();
        }

        // After everything ever sent: in the newest WQE if its last packet is still to be sent, else behind it.
        self.resume_wqe1.next = self.context1.q.val().high.begun;
        self.resume_sent1.next = 0.into();
        if self.context1.q.val().high.open {
            self.resume_wqe1.next = self.context1.q.val().high.begun - 1;
            self.resume_sent1.next =
                self.context1.q.val().high.max_psn - self.context1.q.val().high.newest_psn;
        }

        // State.
        self.write2.d.next.valid = self.context1.q.val().item.set
            | self.send1.q.val()
            | self.fail1.q.val()
            | self.skip1.q.val();
        self.write2.d.next.configure = self.context1.q.val().item.configure;
        self.write2.d.next.qp = self.context1.q.val().item.qp;
        self.write2.d.next.cfg.enabled = self.context1.q.val().item.enabled;
        self.write2.d.next.cfg.pmtu = self.context1.q.val().item.pmtu;
        self.write2.d.next.cfg.pd = self.context1.q.val().item.pd;
        self.write2.d.next.cfg.max_reads = self.context1.q.val().item.max_reads;
        self.write2.d.next.cfg.life = self.context1.q.val().cfg.life + 1;
        self.write2.d.next.state = self.context1.q.val().state;
        self.write2.d.next.state.halted = self.fail1.q.val();
        if self.send1.q.val() {
            self.write2.d.next.state.wqe = self.plan1.q.val().next_wqe;
            self.write2.d.next.state.sent = self.plan1.q.val().next_sent;
            self.write2.d.next.state.psn = self.plan1.q.val().next_psn;
        } else if self.skip1.q.val() {
            self.write2.d.next.state.wqe = self.resume_wqe1.val();
            self.write2.d.next.state.sent = self.resume_sent1.val();
            self.write2.d.next.state.psn = self.context1.q.val().high.max_psn;
        } else if self.context1.q.val().item.set {
            self.write2.d.next.state.wqe = self.context1.q.val().item.wqe;
            self.write2.d.next.state.sent = self.context1.q.val().item.sent;
            self.write2.d.next.state.psn = self.context1.q.val().item.psn;
            self.write2.d.next.state.halted = self.context1.q.val().item.halted;
            self.write2.d.next.state.turn = self.context1.q.val().state.turn + 1;
        }
        self.write.next = self.write2.q.val();

        self.high2.d.next.valid = self.send1.q.val() | self.context1.q.val().item.configure;
        self.high2.d.next.qp = self.context1.q.val().item.qp;
        self.high2.d.next.high = self.plan1.q.val().high;
        if self.context1.q.val().item.configure {
            self.high2.d.next.high.max_psn = self.context1.q.val().item.psn;
            self.high2.d.next.high.begun = 0.into();
            self.high2.d.next.high.newest_psn = self.context1.q.val().item.psn;
            self.high2.d.next.high.open = false;
            self.high2.d.next.high.jobs = 0.into();
        }
        self.write_high.next = self.high2.q.val();
        self.publish.next.valid = self.high2.q.val().valid;
        self.publish.next.qp = self.high2.q.val().qp;
        self.publish.next.max_psn = self.high2.q.val().high.max_psn;
        self.publish.next.begun = self.high2.q.val().high.begun;
        self.publish.next.jobs = self.high2.q.val().high.jobs;

        // Message and packets.
        self.sent2.d.next.valid = self.send1.q.val() & self.plan1.q.val().first;
        self.sent2.d.next.qp = self.context1.q.val().item.qp;
        self.sent2.d.next.wqe = self.context1.q.val().state.wqe;
        self.sent2.d.next.first_psn = self.context1.q.val().state.psn;
        self.sent2.d.next.last_psn = self.plan1.q.val().last_psn;
        self.sent2.d.next.opcode = self.wqe1.q.val().opcode;
        self.sent2.d.next.signaled = self.wqe1.q.val().flags.get_bit(SIGNALED_BIT);
        self.sent2.d.next.len = self.wqe1.q.val().len;
        self.sent2.d.next.extra = self.wqe1.q.val().extra;
        self.sent2.d.next.job = self.plan1.q.val().new_job;
        self.sent2.d.next.number = self.context1.q.val().high.jobs.get_bits::<4>(0);
        self.sent2.d.next.addr = self.wqe1.q.val().addr;
        self.sent2.d.next.lkey = self.wqe1.q.val().lkey;
        self.sent.next = self.sent2.q.val();

        self.chunk2.d.next.qp = self.context1.q.val().item.qp;
        self.chunk2.d.next.wqe = self.context1.q.val().state.wqe;
        self.chunk2.d.next.turn = self.context1.q.val().state.turn;
        self.chunk2.d.next.life = self.context1.q.val().cfg.life;
        self.chunk2.d.next.first = self.plan1.q.val().first | self.plan1.q.val().job;
        self.chunk2.d.next.last = self.plan1.q.val().last;
        self.chunk2.d.next.write = self.plan1.q.val().write;
        self.chunk2.d.next.job = self.plan1.q.val().job;
        self.chunk2.d.next.atomic = self.wqe1.q.val().opcode != WR_READ;
        self.chunk2.d.next.swap = self.wqe1.q.val().opcode == WR_SWAP;
        self.chunk2.d.next.has_imm = self.plan1.q.val().imm;
        self.chunk2.d.next.se = self.plan1.q.val().se;
        self.chunk2.d.next.more = self.plan1.q.val().more;
        self.chunk2.d.next.pmtu = self.context1.q.val().cfg.pmtu;
        self.chunk2.d.next.number = self.context1.q.val().state.sent.get_bits::<4>(0);
        self.chunk2.d.next.psn = self.context1.q.val().state.psn;
        self.chunk2.d.next.va = self.plan1.q.val().va;
        self.chunk2.d.next.rkey = self.wqe1.q.val().rkey;
        self.chunk2.d.next.dma_len = self.plan1.q.val().dma_len;
        self.chunk2.d.next.imm = self.wqe1.q.val().imm;
        self.chunk2.d.next.bytes = self.plan1.q.val().bytes;
        self.chunk2.d.next.addr = self.plan1.q.val().addr;
        if self.plan1.q.val().job {
            self.chunk2.d.next.addr = self.wqe1.q.val().operand;
        }
        self.chunk2.d.next.compare = self.wqe1.q.val().compare;
        self.chunk2.d.next.via.paged = self.mr1.q.val().paged;
        self.chunk2.d.next.via.epoch = self.mr1.q.val().epoch;
        self.chunk2.d.next.via.mr = self.wqe1.q.val().lkey.get_bits::<16>(Key::TAG_BITS);
        self.chunk2.d.next.inline_beats = self.plan1.q.val().inline_beats;
        self.send2.d.next = self.send1.q.val();
        self.chunk.next = self.chunk2.q.val();
        self.chunk_push.next = self.send2.q.val();

        // Answers.
        self.done2.d.next.qp = self.context1.q.val().item.qp;
        self.done2.d.next.more =
            self.send1.q.val() | self.skip1.q.val() | self.context1.q.val().item.bounce;
        self.done_push2.d.next = self.context1.q.val().item.visit;
        self.done.next = self.done2.q.val();
        self.done_push.next = self.done_push2.q.val();

        self.consumed2.d.next.qp = self.context1.q.val().item.qp;
        self.consumed2.d.next.wqe = self.plan1.q.val().next_wqe;
        self.consumed2.d.next.first = self.context1.q.val().state.wqe;
        self.consumed2.d.next.beats = 0.into();
        if self.send1.q.val() {
            self.consumed2.d.next.beats = self.plan1.q.val().inline_beats;
        }
        if self.skip1.q.val() {
            self.consumed2.d.next.wqe = self.resume_wqe1.val();
        } else if self.context1.q.val().item.set {
            self.consumed2.d.next.wqe = self.context1.q.val().item.wqe;
        }
        self.consumed_push2.d.next = self.context1.q.val().item.set
            | self.skip1.q.val()
            | (self.send1.q.val() & self.plan1.q.val().last);
        self.consumed.next = self.consumed2.q.val();
        self.consumed_push.next = self.consumed_push2.q.val();

        self.error2.d.next.qp = self.context1.q.val().item.qp;
        self.error2.d.next.wqe = self.context1.q.val().state.wqe;
        self.error2.d.next.status = self.status1.q.val();
        self.fail2.d.next = self.fail1.q.val();
        self.error.next = self.error2.q.val();
        self.error_push.next = self.fail2.q.val();

        self.set2.d.next = self.context1.q.val().item.set;
        self.kick.next.qp = self.done2.q.val().qp;
        self.kick_push.next = self.set2.q.val();
    }
}

ferroce_emit::register_leaf!("send_commit", TxSendCommit::default);

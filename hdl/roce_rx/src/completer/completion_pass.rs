//! One pass of the completer: what an event does to its QP.

use crate::completer::event::{kind, Event};
use crate::completer::pass_data::{PassState, QpCfg};
use crate::events::CompleterEvents;
use ferroce_abi::cqe::{Status, WcOpcode};
use ferroce_abi::wqe::WrOpcode;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::CqeJob;
use ferroce_rtl::desc::tx::{CompleterPub, Kick, Rewind, Sent};

const WR_FLUSH: u64 = Status::WrFlush as u64;
const REM_INV_REQ: u64 = Status::RemInvReq as u64;
const REM_ACCESS: u64 = Status::RemAccess as u64;
const REM_OP: u64 = Status::RemOp as u64;
const REM_INV_RD_REQ: u64 = Status::RemInvRdReq as u64;
const RETRY_EXC: u64 = Status::RetryExc as u64;
const RNR_RETRY_EXC: u64 = Status::RnrRetryExc as u64;
/// RNR retry count that never runs out.
const RNR_FOREVER: u64 = 7;

const WC_SEND: u64 = WcOpcode::Send as u64;
const WC_WRITE: u64 = WcOpcode::RdmaWrite as u64;
const WR_WRITE: u64 = WrOpcode::RdmaWrite as u64;
const WR_WRITE_IMM: u64 = WrOpcode::RdmaWriteWithImm as u64;

/// The event and what was read for it; see [`CompletionPass`] for when which field is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Read {
    valid: Bit,
    event: Event,
    is_ack: Bit,
    is_rnr: Bit,
    is_sequence: Bit,
    is_fatal: Bit,
    cfg: QpCfg,
    state: PassState,
}

/// Numbers derived from PSNs and indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Numbers {
    /// PSNs outstanding.
    outstanding: Bits<24>,
    /// Distance of the event's PSN from the oldest unacknowledged one.
    distance: Bits<24>,
    /// PSNs that the event acknowledges.
    advance: Bits<24>,
    /// Distance of the oldest message's last PSN.
    span: Bits<24>,
    /// Oldest unacknowledged PSN if all that is acknowledged is taken.
    una_final: Bits<24>,
    /// The same if just the oldest message is.
    una_retired: Bits<24>,
    /// First PSN of the oldest message.
    first_psn: Bits<24>,
    wqe_next: Bits<16>,
    /// WQEs not retired.
    left: Bits<16>,
    /// No message begun is left.
    none_begun: Bit,
    local_hit: Bit,
    expired: Bit,
    in_range: Bit,
    covered: Bit,
    exactly: Bit,
    progress: Bit,
    /// All outstanding PSNs are acknowledged by the event.
    drained: Bit,
    /// The oldest message's last PSN is the last outstanding one.
    last_message: Bit,
    ack_deadline: Bits<33>,
    rnr_deadline: Bits<33>,
    /// Success is to be reported.
    signaled: Bit,
    send: Bit,
    len: Bits<32>,
    opcode: Bits<8>,
}

/// What the pass does.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Action {
    /// Retire the oldest message.
    retire: Bit,
    /// Take what is acknowledged of the oldest message.
    settle: Bit,
    /// The oldest WQE fails.
    fail: Bit,
    status: Bits<8>,
    /// Flush one WQE.
    flush: Bit,
    /// Go back after a NAK 0x60.
    sequence: Bit,
    /// Go back after a time-out.
    timeout: Bit,
    /// Begin an RNR wait.
    wait: Bit,
    /// End it.
    resume: Bit,
    /// Start the ACK timer.
    arm: Bit,
    /// A response was of no use.
    ignored: Bit,
    /// The event needs another pass.
    again: Bit,
    /// The state needs another look.
    check: Bit,
    /// PSNs were acknowledged.
    progress: Bit,
    retries: Bits<3>,
    rnr_retries: Bits<3>,
}

/// Eight stages, any event in any cycle, as long as no two passes of one QP are under way.
///
/// | cycle | |
/// |---|---|
/// | 0 | `start`: state, configuration, published copies are read (outside) |
/// | 2 | they are here; the retransmit table is read with the oldest WQE's index |
/// | 4 | its entry is here |
/// | 7 | state write, `done` |
/// | 8 | outputs |
///
/// Rules: responses outside of `[una, max)` are ignored. An ACK at `p` acknowledges through `p`, a NAK up to before
/// `p`; one message is retired a pass. A NAK acts when all before it is retired: 0x60 goes back to `p`, once until
/// progress or time-out; RNR halts the sender until the coded time is over, whatever else comes; 0x61 to 0x64 fail the
/// oldest WQE. After a failure everything posted is flushed, for as long as the QP is not restarted.
#[derive(LogicBlock, Module, Default)]
pub struct CompletionPass {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A pass begins.
    pub start: Signal<In, Bit>,
    /// Its event.
    pub event: Signal<In, Event>,
    /// Time in units of 1024 cycles.
    pub now: Signal<In, Bits<33>>,
    /// Cycle 2: the QP's state.
    pub state: Signal<In, PassState>,
    /// Cycle 2: the QP's configuration.
    pub cfg: Signal<In, QpCfg>,
    /// Cycle 2: PSN after the highest one sent.
    pub max_psn: Signal<In, Bits<24>>,
    /// Cycle 2: SQ index after the newest WQE begun.
    pub begun: Signal<In, Bits<16>>,
    /// Cycle 2: SQ producer index.
    pub posted: Signal<In, Bits<16>>,
    /// Cycle 2: QP whose oldest WQE's entry is to be read.
    pub sent_qp: Signal<Out, Bits<14>>,
    /// Cycle 2: that WQE.
    pub sent_wqe: Signal<Out, Bits<16>>,
    /// Cycle 4: the entry.
    pub sent: Signal<In, Sent>,
    /// Cycle 7: the state is written and the pass is over.
    pub done: Signal<Out, Bit>,
    /// Cycle 7: its QP.
    pub done_qp: Signal<Out, Bits<14>>,
    /// Cycle 7: the new state.
    pub new_state: Signal<Out, PassState>,
    /// Cycle 8: published state.
    pub published: Signal<Out, CompleterPub>,
    /// Cycle 8: to the sender.
    pub rewind: Signal<Out, Rewind>,
    /// `rewind` is valid.
    pub rewind_valid: Signal<Out, Bit>,
    /// Cycle 8: to the scheduler.
    pub kick: Signal<Out, Kick>,
    /// `kick` is valid.
    pub kick_valid: Signal<Out, Bit>,
    /// Cycle 8: completion.
    pub cqe: Signal<Out, CqeJob>,
    /// `cqe` is valid.
    pub cqe_valid: Signal<Out, Bit>,
    /// Cycle 8: event that needs another pass.
    pub repeat: Signal<Out, Event>,
    /// `repeat` is valid.
    pub repeat_valid: Signal<Out, Bit>,
    /// Cycle 8: what is counted.
    pub counts: Signal<Out, CompleterEvents>,
    r1: DFF<Read>,
    r2: DFF<Read>,
    r3: DFF<Read>,
    max3: DFF<Bits<24>>,
    begun3: DFF<Bits<16>>,
    posted3: DFF<Bits<16>>,
    rnr_units3: DFF<Bits<33>>,
    r4: DFF<Read>,
    n4: DFF<Numbers>,
    ack_units4: DFF<Bits<33>>,
    rnr_units4: DFF<Bits<33>>,
    r5: DFF<Read>,
    n5: DFF<Numbers>,
    r6: DFF<Read>,
    n6: DFF<Numbers>,
    retries_out6: DFF<Bit>,
    old_retries_out6: DFF<Bit>,
    rnr_out6: DFF<Bit>,
    r7: DFF<Read>,
    n7: DFF<Numbers>,
    a7: DFF<Action>,
    out_pub: DFF<CompleterPub>,
    out_rewind: DFF<Rewind>,
    out_rewind_valid: DFF<Bit>,
    out_kick: DFF<Kick>,
    out_kick_valid: DFF<Bit>,
    out_cqe: DFF<CqeJob>,
    out_cqe_valid: DFF<Bit>,
    out_repeat: DFF<Event>,
    out_repeat_valid: DFF<Bit>,
    out_counts: DFF<CompleterEvents>,
    code: Signal<Local, Bits<8>>,
    rnr_code: Signal<Local, Bits<5>>,
    rnr_base: Signal<Local, Bits<33>>,
    rnr_steps: Signal<Local, Bits<4>>,
    age: Signal<Local, Bits<33>>,
    is_tick: Signal<Local, Bit>,
    live: Signal<Local, Bit>,
    taken: Signal<Local, Bit>,
    retire: Signal<Local, Bit>,
    settle: Signal<Local, Bit>,
    go_back: Signal<Local, Bit>,
    time_out: Signal<Local, Bit>,
    not_ready: Signal<Local, Bit>,
    denied: Signal<Local, Bit>,
    local_fail: Signal<Local, Bit>,
    no_retries: Signal<Local, Bit>,
    no_rnr_retries: Signal<Local, Bit>,
    s: Signal<Local, PassState>,
    a: Signal<Local, Action>,
    n: Signal<Local, PassState>,
    e: Signal<Local, Event>,
    restart_timer: Signal<Local, Bit>,
    go_on: Signal<Local, Bit>,
}

impl Logic for CompletionPass {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            r1,
            r2,
            r3,
            max3,
            begun3,
            posted3,
            rnr_units3,
            r4,
            n4,
            ack_units4,
            rnr_units4,
            r5,
            n5,
            r6,
            n6,
            retries_out6,
            old_retries_out6,
            rnr_out6,
            r7,
            n7,
            a7,
            out_pub,
            out_rewind,
            out_rewind_valid,
            out_kick,
            out_kick_valid,
            out_cqe,
            out_cqe_valid,
            out_repeat,
            out_repeat_valid,
            out_counts
        );

        // Cycle 0: class of the response.
        self.code.next = self.event.val().syndrome;
        self.r1.d.next = Default::default();
        self.r1.d.next.valid = self.start.val();
        self.r1.d.next.event = self.event.val();
        if self.event.val().kind == kind::ACK {
            self.r1.d.next.is_ack = self.code.val().get_bits::<3>(5) == 0;
            self.r1.d.next.is_rnr = self.code.val().get_bits::<3>(5) == 1;
            self.r1.d.next.is_sequence = self.code.val() == 0x60;
            self.r1.d.next.is_fatal = (self.code.val() >= 0x61) & (self.code.val() <= 0x64);
        }
        self.r2.d.next = self.r1.q.val();

        // Cycle 2: all but the retransmit table is here.
        self.sent_qp.next = self.r2.q.val().event.qp;
        self.sent_wqe.next = self.state.val().una_wqe;
        self.r3.d.next = self.r2.q.val();
        self.r3.d.next.state = self.state.val();
        self.r3.d.next.cfg = self.cfg.val();
        self.max3.d.next = self.max_psn.val();
        self.begun3.d.next = self.begun.val();
        self.posted3.d.next = self.posted.val();
        // RNR timer codes: 2n is 0.02 ms * 2^(n-1), 2n+1 is 0.03 ms * 2^(n-1); 1 is 0.01 ms and 0 is
        // 0.02 ms * 2^15. In units, rounded up: 5, 8 and 3.
        self.rnr_code.next = self.r2.q.val().event.syndrome.get_bits::<5>(0);
        self.rnr_steps.next = self.rnr_code.val().get_bits::<4>(1) - 1;
        self.rnr_base.next = 5.into();
        if self.rnr_code.val().get_bit(0) {
            self.rnr_base.next = 8.into();
        }
        if self.rnr_code.val() == 1 {
            self.rnr_base.next = 3.into();
            self.rnr_steps.next = 0.into();
        }
        self.rnr_units3.d.next = self.rnr_base.val() << bit_cast::<33, 4>(self.rnr_steps.val());

        // Cycle 3: distances.
        self.r4.d.next = self.r3.q.val();
        self.n4.d.next = Default::default();
        self.n4.d.next.outstanding = self.max3.q.val() - self.r3.q.val().state.una_psn;
        self.n4.d.next.distance = self.r3.q.val().event.psn - self.r3.q.val().state.una_psn;
        self.n4.d.next.una_final = self.r3.q.val().event.psn;
        if self.r3.q.val().is_ack {
            self.n4.d.next.una_final = self.r3.q.val().event.psn + 1;
        }
        self.n4.d.next.wqe_next = self.r3.q.val().state.una_wqe + 1;
        self.n4.d.next.left = self.posted3.q.val() - self.r3.q.val().state.una_wqe;
        self.n4.d.next.none_begun = self.r3.q.val().state.una_wqe == self.begun3.q.val();
        if self.r3.q.val().event.kind == kind::LOCAL {
            self.n4.d.next.local_hit = self.r3.q.val().state.una_wqe == self.r3.q.val().event.wqe;
        } else {
            self.n4.d.next.local_hit = self.r3.q.val().state.local
                & (self.r3.q.val().state.una_wqe == self.r3.q.val().state.local_wqe);
        }
        self.age.next = self.now.val() - self.r3.q.val().state.deadline;
        self.n4.d.next.expired = !self.age.val().get_bit(32);
        self.ack_units4.d.next = bits::<33>(1) << bit_cast::<33, 5>(self.r3.q.val().cfg.timeout);
        self.rnr_units4.d.next = self.rnr_units3.q.val();

        // Cycle 4: the oldest message. The unit under way is not counted: one more.
        self.r5.d.next = self.r4.q.val();
        self.n5.d.next = self.n4.q.val();
        self.n5.d.next.span = self.sent.val().last_psn - self.r4.q.val().state.una_psn;
        self.n5.d.next.una_retired = self.sent.val().last_psn + 1;
        self.n5.d.next.first_psn = self.sent.val().first_psn;
        self.n5.d.next.signaled = self.sent.val().signaled;
        self.n5.d.next.len = self.sent.val().len;
        self.n5.d.next.send =
            (self.sent.val().opcode != WR_WRITE) & (self.sent.val().opcode != WR_WRITE_IMM);
        self.n5.d.next.in_range = self.n4.q.val().distance < self.n4.q.val().outstanding;
        self.n5.d.next.advance = self.n4.q.val().distance;
        if self.r4.q.val().is_ack {
            self.n5.d.next.advance = self.n4.q.val().distance + 1;
        }
        self.n5.d.next.ack_deadline = self.now.val() + self.ack_units4.q.val() + 1;
        self.n5.d.next.rnr_deadline = self.now.val() + self.rnr_units4.q.val() + 1;

        // Cycle 5: comparisons.
        self.r6.d.next = self.r5.q.val();
        self.n6.d.next = self.n5.q.val();
        self.n6.d.next.covered = self.n5.q.val().span < self.n5.q.val().advance;
        self.n6.d.next.exactly = self.n5.q.val().span == self.n5.q.val().distance;
        self.n6.d.next.progress = self.n5.q.val().advance != 0;
        self.n6.d.next.drained = self.n5.q.val().advance == self.n5.q.val().outstanding;
        self.n6.d.next.last_message = (self.n5.q.val().span + 1) == self.n5.q.val().outstanding;
        if self.n5.q.val().send {
            self.n6.d.next.opcode = WC_SEND.into();
        } else {
            self.n6.d.next.opcode = WC_WRITE.into();
        }
        // Counters reload on progress.
        self.retries_out6.d.next = self.r5.q.val().cfg.retry_cnt == 0;
        self.old_retries_out6.d.next = self.r5.q.val().state.retries == 0;
        if self.n5.q.val().advance == 0 {
            self.retries_out6.d.next = self.r5.q.val().state.retries == 0;
        }
        self.rnr_out6.d.next = self.r5.q.val().cfg.rnr_retry == 0;
        if self.n5.q.val().advance == 0 {
            self.rnr_out6.d.next = (self.r5.q.val().state.rnr_retries == 0)
                & (self.r5.q.val().cfg.rnr_retry != RNR_FOREVER);
        }

        // Cycle 6: decide.
        self.s.next = self.r6.q.val().state;
        self.live.next = self.r6.q.val().valid & self.r6.q.val().cfg.enabled & !self.s.val().failed;
        self.is_tick.next = self.live.val() & (self.r6.q.val().event.kind == kind::TICK);
        self.taken.next = self.live.val()
            & self.n6.q.val().in_range
            & (self.r6.q.val().is_ack
                | self.r6.q.val().is_rnr
                | self.r6.q.val().is_sequence
                | self.r6.q.val().is_fatal);
        self.retire.next = self.taken.val() & self.n6.q.val().covered & !self.n6.q.val().none_begun;
        self.settle.next = self.taken.val() & !self.retire.val();
        self.go_back.next = self.settle.val()
            & self.r6.q.val().is_sequence
            & !self.s.val().rnr_wait
            & (self.n6.q.val().progress | !self.s.val().went_back);
        self.not_ready.next = self.settle.val() & self.r6.q.val().is_rnr & !self.s.val().rnr_wait;
        self.denied.next = self.settle.val() & self.r6.q.val().is_fatal;
        self.time_out.next = self.is_tick.val()
            & !self.s.val().rnr_wait
            & self.n6.q.val().outstanding.any()
            & self.s.val().armed
            & !self.s.val().forever
            & self.n6.q.val().expired;
        self.local_fail.next = self.live.val()
            & (self.r6.q.val().event.kind != kind::RESTART)
            & (self.r6.q.val().event.kind != kind::FLUSH)
            & (self.r6.q.val().event.kind != kind::NEW_SQ)
            & self.n6.q.val().local_hit;
        self.no_retries.next = (self.go_back.val() & self.retries_out6.q.val())
            | (self.time_out.val() & self.old_retries_out6.q.val());
        self.no_rnr_retries.next = self.not_ready.val() & self.rnr_out6.q.val();

        self.r7.d.next = self.r6.q.val();
        self.n7.d.next = self.n6.q.val();
        self.a7.d.next.retire = self.retire.val();
        self.a7.d.next.settle = self.settle.val();
        self.a7.d.next.fail = self.denied.val()
            | self.local_fail.val()
            | self.no_retries.val()
            | self.no_rnr_retries.val();
        self.a7.d.next.sequence = self.go_back.val() & !self.no_retries.val();
        self.a7.d.next.timeout = self.time_out.val() & !self.no_retries.val();
        self.a7.d.next.wait = self.not_ready.val() & !self.no_rnr_retries.val();
        self.a7.d.next.resume =
            self.is_tick.val() & self.s.val().rnr_wait & self.n6.q.val().expired;
        // The timer of a disabled QP never expires; it is started so that the scan finds no more to do.
        self.a7.d.next.arm = self.r6.q.val().valid
            & (self.r6.q.val().event.kind == kind::TICK)
            & !self.s.val().failed
            & !self.s.val().rnr_wait
            & !self.s.val().armed
            & self.n6.q.val().outstanding.any();
        self.a7.d.next.flush = self.r6.q.val().valid
            & self.s.val().failed
            & (self.r6.q.val().event.kind != kind::RESTART)
            & (self.r6.q.val().event.kind != kind::FLUSH)
            & (self.r6.q.val().event.kind != kind::NEW_SQ)
            & self.n6.q.val().left.any();
        self.a7.d.next.ignored =
            self.r6.q.val().valid & (self.r6.q.val().event.kind == kind::ACK) & !self.taken.val();
        self.a7.d.next.again =
            self.retire.val() & (!self.r6.q.val().is_ack | !self.n6.q.val().exactly);
        self.a7.d.next.check = self.retire.val() & self.s.val().local;
        self.a7.d.next.progress =
            self.retire.val() | (self.settle.val() & self.n6.q.val().progress);
        self.a7.d.next.status = REM_OP.into();
        if self.r6.q.val().event.syndrome == 0x61 {
            self.a7.d.next.status = REM_INV_REQ.into();
        }
        if self.r6.q.val().event.syndrome == 0x62 {
            self.a7.d.next.status = REM_ACCESS.into();
        }
        if self.r6.q.val().event.syndrome == 0x64 {
            self.a7.d.next.status = REM_INV_RD_REQ.into();
        }
        if self.no_retries.val() {
            self.a7.d.next.status = RETRY_EXC.into();
        }
        if self.no_rnr_retries.val() {
            self.a7.d.next.status = RNR_RETRY_EXC.into();
        }
        if self.local_fail.val() {
            self.a7.d.next.status = self.s.val().local_status;
            if self.r6.q.val().event.kind == kind::LOCAL {
                self.a7.d.next.status = self.r6.q.val().event.status;
            }
        }
        self.a7.d.next.retries = self.s.val().retries;
        self.a7.d.next.rnr_retries = self.s.val().rnr_retries;
        if self.taken.val() & (self.retire.val() | self.n6.q.val().progress) {
            self.a7.d.next.retries = self.r6.q.val().cfg.retry_cnt;
            self.a7.d.next.rnr_retries = self.r6.q.val().cfg.rnr_retry;
        }

        // Cycle 7: new state.
        self.a.next = self.a7.q.val();
        self.e.next = self.r7.q.val().event;
        self.n.next = self.r7.q.val().state;
        self.n.next.retries = self.a.val().retries;
        self.n.next.rnr_retries = self.a.val().rnr_retries;
        self.restart_timer.next = self.a.val().sequence
            | self.a.val().timeout
            | self.a.val().resume
            | self.a.val().arm
            | (self.a.val().progress & !self.r7.q.val().state.rnr_wait);
        if self.restart_timer.val() {
            self.n.next.deadline = self.n7.q.val().ack_deadline;
            self.n.next.forever = (self.r7.q.val().cfg.timeout == 0) | !self.r7.q.val().cfg.enabled;
            self.n.next.armed = self.n7.q.val().outstanding.any();
            if self.a.val().settle {
                self.n.next.armed = !self.n7.q.val().drained;
            }
            if self.a.val().retire {
                self.n.next.armed = !self.n7.q.val().last_message;
            }
        }
        if self.a.val().settle {
            self.n.next.una_psn = self.n7.q.val().una_final;
        }
        if self.a.val().retire {
            self.n.next.una_psn = self.n7.q.val().una_retired;
        }
        if self.a.val().retire | self.a.val().fail | self.a.val().flush {
            self.n.next.una_wqe = self.n7.q.val().wqe_next;
        }
        if self.a.val().progress | self.a.val().timeout | self.a.val().resume {
            self.n.next.went_back = false;
        }
        if self.a.val().sequence {
            self.n.next.went_back = true;
        }
        if self.a.val().sequence | self.a.val().timeout {
            self.n.next.retries = self.a.val().retries - 1;
        }
        if self.a.val().wait {
            self.n.next.rnr_wait = true;
            self.n.next.deadline = self.n7.q.val().rnr_deadline;
            self.n.next.armed = false;
            if self.r7.q.val().cfg.rnr_retry != RNR_FOREVER {
                self.n.next.rnr_retries = self.a.val().rnr_retries - 1;
            }
        }
        if self.a.val().resume {
            self.n.next.rnr_wait = false;
        }
        if (self.e.val().kind == kind::LOCAL) & !self.r7.q.val().state.failed {
            self.n.next.local = true;
            self.n.next.local_wqe = self.e.val().wqe;
            self.n.next.local_status = self.e.val().status;
        }
        if self.a.val().fail | (self.e.val().kind == kind::FLUSH) {
            self.n.next.failed = true;
            self.n.next.rnr_wait = false;
            self.n.next.armed = false;
            self.n.next.local = false;
        }
        if self.e.val().kind == kind::NEW_SQ {
            self.n.next.una_wqe = 0.into();
            self.n.next.failed = false;
            self.n.next.local = false;
        }
        if self.e.val().kind == kind::RESTART {
            self.n.next = Default::default();
            self.n.next.una_psn = self.e.val().psn;
            self.n.next.retries = self.e.val().syndrome.get_bits::<3>(0);
            self.n.next.rnr_retries = self.e.val().syndrome.get_bits::<3>(3);
        }
        self.done.next = self.r7.q.val().valid;
        self.done_qp.next = self.e.val().qp;
        self.new_state.next = self.n.val();

        // Cycle 8: outputs.
        self.out_pub.d.next.valid = self.r7.q.val().valid;
        self.out_pub.d.next.qp = self.e.val().qp;
        self.out_pub.d.next.una_psn = self.n.val().una_psn;
        self.out_pub.d.next.una_wqe = self.n.val().una_wqe;

        self.out_rewind.d.next.qp = self.e.val().qp;
        self.out_rewind.d.next.wqe = self.r7.q.val().state.una_wqe;
        self.out_rewind.d.next.psn = self.n.val().una_psn;
        self.out_rewind.d.next.first_psn = self.n7.q.val().first_psn;
        if self.n7.q.val().none_begun {
            self.out_rewind.d.next.first_psn = self.n.val().una_psn;
        }
        self.out_rewind.d.next.halt =
            self.a.val().wait | self.a.val().fail | (self.e.val().kind == kind::FLUSH);
        self.out_rewind_valid.d.next = self.r7.q.val().valid
            & (self.a.val().sequence
                | self.a.val().timeout
                | self.a.val().resume
                | self.a.val().wait
                | self.a.val().fail
                | (self.e.val().kind == kind::FLUSH));

        self.out_kick.d.next.qp = self.e.val().qp;
        self.out_kick_valid.d.next =
            self.r7.q.val().valid & self.a.val().progress & !self.a.val().fail;

        self.out_cqe.d.next.cq = self.r7.q.val().cfg.cq;
        self.out_cqe.d.next.qp = self.e.val().qp;
        self.out_cqe.d.next.opcode = self.n7.q.val().opcode;
        self.out_cqe.d.next.flags = 0.into();
        self.out_cqe.d.next.imm = 0.into();
        self.out_cqe.d.next.wqe = self.r7.q.val().state.una_wqe;
        self.out_cqe.d.next.status = 0.into();
        self.out_cqe.d.next.byte_len = 0.into();
        if self.a.val().fail {
            self.out_cqe.d.next.status = self.a.val().status;
        } else if self.a.val().flush {
            self.out_cqe.d.next.status = WR_FLUSH.into();
        } else {
            self.out_cqe.d.next.byte_len = self.n7.q.val().len;
        }
        self.out_cqe_valid.d.next = self.a.val().fail
            | self.a.val().flush
            | (self.a.val().retire & self.n7.q.val().signaled);

        // An event that is not through comes again; else look whether the state wants more.
        self.go_on.next = self.a.val().check
            | self.a.val().fail
            | (self.a.val().flush & (self.n7.q.val().left != 1))
            | (self.e.val().kind == kind::FLUSH);
        self.out_repeat.d.next = self.e.val();
        if !self.a.val().again {
            self.out_repeat.d.next.kind = kind::CHECK.into();
        }
        self.out_repeat_valid.d.next =
            self.r7.q.val().valid & (self.a.val().again | self.go_on.val());

        self.out_counts.d.next.acks =
            (self.a.val().retire | self.a.val().settle) & !self.a.val().again;
        self.out_counts.d.next.ignored_acks = self.a.val().ignored;
        self.out_counts.d.next.retransmits = self.a.val().sequence | self.a.val().timeout;
        self.out_counts.d.next.timeouts = self.a.val().timeout;
        self.out_counts.d.next.rnr_waits = self.a.val().wait;
        self.out_counts.d.next.sequence_naks = self.a.val().sequence;
        self.out_counts.d.next.requester_errors = self.a.val().fail;

        self.published.next = self.out_pub.q.val();
        self.rewind.next = self.out_rewind.q.val();
        self.rewind_valid.next = self.out_rewind_valid.q.val();
        self.kick.next = self.out_kick.q.val();
        self.kick_valid.next = self.out_kick_valid.q.val();
        self.cqe.next = self.out_cqe.q.val();
        self.cqe_valid.next = self.out_cqe_valid.q.val();
        self.repeat.next = self.out_repeat.q.val();
        self.repeat_valid.next = self.out_repeat_valid.q.val();
        self.counts.next = self.out_counts.q.val();
    }
}

ferroce_emit::register_leaf!("completion_pass", CompletionPass::default);

//! The decision of a completer pass.

use crate::completer::event::kind;
use crate::completer::pass_data::{PassAction, PassNumbers, PassRead, PassState};
use ferroce_abi::cqe::Status;
use ferroce_emit::prelude::*;

const REM_INV_REQ: u64 = Status::RemInvReq as u64;
const REM_ACCESS: u64 = Status::RemAccess as u64;
const REM_OP: u64 = Status::RemOp as u64;
const REM_INV_RD_REQ: u64 = Status::RemInvRdReq as u64;
const RETRY_EXC: u64 = Status::RetryExc as u64;
const RNR_RETRY_EXC: u64 = Status::RnrRetryExc as u64;

/// Cycle 6 of a pass, see [`crate::completer::CompletionPass`].
#[derive(LogicBlock, Module, Default)]
pub struct PassDecide {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// What was read.
    pub read: Signal<In, PassRead>,
    /// What follows from it.
    pub numbers: Signal<In, PassNumbers>,
    /// What to do, one cycle later.
    pub action: Signal<Out, PassAction>,
    a7: DFF<PassAction>,
    is_tick: Signal<Local, Bit>,
    live: Signal<Local, Bit>,
    taken: Signal<Local, Bit>,
    retire: Signal<Local, Bit>,
    settle: Signal<Local, Bit>,
    unanswered: Signal<Local, Bit>,
    go_back: Signal<Local, Bit>,
    ask_again: Signal<Local, Bit>,
    time_out: Signal<Local, Bit>,
    not_ready: Signal<Local, Bit>,
    denied: Signal<Local, Bit>,
    local_fail: Signal<Local, Bit>,
    is_local: Signal<Local, Bit>,
    no_retries: Signal<Local, Bit>,
    no_rnr_retries: Signal<Local, Bit>,
    s: Signal<Local, PassState>,
    r: Signal<Local, PassRead>,
    n: Signal<Local, PassNumbers>,
}

impl Logic for PassDecide {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, a7);
        self.r.next = self.read.val();
        self.n.next = self.numbers.val();
        self.s.next = self.r.val().state;
        self.live.next = self.r.val().valid & self.r.val().cfg.enabled & !self.s.val().failed;
        self.is_tick.next = self.live.val() & (self.r.val().event.kind == kind::TICK);
        self.taken.next = self.live.val()
            & self.n.val().in_range
            & (self.r.val().is_ack
                | self.r.val().is_rnr
                | self.r.val().is_sequence
                | self.r.val().is_fatal
                | self.r.val().is_bad);
        // A READ or atomic is done when its data has come, and no ACK can say that: its answer is lost if what is behind it is answered.
        self.unanswered.next = self.n.val().job & !self.n.val().answered & self.n.val().progress;
        self.retire.next = self.taken.val()
            & self.n.val().covered
            & !self.n.val().none_begun
            & !self.unanswered.val();
        self.settle.next = self.taken.val()
            & !self.unanswered.val()
            & (!self.n.val().covered | self.n.val().none_begun);
        self.go_back.next = self.settle.val()
            & self.r.val().is_sequence
            & !self.s.val().rnr_wait
            & (self.n.val().progress | !self.s.val().went_back);
        self.ask_again.next = self.taken.val()
            & self.unanswered.val()
            & !self.s.val().rnr_wait
            & !self.s.val().went_back;
        self.not_ready.next = self.settle.val() & self.r.val().is_rnr & !self.s.val().rnr_wait;
        self.denied.next = self.settle.val() & (self.r.val().is_fatal | self.r.val().is_bad);
        self.time_out.next = self.is_tick.val()
            & !self.s.val().rnr_wait
            & self.n.val().outstanding.any()
            & self.s.val().armed
            & !self.s.val().forever
            & self.n.val().expired;
        self.local_fail.next = self.live.val()
            & (self.r.val().event.kind != kind::RESTART)
            & (self.r.val().event.kind != kind::FLUSH)
            & (self.r.val().event.kind != kind::NEW_SQ)
            & self.n.val().local_hit;
        self.is_local.next = self.live.val() & (self.r.val().event.kind == kind::LOCAL);
        self.no_retries.next = (self.go_back.val() & self.n.val().retries_out)
            | ((self.time_out.val() | self.ask_again.val()) & self.n.val().old_retries_out);
        self.no_rnr_retries.next = self.not_ready.val() & self.n.val().rnr_out;

        self.a7.d.next.retire = self.retire.val();
        self.a7.d.next.settle = self.settle.val();
        self.a7.d.next.fail = self.denied.val()
            | self.local_fail.val()
            | self.no_retries.val()
            | self.no_rnr_retries.val();
        self.a7.d.next.sequence =
            (self.go_back.val() | self.ask_again.val()) & !self.no_retries.val();
        self.a7.d.next.timeout = self.time_out.val() & !self.no_retries.val();
        self.a7.d.next.wait = self.not_ready.val() & !self.no_rnr_retries.val();
        self.a7.d.next.resume = self.is_tick.val() & self.s.val().rnr_wait & self.n.val().expired;
        // A WQE that fails when it is sent again may have been retired by an ACK of its first transmission. What the sender
        // had behind it is sent by a go-back; after an RNR NAK the end of the wait is one.
        self.a7.d.next.note = self.is_local.val() & !self.n.val().local_late;
        self.a7.d.next.pass_over =
            self.is_local.val() & self.n.val().local_late & !self.s.val().rnr_wait;
        // Started when something is outstanding, stopped when nothing is: between the restarts of completer and
        // sender PSNs seem to be outstanding. The timer of a disabled QP never expires; it is started so that the scan
        // finds no more to do.
        self.a7.d.next.arm = self.r.val().valid
            & (self.r.val().event.kind == kind::TICK)
            & !self.s.val().failed
            & !self.s.val().rnr_wait
            & (self.s.val().armed != self.n.val().outstanding.any());
        self.a7.d.next.flush = self.r.val().valid
            & self.s.val().failed
            & self.s.val().quiet
            & (self.r.val().event.kind != kind::RESTART)
            & (self.r.val().event.kind != kind::FLUSH)
            & (self.r.val().event.kind != kind::NEW_SQ)
            & self.n.val().left.any();
        self.a7.d.next.ignored =
            self.r.val().valid & (self.r.val().event.kind == kind::ACK) & !self.taken.val();
        self.a7.d.next.again = self.retire.val() & (!self.r.val().is_ack | !self.n.val().exactly);
        self.a7.d.next.check = self.retire.val() & self.s.val().local;
        self.a7.d.next.progress = self.retire.val() | (self.settle.val() & self.n.val().progress);
        self.a7.d.next.status = REM_OP.into();
        if self.r.val().event.syndrome == 0x61 {
            self.a7.d.next.status = REM_INV_REQ.into();
        }
        if self.r.val().event.syndrome == 0x62 {
            self.a7.d.next.status = REM_ACCESS.into();
        }
        if self.r.val().event.syndrome == 0x64 {
            self.a7.d.next.status = REM_INV_RD_REQ.into();
        }
        if self.r.val().is_bad {
            self.a7.d.next.status = bit_cast::<8, 5>(self.r.val().event.syndrome.get_bits::<5>(0));
        }
        if self.no_retries.val() {
            self.a7.d.next.status = RETRY_EXC.into();
        }
        if self.no_rnr_retries.val() {
            self.a7.d.next.status = RNR_RETRY_EXC.into();
        }
        if self.local_fail.val() {
            self.a7.d.next.status = self.s.val().local_status;
            if self.r.val().event.kind == kind::LOCAL {
                self.a7.d.next.status = self.r.val().event.status;
            }
        }
        self.a7.d.next.retries = self.s.val().retries;
        self.a7.d.next.rnr_retries = self.s.val().rnr_retries;
        if self.retire.val() | (self.settle.val() & self.n.val().progress) {
            self.a7.d.next.retries = self.r.val().cfg.retry_cnt;
            self.a7.d.next.rnr_retries = self.r.val().cfg.rnr_retry;
        }
        self.action.next = self.a7.q.val();
    }
}

ferroce_emit::register_leaf!("pass_decide", PassDecide::default);

//! The second half of a completer pass: new state and messages.

use crate::completer::event::{kind, Event};
use crate::completer::pass_compare::RNR_FOREVER;
use crate::completer::pass_data::{PassAction, PassNumbers, PassRead, PassState};
use crate::events::CompleterEvents;
use ferroce_abi::cqe::Status;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::CqeJob;
use ferroce_rtl::desc::tx::{CompleterPub, Kick, Rewind};

const WR_FLUSH: u64 = Status::WrFlush as u64;

/// Cycles 7 and 8 of a pass, see [`crate::completer::CompletionPass`].
#[derive(LogicBlock, Module, Default)]
pub struct PassCommit {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// What was read.
    pub read: Signal<In, PassRead>,
    /// What follows from it.
    pub numbers: Signal<In, PassNumbers>,
    /// What to do.
    pub action: Signal<In, PassAction>,
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
    /// Cycle 8: the requester has failed; `HALTED` comes when the receive side takes no more data for it.
    pub halt: Signal<Out, Kick>,
    /// `halt` is valid.
    pub halt_valid: Signal<Out, Bit>,
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
    out_pub: DFF<CompleterPub>,
    out_rewind: DFF<Rewind>,
    out_rewind_valid: DFF<Bit>,
    out_kick: DFF<Kick>,
    out_kick_valid: DFF<Bit>,
    out_halt: DFF<Kick>,
    out_halt_valid: DFF<Bit>,
    out_cqe: DFF<CqeJob>,
    out_cqe_valid: DFF<Bit>,
    out_repeat: DFF<Event>,
    out_repeat_valid: DFF<Bit>,
    out_counts: DFF<CompleterEvents>,
    a: Signal<Local, PassAction>,
    r: Signal<Local, PassRead>,
    m: Signal<Local, PassNumbers>,
    n: Signal<Local, PassState>,
    e: Signal<Local, Event>,
    restart_timer: Signal<Local, Bit>,
    go_on: Signal<Local, Bit>,
    fails: Signal<Local, Bit>,
    halted: Signal<Local, Bit>,
}

impl Logic for PassCommit {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            out_pub,
            out_rewind,
            out_rewind_valid,
            out_kick,
            out_kick_valid,
            out_halt,
            out_halt_valid,
            out_cqe,
            out_cqe_valid,
            out_repeat,
            out_repeat_valid,
            out_counts
        );

        // Cycle 7: new state.
        self.a.next = self.action.val();
        self.r.next = self.read.val();
        self.m.next = self.numbers.val();
        self.e.next = self.r.val().event;
        self.n.next = self.r.val().state;
        self.n.next.retries = self.a.val().retries;
        self.n.next.rnr_retries = self.a.val().rnr_retries;
        self.fails.next =
            self.a.val().fail | ((self.e.val().kind == kind::FLUSH) & !self.r.val().state.failed);
        self.halted.next = (self.e.val().kind == kind::HALTED) & self.r.val().state.failed;
        self.restart_timer.next = self.a.val().sequence
            | self.a.val().timeout
            | self.a.val().resume
            | self.a.val().arm
            | (self.a.val().progress & !self.r.val().state.rnr_wait);
        if self.restart_timer.val() {
            self.n.next.deadline = self.m.val().ack_deadline;
            self.n.next.forever = (self.r.val().cfg.timeout == 0) | !self.r.val().cfg.enabled;
            self.n.next.armed = self.m.val().outstanding.any();
            if self.a.val().settle {
                self.n.next.armed = !self.m.val().drained;
            }
            if self.a.val().retire {
                self.n.next.armed = !self.m.val().last_message;
            }
        }
        if self.a.val().settle {
            self.n.next.una_psn = self.m.val().una_final;
        }
        if self.a.val().retire {
            self.n.next.una_psn = self.m.val().una_retired;
        }
        // What fails or is flushed goes block by block: a WQE that was never sent does not say how many it has.
        if self.a.val().flush {
            self.n.next.una_wqe = self.m.val().wqe_next;
            self.n.next.local = false;
        }
        if self.a.val().retire {
            self.n.next.una_wqe = self.m.val().wqe_retired;
            if self.m.val().job {
                self.n.next.jobs = self.m.val().jobs_next;
            }
        }
        if self.e.val().data {
            self.n.next.got = self.a.val().again;
            self.n.next.got_psn = self.m.val().una_final;
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
            self.n.next.deadline = self.m.val().rnr_deadline;
            self.n.next.armed = false;
            if self.r.val().cfg.rnr_retry != RNR_FOREVER {
                self.n.next.rnr_retries = self.a.val().rnr_retries - 1;
            }
        }
        if self.a.val().resume {
            self.n.next.rnr_wait = false;
        }
        if self.a.val().note {
            self.n.next.local = true;
            self.n.next.local_wqe = self.e.val().wqe;
            self.n.next.local_status = self.e.val().status;
        }
        if self.fails.val() {
            self.n.next.failed = true;
            self.n.next.quiet = false;
            self.n.next.rnr_wait = false;
            self.n.next.armed = false;
            self.n.next.local = self.a.val().fail;
            self.n.next.local_status = self.a.val().status;
        }
        if self.halted.val() {
            self.n.next.quiet = true;
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
        self.done.next = self.r.val().valid;
        self.done_qp.next = self.e.val().qp;
        self.new_state.next = self.n.val();

        // Cycle 8: outputs.
        self.out_pub.d.next.valid = self.r.val().valid;
        self.out_pub.d.next.qp = self.e.val().qp;
        self.out_pub.d.next.una_psn = self.n.val().una_psn;
        self.out_pub.d.next.una_wqe = self.n.val().una_wqe;
        self.out_pub.d.next.jobs = self.n.val().jobs;

        self.out_rewind.d.next.qp = self.e.val().qp;
        self.out_rewind.d.next.wqe = self.r.val().state.una_wqe;
        self.out_rewind.d.next.psn = self.n.val().una_psn;
        self.out_rewind.d.next.first_psn = self.m.val().first_psn;
        if self.m.val().none_begun {
            self.out_rewind.d.next.first_psn = self.n.val().una_psn;
        }
        self.out_rewind.d.next.halt =
            self.a.val().wait | self.a.val().fail | (self.e.val().kind == kind::FLUSH);
        self.out_rewind_valid.d.next = self.r.val().valid
            & (self.a.val().sequence
                | self.a.val().timeout
                | self.a.val().resume
                | self.a.val().wait
                | self.a.val().pass_over
                | self.a.val().fail
                | (self.e.val().kind == kind::FLUSH));

        self.out_kick.d.next.qp = self.e.val().qp;
        self.out_kick_valid.d.next =
            self.r.val().valid & self.a.val().progress & !self.a.val().fail;

        self.out_cqe.d.next.cq = self.r.val().cfg.cq;
        self.out_cqe.d.next.qp = self.e.val().qp;
        self.out_cqe.d.next.opcode = self.m.val().opcode;
        self.out_cqe.d.next.flags = 0.into();
        self.out_cqe.d.next.imm = 0.into();
        self.out_cqe.d.next.wqe = self.r.val().state.una_wqe;
        self.out_cqe.d.next.status = 0.into();
        self.out_cqe.d.next.byte_len = 0.into();
        if self.a.val().flush {
            self.out_cqe.d.next.status = WR_FLUSH.into();
            if self.r.val().state.local {
                self.out_cqe.d.next.status = self.r.val().state.local_status;
            }
        } else {
            self.out_cqe.d.next.byte_len = self.m.val().len;
        }
        self.out_cqe_valid.d.next =
            self.a.val().flush | (self.a.val().retire & self.m.val().signaled);
        self.out_halt.d.next.qp = self.e.val().qp;
        self.out_halt_valid.d.next = self.r.val().valid & self.fails.val();

        // An event that is not through comes again; else look whether the state wants more.
        self.go_on.next = self.a.val().check
            | (self.a.val().flush & (self.m.val().left != 1))
            | self.halted.val()
            | (self.e.val().kind == kind::FLUSH);
        self.out_repeat.d.next = self.e.val();
        if !self.a.val().again {
            self.out_repeat.d.next.kind = kind::CHECK.into();
        }
        self.out_repeat_valid.d.next = self.r.val().valid & (self.a.val().again | self.go_on.val());

        self.out_counts.d.next.acks =
            (self.a.val().retire | self.a.val().settle) & !self.a.val().again & !self.e.val().data;
        self.out_counts.d.next.ignored_acks = self.a.val().ignored & !self.e.val().data;
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
        self.halt.next = self.out_halt.q.val();
        self.halt_valid.next = self.out_halt_valid.q.val();
        self.cqe.next = self.out_cqe.q.val();
        self.cqe_valid.next = self.out_cqe_valid.q.val();
        self.repeat.next = self.out_repeat.q.val();
        self.repeat_valid.next = self.out_repeat_valid.q.val();
        self.counts.next = self.out_counts.q.val();
    }
}

ferroce_emit::register_leaf!("pass_commit", PassCommit::default);

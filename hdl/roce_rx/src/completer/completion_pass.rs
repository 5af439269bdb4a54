//! One pass of the completer: what an event does to its QP.

use crate::completer::event::Event;
use crate::completer::pass_commit::PassCommit;
use crate::completer::pass_compare::PassCompare;
use crate::completer::pass_data::{PassNumbers, PassRead, PassState, QpCfg};
use crate::completer::pass_decide::PassDecide;
use crate::events::CompleterEvents;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::CqeJob;
use ferroce_rtl::desc::tx::{CompleterPub, Kick, Rewind, Sent};

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
/// oldest WQE. An ACK or NAK does not acknowledge READs and atomics, only data does; when the oldest message is one and something behind it is acknowledged, the sender goes back to it. After a failure everything posted is flushed, for as long as the QP is not restarted.
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
    compare: PassCompare,
    decide: PassDecide,
    commit: PassCommit,
    read7: DFF<PassRead>,
    numbers7: DFF<PassNumbers>,
}

impl Logic for CompletionPass {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, read7, numbers7);
        clock!(self, clock, compare, decide, commit);
        self.compare.start.next = self.start.val();
        self.compare.event.next = self.event.val();
        self.compare.now.next = self.now.val();
        self.compare.state.next = self.state.val();
        self.compare.cfg.next = self.cfg.val();
        self.compare.max_psn.next = self.max_psn.val();
        self.compare.begun.next = self.begun.val();
        self.compare.posted.next = self.posted.val();
        self.sent_qp.next = self.compare.sent_qp.val();
        self.sent_wqe.next = self.compare.sent_wqe.val();
        self.compare.sent.next = self.sent.val();
        self.decide.read.next = self.compare.read.val();
        self.decide.numbers.next = self.compare.numbers.val();
        self.read7.d.next = self.compare.read.val();
        self.numbers7.d.next = self.compare.numbers.val();
        self.commit.read.next = self.read7.q.val();
        self.commit.numbers.next = self.numbers7.q.val();
        self.commit.action.next = self.decide.action.val();
        self.done.next = self.commit.done.val();
        self.done_qp.next = self.commit.done_qp.val();
        self.new_state.next = self.commit.new_state.val();
        self.published.next = self.commit.published.val();
        self.rewind.next = self.commit.rewind.val();
        self.rewind_valid.next = self.commit.rewind_valid.val();
        self.kick.next = self.commit.kick.val();
        self.kick_valid.next = self.commit.kick_valid.val();
        self.halt.next = self.commit.halt.val();
        self.halt_valid.next = self.commit.halt_valid.val();
        self.cqe.next = self.commit.cqe.val();
        self.cqe_valid.next = self.commit.cqe_valid.val();
        self.repeat.next = self.commit.repeat.val();
        self.repeat_valid.next = self.commit.repeat_valid.val();
        self.counts.next = self.commit.counts.val();
    }
}

ferroce_emit::register_leaf!("completion_pass", CompletionPass::default);

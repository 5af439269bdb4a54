//! The first half of a completer pass: everything that a decision needs.

use crate::completer::event::{kind, Event};
use crate::completer::pass_data::{PassNumbers, PassRead, PassState, QpCfg};
use ferroce_abi::cqe::WcOpcode;
use ferroce_abi::wqe::WrOpcode;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::BAD_DATA;
use ferroce_rtl::desc::tx::Sent;

/// RNR retry count that never runs out.
pub const RNR_FOREVER: u64 = 7;

const WC_SEND: u64 = WcOpcode::Send as u64;
const WC_WRITE: u64 = WcOpcode::RdmaWrite as u64;
const WR_WRITE: u64 = WrOpcode::RdmaWrite as u64;
const WR_WRITE_IMM: u64 = WrOpcode::RdmaWriteWithImm as u64;
/// Bit of the work request opcodes of READs and atomics that those of WRITE and SEND don't have.
const WR_JOB_BIT: usize = (WrOpcode::RdmaRead as usize).trailing_zeros() as usize;
/// What their completion opcodes are smaller by.
const WC_JOB: u64 = WrOpcode::RdmaRead as u64 - WcOpcode::RdmaRead as u64;
/// Bits 7:5 of the syndrome of data that can't be taken.
const BAD_CLASS: u64 = BAD_DATA >> 5;

/// Cycles 0 to 5 of a pass, see [`crate::completer::CompletionPass`]: one subtraction, addition or comparison a stage.
#[derive(LogicBlock, Module, Default)]
pub struct PassCompare {
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
    /// Cycle 6: what was read.
    pub read: Signal<Out, PassRead>,
    /// Cycle 6: what follows from it.
    pub numbers: Signal<Out, PassNumbers>,
    r1: DFF<PassRead>,
    r2: DFF<PassRead>,
    r3: DFF<PassRead>,
    max3: DFF<Bits<24>>,
    begun3: DFF<Bits<16>>,
    posted3: DFF<Bits<16>>,
    local_ahead: Signal<Local, Bits<16>>,
    rnr_units3: DFF<Bits<33>>,
    r4: DFF<PassRead>,
    n4: DFF<PassNumbers>,
    ack_units4: DFF<Bits<33>>,
    rnr_units4: DFF<Bits<33>>,
    r5: DFF<PassRead>,
    n5: DFF<PassNumbers>,
    r6: DFF<PassRead>,
    n6: DFF<PassNumbers>,
    code: Signal<Local, Bits<8>>,
    rnr_code: Signal<Local, Bits<5>>,
    rnr_base: Signal<Local, Bits<33>>,
    rnr_steps: Signal<Local, Bits<4>>,
    age: Signal<Local, Bits<33>>,
}

impl Logic for PassCompare {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, r1, r2, r3, max3, begun3, posted3, rnr_units3, r4, n4, ack_units4,
            rnr_units4, r5, n5, r6, n6
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
            self.r1.d.next.is_bad =
                self.event.val().data & (self.code.val().get_bits::<3>(5) == BAD_CLASS);
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
        self.n4.d.next.got_distance = self.r3.q.val().state.got_psn - self.r3.q.val().state.una_psn;
        self.n4.d.next.una_final = self.r3.q.val().event.psn;
        if self.r3.q.val().is_ack {
            self.n4.d.next.una_final = self.r3.q.val().event.psn + 1;
        }
        self.n4.d.next.wqe_next = self.r3.q.val().state.una_wqe + 1;
        self.n4.d.next.left = self.posted3.q.val() - self.r3.q.val().state.una_wqe;
        self.local_ahead.next = self.r3.q.val().event.wqe - self.r3.q.val().state.una_wqe;
        self.n4.d.next.local_late = self.local_ahead.val().get_bit(15);
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
        self.n5.d.next.wqe_retired =
            self.n4.q.val().wqe_next + bit_cast::<16, 2>(self.sent.val().extra);
        self.n5.d.next.first_psn = self.sent.val().first_psn;
        self.n5.d.next.signaled = self.sent.val().signaled;
        self.n5.d.next.len = self.sent.val().len;
        self.n5.d.next.opcode = self.sent.val().opcode;
        self.n5.d.next.job = self.sent.val().opcode.get_bit(WR_JOB_BIT);
        self.n5.d.next.jobs_next = self.r4.q.val().state.jobs + 1;
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
        self.n6.d.next.answered = self.r5.q.val().event.data
            | (self.r5.q.val().state.got
                & !self.n5.q.val().got_distance.get_bit(23)
                & (self.n5.q.val().span < self.n5.q.val().got_distance));
        self.n6.d.next.exactly = self.n5.q.val().span == self.n5.q.val().distance;
        self.n6.d.next.progress = self.n5.q.val().advance != 0;
        self.n6.d.next.drained = self.n5.q.val().advance == self.n5.q.val().outstanding;
        self.n6.d.next.last_message = (self.n5.q.val().span + 1) == self.n5.q.val().outstanding;
        self.n6.d.next.opcode = WC_SEND.into();
        if (self.n5.q.val().opcode == WR_WRITE) | (self.n5.q.val().opcode == WR_WRITE_IMM) {
            self.n6.d.next.opcode = WC_WRITE.into();
        }
        if self.n5.q.val().job {
            self.n6.d.next.opcode = self.n5.q.val().opcode - WC_JOB;
        }
        // Counters reload on progress.
        self.n6.d.next.retries_out = self.r5.q.val().cfg.retry_cnt == 0;
        self.n6.d.next.old_retries_out = self.r5.q.val().state.retries == 0;
        if self.n5.q.val().advance == 0 {
            self.n6.d.next.retries_out = self.r5.q.val().state.retries == 0;
        }
        self.n6.d.next.rnr_out = self.r5.q.val().cfg.rnr_retry == 0;
        if self.n5.q.val().advance == 0 {
            self.n6.d.next.rnr_out = (self.r5.q.val().state.rnr_retries == 0)
                & (self.r5.q.val().cfg.rnr_retry != RNR_FOREVER);
        }
        self.read.next = self.r6.q.val();
        self.numbers.next = self.n6.q.val();
    }
}

ferroce_emit::register_leaf!("pass_compare", PassCompare::default);

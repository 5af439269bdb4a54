//! What a pass of the completer reads and writes.

use crate::completer::event::Event;
use ferroce_emit::prelude::*;

/// State of a QP's completing half.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PassState {
    /// Oldest unacknowledged PSN.
    pub una_psn: Bits<24>,
    /// SQ index of the oldest WQE that is not retired.
    pub una_wqe: Bits<16>,
    /// In error: WQEs are flushed, once `quiet`.
    pub failed: Bit,
    /// With `failed`: no more data is written for the QP. Until then its WQEs and their buffers are not given back.
    pub quiet: Bit,
    /// Waiting after an RNR NAK until `deadline`.
    pub rnr_wait: Bit,
    /// The ACK timer runs, until `deadline`.
    pub armed: Bit,
    /// The ACK timer never expires.
    pub forever: Bit,
    /// In units of 1024 core cycles.
    pub deadline: Bits<33>,
    /// A NAK 0x60 for `una_psn` was obeyed; others are echoes of the same loss.
    pub went_back: Bit,
    /// Retries left.
    pub retries: Bits<3>,
    /// RNR retries left.
    pub rnr_retries: Bits<3>,
    /// A WQE failed in the sender; with `failed`, the oldest WQE is to end with `local_status`.
    pub local: Bit,
    /// Its SQ index.
    pub local_wqe: Bits<16>,
    /// Its completion status.
    pub local_status: Bits<8>,
    /// READs and atomics retired, modulo 64.
    pub jobs: Bits<6>,
    /// Data has come up to `got_psn`, and its event is not through: an ACK in between may retire what it speaks for.
    pub got: Bit,
    /// See `got`.
    pub got_psn: Bits<24>,
}

/// Configuration of a QP's completing half.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct QpCfg {
    /// Responses are taken.
    pub enabled: Bit,
    /// Send CQ.
    pub cq: Bits<14>,
    /// ACK timeout exponent.
    pub timeout: Bits<5>,
    /// Retries after time-outs and NAKs 0x60.
    pub retry_cnt: Bits<3>,
    /// Retries after RNR NAKs.
    pub rnr_retry: Bits<3>,
}

/// Copy of a state write for the timer scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct ScanWrite {
    /// Write in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// The state.
    pub state: PassState,
}

/// The event of a pass and what was read for it; see [`crate::completer::CompletionPass`] for when which field is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PassRead {
    /// A pass is here.
    pub valid: Bit,
    /// Its event.
    pub event: Event,
    /// The response is an ACK.
    pub is_ack: Bit,
    /// It is an RNR NAK.
    pub is_rnr: Bit,
    /// It is a NAK 0x60.
    pub is_sequence: Bit,
    /// It is a NAK 0x61 to 0x64.
    pub is_fatal: Bit,
    /// It is data that can't be taken.
    pub is_bad: Bit,
    /// The QP's configuration.
    pub cfg: QpCfg,
    /// The QP's state.
    pub state: PassState,
}

/// Numbers derived from PSNs and indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PassNumbers {
    /// PSNs outstanding.
    pub outstanding: Bits<24>,
    /// Distance of the event's PSN from the oldest unacknowledged one.
    pub distance: Bits<24>,
    /// PSNs that the event acknowledges.
    pub advance: Bits<24>,
    /// Distance of the oldest message's last PSN.
    pub span: Bits<24>,
    /// The oldest unacknowledged PSN if all that is acknowledged is taken.
    pub una_final: Bits<24>,
    /// The same if just the oldest message is.
    pub una_retired: Bits<24>,
    /// First PSN of the oldest message.
    pub first_psn: Bits<24>,
    /// SQ index after the oldest block.
    pub wqe_next: Bits<16>,
    /// SQ index after the oldest WQE, which was sent.
    pub wqe_retired: Bits<16>,
    /// WQEs not retired.
    pub left: Bits<16>,
    /// No message begun is left.
    pub none_begun: Bit,
    /// The oldest WQE is the one that failed in the sender.
    pub local_hit: Bit,
    /// `LOCAL`: its WQE is retired.
    pub local_late: Bit,
    /// The deadline has passed.
    pub expired: Bit,
    /// The event's PSN is outstanding.
    pub in_range: Bit,
    /// The oldest message is acknowledged to its end.
    pub covered: Bit,
    /// The event's PSN is the oldest message's last one.
    pub exactly: Bit,
    /// PSNs are acknowledged.
    pub progress: Bit,
    /// All outstanding PSNs are acknowledged by the event.
    pub drained: Bit,
    /// The oldest message's last PSN is the last outstanding one.
    pub last_message: Bit,
    /// An ACK timer started now ends then.
    pub ack_deadline: Bits<33>,
    /// An RNR wait begun now ends then.
    pub rnr_deadline: Bits<33>,
    /// Success is to be reported.
    pub signaled: Bit,
    /// The oldest message is a READ or atomic.
    pub job: Bit,
    /// Distance of the PSN up to which data is known to have come.
    pub got_distance: Bits<24>,
    /// The data of the oldest message, if it is a READ or atomic, has come.
    pub answered: Bit,
    /// READs and atomics retired if it is.
    pub jobs_next: Bits<6>,
    /// Bytes of the oldest message.
    pub len: Bits<32>,
    /// Its work request opcode, and after cycle 5 its completion opcode.
    pub opcode: Bits<8>,
    /// No retry is left for a go-back of this event, after what it acknowledges.
    pub retries_out: Bit,
    /// No retry is left without an acknowledgement.
    pub old_retries_out: Bit,
    /// No RNR retry is left.
    pub rnr_out: Bit,
}

/// What the pass does.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PassAction {
    /// Retire the oldest message.
    pub retire: Bit,
    /// Take what is acknowledged of the oldest message.
    pub settle: Bit,
    /// The oldest WQE fails.
    pub fail: Bit,
    /// With this status.
    pub status: Bits<8>,
    /// Flush one WQE.
    pub flush: Bit,
    /// Go back after a NAK 0x60, or for the data of a READ or atomic that did not come.
    pub sequence: Bit,
    /// Go back after a time-out.
    pub timeout: Bit,
    /// Begin an RNR wait.
    pub wait: Bit,
    /// End it.
    pub resume: Bit,
    /// Remember the WQE that failed in the sender until it is the oldest one.
    pub note: Bit,
    /// Let the sender go on, for the WQE that failed there is retired.
    pub pass_over: Bit,
    /// Start the ACK timer.
    pub arm: Bit,
    /// A response was of no use.
    pub ignored: Bit,
    /// The event needs another pass.
    pub again: Bit,
    /// The state needs another look.
    pub check: Bit,
    /// PSNs were acknowledged.
    pub progress: Bit,
    /// Retries left, reloaded on progress.
    pub retries: Bits<3>,
    /// RNR retries left, reloaded on progress.
    pub rnr_retries: Bits<3>,
}

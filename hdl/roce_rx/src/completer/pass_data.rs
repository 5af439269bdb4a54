//! What a pass of the completer reads and writes.

use ferroce_emit::prelude::*;

/// State of a QP's completing half.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PassState {
    /// Oldest unacknowledged PSN.
    pub una_psn: Bits<24>,
    /// SQ index of the oldest WQE that is not retired.
    pub una_wqe: Bits<16>,
    /// In error: WQEs are flushed.
    pub failed: Bit,
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
    /// A WQE failed in the sender.
    pub local: Bit,
    /// Its SQ index.
    pub local_wqe: Bits<16>,
    /// Its completion status.
    pub local_status: Bits<8>,
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

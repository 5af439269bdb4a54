//! Events of a QP's completing half.

use ferroce_emit::prelude::*;

/// One pass through the completer.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Event {
    /// What happened, numbers in [`kind`].
    pub kind: Bits<3>,
    /// QP index.
    pub qp: Bits<14>,
    /// `ACK`: it is about data, see `AckInfo`.
    pub data: Bit,
    /// `ACK`: PSN. `RESTART`: first PSN.
    pub psn: Bits<24>,
    /// `ACK`: AETH syndrome. `RESTART`: retries in bits 2:0, RNR retries in bits 5:3.
    pub syndrome: Bits<8>,
    /// `LOCAL`: SQ index of the WQE that failed.
    pub wqe: Bits<16>,
    /// `LOCAL`: its completion status.
    pub status: Bits<8>,
}

/// Event kinds.
pub mod kind {
    /// A response: ACK, NAK or RNR NAK.
    pub const ACK: u64 = 0;
    /// The timer scan found something to do.
    pub const TICK: u64 = 1;
    /// A WQE failed in the sender.
    pub const LOCAL: u64 = 2;
    /// Look at the state again: more to flush, or a failed WQE became the oldest.
    pub const CHECK: u64 = 3;
    /// Configuration starts the QP anew.
    pub const RESTART: u64 = 4;
    /// Configuration moved the QP to ERR.
    pub const FLUSH: u64 = 5;
    /// The SQ begins anew at index 0.
    pub const NEW_SQ: u64 = 6;
    /// The receive side takes no more data for the QP.
    pub const HALTED: u64 = 7;
}

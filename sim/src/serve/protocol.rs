//! What programs say to the host of a served card, one JSON object a line.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ferroce_driver::Completion;
use serde::{Deserialize, Serialize};

/// A line from a program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Request {
    /// Comes back with the reply.
    #[serde(default)]
    pub id: u64,
    /// What to do.
    #[serde(flatten)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    /// A new region of memory, zeroed.
    Mr {
        /// Bytes.
        len: usize,
    },
    /// Gives a region back.
    DropMr {
        /// Which region.
        mr: u32,
    },
    /// Stores bytes in a region.
    Write {
        /// Which region.
        mr: u32,
        /// First byte.
        #[serde(default)]
        offset: usize,
        /// Bytes in hexadecimal.
        hex: String,
    },
    /// Looks at bytes of a region.
    Read {
        /// Which region.
        mr: u32,
        /// First byte.
        #[serde(default)]
        offset: usize,
        /// Bytes.
        len: usize,
    },
    /// A new QP in RESET.
    Qp {
        /// Requests that each of its queues holds.
        #[serde(default = "depth")]
        depth: usize,
    },
    /// Destroys a QP.
    DropQp {
        /// Which QP.
        qpn: u32,
    },
    /// Moves a QP from RESET to RTS.
    Connect(Connect),
    /// Moves a QP to RESET.
    Reset {
        /// Which QP.
        qpn: u32,
    },
    /// State of a QP.
    State {
        /// Which QP.
        qpn: u32,
    },
    /// Posts a send work request.
    Send(PostSend),
    /// Posts a receive work request.
    Recv(PostRecv),
    /// Waits for completions of any QP.
    Poll {
        /// How many at least.
        #[serde(default = "one")]
        count: usize,
        /// Milliseconds of the machine's time after which what is there is the answer.
        #[serde(default)]
        timeout_ms: u64,
    },
    /// The card's counters that are not 0.
    Counters,
    /// Simulated time.
    Time,
}

const fn depth() -> usize {
    64
}

const fn one() -> usize {
    1
}

/// Peer and rules of a connection; names and defaults as in `ibv_modify_qp`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Connect {
    /// Which QP.
    pub qpn: u32,
    /// Peer's address.
    pub ip: Ipv4Addr,
    /// Peer's MAC address; asked for by ARP if it isn't given.
    pub mac: Option<String>,
    /// Peer's QPN.
    pub dest_qpn: u32,
    /// PSN of the peer's first request.
    pub rq_psn: u32,
    /// PSN of the first own request.
    pub sq_psn: u32,
    /// Path MTU in bytes.
    pub pmtu: u32,
    /// RNR NAK timer code.
    #[serde(default = "min_rnr")]
    pub min_rnr_timer: u8,
    /// ACK timeout exponent, in simulated time.
    #[serde(default = "timeout")]
    pub timeout: u8,
    /// Retries.
    #[serde(default = "seven")]
    pub retry_cnt: u8,
    /// Retries after RNR NAKs.
    #[serde(default = "seven")]
    pub rnr_retry: u8,
}

const fn min_rnr() -> u8 {
    12
}

/// 1 ms of the card's time, which is seconds of the machine's.
const fn timeout() -> u8 {
    8
}

const fn seven() -> u8 {
    7
}

/// Memory of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub struct RemoteBytes {
    /// First byte.
    pub addr: u64,
    /// Key.
    pub rkey: u32,
}

/// Operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SendKind {
    /// SEND.
    Send,
    /// SEND with immediate.
    SendImm,
    /// SEND with invalidate; the key is in `imm`.
    SendInv,
    /// RDMA WRITE.
    Write,
    /// RDMA WRITE with immediate.
    WriteImm,
    /// RDMA READ.
    Read,
    /// Compare `compare`, swap in `swap`.
    CompareSwap,
    /// Fetch, and add `swap`.
    FetchAdd,
}

/// A send work request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct PostSend {
    /// Which QP.
    pub qpn: u32,
    /// What.
    pub op: SendKind,
    /// Local region.
    pub mr: u32,
    /// First byte.
    #[serde(default)]
    pub offset: usize,
    /// Bytes.
    pub len: usize,
    /// Peer's memory, if the operation has it.
    pub remote: Option<RemoteBytes>,
    /// Immediate, or key.
    #[serde(default)]
    pub imm: u32,
    /// Comes back in the completion.
    #[serde(default)]
    pub wr_id: u64,
    /// Value to compare.
    #[serde(default)]
    pub compare: u64,
    /// Value to swap in or to add.
    #[serde(default)]
    pub swap: u64,
}

/// A receive work request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct PostRecv {
    /// Which QP.
    pub qpn: u32,
    /// Local region.
    pub mr: u32,
    /// First byte.
    #[serde(default)]
    pub offset: usize,
    /// Bytes.
    pub len: usize,
    /// Comes back in the completion.
    #[serde(default)]
    pub wr_id: u64,
}

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Completed {
    /// Of the work request.
    pub wr_id: u64,
    /// QP.
    pub qpn: u32,
    /// Number of `ibv_wc_status`.
    pub status: u8,
    /// The same in words.
    pub text: String,
    /// Bytes of the message.
    pub byte_len: u32,
    /// Immediate from the peer.
    pub imm: Option<u32>,
}

impl From<Completion> for Completed {
    fn from(done: Completion) -> Self {
        Self {
            wr_id: done.wr_id,
            qpn: done.qpn,
            status: done.status as u8,
            text: done.status.to_string(),
            byte_len: done.byte_len,
            imm: done.imm,
        }
    }
}

/// A line to the program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The card is on the wire.
    Ready {
        /// Its MAC address.
        mac: String,
        /// Its IP address.
        ip: Ipv4Addr,
    },
    /// Nothing more to say.
    Done,
    /// A new region.
    Mr {
        /// Its number.
        mr: u32,
        /// First byte, for peers.
        addr: u64,
        /// Key, for peers.
        rkey: u32,
    },
    /// A new QP.
    Qp {
        /// Its number.
        qpn: u32,
    },
    /// Bytes.
    Bytes {
        /// In hexadecimal.
        hex: String,
    },
    /// State of a QP.
    State {
        /// Its name.
        name: String,
    },
    /// Completions, oldest first.
    Completions(Vec<Completed>),
    /// Counters that are not 0.
    Counters(BTreeMap<String, u64>),
    /// Time of the card.
    Time {
        /// In nanoseconds.
        ns: u64,
        /// In core cycles.
        cycles: u64,
    },
    /// It could not be done.
    Error(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_defaults_and_wrong_ones_are_refused() {
        let line = r#"{"do":"poll","id":3}"#;
        let request: Request = serde_json::from_str(line).unwrap();
        let command = Command::Poll {
            count: 1,
            timeout_ms: 0,
        };
        assert_eq!(request, Request { id: 3, command });
        for wrong in [r#"{"do":"fly"}"#, r#"{"do":"mr"}"#, "[]", ""] {
            assert!(serde_json::from_str::<Request>(wrong).is_err(), "{wrong}");
        }
    }
}

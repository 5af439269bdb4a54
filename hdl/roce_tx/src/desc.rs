//! Descriptors that only the transmit pipeline's own blocks exchange.

use ferroce_emit::prelude::*;

/// Longest header of a frame in bytes: Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, ImmDt 4.
pub const MAX_HDR_BYTES: usize = 74;
/// Bits of a frame's longest header.
pub const HDR_BITS: usize = MAX_HDR_BYTES * 8;

/// The scheduler lets a QP send.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Visit {
    /// QP index.
    pub qp: Bits<14>,
}

/// Payload of one packet, to be read from host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchReq {
    /// Host address of the first byte.
    pub addr: Bits<64>,
    /// Bytes, 1 to 4096.
    pub len: Bits<13>,
}

/// All payload of one packet has arrived, in packet order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Fetched {
    /// A read failed: the payload was thrown away, no beats follow.
    pub err: Bit,
}

/// A frame to be assembled: its header, and how payload beats become frame beats (see
/// [`crate::frame_plan`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct TxHdr {
    /// Header bytes in wire order: byte `k` is `hdr[8k+7:8k]`; zero from `hdr_len` on.
    pub hdr: Bits<592>,
    /// The plan.
    pub plan: FramePlan,
}

/// How the payload's beats become a frame's.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FramePlan {
    /// Header bytes, 54 to 74.
    pub hdr_len: Bits<7>,
    /// Index of the frame beat in which the payload ends.
    pub end_beat: Bits<7>,
    /// Bytes of that beat up to the end of the payload, 0 to 63.
    pub end_off: Bits<6>,
    /// Index of the frame's last beat; later than `end_beat` if only pad spills over.
    pub last_index: Bits<7>,
    /// Bytes of the last beat, 1 to 64.
    pub last_len: Bits<7>,
    /// Beats of the payload, 0 to 65.
    pub src_beats: Bits<7>,
    /// Bytes by which payload beats are rotated up.
    pub shift: Bits<6>,
    /// The payload's first beat only begins the first frame beat: one more must come first.
    pub lead: Bit,
    /// There is payload; the frame begins when its first beat is there.
    pub has_payload: Bit,
    /// The first step takes a payload beat: there is payload, and the header does not fill the first frame beat.
    pub first_need: Bit,
    /// The frame takes one step: it has one beat, which needs at most one payload beat.
    pub one_step: Bit,
}

/// A packet was dropped because its payload could not be read from host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchError {
    /// Dropped in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
}

//! What the receive side counts. Each bit is high for one cycle an event; numbers are amounts to add in that
//! cycle. Field names are those of `ferroce_abi::regs::Counter`.

use ferroce_emit::prelude::*;

/// Events of [`crate::parse::RxParse`]. Every frame counts in `frames` and in exactly one of
/// `packets`, `drop_*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct ParseEvents {
    /// `RxFrames`: a frame ended.
    pub frames: Bit,
    /// `RxBytes`: bytes of a beat.
    pub bytes: Bits<7>,
    /// `RxPackets`: a frame went on to the control pipeline.
    pub packets: Bit,
    /// `RxDropFcs`.
    pub drop_fcs: Bit,
    /// `RxDropRunt`.
    pub drop_runt: Bit,
    /// `RxDropOversize`.
    pub drop_oversize: Bit,
    /// `RxDropNotRoce`.
    pub drop_not_roce: Bit,
    /// `RxDropIpChecksum`.
    pub drop_ip_checksum: Bit,
    /// `RxDropLength`.
    pub drop_length: Bit,
    /// `RxDropIcrc`.
    pub drop_icrc: Bit,
    /// `RxDropTver`.
    pub drop_tver: Bit,
    /// `RxDropOverflow`.
    pub drop_overflow: Bit,
    /// `RxDropAddress`.
    pub drop_address: Bit,
    /// `RxDropOpcode`: opcode of another service than RC.
    pub drop_opcode: Bit,
}

/// Events of [`crate::control::RxControl`].
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct ControlEvents {
    /// `RxDropQpn`.
    pub drop_qpn: Bit,
    /// `RxDropQpState`: QP not enabled, or in error since an earlier request.
    pub drop_qp_state: Bit,
    /// `RxDropPkey`.
    pub drop_pkey: Bit,
    /// `RxDropPeer`.
    pub drop_peer: Bit,
    /// `RxDropOpcode`: a response that no request of this card can have caused.
    pub drop_opcode: Bit,
    /// `RxDuplicate`.
    pub duplicate: Bit,
    /// `RxOutOfSequence`.
    pub out_of_sequence: Bit,
    /// `RxNoReceiveWqe`.
    pub no_receive_wqe: Bit,
    /// `RxRequests`.
    pub requests: Bit,
    /// `RxMessages`.
    pub messages: Bit,
    /// `RxReads`.
    pub reads: Bit,
    /// `RxAtomics`.
    pub atomics: Bit,
    /// `RxReplays`.
    pub replays: Bit,
    /// `RxData`.
    pub landings: Bit,
    /// `ResponderErrors`.
    pub responder_errors: Bit,
}

/// Events of [`crate::completer::Completer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CompleterEvents {
    /// `RxAcks`.
    pub acks: Bit,
    /// `RxIgnoredAcks`.
    pub ignored_acks: Bit,
    /// `Retransmits`.
    pub retransmits: Bit,
    /// `Timeouts`.
    pub timeouts: Bit,
    /// `RnrWaits`.
    pub rnr_waits: Bit,
    /// `SequenceNaks`.
    pub sequence_naks: Bit,
    /// `RequesterErrors`.
    pub requester_errors: Bit,
}

/// Events of [`crate::RoceRx`].
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RxEvents {
    /// Of the parser.
    pub parse: ParseEvents,
    /// Of the control pipeline.
    pub control: ControlEvents,
    /// Of the completer.
    pub completer: CompleterEvents,
    /// `RxPayloadBytes`: payload bytes of a write that has begun.
    pub payload_bytes: Bits<13>,
}

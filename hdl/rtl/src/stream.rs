//! The stream handshake and the 512-bit beat that payload and frames travel in.

use ferroce_emit::prelude::*;

/// Source side of a stream. A transfer happens in every cycle in which `valid` and `ready` are
/// both high; once `valid` is high, it and `data` hold until that transfer.
#[derive(Clone, Debug, Default, LogicInterface, Module)]
#[join = "StreamIn"]
pub struct StreamOut<T: Synth> {
    /// The item offered.
    pub data: Signal<Out, T>,
    /// An item is offered.
    pub valid: Signal<Out, Bit>,
    /// The sink takes the item in this cycle.
    pub ready: Signal<In, Bit>,
}

/// Sink side of a stream, see [`StreamOut`].
#[derive(Clone, Debug, Default, LogicInterface, Module)]
#[join = "StreamOut"]
pub struct StreamIn<T: Synth> {
    /// The item offered.
    pub data: Signal<In, T>,
    /// An item is offered.
    pub valid: Signal<In, Bit>,
    /// This sink takes the item in this cycle.
    pub ready: Signal<Out, Bit>,
}

/// 64 bytes of a frame or of a payload. Byte `k` of the beat is `data[8k+7:8k]` (AXI stream order).
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Beat {
    /// The bytes.
    pub data: Bits<512>,
    /// Valid bytes, 1 to 64, counted from byte 0; 64 in every beat but the last.
    pub len: Bits<7>,
    /// Last beat of its frame or payload.
    pub last: Bit,
    /// With `last`: the frame is damaged (bad FCS, cut short) and must be dropped.
    pub err: Bit,
}

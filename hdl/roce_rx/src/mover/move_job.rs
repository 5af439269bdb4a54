//! What the mover's parts tell each other.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::header::StripJob;

/// One frame to be moved or removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MoveJob {
    /// There is payload to write.
    pub place: Bit,
    /// A CQE follows.
    pub has_cqe: Bit,
    /// What waits for the payload before this frame may go on.
    pub fence: Bit,
    /// Data of an own READ or atomic.
    pub landing: Bit,
    /// How the payload gets out of the frame.
    pub strip: StripJob,
    /// Number of the beat after the frame.
    pub freed: Bits<16>,
    /// The payload crosses a 4 KiB boundary: two writes.
    pub split: Bit,
    /// Beats of the first write.
    pub first_beats: Bits<7>,
    /// Host address of the first write.
    pub addr: Bits<64>,
    /// Its bytes.
    pub len: Bits<13>,
    /// Number of the 4 KiB page in which the second write begins.
    pub page2: Bits<52>,
    /// Bytes of the second write.
    pub len2: Bits<13>,
}

/// What a payload beat is in its DMA write.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MoveLabel {
    /// No payload: only a CQE or a fence passes.
    pub empty: Bit,
    /// Address of the write.
    pub addr: Bits<64>,
    /// Bytes of the write.
    pub len: Bits<13>,
    /// First beat of the write.
    pub first: Bit,
    /// Last beat of the write.
    pub last: Bit,
    /// The frame's CQE may go when this has gone.
    pub cqe: Bit,
    /// A READ or atomic may go on when this has gone.
    pub fence: Bit,
    /// Data of an own READ or atomic is on its way when this has gone.
    pub landing: Bit,
}

/// A beat for the host, or just a CQE's turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MovedBeat {
    /// The beat.
    pub beat: DmaWriteBeat,
    /// No beat.
    pub empty: Bit,
    /// First beat of its write.
    pub first: Bit,
    /// The next CQE may go when this has gone.
    pub cqe: Bit,
    /// The next READ or atomic may go on when this has gone.
    pub fence: Bit,
    /// The next data of an own READ or atomic is on its way when this has gone.
    pub landing: Bit,
}

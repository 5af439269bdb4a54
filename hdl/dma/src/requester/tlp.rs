//! What the parts of the requester's way out tell each other.

use ferroce_emit::prelude::*;

/// A write TLP as it was cut. Lanes are doublewords of a 64-byte line.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CutTlp {
    /// Address of the first doubleword, in doublewords.
    pub addr: Bits<62>,
    /// First byte of the first doubleword.
    pub first_byte: Bits<2>,
    /// Lane of the last doubleword.
    pub last_lane: Bits<4>,
    /// Last byte of the last doubleword.
    pub last_byte: Bits<2>,
    /// Payload beats after the first.
    pub more: Bits<4>,
    /// Last TLP of its DMA write.
    pub closes: Bit,
}

/// A TLP and how it becomes RQ beats. A TLP starts in lane 0 or 8 of an RQ beat; its plan covers both.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PackTlp {
    /// A memory write; else a memory read.
    pub write: Bit,
    /// Address of the first doubleword, in doublewords.
    pub addr: Bits<62>,
    /// Doublewords of the request, 1 to 256.
    pub dwords: Bits<11>,
    /// Byte enables of the first doubleword.
    pub first_be: Bits<4>,
    /// Byte enables of the last doubleword; 0 when there is only one.
    pub last_be: Bits<4>,
    /// Tag, of reads.
    pub tag: Bits<8>,
    /// Last TLP of its DMA write.
    pub closes: Bit,
    /// Lanes by which payload beats are rotated up when the TLP starts in lane 0; 8 more when it starts in lane 8.
    pub rotate: Bits<4>,
    /// One payload beat, or no payload at all.
    pub single: Bit,
    /// Can't start in lane 8: the first payload beat would not fill the RQ beat.
    pub late: Bit,
    /// From lane 0, the first step completes an RQ beat.
    pub emits: Bit,
    /// Lane of the last doubleword after a start in lane 0; bit 3 is inverse after one in lane 8.
    pub end: Bits<4>,
    /// From lane 0, the last payload beat completes an RQ beat and the rest goes to the next.
    pub spill0: Bit,
    /// The same from lane 8.
    pub spill8: Bit,
}

/// One cycle of packing: at most one payload beat in, at most one RQ beat out. A read may ride on a write's last step: its descriptor takes
/// lanes 8 to 11 behind the write's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PackStep {
    /// There is a step.
    pub valid: Bit,
    /// It completes an RQ beat.
    pub emit: Bit,
    /// The RQ beat holds only what came before this step; what the step brings begins the next one.
    pub flush: Bit,
    /// A TLP starts.
    pub sop: Bit,
    /// It starts in lane 8.
    pub upper: Bit,
    /// A TLP ends in the RQ beat that this step adds to.
    pub eop: Bit,
    /// A TLP ends in the rest that this step leaves for the next RQ beat.
    pub eop_rest: Bit,
    /// Lane of that end.
    pub end: Bits<4>,
    /// Lanes by which the payload beat is rotated up.
    pub rotate: Bits<4>,
    /// First lane of the RQ beat that comes from the payload beat.
    pub from: Bits<4>,
    /// [`PackTlp::write`] of the TLP that starts.
    pub write: Bit,
    /// [`PackTlp::addr`].
    pub addr: Bits<62>,
    /// [`PackTlp::dwords`].
    pub dwords: Bits<11>,
    /// [`PackTlp::tag`].
    pub tag: Bits<8>,
    /// [`PackTlp::first_be`].
    pub first_be: Bits<4>,
    /// [`PackTlp::last_be`].
    pub last_be: Bits<4>,
    /// A read rides along, in the RQ beat in which the step's TLP ends.
    pub ride: Bit,
    /// That is the rest that this step leaves for the next RQ beat.
    pub ride_rest: Bit,
    /// [`PackTlp::addr`] of the read.
    pub ride_addr: Bits<62>,
    /// [`PackTlp::dwords`] of the read.
    pub ride_dwords: Bits<11>,
    /// [`PackTlp::tag`] of the read.
    pub ride_tag: Bits<8>,
    /// [`PackTlp::first_be`] of the read.
    pub ride_first_be: Bits<4>,
    /// [`PackTlp::last_be`] of the read.
    pub ride_last_be: Bits<4>,
}

/// What goes with the data of an RQ beat; the rest of `tuser` is constant or follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PackUser {
    /// Valid doublewords, without straddling.
    pub keep: Bits<16>,
    /// As in [`RqBeat`](crate::axis::RqBeat).
    pub first_be: Bits<8>,
    /// As in [`RqBeat`](crate::axis::RqBeat).
    pub last_be: Bits<8>,
    /// As in [`RqBeat`](crate::axis::RqBeat).
    pub is_sop: Bits<2>,
    /// The first start is in lane 8.
    pub upper: Bit,
    /// As in [`RqBeat`](crate::axis::RqBeat).
    pub is_eop: Bits<2>,
    /// As in [`RqBeat`](crate::axis::RqBeat).
    pub is_eop0_ptr: Bits<4>,
    /// As in [`RqBeat`](crate::axis::RqBeat).
    pub is_eop1_ptr: Bits<4>,
    /// As in [`RqBeat`](crate::axis::RqBeat).
    pub seq_num0: Bits<6>,
    /// As in [`RqBeat`](crate::axis::RqBeat).
    pub seq_num1: Bits<6>,
    /// Reads that start in this beat, 0 to 2.
    pub reads: Bits<2>,
}

/// An RQ beat as it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PackBeat {
    /// The bytes.
    pub data: Bits<512>,
    /// [`PackUser::keep`].
    pub keep: Bits<16>,
    /// [`PackUser::first_be`].
    pub first_be: Bits<8>,
    /// [`PackUser::last_be`].
    pub last_be: Bits<8>,
    /// [`PackUser::is_sop`].
    pub is_sop: Bits<2>,
    /// [`PackUser::upper`].
    pub upper: Bit,
    /// [`PackUser::is_eop`].
    pub is_eop: Bits<2>,
    /// [`PackUser::is_eop0_ptr`].
    pub is_eop0_ptr: Bits<4>,
    /// [`PackUser::is_eop1_ptr`].
    pub is_eop1_ptr: Bits<4>,
    /// [`PackUser::seq_num0`].
    pub seq_num0: Bits<6>,
    /// [`PackUser::seq_num1`].
    pub seq_num1: Bits<6>,
    /// [`PackUser::reads`].
    pub reads: Bits<2>,
}

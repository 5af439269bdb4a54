//! Completions into the reorder buffer.

use super::rc_header::{RcHeader, HEADER_LATENCY};
use super::rc_lane::{LaneWrite, RcLane, LANES, SELECT_LATENCY};
use super::rc_place::{RcPlace, PLACE_LATENCY};
use super::rc_segments::RcSegments;
use super::slot::{SlotEnd, SlotOpen};
use crate::axis::RcBeat;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::stream::StreamIn;

/// From RC beats to writes of doublewords and to slots that are over. Never waits for anything but itself: every slot has its place in the
/// reorder buffer.
#[derive(LogicBlock, Module)]
pub struct RcIntake {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Beats of the PCIe block.
    pub rc: StreamIn<RcBeat>,
    /// Slots that wait from now on.
    pub opened: Signal<In, SlotOpen>,
    /// Writes of each lane of the reorder buffer.
    pub write: [Signal<Out, LaneWrite>; LANES],
    /// Slots that are over; their last write is two cycles later.
    pub end: Signal<Out, SlotEnd>,
    /// A completion for which no slot waits was dropped.
    pub unexpected: Signal<Out, Bit>,
    segments: RcSegments,
    header: RcHeader,
    place: RcPlace,
    data: Delay<Bits<512>>,
    lanes: [RcLane; LANES],
}

impl Default for RcIntake {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            rc: StreamIn::default(),
            opened: Signal::default(),
            write: std::array::from_fn(|_| Signal::default()),
            end: Signal::default(),
            unexpected: Signal::default(),
            segments: RcSegments::default(),
            header: RcHeader::default(),
            place: RcPlace::default(),
            data: Delay::new(HEADER_LATENCY + PLACE_LATENCY + SELECT_LATENCY),
            lanes: std::array::from_fn(RcLane::new),
        }
    }
}

impl Logic for RcIntake {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, segments, header, place, data);
        StreamIn::<RcBeat>::link(&mut self.rc, &mut self.segments.rc);
        self.header.opened.next = self.opened.val();
        self.header.slice.next = self.segments.slice.val();
        self.place.opened.next = self.opened.val();
        self.place.part.next = self.header.part.val();
        self.data.data_in.next = self.segments.data.val();
        for i in 0..16 {
            self.lanes[i].clock.next = self.clock.val();
            self.lanes[i].parts.next = self.place.lanes.val();
            self.lanes[i].data.next = self.data.data_out.val();
            self.write[i].next = self.lanes[i].write.val();
        }
        self.end.next = self.place.end.val();
        self.unexpected.next = self.place.unexpected.val();
    }
}

ferroce_emit::register_leaf!("rc_intake", RcIntake::default);

//! Data path of packing.

use super::tlp::PackStep;
use crate::desc::request;
use ferroce_emit::prelude::*;
use ferroce_rtl::dword_spread::DwordSpread;

/// Cycles from a step to its RQ beat.
pub const MERGE_LATENCY: usize = 3;

/// Rotates each payload beat by doublewords in two steps, and merges it with the descriptor and with what the steps before left. Free running.
#[derive(LogicBlock, Module)]
pub struct PackMerge {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The step.
    pub step: Signal<In, PackStep>,
    /// Its payload beat.
    pub data: Signal<In, Bits<512>>,
    /// RQ beat of the step of [`MERGE_LATENCY`] cycles ago, if it gives one.
    pub beat: Signal<Out, Bits<512>>,
    by4: DFF<Bits<512>>,
    step1: DFF<PackStep>,
    by1: DFF<Bits<512>>,
    descriptor: DFF<Bits<128>>,
    /// Descriptor of the read that rides along; it is in lanes 8 to 11 of the RQ beat, or of the rest.
    rider: DFF<Bits<128>>,
    rider_in_beat: DFF<Bit>,
    rider_in_rest: DFF<Bit>,
    /// Lanes of the RQ beat that come from the payload beat, and from before.
    new_lanes: DFF<Bits<16>>,
    old_lanes: DFF<Bits<16>>,
    /// The same for what is left for the next step.
    rest_new: DFF<Bits<16>>,
    rest_old: DFF<Bits<16>>,
    /// The descriptor is in lanes 0 to 3, or 8 to 11, of the RQ beat, or in lanes 0 to 3 of the rest.
    at_lane0: DFF<Bit>,
    at_lane8: DFF<Bit>,
    in_rest: DFF<Bit>,
    rest: DFF<Bits<512>>,
    out: DFF<Bits<512>>,
    spread_new: DwordSpread,
    spread_old: DwordSpread,
    spread_rest_new: DwordSpread,
    spread_rest_old: DwordSpread,
    ones: Constant<Bits<16>>,
    fours: Signal<Local, Bits<2>>,
    singles: Signal<Local, Bits<2>>,
    from_lanes: Signal<Local, Bits<16>>,
    descriptor_lanes: Signal<Local, Bits<16>>,
    kind: Signal<Local, Bits<4>>,
    low: Signal<Local, Bits<512>>,
    high: Signal<Local, Bits<512>>,
    rest_low: Signal<Local, Bits<512>>,
    ridden: Signal<Local, Bits<512>>,
    rest_ridden: Signal<Local, Bits<512>>,
    rides_in_beat: Signal<Local, Bit>,
    rides_in_rest: Signal<Local, Bit>,
    beat_lanes: Signal<Local, Bits<16>>,
    rest_lanes: Signal<Local, Bits<16>>,
}

impl Default for PackMerge {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            step: Signal::default(),
            data: Signal::default(),
            beat: Signal::default(),
            by4: DFF::default(),
            step1: DFF::default(),
            by1: DFF::default(),
            descriptor: DFF::default(),
            rider: DFF::default(),
            rider_in_beat: DFF::default(),
            rider_in_rest: DFF::default(),
            new_lanes: DFF::default(),
            old_lanes: DFF::default(),
            rest_new: DFF::default(),
            rest_old: DFF::default(),
            at_lane0: DFF::default(),
            at_lane8: DFF::default(),
            in_rest: DFF::default(),
            rest: DFF::default(),
            out: DFF::default(),
            spread_new: DwordSpread::default(),
            spread_old: DwordSpread::default(),
            spread_rest_new: DwordSpread::default(),
            spread_rest_old: DwordSpread::default(),
            ones: Constant::new(0xFFFF.into()),
            fours: Signal::default(),
            singles: Signal::default(),
            from_lanes: Signal::default(),
            descriptor_lanes: Signal::default(),
            kind: Signal::default(),
            low: Signal::default(),
            high: Signal::default(),
            rest_low: Signal::default(),
            ridden: Signal::default(),
            rest_ridden: Signal::default(),
            rides_in_beat: Signal::default(),
            rides_in_rest: Signal::default(),
            beat_lanes: Signal::default(),
            rest_lanes: Signal::default(),
        }
    }
}

impl Logic for PackMerge {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            by4,
            step1,
            by1,
            descriptor,
            rider,
            rider_in_beat,
            rider_in_rest,
            new_lanes,
            old_lanes,
            rest_new,
            rest_old,
            at_lane0,
            at_lane8,
            in_rest,
            rest,
            out
        );
        // Rotation.
        self.fours.next = self.step.val().rotate.get_bits::<2>(2);
        self.by4.d.next = self.data.val();
        if self.fours.val() == 1 {
            self.by4.d.next = (self.data.val() << 128) | (self.data.val() >> 384);
        }
        if self.fours.val() == 2 {
            self.by4.d.next = (self.data.val() << 256) | (self.data.val() >> 256);
        }
        if self.fours.val() == 3 {
            self.by4.d.next = (self.data.val() << 384) | (self.data.val() >> 128);
        }
        self.step1.d.next = self.step.val();
        self.singles.next = self.step1.q.val().rotate.get_bits::<2>(0);
        self.by1.d.next = self.by4.q.val();
        if self.singles.val() == 1 {
            self.by1.d.next = (self.by4.q.val() << 32) | (self.by4.q.val() >> 480);
        }
        if self.singles.val() == 2 {
            self.by1.d.next = (self.by4.q.val() << 64) | (self.by4.q.val() >> 448);
        }
        if self.singles.val() == 3 {
            self.by1.d.next = (self.by4.q.val() << 96) | (self.by4.q.val() >> 416);
        }

        // Beside its second step: the descriptor, and which lane of the beat and of the rest comes from where.
        self.kind.next = request::MEM_READ.into();
        if self.step1.q.val().write {
            self.kind.next = request::MEM_WRITE.into();
        }
        self.descriptor.d.next = (bit_cast::<128, 62>(self.step1.q.val().addr) << 2)
            | (bit_cast::<128, 11>(self.step1.q.val().dwords) << 64)
            | (bit_cast::<128, 4>(self.kind.val()) << 75)
            | (bit_cast::<128, 8>(self.step1.q.val().tag) << 96);
        self.rider.d.next = (bit_cast::<128, 62>(self.step1.q.val().ride_addr) << 2)
            | (bit_cast::<128, 11>(self.step1.q.val().ride_dwords) << 64)
            | (bit_cast::<128, 8>(self.step1.q.val().ride_tag) << 96);
        self.rides_in_beat.next = self.step1.q.val().ride & !self.step1.q.val().ride_rest;
        self.rides_in_rest.next = self.step1.q.val().ride & self.step1.q.val().ride_rest;
        self.rider_in_beat.d.next = self.rides_in_beat.val();
        self.rider_in_rest.d.next = self.rides_in_rest.val();
        self.beat_lanes.next = self.ones.val();
        if self.rides_in_beat.val() {
            self.beat_lanes.next = 0xF0FF.into();
        }
        self.rest_lanes.next = self.ones.val();
        if self.rides_in_rest.val() {
            self.rest_lanes.next = 0xF0FF.into();
        }
        self.from_lanes.next = self.ones.val() << self.step1.q.val().from;
        self.descriptor_lanes.next = 0.into();
        if self.step1.q.val().sop {
            self.descriptor_lanes.next = 0x000F.into();
            if self.step1.q.val().upper {
                self.descriptor_lanes.next = 0x0F00.into();
            }
        }
        // A rest is kept until the next step.
        self.new_lanes.d.next = self.from_lanes.val() & self.beat_lanes.val();
        self.old_lanes.d.next =
            !self.from_lanes.val() & !self.descriptor_lanes.val() & self.beat_lanes.val();
        self.at_lane0.d.next = self.step1.q.val().sop & !self.step1.q.val().upper;
        self.at_lane8.d.next = self.step1.q.val().sop & self.step1.q.val().upper;
        self.in_rest.d.next = false;
        self.rest_new.d.next = 0.into();
        self.rest_old.d.next = self.ones.val();
        if self.step1.q.val().valid {
            self.rest_new.d.next = self.from_lanes.val() & self.rest_lanes.val();
            self.rest_old.d.next =
                !self.from_lanes.val() & !self.descriptor_lanes.val() & self.rest_lanes.val();
            self.in_rest.d.next = self.step1.q.val().sop;
        }
        if self.step1.q.val().flush {
            self.new_lanes.d.next = 0.into();
            self.old_lanes.d.next = self.ones.val();
            self.at_lane0.d.next = false;
        } else if self.step1.q.val().emit {
            self.rest_new.d.next = self.rest_lanes.val();
            self.rest_old.d.next = 0.into();
            self.in_rest.d.next = false;
        }

        // Merge.
        self.spread_new.bits.next = self.new_lanes.q.val();
        self.spread_old.bits.next = self.old_lanes.q.val();
        self.spread_rest_new.bits.next = self.rest_new.q.val();
        self.spread_rest_old.bits.next = self.rest_old.q.val();
        self.low.next = 0.into();
        if self.at_lane0.q.val() {
            self.low.next = bit_cast::<512, 128>(self.descriptor.q.val());
        }
        self.high.next = 0.into();
        if self.at_lane8.q.val() {
            self.high.next = bit_cast::<512, 128>(self.descriptor.q.val()) << 256;
        }
        self.rest_low.next = 0.into();
        if self.in_rest.q.val() {
            self.rest_low.next = bit_cast::<512, 128>(self.descriptor.q.val());
        }
        self.ridden.next = 0.into();
        if self.rider_in_beat.q.val() {
            self.ridden.next = bit_cast::<512, 128>(self.rider.q.val()) << 256;
        }
        self.rest_ridden.next = 0.into();
        if self.rider_in_rest.q.val() {
            self.rest_ridden.next = bit_cast::<512, 128>(self.rider.q.val()) << 256;
        }
        self.out.d.next = (self.by1.q.val() & self.spread_new.dwords.val())
            | (self.rest.q.val() & self.spread_old.dwords.val())
            | self.low.val()
            | self.high.val()
            | self.ridden.val();
        self.rest.d.next = (self.by1.q.val() & self.spread_rest_new.dwords.val())
            | (self.rest.q.val() & self.spread_rest_old.dwords.val())
            | self.rest_low.val()
            | self.rest_ridden.val();
        self.beat.next = self.out.q.val();
    }
}

ferroce_emit::register_leaf!("pack_merge", PackMerge::default);

//! Takes the beats of RC apart: which TLPs have a part in them.

use crate::axis::RcBeat;
use ferroce_emit::prelude::*;
use ferroce_rtl::stream::StreamIn;

/// What one cycle takes of a beat: a part of the TLP that began in an earlier beat, a part of one that starts here, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RcSlice {
    /// A part of the TLP that was open; it begins at doubleword 0.
    pub tail: Bit,
    /// It is the TLP's last.
    pub tail_ends: Bit,
    /// Its last doubleword.
    pub tail_last: Bits<4>,
    /// A TLP that starts.
    pub head: Bit,
    /// Where its descriptor is, in units of four doublewords.
    pub head_at: Bits<2>,
    /// It ends in this beat, too.
    pub head_ends: Bit,
    /// Its last doubleword in this beat.
    pub head_last: Bits<4>,
    /// The parts that end are damaged.
    pub discontinue: Bit,
    /// Descriptor, as are all fields below: byte address bits 6:0.
    pub lower_address: Bits<7>,
    /// Error code of the PCIe block.
    pub error_code: Bits<4>,
    /// Bytes of the request that were missing before this completion.
    pub byte_count: Bits<13>,
    /// Last completion of its request.
    pub completed: Bit,
    /// Doublewords of payload.
    pub dwords: Bits<11>,
    /// Completion status.
    pub status: Bits<3>,
    /// The payload is poisoned.
    pub poisoned: Bit,
    /// The tag.
    pub tag: Bits<8>,
}

/// A slice a cycle, and a beat a cycle if it is one slice. Two parts are one slice when the first one ends the TLP that was open, the other one goes on
/// in the next beat, and their doublewords belong in different lanes: always so when completions begin at multiples of
/// 64 bytes. Any other beat takes a cycle for each part.
///
/// It goes by `is_sop` and `is_eop` alone, so it serves streams with and without straddling. Whatever they say, a beat is
/// done after five cycles at most, and a TLP that starts at byte 0 is understood whatever was before it.
#[derive(LogicBlock, Module, Default)]
pub struct RcSegments {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Beats of the PCIe block.
    pub rc: StreamIn<RcBeat>,
    /// What is taken in this cycle.
    pub slice: Signal<Out, RcSlice>,
    /// The beat that it is part of.
    pub data: Signal<Out, Bits<512>>,
    a_valid: DFF<Bit>,
    a_beat: DFF<RcBeat>,
    /// Lane of the first start's payload.
    a_first_lane: DFF<Bits<4>>,
    /// A TLP goes on in the next beat, and its lanes are its places in the beat rotated by this.
    open: DFF<Bit>,
    rotation: DFF<Bits<4>>,
    data_reg: DFF<Bits<512>>,
    discontinue: DFF<Bit>,
    /// Parts that are left: of the open TLP, and starts and ends in order.
    tail: DFF<Bit>,
    starts: DFF<Bits<4>>,
    start_at: DFF<Bits<8>>,
    ends: DFF<Bits<4>>,
    end_at: DFF<Bits<16>>,
    /// Tail and first start are one slice.
    pair: DFF<Bit>,
    /// This slice is not the beat's last one.
    more: DFF<Bit>,
    /// The open TLP has a part in this beat.
    carried: Signal<Local, Bit>,
    last_at: Signal<Local, Bits<2>>,
    last_lane: Signal<Local, Bits<4>>,
    distance: Signal<Local, Bits<4>>,
    paired: Signal<Local, Bit>,
    end_now: Signal<Local, Bit>,
    last_now: Signal<Local, Bits<4>>,
    descriptor: Signal<Local, Bits<96>>,
}

impl Logic for RcSegments {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            a_valid,
            a_beat,
            a_first_lane,
            open,
            rotation,
            data_reg,
            discontinue,
            tail,
            starts,
            start_at,
            ends,
            end_at,
            pair,
            more
        );
        self.rc.ready.next = !self.more.q.val();

        // A TLP that starts at byte 0 leaves no room for an open one: the link went down within that.
        self.carried.next = self.open.q.val()
            & !(self.a_beat.q.val().is_sop.get_bit(0) & (self.a_beat.q.val().is_sop0_ptr == 0));
        // The last start names the TLP that may go on.
        self.last_at.next = self.a_beat.q.val().is_sop0_ptr;
        if self.a_beat.q.val().is_sop.get_bit(1) {
            self.last_at.next = self.a_beat.q.val().is_sop1_ptr;
        }
        if self.a_beat.q.val().is_sop.get_bit(2) {
            self.last_at.next = self.a_beat.q.val().is_sop2_ptr;
        }
        if self.a_beat.q.val().is_sop.get_bit(3) {
            self.last_at.next = self.a_beat.q.val().is_sop3_ptr;
        }
        self.last_lane.next = self.a_beat.q.val().data.get_bits::<4>(2);
        if self.last_at.val() == 1 {
            self.last_lane.next = self.a_beat.q.val().data.get_bits::<4>(130);
        }
        if self.last_at.val() == 2 {
            self.last_lane.next = self.a_beat.q.val().data.get_bits::<4>(258);
        }
        if self.last_at.val() == 3 {
            self.last_lane.next = self.a_beat.q.val().data.get_bits::<4>(386);
        }

        // The tail has the lanes `rotation` to `rotation` + its last place, the head those from `a_first_lane` on, as many
        // as the beat still has: from place 4 * at + 3 on.
        self.distance.next = self.a_first_lane.q.val() - self.rotation.q.val();
        self.paired.next = self.carried.val()
            & (self.a_beat.q.val().is_sop.get_bits::<2>(0) == 1)
            & (self.a_beat.q.val().is_eop.get_bits::<2>(0) == 1)
            & (self.distance.val() > self.a_beat.q.val().is_eop0_ptr)
            & (self.distance.val().get_bits::<2>(2) <= self.a_beat.q.val().is_sop0_ptr);

        if !self.more.q.val() {
            self.a_valid.d.next = self.rc.valid.val();
            self.a_beat.d.next = self.rc.data.val();
            self.a_first_lane.d.next = self.rc.data.val().data.get_bits::<4>(2);
            if self.rc.data.val().is_sop0_ptr == 1 {
                self.a_first_lane.d.next = self.rc.data.val().data.get_bits::<4>(130);
            }
            if self.rc.data.val().is_sop0_ptr == 2 {
                self.a_first_lane.d.next = self.rc.data.val().data.get_bits::<4>(258);
            }
            if self.rc.data.val().is_sop0_ptr == 3 {
                self.a_first_lane.d.next = self.rc.data.val().data.get_bits::<4>(386);
            }
            if self.a_valid.q.val() {
                // The newest TLP is open unless its end is here: the first one, or as many as there are starts and open TLPs.
                if self.a_beat.q.val().is_sop.get_bit(0) {
                    self.rotation.d.next =
                        self.last_lane.val() - ((bit_cast::<4, 2>(self.last_at.val()) << 2) | 3);
                    if self.carried.val() {
                        self.open.d.next =
                            (self.a_beat.q.val().is_sop & !(self.a_beat.q.val().is_eop >> 1)).any();
                    } else {
                        self.open.d.next =
                            (self.a_beat.q.val().is_sop & !self.a_beat.q.val().is_eop).any();
                    }
                } else {
                    self.open.d.next = self.carried.val() & !self.a_beat.q.val().is_eop.get_bit(0);
                }
            }

            self.data_reg.d.next = self.a_beat.q.val().data;
            self.discontinue.d.next = self.a_beat.q.val().discontinue;
            self.tail.d.next = self.a_valid.q.val() & self.carried.val();
            self.starts.d.next = 0.into();
            if self.a_valid.q.val() {
                self.starts.d.next = self.a_beat.q.val().is_sop;
            }
            self.start_at.d.next = bit_cast::<8, 2>(self.a_beat.q.val().is_sop0_ptr)
                | (bit_cast::<8, 2>(self.a_beat.q.val().is_sop1_ptr) << 2)
                | (bit_cast::<8, 2>(self.a_beat.q.val().is_sop2_ptr) << 4)
                | (bit_cast::<8, 2>(self.a_beat.q.val().is_sop3_ptr) << 6);
            self.ends.d.next = self.a_beat.q.val().is_eop;
            self.end_at.d.next = bit_cast::<16, 4>(self.a_beat.q.val().is_eop0_ptr)
                | (bit_cast::<16, 4>(self.a_beat.q.val().is_eop1_ptr) << 4)
                | (bit_cast::<16, 4>(self.a_beat.q.val().is_eop2_ptr) << 8)
                | (bit_cast::<16, 4>(self.a_beat.q.val().is_eop3_ptr) << 12);
            self.pair.d.next = self.paired.val();
            self.more.d.next = self.a_valid.q.val()
                & (self.a_beat.q.val().is_sop.get_bit(1)
                    | (self.carried.val()
                        & self.a_beat.q.val().is_sop.get_bit(0)
                        & !self.paired.val()));
        } else {
            self.tail.d.next = false;
            self.more.d.next = self.starts.q.val().get_bit(1);
            if !self.tail.q.val() {
                self.starts.d.next = self.starts.q.val() >> 1;
                self.start_at.d.next = self.start_at.q.val() >> 2;
                self.more.d.next = self.starts.q.val().get_bit(2);
            }
            if self.ends.q.val().get_bit(0) {
                self.ends.d.next = self.ends.q.val() >> 1;
                self.end_at.d.next = self.end_at.q.val() >> 4;
            }
        }

        self.end_now.next = self.ends.q.val().get_bit(0);
        self.last_now.next = 15.into();
        if self.end_now.val() {
            self.last_now.next = self.end_at.q.val().get_bits::<4>(0);
        }
        self.descriptor.next = self.data_reg.q.val().get_bits::<96>(0);
        if self.start_at.q.val().get_bits::<2>(0) == 1 {
            self.descriptor.next = self.data_reg.q.val().get_bits::<96>(128);
        }
        if self.start_at.q.val().get_bits::<2>(0) == 2 {
            self.descriptor.next = self.data_reg.q.val().get_bits::<96>(256);
        }
        if self.start_at.q.val().get_bits::<2>(0) == 3 {
            self.descriptor.next = self.data_reg.q.val().get_bits::<96>(384);
        }
        self.slice.next.tail = self.tail.q.val();
        self.slice.next.tail_ends = self.end_now.val();
        self.slice.next.tail_last = self.last_now.val();
        self.slice.next.head =
            self.starts.q.val().get_bit(0) & (!self.tail.q.val() | self.pair.q.val());
        self.slice.next.head_at = self.start_at.q.val().get_bits::<2>(0);
        self.slice.next.head_ends = self.end_now.val() & !self.tail.q.val();
        self.slice.next.head_last = self.last_now.val();
        if self.tail.q.val() {
            self.slice.next.head_last = 15.into();
        }
        self.slice.next.discontinue = self.discontinue.q.val();
        self.slice.next.lower_address = self.descriptor.val().get_bits::<7>(0);
        self.slice.next.error_code = self.descriptor.val().get_bits::<4>(12);
        self.slice.next.byte_count = self.descriptor.val().get_bits::<13>(16);
        self.slice.next.completed = self.descriptor.val().get_bit(30);
        self.slice.next.dwords = self.descriptor.val().get_bits::<11>(32);
        self.slice.next.status = self.descriptor.val().get_bits::<3>(43);
        self.slice.next.poisoned = self.descriptor.val().get_bit(46);
        self.slice.next.tag = self.descriptor.val().get_bits::<8>(64);
        self.data.next = self.data_reg.q.val();
    }
}

ferroce_emit::register_leaf!("rc_segments", RcSegments::default);

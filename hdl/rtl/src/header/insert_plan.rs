//! Plans how a payload's beats become a frame's.

use ferroce_emit::prelude::*;

/// Cycles from the inputs to `plan`.
pub const INSERT_PLAN_LATENCY: usize = 2;

/// A frame to be put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct InsertJob {
    /// Header bytes in the order of the frame: byte `k` is `hdr[8k+7:8k]`; zero from the header's length on.
    pub hdr: Bits<1016>,
    /// The plan.
    pub plan: InsertPlan,
}

/// How the payload's beats become a frame's; made by [`InsertPlanner`].
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct InsertPlan {
    /// Header bytes, 0 to 127.
    pub hdr_len: Bits<7>,
    /// Index of the frame beat in which the payload ends.
    pub end_beat: Bits<7>,
    /// Bytes of that beat up to the end of the payload, 0 to 63.
    pub end_off: Bits<6>,
    /// Index of the frame's last beat; later than `end_beat` if only pad spills over.
    pub last_index: Bits<7>,
    /// Bytes of the last beat, 1 to 64.
    pub last_len: Bits<7>,
    /// Beats of the payload, 0 to 126.
    pub src_beats: Bits<7>,
    /// Bytes by which payload beats are rotated up.
    pub shift: Bits<6>,
    /// The payload's first beat only begins the first frame beat: one more must come first.
    pub lead: Bit,
    /// There is payload; the frame begins when its first beat is there.
    pub has_payload: Bit,
    /// The first step takes a payload beat: there is payload, and the header does not fill the first frame beat.
    pub first_need: Bit,
    /// The frame takes one step: it has at most one beat, which needs at most one payload beat.
    pub one_step: Bit,
    /// The frame has bytes at all.
    pub some: Bit,
}

/// The payload's first byte is byte `src_off` of its first beat and byte `hdr_len` of the frame. So payload beats are rotated
/// up by `hdr_len - src_off` modulo 64; a rotated beat's upper part ends one frame beat, its lower part begins the next.
/// A plan in every cycle.
#[derive(LogicBlock, Module, Default)]
pub struct InsertPlanner {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Header bytes, 0 to [`MAX_HEADER_BYTES`](super::MAX_HEADER_BYTES).
    pub hdr_len: Signal<In, Bits<7>>,
    /// Payload bytes.
    pub len: Signal<In, Bits<13>>,
    /// Payload and pad in bytes: `len` to [`MAX_PAYLOAD_BYTES`](super::MAX_PAYLOAD_BYTES).
    pub padded_len: Signal<In, Bits<13>>,
    /// Offset of the payload in its first beat.
    pub src_off: Signal<In, Bits<6>>,
    /// The plan, [`INSERT_PLAN_LATENCY`] cycles later.
    pub plan: Signal<Out, InsertPlan>,
    hdr_len1: DFF<Bits<7>>,
    has_payload1: DFF<Bit>,
    distance1: DFF<Bits<8>>,
    end1: DFF<Bits<13>>,
    total1: DFF<Bits<13>>,
    span1: DFF<Bits<13>>,
    plan2: DFF<InsertPlan>,
}

impl Logic for InsertPlanner {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            hdr_len1,
            has_payload1,
            distance1,
            end1,
            total1,
            span1,
            plan2
        );
        self.hdr_len1.d.next = self.hdr_len.val();
        self.has_payload1.d.next = self.len.val() != 0;
        self.distance1.d.next =
            bit_cast::<8, 7>(self.hdr_len.val()) - bit_cast::<8, 6>(self.src_off.val());
        self.end1.d.next = self.len.val() + bit_cast::<13, 7>(self.hdr_len.val());
        self.total1.d.next = self.padded_len.val() + bit_cast::<13, 7>(self.hdr_len.val());
        self.span1.d.next = self.len.val() + bit_cast::<13, 6>(self.src_off.val());

        self.plan2.d.next.hdr_len = self.hdr_len1.q.val();
        self.plan2.d.next.end_beat = self.end1.q.val().get_bits::<7>(6);
        self.plan2.d.next.end_off = self.end1.q.val().get_bits::<6>(0);
        self.plan2.d.next.last_index = (self.total1.q.val() - 1).get_bits::<7>(6);
        self.plan2.d.next.last_len = bit_cast::<7, 6>(self.total1.q.val().get_bits::<6>(0));
        if self.total1.q.val().get_bits::<6>(0) == 0 {
            self.plan2.d.next.last_len = 64.into();
        }
        self.plan2.d.next.src_beats = (self.span1.q.val() + 63).get_bits::<7>(6);
        if !self.has_payload1.q.val() {
            self.plan2.d.next.src_beats = 0.into();
        }
        // The distance's sign is its bit 7: negative if the payload moves down.
        self.plan2.d.next.shift = self.distance1.q.val().get_bits::<6>(0);
        self.plan2.d.next.lead = self.has_payload1.q.val() & self.distance1.q.val().get_bit(7);
        self.plan2.d.next.has_payload = self.has_payload1.q.val();
        self.plan2.d.next.first_need = self.has_payload1.q.val()
            & (self.distance1.q.val().get_bit(7) | !self.distance1.q.val().get_bit(6));
        self.plan2.d.next.one_step = (self.total1.q.val() <= 64)
            & !(self.has_payload1.q.val() & self.distance1.q.val().get_bit(7));
        self.plan2.d.next.some = self.total1.q.val() != 0;
        self.plan.next = self.plan2.q.val();
    }
}

ferroce_emit::register_leaf!("insert_planner", InsertPlanner::default);

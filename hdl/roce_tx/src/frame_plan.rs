//! Plans how a payload's beats become a frame's.

use crate::desc::FramePlan;
use ferroce_emit::prelude::*;

/// Cycles from the inputs to `plan`.
pub const PLAN_LATENCY: usize = 2;

/// The payload's first byte is byte `src_off` of its first beat and byte `hdr_len` of the frame. So payload beats are rotated
/// up by `hdr_len - src_off` modulo 64; a rotated beat's upper part ends one frame beat, its lower part begins the next.
#[derive(LogicBlock, Module, Default)]
pub struct TxFramePlan {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Header bytes, 54 to 74.
    pub hdr_len: Signal<In, Bits<7>>,
    /// Payload bytes, 0 to 4096.
    pub len: Signal<In, Bits<13>>,
    /// Payload and pad in units of 4 bytes.
    pub words: Signal<In, Bits<11>>,
    /// Offset of the payload in its first beat.
    pub src_off: Signal<In, Bits<6>>,
    /// The plan, [`PLAN_LATENCY`] cycles later.
    pub plan: Signal<Out, FramePlan>,
    hdr_len1: DFF<Bits<7>>,
    has_payload1: DFF<Bit>,
    distance1: DFF<Bits<8>>,
    end1: DFF<Bits<13>>,
    last_byte1: DFF<Bits<13>>,
    span1: DFF<Bits<13>>,
    plan2: DFF<FramePlan>,
}

impl Logic for TxFramePlan {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            hdr_len1,
            has_payload1,
            distance1,
            end1,
            last_byte1,
            span1,
            plan2
        );
        self.hdr_len1.d.next = self.hdr_len.val();
        self.has_payload1.d.next = self.len.val() != 0;
        self.distance1.d.next =
            bit_cast::<8, 7>(self.hdr_len.val()) - bit_cast::<8, 6>(self.src_off.val());
        self.end1.d.next = self.len.val() + bit_cast::<13, 7>(self.hdr_len.val());
        self.last_byte1.d.next =
            (bit_cast::<13, 11>(self.words.val()) << 2) + bit_cast::<13, 7>(self.hdr_len.val() - 1);
        self.span1.d.next = self.len.val() + bit_cast::<13, 6>(self.src_off.val());

        self.plan2.d.next.hdr_len = self.hdr_len1.q.val();
        self.plan2.d.next.end_beat = self.end1.q.val().get_bits::<7>(6);
        self.plan2.d.next.end_off = self.end1.q.val().get_bits::<6>(0);
        self.plan2.d.next.last_index = self.last_byte1.q.val().get_bits::<7>(6);
        self.plan2.d.next.last_len = bit_cast::<7, 6>(self.last_byte1.q.val().get_bits::<6>(0)) + 1;
        self.plan2.d.next.src_beats = (self.span1.q.val() + 63).get_bits::<7>(6);
        if !self.has_payload1.q.val() {
            self.plan2.d.next.src_beats = 0.into();
        }
        self.plan2.d.next.shift = self.distance1.q.val().get_bits::<6>(0);
        self.plan2.d.next.lead = self.has_payload1.q.val() & self.distance1.q.val().get_bit(7);
        self.plan2.d.next.has_payload = self.has_payload1.q.val();
        self.plan2.d.next.first_need = self.has_payload1.q.val()
            & (self.distance1.q.val().get_bit(7) | !self.distance1.q.val().get_bit(6));
        self.plan2.d.next.one_step = (self.last_byte1.q.val() < 64)
            & !(self.has_payload1.q.val() & self.distance1.q.val().get_bit(7));
        self.plan.next = self.plan2.q.val();
    }
}

ferroce_emit::register_leaf!("frame_plan", TxFramePlan::default);

//! How write TLPs become RQ beats.

use super::tlp::{CutTlp, PackTlp};
use ferroce_emit::prelude::*;

/// Cycles from `cut` to `tlp`.
pub const WRITE_PLAN_LATENCY: usize = 3;

/// A TLP's payload starts in lane `a` of its first payload beat and, after a descriptor of four lanes, in lane `s + 4` of its first RQ
/// beat. So payload beats are rotated up by `s + 4 - a` modulo 16. If that is not negative, the first payload beat reaches the
/// end of the first RQ beat, and each further one completes another; if it is negative, every RQ beat takes the next payload beat to be
/// complete. Free running, a TLP a cycle.
#[derive(LogicBlock, Module)]
pub struct WritePlan {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A TLP.
    pub cut: Signal<In, CutTlp>,
    /// There is one.
    pub valid: Signal<In, Bit>,
    /// Its plan, [`WRITE_PLAN_LATENCY`] cycles later.
    pub tlp: Signal<Out, PackTlp>,
    /// There is one.
    pub tlp_valid: Signal<Out, Bit>,
    straddle: Constant<Bit>,
    valid1: DFF<Bit>,
    cut1: DFF<CutTlp>,
    rotate1: DFF<Bits<4>>,
    /// Negative rotation from lane 0.
    lead1: DFF<Bit>,
    late1: DFF<Bit>,
    single1: DFF<Bit>,
    span1: DFF<Bits<8>>,
    first1: DFF<Bits<4>>,
    last1: DFF<Bits<4>>,
    valid2: DFF<Bit>,
    tlp2: DFF<PackTlp>,
    lead2: DFF<Bit>,
    /// Lane after rotation from lane 0, with a carry.
    sum2: DFF<Bits<5>>,
    valid3: DFF<Bit>,
    tlp3: DFF<PackTlp>,
    lane: Signal<Local, Bits<4>>,
    sum8: Signal<Local, Bits<5>>,
    spill: Signal<Local, Bit>,
}

impl WritePlan {
    /// With or without TLPs that start in lane 8.
    #[must_use]
    pub fn new(straddle: bool) -> Self {
        Self {
            clock: Signal::default(),
            cut: Signal::default(),
            valid: Signal::default(),
            tlp: Signal::default(),
            tlp_valid: Signal::default(),
            straddle: Constant::new(straddle),
            valid1: DFF::default(),
            cut1: DFF::default(),
            rotate1: DFF::default(),
            lead1: DFF::default(),
            late1: DFF::default(),
            single1: DFF::default(),
            span1: DFF::default(),
            first1: DFF::default(),
            last1: DFF::default(),
            valid2: DFF::default(),
            tlp2: DFF::default(),
            lead2: DFF::default(),
            sum2: DFF::default(),
            valid3: DFF::default(),
            tlp3: DFF::default(),
            lane: Signal::default(),
            sum8: Signal::default(),
            spill: Signal::default(),
        }
    }
}

/// With straddling.
impl Default for WritePlan {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Logic for WritePlan {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, valid1, cut1, rotate1, lead1, late1, single1, span1, first1, last1,
            valid2, tlp2, lead2, sum2, valid3, tlp3
        );
        self.valid1.d.next = self.valid.val();
        self.cut1.d.next = self.cut.val();
        self.lane.next = self.cut.val().addr.get_bits::<4>(0);
        self.rotate1.d.next = bit_cast::<4, 3>(4.into()) - self.lane.val();
        self.lead1.d.next = self.lane.val() > 4;
        self.late1.d.next = self.lane.val() > 12;
        self.single1.d.next = self.cut.val().more == 0;
        self.span1.d.next = ((bit_cast::<8, 4>(self.cut.val().more) << 4)
            | bit_cast::<8, 4>(self.cut.val().last_lane))
            - bit_cast::<8, 4>(self.lane.val());
        self.first1.d.next = bit_cast::<4, 4>(15.into()) << self.cut.val().first_byte;
        self.last1.d.next = bit_cast::<4, 4>(15.into()) >> !self.cut.val().last_byte;

        self.valid2.d.next = self.valid1.q.val();
        self.tlp2.d.next.write = true;
        self.tlp2.d.next.addr = self.cut1.q.val().addr;
        self.tlp2.d.next.dwords = bit_cast::<11, 8>(self.span1.q.val()) + 1;
        self.tlp2.d.next.first_be = self.first1.q.val();
        self.tlp2.d.next.last_be = self.last1.q.val();
        if self.span1.q.val() == 0 {
            self.tlp2.d.next.first_be = self.first1.q.val() & self.last1.q.val();
            self.tlp2.d.next.last_be = 0.into();
        }
        self.tlp2.d.next.tag = 0.into();
        self.tlp2.d.next.closes = self.cut1.q.val().closes;
        self.tlp2.d.next.rotate = self.rotate1.q.val();
        self.tlp2.d.next.single = self.single1.q.val();
        self.tlp2.d.next.late = self.late1.q.val();
        self.lead2.d.next = self.lead1.q.val();
        self.sum2.d.next =
            bit_cast::<5, 4>(self.rotate1.q.val()) + bit_cast::<5, 4>(self.cut1.q.val().last_lane);
        self.sum8.next = bit_cast::<5, 4>(self.rotate1.q.val() ^ 8)
            + bit_cast::<5, 4>(self.cut1.q.val().last_lane);
        // Late TLPs never start in lane 8; for all others the carry says it.
        self.tlp2.d.next.spill8 = self.sum8.val().get_bit(4);

        self.valid3.d.next = self.valid2.q.val();
        self.tlp3.d.next = self.tlp2.q.val();
        self.tlp3.d.next.end = self.sum2.q.val().get_bits::<4>(0);
        // With a negative rotation, a carry is no overflow in the first payload beat.
        self.spill.next =
            self.sum2.q.val().get_bit(4) & !(self.lead2.q.val() & self.tlp2.q.val().single);
        self.tlp3.d.next.spill0 = self.spill.val();
        self.tlp3.d.next.emits = !self.lead2.q.val();
        if self.tlp2.q.val().single {
            self.tlp3.d.next.emits =
                self.spill.val() | self.sum2.q.val().get_bit(3) | !self.straddle.val();
        }
        self.tlp.next = self.tlp3.q.val();
        self.tlp_valid.next = self.valid3.q.val();
    }
}

ferroce_emit::register_leaf!("write_plan", WritePlan::default);
ferroce_emit::register_leaf!("write_plan_one_a_beat", || WritePlan::new(false));

//! One doubleword lane of the way from RC into the reorder buffer.

use ferroce_emit::prelude::*;

/// Doubleword lanes of a line.
pub const LANES: usize = 16;
/// Cycles from [`RcLane::parts`] to [`RcLane::data`].
pub const SELECT_LATENCY: usize = 1;

/// The parts of TLPs that a beat has. Doubleword `p` of the beat belongs to doubleword `base + p` of the slot, modulo 128.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct LaneParts {
    /// Doublewords 0 to `tail_last` are written.
    pub tail: Bit,
    /// Last one.
    pub tail_last: Bits<4>,
    /// Place of doubleword 0.
    pub tail_base: Bits<7>,
    /// Slot.
    pub tail_slot: Bits<8>,
    /// Doublewords from 4 * `head_at` + 3 to `head_last` are written.
    pub head: Bit,
    /// Where the descriptor is.
    pub head_at: Bits<2>,
    /// Last one.
    pub head_last: Bits<4>,
    /// Place of doubleword 0.
    pub head_base: Bits<7>,
    /// Slot.
    pub head_slot: Bits<8>,
}

/// A doubleword for a lane of the reorder buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct LaneWrite {
    /// Write in this cycle.
    pub valid: Bit,
    /// Line.
    pub line: Bits<11>,
    /// The doubleword.
    pub data: Bits<32>,
}

/// Chooses the doubleword of the beat that belongs in this lane, if any, and its line.
#[derive(LogicBlock, Module)]
pub struct RcLane {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// What a beat has.
    pub parts: Signal<In, LaneParts>,
    /// The beat, [`SELECT_LATENCY`] cycles later.
    pub data: Signal<In, Bits<512>>,
    /// One cycle after the beat.
    pub write: Signal<Out, LaneWrite>,
    lane: Constant<Bits<4>>,
    /// Lanes above this one.
    above: Constant<Bits<5>>,
    on: DFF<Bit>,
    source: DFF<Bits<4>>,
    line: DFF<Bits<11>>,
    write_reg: DFF<LaneWrite>,
    tail_at: Signal<Local, Bits<4>>,
    head_at: Signal<Local, Bits<4>>,
    in_tail: Signal<Local, Bit>,
    in_head: Signal<Local, Bit>,
    tail_line: Signal<Local, Bits<3>>,
    head_line: Signal<Local, Bits<3>>,
    tail_wraps: Signal<Local, Bits<5>>,
    head_wraps: Signal<Local, Bits<5>>,
    half: Signal<Local, Bits<256>>,
    quarter: Signal<Local, Bits<128>>,
    pair: Signal<Local, Bits<64>>,
    dword: Signal<Local, Bits<32>>,
}

impl RcLane {
    /// Lane `lane` of [`LANES`].
    #[must_use]
    pub fn new(lane: usize) -> Self {
        assert!(lane < LANES, "lane {lane}");
        Self {
            clock: Signal::default(),
            parts: Signal::default(),
            data: Signal::default(),
            write: Signal::default(),
            lane: Constant::new((lane as u64).into()),
            above: Constant::new(((LANES - 1 - lane) as u64).into()),
            on: DFF::default(),
            source: DFF::default(),
            line: DFF::default(),
            write_reg: DFF::default(),
            tail_at: Signal::default(),
            head_at: Signal::default(),
            in_tail: Signal::default(),
            in_head: Signal::default(),
            tail_line: Signal::default(),
            head_line: Signal::default(),
            tail_wraps: Signal::default(),
            head_wraps: Signal::default(),
            half: Signal::default(),
            quarter: Signal::default(),
            pair: Signal::default(),
            dword: Signal::default(),
        }
    }
}

impl Default for RcLane {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Logic for RcLane {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, on, source, line, write_reg);
        self.tail_at.next = self.lane.val() - self.parts.val().tail_base.get_bits::<4>(0);
        self.head_at.next = self.lane.val() - self.parts.val().head_base.get_bits::<4>(0);
        self.in_tail.next =
            self.parts.val().tail & (self.tail_at.val() <= self.parts.val().tail_last);
        self.in_head.next = self.parts.val().head
            & (self.head_at.val() <= self.parts.val().head_last)
            & (self.head_at.val() >= ((bit_cast::<4, 2>(self.parts.val().head_at) << 2) | 3));
        // Lanes below that of doubleword 0 are in the next line: the sum is 16 or more.
        self.tail_wraps.next =
            bit_cast::<5, 4>(self.parts.val().tail_base.get_bits::<4>(0)) + self.above.val();
        self.head_wraps.next =
            bit_cast::<5, 4>(self.parts.val().head_base.get_bits::<4>(0)) + self.above.val();
        self.tail_line.next = self.parts.val().tail_base.get_bits::<3>(4);
        if self.tail_wraps.val().get_bit(4) {
            self.tail_line.next = self.parts.val().tail_base.get_bits::<3>(4) + 1;
        }
        self.head_line.next = self.parts.val().head_base.get_bits::<3>(4);
        if self.head_wraps.val().get_bit(4) {
            self.head_line.next = self.parts.val().head_base.get_bits::<3>(4) + 1;
        }
        self.on.d.next = self.in_tail.val() | self.in_head.val();
        self.source.d.next = self.tail_at.val();
        self.line.d.next = (bit_cast::<11, 8>(self.parts.val().tail_slot) << 3)
            | bit_cast::<11, 3>(self.tail_line.val());
        if self.in_head.val() {
            self.source.d.next = self.head_at.val();
            self.line.d.next = (bit_cast::<11, 8>(self.parts.val().head_slot) << 3)
                | bit_cast::<11, 3>(self.head_line.val());
        }

        self.half.next = self.data.val().get_bits::<256>(0);
        if self.source.q.val().get_bit(3) {
            self.half.next = self.data.val().get_bits::<256>(256);
        }
        self.quarter.next = self.half.val().get_bits::<128>(0);
        if self.source.q.val().get_bit(2) {
            self.quarter.next = self.half.val().get_bits::<128>(128);
        }
        self.pair.next = self.quarter.val().get_bits::<64>(0);
        if self.source.q.val().get_bit(1) {
            self.pair.next = self.quarter.val().get_bits::<64>(64);
        }
        self.dword.next = self.pair.val().get_bits::<32>(0);
        if self.source.q.val().get_bit(0) {
            self.dword.next = self.pair.val().get_bits::<32>(32);
        }
        self.write_reg.d.next.valid = self.on.q.val();
        self.write_reg.d.next.line = self.line.q.val();
        self.write_reg.d.next.data = self.dword.val();
        self.write.next = self.write_reg.q.val();
    }
}

ferroce_emit::register_leaf!("rc_lane", || RcLane::new(5));

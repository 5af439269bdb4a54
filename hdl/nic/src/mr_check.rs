//! Access check against the memory regions.

use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::lookup::{MrAnswer, MrCheck};
use ferroce_rtl::desc::pages::{Region, RegionWrite};
use ferroce_rtl::ram::{Ram, RAM_LATENCY};

/// Cycles from the region to the answer.
const COMPARE: usize = 5;

/// What the answer says of the region beside the rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Pages {
    paged: Bit,
    epoch: Bits<8>,
}

/// Answers "may `[va, va + len)` be accessed through `key`" in exactly
/// [`ferroce_rtl::desc::lookup::MR_CHECK_LATENCY`] cycles, one question a cycle.
///
/// The region must exist, with the key's tag, in the QP's protection domain, with every right asked for, and hold
/// every byte. Bounds are compared without sums that could wrap: `va - base <= size` first, then
/// `len <= size - (va - base)`, each in 32-bit halves. A length of 0 passes whatever the key is (C9-88).
#[derive(LogicBlock, Module)]
pub struct MrChecker {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The table's write port.
    pub write: Signal<In, RegionWrite>,
    /// Question.
    pub check: Signal<In, MrCheck>,
    /// Answer.
    pub answer: Signal<Out, MrAnswer>,
    /// Index bits beyond the table.
    beyond: Constant<Bits<24>>,
    regions: Ram<Region>,
    questions: Delay<MrCheck>,
    pages: Delay<Pages>,
    /// The question.
    s1: DFF<MrCheck>,
    /// Rights, and the lower half of the offset in the region.
    s4_rights: DFF<Bit>,
    s4_some: DFF<Bit>,
    s4_len: DFF<Bits<32>>,
    s4_offset: DFF<Bits<33>>,
    s4_va_high: DFF<Bits<32>>,
    s4_base_high: DFF<Bits<32>>,
    s4_size: DFF<Bits<64>>,
    /// Upper half of the offset, lower half of the room behind it.
    s5_rights: DFF<Bit>,
    s5_some: DFF<Bit>,
    s5_len: DFF<Bits<32>>,
    s5_offset_high: DFF<Bits<33>>,
    s5_size_high: DFF<Bits<32>>,
    s5_room: DFF<Bits<33>>,
    /// Upper half of the room.
    s6_rights: DFF<Bit>,
    s6_some: DFF<Bit>,
    s6_len: DFF<Bits<32>>,
    s6_room: DFF<Bits<32>>,
    s6_room_high: DFF<Bits<33>>,
    /// Comparison.
    s7_rights: DFF<Bit>,
    s7_some: DFF<Bit>,
    s7_inside: DFF<Bit>,
    s7_fits: DFF<Bit>,
    s7_much_room: DFF<Bit>,
    s8_denied: DFF<Bit>,
    region: Signal<Local, Region>,
    asked: Signal<Local, MrCheck>,
}

impl MrChecker {
    /// Table of `2^mrs_log2` regions.
    ///
    /// # Panics
    /// If `mrs_log2` is not 1 to 16.
    #[must_use]
    pub fn new(mrs_log2: usize) -> Self {
        assert!((1..=16).contains(&mrs_log2), "2^{mrs_log2} memory regions");
        Self {
            clock: Signal::default(),
            write: Signal::default(),
            check: Signal::default(),
            answer: Signal::default(),
            beyond: Constant::new((0xFF_FFFF & !((1u64 << mrs_log2) - 1)).into()),
            regions: Ram::new(mrs_log2),
            questions: Delay::new(RAM_LATENCY),
            pages: Delay::new(COMPARE),
            s1: DFF::default(),
            s4_rights: DFF::default(),
            s4_some: DFF::default(),
            s4_len: DFF::default(),
            s4_offset: DFF::default(),
            s4_va_high: DFF::default(),
            s4_base_high: DFF::default(),
            s4_size: DFF::default(),
            s5_rights: DFF::default(),
            s5_some: DFF::default(),
            s5_len: DFF::default(),
            s5_offset_high: DFF::default(),
            s5_size_high: DFF::default(),
            s5_room: DFF::default(),
            s6_rights: DFF::default(),
            s6_some: DFF::default(),
            s6_len: DFF::default(),
            s6_room: DFF::default(),
            s6_room_high: DFF::default(),
            s7_rights: DFF::default(),
            s7_some: DFF::default(),
            s7_inside: DFF::default(),
            s7_fits: DFF::default(),
            s7_much_room: DFF::default(),
            s8_denied: DFF::default(),
            region: Signal::default(),
            asked: Signal::default(),
        }
    }
}

/// 16 regions.
impl Default for MrChecker {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for MrChecker {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            s1,
            s4_rights,
            s4_some,
            s4_len,
            s4_offset,
            s4_va_high,
            s4_base_high,
            s4_size,
            s5_rights,
            s5_some,
            s5_len,
            s5_offset_high,
            s5_size_high,
            s5_room,
            s6_rights,
            s6_some,
            s6_len,
            s6_room,
            s6_room_high,
            s7_rights,
            s7_some,
            s7_inside,
            s7_fits,
            s7_much_room,
            s8_denied
        );
        clock!(self, clock, regions, questions, pages);

        self.regions.wr_valid.next = self.write.val().valid;
        self.regions.wr_addr.next = bit_cast::<20, 16>(self.write.val().index);
        self.regions.wr_data.next = self.write.val().region;

        self.s1.d.next = self.check.val();
        self.regions.rd_addr.next = self.s1.q.val().key.get_bits::<20>(8);
        self.questions.data_in.next = self.s1.q.val();

        self.region.next = self.regions.rd_data.val();
        self.asked.next = self.questions.data_out.val();
        self.s4_rights.d.next = self.region.val().valid
            & (self.region.val().tag == self.asked.val().key.get_bits::<8>(0))
            & (self.region.val().pd == self.asked.val().pd)
            & !(self.asked.val().access & !self.region.val().access).any()
            & !(self.asked.val().key.get_bits::<24>(8) & self.beyond.val()).any();
        self.s4_some.d.next = self.asked.val().len.any();
        self.s4_len.d.next = self.asked.val().len;
        self.s4_offset.d.next = bit_cast::<33, 32>(self.asked.val().va.get_bits::<32>(0))
            - bit_cast::<33, 32>(self.region.val().base.get_bits::<32>(0));
        self.s4_va_high.d.next = self.asked.val().va.get_bits::<32>(32);
        self.s4_base_high.d.next = self.region.val().base.get_bits::<32>(32);
        self.s4_size.d.next = self.region.val().len;

        // Bit 32 of a difference is its borrow.
        self.s5_rights.d.next = self.s4_rights.q.val();
        self.s5_some.d.next = self.s4_some.q.val();
        self.s5_len.d.next = self.s4_len.q.val();
        self.s5_offset_high.d.next = bit_cast::<33, 32>(self.s4_va_high.q.val())
            - bit_cast::<33, 32>(self.s4_base_high.q.val())
            - bit_cast::<33, 1>(self.s4_offset.q.val().get_bits::<1>(32));
        self.s5_size_high.d.next = self.s4_size.q.val().get_bits::<32>(32);
        self.s5_room.d.next = bit_cast::<33, 32>(self.s4_size.q.val().get_bits::<32>(0))
            - bit_cast::<33, 32>(self.s4_offset.q.val().get_bits::<32>(0));

        // A position before the region (borrow) counts as no room.
        self.s6_rights.d.next = self.s5_rights.q.val() & !self.s5_offset_high.q.val().get_bit(32);
        self.s6_some.d.next = self.s5_some.q.val();
        self.s6_len.d.next = self.s5_len.q.val();
        self.s6_room.d.next = self.s5_room.q.val().get_bits::<32>(0);
        self.s6_room_high.d.next = bit_cast::<33, 32>(self.s5_size_high.q.val())
            - bit_cast::<33, 32>(self.s5_offset_high.q.val().get_bits::<32>(0))
            - bit_cast::<33, 1>(self.s5_room.q.val().get_bits::<1>(32));

        self.s7_rights.d.next = self.s6_rights.q.val();
        self.s7_some.d.next = self.s6_some.q.val();
        self.s7_inside.d.next = !self.s6_room_high.q.val().get_bit(32);
        self.s7_much_room.d.next = self.s6_room_high.q.val().get_bits::<32>(0).any();
        self.s7_fits.d.next = self.s6_len.q.val() <= self.s6_room.q.val();

        self.s8_denied.d.next = self.s7_some.q.val()
            & !(self.s7_rights.q.val()
                & self.s7_inside.q.val()
                & (self.s7_much_room.q.val() | self.s7_fits.q.val()));
        self.pages.data_in.next.paged = self.region.val().paged;
        self.pages.data_in.next.epoch = self.region.val().epoch;
        self.answer.next.ok = !self.s8_denied.q.val();
        self.answer.next.paged = self.pages.data_out.val().paged;
        self.answer.next.epoch = self.pages.data_out.val().epoch;
    }
}

ferroce_emit::register_leaf!("mr_checker", MrChecker::default);

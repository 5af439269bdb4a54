//! Where writes are cut into TLPs.

use super::tlp::CutTlp;
use crate::desc::{PcieLimits, RqPayload};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaWriteBeat;

/// Cycles from a write's beat to `payload`.
pub const CUT_PAYLOAD_LATENCY: usize = 1;
/// Cycles from a TLP's last beat to `tlp`.
pub const CUT_TLP_LATENCY: usize = 2;

/// Ends a TLP with the write and at every multiple of max payload, which is the end of a beat: beats are aligned and max
/// payload is a multiple of 64. Free running, a beat a cycle.
#[derive(LogicBlock, Module, Default)]
pub struct WriteCut {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// There is a beat in this cycle.
    pub valid: Signal<In, Bit>,
    /// The beat.
    pub beat: Signal<In, DmaWriteBeat>,
    /// Max payload. It may change at any time: a TLP under way is as long as its cut says.
    pub limits: Signal<In, PcieLimits>,
    /// The beat, and whether its TLP ends.
    pub payload: Signal<Out, RqPayload>,
    /// There is one.
    pub payload_valid: Signal<Out, Bit>,
    /// The TLP that ended.
    pub tlp: Signal<Out, CutTlp>,
    /// There is one.
    pub tlp_valid: Signal<Out, Bit>,
    size: DFF<Bits<2>>,
    /// The next beat is not the first of its write.
    inside: DFF<Bit>,
    /// Line of the next beat within its page.
    next_line: DFF<Bits<6>>,
    data1: DFF<Bits<512>>,
    valid1: DFF<Bit>,
    last1: DFF<Bit>,
    first1: DFF<Bit>,
    line1: DFF<Bits<6>>,
    addr1: DFF<Bits<64>>,
    /// End of the write, exclusive, modulo 64.
    end1: DFF<Bits<6>>,
    /// The next beat is not the first of its TLP.
    open: DFF<Bit>,
    /// Beats of the TLP so far.
    count: DFF<Bits<4>>,
    valid2: DFF<Bit>,
    tlp2: DFF<CutTlp>,
    line: Signal<Local, Bits<6>>,
    /// The TLP ends.
    /// The TLP ends.
    cuts: Signal<Local, Bit>,
    end: Signal<Local, Bits<6>>,
    number: Signal<Local, Bits<4>>,
}

impl Logic for WriteCut {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, size, inside, next_line, data1, valid1, last1, first1, line1, addr1, end1,
            open, count, valid2, tlp2
        );
        self.size.d.next = self.limits.val().max_payload;

        self.line.next = self.beat.val().addr.get_bits::<6>(6);
        if self.inside.q.val() {
            self.line.next = self.next_line.q.val();
        }
        if self.valid.val() {
            self.inside.d.next = !self.beat.val().last;
            self.next_line.d.next = self.line.val() + 1;
        }
        self.data1.d.next = self.beat.val().data;
        self.valid1.d.next = self.valid.val();
        self.last1.d.next = self.beat.val().last;
        self.first1.d.next = !self.inside.q.val();
        self.line1.d.next = self.line.val();
        self.addr1.d.next = self.beat.val().addr;
        self.end1.d.next =
            self.beat.val().addr.get_bits::<6>(0) + self.beat.val().len.get_bits::<6>(0);

        // The last line of 2, 4, 8 or 16.
        self.cuts.next = self.last1.q.val()
            | (self.line1.q.val().get_bit(0)
                & (self.line1.q.val().get_bit(1) | (self.size.q.val() == 0))
                & (self.line1.q.val().get_bit(2) | (self.size.q.val() < 2))
                & (self.line1.q.val().get_bit(3) | (self.size.q.val() < 3)));
        self.payload.next.data = self.data1.q.val();
        self.payload.next.last = self.cuts.val();
        self.payload_valid.next = self.valid1.q.val();

        self.number.next = 0.into();
        if self.open.q.val() {
            self.number.next = self.count.q.val();
        }
        if self.valid1.q.val() {
            self.open.d.next = !self.cuts.val();
            self.count.d.next = self.number.val() + 1;
            if !self.open.q.val() {
                self.tlp2.d.next.addr = (bit_cast::<62, 52>(self.addr1.q.val().get_bits::<52>(12))
                    << 10)
                    | (bit_cast::<62, 6>(self.line1.q.val()) << 4);
                self.tlp2.d.next.first_byte = 0.into();
                if self.first1.q.val() {
                    self.tlp2.d.next.addr = self.addr1.q.val().get_bits::<62>(2);
                    self.tlp2.d.next.first_byte = self.addr1.q.val().get_bits::<2>(0);
                }
            }
        }
        self.end.next = 63.into();
        if self.last1.q.val() {
            self.end.next = self.end1.q.val() - 1;
        }
        self.tlp2.d.next.last_lane = self.end.val().get_bits::<4>(2);
        self.tlp2.d.next.last_byte = self.end.val().get_bits::<2>(0);
        self.tlp2.d.next.more = self.number.val();
        self.tlp2.d.next.closes = self.last1.q.val();
        self.valid2.d.next = self.valid1.q.val() & self.cuts.val();
        self.tlp.next = self.tlp2.q.val();
        self.tlp_valid.next = self.valid2.q.val();
    }
}

ferroce_emit::register_leaf!("write_cut", WriteCut::default);

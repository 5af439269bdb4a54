//! The AXI stream of a MAC to beats.

use ferroce_emit::prelude::*;
use ferroce_rtl::stream::Beat;

/// Takes the receive AXI stream of `cmac_usplus`, which can't wait. Latency 2.
#[derive(LogicBlock, Module)]
pub struct AxisRx {
    /// The MAC's receive clock.
    pub clock: Signal<In, Clock>,
    /// Bytes; byte `k` is `tdata[8k+7:8k]`.
    pub tdata: Signal<In, Bits<512>>,
    /// Valid bytes: a number of ones from bit 0 on, at least one.
    pub tkeep: Signal<In, Bits<64>>,
    /// Last beat of a frame.
    pub tlast: Signal<In, Bit>,
    /// With `tlast`: the frame is damaged.
    pub tuser: Signal<In, Bit>,
    /// A beat is here.
    pub tvalid: Signal<In, Bit>,
    /// A beat is out.
    pub valid: Signal<Out, Bit>,
    /// The beat.
    pub beat: Signal<Out, Beat>,
    data_in: DFF<Bits<512>>,
    keep_in: DFF<Bits<64>>,
    last_in: DFF<Bit>,
    user_in: DFF<Bit>,
    valid_in: DFF<Bit>,
    beat_out: DFF<Beat>,
    valid_out: DFF<Bit>,
    /// The highest one of `keep_in`.
    highest: Signal<Local, Bits<64>>,
    len: Signal<Local, Bits<7>>,
    len_bit0: Constant<Bits<64>>,
    len_bit1: Constant<Bits<64>>,
    len_bit2: Constant<Bits<64>>,
    len_bit3: Constant<Bits<64>>,
    len_bit4: Constant<Bits<64>>,
    len_bit5: Constant<Bits<64>>,
}

/// The positions of a highest one that belong to lengths with bit `bit` set.
fn positions(bit: usize) -> Constant<Bits<64>> {
    let mask = (0..64u64)
        .filter(|position| (position + 1) >> bit & 1 == 1)
        .fold(0u64, |mask, position| mask | 1 << position);
    Constant::new(mask.into())
}

impl Default for AxisRx {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            tdata: Signal::default(),
            tkeep: Signal::default(),
            tlast: Signal::default(),
            tuser: Signal::default(),
            tvalid: Signal::default(),
            valid: Signal::default(),
            beat: Signal::default(),
            data_in: DFF::default(),
            keep_in: DFF::default(),
            last_in: DFF::default(),
            user_in: DFF::default(),
            valid_in: DFF::default(),
            beat_out: DFF::default(),
            valid_out: DFF::default(),
            highest: Signal::default(),
            len: Signal::default(),
            len_bit0: positions(0),
            len_bit1: positions(1),
            len_bit2: positions(2),
            len_bit3: positions(3),
            len_bit4: positions(4),
            len_bit5: positions(5),
        }
    }
}

impl Logic for AxisRx {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, data_in, keep_in, last_in, user_in, valid_in, beat_out, valid_out);
        self.data_in.d.next = self.tdata.val();
        self.keep_in.d.next = self.tkeep.val();
        self.last_in.d.next = self.tlast.val();
        self.user_in.d.next = self.tuser.val();
        self.valid_in.d.next = self.tvalid.val();

        self.highest.next = self.keep_in.q.val() & !(self.keep_in.q.val() >> 1);
        self.len.next = bits::<7>(0)
            .replace_bit(0, (self.highest.val() & self.len_bit0.val()).any())
            .replace_bit(1, (self.highest.val() & self.len_bit1.val()).any())
            .replace_bit(2, (self.highest.val() & self.len_bit2.val()).any())
            .replace_bit(3, (self.highest.val() & self.len_bit3.val()).any())
            .replace_bit(4, (self.highest.val() & self.len_bit4.val()).any())
            .replace_bit(5, (self.highest.val() & self.len_bit5.val()).any())
            .replace_bit(6, self.keep_in.q.val().get_bit(63));
        self.beat_out.d.next.data = self.data_in.q.val();
        self.beat_out.d.next.len = self.len.val();
        self.beat_out.d.next.last = self.last_in.q.val();
        self.beat_out.d.next.err = self.user_in.q.val() & self.last_in.q.val();
        self.valid_out.d.next = self.valid_in.q.val();
        self.valid.next = self.valid_out.q.val();
        self.beat.next = self.beat_out.q.val();
    }
}

ferroce_emit::register_leaf!("axis_rx", AxisRx::default);

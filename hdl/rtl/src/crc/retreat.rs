//! One conditional stage of taking zero bytes back out of a CRC.

use super::crc32::retreat_matrix;
use super::gf2::BitMatrix;
use super::xor_reg::XorReg;
use ferroce_emit::prelude::*;

/// A CRC register on its way through the stages.
#[derive(Clone, Debug, Default, LogicInterface, Module)]
#[join = "RetreatIn"]
pub struct RetreatOut {
    /// The others are valid.
    pub valid: Signal<Out, Bit>,
    /// CRC register.
    pub register: Signal<Out, Bits<32>>,
    /// Zero bytes to take back, in units of the receiving stage's.
    pub count: Signal<Out, Bits<6>>,
}

/// Receiving side of [`RetreatOut`].
#[derive(Clone, Debug, Default, LogicInterface, Module)]
#[join = "RetreatOut"]
pub struct RetreatIn {
    /// The others are valid.
    pub valid: Signal<In, Bit>,
    /// CRC register.
    pub register: Signal<In, Bits<32>>,
    /// Zero bytes to take back, in units of this stage's.
    pub count: Signal<In, Bits<6>>,
}

/// Takes this stage's zero bytes back out of a CRC register if bit 0 of their count is set, in one
/// cycle. Stages for 1, 2, 4, 8, 16 and 32 bytes in a row take back any number up to 63.
#[derive(LogicBlock, Module)]
pub struct Retreat {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Register before this stage.
    pub from: RetreatIn,
    /// Register after it, one cycle later.
    pub to: RetreatOut,
    choose: XorReg<64, 32>,
    valid: DFF<Bit>,
    count: DFF<Bits<6>>,
}

impl Retreat {
    /// The stage for `bytes` zero bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let matrix = retreat_matrix(bytes).beside(&BitMatrix::identity(32));
        Self {
            clock: Signal::default(),
            from: RetreatIn::default(),
            to: RetreatOut::default(),
            choose: XorReg::new(matrix),
            valid: DFF::default(),
            count: DFF::default(),
        }
    }
}

impl Logic for Retreat {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, valid, count);
        clock!(self, clock, choose);
        self.choose.enable.next = self.from.valid.val();
        self.choose.d.next = bit_cast::<64, 32>(self.from.register.val()) << 32;
        if self.from.count.val().get_bit(0) {
            self.choose.d.next = bit_cast::<64, 32>(self.from.register.val());
        }
        self.valid.d.next = self.from.valid.val();
        // Enabled, so that the counts of the stages don't become a slow shift register.
        if self.from.valid.val() {
            self.count.d.next = self.from.count.val() >> 1;
        }
        self.to.valid.next = self.valid.q.val();
        self.to.register.next = self.choose.q.val();
        self.to.count.next = self.count.q.val();
    }
}

ferroce_emit::register_leaf!("retreat", || Retreat::new(4));

//! One stage of taking zero bytes back out of a CRC.

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
    /// Its lowest two bits, one-hot, so that they need no level of logic in the stage.
    pub choice: Signal<Out, Bits<4>>,
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
    /// Its lowest two bits, one-hot.
    pub choice: Signal<In, Bits<4>>,
}

/// Takes 0 to 3 of this stage's units of zero bytes back out of a CRC register, as the lowest two bits of their count say, in one
/// cycle. Stages for 1, 4 and 16 bytes in a row take back any number up to 63.
///
/// Each bit is a selection of four XORs of at most 24 inputs.
#[derive(LogicBlock, Module)]
pub struct Retreat {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Register before this stage.
    pub from: RetreatIn,
    /// Register after it, one cycle later.
    pub to: RetreatOut,
    choose: XorReg<128, 32>,
    valid: DFF<Bit>,
    count: DFF<Bits<6>>,
    choice: DFF<Bits<4>>,
    part0: Signal<Local, Bits<32>>,
    part1: Signal<Local, Bits<32>>,
    part2: Signal<Local, Bits<32>>,
    part3: Signal<Local, Bits<32>>,
}

impl Retreat {
    /// The stage for units of `bytes` zero bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let matrix = BitMatrix::identity(32)
            .beside(&retreat_matrix(bytes))
            .beside(&retreat_matrix(2 * bytes))
            .beside(&retreat_matrix(3 * bytes));
        Self {
            clock: Signal::default(),
            from: RetreatIn::default(),
            to: RetreatOut::default(),
            choose: XorReg::new(matrix),
            valid: DFF::default(),
            count: DFF::default(),
            choice: DFF::default(),
            part0: Signal::default(),
            part1: Signal::default(),
            part2: Signal::default(),
            part3: Signal::default(),
        }
    }
}

impl Logic for Retreat {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, valid, count, choice);
        clock!(self, clock, choose);
        self.choose.enable.next = self.from.valid.val();
        self.part0.next = 0.into();
        self.part1.next = 0.into();
        self.part2.next = 0.into();
        self.part3.next = 0.into();
        if self.from.choice.val().get_bit(0) {
            self.part0.next = self.from.register.val();
        }
        if self.from.choice.val().get_bit(1) {
            self.part1.next = self.from.register.val();
        }
        if self.from.choice.val().get_bit(2) {
            self.part2.next = self.from.register.val();
        }
        if self.from.choice.val().get_bit(3) {
            self.part3.next = self.from.register.val();
        }
        self.choose.d.next = bit_cast::<128, 32>(self.part0.val())
            | (bit_cast::<128, 32>(self.part1.val()) << 32)
            | (bit_cast::<128, 32>(self.part2.val()) << 64)
            | (bit_cast::<128, 32>(self.part3.val()) << 96);
        self.valid.d.next = self.from.valid.val();
        // Enabled, so that the counts of the stages don't become a slow shift register.
        if self.from.valid.val() {
            self.count.d.next = self.from.count.val() >> 2;
            self.choice.d.next = bits::<4>(1) << self.from.count.val().get_bits::<2>(2);
        }
        self.to.valid.next = self.valid.q.val();
        self.to.register.next = self.choose.q.val();
        self.to.count.next = self.count.q.val();
        self.to.choice.next = self.choice.q.val();
    }
}

ferroce_emit::register_leaf!("retreat", || Retreat::new(4));

//! CRC-32 over 512-bit beats, one beat a cycle.

use super::crc32::{advance, advance_matrix, data_matrix};
use super::gf2::BitMatrix;
use super::retreat::{Retreat, RetreatOut};
use super::xor_reg::XorReg;
use ferroce_emit::prelude::*;

/// Bytes in a beat.
pub const BEAT_BYTES: usize = 64;

/// Data bits that one first-stage XOR looks at: such a slice has at most 36 terms in every row of
/// the data matrix, which is two LUT levels.
const SLICE_BITS: usize = 48;

/// Slices in a beat.
const SLICES: usize = (8 * BEAT_BYTES).div_ceil(SLICE_BITS);

/// Partial sums of all 32 bits of the CRC.
const PARTIALS: usize = 32 * SLICES;

/// Input of the combining stage: the partial sums and, in its highest bit, "first beat".
const COMBINED: usize = PARTIALS + 1;

/// Cycles from a beat at the input of [`CrcCore`] to the CRC at its output.
pub const CORE_LATENCY: usize = 6;

/// What travels with a beat through the pipeline. The registers of tags are enabled by `valid`, so that
/// they don't become slow shift registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct CrcTag {
    first: Bit,
    last: Bit,
    missing: Bits<6>,
}

/// CRC-32 engine. Beats come one a cycle or slower, frames of any length back to back; bytes
/// beyond `len` must be 0. The final (inverted) CRC appears [`CORE_LATENCY`] cycles after the last
/// beat.
///
/// Pipeline: partial sums of the data; their sum, and the contribution of the start value; the
/// loop `register = contribution + advance(register)`; three stages that take the
/// zero bytes of a short last beat back out.
#[derive(LogicBlock, Module)]
pub struct CrcCore {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A beat is here.
    pub valid: Signal<In, Bit>,
    /// It is its frame's first.
    pub first: Signal<In, Bit>,
    /// It is its frame's last.
    pub last: Signal<In, Bit>,
    /// Its bytes, 1 to 64.
    pub len: Signal<In, Bits<7>>,
    /// The bytes, 0 beyond `len`.
    pub data: Signal<In, Bits<512>>,
    /// CRC of a frame, inverted; it goes on the wire least significant byte first.
    pub crc: Signal<Out, Bits<32>>,
    /// `crc` is valid: [`CORE_LATENCY`] cycles after a last beat.
    pub done: Signal<Out, Bit>,
    partial: XorReg<512, PARTIALS>,
    combine: XorReg<COMBINED, 32>,
    register: XorReg<64, 32>,
    partial_valid: DFF<Bit>,
    combine_valid: DFF<Bit>,
    register_valid: DFF<Bit>,
    partial_tag: DFF<CrcTag>,
    combine_tag: DFF<CrcTag>,
    register_tag: DFF<CrcTag>,
    /// The lowest two bits of its `missing`, one-hot.
    register_choice: DFF<Bits<4>>,
    retreat1: Retreat,
    retreat4: Retreat,
    retreat16: Retreat,
}

impl CrcCore {
    /// An engine whose register holds `init` before the first covered byte, which is byte
    /// `uncovered` of the first beat; the bytes before it must be 0.
    ///
    /// # Panics
    /// If `uncovered` is above 64.
    #[must_use]
    pub fn new(init: u32, uncovered: usize) -> Self {
        let start = advance(init, BEAT_BYTES - uncovered);
        Self {
            clock: Signal::default(),
            valid: Signal::default(),
            first: Signal::default(),
            last: Signal::default(),
            len: Signal::default(),
            data: Signal::default(),
            crc: Signal::default(),
            done: Signal::default(),
            partial: XorReg::new(partial_matrix()),
            combine: XorReg::new(combine_matrix(start)),
            register: XorReg::new(BitMatrix::identity(32).beside(&advance_matrix(BEAT_BYTES))),
            partial_valid: DFF::default(),
            combine_valid: DFF::default(),
            register_valid: DFF::default(),
            partial_tag: DFF::default(),
            combine_tag: DFF::default(),
            register_tag: DFF::default(),
            register_choice: DFF::default(),
            retreat1: Retreat::new(1),
            retreat4: Retreat::new(4),
            retreat16: Retreat::new(16),
        }
    }
}

/// Row `r * SLICES + s`: the terms of CRC bit `r` that lie in slice `s` of the beat.
fn partial_matrix() -> BitMatrix {
    let data = data_matrix(BEAT_BYTES);
    let mut partial = BitMatrix::zero(PARTIALS, data.inputs());
    for row in 0..32 {
        for input in data.terms(row) {
            partial.set(row * SLICES + input / SLICE_BITS, input);
        }
    }
    partial
}

/// Adds up the partial sums of each CRC bit; a first beat adds `start`.
fn combine_matrix(start: u32) -> BitMatrix {
    let mut combine = BitMatrix::zero(32, COMBINED);
    for row in 0..32 {
        for slice in 0..SLICES {
            combine.set(row, row * SLICES + slice);
        }
        if start >> row & 1 != 0 {
            combine.set(row, PARTIALS);
        }
    }
    combine
}

impl Logic for CrcCore {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, partial_valid, combine_valid, register_valid);
        dff_setup!(
            self,
            clock,
            partial_tag,
            combine_tag,
            register_tag,
            register_choice
        );
        clock!(self, clock, partial, combine, register);
        clock!(self, clock, retreat1, retreat4, retreat16);

        self.partial.enable.next = self.valid.val();
        self.partial.d.next = self.data.val();
        self.partial_valid.d.next = self.valid.val();
        if self.valid.val() {
            self.partial_tag.d.next.first = self.first.val();
            self.partial_tag.d.next.last = self.last.val();
            self.partial_tag.d.next.missing = bit_cast::<6, 7>(!self.len.val() + 1);
        }

        self.combine.enable.next = self.partial_valid.q.val();
        self.combine.d.next = bit_cast::<COMBINED, PARTIALS>(self.partial.q.val())
            .replace_bit(PARTIALS, self.partial_tag.q.val().first);
        self.combine_valid.d.next = self.partial_valid.q.val();
        if self.partial_valid.q.val() {
            self.combine_tag.d.next = self.partial_tag.q.val();
        }

        self.register.enable.next = self.combine_valid.q.val();
        self.register.d.next = bit_cast::<64, 32>(self.combine.q.val());
        if !self.combine_tag.q.val().first {
            self.register.d.next = bit_cast::<64, 32>(self.combine.q.val())
                | (bit_cast::<64, 32>(self.register.q.val()) << 32);
        }
        self.register_valid.d.next = self.combine_valid.q.val();
        if self.combine_valid.q.val() {
            self.register_tag.d.next = self.combine_tag.q.val();
            self.register_choice.d.next =
                bits::<4>(1) << self.combine_tag.q.val().missing.get_bits::<2>(0);
        }

        self.retreat1.from.valid.next =
            self.register_valid.q.val() & self.register_tag.q.val().last;
        self.retreat1.from.register.next = self.register.q.val();
        self.retreat1.from.count.next = self.register_tag.q.val().missing;
        self.retreat1.from.choice.next = self.register_choice.q.val();
        RetreatOut::join(&mut self.retreat1.to, &mut self.retreat4.from);
        RetreatOut::join(&mut self.retreat4.to, &mut self.retreat16.from);

        self.crc.next = !self.retreat16.to.register.val();
        self.done.next = self.retreat16.to.valid.val();
    }
}

ferroce_emit::register_leaf!("crc_core", || CrcCore::new(0x1234_5678, 14));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xors_are_at_most_36_wide() {
        assert!(
            partial_matrix().widest() <= 36,
            "{}",
            partial_matrix().widest()
        );
        assert!(combine_matrix(u32::MAX).widest() <= 36);
        let register = BitMatrix::identity(32).beside(&advance_matrix(BEAT_BYTES));
        assert!(register.widest() <= 24, "{}", register.widest());
        for unit in [1, 4, 16] {
            for count in 1..4 {
                assert!(super::super::crc32::retreat_matrix(count * unit).widest() <= 24);
            }
        }
    }
}

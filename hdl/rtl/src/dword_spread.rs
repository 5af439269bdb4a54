//! Doubleword mask to bit mask.

use crate::byte_spread::ByteSpread;
use ferroce_emit::prelude::*;

/// Sets the 32 bits of every doubleword whose mask bit is set: its mask bit becomes those of its four bytes, and
/// [`ByteSpread`] does the rest. Wires only.
#[derive(LogicBlock, Module, Default)]
pub struct DwordSpread {
    /// A bit for each doubleword.
    pub bits: Signal<In, Bits<16>>,
    /// 32 bits for each doubleword.
    pub dwords: Signal<Out, Bits<512>>,
    spread: ByteSpread,
    by8: Signal<Local, Bits<64>>,
    by4: Signal<Local, Bits<64>>,
    by2: Signal<Local, Bits<64>>,
    by1: Signal<Local, Bits<64>>,
    pairs: Signal<Local, Bits<64>>,
}

impl Logic for DwordSpread {
    #[kernel]
    fn update(&mut self) {
        self.by8.next = (bit_cast::<64, 16>(self.bits.val())
            | (bit_cast::<64, 16>(self.bits.val()) << 24))
            & bits::<64>(0x0000_00FF_0000_00FF);
        self.by4.next =
            (self.by8.val() | (self.by8.val() << 12)) & bits::<64>(0x000F_000F_000F_000F);
        self.by2.next =
            (self.by4.val() | (self.by4.val() << 6)) & bits::<64>(0x0303_0303_0303_0303);
        self.by1.next =
            (self.by2.val() | (self.by2.val() << 3)) & bits::<64>(0x1111_1111_1111_1111);
        self.pairs.next = self.by1.val() | (self.by1.val() << 1);
        self.spread.bits.next = self.pairs.val() | (self.pairs.val() << 2);
        self.dwords.next = self.spread.bytes.val();
    }
}

ferroce_emit::register_leaf!("dword_spread", DwordSpread::default);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_becomes_its_doubleword() {
        ferroce_emit::on_big_stack(|| {
            let mut uut = DwordSpread::default();
            uut.connect_all();
            for mask in (0..16).map(|bit| 1u64 << bit).chain([0, 0xFFFF, 0x1A5C]) {
                uut.bits.next = mask.into();
                assert!(simulate(&mut uut, 64));
                let expected: Vec<u32> = (0..16)
                    .map(|dword| if mask >> dword & 1 == 1 { u32::MAX } else { 0 })
                    .collect();
                assert_eq!(pack(&uut.dwords.val()), expected, "mask {mask:#x}");
            }
        });
    }
}

//! Doubleword mask to bit mask.

use ferroce_emit::prelude::*;

/// Sets the 32 bits of every doubleword whose mask bit is set. Wires only, as in
/// [`ByteSpread`](ferroce_rtl::byte_spread::ByteSpread).
#[derive(LogicBlock, Module)]
pub struct DwordSpread {
    /// A bit for each doubleword.
    pub bits: Signal<In, Bits<16>>,
    /// 32 bits for each doubleword.
    pub dwords: Signal<Out, Bits<512>>,
    groups8: Constant<Bits<512>>,
    groups4: Constant<Bits<512>>,
    groups2: Constant<Bits<512>>,
    groups1: Constant<Bits<512>>,
    by8: Signal<Local, Bits<512>>,
    by4: Signal<Local, Bits<512>>,
    by2: Signal<Local, Bits<512>>,
    by1: Signal<Local, Bits<512>>,
    pairs: Signal<Local, Bits<512>>,
    nibbles: Signal<Local, Bits<512>>,
    bytes: Signal<Local, Bits<512>>,
    words: Signal<Local, Bits<512>>,
}

/// The lowest `size` bits of each `32 * size`.
fn groups(size: usize) -> Constant<Bits<512>> {
    let words: Vec<u32> = (0..16)
        .map(|word| if word % size == 0 { (1 << size) - 1 } else { 0 })
        .collect();
    Constant::new(unpack(&words))
}

impl Default for DwordSpread {
    fn default() -> Self {
        Self {
            bits: Signal::default(),
            dwords: Signal::default(),
            groups8: groups(8),
            groups4: groups(4),
            groups2: groups(2),
            groups1: groups(1),
            by8: Signal::default(),
            by4: Signal::default(),
            by2: Signal::default(),
            by1: Signal::default(),
            pairs: Signal::default(),
            nibbles: Signal::default(),
            bytes: Signal::default(),
            words: Signal::default(),
        }
    }
}

impl Logic for DwordSpread {
    #[kernel]
    fn update(&mut self) {
        self.by8.next = (bit_cast::<512, 16>(self.bits.val())
            | (bit_cast::<512, 16>(self.bits.val()) << 248))
            & self.groups8.val();
        self.by4.next = (self.by8.val() | (self.by8.val() << 124)) & self.groups4.val();
        self.by2.next = (self.by4.val() | (self.by4.val() << 62)) & self.groups2.val();
        self.by1.next = (self.by2.val() | (self.by2.val() << 31)) & self.groups1.val();
        self.pairs.next = self.by1.val() | (self.by1.val() << 1);
        self.nibbles.next = self.pairs.val() | (self.pairs.val() << 2);
        self.bytes.next = self.nibbles.val() | (self.nibbles.val() << 4);
        self.words.next = self.bytes.val() | (self.bytes.val() << 8);
        self.dwords.next = self.words.val() | (self.words.val() << 16);
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

//! Byte mask to bit mask.

use ferroce_emit::prelude::*;

/// Sets the eight bits of every byte whose mask bit is set. Wires only: the mask's bits are moved apart in six
/// halvings, then each is copied to its neighbours.
#[derive(LogicBlock, Module)]
pub struct ByteSpread {
    /// A bit for each byte.
    pub bits: Signal<In, Bits<64>>,
    /// Eight bits for each byte.
    pub bytes: Signal<Out, Bits<512>>,
    groups32: Constant<Bits<512>>,
    groups16: Constant<Bits<512>>,
    groups8: Constant<Bits<512>>,
    groups4: Constant<Bits<512>>,
    groups2: Constant<Bits<512>>,
    groups1: Constant<Bits<512>>,
    by32: Signal<Local, Bits<512>>,
    by16: Signal<Local, Bits<512>>,
    by8: Signal<Local, Bits<512>>,
    by4: Signal<Local, Bits<512>>,
    by2: Signal<Local, Bits<512>>,
    by1: Signal<Local, Bits<512>>,
    pairs: Signal<Local, Bits<512>>,
    nibbles: Signal<Local, Bits<512>>,
}

/// The lowest `size` bits of each `8 * size`.
fn groups(size: usize) -> Constant<Bits<512>> {
    let words: Vec<u32> = (0..16)
        .map(|word| {
            (0..32)
                .filter(|bit| (word * 32 + bit) % (8 * size) < size)
                .fold(0, |bits, bit| bits | 1 << bit)
        })
        .collect();
    Constant::new(unpack(&words))
}

impl Default for ByteSpread {
    fn default() -> Self {
        Self {
            bits: Signal::default(),
            bytes: Signal::default(),
            groups32: groups(32),
            groups16: groups(16),
            groups8: groups(8),
            groups4: groups(4),
            groups2: groups(2),
            groups1: groups(1),
            by32: Signal::default(),
            by16: Signal::default(),
            by8: Signal::default(),
            by4: Signal::default(),
            by2: Signal::default(),
            by1: Signal::default(),
            pairs: Signal::default(),
            nibbles: Signal::default(),
        }
    }
}

impl Logic for ByteSpread {
    #[kernel]
    fn update(&mut self) {
        self.by32.next = (bit_cast::<512, 64>(self.bits.val())
            | (bit_cast::<512, 64>(self.bits.val()) << 224))
            & self.groups32.val();
        self.by16.next = (self.by32.val() | (self.by32.val() << 112)) & self.groups16.val();
        self.by8.next = (self.by16.val() | (self.by16.val() << 56)) & self.groups8.val();
        self.by4.next = (self.by8.val() | (self.by8.val() << 28)) & self.groups4.val();
        self.by2.next = (self.by4.val() | (self.by4.val() << 14)) & self.groups2.val();
        self.by1.next = (self.by2.val() | (self.by2.val() << 7)) & self.groups1.val();
        self.pairs.next = self.by1.val() | (self.by1.val() << 1);
        self.nibbles.next = self.pairs.val() | (self.pairs.val() << 2);
        self.bytes.next = self.nibbles.val() | (self.nibbles.val() << 4);
    }
}

ferroce_emit::register_leaf!("byte_spread", ByteSpread::default);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_becomes_its_byte() {
        ferroce_emit::on_big_stack(|| {
            let mut uut = ByteSpread::default();
            uut.connect_all();
            for mask in (0..64)
                .map(|bit| 1u64 << bit)
                .chain([0, u64::MAX, 0xDEAD_BEEF_0123_4567])
            {
                uut.bits.next = mask.into();
                assert!(simulate(&mut uut, 64));
                let expected: Vec<u32> = (0..16)
                    .map(|word| {
                        (0..4)
                            .filter(|byte| mask >> (word * 4 + byte) & 1 == 1)
                            .fold(0, |bits, byte| bits | 0xFF << (8 * byte))
                    })
                    .collect();
                assert_eq!(pack(&uut.bytes.val()), expected, "mask {mask:#x}");
            }
        });
    }
}

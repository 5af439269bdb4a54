use crate::bench;
use crate::bench::Item;
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_rtl::byte_mask::{ByteMask, BYTE_MASK_LATENCY};
use ferroce_rtl::delay::Delay;
use ferroce_rtl::rotate64::{Rotate64, ROTATE_LATENCY};
use ferroce_rtl::sync2::Sync2;
use rand::Rng;
use std::collections::VecDeque;

fn byte(word: &Bits<512>, index: usize) -> Bits<8> {
    word.get_bits::<8>(8 * index)
}

#[test]
fn bytes_move_up_by_amount() {
    let mut random = random();
    let mut bench = bench!(Rotate64::<Bits<10>>::default());
    let mut expected: VecDeque<Option<(Bits<512>, usize, Bits<10>)>> =
        vec![None; ROTATE_LATENCY].into();
    for cycle in 0..256usize {
        let data = Bits::random(&mut random);
        let amount = if cycle < 64 {
            cycle
        } else {
            random.gen_range(0..64)
        };
        let side = Bits::random(&mut random);
        bench.uut.data_in.next = data;
        bench.uut.amount.next = (amount as u64).into();
        bench.uut.side_in.next = side;
        bench.settle();
        if let Some((data, amount, side)) = expected.pop_front().flatten() {
            assert_eq!(bench.uut.side_out.val(), side);
            for k in 0..64 {
                assert_eq!(
                    byte(&bench.uut.data_out.val(), (k + amount) % 64),
                    byte(&data, k)
                );
            }
        }
        expected.push_back(Some((data, amount, side)));
        bench.edge();
    }
}

#[test]
fn mask_has_len_ones() {
    let mut bench = bench!(ByteMask::default());
    assert_eq!(BYTE_MASK_LATENCY, 1);
    for len in 0..128u64 {
        bench.uut.len.next = len.into();
        bench.settle();
        bench.edge();
        bench.settle();
        for k in 0..64 {
            assert_eq!(bench.uut.mask.val().get_bit(k), (k as u64) < len);
        }
    }
}

#[test]
fn delays_by_n_cycles() {
    let mut random = random();
    for cycles in [1, 2, 3, 17] {
        let mut bench = bench!(Delay::<Bits<12>>::new(cycles));
        let mut expected: VecDeque<Bits<12>> = vec![Bits::default(); cycles].into();
        for _ in 0..100 {
            let value = Bits::random(&mut random);
            bench.uut.data_in.next = value;
            bench.settle();
            assert_eq!(Some(bench.uut.data_out.val()), expected.pop_front());
            expected.push_back(value);
            bench.edge();
        }
    }
}

#[test]
fn synchroniser_takes_two_cycles() {
    let mut random = random();
    let mut bench = bench!(Sync2::<Bit>::default());
    let mut expected: VecDeque<Bit> = vec![false; 2].into();
    for _ in 0..100 {
        let value = random.gen();
        bench.uut.d.next = value;
        bench.settle();
        assert_eq!(Some(bench.uut.q.val()), expected.pop_front());
        expected.push_back(value);
        bench.edge();
    }
}

//! The counter bank against plain sums.

mod common;

use common::{connected, settle};
use ferroce_abi::regs::Counter;
use ferroce_emit::harness::random;
use ferroce_emit::on_big_stack;
use ferroce_nic::counters::{Counters, CELLS};
use rand::Rng;

fn cycle(uut: &mut Counters, add: &[u64; CELLS]) {
    for (port, &amount) in uut.add.iter_mut().zip(add) {
        port.next = amount.into();
    }
    uut.clock.next = false.into();
    settle(uut);
    uut.clock.next = true.into();
    settle(uut);
}

fn value(uut: &mut Counters, number: usize) -> u64 {
    uut.number.next = (number as u64).into();
    for _ in 0..3 {
        cycle(uut, &[0; CELLS]);
    }
    uut.value.val().to_u64()
}

#[test]
fn every_event_is_counted_once() {
    on_big_stack(|| {
        let mut rng = random();
        let mut uut = connected(Counters::default());
        let mut sums = [0_u64; Counter::WINDOW];
        for _ in 0..3_000 {
            let mut add = [0; CELLS];
            for (number, amount) in add.iter_mut().enumerate() {
                if rng.gen_bool(0.2) {
                    *amount = if number == 1 {
                        500
                    } else {
                        rng.gen_range(0..3)
                    };
                }
                sums[number] += *amount;
            }
            cycle(&mut uut, &add);
        }
        // Until the token has visited every cell and every amount has left the chain.
        for _ in 0..300 {
            cycle(&mut uut, &[0; CELLS]);
        }
        for (number, &sum) in sums.iter().enumerate() {
            assert_eq!(value(&mut uut, number), sum, "counter {number}");
        }
    });
}

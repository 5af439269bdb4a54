use crate::bench;
use crate::bench::Item;
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_rtl::rmw_ram::{RmwRam, RMW_LATENCY};
use rand::Rng;
use std::collections::VecDeque;

/// A write of cycle `t + 2` is in the data of a read of cycle `t`, one of `t + 3` is not.
#[test]
fn data_has_every_write_before_its_cycle() {
    let mut random = random();
    let mut bench = bench!(RmwRam::<Bits<33>>::new(3));
    let mut model = [Bits::<33>::default(); 8];
    // Reads under way: index, rd_valid.
    let mut reads: VecDeque<(usize, bool)> = vec![(0, false); RMW_LATENCY].into();
    for _ in 0..4000 {
        // Few words, so that most reads meet writes.
        let read = random.gen_range(0..4u64);
        let write = random.gen_range(0..4u64);
        // Address bits that the RAM must ignore.
        let mut noise = || random.gen_range(0..1u64 << 17) << 3;
        let (rd_noise, wr_noise) = (noise(), noise());
        let word = Bits::random(&mut random);
        let (rd_valid, wr_valid) = (random.gen_bool(0.8), random.gen_bool(0.5));
        bench.uut.rd_valid.next = rd_valid;
        bench.uut.rd_addr.next = (read | rd_noise).into();
        bench.uut.wr_valid.next = wr_valid;
        bench.uut.wr_addr.next = (write | wr_noise).into();
        bench.uut.wr_data.next = word;
        bench.settle();
        let (index, valid) = reads.pop_front().expect("three reads are under way");
        assert_eq!(bench.uut.data_valid.val(), valid);
        assert_eq!(bench.uut.rd_data.val(), model[index]);
        reads.push_back((read as usize, rd_valid));
        if wr_valid {
            model[write as usize] = word;
        }
        bench.edge();
    }
}

/// Read-modify-write in one cycle: counters, the same word in every cycle.
#[test]
fn same_word_every_cycle_counts() {
    let mut random = random();
    for pick in [|_: &mut _| 5u64, |r: &mut _| Rng::gen_range(r, 0..8u64)] {
        let mut bench = bench!(RmwRam::<Bits<16>>::new(3));
        let mut counts = [0u64; 8];
        let mut reads: VecDeque<Option<u64>> = vec![None; RMW_LATENCY].into();
        for cycle in 0..1000 {
            let read = (cycle < 900).then(|| pick(&mut random));
            bench.uut.rd_valid.next = read.is_some();
            bench.uut.rd_addr.next = read.unwrap_or(0).into();
            bench.uut.wr_valid.next = false;
            // The word and its address are those of the read of three cycles ago.
            let done = reads.pop_front().flatten();
            bench.settle();
            if let Some(index) = done {
                assert_eq!(bench.uut.rd_data.val(), counts[index as usize]);
                counts[index as usize] += 1;
                bench.uut.wr_valid.next = true;
                bench.uut.wr_addr.next = index.into();
                bench.uut.wr_data.next = bench.uut.rd_data.val() + 1;
            }
            reads.push_back(read);
            bench.settle();
            bench.edge();
        }
        assert_eq!(counts.iter().sum::<u64>(), 900);
    }
}

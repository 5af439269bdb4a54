use crate::bench;
use crate::bench::Item;
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_rtl::lutram::Lutram;
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::ram2::Ram2;
use ferroce_rtl::ram_style::RamStyle;
use rand::Rng;
use std::collections::VecDeque;

/// Address below `2^log2_depth` plus bits that the RAM must ignore.
fn address(random: &mut impl Rng, log2_depth: usize) -> (usize, Bits<20>) {
    let index = random.gen_range(0..1u64 << log2_depth);
    let noise = random.gen_range(0..1u64 << (20 - log2_depth)) << log2_depth;
    (index as usize, (index | noise).into())
}

#[test]
fn ram_reads_old_data_two_cycles_later() {
    let mut random = random();
    for style in [RamStyle::Distributed, RamStyle::Block, RamStyle::Ultra] {
        let mut bench = bench!(Ram::<Bits<40>>::with_style(3, style));
        let mut model = [Bits::<40>::default(); 8];
        let mut expected: VecDeque<Bits<40>> = vec![0.into(); RAM_LATENCY].into();
        for _ in 0..2000 {
            let (write, wr_addr) = address(&mut random, 3);
            let (read, rd_addr) = address(&mut random, 3);
            let word = Bits::random(&mut random);
            let valid = random.gen_bool(0.6);
            bench.uut.wr_valid.next = valid;
            bench.uut.wr_addr.next = wr_addr;
            bench.uut.wr_data.next = word;
            bench.uut.rd_addr.next = rd_addr;
            bench.settle();
            assert_eq!(Some(bench.uut.rd_data.val()), expected.pop_front());
            expected.push_back(model[read]);
            if valid {
                model[write] = word;
            }
            bench.edge();
        }
    }
}

#[test]
fn ram2_reads_both_ports() {
    let mut random = random();
    let mut bench = bench!(Ram2::<Bits<40>>::new(4));
    let mut model = [Bits::<40>::default(); 16];
    let mut expected: VecDeque<_> = vec![(0.into(), 0.into()); RAM_LATENCY].into();
    for _ in 0..2000 {
        let (write, wr_addr) = address(&mut random, 4);
        let (read0, rd0_addr) = address(&mut random, 4);
        let (read1, rd1_addr) = address(&mut random, 4);
        let word = Bits::random(&mut random);
        let valid = random.gen_bool(0.6);
        bench.uut.wr_valid.next = valid;
        bench.uut.wr_addr.next = wr_addr;
        bench.uut.wr_data.next = word;
        bench.uut.rd0_addr.next = rd0_addr;
        bench.uut.rd1_addr.next = rd1_addr;
        bench.settle();
        let seen = (bench.uut.rd0_data.val(), bench.uut.rd1_data.val());
        assert_eq!(Some(seen), expected.pop_front());
        expected.push_back((model[read0], model[read1]));
        if valid {
            model[write] = word;
        }
        bench.edge();
    }
}

#[test]
fn lutram_reads_in_the_same_cycle() {
    let mut random = random();
    let mut bench = bench!(Lutram::<Bits<9>>::new(3));
    let mut model = [Bits::<9>::default(); 8];
    for _ in 0..2000 {
        let (write, wr_addr) = address(&mut random, 3);
        let (read, rd_addr) = address(&mut random, 3);
        let word = Bits::random(&mut random);
        let valid = random.gen_bool(0.6);
        bench.uut.wr_valid.next = valid;
        bench.uut.wr_addr.next = wr_addr;
        bench.uut.wr_data.next = word;
        bench.uut.rd_addr.next = rd_addr;
        bench.settle();
        assert_eq!(bench.uut.rd_data.val(), model[read]);
        if valid {
            model[write] = word;
        }
        bench.edge();
    }
}

#[test]
fn style_follows_size() {
    assert_eq!(RamStyle::for_size(6, 521), RamStyle::Distributed);
    assert_eq!(RamStyle::for_size(7, 521), RamStyle::Block);
    assert_eq!(RamStyle::for_size(14, 32), RamStyle::Block);
    assert_eq!(RamStyle::for_size(12, 521), RamStyle::Ultra);
}

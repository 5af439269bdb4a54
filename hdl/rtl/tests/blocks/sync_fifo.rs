use crate::bench;
use crate::bench::{Item, Sink, Source, RATES};
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_rtl::ram_style::RamStyle;
use ferroce_rtl::sync_fifo::SyncFifo;

/// `None` is a quick one.
const STYLES: [Option<RamStyle>; 4] = [
    None,
    Some(RamStyle::Distributed),
    Some(RamStyle::Block),
    Some(RamStyle::Ultra),
];

fn fifo(log2_depth: usize, reserve: usize, style: Option<RamStyle>) -> SyncFifo<Bits<24>> {
    match style {
        None => SyncFifo::quick_with_reserve(log2_depth, reserve),
        Some(style) => SyncFifo::with_style(log2_depth, reserve, style),
    }
}

/// Runs `items` through, checking `used` and `almost_full` in every cycle.
fn run(
    log2_depth: usize,
    reserve: usize,
    style: Option<RamStyle>,
    rates: (f64, f64),
    count: usize,
) {
    let mut random = random();
    let items: Vec<Bits<24>> = (0..count).map(|_| Bits::random(&mut random)).collect();
    let mut bench = bench!(fifo(log2_depth, reserve, style));
    let mut source = Source::new(rates.0, items.clone());
    let mut sink = Sink::new(rates.1);
    let depth = 1usize << log2_depth;
    let mut inside = 0;
    let mut deepest = 0;
    while sink.received.len() < count {
        source.drive(&mut bench.uut.input, &mut random);
        sink.drive(&mut bench.uut.output, &mut random);
        bench.settle();
        assert_eq!(bench.uut.used.val().index(), inside);
        assert_eq!(bench.uut.almost_full.val(), depth - inside < reserve);
        assert_eq!(bench.uut.input.ready.val(), inside < depth);
        inside += usize::from(source.take(&bench.uut.input).is_some());
        inside -= usize::from(sink.take(&bench.uut.output).is_some());
        deepest = deepest.max(inside);
        bench.edge();
    }
    assert_eq!(sink.received, items);
    if rates.0 > 2.0 * rates.1 {
        assert_eq!(deepest, depth, "back-pressure never filled the FIFO");
    }
}

#[test]
fn items_pass_in_order_under_back_pressure() {
    for style in STYLES {
        for rates in RATES {
            run(3, 3, style, rates, 400);
        }
        run(5, 9, style, (0.9, 0.2), 400);
        run(1, 2, style, (0.9, 0.4), 300);
    }
}

/// Cycles from the first push to the first pop, and throughput after it.
#[test]
fn latency_and_full_rate() {
    let mut random = random();
    for style in STYLES {
        let latency = match style {
            None => 1,
            Some(RamStyle::Distributed) => 2,
            Some(_) => 3,
        };
        let mut bench = bench!(fifo(4, 1, style));
        let mut source = Source::new(1.0, (0..100u64).map(Bits::from));
        let mut sink = Sink::new(1.0);
        for cycle in 0..100 {
            source.drive(&mut bench.uut.input, &mut random);
            sink.drive(&mut bench.uut.output, &mut random);
            bench.settle();
            source.take(&bench.uut.input);
            let expected = cycle as u64;
            match sink.take(&bench.uut.output) {
                Some(item) => assert_eq!(item, expected - latency),
                None => assert!(expected < latency, "a bubble in cycle {cycle}"),
            }
            bench.edge();
        }
    }
}

/// A FIFO that is full all the time also passes an item a cycle.
#[test]
fn full_fifo_keeps_the_rate() {
    let mut random = random();
    for style in STYLES {
        let mut bench = bench!(fifo(4, 1, style));
        let mut source = Source::new(1.0, (0..1000u64).map(Bits::from));
        let mut sink = Sink::new(0.0);
        let mut taken = 0;
        for cycle in 0..200 {
            if cycle == 40 {
                assert_eq!(bench.uut.used.val(), 16);
                sink.rate = 1.0;
            }
            source.drive(&mut bench.uut.input, &mut random);
            sink.drive(&mut bench.uut.output, &mut random);
            bench.settle();
            source.take(&bench.uut.input);
            taken += usize::from(sink.take(&bench.uut.output).is_some());
            bench.edge();
        }
        assert_eq!(taken, 160);
    }
}

/// Items that arrive one by one at a stalled output leave it without a bubble.
#[test]
fn stalled_items_leave_at_full_rate() {
    let mut random = random();
    for style in STYLES {
        let mut bench = bench!(fifo(4, 1, style));
        let mut source = Source::new(0.1, (0..6u64).map(Bits::from));
        let mut sink = Sink::new(0.0);
        let mut cycles_left = 6;
        while cycles_left > 0 {
            if source.sent == 6 && bench.uut.output.valid.val() {
                sink.rate = 1.0;
            }
            source.drive(&mut bench.uut.input, &mut random);
            sink.drive(&mut bench.uut.output, &mut random);
            bench.settle();
            source.take(&bench.uut.input);
            let taken = sink.take(&bench.uut.output);
            if sink.rate > 0.0 {
                assert!(taken.is_some(), "a bubble after {}", sink.received.len());
                cycles_left -= 1;
            }
            bench.edge();
        }
    }
}

#[test]
#[should_panic(expected = "a reserve of 17 places in a FIFO of 16")]
fn reserve_must_fit() {
    let _ = SyncFifo::<Bits<8>>::new_with_reserve(4, 17);
}

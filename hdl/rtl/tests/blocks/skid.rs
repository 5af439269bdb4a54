use crate::bench;
use crate::bench::{Item, Sink, Source, RATES};
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_rtl::skid::Skid;

#[test]
fn items_pass_in_order_under_back_pressure() {
    let mut random = random();
    for (source_rate, sink_rate) in RATES {
        let items: Vec<Bits<16>> = (0..500).map(|_| Bits::random(&mut random)).collect();
        let mut bench = bench!(Skid::default());
        let mut source = Source::new(source_rate, items.clone());
        let mut sink = Sink::new(sink_rate);
        while sink.received.len() < items.len() {
            source.drive(&mut bench.uut.input, &mut random);
            sink.drive(&mut bench.uut.output, &mut random);
            bench.settle();
            source.take(&bench.uut.input);
            sink.take(&bench.uut.output);
            bench.edge();
        }
        assert_eq!(sink.received, items);
    }
}

#[test]
fn full_rate_takes_one_cycle_an_item() {
    let mut random = random();
    let items: Vec<Bits<16>> = (0..100u64).map(Bits::from).collect();
    let mut bench = bench!(Skid::default());
    let mut source = Source::new(1.0, items.clone());
    let mut sink = Sink::new(1.0);
    for _ in 0..101 {
        source.drive(&mut bench.uut.input, &mut random);
        sink.drive(&mut bench.uut.output, &mut random);
        bench.settle();
        source.take(&bench.uut.input);
        sink.take(&bench.uut.output);
        bench.edge();
    }
    assert_eq!(sink.received, items);
}

#[test]
fn ready_is_a_register() {
    let mut bench = bench!(Skid::<Bits<16>>::default());
    for full in [false, false, true] {
        bench.uut.input.valid.next = true;
        for ready in [true, false] {
            bench.uut.output.ready.next = ready;
            bench.settle();
            assert_eq!(bench.uut.input.ready.val(), !full);
        }
        bench.edge();
    }
    bench.uut.output.ready.next = true;
    bench.settle();
    assert!(!bench.uut.input.ready.val());
}

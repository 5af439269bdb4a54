use crate::bench;
use crate::bench::{Bench, Item, Sink, Source, RATES};
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_rtl::arb2::Arb2;
use ferroce_rtl::arb4::Arb4;
use ferroce_rtl::beat_arb2::BeatArb2;
use ferroce_rtl::beat_arb4::BeatArb4;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::dma_write_arb2::DmaWriteArb2;
use ferroce_rtl::dma_write_arb4::DmaWriteArb4;
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};
use rand::Rng;

/// An arbiter under test: its inputs by number, its output.
trait Arbiter: Block {
    type Item: Item;
    const SOURCES: usize;
    fn input(&mut self, index: usize) -> &mut StreamIn<Self::Item>;
    fn output(&mut self) -> &mut StreamOut<Self::Item>;
}

macro_rules! arbiter {
    ($name: ty, $item: ty, $($input: ident),+) => {
        impl Arbiter for $name {
            type Item = $item;
            const SOURCES: usize = [$(stringify!($input)),+].len();
            fn input(&mut self, index: usize) -> &mut StreamIn<$item> {
                [$(&mut self.$input),+].into_iter().nth(index).expect("a source")
            }
            fn output(&mut self) -> &mut StreamOut<$item> {
                &mut self.output
            }
        }
    };
}

arbiter!(Arb2<Bits<16>>, Bits<16>, in0, in1);
arbiter!(Arb4<Bits<16>>, Bits<16>, in0, in1, in2, in3);
arbiter!(BeatArb2, Beat, in0, in1);
arbiter!(BeatArb4, Beat, in0, in1, in2, in3);
arbiter!(DmaWriteArb2, DmaWriteBeat, in0, in1);
arbiter!(DmaWriteArb4, DmaWriteBeat, in0, in1, in2, in3);

impl Item for DmaWriteBeat {
    fn random(random: &mut impl Rng) -> Self {
        Self {
            data: Bits::random(random),
            addr: Bits::random(random),
            len: Bits::random(random),
            last: random.gen_bool(0.3),
        }
    }
}

/// A test item that says where it came from and whether it ends a frame.
trait Tagged: Item {
    /// Item number `number` of source `source`.
    fn tagged(source: usize, number: usize, last: bool) -> Self;
    fn source(&self) -> usize;
    fn last(&self) -> bool;
}

fn tag(source: usize, number: usize) -> u64 {
    (source << 14 | number) as u64
}

impl Tagged for Bits<16> {
    fn tagged(source: usize, number: usize, _last: bool) -> Self {
        tag(source, number).into()
    }
    fn source(&self) -> usize {
        self.index() >> 14
    }
    fn last(&self) -> bool {
        true
    }
}

impl Tagged for Beat {
    fn tagged(source: usize, number: usize, last: bool) -> Self {
        Self {
            data: tag(source, number).into(),
            len: 64.into(),
            last,
            err: false,
        }
    }
    fn source(&self) -> usize {
        self.data.get_bits::<2>(14).index()
    }
    fn last(&self) -> bool {
        self.last
    }
}

impl Tagged for DmaWriteBeat {
    fn tagged(source: usize, number: usize, last: bool) -> Self {
        Self {
            data: tag(source, number).into(),
            addr: (source as u64).into(),
            len: 64.into(),
            last,
        }
    }
    fn source(&self) -> usize {
        self.addr.get_bits::<2>(0).index()
    }
    fn last(&self) -> bool {
        self.last
    }
}

/// Items of one source: frames of 1 to 4 items.
fn frames<T: Tagged>(source: usize, count: usize, random: &mut impl Rng) -> Vec<T> {
    (0..count)
        .map(|number| T::tagged(source, number, number + 1 == count || random.gen_bool(0.4)))
        .collect()
}

/// Every item arrives once, in order of its source, frames are not mixed.
fn nothing_is_lost_or_mixed<A: Arbiter>(make: fn() -> Bench<A>)
where
    A::Item: Tagged,
{
    let mut random = random();
    for (source_rate, sink_rate) in RATES {
        let mut bench = make();
        let items: Vec<Vec<A::Item>> = (0..A::SOURCES)
            .map(|source| frames(source, 60, &mut random))
            .collect();
        let mut sources: Vec<_> = items
            .iter()
            .map(|queue| Source::new(source_rate, queue.clone()))
            .collect();
        let mut sink = Sink::new(sink_rate);
        let mut left = 60 * A::SOURCES;
        while left > 0 {
            for (index, source) in sources.iter_mut().enumerate() {
                source.drive(bench.uut.input(index), &mut random);
            }
            sink.drive(bench.uut.output(), &mut random);
            bench.settle();
            for (index, source) in sources.iter_mut().enumerate() {
                source.take(bench.uut.input(index));
            }
            left -= usize::from(sink.take(bench.uut.output()).is_some());
            bench.edge();
        }
        for (index, queue) in items.iter().enumerate() {
            let received: Vec<_> = sink
                .received
                .iter()
                .filter(|item| item.source() == index)
                .copied()
                .collect();
            assert_eq!(&received, queue);
        }
        for pair in sink.received.windows(2) {
            assert!(
                pair[0].last() || pair[0].source() == pair[1].source(),
                "a frame was interrupted"
            );
        }
    }
}

/// With all sources busy, an item comes in every cycle and frames take turns.
fn busy_sources_take_turns<A: Arbiter>(make: fn() -> Bench<A>)
where
    A::Item: Tagged,
{
    let mut random = random();
    let mut bench = make();
    let mut sources: Vec<_> = (0..A::SOURCES)
        .map(|source| Source::new(1.0, frames(source, 400, &mut random)))
        .collect();
    let mut sink = Sink::new(1.0);
    for _ in 0..101 {
        for (index, source) in sources.iter_mut().enumerate() {
            source.drive(bench.uut.input(index), &mut random);
        }
        sink.drive(bench.uut.output(), &mut random);
        bench.settle();
        for (index, source) in sources.iter_mut().enumerate() {
            source.take(bench.uut.input(index));
        }
        sink.take(bench.uut.output());
        bench.edge();
    }
    assert_eq!(sink.received.len(), 100, "one item a cycle");
    for pair in sink.received.windows(2) {
        let next = if pair[0].last() {
            (pair[0].source() + 1) % A::SOURCES
        } else {
            pair[0].source()
        };
        assert_eq!(pair[1].source(), next);
    }
}

#[test]
fn arb2() {
    nothing_is_lost_or_mixed(|| bench!(Arb2::<Bits<16>>::default()));
    busy_sources_take_turns(|| bench!(Arb2::<Bits<16>>::default()));
}

#[test]
fn arb4() {
    nothing_is_lost_or_mixed(|| bench!(Arb4::<Bits<16>>::default()));
    busy_sources_take_turns(|| bench!(Arb4::<Bits<16>>::default()));
}

#[test]
fn beat_arb2() {
    nothing_is_lost_or_mixed(|| bench!(BeatArb2::default()));
    busy_sources_take_turns(|| bench!(BeatArb2::default()));
}

#[test]
fn beat_arb4() {
    nothing_is_lost_or_mixed(|| bench!(BeatArb4::default()));
    busy_sources_take_turns(|| bench!(BeatArb4::default()));
}

#[test]
fn dma_write_arb2() {
    nothing_is_lost_or_mixed(|| bench!(DmaWriteArb2::default()));
    busy_sources_take_turns(|| bench!(DmaWriteArb2::default()));
}

#[test]
fn dma_write_arb4() {
    nothing_is_lost_or_mixed(|| bench!(DmaWriteArb4::default()));
    busy_sources_take_turns(|| bench!(DmaWriteArb4::default()));
}

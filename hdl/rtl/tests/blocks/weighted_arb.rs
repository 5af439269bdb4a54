use crate::bench;
use crate::bench::{Sink, Source, RATES};
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_rtl::weighted_arb4::WeightedArb4;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

type Uut = WeightedArb4<Bits<16>>;

/// Cost of an item, a fixed function so that the bench can drive it beside the stream.
fn cost(item: Bits<16>) -> u64 {
    (item.index() as u64 * 7) % 64 + 1
}

fn source_of(item: Bits<16>) -> usize {
    item.index() >> 14
}

struct Run {
    weights: [u64; 4],
    source_rates: [f64; 4],
    sink_rate: f64,
}

impl Run {
    /// Served items after `cycles`, sources never run dry.
    fn go(&self, cycles: usize, random: &mut ChaCha8Rng) -> Vec<Bits<16>> {
        let mut bench = bench!(Uut::default());
        let mut sources: Vec<Source<Bits<16>>> = (0..4usize)
            .map(|source| {
                let items = (0..cycles).map(move |_| Bits::from((source as u64) << 14));
                Source::new(self.source_rates[source], items)
            })
            .collect();
        for source in &mut sources {
            for item in &mut source.queue {
                *item = *item | Bits::from(random.gen_range(0..1u64 << 14));
            }
        }
        let sent: Vec<Vec<Bits<16>>> = sources
            .iter()
            .map(|source| source.queue.iter().copied().collect())
            .collect();
        let mut sink = Sink::new(self.sink_rate);
        for _ in 0..cycles {
            let uut = &mut bench.uut;
            sources[0].drive(&mut uut.in0, random);
            sources[1].drive(&mut uut.in1, random);
            sources[2].drive(&mut uut.in2, random);
            sources[3].drive(&mut uut.in3, random);
            uut.cost0.next = cost(uut.in0.data.next).into();
            uut.cost1.next = cost(uut.in1.data.next).into();
            uut.cost2.next = cost(uut.in2.data.next).into();
            uut.cost3.next = cost(uut.in3.data.next).into();
            uut.weight0.next = self.weights[0].into();
            uut.weight1.next = self.weights[1].into();
            uut.weight2.next = self.weights[2].into();
            uut.weight3.next = self.weights[3].into();
            sink.drive(&mut uut.output, random);
            bench.settle();
            let uut = &bench.uut;
            sources[0].take(&uut.in0);
            sources[1].take(&uut.in1);
            sources[2].take(&uut.in2);
            sources[3].take(&uut.in3);
            sink.take(&uut.output);
            bench.edge();
        }
        for (index, queue) in sent.iter().enumerate() {
            let mut expected = queue.iter();
            for item in sink
                .received
                .iter()
                .filter(|item| source_of(**item) == index)
            {
                assert_eq!(Some(item), expected.next(), "order of source {index}");
            }
        }
        sink.received
    }
}

fn service(items: &[Bits<16>]) -> [u64; 4] {
    let mut sums = [0; 4];
    for item in items {
        sums[source_of(*item)] += cost(*item);
    }
    sums
}

#[test]
fn items_keep_the_order_of_their_source() {
    let mut random = random();
    for (source_rate, sink_rate) in RATES {
        let run = Run {
            weights: [0, 255, 64, 9],
            source_rates: [source_rate, source_rate / 2.0, source_rate, source_rate],
            sink_rate,
        };
        assert!(run.go(600, &mut random).len() > 100);
    }
}

#[test]
fn busy_sources_share_by_weight() {
    let mut random = random();
    let weights = [201, 101, 51, 151];
    let run = Run {
        weights,
        source_rates: [1.0; 4],
        sink_rate: 1.0,
    };
    let served = run.go(4000, &mut random);
    // One cycle in about 16 begins a round.
    assert!(served.len() > 3600, "{} items", served.len());
    let sums = service(&served);
    let total: u64 = sums.iter().sum();
    for (sum, weight) in sums.iter().zip(weights) {
        let share = *sum as f64 / total as f64;
        let wanted = weight as f64 / weights.iter().sum::<u64>() as f64;
        assert!((share - wanted).abs() < 0.01, "share {share} of {wanted}");
    }
}

#[test]
fn idle_source_leaves_its_share_to_the_others() {
    let mut random = random();
    let run = Run {
        weights: [100, 100, 100, 100],
        source_rates: [1.0, 0.0, 1.0, 0.0],
        sink_rate: 1.0,
    };
    let served = run.go(2000, &mut random);
    assert!(served.len() > 1500, "{} items", served.len());
    let sums = service(&served);
    let difference = sums[0].abs_diff(sums[2]);
    assert!(difference < 400, "{sums:?}");
    assert_eq!((sums[1], sums[3]), (0, 0));
}

/// The source with weight 0 is served nevertheless.
#[test]
fn no_weight_starves_a_source() {
    let mut random = random();
    let run = Run {
        weights: [0, 0, 0, 0],
        source_rates: [1.0; 4],
        sink_rate: 1.0,
    };
    let sums = service(&run.go(3000, &mut random));
    assert!(sums.iter().all(|sum| *sum > 100), "{sums:?}");
}

use crate::bench::{Item, Sink, Source, MAX_CYCLES};
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_rtl::async_fifo::AsyncFifo;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// One run with clock periods in arbitrary units.
struct Run {
    log2_depth: usize,
    reserve: usize,
    wr_period: u64,
    rd_period: u64,
    rates: (f64, f64),
    count: usize,
}

struct Outcome {
    wr_edges: usize,
    rd_edges: usize,
    /// Read edges on which the sink was ready after the first item and nothing came.
    bubbles: usize,
    /// Write edges on which the source was stalled.
    stalls: usize,
}

impl Run {
    fn go(&self, random: &mut ChaCha8Rng) -> Outcome {
        let items: Vec<Bits<24>> = (0..self.count).map(|_| Bits::random(random)).collect();
        let mut uut = Box::new(AsyncFifo::new_with_reserve(self.log2_depth, self.reserve));
        uut.connect_all();
        check_all(uut.as_ref()).expect("the circuit is wired");
        let mut source = Source::new(self.rates.0, items.clone());
        let mut sink = Sink::new(self.rates.1);
        let (mut next_wr, mut next_rd) = (self.wr_period, random.gen_range(1..=self.rd_period));
        let mut outcome = Outcome {
            wr_edges: 0,
            rd_edges: 0,
            bubbles: 0,
            stalls: 0,
        };
        // Items that may follow without a stall, by the promise of `wr_almost_full`.
        let mut promised = 0;
        source.drive(&mut uut.input, random);
        sink.drive(&mut uut.output, random);
        while sink.received.len() < self.count {
            uut.wr_clock.next = false.into();
            uut.rd_clock.next = false.into();
            assert!(simulate(uut.as_mut(), 64));
            let now = next_wr.min(next_rd);
            let (wr, rd) = (next_wr == now, next_rd == now);
            if wr {
                if !uut.wr_almost_full.val() {
                    promised = self.reserve;
                }
                if promised > 0 {
                    assert!(uut.input.ready.val(), "the reserve was not kept");
                }
                if source.take(&uut.input).is_some() {
                    promised = promised.saturating_sub(1);
                } else if uut.input.valid.val() {
                    outcome.stalls += 1;
                }
                outcome.wr_edges += 1;
                next_wr += self.wr_period;
            }
            if rd {
                let item = sink.take(&uut.output);
                if item.is_none() && uut.output.ready.val() && !sink.received.is_empty() {
                    outcome.bubbles += 1;
                }
                outcome.rd_edges += 1;
                assert!(outcome.rd_edges < MAX_CYCLES, "the FIFO hangs");
                next_rd += self.rd_period;
            }
            uut.wr_clock.next = wr.into();
            uut.rd_clock.next = rd.into();
            assert!(simulate(uut.as_mut(), 64));
            if wr {
                source.drive(&mut uut.input, random);
            }
            if rd {
                sink.drive(&mut uut.output, random);
            }
        }
        assert_eq!(sink.received, items);
        outcome
    }
}

#[test]
fn items_cross_in_order_at_any_clock_ratio() {
    let mut random = random();
    // 6 and above are distributed, 7 is block RAM.
    for log2_depth in [3, 5, 7] {
        for (wr_period, rd_period) in [(31, 40), (40, 31), (10, 10), (7, 90), (90, 7)] {
            for rates in [(1.0, 1.0), (0.7, 0.7), (1.0, 0.3)] {
                Run {
                    log2_depth,
                    reserve: 2,
                    wr_period,
                    rd_period,
                    rates,
                    count: 300,
                }
                .go(&mut random);
            }
        }
    }
}

/// Core to MAC (4 ns to 3.103 ns) and back: the slower side runs in every cycle.
#[test]
fn slower_side_is_never_held_up() {
    let mut random = random();
    for log2_depth in [5, 9] {
        let mut run = Run {
            log2_depth,
            reserve: 4,
            wr_period: 4000,
            rd_period: 3103,
            rates: (1.0, 1.0),
            count: 2000,
        };
        let outcome = run.go(&mut random);
        assert_eq!(outcome.stalls, 0);
        assert!(outcome.wr_edges <= 2000 + 16, "{} edges", outcome.wr_edges);
        (run.wr_period, run.rd_period) = (3103, 4000);
        let outcome = run.go(&mut random);
        assert_eq!(outcome.bubbles, 0);
        assert!(outcome.rd_edges <= 2000 + 16, "{} edges", outcome.rd_edges);
    }
}

#[test]
#[should_panic(expected = "a reserve of 4 places in a FIFO of 8")]
fn reserve_must_fit() {
    let _ = AsyncFifo::<Bits<8>>::new_with_reserve(3, 4);
}

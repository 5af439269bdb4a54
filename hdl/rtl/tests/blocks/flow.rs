use crate::bench;
use crate::bench::{Item, Sink, Source};
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::flow_gate::FlowGate;
use ferroce_rtl::in_flight::InFlight;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;
use rand::Rng;

/// Cycles of the free-running part of [`Pipeline`].
const STAGES: usize = 5;

/// A gate, a free-running pipeline and the FIFO at its end.
#[derive(LogicBlock, Default)]
struct Pipeline {
    pub clock: Signal<In, Clock>,
    pub from: StreamIn<Bits<16>>,
    pub to: StreamOut<Bits<16>>,
    /// An item met a FIFO without a place.
    pub lost: Signal<Out, Bit>,
    gate: FlowGate<Bits<16>>,
    data: Delay<Bits<16>>,
    valid: Delay<Bit>,
    fifo: SyncFifo<Bits<16>>,
    overflow: DFF<Bit>,
}

impl Pipeline {
    fn new(reserve: usize) -> Self {
        Self {
            data: Delay::new(STAGES),
            valid: Delay::new(STAGES),
            fifo: SyncFifo::new_with_reserve(4, reserve),
            ..Self::default()
        }
    }
}

impl Logic for Pipeline {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, overflow);
        clock!(self, clock, gate, data, valid, fifo);
        StreamIn::<Bits<16>>::link(&mut self.from, &mut self.gate.input);
        StreamOut::<Bits<16>>::link(&mut self.to, &mut self.fifo.output);
        self.gate.hold.next = self.fifo.almost_full.val();
        self.data.data_in.next = self.gate.data.val();
        self.valid.data_in.next = self.gate.valid.val();
        self.fifo.input.data.next = self.data.data_out.val();
        self.fifo.input.valid.next = self.valid.data_out.val();
        if self.valid.data_out.val() & !self.fifo.input.ready.val() {
            self.overflow.d.next = true;
        }
        self.lost.next = self.overflow.q.val();
    }
}

/// Whether everything arrived.
fn survives(reserve: usize, sink_rate: f64) -> bool {
    let mut random = random();
    let items: Vec<Bits<16>> = (0..600).map(|_| Bits::random(&mut random)).collect();
    let mut bench = bench!(Pipeline::new(reserve));
    let mut source = Source::new(1.0, items.clone());
    let mut sink = Sink::new(0.0);
    for cycle in 0..6000 {
        if cycle == 40 {
            sink.rate = sink_rate;
        }
        source.drive(&mut bench.uut.from, &mut random);
        sink.drive(&mut bench.uut.to, &mut random);
        bench.settle();
        source.take(&bench.uut.from);
        sink.take(&bench.uut.to);
        bench.edge();
    }
    assert_eq!(bench.uut.lost.val(), sink.received != items);
    !bench.uut.lost.val()
}

#[test]
fn documented_reserve_is_needed_and_enough() {
    assert!(survives(STAGES + 2, 0.3));
    assert!(survives(STAGES + 2, 1.0));
    assert!(!survives(STAGES + 1, 0.3));
}

#[test]
fn in_flight_counts_to_its_limit() {
    let mut random = random();
    for limit in [1, 2, 7] {
        let mut bench = bench!(InFlight::new(limit));
        let mut count = 0;
        for _ in 0..1000 {
            bench.uut.start.next = false;
            bench.uut.done.next = count > 0 && random.gen_bool(0.4);
            bench.settle();
            assert_eq!(bench.uut.count.val().index(), count);
            assert_eq!(bench.uut.full.val(), count == limit);
            assert_eq!(bench.uut.idle.val(), count == 0);
            let start = count < limit && random.gen_bool(0.5);
            bench.uut.start.next = start;
            bench.settle();
            count += usize::from(start);
            count -= usize::from(bench.uut.done.val());
            bench.edge();
        }
    }
}

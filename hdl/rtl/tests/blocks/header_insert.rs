use crate::bench;
use crate::bench::{assert_same, bytes, noise, payload_lengths, wire, Item, Sink, Source};
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::flow_gate::FlowGate;
use ferroce_rtl::header::{
    HeaderInsert, InsertJob, InsertPlanner, INSERT_PLAN_LATENCY, MAX_HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
};
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;
use rand::Rng;

/// A header, and the lengths that the planner wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Order {
    hdr: Bits<1016>,
    hdr_len: Bits<7>,
    len: Bits<13>,
    padded_len: Bits<13>,
    src_off: Bits<6>,
}

impl Item for Order {
    fn random(random: &mut impl Rng) -> Self {
        Self {
            hdr: wire(&noise(MAX_HEADER_BYTES, random)),
            hdr_len: Bits::random(random),
            len: Bits::random(random),
            padded_len: Bits::random(random),
            src_off: Bits::random(random),
        }
    }
}

/// The planner beside a header's way, and the block under test.
#[derive(LogicBlock)]
struct Planned {
    pub clock: Signal<In, Clock>,
    pub orders: StreamIn<Order>,
    pub payload: StreamIn<Bits<512>>,
    pub frames: StreamOut<Beat>,
    gate: FlowGate<Order>,
    planner: InsertPlanner,
    hdr: Delay<Bits<1016>>,
    valid: Delay<Bit>,
    jobs: SyncFifo<InsertJob>,
    insert: HeaderInsert,
}

impl Default for Planned {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            orders: StreamIn::default(),
            payload: StreamIn::default(),
            frames: StreamOut::default(),
            gate: FlowGate::default(),
            planner: InsertPlanner::default(),
            hdr: Delay::new(INSERT_PLAN_LATENCY),
            valid: Delay::new(INSERT_PLAN_LATENCY),
            jobs: SyncFifo::new_with_reserve(4, INSERT_PLAN_LATENCY + 2),
            insert: HeaderInsert::default(),
        }
    }
}

impl Logic for Planned {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, gate, planner, hdr, valid, jobs, insert);
        StreamIn::<Order>::link(&mut self.orders, &mut self.gate.input);
        self.gate.hold.next = self.jobs.almost_full.val();
        self.planner.hdr_len.next = self.gate.data.val().hdr_len;
        self.planner.len.next = self.gate.data.val().len;
        self.planner.padded_len.next = self.gate.data.val().padded_len;
        self.planner.src_off.next = self.gate.data.val().src_off;
        self.hdr.data_in.next = self.gate.data.val().hdr;
        self.valid.data_in.next = self.gate.valid.val();
        self.jobs.input.data.next.hdr = self.hdr.data_out.val();
        self.jobs.input.data.next.plan = self.planner.plan.val();
        self.jobs.input.valid.next = self.valid.data_out.val();
        StreamOut::<InsertJob>::join(&mut self.jobs.output, &mut self.insert.jobs);
        StreamIn::<Bits<512>>::link(&mut self.payload, &mut self.insert.payload);
        StreamOut::<Beat>::link(&mut self.frames, &mut self.insert.to);
    }
}

/// What a frame is made of.
#[derive(Clone)]
struct Parts {
    header: Vec<u8>,
    payload: Vec<u8>,
    /// Of the payload in its first beat.
    offset: usize,
    pad: usize,
}

/// Lengths only.
impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let (header, payload) = (self.header.len(), self.payload.len());
        let (offset, pad) = (self.offset, self.pad);
        write!(
            f,
            "header {header}, payload {payload} at {offset}, pad {pad}"
        )
    }
}

impl Parts {
    fn new(header: usize, payload: usize, offset: usize, pad: usize, rng: &mut impl Rng) -> Self {
        Self {
            header: noise(header, rng),
            payload: noise(payload, rng),
            offset,
            pad,
        }
    }

    fn order(&self) -> Order {
        Order {
            hdr: wire(&self.header),
            hdr_len: (self.header.len() as u64).into(),
            len: (self.payload.len() as u64).into(),
            padded_len: ((self.payload.len() + self.pad) as u64).into(),
            src_off: (self.offset as u64).into(),
        }
    }

    /// The payload's beats, with noise around it.
    fn beats(&self, rng: &mut impl Rng) -> Vec<Bits<512>> {
        if self.payload.is_empty() {
            return Vec::new();
        }
        let end = self.offset + self.payload.len();
        let mut bytes = noise(end.next_multiple_of(64), rng);
        bytes[self.offset..end].copy_from_slice(&self.payload);
        bytes.chunks(64).map(wire).collect()
    }

    fn frame(&self) -> Vec<u8> {
        let mut frame = self.header.clone();
        frame.extend(&self.payload);
        frame.resize(frame.len() + self.pad, 0);
        frame
    }

    /// Cycles before the frame's first beat in which none can come: its payload moves down, so that two of its beats
    /// are needed at once.
    fn pause(&self) -> usize {
        usize::from(!self.payload.is_empty() && self.header.len() < self.offset)
    }
}

/// Lets frames through and compares them; returns the cycle of each beat. `rates` are those of headers,
/// payload and sink.
fn run(parts: &[Parts], rates: [f64; 3], rng: &mut impl Rng) -> Vec<usize> {
    let expected: Vec<Vec<u8>> = parts
        .iter()
        .map(Parts::frame)
        .filter(|frame| !frame.is_empty())
        .collect();
    let beats: usize = expected.iter().map(|frame| frame.len().div_ceil(64)).sum();
    let payload: Vec<Bits<512>> = parts.iter().flat_map(|parts| parts.beats(rng)).collect();
    let mut bench = bench!(Planned::default());
    let mut orders = Source::new(rates[0], parts.iter().map(Parts::order));
    let mut payload = Source::new(rates[1], payload);
    let mut sink = Sink::new(rates[2]);
    let mut cycles = Vec::new();
    let mut idle = 0;
    for cycle in 0.. {
        orders.drive(&mut bench.uut.orders, rng);
        payload.drive(&mut bench.uut.payload, rng);
        sink.drive(&mut bench.uut.frames, rng);
        bench.settle();
        orders.take(&bench.uut.orders);
        payload.take(&bench.uut.payload);
        if sink.take(&bench.uut.frames).is_some() {
            cycles.push(cycle);
        }
        bench.edge();
        // Nothing may come after the last frame.
        idle += usize::from(cycles.len() >= beats);
        if idle == 40 {
            break;
        }
    }
    assert!(orders.queue.is_empty() && payload.queue.is_empty());

    let mut frames = vec![Vec::new()];
    for beat in &sink.received {
        let (data, len) = (bytes(&beat.data), beat.len.index());
        assert!(!beat.err);
        assert!((1..=64).contains(&len) && (len == 64 || beat.last));
        assert_eq!(data[len..], vec![0; 64 - len], "after the frame's end");
        let frame = frames.last_mut().expect("one at least");
        frame.extend_from_slice(&data[..len]);
        if beat.last {
            frames.push(Vec::new());
        }
    }
    assert_eq!(frames.pop(), Some(Vec::new()), "a frame without end");
    assert_eq!(frames.len(), expected.len());
    let whole: Vec<&Parts> = parts
        .iter()
        .filter(|parts| !parts.frame().is_empty())
        .collect();
    for ((frame, expected), parts) in frames.iter().zip(&expected).zip(whole) {
        assert_same(frame, expected, parts);
    }
    cycles
}

/// Some probability of an item in a cycle.
fn rate(rng: &mut impl Rng) -> f64 {
    rng.gen_range(0.3..1.0)
}

/// Frames of one header length: payloads of every kind at any offset, with and without pad.
fn frames_with(header: usize, rng: &mut impl Rng) -> Vec<Parts> {
    let lengths = payload_lengths(rng);
    lengths
        .into_iter()
        .map(|len| {
            let pad = if rng.gen() { len.wrapping_neg() % 4 } else { 0 };
            Parts::new(header, len, rng.gen_range(0..64), pad, rng)
        })
        .collect()
}

#[test]
fn every_header_length_under_back_pressure() {
    let mut rng = random();
    for header in 0..=MAX_HEADER_BYTES {
        let parts = frames_with(header, &mut rng);
        let rates = [rate(&mut rng), rate(&mut rng), rate(&mut rng)];
        run(&parts, rates, &mut rng);
    }
}

#[test]
fn every_header_length_at_full_rate() {
    let mut rng = random();
    for header in 0..=MAX_HEADER_BYTES {
        let parts = frames_with(header, &mut rng);
        let cycles = run(&parts, [1.0; 3], &mut rng);
        let mut expected = cycles[0];
        let mut cycles = cycles.into_iter();
        for (index, parts) in parts
            .iter()
            .filter(|parts| !parts.frame().is_empty())
            .enumerate()
        {
            if index > 0 {
                expected += parts.pause();
            }
            for _ in 0..parts.frame().len().div_ceil(64) {
                assert_eq!(cycles.next(), Some(expected), "a bubble before {parts:?}");
                expected += 1;
            }
        }
    }
}

#[test]
fn every_offset_meets_every_kind_of_header() {
    let mut rng = random();
    for header in [0, 1, 31, 54, 63, 64, 65, 74, 126, 127] {
        let parts: Vec<Parts> = (0..64)
            .flat_map(|offset| [1, 2, 63, 64, 65].map(|len| (offset, len)))
            .map(|(offset, len)| Parts::new(header, len, offset, 0, &mut rng))
            .collect();
        run(&parts, [0.9, 0.8, 0.9], &mut rng);
    }
}

#[test]
fn pad_may_take_beats_of_its_own() {
    let mut rng = random();
    let mut parts = Vec::new();
    for (header, len) in [
        (0, 0),
        (0, 1),
        (14, 0),
        (54, 10),
        (60, 4),
        (64, 64),
        (127, 1),
    ] {
        for pad in [0, 1, 3, 60, 64, 130] {
            parts.push(Parts::new(header, len, rng.gen_range(0..64), pad, &mut rng));
        }
    }
    run(&parts, [1.0; 3], &mut rng);
    run(&parts, [0.7, 0.6, 0.5], &mut rng);
}

#[test]
fn longest_frame() {
    let mut rng = random();
    for offset in [0, 63] {
        let parts = Parts::new(MAX_HEADER_BYTES, MAX_PAYLOAD_BYTES - 3, offset, 3, &mut rng);
        run(&[parts], [1.0, 0.9, 0.9], &mut rng);
    }
}

#[test]
fn frames_of_one_beat_come_every_cycle() {
    let mut rng = random();
    let parts: Vec<Parts> = (0..200)
        .map(|index| {
            let header = rng.gen_range(1..=64);
            let len = rng.gen_range(0..=64 - header);
            // Never moved down.
            let offset = if index % 2 == 0 { 0 } else { header.min(63) };
            Parts::new(header, len, offset, 0, &mut rng)
        })
        .collect();
    let cycles = run(&parts, [1.0; 3], &mut rng);
    assert_eq!(cycles.len(), 200);
    assert_eq!(cycles[199] - cycles[0], 199);
}

#[test]
fn orders_without_bytes_give_nothing() {
    let mut rng = random();
    let mut parts = vec![Parts::new(0, 0, 0, 0, &mut rng); 5];
    parts.insert(3, Parts::new(20, 100, 7, 0, &mut rng));
    assert_eq!(run(&parts, [1.0; 3], &mut rng).len(), 2);
    assert_eq!(run(&parts[4..], [1.0; 3], &mut rng), Vec::<usize>::new());
}

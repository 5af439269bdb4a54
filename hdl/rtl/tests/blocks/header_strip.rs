use crate::bench;
use crate::bench::{assert_same, bytes, noise, payload_lengths, wire, Item, Sink, Source};
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::flow_gate::FlowGate;
use ferroce_rtl::header::{
    HeaderStrip, StripJob, StripPlanner, MAX_HEADER_BYTES, MAX_PAYLOAD_BYTES, STRIP_LATENCY,
    STRIP_PLAN_LATENCY,
};
use ferroce_rtl::ram::RAM_LATENCY;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;
use rand::Rng;
use std::collections::VecDeque;

/// Where a frame lies and what is wanted of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Order {
    head: Bits<16>,
    hdr_len: Bits<7>,
    len: Bits<13>,
    offset: Bits<6>,
    emit: Bit,
}

impl Item for Order {
    fn random(random: &mut impl Rng) -> Self {
        Self {
            head: Bits::random(random),
            hdr_len: Bits::random(random),
            len: Bits::random(random),
            offset: Bits::random(random),
            emit: random.gen(),
        }
    }
}

/// A payload beat, and what went along with its step.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Moved {
    data: Bits<512>,
    read: Bits<16>,
    last: Bit,
}

impl Item for Moved {
    fn random(random: &mut impl Rng) -> Self {
        Self {
            data: Bits::random(random),
            read: Bits::random(random),
            last: random.gen(),
        }
    }
}

/// What goes along: the number of the beat read, and the mark of the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Side {
    read: Bits<16>,
    last: Bit,
}

/// The planner, the block under test, and the FIFO behind it with the reserve that is documented.
#[derive(LogicBlock)]
struct Planned {
    pub clock: Signal<In, Clock>,
    pub orders: StreamIn<Order>,
    pub rd_addr: Signal<Out, Bits<16>>,
    pub rd_data: Signal<In, Bits<512>>,
    pub moved: StreamOut<Moved>,
    gate: FlowGate<Order>,
    planner: StripPlanner,
    valid: Delay<Bit>,
    jobs: SyncFifo<StripJob>,
    strip: HeaderStrip<Side>,
    beats: SyncFifo<Moved>,
}

impl Default for Planned {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            orders: StreamIn::default(),
            rd_addr: Signal::default(),
            rd_data: Signal::default(),
            moved: StreamOut::default(),
            gate: FlowGate::default(),
            planner: StripPlanner::default(),
            valid: Delay::new(STRIP_PLAN_LATENCY),
            jobs: SyncFifo::new_with_reserve(4, STRIP_PLAN_LATENCY + 2),
            strip: HeaderStrip::default(),
            beats: SyncFifo::new_with_reserve(4, STRIP_LATENCY + 1),
        }
    }
}

impl Logic for Planned {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, gate, planner, valid, jobs, strip, beats);
        StreamIn::<Order>::link(&mut self.orders, &mut self.gate.input);
        self.gate.hold.next = self.jobs.almost_full.val();
        self.planner.head.next = self.gate.data.val().head;
        self.planner.hdr_len.next = self.gate.data.val().hdr_len;
        self.planner.len.next = self.gate.data.val().len;
        self.planner.offset.next = self.gate.data.val().offset;
        self.planner.emit.next = self.gate.data.val().emit;
        self.valid.data_in.next = self.gate.valid.val();
        self.jobs.input.data.next = self.planner.job.val();
        self.jobs.input.valid.next = self.valid.data_out.val();
        StreamOut::<StripJob>::join(&mut self.jobs.output, &mut self.strip.jobs);

        self.strip.hold.next = self.beats.almost_full.val();
        self.rd_addr.next = self.strip.rd_addr.val();
        self.strip.rd_data.next = self.rd_data.val();
        self.strip.side_in.next.read = self.strip.rd_addr.val();
        self.strip.side_in.next.last = self.strip.step.val().last;
        self.beats.input.data.next.data = self.strip.data_out.val();
        self.beats.input.data.next.read = self.strip.side_out.val().read;
        self.beats.input.data.next.last = self.strip.side_out.val().last;
        self.beats.input.valid.next = self.strip.valid_out.val();
        StreamOut::<Moved>::link(&mut self.moved, &mut self.beats.output);
    }
}

/// A frame, and where its payload is to go.
#[derive(Clone)]
struct Frame {
    bytes: Vec<u8>,
    header: usize,
    len: usize,
    /// Wanted place in the first payload beat.
    offset: usize,
    emit: bool,
}

/// Lengths only.
impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let (header, len, offset) = (self.header, self.len, self.offset);
        write!(
            f,
            "header {header}, payload {len} to {offset}, emit {}",
            self.emit
        )
    }
}

impl Frame {
    /// With a trailer of any length.
    fn new(header: usize, len: usize, offset: usize, rng: &mut impl Rng) -> Self {
        // A frame without bytes has no place.
        let trailer = rng.gen_range(1..80);
        Self {
            bytes: noise(header + len + trailer, rng),
            header,
            len,
            offset,
            emit: true,
        }
    }

    fn beats(&self) -> usize {
        self.bytes.len().div_ceil(64)
    }

    /// Payload beats; a job without payload has one without any of it.
    fn moved_beats(&self) -> usize {
        match self.len {
            0 => 1,
            len => (self.offset + len).div_ceil(64),
        }
    }

    /// Whether a frame beat must be read before the first payload beat can come.
    fn prime(&self) -> usize {
        usize::from(self.len > 0 && self.offset < self.header % 64)
    }
}

/// Takes the payload out of frames that lie one after the other in a ring of beats from number `base` on, and
/// compares; returns the cycle of each payload beat.
fn run(frames: &[Frame], base: u16, rates: [f64; 2], rng: &mut impl Rng) -> Vec<usize> {
    let mut memory: Vec<Bits<512>> = Vec::new();
    let mut orders = Vec::new();
    for frame in frames {
        orders.push(Order {
            head: u64::from(base.wrapping_add(memory.len() as u16)).into(),
            hdr_len: (frame.header as u64).into(),
            len: (frame.len as u64).into(),
            offset: (frame.offset as u64).into(),
            emit: frame.emit,
        });
        memory.extend(frame.bytes.chunks(64).map(|beat| {
            let mut beat = beat.to_vec();
            beat.extend(noise(64 - beat.len(), rng));
            wire::<512>(&beat)
        }));
    }
    let wanted: usize = frames
        .iter()
        .filter(|frame| frame.emit)
        .map(Frame::moved_beats)
        .sum();

    let mut bench = bench!(Planned::default());
    let mut source = Source::new(rates[0], orders);
    let mut sink = Sink::new(rates[1]);
    let mut reads: VecDeque<Bits<512>> = vec![Bits::default(); RAM_LATENCY].into();
    let mut cycles = Vec::new();
    let mut idle = 0;
    for cycle in 0.. {
        source.drive(&mut bench.uut.orders, rng);
        sink.drive(&mut bench.uut.moved, rng);
        bench.uut.rd_data.next = reads.pop_front().expect("reads under way");
        bench.settle();
        source.take(&bench.uut.orders);
        if sink.take(&bench.uut.moved).is_some() {
            cycles.push(cycle);
        }
        let place = (bench.uut.rd_addr.val().index() as u16).wrapping_sub(base);
        let beat = memory.get(usize::from(place)).copied();
        reads.push_back(beat.unwrap_or_else(|| wire(&noise(64, rng))));
        bench.edge();
        // Nothing may come after the last payload, and all jobs must be taken.
        idle += usize::from(cycles.len() >= wanted && source.queue.is_empty());
        if idle == 60 {
            break;
        }
    }

    let mut head = base;
    let mut received = sink.received.iter();
    for frame in frames {
        let start = head.wrapping_add((frame.header / 64) as u16);
        head = head.wrapping_add(frame.beats() as u16);
        if !frame.emit {
            continue;
        }
        let mut payload = Vec::new();
        for beat in 0..frame.moved_beats() {
            let moved = received.next().expect("a beat is missing");
            payload.extend(bytes(&moved.data));
            let read = start.wrapping_add((beat + frame.prime()) as u16);
            assert_eq!(moved.read.index(), usize::from(read), "side of {frame:?}");
            assert_eq!(moved.last, beat + 1 == frame.moved_beats(), "{frame:?}");
        }
        assert_same(
            &payload[frame.offset..frame.offset + frame.len],
            &frame.bytes[frame.header..frame.header + frame.len],
            frame,
        );
    }
    assert_eq!(received.next(), None);
    cycles
}

/// Some probability of an item in a cycle.
fn rate(rng: &mut impl Rng) -> f64 {
    rng.gen_range(0.3..1.0)
}

fn frames_with(header: usize, rng: &mut impl Rng) -> Vec<Frame> {
    let lengths = payload_lengths(rng);
    lengths
        .into_iter()
        .map(|len| Frame::new(header, len, rng.gen_range(0..64), rng))
        .collect()
}

#[test]
fn every_header_length_under_back_pressure() {
    let mut rng = random();
    for header in 0..=MAX_HEADER_BYTES {
        let frames = frames_with(header, &mut rng);
        let rates = [rate(&mut rng), rate(&mut rng)];
        run(&frames, rng.gen(), rates, &mut rng);
    }
}

#[test]
fn every_header_length_at_full_rate() {
    let mut rng = random();
    for header in 0..=MAX_HEADER_BYTES {
        let mut frames = frames_with(header, &mut rng);
        // Frames that are removed without a beat in between.
        for _ in 0..2 {
            let mut silent = Frame::new(header, rng.gen_range(0..200), 0, &mut rng);
            silent.emit = false;
            frames.insert(rng.gen_range(1..frames.len()), silent);
        }
        let cycles = run(&frames, rng.gen(), [1.0; 2], &mut rng);
        let mut expected = cycles[0] - frames[0].prime();
        let mut cycles = cycles.into_iter();
        for frame in &frames {
            expected += frame.prime();
            for _ in 0..frame.moved_beats() {
                if frame.emit {
                    assert_eq!(cycles.next(), Some(expected), "a bubble before {frame:?}");
                }
                expected += 1;
            }
        }
    }
}

#[test]
fn every_offset_meets_every_kind_of_header() {
    let mut rng = random();
    for header in [0, 1, 31, 54, 63, 64, 65, 74, 126, 127] {
        let frames: Vec<Frame> = (0..64)
            .flat_map(|offset| [0, 1, 2, 63, 64, 65].map(|len| (offset, len)))
            .map(|(offset, len)| Frame::new(header, len, offset, &mut rng))
            .collect();
        run(&frames, rng.gen(), [0.9, 0.9], &mut rng);
    }
}

#[test]
fn longest_frame() {
    let mut rng = random();
    for (header, offset) in [(0, 63), (MAX_HEADER_BYTES, 62), (MAX_HEADER_BYTES, 0)] {
        let frame = Frame::new(header, MAX_PAYLOAD_BYTES, offset, &mut rng);
        run(&[frame], u16::MAX - 60, [1.0, 0.9], &mut rng);
    }
}

#[test]
fn removing_takes_one_cycle_a_frame() {
    let mut rng = random();
    let silent = |rng: &mut _| {
        let mut frame = Frame::new(54, 0, 0, rng);
        frame.emit = false;
        frame
    };
    let mut frames: Vec<Frame> = (0..100).map(|_| silent(&mut rng)).collect();
    for place in [0, 101] {
        frames.insert(place, Frame::new(54, 10, 54, &mut rng));
    }
    let cycles = run(&frames, 7, [1.0; 2], &mut rng);
    assert_eq!(cycles[1] - cycles[0], 101);
}

//! The transmit side, Verilated, in a world of models: every frame is compared with one built in plain software.

mod failed_reads;
mod host;
mod peer;
mod queue;
mod rates;
mod source;
mod world;

use ferroce_abi::limits::Pmtu;
use ferroce_abi::wqe::{flags, WrOpcode};
use ferroce_emit::harness::random;
use host::Timing;
use peer::{Connection, Message};
use rand::seq::SliceRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use world::{Knobs, World, SMOOTH};

const OPCODES: [WrOpcode; 4] = [
    WrOpcode::RdmaWrite,
    WrOpcode::RdmaWriteWithImm,
    WrOpcode::Send,
    WrOpcode::SendWithImm,
];

const JOBS: [WrOpcode; 3] = [
    WrOpcode::RdmaRead,
    WrOpcode::AtomicCmpAndSwp,
    WrOpcode::AtomicFetchAndAdd,
];

/// A host that answers in order after 900 ns.
pub const ORDERLY: Timing = Timing {
    latency: 225,
    jitter: 0,
    rate: 100,
    shuffled: false,
};

/// A host that answers whenever it likes.
const WILD: Timing = Timing {
    latency: 5,
    jitter: 400,
    rate: 80,
    shuffled: true,
};

pub fn message(rng: &mut ChaCha8Rng, len: u32, offset: u64) -> Message {
    Message {
        opcode: *OPCODES.choose(rng).expect("some"),
        flags: rng.gen::<u8>() & (flags::SIGNALED | flags::SOLICITED),
        imm: rng.gen(),
        va: rng.gen(),
        rkey: rng.gen(),
        len,
        addr: rng.gen::<u64>() >> 2 & !63 | offset,
    }
}

/// Every class of length for a path MTU.
fn lengths(pmtu: Pmtu) -> Vec<u32> {
    let size = pmtu.bytes();
    vec![
        0,
        1,
        2,
        3,
        4,
        5,
        9,
        10,
        11,
        63,
        64,
        65,
        127,
        128,
        129,
        size - 1,
        size,
        size + 1,
        2 * size - 1,
        2 * size,
        2 * size + 3,
        3 * size + 17,
    ]
}

pub fn connections(rng: &mut ChaCha8Rng, pmtus: &[Pmtu]) -> Vec<Connection> {
    let connect = |(qp, &pmtu)| Connection::example(qp, pmtu, rng.gen::<u32>() >> 8);
    pmtus.iter().enumerate().map(connect).collect()
}

/// Messages of all kinds for every QP; every third one starts close to the end of a page.
fn post_random(world: &mut World, count: usize, longest: u32) {
    for qp in 0..world.queues.len() {
        for k in 0..count {
            let len = match k % 4 {
                0 => world.rng.gen_range(0..200),
                1 => world.queues[qp].conn.pmtu.bytes() - 3 + world.rng.gen_range(0..6),
                _ => world.rng.gen_range(0..longest),
            };
            let offset = world.rng.gen_range(0..64);
            let mut message = message(&mut world.rng, len, offset);
            if k % 3 == 0 {
                message.addr |= 4096 - 64;
            }
            world.queues[qp].post(message);
        }
    }
}

#[test]
fn every_length_at_every_alignment() {
    let mut rng = random();
    let conns = connections(&mut rng, &Pmtu::ALL);
    let mut world = World::new(rng, SMOOTH, ORDERLY, &conns);
    for (qp, conn) in conns.iter().enumerate() {
        for offset in 0..64 {
            for len in lengths(conn.pmtu) {
                let message = message(&mut world.rng, len, offset);
                world.queues[qp].post(message);
            }
        }
    }
    world.run(3_000_000);
    assert!(world.errors.is_empty());
}

/// Slow and irregular surroundings.
const ROUGH: Knobs = Knobs {
    mac: 70,
    others: 60,
    ack: (20, 1500),
    fetch: 3,
    ack_loss: 0,
    time_out: u64::MAX,
};

#[test]
fn rough_surroundings_change_nothing() {
    let mut rng = random();
    let mut conns = connections(&mut rng, &[Pmtu::ALL.as_slice(), &Pmtu::ALL].concat());
    for conn in &mut conns {
        // All PSNs wrap on the way.
        conn.first_psn = 0xFF_FFFF - conn.first_psn % 64;
    }
    let mut world = World::new(rng, ROUGH, WILD, &conns);
    post_random(&mut world, 60, 20_000);
    world.run(3_000_000);
    assert!(world.errors.is_empty());
    assert!(world.host.most_outstanding > 32);
}

#[test]
fn answers_overtake_requests() {
    let mut rng = random();
    let conns = connections(&mut rng, &[Pmtu::B4096, Pmtu::B1024, Pmtu::B256]);
    let mut world = World::new(rng, ROUGH, WILD, &conns);
    post_random(&mut world, 60, 20_000);
    let start = world.frames;
    let mut answers = 0;
    while !world.all_done() {
        if world.rng.gen_range(0..20) == 0 && answers < 3000 {
            let qp = world.rng.gen_range(0..conns.len());
            let syndrome = *[0x1F, 0x60, 0x61, 0x62, 0x63, 0x2A]
                .choose(&mut world.rng)
                .expect("some");
            let (psn, msn) = (world.rng.gen::<u32>() >> 8, world.rng.gen::<u32>() >> 8);
            world.answer(qp, psn, syndrome, msn);
            answers += 1;
        }
        world.cycle();
        assert!(world.sim.cycle < 3_000_000);
    }
    assert!(answers > 500);
    let requests: u64 = world.queues.iter().map(|queue| queue.frames).sum();
    assert_eq!(world.frames - start, requests + answers);
}

#[test]
fn answers_do_not_wait_for_the_host() {
    let mut rng = random();
    let conns = connections(&mut rng, &[Pmtu::B4096]);
    let slow = Timing {
        latency: 10_000,
        ..ORDERLY
    };
    let mut world = World::new(rng, SMOOTH, slow, &conns);
    for _ in 0..20 {
        let message = message(&mut world.rng, 5000, 0);
        world.queues[0].post(message);
    }
    while world.host.most_outstanding < 10 {
        world.cycle();
    }
    for psn in 0..100 {
        world.answer(0, psn, 0x1F, psn);
        let limit = world.sim.cycle + 60;
        while !world.expected_acks.is_empty() {
            world.cycle();
            assert!(world.sim.cycle < limit, "the answer waits");
        }
    }
    assert_eq!(world.queues[0].frames, 0);
    world.run(1_000_000);
}

#[test]
fn a_flood_of_answers_lets_requests_through() {
    let mut rng = random();
    let conns = connections(&mut rng, &[Pmtu::B4096]);
    let mut world = World::new(rng, SMOOTH, ORDERLY, &conns);
    post_random(&mut world, 40, 20_000);
    for k in 0..200_000 {
        if world.queues[0].done() {
            assert!(k > 1000);
            return;
        }
        if world.expected_acks.len() < 64 {
            world.answer(0, k & 0xFF_FFFF, 0x1F, k & 0xFF_FFFF);
        }
        world.cycle();
    }
    panic!("requests starve");
}

#[test]
fn the_sender_goes_back_to_any_packet() {
    let mut rng = random();
    let mut conns = connections(&mut rng, &[Pmtu::ALL.as_slice(), &Pmtu::ALL].concat());
    conns[2].first_psn = 0xFF_FFC0;
    let knobs = Knobs {
        ack: (50, 3000),
        fetch: 20,
        ack_loss: 4,
        time_out: 12_000,
        ..ROUGH
    };
    let mut world = World::new(rng, knobs, WILD, &conns);
    post_random(&mut world, 150, 12_000);
    let mut rewinds = 0;
    while !world.all_done() {
        let qp = world.rng.gen_range(0..conns.len());
        let queue = &world.queues[qp];
        let (una, next) = (queue.una, queue.next_frame);
        if world.rng.gen_range(0..40) == 0 && queue.rewinds.is_empty() && una < next {
            let packet = world.rng.gen_range(una..next);
            world.rewind(qp, packet, false);
            rewinds += 1;
        }
        world.cycle();
        assert!(
            world.sim.cycle < 6_000_000,
            "not done after {rewinds} rewinds:{}",
            world.state()
        );
    }
    let skips: u64 = world.queues.iter().map(|queue| queue.skips).sum();
    println!("{rewinds} rewinds, {skips} times all was acknowledged before it was sent again");
    assert!(rewinds > 50, "only {rewinds} rewinds");
    assert!(world.errors.is_empty());
}

/// READs, atomics and fenced messages among others, each READ taking the PSNs of its answer, and sent again from any of these.
#[test]
fn reads_and_atomics_take_turns_with_the_rest() {
    let mut rng = random();
    let mut conns = connections(&mut rng, &[Pmtu::ALL.as_slice(), &Pmtu::ALL].concat());
    for (qp, conn) in conns.iter_mut().enumerate() {
        conn.max_reads = [1, 2, 3, 16][qp % 4];
        conn.first_psn = 0xFF_FFFF - conn.first_psn % 64;
    }
    let knobs = Knobs {
        ack: (50, 3000),
        fetch: 20,
        ack_loss: 4,
        time_out: 12_000,
        ..ROUGH
    };
    let mut world = World::new(rng, knobs, WILD, &conns);
    for qp in 0..conns.len() {
        for _ in 0..100 {
            let (len, offset) = (world.rng.gen_range(0..12_000), world.rng.gen_range(0..64));
            let mut message = message(&mut world.rng, len, offset);
            if world.rng.gen() {
                message.opcode = *JOBS.choose(&mut world.rng).expect("some");
            }
            if message.opcode.is_atomic() {
                message.len = 8;
            }
            if world.rng.gen_bool(0.2) {
                message.flags |= flags::FENCE;
            }
            world.queues[qp].post(message);
        }
    }
    while !world.all_done() {
        let qp = world.rng.gen_range(0..conns.len());
        let queue = &world.queues[qp];
        let (una, next) = (queue.una, queue.next_frame);
        if world.rng.gen_range(0..200) == 0 && queue.rewinds.is_empty() && una < next {
            let packet = world.rng.gen_range(una..next);
            world.rewind(qp, packet, false);
        }
        world.cycle();
        assert!(world.sim.cycle < 6_000_000, "not done:{}", world.state());
    }
    assert!(world.errors.is_empty());
}

#[test]
fn a_halted_queue_is_silent_until_resumed() {
    let mut rng = random();
    let conns = connections(&mut rng, &[Pmtu::B1024, Pmtu::B1024]);
    let mut world = World::new(rng, SMOOTH, ORDERLY, &conns);
    post_random(&mut world, 60, 12_000);
    while world.queues[0].next_frame < 20 {
        world.cycle();
    }
    let una = world.queues[0].una;
    world.rewind(0, una, true);
    // Everything that was under way comes out.
    for _ in 0..2000 {
        world.cycle();
    }
    assert!(world.rewinds_taken());
    let frames = world.queues[0].frames;
    let other = world.queues[1].frames;
    for _ in 0..5000 {
        world.cycle();
    }
    assert_eq!(world.queues[0].frames, frames);
    assert!(world.queues[1].frames > other);
    let una = world.queues[0].una;
    world.rewind(0, una, false);
    world.run(1_000_000);
}

#[test]
fn no_more_messages_than_the_table_holds() {
    let mut rng = random();
    let conns = connections(&mut rng, &[Pmtu::B256]);
    let mut world = World::new(rng, SMOOTH, ORDERLY, &conns);
    post_random(&mut world, 40, 600);
    world.mute = true;
    for _ in 0..10_000 {
        world.cycle();
    }
    assert_eq!(world.queues[0].begun, 1 << world::LOG2_MESSAGES);
    world.mute = false;
    world.run(1_000_000);
}

#[test]
fn bad_work_requests_halt_their_queue_only() {
    let faults: [(queue::Spoil, u64); 8] = [
        (|wqe| wqe.lkey = wqe.lkey + 1, 4),
        (|wqe| wqe.addr = wqe.addr | 1 << 63, 4),
        (|wqe| wqe.sges = 2.into(), 2),
        (|wqe| wqe.opcode = 7.into(), 2),
        (|wqe| wqe.opcode = 0x82.into(), 2),
        (|wqe| wqe.flags = wqe.flags | u64::from(flags::INLINE), 2),
        (|wqe| wqe.sge_len = wqe.sge_len + 1, 1),
        (
            |wqe| {
                wqe.len = 0x8000_0001.into();
                wqe.sge_len = wqe.len;
            },
            1,
        ),
    ];
    let mut rng = random();
    let conns = connections(&mut rng, &[Pmtu::B1024; 9]);
    let mut world = World::new(rng, SMOOTH, ORDERLY, &conns);
    for qp in 0..conns.len() {
        for _ in 0..30 {
            let len = world.rng.gen_range(1..3000);
            let message = message(&mut world.rng, len, 7);
            world.queues[qp].post(message);
        }
    }
    for (qp, &(fault, _)) in faults.iter().enumerate() {
        world.queues[qp].fault = Some((qp + 5, fault));
    }
    while !world.queues[faults.len()].done() || world.errors.len() < faults.len() {
        world.cycle();
        assert!(world.sim.cycle < 200_000, "errors: {:?}", world.errors);
    }
    for _ in 0..3000 {
        world.cycle();
    }
    assert_eq!(world.errors.len(), faults.len(), "{:?}", world.errors);
    for error in &world.errors {
        let qp = error.qp.index();
        assert_eq!(error.wqe.index(), qp + 5);
        assert_eq!(error.status.to_u64(), faults[qp].1, "QP {qp}");
        assert_eq!(world.queues[qp].begun, qp + 5);
        assert_eq!(world.queues[qp].una_message(), qp + 5);
    }
}

#[test]
fn a_queue_starts_anew_when_it_is_configured() {
    let mut rng = random();
    let conns = connections(&mut rng, &[Pmtu::B256, Pmtu::B1024]);
    let mut world = World::new(rng, SMOOTH, ORDERLY, &conns);
    post_random(&mut world, 20, 5000);
    world.run(200_000);
    for _ in 0..1000 {
        world.cycle();
    }
    let again = Connection::example(0, Pmtu::B2048, 0xFF_FFFA);
    world.queues[0] = queue::Queue::new(0, again);
    world.configure(0);
    for _ in 0..300 {
        world.cycle();
    }
    post_random(&mut world, 20, 5000);
    world.run(200_000);
}

//! Payload that the host doesn't give.

use crate::host::Timing;
use crate::peer::Connection;
use crate::world::{World, SMOOTH};
use crate::{connections, message, post_random, queue, WILD};
use ferroce_abi::limits::Pmtu;
use ferroce_emit::harness::random;

/// Posts a message of three pages to a QP, of which the second one can't be read.
fn post_unreadable(world: &mut World, qp: usize, offset: u64) {
    let mut message = message(&mut world.rng, 3 * 4096, 0);
    message.addr = 0x7000_0000_0000 | (qp as u64) << 32 | offset;
    world.host.bad_pages.insert((message.addr >> 12) + 1);
    world.queues[qp].post(message);
}

#[test]
fn unreadable_payload_is_reported_and_ends_the_queue_there() {
    let mut rng = random();
    let conns = connections(
        &mut rng,
        &[Pmtu::B4096, Pmtu::B4096, Pmtu::B1024, Pmtu::B256],
    );
    let mut world = World::new(rng, SMOOTH, WILD, &conns);
    post_random(&mut world, 20, 12_000);
    // The packet that fails: the first one at an offset crosses the border to the second page.
    let fails = [(100, 0), (0, 1), (0, 4)];
    for (qp, &(offset, _)) in fails.iter().enumerate() {
        post_unreadable(&mut world, qp, offset);
    }
    post_random(&mut world, 5, 12_000);
    while world.errors.len() < fails.len() || !world.queues[3].done() {
        world.cycle();
        assert!(world.sim.cycle < 200_000, "errors: {:?}", world.errors);
    }
    for _ in 0..3000 {
        world.cycle();
    }
    for (qp, &(_, packet)) in fails.iter().enumerate() {
        let errors = world.errors.iter().filter(|e| e.qp.index() == qp);
        let reports: Vec<_> = errors.map(|e| (e.wqe.index(), e.status.to_u64())).collect();
        assert_eq!(reports, [(20, 2)], "QP {qp}");
        assert_eq!(
            world.queues[qp].place(world.queues[qp].highest),
            (20, packet)
        );
        assert!(world.fetch_errors.contains(&qp));
    }
    assert!(!world.fetch_errors.contains(&3));
    // A rewind tries it again, and all that was thrown away behind it is sent.
    world.host.bad_pages.clear();
    for qp in 0..fails.len() {
        let una = world.queues[qp].una;
        world.rewind(qp, una, false);
    }
    world.run(200_000);
    assert_eq!(world.errors.len(), fails.len());
}

/// Payloads of the life before arrive, or fail, when the queue has begun anew.
#[test]
fn a_former_life_sends_and_reports_nothing() {
    let mut rng = random();
    let conns = connections(&mut rng, &[Pmtu::B256, Pmtu::B1024]);
    let slow = Timing {
        latency: 5000,
        ..WILD
    };
    let mut world = World::new(rng, SMOOTH, slow, &conns);
    post_unreadable(&mut world, 0, 0);
    post_random(&mut world, 1, 5000);
    // All is on its way to the gate, and nothing has been answered.
    for _ in 0..2000 {
        world.cycle();
    }
    assert!(world.frames == 0 && world.host.most_outstanding > 10);
    let again = Connection::example(0, Pmtu::B2048, 0xFF_FFFA);
    world.queues[0] = queue::Queue::new(0, again);
    world.configure(0);
    for _ in 0..300 {
        world.cycle();
    }
    post_random(&mut world, 20, 5000);
    world.run(400_000);
    assert!(world.errors.is_empty() && world.fetch_errors.is_empty());
}

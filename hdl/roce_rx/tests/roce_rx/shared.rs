//! QPs that share a receive queue.

use crate::packet::{Packet, ACK};
use crate::responder::*;
use crate::world::{responder, World, QPS, SMOOTH};
use ferroce_abi::cfg::ResponderCfg;
use ferroce_abi::cqe::Status;
use ferroce_abi::opcode::rc;
use ferroce_emit::harness::random;

/// Receive queue of the second SRQ, which all QPs use.
const QUEUE: usize = QPS + 1;

fn shared(qp: usize) -> ResponderCfg {
    ResponderCfg {
        shared: true,
        srq: 1,
        ..responder(qp, start_psn(qp))
    }
}

fn ready_shared(requests: usize) -> World {
    let mut world = ready(random(), SMOOTH);
    for qp in 0..QPS {
        world.configure_responder(qp, &shared(qp));
    }
    for k in 0..requests {
        world.post_receive(QUEUE, buffer(0x10000 + 0x100 * (k as u64 % 64), 2048));
    }
    world.settle();
    world.consumed.clear();
    world
}

fn of(qp: usize, opcode: u8, offset: u32, len: usize) -> Packet {
    Packet {
        qpn: qp as u32,
        psn: start_psn(qp) + offset,
        ..packet(opcode, offset, len)
    }
}

/// Packets of different QPs and of the same one, as close as they come.
#[test]
fn every_message_gets_a_request_of_its_own() {
    let mut world = ready_shared(400);
    let mut order = Vec::new();
    for round in 0..20 {
        for qp in 0..QPS {
            order.push((qp, 2 * round));
            if (qp + round as usize) % 3 == 0 {
                order.push((qp, 2 * round + 1));
            }
        }
    }
    let mut next = [0; QPS];
    let mut sent = Vec::new();
    for (qp, _) in order {
        world.send_frame(&of(qp, rc::SEND_ONLY, next[qp], 8).frame(), false);
        sent.push((qp as u16, start_psn(qp) + next[qp], ACK, next[qp] + 1));
        next[qp] += 1;
    }
    world.settle();
    assert_eq!(world.take_acks(), sent);
    let got: Vec<_> = world.take_rx_cqes().iter().map(|c| (c.qp, c.wqe)).collect();
    let expected: Vec<_> = sent.iter().zip(0..).map(|(s, k)| (s.0, k)).collect();
    assert_eq!(got, expected);
    let positions: Vec<_> = (1..=sent.len() as u16).map(|k| (QUEUE as u16, k)).collect();
    assert_eq!(world.consumed, positions);
}

/// The queue's position survives what happens to its QPs, and its own configuration resets it.
#[test]
fn a_restarted_qp_flushes_the_request_that_it_holds() {
    let mut world = ready_shared(4);
    send(
        &mut world,
        &[of(0, rc::SEND_FIRST, 0, MTU), of(1, rc::SEND_FIRST, 0, MTU)],
    );
    world.take_acks();
    let mut stop = shared(0);
    (stop.enabled, stop.restart, stop.restart_rq) = (false, false, false);
    world.configure_responder(0, &stop);
    world.configure_responder(1, &shared(1));
    world.settle();
    let flushed: Vec<_> = world
        .take_rx_cqes()
        .iter()
        .map(|c| (c.cq, c.qp, c.wqe, c.status))
        .collect();
    let flush = Status::WrFlush as u8;
    assert_eq!(flushed, [(1, 0, 0, flush), (2, 1, 1, flush)]);
    // One was stopped, the other began anew.
    assert_eq!(world.last_wqes, [(0, 1)]);
    // Nothing is flushed twice.
    world.configure_responder(0, &shared(0));
    world.settle();
    assert_eq!(world.take_rx_cqes(), []);
    send(&mut world, &[of(0, rc::SEND_ONLY, 0, 4)]);
    assert_eq!(world.take_rx_cqes()[0].wqe, 2);
    world.clear_receives(QUEUE);
    world.configure(ferroce_rtl::desc::cfg::table::SRQ, 1, [1, 0, 0, 0]);
    world.settle();
    world.post_receive(QUEUE, buffer(0x10000, 64));
    send(&mut world, &[of(1, rc::SEND_ONLY, 0, 4)]);
    assert_eq!(world.take_rx_cqes()[0].wqe, 0);
}

/// The rest of what a failed QP's peer has sent takes requests while it is in the pipeline; each of them comes back.
#[test]
fn requests_taken_for_nothing_come_back() {
    let mut world = ready_shared(100);
    world.buffers[QUEUE][0].len = 4;
    for offset in 0..40 {
        world.send_frame(&of(3, rc::SEND_ONLY, offset, 8).frame(), false);
    }
    world.settle();
    let got: Vec<_> = world
        .take_rx_cqes()
        .iter()
        .map(|c| (c.wqe, c.status))
        .collect();
    assert_eq!(got[0], (0, Status::LocLen as u8));
    for (k, &(wqe, status)) in got.iter().enumerate().skip(1) {
        assert_eq!((wqe, status), (k as u16, Status::WrFlush as u8));
    }
    assert_eq!(world.consumed.len(), got.len());
    assert!(got.len() < 30, "{} were spent", got.len());
    send(&mut world, &[of(4, rc::SEND_ONLY, 0, 8)]);
    assert_eq!(world.take_rx_cqes()[0].wqe as usize, got.len());
}

/// Each QP that is stopped says so once, behind its completions: those of requests, and of what it holds.
#[test]
fn the_last_request_is_marked_behind_all_others() {
    let mut world = ready_shared(200);
    let mut taken = [0; QPS];
    for round in 0..12 {
        for (qp, taken) in taken.iter_mut().enumerate() {
            let part = if round == 11 && qp % 2 == 0 {
                of(qp, rc::SEND_FIRST, round, MTU)
            } else {
                of(qp, rc::SEND_ONLY, round, 8)
            };
            world.send_frame(&part.frame(), false);
            *taken += 1;
        }
    }
    // While the packets are on their way; twice, of which one counts.
    for qp in (0..QPS).chain(0..QPS) {
        let mut stop = shared(qp);
        (stop.enabled, stop.restart, stop.restart_rq) = (false, false, false);
        world.configure_responder(qp, &stop);
    }
    world.settle();
    let cqes = world.take_rx_cqes();
    assert_eq!(world.last_wqes.len(), QPS, "{:?}", world.last_wqes);
    for &(qp, before) in &world.last_wqes {
        let of_qp = |cqe: &&crate::world::Cqe| cqe.qp == qp;
        let all = cqes.iter().filter(of_qp).count();
        assert_eq!(cqes[..before].iter().filter(of_qp).count(), all, "QP {qp}");
        assert!(all <= taken[usize::from(qp)]);
    }
    assert_eq!(world.consumed.len(), cqes.len(), "each has its CQE");
    // A QP that takes nothing from an SRQ says nothing, nor does one that begins anew.
    world.last_wqes.clear();
    let mut own = responder(0, start_psn(0));
    world.configure_responder(0, &own);
    (own.enabled, own.restart) = (false, false);
    world.configure_responder(0, &own);
    world.configure_responder(1, &shared(1));
    world.settle();
    assert_eq!(world.last_wqes, []);
}

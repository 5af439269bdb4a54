//! Polling, failing, flushing and resetting.

mod card;

use card::{connect, cqe, failed, Bench};
use ferroce_abi::cqe::{flags, Cqe, OPCODE};
use ferroce_abi::mailbox::Command;
use ferroce_abi::regs::CqDoorbell;
use ferroce_driver::{Error, QpState, RecvWr, Remote, SendWr, Status, WcOpcode};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::VecDeque;

fn wr_ids(bench: &Bench) -> Vec<(u64, Status)> {
    let done = bench.cq.poll(100).unwrap();
    done.iter().map(|c| (c.wr_id, c.status)).collect()
}

#[test]
fn completions_carry_what_the_card_wrote() {
    let bench = Bench::connected(8);
    let qpn = bench.qp.qpn();
    for id in 0..3 {
        bench.qp.post_recv(RecvWr::new(id, [])).unwrap();
    }
    assert_eq!(bench.cq.poll(16).unwrap(), []);
    assert!(bench.card.state().cq_doorbells.is_empty());
    let imm = Cqe {
        flags: flags::WITH_IMM | flags::SOLICITED,
        imm: [1, 2, 3, 4],
        byte_len: 77,
        ..cqe(WcOpcode::RecvRdmaWithImm, qpn, 0)
    };
    bench.card.write_cqe(0, imm);
    bench.card.write_cqe(
        0,
        Cqe {
            flags: flags::WITH_INV,
            imm: [9, 9, 9, 9],
            ..cqe(WcOpcode::Recv, qpn, 1)
        },
    );
    bench.card.write_cqe(0, cqe(WcOpcode::Recv, qpn, 2));
    let done = bench.cq.poll(2).unwrap();
    assert_eq!(done[0].opcode, WcOpcode::RecvRdmaWithImm);
    assert_eq!(
        (done[0].imm, done[0].invalidated),
        (Some(0x0102_0304), None)
    );
    assert_eq!((done[0].byte_len, done[0].solicited), (77, true));
    assert_eq!(
        (done[1].imm, done[1].invalidated),
        (None, Some(0x0909_0909))
    );
    assert!(!done[1].solicited);
    assert_eq!(
        bench.card.state().cq_doorbells,
        [CqDoorbell {
            cqn: 0,
            consumer: 2
        }]
    );
    let done = bench.cq.poll(2).unwrap();
    assert_eq!(
        (done.len(), done[0].wr_id, done[0].ok()),
        (1, 2, Ok(done[0]))
    );
}

#[test]
fn a_failed_request_moves_the_qp_to_err_and_flushes() {
    let bench = Bench::connected(8);
    let (qp, qpn) = (&bench.qp, bench.qp.qpn());
    let remote = Remote { addr: 0, rkey: 0 };
    for id in 0..4 {
        qp.post_send(SendWr::write(id, [], remote).unsignaled())
            .unwrap();
    }
    qp.post_recv_list(&[RecvWr::new(100, []), RecvWr::new(101, [])])
        .unwrap();
    bench
        .card
        .write_cqe(0, failed(WcOpcode::Send, qpn, 1, Status::RemAccess));
    // The receive request completed before the card saw the failure.
    bench.card.write_cqe(0, cqe(WcOpcode::Recv, qpn, 0));
    let first = bench.cq.poll(1).unwrap();
    assert_eq!((first[0].wr_id, first[0].status), (1, Status::RemAccess));
    assert_eq!(
        first[0].opcode,
        WcOpcode::RdmaWrite,
        "known from the request, not from the CQE"
    );
    assert_eq!(first[0].ok(), Err(Status::RemAccess));
    assert_eq!(qp.state(), QpState::Err);
    assert_eq!(bench.card.take_commands(), [Command::QpToErr]);
    // What the card flushes itself is stale by now.
    bench
        .card
        .write_cqe(0, failed(WcOpcode::RdmaWrite, qpn, 2, Status::WrFlush));
    qp.post_send(SendWr::send(50, [])).unwrap();
    qp.post_recv(RecvWr::new(51, [])).unwrap();
    let flushed = Status::WrFlush;
    assert_eq!(
        wr_ids(&bench),
        [
            (100, Status::Success),
            (2, flushed),
            (3, flushed),
            (101, flushed),
            (50, flushed),
            (51, flushed)
        ]
    );
    assert_eq!(bench.card.take_commands(), []);
    assert_eq!((qp.outstanding_sends(), qp.outstanding_receives()), (0, 0));
    assert_eq!(
        bench.card.state().sq_doorbells.len(),
        4,
        "no doorbell in ERR"
    );
    assert_eq!(wr_ids(&bench), []);
}

#[test]
fn moving_to_err_flushes_both_cqs() {
    let bench = Bench::new(8);
    let recv_cq = bench.device.create_cq(8).unwrap();
    let qp = bench
        .pd
        .qp(&bench.cq)
        .recv_cq(&recv_cq)
        .send_depth(4)
        .recv_depth(4)
        .build()
        .unwrap();
    connect(&qp);
    qp.post_send(SendWr::send(1, [])).unwrap();
    qp.post_send(SendWr::send(2, [])).unwrap();
    qp.post_recv(RecvWr::new(3, [])).unwrap();
    bench.card.write_cqe(0, cqe(WcOpcode::Send, qp.qpn(), 0));
    qp.to_error().unwrap();
    assert_eq!(wr_ids(&bench), [(1, Status::Success), (2, Status::WrFlush)]);
    let done = recv_cq.poll(10).unwrap();
    assert_eq!(done.len(), 1);
    assert_eq!(
        (done[0].wr_id, done[0].status, done[0].opcode),
        (3, Status::WrFlush, WcOpcode::Recv)
    );
    qp.to_error().unwrap();
    assert_eq!(wr_ids(&bench), []);
}

#[test]
fn reset_forgets_and_starts_again() {
    let bench = Bench::connected(4);
    let (qp, qpn) = (&bench.qp, bench.qp.qpn());
    let other = bench.pd.qp(&bench.cq).build().unwrap();
    connect(&other);
    other.post_send(SendWr::send(77, [])).unwrap();
    for id in 0..3 {
        qp.post_send(SendWr::send(id, [])).unwrap();
    }
    bench.card.write_cqe(0, cqe(WcOpcode::Send, qpn, 0));
    bench.card.write_cqe(0, cqe(WcOpcode::Send, other.qpn(), 0));
    bench.card.write_cqe(0, cqe(WcOpcode::Send, qpn, 1));
    qp.reset().unwrap();
    // One that was on its way when the QP was reset.
    bench.card.write_cqe(0, cqe(WcOpcode::Send, qpn, 2));
    assert_eq!(wr_ids(&bench), [(77, Status::Success)]);
    assert_eq!(bench.card.state().cq_doorbells.last().unwrap().consumer, 4);
    connect(qp);
    qp.post_send(SendWr::send(9, [])).unwrap();
    assert_eq!(bench.card.state().sq_doorbells.last().unwrap().producer, 1);
    bench.card.write_cqe(0, cqe(WcOpcode::Send, qpn, 0));
    assert_eq!(wr_ids(&bench), [(9, Status::Success)]);
}

#[test]
fn completions_of_a_dropped_qp_are_skipped() {
    let bench = Bench::connected(4);
    let other = bench.pd.qp(&bench.cq).build().unwrap();
    connect(&other);
    other.post_send(SendWr::send(1, [])).unwrap();
    bench.qp.post_send(SendWr::send(2, [])).unwrap();
    let qpn = other.qpn();
    bench.card.write_cqe(0, cqe(WcOpcode::Send, qpn, 0));
    drop(other);
    bench.card.write_cqe(0, cqe(WcOpcode::Send, qpn, 1));
    bench
        .card
        .write_cqe(0, cqe(WcOpcode::Send, bench.qp.qpn(), 0));
    assert_eq!(wr_ids(&bench), [(2, Status::Success)]);
}

#[test]
fn two_qps_that_fail_together_are_both_flushed() {
    let bench = Bench::connected(4);
    let other = bench.pd.qp(&bench.cq).build().unwrap();
    connect(&other);
    bench.card.take_ran();
    for qp in [&bench.qp, &other] {
        qp.post_send(SendWr::send(u64::from(qp.qpn()), [])).unwrap();
        qp.post_send(SendWr::send(100, [])).unwrap();
        bench
            .card
            .write_cqe(0, failed(WcOpcode::Send, qp.qpn(), 0, Status::RetryExc));
    }
    assert_eq!(bench.cq.poll(1).unwrap().len(), 1);
    assert_eq!(
        (bench.qp.state(), other.state()),
        (QpState::Err, QpState::Err)
    );
    assert_eq!(
        bench.card.take_commands(),
        [Command::QpToErr, Command::QpToErr]
    );
    let flushed = (100, Status::WrFlush);
    let rest = wr_ids(&bench);
    assert_eq!(
        rest,
        [(u64::from(other.qpn()), Status::RetryExc), flushed, flushed]
    );
}

#[test]
fn an_unreadable_cqe_is_reported_once_and_skipped() {
    let bench = Bench::connected(4);
    let qpn = bench.qp.qpn();
    for id in 0..3 {
        bench.qp.post_send(SendWr::send(id, [])).unwrap();
        bench.card.write_cqe(0, cqe(WcOpcode::Send, qpn, id as u16));
    }
    // The second CQE gets an opcode that does not exist.
    let ring = bench.card.ring(0);
    bench.card.memory.write(ring + 32 + OPCODE as u64, &[77]);
    assert!(matches!(bench.cq.poll(10), Err(Error::Cqe(_))));
    assert_eq!(wr_ids(&bench), [(0, Status::Success), (2, Status::Success)]);
}

#[test]
fn completions_survive_a_card_that_goes_away() {
    let bench = Bench::connected(4);
    bench.qp.post_send(SendWr::send(5, [])).unwrap();
    bench
        .card
        .write_cqe(0, cqe(WcOpcode::Send, bench.qp.qpn(), 0));
    bench.card.state().dead = true;
    assert!(matches!(bench.cq.poll(4), Err(Error::Bar(_))));
    bench.card.state().dead = false;
    assert_eq!(wr_ids(&bench), [(5, Status::Success)]);
    assert_eq!(bench.card.state().cq_doorbells.last().unwrap().consumer, 1);
}

fn config() -> ProptestConfig {
    let seed = std::env::var("FERROCE_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| {
            std::time::UNIX_EPOCH
                .elapsed()
                .map_or(0, |now| now.as_nanos() as u64)
        });
    println!("FERROCE_SEED={seed}");
    ProptestConfig {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        cases: 64,
        ..ProptestConfig::default()
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Send {
        signaled: bool,
    },
    Recv,
    /// The card completes the oldest send, with all unsignaled ones before it, or receive.
    CompleteSend,
    CompleteRecv,
    Poll {
        max: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<bool>().prop_map(|signaled| Step::Send { signaled }),
        Just(Step::Recv),
        Just(Step::CompleteSend),
        Just(Step::CompleteRecv),
        (1usize..5).prop_map(|max| Step::Poll { max }),
    ]
}

proptest! {
    #![proptest_config(config())]

    /// Any interleaving of posts, completions and polls against plain queues.
    #[test]
    fn completions_match_requests(steps in prop::collection::vec(step(), 1..600)) {
        let depth = 8;
        let bench = Bench::connected(depth);
        let qpn = bench.qp.qpn();
        let (mut sends, mut recvs) = (VecDeque::new(), VecDeque::new());
        let (mut sq_index, mut rq_index) = (0u16, 0u16);
        let (mut in_driver, mut held) = (VecDeque::new(), [0usize; 2]);
        for (id, step) in (0u64..).zip(steps) {
            match step {
                Step::Send { signaled } => {
                    let mut request = SendWr::send(id, []);
                    request.signaled = signaled;
                    let posted = bench.qp.post_send(request).is_ok();
                    prop_assert_eq!(posted, held[0] < depth);
                    if posted {
                        sends.push_back((id, signaled));
                        held[0] += 1;
                    }
                }
                Step::Recv => {
                    let posted = bench.qp.post_recv(RecvWr::new(id, [])).is_ok();
                    prop_assert_eq!(posted, held[1] < depth);
                    if posted {
                        recvs.push_back(id);
                        held[1] += 1;
                    }
                }
                Step::CompleteSend => {
                    let Some(at) = sends.iter().position(|&(_, signaled)| signaled) else { continue };
                    let index = sq_index.wrapping_add(at as u16);
                    bench.card.write_cqe(0, cqe(WcOpcode::Send, qpn, index));
                    sq_index = index.wrapping_add(1);
                    let (id, _) = sends.drain(..=at).next_back().unwrap();
                    in_driver.push_back((id, 0, at + 1));
                }
                Step::CompleteRecv => {
                    let Some(id) = recvs.pop_front() else { continue };
                    bench.card.write_cqe(0, cqe(WcOpcode::Recv, qpn, rq_index));
                    rq_index = rq_index.wrapping_add(1);
                    in_driver.push_back((id, 1, 1));
                }
                Step::Poll { max } => {
                    let done = bench.cq.poll(max).unwrap();
                    prop_assert_eq!(done.len(), max.min(in_driver.len()));
                    for completion in done {
                        let (id, queue, freed) = in_driver.pop_front().unwrap();
                        prop_assert_eq!(completion.wr_id, id);
                        held[queue] -= freed;
                    }
                }
            }
        }
    }
}

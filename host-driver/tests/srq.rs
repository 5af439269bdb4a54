//! Shared receive queues: rings, tags, limits, and who gives what back.

mod card;

use card::{connect, cqe, Bench, SRQS};
use ferroce_abi::cfg::{ResponderCfg, RingCfg, SrqLimitCfg, Table};
use ferroce_abi::cqe::SharedWqe;
use ferroce_abi::mailbox::Command;
use ferroce_abi::regs::{self, QueueDoorbell};
use ferroce_abi::wqe::RqWqe;
use ferroce_driver::{EqAttr, Error, Qp, RecvWr, Srq, WcOpcode};

const UNREAD: u16 = 1 << SharedWqe::UNREAD_BIT;

/// An SRQ of four requests and a QP of it.
fn shared() -> (Bench, Srq, Qp) {
    let bench = Bench::new(4);
    let srq = bench.pd.srq(4).build().unwrap();
    let qp = bench.pd.qp(&bench.cq).srq(&srq).build().unwrap();
    (bench, srq, qp)
}

fn post(srq: &Srq, ids: impl IntoIterator<Item = u64>) {
    for id in ids {
        srq.post_recv(RecvWr::new(id, [])).unwrap();
    }
}

fn tag(bench: &Bench, index: u16) -> u16 {
    let wqe = bench.card.wqe(Table::Srq, 0, index);
    RqWqe::decode(&wqe).unwrap().tag
}

fn received(bench: &Bench, qp: &Qp, names: &[u16]) -> Vec<u64> {
    for &name in names {
        bench.card.write_cqe(0, cqe(WcOpcode::Recv, qp.qpn(), name));
    }
    let done = bench.cq.poll(16).unwrap();
    assert!(done.iter().all(|c| c.qpn == qp.qpn()));
    done.iter().map(|c| c.wr_id).collect()
}

#[test]
fn queues_are_made_as_described_and_outlive_their_qps() {
    let (bench, srq, qp) = shared();
    assert_eq!(bench.device.capabilities().srqs, SRQS);
    assert_eq!((srq.srqn(), srq.depth()), (0, 4));
    let made = bench.card.take_ran().remove(0);
    assert_eq!((made.command, made.object), (Command::CreateSrq, 0));
    let ring = RingCfg::from_bits(made.entry(Table::Srq));
    assert_eq!((ring.enabled, ring.log_size, ring.page), (true, 2, 0));
    assert_eq!(ring.base % 4096, 0);
    let limit = SrqLimitCfg::from_bits(made.entry(Table::SrqLimit));
    assert_eq!(limit, SrqLimitCfg::default());
    connect(&qp);
    let moves = bench.card.take_ran();
    assert!(!RingCfg::from_bits(moves[0].entry(Table::Rq)).enabled);
    for ran in &moves[..2] {
        let responder = ResponderCfg::from_bits(ran.entry(Table::Responder));
        assert_eq!((responder.shared, responder.srq), (true, 0));
    }
    // The QP keeps its SRQ.
    drop(srq);
    assert_eq!(bench.card.take_commands(), []);
    drop(qp);
    assert_eq!(
        bench.card.take_commands(),
        [Command::QpToReset, Command::DestroySrq]
    );
    // Numbers go round.
    for expected in [1, 0] {
        assert_eq!(bench.pd.srq(4).build().unwrap().srqn(), expected);
    }
}

#[test]
fn completions_find_their_request_in_any_order() {
    let (bench, srq, qp) = shared();
    connect(&qp);
    post(&srq, 10..14);
    let full = srq.post_recv(RecvWr::new(14, []));
    assert!(matches!(full, Err(Error::QueueFull { depth: 4, .. })));
    let tags: Vec<_> = (0..4).map(|index| tag(&bench, index)).collect();
    assert_eq!(
        received(&bench, &qp, &[tags[2], tags[0]]),
        [12, 10],
        "{tags:?}"
    );
    assert_eq!(srq.outstanding(), 2);
    // The places of the first two WQEs; the tags of those that came back.
    post(&srq, 14..16);
    assert_eq!([tag(&bench, 4), tag(&bench, 5)], [tags[2], tags[0]]);
    assert_eq!(
        received(&bench, &qp, &[tags[1], tags[0], tags[3], tags[2]]),
        [11, 15, 13, 14]
    );
    // A tag that is not out names nothing.
    assert_eq!(received(&bench, &qp, &[tags[1], 99]), []);
    assert_eq!(srq.outstanding(), 0);
    let rung: Vec<_> = bench.card.state().srq_doorbells.clone();
    let expected: Vec<_> = (1..=6)
        .map(|producer| QueueDoorbell {
            qpn: 0,
            producer,
            pushed: 0,
        })
        .collect();
    assert_eq!(rung, expected);
}

/// The card names a WQE that it could not read by its index.
#[test]
fn unread_requests_are_named_by_their_place() {
    let (bench, srq, qp) = shared();
    connect(&qp);
    for round in 0..3_u16 {
        post(&srq, 0..4);
        let first = 4 * round;
        let last = tag(&bench, first + 3);
        let names = [
            UNREAD | (first + 1),
            last,
            UNREAD | first,
            UNREAD | (first + 2),
        ];
        assert_eq!(received(&bench, &qp, &names), [1, 3, 0, 2]);
    }
}

#[test]
fn what_nobody_polls_comes_back() {
    let (bench, srq, qp) = shared();
    connect(&qp);
    post(&srq, 0..4);
    let qpn = qp.qpn();
    let late = |index| {
        let cqe = cqe(WcOpcode::Recv, qpn, tag(&bench, index));
        bench.card.write_cqe(0, cqe);
    };
    // When the QP is reset; when it has been reset before the completion came.
    late(0);
    qp.reset().unwrap();
    assert_eq!(srq.outstanding(), 3);
    late(1);
    assert_eq!(bench.cq.poll(4).unwrap(), []);
    assert_eq!(srq.outstanding(), 2);
    // When the QP is gone; when the CQ goes too.
    late(2);
    drop(qp);
    late(3);
    let Bench {
        qp: other,
        cq,
        card,
        ..
    } = bench;
    drop(other);
    drop(cq);
    assert!(card.take_commands().contains(&Command::DestroyCq));
    assert_eq!(srq.outstanding(), 0);
}

#[test]
fn limits_go_to_the_card_and_stay_in_range() {
    let bench = Bench::new(4);
    let eq = bench.device.create_eq(EqAttr::new(4, 0), None).unwrap();
    let srq = bench.pd.srq(4).eq(&eq).build().unwrap();
    bench.card.take_ran();
    srq.arm_limit(4).unwrap();
    srq.arm_limit(0).unwrap();
    let limits: Vec<_> = bench
        .card
        .take_ran()
        .iter()
        .map(|ran| {
            assert_eq!((ran.command, ran.object), (Command::ModifySrq, 0));
            let entry = SrqLimitCfg::from_bits(ran.entry(Table::SrqLimit));
            (entry.limit, u32::from(entry.eq))
        })
        .collect();
    assert_eq!(limits, [(4, eq.eqn()), (0, eq.eqn())]);
    assert!(matches!(srq.arm_limit(5), Err(Error::Attribute { .. })));
    // A card without SRQs makes none.
    let card = card::TestCard::new();
    card.state().words.insert(regs::FEATURES, regs::feature::RC);
    let pd = card.open().create_pd().unwrap();
    let unknown = pd.srq(4).build();
    assert!(matches!(unknown, Err(Error::Unsupported { .. })));
}

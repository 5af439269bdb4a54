//! Work requests: what reaches the rings and doorbells, and what is refused.

mod card;

use card::{connect, cqe, Bench};
use ferroce_abi::cfg::Table;
use ferroce_abi::regs::QueueDoorbell;
use ferroce_abi::wqe::{flags, RqWqe, SqWqe, WrOpcode};
use ferroce_driver::{
    Error, InitAttr, PostError, QpState, RecvWr, Remote, RtrAttr, SendOp, SendWr, SgeList, WcOpcode,
};

const REMOTE: Remote = Remote {
    addr: 0x1122_3344_5566_7788,
    rkey: 0x99AA_BBCC,
};

fn sq_wqe(bench: &Bench, index: u16) -> SqWqe {
    SqWqe::decode(&bench.card.wqe(Table::Sq, bench.qp.qpn(), index)).unwrap()
}

#[test]
fn send_requests_become_wqes() {
    let bench = Bench::connected(8);
    let sge = bench.mr.sge(100..1124).unwrap();
    let sges = SgeList::from(sge);
    let base = SqWqe {
        length: 1024,
        sges,
        flags: flags::SIGNALED,
        ..SqWqe::new(WrOpcode::Send)
    };
    let write = SqWqe {
        remote_va: REMOTE.addr,
        rkey: REMOTE.rkey,
        ..base
    };
    let cases = [
        (SendWr::send(1, sge), base),
        (
            SendWr::new(2, SendOp::SendWithImm(0x0102_0304), sge).solicited(),
            SqWqe {
                opcode: WrOpcode::SendWithImm,
                imm: [1, 2, 3, 4],
                flags: flags::SIGNALED | flags::SOLICITED,
                ..base
            },
        ),
        (
            SendWr::write(3, sge, REMOTE).unsignaled().fenced(),
            SqWqe {
                opcode: WrOpcode::RdmaWrite,
                flags: flags::FENCE,
                ..write
            },
        ),
        (
            SendWr::new(4, SendOp::WriteWithImm(REMOTE, 5), sge),
            SqWqe {
                opcode: WrOpcode::RdmaWriteWithImm,
                imm: [0, 0, 0, 5],
                ..write
            },
        ),
        (
            SendWr::send(5, []),
            SqWqe {
                length: 0,
                sges: SgeList::default(),
                ..base
            },
        ),
    ];
    for (index, (request, expected)) in cases.into_iter().enumerate() {
        bench.qp.post_send(request).unwrap();
        assert_eq!(sq_wqe(&bench, index as u16), expected);
        let doorbell = QueueDoorbell {
            qpn: bench.qp.qpn(),
            producer: index as u16 + 1,
            pushed: 0,
        };
        assert_eq!(bench.card.state().sq_doorbells.last(), Some(&doorbell));
    }
    assert_eq!(bench.qp.outstanding_sends(), 5);
    assert!(bench.card.state().rq_doorbells.is_empty());
}

#[test]
fn signal_all_overrides_the_request() {
    let bench = Bench::new(8);
    let qp = bench.pd.qp(&bench.cq).signal_all(true).build().unwrap();
    connect(&qp);
    qp.post_send(SendWr::send(1, []).unsignaled()).unwrap();
    let wqe = SqWqe::decode(&bench.card.wqe(Table::Sq, qp.qpn(), 0)).unwrap();
    assert_eq!(wqe.flags, flags::SIGNALED);
}

#[test]
fn receive_requests_become_wqes() {
    let bench = Bench::connected(8);
    let sge = bench.mr.sge(64..128).unwrap();
    bench
        .qp
        .post_recv_list(&[RecvWr::new(1, sge), RecvWr::new(2, [])])
        .unwrap();
    let wqe = |index| RqWqe::decode(&bench.card.wqe(Table::Rq, bench.qp.qpn(), index)).unwrap();
    assert_eq!(wqe(0).sges, SgeList::from(sge));
    assert_eq!(wqe(1).sges, SgeList::default());
    let doorbell = QueueDoorbell {
        qpn: bench.qp.qpn(),
        producer: 2,
        pushed: 0,
    };
    assert_eq!(bench.card.state().rq_doorbells, [doorbell]);
}

#[test]
fn a_list_rings_once_and_stops_at_the_first_refused_request() {
    let bench = Bench::connected(4);
    let requests = [0, 1, 2, 3, 4, 5].map(|id| SendWr::send(id, []));
    let error = bench.qp.post_send_list(&requests).unwrap_err();
    assert!(matches!(
        error,
        PostError {
            posted: 4,
            cause: Error::QueueFull { depth: 4, .. }
        }
    ));
    assert_eq!(bench.card.state().sq_doorbells.len(), 1);
    assert_eq!(bench.card.state().sq_doorbells[0].producer, 4);
    // Nothing posted, nothing rung.
    let error = bench.qp.post_send_list(&requests).unwrap_err();
    assert_eq!(error.posted, 0);
    bench.qp.post_send_list(&[]).unwrap();
    assert_eq!(bench.card.state().sq_doorbells.len(), 1);
}

#[test]
fn what_the_card_lacks_is_refused() {
    let bench = Bench::connected(4);
    let sge = bench.mr.sge(0..8).unwrap();
    for op in [
        SendOp::SendWithInv(1),
        SendOp::Read(REMOTE),
        SendOp::CompareAndSwap {
            remote: REMOTE,
            compare: 1,
            swap: 2,
        },
        SendOp::FetchAndAdd {
            remote: REMOTE,
            add: 1,
        },
    ] {
        let result = bench.qp.post_send(SendWr::new(1, op, sge));
        assert!(matches!(result, Err(Error::Unsupported { .. })), "{op:?}");
    }
    let two = [sge, sge];
    let too_many = bench.qp.post_send(SendWr::send(1, two));
    assert!(matches!(
        too_many,
        Err(Error::SgeCount { count: 2, max: 1 })
    ));
    let too_many = bench.qp.post_recv(RecvWr::new(1, two));
    assert!(matches!(
        too_many,
        Err(Error::SgeCount { count: 2, max: 1 })
    ));
    let long = ferroce_driver::Sge {
        len: (1 << 31) + 1,
        ..sge
    };
    let too_long = bench.qp.post_send(SendWr::send(1, long));
    assert!(matches!(
        too_long,
        Err(Error::Attribute {
            name: "message length",
            ..
        })
    ));
    assert_eq!(
        (
            bench.qp.outstanding_sends(),
            bench.qp.outstanding_receives()
        ),
        (0, 0)
    );
    let longest = ferroce_driver::Sge {
        len: 1 << 31,
        ..sge
    };
    bench.qp.post_send(SendWr::send(1, longest)).unwrap();
}

#[test]
fn atomics_are_encoded_for_a_card_that_has_them() {
    let card = card::TestCard::new();
    let features = ferroce_abi::regs::feature::RC | ferroce_abi::regs::feature::ATOMIC;
    card.state()
        .words
        .insert(ferroce_abi::regs::FEATURES, features);
    let device = card.open();
    let pd = device.create_pd().unwrap();
    let cq = device.create_cq(4).unwrap();
    let qp = pd.qp(&cq).build().unwrap();
    connect(&qp);
    let op = SendOp::CompareAndSwap {
        remote: REMOTE,
        compare: 11,
        swap: 22,
    };
    qp.post_send(SendWr::new(1, op, [])).unwrap();
    qp.post_send(SendWr::new(
        2,
        SendOp::FetchAndAdd {
            remote: REMOTE,
            add: 33,
        },
        [],
    ))
    .unwrap();
    let wqe = |index| SqWqe::decode(&card.wqe(Table::Sq, qp.qpn(), index)).unwrap();
    assert_eq!(
        (wqe(0).compare, wqe(0).operand, wqe(0).remote_va),
        (11, 22, REMOTE.addr)
    );
    assert_eq!(
        (wqe(1).opcode, wqe(1).operand),
        (WrOpcode::AtomicFetchAndAdd, 33)
    );
}

#[test]
fn states_that_take_posts() {
    let bench = Bench::new(4);
    let qp = &bench.qp;
    let send = || qp.post_send(SendWr::send(1, []));
    let recv = || qp.post_recv(RecvWr::new(1, []));
    let refused = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::WrongState { state, .. }) if state == qp.state()));
    };
    refused(send());
    refused(recv());
    qp.to_init(InitAttr::default()).unwrap();
    refused(send());
    recv().unwrap();
    qp.to_rtr(RtrAttr::new(card::PEER, 3, 0)).unwrap();
    refused(send());
    recv().unwrap();
    qp.to_rts(ferroce_driver::RtsAttr::new(0)).unwrap();
    send().unwrap();
    recv().unwrap();
    assert_eq!(qp.state(), QpState::Rts);
}

#[test]
fn unsignaled_requests_leave_with_the_next_completion() {
    let bench = Bench::connected(4);
    let (qp, qpn) = (&bench.qp, bench.qp.qpn());
    for id in 0..3 {
        qp.post_send(SendWr::send(id, []).unsignaled()).unwrap();
    }
    qp.post_send(SendWr::write(3, [], REMOTE)).unwrap();
    assert!(matches!(
        qp.post_send(SendWr::send(4, [])),
        Err(Error::QueueFull {
            queue: "send",
            depth: 4
        })
    ));
    bench.card.write_cqe(0, cqe(WcOpcode::RdmaWrite, qpn, 3));
    let done = bench.cq.poll(10).unwrap();
    assert_eq!(done.len(), 1);
    assert_eq!(
        (done[0].wr_id, done[0].opcode, done[0].qpn),
        (3, WcOpcode::RdmaWrite, qpn)
    );
    assert_eq!(qp.outstanding_sends(), 0);
}

#[test]
fn rings_and_running_indices_wrap() {
    let bench = Bench::connected(4);
    let (qp, qpn) = (&bench.qp, bench.qp.qpn());
    // More than 2^16 requests on each queue; the rings have four slots.
    for id in 0u64..70_000 {
        let index = id as u16;
        let sge = bench.mr.sge(0..(id % 4096) as usize).unwrap();
        qp.post_send(SendWr::send(id, sge)).unwrap();
        qp.post_recv(RecvWr::new(!id, sge)).unwrap();
        assert_eq!(
            bench.card.state().sq_doorbells.pop().unwrap().producer,
            index.wrapping_add(1)
        );
        assert_eq!(u64::from(sq_wqe(&bench, index).length), id % 4096);
        bench.card.write_cqe(0, cqe(WcOpcode::Recv, qpn, index));
        bench.card.write_cqe(0, cqe(WcOpcode::Send, qpn, index));
        let done: Vec<_> = bench.cq.poll(3).unwrap().iter().map(|c| c.wr_id).collect();
        assert_eq!(done, [!id, id]);
    }
    assert_eq!(
        bench.card.state().cq_doorbells.last().unwrap().consumer,
        140_000
    );
}

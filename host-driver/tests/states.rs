//! The moves of a QP.

mod card;

use card::{connect, Bench, PEER};
use ferroce_abi::cfg::{AvCfg, CompleterCfg, ResponderCfg, RingCfg, SenderCfg, Table};
use ferroce_abi::mailbox::{Command, CommandStatus};
use ferroce_abi::udp_port;
use ferroce_driver::{Error, InitAttr, Pmtu, Qp, QpState, RtrAttr, RtsAttr};

fn rtr() -> RtrAttr {
    RtrAttr {
        pmtu: Pmtu::B1024,
        min_rnr_timer: 5,
        tos: 0x22,
        ttl: 33,
        ..RtrAttr::new(PEER, 0x1234, 0xABCDEF)
    }
}

fn rts() -> RtsAttr {
    RtsAttr {
        sq_psn: 0xFEDCBA,
        timeout: 8,
        retry_cnt: 3,
        rnr_retry: 2,
        max_rd_atomic: 5,
    }
}

#[test]
fn connecting_writes_the_tables() {
    let bench = Bench::new(32);
    let (qp, card) = (&bench.qp, &bench.card);
    assert_eq!(qp.state(), QpState::Reset);
    qp.to_init(InitAttr {
        pkey: 0x8001,
        ..InitAttr::default()
    })
    .unwrap();
    assert_eq!(qp.state(), QpState::Init);
    let ran = card.take_ran().remove(0);
    assert_eq!(
        (ran.command, ran.object),
        (Command::QpResetToInit, qp.qpn())
    );
    for table in [Table::Sq, Table::Rq] {
        let ring = RingCfg::from_bits(ran.entry(table));
        assert_eq!(
            (ring.enabled, ring.log_size, ring.base % 4096),
            (true, 5, 0)
        );
    }
    assert_ne!(ran.entry(Table::Sq), ran.entry(Table::Rq));
    let responder = ResponderCfg {
        enabled: false,
        restart: true,
        restart_rq: true,
        pmtu: 8,
        pd: 1,
        access: 3,
        cq: 0,
        psn: 0,
        min_rnr: 0,
        pkey: 0x8001,
        peer_ip: 0,
        shared: false,
        srq: 0,
        max_reads: 0,
    };
    assert_eq!(
        ResponderCfg::from_bits(ran.entry(Table::Responder)),
        responder
    );

    qp.to_rtr(rtr()).unwrap();
    assert_eq!(qp.state(), QpState::Rtr);
    let ran = card.take_ran().remove(0);
    let address = AvCfg {
        dmac: 0x0200_0000_000B,
        dip: 0xC000_020B,
        sport: udp_port::from_qpns(qp.qpn(), 0x1234),
        dqpn: 0x1234,
        pkey: 0x8001,
        tos: 0x22,
        ttl: 33,
    };
    assert_eq!(AvCfg::from_bits(ran.entry(Table::Av)), address);
    let responder = ResponderCfg {
        enabled: true,
        restart_rq: false,
        pmtu: 10,
        psn: 0xABCDEF,
        min_rnr: 5,
        peer_ip: 0xC000_020B,
        max_reads: 16,
        ..responder
    };
    assert_eq!(
        ResponderCfg::from_bits(ran.entry(Table::Responder)),
        responder
    );

    qp.to_rts(rts()).unwrap();
    assert_eq!(qp.state(), QpState::Rts);
    let ran = card.take_ran().remove(0);
    let completer = CompleterCfg {
        enabled: true,
        cq: 0,
        psn: 0xFEDCBA,
        timeout: 8,
        retry_cnt: 3,
        rnr_retry: 2,
        pmtu: 10,
        flush: false,
    };
    assert_eq!(
        CompleterCfg::from_bits(ran.entry(Table::Completer)),
        completer
    );
    let sender = SenderCfg {
        enabled: true,
        pmtu: 10,
        pd: 1,
        psn: 0xFEDCBA,
        max_reads: 5,
    };
    assert_eq!(SenderCfg::from_bits(ran.entry(Table::Sender)), sender);

    qp.to_error().unwrap();
    assert_eq!(qp.state(), QpState::Err);
    let ran = card.take_ran().remove(0);
    let stopped = SenderCfg {
        enabled: false,
        ..sender
    };
    assert_eq!(SenderCfg::from_bits(ran.entry(Table::Sender)), stopped);
    let stopped = ResponderCfg {
        enabled: false,
        restart: false,
        ..responder
    };
    assert_eq!(
        ResponderCfg::from_bits(ran.entry(Table::Responder)),
        stopped
    );
    let stopped = CompleterCfg {
        enabled: false,
        flush: true,
        ..completer
    };
    assert_eq!(
        CompleterCfg::from_bits(ran.entry(Table::Completer)),
        stopped
    );

    qp.reset().unwrap();
    assert_eq!(qp.state(), QpState::Reset);
    let ran = card.take_ran().remove(0);
    assert_eq!(ran.command, Command::QpToReset);
    for table in [Table::Sq, Table::Rq] {
        assert_eq!(RingCfg::from_bits(ran.entry(table)), RingCfg::default());
    }
    assert!(!SenderCfg::from_bits(ran.entry(Table::Sender)).enabled);
    let completer = CompleterCfg::from_bits(ran.entry(Table::Completer));
    assert!(!completer.enabled && !completer.flush);
    let responder = ResponderCfg::from_bits(ran.entry(Table::Responder));
    assert!(!responder.enabled && responder.restart && responder.restart_rq);
}

type Move = (&'static str, fn(&Qp) -> Result<(), Error>);

#[test]
fn illegal_moves_are_refused_and_change_nothing() {
    let moves: [Move; 4] = [
        ("init", |qp| qp.to_init(InitAttr::default())),
        ("rtr", |qp| qp.to_rtr(rtr())),
        ("rts", |qp| qp.to_rts(rts())),
        ("error", Qp::to_error),
    ];
    // Moves that are legal in RESET, INIT, RTR, RTS, ERR.
    let legal = [
        (QpState::Reset, vec!["init"]),
        (QpState::Init, vec!["rtr", "error"]),
        (QpState::Rtr, vec!["rts", "error"]),
        (QpState::Rts, vec!["error"]),
        (QpState::Err, vec!["error"]),
    ];
    for (state, legal) in legal {
        for (name, make) in moves {
            let bench = Bench::new(4);
            let qp = &bench.qp;
            let path: &[usize] = match state {
                QpState::Reset => &[],
                QpState::Init => &[0],
                QpState::Rtr => &[0, 1],
                QpState::Rts => &[0, 1, 2],
                QpState::Err => &[0, 3],
            };
            for &step in path {
                moves[step].1(qp).unwrap();
            }
            assert_eq!(qp.state(), state);
            bench.card.take_ran();
            let result = make(qp);
            if legal.contains(&name) {
                result.unwrap_or_else(|e| panic!("{name} in {state:?}: {e}"));
            } else {
                let refused =
                    matches!(result, Err(Error::IllegalMove { from, .. }) if from == state);
                assert!(refused, "{name} in {state:?}");
                assert_eq!(qp.state(), state);
                assert_eq!(bench.card.take_commands(), []);
            }
            qp.reset().unwrap();
            assert_eq!(qp.state(), QpState::Reset);
        }
    }
}

#[test]
fn a_refused_move_changes_nothing() {
    let bench = Bench::new(4);
    let (qp, card) = (&bench.qp, &bench.card);
    let refuse = || card.state().refuse = Some(CommandStatus::BadState);
    refuse();
    assert!(matches!(
        qp.to_init(InitAttr::default()),
        Err(Error::CommandRefused { .. })
    ));
    assert_eq!(qp.state(), QpState::Reset);
    qp.to_init(InitAttr::default()).unwrap();
    refuse();
    let other = RtrAttr {
        dest_qpn: 99,
        pmtu: Pmtu::B256,
        ..rtr()
    };
    assert!(qp.to_rtr(other).is_err());
    assert_eq!(qp.state(), QpState::Init);
    card.take_ran();
    qp.to_error().unwrap();
    let ran = card.take_ran().remove(0);
    // Nothing of the refused attributes is left.
    assert_eq!(
        ResponderCfg::from_bits(ran.entry(Table::Responder)).peer_ip,
        0
    );
}

#[test]
fn attributes_out_of_range_are_named() {
    let bench = Bench::new(4);
    let qp = &bench.qp;
    qp.to_init(InitAttr::default()).unwrap();
    let named = |result: Result<(), Error>, expected: &str| match result {
        Err(Error::Attribute { name, .. }) => assert_eq!(name, expected),
        other => panic!("{expected}: {other:?}"),
    };
    named(
        qp.to_rtr(RtrAttr {
            dest_qpn: 1 << 24,
            ..rtr()
        }),
        "dest_qpn",
    );
    named(
        qp.to_rtr(RtrAttr {
            rq_psn: 1 << 24,
            ..rtr()
        }),
        "rq_psn",
    );
    named(
        qp.to_rtr(RtrAttr {
            min_rnr_timer: 32,
            ..rtr()
        }),
        "min_rnr_timer",
    );
    named(
        qp.to_rtr(RtrAttr {
            flow_label: Some(1 << 20),
            ..rtr()
        }),
        "flow_label",
    );
    qp.to_rtr(rtr()).unwrap();
    named(
        qp.to_rts(RtsAttr {
            sq_psn: 1 << 24,
            ..rts()
        }),
        "sq_psn",
    );
    named(
        qp.to_rts(RtsAttr {
            timeout: 32,
            ..rts()
        }),
        "timeout",
    );
    named(
        qp.to_rts(RtsAttr {
            retry_cnt: 8,
            ..rts()
        }),
        "retry_cnt",
    );
    named(
        qp.to_rts(RtsAttr {
            rnr_retry: 8,
            ..rts()
        }),
        "rnr_retry",
    );
    named(
        qp.to_rts(RtsAttr {
            max_rd_atomic: 17,
            ..rts()
        }),
        "max_rd_atomic",
    );
    qp.to_rts(rts()).unwrap();
}

#[test]
fn path_mtu_is_bounded_by_the_card() {
    let card = card::TestCard::new();
    card.state().words.insert(ferroce_abi::regs::MAX_PMTU, 11);
    let device = card.open();
    let cq = device.create_cq(4).unwrap();
    let qp = device.create_pd().unwrap().qp(&cq).build().unwrap();
    qp.to_init(InitAttr::default()).unwrap();
    let attr = |pmtu| RtrAttr { pmtu, ..rtr() };
    assert!(matches!(
        qp.to_rtr(attr(Pmtu::B4096)),
        Err(Error::Attribute { max: 2048, .. })
    ));
    qp.to_rtr(attr(Pmtu::B2048)).unwrap();
}

#[test]
fn a_flow_label_gives_the_source_port() {
    let bench = Bench::new(4);
    bench.qp.to_init(InitAttr::default()).unwrap();
    bench.card.take_ran();
    bench
        .qp
        .to_rtr(RtrAttr {
            flow_label: Some(0x4B0EF),
            ..rtr()
        })
        .unwrap();
    let ran = bench.card.take_ran().remove(0);
    assert_eq!(AvCfg::from_bits(ran.entry(Table::Av)).sport, 0xF0FD);
}

#[test]
fn a_move_that_hung_is_undone_when_the_qp_goes() {
    let Bench { qp, card, .. } = Bench::new(4);
    card.state().slowness = 11;
    assert!(matches!(
        qp.to_init(InitAttr::default()),
        Err(Error::CommandTimeout { .. })
    ));
    card.state().slowness = 1;
    card.take_ran();
    drop(qp);
    assert_eq!(card.take_commands()[0], Command::QpToReset);
}

#[test]
fn qpns_start_behind_the_reserved_ones_and_come_back() {
    let bench = Bench::new(4);
    assert_eq!(bench.qp.qpn(), 2);
    let more: Vec<_> = (3..card::QPS)
        .map(|qpn| {
            let qp = bench
                .pd
                .qp(&bench.cq)
                .send_depth(2)
                .recv_depth(2)
                .build()
                .unwrap();
            assert_eq!(qp.qpn(), qpn);
            connect(&qp);
            qp
        })
        .collect();
    let error = bench.pd.qp(&bench.cq).build().unwrap_err();
    assert!(matches!(
        error,
        Error::Exhausted {
            what: "QPs",
            limit: 6
        }
    ));
    drop(more);
    assert_eq!(bench.pd.qp(&bench.cq).build().unwrap().qpn(), 3);
}

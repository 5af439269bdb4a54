//! Opening a card, its port and counters; making and dropping objects.

mod card;

use card::{Bench, TestCard, AHS, CQS, EQS, MRS, QPS, SRQS};
use ferroce_abi::cfg::{MrCfg, PortCfg, QpInfo, QueueInfo, RingCfg, Table};
use ferroce_abi::mailbox::{Command, CommandStatus, QpState};
use ferroce_abi::regs;
use ferroce_driver::{
    Access, Counter, DeviceOptions, DmaError, DmaMemory, Error, InitAttr, Mac, Pmtu, PortAddress,
};

#[test]
fn capabilities_are_read() {
    let card = TestCard::new();
    let device = card.open();
    let caps = device.capabilities();
    assert_eq!((caps.qps, caps.cqs, caps.mrs), (QPS, CQS, MRS));
    assert_eq!((caps.max_sge, caps.max_pmtu), (1, Pmtu::B4096));
    assert_eq!((caps.wqe_window, caps.retransmit_depth), (16, 64));
    assert_eq!(caps.core_clock_hz, 250_000_000);
}

#[test]
fn a_card_is_cleared_when_that_is_asked_for() {
    let card = TestCard::new();
    card.open();
    assert_eq!(card.take_commands(), []);
    card.open_with(DeviceOptions {
        clear: true,
        ..DeviceOptions::default()
    })
    .unwrap();
    let ran: Vec<_> = card
        .take_ran()
        .iter()
        .map(|ran| (ran.command, ran.object))
        .collect();
    let each = |command, objects: std::ops::Range<u32>| objects.map(move |o| (command, o));
    let expected: Vec<_> = each(Command::QpToReset, 2..QPS)
        .chain(each(Command::DestroySrq, 0..SRQS))
        .chain(each(Command::DeregMr, 1..MRS))
        .chain(each(Command::DestroyAh, 0..AHS))
        .chain(each(Command::DestroyCq, 0..CQS))
        .chain(each(Command::SetAsyncEq, 0..1))
        .chain(each(Command::DestroyEq, 0..EQS))
        .collect();
    assert_eq!(ran, expected);
}

#[test]
fn a_cleared_card_works_after_a_driver_that_died() {
    let lost = Bench::connected(4);
    let card = lost.card.clone();
    let qpn = lost.qp.qpn();
    std::mem::forget(lost);
    let connects = |clear| {
        let options = DeviceOptions {
            clear,
            ..DeviceOptions::default()
        };
        let device = card.open_with(options).unwrap();
        let cq = device.create_cq(4).unwrap();
        let qp = device.create_pd().unwrap().qp(&cq).build().unwrap();
        assert_eq!(qp.qpn(), qpn);
        qp.to_init(InitAttr::default())
    };
    // Without clearing, the card still has the QP in RTS.
    assert!(matches!(
        connects(false),
        Err(Error::CommandRefused {
            status: CommandStatus::BadState,
            ..
        })
    ));
    connects(true).unwrap();
}

#[test]
fn unfit_cards_are_refused() {
    let open = |register, value| {
        let card = TestCard::new();
        card.state().words.insert(register, value);
        card.try_open().unwrap_err()
    };
    assert!(matches!(
        open(regs::MAGIC, u32::MAX),
        Error::NotFerroce { found: u32::MAX }
    ));
    assert!(matches!(
        open(regs::VERSION, 2 << 16),
        Error::Version {
            found: 2,
            needed: 1
        }
    ));
    assert!(matches!(open(regs::FEATURES, 0), Error::Unsupported { .. }));
    for (register, value) in [
        (regs::NUM_QPS, 2),
        (regs::NUM_QPS, (1 << 14) + 1),
        (regs::NUM_CQS, 0),
        (regs::NUM_MRS, 1),
        (regs::MAX_SGE, 3),
        (regs::MAX_PMTU, 13),
        (regs::MAX_PMTU, 256 + 8),
    ] {
        assert!(matches!(open(register, value), Error::Capability { value: v, .. } if v == value));
    }
    // A newer minor version is fit.
    let card = TestCard::new();
    card.state()
        .words
        .insert(regs::VERSION, regs::VERSION_VALUE + 1);
    card.open();
}

#[test]
fn port_addresses_reach_the_card() {
    let card = TestCard::new();
    let device = card.open();
    assert_eq!(device.port(), None);
    let address = PortAddress {
        mac: Mac([2, 3, 4, 5, 6, 7]),
        ip: [10, 0, 0, 1].into(),
    };
    device.set_port(address).unwrap();
    assert_eq!(device.port(), Some(address));
    let ran = card.take_ran();
    assert_eq!((ran[0].command, ran[0].object), (Command::SetPort, 0));
    let entry = PortCfg::from_bits(ran[0].entry(Table::Port));
    assert_eq!(
        entry,
        PortCfg {
            mac: 0x0203_0405_0607,
            ip: 0x0A00_0001
        }
    );
}

#[test]
fn counters_are_read_and_subtracted() {
    let card = TestCard::new();
    let device = card.open();
    let before = device.counters().unwrap();
    card.state().counters.insert(0x400, 5);
    card.state().counters.insert(0x400 + 8 * 48, u64::MAX);
    assert_eq!(device.counter(Counter::Retransmits).unwrap(), u64::MAX);
    let after = device.counters().unwrap();
    assert_eq!(after.get(Counter::RxFrames), 5);
    let grown: Vec<_> = after.since(&before).iter().filter(|c| c.1 != 0).collect();
    assert_eq!(
        grown,
        [(Counter::RxFrames, 5), (Counter::Retransmits, u64::MAX)]
    );
    assert_eq!(after.to_string().lines().count(), 2);
}

#[test]
fn a_command_that_hangs_is_an_error_and_the_next_one_waits_for_it() {
    let card = TestCard::new();
    let device = card.open();
    card.state().slowness = 25;
    let error = device.create_cq(16).unwrap_err();
    assert!(matches!(
        error,
        Error::CommandTimeout {
            command: Command::CreateCq,
            polls: 10
        }
    ));
    // The card may use the ring: its memory stays.
    assert_eq!(card.memory.regions(), 1);
    // 15 busy looks are left, ten of them are spent in vain.
    assert!(matches!(
        device.create_cq(16),
        Err(Error::CommandTimeout { .. })
    ));
    card.state().slowness = 9;
    let cq = device.create_cq(16).unwrap();
    assert_eq!(
        cq.cqn(),
        2,
        "indices of commands that hung are not used again"
    );
}

#[test]
fn a_refused_command_uses_nothing_up() {
    let card = TestCard::new();
    let device = card.open();
    let pd = device.create_pd().unwrap();
    for status in [CommandStatus::BadIndex, CommandStatus::Busy] {
        card.state().refuse = Some(status);
        let error = device.create_cq(16).unwrap_err();
        assert!(matches!(error, Error::CommandRefused { status: s, .. } if s == status));
        card.state().refuse = Some(status);
        assert!(pd.allocate(64, Access::NONE).is_err());
    }
    assert_eq!(card.memory.regions(), 0);
    let cqs: Vec<_> = (0..CQS).map(|_| device.create_cq(16).unwrap()).collect();
    assert!(matches!(
        device.create_cq(16),
        Err(Error::Exhausted {
            what: "CQs",
            limit: 4
        })
    ));
    drop(cqs);
    device.create_cq(16).unwrap();
    let mrs: Vec<_> = (1..MRS)
        .map(|_| pd.allocate(64, Access::NONE).unwrap())
        .collect();
    assert!(matches!(
        pd.allocate(64, Access::NONE),
        Err(Error::Exhausted { limit: 7, .. })
    ));
    drop(mrs);
    pd.allocate(64, Access::NONE).unwrap();
}

#[test]
fn cq_rings_are_rounded_up_and_bounded() {
    let card = TestCard::new();
    let device = card.open();
    for (entries, log_size) in [(1, 1), (2, 1), (3, 2), (100, 7), (1 << 15, 15)] {
        let cq = device.create_cq(entries).unwrap();
        assert_eq!(cq.capacity(), 1 << log_size);
        let ran = card.take_ran().remove(0);
        let ring = RingCfg::from_bits(ran.entry(Table::Cq));
        assert_eq!((ring.enabled, ring.log_size), (true, log_size));
        assert_eq!(ring.base % 4096, 0);
        drop(cq);
        let ran = card.take_ran().remove(0);
        assert_eq!(ran.command, Command::DestroyCq);
        assert_eq!(RingCfg::from_bits(ran.entry(Table::Cq)), RingCfg::default());
    }
    for entries in [0, (1 << 15) + 1] {
        assert!(matches!(
            device.create_cq(entries),
            Err(Error::Attribute { .. })
        ));
    }
    assert_eq!(card.memory.regions(), 0);
}

#[test]
fn regions_are_registered_as_asked() {
    let card = TestCard::new();
    let device = card.open();
    let pd = device.create_pd().unwrap();
    let buffer = card.memory.allocate(10_000, 64).unwrap();
    let access = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let mr = pd
        .register_range(buffer.clone(), 100..9_999, access)
        .unwrap();
    let ran = card.take_ran().remove(0);
    assert_eq!((ran.command, ran.object), (Command::RegMr, mr.lkey() >> 8));
    let entry = MrCfg::from_bits(ran.entry(Table::Mr));
    let expected = MrCfg {
        valid: true,
        tag: mr.lkey() as u8,
        pd: 1,
        access: 3,
        base: buffer.iova() + 100,
        len: 9_899,
        ..MrCfg::default()
    };
    assert_eq!(entry, expected);
    assert_ne!(mr.lkey() >> 8, 0, "key 0 is never valid");

    mr.write(9_890, &[7; 9]).unwrap();
    assert_eq!(
        mr.to_vec(9_889..9_899).unwrap(),
        [0, 7, 7, 7, 7, 7, 7, 7, 7, 7]
    );
    let mut seen = [0; 9];
    buffer.read(9_990, &mut seen).unwrap();
    assert_eq!(seen, [7; 9]);
    assert!(matches!(
        mr.write(9_891, &[7; 9]),
        Err(DmaError::Range { .. })
    ));
    assert!(matches!(mr.sge(9_899..9_900), Err(DmaError::Range { .. })));
    assert!(matches!(mr.remote(9_900), Err(DmaError::Range { .. })));
    let sge = mr.sge(1..11).unwrap();
    assert_eq!(
        (sge.addr, sge.len, sge.lkey),
        (buffer.iova() + 101, 10, mr.lkey())
    );

    assert!(matches!(
        pd.register(buffer.clone(), Access::REMOTE_WRITE),
        Err(Error::Access)
    ));
    let range = 9_999..10_001;
    assert!(matches!(
        pd.register_range(buffer, range, access),
        Err(Error::Dma(_))
    ));
}

#[test]
fn a_region_keeps_its_memory_and_stale_keys_differ() {
    let card = TestCard::new();
    let device = card.open();
    let pd = device.create_pd().unwrap();
    let mut keys = Vec::new();
    for _ in 0..3 * MRS {
        let buffer = card.memory.allocate(64, 64).unwrap();
        let mr = pd.register(buffer, Access::NONE).unwrap();
        assert_eq!(card.memory.regions(), 1);
        keys.push(mr.rkey());
        card.take_ran();
        drop(mr);
        let ran = card.take_ran().remove(0);
        assert_eq!(ran.command, Command::DeregMr);
        assert!(!MrCfg::from_bits(ran.entry(Table::Mr)).valid);
        assert_eq!(card.memory.regions(), 0);
    }
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 3 * MRS as usize);
}

#[test]
fn memory_of_a_card_that_does_not_answer_is_kept() {
    let bench = Bench::connected(16);
    let card = bench.card.clone();
    let regions = card.memory.regions();
    assert_eq!(regions, 4, "CQ ring, SQ ring, RQ ring, buffer");
    card.state().dead = true;
    drop(bench);
    assert_eq!(card.memory.regions(), regions);
}

#[test]
fn everything_is_given_back_whatever_is_dropped_first() {
    let Bench {
        qp,
        mr,
        cq,
        pd,
        device,
        card,
    } = Bench::connected(16);
    drop(device);
    drop(cq);
    drop(pd);
    assert_eq!(card.take_commands(), [], "the QP still uses its CQ");
    drop(qp);
    assert_eq!(
        card.take_commands(),
        [Command::QpToReset, Command::DestroyCq]
    );
    drop(mr);
    assert_eq!(card.take_commands(), [Command::DeregMr]);
    assert_eq!(card.memory.regions(), 0);
}

#[test]
fn objects_of_two_cards_do_not_mix() {
    let (a, b) = (TestCard::new().open(), TestCard::new().open());
    let cq = b.create_cq(4).unwrap();
    let error = a.create_pd().unwrap().qp(&cq).build().unwrap_err();
    assert!(matches!(error, Error::OtherDevice { what: "CQ" }));
}

/// What the card answers to a query is read from where it stands.
#[test]
fn queries_read_the_answer() {
    let bench = Bench::connected(4);
    let info = QpInfo {
        state: QpState::Rts as u8,
        has_recv: true,
        recv_cq: 1,
        has_send: true,
        send_cq: 2,
        sq_psn: 0x12_3456,
        una_psn: 0x12_3450,
        sq_posted: 9,
        sq_begun: 8,
        sq_oldest: 7,
        rq_posted: 6,
        rq_next: 0xFFFF,
        has_srq: true,
        srq: 0x155,
    };
    for (word, value) in (0..).zip(info.to_bits().unwrap()) {
        let place = regs::MAILBOX_OUT + 8 * word;
        bench.card.state().counters.insert(place, value);
    }
    assert_eq!(bench.qp.query().unwrap(), info);
    let queue = bench.cq.query().unwrap();
    bench.mr.query().unwrap();
    assert_eq!(
        bench.card.take_commands(),
        [Command::QueryQp, Command::QueryCq, Command::QueryMr]
    );
    assert_eq!(queue, QueueInfo::from_bits(&info.to_bits().unwrap()));
    bench.card.state().refuse = Some(CommandStatus::NoObject);
    assert!(matches!(
        bench.mr.query(),
        Err(Error::CommandRefused {
            command: Command::QueryMr,
            status: CommandStatus::NoObject,
            ..
        })
    ));
}

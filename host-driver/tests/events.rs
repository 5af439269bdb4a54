//! Event queues, arming and waiting.

mod card;

use card::{cqe, Bench, TestCard, EQS};
use ferroce_abi::cfg::{CqCfg, EqCfg, Table};
use ferroce_abi::eqe::{Eqe, EventKind, UnknownEvent, KIND};
use ferroce_abi::mailbox::Command;
use ferroce_abi::regs::{CqArm, EqDoorbell, FEATURES};
use ferroce_driver::{EqAttr, Error, Event, Interrupts, RecvWr, WaitError, WcOpcode};
use std::sync::Mutex;
use std::time::Duration;

fn eqe(kind: EventKind, index: u32) -> Eqe {
    Eqe {
        kind,
        index,
        phase: false,
    }
}

fn write(card: &TestCard, kind: EventKind, index: u32) {
    card.write_event(0, |_| (), eqe(kind, index));
}

/// Interrupts that come when they are told to, and do something first.
struct Scripted<F>(Mutex<Vec<F>>);

impl<F> std::fmt::Debug for Scripted<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl<F: FnOnce() -> u64 + Send> Interrupts for Scripted<F> {
    fn wait(&self, vector: u8, timeout: Duration) -> Result<u64, WaitError> {
        assert_eq!((vector, timeout), (1, Duration::from_millis(7)));
        let next = self.0.lock().unwrap().pop();
        match next {
            Some(script) => Ok(script()),
            None => Err(WaitError {
                vector,
                source: "nothing is scripted".into(),
            }),
        }
    }
}

#[test]
fn queues_are_made_as_described_and_taken_off_in_order() {
    let card = TestCard::new();
    let device = card.open();
    assert_eq!(device.capabilities().eqs, EQS);
    let page = device.create_page().unwrap();
    let attr = EqAttr {
        gap: Duration::from_micros(10),
        ..EqAttr::new(5, 1)
    };
    let eq = device.create_eq(attr, Some(&page)).unwrap();
    assert_eq!((eq.eqn(), eq.capacity()), (0, 8));
    let ran = card.take_ran().remove(0);
    assert_eq!((ran.command, ran.object), (Command::CreateEq, 0));
    let entry = EqCfg::from_bits(ran.entry(Table::Eq));
    // 10 us are 2500 cycles: ten units.
    let expected = EqCfg {
        enabled: true,
        base: entry.base,
        log_size: 3,
        page: page.number(),
        vector: 1,
        gap: 10,
    };
    assert_eq!(entry, expected);
    assert_eq!(entry.base % 4096, 0);
    let cq = device.create_cq_with(&eq, None, 4).unwrap();
    let made = card.take_ran().remove(0);
    let entry = CqCfg::from_bits(made.entry(Table::Cq));
    assert_eq!((entry.has_eq, entry.eq, entry.log_size), (true, 0, 2));
    // The CQ keeps its EQ.
    drop(eq);
    assert_eq!(card.take_commands(), []);
    drop(cq);
    let gone = card.take_ran();
    let commands: Vec<_> = gone.iter().map(|ran| ran.command).collect();
    assert_eq!(commands, [Command::DestroyCq, Command::DestroyEq]);
    assert_eq!(EqCfg::from_bits(gone[1].entry(Table::Eq)), EqCfg::default());
}

#[test]
fn wrong_attributes_are_refused() {
    let card = TestCard::new();
    let device = card.open();
    let long = EqAttr {
        gap: Duration::from_millis(5),
        ..EqAttr::new(4, 0)
    };
    for attr in [EqAttr::new(4, EQS as u8), EqAttr::new(0, 0), long] {
        let error = device.create_eq(attr, None).unwrap_err();
        assert!(matches!(error, Error::Attribute { .. }), "{error}");
    }
    let other = TestCard::new().open();
    let eq = other.create_eq(EqAttr::new(4, 0), None).unwrap();
    let error = device.create_cq_with(&eq, None, 4).unwrap_err();
    assert!(matches!(error, Error::OtherDevice { what: "EQ" }));
    let cq = device.create_cq(4).unwrap();
    assert!(matches!(cq.request_notify(false), Err(Error::NoEq { .. })));
    let old = TestCard::new();
    old.state().words.insert(FEATURES, 1);
    let error = old.open().create_eq(EqAttr::new(4, 0), None).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }));
}

#[test]
fn arming_tells_the_consumer_index() {
    let bench = Bench::connected(8);
    let eq = bench.device.create_eq(EqAttr::new(4, 0), None).unwrap();
    let page = bench.device.create_page().unwrap();
    let cq = bench.device.create_cq_with(&eq, Some(&page), 8).unwrap();
    let qp = bench.pd.qp(&cq).recv_depth(4).build().unwrap();
    card::connect(&qp);
    let arm = |solicited_only, consumer| CqArm {
        cqn: cq.cqn(),
        solicited_only,
        consumer,
    };
    assert!(!cq.request_notify(true).unwrap());
    qp.post_recv(RecvWr::new(1, [])).unwrap();
    bench
        .card
        .write_cqe(cq.cqn(), cqe(WcOpcode::Recv, qp.qpn(), 0));
    assert_eq!(cq.poll(4).unwrap().len(), 1);
    assert!(!cq.request_notify(false).unwrap());
    assert_eq!(bench.card.state().cq_arms, [arm(true, 0), arm(false, 1)]);
    let last = bench.card.state().pages_rung.last().copied();
    assert_eq!(last, Some(page.number()));
}

#[test]
fn events_are_taken_in_order_around_the_ring() {
    let card = TestCard::new();
    let eq = card.open().create_eq(EqAttr::new(4, 0), None).unwrap();
    assert_eq!(eq.poll().unwrap(), []);
    assert_eq!(card.state().eq_doorbells, []);
    for round in 0..5 {
        write(&card, EventKind::Completion, 3 * round);
        write(&card, EventKind::CqOverrun, 3 * round + 1);
        write(&card, EventKind::EqOverrun, 0);
        let expected = [
            Event::Completion { cqn: 3 * round },
            Event::CqOverrun { cqn: 3 * round + 1 },
            Event::EqOverrun,
        ];
        assert_eq!(eq.poll().unwrap(), expected);
        let told = card.state().eq_doorbells.last().copied();
        let consumer = 3 * (round + 1);
        let (eqn, arm) = (0, false);
        assert_eq!(told, Some(EqDoorbell { eqn, arm, consumer }));
    }
    card.write_event(0, |bytes| bytes[KIND] = 77, eqe(EventKind::Completion, 1));
    write(&card, EventKind::Completion, 9);
    card.write_event(0, |bytes| bytes[KIND] = 78, eqe(EventKind::Completion, 1));
    assert!(matches!(eq.poll(), Err(Error::Eqe(UnknownEvent(77)))));
    assert_eq!(eq.poll().unwrap(), [Event::Completion { cqn: 9 }]);
    assert!(matches!(eq.poll(), Err(Error::Eqe(UnknownEvent(78)))));
    assert_eq!(eq.poll().unwrap(), []);
}

#[test]
fn waiting_arms_and_sleeps_over_stale_interrupts() {
    let card = TestCard::new();
    let eq = card.open().create_eq(EqAttr::new(4, 1), None).unwrap();
    let timeout = Duration::from_millis(7);
    let script = |makes: bool, count: u64| {
        let card = card.clone();
        move || {
            if makes {
                write(&card, EventKind::Completion, 2);
            }
            count
        }
    };
    // Backwards: a stale one, then one with its event; then none.
    let interrupts = Scripted(Mutex::new(vec![
        script(false, 0),
        script(true, 1),
        script(false, 3),
    ]));
    let found = eq.wait(&interrupts, timeout).unwrap();
    assert_eq!(found, [Event::Completion { cqn: 2 }]);
    let armed = |state: &[EqDoorbell]| state.iter().filter(|bell| bell.arm).count();
    assert_eq!(armed(&card.state().eq_doorbells), 2);
    // What is there is returned at once.
    write(&card, EventKind::EqOverrun, 0);
    assert_eq!(eq.wait(&interrupts, timeout).unwrap(), [Event::EqOverrun]);
    assert_eq!(eq.wait(&interrupts, timeout).unwrap(), []);
    let error = eq.wait(&interrupts, timeout).unwrap_err();
    assert!(matches!(error, Error::Wait(WaitError { vector: 1, .. })));
}

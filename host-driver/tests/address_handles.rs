//! Address handles: what reaches the card, what it answers, and what is refused before.

mod card;

use card::{Bench, TestCard, AHS, PEER};
use ferroce_abi::cfg::{AhCfg, Table};
use ferroce_abi::mailbox::{Command, CommandStatus};
use ferroce_abi::regs;
use ferroce_abi::udp_port;
use ferroce_driver::{AhAttr, Error, Mac};

fn attr() -> AhAttr {
    AhAttr {
        traffic_class: 0x68,
        hop_limit: 3,
        flow_label: 0x4_B0EF,
        ..AhAttr::new(PEER)
    }
}

#[test]
fn a_handle_is_made_changed_and_taken_away() {
    let bench = Bench::new(4);
    let handle = bench.pd.create_ah(attr()).unwrap();
    let ran = bench.card.take_ran().remove(0);
    assert_eq!(
        (ran.command, ran.object),
        (Command::CreateAh, handle.number())
    );
    let made = AhCfg::from_bits(ran.entry(Table::Ah));
    assert!(made.valid);
    assert_eq!((made.dmac, made.ipv4()), (0x0200_0000_000B, Some(PEER.ip)));
    assert_eq!(
        (made.traffic_class, made.hop_limit, made.flow_label),
        (0x68, 3, 0x4_B0EF)
    );
    assert_eq!(made.sport, udp_port::from_flow_label(0x4_B0EF));
    // Objects of one domain have the same number on the card.
    let other = bench.device.create_pd().unwrap();
    let foreign = other.create_ah(attr()).unwrap();
    let ran = bench.card.take_ran().remove(0);
    assert_ne!(AhCfg::from_bits(ran.entry(Table::Ah)).pd, made.pd);
    assert_ne!(foreign.number(), handle.number());

    let changed = AhAttr {
        dmac: Mac([1, 2, 3, 4, 5, 6]),
        ..attr()
    };
    handle.modify(changed).unwrap();
    assert_eq!(handle.attr(), changed);
    let ran = bench.card.take_ran().remove(0);
    assert_eq!(
        (ran.command, ran.object),
        (Command::ModifyAh, handle.number())
    );
    let expected = AhCfg {
        dmac: 0x0102_0304_0506,
        ..made
    };
    assert_eq!(AhCfg::from_bits(ran.entry(Table::Ah)), expected);

    for (word, value) in (0..).zip(expected.to_bits().unwrap()) {
        let place = regs::MAILBOX_OUT + 8 * word;
        bench.card.state().counters.insert(place, value);
    }
    assert_eq!(handle.query().unwrap(), expected);
    bench.card.take_ran();
    let number = handle.number();
    drop(handle);
    let ran = bench.card.take_ran().remove(0);
    assert_eq!((ran.command, ran.object), (Command::DestroyAh, number));
    assert!(!AhCfg::from_bits(ran.entry(Table::Ah)).valid);
}

#[test]
fn what_no_card_can_do_is_refused() {
    let bench = Bench::new(4);
    let wide = AhAttr {
        flow_label: 1 << 20,
        ..attr()
    };
    let second = AhAttr {
        sgid_index: 1,
        ..attr()
    };
    for (bad, name) in [(wide, "flow_label"), (second, "sgid_index")] {
        let error = bench.pd.create_ah(bad).unwrap_err();
        assert!(matches!(error, Error::Attribute { name: found, .. } if found == name));
    }
    let ipv6 = AhAttr {
        dgid: "fe80::1".parse().unwrap(),
        ..attr()
    };
    let unsupported = bench.pd.create_ah(ipv6).unwrap_err();
    assert!(matches!(unsupported, Error::Unsupported { .. }));
    let handle = bench.pd.create_ah(attr()).unwrap();
    bench.card.take_ran();
    assert!(matches!(
        handle.modify(ipv6),
        Err(Error::Unsupported { .. })
    ));
    assert_eq!(bench.card.take_ran(), []);
    // A refusal of the card changes nothing.
    bench.card.state().refuse = Some(CommandStatus::BadArgument);
    let changed = AhAttr {
        hop_limit: 1,
        ..attr()
    };
    let refused = handle.modify(changed).unwrap_err();
    assert!(matches!(
        refused,
        Error::CommandRefused {
            status: CommandStatus::BadArgument,
            ..
        }
    ));
    assert_eq!(handle.attr(), attr());
}

#[test]
fn handles_run_out_and_come_back() {
    let card = TestCard::new();
    let device = card.open();
    assert_eq!(device.capabilities().ahs, AHS);
    let pd = device.create_pd().unwrap();
    let mut handles: Vec<_> = (0..AHS).map(|_| pd.create_ah(attr()).unwrap()).collect();
    let error = pd.create_ah(attr()).unwrap_err();
    assert!(matches!(
        error,
        Error::Exhausted {
            what: "address handles",
            ..
        }
    ));
    let number = handles.remove(1).number();
    assert_eq!(pd.create_ah(attr()).unwrap().number(), number);
    // One that the card refused does not count.
    card.state().refuse = Some(CommandStatus::Exists);
    pd.create_ah(attr()).unwrap_err();
    pd.create_ah(attr()).unwrap();
}

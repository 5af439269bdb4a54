//! Who may reach a QP, and what may be written.

use crate::packet::{Packet, ACK};
use crate::responder::*;
use crate::world::{responder, World, QPS, SMOOTH};
use ferroce_abi::opcode::rc;
use ferroce_abi::regs::Counter;
use ferroce_emit::harness::random;

#[test]
fn writes_need_rights() {
    type Variant<'a> = &'a dyn Fn(&mut Packet, &mut World);
    let variants: [Variant; 6] = [
        &|packet, _| packet.rkey ^= 1,
        &|packet, _| packet.va = 0xFFFF,
        &|packet, _| packet.va = 0x20000 - 39,
        &|packet, _| packet.va = u64::MAX - 20,
        &|_, world| world.regions[0].access = 5,
        &|_, world| world.regions[0].pd = 8,
    ];
    for variant in variants {
        let mut world = ready(random(), SMOOTH);
        let mut only = packet(rc::WRITE_ONLY, 0, 40);
        variant(&mut only, &mut world);
        expect(
            &mut world,
            &[only, packet(rc::WRITE_ONLY, 1, 4)],
            &[(0, ACCESS, 0)],
        );
        assert_eq!(world.take_rx_cqes(), []);
        assert_eq!(world.bytes_written(), 0);
        assert_eq!(
            world.take_counters(),
            [(Counter::RxDropQpState, 1), (Counter::ResponderErrors, 1)]
        );
    }
    // The QP's own right.
    let mut world = ready(random(), SMOOTH);
    let mut cfg = responder(0, start_psn(0));
    cfg.access = 5;
    world.configure_responder(0, &cfg);
    world.settle();
    expect(
        &mut world,
        &[packet(rc::WRITE_ONLY, 0, 4)],
        &[(0, INVALID, 0)],
    );
    // The whole range is checked with the first packet.
    let mut world = ready(random(), SMOOTH);
    let mut first = packet(rc::WRITE_FIRST, 0, MTU);
    first.dma_len = Some(0x10001);
    expect(&mut world, &[first], &[(0, ACCESS, 0)]);
    assert_eq!(world.bytes_written(), 0);
    // A region that goes away in the middle of a message takes no more.
    let mut world = ready(random(), SMOOTH);
    let mut first = packet(rc::WRITE_FIRST, 0, MTU);
    first.dma_len = Some(2 * MTU as u32);
    expect(&mut world, &[first], &[(0, ACK, 0)]);
    world.regions.clear();
    expect(
        &mut world,
        &[packet(rc::WRITE_LAST, 1, MTU)],
        &[(1, ACCESS, 0)],
    );
    assert_eq!(world.bytes_written(), MTU);
}

#[test]
fn strangers_are_ignored() {
    let mut world = ready(random(), SMOOTH);
    type Change<'a> = &'a dyn Fn(&mut Packet);
    let cases: [(Change, Counter); 7] = [
        (&|p| p.qpn = QPS as u32, Counter::RxDropQpn),
        (&|p| p.qpn = 0xFF_FFFF, Counter::RxDropQpn),
        (&|p| p.qpn = 1 << 14, Counter::RxDropQpn),
        (&|p| p.pkey = 0xFFFE, Counter::RxDropPkey),
        (&|p| p.pkey = 0, Counter::RxDropPkey),
        (&|p| p.source[3] = 9, Counter::RxDropPeer),
        (&|p| p.qpn = 5, Counter::RxDropQpState),
    ];
    let mut disabled = responder(5, start_psn(0));
    disabled.enabled = false;
    world.configure_responder(5, &disabled);
    world.settle();
    for (index, (change, counter)) in cases.into_iter().enumerate() {
        let mut stranger = packet(rc::WRITE_ONLY, 0, 4);
        change(&mut stranger);
        expect(&mut world, &[stranger], &[]);
        assert_eq!(world.take_counters(), [(counter, 1)], "case {index}");
    }
    // Limited members reach full ones, and not each other.
    expect(
        &mut world,
        &[Packet {
            pkey: 0x7FFF,
            ..packet(rc::WRITE_ONLY, 0, 4)
        }],
        &[(0, ACK, 1)],
    );
    let mut limited = responder(0, start_psn(0));
    limited.pkey = 0x7FFF;
    world.configure_responder(0, &limited);
    world.settle();
    expect(
        &mut world,
        &[
            Packet {
                pkey: 0x7FFF,
                ..packet(rc::WRITE_ONLY, 0, 4)
            },
            packet(rc::WRITE_ONLY, 0, 4),
        ],
        &[(0, ACK, 1)],
    );
    // Responses of kinds that nothing here asks for.
    world.take_counters();
    for opcode in [
        rc::READ_RESPONSE_FIRST,
        rc::READ_RESPONSE_MIDDLE,
        rc::READ_RESPONSE_ONLY,
        rc::ATOMIC_ACKNOWLEDGE,
    ] {
        expect(&mut world, &[packet(opcode, 0, 0)], &[]);
    }
    assert_eq!(world.take_counters(), [(Counter::RxDropOpcode, 4)]);
    assert_eq!(world.bytes_written(), 4);
}

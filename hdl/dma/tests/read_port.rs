//! Requests of three clients through one port, and their data back.

use ferroce_dma::read_arb::DmaReadArb;
use ferroce_dma::read_demux::DmaReadDemux;
use ferroce_dma::tags;
use ferroce_emit::harness::random;
use ferroce_emit::on_big_stack;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use rand::Rng;
use std::collections::VecDeque;

fn settle<U: Block>(uut: &mut U) {
    assert!(simulate(uut, 64), "logic does not settle");
}

/// Offers the oldest item of a queue.
fn offer<T: Synth>(port: &mut StreamIn<T>, items: &VecDeque<T>) {
    port.valid.next = !items.is_empty();
    port.data.next = items.front().copied().unwrap_or_default();
}

/// Takes the item away if it went through.
fn advance<T: Synth>(port: &StreamIn<T>, items: &mut VecDeque<T>) {
    if port.valid.val() & port.ready.val() {
        items.pop_front();
    }
}

/// Collects what went through.
fn collect<T: Synth>(port: &StreamOut<T>, ready: bool, items: &mut Vec<T>) {
    if port.valid.val() & ready {
        items.push(port.data.val());
    }
}

fn request(base: u8, number: u64) -> DmaReadReq {
    DmaReadReq {
        addr: number.into(),
        len: 64.into(),
        tag: (u64::from(base) + number % 32).into(),
        ordered: false,
    }
}

/// First tags.
const CLIENTS: [u8; 5] = [
    tags::PAYLOAD,
    tags::SQ,
    tags::RQ,
    tags::TX_PAGES,
    tags::RX_PAGES,
];

#[test]
fn requests_of_a_client_stay_in_order_and_every_client_gets_its_share() {
    on_big_stack(|| {
        let mut rng = random();
        let mut uut = DmaReadArb::default();
        uut.connect_all();
        check_all(&uut).expect("the design is wired");
        let bases = CLIENTS;
        let mut queues =
            bases.map(|base| (0..300).map(|n| request(base, n)).collect::<VecDeque<_>>());
        let mut taken = Vec::new();
        let mut shares = None;
        while queues.iter().any(|queue| !queue.is_empty()) || taken.len() < 1500 {
            offer(&mut uut.payload, &queues[0]);
            offer(&mut uut.sq, &queues[1]);
            offer(&mut uut.rq, &queues[2]);
            offer(&mut uut.tx_pages, &queues[3]);
            offer(&mut uut.rx_pages, &queues[4]);
            let ready = rng.gen_bool(0.8);
            uut.request.ready.next = ready;
            uut.clock.next = false.into();
            settle(&mut uut);
            advance(&uut.payload, &mut queues[0]);
            advance(&uut.sq, &mut queues[1]);
            advance(&uut.rq, &mut queues[2]);
            advance(&uut.tx_pages, &mut queues[3]);
            advance(&uut.rx_pages, &mut queues[4]);
            collect(&uut.request, ready, &mut taken);
            uut.clock.next = true.into();
            settle(&mut uut);
            if taken.len() == 400 && shares.is_none() {
                shares = Some(bases.map(|base| count(&taken, base)));
            }
        }
        for base in bases {
            let own: Vec<u64> = taken
                .iter()
                .filter(|request| owner(request) == base)
                .map(|request| request.addr.to_u64())
                .collect();
            assert_eq!(own, (0..300).collect::<Vec<_>>(), "client {base:#x}");
        }
        let [payload, others @ ..] = shares.expect("400 requests went through");
        assert!((198..=202).contains(&payload), "{payload} of 400");
        assert!(
            others.iter().all(|share| (47..=53).contains(share)),
            "{others:?} of 400"
        );
    });
}

fn owner(request: &DmaReadReq) -> u8 {
    let tag = request.tag.to_u64() as u8;
    let bases = CLIENTS.into_iter().filter(|&base| base <= tag);
    bases.max().expect("payload's tags begin at 0")
}

fn count(taken: &[DmaReadReq], base: u8) -> usize {
    taken
        .iter()
        .filter(|request| owner(request) == base)
        .count()
}

#[test]
fn beats_reach_the_client_of_their_tag() {
    on_big_stack(|| {
        let mut rng = random();
        let mut uut = DmaReadDemux::default();
        uut.connect_all();
        check_all(&uut).expect("the design is wired");
        let beats: Vec<DmaReadBeat> = (0..500_u64)
            .map(|number| DmaReadBeat {
                data: bit_cast::<512, 64>((number * 0x1_0000_0001).into()) << 200,
                tag: rng.gen_range(0..256_u64).into(),
                last: rng.gen(),
                err: rng.gen(),
            })
            .collect();
        let mut queue: VecDeque<_> = beats.iter().copied().collect();
        let mut taken = [const { Vec::new() }; 6];
        let (mut failed, mut cycles) = (0, 0);
        while taken.iter().map(Vec::len).sum::<usize>() < beats.len() {
            // Clients are always ready; one that is not must delay, not lose.
            let ready: [bool; 6] = std::array::from_fn(|_| cycles < 300 || rng.gen_bool(0.7));
            offer(&mut uut.beat, &queue);
            uut.payload.ready.next = ready[0];
            uut.sq.ready.next = ready[1];
            uut.rq.ready.next = ready[2];
            uut.tx_pages.ready.next = ready[3];
            uut.rx_pages.ready.next = ready[4];
            uut.atomic.ready.next = ready[5];
            uut.clock.next = false.into();
            settle(&mut uut);
            if cycles < 300 {
                assert!(
                    uut.beat.ready.val(),
                    "a beat waits although all clients are ready"
                );
            }
            advance(&uut.beat, &mut queue);
            collect(&uut.payload, ready[0], &mut taken[0]);
            collect(&uut.sq, ready[1], &mut taken[1]);
            collect(&uut.rq, ready[2], &mut taken[2]);
            collect(&uut.tx_pages, ready[3], &mut taken[3]);
            collect(&uut.rx_pages, ready[4], &mut taken[4]);
            collect(&uut.atomic, ready[5], &mut taken[5]);
            failed += usize::from(uut.failed.val());
            uut.clock.next = true.into();
            settle(&mut uut);
            cycles += 1;
        }
        let ranges = [
            0..0x80,
            0x80..0xA0,
            0xC0..0xDF,
            0xA0..0xC0,
            0xE0..0x100,
            0xDF..0xE0,
        ];
        for (taken, range) in taken.iter().zip(ranges) {
            let own: Vec<DmaReadBeat> = beats
                .iter()
                .filter(|beat| range.contains(&beat.tag.to_u64()))
                .copied()
                .collect();
            assert_eq!(*taken, own);
        }
        let errors = beats.iter().filter(|beat| beat.last & beat.err).count();
        assert_eq!(failed, errors);
    });
}

//! The host's requests to the card.

use super::*;
use crate::root::Answer;
use crate::tlp::{Completion, Status};
use crate::usp::inverse::{cc_beats, cq_packet};

const BAR: u64 = 0xe000_0000;

impl Bench {
    /// Requests that came on CQ so far, each of one beat.
    fn requests(&self) -> Vec<CqPacket> {
        let beats = self.cq.iter();
        beats
            .map(|beat| cq_packet(std::slice::from_ref(beat)))
            .collect()
    }

    /// Answers a read with bytes that follow from the address, in one piece.
    fn answer(&mut self, read: &MemRead) {
        let first = read.first_byte();
        let payload = (0..read.dwords as u64 * 4).map(|k| (read.addr + k) as u8);
        let completion = Completion {
            requester: read.requester,
            tag: read.tag,
            completer: 0,
            status: Status::Success,
            byte_count: read.byte_count(),
            lower_address: first as u8 & 0x7f,
            poisoned: false,
            payload: payload.collect(),
        };
        self.cc.extend(cc_beats(&completion, &[]));
    }
}

#[test]
fn stores_and_loads_reach_the_card_in_order() {
    let mut bench = Bench::steady();
    bench.block.root.host_write(BAR + 0x1004, &[1, 2, 3, 4]);
    let tag = bench.block.root.host_read(BAR + 0x1008, 8);
    bench.block.root.host_write(BAR + 0x1010, &[5; 8]);
    bench.run(100);
    let packets = bench.requests();
    assert_eq!(
        packets[0].request,
        Request::Write(MemWrite::of_bytes(BAR + 0x1004, &[1, 2, 3, 4], 0))
    );
    assert_eq!((packets[0].bar, packets[0].aperture), (0, 20));
    assert_eq!(packets[2].request.payload(), [5; 8]);
    let Request::Read(read) = &packets[1].request else {
        panic!("{packets:?}");
    };
    assert_eq!(bench.block.root.answer(), None);
    bench.answer(read);
    bench.run_until_idle();
    let bytes = Ok((8..16).collect());
    assert_eq!(bench.block.root.answer(), Some(Answer { tag, bytes }));
}

#[test]
fn odd_loads_come_back_and_tags_are_used_again() {
    let mut bench = Bench::steady();
    let mut answered = 0;
    let places: Vec<(u64, usize)> = (0..600u64)
        .map(|k| (k * 13 % 4000, 1 + k as usize % 64))
        .collect();
    let tags: Vec<u8> = places
        .iter()
        .map(|&(offset, len)| bench.block.root.host_read(BAR + offset, len))
        .collect();
    let mut answers = Vec::new();
    for _ in 0..20_000 {
        bench.step();
        for packet in bench.requests().drain(answered..) {
            answered += 1;
            let Request::Read(read) = packet.request else {
                panic!("{packet:?}");
            };
            bench.answer(&read);
        }
        answers.extend(bench.block.root.answer());
    }
    assert_eq!(bench.block.violation(), None);
    assert_eq!(answers.len(), places.len());
    for ((&(offset, len), &tag), answer) in places.iter().zip(&tags).zip(answers) {
        let bytes = (0..len as u64).map(|k| (offset + k) as u8).collect();
        assert_eq!(
            answer,
            Answer {
                tag,
                bytes: Ok(bytes)
            }
        );
    }
}

/// Tags have 8 bits.
#[test]
fn no_more_loads_than_tags_are_outstanding() {
    let mut bench = Bench::steady();
    for k in 0..300 {
        bench.block.root.host_read(BAR + k * 8, 8);
    }
    bench.run(2000);
    assert_eq!(bench.requests().len(), 256);
}

#[test]
fn a_refused_load_has_a_status() {
    let mut bench = Bench::steady();
    let tag = bench.block.root.host_read(BAR, 4);
    bench.run(100);
    let packet = bench.requests().remove(0);
    let mut log = vec![0xf, 0, 0, 0];
    log.extend_from_slice(&packet.descriptor().to_le_bytes());
    let refused = Completion {
        requester: 0,
        tag,
        completer: 0,
        status: Status::UnsupportedRequest,
        byte_count: 4,
        lower_address: 0,
        poisoned: false,
        payload: Vec::new(),
    };
    bench.cc.extend(cc_beats(&refused, &log));
    bench.run_until_idle();
    let bytes = Err(Status::UnsupportedRequest);
    assert_eq!(bench.block.root.answer(), Some(Answer { tag, bytes }));
}

/// An answer to the card does not pass a store that the host made before it, but passes a load.
#[test]
fn answers_wait_for_stores_before_them() {
    for (store, passes) in [(true, false), (false, true)] {
        let mut bench = Bench::steady();
        bench.cq_ready = false;
        bench.send(&[read(BASE, 64, 3)]);
        match store {
            true => bench.block.root.host_write(BAR, &[1; 4]),
            false => drop(bench.block.root.host_read(BAR, 4)),
        }
        bench.run(1000);
        assert_eq!(bench.packets.len(), usize::from(passes));
        bench.cq_ready = true;
        bench.run(10);
        assert_eq!(bench.packets.len(), 1);
    }
}

/// Of three loads one is granted; the store behind them does not wait.
#[test]
fn loads_need_grants() {
    let mut bench = Bench::steady();
    bench.cq_grant = false;
    for k in 0..3 {
        bench.block.root.host_read(BAR + k * 8, 8);
    }
    bench.block.root.host_write(BAR, &[1; 4]);
    bench.run(200);
    assert_eq!(bench.requests().len(), 1);
    assert!(matches!(bench.requests()[0].request, Request::Write(_)));
    bench.cq_grant = true;
    bench.step();
    bench.cq_grant = false;
    bench.run(200);
    assert_eq!(bench.requests().len(), 2);
    assert_eq!(bench.requests()[1].request.addr(), BAR);
}

#[test]
fn a_wrong_answer_is_a_violation() {
    let mut bench = Bench::steady();
    bench.block.root.host_read(BAR, 4);
    bench.run(100);
    let wrong = MemRead::of_bytes(BAR, 8, 0, 0);
    bench.answer(&wrong);
    (0..10).for_each(|_| bench.step());
    assert!(matches!(bench.block.violation(), Some(Violation::Cc(_))));
}

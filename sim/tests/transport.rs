//! The software requester and responder with each other, over a wire that loses, doubles and swaps packets.

use std::collections::VecDeque;

use ferroce_abi::cqe::Status;
use ferroce_abi::mr::Access;
use ferroce_sim::transport::{
    suffer, Memory, Receive, Region, Requester, RequesterConfig, Responder, ResponderConfig, Work,
    WorkOp,
};
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

const PD: u32 = 3;
/// Target of WRITEs, source of READs, and counters; each message has bytes of its own.
const REMOTE: u32 = 0x100;
const BASE: u64 = 0xffff_ffff_0000_0000;
/// Receive buffers.
const LOCAL: u32 = 0x200;
const ROOM: usize = 1 << 20;

struct Planned {
    work: Work,
    /// Where its bytes must be in the end: key, offset.
    goal: Option<(u32, usize)>,
    receive: Option<Receive>,
}

/// Random messages on bytes of their own.
fn plan(rng: &mut ChaCha8Rng, count: usize, pmtu: usize) -> Vec<Planned> {
    let mut next = 0;
    (0..count as u64)
        .map(|wr_id| {
            let len = match rng.gen_range(0..4) {
                0 => 0,
                1 => pmtu * rng.gen_range(1..4),
                _ => rng.gen_range(1..4 * pmtu),
            };
            let at = usize::next_multiple_of(next, 8);
            next = at + len.max(8) + rng.gen_range(0..9);
            let (va, rkey) = (BASE + at as u64, REMOTE);
            let receive = Receive {
                wr_id,
                lkey: LOCAL,
                va: at as u64,
                len: len as u32,
            };
            let imm = rng.gen();
            let (op, goal, receive) = match rng.gen_range(0..7) {
                0 => (WorkOp::Send, Some((LOCAL, at)), Some(receive)),
                1 => (WorkOp::SendWithImm(imm), Some((LOCAL, at)), Some(receive)),
                2 => (WorkOp::Write { va, rkey }, Some((REMOTE, at)), None),
                3 => {
                    let op = WorkOp::WriteWithImm { va, rkey, imm };
                    (op, Some((REMOTE, at)), Some(receive))
                }
                4 => {
                    let len = len as u32;
                    (WorkOp::Read { va, rkey, len }, None, None)
                }
                5 => {
                    let (compare, swap) = (rng.gen_range(0..2), rng.gen());
                    let op = WorkOp::CompareSwap {
                        va,
                        rkey,
                        compare,
                        swap,
                    };
                    (op, None, None)
                }
                _ => {
                    let add = rng.gen();
                    (WorkOp::FetchAdd { va, rkey, add }, None, None)
                }
            };
            let mut data = vec![0; if op.carries_payload() { len } else { 0 }];
            rng.fill_bytes(&mut data);
            let work = Work {
                wr_id,
                op,
                data,
                solicited: rng.gen(),
            };
            Planned {
                work,
                goal,
                receive,
            }
        })
        .collect()
}

fn run(seed: u64, evil: f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let pmtu = [256, 1024, 4096][rng.gen_range(0..3)];
    let psn = [0xff_fff0, 0, 0x7f_ffff][rng.gen_range(0..3)];
    let mut memory = Memory::default();
    for (key, base) in [(REMOTE, BASE), (LOCAL, 0)] {
        let region = Region {
            pd: PD,
            access: Access::ALL,
            base,
            bytes: vec![0; ROOM],
        };
        memory.insert(key, region);
    }
    let mut requester = Requester::new(RequesterConfig {
        peer_qpn: 7,
        pmtu,
        psn,
    });
    let mut responder = Responder::new(ResponderConfig {
        peer_qpn: 8,
        pmtu,
        psn,
        pd: PD,
        access: Access::ALL,
        min_rnr_timer: 1,
        max_dest_rd_atomic: 64,
    });
    let planned = plan(&mut rng, 30, pmtu);
    let mut receives: VecDeque<Receive> = planned.iter().filter_map(|one| one.receive).collect();
    let (mut there, mut back) = (VecDeque::new(), VecDeque::new());
    for one in &planned {
        for packet in requester.post(one.work.clone()) {
            suffer(&mut rng, evil, &mut there, packet);
        }
    }
    let mut rounds = 0;
    while requester.pending() > 0 {
        rounds += 1;
        assert!(rounds < 100_000, "stuck");
        if rng.gen() {
            if let Some(packet) = there.pop_front() {
                for answer in responder.receive(&packet, &mut memory) {
                    suffer(&mut rng, evil, &mut back, answer);
                }
            }
        } else if let Some(packet) = back.pop_front() {
            for again in requester.receive(&packet) {
                suffer(&mut rng, evil, &mut there, again);
            }
        }
        if there.is_empty() && back.is_empty() {
            // Receivers that were not ready now are; a time-out is over.
            for receive in receives.drain(..receives.len().min(3)) {
                responder.post(receive);
            }
            for again in requester.again() {
                suffer(&mut rng, evil, &mut there, again);
            }
        }
        assert!(!responder.is_dead(), "a good request was refused");
    }
    let done = requester.take_done();
    for (one, done) in planned.iter().zip(&done) {
        assert_eq!((done.wr_id, done.status), (one.work.wr_id, Status::Success));
        if let Some((key, at)) = one.goal {
            let bytes = memory.bytes(key).expect("the region is there");
            assert_eq!(bytes[at..at + one.work.data.len()], one.work.data[..]);
        }
        // Nobody else touches its counter, which was 0.
        let word = |va: u64| {
            let at = (va - BASE) as usize;
            let bytes = &memory.bytes(REMOTE).expect("the region is there")[at..at + 8];
            u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
        };
        match one.work.op {
            WorkOp::Read { len, .. } => assert_eq!(done.data, vec![0; len as usize]),
            WorkOp::CompareSwap {
                va, compare, swap, ..
            } => {
                assert_eq!(done.data, [0; 8]);
                assert_eq!(word(va), if compare == 0 { swap } else { 0 });
            }
            WorkOp::FetchAdd { va, add, .. } => {
                assert_eq!((done.data.as_slice(), word(va)), (&[0; 8][..], add));
            }
            _ => {}
        }
    }
    assert_eq!(done.len(), planned.len());
    let wanted: Vec<(u64, Option<u32>)> = planned
        .iter()
        .filter(|one| one.receive.is_some())
        .map(|one| match one.work.op {
            WorkOp::SendWithImm(imm) | WorkOp::WriteWithImm { imm, .. } => {
                (one.work.wr_id, Some(imm))
            }
            _ => (one.work.wr_id, None),
        })
        .collect();
    let delivered = responder.take_delivered();
    let got: Vec<_> = delivered.iter().map(|d| (d.wr_id, d.imm)).collect();
    assert_eq!(got, wanted);
}

#[test]
fn every_operation_survives_every_wire() {
    for seed in 0..300 {
        for evil in [0.0, 0.02, 0.1] {
            let run = std::panic::catch_unwind(|| run(seed, evil));
            assert!(run.is_ok(), "seed {seed}, evil {evil}");
        }
    }
}

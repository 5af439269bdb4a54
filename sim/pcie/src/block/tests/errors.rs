//! What goes wrong, and what the card gets to see of it.

use super::*;
use crate::enables::ByteEnables;
use crate::root::{Fault, FaultRates, Scripted};
use crate::tlp::{OtherRequest, RequestType, Status};
use crate::usp::ErrorCode;

/// Outcomes of a read of 512 bytes, which is answered in two pieces, when a fault befalls one of them.
fn suffer(piece: usize, fault: Fault) -> Vec<(ErrorCode, bool)> {
    let config = BlockConfig {
        completion_timeout: Some(5000),
        ..BlockConfig::default()
    };
    let root = RootConfig {
        read_jitter: 0,
        ..RootConfig::default()
    };
    let mut bench = Bench::new(config, root, 0);
    bench.block.root.script(Scripted {
        read: 1,
        piece,
        fault,
    });
    let requests: Vec<Request> = (0..3).map(|tag| read(BASE, 512, tag)).collect();
    bench.send(&requests);
    bench.run_until_idle();
    let good = [(ErrorCode::None, false), (ErrorCode::None, true)];
    assert_eq!(bench.outcomes(0), good);
    assert_eq!(bench.outcomes(2), good);
    assert_eq!(bench.block.root.stats().faults, 1);
    bench.outcomes(1)
}

#[test]
fn faults_become_error_codes() {
    use ErrorCode::{
        BadStatus, InvalidAddress, InvalidLength, InvalidTag, None, Poisoned, Timeout,
    };
    let abort = Fault::Status(Status::CompleterAbort);
    assert_eq!(suffer(0, abort), [(BadStatus, true)]);
    assert_eq!(suffer(1, abort), [(None, false), (BadStatus, true)]);
    assert_eq!(
        suffer(0, Fault::Poisoned),
        [(Poisoned, false), (None, true)]
    );
    assert_eq!(
        suffer(1, Fault::Poisoned),
        [(None, false), (Poisoned, true)]
    );
    assert_eq!(suffer(0, Fault::Lost), [(InvalidAddress, true)]);
    assert_eq!(suffer(1, Fault::Lost), [(None, false), (Timeout, true)]);
    assert_eq!(suffer(0, Fault::LostRest), [(Timeout, true)]);
    assert_eq!(
        suffer(0, Fault::Duplicate),
        [(None, false), (InvalidLength, true), (InvalidTag, false)]
    );
    assert_eq!(
        suffer(1, Fault::Duplicate),
        [(None, false), (None, true), (InvalidTag, false)]
    );
    assert_eq!(suffer(1, Fault::Late(1000)), [(None, false), (None, true)]);
    assert_eq!(
        suffer(1, Fault::Late(6000)),
        [(None, false), (Timeout, true), (InvalidTag, false)]
    );
}

#[test]
fn an_unexpected_completion_has_no_request() {
    let mut bench = Bench::steady();
    bench.block.root.script(Scripted {
        read: 0,
        piece: 0,
        fault: Fault::Unexpected,
    });
    bench.send(&[read(BASE, 64, 9)]);
    bench.run_until_idle();
    let errors: Vec<ErrorCode> = bench.packets.iter().map(|(_, p)| p.error).collect();
    assert_eq!(errors, [ErrorCode::None, ErrorCode::InvalidTag]);
}

#[test]
fn a_late_answer_keeps_its_place_in_its_own_read_alone() {
    let mut bench = Bench::steady();
    bench.block.root.script(Scripted {
        read: 0,
        piece: 0,
        fault: Fault::Late(2000),
    });
    bench.send(&[read(BASE, 64, 0), read(BASE, 64, 1)]);
    bench.run_until_idle();
    let tags: Vec<u8> = bench
        .packets
        .iter()
        .map(|(_, p)| p.completion.tag)
        .collect();
    assert_eq!(tags, [1, 0]);
    assert!(bench.packets[1].0 > bench.packets[0].0 + 1900);
}

#[test]
fn without_a_time_out_a_lost_read_waits_for_ever() {
    let config = BlockConfig {
        completion_timeout: None,
        ..BlockConfig::default()
    };
    let mut bench = Bench::new(config, RootConfig::default(), 0);
    bench.block.root.script(Scripted {
        read: 0,
        piece: 0,
        fault: Fault::LostRest,
    });
    bench.send(&[read(BASE, 64, 9)]);
    bench.run(100_000);
    assert_eq!((bench.packets.len(), bench.block.outstanding()), (0, 1));
    // Its tag is still taken.
    bench.send(&[read(BASE, 64, 9)]);
    bench.step();
    assert_eq!(bench.block.violation(), Some(Violation::TagInUse(9)));
}

#[test]
fn holes_in_memory_are_unsupported_requests() {
    let mut bench = Bench::steady();
    let end = BASE + bench.memory.bytes.len() as u64;
    bench.send(&[
        read(end - 256, 256, 0),
        read(end, 4, 1),
        write(BASE - 4, &[1; 4]),
        // No byte is read, so none can be missing.
        read(end, 0, 2),
    ]);
    bench.run_until_idle();
    assert_eq!(bench.outcomes(0), [(ErrorCode::None, true)]);
    assert_eq!(bench.outcomes(1), [(ErrorCode::BadStatus, true)]);
    assert_eq!(bench.outcomes(2), [(ErrorCode::None, true)]);
    let status = |tag| {
        let packet = bench.packets.iter().find(|(_, p)| p.completion.tag == tag);
        packet.map(|(_, p)| (p.completion.status, p.completion.payload.len()))
    };
    assert_eq!(status(1), Some((Status::UnsupportedRequest, 0)));
    assert_eq!(status(2), Some((Status::Success, 4)));
    assert_eq!(bench.block.root.stats().unmapped, 2);
}

#[test]
fn atomics_are_unsupported() {
    let mut bench = Bench::steady();
    bench.send(&[Request::Other(OtherRequest {
        kind: RequestType::FetchAdd,
        addr: BASE,
        dwords: 2,
        enables: ByteEnables {
            first: 15,
            last: 15,
        },
        tag: 77,
        requester: 0,
        payload: vec![1; 8],
    })]);
    bench.run_until_idle();
    assert_eq!(bench.outcomes(77), [(ErrorCode::BadStatus, true)]);
    assert_eq!(bench.block.root.stats().unsupported, 1);
}

#[test]
fn every_read_ends_whatever_happens() {
    let rate = 0.05;
    let root = RootConfig {
        faults: FaultRates {
            unsupported: rate,
            abort: rate,
            poisoned: rate,
            lost: rate,
            duplicate: rate,
            unexpected: rate,
            late: rate,
            late_cycles: 400,
        },
        ..wild()
    };
    let config = BlockConfig {
        completion_timeout: Some(20_000),
        ..BlockConfig::default()
    };
    let mut bench = Bench::new(config, root, crate::seed::seed());
    let requests: Vec<Request> = (0..=255).map(|tag| read(BASE, 500, tag)).collect();
    for _ in 0..10 {
        bench.packets.clear();
        bench.send(&requests);
        bench.run_until_idle();
        for tag in 0..=255 {
            let ends = bench.outcomes(tag).iter().filter(|o| o.1).count();
            assert_eq!(ends, 1, "tag {tag}");
        }
    }
    let faults = bench.block.root.stats().faults;
    assert!(faults > 1000, "{faults}");
}

#[test]
fn broken_rules_are_reported() {
    // tvalid drops inside a TLP.
    let mut bench = Bench::steady();
    bench.send(&[write(BASE, &[1; 100])]);
    bench.rq.truncate(1);
    bench.step();
    assert_eq!(bench.block.violation(), None);
    bench.step();
    assert_eq!(bench.block.violation(), Some(Violation::Gap("RQ")));
    // A rule of the decoder.
    let mut bench = Bench::steady();
    bench.send(&[write(BASE, &[1; 260])]);
    bench.step();
    assert!(matches!(bench.block.violation(), Some(Violation::Rq(_))));
}

/// Reads of `len` bytes with all tags whose completions nobody takes: how many completions of how many bytes are too many.
fn overflow(max_payload: usize, len: usize) -> Option<(usize, usize)> {
    let root = RootConfig {
        max_payload,
        ..RootConfig::default()
    };
    let mut bench = Bench::new(BlockConfig::default(), root, 0);
    bench.rc_ready = false;
    let requests: Vec<Request> = (0..=255).map(|tag| read(BASE, len, tag)).collect();
    bench.send(&requests);
    (0..4000).for_each(|_| bench.step());
    match bench.block.violation()? {
        Violation::Overflow { completions, bytes } => Some((completions, bytes)),
        rule => panic!("{rule}"),
    }
}

#[test]
fn completions_that_do_not_fit_are_reported() {
    // A header and 256 bytes are 272; 120 of them are 32640 bytes.
    assert_eq!(overflow(256, 512), Some((121, 121 * 272)));
    // Completions of 128 and of 8 bytes are 176 with their headers, so that 256 headers are gone before 32 KiB.
    let (completions, bytes) = overflow(128, 136).expect("more than 256 headers");
    assert_eq!(completions, 257);
    assert!((257 * 32..32768).contains(&bytes));
    // All tags with a completion each.
    assert_eq!(overflow(256, 64), None);
}

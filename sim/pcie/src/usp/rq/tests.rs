use super::*;
use crate::tlp::{MemRead, MemWrite, OtherRequest};
use crate::usp::inverse::rq_beats;
use crate::usp::keep;
use proptest::prelude::*;

const LIMITS: RqLimits = RqLimits {
    max_payload: 256,
    max_read: 512,
};

fn request() -> impl Strategy<Value = Request> {
    let place = (0u64..1 << 44, 1usize..=256, any::<u8>());
    (0..10, place, 0..4096u64).prop_map(|(kind, (page, len, tag), offset)| {
        let room = |len: usize, most: usize| len.min(most).min(4096 - offset as usize);
        let addr = (page << 12) + offset;
        match kind {
            0..=4 => {
                let bytes: Vec<u8> = (0..room(len, 253)).map(|k| k as u8 ^ tag).collect();
                Request::Write(MemWrite::of_bytes(addr, &bytes, 0))
            }
            5..=8 => Request::Read(MemRead::of_bytes(addr, room(len * 2, 509), tag, 0)),
            _ => Request::Other(OtherRequest {
                kind: RequestType::CompareSwap,
                addr: addr & !7,
                dwords: 4,
                enables: ByteEnables {
                    first: 0xf,
                    last: 0xf,
                },
                tag,
                requester: 0,
                payload: vec![tag; 16],
            }),
        }
    })
}

fn decode(straddle: bool, beats: &[RqBeat]) -> Result<Vec<Request>, RqError> {
    let mut decoder = RqDecoder::new(straddle, LIMITS);
    let mut out = Vec::new();
    for beat in beats {
        decoder.beat(beat, |request| out.push(request))?;
    }
    assert!(!decoder.mid_tlp());
    Ok(out)
}

proptest! {
    #![proptest_config(crate::seed::cases())]

    #[test]
    fn requests_come_back(
        requests in prop::collection::vec(request(), 1..40),
        straddle: bool,
        pauses: u64,
    ) {
        let beats = rq_beats(&requests, straddle, |k| pauses >> (k % 64) & 1 == 1);
        prop_assert_eq!(decode(straddle, &beats).unwrap(), requests);
    }
}

fn write(len: usize) -> Request {
    Request::Write(MemWrite::of_bytes(0x1000, &vec![0x5a; len], 0))
}

fn read() -> Request {
    Request::Read(MemRead::of_bytes(0x2000, 64, 7, 0))
}

/// Beats of a straddled stream, changed before they are decoded.
fn broken(requests: &[Request], change: impl Fn(&mut Vec<RqBeat>)) -> RqError {
    let mut beats = rq_beats(requests, true, |_| false);
    change(&mut beats);
    decode(true, &beats).unwrap_err()
}

#[test]
fn straddling_needs_the_second_half() {
    // 16 bytes of descriptor and 16 of payload end at doubleword 7: the next TLP shares the beat.
    let beats = rq_beats(&[write(16), read()], true, |_| false);
    assert_eq!(beats.len(), 1);
    assert_eq!((beats[0].user.is_sop, beats[0].user.sop_ptr), (3, [0, 2]));
    assert_eq!(beats[0].user.eop_ptr, [7, 11]);
    // One doubleword more and it can't.
    assert_eq!(rq_beats(&[write(20), read()], true, |_| false).len(), 2);
    let error = broken(&[write(16), read()], |beats| {
        beats[0].data[8] = 5;
        beats[0].user.eop_ptr[0] = 8;
    });
    assert_eq!(error, RqError::Start { index: 1, byte: 32 });
}

#[test]
fn starts_are_where_they_may_be() {
    let at = |index, byte| RqError::Start { index, byte };
    assert_eq!(broken(&[read()], |b| b[0].user.sop_ptr[0] = 2), at(0, 32));
    assert_eq!(broken(&[read()], |b| b[0].user.sop_ptr[0] = 1), at(0, 16));
    let both = [read(), read()];
    assert_eq!(broken(&both, |b| b[0].user.sop_ptr[1] = 1), at(1, 16));
    // A start inside a TLP that goes on.
    assert_eq!(
        broken(&[write(256), read()], |b| {
            b[1].user.is_sop = 1;
            b[1].user.sop_ptr[0] = 2;
        }),
        at(0, 32)
    );
    assert_eq!(
        broken(&[read()], |b| b[0].user.is_sop = 0b10),
        RqError::Count {
            what: "is_sop",
            code: 2
        }
    );
    assert_eq!(broken(&[read()], |b| b[0].user.is_sop = 0), RqError::Empty);
}

#[test]
fn ends_follow_the_length() {
    let end = |got, expected| RqError::End { got, expected };
    assert_eq!(
        broken(&[write(64)], |b| b[1].user.eop_ptr[0] = 4),
        end([4, 255], [3, 255])
    );
    assert_eq!(
        broken(&[write(64)], |b| b[1].user.is_eop = 0),
        end([255, 255], [3, 255])
    );
    assert_eq!(
        broken(&[write(64)], |b| b[0].user.is_eop = 1),
        end([0, 255], [255, 255])
    );
    assert_eq!(
        broken(&[read(), read()], |b| b[0].user.is_eop = 1),
        end([3, 255], [3, 11])
    );
}

#[test]
fn tlast_and_tkeep_without_straddling() {
    let single = |change: &dyn Fn(&mut Vec<RqBeat>)| {
        let mut beats = rq_beats(&[write(64), read()], false, |_| false);
        change(&mut beats);
        decode(false, &beats).unwrap_err()
    };
    let frame = |e: FrameError| RqError::Frame(e);
    assert_eq!(
        single(&|b| b[1].last = false),
        frame(FrameError::Last {
            last: false,
            left: 4
        })
    );
    assert_eq!(
        single(&|b| b[0].last = true),
        frame(FrameError::Last {
            last: true,
            left: 20
        })
    );
    assert_eq!(
        single(&|b| b[2].keep = keep(5)),
        frame(FrameError::Keep {
            keep: 0x1f,
            left: 4
        })
    );
}

#[test]
fn descriptors_keep_the_limits() {
    let one = |request: Request| broken(&[request], |_| ());
    let length = |kind, dwords, most| RqError::Length { kind, dwords, most };
    assert_eq!(one(write(260)), length(RequestType::MemWrite, 65, 64));
    let long = MemRead::of_bytes(0, 516, 0, 0);
    assert_eq!(
        one(Request::Read(long)),
        length(RequestType::MemRead, 129, 128)
    );
    let cross = MemWrite::of_bytes(0xffc, &[0; 8], 0);
    assert_eq!(
        one(Request::Write(cross)),
        RqError::Page {
            addr: 0xffc,
            dwords: 2
        }
    );
    let mut holes = MemRead::of_bytes(0, 12, 0, 0);
    holes.enables.first = 0b0101;
    assert!(matches!(one(Request::Read(holes)), RqError::Enables(_)));
    let errors = [
        broken(&[read()], |b| b[0].data[15] |= 1),
        broken(&[read()], |b| b[0].data[0] |= 1),
        broken(&[read()], |b| b[0].data[9] |= 0x78),
        broken(&[read()], |b| b[0].user.addr_offset = 1),
        broken(&[read()], |b| b[0].user.discontinue = true),
        broken(&[read()], |b| (b[0].data[8], b[0].data[9]) = (0, 0)),
    ];
    assert_eq!(
        errors,
        [
            RqError::RequesterEnable,
            RqError::AddressType(1),
            RqError::Kind,
            RqError::AddrOffset(1),
            RqError::Discontinue,
            length(RequestType::MemRead, 0, 128),
        ]
    );
}

#[test]
fn an_unfinished_tlp_is_seen() {
    let mut decoder = RqDecoder::new(true, LIMITS);
    let beats = rq_beats(&[write(64)], true, |_| false);
    decoder.beat(&beats[0], |_| panic!("not complete")).unwrap();
    assert!(decoder.mid_tlp());
    decoder.beat(&beats[1], |_| ()).unwrap();
    assert!(!decoder.mid_tlp());
}

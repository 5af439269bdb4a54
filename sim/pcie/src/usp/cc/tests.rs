use super::*;
use crate::tlp::{MemRead, MemWrite};
use crate::usp::inverse::cc_beats;
use proptest::prelude::*;

const ID: Id = 0x1234;

fn asked(addr: u64, len: usize) -> (CcDecoder, CqPacket) {
    let packet = CqPacket {
        request: Request::Read(MemRead::of_bytes(addr, len, 9, ID)),
        function: 0,
        bar: 0,
        aperture: 20,
    };
    let mut decoder = CcDecoder::new(256);
    decoder.expect(&packet).unwrap();
    (decoder, packet)
}

fn answer(addr: u64, left: usize, bytes: usize) -> Completion {
    let payload = (addr as usize % 4 + bytes).next_multiple_of(4);
    Completion {
        requester: ID,
        tag: 9,
        completer: 0,
        status: Status::Success,
        byte_count: left,
        lower_address: addr as u8 & 0x7f,
        poisoned: false,
        payload: (0..payload).map(|k| k as u8).collect(),
    }
}

fn give(
    decoder: &mut CcDecoder,
    completion: &Completion,
    log: &[u8],
) -> Result<Option<(Completion, bool)>, CcError> {
    let mut done = None;
    for beat in cc_beats(completion, log) {
        assert_eq!(done, None);
        done = decoder.beat(&beat)?;
        assert_eq!(decoder.mid_tlp(), done.is_none());
    }
    Ok(done)
}

proptest! {
    #![proptest_config(crate::seed::cases())]

    /// In one piece, or in two that meet at a multiple of 128 bytes.
    #[test]
    fn answers_come_back(addr in 0u64..1 << 20, len in 1usize..=256, split: bool) {
        let (mut decoder, _) = asked(addr, len);
        let first = 128 - addr as usize % 128;
        if split && first < len {
            let piece = answer(addr, len, first);
            prop_assert_eq!(give(&mut decoder, &piece, &[]), Ok(Some((piece, false))));
            let rest = answer(addr + first as u64, len - first, len - first);
            prop_assert_eq!(give(&mut decoder, &rest, &[]), Ok(Some((rest, true))));
        } else if (addr as usize % 4 + len).next_multiple_of(4) <= 256 {
            let whole = answer(addr, len, len);
            prop_assert_eq!(give(&mut decoder, &whole, &[]), Ok(Some((whole, true))));
        }
    }
}

#[test]
fn errors_carry_the_request() {
    let (mut decoder, packet) = asked(0x40, 8);
    let mut refused = answer(0x40, 8, 0);
    refused.status = Status::CompleterAbort;
    let mut log = vec![0xff, 0, 0, 0];
    log.extend_from_slice(&packet.descriptor().to_le_bytes());
    log[4] ^= 4;
    assert_eq!(give(&mut decoder, &refused, &log), Err(CcError::ErrorLog));
    log[4] ^= 4;
    assert_eq!(
        give(&mut decoder, &refused, &log),
        Ok(Some((refused, true)))
    );
    assert_eq!(decoder.outstanding(), 0);
}

#[test]
fn wrong_answers_are_refused() {
    let refused = |change: fn(&mut Completion)| {
        let (mut decoder, _) = asked(0x47, 30);
        let mut completion = answer(0x47, 30, 30);
        change(&mut completion);
        give(&mut decoder, &completion, &[]).unwrap_err()
    };
    assert_eq!(refused(|c| c.tag = 8), CcError::Tag(8));
    assert_eq!(
        refused(|c| c.requester = 1),
        CcError::Requester {
            got: 1,
            expected: ID
        }
    );
    assert_eq!(
        refused(|c| c.byte_count = 32),
        CcError::ByteCount {
            got: 32,
            expected: 30
        }
    );
    assert_eq!(
        refused(|c| c.lower_address = 0x44),
        CcError::LowerAddress {
            got: 0x44,
            expected: 0x47
        }
    );
    assert!(matches!(
        refused(|c| c.payload.truncate(32)),
        CcError::Length { dwords: 8, .. }
    ));
    let (mut decoder, packet) = asked(0, 4);
    assert_eq!(decoder.expect(&packet), Err(CcError::Tag(9)));
    let mut beats = cc_beats(&answer(0, 4, 4), &[]);
    beats[0].last = false;
    assert!(matches!(decoder.beat(&beats[0]), Err(CcError::Frame(_))));
    let write = MemWrite::of_bytes(0, &[0; 4], ID);
    let request = Request::Write(write);
    assert_eq!(
        decoder.expect(&CqPacket { request, ..packet }),
        Err(CcError::Posted)
    );
}

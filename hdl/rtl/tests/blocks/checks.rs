use crate::bench;
use ferroce_emit::prelude::*;
use ferroce_rtl::frame_check::FrameCheck;
use ferroce_rtl::stream::Beat;
use ferroce_rtl::stream_check::StreamCheck;

/// Whether a sequence of (valid, data, ready) breaks the rule.
fn violates(cycles: &[(bool, u64, bool)]) -> bool {
    let mut bench = bench!(StreamCheck::<Bits<8>>::default());
    for (valid, data, ready) in cycles {
        bench.uut.valid.next = *valid;
        bench.uut.data.next = (*data).into();
        bench.uut.ready.next = *ready;
        bench.settle();
        bench.edge();
    }
    bench.settle();
    bench.uut.violation.val()
}

#[test]
fn offers_must_hold() {
    assert!(!violates(&[
        (true, 1, false),
        (true, 1, true),
        (false, 2, true)
    ]));
    assert!(!violates(&[
        (false, 1, false),
        (true, 2, true),
        (true, 3, true)
    ]));
    assert!(violates(&[(true, 1, false), (false, 1, true)]));
    assert!(violates(&[(true, 1, false), (true, 2, true)]));
    // It stays known.
    assert!(violates(&[
        (true, 1, false),
        (true, 2, true),
        (false, 0, true),
        (false, 0, true)
    ]));
}

fn beat(len: u64, last: bool, err: bool) -> Option<Beat> {
    Some(Beat {
        data: 0.into(),
        len: len.into(),
        last,
        err,
    })
}

/// `bad_beat`, `gap` and `frames` after the beats, all of them taken; `None` is a cycle without one.
fn shape(gapless: bool, beats: &[Option<Beat>]) -> (bool, bool, u64) {
    let mut bench = bench!(FrameCheck::default());
    bench.uut.gapless.next = gapless;
    bench.uut.ready.next = true;
    for offer in beats {
        bench.uut.valid.next = offer.is_some();
        bench.uut.data.next = offer.unwrap_or_default();
        bench.settle();
        bench.edge();
    }
    bench.settle();
    let uut = &bench.uut;
    (uut.bad_beat.val(), uut.gap.val(), uut.frames.val().into())
}

#[test]
fn frames_have_shape() {
    let whole = beat(64, false, false);
    assert_eq!(
        shape(
            true,
            &[
                whole,
                whole,
                beat(3, true, false),
                None,
                beat(64, true, true)
            ]
        ),
        (false, false, 2)
    );
    assert_eq!(shape(true, &[beat(0, true, false)]), (true, false, 1));
    assert_eq!(shape(true, &[beat(65, true, false)]), (true, false, 1));
    assert_eq!(shape(true, &[beat(63, false, false)]), (true, false, 0));
    assert_eq!(shape(true, &[beat(64, false, true)]), (true, false, 0));
    assert_eq!(
        shape(true, &[whole, None, beat(1, true, false)]),
        (false, true, 1)
    );
    assert_eq!(
        shape(false, &[whole, None, beat(1, true, false)]),
        (false, false, 1)
    );
}

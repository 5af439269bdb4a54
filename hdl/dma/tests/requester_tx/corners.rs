//! Single cases that cuts and rotations could get wrong.

use crate::world::{Knobs, Read, World, Write};
use ferroce_emit::harness::random;
use rand::seq::SliceRandom;

/// Address in a page and length.
const CASES: &[(u64, usize)] = &[
    // One byte at each end of a doubleword, and of a line.
    (3, 1),
    (0, 1),
    (63, 1),
    (4095, 1),
    // A few bytes over the border of a doubleword, of a line, of max payload.
    (2, 3),
    (3, 4),
    (3, 5),
    (62, 3),
    (63, 4),
    (127, 2),
    (1023, 5),
    // A whole line one byte late: 17 doublewords.
    (63, 64),
    (64, 64),
    // Whole pages, and all but a byte.
    (0, 4096),
    (1, 4095),
    (0, 4095),
    // Up to the border of max payload, exactly and nearly.
    (0, 128),
    (64, 64),
    (1, 127),
    (128, 127),
    (0, 1024),
    (60, 964),
    (60, 965),
    // First doubleword in the last lanes, where an RQ beat that is begun can't be filled.
    (48, 1),
    (52, 12),
    (52, 140),
    (56, 200),
    (60, 4),
    (60, 1000),
];

/// Every case behind and before every other kind: a write that leaves half a beat, one that leaves none, a read.
#[test]
fn corner_cases_arrive_in_every_neighbourhood() {
    for straddle in [true, false] {
        for max_payload in 0..4 {
            let mut world = World::new(straddle, max_payload, Knobs::smooth(), random());
            for pause in [0, 1, 2, 40] {
                for _ in 0..10 {
                    let mut cases = CASES.to_vec();
                    cases.shuffle(&mut world.rng);
                    for (addr, len) in cases {
                        let write = Write::random(&mut world.rng, 0x1_2345_6000 + addr, len);
                        world.writes.push_back(write);
                        if len % 3 == 0 {
                            let read = Read::anywhere(&mut world.rng);
                            world.reads.push_back(read);
                        }
                        for _ in 0..pause {
                            world.step();
                        }
                    }
                }
                world.finish();
            }
        }
    }
}

/// Each alone in its page, at every offset and with every length up to the third beat.
#[test]
fn every_alignment_arrives() {
    for straddle in [true, false] {
        let mut world = World::new(straddle, 0, Knobs::smooth(), random());
        for addr in 0..64 {
            for len in 1..=135 {
                let write = Write::random(&mut world.rng, 0xFFFF_FFFF_FFFF_F000 + addr, len);
                world.writes.push_back(write);
            }
            world.finish();
        }
    }
}

//! The memory region check against its definition in plain arithmetic.

mod common;

use common::{connected, settle};
use ferroce_emit::harness::random;
use ferroce_emit::on_big_stack;
use ferroce_nic::mr_check::MrChecker;
use ferroce_rtl::desc::lookup::{MrAnswer, MrCheck, MR_CHECK_LATENCY};
use ferroce_rtl::desc::pages::{self, RegionWrite};
use rand::Rng;
use std::collections::VecDeque;

const MRS_LOG2: usize = 4;

#[derive(Clone, Copy, Default)]
struct Region(ferroce_abi::cfg::MrCfg);

impl Region {
    fn allows(&self, question: &MrCheck) -> bool {
        let (va, len) = (
            u128::from(question.va.to_u64()),
            u128::from(question.len.to_u64()),
        );
        let (base, size) = (u128::from(self.0.base), u128::from(self.0.len));
        let access = question.access.to_u64();
        self.0.valid
            && u64::from(self.0.tag) == question.key.to_u64() & 0xFF
            && u64::from(self.0.pd) == question.pd.to_u64()
            && u64::from(self.0.access) & access == access
            && va >= base
            && va + len <= base + size
    }
}

fn expected(regions: &[Region], question: &MrCheck) -> bool {
    let index = (question.key.to_u64() >> 8) as usize;
    question.len.to_u64() == 0
        || regions
            .get(index)
            .is_some_and(|region| region.allows(question))
}

fn write(index: usize, region: &Region) -> RegionWrite {
    let Region(entry) = region;
    RegionWrite {
        valid: true,
        index: (index as u64).into(),
        region: pages::Region {
            valid: entry.valid,
            tag: u64::from(entry.tag).into(),
            pd: u64::from(entry.pd).into(),
            access: u64::from(entry.access).into(),
            base: entry.base.into(),
            len: entry.len.into(),
            paged: entry.paged,
            epoch: epoch(index).into(),
        },
    }
}

/// What the region's answers are to hold.
fn epoch(index: usize) -> u64 {
    0xA0 + index as u64
}

struct Bench {
    uut: MrChecker,
    asked: VecDeque<Option<MrAnswer>>,
    allowed: usize,
    denied: usize,
}

impl Bench {
    fn new() -> Self {
        Self {
            uut: connected(MrChecker::new(MRS_LOG2)),
            asked: vec![None; MR_CHECK_LATENCY].into(),
            allowed: 0,
            denied: 0,
        }
    }

    fn cycle(&mut self, write: RegionWrite, question: Option<(MrCheck, MrAnswer)>) {
        self.uut.write.next = write;
        self.uut.check.next = question.map(|(question, _)| question).unwrap_or_default();
        self.uut.clock.next = false.into();
        settle(&mut self.uut);
        self.asked.push_back(question.map(|(_, answer)| answer));
        if let Some(Some(answer)) = self.asked.pop_front() {
            let got = self.uut.answer.val();
            assert_eq!(got.ok, answer.ok);
            if answer.ok && answer.epoch.any() {
                assert_eq!(got, answer);
            }
            if answer.ok {
                self.allowed += 1;
            } else {
                self.denied += 1;
            }
        }
        self.uut.clock.next = true.into();
        settle(&mut self.uut);
    }

    fn load(&mut self, regions: &[Region]) {
        for (index, region) in regions.iter().enumerate() {
            self.cycle(write(index, region), None);
        }
        for _ in 0..4 {
            self.cycle(RegionWrite::default(), None);
        }
    }

    fn ask(&mut self, regions: &[Region], question: MrCheck) {
        let index = (question.key.to_u64() >> 8) as usize;
        let answer = MrAnswer {
            ok: expected(regions, &question),
            paged: regions.get(index).is_some_and(|region| region.0.paged),
            epoch: regions.get(index).map_or(0, |_| epoch(index)).into(),
        };
        self.cycle(RegionWrite::default(), Some((question, answer)));
    }

    fn finish(&mut self) {
        for _ in 0..MR_CHECK_LATENCY {
            self.cycle(RegionWrite::default(), None);
        }
    }
}

fn region(base: u64, len: u64) -> Region {
    Region(ferroce_abi::cfg::MrCfg {
        valid: true,
        tag: 0x5A,
        pd: 7,
        access: 0b0111,
        base,
        len,
        ..ferroce_abi::cfg::MrCfg::default()
    })
}

fn question(index: u64, va: u64, len: u64) -> MrCheck {
    MrCheck {
        key: (index << 8 | 0x5A).into(),
        va: va.into(),
        len: len.into(),
        pd: 7.into(),
        access: 0b0010.into(),
    }
}

#[test]
fn bounds_hold_at_every_corner() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        let regions = [
            region(0x1000, 0x2000),
            region(0, u64::MAX),
            region(u64::MAX - 0xFF, 0x100),
            region(0x1_0000_0000, 0x1_0000_0000),
            region(0xFFFF_FFFF, 2),
            region(0x8000_0000_0000_0000, 0),
        ];
        bench.load(&regions);
        for (index, region) in regions.iter().enumerate() {
            let (base, size) = (region.0.base, region.0.len);
            let edges = [
                0,
                1,
                base.wrapping_sub(1),
                base,
                base + 1,
                base.wrapping_add(size),
            ];
            for edge in edges
                .into_iter()
                .chain([base.wrapping_add(size).wrapping_sub(1)])
            {
                for len in [
                    0,
                    1,
                    2,
                    0xFF,
                    0x100,
                    0x101,
                    0x1FFF,
                    0x2000,
                    0x2001,
                    0xFFFF_FFFF,
                ] {
                    bench.ask(&regions, question(index as u64, edge, len));
                }
            }
        }
        bench.finish();
        assert!(bench.allowed > 100 && bench.denied > 100);
    });
}

#[test]
fn key_domain_and_rights_must_match() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        let regions = [region(0x1000, 0x1000); 2];
        bench.load(&regions);
        let good = question(1, 0x1000, 0x1000);
        let wrong_tag = MrCheck {
            key: 0x15B.into(),
            ..good
        };
        let wrong_pd = MrCheck {
            pd: 8.into(),
            ..good
        };
        let no_right = MrCheck {
            access: 0b1010.into(),
            ..good
        };
        let unknown = MrCheck {
            key: 0x25A.into(),
            ..good
        };
        // The same region if the index lost its high bits.
        let beyond = MrCheck {
            key: (0x11_5A | 1 << 31).into(),
            ..good
        };
        for wrong in [wrong_tag, wrong_pd, no_right, unknown, beyond] {
            assert!(!expected(&regions, &wrong));
            bench.ask(&regions, wrong);
            bench.ask(
                &regions,
                MrCheck {
                    len: 0.into(),
                    ..wrong
                },
            );
        }
        bench.ask(&regions, good);
        bench.finish();
        assert_eq!((bench.allowed, bench.denied), (6, 5));
    });
}

#[test]
fn random_questions_are_answered_in_every_cycle() {
    on_big_stack(|| {
        let mut rng = random();
        let mut bench = Bench::new();
        for _ in 0..20 {
            let mut regions = [Region::default(); 1 << MRS_LOG2];
            for slot in &mut regions {
                let width = rng.gen_range(0..64);
                *slot = region(
                    rng.gen::<u64>() >> rng.gen_range(0..64),
                    rng.gen::<u64>() >> width,
                );
                slot.0.paged = rng.gen();
                slot.0.valid = rng.gen_bool(0.9);
                slot.0.pd = rng.gen_range(6..8);
            }
            bench.load(&regions);
            for _ in 0..300 {
                let index = rng.gen_range(0..regions.len() + 1);
                let near = regions.get(index).copied().unwrap_or_default().0;
                let offset = rng.gen::<u64>() >> rng.gen_range(0..64);
                let len = rng.gen::<u64>() >> rng.gen_range(32..64);
                let va = match rng.gen_range(0..3) {
                    0 => near.base.wrapping_add(near.len).wrapping_sub(len),
                    1 => near.base.wrapping_add(offset),
                    _ => rng.gen(),
                };
                let mut question = question(index as u64, va, len);
                question.access = rng.gen_range(0..8).into();
                bench.ask(&regions, question);
            }
        }
        bench.finish();
        assert!(
            bench.allowed > 500 && bench.denied > 500,
            "{} allowed",
            bench.allowed
        );
    });
}

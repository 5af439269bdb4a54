//! How many core cycles a second the block and the host take: idle, and with both directions of the link full.

use std::time::Instant;

use ferroce_pcie::block::{Block, BlockConfig};
use ferroce_pcie::root::{HostMemoryPort, RootConfig, Unmapped};
use ferroce_pcie::usp::{CcBeat, RqBeat};

const CYCLES: u64 = 2_000_000;
/// Reads of 512 bytes that the card keeps outstanding.
const TAGS: u8 = 200;

/// Memory that holds zeros everywhere and forgets what is written.
struct Zeros;

impl HostMemoryPort for Zeros {
    fn read(&self, _: u64, bytes: &mut [u8]) -> Result<(), Unmapped> {
        bytes.fill(0);
        Ok(())
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), Unmapped> {
        Ok(())
    }
}

/// The first beat of a request that begins a beat; a write's payload is zeros.
fn first_beat(write: bool, tag: u8) -> RqBeat {
    let dwords: u128 = if write { 64 } else { 128 };
    let word = 0x7f00_0000_0000 | dwords << 64 | u128::from(write) << 75 | u128::from(tag) << 96;
    let mut beat = RqBeat {
        keep: if write { u16::MAX } else { 0xf },
        last: !write,
        ..RqBeat::default()
    };
    beat.data[..16].copy_from_slice(&word.to_le_bytes());
    beat.user.first_be[0] = 15;
    beat.user.last_be[0] = 15;
    beat
}

fn run(busy: bool) {
    let config = BlockConfig {
        straddle_rq: false,
        ..BlockConfig::default()
    };
    let mut block = Block::new(config, RootConfig::default(), 1);
    let mut free: Vec<u8> = (0..TAGS).collect();
    let (mut beat_of_write, mut turn) = (0, false);
    let start = Instant::now();
    for _ in 0..CYCLES {
        if let (true, Some(beat)) = (busy, block.rc_beat()) {
            // Descriptors in this beat: tag and whether the request is completed.
            for k in 0..beat.user.is_sop.count_ones() as usize {
                let at = usize::from(beat.user.sop_ptr[k]) * 16;
                if beat.data[at + 3] & 0x40 != 0 {
                    free.push(beat.data[at + 8]);
                }
            }
        }
        let mut beat = None;
        if busy && block.rq_is_ready() {
            if beat_of_write > 0 {
                let last = beat_of_write == 4;
                let keep = if last { 0xf } else { u16::MAX };
                beat_of_write = (beat_of_write + 1) % 5;
                beat = Some(RqBeat {
                    keep,
                    last,
                    ..RqBeat::default()
                });
            } else {
                turn = !turn;
                let tag = if turn { free.pop() } else { None };
                beat_of_write = u32::from(tag.is_none());
                beat = Some(first_beat(tag.is_none(), tag.unwrap_or(0)));
            }
        }
        let valid = beat.is_some() || busy && !block.rq_is_ready();
        block.rq(valid, || beat.unwrap_or_default());
        block.cc(false, CcBeat::default);
        block.rc_ready(true);
        block.cq_ready(true);
        block.cq_np_req(true);
        block.tick(&mut Zeros);
    }
    let seconds = start.elapsed().as_secs_f64();
    let stats = block.root.stats();
    println!(
        "{}: {:.2} M cycles/s, link up {:.0} %, down {:.0} %, {:?}",
        if busy { "busy" } else { "idle" },
        CYCLES as f64 / seconds * 1e-6,
        stats.up.busy() * 100.0,
        stats.down.busy() * 100.0,
        block.violation(),
    );
}

fn main() {
    run(false);
    run(true);
}

//! Frames with random damage.

use anyhow::{ensure, Result};
use ferroce_abi::opcode::rc;
use ferroce_driver::Counter;
use ferroce_tests::bench::Bench;
use ferroce_tests::edit::{BTH, UDP_CHECKSUM};
use ferroce_tests::model;
use ferroce_tests::peer::PeerConfig;
use ferroce_tests::seed::{rounds, seed};
use rand::Rng;

/// Payload of the frames.
const LEN: usize = 101;

/// A bench whose first QP is connected.
fn bench() -> Result<Bench> {
    Bench::new(&model::small()?, seed(), &[PeerConfig::default()])
}

/// A bit that no CRC excuses makes the frame bad, wherever it is, and nonsense never does any harm.
#[test]
fn random_damage() -> Result<()> {
    let mut bench = bench()?;
    let total = |b: &Bench| -> Result<(u64, u64)> {
        let counters = b.open.device.counters()?;
        let drops = counters
            .iter()
            .filter(|(c, _)| c.name().starts_with("rx_drop"))
            .map(|(_, count)| count);
        Ok((drops.sum(), counters.get(Counter::RxFrames)))
    };
    let before = total(&bench)?;
    let count = rounds(150, 5_000);
    let (_, reth) = bench.target(LEN)?;
    for _ in 0..count {
        let payload = bench.payload(LEN);
        let good = bench.peers[0].request(&bench.open, rc::WRITE_ONLY, 0, reth, &payload);
        let mut bytes = good.encode()?;
        if bench.rng.gen_bool(0.3) {
            let len = bench.rng.gen_range(60..300);
            bytes = bench.payload(len);
        } else {
            let at = loop {
                let at = bench.rng.gen_range(0..bytes.len());
                // Neither CRC covers these.
                if !(6..12).contains(&at)
                    && ![UDP_CHECKSUM, UDP_CHECKSUM + 1, BTH + 4].contains(&at)
                {
                    break at;
                }
            };
            bytes[at] ^= 1 << bench.rng.gen_range(0..8);
        }
        bench.open.inject(bytes);
        if bench.rng.gen_bool(0.2) {
            ensure!(bench.open.answers()?.is_empty());
        }
    }
    ensure!(bench.open.answers()?.is_empty());
    let after = total(&bench)?;
    ensure!(
        after.1 - before.1 == count && after.0 - before.0 == count,
        "{before:?} {after:?}"
    );
    bench.image.check()?;
    let fresh = bench.peers[0].config;
    bench.peers[0].connect(&bench.open, fresh)?;
    let (good, place) = bench.write_only(0, LEN)?;
    let payload = good.packet.payload.clone();
    bench.open.inject(good.encode()?);
    ensure!(
        bench.open.answers()?.len() == 1,
        "the QP does not work any more"
    );
    bench.image.expect(place.start, &payload);
    bench.image.check()
}

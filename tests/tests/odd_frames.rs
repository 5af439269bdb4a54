//! Frames that look odd and are good, and frames with random damage.

use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::{on_wire, reseal};
use ferroce_abi::opcode::rc;
use ferroce_driver::Counter;
use ferroce_tests::bench::Bench;
use ferroce_tests::edit::{
    fix_checksum, BTH, FRAGMENT, IP, IP_ID, PAYLOAD, TTL, UDP, UDP_CHECKSUM,
};
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

/// What may change on the way, or what no receiver may look at.
#[test]
fn odd_frames_that_are_good() -> Result<()> {
    let mut bench = bench()?;
    type Edit = (&'static str, fn(&mut Vec<u8>));
    let edits: [Edit; 14] = [
        ("source MAC", |f| f[6..12].fill(0x33)),
        ("TOS", |f| f[IP + 1] = 0xff),
        ("TTL", |f| f[TTL] = 1),
        ("IP ID", |f| f[IP_ID] = 0x55),
        ("may be fragmented", |f| f[FRAGMENT] = 0),
        ("UDP source port", |f| f[UDP] = 1),
        ("UDP checksum", |f| f[UDP_CHECKSUM] = 0x55),
        ("solicited", |f| f[BTH + 1] |= 0x80),
        ("not migrated", |f| f[BTH + 1] &= !0x40),
        ("limited member", |f| f[BTH + 2] = 0x7f),
        ("FECN, BECN, reserved", |f| f[BTH + 4] = 0xff),
        ("reserved beside AckReq", |f| f[BTH + 8] |= 0x7f),
        ("pad", |f| {
            let at = PAYLOAD + LEN;
            f[at..at + 3].fill(0xee);
        }),
        ("padding behind the ICRC", |_| {}),
    ];
    for (name, edit) in edits {
        let (good, place) = bench.write_only(0, LEN)?;
        let mut bytes = good.encode()?;
        edit(&mut bytes);
        fix_checksum(&mut bytes);
        reseal(&mut bytes)?;
        if name.starts_with("padding") {
            bytes.resize(bytes.len() + 90, 0x99);
        }
        bench
            .accept(0, on_wire(bytes), place, &good.packet.payload)
            .context(name)?;
    }
    bench.image.check()
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

//! Rates in simulated time.

use anyhow::{ensure, Result};
use ferroce_driver::{Access, Pmtu};
use ferroce_sim::load::{Load, Op};
use ferroce_sim::pair::{Pair, PairConfig};
use ferroce_sim::roof;
use ferroce_sim::transfer::piece;
use ferroce_sim::world::WorldConfig;
use ferroce_tests::model;

/// Messages a second of RDMA WRITEs of `len` bytes over `qps` QPs.
fn write_rate(qps: usize, len: u64, count: u64) -> Result<f64> {
    rate(Op::Write, qps, len, count)
}

fn rate(op: Op, qps: usize, len: u64, count: u64) -> Result<f64> {
    let config = PairConfig {
        qps,
        depth: 128,
        pmtu: Pmtu::B4096,
        ..PairConfig::default()
    };
    let world = WorldConfig::default();
    let pair = Pair::new(&model::wide()?, &world, &config)?;
    // All messages from and to the same place, which nobody looks at.
    let bytes = len.max(64) as usize;
    let source = pair.sides[0].pd.allocate(bytes, Access::LOCAL_WRITE)?;
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ;
    let target = pair.sides[1].pd.allocate(bytes, rights)?;
    let message = piece(&source, &target, 0, len)?;
    let times = pair.run(Load {
        op,
        count,
        depth: 128,
        message: &|_| message,
        progress: &mut |_| {},
    })?;
    let rate = times.rate();
    println!(
        "{}, {len} bytes, {qps} QPs: {:.2} M messages/s, {:.2} Gb/s, roof {:.2} Gb/s",
        op.name(),
        rate / 1e6,
        rate * len as f64 * 8e-9,
        roof::goodput_gbps(op, len, Pmtu::B4096)
    );
    Ok(rate)
}

#[test]
fn one_qp_fills_the_wire() -> Result<()> {
    let share = write_rate(1, 4096, 500)? / roof::message_rate(Op::Write, 4096, Pmtu::B4096);
    ensure!(share >= 0.95, "{:.1} % of the roof", share * 100.0);
    Ok(())
}

/// 16 READs at once are enough for the whole way there and back.
#[test]
fn reads_of_one_qp_fill_the_wire() -> Result<()> {
    for (len, count) in [(4096, 500), (65_536, 60)] {
        let gbps = rate(Op::Read, 1, len, count)? * len as f64 * 8e-9;
        ensure!(gbps >= 97.0, "READs of {len} bytes: {gbps:.2} Gb/s");
    }
    Ok(())
}

#[test]
fn small_messages_of_many_qps() -> Result<()> {
    let rate = write_rate(16, 64, 8_000)?;
    ensure!(rate >= 20e6, "{:.1} M/s", rate / 1e6);
    Ok(())
}

/// There is no border at 64 KiB.
#[test]
fn lengths_around_64_kib_cost_the_same() -> Result<()> {
    let [below, at, above] =
        [65_535, 65_536, 65_537].map(|len| write_rate(1, len, 40).map(|rate| rate * len as f64));
    let at = at?;
    for goodput in [below?, above?] {
        let ratio = goodput / at;
        ensure!((ratio - 1.0).abs() <= 0.02, "{ratio} of the rate at 65536");
    }
    Ok(())
}

//! One load after the other on a pair of cards.

use anyhow::{Context, Result};
use ferroce_driver::{Access, Mr, Pmtu};
use ferroce_sim::load::{Load, Message, Op, Times};
use ferroce_sim::pair::Pair;
use ferroce_sim::roof;
use ferroce_sim::time::{CORE_PERIOD_FS, WIRE_BYTE_FS};
use ferroce_sim::transfer::{piece, Percentiles};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Bytes that are worth having on their way: several times what cable and host memory hold at 100 Gb/s.
const IN_FLIGHT: u64 = 1 << 20;
/// Rounds of more bytes than this take so long that three are enough.
const LONG_ROUND: u64 = 4 << 20;
/// Memory for the messages of a load, unless that holds less than two of them.
const REGION: u64 = 1 << 20;
/// Most places that messages of a load go to in turn.
const MAX_SLOTS: u64 = 64;
/// Core cycles between two looks for completions: 300 ns, in which a batch worth a doorbell gathers.
const POLL_CYCLES: u64 = 75;
/// Messages lie at the plan's offset behind a multiple of this.
const ALIGN: u64 = 64;

/// What all loads of a bench have in common.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Bytes behind a multiple of 64.
    pub offset: u64,
    /// Messages outstanding on a QP at most.
    pub depth: usize,
    /// Path MTU of the QPs.
    pub pmtu: Pmtu,
    /// Whether loads are short.
    pub quick: bool,
}

/// A measured rate.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    /// Kind of message.
    pub op: Op,
    /// Its bytes.
    pub bytes: u64,
    /// QPs.
    pub qps: usize,
    /// Messages outstanding on each.
    pub outstanding: usize,
    /// Messages of the load.
    pub messages: u64,
    /// Payload in Gb/s.
    pub gbps: f64,
    /// What the wire can carry, in Gb/s.
    pub roof_gbps: f64,
    /// Messages in millions a second.
    pub mega_messages: f64,
    /// What the wire can carry, in millions a second.
    pub roof_mega_messages: f64,
    /// Latency under this load, queueing included.
    pub latency_ns: Percentiles,
    /// Core cycles that the load took.
    pub cycles: u64,
    /// Core cycles simulated a second.
    pub cycles_per_second: f64,
    /// Whether every byte arrived as it was sent.
    pub identical: bool,
}

/// Latencies of single messages.
#[derive(Debug, Clone, Serialize)]
pub struct Latency {
    /// Kind of message.
    pub op: Op,
    /// Its bytes.
    pub bytes: u64,
    /// Messages.
    pub messages: u64,
    /// Their latencies.
    pub latency_ns: Percentiles,
}

impl Latency {
    /// What ends the time.
    pub fn until(&self) -> &'static str {
        if self.op.needs_receive() {
            "the receiver's completion"
        } else {
            "the sender's completion (after the ACK)"
        }
    }
}

/// Runs a load that keeps the wire as busy as it can.
///
/// # Errors
/// The simulation stops or a request fails.
pub fn throughput(pair: &Pair, op: Op, bytes: u64, plan: Plan) -> Result<Point> {
    let qps = pair.sides[0].qps.len();
    let least = if qps == 1 { 2 } else { 1 };
    let useful = IN_FLIGHT.div_ceil(bytes * qps as u64).max(least) as usize;
    let outstanding = plan.depth.min(useful);
    let round = (outstanding * qps) as u64;
    let messages = length(op, bytes, round, plan);
    pair.sim.with(|world| world.set_quantum(POLL_CYCLES));
    let (times, identical) = run(pair, op, bytes, messages, outstanding, plan)?;
    let rate = rate(&times, round as usize);
    Ok(Point {
        op,
        bytes,
        qps,
        outstanding,
        messages,
        gbps: rate * bytes as f64 * 8e-9,
        roof_gbps: roof::goodput_gbps(op, bytes, plan.pmtu),
        mega_messages: rate * 1e-6,
        roof_mega_messages: roof::message_rate(op, bytes, plan.pmtu) * 1e-6,
        latency_ns: Percentiles::new(&times.latencies()),
        cycles: times.cycles,
        cycles_per_second: times.cycles as f64 / times.wall.as_secs_f64(),
        identical,
    })
}

/// Messages of a load that has `round` outstanding: enough for the rate to settle, in rounds, and few where
/// each of them is long.
fn length(op: Op, bytes: u64, round: u64, plan: Plan) -> u64 {
    let cycles = if plan.quick { 4_000 } else { 16_000 };
    let message_fs = roof::wire_bytes(op, bytes, plan.pmtu) * WIRE_BYTE_FS;
    let least = if round * bytes > LONG_ROUND { 3 } else { 5 };
    let rounds = (cycles * CORE_PERIOD_FS / message_fs / round).clamp(least, 6 * least);
    rounds * round
}

/// Messages a second between the ends of the first and of the last but one round: more was under way at both.
/// QPs that take turns complete together, so only whole rounds tell a rate.
fn rate(times: &Times, round: usize) -> f64 {
    let mut done = times.done().to_vec();
    done.sort_unstable();
    let (first, last) = (round - 1, done.len().saturating_sub(round + 1));
    if last <= first {
        return 0.0;
    }
    let time_fs = (done[last] - done[first]).max(CORE_PERIOD_FS);
    (last - first) as f64 / (time_fs as f64 * 1e-15)
}

/// Sends one message at a time, and looks for completions every cycle.
///
/// # Errors
/// The simulation stops or a request fails.
pub fn latency(pair: &Pair, op: Op, bytes: u64, plan: Plan) -> Result<Latency> {
    let messages = if plan.quick { 20 } else { 100 };
    pair.sim.with(|world| world.set_quantum(1));
    let (times, _) = run(pair, op, bytes, messages, 1, plan)?;
    Ok(Latency {
        op,
        bytes,
        messages,
        latency_ns: Percentiles::new(&times.latencies()),
    })
}

/// Runs a load and tells whether everything arrived.
fn run(
    pair: &Pair,
    op: Op,
    bytes: u64,
    count: u64,
    depth: usize,
    plan: Plan,
) -> Result<(Times, bool)> {
    let stride = bytes.next_multiple_of(ALIGN);
    let slots = (REGION / stride).clamp(2, MAX_SLOTS).min(count);
    let len = (plan.offset + slots * stride) as usize;
    let (source, target) = regions(pair, len, op)?;
    let messages = (0..slots)
        .map(|slot| piece(&source, &target, plan.offset + slot * stride, bytes))
        .collect::<Result<Vec<Message>, _>>()?;
    let times = pair
        .run(Load {
            op,
            count,
            depth,
            message: &|n| messages[(n % slots) as usize],
            progress: &mut |_| {},
        })
        .with_context(|| format!("{} of {bytes} bytes", op.name()))?;
    let (from, to) = ends(op, &source, &target);
    let (sent, arrived) = (from.to_vec(0..len)?, to.to_vec(0..len)?);
    let identical = expected(&sent, plan.offset, stride, bytes) == arrived;
    Ok((times, identical))
}

/// Where the bytes come from and go to, of the regions of side 0 and side 1.
fn ends<'a>(op: Op, near: &'a Mr, far: &'a Mr) -> (&'a Mr, &'a Mr) {
    match op {
        Op::Read => (far, near),
        _ => (near, far),
    }
}

/// Regions of side 0 and side 1: random bytes where the messages come from, zeros where they go to.
fn regions(pair: &Pair, len: usize, op: Op) -> Result<(Mr, Mr)> {
    let mut data = vec![0; len];
    ChaCha8Rng::seed_from_u64(len as u64).fill_bytes(&mut data);
    let source = pair.sides[0].pd.allocate(len, Access::LOCAL_WRITE)?;
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ;
    let target = pair.sides[1].pd.allocate(len, rights)?;
    ends(op, &source, &target).0.write(0, &data)?;
    Ok((source, target))
}

/// What the target holds afterwards: the messages, and zeros between them.
fn expected(sent: &[u8], offset: u64, stride: u64, bytes: u64) -> Vec<u8> {
    let inside = |at: usize| {
        let behind = (at as u64).checked_sub(offset);
        behind.is_some_and(|behind| behind % stride < bytes)
    };
    let bytes = sent.iter().enumerate();
    bytes
        .map(|(at, byte)| if inside(at) { *byte } else { 0 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const PLAN: Plan = Plan {
        offset: 0,
        depth: 64,
        pmtu: Pmtu::B4096,
        quick: false,
    };

    #[test]
    fn gaps_between_messages_stay_zero() {
        assert_eq!(
            expected(&[9; 11], 3, 4, 2),
            [0, 0, 0, 9, 9, 0, 0, 9, 9, 0, 0]
        );
    }

    /// Four rounds of four messages, each complete at once: one microsecond a round, but for a straggler in the last.
    #[test]
    fn rates_are_those_of_whole_rounds() {
        let mut done: Vec<u64> = (0..16)
            .map(|n| 5_000_000_000 + n / 4 * 1_000_000_000)
            .collect();
        done[15] += 7_000_000_000;
        let times = Times {
            posted: vec![0; 16],
            sent: done,
            received: Vec::new(),
            cycles: 0,
            wall: Duration::ZERO,
        };
        assert!((rate(&times, 4) / 4e6 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn loads_are_whole_rounds_and_not_too_long() {
        assert_eq!(length(Op::Write, 64, 64, PLAN), 30 * 64);
        assert_eq!(length(Op::Write, 1 << 20, 2, PLAN), 5 * 2);
        assert_eq!(length(Op::Write, 1 << 20, 8, PLAN), 3 * 8);
    }
}

//! One load after the other on a pair of cards.

use anyhow::{Context, Result};
use ferroce_driver::{Access, Mr, Pmtu};
use ferroce_sim::load::{Load, Message, Op, Times};
use ferroce_sim::pair::Pair;
use ferroce_sim::roof;
use ferroce_sim::time::CORE_PERIOD_FS;
use ferroce_sim::transfer::{piece, Percentiles};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Bytes that are worth having on their way: several times what cable and host memory hold at 100 Gb/s.
const IN_FLIGHT: u64 = 256 << 10;
/// Memory for the messages of a load, unless that holds less than two of them.
const REGION: u64 = 1 << 20;
/// Most places that messages of a load go to in turn.
const MAX_SLOTS: u64 = 64;
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
    let window = pair.sides[0].device.capabilities().retransmit_depth as usize;
    let useful = IN_FLIGHT.div_ceil(bytes * qps as u64).max(2) as usize;
    let outstanding = plan.depth.min(window).min(useful);
    let total = (outstanding * qps) as u64;
    // Long enough for rates to settle, and not longer when a window limits them.
    let (cycles, rounds) = if plan.quick { (4_000, 6) } else { (16_000, 12) };
    let message_fs = roof::wire_bytes(op, bytes, plan.pmtu) * ferroce_sim::time::WIRE_BYTE_FS;
    let messages = (cycles * CORE_PERIOD_FS / message_fs).clamp(rounds * total, 4 * rounds * total);
    let (times, identical) = run(pair, op, bytes, messages, outstanding, plan)?;
    let rate = times.rate();
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
    let (source, target) = regions(pair, len)?;
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
    let (sent, arrived) = (source.to_vec(0..len)?, target.to_vec(0..len)?);
    let identical = expected(&sent, plan.offset, stride, bytes) == arrived;
    Ok((times, identical))
}

/// Random bytes at the sender, zeros at the receiver.
fn regions(pair: &Pair, len: usize) -> Result<(Mr, Mr)> {
    let mut data = vec![0; len];
    ChaCha8Rng::seed_from_u64(len as u64).fill_bytes(&mut data);
    let source = pair.sides[0].pd.allocate(len, Access::LOCAL_WRITE)?;
    source.write(0, &data)?;
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    Ok((source, pair.sides[1].pd.allocate(len, rights)?))
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

    #[test]
    fn gaps_between_messages_stay_zero() {
        assert_eq!(
            expected(&[9; 11], 3, 4, 2),
            [0, 0, 0, 9, 9, 0, 0, 9, 9, 0, 0]
        );
    }
}

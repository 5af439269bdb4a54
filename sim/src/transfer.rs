//! Moves bytes from one host's memory to the other's and compares them.

use ferroce_driver::{Access, Mr, Pmtu, Remote};
use serde::Serialize;

use crate::load::{Load, Message, Op, Times};
use crate::pair::{Pair, PairError};
use crate::roof;
use crate::time::{CORE_PERIOD_FS, NS_FS};

/// Latencies in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentiles {
    /// Least.
    pub min: f64,
    /// Half are below.
    pub p50: f64,
    /// 99 of 100 are below.
    pub p99: f64,
    /// Greatest.
    pub max: f64,
}

impl Percentiles {
    /// Of an ascending list of femtoseconds; zeros if it is empty.
    pub fn new(sorted_fs: &[u64]) -> Self {
        let at = |quantile: f64| {
            let last = sorted_fs.len().saturating_sub(1);
            let index = (last as f64 * quantile).round() as usize;
            sorted_fs
                .get(index)
                .map_or(0.0, |&fs| fs as f64 / NS_FS as f64)
        };
        Self {
            min: at(0.0),
            p50: at(0.5),
            p99: at(0.99),
            max: at(1.0),
        }
    }
}

/// What a transfer took.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Kind of message.
    pub op: Op,
    /// Bytes moved.
    pub bytes: u64,
    /// Messages that they took.
    pub messages: u64,
    /// Payload per simulated time from the first posting to the last completion, in Gb/s.
    pub goodput_gbps: f64,
    /// What the wire can carry of such messages, in Gb/s.
    pub roof_gbps: f64,
    /// From posting to the receiver's completion, queueing included.
    pub latency_ns: Percentiles,
    /// Core cycles simulated.
    pub cycles: u64,
    /// Core cycles simulated a second of wall time.
    pub cycles_per_second: f64,
    /// Offset of the first byte that differs at the receiver.
    pub first_difference: Option<u64>,
}

/// How to cut bytes into messages.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// Bytes of a message.
    pub message: u64,
    /// Messages outstanding on a QP.
    pub depth: usize,
    /// Path MTU of the QPs, for the roof.
    pub pmtu: Pmtu,
}

impl Pair {
    /// Moves `data` from side 0 to side 1 as messages of kind `op`, or from side 1 to side 0 by READs, and compares what arrived.
    ///
    /// # Errors
    /// As [`Pair::run`].
    pub fn transfer(
        &self,
        data: &[u8],
        op: Op,
        cut: Cut,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Report, PairError> {
        let source = self.sides[0]
            .pd
            .allocate(data.len().max(1), Access::LOCAL_WRITE)?;
        let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ;
        let target = self.sides[1].pd.allocate(data.len().max(1), rights)?;
        let (from, to) = match op {
            Op::Read => (&target, &source),
            _ => (&source, &target),
        };
        from.write(0, data)?;
        let total = data.len() as u64;
        let count = total.div_ceil(cut.message).max(1);
        let message = |n: u64| {
            piece(
                &source,
                &target,
                n * cut.message,
                cut.message.min(total - n * cut.message),
            )
        };
        let messages = (0..count).map(message).collect::<Result<Vec<_>, _>>()?;
        let times = self.run(Load {
            op,
            count,
            depth: cut.depth,
            message: &|n| messages[n as usize],
            progress,
        })?;
        let arrived = to.to_vec(0..data.len())?;
        let difference = arrived.iter().zip(data).position(|(a, b)| a != b);
        Ok(Self::report(op, total, cut, &times, difference))
    }

    fn report(op: Op, total: u64, cut: Cut, times: &Times, difference: Option<usize>) -> Report {
        let end = times.done().iter().max().copied().unwrap_or(0);
        let begin = times.posted.iter().min().copied().unwrap_or(0);
        Report {
            op,
            bytes: total,
            messages: times.posted.len() as u64,
            goodput_gbps: total as f64 * 8e6 / (end - begin).max(CORE_PERIOD_FS) as f64,
            roof_gbps: roof::goodput_gbps(op, cut.message.min(total), cut.pmtu),
            latency_ns: Percentiles::new(&times.latencies()),
            cycles: times.cycles,
            cycles_per_second: times.cycles as f64 / times.wall.as_secs_f64(),
            first_difference: difference.map(|at| at as u64),
        }
    }
}

/// The message that moves `len` bytes at `offset` of one region to the same place of another; as a READ, the other way.
///
/// # Errors
/// They leave a region.
pub fn piece(source: &Mr, target: &Mr, offset: u64, len: u64) -> Result<Message, PairError> {
    let range = offset as usize..(offset + len) as usize;
    let filled = len > 0;
    Ok(Message {
        local: filled.then(|| source.sge(range.clone())).transpose()?,
        remote: if filled {
            target.remote(range.start)?
        } else {
            Remote { addr: 0, rkey: 0 }
        },
        receive: filled.then(|| target.sge(range)).transpose()?,
    })
}

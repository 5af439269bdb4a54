//! Keeps the QPs of a pair busy with messages of one kind, and notes when each was posted and
//! completed.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ferroce_driver::{Completion, Cq, RecvWr, Remote, SendOp, SendWr, Sge, SgeList};
use serde::Serialize;

use crate::pair::{Pair, PairError};
use crate::world::WorldError;

/// Core cycles without any completion after which a load is given up: 20 ms.
const STALL_CYCLES: u64 = 5_000_000;

/// Kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// RDMA WRITE.
    Write,
    /// RDMA WRITE with immediate.
    WriteImm,
    /// SEND.
    Send,
    /// SEND with immediate.
    SendImm,
    /// RDMA READ: the bytes come from side 1 to side 0.
    Read,
}

impl Op {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::Write,
        Self::WriteImm,
        Self::Send,
        Self::SendImm,
        Self::Read,
    ];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "WRITE",
            Self::WriteImm => "WRITE_WITH_IMM",
            Self::Send => "SEND",
            Self::SendImm => "SEND_WITH_IMM",
            Self::Read => "READ",
        }
    }

    /// Whether the peer must have posted a receive request.
    pub fn needs_receive(self) -> bool {
        !matches!(self, Self::Write | Self::Read)
    }

    /// The request of message `number`.
    pub fn request(self, number: u64, message: &Message) -> SendOp {
        match self {
            Self::Write => SendOp::Write(message.remote),
            Self::WriteImm => SendOp::WriteWithImm(message.remote, number as u32),
            Self::Send => SendOp::Send,
            Self::SendImm => SendOp::SendWithImm(number as u32),
            Self::Read => SendOp::Read(message.remote),
        }
    }
}

/// Where a message comes from and goes to.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// Local memory; `None` for a message of no bytes.
    pub local: Option<Sge>,
    /// Peer memory of a WRITE or READ.
    pub remote: Remote,
    /// Receive buffer of a SEND.
    pub receive: Option<Sge>,
}

/// A load: `count` messages, from side 0 to side 1, dealt to the QPs in turn.
pub struct Load<'a> {
    /// Kind of message.
    pub op: Op,
    /// Messages.
    pub count: u64,
    /// Messages outstanding on each QP.
    pub depth: usize,
    /// Says where message `n` lies.
    pub message: &'a dyn Fn(u64) -> Message,
    /// Is told how many messages are complete.
    pub progress: &'a mut dyn FnMut(u64),
}

/// Times of a finished load, in femtoseconds, by message number.
#[derive(Debug, Clone)]
pub struct Times {
    /// When it was posted.
    pub posted: Vec<u64>,
    /// When the sender saw its completion.
    pub sent: Vec<u64>,
    /// When the receiver saw its completion; empty for plain WRITEs and READs.
    pub received: Vec<u64>,
    /// Core cycles that the load took.
    pub cycles: u64,
    /// Wall time that it took.
    pub wall: Duration,
}

impl Times {
    /// When each message was complete at the far end, as far as anybody was told.
    pub fn done(&self) -> &[u64] {
        if self.received.is_empty() {
            &self.sent
        } else {
            &self.received
        }
    }

    /// Messages a second of simulated time, between the completions at one and at nine tenths of the load.
    pub fn rate(&self) -> f64 {
        let mut done = self.done().to_vec();
        done.sort_unstable();
        let (from, to) = (done.len() / 10, done.len() - 1 - done.len() / 10);
        if done.len() < 2 || done[to] == done[from] {
            return 0.0;
        }
        (to - from) as f64 / ((done[to] - done[from]) as f64 * 1e-15)
    }

    /// From posting to completion of each message, ascending.
    pub fn latencies(&self) -> Vec<u64> {
        let mut latencies: Vec<u64> = self
            .done()
            .iter()
            .zip(&self.posted)
            .map(|(done, posted)| done - posted)
            .collect();
        latencies.sort_unstable();
        latencies
    }
}

struct Run<'a, 'b> {
    pair: &'a Pair,
    load: &'a mut Load<'b>,
    times: Times,
    /// Next message to post on each QP, and next receive request.
    next_send: Vec<u64>,
    next_receive: Vec<u64>,
    /// Outstanding receive requests of each QP, in order.
    receives: Vec<VecDeque<u64>>,
    outstanding: Vec<usize>,
    complete: u64,
}

impl Pair {
    /// Runs a load to its end.
    ///
    /// # Errors
    /// A message fails, nothing happens for 20 ms of simulated time, or the simulation stops.
    pub fn run(&self, mut load: Load<'_>) -> Result<Times, PairError> {
        let qps = self.sides[0].qps.len();
        let count = load.count as usize;
        let mut run = Run {
            pair: self,
            times: Times {
                posted: vec![0; count],
                sent: vec![0; count],
                received: vec![0; if load.op.needs_receive() { count } else { 0 }],
                cycles: self.sim.with(|w| w.cycles()),
                wall: Duration::ZERO,
            },
            next_send: (0..qps as u64).collect(),
            next_receive: (0..qps as u64).collect(),
            receives: vec![VecDeque::new(); qps],
            outstanding: vec![0; qps],
            complete: 0,
            load: &mut load,
        };
        let start = Instant::now();
        run.go()?;
        run.times.wall = start.elapsed();
        run.times.cycles = self.sim.with(|w| w.cycles()) - run.times.cycles;
        Ok(run.times)
    }
}

impl Run<'_, '_> {
    fn go(&mut self) -> Result<(), PairError> {
        let wanted = self.load.count * if self.load.op.needs_receive() { 2 } else { 1 };
        let mut last_progress = self.pair.sim.with(|w| w.cycles());
        loop {
            self.post_receives()?;
            self.post_sends()?;
            let before = self.complete;
            self.reap()?;
            let now = self.pair.sim.with(|w| w.cycles());
            if self.complete != before {
                last_progress = now;
                (self.load.progress)(self.complete * self.load.count / wanted);
            }
            if self.complete == wanted {
                return Ok(());
            }
            if now - last_progress > STALL_CYCLES {
                return Err(WorldError::Timeout {
                    what: format!("completion {} of {wanted}", self.complete + 1),
                    cycles: STALL_CYCLES,
                }
                .into());
            }
            self.pair.sim.step()?;
        }
    }

    fn post_receives(&mut self) -> Result<(), PairError> {
        if !self.load.op.needs_receive() {
            return Ok(());
        }
        let stride = self.next_receive.len() as u64;
        for (index, qp) in self.pair.sides[1].qps.iter().enumerate() {
            // Requests in a batch share a doorbell; a batch waits until it is worth one.
            let room = qp.depth().1 - self.receives[index].len();
            if room < qp.depth().1.div_ceil(2) {
                continue;
            }
            let mut batch = Vec::new();
            while batch.len() < room && self.next_receive[index] < self.load.count {
                let number = self.next_receive[index];
                let message = (self.load.message)(number);
                batch.push(RecvWr::new(number, entries(message.receive)));
                self.receives[index].push_back(number);
                self.next_receive[index] += stride;
            }
            if !batch.is_empty() {
                qp.post_recv_list(&batch)?;
            }
        }
        Ok(())
    }

    fn post_sends(&mut self) -> Result<(), PairError> {
        let stride = self.next_send.len() as u64;
        let now = self.pair.sim.now_fs();
        for (index, qp) in self.pair.sides[0].qps.iter().enumerate() {
            let mut batch = Vec::new();
            while self.outstanding[index] < self.load.depth
                && self.next_send[index] < self.load.count
            {
                let number = self.next_send[index];
                let message = (self.load.message)(number);
                let op = self.load.op.request(number, &message);
                batch.push(SendWr::new(number, op, entries(message.local)));
                self.times.posted[number as usize] = now;
                self.outstanding[index] += 1;
                self.next_send[index] += stride;
            }
            if !batch.is_empty() {
                qp.post_send_list(&batch)?;
            }
        }
        Ok(())
    }

    fn reap(&mut self) -> Result<(), PairError> {
        let now = self.pair.sim.now_fs();
        let stride = self.next_send.len();
        for completion in drain(&self.pair.sides[0].send_cq)? {
            let number = completion.wr_id as usize;
            self.times.sent[number] = now;
            self.outstanding[number % stride] -= 1;
            self.complete += 1;
        }
        for completion in drain(&self.pair.sides[1].recv_cq)? {
            let number = completion.wr_id as usize;
            self.times.received[number] = now;
            self.receives[number % stride].pop_front();
            self.complete += 1;
        }
        Ok(())
    }
}

/// The list of an entry that there may be.
pub fn entries(sge: Option<Sge>) -> SgeList {
    sge.map_or_else(SgeList::default, SgeList::from)
}

/// Takes all completions of a CQ, which must be good ones.
pub(crate) fn drain(cq: &Cq) -> Result<Vec<Completion>, PairError> {
    let completions = cq.poll(usize::MAX)?;
    for completion in &completions {
        if let Err(status) = completion.ok() {
            return Err(PairError::Completion {
                wr_id: completion.wr_id,
                status,
            });
        }
    }
    Ok(completions)
}

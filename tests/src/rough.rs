//! Messages between a pair of cards of which some may fail: a message that succeeded has arrived byte for byte, and one that did not has
//! left each byte of its target old or new.

use std::ops::Range;

use anyhow::{ensure, Context, Result};
use ferroce_driver::{Completion, RecvWr, SendWr, Status};
use ferroce_sim::pair::Pair;
use rand::Rng;

use crate::image::Image;

/// Bytes of each side's sources.
const SOURCE: usize = 1 << 16;
/// Bytes of each side's targets.
const TARGET: usize = 1 << 20;
/// Core cycles after which work that is not completed counts as stuck: the longest time-outs and all retries are over.
const STUCK_CYCLES: u64 = 600_000;
/// Core cycles in which a card without work has nothing on its way any more.
const DRAIN_CYCLES: u64 = 6_000;

/// Side and QP, and how its sends ended.
pub type Sender = ((usize, usize), Vec<Status>);

/// One message.
#[derive(Debug)]
struct Planned {
    from: usize,
    qp: usize,
    send: bool,
    source: Range<usize>,
    place: Range<usize>,
    sent: Option<Status>,
    received: Option<Status>,
}

/// SENDs and WRITEs over all QPs in both directions, all of them signaled.
#[derive(Debug)]
pub struct Rough<'a> {
    pair: &'a Pair,
    sources: [Image; 2],
    targets: [Image; 2],
    messages: Vec<Planned>,
}

impl<'a> Rough<'a> {
    /// `count` messages of up to `longest` bytes for each of `qps` in each direction. The QPs hold that many requests.
    ///
    /// # Errors
    /// Of the driver, or the memory is used up.
    pub fn new(
        pair: &'a Pair,
        rng: &mut impl Rng,
        qps: Range<usize>,
        count: usize,
        longest: usize,
    ) -> Result<Self> {
        let mut image = |side: usize, len| Image::new(&pair.sides[side].pd, len, rng);
        let sources = [image(0, SOURCE)?, image(1, SOURCE)?];
        let mut targets = [image(0, TARGET)?, image(1, TARGET)?];
        let mut messages = Vec::new();
        for from in 0..2 {
            for qp in qps.clone() {
                for _ in 0..count {
                    let len = rng.gen_range(1..=longest);
                    messages.push(Planned {
                        from,
                        qp,
                        send: rng.gen(),
                        source: sources[from].anywhere(len, rng),
                        place: targets[1 - from].reserve(len, rng)?,
                        sent: None,
                        received: None,
                    });
                }
            }
        }
        Ok(Self {
            pair,
            sources,
            targets,
            messages,
        })
    }

    /// Posts everything: receives first.
    ///
    /// # Errors
    /// Of the driver.
    pub fn post(&self) -> Result<()> {
        for (n, message) in self.messages.iter().enumerate() {
            if message.send {
                let target = &self.targets[1 - message.from].mr;
                let wr = RecvWr::new(n as u64, target.sge(message.place.clone())?);
                self.pair.sides[1 - message.from].qps[message.qp].post_recv(wr)?;
            }
        }
        for (n, message) in self.messages.iter().enumerate() {
            let source = self.sources[message.from].mr.sge(message.source.clone())?;
            let wr = if message.send {
                SendWr::send(n as u64, source)
            } else {
                let target = &self.targets[1 - message.from].mr;
                SendWr::write(n as u64, source, target.remote(message.place.start)?)
            };
            self.pair.sides[message.from].qps[message.qp].post_send(wr)?;
        }
        Ok(())
    }

    /// Lets a quantum of time pass and takes completions; whether every send is completed.
    ///
    /// # Errors
    /// The cards stop, or a completion answers nothing.
    pub fn step(&mut self) -> Result<bool> {
        self.pair.sim.step()?;
        for side in &self.pair.sides {
            for completion in side.send_cq.poll(64)? {
                let message = message(&mut self.messages, &completion)?;
                ensure!(message.sent.is_none(), "{completion:?} came twice");
                message.sent = Some(completion.status);
            }
            for completion in side.recv_cq.poll(64)? {
                let message = message(&mut self.messages, &completion)?;
                ensure!(message.received.is_none(), "{completion:?} came twice");
                message.received = Some(completion.status);
            }
        }
        Ok(self.messages.iter().all(|m| m.sent.is_some()))
    }

    /// Steps until every send is completed and the cards are quiet. `meanwhile` is called between steps.
    ///
    /// # Errors
    /// Something hangs; as [`Self::step`]; of `meanwhile`.
    pub fn finish(&mut self, mut meanwhile: impl FnMut() -> Result<()>) -> Result<()> {
        let pair = self.pair;
        let cycles = || pair.sim.with(|world| world.cycles());
        let end = cycles() + STUCK_CYCLES;
        while !self.step()? {
            meanwhile()?;
            let open = || self.messages.iter().filter(|m| m.sent.is_none());
            ensure!(cycles() < end, "stuck: {:?}", open().collect::<Vec<_>>());
        }
        let end = cycles() + DRAIN_CYCLES;
        while cycles() < end {
            self.step()?;
        }
        Ok(())
    }

    /// Checks every byte of both sides, and that each receive of a successful SEND is completed. Returns the statuses of the sends by
    /// side and QP, in order.
    ///
    /// # Errors
    /// A byte or a completion is wrong.
    pub fn check(&mut self) -> Result<Vec<Sender>> {
        let mut statuses: Vec<Sender> = Vec::new();
        for message in &self.messages {
            let new = self.sources[message.from].bytes(message.source.clone());
            let target = &mut self.targets[1 - message.from];
            let status = message.sent.context("a send without completion")?;
            let key = (message.from, message.qp);
            match statuses.last_mut().filter(|(of, _)| *of == key) {
                Some((_, list)) => list.push(status),
                None => statuses.push((key, vec![status])),
            }
            if status == Status::Success {
                // The driver ends a QP whose own request failed, and may flush a receive whose completion is still on its way.
                let ended = self.messages.iter().any(|m| {
                    (m.from, m.qp) == (1 - message.from, message.qp)
                        && m.sent != Some(Status::Success)
                });
                let flushed = ended && message.received == Some(Status::WrFlush);
                let received = flushed || message.received == Some(Status::Success);
                ensure!(!message.send || received, "not received: {message:?}");
                target.expect(message.place.start, new);
                continue;
            }
            let is = target.mr.to_vec(message.place.clone())?;
            let old = target.bytes(message.place.clone());
            let strange = (0..is.len()).find(|&k| is[k] != old[k] && is[k] != new[k]);
            ensure!(strange.is_none(), "byte {strange:?} of {message:?}");
            target.expect(message.place.start, &is);
        }
        for side in 0..2 {
            self.sources[side].check()?;
            self.targets[side].check()?;
        }
        Ok(statuses)
    }
}

fn message<'m>(messages: &'m mut [Planned], completion: &Completion) -> Result<&'m mut Planned> {
    let message = messages.get_mut(completion.wr_id as usize);
    message.with_context(|| format!("{completion:?} answers nothing"))
}

//! Latency of single messages inside the cards, split by stage.

use ferroce_driver::{RecvWr, SendWr};
use serde::Serialize;

use crate::load::{entries, Message, Op};
use crate::pair::{Pair, PairError};
use crate::stages::{Passed, Stage};
use crate::time::CORE_PERIOD_FS;
use crate::world::WorldError;

/// Core cycles in which a message must be through.
const DEADLINE_CYCLES: u64 = 100_000;
/// Core cycles between two messages, more than anything of the first takes to end; a message more waits a cycle longer, so that all
/// phases between the clocks are met.
const PAUSE_CYCLES: u64 = 300;

/// A part of a message's way through a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// From posting to the first beat on the wire, at the sender.
    Posting,
    /// From the first beat on the wire to the CQE, or to the payload when there is no CQE, on the host's bus, at the receiver.
    Arrival,
    /// From the first beat of the ACK to the CQE on the host's bus, at the sender.
    Acknowledgement,
}

impl Way {
    /// Most core cycles that it may take inside the card.
    pub fn limit(self) -> f64 {
        match self {
            Self::Posting => 120.0,
            Self::Arrival | Self::Acknowledgement => 150.0,
        }
    }
}

/// From one stage to the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// The stage at its end.
    pub to: Stage,
    /// Core cycles.
    pub cycles: f64,
    /// The host's, not the card's: the answer to a read is on its way.
    pub host: bool,
}

/// A message's way, step by step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Split {
    /// Stage at which it begins.
    pub from: Stage,
    /// Its steps.
    pub steps: Vec<Step>,
}

impl Split {
    /// Core cycles inside the card.
    pub fn inside(&self) -> f64 {
        self.cycles(false)
    }

    /// Core cycles of waiting for the host.
    pub fn outside(&self) -> f64 {
        self.cycles(true)
    }

    fn cycles(&self, host: bool) -> f64 {
        let steps = self.steps.iter().filter(|step| step.host == host);
        steps.map(|step| step.cycles).sum()
    }
}

/// Follows a message through what was noted.
struct Trail<'a> {
    passed: &'a [Passed],
    now_fs: u64,
    split: Split,
}

impl<'a> Trail<'a> {
    fn new(passed: &'a [Passed], from: Stage, start_fs: u64) -> Self {
        let steps = Vec::new();
        Self {
            passed,
            now_fs: start_fs,
            split: Split { from, steps },
        }
    }

    /// When `stage` is passed next.
    fn next(&self, stage: Stage) -> Option<u64> {
        next(self.passed, stage, self.now_fs)
    }

    fn go(&mut self, to: Stage) -> Option<()> {
        let then = self.next(to)?;
        self.split.steps.push(Step {
            to,
            cycles: (then - self.now_fs) as f64 / CORE_PERIOD_FS as f64,
            host: to == Stage::Completion,
        });
        self.now_fs = then;
        Some(())
    }

    /// By way of host memory, if the message goes there before it comes to `before`.
    fn read(&mut self, request: Stage, before: Stage) -> Option<()> {
        let end = self.next(before)?;
        if self.next(request).is_some_and(|asked| asked <= end) {
            self.go(request)?;
            self.go(Stage::ReadRequest)?;
            self.go(Stage::Completion)?;
        }
        Some(())
    }
}

fn next(passed: &[Passed], stage: Stage, from_fs: u64) -> Option<u64> {
    let mut found = passed.iter().filter(|p| p.stage == stage);
    found.find(|p| p.time_fs >= from_fs).map(|p| p.time_fs)
}

/// The first message's way in what a card noted; `None` if it did not come to the end.
pub fn split(passed: &[Passed], way: Way) -> Option<Split> {
    let mut trail;
    match way {
        Way::Posting => {
            let bell = next(passed, Stage::Doorbell, 0)?;
            let stores = passed.iter().filter(|p| p.stage == Stage::Store);
            let start = stores.rev().find(|p| p.time_fs <= bell)?.time_fs;
            trail = Trail::new(passed, Stage::Store, start);
            trail.go(Stage::Doorbell)?;
            trail.read(Stage::WqeRequest, Stage::Kick)?;
            trail.go(Stage::Kick)?;
            trail.go(Stage::WqeRead)?;
            trail.go(Stage::Sent)?;
            trail.read(Stage::PayloadRequest, Stage::FrameOut)?;
            trail.go(Stage::FrameOut)?;
            trail.go(Stage::MacTx)?;
        }
        Way::Arrival | Way::Acknowledgement => {
            let start = next(passed, Stage::MacRx, 0)?;
            trail = Trail::new(passed, Stage::MacRx, start);
            trail.go(Stage::FrameIn)?;
            let done = match way {
                Way::Acknowledgement => Stage::SendDone,
                _ => Stage::ReceiveDone,
            };
            if way == Way::Arrival && trail.next(Stage::PayloadWrite).is_some() {
                trail.go(Stage::PayloadWrite)?;
            }
            if trail.next(done).is_some() {
                trail.go(done)?;
                trail.go(Stage::CqeWrite)?;
            }
            trail.go(Stage::WriteRequest)?;
        }
    }
    Some(trail.split)
}

/// All messages' ways.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Splits {
    /// Of each message, from posting to the wire.
    pub posting: Vec<Split>,
    /// From the wire to the receiver's host.
    pub arrival: Vec<Split>,
    /// From the ACK to the sender's host.
    pub acknowledgement: Vec<Split>,
}

impl Pair {
    /// Sends `count` messages from side 0 to side 1, one at a time, made by `request` of their number.
    ///
    /// # Errors
    /// A message fails or does not arrive, or the simulation stops.
    pub fn splits(
        &self,
        op: Op,
        message: &Message,
        count: u64,
        request: &dyn Fn(u64) -> Result<SendWr, ferroce_driver::Error>,
    ) -> Result<Splits, PairError> {
        let sides = &self.sides;
        self.sim
            .with(|world| {
                world.set_quantum(1);
                (0..2).try_for_each(|card| world.card_mut(card).trace_stages())
            })
            .map_err(WorldError::from)?;
        let mut splits = Splits::default();
        for number in 0..count {
            if op.needs_receive() {
                let receive = entries(message.receive);
                sides[1].qps[0].post_recv(RecvWr::new(number, receive))?;
            }
            self.rest(PAUSE_CYCLES + number)?;
            self.sim.with(|world| {
                (0..2).for_each(|card| drop(world.card_mut(card).take_stages()));
            });
            sides[0].qps[0].post_send(request(number)?)?;
            let (mut sent, mut received) = (false, !op.needs_receive());
            self.sim.run_until("a message", DEADLINE_CYCLES, || {
                sent |= !self.drain(0)?.is_empty();
                received |= !self.drain(1)?.is_empty();
                Ok::<_, PairError>(sent && received)
            })?;
            // The receiver's last write may still be on its way to the bus.
            self.rest(PAUSE_CYCLES)?;
            let passed = |card: usize| self.sim.with(|w| w.card_mut(card).take_stages());
            let (near, far) = (passed(0), passed(1));
            splits.posting.extend(split(&near, Way::Posting));
            splits.arrival.extend(split(&far, Way::Arrival));
            let back = split(&near, Way::Acknowledgement);
            splits.acknowledgement.extend(back);
        }
        Ok(splits)
    }

    fn drain(&self, side: usize) -> Result<Vec<ferroce_driver::Completion>, PairError> {
        let cq = match side {
            0 => &self.sides[0].send_cq,
            _ => &self.sides[1].recv_cq,
        };
        crate::load::drain(cq)
    }

    fn rest(&self, cycles: u64) -> Result<(), PairError> {
        (0..cycles).try_for_each(|_| Ok(self.sim.step()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(stages: &[(Stage, u64)]) -> Vec<Passed> {
        let at = |&(stage, cycle): &(Stage, u64)| Passed {
            stage,
            time_fs: cycle * CORE_PERIOD_FS,
        };
        stages.iter().map(at).collect()
    }

    #[test]
    fn waiting_for_the_host_is_not_the_cards() {
        let log = passed(&[
            (Stage::Store, 1),
            (Stage::Store, 10),
            (Stage::Doorbell, 20),
            (Stage::WqeRequest, 22),
            (Stage::ReadRequest, 30),
            (Stage::Completion, 230),
            (Stage::Kick, 240),
            (Stage::WqeRead, 245),
            (Stage::Sent, 260),
            (Stage::FrameOut, 280),
            (Stage::MacTx, 291),
        ]);
        let split = split(&log, Way::Posting).unwrap();
        assert_eq!((split.inside(), split.outside()), (81.0, 200.0));
        assert_eq!(split.steps.len(), 9);
    }

    #[test]
    fn a_message_that_did_not_arrive_has_no_split() {
        let log = passed(&[(Stage::MacRx, 5), (Stage::FrameIn, 9)]);
        assert_eq!(split(&log, Way::Arrival), None);
    }
}

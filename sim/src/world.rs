//! Cards, what connects them, and the one time that they share.
//!
//! Cards run in parallel for one quantum, the delay of a link: a frame sent in one quantum can't
//! arrive before the next. So a run does not depend on how threads are scheduled.

use std::path::PathBuf;
use std::sync::Arc;

use ferroce_bridge::{BridgeError, Library};
use thiserror::Error;

use crate::card::{Card, CardError};
use crate::link::{Frame, Link, LinkConfig};
use crate::pcap::{Capture, CaptureError};
use crate::pcie::PcieConfig;
use crate::time::CORE_PERIOD_FS;

/// Shorter steps are not worth starting threads for.
const PARALLEL_FS: u64 = 16 * CORE_PERIOD_FS;

/// What the cards' cables lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wiring {
    /// Two cards, each at one end of a cable.
    #[default]
    Pair,
    /// Each cable ends at the program: it takes what a card sends and sends what it likes.
    Open,
}

/// How to set up a simulation.
#[derive(Debug, Clone, Default)]
pub struct WorldConfig {
    /// Where cables lead.
    pub wiring: Wiring,
    /// Cables.
    pub link: LinkConfig,
    /// Hosts and the links to them.
    pub pcie: PcieConfig,
    /// Seed of everything random.
    pub seed: u64,
    /// Capture file for every frame that a card, or with open wiring the program, sends.
    pub capture: Option<PathBuf>,
    /// Wave file of each card; `.0.fst`, `.1.fst` ... is appended.
    pub wave: Option<PathBuf>,
}

/// A simulation can't go on.
#[derive(Debug, Error)]
pub enum WorldError {
    /// A card stopped.
    #[error(transparent)]
    Card(#[from] CardError),
    /// A capture can't be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A condition did not come true in time.
    #[error("{what} did not happen within {cycles} core cycles")]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long.
        cycles: u64,
    },
    /// A thread of the simulation panicked.
    #[error("a simulation thread panicked")]
    Panic,
}

impl From<BridgeError> for WorldError {
    fn from(error: BridgeError) -> Self {
        Self::Card(error.into())
    }
}

/// Cards on one time line.
#[derive(Debug)]
pub struct World {
    cards: Vec<Card>,
    wiring: Wiring,
    now_fs: u64,
    /// Length of a step.
    quantum_fs: u64,
    /// Longest step that no frame outruns: a cable's delay.
    longest_fs: u64,
    capture: Option<Capture>,
    /// With open wiring: what each card sent.
    sent: Vec<Vec<Frame>>,
    /// With open wiring: what the program sent and the capture has not seen.
    injected: Vec<Frame>,
}

impl World {
    /// `count` cards of one design at time 0.
    ///
    /// # Errors
    /// The model or a file can't be made.
    pub fn new(
        library: &Arc<Library>,
        count: usize,
        config: &WorldConfig,
    ) -> Result<Self, WorldError> {
        let mut cards = (0..count)
            .map(|index| {
                let seed = config
                    .seed
                    .wrapping_mul(1_000_003)
                    .wrapping_add(index as u64);
                Card::new(
                    index,
                    library,
                    config.pcie,
                    Link::new(config.link, seed),
                    !seed,
                )
            })
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(wave) = &config.wave {
            for (index, card) in cards.iter_mut().enumerate() {
                let mut name = wave.as_os_str().to_owned();
                name.push(format!(".{index}.fst"));
                card.open_wave(name.as_ref())?;
            }
        }
        let capture = config.capture.as_deref().map(Capture::create).transpose()?;
        Ok(Self {
            sent: vec![Vec::new(); count],
            injected: Vec::new(),
            cards,
            wiring: config.wiring,
            now_fs: 0,
            quantum_fs: config.link.delay_fs.max(CORE_PERIOD_FS),
            longest_fs: config.link.delay_fs.max(CORE_PERIOD_FS),
            capture,
        })
    }

    /// Simulated time.
    pub fn now_fs(&self) -> u64 {
        self.now_fs
    }

    /// Core cycles that each card has run.
    pub fn cycles(&self) -> u64 {
        self.cards.first().map_or(0, Card::cycle)
    }

    /// A card.
    pub fn card(&self, index: usize) -> &Card {
        &self.cards[index]
    }

    /// A card.
    pub fn card_mut(&mut self, index: usize) -> &mut Card {
        &mut self.cards[index]
    }

    /// With open wiring: takes what a card sent.
    pub fn take_sent(&mut self, card: usize) -> Vec<Frame> {
        std::mem::take(&mut self.sent[card])
    }

    /// With open wiring: sends a frame (FCS included) to a card now.
    pub fn inject(&mut self, card: usize, bytes: Vec<u8>) {
        let time_fs = self.now_fs;
        let frame = Frame { bytes, time_fs };
        if self.capture.is_some() {
            self.injected.push(frame.clone());
        }
        self.cards[card].incoming.send(frame);
    }

    /// Makes steps shorter than the cables' delay, to look at the cards more often; never longer.
    pub fn set_quantum(&mut self, cycles: u64) {
        self.quantum_fs = self.longest_fs.min(cycles.max(1) * CORE_PERIOD_FS);
    }

    /// Runs one quantum.
    ///
    /// # Errors
    /// A card stops or a capture can't be written.
    pub fn step(&mut self) -> Result<(), WorldError> {
        let until = self.now_fs + self.quantum_fs;
        if self.quantum_fs < PARALLEL_FS {
            for card in &mut self.cards {
                card.run_until(until)?;
            }
        } else if let [first, rest @ ..] = &mut self.cards[..] {
            std::thread::scope(|scope| {
                let others: Vec<_> = rest
                    .iter_mut()
                    .map(|card| scope.spawn(move || card.run_until(until)))
                    .collect();
                let mut result = first.run_until(until).map_err(WorldError::from);
                for other in others {
                    let other = other.join().map_err(|_| WorldError::Panic);
                    result = result.and(other.and_then(|r| r.map_err(WorldError::from)));
                }
                result
            })?;
        }
        self.now_fs = until;
        self.exchange()
    }

    /// Moves frames sent in the last quantum to where their cables lead.
    fn exchange(&mut self) -> Result<(), WorldError> {
        let mut sent: Vec<(usize, Frame)> = Vec::new();
        for (index, card) in self.cards.iter_mut().enumerate() {
            sent.extend(card.outgoing.drain(..).map(|frame| (index, frame)));
        }
        sent.sort_by_key(|(index, frame)| (frame.time_fs, *index));
        if let Some(capture) = &mut self.capture {
            let both = self
                .injected
                .iter()
                .chain(sent.iter().map(|(_, frame)| frame));
            let mut frames: Vec<&Frame> = both.collect();
            frames.sort_by_key(|frame| frame.time_fs);
            for frame in frames {
                capture.write(frame.time_fs, &frame.bytes)?;
            }
            self.injected.clear();
        }
        for (index, frame) in sent {
            match self.wiring {
                Wiring::Pair => self.cards[1 - index].incoming.send(frame),
                Wiring::Open => self.sent[index].push(frame),
            }
        }
        Ok(())
    }

    /// Runs at least `cycles` core cycles.
    ///
    /// # Errors
    /// As [`World::step`].
    pub fn run(&mut self, cycles: u64) -> Result<(), WorldError> {
        let until = self.now_fs + cycles * CORE_PERIOD_FS;
        while self.now_fs < until {
            self.step()?;
        }
        Ok(())
    }
}

//! Runs rules, on one card where they need no other.

use std::sync::Arc;

use anyhow::{Context, Result};
use ferroce_bridge::Library;

use crate::bench::Bench;
use crate::peer::PeerConfig;

/// How a rule is checked.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    /// On a card with two QPs that are freshly connected in this way.
    Bench(fn() -> [PeerConfig; 2], fn(&mut Bench) -> Result<()>),
    /// On cards of its own.
    Cards(fn(&Arc<Library>, u64) -> Result<()>),
}

/// One rule of a standard.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// What the card must do.
    pub name: &'static str,
    /// Where that is written; numbers without a name are sections of the InfiniBand Architecture Specification, volume 1.
    pub clause: &'static str,
    /// The check.
    pub run: Run,
}

/// A model of a card, and an instance that rules share.
pub struct Stage {
    library: Arc<Library>,
    seed: u64,
    bench: Option<Bench>,
}

impl Stage {
    /// A stage for this model; payloads and addresses follow from `seed`.
    pub fn new(library: Arc<Library>, seed: u64) -> Self {
        Self {
            library,
            seed,
            bench: None,
        }
    }

    /// Checks a rule. After a failure the next one gets a new card.
    ///
    /// # Errors
    /// The card breaks the rule; of simulation and driver.
    pub fn run(&mut self, rule: &Rule) -> Result<()> {
        match rule.run {
            Run::Cards(check) => check(&self.library, self.seed),
            Run::Bench(configs, check) => {
                let configs = configs();
                let mut bench = match self.bench.take() {
                    Some(bench) => bench,
                    None => Bench::new(&self.library, self.seed, &configs)?,
                };
                for (peer, config) in bench.peers.iter_mut().zip(configs) {
                    peer.connect(&bench.open, config)?;
                }
                bench.open.cq.poll(usize::MAX)?;
                bench.counted_any()?;
                check(&mut bench)?;
                self.bench = Some(bench);
                Ok(())
            }
        }
        .context(rule.name)
    }
}

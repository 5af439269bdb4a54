//! Pairs of cards whose hosts have no IOMMU.

use std::sync::Arc;

use anyhow::{ensure, Result};
use ferroce_bridge::Library;
use ferroce_driver::{Access, Completion, Counter, Cq, Mr, PageSize, SendWr};
use ferroce_sim::pair::{Pair, PairConfig, PairError};
use ferroce_sim::scatter::{Scatter, ScatteredBuffer, ScatteredMemory};
use ferroce_sim::world::WorldConfig;
use rand::RngCore;
use rand_chacha::ChaCha8Rng;

use crate::setup::{connect, Connection};

/// Rights of targets.
pub const TARGET: Access = Access::from_bits(3);

/// Core cycles in which what was acknowledged is in the host's memory too: an ACK says that it was received.
const PLACED: u64 = 3000;

/// Two cards, and memory of their hosts in scattered pages.
pub struct Paged {
    /// The cards.
    pub pair: Pair,
    /// Memory for regions of each side's choice.
    pub memory: [ScatteredMemory; 2],
}

/// A region and the memory behind it.
pub struct Region {
    /// The region.
    pub mr: Mr,
    /// Its memory.
    pub buffer: Arc<ScatteredBuffer>,
}

impl Paged {
    /// Two cards with a QP for each connection; all regions have pages of `size`.
    ///
    /// # Errors
    /// Of simulation and driver.
    pub fn new(
        library: &Arc<Library>,
        world: &WorldConfig,
        size: PageSize,
        connections: &[Connection],
    ) -> Result<Self> {
        let scatter = Scatter {
            size,
            seed: world.seed,
        };
        let config = PairConfig {
            qps: connections.len(),
            depth: 16,
            scatter: Some(scatter),
            ..PairConfig::default()
        };
        let pair = Pair::new(library, world, &config)?;
        for (index, connection) in connections.iter().enumerate() {
            connect(&pair, index, connection)?;
        }
        let memory = [0, 1].map(|side| {
            let seed = scatter.seed ^ (0x5eed + side as u64);
            ScatteredMemory::new(&pair.sim, side, Scatter { seed, ..scatter })
        });
        Ok(Self { pair, memory })
    }

    /// A region of `len` bytes, `offset` behind the beginning of a page.
    ///
    /// # Errors
    /// Of the driver.
    pub fn region(&self, side: usize, len: usize, offset: u64, access: Access) -> Result<Region> {
        self.register(side, self.memory[side].buffer(len, offset), access)
    }

    /// A region of the whole of a buffer.
    ///
    /// # Errors
    /// Of the driver.
    pub fn register(
        &self,
        side: usize,
        buffer: Arc<ScatteredBuffer>,
        access: Access,
    ) -> Result<Region> {
        let mr = self.pair.sides[side]
            .pd
            .register(Arc::clone(&buffer) as _, access)?;
        Ok(Region { mr, buffer })
    }

    /// A source of random bytes at side 0, and a target of as many at side 1.
    ///
    /// # Errors
    /// Of the driver.
    pub fn regions(
        &self,
        len: usize,
        offsets: [u64; 2],
        rng: &mut ChaCha8Rng,
    ) -> Result<[Region; 2]> {
        let source = self.region(0, len, offsets[0], Access::NONE)?;
        let mut bytes = vec![0; len];
        rng.fill_bytes(&mut bytes);
        source.mr.write(0, &bytes)?;
        Ok([source, self.region(1, len, offsets[1], TARGET)?])
    }

    /// Waits for completions.
    ///
    /// # Errors
    /// They do not come.
    pub fn wait(&self, cq: &Cq, count: usize) -> Result<Vec<Completion>> {
        let mut done = Vec::new();
        self.pair
            .sim
            .run_until::<PairError>("completions", 400_000, || {
                done.extend(cq.poll(count - done.len())?);
                Ok(done.len() == count)
            })?;
        Ok(done)
    }

    /// Writes bytes `at..at + len` of the source to the same place of the target, and waits until they are there.
    ///
    /// # Errors
    /// Of simulation and driver.
    pub fn write(
        &self,
        qp: usize,
        [source, target]: [&Mr; 2],
        at: usize,
        len: usize,
    ) -> Result<Completion> {
        let side = &self.pair.sides[0];
        side.qps[qp].post_send(SendWr::write(
            1,
            source.sge(at..at + len)?,
            target.remote(at)?,
        ))?;
        let done = self.wait(&side.send_cq, 1)?.remove(0);
        self.pair.sim.with(|world| world.run(PLACED))?;
        Ok(done)
    }

    /// A counter of one side.
    ///
    /// # Errors
    /// The card does not answer.
    pub fn counter(&self, side: usize, counter: Counter) -> Result<u64> {
        Ok(self.pair.sides[side].device.counter(counter)?)
    }

    /// No card has touched memory that is not its.
    ///
    /// # Errors
    /// One has.
    pub fn nothing_stray(&self, regions: &[Region]) -> Result<()> {
        for region in regions {
            ensure!(region.buffer.poison_is_intact(), "bytes beside a page");
        }
        for side in 0..2 {
            let stats = self.pair.sim.with(|world| world.card(side).host.stats());
            ensure!(stats.faults == 0, "side {side}: {stats:?}");
        }
        Ok(())
    }
}

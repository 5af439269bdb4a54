//! One card whose cable ends at the test.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Result;
use ferroce_abi::frame::{on_wire, Endpoint};
use ferroce_bridge::Library;
use ferroce_driver::{Bar, Cq, Device, Mac, Pd, PortAddress};
use ferroce_sim::host::Sim;
use ferroce_sim::link::LinkConfig;
use ferroce_sim::time::CORE_PERIOD_FS;
use ferroce_sim::world::{Wiring, World, WorldConfig};

/// Core cycles in which a card answers whatever comes: about three times what it takes.
pub const ANSWER_CYCLES: u64 = 800;
/// Core cycles between two looks at the card.
const QUANTUM: u64 = 16;

/// The card and its host.
pub struct Open {
    /// The simulation.
    pub sim: Sim,
    /// The card's registers.
    pub bar: Arc<dyn Bar>,
    /// The card.
    pub device: Device,
    /// The card's addresses.
    pub card: Endpoint,
    /// The other end of the cable.
    pub peer: Endpoint,
    /// Protection domain.
    pub pd: Pd,
    /// CQ for everything.
    pub cq: Cq,
}

/// The driver's form of an endpoint.
pub fn port(end: Endpoint) -> PortAddress {
    PortAddress {
        mac: end.mac,
        ip: end.ip,
    }
}

impl Open {
    /// A card that has just been switched on, with its addresses set.
    ///
    /// # Errors
    /// Of simulation and driver.
    pub fn new(library: &Arc<Library>, seed: u64) -> Result<Self> {
        let config = WorldConfig {
            wiring: Wiring::Open,
            link: LinkConfig {
                delay_fs: QUANTUM * CORE_PERIOD_FS,
                ..LinkConfig::default()
            },
            seed,
            ..WorldConfig::default()
        };
        let sim = Sim::new(World::new(library, 1, &config)?);
        let (bar, memory) = sim.host(0);
        let device = Device::open(Arc::clone(&bar), memory)?;
        let end = |last| Endpoint {
            mac: Mac([0x02, 0, 0, 0, 0, last]),
            ip: Ipv4Addr::new(192, 0, 2, last),
        };
        let card = end(1);
        device.set_port(port(card))?;
        let (pd, cq) = (device.create_pd()?, device.create_cq(256)?);
        Ok(Self {
            sim,
            bar,
            device,
            card,
            peer: end(2),
            pd,
            cq,
        })
    }

    /// Sends a frame to the card, from the destination MAC to the ICRC; padding and FCS are added.
    pub fn inject(&self, frame: Vec<u8>) {
        self.inject_raw(on_wire(frame));
    }

    /// Sends bytes to the card as they are.
    pub fn inject_raw(&self, bytes: Vec<u8>) {
        self.sim.with(|world| world.inject(0, bytes));
    }

    /// Lets the card work, and returns what it has sent since it was last asked, FCS included.
    ///
    /// # Errors
    /// Of the simulation.
    pub fn run(&self, cycles: u64) -> Result<Vec<Vec<u8>>> {
        self.sim.with(|world| {
            world.run(cycles)?;
            Ok(world.take_sent(0).into_iter().map(|f| f.bytes).collect())
        })
    }

    /// [`Self::run`] for as long as an answer takes.
    ///
    /// # Errors
    /// Of the simulation.
    pub fn answers(&self) -> Result<Vec<Vec<u8>>> {
        self.run(ANSWER_CYCLES)
    }
}

//! Two hosts, a card in each, a cable between them, and connected QPs.

use std::net::Ipv4Addr;
use std::sync::Arc;

use ferroce_bridge::Library;
use ferroce_driver::{
    Access, Cq, Device, InitAttr, Mac, Pd, Pmtu, PortAddress, Qp, RtrAttr, RtsAttr,
};
use thiserror::Error;

use crate::host::Sim;
use crate::scatter::{Scatter, ScatteredMemory};
use crate::world::{World, WorldConfig, WorldError};

/// How QPs of a pair are set up.
#[derive(Debug, Clone, Copy)]
pub struct PairConfig {
    /// Connected QPs.
    pub qps: usize,
    /// Send requests that each QP holds. It holds twice as many receive requests, so that they never run out while half
    /// of them wait to be posted again.
    pub depth: usize,
    /// Single send requests are pushed.
    pub push: bool,
    /// Path MTU.
    pub pmtu: Pmtu,
    /// First PSN of the first host's requests; the other's is one's complement of it.
    pub psn: u32,
    /// ACK timeout exponent.
    pub timeout: u8,
    /// Retries after time-outs and sequence NAKs.
    pub retry_cnt: u8,
    /// How memory of regions is scattered, on hosts without an IOMMU.
    pub scatter: Option<Scatter>,
}

impl Default for PairConfig {
    fn default() -> Self {
        Self {
            qps: 1,
            depth: 64,
            push: true,
            pmtu: Pmtu::B4096,
            psn: 0xff_fff0,
            timeout: 8,
            retry_cnt: 7,
            scatter: None,
        }
    }
}

/// Something of a simulated pair went wrong.
#[derive(Debug, Error)]
pub enum PairError {
    /// The simulation.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The driver.
    #[error(transparent)]
    Driver(#[from] ferroce_driver::Error),
    /// A request could not be posted.
    #[error(transparent)]
    Post(#[from] ferroce_driver::PostError),
    /// Memory of a host.
    #[error(transparent)]
    Memory(#[from] ferroce_driver::DmaError),
    /// A request failed.
    #[error("request {wr_id} ended with: {status}")]
    Completion {
        /// Which one.
        wr_id: u64,
        /// How.
        status: ferroce_driver::Status,
    },
}

/// One host.
#[derive(Debug)]
pub struct Side {
    /// Its card.
    pub device: Device,
    /// The card's addresses.
    pub address: PortAddress,
    /// Protection domain of everything here.
    pub pd: Pd,
    /// CQ of all sends.
    pub send_cq: Cq,
    /// CQ of all receives.
    pub recv_cq: Cq,
    /// QPs; the n-th is connected to the n-th of the other side.
    pub qps: Vec<Qp>,
}

impl Side {
    fn new(sim: &Sim, index: usize, config: &PairConfig) -> Result<Self, PairError> {
        let (bar, mut memory) = sim.host(index);
        if let Some(scatter) = config.scatter {
            let seed = scatter.seed.wrapping_add(index as u64);
            memory = Arc::new(ScatteredMemory::new(
                sim,
                index,
                Scatter { seed, ..scatter },
            ));
        }
        let device = Device::open(bar, memory)?;
        let last = index as u8 + 1;
        let address = PortAddress {
            mac: Mac([0x02, 0, 0, 0, 0, last]),
            ip: Ipv4Addr::new(192, 0, 2, last),
        };
        device.set_port(address)?;
        let pd = device.create_pd()?;
        let entries = (2 * config.qps * config.depth).next_power_of_two().max(64);
        let (send_cq, recv_cq) = (device.create_cq(entries)?, device.create_cq(entries)?);
        let qps = (0..config.qps)
            .map(|_| {
                pd.qp(&send_cq)
                    .recv_cq(&recv_cq)
                    .send_depth(config.depth)
                    .push(config.push)
                    .recv_depth(2 * config.depth)
                    .build()
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            device,
            address,
            pd,
            send_cq,
            recv_cq,
            qps,
        })
    }
}

/// Two connected hosts.
#[derive(Debug)]
pub struct Pair {
    /// The simulation they live in.
    pub sim: Sim,
    /// The hosts.
    pub sides: [Side; 2],
}

impl Pair {
    /// Sets up two cards of a design, with all QPs ready to send.
    ///
    /// # Errors
    /// The simulation or the driver fails.
    pub fn new(
        library: &Arc<Library>,
        world: &WorldConfig,
        config: &PairConfig,
    ) -> Result<Self, PairError> {
        let sim = Sim::new(World::new(library, 2, world)?);
        let sides = [Side::new(&sim, 0, config)?, Side::new(&sim, 1, config)?];
        let psns = [config.psn, !config.psn & 0xff_ffff];
        for (me, peer, psn, peer_psn) in [
            (&sides[0], &sides[1], psns[0], psns[1]),
            (&sides[1], &sides[0], psns[1], psns[0]),
        ] {
            for (qp, peer_qp) in me.qps.iter().zip(&peer.qps) {
                let rtr = RtrAttr {
                    pmtu: config.pmtu,
                    ..RtrAttr::new(peer.address, peer_qp.qpn(), peer_psn)
                };
                let rts = RtsAttr {
                    timeout: config.timeout,
                    retry_cnt: config.retry_cnt,
                    ..RtsAttr::new(psn)
                };
                let init = InitAttr {
                    access: Access::ALL,
                    ..InitAttr::default()
                };
                qp.connect(init, rtr, rts)?;
            }
        }
        Ok(Self { sim, sides })
    }
}

//! Pairs of cards whose QPs are connected as a test wants them.

use std::sync::Arc;

use anyhow::Result;
use ferroce_bridge::Library;
use ferroce_driver::{Access, InitAttr, Pmtu, RtrAttr, RtsAttr};
use ferroce_sim::link::LinkConfig;
use ferroce_sim::pair::{Pair, PairConfig};
use ferroce_sim::world::WorldConfig;

/// Attributes of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Connection {
    /// Path MTU.
    pub pmtu: Pmtu,
    /// First PSN of each side's requests.
    pub psn: [u32; 2],
    /// ACK timeout exponent.
    pub timeout: u8,
    /// Retries after time-outs and sequence NAKs.
    pub retry_cnt: u8,
    /// Retries after RNR NAKs.
    pub rnr_retry: u8,
    /// RNR timer code.
    pub min_rnr_timer: u8,
    /// READs and atomics of each side that may be unanswered.
    pub max_rd_atomic: u8,
}

impl Default for Connection {
    /// PSNs wrap soon; 66 us ACK timeout; 10 us RNR wait, as often as it takes.
    fn default() -> Self {
        Self {
            pmtu: Pmtu::B1024,
            psn: [0xff_fff8, 0xff_fffd],
            timeout: 4,
            retry_cnt: 7,
            rnr_retry: 7,
            min_rnr_timer: 1,
            max_rd_atomic: 16,
        }
    }
}

/// A world with this cable and seed.
pub fn world(link: LinkConfig, seed: u64) -> WorldConfig {
    WorldConfig {
        link,
        seed,
        ..WorldConfig::default()
    }
}

/// Two cards with one QP for each connection.
///
/// # Errors
/// Of simulation and driver.
pub fn pair(
    library: &Arc<Library>,
    world: &WorldConfig,
    depth: usize,
    connections: &[Connection],
) -> Result<Pair> {
    let config = PairConfig {
        qps: connections.len(),
        depth,
        ..PairConfig::default()
    };
    let pair = Pair::new(library, world, &config)?;
    for (index, connection) in connections.iter().enumerate() {
        connect(&pair, index, connection)?;
    }
    Ok(pair)
}

/// Connects the QPs number `index` of both sides anew.
///
/// # Errors
/// Of the driver.
pub fn connect(pair: &Pair, index: usize, connection: &Connection) -> Result<()> {
    for me in 0..2 {
        let (side, peer) = (&pair.sides[me], &pair.sides[1 - me]);
        let rtr = RtrAttr {
            pmtu: connection.pmtu,
            min_rnr_timer: connection.min_rnr_timer,
            max_dest_rd_atomic: connection.max_rd_atomic,
            ..RtrAttr::new(peer.address, peer.qps[index].qpn(), connection.psn[1 - me])
        };
        let rts = RtsAttr {
            timeout: connection.timeout,
            retry_cnt: connection.retry_cnt,
            rnr_retry: connection.rnr_retry,
            max_rd_atomic: connection.max_rd_atomic,
            ..RtsAttr::new(connection.psn[me])
        };
        side.qps[index].reset()?;
        let init = InitAttr {
            access: Access::ALL,
            ..InitAttr::default()
        };
        side.qps[index].connect(init, rtr, rts)?;
    }
    Ok(())
}

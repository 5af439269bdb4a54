//! QPs beside those that a pair has from the beginning.

use anyhow::Result;
use ferroce_driver::{Cq, Qp, RtrAttr, RtsAttr};
use ferroce_sim::card::lock;
use ferroce_sim::pair::Pair;

/// First PSN in both directions.
const PSN: u32 = 5;
/// Entries of each ring.
pub const DEPTH: usize = 4;
/// Bytes that a ring takes.
pub const RING_BYTES: usize = 64 * DEPTH;
const PAGE: u64 = 4096;

/// A QP, and where its rings are in the memory of its host.
pub struct Extra {
    /// The QP, connected to nobody.
    pub qp: Qp,
    /// Send ring.
    pub sq: u64,
    /// Receive ring.
    pub rq: u64,
}

/// Makes a QP of a side; `cq` takes its send completions.
///
/// # Errors
/// Of the driver.
pub fn extra(pair: &Pair, side: usize, cq: &Cq) -> Result<Extra> {
    let memory = pair.sim.with(|world| world.card(side).memory().clone());
    // Its rings follow what was allocated just before: a guard page apart.
    let marker = lock(&memory).allocate(1, PAGE, 0);
    let here = &pair.sides[side];
    let qp = here
        .pd
        .qp(cq)
        .recv_cq(&here.recv_cq)
        .send_depth(DEPTH)
        .recv_depth(DEPTH)
        .build()?;
    Ok(Extra {
        qp,
        sq: marker + 2 * PAGE,
        rq: marker + 4 * PAGE,
    })
}

/// Connects a QP of each side.
///
/// # Errors
/// Of the driver.
pub fn join(pair: &Pair, qps: [&Qp; 2]) -> Result<()> {
    for me in 0..2 {
        let peer = &pair.sides[1 - me];
        let rtr = RtrAttr::new(peer.address, qps[1 - me].qpn(), PSN);
        qps[me].connect(Default::default(), rtr, RtsAttr::new(PSN))?;
    }
    Ok(())
}

//! Requests that fail, and what must come of it.

use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::{on_wire, Frame};
use ferroce_abi::headers::Reth;
use ferroce_driver::{Access, Counter, QpState, Status};
use rand::Rng;

use crate::bench::{refused, Bench, Counts};
use crate::peer::{add24, PeerConfig};

/// NAK: invalid request.
pub const INVALID: u8 = 0x61;
/// NAK: remote access error.
const ACCESS: u8 = 0x62;
/// NAK: remote operational error.
const OPERATIONAL: u8 = 0x63;
/// Path MTU in the tests.
pub const MTU: usize = 256;

/// A request of a script: opcode, RETH length, payload.
pub type Request = (u8, u32, usize);

/// Connections of two QPs: one for the failures and one that must go on.
pub fn configs() -> [PeerConfig; 2] {
    [PeerConfig::default(); 2]
}

/// Connects the first QP anew with other PSNs.
///
/// # Errors
/// Of the driver.
pub fn renew(bench: &mut Bench, access: Access) -> Result<()> {
    let config = PeerConfig {
        psn: bench.rng.gen_range(0..1 << 24),
        access,
        ..bench.peers[0].config
    };
    bench.peers[0].connect(&bench.open, config)
}

/// Remote writing allowed.
pub fn writable() -> Access {
    Access::LOCAL_WRITE | Access::REMOTE_WRITE
}

/// Frames of a script, of which the last one is wrong. None of them asks for an acknowledgement. The card executes all
/// but the last.
///
/// # Errors
/// The memory is used up.
pub fn frames(
    bench: &mut Bench,
    script: &[Request],
    reth: Reth,
    start: usize,
) -> Result<Vec<Frame>> {
    let mut frames = Vec::new();
    let mut offset = 0;
    for (ahead, &(opcode, dma_len, len)) in script.iter().enumerate() {
        let payload = bench.payload(len);
        let reth = Reth { dma_len, ..reth };
        let peer = &bench.peers[0];
        let mut frame = peer.request(&bench.open, opcode, ahead as u32, reth, &payload);
        frame.packet.bth.ackreq = false;
        if ahead + 1 < script.len() {
            bench.image.expect(start + offset, &payload);
        }
        offset += len;
        frames.push(frame);
    }
    Ok(frames)
}

/// What the last frame of a script leads to.
pub struct Failure {
    syndrome: u8,
    counts: Counts,
    /// Status of the receive completion, if there is one.
    status: Option<Status>,
}

impl Failure {
    /// NAK 0x61.
    pub fn invalid() -> Self {
        Self {
            syndrome: INVALID,
            counts: vec![(Counter::TxNakInvalidRequest, 1)],
            status: None,
        }
    }

    /// NAK 0x62.
    pub fn access() -> Self {
        Self {
            syndrome: ACCESS,
            counts: vec![(Counter::TxNakRemoteAccess, 1), (Counter::MrDenied, 1)],
            status: None,
        }
    }

    /// NAK 0x63 and a receive completion.
    pub fn local() -> Self {
        Self {
            syndrome: OPERATIONAL,
            counts: vec![(Counter::TxNakRemoteOperational, 1), (Counter::MrDenied, 1)],
            status: Some(Status::LocProt),
        }
    }

    /// The same with a receive completion.
    pub fn with(self, status: Status) -> Self {
        Self {
            status: Some(status),
            ..self
        }
    }
}

/// Sends frames of which the last one is wrong; then the QP is dead, the other one alive, and after a reset all is
/// well.
///
/// # Errors
/// The card does anything else.
pub fn fail(bench: &mut Bench, frames: Vec<Frame>, failure: Failure) -> Result<()> {
    let count = frames.len() as u64;
    let good = &frames[..frames.len() - 1];
    let bytes: usize = good.iter().map(|f| f.packet.payload.len()).sum();
    let psn = frames.last().context("no frames")?.packet.bth.psn;
    let peer = &bench.peers[0];
    let nak = peer.answer(&bench.open, psn, failure.syndrome, peer.msn)?;
    let mut counts = failure.counts;
    counts.extend([
        (Counter::RxFrames, count),
        (Counter::RxPackets, count),
        (Counter::RxRequests, count - 1),
        (Counter::RxPayloadBytes, bytes as u64),
        (Counter::TxFrames, 1),
        (Counter::ResponderErrors, 1),
        (Counter::CqeWritten, u64::from(failure.status.is_some())),
    ]);
    let wire = frames
        .iter()
        .map(|frame| Ok(on_wire(frame.encode()?)))
        .collect::<Result<_>>()?;
    bench.exchange(wire, &[nak], &counts)?;

    // Neither the same packet nor the next one is answered.
    let (late, _) = bench.write_only(0, 10)?;
    for psn in [psn, add24(psn, 1)] {
        let mut late = late.clone();
        late.packet.bth.psn = psn;
        let counts = refused(Counter::RxDropQpState);
        bench.exchange(vec![on_wire(late.encode()?)], &[], &counts)?;
    }
    let done = bench.open.cq.poll(16)?;
    match failure.status {
        None => ensure!(done.is_empty(), "{done:?}"),
        Some(status) => {
            ensure!(done.len() == 1 && done[0].status == status, "{done:?}");
            ensure!(done[0].qpn == bench.peers[0].qp.qpn());
            ensure!(bench.peers[0].qp.state() == QpState::Err);
        }
    }
    bench.good(1)?;
    bench.image.check()?;
    renew(bench, writable())?;
    bench.good(0)
}

/// A script of WRITEs to a place that is big enough.
///
/// # Errors
/// The card does anything else.
pub fn fail_script(bench: &mut Bench, name: &str, script: &[Request]) -> Result<()> {
    let (place, reth) = bench.target(4 * MTU + 64)?;
    let frames = frames(bench, script, reth, place.start)?;
    fail(bench, frames, Failure::invalid()).context(name.to_owned())
}

//! One card that a test sends frames to, with everything that it does accounted for: answers byte by byte, counters,
//! host memory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::Frame;
use ferroce_abi::headers::Reth;
use ferroce_abi::opcode::rc;
use ferroce_bridge::Library;
use ferroce_driver::{Counter, Counters};
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::image::Image;
use crate::open::Open;
use crate::peer::{add24, same_frames, Peer, PeerConfig};

/// Bytes of the memory region.
const MEMORY: usize = 4 << 20;
/// ACK without credits.
pub const ACK: u8 = 0x1f;
/// Counters of amounts and of the host side, which follow from the others.
const UNWATCHED: [Counter; 6] = [
    Counter::RxBytes,
    Counter::TxBytes,
    Counter::DmaReads,
    Counter::DmaWrites,
    Counter::WqeFetches,
    Counter::Doorbells,
];

/// How much each counter should grow; all others stay.
pub type Counts = Vec<(Counter, u64)>;

/// One frame that the parser drops.
pub fn dropped(counter: Counter) -> Counts {
    vec![(Counter::RxFrames, 1), (counter, 1)]
}

/// One packet that the control pipeline drops.
pub fn refused(counter: Counter) -> Counts {
    vec![
        (Counter::RxFrames, 1),
        (Counter::RxPackets, 1),
        (counter, 1),
    ]
}

/// One packet, and one answer that counts in `counter`.
pub fn answered(counter: Counter) -> Counts {
    let mut counts = refused(counter);
    counts.push((Counter::TxFrames, 1));
    counts
}

/// The card, two of its QPs, and memory that peers may write.
pub struct Bench {
    /// The card.
    pub open: Open,
    /// QPs with their software peers.
    pub peers: Vec<Peer>,
    /// Memory.
    pub image: Image,
    /// Random numbers.
    pub rng: ChaCha8Rng,
    seen: Counters,
}

impl Bench {
    /// A card with a QP for each configuration.
    ///
    /// # Errors
    /// Of simulation and driver.
    pub fn new(library: &Arc<Library>, seed: u64, configs: &[PeerConfig]) -> Result<Self> {
        let open = Open::new(library, seed)?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let peers = (0x111..)
            .zip(configs)
            .map(|(qpn, config)| Peer::new(&open, qpn, *config))
            .collect::<Result<_>>()?;
        Ok(Self {
            image: Image::new(&open.pd, MEMORY, &mut rng)?,
            peers,
            rng,
            seen: open.device.counters()?,
            open,
        })
    }

    /// A WRITE target for `len` bytes that nothing should be written to, unless [`Image::expect`] is told.
    ///
    /// # Errors
    /// The memory is used up.
    pub fn target(&mut self, len: usize) -> Result<(Range<usize>, Reth)> {
        let place = self.image.reserve(len, &mut self.rng)?;
        let remote = self.image.mr.remote(place.start)?;
        let reth = Reth {
            va: remote.addr,
            rkey: remote.rkey,
            dma_len: len as u32,
        };
        Ok((place, reth))
    }

    /// Random bytes.
    pub fn payload(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }

    /// A good WRITE of one packet to QP number `qp`, and where its bytes go.
    ///
    /// # Errors
    /// The memory is used up.
    pub fn write_only(&mut self, qp: usize, len: usize) -> Result<(Frame, Range<usize>)> {
        let (place, reth) = self.target(len)?;
        let payload = self.payload(len);
        let frame = self.peers[qp].request(&self.open, rc::WRITE_ONLY, 0, reth, &payload);
        Ok((frame, place))
    }

    /// Sends frames as they are and checks all that comes of it.
    ///
    /// # Errors
    /// The card answers or counts something else.
    pub fn exchange(
        &mut self,
        frames: Vec<Vec<u8>>,
        answers: &[Vec<u8>],
        counts: &[(Counter, u64)],
    ) -> Result<()> {
        for frame in frames {
            self.open.inject_raw(frame);
        }
        same_frames(&self.open.answers()?, answers)?;
        self.counted(counts)
    }

    /// Checks how counters have changed since the last check.
    ///
    /// # Errors
    /// In another way.
    pub fn counted(&mut self, counts: &[(Counter, u64)]) -> Result<()> {
        let mut want = BTreeMap::new();
        for &(counter, count) in counts.iter().filter(|(_, count)| *count != 0) {
            *want.entry(counter).or_insert(0) += count;
        }
        let now = self.open.device.counters()?;
        let got: BTreeMap<_, _> = now
            .since(&self.seen)
            .iter()
            .filter(|(counter, count)| *count != 0 && !UNWATCHED.contains(counter))
            .collect();
        self.seen = now;
        ensure!(got == want, "counted {got:?}, not {want:?}");
        Ok(())
    }

    /// Forgets how counters have changed since the last check.
    ///
    /// # Errors
    /// Of the driver.
    pub fn counted_any(&mut self) -> Result<()> {
        self.seen = self.open.device.counters()?;
        Ok(())
    }

    /// Sends a packet that the card must execute and acknowledge; its bytes must arrive at `place`.
    ///
    /// # Errors
    /// The card does anything else.
    pub fn accept(
        &mut self,
        qp: usize,
        wire: Vec<u8>,
        place: Range<usize>,
        payload: &[u8],
    ) -> Result<()> {
        let peer = &mut self.peers[qp];
        let answer = peer.answer(&self.open, peer.psn, ACK, add24(peer.msn, 1))?;
        (peer.psn, peer.msn) = (add24(peer.psn, 1), add24(peer.msn, 1));
        let mut counts = answered(Counter::TxAcks);
        counts.extend([
            (Counter::RxRequests, 1),
            (Counter::RxMessages, 1),
            (Counter::RxPayloadBytes, payload.len() as u64),
        ]);
        self.exchange(vec![wire], &[answer], &counts)?;
        self.image.expect(place.start, payload);
        self.image.check_range(place)
    }

    /// A good WRITE to QP number `qp`: it still works.
    ///
    /// # Errors
    /// It does not.
    pub fn good(&mut self, qp: usize) -> Result<()> {
        let len = self
            .rng
            .gen_range(1..=self.peers[qp].config.pmtu.bytes() as usize);
        let (frame, place) = self.write_only(qp, len)?;
        let wire = ferroce_abi::frame::on_wire(frame.encode()?);
        self.accept(qp, wire, place, &frame.packet.payload)
            .with_context(|| format!("a good WRITE to QP number {qp}"))
    }
}

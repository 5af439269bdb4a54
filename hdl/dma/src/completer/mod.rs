//! The host's accesses to the card's registers.

pub mod cc_pack;
pub mod cq_decode;
pub mod cq_store;
pub mod cq_words;
pub mod desc;

use crate::axis::{CcBeat, CqBeat};
use cc_pack::CcPack;
use cq_decode::{CqDecode, CQ_DECODE_LATENCY};
use cq_store::{CqStore, STORE_LOG2};
use cq_words::CqWords;
use desc::{CcJob, CqRequest};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::{BarReq, BarResp};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Places for completions that wait for their answers, log2. Their number bounds the reads outstanding.
const JOBS_LOG2: usize = 6;
const JOBS: usize = 1 << JOBS_LOG2;
/// Non-posted requests that may still come after the block saw that no more are wanted: its credit counter holds up to 32 (PG213,
/// `pcie_cq_np_req_count`).
const CREDITS: usize = 32;
/// Requests that may still come after a place was taken: those between `cq` and this FIFO, and the registers that say so.
const UNDER_WAY: usize = CQ_DECODE_LATENCY + 7;
/// Completions from which on no beat of `cq` is taken, posted or not. A block that counts credits never lets it
/// come to that.
const STOP_FROM: u64 = (JOBS - UNDER_WAY) as u64;
/// Free places below which no non-posted request is wanted.
const GRANT_RESERVE: usize = CREDITS + 2 * UNDER_WAY + 2;
/// Places for answers, log2: 9 for each completion that waits and for the one that is being packed, so that a host that takes no
/// completions never holds up its writes.
const ANSWERS_LOG2: usize = 10;
const _: () = assert!(9 * (JOBS + 1) <= 1 << ANSWERS_LOG2);

/// Turns requests into accesses of the 64-bit words of BAR 0, one a cycle in the order of the requests, and answers reads of up
/// to 64 bytes with one completion. Writes have any length up to 1024 bytes. Any byte enables are possible.
///
/// What else comes is completed with an error if it is non-posted, see [`CqDecode`], and dropped if it is posted or damaged,
/// see [`CqStore`]. A completion follows the accesses of every request before it.
/// `cq` has no straddling.
#[derive(LogicBlock, Module)]
pub struct CqAccess {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Requests of the PCIe block.
    pub cq: StreamIn<CqBeat>,
    /// Completions for it.
    pub cc: StreamOut<CcBeat>,
    /// There is room for another non-posted request: bit 0 of the block's `pcie_cq_np_req`. Posted ones then pass those that
    /// wait. Not needed for correctness: without room `cq` waits.
    pub np_wanted: Signal<Out, Bit>,
    /// Accesses. Addresses above the BAR's aperture are masked.
    pub access: StreamOut<BarReq>,
    /// Answers to reads, in order; as many as were asked for.
    pub answer: StreamIn<BarResp>,
    /// A non-posted request is completed with an error.
    pub unsupported: Signal<Out, Bit>,
    /// A posted request is dropped: a message, another BAR or function, or more or fewer beats than its length needs.
    pub dropped: Signal<Out, Bit>,
    /// A TLP was damaged and is dropped.
    pub damaged: Signal<Out, Bit>,
    store: CqStore,
    decode: CqDecode,
    /// As deep as the store: each request in here has a beat in there.
    requests: SyncFifo<CqRequest>,
    words: CqWords,
    jobs: SyncFifo<CcJob>,
    answers: SyncFifo<BarResp>,
    pack: CcPack,
    stop: DFF<Bit>,
}

impl Default for CqAccess {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            cq: StreamIn::default(),
            cc: StreamOut::default(),
            np_wanted: Signal::default(),
            access: StreamOut::default(),
            answer: StreamIn::default(),
            unsupported: Signal::default(),
            dropped: Signal::default(),
            damaged: Signal::default(),
            store: CqStore::default(),
            decode: CqDecode::default(),
            requests: SyncFifo::quick(STORE_LOG2),
            words: CqWords::default(),
            jobs: SyncFifo::new_with_reserve(JOBS_LOG2, GRANT_RESERVE),
            answers: SyncFifo::new(ANSWERS_LOG2),
            pack: CcPack::default(),
            stop: DFF::default(),
        }
    }
}

impl Logic for CqAccess {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, stop);
        clock!(self, clock, store, decode, requests, words, jobs, answers, pack);
        StreamIn::<CqBeat>::link(&mut self.cq, &mut self.store.cq);
        self.stop.d.next = self.jobs.used.val() >= STOP_FROM;
        self.store.hold.next = self.stop.q.val();
        self.np_wanted.next = !self.jobs.almost_full.val();

        self.decode.head.next = self.store.head.val();
        self.decode.beats.next = self.store.beats.val();
        self.decode.commit.next = self.store.commit.val();
        self.requests.input.data.next = self.decode.request.val();
        self.requests.input.valid.next = self.decode.request_valid.val();
        self.jobs.input.data.next = self.decode.job.val();
        self.jobs.input.valid.next = self.decode.job_valid.val();
        self.unsupported.next = self.decode.unsupported.val();
        self.dropped.next = self.decode.dropped.val();
        self.damaged.next = self.store.damaged.val();

        StreamOut::<CqRequest>::join(&mut self.requests.output, &mut self.words.request);
        StreamOut::<Bits<512>>::join(&mut self.store.beat, &mut self.words.beat);
        StreamOut::<BarReq>::link(&mut self.access, &mut self.words.access);

        StreamIn::<BarResp>::link(&mut self.answer, &mut self.answers.input);
        StreamOut::<BarResp>::join(&mut self.answers.output, &mut self.pack.answer);
        StreamOut::<CcJob>::join(&mut self.jobs.output, &mut self.pack.job);
        self.pack.released.next = self.words.released.val();
        StreamOut::<CcBeat>::link(&mut self.cc, &mut self.pack.cc);
    }
}

ferroce_emit::register_leaf!("cq_access", CqAccess::default);

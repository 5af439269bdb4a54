//! The whole transmit side.

use crate::answer_desc::AnswerPassed;
use crate::answers::TxAnswers;
use crate::desc::{FetchError, FetchJob, FetchReq, Fetched, Request, Visit};
use crate::fetch::PayloadFetch;
use crate::gate::TxGate;
use crate::header::TxHeader;
use crate::merge::TxMerge;
use crate::sched::TxSched;
use crate::send::TxSend;
use ferroce_emit::prelude::*;
use ferroce_rtl::arb2::Arb2;
use ferroce_rtl::crc::IcrcInsert;
use ferroce_rtl::desc::cfg::CfgWrite;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq, DmaWriteBeat};
use ferroce_rtl::desc::lookup::{MrAnswer, MrCheck, WqeData, WqeRead};
use ferroce_rtl::desc::pages::{PageAnswer, PageReq, RegionWrite};
use ferroce_rtl::desc::rx::{AckJob, Answer, AnsweredPub, Kill};
use ferroce_rtl::desc::tx::{
    CompleterPub, Kick, LocalError, Rewind, SenderPub, SentWrite, SqConsumed, TxPkt, VisitDone,
};
use ferroce_rtl::header::{HeaderInsert, InsertJob};
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};

/// Run-time sizes of the transmit side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxSizes {
    /// QPs (log2), 1 to 14.
    pub log2_qps: usize,
    /// Messages a QP may have outstanding: entries of the retransmit table a QP (log2), 1 to 15.
    pub log2_messages: usize,
    /// First DMA tag of payload reads, a multiple of their number.
    pub tag_base: u8,
    /// DMA tags of payload reads (log2), 1 to 8.
    pub log2_tags: usize,
    /// Memory regions (log2), 1 to 16.
    pub log2_mrs: usize,
    /// DMA tag with which atomics read.
    pub atomic_tag: u8,
    /// Reorder buffer in beats of 64 bytes (log2), 8 to 15.
    pub log2_beats: usize,
}

impl Default for TxSizes {
    fn default() -> Self {
        Self {
            log2_qps: 4,
            log2_messages: 4,
            tag_base: 0,
            log2_mrs: 4,
            atomic_tag: 255,
            log2_tags: crate::fetch::DEFAULT_LOG2_TAGS,
            log2_beats: crate::fetch::DEFAULT_LOG2_BEATS,
        }
    }
}

/// From kicks and answers to frames with ICRC.
///
/// Every stream inside flows towards the frames, except for four that flow back, of which none can fill up: the scheduler always
/// takes ends of visits and kicks (its ring has a place for every QP), and a payload's arrival is
/// waited for by the packet that ordered it, with nothing in between. Ends of answers make ACKs, which [`TxMerge`] takes even when
/// it can't tell of more ends. The completer takes failed WQEs, whatever is sent.
#[derive(LogicBlock, Module)]
pub struct RoceTx {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus: tables PORT, AV and SENDER.
    pub cfg: Signal<In, CfgWrite>,
    /// SQ WQE cache: WQEs have arrived.
    pub cache_kick: StreamIn<Kick>,
    /// Completer: the window has opened.
    pub completer_kick: StreamIn<Kick>,
    /// Completer: go back, or halt.
    pub rewind: StreamIn<Rewind>,
    /// Completer's position.
    pub una: Signal<In, CompleterPub>,
    /// Responder's answers.
    pub answers: StreamIn<Answer>,
    /// READs and atomics of `answers` that may begin, in this cycle.
    pub fences: Signal<In, Bits<7>>,
    /// Regions made and taken away.
    pub region: Signal<In, RegionWrite>,
    /// READs and atomics that are answered.
    pub answered: Signal<Out, AnsweredPub>,
    /// QPs of which an answer failed.
    pub kills: StreamOut<Kill>,
    /// Reads of atomics.
    pub atomic_req: StreamOut<DmaReadReq>,
    /// Their data.
    pub atomic_data: StreamIn<DmaReadBeat>,
    /// Writes of atomics.
    pub atomic_write: StreamOut<DmaWriteBeat>,
    /// A write of an atomic was taken.
    pub atomic_written: Signal<Out, Bit>,
    /// It can't be overtaken any more.
    pub atomic_settled: Signal<In, Bit>,
    /// SQ WQE cache read.
    pub wqe_read: Signal<Out, WqeRead>,
    /// A WQE is wanted.
    pub wqe_read_valid: Signal<Out, Bit>,
    /// The WQE, `WQE_READ_LATENCY` cycles later.
    pub wqe_data: Signal<In, WqeData>,
    /// MR check of a WQE's SGE.
    pub mr_check: Signal<Out, MrCheck>,
    /// An access is to be checked.
    pub mr_check_valid: Signal<Out, Bit>,
    /// The answer, `MR_CHECK_LATENCY` cycles later.
    pub mr_answer: Signal<In, MrAnswer>,
    /// Sender's position for the SQ WQE cache, and payload in the WQE before it.
    pub consumed: StreamOut<SqConsumed>,
    /// That payload, in the same order.
    pub inline: StreamIn<Bits<512>>,
    /// Failed WQEs for the completer.
    pub error: StreamOut<LocalError>,
    /// Sender's furthest position for the completer.
    pub publish: Signal<Out, SenderPub>,
    /// Messages begun, for the retransmit table.
    pub sent: Signal<Out, SentWrite>,
    /// Pages of payload.
    pub page_req: StreamOut<PageReq>,
    /// Their places, in the same order.
    pub page_answer: StreamIn<PageAnswer>,
    /// Begin to wait until no region is used any more that had gone before.
    pub drain: Signal<In, Bit>,
    /// It is so.
    pub drained: Signal<Out, Bit>,
    /// Payload reads.
    pub dma_req: StreamOut<DmaReadReq>,
    /// Their answers; those to other tags are ignored.
    pub dma_data: StreamIn<DmaReadBeat>,
    /// The payload of a packet, which was dropped, could not be read.
    pub fetch_error: Signal<Out, FetchError>,
    /// Frames with ICRC, without FCS; no gap inside a frame as long as the sink takes beats.
    pub frame: StreamOut<Beat>,
    sched: TxSched,
    send: TxSend,
    answer: TxAnswers,
    packets: Arb2<Request>,
    gate: TxGate,
    errors: Arb2<LocalError>,
    fetch: PayloadFetch,
    merge: TxMerge,
    header: TxHeader,
    insert: HeaderInsert,
    icrc: IcrcInsert,
}

impl RoceTx {
    /// With the given sizes.
    ///
    /// # Panics
    /// If a size is out of its range.
    #[must_use]
    pub fn new(sizes: TxSizes) -> Self {
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            cache_kick: StreamIn::default(),
            completer_kick: StreamIn::default(),
            rewind: StreamIn::default(),
            una: Signal::default(),
            answers: StreamIn::default(),
            fences: Signal::default(),
            region: Signal::default(),
            answered: Signal::default(),
            kills: StreamOut::default(),
            atomic_req: StreamOut::default(),
            atomic_data: StreamIn::default(),
            atomic_write: StreamOut::default(),
            atomic_written: Signal::default(),
            atomic_settled: Signal::default(),
            wqe_read: Signal::default(),
            wqe_read_valid: Signal::default(),
            wqe_data: Signal::default(),
            mr_check: Signal::default(),
            mr_check_valid: Signal::default(),
            mr_answer: Signal::default(),
            consumed: StreamOut::default(),
            inline: StreamIn::default(),
            error: StreamOut::default(),
            publish: Signal::default(),
            sent: Signal::default(),
            page_req: StreamOut::default(),
            page_answer: StreamIn::default(),
            drain: Signal::default(),
            drained: Signal::default(),
            dma_req: StreamOut::default(),
            dma_data: StreamIn::default(),
            fetch_error: Signal::default(),
            frame: StreamOut::default(),
            sched: TxSched::new(sizes.log2_qps),
            send: TxSend::new(sizes.log2_qps, sizes.log2_messages),
            answer: TxAnswers::new(sizes.log2_qps, sizes.log2_mrs, sizes.atomic_tag),
            packets: Arb2::default(),
            gate: TxGate::new(sizes.log2_qps),
            errors: Arb2::default(),
            fetch: PayloadFetch::new(sizes.tag_base, sizes.log2_tags, sizes.log2_beats),
            merge: TxMerge::default(),
            header: TxHeader::new(sizes.log2_qps),
            insert: HeaderInsert::default(),
            // `HeaderInsert` leaves zeros behind the end.
            icrc: IcrcInsert::of_zeroed(),
        }
    }
}

impl Default for RoceTx {
    fn default() -> Self {
        Self::new(TxSizes::default())
    }
}

impl Logic for RoceTx {
    #[kernel]
    fn update(&mut self) {
        clock!(
            self, clock, sched, send, answer, packets, gate, errors, fetch, merge, header, insert,
            icrc
        );
        self.send.cfg.next = self.cfg.val();
        self.header.cfg.next = self.cfg.val();

        // Scheduler and sender.
        StreamIn::<Kick>::link(&mut self.cache_kick, &mut self.sched.cache_kick);
        StreamIn::<Kick>::link(&mut self.completer_kick, &mut self.sched.completer_kick);
        StreamOut::<Kick>::join(&mut self.send.kick, &mut self.sched.sender_kick);
        StreamOut::<VisitDone>::join(&mut self.send.done, &mut self.sched.done);
        StreamOut::<Visit>::join(&mut self.sched.visit, &mut self.send.visit);
        StreamIn::<Rewind>::link(&mut self.rewind, &mut self.send.rewind);
        self.send.una.next = self.una.val();
        self.wqe_read.next = self.send.wqe_read.val();
        self.wqe_read_valid.next = self.send.wqe_read_valid.val();
        self.send.wqe_data.next = self.wqe_data.val();
        self.mr_check.next = self.send.mr_check.val();
        self.mr_check_valid.next = self.send.mr_check_valid.val();
        self.send.mr_answer.next = self.mr_answer.val();
        StreamOut::<SqConsumed>::link(&mut self.consumed, &mut self.send.consumed);
        StreamIn::<Bits<512>>::link(&mut self.inline, &mut self.fetch.inline);
        StreamOut::<LocalError>::join(&mut self.send.error, &mut self.errors.in0);
        StreamOut::<LocalError>::join(&mut self.gate.local_error, &mut self.errors.in1);
        StreamOut::<LocalError>::link(&mut self.error, &mut self.errors.output);
        self.publish.next = self.send.publish.val();
        self.sent.next = self.send.sent.val();

        // Answers.
        StreamIn::<Answer>::link(&mut self.answers, &mut self.answer.answers);
        self.answer.fences.next = self.fences.val();
        self.answered.next = self.answer.answered.val();
        self.answer.region.next = self.region.val();
        self.answer.drain.next = self.drain.val();
        StreamOut::<Kill>::link(&mut self.kills, &mut self.answer.kills);
        StreamOut::<DmaReadReq>::link(&mut self.atomic_req, &mut self.answer.read);
        StreamIn::<DmaReadBeat>::link(&mut self.atomic_data, &mut self.answer.data);
        StreamOut::<DmaWriteBeat>::link(&mut self.atomic_write, &mut self.answer.write);
        self.atomic_written.next = self.answer.written.val();
        self.answer.settled.next = self.atomic_settled.val();

        // Payload.
        StreamOut::<Request>::join(&mut self.send.request, &mut self.packets.in0);
        StreamOut::<Request>::join(&mut self.answer.packets, &mut self.packets.in1);
        StreamOut::<Request>::join(&mut self.packets.output, &mut self.gate.from);
        self.gate.answer_life.next = self.answer.life.val();
        self.gate.life.next = self.send.life.val();
        StreamOut::<FetchReq>::join(&mut self.gate.fetch, &mut self.fetch.from);
        StreamOut::<Fetched>::join(&mut self.fetch.fetched, &mut self.gate.fetched);
        StreamOut::<FetchJob>::join(&mut self.gate.job, &mut self.fetch.job);
        StreamOut::<PageReq>::link(&mut self.page_req, &mut self.fetch.page_req);
        StreamIn::<PageAnswer>::link(&mut self.page_answer, &mut self.fetch.page_answer);
        self.gate.drain.next = self.drain.val();
        self.drained.next = self.gate.drained.val() & self.answer.drained.val();
        StreamOut::<DmaReadReq>::link(&mut self.dma_req, &mut self.fetch.dma_req);
        StreamIn::<DmaReadBeat>::link(&mut self.dma_data, &mut self.fetch.dma_data);
        self.fetch_error.next = self.gate.error.val();

        // Frames.
        StreamOut::<AckJob>::join(&mut self.answer.acks, &mut self.merge.ack);
        StreamOut::<AnswerPassed>::join(&mut self.merge.passed, &mut self.answer.passed);
        StreamOut::<TxPkt>::join(&mut self.gate.to, &mut self.merge.request);
        StreamOut::<TxPkt>::join(&mut self.merge.to, &mut self.header.from);
        StreamOut::<InsertJob>::join(&mut self.header.to, &mut self.insert.jobs);
        StreamOut::<Bits<512>>::join(&mut self.fetch.payload, &mut self.insert.payload);
        StreamOut::<Beat>::join(&mut self.insert.to, &mut self.icrc.from);
        StreamOut::<Beat>::link(&mut self.frame, &mut self.icrc.to);
    }
}

ferroce_emit::register_leaf!("roce_tx", RoceTx::default);

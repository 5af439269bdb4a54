//! The receive side as a whole.

use crate::completer::Completer;
use crate::control::RxControl;
use crate::events::RxEvents;
use crate::landing_gate::LandingGate;
use crate::mover::{Mover, BEATS_BEHIND};
use crate::packet_buffer::{PacketBuffer, DEFAULT_LOG2_BEATS};
use crate::parse::RxParse;
use ferroce_emit::prelude::*;
use ferroce_mmu::drain::Drain;
use ferroce_rtl::desc::cfg::CfgWrite;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::desc::lookup::{MrAnswer, MrCheck, WqeData, WqeRead};
use ferroce_rtl::desc::pages::{PageAnswer, PageReq};
use ferroce_rtl::desc::rx::{
    AckInfo, Answer, AnsweredPub, CqeJob, Kill, RqPosition, RqPub, RxMeta, Verdict,
};
use ferroce_rtl::desc::tx::{
    CompleterPub, Consumed, Kick, LocalError, Rewind, SenderPub, SentWrite, SqPub,
};
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};

/// Sizes of the receive side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RxSizes {
    /// Log2 of the QPs, 1 to 13.
    pub log2_qps: usize,
    /// Log2 of the SRQs, at most `log2_qps` and 10.
    pub log2_srqs: usize,
    /// Log2 of the messages a QP may have in the retransmit table, 1 to 6.
    pub log2_window: usize,
    /// Log2 of the beats (64 bytes) in the packet buffer, 7 to 15.
    pub log2_buffer_beats: usize,
}

impl Default for RxSizes {
    fn default() -> Self {
        Self {
            log2_qps: 10,
            log2_srqs: 6,
            log2_window: 4,
            log2_buffer_beats: DEFAULT_LOG2_BEATS,
        }
    }
}

/// Frames in; DMA writes, completions, acknowledgements and rewinds out. RC over RoCEv2 on IPv4: SEND and RDMA WRITE, with
/// and without immediate, READ requests and atomics.
#[derive(LogicBlock, Module)]
pub struct RoceRx {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// Frames from the MAC without FCS; always ready.
    pub frames: StreamIn<Beat>,
    /// Look-up in the RQ WQE cache.
    pub rq_read: Signal<Out, WqeRead>,
    /// Its answer, `WQE_READ_LATENCY` cycles later.
    pub rq_data: Signal<In, WqeData>,
    /// Fill of the RQ WQE cache.
    pub rq_pub: Signal<In, RqPub>,
    /// Positions in the RQs, to the RQ WQE cache.
    pub rq_consumed: StreamOut<Consumed>,
    /// New position in a receive queue.
    pub rq_position: Signal<Out, RqPosition>,
    /// MR check.
    pub mr_check: Signal<Out, MrCheck>,
    /// Its answer, `MR_CHECK_LATENCY` cycles later.
    pub mr_answer: Signal<In, MrAnswer>,
    /// Pages of payload.
    pub page_req: StreamOut<PageReq>,
    /// Their places, in the same order.
    pub page_answer: StreamIn<PageAnswer>,
    /// Write no `RESPONDER` entry.
    pub hold_configs: Signal<Out, Bit>,
    /// Begin to wait until no region is used any more that had gone before.
    pub drain: Signal<In, Bit>,
    /// It is so.
    pub drained: Signal<Out, Bit>,
    /// What is to be answered.
    pub answers: StreamOut<Answer>,
    /// The next READ or atomic of `answers` comes behind payload that was taken from `writes`, all of it.
    pub fenced: Signal<Out, Bit>,
    /// READs and atomics that are answered.
    pub answered: Signal<In, AnsweredPub>,
    /// QPs of which an answer failed.
    pub kills: StreamIn<Kill>,
    /// Payload to host memory.
    pub writes: StreamOut<DmaWriteBeat>,
    /// Receive completions, each after its payload was taken from `writes`.
    pub rx_cqes: StreamOut<CqeJob>,
    /// Send completions.
    pub tx_cqes: StreamOut<CqeJob>,
    /// Retransmit table, written by the sender.
    pub sent_write: Signal<In, SentWrite>,
    /// Sender's progress.
    pub sender_pub: Signal<In, SenderPub>,
    /// SQ producer indices.
    pub sq_pub: Signal<In, SqPub>,
    /// WQEs that failed in the sender.
    pub local_errors: StreamIn<LocalError>,
    /// Completer's progress, for the sender.
    pub completer_pub: Signal<Out, CompleterPub>,
    /// Go back, halt, resume: to the sender.
    pub rewinds: StreamOut<Rewind>,
    /// The window has opened: to the scheduler.
    pub kicks: StreamOut<Kick>,
    /// Beats in the packet buffer.
    pub buffer_used: Signal<Out, Bits<16>>,
    /// What is counted.
    pub events: Signal<Out, RxEvents>,
    parse: RxParse,
    buffer: PacketBuffer,
    control: RxControl,
    mover: Mover,
    landings: LandingGate,
    completer: Completer,
    drains: Drain,
    out_events: DFF<RxEvents>,
}

impl RoceRx {
    /// A receive side of the given sizes.
    ///
    /// # Panics
    /// If a size is out of its range.
    #[must_use]
    pub fn new(sizes: RxSizes) -> Self {
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            frames: StreamIn::default(),
            rq_read: Signal::default(),
            rq_data: Signal::default(),
            rq_pub: Signal::default(),
            rq_consumed: StreamOut::default(),
            rq_position: Signal::default(),
            mr_check: Signal::default(),
            mr_answer: Signal::default(),
            page_req: StreamOut::default(),
            page_answer: StreamIn::default(),
            hold_configs: Signal::default(),
            drain: Signal::default(),
            drained: Signal::default(),
            answers: StreamOut::default(),
            fenced: Signal::default(),
            answered: Signal::default(),
            kills: StreamIn::default(),
            writes: StreamOut::default(),
            rx_cqes: StreamOut::default(),
            tx_cqes: StreamOut::default(),
            sent_write: Signal::default(),
            sender_pub: Signal::default(),
            sq_pub: Signal::default(),
            local_errors: StreamIn::default(),
            completer_pub: Signal::default(),
            rewinds: StreamOut::default(),
            kicks: StreamOut::default(),
            buffer_used: Signal::default(),
            events: Signal::default(),
            parse: RxParse::default(),
            buffer: PacketBuffer::new(sizes.log2_buffer_beats),
            control: RxControl::new(sizes.log2_qps, sizes.log2_srqs),
            mover: Mover::default(),
            landings: LandingGate::default(),
            completer: Completer::new(sizes.log2_qps, sizes.log2_window),
            drains: Drain::new(0, BEATS_BEHIND),
            out_events: DFF::default(),
        }
    }
}

impl Default for RoceRx {
    fn default() -> Self {
        Self::new(RxSizes::default())
    }
}

impl Logic for RoceRx {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, out_events);
        clock!(self, clock, parse, buffer, control, mover, landings, completer, drains);

        self.parse.cfg.next = self.cfg.val();
        self.parse.frames.data.next = self.frames.data.val();
        self.parse.frames.valid.next = self.frames.valid.val();
        self.frames.ready.next = self.parse.frames.ready.val();
        self.buffer.write.next = self.parse.write.val();
        self.buffer.meta.next = self.parse.meta.val();
        self.buffer_used.next = self.buffer.used.val();

        StreamOut::<RxMeta>::join(&mut self.buffer.packets, &mut self.control.packets);
        self.control.cfg.next = self.cfg.val();
        self.control.rq_pub.next = self.rq_pub.val();
        self.control.sent_write.next = self.sent_write.val();
        self.control.sender_pub.next = self.sender_pub.val();
        self.rq_read.next = self.control.wqe_read.val();
        self.control.wqe_data.next = self.rq_data.val();
        self.rq_position.next = self.control.rq_position.val();
        self.mr_check.next = self.control.mr_check.val();
        self.control.mr_answer.next = self.mr_answer.val();
        StreamOut::<PageReq>::link(&mut self.page_req, &mut self.control.page_req);
        StreamIn::<PageAnswer>::link(&mut self.page_answer, &mut self.control.page_answer);
        // A frame enters before its region is looked at and leaves when its payload is on its way to the host.
        self.drains.mark.next = self.drain.val();
        self.drains.stalled_before.next = false;
        self.drains.entered.next =
            self.buffer.packets.valid.val() & self.control.packets.ready.val();
        self.drains.left.next = self.mover.done.val();
        self.drains.stalled_behind.next = self.mover.stalled.val();
        self.drained.next = self.drains.drained.val();
        StreamOut::<Answer>::link(&mut self.answers, &mut self.control.answers);
        self.control.answered.next = self.answered.val();
        self.control.kills.data.next = self.kills.data.val();
        self.control.kills.valid.next = self.kills.valid.val();
        self.kills.ready.next = self.control.kills.ready.val();
        // A QP that begins a new life waits for the end of the old one.
        self.hold_configs.next = self.control.hold_configs.val() | self.completer.halts.valid.val();
        StreamOut::<Kick>::join(&mut self.completer.halts, &mut self.control.halts);
        self.fenced.next = self.mover.fenced.val();
        StreamOut::<Consumed>::link(&mut self.rq_consumed, &mut self.control.consumed);

        StreamOut::<Verdict>::join(&mut self.control.verdicts, &mut self.mover.verdicts);
        self.buffer.rd_addr.next = self.mover.rd_addr.val();
        self.mover.rd_data.next = self.buffer.rd_data.val();
        self.buffer.freed.next = self.mover.freed.val();
        self.writes.data.next = self.mover.writes.data.val();
        self.writes.valid.next = self.mover.writes.valid.val();
        self.mover.writes.ready.next = self.writes.ready.val();
        StreamOut::<CqeJob>::link(&mut self.rx_cqes, &mut self.mover.cqes);

        self.completer.cfg.next = self.cfg.val();
        StreamOut::<AckInfo>::join(&mut self.control.responses, &mut self.landings.responses);
        self.landings.landed.next = self.mover.landed.val();
        StreamOut::<AckInfo>::join(&mut self.landings.told, &mut self.completer.responses);
        self.completer.local_errors.data.next = self.local_errors.data.val();
        self.completer.local_errors.valid.next = self.local_errors.valid.val();
        self.local_errors.ready.next = self.completer.local_errors.ready.val();
        self.completer.sent_write.next = self.sent_write.val();
        self.completer.sender_pub.next = self.sender_pub.val();
        self.completer.sq_pub.next = self.sq_pub.val();
        self.completer_pub.next = self.completer.completer_pub.val();
        self.rewinds.data.next = self.completer.rewinds.data.val();
        self.rewinds.valid.next = self.completer.rewinds.valid.val();
        self.completer.rewinds.ready.next = self.rewinds.ready.val();
        self.kicks.data.next = self.completer.kicks.data.val();
        self.kicks.valid.next = self.completer.kicks.valid.val();
        self.completer.kicks.ready.next = self.kicks.ready.val();
        StreamOut::<CqeJob>::link(&mut self.tx_cqes, &mut self.completer.cqes);

        self.out_events.d.next.parse = self.parse.events.val();
        self.out_events.d.next.parse.packets = self.buffer.kept.val();
        self.out_events.d.next.parse.drop_overflow = self.buffer.overflow.val();
        self.out_events.d.next.control = self.control.events.val();
        self.out_events.d.next.completer = self.completer.counts.val();
        self.out_events.d.next.payload_bytes = self.mover.payload_bytes.val();
        self.events.next = self.out_events.q.val();
    }
}

ferroce_emit::register_leaf!("roce_rx", || RoceRx::new(RxSizes {
    log2_qps: 2,
    log2_srqs: 1,
    log2_window: 2,
    log2_buffer_beats: 7,
}));

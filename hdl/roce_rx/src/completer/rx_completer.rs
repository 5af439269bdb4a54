//! The completer as a whole.

use crate::completer::completion_pass::CompletionPass;
use crate::completer::event::{kind, Event};
use crate::completer::event_select::EventSelect;
use crate::completer::pass_data::{PassState, QpCfg};
use crate::completer::timer_scan::TimerScan;
use crate::events::CompleterEvents;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::CfgWrite;
use ferroce_rtl::desc::rx::{AckInfo, CqeJob};
use ferroce_rtl::desc::tx::{
    CompleterPub, Kick, LocalError, Rewind, SenderPub, Sent, SentWrite, SqPub,
};
use ferroce_rtl::ram::Ram;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Log2 of the places of each output FIFO and of the FIFO of repeated events.
const LOG2_OUTPUT: usize = 5;
/// Places that must be free to take an event: two are in line, nine cycles of a pass follow, and
/// the FIFO's level arrives two cycles late.
const OUTPUT_RESERVE: usize = 16;

/// What the sender publishes, as stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct SenderCopy {
    max_psn: Bits<24>,
    begun: Bits<16>,
}

/// Retires what is acknowledged, retries what is not, reports both. QPs overlap freely; passes of one QP follow
/// each other every eight cycles.
///
/// Nothing here waits for anything that waits for the receive side: CQEs go to the CQE writer, rewinds and kicks to
/// the transmit side, and repeated events are always taken before new ones.
#[derive(LogicBlock, Module)]
pub struct Completer {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration.
    pub cfg: Signal<In, CfgWrite>,
    /// Responses.
    pub responses: StreamIn<AckInfo>,
    /// WQEs that failed in the sender.
    pub local_errors: StreamIn<LocalError>,
    /// Retransmit table.
    pub sent_write: Signal<In, SentWrite>,
    /// Sender's progress.
    pub sender_pub: Signal<In, SenderPub>,
    /// SQ producer indices.
    pub sq_pub: Signal<In, SqPub>,
    /// The completer's progress, for the sender.
    pub completer_pub: Signal<Out, CompleterPub>,
    /// To the sender.
    pub rewinds: StreamOut<Rewind>,
    /// To the scheduler: the window has opened.
    pub kicks: StreamOut<Kick>,
    /// QPs whose requester has failed, to the control pipeline, which answers with a response `halted`. There is a place for every QP, so the
    /// completer waits for nothing here.
    pub halts: StreamOut<Kick>,
    /// Send completions.
    pub cqes: StreamOut<CqeJob>,
    /// What is counted.
    pub counts: Signal<Out, CompleterEvents>,
    log2_window: Constant<Bits<20>>,
    window_mask: Constant<Bits<20>>,
    select: EventSelect,
    pass: CompletionPass,
    scan: TimerScan,
    states: Ram<PassState>,
    cfgs: Ram<QpCfg>,
    senders: Ram<SenderCopy>,
    posted: Ram<Bits<16>>,
    sent: Ram<Sent>,
    repeated: SyncFifo<Event>,
    rewind_fifo: SyncFifo<Rewind>,
    kick_fifo: SyncFifo<Kick>,
    halt_fifo: SyncFifo<Kick>,
    cqe_fifo: SyncFifo<CqeJob>,
    no_room: DFF<Bit>,
    hold: DFF<Bit>,
    qp: Signal<Local, Bits<20>>,
}

impl Completer {
    /// For `2^log2_qps` QPs with up to `2^log2_window` messages each in the retransmit table.
    ///
    /// # Panics
    /// If `log2_qps` is not 1 to 14, or `log2_window` is not 1 to 6.
    #[must_use]
    pub fn new(log2_qps: usize, log2_window: usize) -> Self {
        assert!((1..=14).contains(&log2_qps), "2^{log2_qps} QPs");
        assert!(
            (1..=6).contains(&log2_window),
            "a retransmit table of 2^{log2_window} messages a QP"
        );
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            responses: StreamIn::default(),
            local_errors: StreamIn::default(),
            sent_write: Signal::default(),
            sender_pub: Signal::default(),
            sq_pub: Signal::default(),
            completer_pub: Signal::default(),
            rewinds: StreamOut::default(),
            kicks: StreamOut::default(),
            halts: StreamOut::default(),
            cqes: StreamOut::default(),
            counts: Signal::default(),
            log2_window: Constant::new((log2_window as u64).into()),
            window_mask: Constant::new(((1u64 << log2_window) - 1).into()),
            select: EventSelect::new(log2_qps),
            pass: CompletionPass::default(),
            scan: TimerScan::new(log2_qps),
            states: Ram::new(log2_qps),
            cfgs: Ram::new(log2_qps),
            senders: Ram::new(log2_qps),
            posted: Ram::new(log2_qps),
            sent: Ram::new(log2_qps + log2_window),
            repeated: SyncFifo::new_with_reserve(LOG2_OUTPUT, OUTPUT_RESERVE),
            rewind_fifo: SyncFifo::new_with_reserve(LOG2_OUTPUT, OUTPUT_RESERVE),
            kick_fifo: SyncFifo::new_with_reserve(LOG2_OUTPUT, OUTPUT_RESERVE),
            halt_fifo: SyncFifo::new(log2_qps),
            cqe_fifo: SyncFifo::new_with_reserve(LOG2_OUTPUT, OUTPUT_RESERVE),
            no_room: DFF::default(),
            hold: DFF::default(),
            qp: Signal::default(),
        }
    }
}

/// 16 QPs, 16 messages each.
impl Default for Completer {
    fn default() -> Self {
        Self::new(4, 4)
    }
}

impl Logic for Completer {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, no_room, hold);
        clock!(self, clock, select, pass, scan, states, cfgs, senders, posted, sent);
        clock!(
            self,
            clock,
            repeated,
            rewind_fifo,
            kick_fifo,
            halt_fifo,
            cqe_fifo
        );
        self.no_room.d.next = self.repeated.almost_full.val();
        self.hold.d.next = self.rewind_fifo.almost_full.val()
            | self.kick_fifo.almost_full.val()
            | self.cqe_fifo.almost_full.val();

        // Events.
        self.select.cfg.next = self.cfg.val();
        StreamIn::<AckInfo>::link(&mut self.responses, &mut self.select.responses);
        StreamIn::<LocalError>::link(&mut self.local_errors, &mut self.select.local);
        StreamOut::<Kick>::join(&mut self.scan.ticks, &mut self.select.ticks);
        StreamOut::<Event>::join(&mut self.repeated.output, &mut self.select.repeated);
        self.select.no_room.next = self.no_room.q.val();
        self.select.hold.next = self.hold.q.val();
        self.select.done.next = self.pass.done.val();
        self.select.done_qp.next = self.pass.done_qp.val();
        self.pass.start.next = self.select.go.val();
        self.pass.event.next = self.select.event.val();
        self.pass.now.next = self.scan.now.val();

        // Tables.
        self.qp.next = bit_cast::<20, 14>(self.select.event.val().qp);
        self.states.rd_addr.next = self.qp.val();
        self.states.wr_valid.next = self.pass.done.val();
        self.states.wr_addr.next = bit_cast::<20, 14>(self.pass.done_qp.val());
        self.states.wr_data.next = self.pass.new_state.val();
        self.pass.state.next = self.states.rd_data.val();
        self.cfgs.rd_addr.next = self.qp.val();
        self.cfgs.wr_addr.next = self.qp.val();
        self.cfgs.wr_data.next = self.select.entry.val();
        self.cfgs.wr_valid.next = self.select.go.val()
            & ((self.select.event.val().kind == kind::RESTART)
                | (self.select.event.val().kind == kind::FLUSH));
        self.pass.cfg.next = self.cfgs.rd_data.val();
        self.senders.rd_addr.next = self.qp.val();
        self.senders.wr_valid.next = self.sender_pub.val().valid;
        self.senders.wr_addr.next = bit_cast::<20, 14>(self.sender_pub.val().qp);
        self.senders.wr_data.next.max_psn = self.sender_pub.val().max_psn;
        self.senders.wr_data.next.begun = self.sender_pub.val().begun;
        self.pass.max_psn.next = self.senders.rd_data.val().max_psn;
        self.pass.begun.next = self.senders.rd_data.val().begun;
        self.posted.rd_addr.next = self.qp.val();
        self.posted.wr_valid.next = self.sq_pub.val().valid;
        self.posted.wr_addr.next = bit_cast::<20, 14>(self.sq_pub.val().qp);
        self.posted.wr_data.next = self.sq_pub.val().pi;
        self.pass.posted.next = self.posted.rd_data.val();
        self.sent.rd_addr.next = (bit_cast::<20, 14>(self.pass.sent_qp.val())
            << self.log2_window.val())
            | (bit_cast::<20, 16>(self.pass.sent_wqe.val()) & self.window_mask.val());
        self.sent.wr_valid.next = self.sent_write.val().valid;
        self.sent.wr_addr.next = (bit_cast::<20, 14>(self.sent_write.val().qp)
            << self.log2_window.val())
            | (bit_cast::<20, 16>(self.sent_write.val().wqe) & self.window_mask.val());
        self.sent.wr_data.next.first_psn = self.sent_write.val().first_psn;
        self.sent.wr_data.next.last_psn = self.sent_write.val().last_psn;
        self.sent.wr_data.next.opcode = self.sent_write.val().opcode;
        self.sent.wr_data.next.signaled = self.sent_write.val().signaled;
        self.sent.wr_data.next.len = self.sent_write.val().len;
        self.sent.wr_data.next.extra = self.sent_write.val().extra;
        self.pass.sent.next = self.sent.rd_data.val();

        // Timers.
        self.scan.state.next.valid = self.pass.done.val();
        self.scan.state.next.qp = self.pass.done_qp.val();
        self.scan.state.next.state = self.pass.new_state.val();
        self.scan.sender_pub.next = self.sender_pub.val();
        self.scan.sq_pub.next = self.sq_pub.val();

        // Results.
        self.completer_pub.next = self.pass.published.val();
        self.counts.next = self.pass.counts.val();
        self.repeated.input.data.next = self.pass.repeat.val();
        self.repeated.input.valid.next = self.pass.repeat_valid.val();
        self.rewind_fifo.input.data.next = self.pass.rewind.val();
        self.rewind_fifo.input.valid.next = self.pass.rewind_valid.val();
        self.kick_fifo.input.data.next = self.pass.kick.val();
        self.kick_fifo.input.valid.next = self.pass.kick_valid.val();
        self.halt_fifo.input.data.next = self.pass.halt.val();
        self.halt_fifo.input.valid.next = self.pass.halt_valid.val();
        StreamOut::<Kick>::link(&mut self.halts, &mut self.halt_fifo.output);
        self.cqe_fifo.input.data.next = self.pass.cqe.val();
        self.cqe_fifo.input.valid.next = self.pass.cqe_valid.val();
        StreamOut::<Rewind>::link(&mut self.rewinds, &mut self.rewind_fifo.output);
        StreamOut::<Kick>::link(&mut self.kicks, &mut self.kick_fifo.output);
        StreamOut::<CqeJob>::link(&mut self.cqes, &mut self.cqe_fifo.output);
    }
}

ferroce_emit::register_leaf!("completer", Completer::default);

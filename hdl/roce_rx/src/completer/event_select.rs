//! Chooses the next event for the completer and keeps passes of one QP apart.

use crate::completer::event::{kind, Event};
use crate::completer::pass_data::QpCfg;
use ferroce_abi::cfg::field_offset as offset;
use ferroce_abi::cfg::CompleterCfg as Layout;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::rx::AckInfo;
use ferroce_rtl::desc::tx::{Kick, LocalError};
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::StreamIn;

const ENABLED: usize = offset(Layout::FIELDS, "enabled");
const CQ: usize = offset(Layout::FIELDS, "cq");
const PSN: usize = offset(Layout::FIELDS, "psn");
const TIMEOUT: usize = offset(Layout::FIELDS, "timeout");
const RETRY_CNT: usize = offset(Layout::FIELDS, "retry_cnt");
const RNR_RETRY: usize = offset(Layout::FIELDS, "rnr_retry");
const FLUSH: usize = offset(Layout::FIELDS, "flush");

/// Chosen events stand in line; the first one goes when no pass of its QP is under way. A scoreboard of 32 bits,
/// indexed by the low QP bits, tells.
///
/// Order of sources: configuration, repeated events, local errors, then responses and ticks in turn. New events are
/// let in only while the FIFO of repeated ones has room for all that are under way, and repeated ones always are, so they
/// can't block each other.
#[derive(LogicBlock, Module)]
pub struct EventSelect {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration; `COMPLETER` and `SQ` entries.
    pub cfg: Signal<In, CfgWrite>,
    /// Events that need another pass.
    pub repeated: StreamIn<Event>,
    /// WQEs that failed in the sender.
    pub local: StreamIn<LocalError>,
    /// Responses.
    pub responses: StreamIn<AckInfo>,
    /// QPs with timer or flush work.
    pub ticks: StreamIn<Kick>,
    /// The FIFO of repeated events is too full for new ones; from a register.
    pub no_room: Signal<In, Bit>,
    /// Take no event but configuration; from a register.
    pub hold: Signal<In, Bit>,
    /// The pass of `done_qp` writes its state in this cycle.
    pub done: Signal<In, Bit>,
    /// See `done`.
    pub done_qp: Signal<In, Bits<14>>,
    /// The event.
    pub event: Signal<Out, Event>,
    /// It goes in this cycle.
    pub go: Signal<Out, Bit>,
    /// With `RESTART` or `FLUSH`: the configuration that came with it.
    pub entry: Signal<Out, QpCfg>,
    qps: Constant<Bits<16>>,
    pending: DFF<Bit>,
    pending_event: DFF<Event>,
    pending_entry: DFF<QpCfg>,
    chosen: Skid<Event>,
    next: Signal<Local, Event>,
    busy: DFF<Bits<32>>,
    ticks_next: DFF<Bit>,
    leave: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    open: Signal<Local, Bit>,
    pick_response: Signal<Local, Bit>,
    pick_tick: Signal<Local, Bit>,
    is_cfg: Signal<Local, Bit>,
    busy_after: Signal<Local, Bits<32>>,
}

impl EventSelect {
    /// For `2^log2_qps` QPs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            repeated: StreamIn::default(),
            local: StreamIn::default(),
            responses: StreamIn::default(),
            ticks: StreamIn::default(),
            no_room: Signal::default(),
            hold: Signal::default(),
            done: Signal::default(),
            done_qp: Signal::default(),
            event: Signal::default(),
            go: Signal::default(),
            entry: Signal::default(),
            qps: Constant::new((1u64 << log2_qps).into()),
            pending: DFF::default(),
            pending_event: DFF::default(),
            pending_entry: DFF::default(),
            chosen: Skid::default(),
            next: Signal::default(),
            busy: DFF::default(),
            ticks_next: DFF::default(),
            leave: Signal::default(),
            free: Signal::default(),
            open: Signal::default(),
            pick_response: Signal::default(),
            pick_tick: Signal::default(),
            is_cfg: Signal::default(),
            busy_after: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for EventSelect {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for EventSelect {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            pending,
            pending_event,
            pending_entry,
            busy,
            ticks_next
        );
        clock!(self, clock, chosen);

        // The oldest event chosen.
        self.leave.next = self.chosen.output.valid.val()
            & !self
                .busy
                .q
                .val()
                .get_bit(self.chosen.output.data.val().qp.get_bits::<5>(0).index());
        self.chosen.output.ready.next = self.leave.val();
        self.go.next = self.leave.val();
        self.event.next = self.chosen.output.data.val();
        self.entry.next = self.pending_entry.q.val();
        self.busy_after.next = self.busy.q.val();
        if self.done.val() {
            self.busy_after.next = self
                .busy_after
                .val()
                .replace_bit(self.done_qp.val().get_bits::<5>(0).index(), false);
        }
        if self.leave.val() {
            self.busy_after.next = self.busy_after.val().replace_bit(
                self.chosen.output.data.val().qp.get_bits::<5>(0).index(),
                true,
            );
        }
        self.busy.d.next = self.busy_after.val();

        // The next one.
        self.free.next = self.chosen.input.ready.val();
        self.open.next = !self.pending.q.val()
            & !self.repeated.valid.val()
            & !self.no_room.val()
            & !self.hold.val();
        self.pick_tick.next =
            self.ticks.valid.val() & (self.ticks_next.q.val() | !self.responses.valid.val());
        self.pick_response.next = self.responses.valid.val() & !self.pick_tick.val();
        self.repeated.ready.next = self.free.val() & !self.pending.q.val() & !self.hold.val();
        self.local.ready.next = self.free.val() & self.open.val();
        self.responses.ready.next =
            self.free.val() & self.open.val() & !self.local.valid.val() & self.pick_response.val();
        self.ticks.ready.next =
            self.free.val() & self.open.val() & !self.local.valid.val() & self.pick_tick.val();
        self.chosen.input.valid.next = self.pending.q.val()
            | (self.repeated.valid.val() & !self.hold.val())
            | (self.open.val()
                & (self.local.valid.val() | self.responses.valid.val() | self.ticks.valid.val()));
        self.next.next = Default::default();
        if self.pending.q.val() {
            self.next.next = self.pending_event.q.val();
        } else if self.repeated.valid.val() {
            self.next.next = self.repeated.data.val();
        } else if self.local.valid.val() {
            self.next.next.kind = kind::LOCAL.into();
            self.next.next.qp = self.local.data.val().qp;
            self.next.next.wqe = self.local.data.val().wqe;
            self.next.next.status = self.local.data.val().status;
        } else if self.pick_tick.val() {
            self.next.next.kind = kind::TICK.into();
            self.next.next.qp = self.ticks.data.val().qp;
        } else {
            self.next.next.kind = kind::ACK.into();
            if self.responses.data.val().halted {
                self.next.next.kind = kind::HALTED.into();
            }
            self.next.next.qp = self.responses.data.val().qp;
            self.next.next.data = self.responses.data.val().data;
            self.next.next.psn = self.responses.data.val().psn;
            self.next.next.syndrome = self.responses.data.val().syndrome;
        }
        self.chosen.input.data.next = self.next.val();
        if self.free.val() {
            self.pending.d.next = false;
            if self.open.val() & !self.local.valid.val() {
                self.ticks_next.d.next = self.pick_response.val();
            }
        }

        // Configuration is written at least 64 cycles apart; a pass takes fewer.
        self.is_cfg.next = self.cfg.val().valid
            & ((self.cfg.val().table == table::COMPLETER) | (self.cfg.val().table == table::SQ))
            & (self.cfg.val().index < self.qps.val());
        if self.is_cfg.val() {
            self.pending.d.next = true;
            self.pending_event.d.next.data = false;
            self.pending_event.d.next.qp = self.cfg.val().index.get_bits::<14>(0);
            self.pending_event.d.next.psn = self.cfg.val().data.get_bits::<24>(PSN);
            // A restart loads both retry counters.
            self.pending_event.d.next.syndrome =
                bit_cast::<8, 3>(self.cfg.val().data.get_bits::<3>(RETRY_CNT))
                    | (bit_cast::<8, 3>(self.cfg.val().data.get_bits::<3>(RNR_RETRY)) << 3);
            self.pending_event.d.next.kind = kind::RESTART.into();
            if self.cfg.val().data.get_bit(FLUSH) {
                self.pending_event.d.next.kind = kind::FLUSH.into();
            }
            if self.cfg.val().table == table::SQ {
                self.pending_event.d.next.kind = kind::NEW_SQ.into();
            } else {
                self.pending_entry.d.next.enabled = self.cfg.val().data.get_bit(ENABLED);
                self.pending_entry.d.next.cq = self.cfg.val().data.get_bits::<14>(CQ);
                self.pending_entry.d.next.timeout = self.cfg.val().data.get_bits::<5>(TIMEOUT);
                self.pending_entry.d.next.retry_cnt = self.cfg.val().data.get_bits::<3>(RETRY_CNT);
                self.pending_entry.d.next.rnr_retry = self.cfg.val().data.get_bits::<3>(RNR_RETRY);
            }
        }
    }
}

ferroce_emit::register_leaf!("event_select", EventSelect::default);

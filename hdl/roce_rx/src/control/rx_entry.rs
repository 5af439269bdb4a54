//! Entry of the control pipeline: pacing, and configuration as one of the packets.

use crate::control::data_match::MATCH_LEAD;
use ferroce_abi::cfg::field_offset as offset;
use ferroce_abi::cfg::ResponderCfg as Layout;
use ferroce_abi::limits::SRQ_BITS;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::rx::{Kill, RxMeta};
use ferroce_rtl::desc::tx::Kick;
use ferroce_rtl::stream::StreamIn;

const ENABLED: usize = offset(Layout::FIELDS, "enabled");
const RESTART: usize = offset(Layout::FIELDS, "restart");
const RESTART_RQ: usize = offset(Layout::FIELDS, "restart_rq");
const PMTU: usize = offset(Layout::FIELDS, "pmtu");
const PD: usize = offset(Layout::FIELDS, "pd");
const ACCESS: usize = offset(Layout::FIELDS, "access");
const CQ: usize = offset(Layout::FIELDS, "cq");
const PSN: usize = offset(Layout::FIELDS, "psn");
const MIN_RNR: usize = offset(Layout::FIELDS, "min_rnr");
const PKEY: usize = offset(Layout::FIELDS, "pkey");
const PEER_IP: usize = offset(Layout::FIELDS, "peer_ip");
const SHARED: usize = offset(Layout::FIELDS, "shared");
const SRQ: usize = offset(Layout::FIELDS, "srq");
const MAX_READS: usize = offset(Layout::FIELDS, "max_reads");
/// Bit of `Access::REMOTE_WRITE`.
const REMOTE_WRITE_BIT: usize = ferroce_abi::mr::Access::REMOTE_WRITE
    .bits()
    .trailing_zeros() as usize;
/// Bit of `Access::REMOTE_READ`.
const REMOTE_READ_BIT: usize =
    ferroce_abi::mr::Access::REMOTE_READ.bits().trailing_zeros() as usize;
/// Bit of `Access::REMOTE_ATOMIC`.
const REMOTE_ATOMIC_BIT: usize = ferroce_abi::mr::Access::REMOTE_ATOMIC
    .bits()
    .trailing_zeros() as usize;

/// Cycles after the start of a packet that may end a READ or atomic in which no data of its QP may start: what is compared with it is read one cycle after its own start,
/// and the packet changes it [`MATCH_LEAD`] and one cycle after that read.
const DATA_HOLD: usize = MATCH_LEAD + 1;

/// The packet that started, if it may end a READ or atomic.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Ending {
    valid: Bit,
    /// Low QP bits.
    place: Bits<5>,
}

/// What the pipeline keeps of a QP's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct ResponderEntry {
    /// Requests are taken.
    pub enabled: Bit,
    /// Log2 of path MTU.
    pub pmtu: Bits<4>,
    /// Protection domain.
    pub pd: Bits<16>,
    /// Peers may write.
    pub remote_write: Bit,
    /// Peers may read.
    pub remote_read: Bit,
    /// Peers may use atomics.
    pub remote_atomic: Bit,
    /// Receive CQ.
    pub cq: Bits<14>,
    /// RNR timer code.
    pub min_rnr: Bits<5>,
    /// P_Key.
    pub pkey: Bits<16>,
    /// Peer's IPv4 address.
    pub peer_ip: Bits<32>,
    /// Receive WQEs come from an SRQ.
    pub shared: Bit,
    /// That SRQ.
    pub srq: Bits<SRQ_BITS>,
    /// READs and atomics that may be unanswered.
    pub max_reads: Bits<5>,
}

/// What begins in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Op {
    /// Something.
    pub valid: Bit,
    /// A configuration write, not a packet.
    pub reconfig: Bit,
    /// It restarts the QP.
    pub restart: Bit,
    /// It restarts the receive queue.
    pub restart_rq: Bit,
    /// It ends the message in progress.
    pub stops: Bit,
    /// It is about an SRQ, not a QP: `dqpn` is its number.
    pub srq: Bit,
    /// A [`Kill`], not a packet.
    pub kill: Bit,
    /// A failed requester, not a packet.
    pub halt: Bit,
}

/// Data waits for the end of a READ before it that is still in the comparison: a scoreboard of 32 bits, indexed by the low QP bits, tells. It
/// starts a packet, a configuration write or a kill at most every second cycle; configuration goes first and does not wait for
/// `hold`, as it makes no verdict. Its one answer, and the rest of what others start, has its place in the reserve of the outputs.
#[derive(LogicBlock, Module)]
pub struct RxEntry {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Good frames in order.
    pub packets: StreamIn<RxMeta>,
    /// Configuration; `RESPONDER` and `SRQ` entries.
    pub cfg: Signal<In, CfgWrite>,
    /// QPs that failed elsewhere.
    pub kills: StreamIn<Kill>,
    /// QPs whose requester has failed.
    pub halts: StreamIn<Kick>,
    /// Start no packet; from a register.
    pub hold: Signal<In, Bit>,
    /// Something begins in this cycle.
    pub starting: Signal<Out, Bit>,
    /// What began in the cycle before.
    pub op: Signal<Out, Op>,
    /// The packet; of a configuration write `dqpn` (or the SRQ's number) and `psn`, of a kill `dqpn` and, as `syndrome`, its life.
    pub meta: Signal<Out, RxMeta>,
    /// The entry of a configuration write.
    pub entry: Signal<Out, ResponderEntry>,
    pending: DFF<Bit>,
    pending_qp: DFF<Bits<24>>,
    pending_psn: DFF<Bits<24>>,
    pending_entry: DFF<ResponderEntry>,
    pending_restart: DFF<Bit>,
    pending_restart_rq: DFF<Bit>,
    pending_stops: DFF<Bit>,
    pending_srq: DFF<Bit>,
    started: DFF<Bit>,
    op1: DFF<Op>,
    meta1: DFF<RxMeta>,
    /// QPs, by low bits, whose data waits.
    busy: DFF<Bits<32>>,
    endings: Delay<Ending>,
    op_in: Signal<Local, Bits<5>>,
    place_in: Signal<Local, Bits<5>>,
    cleared: Signal<Local, Bits<32>>,
    ends: Signal<Local, Bit>,
    data: Signal<Local, Bit>,
    waits: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    take_kill: Signal<Local, Bit>,
    take_halt: Signal<Local, Bit>,
    start: Signal<Local, Bit>,
}

impl Default for RxEntry {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            packets: StreamIn::default(),
            cfg: Signal::default(),
            kills: StreamIn::default(),
            halts: StreamIn::default(),
            hold: Signal::default(),
            starting: Signal::default(),
            op: Signal::default(),
            meta: Signal::default(),
            entry: Signal::default(),
            pending: DFF::default(),
            pending_qp: DFF::default(),
            pending_psn: DFF::default(),
            pending_entry: DFF::default(),
            pending_restart: DFF::default(),
            pending_restart_rq: DFF::default(),
            pending_stops: DFF::default(),
            pending_srq: DFF::default(),
            started: DFF::default(),
            op1: DFF::default(),
            meta1: DFF::default(),
            busy: DFF::default(),
            endings: Delay::new(DATA_HOLD),
            op_in: Signal::default(),
            place_in: Signal::default(),
            cleared: Signal::default(),
            ends: Signal::default(),
            data: Signal::default(),
            waits: Signal::default(),
            take: Signal::default(),
            take_kill: Signal::default(),
            take_halt: Signal::default(),
            start: Signal::default(),
        }
    }
}

impl Logic for RxEntry {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            pending,
            pending_qp,
            pending_psn,
            pending_entry,
            pending_restart,
            pending_restart_rq,
            pending_stops,
            pending_srq,
            started,
            op1,
            meta1,
            busy
        );
        clock!(self, clock, endings);
        // READ responses and ATOMIC ACKNOWLEDGE; LAST, ONLY and the latter end something.
        self.op_in.next = self.packets.data.val().opcode.get_bits::<5>(0);
        self.place_in.next = self.packets.data.val().dqpn.get_bits::<5>(0);
        self.ends.next =
            (self.op_in.val() == 0x0F) | (self.op_in.val() == 0x10) | (self.op_in.val() == 0x12);
        self.data.next = self.ends.val() | (self.op_in.val() == 0x0D) | (self.op_in.val() == 0x0E);
        self.waits.next = self.data.val() & self.busy.q.val().get_bit(self.place_in.val().index());
        self.take_kill.next = self.kills.valid.val()
            & !self.started.q.val()
            & !self.hold.val()
            & !self.pending.q.val();
        self.kills.ready.next = !self.started.q.val() & !self.hold.val() & !self.pending.q.val();
        self.halts.ready.next = !self.started.q.val()
            & !self.hold.val()
            & !self.pending.q.val()
            & !self.kills.valid.val();
        self.take_halt.next = self.halts.valid.val()
            & !self.started.q.val()
            & !self.hold.val()
            & !self.pending.q.val()
            & !self.kills.valid.val();
        self.take.next = !self.started.q.val()
            & !self.hold.val()
            & !self.pending.q.val()
            & !self.kills.valid.val()
            & !self.halts.valid.val()
            & !self.waits.val();
        self.endings.data_in.next.valid =
            self.take.val() & self.packets.valid.val() & self.ends.val();
        self.endings.data_in.next.place = self.place_in.val();
        self.cleared.next = self.busy.q.val();
        if self.endings.data_out.val().valid {
            self.cleared.next = self
                .busy
                .q
                .val()
                .replace_bit(self.endings.data_out.val().place.index(), false);
        }
        self.busy.d.next = self.cleared.val();
        if self.endings.data_in.val().valid {
            self.busy.d.next = self
                .cleared
                .val()
                .replace_bit(self.place_in.val().index(), true);
        }
        self.packets.ready.next = self.take.val();
        self.start.next = (self.take.val() & self.packets.valid.val())
            | self.take_kill.val()
            | self.take_halt.val()
            | (!self.started.q.val() & self.pending.q.val());
        self.started.d.next = self.start.val();
        self.starting.next = self.start.val();
        self.op1.d.next.valid = self.start.val();
        self.op1.d.next.reconfig = self.pending.q.val();
        self.op1.d.next.kill = self.take_kill.val();
        self.op1.d.next.halt = self.take_halt.val();
        self.op1.d.next.restart = self.pending_restart.q.val();
        self.op1.d.next.restart_rq = self.pending_restart_rq.q.val();
        self.op1.d.next.stops = self.pending_stops.q.val();
        self.op1.d.next.srq = self.pending_srq.q.val();
        self.meta1.d.next = self.packets.data.val();
        if self.take_kill.val() {
            self.meta1.d.next.dqpn = bit_cast::<24, 14>(self.kills.data.val().qp);
            self.meta1.d.next.syndrome = self.kills.data.val().life;
        }
        if self.take_halt.val() {
            self.meta1.d.next.dqpn = bit_cast::<24, 14>(self.halts.data.val().qp);
        }
        if self.pending.q.val() {
            self.meta1.d.next.dqpn = self.pending_qp.q.val();
            self.meta1.d.next.psn = self.pending_psn.q.val();
        }
        if !self.started.q.val() {
            self.pending.d.next = false;
        }
        if self.cfg.val().valid & (self.cfg.val().table == table::RESPONDER) {
            self.pending.d.next = true;
            self.pending_qp.d.next = bit_cast::<24, 16>(self.cfg.val().index);
            self.pending_psn.d.next = self.cfg.val().data.get_bits::<24>(PSN);
            self.pending_restart.d.next = self.cfg.val().data.get_bit(RESTART);
            self.pending_restart_rq.d.next = self.cfg.val().data.get_bit(RESTART_RQ);
            self.pending_stops.d.next =
                !self.cfg.val().data.get_bit(ENABLED) | self.cfg.val().data.get_bit(RESTART);
            self.pending_srq.d.next = false;
            self.pending_entry.d.next.enabled = self.cfg.val().data.get_bit(ENABLED);
            self.pending_entry.d.next.pmtu = self.cfg.val().data.get_bits::<4>(PMTU);
            self.pending_entry.d.next.pd = self.cfg.val().data.get_bits::<16>(PD);
            self.pending_entry.d.next.remote_write =
                self.cfg.val().data.get_bit(ACCESS + REMOTE_WRITE_BIT);
            self.pending_entry.d.next.remote_read =
                self.cfg.val().data.get_bit(ACCESS + REMOTE_READ_BIT);
            self.pending_entry.d.next.remote_atomic =
                self.cfg.val().data.get_bit(ACCESS + REMOTE_ATOMIC_BIT);
            self.pending_entry.d.next.max_reads = self.cfg.val().data.get_bits::<5>(MAX_READS);
            self.pending_entry.d.next.cq = self.cfg.val().data.get_bits::<14>(CQ);
            self.pending_entry.d.next.min_rnr = self.cfg.val().data.get_bits::<5>(MIN_RNR);
            self.pending_entry.d.next.pkey = self.cfg.val().data.get_bits::<16>(PKEY);
            self.pending_entry.d.next.peer_ip = self.cfg.val().data.get_bits::<32>(PEER_IP);
            self.pending_entry.d.next.shared = self.cfg.val().data.get_bit(SHARED);
            self.pending_entry.d.next.srq = self.cfg.val().data.get_bits::<SRQ_BITS>(SRQ);
        }
        if self.cfg.val().valid & (self.cfg.val().table == table::SRQ) {
            self.pending.d.next = true;
            self.pending_qp.d.next = bit_cast::<24, 16>(self.cfg.val().index);
            self.pending_restart.d.next = false;
            self.pending_restart_rq.d.next = true;
            self.pending_stops.d.next = false;
            self.pending_srq.d.next = true;
        }
        self.op.next = self.op1.q.val();
        self.meta.next = self.meta1.q.val();
        self.entry.next = self.pending_entry.q.val();
    }
}

ferroce_emit::register_leaf!("rx_entry", RxEntry::default);

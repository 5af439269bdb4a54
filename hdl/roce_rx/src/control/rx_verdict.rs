//! Last stages of the control pipeline: the error mark of a QP, verdict, answer, completion.

use crate::control::packet::{Decided, ErrorMark, Flush, Placed};
use crate::events::ControlEvents;
use ferroce_abi::cqe::{flags, Status, WcOpcode};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::{AckInfo, Answer, Verdict, BAD_DATA};
use ferroce_rtl::desc::tx::Consumed;
use ferroce_rtl::rmw_ram::RmwRam;

/// ACK without end-to-end credits.
const ACK: u64 = 0x1F;
/// RNR NAK; the timer code is added.
const RNR_NAK: u64 = 0x20;
/// NAK: PSN sequence error.
const NAK_SEQUENCE: u64 = 0x60;
/// NAK: invalid request.
const NAK_INVALID: u64 = 0x61;
/// NAK: remote access error.
const NAK_ACCESS: u64 = 0x62;
/// NAK: remote operational error.
const NAK_OPERATIONAL: u64 = 0x63;

const RECV: u64 = WcOpcode::Recv as u64;
const RECV_IMM: u64 = WcOpcode::RecvRdmaWithImm as u64;
const LOC_LEN: u64 = Status::LocLen as u64;
const LOC_QP_OP: u64 = Status::LocQpOp as u64;
const LOC_PROT: u64 = Status::LocProt as u64;
const WR_FLUSH: u64 = Status::WrFlush as u64;
const REM_INV_REQ: u64 = Status::RemInvReq as u64;
/// Where in the CQE flags "with immediate" is.
const WITH_IMM_BIT: usize = flags::WITH_IMM.trailing_zeros() as usize;
/// Where in the CQE flags "solicited" is.
const SOLICITED_BIT: usize = flags::SOLICITED.trailing_zeros() as usize;

/// Cycles by which `dead_qp` is ahead of its packet: the latency of the RAM that is read there.
pub const DEAD_LEAD: usize = ferroce_rtl::rmw_ram::RMW_LATENCY;
/// How a QP's responder stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Life {
    /// In error.
    dead: Bit,
    /// Its requester is: data of READs and atomics can't be placed.
    deaf: Bit,
    /// A SEND in progress holds a receive WQE.
    holds: Bit,
    /// It was moved to the error state.
    stopped: Bit,
    /// Restarts so far.
    number: Bits<8>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Outcome {
    /// Executed.
    good: Bit,
    /// Failed; the QP is in error from here on.
    bad: Bit,
    /// Came for a QP in error.
    late: Bit,
    /// No SEND: it has no receive WQE to report a failure with.
    remote: Bit,
    /// Data to be placed.
    lands: Bit,
    /// Data that has no place.
    lost: Bit,
    /// The completer hears of the data, or of its want.
    tells: Bit,
    /// Failed for want of rights (WRITE, READ, atomic).
    access: Bit,
    /// A READ or atomic to be executed, or a duplicate of one.
    job: Bit,
    /// Restarts of the QP so far.
    life: Bits<8>,
    /// Failed at a malformed receive WQE.
    wqe: Bit,
    /// Failed at the length of the receive buffer.
    length: Bit,
    /// Failed at the L_Key of the receive buffer.
    local: Bit,
    /// A receive WQE was held when it came.
    holds: Bit,
    /// It stops a QP that holds a WQE of an SRQ.
    flushes: Bit,
    /// It moves a QP that has an SRQ to the error state.
    last: Bit,
}

/// Keeps one error mark a QP in a loop of one cycle: the first failing packet sets it, and whatever of the same QP
/// comes later is neither placed nor answered nor completed, until configuration restarts the QP. Every packet gets
/// exactly one verdict, in order. The transmit side sets the mark too, when the host's memory fails under an answer.
///
/// A WQE that was taken from an SRQ always gets a CQE, since nobody else knows who has it: a packet that comes for a QP in error has its WQE flushed,
/// and so has a QP that is stopped in the middle of a SEND. What moves the QP to the error state comes behind all its packets: the last WQE is reached (IBTA 11.6.3).
#[derive(LogicBlock, Module)]
pub struct RxVerdict {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// QP of the packet that comes three cycles later.
    pub dead_qp: Signal<In, Bits<14>>,
    /// Packets.
    pub packet: Signal<In, Decided>,
    /// Their place, and whether it may be written.
    pub placed: Signal<In, Placed>,
    /// Verdict, two cycles later.
    pub verdict: Signal<Out, Verdict>,
    /// `verdict` is valid.
    pub verdict_valid: Signal<Out, Bit>,
    /// Answer to be sent.
    pub answer: Signal<Out, Answer>,
    /// `answer` is valid.
    pub answer_valid: Signal<Out, Bit>,
    /// Response for the completer.
    pub response: Signal<Out, AckInfo>,
    /// `response` is valid.
    pub response_valid: Signal<Out, Bit>,
    /// New position in a receive queue.
    pub consumed: Signal<Out, Consumed>,
    /// `consumed` is valid.
    pub consumed_valid: Signal<Out, Bit>,
    /// A QP with an SRQ was stopped.
    pub flush: Signal<Out, Flush>,
    /// `flush` is valid.
    pub flush_valid: Signal<Out, Bit>,
    /// Error mark of the QP, for the pipeline's entry.
    pub mark: Signal<Out, ErrorMark>,
    /// What is counted.
    pub events: Signal<Out, ControlEvents>,
    life: RmwRam<Life>,
    out_flush: DFF<Flush>,
    out_flush_valid: DFF<Bit>,
    out_mark: DFF<ErrorMark>,
    p1: DFF<Decided>,
    placed1: DFF<Placed>,
    o1: DFF<Outcome>,
    out_verdict: DFF<Verdict>,
    out_answer: DFF<Answer>,
    out_answer_valid: DFF<Bit>,
    late_kill: DFF<Bit>,
    out_response: DFF<AckInfo>,
    out_response_valid: DFF<Bit>,
    out_consumed: DFF<Consumed>,
    out_consumed_valid: DFF<Bit>,
    out_packet: DFF<Bit>,
    out_events: DFF<ControlEvents>,
    p: Signal<Local, Decided>,
    failed: Signal<Local, Bit>,
    d: Signal<Local, Decided>,
    o: Signal<Local, Outcome>,
    receives: Signal<Local, Bit>,
    fails: Signal<Local, Bit>,
    stops: Signal<Local, Bit>,
    live: Signal<Local, Bit>,
    killed: Signal<Local, Bit>,
    homeless: Signal<Local, Bit>,
}

impl RxVerdict {
    /// For `2^log2_qps` QPs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            clock: Signal::default(),
            dead_qp: Signal::default(),
            packet: Signal::default(),
            placed: Signal::default(),
            verdict: Signal::default(),
            verdict_valid: Signal::default(),
            answer: Signal::default(),
            answer_valid: Signal::default(),
            response: Signal::default(),
            response_valid: Signal::default(),
            consumed: Signal::default(),
            consumed_valid: Signal::default(),
            flush: Signal::default(),
            flush_valid: Signal::default(),
            mark: Signal::default(),
            events: Signal::default(),
            life: RmwRam::new(log2_qps),
            out_flush: DFF::default(),
            out_flush_valid: DFF::default(),
            out_mark: DFF::default(),
            p1: DFF::default(),
            placed1: DFF::default(),
            o1: DFF::default(),
            out_verdict: DFF::default(),
            out_answer: DFF::default(),
            out_answer_valid: DFF::default(),
            late_kill: DFF::default(),
            out_response: DFF::default(),
            out_response_valid: DFF::default(),
            out_consumed: DFF::default(),
            out_consumed_valid: DFF::default(),
            out_packet: DFF::default(),
            out_events: DFF::default(),
            p: Signal::default(),
            failed: Signal::default(),
            d: Signal::default(),
            o: Signal::default(),
            receives: Signal::default(),
            fails: Signal::default(),
            stops: Signal::default(),
            live: Signal::default(),
            killed: Signal::default(),
            homeless: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for RxVerdict {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for RxVerdict {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            p1,
            placed1,
            o1,
            out_verdict,
            out_answer,
            out_answer_valid,
            late_kill,
            out_response,
            out_response_valid,
            out_consumed,
            out_consumed_valid,
            out_packet,
            out_events,
            out_flush,
            out_flush_valid,
            out_mark
        );
        clock!(self, clock, life);

        // The loop: everything that can fail has failed or not by now.
        self.p.next = self.packet.val();
        self.failed.next = self.p.val().accept
            & (self.placed.val().denied
                | self.placed.val().fault
                | self.placed.val().bad_wqe
                | self.placed.val().too_long);
        self.fails.next = self.failed.val() | self.p.val().fatal;
        self.stops.next = self.p.val().reconfig & self.p.val().stops;
        self.killed.next =
            self.p.val().kill & (self.life.rd_data.val().number == self.p.val().syndrome);
        self.live.next = !self.life.rd_data.val().dead;
        self.life.rd_valid.next = true;
        self.life.rd_addr.next = bit_cast::<20, 14>(self.dead_qp.val());
        self.life.wr_addr.next = bit_cast::<20, 14>(self.p.val().qp);
        self.homeless.next = self.p.val().misfit
            | self.p.val().halt
            | (self.p.val().lands & (self.placed.val().denied | self.placed.val().fault));
        self.life.wr_valid.next = self.p.val().accept
            | self.p.val().fatal
            | self.stops.val()
            | self.killed.val()
            | self.homeless.val();
        self.life.wr_data.next.deaf = (self.life.rd_data.val().deaf | self.homeless.val())
            & !(self.p.val().reconfig & self.p.val().restart);
        self.life.wr_data.next.dead =
            (self.life.rd_data.val().dead | self.fails.val() | self.killed.val())
                & !(self.p.val().reconfig & self.p.val().restart);
        // What a QP holds when it is killed stays with it until it is stopped, whatever comes meanwhile.
        self.life.wr_data.next.holds = (self.live.val()
            & self.p.val().accept
            & !self.failed.val()
            & self.p.val().class.send
            & !self.p.val().class.ends)
            | (self.life.rd_data.val().holds
                & !self.stops.val()
                & (self.killed.val() | self.homeless.val() | self.life.rd_data.val().dead));
        self.life.wr_data.next.stopped = (self.life.rd_data.val().stopped | self.stops.val())
            & !(self.p.val().reconfig & self.p.val().restart);
        self.life.wr_data.next.number = self.life.rd_data.val().number
            + bit_cast::<8, 1>((self.p.val().reconfig & self.p.val().restart).into());
        self.out_mark.d.next.valid =
            self.fails.val() | self.killed.val() | (self.p.val().reconfig & self.p.val().restart);
        self.out_mark.d.next.qp = self.p.val().qp;
        self.out_mark.d.next.failed = !self.p.val().reconfig;
        self.mark.next = self.out_mark.q.val();

        self.p1.d.next = self.p.val();
        self.placed1.d.next = self.placed.val();
        self.o1.d.next.good = self.p.val().accept & !self.failed.val() & self.live.val();
        self.o1.d.next.bad = self.fails.val() & self.live.val();
        self.o1.d.next.late = self.life.rd_data.val().dead;
        self.o1.d.next.holds = self.life.rd_data.val().holds;
        self.o1.d.next.flushes =
            self.stops.val() & self.p.val().shared & self.life.rd_data.val().holds;
        self.o1.d.next.last = self.stops.val()
            & self.p.val().shared
            & !self.p.val().restart
            & !self.life.rd_data.val().stopped;
        self.o1.d.next.remote = self.p.val().accept & !self.p.val().class.send;
        self.o1.d.next.access =
            self.p.val().accept & !self.p.val().class.send & !self.placed.val().fault;
        self.o1.d.next.job = (self.p.val().accept | self.p.val().replay)
            & (self.p.val().class.read | self.p.val().class.atomic)
            & !self.placed.val().denied
            & !self.placed.val().fault
            & self.live.val();
        self.o1.d.next.lands =
            self.p.val().lands & !self.homeless.val() & !self.life.rd_data.val().deaf;
        self.o1.d.next.lost =
            self.p.val().lands & self.homeless.val() & !self.life.rd_data.val().deaf;
        self.o1.d.next.tells = (self.p.val().lands | self.p.val().missing | self.p.val().misfit)
            & !self.life.rd_data.val().deaf;
        self.o1.d.next.life = self.life.wr_data.val().number;
        self.late_kill.d.next = self.killed.val() & self.live.val();
        self.o1.d.next.wqe = self.p.val().accept & self.placed.val().bad_wqe;
        self.o1.d.next.length =
            self.p.val().accept & !self.placed.val().bad_wqe & self.placed.val().too_long;
        self.o1.d.next.local = self.p.val().accept
            & self.p.val().class.send
            & !self.placed.val().bad_wqe
            & !self.placed.val().too_long;

        // Verdict and completion.
        self.d.next = self.p1.q.val();
        self.o.next = self.o1.q.val();
        self.receives.next =
            self.d.val().class.ends & (self.d.val().class.send | self.d.val().class.imm);
        self.out_packet.d.next = self.d.val().packet;
        self.out_verdict.d.next.place =
            (self.o.val().good | self.o.val().lands) & self.d.val().len.any();
        self.out_verdict.d.next.landing = self.o.val().lands;
        self.out_verdict.d.next.fence = self.o.val().job;
        self.out_verdict.d.next.addr = self.placed1.q.val().addr;
        self.out_verdict.d.next.page2 = self.placed1.q.val().page2;
        self.out_verdict.d.next.len = self.d.val().len;
        self.out_verdict.d.next.hdr_len = self.d.val().hdr_len;
        self.out_verdict.d.next.beats = self.d.val().beats;
        self.out_verdict.d.next.cq = self.d.val().cq;
        self.out_verdict.d.next.qp = self.d.val().qp;
        self.out_verdict.d.next.wqe = self.placed1.q.val().wqe;
        self.out_verdict.d.next.byte_len = self.placed1.q.val().total;
        self.out_verdict.d.next.imm = 0.into();
        if self.d.val().class.imm {
            self.out_verdict.d.next.imm = self.d.val().imm;
        }
        if self.d.val().class.send {
            self.out_verdict.d.next.opcode = RECV.into();
        } else {
            self.out_verdict.d.next.opcode = RECV_IMM.into();
        }
        self.out_verdict.d.next.flags = bits::<8>(0)
            .replace_bit(WITH_IMM_BIT, self.d.val().class.imm)
            .replace_bit(SOLICITED_BIT, self.d.val().se);
        self.out_verdict.d.next.status = 0.into();
        self.out_verdict.d.next.has_cqe = self.o.val().good & self.receives.val();
        // A failure is reported where there is a receive WQE to report it with.
        if self.o.val().bad & !self.o.val().remote {
            self.out_verdict.d.next.has_cqe = true;
            if self.o.val().wqe {
                self.out_verdict.d.next.status = LOC_QP_OP.into();
            }
            if self.o.val().length {
                self.out_verdict.d.next.status = LOC_LEN.into();
            }
            if self.o.val().local {
                self.out_verdict.d.next.status = LOC_PROT.into();
            }
            if self.d.val().fatal {
                self.out_verdict.d.next.has_cqe = self.o.val().holds;
                self.out_verdict.d.next.opcode = RECV.into();
                self.out_verdict.d.next.status = REM_INV_REQ.into();
            }
        }
        // No one but the card knows that this WQE of an SRQ was taken.
        if self.d.val().takes
            & self.d.val().shared
            & (self.o.val().late | (self.o.val().bad & self.o.val().remote))
        {
            self.out_verdict.d.next.has_cqe = true;
            self.out_verdict.d.next.status = WR_FLUSH.into();
        }
        self.out_flush.d.next.qp = self.d.val().qp;
        self.out_flush.d.next.cq = self.d.val().cq;
        self.out_flush.d.next.wqe = self.placed1.q.val().wqe;
        self.out_flush.d.next.holds = self.o.val().flushes;
        self.out_flush.d.next.last = self.o.val().last;
        self.out_flush_valid.d.next = self.o.val().flushes | self.o.val().last;
        self.flush.next = self.out_flush.q.val();
        self.flush_valid.next = self.out_flush_valid.q.val();

        // Answer. A job that is a duplicate has its own PSN.
        self.out_answer.d.next.qp = self.d.val().qp;
        self.out_answer.d.next.psn = self.d.val().psn;
        self.out_answer.d.next.msn = self.d.val().msn;
        self.out_answer.d.next.syndrome = ACK.into();
        self.out_answer.d.next.job = self.o.val().job;
        self.out_answer.d.next.ack =
            !self.o.val().job & !self.d.val().reconfig & !self.late_kill.q.val();
        self.out_answer.d.next.again = self.d.val().again;
        self.out_answer.d.next.reset = self.d.val().reconfig;
        self.out_answer.d.next.counted = self.d.val().accept;
        self.out_answer.d.next.atomic = self.d.val().class.atomic;
        self.out_answer.d.next.swap = self.d.val().class.swap;
        self.out_answer.d.next.pmtu = self.d.val().pmtu;
        self.out_answer.d.next.addr = self.placed1.q.val().addr;
        self.out_answer.d.next.via.paged = self.placed1.q.val().paged;
        self.out_answer.d.next.via.mr = self.placed1.q.val().mr;
        self.out_answer.d.next.via.epoch = self.placed1.q.val().epoch;
        self.out_answer.d.next.operand = self.d.val().operand;
        self.out_answer.d.next.compare = self.d.val().compare;
        self.out_answer.d.next.jobs = self.d.val().jobs;
        self.out_answer.d.next.life = self.o.val().life;
        self.out_answer_valid.d.next = (self.d.val().reconfig & self.d.val().restart)
            | self.o.val().job
            | self.late_kill.q.val()
            | (!self.o.val().late
                & ((self.o.val().good & self.d.val().ackreq)
                    | self.o.val().bad
                    | self.d.val().rnr
                    | self.d.val().gap
                    | self.d.val().again));
        if self.d.val().rnr {
            self.out_answer.d.next.syndrome = bit_cast::<8, 5>(self.d.val().min_rnr) | RNR_NAK;
        }
        if self.d.val().gap {
            self.out_answer.d.next.syndrome = NAK_SEQUENCE.into();
        }
        // The peer was told by who killed; this goes no farther than to the QP's events.
        if self.late_kill.q.val() {
            self.out_answer.d.next.syndrome = NAK_OPERATIONAL.into();
        }
        // A page that is not there is no fault of the peer's: remote operational error.
        if self.o.val().bad {
            self.out_answer.d.next.msn = self.d.val().msn_before;
            self.out_answer.d.next.syndrome = NAK_OPERATIONAL.into();
            if self.d.val().fatal | self.o.val().length {
                self.out_answer.d.next.syndrome = NAK_INVALID.into();
            }
            if self.o.val().access {
                self.out_answer.d.next.syndrome = NAK_ACCESS.into();
            }
        }

        self.out_response.d.next.qp = self.d.val().qp;
        self.out_response.d.next.psn = self.d.val().psn;
        self.out_response.d.next.msn = self.d.val().msn;
        self.out_response.d.next.halted = self.d.val().halt;
        self.out_response.d.next.data = !self.d.val().response & !self.d.val().halt;
        self.out_response.d.next.landing = self.o.val().lands;
        self.out_response.d.next.syndrome = ACK.into();
        if self.d.val().response {
            self.out_response.d.next.syndrome = self.d.val().syndrome;
        }
        if self.d.val().missing {
            self.out_response.d.next.syndrome = NAK_SEQUENCE.into();
        }
        if self.d.val().misfit {
            self.out_response.d.next.syndrome = self.d.val().status | BAD_DATA;
        }
        if self.o.val().lost {
            self.out_response.d.next.syndrome = (BAD_DATA + LOC_PROT).into();
        }
        self.out_response_valid.d.next =
            self.d.val().response | self.o.val().tells | self.d.val().halt;

        self.out_consumed.d.next.qp = self.d.val().queue;
        self.out_consumed.d.next.wqe = self.d.val().rq + 1;
        self.out_consumed_valid.d.next = self.d.val().takes;
        if self.d.val().reconfig {
            self.out_consumed.d.next.wqe = 0.into();
            self.out_consumed_valid.d.next = self.d.val().restart_rq;
        }

        self.out_events.d.next.drop_qpn = self.d.val().drop.qpn;
        self.out_events.d.next.drop_pkey = self.d.val().drop.pkey;
        self.out_events.d.next.drop_peer = self.d.val().drop.peer;
        self.out_events.d.next.drop_opcode = self.d.val().drop.opcode;
        self.out_events.d.next.drop_qp_state = self.d.val().drop.state
            | (self.o.val().late
                & (self.d.val().accept
                    | self.d.val().fatal
                    | self.d.val().rnr
                    | self.d.val().ahead
                    | self.d.val().duplicate));
        self.out_events.d.next.duplicate = self.d.val().duplicate & !self.o.val().late;
        self.out_events.d.next.out_of_sequence = self.d.val().ahead & !self.o.val().late;
        self.out_events.d.next.no_receive_wqe = self.d.val().rnr & !self.o.val().late;
        self.out_events.d.next.requests = self.o.val().good;
        self.out_events.d.next.messages = self.o.val().good & self.d.val().class.ends;
        self.out_events.d.next.reads = self.o.val().good & self.d.val().class.read;
        self.out_events.d.next.atomics = self.o.val().good & self.d.val().class.atomic;
        self.out_events.d.next.landings = self.o.val().lands;
        self.out_events.d.next.replays = self.o.val().job & self.d.val().replay;
        // A kill is no packet, so it comes alone.
        self.out_events.d.next.responder_errors = self.o.val().bad | self.late_kill.q.val();

        self.verdict.next = self.out_verdict.q.val();
        self.verdict_valid.next = self.out_packet.q.val();
        self.answer.next = self.out_answer.q.val();
        self.answer_valid.next = self.out_answer_valid.q.val();
        self.response.next = self.out_response.q.val();
        self.response_valid.next = self.out_response_valid.q.val();
        self.consumed.next = self.out_consumed.q.val();
        self.consumed_valid.next = self.out_consumed_valid.q.val();
        self.events.next = self.out_events.q.val();
    }
}

ferroce_emit::register_leaf!("rx_verdict", RxVerdict::default);

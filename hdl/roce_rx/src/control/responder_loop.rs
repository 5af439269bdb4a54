//! The responder's state loop: PSN, opcode sequence, message progress.

use crate::control::packet::{Checked, Decided};
use crate::control::rx_front::FRONT_LATENCY;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::RqPosition;
use ferroce_rtl::rmw_ram::{RmwRam, RMW_LATENCY};

// The state is read while the front checks the packet.
const _: () = assert!(FRONT_LATENCY == RMW_LATENCY);

/// Bytes of an atomic's operand.
const ATOMIC_BYTES: u64 = 8;
/// No message is in progress.
const IN_NONE: u64 = 0;
/// A SEND is.
const IN_SEND: u64 = 1;
/// A WRITE is.
const IN_WRITE: u64 = 2;

/// The responder's state of a QP.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct State {
    /// Expected PSN.
    epsn: Bits<24>,
    /// Completed requests.
    msn: Bits<24>,
    /// A NAK 0x60 or RNR NAK was sent for `epsn`.
    nak_sent: Bit,
    /// Message in progress, `IN_*`.
    inside: Bits<2>,
    /// Its bytes so far.
    done: Bits<32>,
    /// WRITE: bytes to come.
    left: Bits<32>,
    /// WRITE: RETH virtual address.
    va: Bits<64>,
    /// WRITE: RETH R_Key.
    rkey: Bits<32>,
    /// READs and atomics accepted, modulo 64; goes on through restarts, as the count of those answered does.
    jobs: Bits<6>,
}

/// What a packet could turn the state into, between the loop's two cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Step {
    accept: Bit,
    fatal: Bit,
    rnr: Bit,
    ahead: Bit,
    gap: Bit,
    duplicate: Bit,
    takes: Bit,
    distance: Bits<24>,
    jobs_next: Bits<6>,
    psn_next: Bits<24>,
    psn_before: Bits<24>,
    msn_next: Bits<24>,
    rq_next: Bits<16>,
    done_next: Bits<32>,
    left_next: Bits<32>,
}

/// Decides about each packet with the QP's state: a loop of two cycles around an [`RmwRam`], so that packets of one QP
/// may follow each other every second cycle. Beside it runs a loop of the same length over the receive queues' positions, so packets of several
/// QPs may take WQEs of one SRQ as fast: a SEND takes its WQE with the first packet, a WRITE with immediate with the last.
///
/// Expected PSN: opcode sequence, then what the front found, then RNR, then WRITE lengths; all but RNR are fatal (NAK
/// 0x61), and so is a READ or atomic while as many as were agreed upon are not answered. Ahead (1 to 2^23-1): one NAK 0x60 until the expected PSN comes; none after an RNR NAK. Else a duplicate: SEND and
/// WRITE are acknowledged again up to the PSN before the expected one, a READ or atomic is answered again if it is well-formed and its answer ends before the expected PSN.
/// Only accepted packets change the progress.
#[derive(LogicBlock, Module)]
pub struct ResponderLoop {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// QP of the packet that comes in `checked` in three cycles.
    pub rd_qp: Signal<In, Bits<14>>,
    /// Its receive queue.
    pub rd_queue: Signal<In, Bits<14>>,
    /// Checked packets, at most every second cycle.
    pub checked: Signal<In, Checked>,
    /// The decision, two cycles later.
    pub decided: Signal<Out, Decided>,
    /// New position in a receive queue, two cycles later.
    pub position: Signal<Out, RqPosition>,
    state: RmwRam<State>,
    positions: RmwRam<Bits<16>>,
    c5: DFF<Checked>,
    s5: DFF<State>,
    rq5: DFF<Bits<16>>,
    step5: DFF<Step>,
    out6: DFF<Decided>,
    position6: DFF<RqPosition>,
    s: Signal<Local, State>,
    c: Signal<Local, Checked>,
    n: Signal<Local, State>,
    expected: Signal<Local, Bit>,
    behind: Signal<Local, Bit>,
    in_sequence: Signal<Local, Bit>,
    length_ok: Signal<Local, Bit>,
    right: Signal<Local, Bit>,
    no_wqe: Signal<Local, Bit>,
    distance: Signal<Local, Bits<24>>,
    needs_wqe: Signal<Local, Bit>,
    next_rq: Signal<Local, Bits<16>>,
    job: Signal<Local, Bit>,
    jobs_left: Signal<Local, Bits<6>>,
    no_place: Signal<Local, Bit>,
    past_end: Signal<Local, Bits<24>>,
}

impl ResponderLoop {
    /// For `2^log2_qps` QPs and at most as many SRQs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            clock: Signal::default(),
            rd_qp: Signal::default(),
            rd_queue: Signal::default(),
            checked: Signal::default(),
            decided: Signal::default(),
            position: Signal::default(),
            state: RmwRam::new(log2_qps),
            positions: RmwRam::new(log2_qps + 1),
            c5: DFF::default(),
            s5: DFF::default(),
            rq5: DFF::default(),
            step5: DFF::default(),
            out6: DFF::default(),
            position6: DFF::default(),
            s: Signal::default(),
            c: Signal::default(),
            n: Signal::default(),
            expected: Signal::default(),
            behind: Signal::default(),
            in_sequence: Signal::default(),
            length_ok: Signal::default(),
            right: Signal::default(),
            no_wqe: Signal::default(),
            distance: Signal::default(),
            needs_wqe: Signal::default(),
            next_rq: Signal::default(),
            job: Signal::default(),
            jobs_left: Signal::default(),
            no_place: Signal::default(),
            past_end: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for ResponderLoop {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for ResponderLoop {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, c5, s5, rq5, step5, out6, position6);
        clock!(self, clock, state, positions);
        self.state.rd_valid.next = true;
        self.state.rd_addr.next = bit_cast::<20, 14>(self.rd_qp.val());

        self.positions.rd_valid.next = true;
        self.positions.rd_addr.next = bit_cast::<20, 14>(self.rd_queue.val());

        // First cycle: compare.
        self.s.next = self.state.rd_data.val();
        self.c.next = self.checked.val();
        self.expected.next = self.c.val().meta.psn == self.s.val().epsn;
        self.distance.next = self.c.val().meta.psn - self.s.val().epsn;
        self.behind.next = self.distance.val().get_bit(23);
        self.in_sequence.next = (self.c.val().class.begins & (self.s.val().inside == IN_NONE))
            | (!self.c.val().class.begins
                & ((self.c.val().class.send & (self.s.val().inside == IN_SEND))
                    | (self.c.val().class.write & (self.s.val().inside == IN_WRITE))));
        self.length_ok.next = true;
        if self.c.val().class.write & !self.c.val().class.begins {
            if self.c.val().class.ends {
                self.length_ok.next =
                    self.s.val().left == bit_cast::<32, 13>(self.c.val().meta.len);
            } else {
                self.length_ok.next = self.s.val().left > bit_cast::<32, 13>(self.c.val().meta.len);
            }
        }
        self.job.next = self.c.val().class.read | self.c.val().class.atomic;
        // More may be out than are allowed now, after a change of the limit.
        self.jobs_left.next = self.c.val().job_limit - self.s.val().jobs;
        self.no_place.next =
            self.job.val() & (!self.jobs_left.val().any() | self.jobs_left.val().get_bit(5));
        self.right.next = self.in_sequence.val()
            & !self.c.val().invalid
            & self.length_ok.val()
            & !self.no_place.val();
        self.needs_wqe.next = (self.c.val().class.send & self.c.val().class.begins)
            | (self.c.val().class.write & self.c.val().class.imm);
        self.no_wqe.next =
            self.needs_wqe.val() & (self.positions.rd_data.val() == self.c.val().fetched);

        self.c5.d.next = self.c.val();
        self.s5.d.next = self.s.val();
        self.rq5.d.next = self.positions.rd_data.val();
        self.step5.d.next.accept =
            self.c.val().request & self.expected.val() & self.right.val() & !self.no_wqe.val();
        self.step5.d.next.fatal = self.c.val().request & self.expected.val() & !self.right.val();
        self.step5.d.next.rnr =
            self.c.val().request & self.expected.val() & self.right.val() & self.no_wqe.val();
        self.step5.d.next.ahead = self.c.val().request & !self.expected.val() & !self.behind.val();
        self.step5.d.next.gap = self.c.val().request
            & !self.expected.val()
            & !self.behind.val()
            & !self.s.val().nak_sent;
        self.step5.d.next.duplicate = self.c.val().request & self.behind.val();
        self.step5.d.next.distance = self.distance.val();
        self.step5.d.next.jobs_next = self.s.val().jobs + bit_cast::<6, 1>(self.job.val().into());
        self.step5.d.next.psn_next = self.s.val().epsn + self.c.val().psns;
        self.step5.d.next.psn_before = self.s.val().epsn - 1;
        self.step5.d.next.msn_next = self.s.val().msn + 1;
        self.step5.d.next.rq_next = self.positions.rd_data.val() + 1;
        self.step5.d.next.takes = self.needs_wqe.val();
        self.step5.d.next.done_next = self.s.val().done + bit_cast::<32, 13>(self.c.val().meta.len);
        self.step5.d.next.left_next = self.s.val().left - bit_cast::<32, 13>(self.c.val().meta.len);

        // Second cycle: choose and write.
        self.n.next = self.s5.q.val();
        if self.step5.q.val().accept {
            self.n.next.epsn = self.step5.q.val().psn_next;
            self.n.next.nak_sent = false;
            self.n.next.jobs = self.step5.q.val().jobs_next;
            self.n.next.done = self.step5.q.val().done_next;
            self.n.next.left = self.step5.q.val().left_next;
            if self.c5.q.val().class.begins {
                self.n.next.done = bit_cast::<32, 13>(self.c5.q.val().meta.len);
                self.n.next.left =
                    self.c5.q.val().meta.dma_len - bit_cast::<32, 13>(self.c5.q.val().meta.len);
                self.n.next.va = self.c5.q.val().meta.va;
                self.n.next.rkey = self.c5.q.val().meta.rkey;
            }
            if self.c5.q.val().class.send {
                self.n.next.inside = IN_SEND.into();
            } else {
                self.n.next.inside = IN_WRITE.into();
            }
            if self.c5.q.val().class.ends {
                self.n.next.inside = IN_NONE.into();
                self.n.next.msn = self.step5.q.val().msn_next;
            }
        }
        if self.step5.q.val().rnr | self.step5.q.val().gap {
            self.n.next.nak_sent = true;
        }
        if self.c5.q.val().reconfig {
            if self.c5.q.val().restart {
                self.n.next.epsn = self.c5.q.val().meta.psn;
                self.n.next.msn = 0.into();
                self.n.next.nak_sent = false;
                self.n.next.inside = IN_NONE.into();
            }
        }
        self.state.wr_valid.next = self.step5.q.val().accept
            | self.step5.q.val().rnr
            | self.step5.q.val().gap
            | self.c5.q.val().reconfig;
        self.state.wr_addr.next = bit_cast::<20, 14>(self.c5.q.val().qp);
        self.state.wr_data.next = self.n.val();
        self.next_rq.next = self.step5.q.val().rq_next;
        if self.c5.q.val().reconfig {
            self.next_rq.next = 0.into();
        }
        self.positions.wr_valid.next = (self.step5.q.val().accept & self.step5.q.val().takes)
            | (self.c5.q.val().reconfig & self.c5.q.val().restart_rq);
        self.positions.wr_addr.next = bit_cast::<20, 14>(self.c5.q.val().queue);
        self.positions.wr_data.next = self.next_rq.val();

        self.out6.d.next.packet = self.c5.q.val().valid
            & !self.c5.q.val().reconfig
            & !self.c5.q.val().kill
            & !self.c5.q.val().halt;
        self.out6.d.next.halt = self.c5.q.val().halt;
        self.out6.d.next.kill = self.c5.q.val().kill;
        self.out6.d.next.jobs = self.s5.q.val().jobs;
        // A duplicate's answer may not reach beyond what was expected when it came.
        self.past_end.next = self.step5.q.val().distance + self.c5.q.val().psns;
        self.out6.d.next.replay = self.step5.q.val().duplicate
            & (self.c5.q.val().class.read | self.c5.q.val().class.atomic)
            & !self.c5.q.val().invalid
            & (self.past_end.val().get_bit(23) | !self.past_end.val().any());
        self.out6.d.next.reconfig = self.c5.q.val().reconfig;
        self.out6.d.next.restart = self.c5.q.val().restart;
        self.out6.d.next.restart_rq = self.c5.q.val().restart_rq;
        self.out6.d.next.stops = self.c5.q.val().stops;
        self.out6.d.next.qp = self.c5.q.val().qp;
        self.out6.d.next.response = self.c5.q.val().response;
        self.out6.d.next.drop = self.c5.q.val().drop;
        self.out6.d.next.accept = self.step5.q.val().accept;
        self.out6.d.next.fatal = self.step5.q.val().fatal;
        self.out6.d.next.rnr = self.step5.q.val().rnr;
        self.out6.d.next.ahead = self.step5.q.val().ahead;
        self.out6.d.next.gap = self.step5.q.val().gap;
        self.out6.d.next.duplicate = self.step5.q.val().duplicate;
        self.out6.d.next.again = self.step5.q.val().duplicate
            & (self.c5.q.val().class.send | self.c5.q.val().class.write);
        self.out6.d.next.class = self.c5.q.val().class;
        self.out6.d.next.ackreq = self.c5.q.val().meta.ackreq;
        self.out6.d.next.se = self.c5.q.val().meta.se;
        self.out6.d.next.psn = self.s5.q.val().epsn;
        if self.step5.q.val().duplicate {
            self.out6.d.next.psn = self.step5.q.val().psn_before;
        }
        self.out6.d.next.msn_before = self.s5.q.val().msn;
        self.out6.d.next.msn = self.s5.q.val().msn;
        if self.step5.q.val().accept & self.c5.q.val().class.ends {
            self.out6.d.next.msn = self.step5.q.val().msn_next;
        }
        if self.c5.q.val().response {
            self.out6.d.next.msn = self.c5.q.val().meta.msn;
        }
        // Of a duplicate READ or atomic too; other duplicates are answered up to the PSN before the expected one.
        if self.c5.q.val().response
            | (self.step5.q.val().duplicate
                & (self.c5.q.val().class.read | self.c5.q.val().class.atomic))
        {
            self.out6.d.next.psn = self.c5.q.val().meta.psn;
        }
        self.out6.d.next.syndrome = self.c5.q.val().meta.syndrome;
        self.out6.d.next.takes = self.step5.q.val().accept & self.step5.q.val().takes;
        self.out6.d.next.shared = self.c5.q.val().shared;
        self.out6.d.next.queue = self.c5.q.val().queue;
        self.out6.d.next.rq = self.rq5.q.val();
        self.out6.d.next.offset = self.s5.q.val().done;
        self.out6.d.next.va = self.s5.q.val().va;
        self.out6.d.next.rkey = self.s5.q.val().rkey;
        self.out6.d.next.check_len = bit_cast::<32, 13>(self.c5.q.val().meta.len);
        if self.c5.q.val().class.begins {
            self.out6.d.next.offset = 0.into();
            self.out6.d.next.va = self.c5.q.val().meta.va;
            self.out6.d.next.rkey = self.c5.q.val().meta.rkey;
            if self.c5.q.val().class.write | self.c5.q.val().class.read {
                self.out6.d.next.check_len = self.c5.q.val().meta.dma_len;
            }
            if self.c5.q.val().class.atomic {
                self.out6.d.next.check_len = ATOMIC_BYTES.into();
            }
        }
        self.out6.d.next.len = self.c5.q.val().meta.len;
        self.out6.d.next.hdr_len = self.c5.q.val().meta.hdr_len;
        self.out6.d.next.beats = self.c5.q.val().meta.beats;
        self.out6.d.next.imm = self.c5.q.val().meta.imm;
        self.out6.d.next.operand = self.c5.q.val().meta.operand;
        if self.c5.q.val().class.read {
            self.out6.d.next.operand = bit_cast::<64, 32>(self.c5.q.val().meta.dma_len);
        }
        self.out6.d.next.compare = self.c5.q.val().meta.compare;
        self.out6.d.next.pmtu = self.c5.q.val().pmtu;
        self.out6.d.next.pd = self.c5.q.val().pd;
        self.out6.d.next.cq = self.c5.q.val().cq;
        self.out6.d.next.min_rnr = self.c5.q.val().min_rnr;
        self.decided.next = self.out6.q.val();
        self.position6.d.next.valid = (self.step5.q.val().accept & self.step5.q.val().takes)
            | (self.c5.q.val().reconfig & self.c5.q.val().restart_rq);
        self.position6.d.next.queue = self.c5.q.val().queue;
        self.position6.d.next.rq = self.next_rq.val();
        self.position.next = self.position6.q.val();
    }
}

ferroce_emit::register_leaf!("responder_loop", ResponderLoop::default);

//! The order of a QP's answers.

use crate::answer_desc::{AnswerPassed, Job, JobDone, JobVisit, DUPLICATES_BELOW, JOBS_LOG2};
use crate::desc::LifeWrite;
use ferroce_abi::headers::syndrome;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::rx::{AckJob, Answer, AnsweredPub, Kill};
use ferroce_rtl::ram::Ram;
use ferroce_rtl::rmw_ram::{RmwRam, RMW_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Lowest AETH syndrome of a NAK of any kind.
const FIRST_NAK: u64 = syndrome::RNR as u64;
/// ACKs and kills that wait to be taken: what is in flight and ten items of slack.
const FIFO_LOG2: usize = 4;
/// The loop's items, the registers behind it, and the cycle in which the entry registers `almost_full`.
const FIFO_RESERVE: usize = RMW_LATENCY + 4;

/// A QP's answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct State {
    /// Restarts so far.
    life: Bits<8>,
    /// Oldest job of which not everything has left.
    head: Bits<JOBS_LOG2>,
    /// Oldest job of which not every packet is made.
    issue: Bits<JOBS_LOG2>,
    /// Place of the next job.
    tail: Bits<JOBS_LOG2>,
    /// In the ring, visited, or with the atomic unit.
    busy: Bit,
    /// New jobs answered, modulo 64.
    answered: Bits<6>,
    /// An ACK or NAK waits behind all jobs.
    held: Bit,
    held_psn: Bits<24>,
    held_syndrome: Bits<8>,
    held_msn: Bits<24>,
}

/// What happens to a QP; one of the five.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Event {
    ack: Bit,
    job: Bit,
    reset: Bit,
    done: Bit,
    passed: Bit,
    qp: Bits<14>,
    life: Bits<8>,
    issued: Bit,
    parked: Bit,
    ends: Bit,
    counted: Bit,
    failed: Bit,
}

/// Keeps every QP's answers in PSN order, without holding up other QPs: an ACK or NAK goes out at once when none of its QP's
/// READs and atomics is unanswered; else it waits until the last of them has left. Only the newest one waits, since an
/// ACK covers those before it, and so does the answer to a later READ.
///
/// READs and atomics wait in a ring of jobs a QP; QPs with jobs are visited round robin. A job counts as
/// answered when its last packet has passed the point where ACKs join (`passed`).
///
/// A loop of one cycle, one event a cycle. Ends go before answers: they come once in several cycles.
#[derive(LogicBlock, Module)]
pub struct AnswerOrder {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The responder's answers, in order.
    pub answers: StreamIn<Answer>,
    /// READs and atomics that may begin, in this cycle.
    pub fences: Signal<In, Bits<7>>,
    /// Ends of visits.
    pub done: StreamIn<JobDone>,
    /// Ends of atomics.
    pub atomic_done: StreamIn<JobDone>,
    /// Packets that have left.
    pub passed: StreamIn<AnswerPassed>,
    /// ACKs and NAKs to be sent.
    pub acks: StreamOut<AckJob>,
    /// QPs to visit.
    pub visits: StreamOut<JobVisit>,
    /// Job to read.
    pub job_addr: Signal<In, Bits<20>>,
    /// The job, `RAM_LATENCY` cycles later.
    pub job: Signal<Out, Job>,
    /// QPs restarted.
    pub life: Signal<Out, LifeWrite>,
    /// Jobs answered.
    pub answered: Signal<Out, AnsweredPub>,
    /// QPs whose answer failed.
    pub kills: StreamOut<Kill>,
    state: RmwRam<State>,
    jobs: Ram<Job>,
    ring: SyncFifo<JobVisit>,
    ack_fifo: SyncFifo<AckJob>,
    kill_fifo: SyncFifo<Kill>,
    open: DFF<Bit>,
    may_kill: DFF<Bit>,
    /// Fences without their READ or atomic.
    fenced: DFF<Bits<7>>,
    fence_there: DFF<Bit>,
    taken: DFF<Event>,
    taken_answer: DFF<Answer>,
    events: Delay<Event>,
    waiting: Delay<Answer>,
    job_write: DFF<Bit>,
    job_place: DFF<Bits<20>>,
    job_data: DFF<Job>,
    visit: DFF<JobVisit>,
    visit_valid: DFF<Bit>,
    ack: DFF<AckJob>,
    ack_valid: DFF<Bit>,
    kill: DFF<Kill>,
    kill_valid: DFF<Bit>,
    life_reg: DFF<LifeWrite>,
    answered_reg: DFF<AnsweredPub>,
    take_passed: Signal<Local, Bit>,
    take_atomic: Signal<Local, Bit>,
    take_done: Signal<Local, Bit>,
    may_answer: Signal<Local, Bit>,
    take_answer: Signal<Local, Bit>,
    take_job: Signal<Local, Bit>,
    e: Signal<Local, Event>,
    a: Signal<Local, Answer>,
    s: Signal<Local, State>,
    n: Signal<Local, State>,
    current: Signal<Local, Bit>,
    none: Signal<Local, Bit>,
    last_one: Signal<Local, Bit>,
    next_head: Signal<Local, Bits<JOBS_LOG2>>,
    next_issue: Signal<Local, Bits<JOBS_LOG2>>,
    waits: Signal<Local, Bits<JOBS_LOG2>>,
    accept: Signal<Local, Bit>,
    steps: Signal<Local, Bit>,
    more: Signal<Local, Bit>,
    keeps_nak: Signal<Local, Bit>,
}

impl AnswerOrder {
    /// For `2^log2_qps` QPs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            clock: Signal::default(),
            answers: StreamIn::default(),
            fences: Signal::default(),
            done: StreamIn::default(),
            atomic_done: StreamIn::default(),
            passed: StreamIn::default(),
            acks: StreamOut::default(),
            visits: StreamOut::default(),
            job_addr: Signal::default(),
            job: Signal::default(),
            life: Signal::default(),
            answered: Signal::default(),
            kills: StreamOut::default(),
            state: RmwRam::new(log2_qps),
            jobs: Ram::new(log2_qps + JOBS_LOG2),
            // A QP is in it at most once.
            ring: SyncFifo::new(log2_qps),
            ack_fifo: SyncFifo::new_with_reserve(FIFO_LOG2, FIFO_RESERVE),
            kill_fifo: SyncFifo::new_with_reserve(FIFO_LOG2, FIFO_RESERVE),
            open: DFF::default(),
            may_kill: DFF::default(),
            fenced: DFF::default(),
            fence_there: DFF::default(),
            taken: DFF::default(),
            taken_answer: DFF::default(),
            events: Delay::new(RMW_LATENCY),
            waiting: Delay::new(RMW_LATENCY),
            job_write: DFF::default(),
            job_place: DFF::default(),
            job_data: DFF::default(),
            visit: DFF::default(),
            visit_valid: DFF::default(),
            ack: DFF::default(),
            ack_valid: DFF::default(),
            kill: DFF::default(),
            kill_valid: DFF::default(),
            life_reg: DFF::default(),
            answered_reg: DFF::default(),
            take_passed: Signal::default(),
            take_atomic: Signal::default(),
            take_done: Signal::default(),
            may_answer: Signal::default(),
            take_answer: Signal::default(),
            take_job: Signal::default(),
            e: Signal::default(),
            a: Signal::default(),
            s: Signal::default(),
            n: Signal::default(),
            current: Signal::default(),
            none: Signal::default(),
            last_one: Signal::default(),
            next_head: Signal::default(),
            next_issue: Signal::default(),
            waits: Signal::default(),
            accept: Signal::default(),
            steps: Signal::default(),
            more: Signal::default(),
            keeps_nak: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for AnswerOrder {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for AnswerOrder {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            open,
            may_kill,
            fenced,
            fence_there,
            taken,
            taken_answer,
            job_write,
            job_place,
            job_data,
            visit,
            visit_valid,
            ack,
            ack_valid,
            kill,
            kill_valid,
            life_reg,
            answered_reg
        );
        clock!(self, clock, state, jobs, ring, ack_fifo, kill_fifo, events, waiting);

        // What comes next. Only answers and what has left make ACKs and kills.
        self.open.d.next = !self.ack_fifo.almost_full.val();
        // A kill waits until the responder takes packets, which may take answers; so answers do not wait for kills.
        self.may_kill.d.next = !self.kill_fifo.almost_full.val();
        self.take_atomic.next = self.atomic_done.valid.val();
        self.atomic_done.ready.next = true;
        self.take_done.next = self.done.valid.val() & !self.take_atomic.val();
        self.done.ready.next = !self.take_atomic.val();
        self.take_passed.next = self.passed.valid.val()
            & self.open.q.val()
            & self.may_kill.q.val()
            & !self.take_atomic.val()
            & !self.take_done.val();
        self.passed.ready.next = self.open.q.val()
            & self.may_kill.q.val()
            & !self.take_atomic.val()
            & !self.take_done.val();
        self.may_answer.next = self.open.q.val()
            & !self.take_atomic.val()
            & !self.take_done.val()
            & !self.take_passed.val()
            & (!self.answers.data.val().job | self.fence_there.q.val());
        self.take_answer.next = self.answers.valid.val() & self.may_answer.val();
        self.answers.ready.next = self.may_answer.val();
        self.take_job.next = self.take_answer.val() & self.answers.data.val().job;
        self.fenced.d.next =
            self.fenced.q.val() + self.fences.val() - bit_cast::<7, 1>(self.take_job.val().into());
        // The cycle after one was used counts anew.
        self.fence_there.d.next = (self.fenced.q.val() != 0) & !self.take_job.val();

        self.taken.d.next = Event::default();
        self.taken.d.next.ack = self.take_answer.val() & self.answers.data.val().ack;
        self.taken.d.next.job = self.take_job.val();
        self.taken.d.next.reset = self.take_answer.val() & self.answers.data.val().reset;
        self.taken.d.next.done = self.take_done.val() | self.take_atomic.val();
        self.taken.d.next.passed = self.take_passed.val();
        self.taken.d.next.qp = self.answers.data.val().qp;
        if self.take_passed.val() {
            self.taken.d.next.qp = self.passed.data.val().qp;
            self.taken.d.next.life = self.passed.data.val().life;
        }
        if self.take_done.val() {
            self.taken.d.next.qp = self.done.data.val().qp;
            self.taken.d.next.life = self.done.data.val().life;
        }
        if self.take_atomic.val() {
            self.taken.d.next.qp = self.atomic_done.data.val().qp;
            self.taken.d.next.life = self.atomic_done.data.val().life;
        }
        self.taken.d.next.issued = self.take_done.val() & self.done.data.val().issued;
        self.taken.d.next.parked = self.take_done.val() & self.done.data.val().parked;
        self.taken.d.next.ends = self.passed.data.val().ends;
        self.taken.d.next.counted = self.passed.data.val().counted;
        self.taken.d.next.failed = self.passed.data.val().failed;
        self.taken_answer.d.next = self.answers.data.val();
        self.state.rd_valid.next = true;
        self.state.rd_addr.next = bit_cast::<20, 14>(self.taken.q.val().qp);
        self.events.data_in.next = self.taken.q.val();
        self.waiting.data_in.next = self.taken_answer.q.val();

        // The loop.
        self.e.next = self.events.data_out.val();
        self.a.next = self.waiting.data_out.val();
        self.s.next = self.state.rd_data.val();
        self.n.next = self.s.val();
        self.current.next = self.e.val().life == self.s.val().life;
        self.none.next = self.s.val().head == self.s.val().tail;
        self.next_head.next = self.s.val().head + 1;
        self.next_issue.next = self.s.val().issue + 1;
        self.last_one.next = self.next_head.val() == self.s.val().tail;
        self.waits.next = self.s.val().tail - self.s.val().head;
        self.accept.next =
            self.e.val().job & (self.a.val().counted | (self.waits.val() < DUPLICATES_BELOW));
        self.steps.next = self.e.val().issued & self.current.val();
        self.more.next = (self.steps.val() & (self.next_issue.val() != self.s.val().tail))
            | (!self.steps.val() & (self.s.val().issue != self.s.val().tail));
        self.keeps_nak.next =
            self.a.val().again & self.s.val().held & (self.s.val().held_syndrome >= FIRST_NAK);

        self.visit_valid.d.next = false;
        self.visit.d.next.qp = self.e.val().qp;
        self.visit.d.next.slot = self.s.val().issue;
        self.visit.d.next.life = self.s.val().life;
        if self.e.val().ack & !self.none.val() & !self.keeps_nak.val() {
            self.n.next.held = true;
            self.n.next.held_psn = self.a.val().psn;
            self.n.next.held_syndrome = self.a.val().syndrome;
            self.n.next.held_msn = self.a.val().msn;
        }
        if self.accept.val() {
            self.n.next.tail = self.s.val().tail + 1;
            // The answer to a duplicate acknowledges less than what waits.
            self.n.next.held = self.s.val().held & !self.a.val().counted;
            self.n.next.busy = true;
            self.visit_valid.d.next = !self.s.val().busy;
        }
        if self.e.val().done {
            if self.steps.val() {
                self.n.next.issue = self.next_issue.val();
                self.visit.d.next.slot = self.next_issue.val();
            }
            self.n.next.busy = self.e.val().parked | self.more.val();
            self.visit_valid.d.next = !self.e.val().parked & self.more.val();
        }
        if self.e.val().passed & self.e.val().ends & self.current.val() {
            self.n.next.head = self.next_head.val();
            self.n.next.answered =
                self.s.val().answered + bit_cast::<6, 1>(self.e.val().counted.into());
            if self.last_one.val() {
                self.n.next.held = false;
            }
        }
        if self.e.val().reset {
            self.n.next.life = self.a.val().life;
            self.n.next.head = 0.into();
            self.n.next.issue = 0.into();
            self.n.next.tail = 0.into();
            self.n.next.held = false;
            self.n.next.answered = self.a.val().jobs;
        }
        self.state.wr_valid.next = self.e.val().ack
            | self.e.val().job
            | self.e.val().done
            | self.e.val().passed
            | self.e.val().reset;
        self.state.wr_addr.next = bit_cast::<20, 14>(self.e.val().qp);
        self.state.wr_data.next = self.n.val();

        // Behind the loop.
        self.job_write.d.next = self.accept.val();
        self.job_place.d.next = (bit_cast::<20, 14>(self.e.val().qp) << JOBS_LOG2 as u64)
            | bit_cast::<20, JOBS_LOG2>(self.s.val().tail);
        self.job_data.d.next.psn = self.a.val().psn;
        self.job_data.d.next.msn = self.a.val().msn;
        self.job_data.d.next.counted = self.a.val().counted;
        self.job_data.d.next.atomic = self.a.val().atomic;
        self.job_data.d.next.swap = self.a.val().swap;
        self.job_data.d.next.pmtu = self.a.val().pmtu;
        self.job_data.d.next.addr = self.a.val().addr;
        self.job_data.d.next.via = self.a.val().via;
        self.job_data.d.next.operand = self.a.val().operand;
        self.job_data.d.next.compare = self.a.val().compare;
        self.jobs.wr_valid.next = self.job_write.q.val();
        self.jobs.wr_addr.next = self.job_place.q.val();
        self.jobs.wr_data.next = self.job_data.q.val();
        self.jobs.rd_addr.next = self.job_addr.val();
        self.job.next = self.jobs.rd_data.val();
        self.ring.input.valid.next = self.visit_valid.q.val();
        self.ring.input.data.next = self.visit.q.val();
        StreamOut::<JobVisit>::link(&mut self.visits, &mut self.ring.output);

        self.ack.d.next.qp = self.e.val().qp;
        self.ack.d.next.psn = self.a.val().psn;
        self.ack.d.next.syndrome = self.a.val().syndrome;
        self.ack.d.next.msn = self.a.val().msn;
        self.ack_valid.d.next = self.e.val().ack & self.none.val();
        if self.e.val().passed {
            self.ack.d.next.psn = self.s.val().held_psn;
            self.ack.d.next.syndrome = self.s.val().held_syndrome;
            self.ack.d.next.msn = self.s.val().held_msn;
            self.ack_valid.d.next =
                self.e.val().ends & self.current.val() & self.last_one.val() & self.s.val().held;
        }
        self.ack_fifo.input.valid.next = self.ack_valid.q.val();
        self.ack_fifo.input.data.next = self.ack.q.val();
        StreamOut::<AckJob>::link(&mut self.acks, &mut self.ack_fifo.output);

        self.kill_valid.d.next = self.e.val().passed & self.e.val().failed & self.current.val();
        self.kill.d.next.qp = self.e.val().qp;
        self.kill.d.next.life = self.s.val().life;
        self.kill_fifo.input.valid.next = self.kill_valid.q.val();
        self.kill_fifo.input.data.next = self.kill.q.val();
        StreamOut::<Kill>::link(&mut self.kills, &mut self.kill_fifo.output);

        self.life_reg.d.next.valid = self.e.val().reset;
        self.life_reg.d.next.qp = self.e.val().qp;
        self.life_reg.d.next.life = self.a.val().life;
        self.life.next = self.life_reg.q.val();
        self.answered_reg.d.next.valid =
            self.e.val().reset | (self.e.val().passed & self.e.val().ends & self.current.val());
        self.answered_reg.d.next.qp = self.e.val().qp;
        self.answered_reg.d.next.jobs = self.n.val().answered;
        self.answered.next = self.answered_reg.q.val();
    }
}

ferroce_emit::register_leaf!("answer_order", AnswerOrder::default);

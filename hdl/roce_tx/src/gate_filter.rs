//! Decides which packets go out when payload can't be read.

use crate::desc::{FetchError, FetchJob, LifeWrite};
use crate::send_packet::LOC_QP_OP;
use ferroce_abi::headers::syndrome::NakCode;
use ferroce_abi::opcode::rc;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::tx::{LocalError, TxPkt};
use ferroce_rtl::ram::Ram;
use ferroce_rtl::rmw_ram::{RmwRam, RMW_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Output FIFOs: what is in flight and ten items of slack.
const FIFO_LOG2: usize = 4;
/// The pipeline's items, one more for the registers behind it, and one for the cycle in which the entry registers
/// `almost_full`, see `SyncFifo::almost_full`.
const FIFO_RESERVE: usize = RMW_LATENCY + 3;

/// Completion status of a WQE whose payload the host does not deliver. `LocProt` says that a key, range or right denies
/// an access; this one was allowed and failed, which is for IBTA an error of the local QP's operation, as it is for a WQE that can't
/// be read.
const UNREADABLE: u64 = LOC_QP_OP;
/// Syndrome of the NAK that takes the place of an answer whose payload the host does not deliver.
const NAK_OPERATIONAL: u64 = NakCode::RemoteOperational.syndrome() as u64;
const ACKNOWLEDGE: u64 = rc::ACKNOWLEDGE as u64;

/// A packet with all of its payload in the reorder buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct GateItem {
    /// The packet.
    pub pkt: TxPkt,
    /// SQ index of its WQE.
    pub wqe: Bits<16>,
    /// See [`crate::desc::Request`].
    pub turn: Bits<8>,
    /// See [`crate::desc::Request`].
    pub life: Bits<8>,
    /// Its length is not 0.
    pub has_payload: Bit,
    /// The payload was in its WQE.
    pub inline: Bit,
    /// Beats of the payload.
    pub beats: Bits<7>,
    /// The payload could not be read.
    pub err: Bit,
}

/// The last packet of a QP.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct GateMark {
    /// It, or one before it of the same turn, failed.
    pub failed: Bit,
    /// Its turn.
    pub turn: Bits<8>,
    /// Its life.
    pub life: Bits<8>,
}

/// A packet whose payload could not be read is dropped and its WQE reported; all packets of the QP behind it are dropped until
/// one comes that was made after a rewind. Packets of an earlier life of their QP are dropped without a word. An answer whose payload
/// could not be read becomes a NAK 0x63, and all answers of the QP behind it are dropped until its responder is restarted.
///
/// A packet a cycle; the pipeline runs freely, and its entry opens only while all outputs have room for what is in flight.
#[derive(LogicBlock, Module)]
pub struct GateFilter {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// QPs configured.
    pub life: Signal<In, LifeWrite>,
    /// QPs whose responder was restarted.
    pub answer_life: Signal<In, LifeWrite>,
    /// Packets.
    pub item: StreamIn<GateItem>,
    /// Packets to send.
    pub to: StreamOut<TxPkt>,
    /// What becomes of the payload of each packet that has any.
    pub job: StreamOut<FetchJob>,
    /// Failed WQEs.
    pub local_error: StreamOut<LocalError>,
    /// The payload of a packet could not be read.
    pub error: Signal<Out, FetchError>,
    open: DFF<Bit>,
    marks: RmwRam<GateMark>,
    lives: Ram<Bits<8>>,
    answer_lives: Ram<Bits<8>>,
    life3: DFF<Bits<8>>,
    answer_life3: DFF<Bits<8>>,
    items: Delay<GateItem>,
    valid4: DFF<Bit>,
    item4: DFF<GateItem>,
    drop4: DFF<Bit>,
    report4: DFF<Bit>,
    nak4: DFF<Bit>,
    error_reg: DFF<FetchError>,
    passed: SyncFifo<TxPkt>,
    jobs: SyncFifo<FetchJob>,
    errors: SyncFifo<LocalError>,
    item3: Signal<Local, GateItem>,
    current: Signal<Local, Bit>,
    behind: Signal<Local, Bit>,
    fails: Signal<Local, Bit>,
}

impl GateFilter {
    /// For `2^log2_qps` QPs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            clock: Signal::default(),
            life: Signal::default(),
            answer_life: Signal::default(),
            item: StreamIn::default(),
            to: StreamOut::default(),
            job: StreamOut::default(),
            local_error: StreamOut::default(),
            error: Signal::default(),
            open: DFF::default(),
            // Requests and answers of a QP fail apart from each other.
            marks: RmwRam::new(log2_qps + 1),
            lives: Ram::new(log2_qps),
            answer_lives: Ram::new(log2_qps),
            life3: DFF::default(),
            answer_life3: DFF::default(),
            items: Delay::new(RMW_LATENCY),
            valid4: DFF::default(),
            item4: DFF::default(),
            drop4: DFF::default(),
            report4: DFF::default(),
            nak4: DFF::default(),
            error_reg: DFF::default(),
            passed: SyncFifo::quick_with_reserve(FIFO_LOG2, FIFO_RESERVE),
            jobs: SyncFifo::quick_with_reserve(FIFO_LOG2, FIFO_RESERVE),
            errors: SyncFifo::new_with_reserve(FIFO_LOG2, FIFO_RESERVE),
            item3: Signal::default(),
            current: Signal::default(),
            behind: Signal::default(),
            fails: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for GateFilter {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for GateFilter {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            open,
            life3,
            answer_life3,
            valid4,
            item4,
            drop4,
            report4,
            nak4,
            error_reg
        );
        clock!(
            self,
            clock,
            marks,
            lives,
            answer_lives,
            items,
            passed,
            jobs,
            errors
        );

        self.open.d.next = !self.passed.almost_full.val()
            & !self.jobs.almost_full.val()
            & !self.errors.almost_full.val();
        self.item.ready.next = self.open.q.val();
        self.items.data_in.next = self.item.data.val();
        self.marks.rd_valid.next = self.item.valid.val() & self.open.q.val();
        self.marks.rd_addr.next = (bit_cast::<20, 14>(self.item.data.val().pkt.qp) << 1)
            | bit_cast::<20, 1>(self.item.data.val().pkt.answer.into());
        self.lives.rd_addr.next = bit_cast::<20, 14>(self.item.data.val().pkt.qp);
        self.lives.wr_valid.next = self.life.val().valid;
        self.lives.wr_addr.next = bit_cast::<20, 14>(self.life.val().qp);
        self.lives.wr_data.next = self.life.val().life;
        self.life3.d.next = self.lives.rd_data.val();
        self.answer_lives.rd_addr.next = bit_cast::<20, 14>(self.item.data.val().pkt.qp);
        self.answer_lives.wr_valid.next = self.answer_life.val().valid;
        self.answer_lives.wr_addr.next = bit_cast::<20, 14>(self.answer_life.val().qp);
        self.answer_lives.wr_data.next = self.answer_life.val().life;
        self.answer_life3.d.next = self.answer_lives.rd_data.val();

        // 3: the mark is written in the cycle in which it is read.
        self.item3.next = self.items.data_out.val();
        self.current.next = (self.item3.val().pkt.answer
            & (self.item3.val().life == self.answer_life3.q.val()))
            | (!self.item3.val().pkt.answer & (self.item3.val().life == self.life3.q.val()));
        self.fails.next = self.item3.val().has_payload & self.item3.val().err;
        self.behind.next = self.marks.rd_data.val().failed
            & (self.marks.rd_data.val().turn == self.item3.val().turn)
            & (self.marks.rd_data.val().life == self.item3.val().life);
        self.marks.wr_valid.next = self.marks.data_valid.val();
        self.marks.wr_addr.next = (bit_cast::<20, 14>(self.item3.val().pkt.qp) << 1)
            | bit_cast::<20, 1>(self.item3.val().pkt.answer.into());
        // A NAK that was made before is the last answer of its QP too.
        self.marks.wr_data.next.failed =
            self.behind.val() | self.fails.val() | self.item3.val().pkt.failed;
        self.marks.wr_data.next.turn = self.item3.val().turn;
        self.marks.wr_data.next.life = self.item3.val().life;

        self.valid4.d.next = self.marks.data_valid.val();
        self.item4.d.next = self.item3.val();
        self.nak4.d.next = self.fails.val() & self.item3.val().pkt.answer;
        self.drop4.d.next = (self.fails.val() & !self.item3.val().pkt.answer)
            | self.behind.val()
            | !self.current.val();
        self.report4.d.next = self.marks.data_valid.val()
            & self.fails.val()
            & !self.item3.val().pkt.answer
            & !self.behind.val()
            & self.current.val();
        self.error_reg.d.next.valid =
            self.marks.data_valid.val() & self.fails.val() & self.current.val();
        self.error_reg.d.next.qp = self.item3.val().pkt.qp;
        self.error.next = self.error_reg.q.val();

        // 4
        self.passed.input.valid.next = self.valid4.q.val() & !self.drop4.q.val();
        self.passed.input.data.next = self.item4.q.val().pkt;
        if self.nak4.q.val() {
            self.passed.input.data.next.opcode = ACKNOWLEDGE.into();
            self.passed.input.data.next.syndrome = NAK_OPERATIONAL.into();
            self.passed.input.data.next.has_aeth = true;
            self.passed.input.data.next.failed = true;
            self.passed.input.data.next.len = 0.into();
        }
        self.jobs.input.valid.next = self.valid4.q.val() & self.item4.q.val().has_payload;
        self.jobs.input.data.next.beats = self.item4.q.val().beats;
        self.jobs.input.data.next.drop = self.drop4.q.val() | self.nak4.q.val();
        self.jobs.input.data.next.inline = self.item4.q.val().inline;
        self.errors.input.valid.next = self.report4.q.val();
        self.errors.input.data.next.qp = self.item4.q.val().pkt.qp;
        self.errors.input.data.next.wqe = self.item4.q.val().wqe;
        self.errors.input.data.next.status = UNREADABLE.into();
        StreamOut::<TxPkt>::link(&mut self.to, &mut self.passed.output);
        StreamOut::<FetchJob>::link(&mut self.job, &mut self.jobs.output);
        StreamOut::<LocalError>::link(&mut self.local_error, &mut self.errors.output);
    }
}

ferroce_emit::register_leaf!("gate_filter", GateFilter::default);

//! The card's register window: identification, mailbox, counters, doorbells. Its map is
//! `ferroce_abi::regs`.

pub mod ah_table;
pub mod bar_decode;
pub mod bell_gate;
pub mod command_box;
pub mod command_engine;
pub mod command_table;
pub mod desc;
pub mod entry_check;
pub mod ident;
pub mod object_book;
pub mod object_check;
pub mod push_buffer;
pub mod query_answer;

use crate::config::NicConfig;
use ah_table::{AhTable, AH_BITS};
use bar_decode::{BarDecode, DECODE_LATENCY};
use bell_gate::BellGate;
use command_engine::CommandEngine;
use desc::{BarRead, LineWrite, QpPosition, QueuePosition, SrqPosition};
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::bar::{BarReq, BarResp, CqBell, EqBell, QueueBell, QueueSeen};
use ferroce_rtl::desc::cfg::CfgWrite;
use ferroce_rtl::ram::RAM_LATENCY;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;
use ident::{ident, IDENT_BITS};

/// Accesses that may be on the way from `hold` to what [`BarDecode`] puts out.
const ACCESSES_UNDER_WAY: usize = DECODE_LATENCY + 1;
/// Places of the answer FIFO, log2: those under way and as many that wait for the PCIe engine.
const ANSWERS_LOG2: usize = 4;

/// Takes an access a cycle. Reads are answered after a fixed time and in order; accesses wait while an
/// answer or a doorbell would find no room.
#[derive(LogicBlock, Module)]
pub struct Bar {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Accesses.
    pub access: StreamIn<BarReq>,
    /// Answers to reads.
    pub answer: StreamOut<BarResp>,
    /// A table's owner has not taken the last write in yet.
    pub cfg_wait: Signal<In, Bit>,
    /// Configuration bus.
    pub cfg: Signal<Out, CfgWrite>,
    /// Object of the command that runs.
    pub asked: Signal<Out, Bits<14>>,
    /// Where the QP `asked` is, at most [`command_engine::ASK_LATENCY`] cycles later.
    pub qp_position: Signal<In, QpPosition>,
    /// Where the CQ is.
    pub cq_position: Signal<In, QueuePosition>,
    /// Where the EQ is.
    pub eq_position: Signal<In, QueuePosition>,
    /// Where the SRQ is.
    pub srq_position: Signal<In, SrqPosition>,
    /// The CQ or EQ that was taken away last has no write in the card any more.
    pub drained: Signal<In, Bit>,
    /// Doorbells of SQs.
    pub sq_bell: StreamOut<QueueBell>,
    /// Doorbells of RQs, and of SRQs numbered behind the QPs.
    pub rq_bell: StreamOut<QueueBell>,
    /// Arm doorbells of CQs.
    pub cq_bell: StreamOut<CqBell>,
    /// Doorbells of EQs.
    pub eq_bell: StreamOut<EqBell>,
    /// Consumer indices of CQs.
    pub cq_seen: Signal<Out, QueueSeen>,
    /// Consumer indices of EQs.
    pub eq_seen: Signal<Out, QueueSeen>,
    /// Pushed blocks of SQs.
    pub push_line: Signal<Out, LineWrite>,
    /// The place of the oldest push is free again.
    pub push_freed: Signal<In, Bit>,
    /// A doorbell was rung.
    pub bell_rung: Signal<Out, Bit>,
    /// It names a queue that does not exist.
    pub bell_bad: Signal<Out, Bit>,
    /// It was rung in another page than its queue's.
    pub bell_foreign: Signal<Out, Bit>,
    /// Counter to read.
    pub counter: Signal<Out, Bits<7>>,
    /// Its value [`RAM_LATENCY`] cycles later.
    pub counter_value: Signal<In, Bits<64>>,
    ident: Constant<Bits<IDENT_BITS>>,
    decode: BarDecode,
    engine: CommandEngine,
    ahs: AhTable,
    bells: BellGate,
    reads: Delay<BarRead>,
    answers: SyncFifo<BarResp>,
    read: Signal<Local, BarRead>,
    shown: Signal<Local, Bits<64>>,
}

impl Bar {
    /// The window of a card of this size.
    #[must_use]
    pub fn new(config: &NicConfig) -> Self {
        Self {
            clock: Signal::default(),
            access: StreamIn::default(),
            answer: StreamOut::default(),
            cfg_wait: Signal::default(),
            cfg: Signal::default(),
            asked: Signal::default(),
            qp_position: Signal::default(),
            cq_position: Signal::default(),
            eq_position: Signal::default(),
            srq_position: Signal::default(),
            drained: Signal::default(),
            sq_bell: StreamOut::default(),
            rq_bell: StreamOut::default(),
            cq_bell: StreamOut::default(),
            eq_bell: StreamOut::default(),
            cq_seen: Signal::default(),
            eq_seen: Signal::default(),
            push_line: Signal::default(),
            push_freed: Signal::default(),
            bell_rung: Signal::default(),
            bell_bad: Signal::default(),
            bell_foreign: Signal::default(),
            counter: Signal::default(),
            counter_value: Signal::default(),
            ident: Constant::new(ident(config)),
            decode: BarDecode::default(),
            engine: CommandEngine::new(config),
            ahs: AhTable::new(config.ahs_log2),
            bells: BellGate::new(
                config.qps_log2,
                config.cqs_log2,
                config.eqs_log2,
                config.srqs_log2,
                ACCESSES_UNDER_WAY,
            ),
            reads: Delay::new(RAM_LATENCY),
            answers: SyncFifo::new_with_reserve(ANSWERS_LOG2, ACCESSES_UNDER_WAY + RAM_LATENCY),
            read: Signal::default(),
            shown: Signal::default(),
        }
    }
}

/// The window of a small card.
impl Default for Bar {
    fn default() -> Self {
        Self::new(&NicConfig::SMALL)
    }
}

impl Logic for Bar {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, decode, engine, ahs, bells, reads, answers);
        StreamIn::<BarReq>::link(&mut self.access, &mut self.decode.access);
        self.decode.hold.next = self.bells.hold.val() | self.answers.almost_full.val();
        self.engine.host_write.next = self.decode.host_write.val();
        self.engine.wait.next = self.cfg_wait.val();
        self.cfg.next = self.engine.cfg.val();
        self.asked.next = self.engine.asked.val();
        self.engine.qp_position.next = self.qp_position.val();
        self.engine.cq_position.next = self.cq_position.val();
        self.engine.eq_position.next = self.eq_position.val();
        self.engine.srq_position.next = self.srq_position.val();
        self.engine.drained.next = self.drained.val();
        self.ahs.cfg.next = self.engine.cfg.val();
        self.ahs.asked.next = self.engine.asked.val();
        self.engine.ah.next = bit_cast::<256, AH_BITS>(self.ahs.handle.val());
        self.bells.bell.next = self.decode.bell.val();
        self.bells.push.next = self.decode.push.val();
        self.push_line.next = self.bells.line.val();
        self.bells.push_freed.next = self.push_freed.val();
        self.bell_rung.next = self.bells.rung.val();
        self.bell_bad.next = self.bells.bad.val();
        self.bell_foreign.next = self.bells.foreign.val();
        self.bells.cfg.next = self.engine.cfg.val();
        StreamOut::<QueueBell>::link(&mut self.sq_bell, &mut self.bells.sq);
        StreamOut::<QueueBell>::link(&mut self.rq_bell, &mut self.bells.rq);
        StreamOut::<CqBell>::link(&mut self.cq_bell, &mut self.bells.cq);
        StreamOut::<EqBell>::link(&mut self.eq_bell, &mut self.bells.eq);
        self.cq_seen.next = self.bells.cq_seen.val();
        self.eq_seen.next = self.bells.eq_seen.val();

        self.counter.next = self.decode.read.val().word;
        self.reads.data_in.next = self.decode.read.val();
        self.read.next = self.reads.data_out.val();
        self.shown.next = 0.into();
        if self.read.val().ident {
            self.shown.next = self.ident.val().get_bits::<64>(
                (bit_cast::<9, 3>(self.read.val().word.get_bits::<3>(0)) << 6).index(),
            );
        } else if self.read.val().status {
            // The command register reads 0; the status register is its upper half.
            self.shown.next = bit_cast::<64, 32>(self.engine.status.val()) << 32;
        } else if self.read.val().object {
            self.shown.next = bit_cast::<64, 32>(self.engine.object.val());
        } else if self.read.val().answer {
            self.shown.next = self.engine.answer.val().get_bits::<64>(
                (bit_cast::<8, 2>(self.read.val().word.get_bits::<2>(0)) << 6).index(),
            );
        } else if self.read.val().counter {
            self.shown.next = self.counter_value.val();
        }
        self.answers.input.valid.next = self.read.val().valid;
        self.answers.input.data.next.data = self.shown.val();
        StreamOut::<BarResp>::link(&mut self.answer, &mut self.answers.output);
    }
}

ferroce_emit::register_leaf!("bar", Bar::default);

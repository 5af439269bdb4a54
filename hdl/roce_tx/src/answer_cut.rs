//! Cuts what a visit answers into packets.

use crate::answer_desc::AnswerChunk;
use crate::desc::Request;
use ferroce_abi::headers::syndrome::{self, NakCode};
use ferroce_abi::opcode::rc;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::tx::TxPkt;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};

const READ_FIRST: u64 = rc::READ_RESPONSE_FIRST as u64;
const READ_MIDDLE: u64 = rc::READ_RESPONSE_MIDDLE as u64;
const READ_LAST: u64 = rc::READ_RESPONSE_LAST as u64;
const READ_ONLY: u64 = rc::READ_RESPONSE_ONLY as u64;
const ATOMIC_ACKNOWLEDGE: u64 = rc::ATOMIC_ACKNOWLEDGE as u64;
const ACKNOWLEDGE: u64 = rc::ACKNOWLEDGE as u64;
/// ACK without end-to-end credits.
const ACK: u64 = syndrome::ACK_NO_CREDITS as u64;
const NAK_OPERATIONAL: u64 = NakCode::RemoteOperational.syndrome() as u64;
const NAK_ACCESS: u64 = NakCode::RemoteAccess.syndrome() as u64;

/// A packet a cycle: READ response first, middle, last or only, with AETH but in the middle; ATOMIC ACKNOWLEDGE, or NAK when the
/// host's memory failed, a NAK in place of what is left when the region is gone, or nothing but an end for a duplicate atomic whose result is gone.
#[derive(LogicBlock, Module, Default)]
pub struct AnswerCut {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Packets in a row.
    pub chunk: StreamIn<AnswerChunk>,
    /// Each of them.
    pub answer: StreamOut<Request>,
    rest: DFF<AnswerChunk>,
    busy: DFF<Bit>,
    answers: Skid<Request>,
    pkt: Signal<Local, TxPkt>,
    last: Signal<Local, Bit>,
    end: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    size: Signal<Local, Bits<13>>,
}

impl Logic for AnswerCut {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, rest, busy);
        clock!(self, clock, answers);

        self.end.next = self.rest.q.val().more == 0;
        self.last.next = self.rest.q.val().last & self.end.val();
        self.size.next = bits::<13>(1) << self.rest.q.val().pmtu;
        self.load.next = !self.busy.q.val() | (self.answers.input.ready.val() & self.end.val());
        self.chunk.ready.next = self.load.val();
        if self.load.val() {
            self.busy.d.next = self.chunk.valid.val();
            self.rest.d.next = self.chunk.data.val();
        } else if self.answers.input.ready.val() {
            self.rest.d.next.first = false;
            self.rest.d.next.more = self.rest.q.val().more - 1;
            self.rest.d.next.psn = self.rest.q.val().psn + 1;
            self.rest.d.next.bytes = self.rest.q.val().bytes - self.size.val();
            self.rest.d.next.addr = self.rest.q.val().addr + bit_cast::<64, 13>(self.size.val());
        }

        self.answers.input.valid.next = self.busy.q.val();
        self.pkt.next = TxPkt::default();
        self.pkt.next.qp = self.rest.q.val().qp;
        self.pkt.next.opcode = READ_MIDDLE.into();
        if self.rest.q.val().first & self.last.val() {
            self.pkt.next.opcode = READ_ONLY.into();
        } else if self.rest.q.val().first {
            self.pkt.next.opcode = READ_FIRST.into();
        } else if self.last.val() {
            self.pkt.next.opcode = READ_LAST.into();
        }
        self.pkt.next.psn = self.rest.q.val().psn;
        self.pkt.next.has_aeth = self.rest.q.val().first | self.last.val();
        self.pkt.next.syndrome = ACK.into();
        self.pkt.next.msn = self.rest.q.val().msn;
        self.pkt.next.va = self.rest.q.val().value;
        self.pkt.next.addr = self.rest.q.val().addr;
        self.pkt.next.len = self.size.val();
        if self.last.val() {
            self.pkt.next.len = self.rest.q.val().bytes;
        }
        if self.rest.q.val().atomic {
            self.pkt.next.opcode = ATOMIC_ACKNOWLEDGE.into();
            self.pkt.next.has_aeth = true;
            self.pkt.next.has_value = true;
            if self.rest.q.val().failed {
                self.pkt.next.opcode = ACKNOWLEDGE.into();
                self.pkt.next.syndrome = NAK_OPERATIONAL.into();
                self.pkt.next.has_value = false;
            }
        }
        if self.rest.q.val().refused {
            self.pkt.next.opcode = ACKNOWLEDGE.into();
            self.pkt.next.syndrome = NAK_ACCESS.into();
            self.pkt.next.has_aeth = true;
            self.pkt.next.has_value = false;
        }
        self.pkt.next.answer = true;
        self.pkt.next.ends = self.last.val();
        self.pkt.next.failed =
            self.rest.q.val().refused | (self.rest.q.val().atomic & self.rest.q.val().failed);
        self.pkt.next.counted = self.rest.q.val().counted;
        self.pkt.next.silent =
            self.rest.q.val().atomic & self.rest.q.val().silent & !self.rest.q.val().refused;
        self.pkt.next.life = self.rest.q.val().life;
        self.answers.input.data.next.pkt = self.pkt.val();
        self.answers.input.data.next.wqe = 0.into();
        self.answers.input.data.next.turn = 0.into();
        self.answers.input.data.next.via = self.rest.q.val().via;
        self.answers.input.data.next.life = self.rest.q.val().life;
        self.answers.input.data.next.inline_beats = 0.into();
        StreamOut::<Request>::link(&mut self.answer, &mut self.answers.output);
    }
}

ferroce_emit::register_leaf!("answer_cut", AnswerCut::default);

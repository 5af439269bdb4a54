//! Cuts what a visit sends into packets.

use crate::desc::Request;
use crate::send_desc::TxChunk;
use ferroce_abi::opcode::rc;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::tx::TxPkt;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};

const SEND_FIRST: u64 = rc::SEND_FIRST as u64;
const SEND_MIDDLE: u64 = rc::SEND_MIDDLE as u64;
const SEND_LAST: u64 = rc::SEND_LAST as u64;
const SEND_ONLY: u64 = rc::SEND_ONLY as u64;
/// RDMA WRITE opcodes are the SEND opcodes plus this; those with immediate are one above those without.
const WRITE_OFFSET: u64 = rc::WRITE_FIRST as u64 - rc::SEND_FIRST as u64;
const READ_REQUEST: u64 = rc::READ_REQUEST as u64;
const CMP_SWAP: u64 = rc::CMP_SWAP as u64;
const FETCH_ADD: u64 = rc::FETCH_ADD as u64;
/// Of 16 packets of a message, the one of this number asks for an acknowledgement.
const ACK_NUMBER: u64 = 15;

/// A packet a cycle: first, middle, last or only, READ request or atomic; RETH on the first of an RDMA WRITE, ImmDt and solicited event on the last,
/// AckReq on the last and every 16th.
#[derive(LogicBlock, Module, Default)]
pub struct TxSendCut {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Packets in a row.
    pub chunk: StreamIn<TxChunk>,
    /// Each of them.
    pub request: StreamOut<Request>,
    rest: DFF<TxChunk>,
    busy: DFF<Bit>,
    requests: Skid<Request>,
    pkt: Signal<Local, TxPkt>,
    first: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
    end: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    place: Signal<Local, Bits<8>>,
    kind: Signal<Local, Bits<8>>,
    size: Signal<Local, Bits<13>>,
}

impl Logic for TxSendCut {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, rest, busy);
        clock!(self, clock, requests);

        self.end.next = self.rest.q.val().more == 0;
        self.first.next = self.rest.q.val().first;
        self.last.next = self.rest.q.val().last & self.end.val();
        self.size.next = bits::<13>(1) << self.rest.q.val().pmtu;
        self.load.next = !self.busy.q.val() | (self.requests.input.ready.val() & self.end.val());
        self.chunk.ready.next = self.load.val();
        if self.load.val() {
            self.busy.d.next = self.chunk.valid.val();
            self.rest.d.next = self.chunk.data.val();
        } else if self.requests.input.ready.val() {
            self.rest.d.next.first = false;
            self.rest.d.next.more = self.rest.q.val().more - 1;
            self.rest.d.next.number = self.rest.q.val().number + 1;
            self.rest.d.next.psn = self.rest.q.val().psn + 1;
            self.rest.d.next.bytes = self.rest.q.val().bytes - self.size.val();
            self.rest.d.next.addr = self.rest.q.val().addr + bit_cast::<64, 13>(self.size.val());
        }

        self.place.next = SEND_MIDDLE.into();
        if self.first.val() & self.last.val() {
            self.place.next = SEND_ONLY.into();
        } else if self.first.val() {
            self.place.next = SEND_FIRST.into();
        } else if self.last.val() {
            self.place.next = SEND_LAST.into();
        }
        self.kind.next = 0.into();
        if self.rest.q.val().write {
            self.kind.next = WRITE_OFFSET.into();
        }
        self.requests.input.valid.next = self.busy.q.val();
        self.pkt.next = TxPkt::default();
        self.pkt.next.qp = self.rest.q.val().qp;
        self.pkt.next.opcode = self.place.val()
            + self.kind.val()
            + bit_cast::<8, 1>((self.last.val() & self.rest.q.val().has_imm).into());
        if self.rest.q.val().job {
            self.pkt.next.opcode = READ_REQUEST.into();
            if self.rest.q.val().atomic {
                self.pkt.next.opcode = FETCH_ADD.into();
                if self.rest.q.val().swap {
                    self.pkt.next.opcode = CMP_SWAP.into();
                }
            }
        }
        self.pkt.next.se = self.rest.q.val().se & self.last.val();
        self.pkt.next.ackreq = self.last.val() | (self.rest.q.val().number == ACK_NUMBER);
        self.pkt.next.psn = self.rest.q.val().psn;
        self.pkt.next.has_reth = (self.rest.q.val().write & self.first.val())
            | (self.rest.q.val().job & !self.rest.q.val().atomic);
        self.pkt.next.has_atomic = self.rest.q.val().job & self.rest.q.val().atomic;
        self.pkt.next.has_imm = self.rest.q.val().has_imm & self.last.val();
        self.pkt.next.has_aeth = false;
        self.pkt.next.va = self.rest.q.val().va;
        self.pkt.next.rkey = self.rest.q.val().rkey;
        self.pkt.next.dma_len = self.rest.q.val().dma_len;
        self.pkt.next.imm = self.rest.q.val().imm;
        self.pkt.next.syndrome = 0.into();
        self.pkt.next.msn = 0.into();
        self.pkt.next.addr = self.rest.q.val().addr;
        self.pkt.next.compare = self.rest.q.val().compare;
        self.pkt.next.len = self.size.val();
        if self.last.val() {
            self.pkt.next.len = self.rest.q.val().bytes;
        }
        self.requests.input.data.next.pkt = self.pkt.val();
        self.requests.input.data.next.wqe = self.rest.q.val().wqe;
        self.requests.input.data.next.turn = self.rest.q.val().turn;
        self.requests.input.data.next.life = self.rest.q.val().life;
        self.requests.input.data.next.via = self.rest.q.val().via;
        self.requests.input.data.next.inline_beats = self.rest.q.val().inline_beats;
        StreamOut::<Request>::link(&mut self.request, &mut self.requests.output);
    }
}

ferroce_emit::register_leaf!("send_cut", TxSendCut::default);

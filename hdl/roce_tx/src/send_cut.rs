//! Cuts what a visit sends into packets.

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
/// Of 16 packets of a message, the one of this number asks for an acknowledgement.
const ACK_NUMBER: u64 = 15;

/// A packet a cycle: first, middle, last or only; RETH on the first of an RDMA WRITE, ImmDt and solicited event on the last,
/// AckReq on the last and every 16th.
#[derive(LogicBlock, Module, Default)]
pub struct TxSendCut {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Packets in a row.
    pub chunk: StreamIn<TxChunk>,
    /// Each of them.
    pub pkt: StreamOut<TxPkt>,
    rest: DFF<TxChunk>,
    busy: DFF<Bit>,
    pkts: Skid<TxPkt>,
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
        clock!(self, clock, pkts);

        self.end.next = self.rest.q.val().more == 0;
        self.first.next = self.rest.q.val().first;
        self.last.next = self.rest.q.val().last & self.end.val();
        self.size.next = bits::<13>(1) << self.rest.q.val().pmtu;
        self.load.next = !self.busy.q.val() | (self.pkts.input.ready.val() & self.end.val());
        self.chunk.ready.next = self.load.val();
        if self.load.val() {
            self.busy.d.next = self.chunk.valid.val();
            self.rest.d.next = self.chunk.data.val();
        } else if self.pkts.input.ready.val() {
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
        self.pkts.input.valid.next = self.busy.q.val();
        self.pkts.input.data.next.qp = self.rest.q.val().qp;
        self.pkts.input.data.next.opcode = self.place.val()
            + self.kind.val()
            + bit_cast::<8, 1>((self.last.val() & self.rest.q.val().has_imm).into());
        self.pkts.input.data.next.se = self.rest.q.val().se & self.last.val();
        self.pkts.input.data.next.ackreq =
            self.last.val() | (self.rest.q.val().number == ACK_NUMBER);
        self.pkts.input.data.next.psn = self.rest.q.val().psn;
        self.pkts.input.data.next.has_reth = self.rest.q.val().write & self.first.val();
        self.pkts.input.data.next.has_imm = self.rest.q.val().has_imm & self.last.val();
        self.pkts.input.data.next.has_aeth = false;
        self.pkts.input.data.next.va = self.rest.q.val().va;
        self.pkts.input.data.next.rkey = self.rest.q.val().rkey;
        self.pkts.input.data.next.dma_len = self.rest.q.val().dma_len;
        self.pkts.input.data.next.imm = self.rest.q.val().imm;
        self.pkts.input.data.next.syndrome = 0.into();
        self.pkts.input.data.next.msn = 0.into();
        self.pkts.input.data.next.addr = self.rest.q.val().addr;
        self.pkts.input.data.next.len = self.size.val();
        if self.last.val() {
            self.pkts.input.data.next.len = self.rest.q.val().bytes;
        }
        StreamOut::<TxPkt>::link(&mut self.pkt, &mut self.pkts.output);
    }
}

ferroce_emit::register_leaf!("send_cut", TxSendCut::default);

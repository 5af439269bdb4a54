//! Packet stage of the sender: cuts the next packet out of a message.

use crate::send_desc::{SendContext, SendPlan};
use ferroce_abi::opcode::rc;
use ferroce_abi::wqe::{flags, WrOpcode};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::lookup::WqeData;

/// Cycles from `wqe` and `context` to `plan`.
pub const PACKET_LATENCY: usize = 4;

/// Completion status of a length that the message or its SGE can't have (`Status::LocLen`).
pub const LOC_LEN: u64 = 1;
/// Completion status of an unknown or unsupported request (`Status::LocQpOp`).
pub const LOC_QP_OP: u64 = 2;

/// First opcode after those that the sender knows: RDMA WRITE and SEND, each without and with immediate.
const WR_END: u64 = WrOpcode::RdmaRead as u64;
/// Bit of those opcodes that tells SEND from RDMA WRITE.
const WR_SEND_BIT: usize = (WrOpcode::Send as usize).trailing_zeros() as usize;
/// Bit of those opcodes that says "with immediate".
const WR_IMM_BIT: usize =
    (WrOpcode::SendWithImm as usize ^ WrOpcode::Send as usize).trailing_zeros() as usize;
const SOLICITED_BIT: usize = flags::SOLICITED.trailing_zeros() as usize;
const INLINE_BIT: usize = flags::INLINE.trailing_zeros() as usize;

const SEND_FIRST: u64 = rc::SEND_FIRST as u64;
const SEND_MIDDLE: u64 = rc::SEND_MIDDLE as u64;
const SEND_LAST: u64 = rc::SEND_LAST as u64;
const SEND_ONLY: u64 = rc::SEND_ONLY as u64;
/// RDMA WRITE opcodes are the SEND opcodes plus this; those with immediate are one above those without.
const WRITE_OFFSET: u64 = rc::WRITE_FIRST as u64 - rc::SEND_FIRST as u64;

/// A message of `len` bytes has `max(1, ceil(len / pmtu))` packets; packet `n` starts at byte `n * pmtu`. All but the last
/// are full. A message that was rewound into goes on at any `n`.
///
/// Stages: (1) byte offset of the packet, checks; (2) remaining bytes, number of packets, low half of the address;
/// (3) is it the last, high half; (4) opcode and next state.
#[derive(LogicBlock, Module, Default)]
pub struct TxSendPacket {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The QP's positions and configuration.
    pub context: Signal<In, SendContext>,
    /// The WQE at its position.
    pub wqe: Signal<In, WqeData>,
    /// The packet, [`PACKET_LATENCY`] cycles later.
    pub plan: Signal<Out, SendPlan>,
    context1: DFF<SendContext>,
    offset1: DFF<Bits<32>>,
    len1: DFF<Bits<32>>,
    len_less_one1: DFF<Bits<32>>,
    addr1: DFF<Bits<64>>,
    zero1: DFF<Bit>,
    bad_op1: DFF<Bit>,
    bad_len1: DFF<Bit>,
    write1: DFF<Bit>,
    imm1: DFF<Bit>,
    se1: DFF<Bit>,
    context2: DFF<SendContext>,
    rest2: DFF<Bits<13>>,
    last_packet2: DFF<Bits<24>>,
    addr_low2: DFF<Bits<33>>,
    addr_high2: DFF<Bits<32>>,
    status2: DFF<Bits<2>>,
    write2: DFF<Bit>,
    imm2: DFF<Bit>,
    se2: DFF<Bit>,
    next_psn2: DFF<Bits<24>>,
    next_sent2: DFF<Bits<24>>,
    next_wqe2: DFF<Bits<16>>,
    context3: DFF<SendContext>,
    rest3: DFF<Bits<13>>,
    last3: DFF<Bit>,
    first3: DFF<Bit>,
    beyond3: DFF<Bit>,
    last_psn3: DFF<Bits<24>>,
    addr3: DFF<Bits<64>>,
    status3: DFF<Bits<2>>,
    write3: DFF<Bit>,
    imm3: DFF<Bit>,
    se3: DFF<Bit>,
    next_psn3: DFF<Bits<24>>,
    next_sent3: DFF<Bits<24>>,
    next_wqe3: DFF<Bits<16>>,
    psn_gain3: DFF<Bits<24>>,
    /// The WQE was never begun.
    newer3: DFF<Bit>,
    /// The WQE is the newest one begun.
    newest3: DFF<Bit>,
    plan4: DFF<SendPlan>,
    place: Signal<Local, Bits<8>>,
    kind: Signal<Local, Bits<8>>,
}

impl Logic for TxSendPacket {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            context1,
            offset1,
            len1,
            len_less_one1,
            addr1,
            zero1,
            bad_op1,
            bad_len1,
            write1,
            imm1,
            se1,
            context2,
            rest2,
            last_packet2,
            addr_low2,
            addr_high2,
            status2,
            write2,
            imm2,
            se2,
            next_psn2,
            next_sent2,
            next_wqe2,
            context3,
            rest3,
            last3,
            first3,
            beyond3,
            last_psn3,
            addr3,
            status3,
            write3,
            imm3,
            se3,
            next_psn3,
            next_sent3,
            next_wqe3,
            psn_gain3,
            newer3,
            newest3,
            plan4
        );

        // 1
        self.context1.d.next = self.context.val();
        self.offset1.d.next = bit_cast::<32, 24>(self.context.val().state.sent) << 12;
        if self.context.val().cfg.pmtu == 8 {
            self.offset1.d.next = bit_cast::<32, 24>(self.context.val().state.sent) << 8;
        } else if self.context.val().cfg.pmtu == 9 {
            self.offset1.d.next = bit_cast::<32, 24>(self.context.val().state.sent) << 9;
        } else if self.context.val().cfg.pmtu == 10 {
            self.offset1.d.next = bit_cast::<32, 24>(self.context.val().state.sent) << 10;
        } else if self.context.val().cfg.pmtu == 11 {
            self.offset1.d.next = bit_cast::<32, 24>(self.context.val().state.sent) << 11;
        }
        self.len1.d.next = self.wqe.val().len;
        self.len_less_one1.d.next = self.wqe.val().len - 1;
        self.addr1.d.next = self.wqe.val().addr;
        self.zero1.d.next = self.wqe.val().len == 0;
        self.bad_op1.d.next = (self.wqe.val().opcode >= WR_END)
            | (self.wqe.val().sges > 1)
            | self.wqe.val().flags.get_bit(INLINE_BIT);
        // Longer than 2^31, or not what the SGE holds; without an SGE there is nothing to send.
        self.bad_len1.d.next = (self.wqe.val().len.get_bit(31)
            & self.wqe.val().len.get_bits::<31>(0).any())
            | ((self.wqe.val().sges == 0) & (self.wqe.val().len != 0))
            | ((self.wqe.val().sges != 0) & (self.wqe.val().sge_len != self.wqe.val().len));
        self.write1.d.next = !self.wqe.val().opcode.get_bit(WR_SEND_BIT);
        self.imm1.d.next = self.wqe.val().opcode.get_bit(WR_IMM_BIT);
        self.se1.d.next = self.wqe.val().flags.get_bit(SOLICITED_BIT)
            & (self.wqe.val().opcode.get_bit(WR_SEND_BIT)
                | self.wqe.val().opcode.get_bit(WR_IMM_BIT));

        // 2
        self.context2.d.next = self.context1.q.val();
        self.rest2.d.next =
            self.len1.q.val().get_bits::<13>(0) - self.offset1.q.val().get_bits::<13>(0);
        self.last_packet2.d.next = bit_cast::<24, 32>(self.len_less_one1.q.val() >> 12);
        if self.zero1.q.val() {
            self.last_packet2.d.next = 0.into();
        } else if self.context1.q.val().cfg.pmtu == 8 {
            self.last_packet2.d.next = self.len_less_one1.q.val().get_bits::<24>(8);
        } else if self.context1.q.val().cfg.pmtu == 9 {
            self.last_packet2.d.next = bit_cast::<24, 32>(self.len_less_one1.q.val() >> 9);
        } else if self.context1.q.val().cfg.pmtu == 10 {
            self.last_packet2.d.next = bit_cast::<24, 32>(self.len_less_one1.q.val() >> 10);
        } else if self.context1.q.val().cfg.pmtu == 11 {
            self.last_packet2.d.next = bit_cast::<24, 32>(self.len_less_one1.q.val() >> 11);
        }
        self.addr_low2.d.next = bit_cast::<33, 32>(self.addr1.q.val().get_bits::<32>(0))
            + bit_cast::<33, 32>(self.offset1.q.val());
        self.addr_high2.d.next = self.addr1.q.val().get_bits::<32>(32);
        self.status2.d.next = 0.into();
        if self.bad_op1.q.val() {
            self.status2.d.next = LOC_QP_OP.into();
        } else if self.bad_len1.q.val() {
            self.status2.d.next = LOC_LEN.into();
        }
        self.write2.d.next = self.write1.q.val();
        self.imm2.d.next = self.imm1.q.val();
        self.se2.d.next = self.se1.q.val();
        self.next_psn2.d.next = self.context1.q.val().state.psn + 1;
        self.next_sent2.d.next = self.context1.q.val().state.sent + 1;
        self.next_wqe2.d.next = self.context1.q.val().state.wqe + 1;

        // 3
        self.context3.d.next = self.context2.q.val();
        self.rest3.d.next = self.rest2.q.val();
        self.first3.d.next = self.context2.q.val().state.sent == 0;
        self.last3.d.next = self.context2.q.val().state.sent == self.last_packet2.q.val();
        // The WQE is no longer the one that was begun: software changed it under way.
        self.beyond3.d.next = self.context2.q.val().state.sent > self.last_packet2.q.val();
        self.last_psn3.d.next = self.context2.q.val().state.psn + self.last_packet2.q.val();
        self.addr3.d.next = bit_cast::<64, 32>(self.addr_low2.q.val().get_bits::<32>(0))
            | (bit_cast::<64, 32>(
                self.addr_high2.q.val()
                    + bit_cast::<32, 1>(self.addr_low2.q.val().get_bits::<1>(32)),
            ) << 32);
        self.status3.d.next = self.status2.q.val();
        self.write3.d.next = self.write2.q.val();
        self.imm3.d.next = self.imm2.q.val();
        self.se3.d.next = self.se2.q.val();
        self.next_psn3.d.next = self.next_psn2.q.val();
        self.next_sent3.d.next = self.next_sent2.q.val();
        self.next_wqe3.d.next = self.next_wqe2.q.val();
        self.psn_gain3.d.next = self.next_psn2.q.val() - self.context2.q.val().high.max_psn;
        self.newer3.d.next = self.context2.q.val().state.wqe == self.context2.q.val().high.begun;
        self.newest3.d.next = self.next_wqe2.q.val() == self.context2.q.val().high.begun;

        // 4
        self.place.next = SEND_MIDDLE.into();
        if self.first3.q.val() & self.last3.q.val() {
            self.place.next = SEND_ONLY.into();
        } else if self.first3.q.val() {
            self.place.next = SEND_FIRST.into();
        } else if self.last3.q.val() {
            self.place.next = SEND_LAST.into();
        }
        self.plan4.d.next.status = bit_cast::<8, 2>(self.status3.q.val());
        if self.beyond3.q.val() & (self.status3.q.val() == 0) {
            self.plan4.d.next.status = LOC_QP_OP.into();
        }
        self.plan4.d.next.first = self.first3.q.val();
        self.plan4.d.next.last = self.last3.q.val();
        self.kind.next = 0.into();
        if self.write3.q.val() {
            self.kind.next = WRITE_OFFSET.into();
        }
        self.plan4.d.next.opcode = self.place.val()
            + self.kind.val()
            + bit_cast::<8, 1>((self.last3.q.val() & self.imm3.q.val()).into());
        self.plan4.d.next.se = self.se3.q.val() & self.last3.q.val();
        // The last packet, and every 16th of a longer message.
        self.plan4.d.next.ackreq =
            self.last3.q.val() | (self.context3.q.val().state.sent.get_bits::<4>(0) == 15);
        self.plan4.d.next.has_reth = self.write3.q.val() & self.first3.q.val();
        self.plan4.d.next.has_imm = self.imm3.q.val() & self.last3.q.val();
        self.plan4.d.next.len = self.rest3.q.val();
        if !self.last3.q.val() {
            self.plan4.d.next.len = bits::<13>(1) << self.context3.q.val().cfg.pmtu;
        }
        self.plan4.d.next.addr = self.addr3.q.val();
        self.plan4.d.next.last_psn = self.last_psn3.q.val();
        self.plan4.d.next.next_psn = self.next_psn3.q.val();
        self.plan4.d.next.next_wqe = self.context3.q.val().state.wqe;
        self.plan4.d.next.next_sent = self.next_sent3.q.val();
        if self.last3.q.val() {
            self.plan4.d.next.next_wqe = self.next_wqe3.q.val();
            self.plan4.d.next.next_sent = 0.into();
        }
        // The furthest position never goes back: compared within half of the PSN space.
        self.plan4.d.next.high = self.context3.q.val().high;
        if !self.psn_gain3.q.val().get_bit(23) {
            self.plan4.d.next.high.max_psn = self.next_psn3.q.val();
        }
        if self.newer3.q.val() {
            self.plan4.d.next.high.begun = self.next_wqe3.q.val();
            self.plan4.d.next.high.newest_psn = self.context3.q.val().state.psn;
            self.plan4.d.next.high.open = !self.last3.q.val();
        } else if self.newest3.q.val() & self.last3.q.val() {
            self.plan4.d.next.high.open = false;
        }
        self.plan.next = self.plan4.q.val();
    }
}

ferroce_emit::register_leaf!("send_packet", TxSendPacket::default);

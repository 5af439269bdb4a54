//! Planning stage of the sender: which packets of a message come next.

use crate::send_desc::{SendContext, SendPlan, VISIT_BYTES};
use ferroce_abi::wqe::{self, flags, WrOpcode};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::lookup::WqeData;

/// Cycles from `wqe` and `context` to `plan`.
pub const PACKET_LATENCY: usize = 6;

/// Completion status of a length that the message or its SGE can't have (`Status::LocLen`).
pub const LOC_LEN: u64 = 1;
/// Completion status of an unknown or unsupported request (`Status::LocQpOp`).
pub const LOC_QP_OP: u64 = 2;

/// First opcode after those that the sender knows: RDMA WRITE and SEND, each without and with immediate, READ and atomics.
const WR_END: u64 = WrOpcode::LocalInv as u64;
const WR_READ: u64 = WrOpcode::RdmaRead as u64;
const WR_SWAP: u64 = WrOpcode::AtomicCmpAndSwp as u64;
const WR_ADD: u64 = WrOpcode::AtomicFetchAndAdd as u64;
/// Bytes of an atomic.
const ATOMIC_BYTES: u64 = 8;
/// Bit of the opcodes of READs and atomics that those of RDMA WRITE and SEND don't have.
pub const WR_JOB_BIT: usize = (WrOpcode::RdmaRead as usize).trailing_zeros() as usize;
/// Bit of the other opcodes that tells SEND from RDMA WRITE.
const WR_SEND_BIT: usize = (WrOpcode::Send as usize).trailing_zeros() as usize;
/// Bit of those opcodes that says "with immediate".
const WR_IMM_BIT: usize =
    (WrOpcode::SendWithImm as usize ^ WrOpcode::Send as usize).trailing_zeros() as usize;
const FENCE_BIT: usize = flags::FENCE.trailing_zeros() as usize;
const SOLICITED_BIT: usize = flags::SOLICITED.trailing_zeros() as usize;
/// Bit of a WQE's flags: the payload is in the WQE.
pub const INLINE_BIT: usize = flags::INLINE.trailing_zeros() as usize;

/// Offset of a payload in its WQE.
const INLINE_DATA: u64 = wqe::INLINE_DATA as u64;
/// What is added to its length before the whole blocks are counted.
const INLINE_ROUND: u64 = INLINE_DATA + 63;
/// Log2 of the bytes of payload in a first block; each further block has twice as many.
const INLINE_FIRST_LOG2: usize = 5;

/// What the WQE says, after its checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Request {
    write: Bit,
    read: Bit,
    atomic: Bit,
    /// Wait for all READs and atomics before.
    fence: Bit,
    imm: Bit,
    se: Bit,
    inline: Bit,
    bad_op: Bit,
    bad_len: Bit,
    /// READs or atomics are unanswered.
    some_jobs: Bit,
    /// As many as may be.
    all_jobs: Bit,
    /// Too many PSNs are unacknowledged for a READ.
    far: Bit,
}

/// Bits of the distance to the oldest unacknowledged PSN that are 01 when a READ must wait. It takes up to 2^22 PSNs at once, and half of the PSN
/// space may be unacknowledged, see [`crate::send_window::TxSendWindow`].
const READ_FAR_SHIFT: usize = 22;
const READ_FAR: u64 = 0b01;

/// A message of `len` bytes has `max(1, ceil(len / pmtu))` packets; packet `n` starts at byte `n * pmtu`. All but the last
/// are full. A message that was rewound into goes on at any `n`. A visit sends up to
/// [`crate::send_desc::VISIT_BYTES`]; a READ or atomic is one packet, which asks for all that is left of it. A READ of more than 2^22 packets is too
/// long (more than 1 GiB at a path MTU of 256).
///
/// Stages: (1) byte offset of the packet, checks; (2) remaining bytes, number of packets, low half of the address; (3) packets
/// left, high half; (4) packets to send; (5) state after them; (6) furthest position.
#[derive(LogicBlock, Module, Default)]
pub struct TxSendPacket {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The QP's positions and configuration.
    pub context: Signal<In, SendContext>,
    /// The WQE at its position.
    pub wqe: Signal<In, WqeData>,
    /// What to send, [`PACKET_LATENCY`] cycles later.
    pub plan: Signal<Out, SendPlan>,
    context1: DFF<SendContext>,
    request1: DFF<Request>,
    offset1: DFF<Bits<32>>,
    len1: DFF<Bits<32>>,
    len_less_one1: DFF<Bits<32>>,
    addr1: DFF<Bits<64>>,
    zero1: DFF<Bit>,
    too_long1: DFF<Bit>,
    no_sge1: DFF<Bit>,
    differs1: DFF<Bit>,
    not_atomic1: DFF<Bit>,
    extra1: DFF<Bits<2>>,
    va1: DFF<Bits<64>>,
    jobs1: DFF<Bits<6>>,
    distance1: DFF<Bits<24>>,
    va_low2: DFF<Bits<33>>,
    va_high2: DFF<Bits<32>>,
    va3: DFF<Bits<64>>,
    step4: DFF<Bits<24>>,
    request4: DFF<Request>,
    request5: DFF<Request>,
    context2: DFF<SendContext>,
    request2: DFF<Request>,
    rest2: DFF<Bits<32>>,
    beats2: DFF<Bits<3>>,
    last_packet2: DFF<Bits<24>>,
    addr_low2: DFF<Bits<33>>,
    addr_high2: DFF<Bits<32>>,
    next_psn2: DFF<Bits<24>>,
    next_sent2: DFF<Bits<24>>,
    next_wqe2: DFF<Bits<16>>,
    context3: DFF<SendContext>,
    request3: DFF<Request>,
    rest3: DFF<Bits<32>>,
    beats3: DFF<Bits<3>>,
    left3: DFF<Bits<24>>,
    most3: DFF<Bits<4>>,
    first3: DFF<Bit>,
    beyond3: DFF<Bit>,
    last_psn3: DFF<Bits<24>>,
    addr3: DFF<Bits<64>>,
    next_psn3: DFF<Bits<24>>,
    next_sent3: DFF<Bits<24>>,
    next_wqe3: DFF<Bits<16>>,
    psn_gain3: DFF<Bits<24>>,
    /// The WQE was never begun.
    newer3: DFF<Bit>,
    /// The WQE is the newest one begun.
    newest3: DFF<Bit>,
    context4: DFF<SendContext>,
    plan4: DFF<SendPlan>,
    rest4: DFF<Bits<13>>,
    next_wqe4: DFF<Bits<16>>,
    psn_gain4: DFF<Bits<24>>,
    newer4: DFF<Bit>,
    newest4: DFF<Bit>,
    context5: DFF<SendContext>,
    plan5: DFF<SendPlan>,
    psn_gain5: DFF<Bits<24>>,
    newer5: DFF<Bit>,
    newest5: DFF<Bit>,
    next_wqe5: DFF<Bits<16>>,
    plan6: DFF<SendPlan>,
    fits: Signal<Local, Bit>,
    op: Signal<Local, Bits<8>>,
    job1: Signal<Local, Bit>,
    job3: Signal<Local, Bit>,
}

impl Logic for TxSendPacket {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            context1,
            request1,
            offset1,
            len1,
            len_less_one1,
            addr1,
            zero1,
            too_long1,
            no_sge1,
            differs1,
            not_atomic1,
            extra1,
            va1,
            jobs1,
            distance1,
            va_low2,
            va_high2,
            va3,
            step4,
            request4,
            request5,
            context2,
            request2,
            rest2,
            beats2,
            last_packet2,
            addr_low2,
            addr_high2,
            next_psn2,
            next_sent2,
            next_wqe2,
            context3,
            request3,
            rest3,
            beats3,
            left3,
            most3,
            first3,
            beyond3,
            last_psn3,
            addr3,
            next_psn3,
            next_sent3,
            next_wqe3,
            psn_gain3,
            newer3,
            newest3,
            context4,
            plan4,
            rest4,
            next_wqe4,
            psn_gain4,
            newer4,
            newest4,
            context5,
            plan5,
            psn_gain5,
            newer5,
            newest5,
            next_wqe5,
            plan6
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
        if self.wqe.val().flags.get_bit(INLINE_BIT) {
            self.addr1.d.next = INLINE_DATA.into();
        }
        self.extra1.d.next = self.wqe.val().extra;
        self.zero1.d.next = self.wqe.val().len == 0;
        self.op.next = self.wqe.val().opcode;
        self.job1.next =
            (self.op.val() == WR_READ) | (self.op.val() == WR_SWAP) | (self.op.val() == WR_ADD);
        self.request1.d.next.bad_op = (self.op.val() >= WR_END)
            | (self.wqe.val().sges > 1)
            | (self.job1.val()
                & (self.wqe.val().flags.get_bit(INLINE_BIT)
                    | (self.context.val().cfg.max_reads == 0)))
            | (self.wqe.val().flags.get_bit(INLINE_BIT) & self.wqe.val().sges.any())
            | (!self.wqe.val().flags.get_bit(INLINE_BIT) & self.wqe.val().extra.any());
        self.request1.d.next.inline = self.wqe.val().flags.get_bit(INLINE_BIT);
        self.too_long1.d.next =
            self.wqe.val().len.get_bit(31) & self.wqe.val().len.get_bits::<31>(0).any();
        self.no_sge1.d.next = self.wqe.val().sges == 0;
        self.differs1.d.next = self.wqe.val().sge_len != self.wqe.val().len;
        self.request1.d.next.bad_len = false;
        self.request1.d.next.write = !self.op.val().get_bit(WR_SEND_BIT) & !self.job1.val();
        self.request1.d.next.read = self.op.val() == WR_READ;
        self.request1.d.next.atomic = (self.op.val() == WR_SWAP) | (self.op.val() == WR_ADD);
        self.request1.d.next.fence = self.wqe.val().flags.get_bit(FENCE_BIT);
        self.request1.d.next.imm = self.op.val().get_bit(WR_IMM_BIT) & !self.job1.val();
        self.request1.d.next.se = self.wqe.val().flags.get_bit(SOLICITED_BIT)
            & (self.op.val().get_bit(WR_SEND_BIT) | self.op.val().get_bit(WR_IMM_BIT))
            & !self.job1.val();
        self.request1.d.next.some_jobs = false;
        self.request1.d.next.all_jobs = false;
        self.request1.d.next.far = false;
        self.not_atomic1.d.next = self.wqe.val().len != ATOMIC_BYTES;
        self.va1.d.next = self.wqe.val().va;
        self.jobs1.d.next = self.context.val().high.jobs - self.context.val().una.jobs;
        self.distance1.d.next = self.context.val().state.psn - self.context.val().una.psn;

        // 2
        self.context2.d.next = self.context1.q.val();
        self.request2.d.next = self.request1.q.val();
        // Longer than 2^31, or not what the SGE holds; without an SGE there is nothing to send.
        self.request2.d.next.bad_len = self.too_long1.q.val()
            | (self.no_sge1.q.val() & !self.zero1.q.val())
            | (!self.no_sge1.q.val() & self.differs1.q.val())
            | (self.request1.q.val().atomic & self.not_atomic1.q.val());
        self.request2.d.next.some_jobs = self.jobs1.q.val().any();
        // No more than the tables hold, whatever the configuration says.
        self.request2.d.next.all_jobs = self.jobs1.q.val().get_bits::<2>(4).any()
            | (self.jobs1.q.val().get_bits::<5>(0) >= self.context1.q.val().cfg.max_reads);
        self.request2.d.next.far = self.distance1.q.val().get_bits::<2>(READ_FAR_SHIFT) == READ_FAR;
        self.beats2.d.next = 0.into();
        if self.request1.q.val().inline {
            // One packet of any path MTU, as long as it is no longer than its blocks.
            self.request2.d.next.bad_len = !self.zero1.q.val()
                & (self
                    .len_less_one1
                    .q
                    .val()
                    .get_bits::<24>(INLINE_FIRST_LOG2 + 3)
                    .any()
                    | (self.len_less_one1.q.val().get_bits::<3>(INLINE_FIRST_LOG2)
                        > (bit_cast::<3, 2>(self.extra1.q.val()) << 1)));
            if !self.zero1.q.val() {
                self.beats2.d.next = (bit_cast::<9, 8>(self.len1.q.val().get_bits::<8>(0))
                    + INLINE_ROUND)
                    .get_bits::<3>(6);
            }
        }
        self.rest2.d.next = self.len1.q.val() - self.offset1.q.val();
        self.va_low2.d.next = bit_cast::<33, 32>(self.va1.q.val().get_bits::<32>(0))
            + bit_cast::<33, 32>(self.offset1.q.val());
        self.va_high2.d.next = self.va1.q.val().get_bits::<32>(32);
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
        self.next_psn2.d.next = self.context1.q.val().state.psn + 1;
        self.next_sent2.d.next = self.context1.q.val().state.sent + 1;
        self.next_wqe2.d.next = self.context1.q.val().state.wqe
            + bit_cast::<16, 3>(bit_cast::<3, 2>(self.extra1.q.val()) + 1);

        // 3
        self.context3.d.next = self.context2.q.val();
        self.request3.d.next = self.request2.q.val();
        self.request3.d.next.bad_len = self.request2.q.val().bad_len
            | (self.request2.q.val().read
                & self
                    .last_packet2
                    .q
                    .val()
                    .get_bits::<2>(READ_FAR_SHIFT)
                    .any());
        self.va3.d.next = bit_cast::<64, 32>(self.va_low2.q.val().get_bits::<32>(0))
            | (bit_cast::<64, 32>(
                self.va_high2.q.val() + bit_cast::<32, 1>(self.va_low2.q.val().get_bits::<1>(32)),
            ) << 32);
        self.rest3.d.next = self.rest2.q.val();
        self.beats3.d.next = self.beats2.q.val();
        self.first3.d.next = self.context2.q.val().state.sent == 0;
        self.left3.d.next = self.last_packet2.q.val() - self.context2.q.val().state.sent;
        // The WQE is no longer the one that was begun: software changed it under way.
        self.beyond3.d.next = self.context2.q.val().state.sent > self.last_packet2.q.val();
        self.last_psn3.d.next = self.context2.q.val().state.psn + self.last_packet2.q.val();
        self.addr3.d.next = bit_cast::<64, 32>(self.addr_low2.q.val().get_bits::<32>(0))
            | (bit_cast::<64, 32>(
                self.addr_high2.q.val()
                    + bit_cast::<32, 1>(self.addr_low2.q.val().get_bits::<1>(32)),
            ) << 32);
        self.next_psn3.d.next = self.next_psn2.q.val();
        self.next_sent3.d.next = self.next_sent2.q.val();
        self.next_wqe3.d.next = self.next_wqe2.q.val();
        self.psn_gain3.d.next = self.next_psn2.q.val() - self.context2.q.val().high.max_psn;
        self.newer3.d.next = self.context2.q.val().state.wqe == self.context2.q.val().high.begun;
        self.newest3.d.next = self.next_wqe2.q.val() == self.context2.q.val().high.begun;

        // Packets that a page holds, 2^(12 - pmtu), but one.
        self.most3.d.next = 0.into();
        if self.context2.q.val().cfg.pmtu == 8 {
            self.most3.d.next = 15.into();
        } else if self.context2.q.val().cfg.pmtu == 9 {
            self.most3.d.next = 7.into();
        } else if self.context2.q.val().cfg.pmtu == 10 {
            self.most3.d.next = 3.into();
        } else if self.context2.q.val().cfg.pmtu == 11 {
            self.most3.d.next = 1.into();
        }

        // 4: what is left is sent if it is no more than a page holds.
        self.fits.next = !(self.left3.q.val().get_bits::<20>(4).any()
            | (self.left3.q.val().get_bits::<4>(0) & !self.most3.q.val()).any());
        self.job3.next = self.request3.q.val().read | self.request3.q.val().atomic;
        self.context4.d.next = self.context3.q.val();
        self.request4.d.next = self.request3.q.val();
        self.rest4.d.next = self.rest3.q.val().get_bits::<13>(0);
        self.next_wqe4.d.next = self.next_wqe3.q.val();
        self.psn_gain4.d.next = self.psn_gain3.q.val();
        self.newer4.d.next = self.newer3.q.val();
        self.newest4.d.next = self.newest3.q.val();
        self.plan4.d.next.status = 0.into();
        if self.request3.q.val().bad_op {
            self.plan4.d.next.status = LOC_QP_OP.into();
        } else if self.request3.q.val().bad_len {
            self.plan4.d.next.status = LOC_LEN.into();
        } else if self.beyond3.q.val() {
            self.plan4.d.next.status = LOC_QP_OP.into();
        }
        self.plan4.d.next.first = self.first3.q.val();
        self.plan4.d.next.last = self.fits.val() | self.job3.val();
        self.plan4.d.next.write = self.request3.q.val().write;
        self.plan4.d.next.job = self.job3.val();
        self.plan4.d.next.va = self.va3.q.val();
        self.plan4.d.next.dma_len = self.rest3.q.val();
        self.plan4.d.next.imm = self.request3.q.val().imm;
        self.plan4.d.next.se = self.request3.q.val().se;
        self.plan4.d.next.more = self.most3.q.val();
        self.step4.d.next = bit_cast::<24, 4>(self.most3.q.val());
        if self.fits.val() | self.job3.val() {
            self.plan4.d.next.more = self.left3.q.val().get_bits::<4>(0);
            self.step4.d.next = self.left3.q.val();
        }
        if self.job3.val() {
            self.plan4.d.next.more = 0.into();
        }
        self.plan4.d.next.addr = self.addr3.q.val();
        self.plan4.d.next.inline_beats = self.beats3.q.val();
        self.plan4.d.next.last_psn = self.last_psn3.q.val();
        self.plan4.d.next.next_psn = self.next_psn3.q.val();
        self.plan4.d.next.next_sent = self.next_sent3.q.val();

        // 5
        self.context5.d.next = self.context4.q.val();
        self.newer5.d.next = self.newer4.q.val();
        self.newest5.d.next = self.newest4.q.val();
        self.next_wqe5.d.next = self.next_wqe4.q.val();
        self.request5.d.next = self.request4.q.val();
        self.psn_gain5.d.next = self.psn_gain4.q.val() + self.step4.q.val();
        self.plan5.d.next = self.plan4.q.val();
        self.plan5.d.next.next_psn = self.plan4.q.val().next_psn + self.step4.q.val();
        self.plan5.d.next.next_sent =
            self.plan4.q.val().next_sent + bit_cast::<24, 4>(self.plan4.q.val().more);
        self.plan5.d.next.next_wqe = self.context4.q.val().state.wqe;
        self.plan5.d.next.bytes = VISIT_BYTES.into();
        if self.plan4.q.val().last {
            self.plan5.d.next.next_wqe = self.next_wqe4.q.val();
            self.plan5.d.next.next_sent = 0.into();
            self.plan5.d.next.bytes = self.rest4.q.val();
        }
        if self.plan4.q.val().job {
            self.plan5.d.next.bytes = 0.into();
        }

        // 6: the furthest position never goes back; compared within half of the PSN space.
        self.plan6.d.next = self.plan5.q.val();
        self.plan6.d.next.high = self.context5.q.val().high;
        if !self.psn_gain5.q.val().get_bit(23) {
            self.plan6.d.next.high.max_psn = self.plan5.q.val().next_psn;
        }
        if self.newer5.q.val() {
            self.plan6.d.next.high.begun = self.next_wqe5.q.val();
            self.plan6.d.next.high.newest_psn = self.context5.q.val().state.psn;
            self.plan6.d.next.high.open = !self.plan5.q.val().last;
            self.plan6.d.next.high.jobs =
                self.context5.q.val().high.jobs + bit_cast::<6, 1>(self.plan5.q.val().job.into());
        } else if self.newest5.q.val() & self.plan5.q.val().last {
            self.plan6.d.next.high.open = false;
        }
        self.plan6.d.next.new_job = self.newer5.q.val() & self.plan5.q.val().job;
        // What can't be sent at all fails at once.
        self.plan6.d.next.hold = (self.plan5.q.val().status == 0)
            & ((self.newer5.q.val()
                & ((self.plan5.q.val().job & self.request5.q.val().all_jobs)
                    | (self.request5.q.val().fence & self.request5.q.val().some_jobs)))
                | (self.request5.q.val().read & self.request5.q.val().far));
        self.plan.next = self.plan6.q.val();
    }
}

ferroce_emit::register_leaf!("send_packet", TxSendPacket::default);

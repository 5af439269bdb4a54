//! Where payload goes: receive buffer or R_Key, and whether it may.

use crate::control::packet::{DataStep, Decided, Placed};
use crate::parse::VALUE_OFFSET;
use ferroce_abi::cqe::SharedWqe;
use ferroce_abi::mr::{Access, Key};
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::lookup::{MrCheck, WqeData, WqeRead, MR_CHECK_LATENCY, WQE_READ_LATENCY};
use ferroce_rtl::rmw_ram::{RmwRam, RMW_LATENCY};

/// Cycles from `decided` to `placed` and the MR check's answer: WQE read, address, question, answer.
pub const PLACE_LATENCY: usize = WQE_READ_LATENCY + 2 + MR_CHECK_LATENCY;

// What a message keeps of its WQE is read beside the WQE itself, a cycle later.
const _: () = assert!(RMW_LATENCY + 1 == WQE_READ_LATENCY);

/// `sges` of a WQE that the cache could not read.
const UNREAD_SGES: u64 = 0xFF;
const UNREAD_BIT: usize = SharedWqe::UNREAD_BIT as usize;

/// Bytes of an atomic's value.
const VALUE_BYTES: u64 = 8;

const LOCAL_WRITE: u64 = Access::LOCAL_WRITE.bits() as u64;
const REMOTE_WRITE: u64 = Access::REMOTE_WRITE.bits() as u64;
const REMOTE_READ: u64 = Access::REMOTE_READ.bits() as u64;
const REMOTE_ATOMIC: u64 = Access::REMOTE_ATOMIC.bits() as u64;

/// A receive WQE as a message keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Kept {
    addr: Bits<64>,
    lkey: Bits<32>,
    len: Bits<32>,
    /// There is no buffer.
    empty: Bit,
    /// Malformed or not there.
    bad: Bit,
    /// How the CQE names it.
    wqe: Bits<16>,
}

/// Reads the receive WQE of a SEND, forms the host address, and asks whether the access is allowed: a WRITE's first
/// packet for the whole RETH range, every later packet for its own bytes (the region may have gone meanwhile),
/// a SEND packet for its bytes of the receive buffer, data of an own READ or atomic for its bytes of where they go, a READ or atomic, duplicates too, for all that it reads. Free running.
///
/// The WQE is read by the packet that takes it and kept with its QP for the rest of the message, so its place in the cache is free at once: however
/// long a message takes, it holds up no other QP of an SRQ.
#[derive(LogicBlock, Module)]
pub struct RxPlace {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Packets in.
    pub decided: Signal<In, Decided>,
    /// What they are to the QP's READs and atomics.
    pub data: Signal<In, DataStep>,
    /// RQ WQE cache.
    pub wqe_read: Signal<Out, WqeRead>,
    /// Its answer.
    pub wqe_data: Signal<In, WqeData>,
    /// MR check; its answer is valid with `placed`.
    pub mr_check: Signal<Out, MrCheck>,
    /// Packets, [`PLACE_LATENCY`] cycles later.
    pub packet: Signal<Out, Decided>,
    /// Their place.
    pub placed: Signal<Out, Placed>,
    kept: RmwRam<Kept>,
    kept_qp: DFF<Bits<14>>,
    during_read: Delay<Decided>,
    during_check: Delay<Decided>,
    write_sum: DFF<Bits<64>>,
    landing_sum: DFF<Bits<64>>,
    landing: DFF<Bit>,
    total_sum: DFF<Bits<32>>,
    write_addr: Delay<Bits<64>>,
    total: Delay<Bits<32>>,
    d5: DFF<Decided>,
    placed5: DFF<Placed>,
    write_addr5: DFF<Bits<64>>,
    lkey5: DFF<Bits<32>>,
    placed6: DFF<Placed>,
    check6: DFF<MrCheck>,
    placed_delay: Delay<Placed>,
    d0: Signal<Local, Decided>,
    d4: Signal<Local, Decided>,
    w: Signal<Local, WqeData>,
    unread: Signal<Local, Bit>,
    fresh: Signal<Local, Kept>,
    k: Signal<Local, Kept>,
}

impl RxPlace {
    /// For `2^log2_qps` QPs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            clock: Signal::default(),
            decided: Signal::default(),
            data: Signal::default(),
            wqe_read: Signal::default(),
            wqe_data: Signal::default(),
            mr_check: Signal::default(),
            packet: Signal::default(),
            placed: Signal::default(),
            kept: RmwRam::new(log2_qps),
            kept_qp: DFF::default(),
            during_read: Delay::new(WQE_READ_LATENCY),
            during_check: Delay::new(PLACE_LATENCY - WQE_READ_LATENCY),
            write_sum: DFF::default(),
            landing_sum: DFF::default(),
            landing: DFF::default(),
            total_sum: DFF::default(),
            write_addr: Delay::new(WQE_READ_LATENCY - 1),
            total: Delay::new(WQE_READ_LATENCY - 1),
            d5: DFF::default(),
            placed5: DFF::default(),
            write_addr5: DFF::default(),
            lkey5: DFF::default(),
            placed6: DFF::default(),
            check6: DFF::default(),
            placed_delay: Delay::new(MR_CHECK_LATENCY),
            d0: Signal::default(),
            d4: Signal::default(),
            w: Signal::default(),
            unread: Signal::default(),
            fresh: Signal::default(),
            k: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for RxPlace {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for RxPlace {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            kept_qp,
            write_sum,
            landing_sum,
            landing,
            total_sum,
            d5,
            placed5,
            write_addr5,
            lkey5,
            placed6,
            check6
        );
        clock!(
            self,
            clock,
            kept,
            during_read,
            during_check,
            write_addr,
            total,
            placed_delay
        );

        // Read the WQE; add meanwhile.
        self.wqe_read.next.qp = self.decided.val().queue;
        self.wqe_read.next.wqe = self.decided.val().rq;
        self.d0.next = self.decided.val();
        self.d0.next.lands = self.data.val().lands;
        self.d0.next.missing = self.data.val().missing;
        self.d0.next.misfit = self.data.val().misfit;
        self.d0.next.status = self.data.val().status;
        self.d0.next.drop.opcode = self.data.val().stray;
        self.d0.next.duplicate = self.decided.val().duplicate | self.data.val().behind;
        self.d0.next.ahead = self.decided.val().ahead | self.data.val().ahead;
        if self.data.val().lands | self.data.val().missing | self.data.val().misfit {
            self.d0.next.psn = self.data.val().psn;
            self.d0.next.rkey = self.data.val().lkey;
        }
        // The parser has left an atomic's bytes there in the order of host memory.
        if self.data.val().lands & self.data.val().atomic {
            self.d0.next.len = VALUE_BYTES.into();
            self.d0.next.check_len = VALUE_BYTES.into();
            self.d0.next.hdr_len = VALUE_OFFSET.into();
        }
        self.during_read.data_in.next = self.d0.val();
        self.kept_qp.d.next = self.decided.val().qp;
        self.kept.rd_valid.next = true;
        self.kept.rd_addr.next = bit_cast::<20, 14>(self.kept_qp.q.val());
        self.write_sum.d.next =
            self.decided.val().va + bit_cast::<64, 32>(self.decided.val().offset);
        self.total_sum.d.next =
            self.decided.val().offset + bit_cast::<32, 13>(self.decided.val().len);
        self.landing_sum.d.next = self.data.val().addr + bit_cast::<64, 32>(self.data.val().offset);
        self.landing.d.next = self.data.val().lands;
        self.write_addr.data_in.next = self.write_sum.q.val();
        if self.landing.q.val() {
            self.write_addr.data_in.next = self.landing_sum.q.val();
        }
        self.total.data_in.next = self.total_sum.q.val();

        // The WQE is here.
        self.d4.next = self.during_read.data_out.val();
        self.w.next = self.wqe_data.val();
        self.fresh.next.addr = self.w.val().addr;
        self.fresh.next.lkey = self.w.val().lkey;
        self.fresh.next.len = self.w.val().sge_len;
        self.fresh.next.empty = self.w.val().sges == 0;
        self.fresh.next.bad = !self.w.val().avail | (self.w.val().sges > 1);
        // A WQE that could not be read has no tag.
        self.unread.next = !self.w.val().avail | (self.w.val().sges == UNREAD_SGES);
        self.fresh.next.wqe = self.d4.val().rq;
        if self.d4.val().shared & self.unread.val() {
            self.fresh.next.wqe = self.d4.val().rq.replace_bit(UNREAD_BIT, true);
        } else if self.d4.val().shared {
            self.fresh.next.wqe = self
                .w
                .val()
                .imm
                .get_bits::<16>(0)
                .replace_bit(UNREAD_BIT, false);
        }
        self.kept.wr_valid.next = self.d4.val().takes;
        self.kept.wr_addr.next = bit_cast::<20, 14>(self.d4.val().qp);
        self.kept.wr_data.next = self.fresh.val();
        self.k.next = self.kept.rd_data.val();
        if self.d4.val().takes {
            self.k.next = self.fresh.val();
        }
        self.d5.d.next = self.d4.val();
        self.write_addr5.d.next = self.write_addr.data_out.val();
        self.lkey5.d.next = self.k.val().lkey;
        self.placed5.d.next.wqe = self.k.val().wqe;
        self.placed5.d.next.addr = self.k.val().addr + bit_cast::<64, 32>(self.d4.val().offset);
        self.placed5.d.next.total = self.total.data_out.val();
        self.placed5.d.next.bad_wqe = self.d4.val().class.send & self.k.val().bad;
        self.placed5.d.next.too_long = self.d4.val().class.send
            & ((self.total.data_out.val() > self.k.val().len)
                | (self.k.val().empty & self.total.data_out.val().any()));

        // Ask.
        self.placed6.d.next = self.placed5.q.val();
        self.check6.d.next.pd = self.d5.q.val().pd;
        self.placed6.d.next.mr = self.d5.q.val().rkey.get_bits::<16>(Key::TAG_BITS);
        if self.d5.q.val().class.send {
            self.placed6.d.next.mr = self.lkey5.q.val().get_bits::<16>(Key::TAG_BITS);
            self.check6.d.next.key = self.lkey5.q.val();
            self.check6.d.next.va = self.placed5.q.val().addr;
            self.check6.d.next.access = LOCAL_WRITE.into();
        } else {
            self.check6.d.next.key = self.d5.q.val().rkey;
            self.check6.d.next.va = self.write_addr5.q.val();
            self.check6.d.next.access = REMOTE_WRITE.into();
            if self.d5.q.val().class.read {
                self.check6.d.next.access = REMOTE_READ.into();
            }
            if self.d5.q.val().class.atomic {
                self.check6.d.next.access = REMOTE_ATOMIC.into();
            }
            if self.d5.q.val().lands {
                self.check6.d.next.access = LOCAL_WRITE.into();
            }
            self.placed6.d.next.addr = self.write_addr5.q.val();
        }
        self.check6.d.next.len = 0.into();
        if self.d5.q.val().accept | self.d5.q.val().replay | self.d5.q.val().lands {
            self.check6.d.next.len = self.d5.q.val().check_len;
        }
        self.mr_check.next = self.check6.q.val();
        self.placed_delay.data_in.next = self.placed6.q.val();

        self.during_check.data_in.next = self.during_read.data_out.val();
        self.packet.next = self.during_check.data_out.val();
        self.placed.next = self.placed_delay.data_out.val();
    }
}

ferroce_emit::register_leaf!("rx_place", RxPlace::default);

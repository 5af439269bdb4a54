//! First stages of the control pipeline: pacing, QP configuration, checks without QP progress.

use crate::cfg_fields::offset;
use crate::control::packet::{Checked, PacketClass};
use ferroce_abi::cfg::ResponderCfg as Layout;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::rx::{RqPub, RxMeta};
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::stream::StreamIn;

/// Cycles from a packet at [`RxFront`]'s `rd_qp` output to `checked`: the latency of the state RAM that
/// is read meanwhile.
pub const FRONT_LATENCY: usize = RAM_LATENCY + 1;

const ENABLED: usize = offset(Layout::FIELDS, "enabled");
const RESTART: usize = offset(Layout::FIELDS, "restart");
const RESTART_RQ: usize = offset(Layout::FIELDS, "restart_rq");
const PMTU: usize = offset(Layout::FIELDS, "pmtu");
const PD: usize = offset(Layout::FIELDS, "pd");
const ACCESS: usize = offset(Layout::FIELDS, "access");
const CQ: usize = offset(Layout::FIELDS, "cq");
const PSN: usize = offset(Layout::FIELDS, "psn");
const MIN_RNR: usize = offset(Layout::FIELDS, "min_rnr");
const PKEY: usize = offset(Layout::FIELDS, "pkey");
const PEER_IP: usize = offset(Layout::FIELDS, "peer_ip");
/// Bit of `Access::REMOTE_WRITE`.
const REMOTE_WRITE_BIT: usize = ferroce_abi::mr::Access::REMOTE_WRITE
    .bits()
    .trailing_zeros() as usize;

/// What the pipeline keeps of a QP's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct QpCfg {
    enabled: Bit,
    pmtu: Bits<4>,
    pd: Bits<16>,
    remote_write: Bit,
    cq: Bits<14>,
    min_rnr: Bits<5>,
    pkey: Bits<16>,
    peer_ip: Bits<32>,
}

/// Flags of an operation while its configuration is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Op {
    valid: Bit,
    reconfig: Bit,
    restart: Bit,
    restart_rq: Bit,
}

/// Lengths compared with every path MTU: bit `n` is about `2^n` bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Sizes {
    /// Payload of exactly that size.
    full: Bits<16>,
    /// Payload of at most that size.
    fits: Bits<16>,
    /// RETH length above that size.
    more: Bits<16>,
    /// No payload.
    empty: Bit,
    /// RETH length is the payload's.
    exact: Bit,
    /// RETH length above 2^31 (C9-94).
    huge: Bit,
    /// Pad bytes.
    padded: Bit,
}

/// Opcode classes that the front needs beside [`PacketClass`].
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Kind {
    response: Bit,
    ack: Bit,
    known: Bit,
}

/// Starts a packet or a configuration write at most every second cycle, reads the QP's configuration, and checks
/// what does not depend on the QP's progress: QPN, enabled, P_Key (low 15 bits equal and not 0, one side full member), peer
/// address; then opcode, access right, and lengths against path MTU and RETH.
#[derive(LogicBlock, Module)]
pub struct RxFront {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Good frames in order.
    pub packets: StreamIn<RxMeta>,
    /// Configuration; `RESPONDER` entries.
    pub cfg: Signal<In, CfgWrite>,
    /// Fill of the RQ WQE cache.
    pub rq_pub: Signal<In, RqPub>,
    /// Start no packet; from a register.
    pub hold: Signal<In, Bit>,
    /// A QP's state is to be read; `checked` follows [`FRONT_LATENCY`] cycles later.
    pub rd_qp: Signal<Out, Bits<14>>,
    /// The packet, after the checks.
    pub checked: Signal<Out, Checked>,
    qps: Constant<Bits<24>>,
    table: Ram<QpCfg>,
    rq_fill: Ram<Bits<16>>,
    pending: DFF<Bit>,
    pending_qp: DFF<Bits<24>>,
    pending_psn: DFF<Bits<24>>,
    pending_cfg: DFF<QpCfg>,
    pending_restart: DFF<Bit>,
    pending_restart_rq: DFF<Bit>,
    started: DFF<Bit>,
    take: Signal<Local, Bit>,
    start: Signal<Local, Bit>,
    sizes: Signal<Local, Sizes>,
    op1: DFF<Op>,
    meta1: DFF<RxMeta>,
    op2: DFF<Op>,
    meta2: DFF<RxMeta>,
    exists2: DFF<Bit>,
    class2: DFF<PacketClass>,
    kind2: DFF<Kind>,
    sizes2: DFF<Sizes>,
    op3: DFF<Op>,
    meta3: DFF<RxMeta>,
    exists3: DFF<Bit>,
    class3: DFF<PacketClass>,
    kind3: DFF<Kind>,
    sizes3: DFF<Sizes>,
    wrong3: DFF<Bit>,
    checked4: DFF<Checked>,
    op: Signal<Local, Bits<5>>,
    c: Signal<Local, QpCfg>,
    s: Signal<Local, Sizes>,
    pkey_ok: Signal<Local, Bit>,
    peer_ok: Signal<Local, Bit>,
    full: Signal<Local, Bit>,
    fits: Signal<Local, Bit>,
    more: Signal<Local, Bit>,
    live: Signal<Local, Bit>,
}

impl RxFront {
    /// For `2^log2_qps` QPs.
    ///
    /// # Panics
    /// If `log2_qps` is not 1 to 14.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        assert!((1..=14).contains(&log2_qps), "2^{log2_qps} QPs");
        Self {
            clock: Signal::default(),
            packets: StreamIn::default(),
            cfg: Signal::default(),
            rq_pub: Signal::default(),
            hold: Signal::default(),
            rd_qp: Signal::default(),
            checked: Signal::default(),
            qps: Constant::new((1u64 << log2_qps).into()),
            table: Ram::new(log2_qps),
            rq_fill: Ram::new(log2_qps),
            pending: DFF::default(),
            pending_qp: DFF::default(),
            pending_psn: DFF::default(),
            pending_cfg: DFF::default(),
            pending_restart: DFF::default(),
            pending_restart_rq: DFF::default(),
            started: DFF::default(),
            take: Signal::default(),
            start: Signal::default(),
            sizes: Signal::default(),
            op1: DFF::default(),
            meta1: DFF::default(),
            op2: DFF::default(),
            meta2: DFF::default(),
            exists2: DFF::default(),
            class2: DFF::default(),
            kind2: DFF::default(),
            sizes2: DFF::default(),
            op3: DFF::default(),
            meta3: DFF::default(),
            exists3: DFF::default(),
            class3: DFF::default(),
            kind3: DFF::default(),
            sizes3: DFF::default(),
            wrong3: DFF::default(),
            checked4: DFF::default(),
            op: Signal::default(),
            c: Signal::default(),
            s: Signal::default(),
            pkey_ok: Signal::default(),
            peer_ok: Signal::default(),
            full: Signal::default(),
            fits: Signal::default(),
            more: Signal::default(),
            live: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for RxFront {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for RxFront {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            pending,
            pending_qp,
            pending_psn,
            pending_cfg,
            pending_restart,
            pending_restart_rq,
            started,
            op1,
            meta1,
            op2,
            meta2,
            exists2,
            class2,
            kind2,
            sizes2,
            op3,
            meta3,
            exists3,
            class3,
            kind3,
            sizes3,
            wrong3,
            checked4
        );
        clock!(self, clock, table, rq_fill);

        // Stage 0: one operation every second cycle. Configuration does not wait for `hold`: it
        // makes no verdict.
        self.take.next = !self.started.q.val() & !self.hold.val() & !self.pending.q.val();
        self.packets.ready.next = self.take.val();
        self.start.next = (self.take.val() & self.packets.valid.val())
            | (!self.started.q.val() & self.pending.q.val());
        self.started.d.next = self.start.val();
        self.op1.d.next.valid = self.start.val();
        self.op1.d.next.reconfig = self.pending.q.val();
        self.op1.d.next.restart = self.pending_restart.q.val();
        self.op1.d.next.restart_rq = self.pending_restart_rq.q.val();
        self.meta1.d.next = self.packets.data.val();
        if self.pending.q.val() {
            self.meta1.d.next.dqpn = self.pending_qp.q.val();
            self.meta1.d.next.psn = self.pending_psn.q.val();
        }
        if !self.started.q.val() {
            self.pending.d.next = false;
        }
        if self.cfg.val().valid & (self.cfg.val().table == table::RESPONDER) {
            self.pending.d.next = true;
            self.pending_qp.d.next = bit_cast::<24, 16>(self.cfg.val().index);
            self.pending_psn.d.next = self.cfg.val().data.get_bits::<24>(PSN);
            self.pending_restart.d.next = self.cfg.val().data.get_bit(RESTART);
            self.pending_restart_rq.d.next = self.cfg.val().data.get_bit(RESTART_RQ);
            self.pending_cfg.d.next.enabled = self.cfg.val().data.get_bit(ENABLED);
            self.pending_cfg.d.next.pmtu = self.cfg.val().data.get_bits::<4>(PMTU);
            self.pending_cfg.d.next.pd = self.cfg.val().data.get_bits::<16>(PD);
            self.pending_cfg.d.next.remote_write =
                self.cfg.val().data.get_bit(ACCESS + REMOTE_WRITE_BIT);
            self.pending_cfg.d.next.cq = self.cfg.val().data.get_bits::<14>(CQ);
            self.pending_cfg.d.next.min_rnr = self.cfg.val().data.get_bits::<5>(MIN_RNR);
            self.pending_cfg.d.next.pkey = self.cfg.val().data.get_bits::<16>(PKEY);
            self.pending_cfg.d.next.peer_ip = self.cfg.val().data.get_bits::<32>(PEER_IP);
        }

        // Stage 1: reads begin. A configuration write enters the table here, in packet order; its
        // entry still stands in `pending_cfg`.
        self.rd_qp.next = self.meta1.q.val().dqpn.get_bits::<14>(0);
        self.table.rd_addr.next = bit_cast::<20, 24>(self.meta1.q.val().dqpn);
        self.table.wr_addr.next = bit_cast::<20, 24>(self.meta1.q.val().dqpn);
        self.table.wr_data.next = self.pending_cfg.q.val();
        self.table.wr_valid.next = self.op1.q.val().valid
            & self.op1.q.val().reconfig
            & (self.meta1.q.val().dqpn < self.qps.val());
        self.rq_fill.rd_addr.next = bit_cast::<20, 24>(self.meta1.q.val().dqpn);
        self.rq_fill.wr_addr.next = bit_cast::<20, 14>(self.rq_pub.val().qp);
        self.rq_fill.wr_data.next = self.rq_pub.val().fetched;
        self.rq_fill.wr_valid.next = self.rq_pub.val().valid;

        self.op2.d.next = self.op1.q.val();
        self.meta2.d.next = self.meta1.q.val();
        self.exists2.d.next = self.meta1.q.val().dqpn < self.qps.val();
        self.op.next = self.meta1.q.val().opcode.get_bits::<5>(0);
        // SEND 0x00..0x05, WRITE 0x06..0x0B: FIRST, MIDDLE, LAST, LAST_IMM, ONLY, ONLY_IMM each.
        self.class2.d.next.send = self.op.val() <= 0x05;
        self.class2.d.next.write = (self.op.val() >= 0x06) & (self.op.val() <= 0x0B);
        self.class2.d.next.begins = (self.op.val() == 0x00)
            | (self.op.val() == 0x04)
            | (self.op.val() == 0x05)
            | (self.op.val() == 0x06)
            | (self.op.val() == 0x0A)
            | (self.op.val() == 0x0B);
        self.class2.d.next.ends = ((self.op.val() >= 0x02) & (self.op.val() <= 0x05))
            | ((self.op.val() >= 0x08) & (self.op.val() <= 0x0B));
        self.class2.d.next.imm = (self.op.val() == 0x03)
            | (self.op.val() == 0x05)
            | (self.op.val() == 0x09)
            | (self.op.val() == 0x0B);
        // READ responses, ACKNOWLEDGE, ATOMIC ACKNOWLEDGE.
        self.kind2.d.next.response = (self.op.val() >= 0x0D) & (self.op.val() <= 0x12);
        self.kind2.d.next.ack = self.op.val() == 0x11;
        self.kind2.d.next.known = self.op.val() <= 0x0B;
        self.sizes.next = Default::default();
        for n in 8..13 {
            self.sizes.next.full = self
                .sizes
                .val()
                .full
                .replace_bit(n, self.meta1.q.val().len == (1u64 << n));
            self.sizes.next.fits = self
                .sizes
                .val()
                .fits
                .replace_bit(n, self.meta1.q.val().len <= (1u64 << n));
            self.sizes.next.more = self
                .sizes
                .val()
                .more
                .replace_bit(n, self.meta1.q.val().dma_len > (1u64 << n));
        }
        self.sizes.next.empty = self.meta1.q.val().len == 0;
        self.sizes.next.exact =
            self.meta1.q.val().dma_len == bit_cast::<32, 13>(self.meta1.q.val().len);
        self.sizes.next.huge = self.meta1.q.val().dma_len > 0x8000_0000;
        self.sizes.next.padded = self.meta1.q.val().pad != 0;
        self.sizes2.d.next = self.sizes.val();

        // Stage 2: what is wrong with any path MTU.
        self.op3.d.next = self.op2.q.val();
        self.meta3.d.next = self.meta2.q.val();
        self.exists3.d.next = self.exists2.q.val();
        self.class3.d.next = self.class2.q.val();
        self.kind3.d.next = self.kind2.q.val();
        self.sizes3.d.next = self.sizes2.q.val();
        self.wrong3.d.next = !self.kind2.q.val().known;
        if !self.class2.q.val().ends & self.sizes2.q.val().padded {
            self.wrong3.d.next = true;
        }
        if self.class2.q.val().ends & !self.class2.q.val().begins & self.sizes2.q.val().empty {
            self.wrong3.d.next = true;
        }
        if self.class2.q.val().write & self.class2.q.val().begins {
            if self.sizes2.q.val().huge {
                self.wrong3.d.next = true;
            }
            if self.class2.q.val().ends & !self.sizes2.q.val().exact {
                self.wrong3.d.next = true;
            }
        }

        // Stage 3: the configuration is here.
        self.c.next = self.table.rd_data.val();
        self.s.next = self.sizes3.q.val();
        self.pkey_ok.next = (self.c.val().pkey.get_bits::<15>(0)
            == self.meta3.q.val().pkey.get_bits::<15>(0))
            & self.c.val().pkey.get_bits::<15>(0).any()
            & (self.c.val().pkey.get_bit(15) | self.meta3.q.val().pkey.get_bit(15));
        self.peer_ok.next = self.c.val().peer_ip == self.meta3.q.val().src_ip;
        self.full.next = self.s.val().full.get_bit(self.c.val().pmtu.index());
        self.fits.next = self.s.val().fits.get_bit(self.c.val().pmtu.index());
        self.more.next = self.s.val().more.get_bit(self.c.val().pmtu.index());
        self.live.next = self.op3.q.val().valid & !self.op3.q.val().reconfig;

        self.checked4.d.next.valid = self.op3.q.val().valid;
        self.checked4.d.next.reconfig =
            self.op3.q.val().valid & self.op3.q.val().reconfig & self.exists3.q.val();
        self.checked4.d.next.restart = self.op3.q.val().restart;
        self.checked4.d.next.restart_rq = self.op3.q.val().restart_rq;
        self.checked4.d.next.qp = self.meta3.q.val().dqpn.get_bits::<14>(0);
        self.checked4.d.next.meta = self.meta3.q.val();
        self.checked4.d.next.class = self.class3.q.val();
        self.checked4.d.next.pd = self.c.val().pd;
        self.checked4.d.next.cq = self.c.val().cq;
        self.checked4.d.next.min_rnr = self.c.val().min_rnr;
        self.checked4.d.next.fetched = self.rq_fill.rd_data.val();
        self.checked4.d.next.request = false;
        self.checked4.d.next.response = false;
        self.checked4.d.next.drop = Default::default();
        if self.live.val() {
            if !self.exists3.q.val() {
                self.checked4.d.next.drop.qpn = true;
            } else if !self.c.val().enabled {
                self.checked4.d.next.drop.state = true;
            } else if !self.pkey_ok.val() {
                self.checked4.d.next.drop.pkey = true;
            } else if !self.peer_ok.val() {
                self.checked4.d.next.drop.peer = true;
            } else if !self.kind3.q.val().response {
                self.checked4.d.next.request = true;
            } else if self.kind3.q.val().ack {
                self.checked4.d.next.response = true;
            } else {
                self.checked4.d.next.drop.opcode = true;
            }
        }
        self.checked4.d.next.invalid = self.wrong3.q.val();
        if self.class3.q.val().write & !self.c.val().remote_write {
            self.checked4.d.next.invalid = true;
        }
        if self.class3.q.val().ends & !self.fits.val() {
            self.checked4.d.next.invalid = true;
        }
        if !self.class3.q.val().ends & !self.full.val() {
            self.checked4.d.next.invalid = true;
        }
        // A LAST packet must follow a FIRST and is not empty.
        if self.class3.q.val().write
            & self.class3.q.val().begins
            & !self.class3.q.val().ends
            & !self.more.val()
        {
            self.checked4.d.next.invalid = true;
        }
        self.checked.next = self.checked4.q.val();
    }
}

ferroce_emit::register_leaf!("rx_front", RxFront::default);

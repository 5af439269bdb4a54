//! First stages of the control pipeline: QP configuration, checks without QP progress.

use crate::control::packet::{Checked, ErrorMark, PacketClass};
use crate::control::rx_entry::{Op, ResponderEntry, RxEntry};
use ferroce_abi::limits::SRQ_BITS;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::CfgWrite;
use ferroce_rtl::desc::rx::{AnsweredPub, Kill, RqPub, RxMeta};
use ferroce_rtl::desc::tx::Kick;
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::stream::StreamIn;

/// Cycles from a packet at [`RxFront`]'s `rd_qp` output to `checked`: the latency of the state RAM that
/// is read meanwhile.
pub const FRONT_LATENCY: usize = RAM_LATENCY + 1;

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
    /// RETH length 0 or no multiple of that size.
    ragged: Bits<16>,
    /// Virtual address is no multiple of 8.
    misaligned: Bit,
}

/// Opcode classes that the front needs beside [`PacketClass`].
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Kind {
    response: Bit,
    ack: Bit,
    data: Bit,
    known: Bit,
}

/// A packet while its configuration is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Reading {
    op: Op,
    meta: RxMeta,
    /// The QP exists.
    exists: Bit,
    class: PacketClass,
    kind: Kind,
    sizes: Sizes,
    /// Wrong with any path MTU.
    wrong: Bit,
}

/// Reads the QP's configuration, and checks what does not depend on the QP's progress: QPN, enabled, P_Key (low 15 bits
/// equal and not 0, one side full member), peer address; then opcode, access right, and lengths against path MTU and RETH.
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
    /// Error mark of a QP with an SRQ, from the pipeline's end.
    pub mark: Signal<In, ErrorMark>,
    /// Answers given to READs and atomics.
    pub answered: Signal<In, AnsweredPub>,
    /// QPs that failed elsewhere.
    pub kills: StreamIn<Kill>,
    /// QPs whose requester has failed.
    pub halts: StreamIn<Kick>,
    /// Start no packet; from a register.
    pub hold: Signal<In, Bit>,
    /// A receive queue's position is to be read, in the same cycle.
    pub rd_queue: Signal<Out, Bits<14>>,
    /// A QP's state is to be read; `checked` follows [`FRONT_LATENCY`] cycles later.
    pub rd_qp: Signal<Out, Bits<14>>,
    /// QP of the packet that comes in `checked` five cycles later.
    pub early_qp: Signal<Out, Bits<14>>,
    /// Something enters the pipeline in this cycle.
    pub starting: Signal<Out, Bit>,
    /// The packet, after the checks.
    pub checked: Signal<Out, Checked>,
    qps: Constant<Bits<24>>,
    /// Number of the first SRQ among the receive queues.
    first_srq: Constant<Bits<14>>,
    srq_mask: Constant<Bits<SRQ_BITS>>,
    own_mask: Constant<Bits<14>>,
    inlet: RxEntry,
    table: Ram<ResponderEntry>,
    rq_fill: Ram<Bits<16>>,
    marks: Ram<Bit>,
    jobs_done: Ram<Bits<6>>,
    r2: DFF<Reading>,
    r3: DFF<Reading>,
    r4: DFF<Reading>,
    c4: DFF<ResponderEntry>,
    /// A packet for an existing QP.
    live4: DFF<Bit>,
    /// A packet for no QP.
    stray4: DFF<Bit>,
    pkey_ok4: DFF<Bit>,
    peer_ok4: DFF<Bit>,
    full4: DFF<Bit>,
    fits4: DFF<Bit>,
    more4: DFF<Bit>,
    marked4: DFF<Bit>,
    queue4: DFF<Bits<14>>,
    /// PSNs of the request, but for a ragged end.
    psns4: DFF<Bits<24>>,
    ragged4: DFF<Bit>,
    checked5: DFF<Checked>,
    checked6: DFF<Checked>,
    queue: Signal<Local, Bits<14>>,
    op: Signal<Local, Bits<5>>,
    meta: Signal<Local, RxMeta>,
    sizes: Signal<Local, Sizes>,
    c: Signal<Local, ResponderEntry>,
    r: Signal<Local, Reading>,
    refused: Signal<Local, Bit>,
    taken: Signal<Local, Bit>,
}

impl RxFront {
    /// For `2^log2_qps` QPs and `2^log2_srqs` SRQs.
    ///
    /// # Panics
    /// If `log2_qps` is not 1 to 13, or `log2_srqs` above it or above [`SRQ_BITS`].
    #[must_use]
    pub fn new(log2_qps: usize, log2_srqs: usize) -> Self {
        assert!((1..=13).contains(&log2_qps), "2^{log2_qps} QPs");
        assert!(
            log2_srqs <= log2_qps.min(SRQ_BITS),
            "2^{log2_srqs} SRQs beside 2^{log2_qps} QPs"
        );
        Self {
            clock: Signal::default(),
            packets: StreamIn::default(),
            answered: Signal::default(),
            kills: StreamIn::default(),
            halts: StreamIn::default(),
            cfg: Signal::default(),
            rq_pub: Signal::default(),
            mark: Signal::default(),
            hold: Signal::default(),
            rd_queue: Signal::default(),
            rd_qp: Signal::default(),
            early_qp: Signal::default(),
            starting: Signal::default(),
            checked: Signal::default(),
            qps: Constant::new((1u64 << log2_qps).into()),
            first_srq: Constant::new((1u64 << log2_qps).into()),
            srq_mask: Constant::new(((1u64 << log2_srqs) - 1).into()),
            own_mask: Constant::new(((1u64 << log2_qps) - 1).into()),
            inlet: RxEntry::default(),
            table: Ram::new(log2_qps),
            rq_fill: Ram::new(log2_qps + 1),
            marks: Ram::new(log2_qps),
            jobs_done: Ram::new(log2_qps),
            r2: DFF::default(),
            r3: DFF::default(),
            r4: DFF::default(),
            c4: DFF::default(),
            live4: DFF::default(),
            stray4: DFF::default(),
            pkey_ok4: DFF::default(),
            peer_ok4: DFF::default(),
            full4: DFF::default(),
            fits4: DFF::default(),
            more4: DFF::default(),
            marked4: DFF::default(),
            queue4: DFF::default(),
            psns4: DFF::default(),
            ragged4: DFF::default(),
            checked5: DFF::default(),
            checked6: DFF::default(),
            queue: Signal::default(),
            op: Signal::default(),
            meta: Signal::default(),
            sizes: Signal::default(),
            c: Signal::default(),
            r: Signal::default(),
            refused: Signal::default(),
            taken: Signal::default(),
        }
    }
}

/// 16 QPs and 4 SRQs.
impl Default for RxFront {
    fn default() -> Self {
        Self::new(4, 2)
    }
}

impl Logic for RxFront {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, r2, r3, r4, c4, live4, stray4, pkey_ok4, peer_ok4, full4, fits4, more4,
            checked5, marked4, queue4, psns4, ragged4, checked6
        );
        clock!(self, clock, inlet, table, rq_fill, marks, jobs_done);
        self.inlet.kills.data.next = self.kills.data.val();
        self.inlet.kills.valid.next = self.kills.valid.val();
        self.kills.ready.next = self.inlet.kills.ready.val();
        StreamIn::<Kick>::link(&mut self.halts, &mut self.inlet.halts);
        self.inlet.packets.data.next = self.packets.data.val();
        self.inlet.packets.valid.next = self.packets.valid.val();
        self.packets.ready.next = self.inlet.packets.ready.val();
        self.inlet.cfg.next = self.cfg.val();
        self.inlet.hold.next = self.hold.val();
        self.starting.next = self.inlet.starting.val();

        // Stage 1: the configuration is read, or written in packet order.
        self.meta.next = self.inlet.meta.val();
        self.early_qp.next = self.meta.val().dqpn.get_bits::<14>(0);
        self.table.rd_addr.next = bit_cast::<20, 24>(self.meta.val().dqpn);
        self.table.wr_addr.next = bit_cast::<20, 24>(self.meta.val().dqpn);
        self.table.wr_data.next = self.inlet.entry.val();
        self.table.wr_data.next.srq = self.inlet.entry.val().srq & self.srq_mask.val();
        self.table.wr_valid.next = self.inlet.op.val().valid
            & self.inlet.op.val().reconfig
            & !self.inlet.op.val().srq
            & (self.meta.val().dqpn < self.qps.val());
        self.r2.d.next.op = self.inlet.op.val();
        self.r2.d.next.meta = self.meta.val();
        self.r2.d.next.exists = self.meta.val().dqpn < self.qps.val();
        self.r2.d.next.wrong = false;
        self.op.next = self.meta.val().opcode.get_bits::<5>(0);
        // SEND 0x00..0x05, WRITE 0x06..0x0B: FIRST, MIDDLE, LAST, LAST_IMM, ONLY, ONLY_IMM each.
        self.r2.d.next.class.send = self.op.val() <= 0x05;
        self.r2.d.next.class.write = (self.op.val() >= 0x06) & (self.op.val() <= 0x0B);
        self.r2.d.next.class.begins = (self.op.val() == 0x00)
            | (self.op.val() == 0x04)
            | (self.op.val() == 0x05)
            | (self.op.val() == 0x06)
            | (self.op.val() == 0x0A)
            | (self.op.val() == 0x0B)
            | (self.op.val() == 0x0C)
            | (self.op.val() == 0x13)
            | (self.op.val() == 0x14);
        self.r2.d.next.class.ends = ((self.op.val() >= 0x02) & (self.op.val() <= 0x05))
            | ((self.op.val() >= 0x08) & (self.op.val() <= 0x0C))
            | (self.op.val() == 0x13)
            | (self.op.val() == 0x14);
        self.r2.d.next.class.read = self.op.val() == 0x0C;
        self.r2.d.next.class.atomic = (self.op.val() == 0x13) | (self.op.val() == 0x14);
        self.r2.d.next.class.swap = self.op.val() == 0x13;
        self.r2.d.next.class.imm = (self.op.val() == 0x03)
            | (self.op.val() == 0x05)
            | (self.op.val() == 0x09)
            | (self.op.val() == 0x0B);
        // READ responses, ACKNOWLEDGE, ATOMIC ACKNOWLEDGE.
        self.r2.d.next.kind.response = (self.op.val() >= 0x0D) & (self.op.val() <= 0x12);
        self.r2.d.next.kind.ack = self.op.val() == 0x11;
        self.r2.d.next.kind.data =
            ((self.op.val() >= 0x0D) & (self.op.val() <= 0x10)) | (self.op.val() == 0x12);
        self.r2.d.next.kind.known =
            (self.op.val() <= 0x0C) | (self.op.val() == 0x13) | (self.op.val() == 0x14);
        self.sizes.next = Default::default();
        for n in 8..13 {
            self.sizes.next.full = self
                .sizes
                .val()
                .full
                .replace_bit(n, self.meta.val().len == (1u64 << n));
            self.sizes.next.fits = self
                .sizes
                .val()
                .fits
                .replace_bit(n, self.meta.val().len <= (1u64 << n));
            self.sizes.next.more = self
                .sizes
                .val()
                .more
                .replace_bit(n, self.meta.val().dma_len > (1u64 << n));
        }
        // The bits of the length below each path MTU; a length of 0 takes a PSN too.
        self.sizes.next.ragged = bits::<16>(0)
            .replace_bit(8, self.meta.val().dma_len.get_bits::<8>(0).any())
            .replace_bit(9, self.meta.val().dma_len.get_bits::<9>(0).any())
            .replace_bit(10, self.meta.val().dma_len.get_bits::<10>(0).any())
            .replace_bit(11, self.meta.val().dma_len.get_bits::<11>(0).any())
            .replace_bit(12, self.meta.val().dma_len.get_bits::<12>(0).any());
        if self.meta.val().dma_len == 0 {
            self.sizes.next.ragged = 0x1F00.into();
        }
        self.sizes.next.misaligned = self.meta.val().va.get_bits::<3>(0).any();
        self.sizes.next.empty = self.meta.val().len == 0;
        self.sizes.next.exact = self.meta.val().dma_len == bit_cast::<32, 13>(self.meta.val().len);
        self.sizes.next.huge = self.meta.val().dma_len > 0x8000_0000;
        self.sizes.next.padded = self.meta.val().pad != 0;
        self.r2.d.next.sizes = self.sizes.val();

        self.marks.rd_addr.next = bit_cast::<20, 24>(self.meta.val().dqpn);
        self.marks.wr_addr.next = bit_cast::<20, 14>(self.mark.val().qp);
        self.marks.wr_data.next = self.mark.val().failed;
        self.marks.wr_valid.next = self.mark.val().valid;

        // Stage 2: what is wrong with any path MTU.
        self.rq_fill.wr_addr.next = bit_cast::<20, 14>(self.rq_pub.val().queue);
        self.rq_fill.wr_data.next = self.rq_pub.val().fetched;
        self.rq_fill.wr_valid.next = self.rq_pub.val().valid;
        self.r3.d.next = self.r2.q.val();
        self.r3.d.next.wrong = !self.r2.q.val().kind.known;
        if !self.r2.q.val().class.ends & self.r2.q.val().sizes.padded {
            self.r3.d.next.wrong = true;
        }
        if self.r2.q.val().class.ends & !self.r2.q.val().class.begins & self.r2.q.val().sizes.empty
        {
            self.r3.d.next.wrong = true;
        }
        if self.r2.q.val().class.write & self.r2.q.val().class.begins {
            if self.r2.q.val().sizes.huge {
                self.r3.d.next.wrong = true;
            }
            if self.r2.q.val().class.ends & !self.r2.q.val().sizes.exact {
                self.r3.d.next.wrong = true;
            }
        }

        if self.r2.q.val().class.read
            & (self.r2.q.val().sizes.huge
                | self.r2.q.val().sizes.padded
                | !self.r2.q.val().sizes.empty)
        {
            self.r3.d.next.wrong = true;
        }
        if self.r2.q.val().class.atomic
            & (self.r2.q.val().sizes.misaligned
                | self.r2.q.val().sizes.padded
                | !self.r2.q.val().sizes.empty)
        {
            self.r3.d.next.wrong = true;
        }
        self.jobs_done.rd_addr.next = bit_cast::<20, 24>(self.r2.q.val().meta.dqpn);
        self.jobs_done.wr_addr.next = bit_cast::<20, 14>(self.answered.val().qp);
        self.jobs_done.wr_data.next = self.answered.val().jobs;
        self.jobs_done.wr_valid.next = self.answered.val().valid;

        // Stage 3: the configuration is here. The reads that depend on it begin.
        self.c.next = self.table.rd_data.val();
        self.rd_qp.next = self.r3.q.val().meta.dqpn.get_bits::<14>(0);
        self.queue.next = self.r3.q.val().meta.dqpn.get_bits::<14>(0) & self.own_mask.val();
        if self.r3.q.val().op.reconfig {
            if self.r3.q.val().op.srq {
                self.queue.next = (self.r3.q.val().meta.dqpn.get_bits::<14>(0)
                    & bit_cast::<14, SRQ_BITS>(self.srq_mask.val()))
                    | self.first_srq.val();
            }
        } else if self.c.val().shared {
            self.queue.next = bit_cast::<14, SRQ_BITS>(self.c.val().srq) | self.first_srq.val();
        }
        self.rd_queue.next = self.queue.val();
        self.rq_fill.rd_addr.next = bit_cast::<20, 14>(self.queue.val());
        self.queue4.d.next = self.queue.val();
        self.marked4.d.next = self.marks.rd_data.val() & self.c.val().shared;
        self.r4.d.next = self.r3.q.val();
        self.c4.d.next = self.c.val();
        self.live4.d.next = self.r3.q.val().op.valid
            & !self.r3.q.val().op.reconfig
            & !self.r3.q.val().op.kill
            & !self.r3.q.val().op.halt
            & self.r3.q.val().exists;
        self.stray4.d.next =
            self.r3.q.val().op.valid & !self.r3.q.val().op.reconfig & !self.r3.q.val().exists;
        self.pkey_ok4.d.next = (self.c.val().pkey.get_bits::<15>(0)
            == self.r3.q.val().meta.pkey.get_bits::<15>(0))
            & self.c.val().pkey.get_bits::<15>(0).any()
            & (self.c.val().pkey.get_bit(15) | self.r3.q.val().meta.pkey.get_bit(15));
        self.peer_ok4.d.next = self.c.val().peer_ip == self.r3.q.val().meta.src_ip;
        self.full4.d.next = self
            .r3
            .q
            .val()
            .sizes
            .full
            .get_bit(self.c.val().pmtu.index());
        self.fits4.d.next = self
            .r3
            .q
            .val()
            .sizes
            .fits
            .get_bit(self.c.val().pmtu.index());
        self.more4.d.next = self
            .r3
            .q
            .val()
            .sizes
            .more
            .get_bit(self.c.val().pmtu.index());

        self.psns4.d.next = 0.into();
        self.ragged4.d.next = true;
        if self.r3.q.val().class.read {
            self.ragged4.d.next = self
                .r3
                .q
                .val()
                .sizes
                .ragged
                .get_bit(self.c.val().pmtu.index());
            if self.c.val().pmtu == 8 {
                self.psns4.d.next = self.r3.q.val().meta.dma_len.get_bits::<24>(8);
            }
            if self.c.val().pmtu == 9 {
                self.psns4.d.next =
                    bit_cast::<24, 23>(self.r3.q.val().meta.dma_len.get_bits::<23>(9));
            }
            if self.c.val().pmtu == 10 {
                self.psns4.d.next =
                    bit_cast::<24, 22>(self.r3.q.val().meta.dma_len.get_bits::<22>(10));
            }
            if self.c.val().pmtu == 11 {
                self.psns4.d.next =
                    bit_cast::<24, 21>(self.r3.q.val().meta.dma_len.get_bits::<21>(11));
            }
            if self.c.val().pmtu == 12 {
                self.psns4.d.next =
                    bit_cast::<24, 20>(self.r3.q.val().meta.dma_len.get_bits::<20>(12));
            }
        }

        // Stage 4: all together.
        self.r.next = self.r4.q.val();
        self.checked5.d.next.valid = self.r.val().op.valid;
        self.checked5.d.next.reconfig = self.r.val().op.valid
            & self.r.val().op.reconfig
            & (self.r.val().exists | self.r.val().op.srq);
        self.checked5.d.next.restart = self.r.val().op.restart;
        self.checked5.d.next.restart_rq = self.r.val().op.restart_rq;
        self.checked5.d.next.stops = self.r.val().op.stops;
        self.checked5.d.next.kill =
            self.r.val().op.valid & self.r.val().op.kill & self.r.val().exists;
        self.checked5.d.next.psns =
            self.psns4.q.val() + bit_cast::<24, 1>(self.ragged4.q.val().into());
        self.checked5.d.next.job_limit =
            self.jobs_done.rd_data.val() + bit_cast::<6, 5>(self.c4.q.val().max_reads);
        self.checked5.d.next.halt =
            self.r.val().op.valid & self.r.val().op.halt & self.r.val().exists;
        self.checked5.d.next.pmtu = self.c4.q.val().pmtu;
        self.checked5.d.next.qp = self.r.val().meta.dqpn.get_bits::<14>(0);
        self.checked5.d.next.meta = self.r.val().meta;
        self.checked5.d.next.class = self.r.val().class;
        self.checked5.d.next.pd = self.c4.q.val().pd;
        self.checked5.d.next.cq = self.c4.q.val().cq;
        self.checked5.d.next.min_rnr = self.c4.q.val().min_rnr;
        self.checked5.d.next.shared = self.c4.q.val().shared;
        self.checked5.d.next.queue = self.queue4.q.val();
        self.checked5.d.next.fetched = 0.into();
        // One outcome each, written flat: a chain of `else` becomes a chain of LUTs.
        self.checked5.d.next.drop.qpn = self.stray4.q.val();
        // A QP in error must take no more WQEs of an SRQ.
        self.refused.next = self.marked4.q.val() & !self.r.val().kind.response;
        self.checked5.d.next.drop.state =
            self.live4.q.val() & (!self.c4.q.val().enabled | self.refused.val());
        self.checked5.d.next.drop.pkey = self.live4.q.val()
            & self.c4.q.val().enabled
            & !self.refused.val()
            & !self.pkey_ok4.q.val();
        self.checked5.d.next.drop.peer = self.live4.q.val()
            & self.c4.q.val().enabled
            & !self.refused.val()
            & self.pkey_ok4.q.val()
            & !self.peer_ok4.q.val();
        self.taken.next = self.live4.q.val()
            & self.c4.q.val().enabled
            & !self.refused.val()
            & self.pkey_ok4.q.val()
            & self.peer_ok4.q.val();
        self.checked5.d.next.request = self.taken.val() & !self.r.val().kind.response;
        self.checked5.d.next.response = self.taken.val() & self.r.val().kind.ack;
        self.checked5.d.next.data = self.taken.val() & self.r.val().kind.data;
        self.checked5.d.next.full = self.full4.q.val();
        self.checked5.d.next.fits = self.fits4.q.val();
        self.checked5.d.next.drop.opcode = false;
        self.checked5.d.next.invalid = self.r.val().wrong;
        if self.r.val().class.write & !self.c4.q.val().remote_write {
            self.checked5.d.next.invalid = true;
        }
        if (self.r.val().class.read & !self.c4.q.val().remote_read)
            | (self.r.val().class.atomic & !self.c4.q.val().remote_atomic)
        {
            self.checked5.d.next.invalid = true;
        }
        if self.r.val().class.ends & !self.fits4.q.val() {
            self.checked5.d.next.invalid = true;
        }
        if !self.r.val().class.ends & !self.full4.q.val() {
            self.checked5.d.next.invalid = true;
        }
        // A LAST packet must follow a FIRST and is not empty.
        if self.r.val().class.write
            & self.r.val().class.begins
            & !self.r.val().class.ends
            & !self.more4.q.val()
        {
            self.checked5.d.next.invalid = true;
        }

        // Stage 5: the fill has come.
        self.checked6.d.next = self.checked5.q.val();
        self.checked6.d.next.fetched = self.rq_fill.rd_data.val();
        // Gated, so that what the state loop compares at once are registers and not the end of a slow shift register.
        if !self.checked5.q.val().valid {
            self.checked6.d.next.meta.psn = 0.into();
            self.checked6.d.next.meta.len = 0.into();
        }
        self.checked.next = self.checked6.q.val();
    }
}

ferroce_emit::register_leaf!("rx_front", RxFront::default);

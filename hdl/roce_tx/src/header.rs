//! Builds the headers of a frame.

use crate::desc::TxHdr;
use crate::header_bth::{TxBth, BTH_LATENCY};
use crate::header_ipv4::{TxIpv4, IPV4_LATENCY, L4_BITS};
use ferroce_abi::cfg::{AvCfg as AvEntry, PortCfg as PortEntry};
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::cfg::{table, AvCfg, CfgWrite, PortCfg};
use ferroce_rtl::desc::tx::TxPkt;
use ferroce_rtl::header::{InsertJob, InsertPlan, InsertPlanner, INSERT_PLAN_LATENCY};
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

const MAC: usize = PortEntry::FIELDS[0].offset;
const IP: usize = PortEntry::FIELDS[1].offset;
const DMAC: usize = AvEntry::FIELDS[0].offset;
const DIP: usize = AvEntry::FIELDS[1].offset;
const SPORT: usize = AvEntry::FIELDS[2].offset;
const DQPN: usize = AvEntry::FIELDS[3].offset;
const PKEY: usize = AvEntry::FIELDS[4].offset;
const TOS: usize = AvEntry::FIELDS[5].offset;
const TTL: usize = AvEntry::FIELDS[6].offset;

/// Ethernet, IPv4, UDP and BTH.
const BASE_BYTES: u64 = 54;
/// BTH and ICRC, which the UDP length counts besides the payload and its pad.
const BTH_ICRC_BYTES: u64 = 16;

/// Cycles from the input to the output FIFO's input: address vector, register, the slower one of the header
/// builders.
const PIPE: usize = RAM_LATENCY + 1 + IPV4_LATENCY;
/// Headers wait here while the frame before them is put together: a few of the shortest frames' worth beside what is in flight.
const FIFO_LOG2: usize = 5;

/// Lengths of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FrameLens {
    /// A packet is here.
    pub valid: Bit,
    /// Header bytes.
    pub hdr_len: Bits<7>,
    /// Payload bytes.
    pub len: Bits<13>,
    /// Payload and pad in units of 4 bytes.
    pub words: Bits<11>,
    /// Offset of the payload in its first beat.
    pub src_off: Bits<6>,
}

/// A packet a cycle: reads the address vector, adds up the lengths, fills all headers.
#[derive(LogicBlock, Module)]
pub struct TxHeader {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// Packets, from registers.
    pub from: StreamIn<TxPkt>,
    /// Their headers, to be put in front of their payload.
    pub to: StreamOut<InsertJob>,
    port: DFF<PortCfg>,
    /// An address vector on its way into the tables.
    write1: DFF<Bit>,
    write1_qp: DFF<Bits<16>>,
    write1_av: DFF<AvCfg>,
    write1_sum: DFF<Bits<17>>,
    write2: DFF<Bit>,
    write2_qp: DFF<Bits<16>>,
    write2_av: DFF<AvCfg>,
    write2_sum: DFF<Bits<18>>,
    vectors: Ram<AvCfg>,
    /// Each vector's share of the IPv4 checksum, see [`TxIpv4`].
    sums: Ram<Bits<18>>,
    pkts: Delay<TxPkt>,
    valids: Delay<Bit>,
    words1: DFF<Bits<11>>,
    ext1: DFF<Bits<7>>,
    udp_ext1: DFF<Bits<7>>,
    ext2: DFF<Bits<7>>,
    words2: DFF<Bits<11>>,
    udp_payload2: DFF<Bits<13>>,
    udp_payload3: DFF<Bits<13>>,
    lens3: DFF<FrameLens>,
    av_reg: DFF<AvCfg>,
    av_sum: DFF<Bits<18>>,
    planner: InsertPlanner,
    plan_wait: Delay<InsertPlan>,
    valid_wait: Delay<Bit>,
    ipv4: TxIpv4,
    bth: TxBth,
    bth_wait: Delay<Bits<320>>,
    hdrs: SyncFifo<TxHdr>,
    ext: Signal<Local, Bits<7>>,
    av_entry: Signal<Local, AvCfg>,
}

impl TxHeader {
    /// For `2^log2_qps` QPs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            from: StreamIn::default(),
            to: StreamOut::default(),
            port: DFF::default(),
            write1: DFF::default(),
            write1_qp: DFF::default(),
            write1_av: DFF::default(),
            write1_sum: DFF::default(),
            write2: DFF::default(),
            write2_qp: DFF::default(),
            write2_av: DFF::default(),
            write2_sum: DFF::default(),
            vectors: Ram::new(log2_qps),
            sums: Ram::new(log2_qps),
            pkts: Delay::new(RAM_LATENCY),
            valids: Delay::new(RAM_LATENCY),
            words1: DFF::default(),
            ext1: DFF::default(),
            udp_ext1: DFF::default(),
            ext2: DFF::default(),
            words2: DFF::default(),
            udp_payload2: DFF::default(),
            udp_payload3: DFF::default(),
            lens3: DFF::default(),
            av_reg: DFF::default(),
            av_sum: DFF::default(),
            planner: InsertPlanner::default(),
            plan_wait: Delay::new(IPV4_LATENCY - INSERT_PLAN_LATENCY),
            valid_wait: Delay::new(IPV4_LATENCY),
            ipv4: TxIpv4::default(),
            bth: TxBth::default(),
            bth_wait: Delay::new(1 + IPV4_LATENCY - BTH_LATENCY),
            hdrs: SyncFifo::quick_with_reserve(FIFO_LOG2, PIPE + 1),
            ext: Signal::default(),
            av_entry: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for TxHeader {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for TxHeader {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, write1, write1_qp, write1_av, write1_sum, write2, write2_qp, write2_av,
            write2_sum
        );
        dff_setup!(
            self,
            clock,
            port,
            words1,
            ext1,
            udp_ext1,
            ext2,
            words2,
            udp_payload2,
            udp_payload3,
            lens3,
            av_reg,
            av_sum
        );
        clock!(
            self, clock, vectors, sums, pkts, valids, planner, plan_wait, valid_wait, ipv4, bth,
            bth_wait, hdrs
        );

        // Tables.
        self.av_entry.next.dmac = self.cfg.val().data.get_bits::<48>(DMAC);
        self.av_entry.next.dip = self.cfg.val().data.get_bits::<32>(DIP);
        self.av_entry.next.sport = self.cfg.val().data.get_bits::<16>(SPORT);
        self.av_entry.next.dqpn = self.cfg.val().data.get_bits::<24>(DQPN);
        self.av_entry.next.pkey = self.cfg.val().data.get_bits::<16>(PKEY);
        self.av_entry.next.tos = self.cfg.val().data.get_bits::<8>(TOS);
        self.av_entry.next.ttl = self.cfg.val().data.get_bits::<8>(TTL);
        // Both in the same cycle, so that no packet sees one without the other.
        self.write1.d.next = self.cfg.val().valid & (self.cfg.val().table == table::AV);
        self.write1_qp.d.next = self.cfg.val().index;
        self.write1_av.d.next = self.av_entry.val();
        self.write1_sum.d.next = bit_cast::<17, 16>(self.av_entry.val().dip.get_bits::<16>(0))
            + bit_cast::<17, 16>(self.av_entry.val().dip.get_bits::<16>(16));
        self.write2.d.next = self.write1.q.val();
        self.write2_qp.d.next = self.write1_qp.q.val();
        self.write2_av.d.next = self.write1_av.q.val();
        self.write2_sum.d.next = bit_cast::<18, 17>(self.write1_sum.q.val())
            + (bit_cast::<18, 8>(self.write1_av.q.val().tos)
                | (bit_cast::<18, 8>(self.write1_av.q.val().ttl) << 8));
        self.vectors.wr_valid.next = self.write2.q.val();
        self.vectors.wr_addr.next = bit_cast::<20, 16>(self.write2_qp.q.val());
        self.vectors.wr_data.next = self.write2_av.q.val();
        self.sums.wr_valid.next = self.write2.q.val();
        self.sums.wr_addr.next = bit_cast::<20, 16>(self.write2_qp.q.val());
        self.sums.wr_data.next = self.write2_sum.q.val();
        if self.cfg.val().valid & (self.cfg.val().table == table::PORT) {
            self.port.d.next.mac = self.cfg.val().data.get_bits::<48>(MAC);
            self.port.d.next.ip = self.cfg.val().data.get_bits::<32>(IP);
        }

        // Address vector.
        self.from.ready.next = !self.hdrs.almost_full.val();
        self.vectors.rd_addr.next = bit_cast::<20, 14>(self.from.data.val().qp);
        self.sums.rd_addr.next = bit_cast::<20, 14>(self.from.data.val().qp);
        self.pkts.data_in.next = self.from.data.val();
        self.valids.data_in.next = self.from.valid.val() & !self.hdrs.almost_full.val();
        self.av_reg.d.next = self.vectors.rd_data.val();
        self.av_sum.d.next = self.sums.rd_data.val();

        // Lengths, beside the RAM's two cycles. Payload and pad are the next multiple of 4.
        self.ext.next = 0.into();
        if self.from.data.val().has_reth & self.from.data.val().has_imm {
            self.ext.next = 20.into();
        } else if self.from.data.val().has_reth {
            self.ext.next = 16.into();
        } else if self.from.data.val().has_atomic {
            self.ext.next = 28.into();
        } else if self.from.data.val().has_value {
            self.ext.next = 12.into();
        } else if self.from.data.val().has_imm | self.from.data.val().has_aeth {
            self.ext.next = 4.into();
        }
        self.ext1.d.next = self.ext.val();
        self.udp_ext1.d.next = self.ext.val() + BTH_ICRC_BYTES;
        self.words1.d.next = (self.from.data.val().len + 3).get_bits::<11>(2);
        self.ext2.d.next = self.ext1.q.val();
        self.words2.d.next = self.words1.q.val();
        self.udp_payload2.d.next = (bit_cast::<13, 11>(self.words1.q.val()) << 2)
            + bit_cast::<13, 7>(self.udp_ext1.q.val());

        self.lens3.d.next.valid = self.valids.data_out.val();
        self.lens3.d.next.hdr_len = self.ext2.q.val() + BASE_BYTES;
        self.lens3.d.next.len = self.pkts.data_out.val().len;
        self.lens3.d.next.words = self.words2.q.val();
        self.lens3.d.next.src_off = self.pkts.data_out.val().addr.get_bits::<6>(0);
        self.planner.hdr_len.next = self.lens3.q.val().hdr_len;
        self.planner.len.next = self.lens3.q.val().len;
        self.planner.padded_len.next = bit_cast::<13, 11>(self.lens3.q.val().words) << 2;
        self.planner.src_off.next = self.lens3.q.val().src_off;
        self.plan_wait.data_in.next = self.planner.plan.val();
        self.valid_wait.data_in.next = self.lens3.q.val().valid;
        self.udp_payload3.d.next = self.udp_payload2.q.val();

        self.ipv4.port.next = self.port.q.val();
        self.ipv4.av.next = self.av_reg.q.val();
        self.ipv4.av_sum.next = self.av_sum.q.val();
        self.ipv4.udp_payload.next = self.udp_payload3.q.val();
        self.bth.pkt.next = self.pkts.data_out.val();
        self.bth.av.next = self.vectors.rd_data.val();
        self.bth_wait.data_in.next = self.bth.hdr.val();

        // All of it.
        self.hdrs.input.valid.next = self.valid_wait.data_out.val();
        self.hdrs.input.data.next.hdr = bit_cast::<656, 336>(self.ipv4.hdr.val())
            | (bit_cast::<656, 320>(self.bth_wait.data_out.val()) << L4_BITS as u64);
        self.hdrs.input.data.next.plan = self.plan_wait.data_out.val();
        self.to.data.next.hdr = bit_cast::<1016, 656>(self.hdrs.output.data.val().hdr);
        self.to.data.next.plan = self.hdrs.output.data.val().plan;
        self.to.valid.next = self.hdrs.output.valid.val();
        self.hdrs.output.ready.next = self.to.ready.val();
    }
}

ferroce_emit::register_leaf!("header", TxHeader::default);

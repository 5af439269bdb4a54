//! BTH and extension headers of a frame.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::AvCfg;
use ferroce_rtl::desc::tx::TxPkt;

/// Cycles from the inputs to `hdr`.
pub const BTH_LATENCY: usize = 2;

/// Migration request: the state "migrated", as everybody without path migration sends it.
const MIGRATED: u64 = 1 << 6;

/// BTH in wire order, first byte in the lowest bits; every field is swapped into that order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct BthHdr {
    /// Opcode.
    pub opcode: Bits<8>,
    /// Solicited event, MigReq, pad count, transport version 0.
    pub flags: Bits<8>,
    /// P_Key.
    pub pkey: Bits<16>,
    /// FECN, BECN and reserved bits.
    pub resv8: Bits<8>,
    /// Destination QPN.
    pub dqpn: Bits<24>,
    /// AckReq and reserved bits.
    pub ackreq: Bits<8>,
    /// PSN.
    pub psn: Bits<24>,
}

/// RETH in wire order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RethHdr {
    /// Virtual address.
    pub va: Bits<64>,
    /// R_Key.
    pub rkey: Bits<32>,
    /// DMA length.
    pub dma_len: Bits<32>,
}

/// An AtomicETH's operands, behind its address and R_Key, in wire order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AtomicHdr {
    /// Swap or add data.
    pub operand: Bits<64>,
    /// Compare data.
    pub compare: Bits<64>,
}

/// The BTH, then RETH, AtomicETH, AETH, AtomicAckETH and ImmDt as far as the packet has them. RETH and AETH never come together, ImmDt and
/// AETH neither.
#[derive(LogicBlock, Module, Default)]
pub struct TxBth {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The packet.
    pub pkt: Signal<In, TxPkt>,
    /// The peer.
    pub av: Signal<In, AvCfg>,
    /// The headers in wire order, [`BTH_LATENCY`] cycles later; zero after the last one.
    pub hdr: Signal<Out, Bits<320>>,
    bth1: DFF<BthHdr>,
    reth1: DFF<RethHdr>,
    imm1: DFF<Bits<32>>,
    word1: DFF<Bits<32>>,
    has_reth1: DFF<Bit>,
    has_value1: DFF<Bit>,
    has_atomic1: DFF<Bit>,
    atomic1: DFF<AtomicHdr>,
    hdr2: DFF<Bits<320>>,
    pad: Signal<Local, Bits<2>>,
}

impl Logic for TxBth {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            bth1,
            reth1,
            imm1,
            word1,
            has_reth1,
            has_value1,
            has_atomic1,
            atomic1,
            hdr2
        );

        self.pad.next = bits::<2>(0) - self.pkt.val().len.get_bits::<2>(0);
        self.bth1.d.next.opcode = self.pkt.val().opcode;
        self.bth1.d.next.flags = (bit_cast::<8, 1>(self.pkt.val().se.into()) << 7)
            | (bit_cast::<8, 2>(self.pad.val()) << 4)
            | MIGRATED;
        self.bth1.d.next.pkey = (self.av.val().pkey << 8) | (self.av.val().pkey >> 8);
        self.bth1.d.next.resv8 = 0.into();
        self.bth1.d.next.dqpn = bit_cast::<24, 8>(self.av.val().dqpn.get_bits::<8>(16))
            | (bit_cast::<24, 8>(self.av.val().dqpn.get_bits::<8>(8)) << 8)
            | (bit_cast::<24, 8>(self.av.val().dqpn.get_bits::<8>(0)) << 16);
        self.bth1.d.next.ackreq = bit_cast::<8, 1>(self.pkt.val().ackreq.into()) << 7;
        self.bth1.d.next.psn = bit_cast::<24, 8>(self.pkt.val().psn.get_bits::<8>(16))
            | (bit_cast::<24, 8>(self.pkt.val().psn.get_bits::<8>(8)) << 8)
            | (bit_cast::<24, 8>(self.pkt.val().psn.get_bits::<8>(0)) << 16);

        self.reth1.d.next.va = bit_cast::<64, 8>(self.pkt.val().va.get_bits::<8>(56))
            | (bit_cast::<64, 8>(self.pkt.val().va.get_bits::<8>(48)) << 8)
            | (bit_cast::<64, 8>(self.pkt.val().va.get_bits::<8>(40)) << 16)
            | (bit_cast::<64, 8>(self.pkt.val().va.get_bits::<8>(32)) << 24)
            | (bit_cast::<64, 8>(self.pkt.val().va.get_bits::<8>(24)) << 32)
            | (bit_cast::<64, 8>(self.pkt.val().va.get_bits::<8>(16)) << 40)
            | (bit_cast::<64, 8>(self.pkt.val().va.get_bits::<8>(8)) << 48)
            | (bit_cast::<64, 8>(self.pkt.val().va.get_bits::<8>(0)) << 56);
        self.reth1.d.next.rkey = bit_cast::<32, 8>(self.pkt.val().rkey.get_bits::<8>(24))
            | (bit_cast::<32, 8>(self.pkt.val().rkey.get_bits::<8>(16)) << 8)
            | (bit_cast::<32, 8>(self.pkt.val().rkey.get_bits::<8>(8)) << 16)
            | (bit_cast::<32, 8>(self.pkt.val().rkey.get_bits::<8>(0)) << 24);
        self.reth1.d.next.dma_len = bit_cast::<32, 8>(self.pkt.val().dma_len.get_bits::<8>(24))
            | (bit_cast::<32, 8>(self.pkt.val().dma_len.get_bits::<8>(16)) << 8)
            | (bit_cast::<32, 8>(self.pkt.val().dma_len.get_bits::<8>(8)) << 16)
            | (bit_cast::<32, 8>(self.pkt.val().dma_len.get_bits::<8>(0)) << 24);
        self.atomic1.d.next.operand = bit_cast::<64, 8>(self.pkt.val().addr.get_bits::<8>(56))
            | (bit_cast::<64, 8>(self.pkt.val().addr.get_bits::<8>(48)) << 8)
            | (bit_cast::<64, 8>(self.pkt.val().addr.get_bits::<8>(40)) << 16)
            | (bit_cast::<64, 8>(self.pkt.val().addr.get_bits::<8>(32)) << 24)
            | (bit_cast::<64, 8>(self.pkt.val().addr.get_bits::<8>(24)) << 32)
            | (bit_cast::<64, 8>(self.pkt.val().addr.get_bits::<8>(16)) << 40)
            | (bit_cast::<64, 8>(self.pkt.val().addr.get_bits::<8>(8)) << 48)
            | (bit_cast::<64, 8>(self.pkt.val().addr.get_bits::<8>(0)) << 56);
        self.atomic1.d.next.compare = bit_cast::<64, 8>(self.pkt.val().compare.get_bits::<8>(56))
            | (bit_cast::<64, 8>(self.pkt.val().compare.get_bits::<8>(48)) << 8)
            | (bit_cast::<64, 8>(self.pkt.val().compare.get_bits::<8>(40)) << 16)
            | (bit_cast::<64, 8>(self.pkt.val().compare.get_bits::<8>(32)) << 24)
            | (bit_cast::<64, 8>(self.pkt.val().compare.get_bits::<8>(24)) << 32)
            | (bit_cast::<64, 8>(self.pkt.val().compare.get_bits::<8>(16)) << 40)
            | (bit_cast::<64, 8>(self.pkt.val().compare.get_bits::<8>(8)) << 48)
            | (bit_cast::<64, 8>(self.pkt.val().compare.get_bits::<8>(0)) << 56);
        self.has_reth1.d.next = self.pkt.val().has_reth;
        self.has_atomic1.d.next = self.pkt.val().has_atomic;
        self.has_value1.d.next = self.pkt.val().has_value;

        // The one four-byte header: AETH or ImmDt. The immediate is in wire order already.
        self.imm1.d.next = 0.into();
        self.word1.d.next = 0.into();
        if self.pkt.val().has_imm & self.pkt.val().has_reth {
            self.imm1.d.next = self.pkt.val().imm;
        } else if self.pkt.val().has_imm {
            self.word1.d.next = self.pkt.val().imm;
        } else if self.pkt.val().has_aeth {
            self.word1.d.next = bit_cast::<32, 8>(self.pkt.val().syndrome)
                | (bit_cast::<32, 8>(self.pkt.val().msn.get_bits::<8>(16)) << 8)
                | (bit_cast::<32, 8>(self.pkt.val().msn.get_bits::<8>(8)) << 16)
                | (bit_cast::<32, 8>(self.pkt.val().msn.get_bits::<8>(0)) << 24);
        }

        self.hdr2.d.next = bit_cast::<320, 96>(self.bth1.q.val().into())
            | (bit_cast::<320, 32>(self.word1.q.val()) << 96);
        if self.has_value1.q.val() {
            self.hdr2.d.next = bit_cast::<320, 96>(self.bth1.q.val().into())
                | (bit_cast::<320, 32>(self.word1.q.val()) << 96)
                | (bit_cast::<320, 64>(self.reth1.q.val().va) << 128);
        }
        if self.has_reth1.q.val() {
            self.hdr2.d.next = bit_cast::<320, 96>(self.bth1.q.val().into())
                | (bit_cast::<320, 128>(self.reth1.q.val().into()) << 96)
                | (bit_cast::<320, 32>(self.imm1.q.val()) << 224);
        }
        if self.has_atomic1.q.val() {
            self.hdr2.d.next = bit_cast::<320, 96>(self.bth1.q.val().into())
                | (bit_cast::<320, 64>(self.reth1.q.val().va) << 96)
                | (bit_cast::<320, 32>(self.reth1.q.val().rkey) << 160)
                | (bit_cast::<320, 128>(self.atomic1.q.val().into()) << 192);
        }
        self.hdr.next = self.hdr2.q.val();
    }
}

ferroce_emit::register_leaf!("header_bth", TxBth::default);

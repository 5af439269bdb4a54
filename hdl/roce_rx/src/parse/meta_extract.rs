//! Header fields of a frame's first two beats.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::RxMeta;

/// Collects the fields of [`RxMeta`] that stand in the frame itself, one cycle after the beats; lengths are
/// left 0. Fields of extension headers that the opcode does not have are meaningless.
#[derive(LogicBlock, Module, Default)]
pub struct MetaExtract {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// `data` is the first beat of a frame.
    pub first: Signal<In, Bit>,
    /// `data` is the second beat.
    pub second: Signal<In, Bit>,
    /// The beat's bytes.
    pub data: Signal<In, Bits<512>>,
    /// The fields, of the frame that the beat of one cycle ago belongs to.
    pub meta: Signal<Out, RxMeta>,
    fields: DFF<RxMeta>,
    raw_qpn: Signal<Local, Bits<24>>,
    raw_psn: Signal<Local, Bits<24>>,
    raw_ip: Signal<Local, Bits<32>>,
    raw_ext0: Signal<Local, Bits<32>>,
    raw_ext1: Signal<Local, Bits<32>>,
    raw_len: Signal<Local, Bits<32>>,
    len: Signal<Local, Bits<32>>,
    raw_low: Signal<Local, Bits<32>>,
    raw_compare0: Signal<Local, Bits<32>>,
    raw_compare1: Signal<Local, Bits<32>>,
    low: Signal<Local, Bits<32>>,
    compare0: Signal<Local, Bits<32>>,
    compare1: Signal<Local, Bits<32>>,
    ext0: Signal<Local, Bits<32>>,
    ext1: Signal<Local, Bits<32>>,
}

impl Logic for MetaExtract {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, fields);
        // Byte k of the frame is bits 8k+7:8k of the first beat. IPv4 begins at byte 14, UDP at
        // 34, BTH at 42, extension headers at 54; multi-byte fields are big-endian.
        self.raw_qpn.next = self.data.val().get_bits::<24>(376);
        self.raw_psn.next = self.data.val().get_bits::<24>(408);
        self.raw_ip.next = self.data.val().get_bits::<32>(208);
        // First words after the BTH: virtual address, AETH or immediate.
        self.raw_ext0.next = self.data.val().get_bits::<32>(432);
        self.raw_ext1.next = self.data.val().get_bits::<32>(464);
        // In the second beat.
        self.raw_len.next = self.data.val().get_bits::<32>(16);
        self.raw_low.next = self.data.val().get_bits::<32>(48);
        self.raw_compare0.next = self.data.val().get_bits::<32>(80);
        self.raw_compare1.next = self.data.val().get_bits::<32>(112);
        self.ext0.next = (self.raw_ext0.val() << 24)
            | ((self.raw_ext0.val() & 0xFF00) << 8)
            | ((self.raw_ext0.val() >> 8) & 0xFF00)
            | (self.raw_ext0.val() >> 24);
        self.ext1.next = (self.raw_ext1.val() << 24)
            | ((self.raw_ext1.val() & 0xFF00) << 8)
            | ((self.raw_ext1.val() >> 8) & 0xFF00)
            | (self.raw_ext1.val() >> 24);
        self.len.next = (self.raw_len.val() << 24)
            | ((self.raw_len.val() & 0xFF00) << 8)
            | ((self.raw_len.val() >> 8) & 0xFF00)
            | (self.raw_len.val() >> 24);
        self.low.next = (self.raw_low.val() << 24)
            | ((self.raw_low.val() & 0xFF00) << 8)
            | ((self.raw_low.val() >> 8) & 0xFF00)
            | (self.raw_low.val() >> 24);
        self.compare0.next = (self.raw_compare0.val() << 24)
            | ((self.raw_compare0.val() & 0xFF00) << 8)
            | ((self.raw_compare0.val() >> 8) & 0xFF00)
            | (self.raw_compare0.val() >> 24);
        self.compare1.next = (self.raw_compare1.val() << 24)
            | ((self.raw_compare1.val() & 0xFF00) << 8)
            | ((self.raw_compare1.val() >> 8) & 0xFF00)
            | (self.raw_compare1.val() >> 24);
        if self.first.val() {
            self.fields.d.next.opcode = self.data.val().get_bits::<8>(336);
            self.fields.d.next.se = self.data.val().get_bit(351);
            self.fields.d.next.pad = self.data.val().get_bits::<2>(348);
            self.fields.d.next.pkey = (bit_cast::<16, 8>(self.data.val().get_bits::<8>(352)) << 8)
                | bit_cast::<16, 8>(self.data.val().get_bits::<8>(360));
            self.fields.d.next.dqpn = ((self.raw_qpn.val() & 0xFF) << 16)
                | (self.raw_qpn.val() & 0xFF00)
                | (self.raw_qpn.val() >> 16);
            self.fields.d.next.ackreq = self.data.val().get_bit(407);
            self.fields.d.next.psn = ((self.raw_psn.val() & 0xFF) << 16)
                | (self.raw_psn.val() & 0xFF00)
                | (self.raw_psn.val() >> 16);
            self.fields.d.next.src_ip = (self.raw_ip.val() << 24)
                | ((self.raw_ip.val() & 0xFF00) << 8)
                | ((self.raw_ip.val() >> 8) & 0xFF00)
                | (self.raw_ip.val() >> 24);
            self.fields.d.next.imm = self.raw_ext0.val();
            self.fields.d.next.syndrome = self.raw_ext0.val().get_bits::<8>(0);
            self.fields.d.next.msn = self.ext0.val().get_bits::<24>(0);
            self.fields.d.next.va =
                (bit_cast::<64, 32>(self.ext0.val()) << 32) | bit_cast::<64, 32>(self.ext1.val());
            self.fields.d.next.rkey = (bit_cast::<32, 8>(self.data.val().get_bits::<8>(496)) << 24)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(504)) << 16);
        }
        // The RETH ends in the second beat; WRITE ONLY with immediate has its ImmDt behind it.
        if self.second.val() {
            self.fields.d.next.rkey = self.fields.q.val().rkey
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(0)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(8));
            self.fields.d.next.dma_len = self.len.val();
            // An AtomicETH has its operands where a RETH has its length.
            self.fields.d.next.operand =
                (bit_cast::<64, 32>(self.len.val()) << 32) | bit_cast::<64, 32>(self.low.val());
            self.fields.d.next.compare = (bit_cast::<64, 32>(self.compare0.val()) << 32)
                | bit_cast::<64, 32>(self.compare1.val());
            if self.fields.q.val().opcode == 0x0B {
                self.fields.d.next.imm = self.data.val().get_bits::<32>(48);
            }
        }
        self.meta.next = self.fields.q.val();
    }
}

ferroce_emit::register_leaf!("meta_extract", MetaExtract::default);

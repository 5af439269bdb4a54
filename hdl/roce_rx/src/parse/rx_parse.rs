//! The parser: frames in, verified packets out.

use crate::events::ParseEvents;
use crate::parse::header_check::{HeaderCheck, HeaderInfo, HEADER_LATENCY};
use crate::parse::meta_extract::MetaExtract;
use ferroce_abi::opcode::rc;
use ferroce_emit::prelude::*;
use ferroce_rtl::crc::{IcrcCheck, CHECK_LATENCY};
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::rx::RxMeta;
use ferroce_rtl::stream::{Beat, StreamIn};

/// Bytes of the shortest RoCE frame: headers up to the BTH and the ICRC.
const SHORTEST_FRAME: u64 = 58;
/// Beats are numbered up to here; longer frames stay at it, beyond every packet's last beat.
const LAST_NUMBER: u64 = 2047;

/// Byte offset in the frame of an ATOMIC ACKNOWLEDGE at which the packet buffer has its original value, in the byte order of host memory. That
/// is behind the frame's end, in its second beat.
pub const VALUE_OFFSET: u64 = 72;
/// Place of that value in its beat.
const VALUE_BIT: usize = 8 * (VALUE_OFFSET as usize - 64);
/// Opcode of an ATOMIC ACKNOWLEDGE.
const ATOMIC_ACKNOWLEDGE: u64 = rc::ATOMIC_ACKNOWLEDGE as u64;

/// What the packet buffer does in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct BufferWrite {
    /// Store `data`.
    pub store: Bit,
    /// The bytes.
    pub data: Bits<512>,
    /// A frame ends; it is kept if `good`, else its beats are taken back.
    pub end: Bit,
    /// The frame is right.
    pub good: Bit,
}

/// A beat of a frame on its way to the header checks' end.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Slot {
    valid: Bit,
    data: Bits<512>,
    len: Bits<7>,
    first: Bit,
    last: Bit,
    err: Bit,
    number: Bits<11>,
}

/// A beat with its header verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Judged {
    data: Bits<512>,
    /// The beat belongs to the packet, not to the padding behind it.
    keep: Bit,
    /// The packet's last beat.
    packet_end: Bit,
    /// The frame's last beat.
    frame_end: Bit,
    /// The headers are wrong, known from the first beat on.
    refused: Bit,
}

/// Why a frame is dropped, one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Reason {
    fcs: Bit,
    runt: Bit,
    not_roce: Bit,
    address: Bit,
    checksum: Bit,
    length: Bit,
    oversize: Bit,
    tver: Bit,
    opcode: Bit,
}

/// Takes a beat in every cycle and never waits. Per frame, in this order: FCS, runt, protocol, address, IPv4
/// checksum, lengths (the packet ends where the IP and UDP lengths say; what follows is padding), payload up to
/// 4096 bytes, transport version, service (RC only), ICRC. The first failed check counts.
///
/// The beats leave delayed so that the ICRC's verdict is there with the last one.
#[derive(LogicBlock, Module)]
pub struct RxParse {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Frames without FCS, from the Ethernet destination address on; `ready` is always high.
    pub frames: StreamIn<Beat>,
    /// Configuration; `PORT` gives the port's addresses.
    pub cfg: Signal<In, CfgWrite>,
    /// To the packet buffer.
    pub write: Signal<Out, BufferWrite>,
    /// Headers of the frame, valid with `write.end`.
    pub meta: Signal<Out, RxMeta>,
    /// What is counted; `packets` and `drop_overflow` stay low.
    pub events: Signal<Out, ParseEvents>,
    mac: DFF<Bits<48>>,
    ip: DFF<Bits<32>>,
    inside: DFF<Bit>,
    number: DFF<Bits<11>>,
    beat0: DFF<Slot>,
    headers: HeaderCheck,
    aligned: Delay<Slot>,
    extract: MetaExtract,
    s: Signal<Local, Slot>,
    info: Signal<Local, HeaderInfo>,
    at_last: Signal<Local, Bit>,
    cut_short: Signal<Local, Bit>,
    icrc_beat: DFF<Beat>,
    icrc_valid: DFF<Bit>,
    judged7: DFF<Judged>,
    info7: DFF<HeaderInfo>,
    fcs7: DFF<Bit>,
    runt7: DFF<Bit>,
    short7: DFF<Bit>,
    judged8: DFF<Judged>,
    reason8: DFF<Reason>,
    meta8: DFF<RxMeta>,
    icrc: IcrcCheck,
    judged_delay: Delay<Judged>,
    reason_delay: Delay<Reason>,
    meta_delay: Delay<RxMeta>,
    icrc_held: DFF<Bit>,
    icrc_now: Signal<Local, Bit>,
    any_reason: Signal<Local, Bit>,
    value: Signal<Local, Bits<64>>,
    value_change: Signal<Local, Bits<64>>,
    j: Signal<Local, Judged>,
    r: Signal<Local, Reason>,
    out_write: DFF<BufferWrite>,
    out_meta: DFF<RxMeta>,
    out_events: DFF<ParseEvents>,
    cfg_mac: Signal<Local, Bits<48>>,
    cfg_ip: Signal<Local, Bits<32>>,
}

impl Default for RxParse {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            frames: StreamIn::default(),
            cfg: Signal::default(),
            write: Signal::default(),
            meta: Signal::default(),
            events: Signal::default(),
            mac: DFF::default(),
            ip: DFF::default(),
            inside: DFF::default(),
            number: DFF::default(),
            beat0: DFF::default(),
            headers: HeaderCheck::default(),
            aligned: Delay::new(HEADER_LATENCY),
            extract: MetaExtract::default(),
            s: Signal::default(),
            info: Signal::default(),
            at_last: Signal::default(),
            cut_short: Signal::default(),
            icrc_beat: DFF::default(),
            icrc_valid: DFF::default(),
            judged7: DFF::default(),
            info7: DFF::default(),
            fcs7: DFF::default(),
            runt7: DFF::default(),
            short7: DFF::default(),
            judged8: DFF::default(),
            reason8: DFF::default(),
            meta8: DFF::default(),
            icrc: IcrcCheck::default(),
            // The reasons take one of the cycles that the ICRC needs.
            judged_delay: Delay::new(CHECK_LATENCY - 1),
            reason_delay: Delay::new(CHECK_LATENCY - 1),
            meta_delay: Delay::new(CHECK_LATENCY - 1),
            icrc_held: DFF::default(),
            icrc_now: Signal::default(),
            any_reason: Signal::default(),
            value: Signal::default(),
            value_change: Signal::default(),
            j: Signal::default(),
            r: Signal::default(),
            out_write: DFF::default(),
            out_meta: DFF::default(),
            out_events: DFF::default(),
            cfg_mac: Signal::default(),
            cfg_ip: Signal::default(),
        }
    }
}

impl Logic for RxParse {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, mac, ip, inside, number, beat0, icrc_beat, icrc_valid, judged7, info7,
            fcs7, runt7, short7, judged8, reason8, meta8, icrc_held, out_write, out_meta,
            out_events
        );
        clock!(self, clock, headers, aligned, extract, icrc);
        clock!(self, clock, judged_delay, reason_delay, meta_delay);

        // The port's addresses, turned to wire order once.
        self.cfg_mac.next = self.cfg.val().data.get_bits::<48>(0);
        self.cfg_ip.next = self.cfg.val().data.get_bits::<32>(48);
        if self.cfg.val().valid & (self.cfg.val().table == table::PORT) {
            self.mac.d.next = (self.cfg_mac.val() << 40)
                | ((self.cfg_mac.val() & 0xFF00) << 24)
                | ((self.cfg_mac.val() & 0xFF_0000) << 8)
                | ((self.cfg_mac.val() >> 8) & 0xFF_0000)
                | ((self.cfg_mac.val() >> 24) & 0xFF00)
                | (self.cfg_mac.val() >> 40);
            self.ip.d.next = (self.cfg_ip.val() << 24)
                | ((self.cfg_ip.val() & 0xFF00) << 8)
                | ((self.cfg_ip.val() >> 8) & 0xFF00)
                | (self.cfg_ip.val() >> 24);
        }

        // Stage 0: number the beats of each frame.
        self.frames.ready.next = true;
        self.beat0.d.next.valid = self.frames.valid.val();
        self.beat0.d.next.data = self.frames.data.val().data;
        self.beat0.d.next.len = self.frames.data.val().len;
        self.beat0.d.next.last = self.frames.data.val().last;
        self.beat0.d.next.err = self.frames.data.val().err;
        self.beat0.d.next.first = !self.inside.q.val();
        self.beat0.d.next.number = self.number.q.val();
        if self.frames.valid.val() {
            self.inside.d.next = !self.frames.data.val().last;
            if self.frames.data.val().last {
                self.number.d.next = 0.into();
            } else if self.number.q.val() != LAST_NUMBER {
                self.number.d.next = self.number.q.val() + 1;
            }
        }

        // Stages 1 to 6: header checks beside a delay of the beats.
        self.headers.load.next = self.beat0.q.val().valid & self.beat0.q.val().first;
        self.headers.data.next = self.beat0.q.val().data;
        self.headers.mac.next = self.mac.q.val();
        self.headers.ip.next = self.ip.q.val();
        self.aligned.data_in.next = self.beat0.q.val();

        // Stage 7: where the packet ends in the frame.
        self.s.next = self.aligned.data_out.val();
        self.info.next = self.headers.info.val();
        self.at_last.next = self.s.val().number == self.info.val().last_beat;
        self.cut_short.next =
            self.at_last.val() & (self.s.val().len <= bit_cast::<7, 6>(self.info.val().last_byte));
        self.judged7.d.next.data = self.s.val().data;
        self.judged7.d.next.keep =
            self.s.val().valid & (self.s.val().number <= self.info.val().last_beat);
        self.judged7.d.next.packet_end = self.s.val().valid
            & (self.s.val().number <= self.info.val().last_beat)
            & (self.at_last.val() | self.s.val().last);
        self.judged7.d.next.frame_end = self.s.val().valid & self.s.val().last;
        self.judged7.d.next.refused = false;
        self.icrc_valid.d.next =
            self.s.val().valid & (self.s.val().number <= self.info.val().last_beat);
        self.icrc_beat.d.next.data = self.s.val().data;
        self.icrc_beat.d.next.last = self.at_last.val() | self.s.val().last;
        self.icrc_beat.d.next.err = false;
        self.icrc_beat.d.next.len = self.s.val().len;
        if self.at_last.val() & !self.cut_short.val() {
            self.icrc_beat.d.next.len = bit_cast::<7, 6>(self.info.val().last_byte) + 1;
        }
        self.fcs7.d.next = self.s.val().err;
        self.runt7.d.next = self.s.val().first & (self.s.val().len < SHORTEST_FRAME);
        self.short7.d.next =
            (self.s.val().number < self.info.val().last_beat) | self.cut_short.val();
        self.info7.d.next = self.info.val();
        self.extract.first.next = self.s.val().valid & self.s.val().first;
        self.extract.second.next = self.s.val().valid & (self.s.val().number == 1);
        self.extract.data.next = self.s.val().data;

        // Stage 8: one reason, and the complete descriptor.
        self.judged8.d.next = self.judged7.q.val();
        self.judged8.d.next.refused = self.info7.q.val().not_roce
            | self.info7.q.val().address
            | self.info7.q.val().checksum
            | self.info7.q.val().length
            | self.info7.q.val().oversize
            | self.info7.q.val().tver
            | self.info7.q.val().service;
        self.reason8.d.next = Default::default();
        if self.fcs7.q.val() {
            self.reason8.d.next.fcs = true;
        } else if self.runt7.q.val() {
            self.reason8.d.next.runt = true;
        } else if self.info7.q.val().not_roce {
            self.reason8.d.next.not_roce = true;
        } else if self.info7.q.val().address {
            self.reason8.d.next.address = true;
        } else if self.info7.q.val().checksum {
            self.reason8.d.next.checksum = true;
        } else if self.info7.q.val().length | self.short7.q.val() {
            self.reason8.d.next.length = true;
        } else if self.info7.q.val().oversize {
            self.reason8.d.next.oversize = true;
        } else if self.info7.q.val().tver {
            self.reason8.d.next.tver = true;
        } else if self.info7.q.val().service {
            self.reason8.d.next.opcode = true;
        }
        self.meta8.d.next = self.extract.meta.val();
        self.meta8.d.next.len = self.info7.q.val().len;
        self.meta8.d.next.hdr_len = self.info7.q.val().hdr_len;
        self.meta8.d.next.beats = self.info7.q.val().last_beat.get_bits::<8>(0) + 1;

        // The ICRC meanwhile.
        self.icrc.valid.next = self.icrc_valid.q.val();
        self.icrc.beat.next = self.icrc_beat.q.val();
        self.judged_delay.data_in.next = self.judged8.q.val();
        self.reason_delay.data_in.next = self.reason8.q.val();
        self.meta_delay.data_in.next = self.meta8.q.val();

        // Last stage: the verdict of a packet's end is kept for the frame's end.
        self.j.next = self.judged_delay.data_out.val();
        self.r.next = self.reason_delay.data_out.val();
        self.icrc_now.next = self.icrc_held.q.val();
        if self.icrc.done.val() {
            self.icrc_now.next = self.icrc.ok.val();
        }
        self.icrc_held.d.next = self.icrc_now.val();
        self.any_reason.next = self.r.val().fcs
            | self.r.val().runt
            | self.r.val().not_roce
            | self.r.val().address
            | self.r.val().checksum
            | self.r.val().length
            | self.r.val().oversize
            | self.r.val().tver
            | self.r.val().opcode;
        self.out_write.d.next.store = self.j.val().keep & !self.j.val().refused;
        // The value lies across both beats and highest byte first; where the headers are read as RETH, that is the low half of
        // the virtual address and the R_Key.
        self.value.next = (bit_cast::<64, 32>(self.meta_delay.data_out.val().va.get_bits::<32>(0))
            << 32)
            | bit_cast::<64, 32>(self.meta_delay.data_out.val().rkey);
        self.value_change.next = 0.into();
        if self.meta_delay.data_out.val().opcode == ATOMIC_ACKNOWLEDGE {
            self.value_change.next = self.value.val() ^ self.j.val().data.get_bits::<64>(VALUE_BIT);
        }
        self.out_write.d.next.data =
            self.j.val().data ^ (bit_cast::<512, 64>(self.value_change.val()) << VALUE_BIT as u64);
        self.out_write.d.next.end = self.j.val().frame_end;
        self.out_write.d.next.good = self.icrc_now.val() & !self.any_reason.val();
        self.out_meta.d.next = self.meta_delay.data_out.val();

        self.out_events.d.next = Default::default();
        if self.beat0.q.val().valid {
            self.out_events.d.next.bytes = self.beat0.q.val().len;
        }
        if self.j.val().frame_end {
            self.out_events.d.next.frames = true;
            self.out_events.d.next.drop_fcs = self.r.val().fcs;
            self.out_events.d.next.drop_runt = self.r.val().runt;
            self.out_events.d.next.drop_not_roce = self.r.val().not_roce;
            self.out_events.d.next.drop_address = self.r.val().address;
            self.out_events.d.next.drop_ip_checksum = self.r.val().checksum;
            self.out_events.d.next.drop_length = self.r.val().length;
            self.out_events.d.next.drop_oversize = self.r.val().oversize;
            self.out_events.d.next.drop_tver = self.r.val().tver;
            self.out_events.d.next.drop_opcode = self.r.val().opcode;
            self.out_events.d.next.drop_icrc = !self.any_reason.val() & !self.icrc_now.val();
        }
        self.write.next = self.out_write.q.val();
        self.meta.next = self.out_meta.q.val();
        self.events.next = self.out_events.q.val();
    }
}

ferroce_emit::register_leaf!("rx_parse", RxParse::default);

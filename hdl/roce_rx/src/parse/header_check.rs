//! Checks of the headers in a frame's first beat.

use ferroce_emit::prelude::*;

/// Cycles from a first beat at [`HeaderCheck`]'s input to its [`HeaderInfo`].
pub const HEADER_LATENCY: usize = 6;

/// EtherType of IPv4, 0x0800, as two bytes in wire order read as a little-endian number.
const ETHERTYPE_IPV4: u64 = 0x0008;
/// IP version 4, header of 5 words.
const VERSION_IHL: u64 = 0x45;
/// IP protocol number of UDP.
const PROTOCOL_UDP: u64 = 17;
/// UDP port 4791 (0x12B7) of RoCEv2, like [`ETHERTYPE_IPV4`].
const PORT_ROCE: u64 = 0xB712;
/// Bytes before the BTH's extension headers: Ethernet 14, IPv4 20, UDP 8, BTH 12.
const BASE_HEADERS: u64 = 54;
/// Bytes that the UDP length covers beside extension headers, payload and pad: UDP 8, BTH 12, ICRC 4.
const UDP_OVERHEAD: u64 = 24;
/// What a one's complement sum over a correct IPv4 header gives.
const CHECKSUM_GOOD: u64 = 0xFFFF;

/// What the headers say about their frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct HeaderInfo {
    /// Not an unfragmented IPv4 packet without options to UDP port 4791.
    pub not_roce: Bit,
    /// Another destination MAC or IP address than the port's.
    pub address: Bit,
    /// Wrong IPv4 header checksum.
    pub checksum: Bit,
    /// IP, UDP, header and pad lengths contradict each other.
    pub length: Bit,
    /// More than 4096 payload bytes.
    pub oversize: Bit,
    /// Transport version is not 0.
    pub tver: Bit,
    /// Service is not RC.
    pub service: Bit,
    /// Payload bytes.
    pub len: Bits<13>,
    /// Bytes before the payload.
    pub hdr_len: Bits<7>,
    /// Number of the beat that holds the packet's last byte.
    pub last_beat: Bits<11>,
    /// Position of that byte in its beat.
    pub last_byte: Bits<6>,
}

/// Raw header fields and first partial results.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Raw {
    ethernet: Bit,
    ip: Bit,
    fragment: Bit,
    port: Bit,
    mac_hi: Bit,
    mac_lo: Bit,
    addr: Bit,
    total_len: Bits<16>,
    udp_len: Bits<16>,
    opcode: Bits<8>,
    pad: Bits<2>,
    tver: Bit,
    sum0: Bits<20>,
    sum1: Bits<20>,
    sum2: Bits<20>,
    sum3: Bits<20>,
    sum4: Bits<20>,
}

/// Partial results between the stages; each stage uses the fields that it needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Work {
    not_roce: Bit,
    address: Bit,
    tver: Bit,
    service: Bit,
    sum0: Bits<20>,
    sum1: Bits<20>,
    sum2: Bits<20>,
    ext: Bits<5>,
    /// UDP length.
    udp_len: Bits<17>,
    /// What the total length must be.
    udp_total: Bits<17>,
    total_len: Bits<16>,
    /// Bytes of the UDP length that are no payload.
    overhead: Bits<17>,
    /// Place of the packet's last byte in the frame.
    end: Bits<17>,
    length: Bit,
    oversize: Bit,
    len: Bits<17>,
}

/// Six stages, a first beat in any cycle. The result holds until [`HEADER_LATENCY`] cycles after the next first beat.
///
/// The UDP checksum is not verified, whatever it is: the ICRC covers the same bytes and is stronger. The IPv4
/// header checksum is verified, as the ICRC does not cover TOS and TTL.
#[derive(LogicBlock, Module, Default)]
pub struct HeaderCheck {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// `data` is a first beat.
    pub load: Signal<In, Bit>,
    /// The beat's bytes.
    pub data: Signal<In, Bits<512>>,
    /// The port's MAC address in wire order: first wire byte in bits 7:0.
    pub mac: Signal<In, Bits<48>>,
    /// The port's IPv4 address in wire order.
    pub ip: Signal<In, Bits<32>>,
    /// The result.
    pub info: Signal<Out, HeaderInfo>,
    h1: DFF<Raw>,
    h2: DFF<Work>,
    h3: DFF<Work>,
    h4: DFF<Work>,
    h5: DFF<Work>,
    h6: DFF<HeaderInfo>,
    wire_total: Signal<Local, Bits<16>>,
    wire_udp: Signal<Local, Bits<16>>,
    op: Signal<Local, Bits<5>>,
    reth: Signal<Local, Bit>,
    small: Signal<Local, Bit>,
}

impl Logic for HeaderCheck {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, h1, h2, h3, h4, h5, h6);

        // Stage 1: raw fields of the beat.
        self.wire_total.next = self.data.val().get_bits::<16>(128);
        self.wire_udp.next = self.data.val().get_bits::<16>(304);
        if self.load.val() {
            self.h1.d.next.ethernet = self.data.val().get_bits::<16>(96) == ETHERTYPE_IPV4;
            self.h1.d.next.ip = (self.data.val().get_bits::<8>(112) == VERSION_IHL)
                & (self.data.val().get_bits::<8>(184) == PROTOCOL_UDP);
            // All but the "don't fragment" and the reserved bit.
            self.h1.d.next.fragment = (self.data.val().get_bits::<16>(160) & 0xFF3F) != 0;
            self.h1.d.next.port = self.data.val().get_bits::<16>(288) == PORT_ROCE;
            self.h1.d.next.mac_lo =
                self.data.val().get_bits::<24>(0) == self.mac.val().get_bits::<24>(0);
            self.h1.d.next.mac_hi =
                self.data.val().get_bits::<24>(24) == self.mac.val().get_bits::<24>(24);
            self.h1.d.next.addr = self.data.val().get_bits::<32>(240) == self.ip.val();
            self.h1.d.next.total_len = (self.wire_total.val() << 8) | (self.wire_total.val() >> 8);
            self.h1.d.next.udp_len = (self.wire_udp.val() << 8) | (self.wire_udp.val() >> 8);
            self.h1.d.next.opcode = self.data.val().get_bits::<8>(336);
            self.h1.d.next.tver = self.data.val().get_bits::<4>(344) != 0;
            self.h1.d.next.pad = self.data.val().get_bits::<2>(348);
            // A one's complement sum does not depend on the byte order.
            self.h1.d.next.sum0 = bit_cast::<20, 16>(self.data.val().get_bits::<16>(112))
                + bit_cast::<20, 16>(self.data.val().get_bits::<16>(128));
            self.h1.d.next.sum1 = bit_cast::<20, 16>(self.data.val().get_bits::<16>(144))
                + bit_cast::<20, 16>(self.data.val().get_bits::<16>(160));
            self.h1.d.next.sum2 = bit_cast::<20, 16>(self.data.val().get_bits::<16>(176))
                + bit_cast::<20, 16>(self.data.val().get_bits::<16>(192));
            self.h1.d.next.sum3 = bit_cast::<20, 16>(self.data.val().get_bits::<16>(208))
                + bit_cast::<20, 16>(self.data.val().get_bits::<16>(224));
            self.h1.d.next.sum4 = bit_cast::<20, 16>(self.data.val().get_bits::<16>(240))
                + bit_cast::<20, 16>(self.data.val().get_bits::<16>(256));
        }

        // Stage 2: extension headers by opcode.
        self.op.next = self.h1.q.val().opcode.get_bits::<5>(0);
        self.reth.next = (self.op.val() == 0x06)
            | (self.op.val() == 0x0A)
            | (self.op.val() == 0x0B)
            | (self.op.val() == 0x0C);
        // AETH, ImmDt or IETH.
        self.small.next = (self.op.val() == 0x03)
            | (self.op.val() == 0x05)
            | (self.op.val() == 0x09)
            | (self.op.val() == 0x0D)
            | (self.op.val() == 0x0F)
            | (self.op.val() == 0x10)
            | (self.op.val() == 0x11)
            | (self.op.val() == 0x16)
            | (self.op.val() == 0x17);
        self.h2.d.next.ext = 0.into();
        if self.reth.val() {
            self.h2.d.next.ext = 16.into();
        }
        if self.op.val() == 0x0B {
            self.h2.d.next.ext = 20.into();
        }
        if self.small.val() {
            self.h2.d.next.ext = 4.into();
        }
        if self.op.val() == 0x12 {
            self.h2.d.next.ext = 12.into();
        }
        if (self.op.val() == 0x13) | (self.op.val() == 0x14) {
            self.h2.d.next.ext = 28.into();
        }
        self.h2.d.next.not_roce = !self.h1.q.val().ethernet
            | !self.h1.q.val().ip
            | self.h1.q.val().fragment
            | !self.h1.q.val().port;
        self.h2.d.next.address =
            !self.h1.q.val().mac_hi | !self.h1.q.val().mac_lo | !self.h1.q.val().addr;
        self.h2.d.next.tver = self.h1.q.val().tver;
        self.h2.d.next.service = self.h1.q.val().opcode.get_bits::<3>(5) != 0;
        self.h2.d.next.sum0 = self.h1.q.val().sum0 + self.h1.q.val().sum1;
        self.h2.d.next.sum1 = self.h1.q.val().sum2 + self.h1.q.val().sum3;
        self.h2.d.next.sum2 = self.h1.q.val().sum4;
        self.h2.d.next.udp_len = bit_cast::<17, 16>(self.h1.q.val().udp_len);
        self.h2.d.next.udp_total = bit_cast::<17, 16>(self.h1.q.val().udp_len) + 20;
        self.h2.d.next.total_len = self.h1.q.val().total_len;
        self.h2.d.next.overhead = bit_cast::<17, 2>(self.h1.q.val().pad) + UDP_OVERHEAD;
        self.h2.d.next.end = bit_cast::<17, 16>(self.h1.q.val().total_len) + 13;
        self.h2.d.next.length = false;
        self.h2.d.next.oversize = false;
        self.h2.d.next.len = 0.into();

        // Stage 3.
        self.h3.d.next = self.h2.q.val();
        self.h3.d.next.sum0 = self.h2.q.val().sum0 + self.h2.q.val().sum1;
        self.h3.d.next.overhead = self.h2.q.val().overhead + bit_cast::<17, 5>(self.h2.q.val().ext);
        self.h3.d.next.length =
            self.h2.q.val().udp_total != bit_cast::<17, 16>(self.h2.q.val().total_len);

        // Stage 4: payload length, negative when the headers do not fit.
        self.h4.d.next = self.h3.q.val();
        self.h4.d.next.sum0 = self.h3.q.val().sum0 + self.h3.q.val().sum2;
        self.h4.d.next.len = self.h3.q.val().udp_len - self.h3.q.val().overhead;

        // Stage 5: fold the sum.
        self.h5.d.next = self.h4.q.val();
        self.h5.d.next.sum0 = bit_cast::<20, 16>(self.h4.q.val().sum0.get_bits::<16>(0))
            + bit_cast::<20, 4>(self.h4.q.val().sum0.get_bits::<4>(16));
        self.h5.d.next.length = self.h4.q.val().length | self.h4.q.val().len.get_bit(16);
        self.h5.d.next.oversize = (self.h4.q.val().len.get_bits::<3>(13) != 0)
            | (self.h4.q.val().len.get_bit(12) & (self.h4.q.val().len.get_bits::<12>(0) != 0));

        // Stage 6.
        self.h6.d.next.not_roce = self.h5.q.val().not_roce;
        self.h6.d.next.address = self.h5.q.val().address;
        self.h6.d.next.checksum = self.h5.q.val().sum0 != CHECKSUM_GOOD;
        self.h6.d.next.length = self.h5.q.val().length;
        self.h6.d.next.oversize = self.h5.q.val().oversize;
        self.h6.d.next.tver = self.h5.q.val().tver;
        self.h6.d.next.service = self.h5.q.val().service;
        self.h6.d.next.len = self.h5.q.val().len.get_bits::<13>(0);
        self.h6.d.next.hdr_len = bit_cast::<7, 5>(self.h5.q.val().ext) + BASE_HEADERS;
        self.h6.d.next.last_beat = self.h5.q.val().end.get_bits::<11>(6);
        self.h6.d.next.last_byte = self.h5.q.val().end.get_bits::<6>(0);
        self.info.next = self.h6.q.val();
    }
}

ferroce_emit::register_leaf!("header_check", HeaderCheck::default);

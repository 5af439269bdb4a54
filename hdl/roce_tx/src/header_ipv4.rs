//! Ethernet, IPv4 and UDP headers of a frame.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::{AvCfg, PortCfg};

/// Cycles from the inputs to `hdr`.
pub const IPV4_LATENCY: usize = 4;
/// Bits of the three headers: 14 + 20 + 8 bytes.
pub const L4_BITS: usize = 42 * 8;

/// IPv4 header bytes.
const IP_BYTES: u64 = 20;
/// UDP header bytes.
const UDP_BYTES: u64 = 8;
/// IPv4, header of five words.
const VERSION_IHL: u64 = 0x45;
/// Flags and fragment offset: do not fragment.
const DONT_FRAGMENT: u64 = 0x4000;
const PROTOCOL_UDP: u64 = 17;
/// UDP port 4791 with its bytes swapped.
const ROCE_PORT_WIRE: u64 = (4791_u16).swap_bytes() as u64;
/// EtherType 0x0800 with its bytes swapped.
const IPV4_TYPE_WIRE: u64 = (0x0800_u16).swap_bytes() as u64;

/// The headers in wire order, first byte in the lowest bits; every field is swapped into that order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct L4Hdr {
    /// Ethernet destination.
    pub dmac: Bits<48>,
    /// Ethernet source.
    pub smac: Bits<48>,
    /// EtherType.
    pub ethertype: Bits<16>,
    /// IPv4 version and header length.
    pub version_ihl: Bits<8>,
    /// Type of service.
    pub tos: Bits<8>,
    /// IPv4 total length.
    pub total_len: Bits<16>,
    /// Identification; 0, for an atomic datagram has no use for it (RFC 6864).
    pub ident: Bits<16>,
    /// Flags and fragment offset.
    pub fragment: Bits<16>,
    /// Time to live.
    pub ttl: Bits<8>,
    /// Protocol.
    pub protocol: Bits<8>,
    /// Header checksum.
    pub checksum: Bits<16>,
    /// Source address.
    pub sip: Bits<32>,
    /// Destination address.
    pub dip: Bits<32>,
    /// UDP source port.
    pub sport: Bits<16>,
    /// UDP destination port.
    pub dport: Bits<16>,
    /// UDP length.
    pub udp_len: Bits<16>,
    /// UDP checksum; 0 is none, as RoCEv2 sends it.
    pub udp_checksum: Bits<16>,
}

/// What is always the same in the checksum's sum: the first word without the type of service, flags, protocol, and what the total length has
/// beside the UDP payload.
const FIXED_SUM: u64 = (VERSION_IHL << 8) + DONT_FRAGMENT + PROTOCOL_UDP + IP_BYTES + UDP_BYTES;

/// Fills the headers. The header checksum's sum has the peer's share, which is as old as its address vector, the port's, and the length: two
/// additions, and two folds of its carries.
#[derive(LogicBlock, Module, Default)]
pub struct TxIpv4 {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The port's addresses.
    pub port: Signal<In, PortCfg>,
    /// The peer.
    pub av: Signal<In, AvCfg>,
    /// The peer's share of the checksum: type of service, time to live and address, summed up as 16-bit words.
    pub av_sum: Signal<In, Bits<18>>,
    /// Bytes after the UDP header, with pad and ICRC.
    pub udp_payload: Signal<In, Bits<13>>,
    /// The headers, [`IPV4_LATENCY`] cycles later.
    pub hdr: Signal<Out, Bits<336>>,
    /// The port's addresses and its share of the checksum, which change in the same cycle.
    port1: DFF<PortCfg>,
    port2: DFF<PortCfg>,
    port_sum1: DFF<Bits<17>>,
    port_sum2: DFF<Bits<18>>,
    av1: DFF<AvCfg>,
    udp_len1: DFF<Bits<16>>,
    total_len1: DFF<Bits<16>>,
    sum1: DFF<Bits<18>>,
    hdr2: DFF<L4Hdr>,
    sum2: DFF<Bits<19>>,
    hdr3: DFF<L4Hdr>,
    folded3: DFF<Bits<17>>,
    hdr4: DFF<L4Hdr>,
    word: Signal<Local, Bits<16>>,
}

impl Logic for TxIpv4 {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, port1, port2, port_sum1, port_sum2, av1, udp_len1, total_len1, sum1, hdr2,
            sum2, hdr3, folded3, hdr4
        );
        self.port1.d.next = self.port.val();
        self.port_sum1.d.next = bit_cast::<17, 16>(self.port.val().ip.get_bits::<16>(0))
            + bit_cast::<17, 16>(self.port.val().ip.get_bits::<16>(16));
        self.port2.d.next = self.port1.q.val();
        self.port_sum2.d.next = bit_cast::<18, 17>(self.port_sum1.q.val()) + FIXED_SUM;

        // 1: lengths.
        self.av1.d.next = self.av.val();
        self.udp_len1.d.next = bit_cast::<16, 13>(self.udp_payload.val()) + UDP_BYTES;
        self.total_len1.d.next =
            bit_cast::<16, 13>(self.udp_payload.val()) + (IP_BYTES + UDP_BYTES);
        self.sum1.d.next = self.av_sum.val() + bit_cast::<18, 13>(self.udp_payload.val());

        // 2: fields in wire order, and the sum.
        self.hdr2.d.next.dmac = bit_cast::<48, 8>(self.av1.q.val().dmac.get_bits::<8>(40))
            | (bit_cast::<48, 8>(self.av1.q.val().dmac.get_bits::<8>(32)) << 8)
            | (bit_cast::<48, 8>(self.av1.q.val().dmac.get_bits::<8>(24)) << 16)
            | (bit_cast::<48, 8>(self.av1.q.val().dmac.get_bits::<8>(16)) << 24)
            | (bit_cast::<48, 8>(self.av1.q.val().dmac.get_bits::<8>(8)) << 32)
            | (bit_cast::<48, 8>(self.av1.q.val().dmac.get_bits::<8>(0)) << 40);
        self.hdr2.d.next.smac = bit_cast::<48, 8>(self.port2.q.val().mac.get_bits::<8>(40))
            | (bit_cast::<48, 8>(self.port2.q.val().mac.get_bits::<8>(32)) << 8)
            | (bit_cast::<48, 8>(self.port2.q.val().mac.get_bits::<8>(24)) << 16)
            | (bit_cast::<48, 8>(self.port2.q.val().mac.get_bits::<8>(16)) << 24)
            | (bit_cast::<48, 8>(self.port2.q.val().mac.get_bits::<8>(8)) << 32)
            | (bit_cast::<48, 8>(self.port2.q.val().mac.get_bits::<8>(0)) << 40);
        self.hdr2.d.next.ethertype = IPV4_TYPE_WIRE.into();
        self.hdr2.d.next.version_ihl = VERSION_IHL.into();
        self.hdr2.d.next.tos = self.av1.q.val().tos;
        self.hdr2.d.next.total_len =
            (self.total_len1.q.val() << 8) | (self.total_len1.q.val() >> 8);
        self.hdr2.d.next.ident = 0.into();
        self.hdr2.d.next.fragment = (DONT_FRAGMENT >> 8).into();
        self.hdr2.d.next.ttl = self.av1.q.val().ttl;
        self.hdr2.d.next.protocol = PROTOCOL_UDP.into();
        self.hdr2.d.next.checksum = 0.into();
        self.hdr2.d.next.sip = bit_cast::<32, 8>(self.port2.q.val().ip.get_bits::<8>(24))
            | (bit_cast::<32, 8>(self.port2.q.val().ip.get_bits::<8>(16)) << 8)
            | (bit_cast::<32, 8>(self.port2.q.val().ip.get_bits::<8>(8)) << 16)
            | (bit_cast::<32, 8>(self.port2.q.val().ip.get_bits::<8>(0)) << 24);
        self.hdr2.d.next.dip = bit_cast::<32, 8>(self.av1.q.val().dip.get_bits::<8>(24))
            | (bit_cast::<32, 8>(self.av1.q.val().dip.get_bits::<8>(16)) << 8)
            | (bit_cast::<32, 8>(self.av1.q.val().dip.get_bits::<8>(8)) << 16)
            | (bit_cast::<32, 8>(self.av1.q.val().dip.get_bits::<8>(0)) << 24);
        self.hdr2.d.next.sport = (self.av1.q.val().sport << 8) | (self.av1.q.val().sport >> 8);
        self.hdr2.d.next.dport = ROCE_PORT_WIRE.into();
        self.hdr2.d.next.udp_len = (self.udp_len1.q.val() << 8) | (self.udp_len1.q.val() >> 8);
        self.hdr2.d.next.udp_checksum = 0.into();
        self.sum2.d.next =
            bit_cast::<19, 18>(self.sum1.q.val()) + bit_cast::<19, 18>(self.port_sum2.q.val());

        // 3, 4: carries come back in at the bottom; the first fold may carry once more, the second can't.
        self.hdr3.d.next = self.hdr2.q.val();
        self.folded3.d.next = bit_cast::<17, 16>(self.sum2.q.val().get_bits::<16>(0))
            + bit_cast::<17, 3>(self.sum2.q.val().get_bits::<3>(16));
        self.word.next = !(self.folded3.q.val().get_bits::<16>(0)
            + bit_cast::<16, 1>(self.folded3.q.val().get_bits::<1>(16)));
        self.hdr4.d.next = self.hdr3.q.val();
        self.hdr4.d.next.checksum = (self.word.val() << 8) | (self.word.val() >> 8);
        self.hdr.next = self.hdr4.q.val().into();
    }
}

ferroce_emit::register_leaf!("header_ipv4", TxIpv4::default);

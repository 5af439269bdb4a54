//! What a host's network stack does for its RDMA card: ARP, and answers to pings.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ferroce_driver::{Mac, PortAddress};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, Icmpv4Packet, Icmpv4Repr, IpProtocol, Ipv4Packet, Ipv4Repr,
};

/// Frames for the network stack, and who lives where.
#[derive(Debug)]
pub struct Neighbours {
    own: PortAddress,
    known: BTreeMap<Ipv4Addr, Mac>,
}

/// What became of a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Handled {
    /// It isn't for the network stack.
    No,
    /// It is done with.
    Silently,
    /// This is the answer.
    Answer(Vec<u8>),
}

impl Neighbours {
    /// For a host with this address.
    pub fn new(own: PortAddress) -> Self {
        Self {
            own,
            known: BTreeMap::new(),
        }
    }

    /// The MAC address of a neighbour that has been heard.
    pub fn mac_of(&self, ip: Ipv4Addr) -> Option<Mac> {
        self.known.get(&ip).copied()
    }

    /// A question for the MAC address of `ip`, to be broadcast.
    pub fn question(&self, ip: Ipv4Addr) -> Vec<u8> {
        let arp = self.arp(ArpOperation::Request, EthernetAddress([0; 6]), ip);
        self.framed(EthernetAddress::BROADCAST, &arp)
    }

    /// Handles a frame (no FCS) if it is ARP or a ping to this host.
    pub fn handle(&mut self, frame: &[u8]) -> Handled {
        let Ok(ethernet) = EthernetFrame::new_checked(frame) else {
            return Handled::No;
        };
        match ethernet.ethertype() {
            EthernetProtocol::Arp => self
                .arp_answer(ethernet.payload())
                .map_or(Handled::Silently, Handled::Answer),
            EthernetProtocol::Ipv4 => self
                .echo(ethernet.src_addr(), ethernet.payload())
                .unwrap_or(Handled::No),
            _ => Handled::No,
        }
    }

    fn arp_answer(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        let packet = ArpPacket::new_checked(payload).ok()?;
        let ArpRepr::EthernetIpv4 {
            operation,
            source_hardware_addr,
            source_protocol_addr,
            target_protocol_addr,
            ..
        } = ArpRepr::parse(&packet).ok()?
        else {
            return None;
        };
        if source_hardware_addr.is_unicast() {
            self.known
                .insert(source_protocol_addr, Mac(source_hardware_addr.0));
        }
        let asked = operation == ArpOperation::Request && target_protocol_addr == self.own.ip;
        let answer = self.arp(
            ArpOperation::Reply,
            source_hardware_addr,
            source_protocol_addr,
        );
        asked.then(|| self.framed(source_hardware_addr, &answer))
    }

    fn arp(&self, operation: ArpOperation, to: EthernetAddress, ip: Ipv4Addr) -> ArpRepr {
        ArpRepr::EthernetIpv4 {
            operation,
            source_hardware_addr: EthernetAddress(self.own.mac.0),
            source_protocol_addr: self.own.ip,
            target_hardware_addr: to,
            target_protocol_addr: ip,
        }
    }

    fn framed(&self, dst_addr: EthernetAddress, arp: &ArpRepr) -> Vec<u8> {
        self.frame(dst_addr, EthernetProtocol::Arp, arp.buffer_len(), |bytes| {
            arp.emit(&mut ArpPacket::new_unchecked(bytes));
        })
    }

    fn frame(
        &self,
        dst_addr: EthernetAddress,
        ethertype: EthernetProtocol,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Vec<u8> {
        let header = EthernetRepr {
            src_addr: EthernetAddress(self.own.mac.0),
            dst_addr,
            ethertype,
        };
        let mut bytes = vec![0; header.buffer_len() + len];
        let mut frame = EthernetFrame::new_unchecked(&mut bytes[..]);
        header.emit(&mut frame);
        fill(frame.payload_mut());
        bytes
    }

    /// A ping's answer; `None` if it isn't one to this host.
    fn echo(&self, from: EthernetAddress, payload: &[u8]) -> Option<Handled> {
        let checks = ChecksumCapabilities::default();
        let packet = Ipv4Packet::new_checked(payload).ok()?;
        let ip = Ipv4Repr::parse(&packet, &checks).ok()?;
        if ip.next_header != IpProtocol::Icmp || ip.dst_addr != self.own.ip {
            return None;
        }
        let icmp = Icmpv4Packet::new_checked(packet.payload()).ok()?;
        let Ok(Icmpv4Repr::EchoRequest {
            ident,
            seq_no,
            data,
        }) = Icmpv4Repr::parse(&icmp, &checks)
        else {
            return Some(Handled::Silently);
        };
        let answer = Icmpv4Repr::EchoReply {
            ident,
            seq_no,
            data,
        };
        let header = Ipv4Repr {
            src_addr: self.own.ip,
            dst_addr: ip.src_addr,
            next_header: IpProtocol::Icmp,
            payload_len: answer.buffer_len(),
            hop_limit: 64,
        };
        let len = header.buffer_len() + answer.buffer_len();
        let frame = self.frame(from, EthernetProtocol::Ipv4, len, |bytes| {
            let mut packet = Ipv4Packet::new_unchecked(bytes);
            header.emit(&mut packet, &checks);
            answer.emit(
                &mut Icmpv4Packet::new_unchecked(packet.payload_mut()),
                &checks,
            );
        });
        Some(Handled::Answer(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(last: u8) -> Neighbours {
        Neighbours::new(PortAddress {
            mac: Mac([2, 0, 0, 0, 0, last]),
            ip: Ipv4Addr::new(192, 0, 2, last),
        })
    }

    #[test]
    fn a_question_is_answered_and_both_know_each_other() {
        let (mut a, mut b, mut c) = (host(1), host(2), host(3));
        let question = a.question(b.own.ip);
        assert_eq!(question[..6], [0xff; 6]);
        assert_eq!(c.handle(&question), Handled::Silently);
        let Handled::Answer(answer) = b.handle(&question) else {
            panic!("no answer");
        };
        assert_eq!(answer[..6], a.own.mac.0);
        assert_eq!(a.handle(&answer), Handled::Silently);
        assert_eq!(a.mac_of(b.own.ip), Some(b.own.mac));
        assert_eq!(b.mac_of(a.own.ip), Some(a.own.mac));
        assert_eq!(a.mac_of(c.own.ip), None);
    }

    #[test]
    fn a_ping_comes_back_with_its_data() {
        let (a, mut b) = (host(1), host(2));
        // ICMP echo request 0x1234, sequence 5, data "abc", its checksum by hand: the sum of the words is
        // 0800 + 1234 + 0005 + 6162 + 6300 = de9b.
        let icmp = [8, 0, 0x21, 0x64, 0x12, 0x34, 0, 5, b'a', b'b', b'c'];
        // 4500 + 001f + 4001 + c000 + 0201 + c000 + 0202 = 20923, and 0923 + 2 = 0925.
        let mut frame = [b.own.mac.0, a.own.mac.0].concat();
        frame.extend([8, 0, 0x45, 0, 0, 31, 0, 0, 0, 0, 0x40, 1, 0xf6, 0xda]);
        frame.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        frame.extend(icmp);
        let Handled::Answer(answer) = b.handle(&frame) else {
            panic!("no answer");
        };
        assert_eq!(answer[..6], a.own.mac.0);
        assert_eq!(answer[26..34], [192, 0, 2, 2, 192, 0, 2, 1]);
        assert_eq!(answer[34], 0);
        assert_eq!(answer[38..], icmp[4..]);
        frame[33] = 3;
        assert_eq!(b.handle(&frame), Handled::No);
    }
}

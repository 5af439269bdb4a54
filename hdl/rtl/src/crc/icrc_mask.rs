//! The fields that an ICRC does not cover (annex A17 of the InfiniBand specification, volume 1).

use super::crc_core::BEAT_BYTES;
use crate::stream::Beat;
use ferroce_abi::icrc::{Mask, MASK_IPV4, MASK_IPV6};
use ferroce_emit::prelude::*;

/// Bytes of the Ethernet header, which the ICRC leaves out.
pub const ETHERNET_BYTES: usize = 14;

/// EtherType 0x0800 as it stands in bytes 12 and 13 of a beat.
const ETHERTYPE_IPV4: u64 = 0x0008;
/// EtherType 0x86DD as it stands in bytes 12 and 13 of a beat.
const ETHERTYPE_IPV6: u64 = 0xDD86;

/// Sets the fields that change on the way to ones and clears the Ethernet header, one cycle
/// after [`super::tail_zero::TailZero`]. Untagged frames; the EtherType selects the fields, and
/// frames of neither IP version pass unmasked. The fields are those of [`ferroce_abi::icrc`].
#[derive(LogicBlock, Module)]
pub struct IcrcMask {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A beat is here.
    pub valid: Signal<In, Bit>,
    /// It is its frame's first.
    pub first: Signal<In, Bit>,
    /// The beat.
    pub beat: Signal<In, Beat>,
    /// `valid`, one cycle later.
    pub masked_valid: Signal<Out, Bit>,
    /// `first`, one cycle later.
    pub masked_first: Signal<Out, Bit>,
    /// The masked beat, one cycle later.
    pub masked: Signal<Out, Beat>,
    valid_reg: DFF<Bit>,
    first_reg: DFF<Bit>,
    beat_reg: DFF<Beat>,
    second_of_ipv6: DFF<Bit>,
    ipv4: Signal<Local, Bit>,
    ipv6: Signal<Local, Bit>,
    data: Signal<Local, Bits<512>>,
    ethertype_ipv4: Constant<Bits<16>>,
    ethertype_ipv6: Constant<Bits<16>>,
    ethernet_header: Constant<Bits<512>>,
    ipv4_fields: Constant<Bits<512>>,
    ipv6_fields: Constant<Bits<512>>,
    ipv6_second_fields: Constant<Bits<512>>,
}

/// The bits of `mask` that lie in beat `beat` of an untagged frame.
fn fields(mask: &Mask, beat: usize) -> Constant<Bits<512>> {
    let mut words = [0u32; BEAT_BYTES / 4];
    for &(offset, bits) in mask {
        let byte = ETHERNET_BYTES + offset;
        if byte / BEAT_BYTES == beat {
            words[byte % BEAT_BYTES / 4] |= u32::from(bits) << (8 * (byte % 4));
        }
    }
    Constant::new(unpack(&words))
}

impl Default for IcrcMask {
    fn default() -> Self {
        let header = (bits::<512>(1) << (8 * ETHERNET_BYTES as u64)) - 1;
        Self {
            clock: Signal::default(),
            valid: Signal::default(),
            first: Signal::default(),
            beat: Signal::default(),
            masked_valid: Signal::default(),
            masked_first: Signal::default(),
            masked: Signal::default(),
            valid_reg: DFF::default(),
            first_reg: DFF::default(),
            beat_reg: DFF::default(),
            second_of_ipv6: DFF::default(),
            ipv4: Signal::default(),
            ipv6: Signal::default(),
            data: Signal::default(),
            ethertype_ipv4: Constant::new(ETHERTYPE_IPV4.into()),
            ethertype_ipv6: Constant::new(ETHERTYPE_IPV6.into()),
            ethernet_header: Constant::new(header),
            ipv4_fields: fields(MASK_IPV4, 0),
            ipv6_fields: fields(MASK_IPV6, 0),
            ipv6_second_fields: fields(MASK_IPV6, 1),
        }
    }
}

impl Logic for IcrcMask {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, valid_reg, first_reg, beat_reg, second_of_ipv6);
        self.ipv4.next = self.beat.val().data.get_bits::<16>(96) == self.ethertype_ipv4.val();
        self.ipv6.next = self.beat.val().data.get_bits::<16>(96) == self.ethertype_ipv6.val();
        self.data.next = self.beat.val().data;
        if self.first.val() {
            self.data.next = self.beat.val().data & !self.ethernet_header.val();
            if self.ipv4.val() {
                self.data.next =
                    (self.beat.val().data & !self.ethernet_header.val()) | self.ipv4_fields.val();
            }
            if self.ipv6.val() {
                self.data.next =
                    (self.beat.val().data & !self.ethernet_header.val()) | self.ipv6_fields.val();
            }
        } else if self.second_of_ipv6.q.val() {
            self.data.next = self.beat.val().data | self.ipv6_second_fields.val();
        }
        if self.valid.val() {
            self.second_of_ipv6.d.next = self.first.val() & self.ipv6.val();
        }
        self.valid_reg.d.next = self.valid.val();
        self.first_reg.d.next = self.first.val();
        self.beat_reg.d.next = self.beat.val();
        self.beat_reg.d.next.data = self.data.val();
        self.masked_valid.next = self.valid_reg.q.val();
        self.masked_first.next = self.first_reg.q.val();
        self.masked.next = self.beat_reg.q.val();
    }
}

ferroce_emit::register_leaf!("icrc_mask", IcrcMask::default);

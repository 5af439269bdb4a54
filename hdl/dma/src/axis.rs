//! Beats of the four 512-bit streams of the UltraScale+ PCIe block (PG213, PG343): `tdata`, `tkeep`, `tlast` and then
//! `tuser`, its fields in the vendor's order, so `tuser` is one slice of the packed beat.
//!
//! Byte `k` of `tdata` is in bits `8k+7:8k`. With straddling, `is_sop` counts the TLPs that start in a beat (bit `n`: there is an
//! `n+1`-th), `is_sopN_ptr` gives their places, `is_eop` and `is_eopN_ptr` the same for those that end, as the offset of the
//! last doubleword.

use ferroce_emit::prelude::*;

/// Requester request: the card's reads and writes of host memory. `tuser` has 137 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RqBeat {
    /// Descriptor of 16 bytes ([`crate::desc`]) and payload, from byte 0 or 32 on.
    pub data: Bits<512>,
    /// Valid doublewords.
    pub keep: Bits<16>,
    /// Last beat of a TLP; ignored by the block when straddling is on.
    pub last: Bit,
    /// First doubleword's byte enables: bits 3:0 of the first TLP, 7:4 of the second that starts in this beat.
    pub first_be: Bits<8>,
    /// Last doubleword's byte enables, as `first_be`; 0 for a TLP of one doubleword.
    pub last_be: Bits<8>,
    /// 0: doubleword-aligned mode.
    pub addr_offset: Bits<4>,
    /// Starts in this beat.
    pub is_sop: Bits<2>,
    /// Byte of the first start, in units of 16: 0 or 2.
    pub is_sop0_ptr: Bits<2>,
    /// Byte of the second start, in units of 16: 2.
    pub is_sop1_ptr: Bits<2>,
    /// Ends in this beat.
    pub is_eop: Bits<2>,
    /// Last doubleword of the first end.
    pub is_eop0_ptr: Bits<4>,
    /// Last doubleword of the second end.
    pub is_eop1_ptr: Bits<4>,
    /// Abort the TLP; never set.
    pub discontinue: Bit,
    /// TLP processing hints: none.
    pub tph_present: Bits<2>,
    /// None.
    pub tph_type: Bits<4>,
    /// None.
    pub tph_indirect_tag_en: Bits<2>,
    /// None.
    pub tph_st_tag: Bits<16>,
    /// Sequence number of the first TLP, reported when it has left.
    pub seq_num0: Bits<6>,
    /// Sequence number of the second TLP.
    pub seq_num1: Bits<6>,
    /// Odd parity; not used.
    pub parity: Bits<64>,
}

/// Requester completion: answers to reads. `tuser` has 161 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RcBeat {
    /// Descriptors of 12 bytes and payloads, from bytes 0, 16, 32, 48 on.
    pub data: Bits<512>,
    /// Valid doublewords; without meaning when straddling is on.
    pub keep: Bits<16>,
    /// Last beat of a TLP; without meaning when straddling is on.
    pub last: Bit,
    /// Valid payload bytes.
    pub byte_en: Bits<64>,
    /// Starts in this beat.
    pub is_sop: Bits<4>,
    /// Byte of the first start, in units of 16.
    pub is_sop0_ptr: Bits<2>,
    /// Second start.
    pub is_sop1_ptr: Bits<2>,
    /// Third start.
    pub is_sop2_ptr: Bits<2>,
    /// Fourth start.
    pub is_sop3_ptr: Bits<2>,
    /// Ends in this beat.
    pub is_eop: Bits<4>,
    /// Last doubleword of the first end.
    pub is_eop0_ptr: Bits<4>,
    /// Second end.
    pub is_eop1_ptr: Bits<4>,
    /// Third end.
    pub is_eop2_ptr: Bits<4>,
    /// Fourth end.
    pub is_eop3_ptr: Bits<4>,
    /// The TLP that ends here is damaged (an uncorrectable error in the block's memory).
    pub discontinue: Bit,
    /// Odd parity; not used.
    pub parity: Bits<64>,
}

/// Completer request: the host's accesses to the card's BARs. `tuser` has 183 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqBeat {
    /// Descriptor of 16 bytes and payload.
    pub data: Bits<512>,
    /// Valid doublewords.
    pub keep: Bits<16>,
    /// Last beat of a TLP.
    pub last: Bit,
    /// First doubleword's byte enables in bits 3:0.
    pub first_be: Bits<8>,
    /// Last doubleword's byte enables in bits 3:0; 0 for a TLP of one doubleword.
    pub last_be: Bits<8>,
    /// Valid payload bytes of this beat.
    pub byte_en: Bits<64>,
    /// Starts in this beat.
    pub is_sop: Bits<2>,
    /// Byte of the first start, in units of 16: 0.
    pub is_sop0_ptr: Bits<2>,
    /// Not used without straddling.
    pub is_sop1_ptr: Bits<2>,
    /// Ends in this beat.
    pub is_eop: Bits<2>,
    /// Last doubleword of the first end.
    pub is_eop0_ptr: Bits<4>,
    /// Not used without straddling.
    pub is_eop1_ptr: Bits<4>,
    /// The TLP that ends here is damaged.
    pub discontinue: Bit,
    /// TLP processing hints; ignored.
    pub tph_present: Bits<2>,
    /// Ignored.
    pub tph_type: Bits<4>,
    /// Ignored.
    pub tph_st_tag: Bits<16>,
    /// Odd parity; not used.
    pub parity: Bits<64>,
}

/// Completer completion: answers to the host's reads. `tuser` has 81 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CcBeat {
    /// Descriptor of 12 bytes and payload.
    pub data: Bits<512>,
    /// Valid doublewords.
    pub keep: Bits<16>,
    /// Last beat of a TLP.
    pub last: Bit,
    /// Starts in this beat.
    pub is_sop: Bits<2>,
    /// Byte of the first start, in units of 16: 0.
    pub is_sop0_ptr: Bits<2>,
    /// Not used without straddling.
    pub is_sop1_ptr: Bits<2>,
    /// Ends in this beat.
    pub is_eop: Bits<2>,
    /// Last doubleword of the first end.
    pub is_eop0_ptr: Bits<4>,
    /// Not used without straddling.
    pub is_eop1_ptr: Bits<4>,
    /// Abort the TLP; never set.
    pub discontinue: Bit,
    /// Odd parity; not used.
    pub parity: Bits<64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuser_has_the_blocks_width() {
        assert_eq!(RqBeat::BITS - 529, 137);
        assert_eq!(RcBeat::BITS - 529, 161);
        assert_eq!(CqBeat::BITS - 529, 183);
        assert_eq!(CcBeat::BITS - 529, 81);
    }
}

//! `tuser` of the four streams, dword-aligned mode (PG213, 512-bit interfaces). `is_sop` and `is_eop` have bit `n` set when there are
//! at least `n + 1` starts or ends in the beat; `sop_ptr` counts 16 bytes, `eop_ptr` is the last doubleword.

use super::bits::{AxisBeat, Fields, User};

/// A beat of RQ: the card's requests.
pub type RqBeat = AxisBeat<RqUser>;
/// A beat of RC: answers to the card's reads.
pub type RcBeat = AxisBeat<RcUser>;
/// A beat of CQ: the host's requests.
pub type CqBeat = AxisBeat<CqUser>;
/// A beat of CC: the card's answers to the host's reads.
pub type CcBeat = AxisBeat<CcUser>;

/// `tuser` of RQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RqUser {
    /// First byte enables of the first and second TLP that start here, 4 bits each.
    pub first_be: [u8; 2],
    /// Last byte enables.
    pub last_be: [u8; 2],
    /// 0 in dword-aligned mode.
    pub addr_offset: u8,
    /// Starts, 2 bits.
    pub is_sop: u8,
    /// Their places.
    pub sop_ptr: [u8; 2],
    /// Ends, 2 bits.
    pub is_eop: u8,
    /// Their last doublewords.
    pub eop_ptr: [u8; 2],
    /// Abort the TLP.
    pub discontinue: bool,
    /// Processing hint present, 2 bits.
    pub tph_present: u8,
    /// Kinds of hints, 2 bits each.
    pub tph_type: u8,
    /// Indirect steering, 2 bits.
    pub tph_indirect_tag_en: u8,
    /// Steering tags.
    pub tph_st_tag: u16,
    /// Sequence numbers, 6 bits each.
    pub seq_num: [u8; 2],
    /// Odd parity of each byte.
    pub parity: u64,
}

impl User for RqUser {
    const BITS: usize = 137;

    fn visit(&mut self, fields: &mut impl Fields) {
        each(fields, &mut self.first_be, 4);
        each(fields, &mut self.last_be, 4);
        fields.field(&mut self.addr_offset, 4);
        fields.field(&mut self.is_sop, 2);
        each(fields, &mut self.sop_ptr, 2);
        fields.field(&mut self.is_eop, 2);
        each(fields, &mut self.eop_ptr, 4);
        fields.field(&mut self.discontinue, 1);
        fields.field(&mut self.tph_present, 2);
        fields.field(&mut self.tph_type, 4);
        fields.field(&mut self.tph_indirect_tag_en, 2);
        fields.field(&mut self.tph_st_tag, 16);
        each(fields, &mut self.seq_num, 6);
        fields.field(&mut self.parity, 64);
    }
}

/// `tuser` of RC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RcUser {
    /// Valid payload bytes.
    pub byte_en: u64,
    /// Starts, 4 bits.
    pub is_sop: u8,
    /// Their places.
    pub sop_ptr: [u8; 4],
    /// Ends, 4 bits.
    pub is_eop: u8,
    /// Their last doublewords.
    pub eop_ptr: [u8; 4],
    /// The TLP that ends here is damaged.
    pub discontinue: bool,
    /// Odd parity of each byte.
    pub parity: u64,
}

impl User for RcUser {
    const BITS: usize = 161;

    fn visit(&mut self, fields: &mut impl Fields) {
        fields.field(&mut self.byte_en, 64);
        fields.field(&mut self.is_sop, 4);
        each(fields, &mut self.sop_ptr, 2);
        fields.field(&mut self.is_eop, 4);
        each(fields, &mut self.eop_ptr, 4);
        fields.field(&mut self.discontinue, 1);
        fields.field(&mut self.parity, 64);
    }
}

/// `tuser` of CQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CqUser {
    /// First byte enables of the first and second TLP that start here, 4 bits each.
    pub first_be: [u8; 2],
    /// Last byte enables.
    pub last_be: [u8; 2],
    /// Valid payload bytes.
    pub byte_en: u64,
    /// Starts, 2 bits.
    pub is_sop: u8,
    /// Their places.
    pub sop_ptr: [u8; 2],
    /// Ends, 2 bits.
    pub is_eop: u8,
    /// Their last doublewords.
    pub eop_ptr: [u8; 2],
    /// The TLP that ends here is damaged.
    pub discontinue: bool,
    /// Processing hint present, 2 bits.
    pub tph_present: u8,
    /// Kinds of hints, 2 bits each.
    pub tph_type: u8,
    /// Steering tags.
    pub tph_st_tag: u16,
    /// Odd parity of each byte.
    pub parity: u64,
}

impl User for CqUser {
    const BITS: usize = 183;

    fn visit(&mut self, fields: &mut impl Fields) {
        each(fields, &mut self.first_be, 4);
        each(fields, &mut self.last_be, 4);
        fields.field(&mut self.byte_en, 64);
        fields.field(&mut self.is_sop, 2);
        each(fields, &mut self.sop_ptr, 2);
        fields.field(&mut self.is_eop, 2);
        each(fields, &mut self.eop_ptr, 4);
        fields.field(&mut self.discontinue, 1);
        fields.field(&mut self.tph_present, 2);
        fields.field(&mut self.tph_type, 4);
        fields.field(&mut self.tph_st_tag, 16);
        fields.field(&mut self.parity, 64);
    }
}

/// `tuser` of CC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CcUser {
    /// Starts, 2 bits.
    pub is_sop: u8,
    /// Their places.
    pub sop_ptr: [u8; 2],
    /// Ends, 2 bits.
    pub is_eop: u8,
    /// Their last doublewords.
    pub eop_ptr: [u8; 2],
    /// Abort the TLP.
    pub discontinue: bool,
    /// Odd parity of each byte.
    pub parity: u64,
}

impl User for CcUser {
    const BITS: usize = 81;

    fn visit(&mut self, fields: &mut impl Fields) {
        fields.field(&mut self.is_sop, 2);
        each(fields, &mut self.sop_ptr, 2);
        fields.field(&mut self.is_eop, 2);
        each(fields, &mut self.eop_ptr, 4);
        fields.field(&mut self.discontinue, 1);
        fields.field(&mut self.parity, 64);
    }
}

fn each(fields: &mut impl Fields, values: &mut [u8], width: usize) {
    for value in values {
        fields.field(value, width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Adds up widths.
    struct Width(usize);

    impl Fields for Width {
        fn bits(&mut self, value: u64, width: usize) -> u64 {
            self.0 += width;
            value
        }
    }

    fn width<U: User>() -> usize {
        let mut width = Width(0);
        U::default().visit(&mut width);
        width.0
    }

    #[test]
    fn widths_are_the_blocks() {
        assert_eq!(width::<RqUser>(), RqUser::BITS);
        assert_eq!(width::<RcUser>(), RcUser::BITS);
        assert_eq!(width::<CqUser>(), CqUser::BITS);
        assert_eq!(width::<CcUser>(), CcUser::BITS);
    }

    fn bit(words: &[u32], at: usize) -> bool {
        words[at / 32] >> (at % 32) & 1 == 1
    }

    /// Places from PG213's tables, as offsets in `tuser`.
    #[test]
    fn fields_are_in_their_places() {
        let mut rq = RqBeat::default();
        rq.user.eop_ptr[1] = 8;
        rq.user.seq_num[1] = 1;
        let words = rq.to_words();
        let set: Vec<usize> = (0..RqBeat::BITS).filter(|&k| bit(&words, k)).collect();
        assert_eq!(set, [529 + 35, 529 + 67]);
        let mut rc = RcBeat::default();
        rc.user.is_sop = 8;
        rc.user.eop_ptr[3] = 1;
        rc.user.discontinue = true;
        let words = rc.to_words();
        let set: Vec<usize> = (0..RcBeat::BITS).filter(|&k| bit(&words, k)).collect();
        assert_eq!(set, [529 + 67, 529 + 92, 529 + 96]);
        let mut cq = CqBeat::default();
        cq.user.byte_en = 1;
        cq.user.parity = 1;
        cq.user.is_eop = 1;
        let words = cq.to_words();
        let set: Vec<usize> = (0..CqBeat::BITS).filter(|&k| bit(&words, k)).collect();
        assert_eq!(set, [529 + 16, 529 + 86, 529 + 119]);
        let mut cc = CcBeat::default();
        cc.user.eop_ptr[0] = 1;
        cc.user.parity = 1 << 63;
        cc.last = true;
        let words = cc.to_words();
        let set: Vec<usize> = (0..CcBeat::BITS).filter(|&k| bit(&words, k)).collect();
        assert_eq!(set, [528, 529 + 8, 529 + 80]);
    }

    fn same<U: User + std::fmt::Debug + PartialEq>(words: &[u32]) -> Result<(), TestCaseError> {
        let beat = AxisBeat::<U>::unpack(words);
        let mut again = vec![u32::MAX; AxisBeat::<U>::WORDS];
        beat.pack(&mut again);
        let unused = AxisBeat::<U>::WORDS * 32 - AxisBeat::<U>::BITS;
        let mut expected = words[..again.len()].to_vec();
        if let Some(last) = expected.last_mut() {
            *last &= u32::MAX >> unused;
        }
        prop_assert_eq!(again, expected);
        Ok(())
    }

    proptest! {
        #![proptest_config(crate::seed::cases())]

        #[test]
        fn beats_come_back(words in prop::collection::vec(any::<u32>(), 32)) {
            same::<RqUser>(&words)?;
            same::<RcUser>(&words)?;
            same::<CqUser>(&words)?;
            same::<CcUser>(&words)?;
        }
    }
}

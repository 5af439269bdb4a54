//! Memory regions: rights and keys.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// Rights to a memory region or of a QP; numbers of `ibv_access_flags`. Local reading is always allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access(u8);

impl Access {
    /// Local reading only.
    pub const NONE: Self = Self(0);
    /// The card may write for its own QPs (receive buffers, READ results).
    pub const LOCAL_WRITE: Self = Self(1);
    /// Peers may write (RDMA WRITE).
    pub const REMOTE_WRITE: Self = Self(2);
    /// Peers may read (RDMA READ).
    pub const REMOTE_READ: Self = Self(4);
    /// Peers may use atomic operations.
    pub const REMOTE_ATOMIC: Self = Self(8);
    /// Every defined right.
    pub const ALL: Self = Self(15);

    /// The rights as a number.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// From a number; undefined bits are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// All rights of `other` are among these.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// What the IBTA specification demands of a registration (C11-50): who lets peers write must
    /// allow local writing too.
    pub const fn is_consistent(self) -> bool {
        self.0 & (Self::REMOTE_WRITE.0 | Self::REMOTE_ATOMIC.0) == 0
            || self.contains(Self::LOCAL_WRITE)
    }
}

impl BitOr for Access {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Access {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// An L_Key or R_Key: MR index in bits 31:8, key tag in bits 7:0. The two are equal in this architecture.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u32);

impl Key {
    /// Bits of the tag.
    pub const TAG_BITS: usize = 8;

    /// The key of MR `index` with `tag`; `None` when the index has more than 24 bits.
    pub const fn new(index: u32, tag: u8) -> Option<Self> {
        if index >> 24 != 0 {
            return None;
        }
        Some(Self(index << Self::TAG_BITS | tag as u32))
    }

    /// As it stands in WQEs and on the wire.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// From a WQE or the wire.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// MR index, 24 bits.
    pub const fn index(self) -> u32 {
        self.0 >> Self::TAG_BITS
    }

    /// Tag: tells successive owners of an index apart.
    pub const fn tag(self) -> u8 {
        self.0 as u8
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:#x}:{:#04x})", self.index(), self.tag())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_parts_are_where_the_layout_says() {
        let key = Key::new(0x1234, 0xAB).unwrap();
        assert_eq!(key.bits(), 0x0012_34AB);
        assert_eq!((key.index(), key.tag()), (0x1234, 0xAB));
        assert_eq!(Key::new(1 << 24, 0), None);
    }

    #[test]
    fn remote_writers_need_local_write() {
        assert!(!Access::REMOTE_WRITE.is_consistent());
        assert!((Access::REMOTE_WRITE | Access::LOCAL_WRITE).is_consistent());
        assert!(Access::REMOTE_READ.is_consistent());
    }
}

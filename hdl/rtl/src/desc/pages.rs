//! Memory regions and the translation of their addresses.

use ferroce_emit::prelude::*;

/// What an access check needs of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Region {
    /// The region exists.
    pub valid: Bit,
    /// Key tag, bits 7:0 of its keys.
    pub tag: Bits<8>,
    /// Protection domain.
    pub pd: Bits<16>,
    /// Rights, bits of `ferroce_abi::mr::Access`.
    pub access: Bits<8>,
    /// First byte.
    pub base: Bits<64>,
    /// Bytes.
    pub len: Bits<64>,
    /// Its addresses go through its page table.
    pub paged: Bit,
    /// Changes whenever the region has gone.
    pub epoch: Bits<8>,
}

/// Write port of the tables of the access checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RegionWrite {
    /// Write in this cycle.
    pub valid: Bit,
    /// MR index.
    pub index: Bits<16>,
    /// The region.
    pub region: Region,
}

/// Where a region's page table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PageTable {
    /// The table has two levels.
    pub indirect: Bit,
    /// Page size: 0 is 4 KiB, 1 is 64 KiB, 2 and 3 are 2 MiB.
    pub size: Bits<2>,
    /// Where the entry of virtual address 0 would be.
    pub origin: Bits<64>,
}

/// Write port of the translators' tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PageTableWrite {
    /// Write in this cycle.
    pub valid: Bit,
    /// MR index.
    pub index: Bits<16>,
    /// The table.
    pub table: PageTable,
}

/// By which region a checked access goes; with `paged` its addresses are virtual.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Via {
    /// They are.
    pub paged: Bit,
    /// MR index.
    pub mr: Bits<16>,
    /// Epoch of the region when the access was checked.
    pub epoch: Bits<8>,
}

/// Asks for the bus address of 4 KiB of a region's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PageReq {
    /// MR index.
    pub mr: Bits<16>,
    /// Its epoch.
    pub epoch: Bits<8>,
    /// Bits 63:12 of the virtual address.
    pub page: Bits<52>,
}

/// Answer to a [`PageReq`].
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PageAnswer {
    /// Bits 63:12 of the bus address.
    pub page: Bits<52>,
    /// There is none: no page there, or the table can't be read.
    pub fault: Bit,
}

/// What a translator did in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PageEvents {
    /// It looked a page up.
    pub lookup: Bit,
    /// It will read an entry for it.
    pub miss: Bit,
    /// It answered with a fault.
    pub fault: Bit,
}

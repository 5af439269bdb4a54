//! What the translator's parts tell each other.

use ferroce_emit::prelude::*;

/// Page walks a translator has under way at most (log2): a DMA tag each.
pub const SLOTS_LOG2: usize = 5;

/// One look-up, in the order of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Lookup {
    /// The same page as the look-up before.
    pub same: Bit,
    /// Not in the cache: the next page walk in order brings it.
    pub miss: Bit,
    /// Page size.
    pub size: Bits<2>,
    /// Bits 20:12 of the address, of which the page offset keeps those below the page size.
    pub low: Bits<9>,
    /// Of a hit: the page's frame.
    pub frame: Bits<52>,
}

/// A page to be walked to.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Walk {
    /// Address of the first entry to read.
    pub entry: Bits<64>,
    /// It is a leaf's.
    pub indirect: Bit,
    /// Cache line to fill.
    pub line: Bits<16>,
    /// What the line is to hold.
    pub tag: LineTag,
}

/// Names a page of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct LineTag {
    /// MR index.
    pub mr: Bits<16>,
    /// Its epoch.
    pub epoch: Bits<8>,
    /// Number of the page: virtual address divided by the page size.
    pub number: Bits<52>,
}

/// A cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Line {
    /// It holds something.
    pub valid: Bit,
    /// Which page.
    pub tag: LineTag,
    /// Bits 63:12 of its bus address.
    pub frame: Bits<52>,
}

/// Write port of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Fill {
    /// Write in this cycle.
    pub valid: Bit,
    /// Line to fill.
    pub line: Bits<16>,
    /// Which page.
    pub tag: LineTag,
    /// Bits 63:12 of its bus address.
    pub frame: Bits<52>,
}

/// A page walk has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct WalkEnd {
    /// In this cycle.
    pub valid: Bit,
    /// Its slot.
    pub slot: Bits<5>,
    /// Changes with every use of the slot; 1 in the first.
    pub lap: Bit,
    /// Bits 63:12 of the page's bus address.
    pub frame: Bits<52>,
    /// There is no page, or no table.
    pub fault: Bit,
}

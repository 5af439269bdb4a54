//! Page tables of memory regions.

use crate::error::Error;
use crate::platform::{DmaBuffer, DmaMemory, PageList};
use ferroce_abi::page_table::{
    entry, table_origin, ENTRY_BYTES, LEAF_ENTRIES, LEAF_LOG2, TABLE_ALIGN,
};
use std::ops::Range;
use std::sync::Arc;

/// Entries that are kept in one level: no contiguous memory longer than a page is needed for them.
const ONE_LEVEL: usize = LEAF_ENTRIES as usize;

/// The page table of one region in memory that the card reads.
#[derive(Debug)]
pub(crate) struct PageTable {
    /// The table, then the leaves if there are two levels.
    memory: Vec<Arc<dyn DmaBuffer>>,
    /// [`ferroce_abi::cfg::MrCfg::table`].
    origin: u64,
}

impl PageTable {
    /// For the bytes at virtual addresses `range`, which are not empty, in a buffer that begins at virtual address `buffer`.
    pub(crate) fn new(
        memory: &dyn DmaMemory,
        list: &PageList,
        buffer: u64,
        range: Range<u64>,
    ) -> Result<Self, Error> {
        let size = list.size;
        let skipped = (range.start >> size.log2()) - (buffer >> size.log2());
        let count = size.pages(range.start, range.end - range.start);
        let wrong = Error::PageList {
            size: size.bytes(),
            pages: list.pages.len(),
        };
        let pages = (list.pages.get(skipped as usize..))
            .and_then(|pages| pages.get(..count as usize))
            .filter(|pages| pages.iter().flatten().all(|page| page % size.bytes() == 0))
            .ok_or(wrong)?;
        let entries: Vec<u64> = pages.iter().map(|page| page.map_or(0, entry)).collect();
        let indirect = entries.len() > ONE_LEVEL;
        let mut tables = Vec::new();
        let top = if indirect {
            let first = (range.start >> size.log2()) as usize % ONE_LEVEL;
            let mut leaves = Vec::new();
            let (head, rest) = entries.split_at(ONE_LEVEL - first);
            for (place, part) in [(first, head)]
                .into_iter()
                .chain(rest.chunks(ONE_LEVEL).map(|part| (0, part)))
            {
                let leaf = fill(memory, TABLE_ALIGN as usize, place, part)?;
                leaves.push(entry(leaf.iova()));
                tables.push(leaf);
            }
            leaves
        } else {
            entries
        };
        let table = fill(memory, top.len() * ENTRY_BYTES as usize, 0, &top)?;
        debug_assert!(!indirect || tables.len() as u64 >= count >> LEAF_LOG2);
        let origin = table_origin(table.iova(), range.start, size, indirect);
        tables.insert(0, table);
        Ok(Self {
            memory: tables,
            origin,
        })
    }

    /// It has two levels.
    pub(crate) fn indirect(&self) -> bool {
        self.memory.len() > 1
    }

    /// What the card adds page numbers to.
    pub(crate) fn origin(&self) -> u64 {
        self.origin
    }

    /// Address of the table.
    pub(crate) fn address(&self) -> u64 {
        self.memory[0].iova()
    }
}

/// A zeroed table of `len` bytes with `entries` from number `place` on.
fn fill(
    memory: &dyn DmaMemory,
    len: usize,
    place: usize,
    entries: &[u64],
) -> Result<Arc<dyn DmaBuffer>, Error> {
    let table = memory.allocate(len, TABLE_ALIGN as usize)?;
    let bytes: Vec<u8> = entries.iter().flat_map(|e| e.to_le_bytes()).collect();
    table.write(place * ENTRY_BYTES as usize, &bytes)?;
    Ok(table)
}

//! Physical addresses of a process's pages, from `/proc/self/pagemap`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of an entry; there is one for each page of the address space.
const ENTRY_BYTES: u64 = 8;
/// The page is in memory.
const PRESENT: u64 = 1 << 63;
/// The page is swapped out.
const SWAPPED: u64 = 1 << 62;
/// Physical page number of a page in memory.
const FRAME: u64 = (1 << 55) - 1;

/// A physical address can't be had.
#[derive(Debug, thiserror::Error)]
pub enum PagemapError {
    /// The file can't be read.
    #[error("{} can't be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The kernel hides physical addresses from this process.
    #[error(
        "the kernel hides physical addresses from processes without CAP_SYS_ADMIN: run as root, or bind the card to \
         vfio-pci, which needs none"
    )]
    Hidden,
    /// The page is not in memory.
    #[error("the page at {address:#x} is not in memory")]
    Absent {
        /// Virtual address.
        address: usize,
    },
}

/// Tells physical addresses.
pub(super) trait Locate: std::fmt::Debug + Send + Sync {
    /// Physical address of the byte at virtual address `address`, whose page is in memory.
    fn physical(&self, address: usize) -> Result<u64, PagemapError>;
}

/// The file.
#[derive(Debug)]
pub(super) struct Pagemap {
    file: File,
    path: PathBuf,
    page: usize,
}

impl Pagemap {
    /// Opens `<proc>/self/pagemap`.
    pub(super) fn open(proc: &Path) -> Result<Self, PagemapError> {
        let path = proc.join("self/pagemap");
        match File::open(&path) {
            Ok(file) => Ok(Self {
                file,
                path,
                page: rustix::param::page_size(),
            }),
            Err(source) => Err(PagemapError::Read { path, source }),
        }
    }
}

impl Locate for Pagemap {
    fn physical(&self, address: usize) -> Result<u64, PagemapError> {
        let mut entry = [0; ENTRY_BYTES as usize];
        let at = (address / self.page) as u64 * ENTRY_BYTES;
        self.file
            .read_exact_at(&mut entry, at)
            .map_err(|source| PagemapError::Read {
                path: self.path.clone(),
                source,
            })?;
        let entry = u64::from_ne_bytes(entry);
        if entry & PRESENT == 0 || entry & SWAPPED != 0 {
            return Err(PagemapError::Absent { address });
        }
        match entry & FRAME {
            // Frame 0 is never a process's.
            0 => Err(PagemapError::Hidden),
            frame => Ok(frame * self.page as u64 + (address % self.page) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::pages::{PageKind, Pages};

    /// A folder with a pagemap that holds `entries`, from virtual address 0 on.
    fn fake(entries: &[u64]) -> (tempfile::TempDir, Pagemap) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("self")).unwrap();
        let bytes: Vec<_> = entries.iter().flat_map(|e| e.to_ne_bytes()).collect();
        std::fs::write(folder.path().join("self/pagemap"), bytes).unwrap();
        let pagemap = Pagemap::open(folder.path()).unwrap();
        (folder, pagemap)
    }

    #[test]
    fn entries_become_addresses() {
        let soft_dirty_and_exclusive = 1 << 55 | 1 << 56;
        let (_folder, pagemap) = fake(&[
            PRESENT | 0x12_3456,
            PRESENT | soft_dirty_and_exclusive | FRAME >> 13,
        ]);
        let page = pagemap.page;
        assert_eq!(
            pagemap.physical(0x10).unwrap(),
            0x12_3456 * page as u64 + 0x10
        );
        let last = pagemap.physical(2 * page - 1).unwrap();
        assert_eq!(last, ((FRAME >> 13) + 1) * page as u64 - 1);
    }

    #[test]
    fn pages_without_address_are_told_apart() {
        let (_folder, pagemap) = fake(&[0, PRESENT, PRESENT | SWAPPED | 5]);
        let page = pagemap.page;
        assert!(matches!(
            pagemap.physical(1),
            Err(PagemapError::Absent { address: 1 })
        ));
        assert!(matches!(pagemap.physical(page), Err(PagemapError::Hidden)));
        assert!(matches!(
            pagemap.physical(2 * page),
            Err(PagemapError::Absent { .. })
        ));
        // Behind the file's end.
        assert!(matches!(
            pagemap.physical(3 * page),
            Err(PagemapError::Read { .. })
        ));
    }

    #[test]
    fn a_missing_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Pagemap::open(folder.path()).unwrap_err();
        assert!(error.to_string().contains("self/pagemap"));
    }

    #[test]
    fn the_kernels_own_file_is_understood() {
        let pagemap = Pagemap::open(Path::new("/proc")).unwrap();
        let pages = Pages::map(pagemap.page, PageKind::Ordinary).unwrap();
        assert!(matches!(
            pagemap.physical(pages.address()),
            Err(PagemapError::Absent { .. })
        ));
        pages.lock().unwrap();
        match pagemap.physical(pages.address() + 5) {
            Ok(address) => assert_eq!(address % pagemap.page as u64, 5),
            // An ordinary user's process.
            Err(error) => assert!(matches!(error, PagemapError::Hidden), "{error}"),
        }
    }
}

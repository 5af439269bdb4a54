//! Tests with addresses that are computed, and with ordinary pages in place of huge ones.

use super::*;
use std::error::Error as _;

/// Where pages are.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// As in the address space, a constant apart.
    Shifted,
    /// No two of them one after the other.
    Scattered,
    /// All in the second page of memory.
    Second,
}

impl Locate for Place {
    fn physical(&self, address: usize) -> Result<u64, PagemapError> {
        let page = rustix::param::page_size();
        Ok(match self {
            Self::Shifted => address as u64 + 0x40_0000_0000,
            Self::Scattered => (address / page * page * 2 + address % page) as u64,
            Self::Second => (page + address % page) as u64,
        })
    }
}

/// A procfs in which the kernel's settings are `values`; without a value there is no file.
fn settings(values: [Option<&str>; 2]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in MOVERS.into_iter().zip(values) {
        let path = folder.path().join("sys").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(value) = value {
            fs::write(path, format!("{value}\n")).unwrap();
        }
    }
    folder
}

const NO_PAGES: PageKind = PageKind::Huge { log2: 50 };

fn memory(kind: PageKind, place: Place, proc: &Path) -> PhysicalMemory<Place> {
    PhysicalMemory::with(place, kind, proc)
}

fn refusal(result: Result<Arc<dyn DmaBuffer>, DmaError>) -> PhysicalError {
    match result.unwrap_err() {
        DmaError::Allocate { source, .. } => *source.downcast().unwrap(),
        error => panic!("{error}"),
    }
}

#[test]
fn buffers_share_a_huge_page_and_return_zeroed() {
    let proc = settings([None, None]);
    let memory = memory(PageKind::Ordinary, Place::Shifted, proc.path());
    let first = memory.allocate(100, 64).unwrap();
    let second = memory.allocate(8192, 8192).unwrap();
    assert_eq!((first.len(), second.len()), (100, 8192));
    assert_eq!(second.iova() % 8192, 0);
    assert!(first.iova() + 100 <= second.iova());
    assert_eq!(lock(&memory.chunks).len(), 1);
    first.write(0, &[7; 100]).unwrap();
    second.write(0, &[9; 8192]).unwrap();
    let mut bytes = [0; 100];
    first.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [7; 100]);
    assert_eq!(second.load_acquire(8191).unwrap(), 9);
    let place = second.iova();
    drop(second);
    let again = memory.allocate(8000, 8192).unwrap();
    assert_eq!(again.iova(), place);
    let mut bytes = [1; 8000];
    again.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 8000]);
}

#[test]
fn a_buffer_ends_at_its_own_length() {
    let proc = settings([None, None]);
    let memory = memory(PageKind::Ordinary, Place::Shifted, proc.path());
    let buffer = memory.allocate(100, 1).unwrap();
    for result in [
        buffer.write(100, &[0]),
        buffer.read(99, &mut [0; 2]),
        buffer.load_acquire(100).map(drop),
        buffer.write(usize::MAX, &[0]),
    ] {
        assert!(matches!(result, Err(DmaError::Range { len: 100, .. })));
    }
}

#[test]
fn a_full_huge_page_is_followed_by_another() {
    let proc = settings([None, None]);
    let memory = memory(PageKind::Ordinary, Place::Shifted, proc.path());
    let whole = memory.allocate(HUGE_BYTES, 1).unwrap();
    let small = memory.allocate(1, 1).unwrap();
    assert_eq!(lock(&memory.chunks).len(), 2);
    let (a, b) = (whole.iova(), small.iova());
    assert!(b < a || b >= a + HUGE_BYTES as u64);
    drop(whole);
    memory.allocate(HUGE_BYTES, 1).unwrap();
    assert_eq!(lock(&memory.chunks).len(), 2);
}

#[test]
fn what_no_page_holds_is_refused() {
    let proc = settings([None, None]);
    let memory = memory(PageKind::Ordinary, Place::Shifted, proc.path());
    let error = refusal(memory.allocate(HUGE_BYTES + 1, 1));
    assert!(matches!(error, PhysicalError::TooLong));
    assert!(error.to_string().contains("vfio-pci"));
    assert!(matches!(
        refusal(memory.allocate(1, 2 * HUGE_BYTES)),
        PhysicalError::Alignment { .. }
    ));
    for (len, align) in [(0, 1), (1, 0), (1, 3)] {
        let error = memory.allocate(len, align).unwrap_err();
        let cause = error.source().unwrap().to_string();
        assert!(cause.contains("power of two"), "{cause}");
    }
}

#[test]
fn ordinary_pages_do_when_the_kernel_keeps_them_in_place() {
    for values in [[Some("0"), Some("0")], [None, None], [Some("0"), None]] {
        let proc = settings(values);
        let memory = memory(NO_PAGES, Place::Shifted, proc.path());
        let page = rustix::param::page_size();
        let buffer = memory.allocate(2 * page + 1, page).unwrap();
        assert_eq!(buffer.iova() % page as u64, 0);
        buffer.write(2 * page, &[3]).unwrap();
        assert_eq!(buffer.load_acquire(2 * page).unwrap(), 3);
    }
}

#[test]
fn ordinary_pages_that_may_move_are_refused() {
    for (values, name) in [
        ([Some("1"), Some("0")], MOVERS[0]),
        ([Some("0"), Some("2")], MOVERS[1]),
        ([Some(""), None], MOVERS[0]),
    ] {
        let proc = settings(values);
        let error = refusal(memory(NO_PAGES, Place::Shifted, proc.path()).allocate(1, 1));
        assert!(
            matches!(&error, PhysicalError::Movable { setting, .. } if setting.ends_with(name))
        );
        assert!(error.to_string().contains("nr_hugepages"));
    }
}

#[test]
fn scattered_pages_hold_one_page_only() {
    let proc = settings([None, None]);
    let memory = memory(NO_PAGES, Place::Scattered, proc.path());
    let page = rustix::param::page_size();
    memory.allocate(page, 1).unwrap();
    let error = refusal(memory.allocate(page + 1, 1));
    assert!(matches!(error, PhysicalError::Scattered { .. }));
}

#[test]
fn an_address_without_the_alignment_is_refused() {
    let proc = settings([None, None]);
    let memory = memory(NO_PAGES, Place::Second, proc.path());
    let error = refusal(memory.allocate(1, HUGE_BYTES));
    assert!(matches!(error, PhysicalError::Scattered { .. }));
}

#[test]
fn regions_may_lie_in_scattered_pages() {
    let proc = settings([None, None]);
    // In one piece while there is one.
    let page = rustix::param::page_size();
    let memory = memory(NO_PAGES, Place::Scattered, proc.path());
    assert!(memory.allocate_pages(page).unwrap().pages().is_none());
    let len = 2 * HUGE_BYTES + 5;
    let buffer = memory.allocate_pages(len).unwrap();
    let list = buffer.pages().unwrap();
    assert_eq!((buffer.len(), list.size), (len, PageSize::K4));
    assert_eq!(buffer.iova() % page as u64, 0);
    let expected: Vec<_> = (buffer.iova()..buffer.iova() + len as u64)
        .step_by(4096)
        .map(|at| Some(Place::Scattered.physical(at as usize).unwrap()))
        .collect();
    assert_eq!(list.pages[..expected.len()], expected);
    buffer.write(len - 3, &[1, 2, 3]).unwrap();
    assert_eq!(buffer.load_acquire(len - 1).unwrap(), 3);
}

#[test]
fn regions_longer_than_a_huge_page_take_several() {
    let proc = settings([None, None]);
    let memory = memory(PageKind::Ordinary, Place::Shifted, proc.path());
    let buffer = memory.allocate_pages(2 * HUGE_BYTES + 1).unwrap();
    let list = buffer.pages().unwrap();
    let first = Place::Shifted.physical(buffer.iova() as usize).unwrap();
    let expected = [0, 1, 2].map(|n| Some(first + (n * HUGE_BYTES) as u64));
    assert_eq!((list.size, &list.pages[..]), (PageSize::M2, &expected[..]));
}

#[test]
fn scattered_pages_that_may_move_are_refused() {
    let proc = settings([Some("1"), None]);
    let memory = memory(NO_PAGES, Place::Scattered, proc.path());
    assert!(matches!(
        refusal(memory.allocate_pages(2 * HUGE_BYTES)),
        PhysicalError::Movable { .. }
    ));
}

//! The ioctls of `linux/vfio.h`.
#![allow(
    unsafe_code,
    reason = "an ioctl is as safe as the driver behind the file"
)]

use crate::linux::pages::Pages;
use rustix::ioctl::{ioctl, opcode, Ioctl, IoctlOutput, Opcode};
use std::ffi::{c_void, CStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use vfio_bindings::bindings::vfio::{
    vfio_device_info, vfio_group_status, vfio_iommu_type1_dma_map, vfio_iommu_type1_dma_unmap,
    vfio_iommu_type1_info, vfio_irq_info, vfio_region_info, VFIO_BASE, VFIO_DMA_MAP_FLAG_READ,
    VFIO_DMA_MAP_FLAG_WRITE, VFIO_TYPE,
};

/// Requests, as offsets from `VFIO_BASE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Request {
    GetApiVersion = 0,
    CheckExtension = 1,
    SetIommu = 2,
    GroupGetStatus = 3,
    GroupSetContainer = 4,
    GroupGetDeviceFd = 6,
    DeviceGetInfo = 7,
    DeviceGetRegionInfo = 8,
    DeviceGetIrqInfo = 9,
    DeviceSetIrqs = 10,
    DeviceReset = 11,
    IommuGetInfo = 12,
    IommuMapDma = 13,
    IommuUnmapDma = 14,
}

impl Request {
    const fn opcode(self) -> Opcode {
        opcode::none(VFIO_TYPE, VFIO_BASE as u8 + self as u8)
    }
}

/// A call whose answer is what the ioctl returns.
struct Call {
    request: Request,
    argument: *mut c_void,
}

// SAFETY: `argument` is the integer or the pointer to memory that the request asks for, as the functions below see to; the answer is
// the call's own and no memory is looked at.
unsafe impl Ioctl for Call {
    type Output = IoctlOutput;

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        self.request.opcode()
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.argument
    }

    unsafe fn output_from_ptr(
        out: IoctlOutput,
        _argument: *mut c_void,
    ) -> rustix::io::Result<IoctlOutput> {
        Ok(out)
    }
}

/// A request with an integer, or with nothing (0).
pub(super) fn with_number(file: &File, request: Request, number: usize) -> io::Result<i32> {
    debug_assert!(matches!(
        request,
        Request::GetApiVersion | Request::CheckExtension | Request::SetIommu | Request::DeviceReset
    ));
    let argument = ptr::without_provenance_mut(number);
    // SAFETY: these requests take the argument as a number and touch no memory of the process.
    Ok(unsafe { ioctl(file, Call { request, argument }) }?)
}

/// A structure that begins with its own size.
///
/// # Safety
/// It is the plain C structure that [`Self::REQUEST`] reads and writes, of `size_of::<Self>()` bytes.
pub(super) unsafe trait Argument: Default {
    /// Request that takes it.
    const REQUEST: Request;

    /// Its size field.
    fn size_field(&mut self) -> &mut u32;

    /// Runs the request.
    fn call(mut self, file: &File) -> io::Result<Self> {
        *self.size_field() = size_of::<Self>() as u32;
        let argument = ptr::from_mut(&mut self).cast();
        let request = Self::REQUEST;
        // SAFETY: the implementation promises that the request wants this structure; the kernel stays inside the size
        // that stands in it.
        unsafe { ioctl(file, Call { request, argument }) }?;
        Ok(self)
    }
}

macro_rules! argument {
    ($structure:ty, $request:ident) => {
        // SAFETY: bindgen made the structure from the header that defines the request.
        unsafe impl Argument for $structure {
            const REQUEST: Request = Request::$request;

            fn size_field(&mut self) -> &mut u32 {
                &mut self.argsz
            }
        }
    };
}

argument!(vfio_group_status, GroupGetStatus);
argument!(vfio_device_info, DeviceGetInfo);
argument!(vfio_region_info, DeviceGetRegionInfo);
argument!(vfio_irq_info, DeviceGetIrqInfo);

/// Puts a group into a container.
pub(super) fn set_container(group: &File, container: &File) -> io::Result<()> {
    let mut descriptor: i32 = container.as_raw_fd();
    let argument = ptr::from_mut(&mut descriptor).cast();
    let request = Request::GroupSetContainer;
    // SAFETY: the request reads one `int`.
    unsafe { ioctl(group, Call { request, argument }) }?;
    Ok(())
}

/// Opens a device of a group.
pub(super) fn device(group: &File, name: &CStr) -> io::Result<File> {
    let argument = name.as_ptr().cast_mut().cast();
    let request = Request::GroupGetDeviceFd;
    // SAFETY: the request reads a C string and writes nothing.
    let descriptor = unsafe { ioctl(group, Call { request, argument }) }?;
    // SAFETY: the request returns a new file descriptor, which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }.into())
}

/// A request with a structure and what follows it. The first word is the number of bytes that the kernel may use.
fn with_words(file: &File, request: Request, words: &mut [u32]) -> io::Result<()> {
    debug_assert!(matches!(
        request,
        Request::DeviceSetIrqs | Request::IommuGetInfo
    ));
    let fits = words
        .first()
        .is_some_and(|&size| size as usize <= size_of_val(words));
    if !fits {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let argument = words.as_mut_ptr().cast();
    // SAFETY: these requests read and write as many bytes as the first word says, which are no more than there are;
    // any bytes are valid words.
    unsafe { ioctl(file, Call { request, argument }) }?;
    Ok(())
}

/// Sets interrupts up; `words` is a `vfio_irq_set` with its data.
pub(super) fn set_irqs(device: &File, words: &mut [u32]) -> io::Result<()> {
    with_words(device, Request::DeviceSetIrqs, words)
}

/// The bytes of a `vfio_iommu_type1_info` and its capabilities.
pub(super) fn iommu_info(container: &File) -> io::Result<Vec<u8>> {
    // The kernel's first answer says how long the whole one is.
    let mut words = vec![0; size_of::<vfio_iommu_type1_info>() / 4];
    words[0] = size_of::<vfio_iommu_type1_info>() as u32;
    with_words(container, Request::IommuGetInfo, &mut words)?;
    let whole = words[0] as usize;
    if whole > size_of_val(&words[..]) {
        words = vec![0; whole.div_ceil(4)];
        words[0] = whole as u32;
        with_words(container, Request::IommuGetInfo, &mut words)?;
    }
    Ok(words.iter().flat_map(|word| word.to_ne_bytes()).collect())
}

/// What maps `pages` at IO address `iova` for reading and writing.
fn dma_map(pages: &Pages, iova: u64) -> vfio_iommu_type1_dma_map {
    vfio_iommu_type1_dma_map {
        argsz: size_of::<vfio_iommu_type1_dma_map>() as u32,
        flags: VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
        vaddr: pages.address() as u64,
        iova,
        size: pages.len() as u64,
    }
}

/// Lets the card access `pages` at IO address `iova`. The kernel keeps the pages in place until they are unmapped, so that
/// no card can reach what the process uses later at their place.
pub(super) fn map_dma(container: &File, pages: &Pages, iova: u64) -> io::Result<()> {
    let mut map = dma_map(pages, iova);
    let argument = ptr::from_mut(&mut map).cast();
    let request = Request::IommuMapDma;
    // SAFETY: the request reads this structure. From then on a card may write the pages, which are only
    // reached through volatile accesses.
    unsafe { ioctl(container, Call { request, argument }) }?;
    Ok(())
}

/// Takes `size` bytes at IO address `iova` away from the card.
pub(super) fn unmap_dma(container: &File, iova: u64, size: u64) -> io::Result<()> {
    let mut unmap = vfio_iommu_type1_dma_unmap {
        argsz: size_of::<vfio_iommu_type1_dma_unmap>() as u32,
        iova,
        size,
        ..Default::default()
    };
    let argument = ptr::from_mut(&mut unmap).cast();
    let request = Request::IommuUnmapDma;
    // SAFETY: the request reads and writes this structure, no data behind it as no flag asks for any.
    unsafe { ioctl(container, Call { request, argument }) }?;
    // The kernel answers with what it unmapped.
    match unmap.size {
        done if done == size => Ok(()),
        done => Err(io::Error::other(format!(
            "{done} of {size} bytes were unmapped"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::pages::PageKind;

    /// Numbers of `linux/vfio.h`: `_IO(';', 100 + n)`.
    #[test]
    fn requests_have_the_headers_numbers() {
        assert_eq!(Request::GetApiVersion.opcode(), 0x3B64);
        assert_eq!(Request::GroupGetDeviceFd.opcode(), 0x3B6A);
        assert_eq!(Request::DeviceSetIrqs.opcode(), 0x3B6E);
        assert_eq!(Request::DeviceReset.opcode(), 0x3B6F);
        assert_eq!(Request::IommuMapDma.opcode(), 0x3B71);
        assert_eq!(Request::IommuUnmapDma.opcode(), 0x3B72);
    }

    #[test]
    fn a_mapping_names_the_pages() {
        let len = rustix::param::page_size();
        let pages = Pages::map(len, PageKind::Ordinary).unwrap();
        let map = dma_map(&pages, 0x1234_0000);
        assert_eq!((map.argsz, map.flags), (32, 3));
        assert_eq!((map.vaddr, map.size), (pages.address() as u64, len as u64));
        assert_eq!(map.iova, 0x1234_0000);
    }

    #[test]
    fn other_files_refuse() {
        let file = tempfile::tempfile().unwrap();
        let refused = |result: io::Result<()>| {
            assert_eq!(
                result.unwrap_err().raw_os_error(),
                Some(rustix::io::Errno::NOTTY.raw_os_error()),
            );
        };
        let page = Pages::map(rustix::param::page_size(), PageKind::Ordinary).unwrap();
        refused(with_number(&file, Request::GetApiVersion, 0).map(drop));
        refused(vfio_group_status::default().call(&file).map(drop));
        refused(set_container(&file, &file));
        refused(device(&file, c"0000:03:00.0").map(drop));
        refused(set_irqs(&file, &mut [20, 0, 0, 0, 0]));
        refused(iommu_info(&file).map(drop));
        refused(map_dma(&file, &page, 0));
        refused(unmap_dma(&file, 0, 4096));
    }

    #[test]
    fn structures_longer_than_their_words_are_refused() {
        let file = tempfile::tempfile().unwrap();
        for words in [&mut [][..], &mut [21, 0, 0, 0, 0][..]] {
            let error = set_irqs(&file, words).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
}

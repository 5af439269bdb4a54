//! A container with one group: an IO address space.

use super::error::{open_error, request_error, VfioError};
use super::ioctl::{self, Argument, Request};
use super::iova::{ranges, IovaSpace};
use crate::linux::pages::Pages;
use crate::lock::lock;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Mutex;
use vfio_bindings::bindings::vfio::{
    vfio_group_status, VFIO_TYPE1v2_IOMMU, VFIO_API_VERSION, VFIO_GROUP_FLAGS_CONTAINER_SET,
    VFIO_GROUP_FLAGS_VIABLE,
};

/// The IO address space of a group's devices.
#[derive(Debug)]
pub(super) struct Domain {
    group: File,
    container: File,
    space: Mutex<IovaSpace>,
}

/// Pages can't be mapped.
#[derive(Debug)]
pub(super) enum MapError {
    /// No IO addresses are free.
    Full,
    /// The IOMMU refuses.
    Refused {
        /// IO address.
        iova: u64,
        /// Why.
        source: io::Error,
    },
}

impl Domain {
    /// Opens `<folder>/vfio` and `<folder>/<group>`.
    pub(super) fn open(folder: &Path, group: u32) -> Result<Self, VfioError> {
        let container = open(&folder.join("vfio"))?;
        let found = ioctl::with_number(&container, Request::GetApiVersion, 0)
            .map_err(request_error("asking for the version"))?;
        if u32::try_from(found) != Ok(VFIO_API_VERSION) {
            return Err(VfioError::ApiVersion { found });
        }
        let iommu = VFIO_TYPE1v2_IOMMU as usize;
        let known = ioctl::with_number(&container, Request::CheckExtension, iommu)
            .map_err(request_error("asking for the kind of IOMMU"))?;
        if known == 0 {
            return Err(VfioError::NoIommu);
        }
        let number = group;
        let group = open(&folder.join(number.to_string()))?;
        let status = vfio_group_status::default()
            .call(&group)
            .map_err(request_error("asking for the group's state"))?;
        check_group(number, status.flags)?;
        ioctl::set_container(&group, &container)
            .map_err(request_error("putting the group into a container"))?;
        ioctl::with_number(&container, Request::SetIommu, iommu)
            .map_err(request_error("choosing the IOMMU"))?;
        let info =
            ioctl::iommu_info(&container).map_err(request_error("asking for the IO addresses"))?;
        Ok(Self {
            group,
            container,
            space: Mutex::new(IovaSpace::new(ranges(&info))),
        })
    }

    /// The group's file.
    pub(super) fn group(&self) -> &File {
        &self.group
    }

    /// Lets the group's devices access `pages`, at an IO address that is a multiple of `align`, a power of two. Returns it.
    pub(super) fn map(&self, pages: &Pages, align: u64) -> Result<u64, MapError> {
        let len = pages.len() as u64;
        let iova = lock(&self.space).take(len, align).ok_or(MapError::Full)?;
        match ioctl::map_dma(&self.container, pages, iova) {
            Ok(()) => Ok(iova),
            Err(source) => {
                lock(&self.space).give_back(iova, len);
                Err(MapError::Refused { iova, source })
            }
        }
    }

    /// Takes back what [`Self::map`] gave.
    pub(super) fn unmap(&self, pages: &Pages, iova: u64) -> io::Result<()> {
        let len = pages.len() as u64;
        ioctl::unmap_dma(&self.container, iova, len)?;
        lock(&self.space).give_back(iova, len);
        Ok(())
    }
}

fn open(path: &Path) -> Result<File, VfioError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|error| open_error(path, error))
}

/// Whether a group with these flags can be taken.
fn check_group(group: u32, flags: u32) -> Result<(), VfioError> {
    if flags & VFIO_GROUP_FLAGS_VIABLE == 0 {
        return Err(VfioError::NotViable { group });
    }
    if flags & VFIO_GROUP_FLAGS_CONTAINER_SET != 0 {
        return Err(VfioError::GroupInUse { group });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_vfio_is_told_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = Domain::open(folder.path(), 7).unwrap_err();
        assert!(matches!(&error, VfioError::Open { path, .. } if path.ends_with("vfio")));
        assert!(error.to_string().contains("modprobe vfio-pci"));
    }

    #[test]
    fn another_file_is_no_container() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("vfio"), "").unwrap();
        let error = Domain::open(folder.path(), 7).unwrap_err();
        assert!(matches!(error, VfioError::Request { .. }));
        assert!(error.to_string().contains("not VFIO's"));
    }

    #[test]
    fn only_a_free_and_viable_group_is_taken() {
        check_group(7, 1).unwrap();
        for flags in [0, 2] {
            let refused = check_group(7, flags);
            assert!(matches!(refused, Err(VfioError::NotViable { group: 7 })));
        }
        let refused = check_group(7, 3);
        assert!(matches!(refused, Err(VfioError::GroupInUse { group: 7 })));
    }
}

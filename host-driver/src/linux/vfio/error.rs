//! Errors of VFIO.

use crate::linux::address::PciAddress;
use std::io;
use std::path::{Path, PathBuf};

/// The kernel's VFIO can't be used, or not like this.
#[derive(Debug, thiserror::Error)]
pub enum VfioError {
    /// A file can't be opened.
    #[error("{} can't be opened{hint}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What to do, when that is known.
        hint: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A request failed.
    #[error("VFIO: {what} failed{hint}")]
    Request {
        /// What was asked for.
        what: &'static str,
        /// What to do, when that is known.
        hint: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// VFIO speaks another version.
    #[error("the kernel's VFIO has version {found}; this driver knows 0")]
    ApiVersion {
        /// The kernel's.
        found: i32,
    },
    /// No IOMMU that VFIO can use.
    #[error("the kernel's VFIO has no type 1 IOMMU: switch VT-d, AMD-Vi or the SMMU on in the firmware, `intel_iommu=on` on the kernel's command line")]
    NoIommu,
    /// The card is in no IOMMU group.
    #[error(
        "{address} is in no IOMMU group: switch VT-d, AMD-Vi or the SMMU on in the firmware, `intel_iommu=on` on the kernel's command \
         line; or unbind vfio-pci to go without an IOMMU"
    )]
    NoGroup {
        /// The card.
        address: PciAddress,
    },
    /// Other devices of the group have kernel drivers.
    #[error(
        "IOMMU group {group} is not viable: `ls /sys/kernel/iommu_groups/{group}/devices` lists devices that must be bound to \
         vfio-pci or to no driver"
    )]
    NotViable {
        /// The group.
        group: u32,
    },
    /// The group is in a container already.
    #[error("IOMMU group {group} is in use by another process")]
    GroupInUse {
        /// The group.
        group: u32,
    },
    /// The device is no PCI function.
    #[error("{address} is no PCI function for VFIO")]
    NotPci {
        /// The card.
        address: PciAddress,
    },
    /// BAR 0 can't be mapped.
    #[error("VFIO does not let BAR 0 be mapped: pages of this machine may be larger than the BAR and shared with another")]
    NoMapping,
    /// The card can't be reset.
    #[error("the card has no reset that VFIO could use")]
    NoReset,
    /// Fewer vectors than asked for.
    #[error("{wanted} interrupts were asked for, the card has {available} MSI-X vectors")]
    Vectors {
        /// Asked for.
        wanted: usize,
        /// There are.
        available: u32,
    },
}

/// A failed opening of one of VFIO's files.
pub(super) fn open_error(path: &Path, source: io::Error) -> VfioError {
    let hint = match source.kind() {
        io::ErrorKind::NotFound => ": `modprobe vfio-pci`, and bind the card to it",
        io::ErrorKind::PermissionDenied => {
            ": give your user the group's file, `chown $USER /dev/vfio/<group>`, or run as root"
        }
        io::ErrorKind::ResourceBusy => ": another process has the card",
        _ => "",
    };
    VfioError::Open {
        path: path.into(),
        hint,
        source,
    }
}

/// A failed request.
pub(super) fn request_error(what: &'static str) -> impl FnOnce(io::Error) -> VfioError {
    move |source| {
        let hint = match source.raw_os_error() {
            Some(code) if code == rustix::io::Errno::NOTTY.raw_os_error() => {
                ": the file is not VFIO's"
            }
            _ => "",
        };
        VfioError::Request { what, hint, source }
    }
}

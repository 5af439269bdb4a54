//! Errors of opening a card.

use super::address::PciAddress;
use super::card::DiscoverError;
use super::interrupt::InterruptError;
use super::pages::PagesError;
use super::sysfs::PagemapError;
use super::vfio::VfioError;
use ferroce_abi::regs::BAR_BYTES;
use std::io;
use std::path::{Path, PathBuf};

/// A card can't be opened or set up.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It can't be found.
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    /// A file can't be opened, read, written or mapped.
    #[error("{} can't be used{hint}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What to do, when that is known.
        hint: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A kernel driver has the card.
    #[error(
        "{address} is bound to the kernel driver {driver}: \
         `echo {address} > /sys/bus/pci/drivers/{driver}/unbind`, then bind it to vfio-pci or leave it unbound"
    )]
    DriverBound {
        /// The card.
        address: PciAddress,
        /// The driver.
        driver: String,
    },
    /// BAR 0 has no memory address.
    #[error("BAR 0 of {address} has no address: `dmesg` says why; often `echo 1 > remove` in its folder and `echo 1 > /sys/bus/pci/rescan` help")]
    NoBar {
        /// The card.
        address: PciAddress,
    },
    /// BAR 0 is too small for the registers.
    #[error("BAR 0 has {len} bytes, the registers need {BAR_BYTES}: the bitstream's PCIe settings don't fit this driver")]
    BarTooSmall {
        /// Bytes of the BAR.
        len: u64,
    },
    /// Another process has the card.
    #[error("{address} is in use by another process")]
    InUse {
        /// The card.
        address: PciAddress,
    },
    /// VFIO.
    #[error(transparent)]
    Vfio(#[from] VfioError),
    /// Physical addresses.
    #[error(transparent)]
    Pagemap(#[from] PagemapError),
    /// Memory.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// An interrupt could not be made.
    #[error(transparent)]
    Interrupt(#[from] InterruptError),
    /// Interrupts without VFIO.
    #[error("interrupts need VFIO: bind {address} to vfio-pci, or poll")]
    NoInterrupts {
        /// The card.
        address: PciAddress,
    },
    /// What answers is no card that this driver can use.
    #[error(transparent)]
    Device(#[from] crate::Error),
}

/// A failed use of a file of a PCI function.
pub(super) fn file_error(path: &Path, source: io::Error) -> OpenError {
    let hint = match source.kind() {
        io::ErrorKind::PermissionDenied => {
            ": run as root; under Secure Boot the kernel forbids this to root too, then bind the card to vfio-pci"
        }
        io::ErrorKind::NotFound => ": the card has gone, or its BARs have no address",
        io::ErrorKind::ResourceBusy => ": a kernel driver uses the card, unbind it first",
        _ => "",
    };
    OpenError::File {
        path: path.into(),
        hint,
        source,
    }
}

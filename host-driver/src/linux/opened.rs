//! Opening a card by whatever way it is prepared for.

use super::address::PciAddress;
use super::card::Card;
use super::error::{file_error, OpenError};
use super::interrupt::Interrupt;
use super::sysfs::SysfsCard;
use super::vfio::VfioCard;
use crate::device::{Device, DeviceOptions};
use crate::platform::{Bar, DmaMemory};
use std::path::PathBuf;
use std::sync::Arc;

/// Name of the kernel driver that hands devices to processes.
const VFIO_DRIVER: &str = "vfio-pci";

/// Where the kernel's interfaces are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Sysfs, `/sys`.
    pub sys: PathBuf,
    /// Procfs, `/proc`.
    pub proc: PathBuf,
    /// VFIO's files, `/dev/vfio`.
    pub vfio: PathBuf,
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            sys: "/sys".into(),
            proc: "/proc".into(),
            vfio: "/dev/vfio".into(),
        }
    }
}

/// How a card was opened.
#[derive(Debug)]
pub enum Backend {
    /// Through VFIO.
    Vfio(VfioCard),
    /// Through sysfs.
    Sysfs(SysfsCard),
}

/// A card that is open. Its BAR and memory stay usable when this is dropped.
#[derive(Debug)]
pub struct OpenedCard {
    card: Card,
    backend: Backend,
}

/// Opens the card at `address`: through VFIO when it is bound to vfio-pci, through sysfs when no driver is bound.
///
/// # Errors
/// [`OpenError`].
pub fn open(address: PciAddress) -> Result<OpenedCard, OpenError> {
    open_in(&Paths::default(), address)
}

/// [`open`] with the kernel's interfaces at other places.
///
/// # Errors
/// [`OpenError`].
pub fn open_in(paths: &Paths, address: PciAddress) -> Result<OpenedCard, OpenError> {
    let card = Card::at(&paths.sys, address)?;
    let backend = if card.driver.as_deref() == Some(VFIO_DRIVER) {
        Backend::Vfio(VfioCard::open(&card, &paths.vfio)?)
    } else {
        Backend::Sysfs(SysfsCard::open(&card, &paths.proc)?)
    };
    tracing::info!(%address, ?card.driver, "card opened");
    Ok(OpenedCard { card, backend })
}

impl OpenedCard {
    /// The card as it was found.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// How it was opened.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The registers.
    pub fn bar(&self) -> Arc<dyn Bar> {
        match &self.backend {
            Backend::Vfio(card) => card.bar(),
            Backend::Sysfs(card) => card.bar(),
        }
    }

    /// Memory that the card can reach once it is bus master.
    pub fn memory(&self) -> Arc<dyn DmaMemory> {
        match &self.backend {
            Backend::Vfio(card) => card.memory(),
            Backend::Sysfs(card) => card.memory(),
        }
    }

    /// Lets the card access memory, or stops it. A card is opened without this right.
    ///
    /// # Errors
    /// [`OpenError::File`] when the card does not answer.
    pub fn set_bus_master(&self, on: bool) -> Result<(), OpenError> {
        match &self.backend {
            Backend::Vfio(card) => card.set_bus_master(on),
            Backend::Sysfs(card) => card.set_bus_master(on),
        }
        .map_err(|error| file_error(&self.card.path.join("config"), error))
    }

    /// The card for verbs: takes everything off it that an earlier driver left, and only then lets it access memory.
    /// There should be one such device at a time.
    ///
    /// # Errors
    /// [`OpenError::Device`] when it can't be used, [`OpenError::File`].
    pub fn device(&self) -> Result<Device, OpenError> {
        self.set_bus_master(false)?;
        let options = DeviceOptions {
            clear: true,
            ..DeviceOptions::default()
        };
        let device = Device::open_with(self.bar(), self.memory(), options)?;
        self.set_bus_master(true)?;
        Ok(device)
    }

    /// The first `count` interrupts of the card.
    ///
    /// # Errors
    /// [`OpenError::NoInterrupts`] through sysfs; see [`VfioCard::interrupts`].
    pub fn interrupts(&self, count: usize) -> Result<Vec<Interrupt>, OpenError> {
        match &self.backend {
            Backend::Vfio(card) => card.interrupts(count),
            Backend::Sysfs(_) => Err(OpenError::NoInterrupts {
                address: self.card.address,
            }),
        }
    }
}

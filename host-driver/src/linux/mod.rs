//! Cards in a Linux machine.
//!
//! [`discover`] finds them, [`open`] opens one: through VFIO when it is bound to vfio-pci, else through sysfs.
//! `docs/driver.md` says how a machine is prepared for either.
//!
//! | | [`VfioCard`] | [`SysfsCard`] |
//! |---|---|---|
//! | needs | an IOMMU, vfio-pci | root, huge pages, no Secure Boot |
//! | the card can reach | memory it was given | all memory |
//! | buffers | of any length | up to 2 MiB |
//! | interrupts | MSI-X as [`Interrupt`] | none: poll |
//! | when the process is killed | the kernel stops the card | the card goes on until it is opened again |
//!
//! These back ends are compiled, unit-tested, and were run on an emulated NVMe controller (`examples/nvme.rs`); they have not
//! been tried on a card.
//!
//! ```no_run
//! use ferroce_driver::linux::{self, Card, Paths};
//!
//! let card = Card::only(&Paths::default().sys)?;
//! let opened = linux::open(card.address)?;
//! let device = opened.device()?;
//! println!("{:?}", device.capabilities());
//! # Ok::<(), linux::OpenError>(())
//! ```

mod address;
mod barrier;
mod buffer;
mod card;
mod config;
mod error;
mod interrupt;
mod link;
mod mmio;
mod opened;
mod pages;
mod resource;
mod sysfs;
mod vfio;

pub use address::{PciAddress, PciAddressError};
pub use buffer::BadRequest;
pub use card::{discover, Card, DiscoverError};
pub use error::OpenError;
pub use interrupt::{Interrupt, InterruptError};
pub use link::Link;
pub use mmio::MmioError;
pub use opened::{open, open_in, Backend, OpenedCard, Paths};
pub use pages::{PageKind, PagesError};
pub use resource::Resource;
pub use sysfs::{PagemapError, PhysicalError, SysfsCard};
pub use vfio::{MappingError, VfioCard, VfioError};

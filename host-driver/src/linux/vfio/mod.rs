//! A card that is bound to vfio-pci. The IOMMU lets it reach only memory that it was given; no root is needed once
//! the group's file belongs to the user.

mod domain;
mod error;
mod ioctl;
mod iova;
mod irqs;
mod memory;

pub use error::VfioError;
pub use memory::MappingError;

use super::address::PciAddress;
use super::card::Card;
use super::config::{CommandRegister, BUS_MASTER, MEMORY_SPACE};
use super::error::OpenError;
use super::interrupt::Interrupt;
use super::mmio::{self, Window};
use crate::lock::lock;
use crate::platform::{Bar, DmaMemory};
use domain::Domain;
use error::request_error;
use ferroce_abi::regs::BAR_BYTES;
use ioctl::{Argument, Request};
use memmap2::MmapRaw;
use memory::IommuMemory;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::{Arc, Mutex};
use vfio_bindings::bindings::vfio::{
    vfio_device_info, vfio_irq_info, vfio_region_info, VFIO_DEVICE_FLAGS_PCI,
    VFIO_DEVICE_FLAGS_RESET, VFIO_PCI_BAR0_REGION_INDEX, VFIO_PCI_CONFIG_REGION_INDEX,
    VFIO_PCI_MSIX_IRQ_INDEX, VFIO_REGION_INFO_FLAG_MMAP,
};

/// The device while it is open. The kernel stops and resets it when its file is closed, however the process ends.
#[derive(Debug)]
struct Function {
    file: Arc<File>,
    command: CommandRegister,
    info: vfio_device_info,
    /// MSI-X is switched on.
    interrupting: Mutex<bool>,
    _domain: Arc<Domain>,
}

impl Function {
    fn open(domain: &Arc<Domain>, address: PciAddress) -> Result<Self, VfioError> {
        let name = CString::new(address.to_string()).map_err(|_| VfioError::NotPci { address })?;
        let file = Arc::new(
            ioctl::device(domain.group(), &name).map_err(request_error("opening the device"))?,
        );
        let info = vfio_device_info::default()
            .call(&file)
            .map_err(request_error("asking for the device"))?;
        if info.flags & VFIO_DEVICE_FLAGS_PCI == 0 {
            return Err(VfioError::NotPci { address });
        }
        let config = region(&file, VFIO_PCI_CONFIG_REGION_INDEX)?;
        let command = CommandRegister::new(Arc::clone(&file), config.offset);
        command
            .change(MEMORY_SPACE, BUS_MASTER)
            .map_err(request_error("writing the command register"))?;
        Ok(Self {
            file,
            command,
            info,
            interrupting: Mutex::new(false),
            _domain: Arc::clone(domain),
        })
    }

    /// Maps BAR 0.
    fn registers(&self) -> Result<MmapRaw, OpenError> {
        let bar = region(&self.file, VFIO_PCI_BAR0_REGION_INDEX)?;
        let len = check_registers(&bar)?;
        let map = mmio::map(&self.file, bar.offset, len);
        Ok(map.map_err(request_error("mapping BAR 0"))?)
    }
}

fn region(device: &File, index: u32) -> Result<vfio_region_info, VfioError> {
    let query = vfio_region_info {
        index,
        ..Default::default()
    };
    query
        .call(device)
        .map_err(request_error("asking for a region"))
}

/// Bytes of BAR 0 when it can be mapped and holds the registers.
fn check_registers(bar: &vfio_region_info) -> Result<usize, OpenError> {
    let len = bar.size;
    if len < BAR_BYTES {
        return Err(OpenError::BarTooSmall { len });
    }
    if bar.flags & VFIO_REGION_INFO_FLAG_MMAP == 0 {
        return Err(VfioError::NoMapping.into());
    }
    usize::try_from(len).map_err(|_| VfioError::NoMapping.into())
}

/// A card opened through VFIO.
#[derive(Debug)]
pub struct VfioCard {
    function: Arc<Function>,
    bar: Arc<Window<Arc<Function>>>,
    memory: Arc<IommuMemory>,
}

impl VfioCard {
    /// Opens `card`; `folder` is where VFIO's files are, `/dev/vfio`. Bus mastering is off until [`Self::set_bus_master`].
    ///
    /// # Errors
    /// [`OpenError::Vfio`], [`OpenError::BarTooSmall`].
    pub fn open(card: &Card, folder: &Path) -> Result<Self, OpenError> {
        let address = card.address;
        let group = card.iommu_group.ok_or(VfioError::NoGroup { address })?;
        let domain = Arc::new(Domain::open(folder, group)?);
        let function = Arc::new(Function::open(&domain, address)?);
        let registers = function.registers()?;
        Ok(Self {
            bar: Arc::new(Window::new(registers, None, Arc::clone(&function))),
            function,
            memory: Arc::new(IommuMemory::new(domain)),
        })
    }

    /// The registers.
    pub fn bar(&self) -> Arc<dyn Bar> {
        Arc::clone(&self.bar) as Arc<dyn Bar>
    }

    /// Memory of any length at IO addresses.
    pub fn memory(&self) -> Arc<dyn DmaMemory> {
        Arc::clone(&self.memory) as Arc<dyn DmaMemory>
    }

    /// Lets the card access its memory and interrupt, or stops it.
    ///
    /// # Errors
    /// The card does not answer.
    pub fn set_bus_master(&self, on: bool) -> io::Result<()> {
        self.function.command.set_bus_master(on)
    }

    /// Switches on the first `count` MSI-X vectors, each with an event of its own. Earlier ones signal nothing from now on;
    /// 0 switches all off.
    ///
    /// # Errors
    /// [`VfioError::Vectors`] when the card has fewer, [`OpenError::Vfio`], [`OpenError::Interrupt`].
    pub fn interrupts(&self, count: usize) -> Result<Vec<Interrupt>, OpenError> {
        let query = vfio_irq_info {
            index: VFIO_PCI_MSIX_IRQ_INDEX,
            ..Default::default()
        };
        let file = &self.function.file;
        let available = query
            .call(file)
            .map_err(request_error("asking for interrupts"))?
            .count;
        if count > available as usize {
            return Err(VfioError::Vectors {
                wanted: count,
                available,
            }
            .into());
        }
        let made = (0..count).map(|_| Interrupt::new());
        let interrupts = made.collect::<Result<Vec<_>, _>>()?;
        let events: Vec<_> = interrupts.iter().map(|i| i.as_fd().as_raw_fd()).collect();
        let mut on = lock(&self.function.interrupting);
        // The kernel changes the number of vectors only by way of none.
        if *on {
            ioctl::set_irqs(file, &mut irqs::msix(&[]))
                .map_err(request_error("switching interrupts off"))?;
            *on = false;
        }
        if count > 0 {
            ioctl::set_irqs(file, &mut irqs::msix(&events))
                .map_err(request_error("switching interrupts on"))?;
            *on = true;
        }
        Ok(interrupts)
    }

    /// Resets the function. Bus mastering is off afterwards.
    ///
    /// # Errors
    /// [`VfioError::NoReset`], [`VfioError::Request`].
    pub fn reset(&self) -> Result<(), VfioError> {
        if self.function.info.flags & VFIO_DEVICE_FLAGS_RESET == 0 {
            return Err(VfioError::NoReset);
        }
        ioctl::with_number(&self.function.file, Request::DeviceReset, 0)
            .map_err(request_error("resetting the card"))?;
        self.function
            .command
            .change(MEMORY_SPACE, BUS_MASTER)
            .map_err(request_error("writing the command register"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(size: u64, flags: u32) -> vfio_region_info {
        vfio_region_info {
            size,
            flags,
            ..Default::default()
        }
    }

    #[test]
    fn the_registers_must_be_mappable_and_whole() {
        // READ, WRITE and MMAP are bits 0 to 2.
        assert_eq!(
            check_registers(&bar(BAR_BYTES, 7)).unwrap(),
            BAR_BYTES as usize
        );
        assert!(matches!(
            check_registers(&bar(BAR_BYTES - 1, 7)),
            Err(OpenError::BarTooSmall { len }) if len == BAR_BYTES - 1
        ));
        assert!(matches!(
            check_registers(&bar(BAR_BYTES, 3)),
            Err(OpenError::Vfio(VfioError::NoMapping))
        ));
    }
}

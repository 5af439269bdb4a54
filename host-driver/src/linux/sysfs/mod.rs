//! A card that no kernel driver is bound to, through its files in sysfs. There is no IOMMU between card and
//! memory: it needs root, and the card can write wherever a wrong address sends it.

mod arena;
mod memory;
mod pagemap;

pub use memory::PhysicalError;
pub use pagemap::PagemapError;

use super::card::Card;
use super::config::{CommandRegister, BUS_MASTER, MEMORY_SPACE};
use super::error::{file_error, OpenError};
use super::mmio::{self, Window};
use crate::platform::{Bar, DmaMemory};
use ferroce_abi::pci::REGISTER_BAR;
use ferroce_abi::regs::BAR_BYTES;
use memmap2::MmapRaw;
use memory::PhysicalMemory;
use rustix::fs::{flock, FlockOperation, OFlags};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The function while it is open: locked against other processes, enabled.
#[derive(Debug)]
struct Function {
    command: CommandRegister,
    enable: PathBuf,
    /// `resource0`, with the lock.
    _registers: File,
}

impl Function {
    /// Enables the function, with memory space on and bus mastering off.
    fn enable(path: &Path, registers: File) -> Result<Self, OpenError> {
        let enable = path.join("enable");
        write(&enable, b"1").map_err(|e| file_error(&enable, e))?;
        let config = path.join("config");
        let opened = OpenOptions::new().read(true).write(true).open(&config);
        let command = match opened {
            Ok(file) => CommandRegister::new(Arc::new(file), 0),
            Err(error) => {
                disable(&enable);
                return Err(file_error(&config, error));
            }
        };
        let function = Self {
            command,
            enable,
            _registers: registers,
        };
        // Queues of a process that died may still have addresses: nothing may follow them.
        function
            .command
            .change(MEMORY_SPACE, BUS_MASTER)
            .map_err(|e| file_error(&config, e))?;
        Ok(function)
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        if let Err(error) = self.command.set_bus_master(false) {
            tracing::error!(%error, "bus mastering could not be switched off");
        }
        disable(&self.enable);
    }
}

/// Takes back one enabling, of which the kernel keeps count.
fn disable(path: &Path) {
    if let Err(error) = write(path, b"0") {
        tracing::warn!(%error, path = %path.display(), "the function could not be disabled");
    }
}

fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.write_all_at(text, 0)
}

/// A card opened through sysfs.
#[derive(Debug)]
pub struct SysfsCard {
    function: Arc<Function>,
    bar: Arc<Window<Arc<Function>>>,
    memory: Arc<PhysicalMemory>,
}

impl SysfsCard {
    /// Opens `card`; `proc` is where procfs is mounted. Bus mastering is off until [`Self::set_bus_master`].
    ///
    /// # Errors
    /// [`OpenError`]: a driver is bound, another process has the card, BAR 0 is missing or too small, rights are
    /// missing.
    pub fn open(card: &Card, proc: &Path) -> Result<Self, OpenError> {
        let address = card.address;
        if let Some(driver) = &card.driver {
            return Err(OpenError::DriverBound {
                address,
                driver: driver.clone(),
            });
        }
        let resource = card.resource(REGISTER_BAR).filter(|r| r.is_memory());
        let len = resource.ok_or(OpenError::NoBar { address })?.len;
        let memory = Arc::new(PhysicalMemory::new(proc)?);
        let path = card.path.join(format!("resource{REGISTER_BAR}"));
        let registers = open_sync(&path).map_err(|e| file_error(&path, e))?;
        flock(&registers, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error
            .kind()
        {
            io::ErrorKind::WouldBlock => OpenError::InUse { address },
            _ => file_error(&path, error.into()),
        })?;
        let plain = map(&registers, &path, len)?;
        let combined_path = card.path.join(format!("resource{REGISTER_BAR}_wc"));
        let combined = match open_sync(&combined_path) {
            Ok(file) => Some(map(&file, &combined_path, len)?),
            // Only a prefetchable BAR has this file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(file_error(&combined_path, error)),
        };
        let function = Arc::new(Function::enable(&card.path, registers)?);
        Ok(Self {
            bar: Arc::new(Window::new(plain, combined, Arc::clone(&function))),
            function,
            memory,
        })
    }

    /// The registers.
    pub fn bar(&self) -> Arc<dyn Bar> {
        Arc::clone(&self.bar) as Arc<dyn Bar>
    }

    /// Memory at physical addresses: buffers of at most 2 MiB, from huge pages, or from ordinary ones when there
    /// are none and the kernel does not move them.
    pub fn memory(&self) -> Arc<dyn DmaMemory> {
        Arc::clone(&self.memory) as Arc<dyn DmaMemory>
    }

    /// Lets the card access memory, or stops it. It is stopped too when the card and all that is left of its BAR
    /// are dropped, but not when the process is killed.
    ///
    /// # Errors
    /// The card does not answer.
    pub fn set_bus_master(&self, on: bool) -> io::Result<()> {
        self.function.command.set_bus_master(on)
    }
}

/// Opens a BAR's file. `O_SYNC` asks for an uncached mapping where the file's own kind does not say it already.
fn open_sync(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::SYNC.bits() as i32)
        .open(path)
}

/// Maps a BAR of `len` bytes.
fn map(file: &File, path: &Path, len: u64) -> Result<MmapRaw, OpenError> {
    let fail = |error| file_error(path, error);
    // Accesses behind a file's end would end the process.
    let len = len.min(file.metadata().map_err(fail)?.len());
    if len < BAR_BYTES {
        return Err(OpenError::BarTooSmall { len });
    }
    let len = usize::try_from(len).map_err(|_| OpenError::BarTooSmall { len })?;
    mmio::map(file, 0, len).map_err(fail)
}

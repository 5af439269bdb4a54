//! The driver's view of a simulated card: its BAR and its host's memory.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ferroce_abi::regs::{MSIX_TABLE, NUM_EQS};
use ferroce_driver::{Bar, BarError, DmaBuffer, DmaError, DmaMemory, Interrupts, WaitError};

use crate::card::lock;
use crate::memory::{HostMemory, Unmapped, MESSAGE_PAGE};
use crate::pcie::BarAccess;
use crate::world::{World, WorldError};

/// Core cycles after which a load that was not answered fails.
const LOAD_TIMEOUT_CYCLES: u64 = 100_000;

/// A simulation that programs, drivers and cards share.
#[derive(Debug, Clone)]
pub struct Sim(Arc<Mutex<World>>);

impl Sim {
    /// Shares a world.
    pub fn new(world: World) -> Self {
        Self(Arc::new(Mutex::new(world)))
    }

    /// Does something with the world; nothing else moves meanwhile.
    pub fn with<R>(&self, work: impl FnOnce(&mut World) -> R) -> R {
        work(&mut lock(&self.0))
    }

    /// Simulated time in femtoseconds.
    pub fn now_fs(&self) -> u64 {
        self.with(|world| world.now_fs())
    }

    /// Runs one quantum.
    ///
    /// # Errors
    /// As [`World::step`].
    pub fn step(&self) -> Result<(), WorldError> {
        self.with(World::step)
    }

    /// Steps until `done` says so; `what` names it in the error.
    ///
    /// # Errors
    /// [`WorldError::Timeout`] after `cycles` core cycles; as [`World::step`]; what `done` returns.
    pub fn run_until<E: From<WorldError>>(
        &self,
        what: &str,
        cycles: u64,
        mut done: impl FnMut() -> Result<bool, E>,
    ) -> Result<(), E> {
        let end = self.with(|world| world.cycles()) + cycles;
        while !done()? {
            if self.with(|world| world.cycles()) >= end {
                let what = what.to_owned();
                return Err(WorldError::Timeout { what, cycles }.into());
            }
            self.step()?;
        }
        Ok(())
    }

    /// BAR and memory of the host that card `index` is in.
    pub fn host(&self, index: usize) -> (Arc<dyn Bar>, Arc<dyn DmaMemory>) {
        let memory = self.with(|world| Arc::clone(world.card(index).memory()));
        let bar = SimBar {
            sim: self.clone(),
            index,
        };
        (Arc::new(bar), Arc::new(SimMemory { memory }))
    }
}

/// Bytes of an MSI-X table entry.
const VECTOR_BYTES: u64 = 16;
/// Femtoseconds of a nanosecond.
const FS_OF_NS: u128 = 1_000_000;

impl Sim {
    /// Sets up all MSI-X vectors of card `index`, as an operating system does.
    ///
    /// # Errors
    /// The card does not answer.
    pub fn interrupts(&self, index: usize) -> Result<Arc<dyn Interrupts>, BarError> {
        let (bar, _) = self.host(index);
        for vector in 0..bar.read32(NUM_EQS)? {
            let at = MSIX_TABLE + u64::from(vector) * VECTOR_BYTES;
            bar.write64(at, MESSAGE_PAGE)?;
            // Not masked.
            bar.write64(at + 8, vector.into())?;
        }
        let memory = self.with(|world| Arc::clone(world.card(index).memory()));
        let sim = self.clone();
        Ok(Arc::new(SimInterrupts { sim, memory }))
    }
}

/// A simulated card's interrupts. Waiting lets time pass.
#[derive(Debug)]
struct SimInterrupts {
    sim: Sim,
    memory: Arc<Mutex<HostMemory>>,
}

impl Interrupts for SimInterrupts {
    fn wait(&self, vector: u8, timeout: Duration) -> Result<u64, WaitError> {
        let end = u128::from(self.sim.now_fs()) + timeout.as_nanos() * FS_OF_NS;
        loop {
            let count = lock(&self.memory).take_messages(vector.into());
            if count > 0 || u128::from(self.sim.now_fs()) >= end {
                return Ok(count);
            }
            self.sim.step().map_err(|error| WaitError {
                vector,
                source: error.into(),
            })?;
        }
    }
}

/// A buffer of `len` bytes of a [`Pattern`](crate::memory::Pattern) in the memory of card `index`'s host, `offset` behind the
/// beginning of a page. The card may read and write it; the program may read up to a page at once.
pub fn pattern_buffer(
    sim: &Sim,
    index: usize,
    len: usize,
    offset: u64,
    seed: u64,
) -> Arc<dyn DmaBuffer> {
    let memory = sim.with(|world| Arc::clone(world.card(index).memory()));
    let addr = lock(&memory).allocate_pattern(len as u64, offset, seed);
    Arc::new(SimBuffer { memory, addr, len })
}

/// A simulated card's BAR. Loads let time pass, stores take effect with the next step.
#[derive(Debug)]
struct SimBar {
    sim: Sim,
    index: usize,
}

impl SimBar {
    fn load(&self, offset: u64, width: u8) -> Result<u64, BarError> {
        let fail = |source: WorldError| BarError {
            offset,
            source: source.into(),
        };
        self.push(offset, None, width)?;
        let mut answer = None;
        self.sim
            .run_until("the answer to a BAR load", LOAD_TIMEOUT_CYCLES, || {
                answer = self.sim.with(|w| w.card_mut(self.index).host.answer());
                Ok(answer.is_some())
            })
            .map_err(fail)?;
        Ok(answer.unwrap_or_default())
    }

    fn push(&self, offset: u64, store: Option<u64>, width: u8) -> Result<(), BarError> {
        let access = BarAccess {
            offset: u32::try_from(offset).map_err(|e| BarError {
                offset,
                source: e.into(),
            })?,
            store,
            width,
        };
        self.sim.with(|w| w.card_mut(self.index).host.push(access));
        Ok(())
    }
}

impl Bar for SimBar {
    fn read32(&self, offset: u64) -> Result<u32, BarError> {
        Ok(self.load(offset, 4)? as u32)
    }

    fn read64(&self, offset: u64) -> Result<u64, BarError> {
        self.load(offset, 8)
    }

    fn write32(&self, offset: u64, value: u32) -> Result<(), BarError> {
        self.push(offset, Some(u64::from(value)), 4)
    }

    fn write64(&self, offset: u64, value: u64) -> Result<(), BarError> {
        self.push(offset, Some(value), 8)
    }

    fn push64(&self, offset: u64, words: &[u64; 8]) -> Result<(), BarError> {
        let at = u32::try_from(offset).map_err(|e| BarError {
            offset,
            source: e.into(),
        })?;
        let bytes = words.map(u64::to_le_bytes);
        self.sim.with(|w| {
            w.card_mut(self.index)
                .host
                .push_bytes(at, bytes.as_flattened())
        });
        Ok(())
    }
}

/// Memory of a simulated host.
#[derive(Debug)]
struct SimMemory {
    memory: Arc<Mutex<HostMemory>>,
}

impl DmaMemory for SimMemory {
    fn allocate(&self, len: usize, align: usize) -> Result<Arc<dyn DmaBuffer>, DmaError> {
        contiguous(&self.memory, len, align)
    }
}

/// `len` zeroed bytes in one piece.
pub(crate) fn contiguous(
    memory: &Arc<Mutex<HostMemory>>,
    len: usize,
    align: usize,
) -> Result<Arc<dyn DmaBuffer>, DmaError> {
    if len == 0 || !align.is_power_of_two() {
        return Err(DmaError::Allocate {
            len,
            source: "the length is 0 or the alignment is no power of two".into(),
        });
    }
    let addr = lock(memory).allocate(len, align as u64, 0);
    Ok(Arc::new(SimBuffer {
        memory: Arc::clone(memory),
        addr,
        len,
    }))
}

/// A buffer in a simulated host's memory.
#[derive(Debug)]
struct SimBuffer {
    memory: Arc<Mutex<HostMemory>>,
    addr: u64,
    len: usize,
}

impl SimBuffer {
    fn address(&self, offset: usize, count: usize) -> Result<u64, DmaError> {
        match offset.checked_add(count) {
            Some(end) if end <= self.len => Ok(self.addr + offset as u64),
            _ => Err(DmaError::Range {
                offset,
                count,
                len: self.len,
            }),
        }
    }
}

fn access(error: Unmapped) -> DmaError {
    DmaError::Access(error.into())
}

impl DmaBuffer for SimBuffer {
    fn iova(&self) -> u64 {
        self.addr
    }

    fn len(&self) -> usize {
        self.len
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DmaError> {
        let addr = self.address(offset, bytes.len())?;
        let memory = lock(&self.memory);
        bytes.copy_from_slice(memory.slice(addr, bytes.len()).map_err(access)?);
        Ok(())
    }

    fn load_acquire(&self, offset: usize) -> Result<u8, DmaError> {
        let mut byte = [0];
        self.read(offset, &mut byte)?;
        Ok(byte[0])
    }

    fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), DmaError> {
        let addr = self.address(offset, bytes.len())?;
        let mut memory = lock(&self.memory);
        let target = memory.slice_mut(addr, bytes.len()).map_err(access)?;
        target.copy_from_slice(bytes);
        Ok(())
    }
}

impl Drop for SimBuffer {
    fn drop(&mut self) {
        lock(&self.memory).release(self.addr);
    }
}

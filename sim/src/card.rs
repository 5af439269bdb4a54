//! One Verilated card with its clocks, its host memory and its cable end.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferroce_bridge::{BridgeError, ClockId, Clocks, Library, Model, Period, Port};
use thiserror::Error;

use crate::link::{Frame, Link};
use crate::mac::MacPort;
use crate::memory::HostMemory;
use crate::pcie::{PcieConfig, PciePort};
use crate::stages::{Passed, Stages};
use crate::time::{CORE_PERIOD_FS, MAC_HZ};

/// A card stopped.
#[derive(Debug, Error)]
pub enum CardError {
    /// The model could not be made or evaluated.
    #[error(transparent)]
    Model(#[from] BridgeError),
    /// The card broke a rule of one of its interfaces.
    #[error("card {card} broke a rule at {time_fs} fs: {rule}")]
    Violation {
        /// Index of the card.
        card: usize,
        /// When it was noticed.
        time_fs: u64,
        /// Which rule.
        rule: String,
    },
}

/// A card in simulation.
#[derive(Debug)]
pub struct Card {
    index: usize,
    model: Model,
    clocks: Clocks,
    core: ClockId,
    mac: ClockId,
    core_clock: Port,
    mac_clocks: [Port; 2],
    cycle: u64,
    /// The host: PCIe block, link, root complex and processor.
    pub host: PciePort,
    mac_port: MacPort,
    /// Frames on their way to this card.
    pub incoming: Link,
    /// Frames that this card sent since they were last taken.
    pub outgoing: Vec<Frame>,
    memory: Arc<Mutex<HostMemory>>,
    stages: Option<Stages>,
}

/// The memory, whatever happened to another thread that held it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Card {
    /// A card at time 0.
    ///
    /// # Errors
    /// The model fails or lacks a port.
    pub fn new(
        index: usize,
        library: &Arc<Library>,
        pcie: PcieConfig,
        incoming: Link,
        seed: u64,
    ) -> Result<Self, BridgeError> {
        let mut clocks = Clocks::default();
        // A fixed odd phase between the domains; their ratio makes it wander anyway.
        let core = clocks.add(Period::from_fs(CORE_PERIOD_FS), 1_000_000)?;
        let mac = clocks.add(Period::from_hz(MAC_HZ), 1_270_000)?;
        Ok(Self {
            index,
            clocks,
            core,
            mac,
            core_clock: library.port("core_clock")?,
            mac_clocks: [library.port("mac_tx_clock")?, library.port("mac_rx_clock")?],
            cycle: 0,
            host: PciePort::new(library, pcie, seed)?,
            mac_port: MacPort::new(library)?,
            incoming,
            outgoing: Vec::new(),
            memory: Arc::default(),
            stages: None,
            model: Model::new(library)?,
        })
    }

    /// Its host's memory.
    pub fn memory(&self) -> &Arc<Mutex<HostMemory>> {
        &self.memory
    }

    /// Core cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Records waves into an FST file from now on.
    ///
    /// # Errors
    /// The model was built without waves, or the file can't be made.
    pub fn open_wave(&mut self, path: &Path) -> Result<(), BridgeError> {
        self.model.open_wave(path)
    }

    /// Notes from now on when messages pass the stages of the card; costs speed.
    ///
    /// # Errors
    /// The card has no `stages` port.
    pub fn trace_stages(&mut self) -> Result<(), BridgeError> {
        self.stages = Some(Stages::new(self.model.library())?);
        Ok(())
    }

    /// The stages that were passed since the last call, in order of time.
    pub fn take_stages(&mut self) -> Vec<Passed> {
        self.stages.as_mut().map(Stages::take).unwrap_or_default()
    }

    /// Runs all clock edges before `until_fs`.
    ///
    /// # Errors
    /// The model stops, or the card breaks a rule of an interface.
    pub fn run_until(&mut self, until_fs: u64) -> Result<(), CardError> {
        let memory = Arc::clone(&self.memory);
        let mut memory = lock(&memory);
        while self.clocks.next_time() < until_fs {
            self.edge(&mut memory)?;
        }
        let broken = self.host.violation().or(self.mac_port.violation());
        match broken {
            None => Ok(()),
            Some(rule) => Err(CardError::Violation {
                card: self.index,
                time_fs: until_fs,
                rule: rule.to_owned(),
            }),
        }
    }

    fn edge(&mut self, memory: &mut HostMemory) -> Result<(), BridgeError> {
        let edges = self.clocks.advance();
        let (core_rises, mac_rises) = (edges.rises(self.core), edges.rises(self.mac));
        if let Some(stages) = &mut self.stages {
            if core_rises {
                stages.look(&self.model, edges.time_fs);
                self.host.watch(&self.model, edges.time_fs, stages);
            }
            if mac_rises {
                self.mac_port.watch(&self.model, edges.time_fs, stages);
            }
        }
        if core_rises {
            self.host.before_edge(&self.model);
        }
        if mac_rises {
            let outgoing = &mut self.outgoing;
            self.mac_port
                .before_edge(&self.model, edges.time_fs, |frame| outgoing.push(frame));
        }
        if let Some(level) = edges.level(self.core) {
            self.model.set_bool(self.core_clock, level);
        }
        if let Some(level) = edges.level(self.mac) {
            for port in self.mac_clocks {
                self.model.set_bool(port, level);
            }
        }
        self.model.set_time(edges.time_fs);
        self.model.eval()?;
        if core_rises {
            self.cycle += 1;
            self.host.after_edge(&mut self.model, memory);
        }
        if mac_rises {
            self.mac_port
                .after_edge(&mut self.model, edges.time_fs, &mut self.incoming);
        }
        Ok(())
    }
}

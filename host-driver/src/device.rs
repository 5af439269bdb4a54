//! A card: identification, capabilities, port, counters.

use crate::clear::clear;
use crate::counters::Counters;
use crate::cq::Cq;
use crate::eq::{Eq, EqAttr};
use crate::error::{check_range, Error};
use crate::ids::IdPool;
use crate::lock::lock;
use crate::mailbox::Mailbox;
use crate::mr::MrPool;
use crate::page::DoorbellPage;
use crate::pd::Pd;
use crate::platform::{Bar, DmaMemory};
use crate::port::PortAddress;
use ferroce_abi::cfg::{mac_bits, AsyncCfg, PortCfg, ENTRY_WORDS};
use ferroce_abi::limits::{
    Pmtu, AH_BITS, CQ_BITS, EQ_BITS, FIRST_QPN, MAX_READS, MR_BITS, PD_BITS, QP_BITS, RING_ALIGN,
    SRQ_BITS, WQE_SGES,
};
use ferroce_abi::mailbox::{Command, Request};
use ferroce_abi::regs::{self, feature, Counter};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// What a card has, from its capability registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Bits of [`feature`].
    pub features: u32,
    /// QPs; QPN 0 and 1 are not used.
    pub qps: u32,
    /// CQs.
    pub cqs: u32,
    /// EQs, and MSI-X vectors; 0 without events.
    pub eqs: u32,
    /// SRQs; 0 without them.
    pub srqs: u32,
    /// Memory regions; index 0 is not used.
    pub mrs: u32,
    /// Address handles.
    pub ahs: u32,
    /// WQEs of each queue that the card keeps on chip.
    pub wqe_window: u32,
    /// Messages of a QP that may be unacknowledged.
    pub retransmit_depth: u32,
    /// Scatter/gather entries of a work request.
    pub max_sge: usize,
    /// Largest path MTU.
    pub max_pmtu: Pmtu,
    /// Core clock in Hz.
    pub core_clock_hz: u32,
    /// READs and atomics that a QP's requester may have outstanding.
    pub max_rd_atomic: u32,
    /// READs and atomics of the peer that a QP's responder holds unanswered.
    pub max_dest_rd_atomic: u32,
}

impl Capabilities {
    fn read(bar: &dyn Bar) -> Result<Self, Error> {
        let counted = |register, offset, min: u32, max: u32| {
            let value = bar.read32(offset)?;
            if (min..=max).contains(&value) {
                Ok(value)
            } else {
                Err(Error::Capability { register, value })
            }
        };
        let log_pmtu = bar.read32(regs::MAX_PMTU)?;
        let reads = bar.read32(regs::MAX_RD_ATOMIC)?;
        Ok(Self {
            features: bar.read32(regs::FEATURES)?,
            qps: counted("NUM_QPS", regs::NUM_QPS, FIRST_QPN + 1, 1 << QP_BITS)?,
            cqs: counted("NUM_CQS", regs::NUM_CQS, 1, 1 << CQ_BITS)?,
            eqs: counted("NUM_EQS", regs::NUM_EQS, 0, 1 << EQ_BITS)?,
            srqs: counted("NUM_SRQS", regs::NUM_SRQS, 0, 1 << SRQ_BITS)?,
            mrs: counted("NUM_MRS", regs::NUM_MRS, 2, 1 << MR_BITS)?,
            ahs: counted("NUM_AHS", regs::NUM_AHS, 0, 1 << AH_BITS)?,
            wqe_window: bar.read32(regs::WQE_WINDOW)?,
            retransmit_depth: bar.read32(regs::RETRANSMIT_DEPTH)?,
            max_sge: counted("MAX_SGE", regs::MAX_SGE, 1, WQE_SGES as u32)? as usize,
            max_pmtu: u8::try_from(log_pmtu)
                .ok()
                .and_then(Pmtu::from_log2)
                .ok_or(Error::Capability {
                    register: "MAX_PMTU",
                    value: log_pmtu,
                })?,
            core_clock_hz: bar.read32(regs::CORE_CLOCK)?,
            max_rd_atomic: reads & 0xFFFF,
            max_dest_rd_atomic: match reads >> 16 {
                held if held <= MAX_READS.into() => held,
                _ => {
                    return Err(Error::Capability {
                        register: "MAX_RD_ATOMIC",
                        value: reads,
                    })
                }
            },
        })
    }

    /// Whether the card has all `features` (bits of [`feature`]).
    pub const fn has(&self, features: u32) -> bool {
        self.features & features == features
    }

    /// Fails unless the card has a feature.
    pub(crate) fn need(&self, bit: u32) -> Result<(), Error> {
        if self.has(bit) {
            return Ok(());
        }
        let what = feature::NAMES
            .iter()
            .find_map(|&(b, name)| (b == bit).then_some(name))
            .unwrap_or("an unnamed feature");
        Err(Error::Unsupported { what })
    }
}

/// How the driver treats a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// Looks at the status register before a command counts as failed. Each takes about a microsecond on a card and
    /// lets some time pass in a simulation.
    pub command_polls: u32,
    /// Takes off the card what an earlier driver may have left: all QPs, SRQs, CQs, EQs, memory regions and address handles, a command each. A card
    /// keeps them when the process that made them dies.
    pub clear: bool,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self {
            command_polls: 10_000,
            clear: false,
        }
    }
}

/// What all objects of a card share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) bar: Arc<dyn Bar>,
    pub(crate) memory: Arc<dyn DmaMemory>,
    pub(crate) caps: Capabilities,
    pub(crate) qpns: IdPool,
    pub(crate) cqns: IdPool,
    pub(crate) eqns: IdPool,
    pub(crate) srqns: IdPool,
    pub(crate) pdns: IdPool,
    pub(crate) pages: IdPool,
    pub(crate) mrs: MrPool,
    pub(crate) ahs: IdPool,
    mailbox: Mailbox,
    /// Held from the first word of a push to its doorbell: pages are shared by threads.
    pub(crate) pushing: Mutex<()>,
    /// The EQ of the QPs' events; the lock is held while it is changed.
    async_eq: Mutex<Option<u8>>,
    port: RwLock<Option<PortAddress>>,
}

impl Shared {
    /// Runs a command; `entries` are those of its tables, in order.
    pub(crate) fn command(
        &self,
        command: Command,
        object: u32,
        entries: &[[u64; ENTRY_WORDS]],
    ) -> Result<(), Error> {
        debug_assert_eq!(entries.len(), command.tables().len());
        tracing::debug!(?command, object, "mailbox command");
        self.mailbox.run(&Request {
            command,
            object,
            entries: entries.to_vec(),
        })
    }

    /// Asks the card for an object.
    pub(crate) fn query(&self, command: Command, object: u32) -> Result<[u64; ENTRY_WORDS], Error> {
        self.mailbox.ask(&Request {
            command,
            object,
            entries: Vec::new(),
        })
    }

    /// Tells the card where the QPs' events go.
    fn write_async_eq(&self, eqn: Option<u8>) -> Result<(), Error> {
        let entry = AsyncCfg {
            enabled: eqn.is_some(),
            eq: eqn.unwrap_or(0),
        };
        self.command(Command::SetAsyncEq, 0, &[entry.to_bits()?])
    }

    /// The EQ goes away: if it takes the QPs' events, it does so no more.
    pub(crate) fn leave_async_eq(&self, eqn: u8) -> Result<(), Error> {
        let mut now = lock(&self.async_eq);
        if *now == Some(eqn) {
            self.write_async_eq(None)?;
            *now = None;
        }
        Ok(())
    }

    /// Zeroed memory for a ring of `2^log_size` entries.
    pub(crate) fn ring_memory(
        &self,
        log_size: u8,
        entry_bytes: usize,
    ) -> Result<Arc<dyn crate::platform::DmaBuffer>, Error> {
        Ok(self
            .memory
            .allocate(entry_bytes << log_size, RING_ALIGN as usize)?)
    }
}

/// A card that was opened. Clones name the same card.
#[derive(Clone, Debug)]
pub struct Device {
    pub(crate) shared: Arc<Shared>,
}

impl Device {
    /// Opens the card behind `bar`, with memory from `memory`.
    ///
    /// # Errors
    /// [`Error::NotFerroce`], [`Error::Version`], [`Error::Capability`], [`Error::Unsupported`] for a card
    /// without reliable connections, [`Error::Bar`], command errors of clearing.
    pub fn open(bar: Arc<dyn Bar>, memory: Arc<dyn DmaMemory>) -> Result<Self, Error> {
        Self::open_with(bar, memory, DeviceOptions::default())
    }

    /// [`Self::open`] with options.
    ///
    /// # Errors
    /// See [`Self::open`].
    pub fn open_with(
        bar: Arc<dyn Bar>,
        memory: Arc<dyn DmaMemory>,
        options: DeviceOptions,
    ) -> Result<Self, Error> {
        check_range(
            "command_polls",
            options.command_polls.into(),
            1,
            u32::MAX.into(),
        )?;
        let found = bar.read32(regs::MAGIC)?;
        if found != regs::MAGIC_VALUE {
            return Err(Error::NotFerroce { found });
        }
        let found = (bar.read32(regs::VERSION)? >> 16) as u16;
        if found != regs::VERSION_MAJOR {
            return Err(Error::Version {
                found,
                needed: regs::VERSION_MAJOR,
            });
        }
        let caps = Capabilities::read(bar.as_ref())?;
        caps.need(feature::RC)?;
        let mailbox = Mailbox::new(Arc::clone(&bar), options.command_polls);
        if options.clear {
            clear(&mailbox, &caps)?;
        }
        Ok(Self {
            shared: Arc::new(Shared {
                mailbox,
                bar,
                memory,
                caps,
                qpns: IdPool::new("QPs", FIRST_QPN..caps.qps),
                cqns: IdPool::new("CQs", 0..caps.cqs),
                srqns: IdPool::new("SRQs", 0..caps.srqs),
                eqns: IdPool::new("EQs", 0..caps.eqs),
                // A zeroed table entry belongs to protection domain 0.
                pdns: IdPool::new("protection domains", 1..1 << PD_BITS),
                // Page 0 is for queues that were made without a page.
                pages: IdPool::new("doorbell pages", 1..regs::DOORBELL_PAGES as u32),
                mrs: MrPool::new(caps.mrs),
                ahs: IdPool::new("address handles", 0..caps.ahs),
                pushing: Mutex::default(),
                async_eq: Mutex::new(None),
                port: RwLock::new(None),
            }),
        })
    }

    /// What the card has.
    pub fn capabilities(&self) -> &Capabilities {
        &self.shared.caps
    }

    /// Sets the addresses that the card sends from and receives at.
    ///
    /// # Errors
    /// [`Error::Bar`], [`Error::CommandTimeout`].
    pub fn set_port(&self, address: PortAddress) -> Result<(), Error> {
        let entry = PortCfg {
            mac: mac_bits(address.mac.0),
            ip: address.ip.into(),
        };
        self.shared
            .command(Command::SetPort, 0, &[entry.to_bits()?])?;
        *self
            .shared
            .port
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(address);
        Ok(())
    }

    /// The addresses of [`Self::set_port`].
    pub fn port(&self) -> Option<PortAddress> {
        *self
            .shared
            .port
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A new protection domain.
    ///
    /// # Errors
    /// [`Error::Exhausted`].
    pub fn create_pd(&self) -> Result<Pd, Error> {
        Pd::new(&self.shared)
    }

    /// A new CQ that holds at least `entries` completions.
    ///
    /// # Errors
    /// [`Error::Attribute`] for a size the card can't hold, [`Error::Exhausted`], [`Error::Dma`], command errors.
    pub fn create_cq(&self, entries: usize) -> Result<Cq, Error> {
        Cq::new(&self.shared, entries, None, None)
    }

    /// [`Self::create_cq`] with the CQ's doorbell in `page`.
    ///
    /// # Errors
    /// See [`Self::create_cq`]; [`Error::OtherDevice`] for a page of another card.
    pub fn create_cq_in(&self, page: &DoorbellPage, entries: usize) -> Result<Cq, Error> {
        Cq::new(&self.shared, entries, Some(page), None)
    }

    /// A new CQ whose events go to `eq`, see [`Cq::request_notify`]; its doorbells are in `page`, if one is given.
    ///
    /// # Errors
    /// See [`Self::create_cq`]; [`Error::OtherDevice`] for an EQ or a page of another card.
    pub fn create_cq_with(
        &self,
        eq: &Eq,
        page: Option<&DoorbellPage>,
        entries: usize,
    ) -> Result<Cq, Error> {
        Cq::new(&self.shared, entries, page, Some(eq))
    }

    /// A new EQ, with its doorbell in `page`, if one is given.
    ///
    /// # Errors
    /// [`Error::Unsupported`] by a card without events, [`Error::Attribute`], [`Error::Exhausted`], [`Error::Dma`],
    /// [`Error::OtherDevice`] for a page of another card, command errors.
    pub fn create_eq(&self, attr: EqAttr, page: Option<&DoorbellPage>) -> Result<Eq, Error> {
        Eq::new(&self.shared, attr, page)
    }

    /// Sends the events of all QPs to `eq`, or to none, which is so at the beginning: [`Event::QpFatal`](crate::Event::QpFatal) and the like. When the
    /// EQ is dropped, there is none again. Of several events of a QP that wait for a host that takes no writes, the newest is told.
    ///
    /// # Errors
    /// [`Error::Unsupported`] by a card without events, [`Error::OtherDevice`], command errors.
    pub fn set_async_eq(&self, eq: Option<&Eq>) -> Result<(), Error> {
        self.shared.caps.need(feature::EVENTS)?;
        if eq.is_some_and(|eq| !eq.shared.is_of(&self.shared)) {
            return Err(Error::OtherDevice { what: "EQ" });
        }
        let mut now = lock(&self.shared.async_eq);
        let eqn = eq.map(|eq| eq.shared.eqn);
        self.shared.write_async_eq(eqn)?;
        *now = eqn;
        Ok(())
    }

    /// A doorbell page of its own, for the queues of one process.
    ///
    /// # Errors
    /// [`Error::Exhausted`].
    pub fn create_page(&self) -> Result<DoorbellPage, Error> {
        DoorbellPage::new(&self.shared)
    }

    /// One counter.
    ///
    /// # Errors
    /// [`Error::Bar`].
    pub fn counter(&self, counter: Counter) -> Result<u64, Error> {
        Ok(self.shared.bar.read64(counter.offset())?)
    }

    /// All counters.
    ///
    /// # Errors
    /// [`Error::Bar`].
    pub fn counters(&self) -> Result<Counters, Error> {
        let values = Counter::ALL.iter().map(|&c| self.counter(c));
        Ok(Counters::new(values.collect::<Result<_, _>>()?))
    }
}

//! Event queues.

use crate::cq::ring_log;
use crate::device::Shared;
use crate::error::{check_range, Error};
use crate::lock::lock;
use crate::page::{check_page, number_of, DoorbellPage};
use crate::platform::{DmaBuffer, Interrupts};
use ferroce_abi::cfg::{EqCfg, QueueInfo};
use ferroce_abi::cqe::phase_of;
use ferroce_abi::eqe::{Eqe, EventKind, PHASE};
use ferroce_abi::limits::{CQE_INDEX_BITS, EQE_BYTES};
use ferroce_abi::mailbox::Command;
use ferroce_abi::regs::{feature, in_page, EqDoorbell, EQ_DOORBELL};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Core cycles of a unit of the gap, log2.
const GAP_UNIT_LOG2: u32 = 8;
/// Longest gap in units.
const MAX_GAP: u64 = (1 << 12) - 1;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A CQ has a completion that it was armed for. It is not armed any more.
    Completion {
        /// The CQ.
        cqn: u32,
    },
    /// A CQ was full and lost a completion; it takes no more.
    CqOverrun {
        /// The CQ.
        cqn: u32,
    },
    /// The EQ was full and lost events: poll and arm every CQ of it, and look at the QPs if it is the EQ of their events.
    EqOverrun,
    /// A QP met an error of its own: a malformed work request, or memory that the card can't read or write. It goes to the EQ of
    /// [`Device::set_async_eq`](crate::Device::set_async_eq), as those that follow do. The card has stopped that side of the QP.
    QpFatal {
        /// The QP.
        qpn: u32,
    },
    /// The peer sent a QP a request that is not allowed, and was told so. The QP receives no more.
    QpRequestError {
        /// The QP.
        qpn: u32,
    },
    /// The peer wanted memory of a QP without the right to it, and was told so. The QP receives no more.
    QpAccessError {
        /// The QP.
        qpn: u32,
    },
    /// A QP with an SRQ was moved to ERR, by the driver itself when its failure was polled: it takes no more requests, and the completions of those that it had
    /// taken are in its CQ (last WQE reached, IBTA 11.6.3).
    QpLastWqe {
        /// The QP.
        qpn: u32,
    },
    /// An SRQ has fewer requests left than its limit. The limit is not armed any more.
    SrqLimit {
        /// The SRQ.
        srqn: u32,
    },
}

impl From<Eqe> for Event {
    fn from(eqe: Eqe) -> Self {
        let index = eqe.index;
        match eqe.kind {
            EventKind::Completion => Self::Completion { cqn: index },
            EventKind::CqOverrun => Self::CqOverrun { cqn: index },
            EventKind::EqOverrun => Self::EqOverrun,
            EventKind::QpFatal => Self::QpFatal { qpn: index },
            EventKind::QpRequestError => Self::QpRequestError { qpn: index },
            EventKind::QpAccessError => Self::QpAccessError { qpn: index },
            EventKind::QpLastWqe => Self::QpLastWqe { qpn: index },
            EventKind::SrqLimit => Self::SrqLimit { srqn: index },
        }
    }
}

/// What an EQ is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EqAttr {
    /// Events that it holds at least. One for each CQ and one more never overrun, unless a CQ is armed again before its event was polled.
    pub entries: usize,
    /// MSI-X vector, below the card's number of EQs.
    pub vector: u8,
    /// Least time between two interrupts; what happens in it is told by one interrupt at its end. The card knows units of about a
    /// microsecond, up to about four milliseconds.
    pub gap: Duration,
}

impl EqAttr {
    /// An EQ that interrupts for every event that it is armed for.
    pub const fn new(entries: usize, vector: u8) -> Self {
        Self {
            entries,
            vector,
            gap: Duration::ZERO,
        }
    }
}

/// An EQ's ring and what belongs to it.
#[derive(Debug)]
pub(crate) struct EqShared {
    device: Arc<Shared>,
    pub(crate) eqn: u8,
    log_size: u8,
    vector: u8,
    page: Option<DoorbellPage>,
    memory: Arc<dyn DmaBuffer>,
    /// Running index of the next EQE.
    consumer: Mutex<u32>,
}

impl EqShared {
    /// Whether the EQ is one of `device`.
    pub(crate) fn is_of(&self, device: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.device, device)
    }

    fn ring(&self, consumer: u32, arm: bool) -> Result<(), Error> {
        let doorbell = EqDoorbell {
            eqn: self.eqn.into(),
            arm,
            consumer,
        };
        let place = in_page(number_of(self.page.as_ref()), EQ_DOORBELL);
        Ok(self.device.bar.write64(place, doorbell.to_bits())?)
    }
}

impl Drop for EqShared {
    fn drop(&mut self) {
        let done = self
            .device
            .leave_async_eq(self.eqn)
            .and_then(|()| Ok(EqCfg::default().to_bits()?))
            .and_then(|bits| {
                self.device
                    .command(Command::DestroyEq, self.eqn.into(), &[bits])
            });
        match done {
            Ok(()) => self.device.eqns.give_back(self.eqn.into()),
            Err(error) => {
                tracing::error!(%error, eqn = self.eqn, "EQ could not be removed; its memory is kept");
                std::mem::forget(Arc::clone(&self.memory));
            }
        }
    }
}

/// An event queue: where the events of its CQs arrive, and the interrupt that tells of them. Clones name the same EQ; it lives as long as any CQ
/// of it.
#[derive(Clone, Debug)]
pub struct Eq {
    pub(crate) shared: Arc<EqShared>,
}

impl Eq {
    pub(crate) fn new(
        device: &Arc<Shared>,
        attr: EqAttr,
        page: Option<&DoorbellPage>,
    ) -> Result<Self, Error> {
        device.caps.need(feature::EVENTS)?;
        check_page(page, device)?;
        let log_size = ring_log("EQ size", attr.entries)?;
        let vectors = u64::from(device.caps.eqs).max(1);
        check_range("vector", attr.vector.into(), 0, vectors - 1)?;
        let cycles = attr.gap.as_nanos() * u128::from(device.caps.core_clock_hz) / 1_000_000_000;
        let gap = u64::try_from(cycles.div_ceil(1 << GAP_UNIT_LOG2)).unwrap_or(u64::MAX);
        check_range("gap in units of 256 core cycles", gap, 0, MAX_GAP)?;
        let memory = device.ring_memory(log_size, EQE_BYTES)?;
        let entry = EqCfg {
            enabled: true,
            base: memory.iova(),
            log_size,
            page: number_of(page),
            vector: attr.vector,
            gap: gap as u16,
        }
        .to_bits()?;
        let eqn = device.eqns.take()?;
        if let Err(error) = device.command(Command::CreateEq, eqn, &[entry]) {
            if error.nothing_happened() {
                device.eqns.give_back(eqn);
            } else {
                std::mem::forget(memory);
            }
            return Err(error);
        }
        Ok(Self {
            shared: Arc::new(EqShared {
                device: Arc::clone(device),
                eqn: eqn as u8,
                log_size,
                vector: attr.vector,
                page: page.cloned(),
                memory,
                consumer: Mutex::new(0),
            }),
        })
    }

    /// Number of the EQ on its card.
    pub fn eqn(&self) -> u32 {
        self.shared.eqn.into()
    }

    /// Events that the ring holds. When more are outstanding, the card drops events, counts them, and says so with
    /// [`Event::EqOverrun`].
    pub fn capacity(&self) -> usize {
        1 << self.shared.log_size
    }

    /// Where the card is in the EQ.
    ///
    /// # Errors
    /// [`Error::Bar`], command errors.
    pub fn query(&self) -> Result<QueueInfo, Error> {
        let answer = self.shared.device.query(Command::QueryEq, self.eqn())?;
        Ok(QueueInfo::from_bits(&answer))
    }

    /// Takes all events that are there now; it never waits for one.
    ///
    /// # Errors
    /// [`Error::Bar`], [`Error::Dma`]; [`Error::Eqe`] when the first event can't be read. It is skipped; another poll returns those behind it.
    pub fn poll(&self) -> Result<Vec<Event>, Error> {
        let mut consumer = lock(&self.shared.consumer);
        let (before, mut events) = (*consumer, Vec::new());
        let mut result = Ok(());
        while let Some(eqe) = self.next(*consumer)? {
            match Eqe::decode(&eqe) {
                Ok(eqe) => events.push(eqe.into()),
                // Those before it come first; it is met again.
                Err(_) if !events.is_empty() => break,
                Err(error) => result = Err(error.into()),
            }
            *consumer = (*consumer + 1) & ((1 << CQE_INDEX_BITS) - 1);
            if result.is_err() {
                break;
            }
        }
        if *consumer != before {
            self.shared.ring(*consumer, false)?;
        }
        result.map(|()| events)
    }

    /// The EQE at a running index, if it is there.
    fn next(&self, consumer: u32) -> Result<Option<[u8; EQE_BYTES]>, Error> {
        let log_size = u32::from(self.shared.log_size);
        let at = (consumer as usize & ((1 << log_size) - 1)) * EQE_BYTES;
        let memory = &self.shared.memory;
        if (memory.load_acquire(at + PHASE)? & 1 == 1) != phase_of(consumer, log_size) {
            return Ok(None);
        }
        let mut bytes = [0; EQE_BYTES];
        memory.read(at, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Asks for one interrupt: for the next event, or at once for one that is there and that no poll has taken.
    ///
    /// # Errors
    /// [`Error::Bar`].
    pub fn arm(&self) -> Result<(), Error> {
        let consumer = lock(&self.shared.consumer);
        self.shared.ring(*consumer, true)
    }

    /// Takes all events; when there is none, arms the EQ and sleeps until there is one, for each interrupt of its vector at most `timeout`. Empty when
    /// the time has passed.
    ///
    /// # Errors
    /// See [`Self::poll`]; [`Error::Wait`].
    pub fn wait(
        &self,
        interrupts: &dyn Interrupts,
        timeout: Duration,
    ) -> Result<Vec<Event>, Error> {
        loop {
            let events = self.poll()?;
            if !events.is_empty() {
                return Ok(events);
            }
            self.arm()?;
            // Interrupts of events that were polled before end a sleep too early.
            if interrupts.wait(self.shared.vector, timeout)? == 0 {
                return self.poll();
            }
        }
    }
}

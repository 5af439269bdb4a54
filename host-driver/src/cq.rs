//! Completion queues.

use crate::completion::Completion;
use crate::device::Shared;
use crate::eq::{Eq, EqShared};
use crate::error::{check_range, Error};
use crate::lock::lock;
use crate::page::{check_page, number_of, DoorbellPage};
use crate::platform::DmaBuffer;
use crate::qp::QpShared;
use crate::srq::SrqShared;
use ferroce_abi::cfg::{CqCfg, QueueInfo};
use ferroce_abi::cqe::{phase_of, Cqe, PHASE};
use ferroce_abi::limits::{CQE_BYTES, CQE_INDEX_BITS, RING_LOG_MAX, RING_LOG_MIN};
use ferroce_abi::mailbox::Command;
use ferroce_abi::regs::{in_page, CqArm, CqDoorbell, CQ_ARM, CQ_DOORBELL};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};

/// Log2 of the ring that holds at least `entries`.
pub(crate) fn ring_log(name: &'static str, entries: usize) -> Result<u8, Error> {
    check_range(name, entries as u64, 1, 1 << RING_LOG_MAX)?;
    Ok(entries.next_power_of_two().ilog2().max(RING_LOG_MIN) as u8)
}

/// What a poll works on.
#[derive(Debug)]
struct Ring {
    /// Running index of the next CQE, [`CQE_INDEX_BITS`] wide.
    consumer: u32,
    /// Consumer index that the card knows.
    told: u32,
    /// Completions taken out of the ring early, and those of work requests that the driver flushed.
    backlog: VecDeque<Completion>,
    /// QPs whose completions come here.
    members: HashMap<u32, Weak<QpShared>>,
    /// SRQs of QPs, those that are gone too: a late CQE gives a request back.
    srqs: HashMap<u32, Weak<SrqShared>>,
}

/// A CQ's ring and what belongs to it.
#[derive(Debug)]
pub(crate) struct CqShared {
    device: Arc<Shared>,
    pub(crate) cqn: u16,
    log_size: u8,
    page: Option<DoorbellPage>,
    eq: Option<Arc<EqShared>>,
    memory: Arc<dyn DmaBuffer>,
    ring: Mutex<Ring>,
}

/// QPs whose first failed work request was seen.
pub(crate) type Failed = Vec<Arc<QpShared>>;

impl CqShared {
    fn new(
        device: &Arc<Shared>,
        entries: usize,
        page: Option<&DoorbellPage>,
        eq: Option<&Eq>,
    ) -> Result<Self, Error> {
        check_page(page, device)?;
        if eq.is_some_and(|eq| !eq.shared.is_of(device)) {
            return Err(Error::OtherDevice { what: "EQ" });
        }
        let log_size = ring_log("CQ size", entries)?;
        let memory = device.ring_memory(log_size, CQE_BYTES)?;
        let entry = CqCfg {
            enabled: true,
            base: memory.iova(),
            log_size,
            page: number_of(page),
            has_eq: eq.is_some(),
            eq: eq.map_or(0, |eq| eq.shared.eqn),
        }
        .to_bits()?;
        let cqn = device.cqns.take()?;
        if let Err(error) = device.command(Command::CreateCq, cqn, &[entry]) {
            if error.nothing_happened() {
                device.cqns.give_back(cqn);
            } else {
                std::mem::forget(memory);
            }
            return Err(error);
        }
        Ok(Self {
            device: Arc::clone(device),
            cqn: cqn as u16,
            log_size,
            page: page.cloned(),
            eq: eq.map(|eq| Arc::clone(&eq.shared)),
            memory,
            ring: Mutex::new(Ring {
                consumer: 0,
                told: 0,
                backlog: VecDeque::new(),
                members: HashMap::new(),
                srqs: HashMap::new(),
            }),
        })
    }

    /// Whether the CQ is one of `device`.
    pub(crate) fn is_of(&self, device: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.device, device)
    }

    /// Completions of `qp` may come from now on.
    pub(crate) fn join(&self, qp: &Arc<QpShared>) {
        let mut ring = lock(&self.ring);
        ring.members.insert(qp.qpn, Arc::downgrade(qp));
        match &qp.srq {
            Some(srq) => ring.srqs.insert(qp.qpn, Arc::downgrade(srq)),
            None => ring.srqs.remove(&qp.qpn),
        };
    }

    /// The QP is gone.
    pub(crate) fn leave(&self, qpn: u32) {
        lock(&self.ring).members.remove(&qpn);
    }

    /// Appends completions that the driver made.
    pub(crate) fn append(&self, completions: impl IntoIterator<Item = Completion>) {
        lock(&self.ring).backlog.extend(completions);
    }

    /// Moves everything from the ring to the backlog.
    pub(crate) fn drain(&self, failed: &mut Failed) -> Result<(), Error> {
        let mut ring = lock(&self.ring);
        let mut result = Ok(());
        loop {
            match self.next(&mut ring, failed) {
                Ok(Some(completion)) => ring.backlog.push_back(completion),
                Ok(None) => break,
                // The bad CQE is skipped; those behind it are not lost.
                Err(error @ Error::Cqe(_)) => result = Err(error),
                Err(error) => return Err(error),
            }
        }
        self.tell(&mut ring)?;
        result
    }

    /// Forgets all completions of a QP, in the ring too.
    pub(crate) fn purge(&self, qpn: u32, failed: &mut Failed) -> Result<(), Error> {
        let drained = self.drain(failed);
        lock(&self.ring).backlog.retain(|c| c.qpn != qpn);
        drained
    }

    fn poll_into(&self, out: &mut Vec<Completion>, max: usize) -> Result<usize, Error> {
        let mut failed = Failed::new();
        let before = out.len();
        let taken = self.take(out, max, &mut failed);
        // Also when the poll itself failed: these completions were seen.
        let moved = QpShared::fail_all(failed);
        taken?;
        moved?;
        Ok(out.len() - before)
    }

    fn take(
        &self,
        out: &mut Vec<Completion>,
        max: usize,
        failed: &mut Failed,
    ) -> Result<(), Error> {
        let mut ring = lock(&self.ring);
        let mut result = Ok(());
        for _ in 0..max {
            if let Some(completion) = ring.backlog.pop_front() {
                out.push(completion);
                continue;
            }
            match self.next(&mut ring, failed) {
                Ok(Some(completion)) => out.push(completion),
                Ok(None) => break,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        result.and(self.tell(&mut ring))
    }

    /// Takes the next completion that belongs to a work request out of the ring.
    fn next(&self, ring: &mut Ring, failed: &mut Failed) -> Result<Option<Completion>, Error> {
        loop {
            let slot = ring.consumer as usize & ((1 << self.log_size) - 1);
            let at = slot * CQE_BYTES;
            let phase = self.memory.load_acquire(at + PHASE)? & 1 == 1;
            if phase != phase_of(ring.consumer, self.log_size.into()) {
                return Ok(None);
            }
            let mut bytes = [0; CQE_BYTES];
            self.memory.read(at, &mut bytes)?;
            ring.consumer = (ring.consumer + 1) & ((1 << CQE_INDEX_BITS) - 1);
            let cqe = Cqe::decode(&bytes)?;
            let qp = ring.members.get(&cqe.qpn).and_then(Weak::upgrade);
            if qp.is_none() && cqe.opcode.is_receive() {
                if let Some(srq) = ring.srqs.get(&cqe.qpn).and_then(Weak::upgrade) {
                    srq.complete(cqe.wqe_index);
                }
            }
            let done = qp.as_ref().and_then(|qp| qp.complete(&cqe));
            match (qp, done) {
                (Some(qp), Some(completion)) => {
                    if completion.ok().is_err() {
                        failed.push(qp);
                    }
                    return Ok(Some(completion));
                }
                // Of a QP that is gone, or of a work request that was flushed already.
                _ => tracing::debug!(?cqe, "stale CQE"),
            }
        }
    }

    /// Arms the CQ; whether completions wait already, of which the card gives no event.
    fn request_notify(&self, solicited_only: bool) -> Result<bool, Error> {
        if self.eq.is_none() {
            return Err(Error::NoEq {
                cqn: self.cqn.into(),
            });
        }
        let mut ring = lock(&self.ring);
        let arm = CqArm {
            cqn: self.cqn.into(),
            solicited_only,
            consumer: ring.consumer,
        };
        let place = in_page(number_of(self.page.as_ref()), CQ_ARM);
        self.device.bar.write64(place, arm.to_bits())?;
        ring.told = ring.consumer;
        Ok(!ring.backlog.is_empty())
    }

    /// Gives SRQs back what the completions name that nobody will poll.
    fn give_back(&self) {
        let mut ring = lock(&self.ring);
        let mut failed = Failed::new();
        loop {
            match self.next(&mut ring, &mut failed) {
                Ok(Some(_)) | Err(Error::Cqe(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(%error, cqn = self.cqn, "completions are lost");
                    break;
                }
            }
        }
    }

    /// Tells the card what was taken out.
    fn tell(&self, ring: &mut Ring) -> Result<(), Error> {
        if ring.told == ring.consumer {
            return Ok(());
        }
        let doorbell = CqDoorbell {
            cqn: self.cqn.into(),
            consumer: ring.consumer,
        };
        let place = in_page(number_of(self.page.as_ref()), CQ_DOORBELL);
        self.device.bar.write64(place, doorbell.to_bits())?;
        ring.told = ring.consumer;
        Ok(())
    }
}

impl Drop for CqShared {
    fn drop(&mut self) {
        let done = CqCfg::default()
            .to_bits()
            .map_err(Error::from)
            .and_then(|bits| {
                self.device
                    .command(Command::DestroyCq, self.cqn.into(), &[bits])
            });
        match done {
            Ok(()) => {
                self.give_back();
                self.device.cqns.give_back(self.cqn.into());
            }
            Err(error) => {
                tracing::error!(%error, cqn = self.cqn, "CQ could not be removed; its memory is kept");
                std::mem::forget(Arc::clone(&self.memory));
            }
        }
    }
}

/// A completion queue. Clones name the same CQ; it lives as long as any QP that uses it.
#[derive(Clone, Debug)]
pub struct Cq {
    pub(crate) shared: Arc<CqShared>,
}

impl Cq {
    pub(crate) fn new(
        device: &Arc<Shared>,
        entries: usize,
        page: Option<&DoorbellPage>,
        eq: Option<&Eq>,
    ) -> Result<Self, Error> {
        Ok(Self {
            shared: Arc::new(CqShared::new(device, entries, page, eq)?),
        })
    }

    /// Number of the CQ on its card.
    pub fn cqn(&self) -> u32 {
        self.shared.cqn.into()
    }

    /// Completions that the ring holds. When more than that are outstanding, the card drops CQEs
    /// and counts them.
    pub fn capacity(&self) -> usize {
        1 << self.shared.log_size
    }

    /// Where the card is in the CQ.
    ///
    /// # Errors
    /// [`Error::Bar`], command errors.
    pub fn query(&self) -> Result<QueueInfo, Error> {
        let answer = self.shared.device.query(Command::QueryCq, self.cqn())?;
        Ok(QueueInfo::from_bits(&answer))
    }

    /// Asks for one [`Event::Completion`](crate::Event::Completion) in the CQ's EQ: for the next completion, or for one that is there
    /// and that no poll has taken. With `solicited_only` only a completion counts whose sender asked for a solicited event, or that failed. An
    /// event that was asked for before and has not come yet stays asked for; there is one event for both.
    ///
    /// Returns whether the driver itself holds completions already, which it took out of the ring early: for them no event comes; poll
    /// at once. Completions that a later call of the driver flushes come without an event too: the caller of that call knows.
    ///
    /// # Errors
    /// [`Error::NoEq`], [`Error::Bar`].
    pub fn request_notify(&self, solicited_only: bool) -> Result<bool, Error> {
        self.shared.request_notify(solicited_only)
    }

    /// Takes up to `max` completions that are there now; it never waits for one.
    ///
    /// When one of them shows that a QP has failed, that QP is moved to ERR on the card, and the completions of its
    /// flushed work requests come with a later poll.
    ///
    /// # Errors
    /// [`Error::Bar`], [`Error::Dma`], [`Error::Cqe`], and command errors of moving a failed QP.
    /// Completions taken before are not lost: the next poll returns them.
    pub fn poll(&self, max: usize) -> Result<Vec<Completion>, Error> {
        let mut out = Vec::new();
        match self.shared.poll_into(&mut out, max) {
            Ok(_) => Ok(out),
            Err(error) => {
                let mut ring = lock(&self.shared.ring);
                for completion in out.into_iter().rev() {
                    ring.backlog.push_front(completion);
                }
                Err(error)
            }
        }
    }

    /// [`Self::poll`] that appends to `out` and returns how many it appended.
    ///
    /// # Errors
    /// See [`Self::poll`]; completions taken before the error are in `out`.
    pub fn poll_into(&self, out: &mut Vec<Completion>, max: usize) -> Result<usize, Error> {
        self.shared.poll_into(out, max)
    }
}

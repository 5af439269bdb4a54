//! Shared receive queues.

use crate::cq::ring_log;
use crate::eq::{Eq, EqShared};
use crate::error::{check_range, Error, PostError};
use crate::lock::lock;
use crate::page::{check_page, number_of, DoorbellPage};
use crate::pd::{Pd, PdShared};
use crate::platform::DmaBuffer;
use crate::wr::RecvWr;
use ferroce_abi::cfg::{RingCfg, SrqInfo, SrqLimitCfg, ENTRY_WORDS};
use ferroce_abi::cqe::SharedWqe;
use ferroce_abi::limits::WQE_BYTES;
use ferroce_abi::mailbox::Command;
use ferroce_abi::regs::{feature, in_page, QueueDoorbell, SRQ_DOORBELL};
use ferroce_abi::wqe::RqWqe;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The ring, and what is kept of each WQE by its tag. Messages end in another order than they began, so tags come back in any order; the ring itself
/// is used in order. There are as many tags as places in the ring, and a WQE that the card has not taken has its tag, so a place is never
/// written again before the card has taken what was there.
#[derive(Debug)]
struct Queue {
    /// Index after the newest WQE.
    producer: u16,
    /// Tag of the WQE in each place of the ring.
    tags: Vec<u16>,
    /// By tag: the work request's id while it is outstanding.
    wr_ids: Vec<Option<u64>>,
    free: VecDeque<u16>,
}

impl Queue {
    fn new(depth: usize) -> Self {
        Self {
            producer: 0,
            tags: vec![0; depth],
            wr_ids: vec![None; depth],
            free: (0..depth as u16).collect(),
        }
    }
}

/// An SRQ as its QPs see it too.
#[derive(Debug)]
pub(crate) struct SrqShared {
    pub(crate) pd: Arc<PdShared>,
    pub(crate) srqn: u16,
    log_size: u8,
    page: Option<DoorbellPage>,
    eq: Option<Arc<EqShared>>,
    memory: Arc<dyn DmaBuffer>,
    queue: Mutex<Queue>,
}

impl SrqShared {
    fn new(builder: &SrqBuilder) -> Result<Self, Error> {
        let pd = &builder.pd.shared;
        let device = &pd.device;
        device.caps.need(feature::SRQ)?;
        check_page(builder.page.as_ref(), device)?;
        if builder
            .eq
            .as_ref()
            .is_some_and(|eq| !eq.shared.is_of(device))
        {
            return Err(Error::OtherDevice { what: "EQ" });
        }
        let log_size = ring_log("SRQ depth", builder.depth)?;
        let memory = device.ring_memory(log_size, WQE_BYTES)?;
        let ring = RingCfg {
            enabled: true,
            base: memory.iova(),
            log_size,
            page: number_of(builder.page.as_ref()),
        };
        let entries = [SrqLimitCfg::default().to_bits()?, ring.to_bits()?];
        let srqn = device.srqns.take()?;
        if let Err(error) = device.command(Command::CreateSrq, srqn, &entries) {
            if error.nothing_happened() {
                device.srqns.give_back(srqn);
            } else {
                std::mem::forget(memory);
            }
            return Err(error);
        }
        Ok(Self {
            pd: Arc::clone(pd),
            srqn: srqn as u16,
            log_size,
            page: builder.page.clone(),
            eq: builder.eq.as_ref().map(|eq| Arc::clone(&eq.shared)),
            memory,
            queue: Mutex::new(Queue::new(1 << log_size)),
        })
    }

    fn depth(&self) -> usize {
        1 << self.log_size
    }

    fn outstanding(&self) -> usize {
        self.depth() - lock(&self.queue).free.len()
    }

    /// Takes out the WQE that a CQE names; its work request's id, `None` when it is not outstanding.
    pub(crate) fn complete(&self, wqe_index: u16) -> Option<u64> {
        let mut queue = lock(&self.queue);
        let tag = match SharedWqe::from_index(wqe_index) {
            SharedWqe::Tag(tag) => tag,
            SharedWqe::Unread(index) => queue.tags[usize::from(index) & (self.depth() - 1)],
        };
        let wr_id = queue.wr_ids.get_mut(usize::from(tag))?.take()?;
        queue.free.push_back(tag);
        Some(wr_id)
    }

    fn push(&self, queue: &mut Queue, request: &RecvWr) -> Result<(), Error> {
        let wqe = request.to_wqe(&self.pd.device.caps)?;
        let &tag = queue.free.front().ok_or(Error::QueueFull {
            queue: "shared receive",
            depth: self.depth(),
        })?;
        let place = usize::from(queue.producer) & (self.depth() - 1);
        self.memory
            .write(place * WQE_BYTES, &RqWqe { tag, ..wqe }.encode())?;
        queue.free.pop_front();
        queue.tags[place] = tag;
        queue.wr_ids[usize::from(tag)] = Some(request.wr_id);
        queue.producer = queue.producer.wrapping_add(1);
        Ok(())
    }

    fn post_recv(&self, requests: &[RecvWr]) -> Result<(), PostError> {
        let mut queue = lock(&self.queue);
        let mut posted = 0;
        let mut result = Ok(());
        for request in requests {
            result = self.push(&mut queue, request);
            if result.is_err() {
                break;
            }
            posted += 1;
        }
        if posted > 0 {
            let word = QueueDoorbell {
                qpn: self.srqn.into(),
                producer: queue.producer,
                pushed: 0,
            };
            let place = in_page(number_of(self.page.as_ref()), SRQ_DOORBELL);
            let rung = self.pd.device.bar.write64(place, word.to_bits());
            result = rung.map_err(Error::from).and(result);
        }
        result.map_err(|cause| PostError { posted, cause })
    }

    fn arm_limit(&self, limit: usize) -> Result<(), Error> {
        let Some(eq) = &self.eq else {
            return Err(Error::SrqWithoutEq {
                srqn: self.srqn.into(),
            });
        };
        check_range("SRQ limit", limit as u64, 0, self.depth() as u64)?;
        let entry = SrqLimitCfg {
            limit: limit as u16,
            eq: eq.eqn,
        };
        let srqn = self.srqn.into();
        self.pd
            .device
            .command(Command::ModifySrq, srqn, &[entry.to_bits()?])
    }

    /// Entries that take an SRQ off the card.
    fn nothing() -> Result<[[u64; ENTRY_WORDS]; 2], Error> {
        Ok([
            SrqLimitCfg::default().to_bits()?,
            RingCfg::default().to_bits()?,
        ])
    }
}

impl Drop for SrqShared {
    fn drop(&mut self) {
        let device = &self.pd.device;
        let srqn = self.srqn.into();
        let done =
            Self::nothing().and_then(|entries| device.command(Command::DestroySrq, srqn, &entries));
        match done {
            Ok(()) => device.srqns.give_back(srqn),
            Err(error) => {
                tracing::error!(%error, srqn, "SRQ could not be removed; its memory is kept");
                std::mem::forget(Arc::clone(&self.memory));
            }
        }
    }
}

/// Describes an SRQ that is to be made.
#[derive(Clone, Debug)]
pub struct SrqBuilder {
    pd: Pd,
    depth: usize,
    page: Option<DoorbellPage>,
    eq: Option<Eq>,
}

impl SrqBuilder {
    pub(crate) fn new(pd: &Pd, depth: usize) -> Self {
        Self {
            pd: pd.clone(),
            depth,
            page: None,
            eq: None,
        }
    }

    /// The SRQ's doorbell is in this page.
    pub fn page(mut self, page: &DoorbellPage) -> Self {
        self.page = Some(page.clone());
        self
    }

    /// Limit events go to this EQ.
    pub fn eq(mut self, eq: &Eq) -> Self {
        self.eq = Some(eq.clone());
        self
    }

    /// Makes the SRQ.
    ///
    /// # Errors
    /// [`Error::Unsupported`] by a card without SRQs, [`Error::Attribute`] for a depth the card can't hold, [`Error::OtherDevice`] for an EQ or a page of
    /// another card, [`Error::Exhausted`], [`Error::Dma`], command errors.
    pub fn build(self) -> Result<Srq, Error> {
        Ok(Srq {
            shared: Arc::new(SrqShared::new(&self)?),
        })
    }
}

/// A shared receive queue: QPs that were made with it take receive requests from it, in the order in which the first packets of their messages
/// arrive (IBTA 10.2.9). Clones name the same SRQ; it lives as long as any QP that uses it. What is posted and was not taken is forgotten with it.
#[derive(Clone, Debug)]
pub struct Srq {
    pub(crate) shared: Arc<SrqShared>,
}

impl Srq {
    /// Number of the SRQ on its card.
    pub fn srqn(&self) -> u32 {
        self.shared.srqn.into()
    }

    /// Receive work requests that it holds. One that a message has taken counts until its completion was polled.
    pub fn depth(&self) -> usize {
        self.shared.depth()
    }

    /// Receive work requests that were posted and not completed.
    pub fn outstanding(&self) -> usize {
        self.shared.outstanding()
    }

    /// Where the card is in the SRQ.
    ///
    /// # Errors
    /// [`Error::Bar`], command errors.
    pub fn query(&self) -> Result<SrqInfo, Error> {
        let device = &self.shared.pd.device;
        let answer = device.query(Command::QuerySrq, self.srqn())?;
        Ok(SrqInfo::from_bits(&answer))
    }

    /// Posts a receive work request.
    ///
    /// # Errors
    /// [`Error::QueueFull`], [`Error::SgeCount`], [`Error::Bar`], [`Error::Dma`].
    pub fn post_recv(&self, request: RecvWr) -> Result<(), Error> {
        self.shared.post_recv(&[request]).map_err(|e| e.cause)
    }

    /// Posts receive work requests with one doorbell.
    ///
    /// # Errors
    /// [`PostError`] names the first refused one; those before it are posted.
    pub fn post_recv_list(&self, requests: &[RecvWr]) -> Result<(), PostError> {
        self.shared.post_recv(requests)
    }

    /// Asks for one [`Event::SrqLimit`](crate::Event::SrqLimit): when fewer than `limit` requests are left that no message has taken, at once if that is so
    /// already. 0 takes the wish back.
    ///
    /// # Errors
    /// [`Error::SrqWithoutEq`], [`Error::Attribute`] for a limit above the depth, command errors.
    pub fn arm_limit(&self, limit: usize) -> Result<(), Error> {
        self.shared.arm_limit(limit)
    }
}

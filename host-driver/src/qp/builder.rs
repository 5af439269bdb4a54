//! Creating QPs.

use super::{Qp, QpShared};
use crate::cq::{ring_log, Cq};
use crate::error::Error;
use crate::page::{check_page, DoorbellPage};
use crate::pd::Pd;
use crate::srq::Srq;
use ferroce_abi::limits::RING_LOG_MIN;
use std::sync::Arc;

/// Describes a QP that is to be made.
#[derive(Clone, Debug)]
pub struct QpBuilder {
    pub(super) pd: Pd,
    pub(super) send_cq: Cq,
    pub(super) recv_cq: Cq,
    send_depth: usize,
    recv_depth: usize,
    pub(super) signal_all: bool,
    pub(super) push: bool,
    pub(super) page: Option<DoorbellPage>,
    pub(super) srq: Option<Srq>,
}

impl QpBuilder {
    /// Work requests that each queue holds unless told otherwise.
    pub const DEPTH: usize = 128;

    pub(crate) fn new(pd: &Pd, cq: &Cq) -> Self {
        Self {
            pd: pd.clone(),
            send_cq: cq.clone(),
            recv_cq: cq.clone(),
            send_depth: Self::DEPTH,
            recv_depth: Self::DEPTH,
            signal_all: false,
            push: true,
            page: None,
            srq: None,
        }
    }

    /// Another CQ for receive completions.
    pub fn recv_cq(mut self, cq: &Cq) -> Self {
        self.recv_cq = cq.clone();
        self
    }

    /// Places for send work requests that are outstanding ([`SendWr::places`](crate::SendWr::places)); rounded up to a power of
    /// two. In the error state each place makes a CQE, so the CQ needs an entry for each.
    pub fn send_depth(mut self, requests: usize) -> Self {
        self.send_depth = requests;
        self
    }

    /// Receive work requests that may be posted; rounded up to a power of two.
    pub fn recv_depth(mut self, requests: usize) -> Self {
        self.recv_depth = requests;
        self
    }

    /// Every send work request makes a completion, whatever it says itself.
    pub fn signal_all(mut self, all: bool) -> Self {
        self.signal_all = all;
        self
    }

    /// A send request that is posted alone, while fewer than four others are outstanding, is stored into the card along with its doorbell, if the card takes that, so
    /// that it need not be read. On unless switched off.
    pub fn push(mut self, push: bool) -> Self {
        self.push = push;
        self
    }

    /// The QP's doorbells are in this page.
    pub fn page(mut self, page: &DoorbellPage) -> Self {
        self.page = Some(page.clone());
        self
    }

    /// Receive requests come from an SRQ in the same protection domain; the QP has no receive queue of its own.
    pub fn srq(mut self, srq: &Srq) -> Self {
        self.srq = Some(srq.clone());
        self
    }

    /// Makes the QP, in RESET.
    ///
    /// # Errors
    /// [`Error::Attribute`] for a depth the card can't hold, [`Error::OtherDevice`] for a CQ or page of another card,
    /// [`Error::OtherPd`] for an SRQ of another domain, [`Error::Exhausted`], [`Error::Dma`].
    pub fn build(self) -> Result<Qp, Error> {
        let send_log = ring_log("send depth", self.send_depth)?;
        let recv_log = match self.srq {
            // A place for what is never posted.
            Some(_) => RING_LOG_MIN as u8,
            None => ring_log("receive depth", self.recv_depth)?,
        };
        let device = &self.pd.shared.device;
        for cq in [&self.send_cq, &self.recv_cq] {
            if !cq.shared.is_of(device) {
                return Err(Error::OtherDevice { what: "CQ" });
            }
        }
        check_page(self.page.as_ref(), device)?;
        if let Some(srq) = &self.srq {
            if !Arc::ptr_eq(&srq.shared.pd, &self.pd.shared) {
                return Err(Error::OtherPd { srqn: srq.srqn() });
            }
        }
        let shared = QpShared::new(&self, send_log, recv_log)?;
        Ok(Qp { shared })
    }
}

//! Queue pairs: reliable connections and their state machine.

mod attr;
mod builder;
mod post;
mod queue;
mod shared;

pub use attr::{InitAttr, RtrAttr, RtsAttr};
pub use builder::QpBuilder;
pub(crate) use shared::QpShared;

use crate::cq::Failed;
use crate::error::{Error, PostError};
use crate::lock::lock;
use crate::wr::{RecvWr, SendWr};
use ferroce_abi::cfg::QpInfo;
use ferroce_abi::mailbox::{Command, QpState};
use std::sync::Arc;

/// A reliable connection's end. Dropping it takes it off the card; completions that were not polled are
/// forgotten.
#[derive(Debug)]
pub struct Qp {
    shared: Arc<QpShared>,
}

impl Qp {
    /// QPN, which the peer needs.
    pub fn qpn(&self) -> u32 {
        self.shared.qpn
    }

    /// State. A QP that failed is seen in ERR when the failed completion has been polled.
    pub fn state(&self) -> QpState {
        lock(&self.shared.control).state
    }

    /// Where the card is in the QP. Its state there is that of the last move: a QP that failed by itself keeps it until it is moved.
    ///
    /// # Errors
    /// [`Error::Bar`], command errors.
    pub fn query(&self) -> Result<QpInfo, Error> {
        let device = &self.shared.pd.device;
        let answer = device.query(Command::QueryQp, self.qpn())?;
        Ok(QpInfo::from_bits(&answer))
    }

    /// Send work requests that were posted and not completed. Unsignaled ones count until a later one completes.
    pub fn outstanding_sends(&self) -> usize {
        lock(&self.shared.sq).outstanding()
    }

    /// Receive work requests that were posted and not completed.
    pub fn outstanding_receives(&self) -> usize {
        lock(&self.shared.rq).outstanding()
    }

    /// Places of the send queue that are free: a work request takes one, with more than 32 bytes of message in it
    /// ([`SendWr::inline`]) one more for each further 64.
    pub fn free_send_places(&self) -> usize {
        lock(&self.shared.sq).free()
    }

    /// Send and receive work requests that the queues hold.
    pub fn depth(&self) -> (usize, usize) {
        (lock(&self.shared.sq).depth(), lock(&self.shared.rq).depth())
    }

    /// RESET to INIT: receive requests may be posted.
    ///
    /// # Errors
    /// [`Error::IllegalMove`] and command errors; the QP is as before.
    pub fn to_init(&self, attr: InitAttr) -> Result<(), Error> {
        self.shared.to_init(attr)
    }

    /// INIT to RTR: requests of the peer are executed.
    ///
    /// # Errors
    /// [`Error::Attribute`], [`Error::IllegalMove`] and command errors; the QP is as before.
    pub fn to_rtr(&self, attr: RtrAttr) -> Result<(), Error> {
        self.shared.to_rtr(attr)
    }

    /// RTR to RTS: send requests may be posted.
    ///
    /// # Errors
    /// [`Error::Attribute`], [`Error::IllegalMove`] and command errors; the QP is as before.
    pub fn to_rts(&self, attr: RtsAttr) -> Result<(), Error> {
        self.shared.to_rts(attr)
    }

    /// All three moves, RESET to RTS.
    ///
    /// # Errors
    /// Of the first move that fails; those before it are made.
    pub fn connect(&self, init: InitAttr, rtr: RtrAttr, rts: RtsAttr) -> Result<(), Error> {
        self.to_init(init)?;
        self.to_rtr(rtr)?;
        self.to_rts(rts)
    }

    /// INIT, RTR, RTS or ERR to ERR: all outstanding work requests complete as flushed, and so does every
    /// one posted later. Of an SRQ's requests only the one completes that a message of the QP has taken. A request may have been executed though it completes as flushed.
    ///
    /// # Errors
    /// [`Error::IllegalMove`] and command errors; the QP is as before.
    pub fn to_error(&self) -> Result<(), Error> {
        let mut failed = Failed::new();
        let moved = self
            .shared
            .enter_error(&mut lock(&self.shared.control), &mut failed);
        moved.and(QpShared::fail_all(failed))
    }

    /// Any state to RESET: queues are emptied, and completions that were not polled are forgotten.
    ///
    /// # Errors
    /// Command errors; the QP is as before.
    pub fn reset(&self) -> Result<(), Error> {
        let mut failed = Failed::new();
        let moved = self
            .shared
            .reset(&mut lock(&self.shared.control), &mut failed);
        moved.and(QpShared::fail_all(failed))
    }

    /// Posts a send work request. It may be posted in RTS; in ERR it completes as flushed.
    ///
    /// # Errors
    /// [`Error::WrongState`], [`Error::QueueFull`], [`Error::Unsupported`], [`Error::SgeCount`],
    /// [`Error::Attribute`] for a message longer than 2^31 bytes, [`Error::Bar`], [`Error::Dma`].
    pub fn post_send(&self, request: SendWr) -> Result<(), Error> {
        self.shared.post_send(&[request]).map_err(|e| e.cause)
    }

    /// Posts send work requests with one doorbell.
    ///
    /// # Errors
    /// [`PostError`] names the first refused one; those before it are posted.
    pub fn post_send_list(&self, requests: &[SendWr]) -> Result<(), PostError> {
        self.shared.post_send(requests)
    }

    /// Posts a receive work request. It may be posted in INIT, RTR and RTS; in ERR it completes as flushed.
    ///
    /// # Errors
    /// [`Error::WrongState`], [`Error::HasSrq`], [`Error::QueueFull`], [`Error::SgeCount`], [`Error::Bar`], [`Error::Dma`].
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
}

impl Drop for Qp {
    fn drop(&mut self) {
        self.shared.destroy();
    }
}

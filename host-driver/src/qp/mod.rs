//! Queue pairs: reliable connections and their state machine.

mod attr;
mod builder;
mod queue;

pub use attr::{InitAttr, RtrAttr, RtsAttr};
pub use builder::QpBuilder;

use crate::completion::Completion;
use crate::cq::{CqShared, Failed};
use crate::error::{Error, PostError};
use crate::lock::lock;
use crate::pd::PdShared;
use crate::wr::{RecvWr, SendWr};
use attr::Config;
use ferroce_abi::cfg::{FieldOverflow, ResponderCfg, RingCfg, ENTRY_WORDS};
use ferroce_abi::cqe::{Cqe, WcOpcode};
use ferroce_abi::limits::WQE_BYTES;
use ferroce_abi::mailbox::{Command, QpState};
use ferroce_abi::regs::{QueueDoorbell, RQ_DOORBELL, SQ_DOORBELL};
use queue::WorkQueue;
use std::sync::{Arc, Mutex};

/// What is kept of a send WQE.
#[derive(Clone, Copy, Debug)]
struct SendKept {
    wr_id: u64,
    opcode: WcOpcode,
}

impl Default for SendKept {
    fn default() -> Self {
        Self {
            wr_id: 0,
            opcode: WcOpcode::Send,
        }
    }
}

/// State and attributes; the lock is held throughout a move and throughout a post.
#[derive(Debug)]
struct Control {
    state: QpState,
    /// A command failed in a way that leaves open what the card did.
    uncertain: bool,
    config: Config,
}

/// A QP as its CQs see it too.
#[derive(Debug)]
pub(crate) struct QpShared {
    pd: Arc<PdShared>,
    pub(crate) qpn: u32,
    send_cq: Arc<CqShared>,
    recv_cq: Arc<CqShared>,
    signal_all: bool,
    control: Mutex<Control>,
    sq: Mutex<WorkQueue<SendKept>>,
    rq: Mutex<WorkQueue<u64>>,
}

impl QpShared {
    fn new(builder: &QpBuilder, send_log: u8, recv_log: u8) -> Result<Arc<Self>, Error> {
        let pd = &builder.pd.shared;
        let device = &pd.device;
        let sq = WorkQueue::new("send", device.ring_memory(send_log, WQE_BYTES)?, send_log);
        let rq = WorkQueue::new(
            "receive",
            device.ring_memory(recv_log, WQE_BYTES)?,
            recv_log,
        );
        let (send_cq, recv_cq) = (&builder.send_cq.shared, &builder.recv_cq.shared);
        let qpn = device.qpns.take()?;
        let qp = Arc::new(Self {
            pd: Arc::clone(pd),
            qpn,
            send_cq: Arc::clone(send_cq),
            recv_cq: Arc::clone(recv_cq),
            signal_all: builder.signal_all,
            control: Mutex::new(Control {
                state: QpState::Reset,
                uncertain: false,
                config: Config {
                    qpn,
                    pd: pd.number,
                    send_cq: send_cq.cqn,
                    recv_cq: recv_cq.cqn,
                    init: None,
                    rtr: None,
                    rts: None,
                },
            }),
            sq: Mutex::new(sq),
            rq: Mutex::new(rq),
        });
        for cq in qp.cqs() {
            cq.join(&qp);
        }
        Ok(qp)
    }

    /// The CQs, each once.
    fn cqs(&self) -> impl Iterator<Item = &Arc<CqShared>> {
        let second = (!Arc::ptr_eq(&self.send_cq, &self.recv_cq)).then_some(&self.recv_cq);
        std::iter::once(&self.send_cq).chain(second)
    }

    /// Runs the command of a move and notes the new state.
    fn run(
        &self,
        control: &mut Control,
        command: Command,
        config: Config,
        entries: &[TableEntry],
    ) -> Result<(), Error> {
        let to = command.to().unwrap_or(control.state);
        if !command.from().contains(&control.state) {
            return Err(Error::IllegalMove {
                qpn: self.qpn,
                from: control.state,
                to,
            });
        }
        let entries: Vec<_> = entries.iter().copied().collect::<Result<_, _>>()?;
        match self.pd.device.command(command, self.qpn, &entries) {
            Ok(()) => {
                control.state = to;
                control.config = config;
                control.uncertain = false;
                Ok(())
            }
            Err(error) => {
                control.uncertain |= !error.nothing_happened();
                Err(error)
            }
        }
    }

    fn to_init(&self, attr: InitAttr) -> Result<(), Error> {
        let mut control = lock(&self.control);
        let config = Config {
            init: Some(attr),
            ..control.config
        };
        let responder = ResponderCfg {
            restart: true,
            restart_rq: true,
            ..config.responder(false)
        };
        let entries = [
            ring_entry(lock(&self.sq).ring()),
            ring_entry(lock(&self.rq).ring()),
            responder.to_bits(),
        ];
        self.run(&mut control, Command::QpResetToInit, config, &entries)
    }

    fn to_rtr(&self, attr: RtrAttr) -> Result<(), Error> {
        attr.check(&self.pd.device.caps)?;
        let mut control = lock(&self.control);
        let config = Config {
            rtr: Some(attr),
            ..control.config
        };
        let responder = ResponderCfg {
            restart: true,
            ..config.responder(true)
        };
        let entries = [config.address(&attr).to_bits(), responder.to_bits()];
        self.run(&mut control, Command::QpInitToRtr, config, &entries)
    }

    fn to_rts(&self, attr: RtsAttr) -> Result<(), Error> {
        attr.check()?;
        let mut control = lock(&self.control);
        let config = Config {
            rts: Some(attr),
            ..control.config
        };
        let entries = [
            config.completer(true, false).to_bits(),
            config.sender(true).to_bits(),
        ];
        self.run(&mut control, Command::QpRtrToRts, config, &entries)
    }

    /// Moves to ERR and flushes both queues.
    ///
    /// The driver itself makes the completions of flushed work requests, behind everything that the card has
    /// written until now. What the card still writes for one of them is stale and will be ignored.
    fn enter_error(&self, control: &mut Control, failed: &mut Failed) -> Result<(), Error> {
        let config = control.config;
        let entries = [
            config.sender(false).to_bits(),
            config.responder(false).to_bits(),
            config.completer(false, true).to_bits(),
        ];
        self.run(control, Command::QpToErr, config, &entries)?;
        let mut drained = Ok(());
        for cq in self.cqs() {
            drained = drained.and(cq.drain(failed));
        }
        let sends = lock(&self.sq).flush();
        let flushed = |wr_id, opcode| Completion::flushed(self.qpn, wr_id, opcode);
        self.send_cq
            .append(sends.into_iter().map(|s| flushed(s.wr_id, s.opcode)));
        let receives = lock(&self.rq).flush();
        self.recv_cq
            .append(receives.into_iter().map(|id| flushed(id, WcOpcode::Recv)));
        drained
    }

    /// Moves QPs to ERR whose first failed completion was seen.
    pub(crate) fn fail_all(mut failed: Failed) -> Result<(), Error> {
        let mut result = Ok(());
        while let Some(qp) = failed.pop() {
            let mut control = lock(&qp.control);
            if matches!(control.state, QpState::Reset | QpState::Err) {
                continue;
            }
            tracing::info!(qpn = qp.qpn, "QP failed");
            result = result.and(qp.enter_error(&mut control, &mut failed));
        }
        result
    }

    fn reset(&self, control: &mut Control, failed: &mut Failed) -> Result<(), Error> {
        let config = Config {
            init: None,
            rtr: None,
            rts: None,
            ..control.config
        };
        let responder = ResponderCfg {
            restart: true,
            restart_rq: true,
            ..config.responder(false)
        };
        let entries = [
            config.sender(false).to_bits(),
            responder.to_bits(),
            config.completer(false, false).to_bits(),
            RingCfg::default().to_bits(),
            RingCfg::default().to_bits(),
        ];
        self.run(control, Command::QpToReset, config, &entries)?;
        let mut purged = Ok(());
        for cq in self.cqs() {
            purged = purged.and(cq.purge(self.qpn, failed));
        }
        lock(&self.sq).reset();
        lock(&self.rq).reset();
        purged
    }

    /// Matches a CQE with its work request; `None` when that is not outstanding.
    pub(crate) fn complete(&self, cqe: &Cqe) -> Option<Completion> {
        if cqe.opcode.is_receive() {
            let wr_id = lock(&self.rq).complete(cqe.wqe_index)?;
            Some(Completion::new(cqe, wr_id, cqe.opcode))
        } else {
            let kept = lock(&self.sq).complete(cqe.wqe_index)?;
            Some(Completion::new(cqe, kept.wr_id, kept.opcode))
        }
    }

    fn post_send(&self, requests: &[SendWr]) -> Result<(), PostError> {
        let control = lock(&self.control);
        match control.state {
            QpState::Rts => self.post(&self.sq, SQ_DOORBELL, requests, |wr| {
                let wqe = wr.to_wqe(&self.pd.device.caps, self.signal_all)?;
                let kept = SendKept {
                    wr_id: wr.wr_id,
                    opcode: wr.op.completion(),
                };
                Ok((wqe.encode()?, kept))
            }),
            QpState::Err => {
                self.send_cq.append(
                    requests
                        .iter()
                        .map(|wr| Completion::flushed(self.qpn, wr.wr_id, wr.op.completion())),
                );
                Ok(())
            }
            state => Err(self.wrong_state(state, "send")),
        }
    }

    fn post_recv(&self, requests: &[RecvWr]) -> Result<(), PostError> {
        let control = lock(&self.control);
        match control.state {
            QpState::Init | QpState::Rtr | QpState::Rts => {
                self.post(&self.rq, RQ_DOORBELL, requests, |wr| {
                    Ok((wr.to_wqe(&self.pd.device.caps)?.encode(), wr.wr_id))
                })
            }
            QpState::Err => {
                self.recv_cq.append(
                    requests
                        .iter()
                        .map(|wr| Completion::flushed(self.qpn, wr.wr_id, WcOpcode::Recv)),
                );
                Ok(())
            }
            state @ QpState::Reset => Err(self.wrong_state(state, "receive")),
        }
    }

    fn wrong_state(&self, state: QpState, queue: &'static str) -> PostError {
        PostError {
            posted: 0,
            cause: Error::WrongState {
                qpn: self.qpn,
                state,
                queue,
            },
        }
    }

    /// Posts requests until one is refused, then rings the doorbell once.
    fn post<R, T: Copy + Default>(
        &self,
        queue: &Mutex<WorkQueue<T>>,
        doorbell: u64,
        requests: &[R],
        mut encode: impl FnMut(&R) -> Result<([u8; WQE_BYTES], T), Error>,
    ) -> Result<(), PostError> {
        let mut queue = lock(queue);
        let mut posted = 0;
        let mut result = Ok(());
        for request in requests {
            result = encode(request).and_then(|(wqe, keep)| queue.push(&wqe, keep));
            if result.is_err() {
                break;
            }
            posted += 1;
        }
        if posted > 0 {
            let word = QueueDoorbell {
                qpn: self.qpn,
                producer: queue.producer(),
            };
            let rung = self.pd.device.bar.write64(doorbell, word.to_bits());
            result = rung.map_err(Error::from).and(result);
        }
        result.map_err(|cause| PostError { posted, cause })
    }

    /// Takes the QP off the card.
    fn destroy(&self) {
        let mut control = lock(&self.control);
        let mut failed = Failed::new();
        if control.state != QpState::Reset || control.uncertain {
            if let Err(error) = self.reset(&mut control, &mut failed) {
                tracing::error!(%error, qpn = self.qpn, "QP could not be reset; its memory is kept");
            }
        }
        drop(control);
        if let Err(error) = Self::fail_all(failed) {
            tracing::error!(%error, "QP could not be moved to ERR");
        }
        for cq in self.cqs() {
            cq.leave(self.qpn);
        }
        let control = lock(&self.control);
        if control.state == QpState::Reset && !control.uncertain {
            self.pd.device.qpns.give_back(self.qpn);
        } else {
            lock(&self.sq).leak();
            lock(&self.rq).leak();
        }
    }
}

/// An encoded table entry.
type TableEntry = Result<[u64; ENTRY_WORDS], FieldOverflow>;

/// Entry of a ring that exists.
fn ring_entry((base, log_size): (u64, u8)) -> TableEntry {
    RingCfg {
        enabled: true,
        base,
        log_size,
    }
    .to_bits()
}

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

    /// Send work requests that were posted and not completed. Unsignaled ones count until a later one completes.
    pub fn outstanding_sends(&self) -> usize {
        lock(&self.shared.sq).outstanding()
    }

    /// Receive work requests that were posted and not completed.
    pub fn outstanding_receives(&self) -> usize {
        lock(&self.shared.rq).outstanding()
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
    /// one posted later. A request may have been executed though it completes as flushed.
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
    /// [`Error::WrongState`], [`Error::QueueFull`], [`Error::SgeCount`], [`Error::Bar`], [`Error::Dma`].
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

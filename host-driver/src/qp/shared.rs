//! A QP as the driver and its CQs see it: state, moves, flushing.

use super::attr::{Config, InitAttr, RtrAttr, RtsAttr};
use super::builder::QpBuilder;
use super::post::SendKept;
use super::queue::WorkQueue;
use crate::completion::Completion;
use crate::cq::{CqShared, Failed};
use crate::error::Error;
use crate::lock::lock;
use crate::page::{number_of, DoorbellPage};
use crate::pd::PdShared;
use crate::srq::SrqShared;
use ferroce_abi::cfg::{FieldOverflow, ResponderCfg, RingCfg, ENTRY_WORDS};
use ferroce_abi::cqe::WcOpcode;
use ferroce_abi::limits::WQE_BYTES;
use ferroce_abi::mailbox::{Command, QpState};
use ferroce_abi::regs::feature;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// State and attributes; the lock is held throughout a move and throughout a post.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) state: QpState,
    /// A command failed in a way that leaves open what the card did.
    uncertain: bool,
    config: Config,
}

/// A QP as its CQs see it too.
#[derive(Debug)]
pub(crate) struct QpShared {
    pub(super) pd: Arc<PdShared>,
    pub(crate) qpn: u32,
    pub(super) send_cq: Arc<CqShared>,
    pub(super) recv_cq: Arc<CqShared>,
    pub(super) signal_all: bool,
    /// Single sends are pushed.
    push: bool,
    page: Option<DoorbellPage>,
    pub(crate) srq: Option<Arc<SrqShared>>,
    /// In RESET: completions of the life before are forgotten.
    reset: AtomicBool,
    pub(super) control: Mutex<Control>,
    pub(super) sq: Mutex<WorkQueue<SendKept>>,
    pub(super) rq: Mutex<WorkQueue<u64>>,
}

impl QpShared {
    pub(super) fn new(builder: &QpBuilder, send_log: u8, recv_log: u8) -> Result<Arc<Self>, Error> {
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
            push: builder.push && device.caps.has(feature::PUSH),
            page: builder.page.clone(),
            srq: builder.srq.as_ref().map(|srq| Arc::clone(&srq.shared)),
            reset: AtomicBool::new(true),
            control: Mutex::new(Control {
                state: QpState::Reset,
                uncertain: false,
                config: Config {
                    qpn,
                    pd: pd.number,
                    send_cq: send_cq.cqn,
                    recv_cq: recv_cq.cqn,
                    srq: builder.srq.as_ref().map(|srq| srq.shared.srqn),
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

    /// Whether completions of the QP are to be forgotten.
    pub(super) fn is_reset(&self) -> bool {
        self.reset.load(Ordering::Relaxed)
    }

    /// Number of the doorbell page.
    pub(super) fn page(&self) -> u8 {
        number_of(self.page.as_ref())
    }

    /// Whether a single send is pushed.
    pub(super) fn pushes(&self) -> bool {
        self.push
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

    pub(super) fn to_init(&self, attr: InitAttr) -> Result<(), Error> {
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
            ring_entry(lock(&self.sq).ring(), self.page()),
            match self.srq {
                Some(_) => RingCfg::default().to_bits(),
                None => ring_entry(lock(&self.rq).ring(), self.page()),
            },
            responder.to_bits(),
        ];
        self.run(&mut control, Command::QpResetToInit, config, &entries)?;
        self.reset.store(false, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn to_rtr(&self, attr: RtrAttr) -> Result<(), Error> {
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

    pub(super) fn to_rts(&self, attr: RtsAttr) -> Result<(), Error> {
        attr.check(&self.pd.device.caps)?;
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
    /// written until now. What the card still writes for one of them is stale and will be ignored. Of an SRQ's requests the card itself flushes
    /// the one that the QP holds, if it holds one: only the card knows.
    pub(super) fn enter_error(
        &self,
        control: &mut Control,
        failed: &mut Failed,
    ) -> Result<(), Error> {
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

    pub(super) fn reset(&self, control: &mut Control, failed: &mut Failed) -> Result<(), Error> {
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
        self.reset.store(true, Ordering::Relaxed);
        let mut purged = Ok(());
        for cq in self.cqs() {
            purged = purged.and(cq.purge(self.qpn, failed));
        }
        lock(&self.sq).reset();
        lock(&self.rq).reset();
        purged
    }

    /// Takes the QP off the card.
    pub(super) fn destroy(&self) {
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
fn ring_entry((base, log_size): (u64, u8), page: u8) -> TableEntry {
    RingCfg {
        enabled: true,
        base,
        log_size,
        page,
    }
    .to_bits()
}

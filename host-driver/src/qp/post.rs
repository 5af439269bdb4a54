//! Posting work requests, and matching CQEs with them.

use super::queue::WorkQueue;
use super::shared::QpShared;
use crate::completion::Completion;
use crate::error::{Error, PostError};
use crate::lock::lock;
use crate::wr::{RecvWr, SendWr};
use ferroce_abi::cqe::{Cqe, WcOpcode};
use ferroce_abi::limits::WQE_BYTES;
use ferroce_abi::mailbox::QpState;
use ferroce_abi::regs::{in_page, QueueDoorbell, RQ_DOORBELL, SQ_DOORBELL};
use std::sync::Mutex;

/// What is kept of a send WQE.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendKept {
    pub(super) wr_id: u64,
    pub(super) opcode: WcOpcode,
}

impl Default for SendKept {
    fn default() -> Self {
        Self {
            wr_id: 0,
            opcode: WcOpcode::Send,
        }
    }
}

impl QpShared {
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

    pub(super) fn post_send(&self, requests: &[SendWr]) -> Result<(), PostError> {
        let control = lock(&self.control);
        match control.state {
            QpState::Rts => self.post(&self.sq, SQ_DOORBELL, requests, |wr| {
                let wqe = wr.to_wqe(&self.pd.device.caps, self.signal_all)?;
                let kept = SendKept {
                    wr_id: wr.wr_id,
                    opcode: wr.op.completion(),
                };
                Ok((wqe.blocks()?, kept))
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

    pub(super) fn post_recv(&self, requests: &[RecvWr]) -> Result<(), PostError> {
        let control = lock(&self.control);
        match control.state {
            QpState::Init | QpState::Rtr | QpState::Rts => {
                self.post(&self.rq, RQ_DOORBELL, requests, |wr| {
                    Ok(([wr.to_wqe(&self.pd.device.caps)?.encode()], wr.wr_id))
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
    fn post<R, T: Copy + Default, W: AsRef<[[u8; WQE_BYTES]]>>(
        &self,
        queue: &Mutex<WorkQueue<T>>,
        doorbell: u64,
        requests: &[R],
        mut encode: impl FnMut(&R) -> Result<(W, T), Error>,
    ) -> Result<(), PostError> {
        let mut queue = lock(queue);
        let mut posted = 0;
        let mut result = Ok(());
        for request in requests {
            result = encode(request).and_then(|(wqe, keep)| queue.push(wqe.as_ref(), keep));
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
            let place = in_page(self.page(), doorbell);
            let rung = self.pd.device.bar.write64(place, word.to_bits());
            result = rung.map_err(Error::from).and(result);
        }
        result.map_err(|cause| PostError { posted, cause })
    }
}

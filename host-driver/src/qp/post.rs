//! Posting work requests, and matching CQEs with them.

use super::queue::WorkQueue;
use super::shared::QpShared;
use crate::completion::Completion;
use crate::error::{Error, PostError};
use crate::lock::lock;
use crate::platform::BarError;
use crate::wr::{RecvWr, SendWr};
use ferroce_abi::cqe::{Cqe, WcOpcode};
use ferroce_abi::limits::WQE_BYTES;
use ferroce_abi::mailbox::QpState;
use ferroce_abi::regs::{in_page, QueueDoorbell, PUSH, RQ_DOORBELL, SQ_DOORBELL};
use std::sync::Mutex;

/// Requests outstanding from which on a push gains nothing, since the card is busy with those before, and would cost nine cycles of the BAR.
const PUSH_BELOW: usize = 4;

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
            let wr_id = match &self.srq {
                // The request is back in any case.
                Some(srq) => srq.complete(cqe.wqe_index).filter(|_| !self.is_reset())?,
                None => lock(&self.rq).complete(cqe.wqe_index)?,
            };
            Some(Completion::new(cqe, wr_id, cqe.opcode))
        } else {
            let kept = lock(&self.sq).complete(cqe.wqe_index)?;
            Some(Completion::new(cqe, kept.wr_id, kept.opcode))
        }
    }

    pub(super) fn post_send(&self, requests: &[SendWr]) -> Result<(), PostError> {
        let control = lock(&self.control);
        match control.state {
            QpState::Rts => self.post(&self.sq, SQ_DOORBELL, self.pushes(), requests, |wr| {
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
        if self.srq.is_some() {
            return Err(PostError {
                posted: 0,
                cause: Error::HasSrq { qpn: self.qpn },
            });
        }
        let control = lock(&self.control);
        match control.state {
            QpState::Init | QpState::Rtr | QpState::Rts => {
                self.post(&self.rq, RQ_DOORBELL, false, requests, |wr| {
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

    /// Posts requests until one is refused, then rings the doorbell once. With `push` a single one is stored into the card before that, if
    /// few others are outstanding.
    fn post<R, T: Copy + Default, W: AsRef<[[u8; WQE_BYTES]]>>(
        &self,
        queue: &Mutex<WorkQueue<T>>,
        doorbell: u64,
        push: bool,
        requests: &[R],
        mut encode: impl FnMut(&R) -> Result<(W, T), Error>,
    ) -> Result<(), PostError> {
        let mut queue = lock(queue);
        let alone = push && requests.len() == 1 && queue.outstanding() < PUSH_BELOW;
        let mut posted = 0;
        let mut single = None;
        let mut result = Ok(());
        for request in requests {
            result = encode(request).and_then(|(wqe, keep)| {
                queue.push(wqe.as_ref(), keep)?;
                single = alone.then_some(wqe);
                Ok(())
            });
            if result.is_err() {
                break;
            }
            posted += 1;
        }
        if posted > 0 {
            let blocks = single.as_ref().map_or(&[][..], |wqe| wqe.as_ref());
            let rung = self.ring(doorbell, queue.producer(), blocks);
            result = rung.map_err(Error::from).and(result);
        }
        result.map_err(|cause| PostError { posted, cause })
    }

    /// Rings a doorbell, after `blocks` were pushed if there are any: should they not arrive whole, it is one like any other.
    fn ring(
        &self,
        doorbell: u64,
        producer: u16,
        blocks: &[[u8; WQE_BYTES]],
    ) -> Result<(), BarError> {
        let device = &self.pd.device;
        let word = QueueDoorbell {
            qpn: self.qpn,
            producer,
            pushed: blocks.len() as u8,
        };
        let place = in_page(self.page(), doorbell);
        let _pushing = (!blocks.is_empty()).then(|| lock(&device.pushing));
        let window = in_page(self.page(), PUSH);
        for (block, at) in blocks.iter().zip((window..).step_by(WQE_BYTES)) {
            device.bar.push64(at, &words(block))?;
        }
        device.bar.write64(place, word.to_bits())
    }
}

/// A block as the words that are stored.
fn words(block: &[u8; WQE_BYTES]) -> [u64; 8] {
    std::array::from_fn(|k| {
        let mut word = [0; 8];
        word.copy_from_slice(&block[8 * k..][..8]);
        u64::from_le_bytes(word)
    })
}

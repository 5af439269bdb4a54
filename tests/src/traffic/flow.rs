//! Messages of one direction of one QP.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use anyhow::{ensure, Context, Result};
use ferroce_driver::{Completion, RecvWr, Remote, SendOp, SendWr, Sge, SgeList, Status, WcOpcode};
use ferroce_sim::load::Op;
use ferroce_sim::pair::Pair;
use rand::{Rng, RngCore};

use super::Message;
use crate::image::Image;

/// Longest message that a request itself can hold.
const INLINE: usize = 224;
/// Most requests of a list.
const LIST: usize = 12;

/// A planned send, with its number among the receives of the flow if it needs one.
struct Send {
    wr: SendWr,
    opcode: WcOpcode,
    len: u32,
    receives: usize,
    /// Where the bytes of a READ are then.
    place: Option<Range<usize>>,
}

/// A planned receive and what must come of it.
struct Receive {
    wr: RecvWr,
    opcode: WcOpcode,
    len: u32,
    imm: Option<u32>,
    solicited: bool,
    /// Where the message's bytes are then.
    place: Range<usize>,
}

pub(super) struct Flow {
    number: u64,
    pub(super) from: usize,
    pub(super) qp: usize,
    /// Room in the send queue.
    depth: usize,
    /// Places of the unsignaled sends behind the last signaled one.
    unsignaled: usize,
    sends: Vec<Send>,
    receives: Vec<Receive>,
    posted_sends: usize,
    posted_receives: usize,
    /// Signaled sends that were posted and not completed.
    outstanding: VecDeque<usize>,
    /// Sends that are complete, with those before the last completion.
    sent: usize,
    received: usize,
}

impl Flow {
    pub(super) fn new(number: u64, from: usize, qp: usize, pair: &Pair) -> Self {
        Self {
            number,
            from,
            qp,
            depth: pair.sides[from].qps[qp].depth().0,
            unsignaled: 0,
            sends: Vec::new(),
            receives: Vec::new(),
            posted_sends: 0,
            posted_receives: 0,
            outstanding: VecDeque::new(),
            sent: 0,
            received: 0,
        }
    }

    pub(super) fn done(&self) -> bool {
        self.received == self.receives.len() && self.sent == self.sends.len()
    }

    /// Plans a message.
    pub(super) fn add(
        &mut self,
        message: Message,
        sources: &[Image; 2],
        targets: &mut [Image; 2],
        rng: &mut impl Rng,
    ) -> Result<()> {
        let Message { op, len } = message;
        // The bytes of a READ come from the peer.
        let reads = op == Op::Read;
        let (source, target) = if reads {
            (&sources[1 - self.from], &mut targets[self.from])
        } else {
            (&sources[self.from], &mut targets[1 - self.from])
        };
        let from = source.anywhere(len, rng);
        let data = source.bytes(from.clone()).to_vec();
        let place = target.reserve(len, rng)?;
        let imm: u32 = rng.gen();
        let to = if len == 0 {
            // Nothing is accessed, so address and key mean nothing (C9-88).
            Remote {
                addr: rng.gen(),
                rkey: rng.gen(),
            }
        } else if reads {
            source.mr.remote(from.start)?
        } else {
            target.mr.remote(place.start)?
        };
        let (op, imm) = match op {
            Op::Write => (SendOp::Write(to), None),
            Op::WriteImm => (SendOp::WriteWithImm(to, imm), Some(imm)),
            Op::Send => (SendOp::Send, None),
            Op::SendImm => (SendOp::SendWithImm(imm), Some(imm)),
            Op::Read => (SendOp::Read(to), None),
        };
        let number = self.sends.len() as u64;
        let id = self.number << 32 | number;
        let mut wr = if reads {
            SendWr::new(id, op, entry(target, place.clone(), rng)?)
        } else if len <= INLINE && rng.gen() {
            SendWr::inline(id, op, &data)?
        } else {
            SendWr::new(id, op, entry(source, from, rng)?)
        };
        wr.solicited = rng.gen_bool(0.3);
        wr.fence = rng.gen_bool(0.1);
        // Whatever comes next, there must be room for it and for a signaled one.
        self.unsignaled += wr.places();
        wr.signaled = rng.gen_bool(0.5) || self.unsignaled + 4 > self.depth / 2;
        if wr.signaled {
            self.unsignaled = 0;
        }
        target.expect(place.start, &data);
        if message.op.needs_receive() {
            self.receive(message, place.clone(), imm, wr.solicited, target, rng)?;
        }
        self.sends.push(Send {
            wr,
            opcode: match message.op {
                Op::Write | Op::WriteImm => WcOpcode::RdmaWrite,
                Op::Send | Op::SendImm => WcOpcode::Send,
                Op::Read => WcOpcode::RdmaRead,
            },
            len: len as u32,
            receives: self.receives.len(),
            place: reads.then_some(place),
        });
        Ok(())
    }

    /// No more messages: the last one's completion is the end.
    pub(super) fn close(&mut self) {
        if let Some(last) = self.sends.last_mut() {
            last.wr.signaled = true;
        }
    }

    /// Plans the receive request of a message.
    fn receive(
        &mut self,
        message: Message,
        place: Range<usize>,
        imm: Option<u32>,
        solicited: bool,
        target: &mut Image,
        rng: &mut impl Rng,
    ) -> Result<()> {
        let is_send = matches!(message.op, Op::Send | Op::SendImm);
        let buffer = if is_send {
            // Often longer than the message: what is behind it must stay.
            let spare = rng.gen_range(0..64) * usize::from(rng.gen_bool(0.5));
            if spare > 0 {
                target.extend(spare)?;
            }
            place.start..place.end + spare
        } else {
            // Taken, but never written to.
            let len = rng.gen_range(0..100);
            target.reserve(len, rng)?
        };
        let number = self.receives.len() as u64;
        self.receives.push(Receive {
            wr: RecvWr::new(
                1 << 63 | self.number << 32 | number,
                entry(target, buffer, rng)?,
            ),
            opcode: if is_send {
                WcOpcode::Recv
            } else {
                WcOpcode::RecvRdmaWithImm
            },
            len: message.len as u32,
            imm,
            solicited,
            place,
        });
        Ok(())
    }

    /// Posts what there is room for, often in lists. Without `lagging` receive requests are posted before the messages
    /// that need them.
    pub(super) fn post(&mut self, pair: &Pair, lagging: bool, rng: &mut impl Rng) -> Result<()> {
        let receiver = &pair.sides[1 - self.from].qps[self.qp];
        let mut room = receiver.depth().1 - receiver.outstanding_receives();
        if lagging && rng.gen_bool(0.95) {
            room = 0;
        }
        let count = room
            .min(self.receives.len() - self.posted_receives)
            .min(rng.gen_range(1..LIST));
        let end = self.posted_receives + count;
        let list: Vec<_> = self.receives[self.posted_receives..end]
            .iter()
            .map(|r| r.wr)
            .collect();
        if !list.is_empty() {
            receiver.post_recv_list(&list)?;
        }
        self.posted_receives = end;

        let sender = &pair.sides[self.from].qps[self.qp];
        let mut room = sender.free_send_places();
        let list: Vec<_> = self.sends[self.posted_sends..]
            .iter()
            .take(rng.gen_range(1..LIST))
            .take_while(|s| {
                let left = room.checked_sub(s.wr.places());
                room = left.unwrap_or(0);
                left.is_some()
            })
            .take_while(|s| lagging || s.receives <= self.posted_receives)
            .map(|s| s.wr)
            .collect();
        for (index, wr) in list.iter().enumerate() {
            if wr.signaled {
                self.outstanding.push_back(self.posted_sends + index);
            }
        }
        if let [wr] = &list[..] {
            sender.post_send(*wr)?;
        } else if !list.is_empty() {
            sender.post_send_list(&list)?;
        }
        self.posted_sends += list.len();
        Ok(())
    }

    /// Checks a send completion, and that the bytes of READs are there with it.
    pub(super) fn sent(&mut self, c: &Completion, target: &Image) -> Result<()> {
        let index = self
            .outstanding
            .pop_front()
            .context("no signaled send is outstanding")?;
        let done = &self.sends[self.sent..=index];
        for place in done.iter().filter_map(|send| send.place.clone()) {
            target.check_range(place)?;
        }
        self.sent = index + 1;
        let send = &self.sends[index];
        let want = Completion {
            wr_id: send.wr.wr_id,
            qpn: c.qpn,
            opcode: send.opcode,
            status: Status::Success,
            byte_len: send.len,
            imm: None,
            invalidated: None,
            solicited: false,
            vendor_err: 0,
        };
        ensure!(*c == want, "{want:?} was to come");
        Ok(())
    }

    /// Checks a receive completion and that the message's bytes are there with it.
    pub(super) fn received(&mut self, c: &Completion, target: &Image) -> Result<()> {
        let receive = self
            .receives
            .get(self.received)
            .filter(|_| self.received < self.posted_receives)
            .context("no receive is outstanding")?;
        self.received += 1;
        let want = Completion {
            wr_id: receive.wr.wr_id,
            qpn: c.qpn,
            opcode: receive.opcode,
            status: Status::Success,
            byte_len: receive.len,
            imm: receive.imm,
            invalidated: None,
            solicited: receive.solicited,
            vendor_err: 0,
        };
        ensure!(*c == want, "{want:?} was to come");
        target.check_range(receive.place.clone())
    }
}

/// An entry for bytes of a region. One for no bytes may be left out or have any address and key.
fn entry(image: &Image, range: Range<usize>, rng: &mut impl RngCore) -> Result<SgeList> {
    if !range.is_empty() {
        return Ok(image.mr.sge(range)?.into());
    }
    if rng.gen() {
        return Ok(SgeList::default());
    }
    Ok(Sge {
        addr: rng.gen(),
        lkey: rng.gen(),
        len: 0,
    }
    .into())
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "side {} QP {}: of {} sends {} are posted, {} complete; of {} receives {} are posted, {} complete",
            self.from,
            self.qp,
            self.sends.len(),
            self.posted_sends,
            self.sent,
            self.receives.len(),
            self.posted_receives,
            self.received
        )
    }
}

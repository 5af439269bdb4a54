//! CC: from beats to the card's answers, checked against the requests that they answer. No straddling.

use thiserror::Error;

use super::cq::CqPacket;
use super::desc::{bits, load, COMPLETION_BYTES};
use super::dwords::{check_frame, FrameError};
use super::user::CcBeat;
use super::BEAT_DWORDS;
use crate::tlp::{Completion, Id, Request, Status};

/// Doublewords behind the descriptor of a completion with UR or CA: byte enables and the descriptor of the request, for the block's
/// error log (PG213, Completions with Error Status).
const ERROR_LOG: usize = 5;
/// Read completion boundary of an endpoint (PCIe Base 2.3.1.1).
const BOUNDARY: usize = 128;

/// The card broke a rule of CC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CcError {
    /// `tlast` or `tkeep`.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The TLP was aborted.
    #[error("discontinue is set")]
    Discontinue,
    /// A reserved status.
    #[error("completion status {0} is reserved")]
    Status(u8),
    /// No request with this tag waits for an answer.
    #[error("tag {0:#04x} answers no outstanding request")]
    Tag(u8),
    /// Not the request's requester.
    #[error("the requester is {got:#06x}, the request's is {expected:#06x}")]
    Requester {
        /// As it is.
        got: Id,
        /// As it should be.
        expected: Id,
    },
    /// The remaining bytes are counted wrong.
    #[error("the byte count is {got}, should be {expected}")]
    ByteCount {
        /// As it is.
        got: usize,
        /// As it should be.
        expected: usize,
    },
    /// Not the next byte's address.
    #[error("the lower address is {got:#04x}, should be {expected:#04x}")]
    LowerAddress {
        /// As it is.
        got: u8,
        /// As it should be.
        expected: u8,
    },
    /// The payload ends neither with the request nor at a boundary, or is longer than max payload.
    #[error("{dwords} doublewords for {byte_count} remaining bytes at {lower_address:#04x}")]
    Length {
        /// Doublewords of payload.
        dwords: usize,
        /// Remaining bytes.
        byte_count: usize,
        /// Lower address.
        lower_address: u8,
    },
    /// The five doublewords behind an error's descriptor are not the request's.
    #[error("the request behind an error completion's descriptor is not the one that it answers")]
    ErrorLog,
    /// Fields that an endpoint leaves 0.
    #[error("{0} is set in the descriptor")]
    Reserved(&'static str),
    /// A posted request has no answer.
    #[error("the request is posted")]
    Posted,
}

/// A request that waits for its answer.
#[derive(Debug)]
struct Waiting {
    tag: u8,
    requester: Id,
    /// Bytes to come.
    left: usize,
    /// Low bits of the next byte's address.
    lower_address: u8,
    descriptor: u128,
    /// Answered with data.
    reads: bool,
}

/// The block's end of CC.
#[derive(Debug)]
pub struct CcDecoder {
    max_payload: usize,
    waiting: Vec<Waiting>,
    /// Descriptor and payload of the TLP under way.
    bytes: Vec<u8>,
    /// Doublewords of it that are still to come.
    left: usize,
}

impl CcDecoder {
    /// A decoder that waits for nothing; completions carry at most `max_payload` bytes.
    pub fn new(max_payload: usize) -> Self {
        Self {
            max_payload,
            waiting: Vec::new(),
            bytes: Vec::new(),
            left: 0,
        }
    }

    /// A request went to the card, so an answer is due.
    ///
    /// # Errors
    /// It is posted, or its tag is in use.
    pub fn expect(&mut self, packet: &CqPacket) -> Result<(), CcError> {
        let request = &packet.request;
        let tag = request.tag();
        if request.kind().posted() {
            return Err(CcError::Posted);
        }
        if self.waiting.iter().any(|w| w.tag == tag) {
            return Err(CcError::Tag(tag));
        }
        let (left, lower_address) = match request {
            Request::Read(read) => (read.byte_count(), read.first_byte() as u8 & 0x7f),
            _ => (4, 0),
        };
        self.waiting.push(Waiting {
            tag,
            requester: request.requester(),
            left,
            lower_address,
            descriptor: packet.descriptor(),
            reads: !request.kind().carries_payload(),
        });
        Ok(())
    }

    /// Requests that wait for an answer.
    pub fn outstanding(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a TLP is unfinished, so that `tvalid` must not drop.
    pub fn mid_tlp(&self) -> bool {
        self.left > 0
    }

    /// Takes a beat; returns the completion that ends in it, and whether it ends its request.
    ///
    /// # Errors
    /// The card broke a rule. The decoder forgets the unfinished TLP.
    pub fn beat(&mut self, beat: &CcBeat) -> Result<Option<(Completion, bool)>, CcError> {
        let done = self.take(beat);
        if done.is_err() {
            self.left = 0;
            self.bytes.clear();
        }
        done
    }

    fn take(&mut self, beat: &CcBeat) -> Result<Option<(Completion, bool)>, CcError> {
        if beat.user.discontinue {
            return Err(CcError::Discontinue);
        }
        if self.left == 0 {
            let word = load(&beat.data[..COMPLETION_BYTES]);
            let follow = match bits(word, 43, 3) {
                0 => bits(word, 32, 11) as usize,
                _ => ERROR_LOG,
            };
            self.bytes.clear();
            self.left = COMPLETION_BYTES / 4 + follow;
        }
        check_frame(beat.keep, beat.last, self.left)?;
        let count = self.left.min(BEAT_DWORDS);
        self.bytes.extend_from_slice(&beat.data[..count * 4]);
        self.left -= count;
        if self.left > 0 {
            return Ok(None);
        }
        self.complete().map(Some)
    }

    fn complete(&mut self) -> Result<(Completion, bool), CcError> {
        let (head, rest) = self.bytes.split_at(COMPLETION_BYTES);
        let word = load(head);
        for (name, low, width) in [
            ("the address type", 8, 2),
            ("locked read completion", 29, 1),
            ("completer ID enable", 88, 1),
            ("force ECRC", 95, 1),
        ] {
            if bits(word, low, width) != 0 {
                return Err(CcError::Reserved(name));
            }
        }
        let code = bits(word, 43, 3) as u8;
        let status = Status::from_code(code).ok_or(CcError::Status(code))?;
        let success = status == Status::Success;
        let completion = Completion {
            requester: bits(word, 48, 16) as Id,
            tag: bits(word, 64, 8) as u8,
            completer: bits(word, 72, 16) as Id,
            status,
            byte_count: bits(word, 16, 13) as usize,
            lower_address: bits(word, 0, 7) as u8,
            poisoned: bits(word, 46, 1) == 1,
            payload: if success { rest.to_vec() } else { Vec::new() },
        };
        let tag = completion.tag;
        let mut requests = self.waiting.iter();
        let index = requests
            .position(|w| w.tag == tag)
            .ok_or(CcError::Tag(tag))?;
        let waiting = &mut self.waiting[index];
        if completion.requester != waiting.requester {
            return Err(CcError::Requester {
                got: completion.requester,
                expected: waiting.requester,
            });
        }
        match success {
            true => waiting.check(&completion, self.max_payload)?,
            false => waiting.check_error(word, rest)?,
        }
        let ends = !success || waiting.left == completion.bytes() || !waiting.reads;
        if ends {
            self.waiting.swap_remove(index);
        } else {
            waiting.left -= completion.bytes();
            waiting.lower_address = (waiting.lower_address + completion.bytes() as u8) & 0x7f;
        }
        Ok((completion, ends))
    }
}

impl Waiting {
    fn check(&self, c: &Completion, max_payload: usize) -> Result<(), CcError> {
        if c.byte_count != self.left {
            return Err(CcError::ByteCount {
                got: c.byte_count,
                expected: self.left,
            });
        }
        if c.lower_address != self.lower_address {
            return Err(CcError::LowerAddress {
                got: c.lower_address,
                expected: self.lower_address,
            });
        }
        let skip = usize::from(c.lower_address % 4);
        let (len, whole) = (c.payload.len(), (skip + self.left).next_multiple_of(4));
        let boundary = (usize::from(c.lower_address - c.lower_address % 4) + len) % BOUNDARY == 0;
        let fits = match self.reads {
            true => len == whole || boundary && len > 0 && len < whole,
            false => len == 0,
        };
        if !fits || len > max_payload {
            return Err(CcError::Length {
                dwords: len / 4,
                byte_count: c.byte_count,
                lower_address: c.lower_address,
            });
        }
        Ok(())
    }

    /// The block takes the doubleword count of an error as 0 and logs the request behind it.
    fn check_error(&self, word: u128, log: &[u8]) -> Result<(), CcError> {
        let dwords = bits(word, 32, 11) as usize;
        if dwords != 0 {
            return Err(CcError::Length {
                dwords,
                byte_count: bits(word, 16, 13) as usize,
                lower_address: bits(word, 0, 7) as u8,
            });
        }
        if log[4..] != self.descriptor.to_le_bytes() {
            return Err(CcError::ErrorLog);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

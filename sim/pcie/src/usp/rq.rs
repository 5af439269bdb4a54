//! RQ: from beats to the card's requests, and the rules that the card must keep.

use thiserror::Error;

use super::desc::{RequestDescriptor, REQUEST_BYTES};
use super::dwords::check_frame;
pub use super::dwords::FrameError;
use super::user::RqBeat;
use super::BEAT_DWORDS;
use crate::enables::{ByteEnables, EnablesError};
use crate::tlp::{Request, RequestType, PAGE};

/// The card broke a rule of RQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RqError {
    /// `tlast` or `tkeep`, without straddling.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Starts or ends are counted 0b00, 0b01, 0b11.
    #[error("{what} is {code:#04b}")]
    Count {
        /// The field.
        what: &'static str,
        /// As it is.
        code: u8,
    },
    /// A start where none may be: the first is at byte 0 when no TLP goes on, and one is at byte 32 behind one that ends in
    /// the beat's first half.
    #[error("start {index} of the beat is at byte {byte}, where no TLP may start")]
    Start {
        /// First or second of the beat.
        index: usize,
        /// Where.
        byte: usize,
    },
    /// A valid beat with nothing in it.
    #[error("a valid beat holds no TLP")]
    Empty,
    /// An end that contradicts the descriptor's doubleword count.
    #[error("ends are at {got:?}, but the doubleword counts put them at {expected:?} (last doublewords, 255: none)")]
    End {
        /// As the card says.
        got: [u8; 2],
        /// As it should be.
        expected: [u8; 2],
    },
    /// The TLP was aborted.
    #[error("discontinue is set")]
    Discontinue,
    /// Not dword-aligned mode.
    #[error("addr_offset is {0}, must be 0 in dword-aligned mode")]
    AddrOffset(u8),
    /// A reserved request type.
    #[error("the request type is reserved")]
    Kind,
    /// Translated addresses need address translation services.
    #[error("the address type is {0}, must be 0")]
    AddressType(u8),
    /// An endpoint's requester ID is the block's.
    #[error("an endpoint sets requester ID enable")]
    RequesterEnable,
    /// Length.
    #[error("a {kind:?} of {dwords} doublewords; at most {most} are allowed")]
    Length {
        /// Type of the request.
        kind: RequestType,
        /// Its length.
        dwords: usize,
        /// Greatest length.
        most: usize,
    },
    /// Crosses a page.
    #[error("{dwords} doublewords at {addr:#x} cross a multiple of 4096 bytes")]
    Page {
        /// Byte address.
        addr: u64,
        /// Length.
        dwords: usize,
    },
    /// Byte enables.
    #[error(transparent)]
    Enables(#[from] EnablesError),
}

/// What the host allows in one request, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RqLimits {
    /// Max payload, 128 to 1024.
    pub max_payload: usize,
    /// Max read request, 128 to 4096.
    pub max_read: usize,
}

/// A TLP that is not complete yet.
#[derive(Debug)]
struct Partial {
    descriptor: RequestDescriptor,
    enables: ByteEnables,
    payload: Vec<u8>,
    /// Doublewords still to come.
    left: usize,
}

/// The block's end of RQ.
#[derive(Debug)]
pub struct RqDecoder {
    straddle: bool,
    limits: RqLimits,
    current: Option<Partial>,
}

/// Ends of one beat, as last doublewords.
#[derive(Debug, Default)]
struct Ends {
    count: usize,
    at: [u8; 2],
}

impl Ends {
    fn push(&mut self, dword: usize) {
        if let Some(at) = self.at.get_mut(self.count) {
            *at = dword as u8;
        }
        self.count += 1;
    }

    fn list(&self) -> [u8; 2] {
        std::array::from_fn(|k| if k < self.count { self.at[k] } else { u8::MAX })
    }
}

fn count(what: &'static str, code: u8) -> Result<usize, RqError> {
    match code {
        0b00 => Ok(0),
        0b01 => Ok(1),
        0b11 => Ok(2),
        _ => Err(RqError::Count { what, code }),
    }
}

impl RqDecoder {
    /// A decoder between TLPs.
    pub fn new(straddle: bool, limits: RqLimits) -> Self {
        Self {
            straddle,
            limits,
            current: None,
        }
    }

    /// Whether a TLP is unfinished, so that `tvalid` must not drop.
    pub fn mid_tlp(&self) -> bool {
        self.current.is_some()
    }

    /// Takes a beat and gives every request that ends in it to `out`, in order.
    ///
    /// # Errors
    /// The card broke a rule. The decoder forgets the unfinished TLP.
    pub fn beat(&mut self, beat: &RqBeat, out: impl FnMut(Request)) -> Result<(), RqError> {
        let done = match self.straddle {
            true => self.straddled(beat, out),
            false => self.single(beat, out),
        };
        if done.is_err() {
            self.current = None;
        }
        done
    }

    fn single(&mut self, beat: &RqBeat, mut out: impl FnMut(Request)) -> Result<(), RqError> {
        if beat.user.discontinue {
            return Err(RqError::Discontinue);
        }
        let at = match &self.current {
            Some(_) => 0,
            None => {
                self.current = Some(self.start(beat, 0, 0)?);
                REQUEST_BYTES / 4
            }
        };
        let left = at + self.current.as_ref().map_or(0, |partial| partial.left);
        check_frame(beat.keep, beat.last, left)?;
        self.fill(beat, at);
        self.finish(&mut out);
        Ok(())
    }

    fn straddled(&mut self, beat: &RqBeat, mut out: impl FnMut(Request)) -> Result<(), RqError> {
        let user = &beat.user;
        if user.discontinue {
            return Err(RqError::Discontinue);
        }
        let starts = count("is_sop", user.is_sop)?;
        let given = count("is_eop", user.is_eop)?;
        let mut ends = Ends::default();
        // First doubleword that no TLP has taken.
        let mut free = 0;
        if self.current.is_some() {
            free = self.fill(beat, 0);
            if self.finish(&mut out) {
                ends.push(free - 1);
            }
        } else if starts == 0 {
            return Err(RqError::Empty);
        }
        for index in 0..starts {
            let at = usize::from(user.sop_ptr[index]) * 4;
            let next = if free == 0 { 0 } else { BEAT_DWORDS / 2 };
            if at != next || at < free || self.current.is_some() {
                let byte = at * 4;
                return Err(RqError::Start { index, byte });
            }
            self.current = Some(self.start(beat, at, index)?);
            free = self.fill(beat, at + REQUEST_BYTES / 4);
            if self.finish(&mut out) {
                ends.push(free - 1);
            }
        }
        let got = std::array::from_fn(|k| if k < given { user.eop_ptr[k] } else { u8::MAX });
        if got != ends.list() {
            let expected = ends.list();
            return Err(RqError::End { got, expected });
        }
        Ok(())
    }

    /// Reads the descriptor at doubleword `at`, of the beat's `index`-th start.
    fn start(&self, beat: &RqBeat, at: usize, index: usize) -> Result<Partial, RqError> {
        let descriptor = RequestDescriptor::from_bytes(&beat.data[at * 4..][..REQUEST_BYTES]);
        let enables = ByteEnables {
            first: beat.user.first_be[index],
            last: beat.user.last_be[index],
        };
        if beat.user.addr_offset != 0 {
            return Err(RqError::AddrOffset(beat.user.addr_offset));
        }
        self.check(&descriptor, enables)?;
        let left = descriptor.payload_dwords();
        Ok(Partial {
            descriptor,
            enables,
            payload: Vec::with_capacity(left * 4),
            left,
        })
    }

    fn check(&self, d: &RequestDescriptor, enables: ByteEnables) -> Result<(), RqError> {
        let (kind, addr, dwords) = (d.kind.ok_or(RqError::Kind)?, d.addr, d.dwords);
        if d.address_type != 0 {
            return Err(RqError::AddressType(d.address_type));
        }
        if d.requester_enable {
            return Err(RqError::RequesterEnable);
        }
        let memory = matches!(kind, RequestType::MemRead | RequestType::MemWrite);
        let most = match kind {
            RequestType::MemRead => self.limits.max_read / 4,
            _ => self.limits.max_payload / 4,
        };
        if dwords > most || memory && dwords == 0 {
            return Err(RqError::Length { kind, dwords, most });
        }
        if memory {
            if addr % PAGE + dwords as u64 * 4 > PAGE {
                return Err(RqError::Page { addr, dwords });
            }
            enables.check(addr, dwords)?;
        }
        Ok(())
    }

    /// Takes payload from doubleword `at` on; returns the doubleword behind it.
    fn fill(&mut self, beat: &RqBeat, at: usize) -> usize {
        let Some(partial) = &mut self.current else {
            return at;
        };
        let take = partial.left.min(BEAT_DWORDS - at);
        let bytes = &beat.data[at * 4..][..take * 4];
        partial.payload.extend_from_slice(bytes);
        partial.left -= take;
        at + take
    }

    /// Hands out the TLP if it is complete.
    fn finish(&mut self, out: &mut impl FnMut(Request)) -> bool {
        if self.current.as_ref().is_none_or(|p| p.left > 0) {
            return false;
        }
        if let Some(p) = self.current.take() {
            p.descriptor.request(p.enables, p.payload).map(out);
        }
        true
    }
}

#[cfg(test)]
mod tests;

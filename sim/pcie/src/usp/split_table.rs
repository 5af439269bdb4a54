//! The block's split completion table: which requests of the card wait for completions, and what is wrong with a completion.

use std::collections::VecDeque;

use super::rc::{ErrorCode, RcPacket};
use crate::tlp::{Completion, Id, Request, Status};

/// Tags of 8 bits.
const TAGS: usize = 256;

/// A request that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    requester: Id,
    /// Byte address of the next byte.
    next: u64,
    /// Bytes to come.
    left: usize,
    /// It reads memory; else any successful completion ends it.
    memory: bool,
    /// Tells apart requests that had the same tag.
    serial: u64,
}

/// The requests that wait for completions.
#[derive(Debug)]
pub struct SplitTable {
    entries: Vec<Option<Waiting>>,
    waiting: usize,
    timeout: Option<u64>,
    /// When each request times out: cycle, tag, serial number.
    deadlines: VecDeque<(u64, u8, u64)>,
    serial: u64,
}

impl SplitTable {
    /// An empty table; requests time out after `timeout` cycles.
    pub fn new(timeout: Option<u64>) -> Self {
        Self {
            entries: vec![None; TAGS],
            waiting: 0,
            timeout,
            deadlines: VecDeque::new(),
            serial: 0,
        }
    }

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Enters a non-posted request at cycle `now`; false when its tag is in use.
    pub fn begin(&mut self, request: &Request, now: u64) -> bool {
        let entry = &mut self.entries[usize::from(request.tag())];
        if entry.is_some() {
            return false;
        }
        self.serial += 1;
        let (next, left, memory) = match request {
            Request::Read(read) => (read.first_byte(), read.byte_count(), true),
            _ => (0, 4, false),
        };
        *entry = Some(Waiting {
            requester: request.requester(),
            next,
            left,
            memory,
            serial: self.serial,
        });
        self.waiting += 1;
        if let Some(timeout) = self.timeout {
            let deadline = (now + timeout, request.tag(), self.serial);
            self.deadlines.push_back(deadline);
        }
        true
    }

    /// Checks a completion and takes note of it.
    pub fn check(&mut self, completion: Completion) -> RcPacket {
        let entry = &mut self.entries[usize::from(completion.tag)];
        let mut lower_address = u16::from(completion.lower_address);
        let Some(waiting) = entry else {
            return RcPacket {
                completion,
                lower_address,
                error: ErrorCode::InvalidTag,
                request_completed: false,
            };
        };
        let (error, request_completed) = judge(waiting, &completion);
        if matches!(error, ErrorCode::None | ErrorCode::Poisoned) {
            lower_address = waiting.next as u16 & 0xfff;
            waiting.next += completion.bytes() as u64;
            waiting.left -= completion.bytes();
        }
        if request_completed {
            *entry = None;
            self.waiting -= 1;
        }
        RcPacket {
            completion,
            lower_address,
            error,
            request_completed,
        }
    }

    /// The next request that has timed out by cycle `now`, as the packet that tells it. All but tag, error and completed are invalid.
    pub fn expire(&mut self, now: u64) -> Option<RcPacket> {
        while let Some(&(deadline, tag, serial)) = self.deadlines.front() {
            let entry = &mut self.entries[usize::from(tag)];
            let current = entry.filter(|waiting| waiting.serial == serial);
            if current.is_some() && deadline > now {
                break;
            }
            self.deadlines.pop_front();
            if let Some(waiting) = current {
                *entry = None;
                self.waiting -= 1;
                return Some(timeout(tag, waiting.requester));
            }
        }
        None
    }
}

/// Error code, and whether the request is completed.
fn judge(waiting: &Waiting, completion: &Completion) -> (ErrorCode, bool) {
    let ends = completion.ends_request();
    if completion.requester != waiting.requester {
        return (ErrorCode::Mismatch, ends);
    }
    if completion.status != Status::Success {
        return (ErrorCode::BadStatus, true);
    }
    if !waiting.memory {
        return (ErrorCode::None, true);
    }
    if completion.payload.is_empty() || completion.byte_count > waiting.left {
        return (ErrorCode::InvalidLength, true);
    }
    let expected = waiting.next as u8 & 0x7f;
    if completion.byte_count != waiting.left || completion.lower_address != expected {
        return (ErrorCode::InvalidAddress, ends);
    }
    match completion.poisoned {
        true => (ErrorCode::Poisoned, ends),
        false => (ErrorCode::None, ends),
    }
}

fn timeout(tag: u8, requester: Id) -> RcPacket {
    RcPacket {
        completion: Completion {
            requester,
            tag,
            completer: Id::MAX,
            status: Status::Success,
            byte_count: 0x1fff,
            lower_address: 0x7f,
            poisoned: false,
            payload: Vec::new(),
        },
        lower_address: 0xfff,
        error: ErrorCode::Timeout,
        request_completed: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tlp::MemRead;

    /// A table with a read of 200 bytes at 0x1f80 under tag 5, and its first and last completions.
    fn table() -> (SplitTable, Completion, Completion) {
        let mut table = SplitTable::new(Some(100));
        let read = Request::Read(MemRead::of_bytes(0x1f80, 200, 5, 3));
        assert!(table.begin(&read, 0));
        assert!(!table.begin(&read, 0));
        let first = Completion {
            requester: 3,
            tag: 5,
            completer: 0,
            status: Status::Success,
            byte_count: 200,
            lower_address: 0,
            poisoned: false,
            payload: vec![1; 128],
        };
        let last = Completion {
            byte_count: 72,
            payload: vec![2; 72],
            ..first.clone()
        };
        (table, first, last)
    }

    fn outcome(table: &mut SplitTable, completion: &Completion) -> (ErrorCode, bool, u16) {
        let packet = table.check(completion.clone());
        (packet.error, packet.request_completed, packet.lower_address)
    }

    #[test]
    fn pieces_in_order_complete_a_request() {
        let (mut table, mut first, last) = table();
        first.poisoned = true;
        assert_eq!(
            outcome(&mut table, &first),
            (ErrorCode::Poisoned, false, 0xf80)
        );
        assert_eq!(outcome(&mut table, &last), (ErrorCode::None, true, 0));
        assert_eq!(
            outcome(&mut table, &last),
            (ErrorCode::InvalidTag, false, 0)
        );
        assert_eq!(table.waiting(), 0);
        assert_eq!(table.expire(1000), None);
    }

    #[test]
    fn a_lost_piece_and_a_repeated_one_are_seen() {
        let (mut lost, first, last) = table();
        assert_eq!(
            outcome(&mut lost, &last),
            (ErrorCode::InvalidAddress, true, 0)
        );
        let (mut twice, _, _) = table();
        outcome(&mut twice, &first);
        assert_eq!(
            outcome(&mut twice, &first),
            (ErrorCode::InvalidLength, true, 0)
        );
        assert_eq!(
            outcome(&mut twice, &last),
            (ErrorCode::InvalidTag, false, 0)
        );
    }

    #[test]
    fn bad_completions_have_their_codes() {
        let (mut table, first, _) = table();
        let mut other = first.clone();
        other.requester = 4;
        assert_eq!(outcome(&mut table, &other), (ErrorCode::Mismatch, false, 0));
        other = first.clone();
        other.lower_address = 4;
        assert_eq!(
            outcome(&mut table, &other),
            (ErrorCode::InvalidAddress, false, 4)
        );
        (other.status, other.payload) = (Status::CompleterAbort, Vec::new());
        assert_eq!(outcome(&mut table, &other), (ErrorCode::BadStatus, true, 4));
    }

    #[test]
    fn requests_time_out() {
        let (mut table, _, last) = table();
        assert_eq!(table.expire(99), None);
        let packet = table.expire(100).unwrap();
        assert_eq!(
            (packet.error, packet.completion.tag),
            (ErrorCode::Timeout, 5)
        );
        assert!(packet.request_completed);
        assert_eq!(
            outcome(&mut table, &last),
            (ErrorCode::InvalidTag, false, 0)
        );
        assert_eq!((table.waiting(), table.expire(1000)), (0, None));
    }

    #[test]
    fn a_tag_that_is_used_again_has_a_new_deadline() {
        let (mut table, mut whole, _) = table();
        whole.payload = vec![0; 200];
        assert_eq!(outcome(&mut table, &whole), (ErrorCode::None, true, 0xf80));
        let read = Request::Read(MemRead::of_bytes(0, 4, 5, 3));
        assert!(table.begin(&read, 50));
        assert_eq!(table.expire(149), None);
        assert!(table.expire(150).is_some());
    }
}

//! The host's own requests to the card, and the card's answers.

use std::collections::VecDeque;

use crate::tlp::{Completion, Id, MemRead, MemWrite, Request, Status};

/// Answer to a request of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Tag of the request.
    pub tag: u8,
    /// The bytes asked for, or why there are none.
    pub bytes: Result<Vec<u8>, Status>,
}

/// A request that the card has not answered as a whole.
#[derive(Debug)]
struct Open {
    tag: u8,
    /// It is on its way.
    issued: bool,
    bytes: Vec<u8>,
}

/// The host's requests.
#[derive(Debug, Default)]
pub struct HostRequests {
    /// With the cycle at which each reaches the link.
    queue: VecDeque<(u64, Request)>,
    open: Vec<Open>,
    next_tag: u8,
    answers: VecDeque<Answer>,
}

impl HostRequests {
    /// Queues a write of `bytes` at `addr` for cycle `at`, not before those queued earlier.
    pub fn write(&mut self, at: u64, addr: u64, bytes: &[u8], requester: Id) {
        let write = MemWrite::of_bytes(addr, bytes, requester);
        self.queue.push_back((at, Request::Write(write)));
    }

    /// Queues a read of `len` bytes; returns its tag. Tags repeat after 256 requests.
    pub fn read(&mut self, at: u64, addr: u64, len: usize, requester: Id) -> u8 {
        let tag = self.next_tag;
        let read = MemRead::of_bytes(addr, len, tag, requester);
        self.push(at, Request::Read(read));
        tag
    }

    /// Queues any request. A non-posted one has [`Self::free_tag`].
    pub fn push(&mut self, at: u64, request: Request) {
        if !request.kind().posted() {
            self.next_tag = request.tag().wrapping_add(1);
            self.open.push(Open {
                tag: request.tag(),
                issued: false,
                bytes: Vec::new(),
            });
        }
        self.queue.push_back((at, request));
    }

    /// The tag that the next non-posted request has to have.
    pub fn free_tag(&self) -> u8 {
        self.next_tag
    }

    /// The next request whose time has come and whose tag is free.
    pub fn take(&mut self, now: u64) -> Option<Request> {
        let (at, request) = self.queue.front()?;
        if *at > now {
            return None;
        }
        if !request.kind().posted() {
            let tag = request.tag();
            let open = self.open.iter_mut().find(|o| o.tag == tag)?;
            if open.issued {
                return None;
            }
            open.issued = true;
        }
        self.queue.pop_front().map(|(_, request)| request)
    }

    /// Takes a completion, whole requests' answers in the order in which they end.
    pub fn complete(&mut self, completion: Completion) {
        let mut open = self.open.iter();
        let Some(index) = open.position(|o| o.tag == completion.tag) else {
            return;
        };
        let start = usize::from(completion.lower_address % 4);
        let ends = completion.ends_request();
        if completion.status == Status::Success {
            let bytes = completion.payload.get(start..start + completion.bytes());
            let open = &mut self.open[index].bytes;
            open.extend_from_slice(bytes.unwrap_or_default());
        }
        if ends {
            let open = self.open.remove(index);
            self.answers.push_back(Answer {
                tag: open.tag,
                bytes: match completion.status {
                    Status::Success => Ok(open.bytes),
                    status => Err(status),
                },
            });
        }
    }

    /// The oldest answer.
    pub fn answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    /// Whether nothing is queued or waits for the card.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.open.is_empty()
    }
}

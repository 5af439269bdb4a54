//! What must come out on RQ.

use crate::world::{Read, Write};
use ferroce_pcie::tlp::{MemRead, MemWrite, Request};
use ferroce_pcie::usp::{RqBeat, RqDecoder, RqLimits};
use std::collections::VecDeque;

pub struct Oracle {
    decoder: RqDecoder,
    straddle: bool,
    max_payload: u64,
    /// Writes of which a beat was taken, and bytes of the oldest that have left.
    writes: VecDeque<Write>,
    sent: usize,
    /// The newest of them is not taken to its end.
    begun: bool,
    /// Reads taken, each with the writes taken before.
    reads: VecDeque<(Read, u64)>,
    /// DMA writes taken and left.
    pub writes_in: u64,
    pub writes_out: u64,
    pub reads_out: u64,
    /// Reads that left before writes that were taken before.
    pub passed: u64,
    /// TLPs that started.
    tlps: u64,
}

impl Oracle {
    pub fn new(straddle: bool, max_payload: u64) -> Self {
        let limits = RqLimits {
            max_payload: max_payload as usize,
            max_read: 512,
        };
        Self {
            decoder: RqDecoder::new(straddle, limits),
            straddle,
            max_payload,
            writes: VecDeque::new(),
            sent: 0,
            begun: false,
            reads: VecDeque::new(),
            writes_in: 0,
            writes_out: 0,
            reads_out: 0,
            passed: 0,
            tlps: 0,
        }
    }

    /// Whether `tvalid` must be high.
    pub fn mid_tlp(&self) -> bool {
        self.decoder.mid_tlp()
    }

    /// Whether something is still to come.
    pub fn waits(&self) -> bool {
        !self.writes.is_empty() || !self.reads.is_empty()
    }

    /// The first beat of a write of several was taken.
    pub fn write_begun(&mut self, write: Write) {
        self.writes.push_back(write);
        self.begun = true;
    }

    /// The last beat of a write was taken.
    pub fn write_taken(&mut self, write: Write) {
        if !self.begun {
            self.writes.push_back(write);
        }
        self.begun = false;
        self.writes_in += 1;
    }

    pub fn read_taken(&mut self, read: Read) {
        self.reads.push_back((read, self.writes_in));
    }

    /// A beat that the block takes; returns the reads in it.
    pub fn beat(&mut self, beat: &RqBeat) -> u64 {
        let user = &beat.user;
        assert_eq!((user.parity, user.tph_present), (0, 0));
        assert_eq!(beat.last, user.is_eop != 0);
        if self.straddle {
            assert_eq!(beat.keep, u16::MAX);
        } else {
            // The decoder goes by `tkeep` and `tlast` alone.
            assert_eq!(user.is_sop, u8::from(!self.decoder.mid_tlp()));
            assert_eq!(user.is_eop, u8::from(beat.last));
            assert_eq!(user.sop_ptr, [0, 0]);
            if beat.last {
                assert_eq!(u32::from(user.eop_ptr[0]) + 1, beat.keep.count_ones());
            }
        }
        for index in 0..user.is_sop.count_ones() as usize {
            assert_eq!(u64::from(user.seq_num[index]), self.tlps % 64, "sequence");
            self.tlps += 1;
        }
        let mut requests = Vec::new();
        if let Err(error) = self.decoder.beat(beat, |request| requests.push(request)) {
            panic!("{error}: {beat:?}");
        }
        let before = self.reads_out;
        for request in requests {
            match request {
                Request::Read(read) => self.read(&read),
                Request::Write(write) => self.write(&write),
                Request::Other(other) => panic!("a {:?}", other.kind),
            }
        }
        self.reads_out - before
    }

    fn read(&mut self, read: &MemRead) {
        let (expected, before) = self.reads.pop_front().expect("a read was asked for");
        assert_eq!(*read, expected.tlp);
        if self.writes_out < before {
            assert!(!expected.ordered, "an ordered read passes writes");
            self.passed += 1;
        }
        self.reads_out += 1;
    }

    /// Writes leave in order, cut where they must be and nowhere else.
    fn write(&mut self, tlp: &MemWrite) {
        let write = self.writes.front().expect("a write was asked for");
        let at = write.addr + self.sent as u64;
        let runs: Vec<_> = tlp.runs().collect();
        assert_eq!(runs.len(), 1, "enabled bytes of {tlp:?}");
        let (addr, bytes) = runs[0];
        assert_eq!(addr, at, "address of the TLP");
        let rest = &write.bytes[self.sent..];
        let border = (self.max_payload - at % self.max_payload) as usize;
        assert_eq!(bytes.len(), border.min(rest.len()), "length of the TLP");
        assert!(*bytes == rest[..bytes.len()], "payload at {at:#x}");
        self.sent += bytes.len();
        if self.sent == write.bytes.len() {
            assert!(self.writes.len() > 1 || !self.begun, "a write ends early");
            self.writes.pop_front();
            self.sent = 0;
            self.writes_out += 1;
        }
    }
}

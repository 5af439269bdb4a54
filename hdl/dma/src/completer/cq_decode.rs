//! From a request's descriptor to what is done with it.

use super::desc::{CcJob, CqHead, CqRequest};
use crate::desc::{request, status};
use ferroce_emit::prelude::*;

/// Cycles from `commit` to `request` and `job`.
pub const CQ_DECODE_LATENCY: usize = 3;
/// Longest read that is answered, in doublewords: 64 bytes.
pub const MAX_READ_DWORDS: u64 = 16;
const FETCH_ADD: u64 = 4;
const CAS: u64 = 6;
const LOCKED_READ: u64 = 7;
/// Beats of a write of `n` doublewords: `n` and those of the descriptor, rounded up: `(n + 19) / 16`.
const BEATS_ROUND_UP: u64 = 4 + 15;
/// Byte count of completions of I/O and configuration requests (PCIe Base 2.2.9).
const OTHER_BYTE_COUNT: u64 = 4;

/// A decoder in three stages; takes a descriptor in every cycle.
///
/// Memory writes and reads of up to 64 bytes to BAR 0 of function 0 make accesses. A longer read is completed with CA, any other
/// non-posted request with UR; posted ones that make no accesses are dropped, and so are writes with another
/// number of beats than their length needs. Byte count and lower address follow PCIe Base 2.2.9 and 2.3.1.1:
/// from the first enabled byte to the last, 1 for a read of no byte, the operand's size for an atomic.
#[derive(LogicBlock, Module, Default)]
pub struct CqDecode {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Descriptor.
    pub head: Signal<In, CqHead>,
    /// Beats of its TLP.
    pub beats: Signal<In, Bits<5>>,
    /// There is one.
    pub commit: Signal<In, Bit>,
    /// What to do with its beats.
    pub request: Signal<Out, CqRequest>,
    /// `request` is one.
    pub request_valid: Signal<Out, Bit>,
    /// Its completion.
    pub job: Signal<Out, CcJob>,
    /// It has one.
    pub job_valid: Signal<Out, Bit>,
    /// It is completed with UR or CA.
    pub unsupported: Signal<Out, Bit>,
    /// It is posted and dropped.
    pub dropped: Signal<Out, Bit>,
    // After one cycle.
    valid1: DFF<Bit>,
    head1: DFF<CqHead>,
    beats1: DFF<Bits<5>>,
    single1: DFF<Bit>,
    dwords1: DFF<Bits<11>>,
    one1: DFF<Bit>,
    two1: DFF<Bit>,
    first1: DFF<Bits<4>>,
    addr1: DFF<Bits<18>>,
    here1: DFF<Bit>,
    read1: DFF<Bit>,
    write1: DFF<Bit>,
    posted1: DFF<Bit>,
    atomic1: DFF<Bit>,
    cas1: DFF<Bit>,
    locked1: DFF<Bit>,
    // After two cycles.
    valid2: DFF<Bit>,
    request2: DFF<CqRequest>,
    job2: DFF<CcJob>,
    posted2: DFF<Bit>,
    expected2: DFF<Bits<8>>,
    /// Byte count without what is cut at its ends.
    whole2: DFF<Bits<13>>,
    cut2: DFF<Bits<3>>,
    // After three cycles.
    valid3: DFF<Bit>,
    request3: DFF<CqRequest>,
    job3: DFF<CcJob>,
    job_valid3: DFF<Bit>,
    unsupported3: DFF<Bit>,
    dropped3: DFF<Bit>,
    length: Signal<Local, Bits<11>>,
    kind: Signal<Local, Bits<4>>,
    aperture: Signal<Local, Bits<6>>,
    ones: Signal<Local, Bits<20>>,
    window: Signal<Local, Bits<20>>,
    last_be: Signal<Local, Bits<4>>,
    lead: Signal<Local, Bits<2>>,
    trail: Signal<Local, Bits<2>>,
    memory_read: Signal<Local, Bit>,
    phase: Signal<Local, Bit>,
    /// The last doubleword is the upper half of its word.
    ends_high: Signal<Local, Bit>,
    upper: Signal<Local, Bits<4>>,
    words: Signal<Local, Bits<12>>,
    short: Signal<Local, Bit>,
    writes: Signal<Local, Bit>,
    access: Signal<Local, Bit>,
}

impl Logic for CqDecode {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            valid1,
            head1,
            beats1,
            single1,
            dwords1,
            one1,
            two1,
            first1,
            addr1,
            here1,
            read1,
            write1,
            posted1,
            atomic1,
            cas1,
            locked1,
            valid2,
            request2,
            job2,
            posted2,
            expected2,
            whole2,
            cut2,
            valid3,
            request3,
            job3,
            job_valid3,
            unsupported3,
            dropped3
        );

        // Stage 1: type, place, length. No doublewords count as one without any byte. Fields: PG213, completer request descriptor.
        self.length.next = self.head.val().descriptor.get_bits::<11>(64);
        self.kind.next = self.head.val().descriptor.get_bits::<4>(75);
        self.aperture.next = self.head.val().descriptor.get_bits::<6>(115);
        self.valid1.d.next = self.commit.val();
        self.head1.d.next = self.head.val();
        self.beats1.d.next = self.beats.val();
        self.single1.d.next = self.beats.val() == 1;
        self.dwords1.d.next = self.length.val();
        self.first1.d.next = self.head.val().first_be;
        if !self.length.val().any() {
            self.dwords1.d.next = 1.into();
            self.first1.d.next = 0.into();
        }
        self.one1.d.next = self.length.val() < 2;
        self.two1.d.next = self.length.val() == 2;
        self.ones.next = 0xF_FFFF.into();
        self.window.next = !(self.ones.val() << self.aperture.val());
        self.addr1.d.next =
            self.head.val().descriptor.get_bits::<18>(2) & self.window.val().get_bits::<18>(2);
        // Target function and BAR.
        self.here1.d.next = !self.head.val().descriptor.get_bits::<11>(104).any();
        self.read1.d.next = self.kind.val() == request::MEM_READ;
        self.write1.d.next = self.kind.val() == request::MEM_WRITE;
        self.posted1.d.next =
            (self.kind.val() == request::MEM_WRITE) | (self.kind.val() >= request::MESSAGES);
        self.atomic1.d.next = (self.kind.val() >= FETCH_ADD) & (self.kind.val() <= CAS);
        self.cas1.d.next = self.kind.val() == CAS;
        self.locked1.d.next = self.kind.val() == LOCKED_READ;

        // Stage 2: bytes before the first and behind the last enabled one; nothing enabled counts as byte 0.
        self.lead.next = 0.into();
        if self.first1.q.val().get_bit(0) {
            self.lead.next = 0.into();
        } else if self.first1.q.val().get_bit(1) {
            self.lead.next = 1.into();
        } else if self.first1.q.val().get_bit(2) {
            self.lead.next = 2.into();
        } else if self.first1.q.val().get_bit(3) {
            self.lead.next = 3.into();
        }
        self.last_be.next = self.head1.q.val().last_be;
        if self.one1.q.val() {
            self.last_be.next = self.first1.q.val();
        }
        self.trail.next = 3.into();
        if self.last_be.val().get_bit(3) {
            self.trail.next = 0.into();
        } else if self.last_be.val().get_bit(2) {
            self.trail.next = 1.into();
        } else if self.last_be.val().get_bit(1) {
            self.trail.next = 2.into();
        }
        self.phase.next = self.addr1.q.val().get_bit(0);
        self.ends_high.next = self.phase.val() == self.dwords1.q.val().get_bit(0);
        self.words.next = (bit_cast::<12, 11>(self.dwords1.q.val())
            + bit_cast::<12, 1>(self.phase.val().into())
            + 1)
            >> 1;
        self.short.next = self.dwords1.q.val() <= MAX_READ_DWORDS;
        self.memory_read.next = self.read1.q.val() | self.locked1.q.val();

        self.valid2.d.next = self.valid1.q.val();
        self.posted2.d.next = self.posted1.q.val();
        self.expected2.d.next =
            bit_cast::<8, 12>((bit_cast::<12, 11>(self.dwords1.q.val()) + BEATS_ROUND_UP) >> 4);
        self.request2.d.next.beats = self.beats1.q.val();
        self.request2.d.next.access = self.here1.q.val()
            & (self.write1.q.val()
                | (self.read1.q.val() & self.short.val() & self.single1.q.val()));
        self.request2.d.next.write = self.write1.q.val();
        self.request2.d.next.answer = !self.posted1.q.val();
        self.request2.d.next.words = bit_cast::<8, 12>(self.words.val());
        self.request2.d.next.addr = self.addr1.q.val().get_bits::<17>(1);
        self.request2.d.next.phase = self.phase.val();
        self.upper.next = 0xF.into();
        if self.one1.q.val() {
            self.upper.next = 0.into();
        } else if self.two1.q.val() {
            self.upper.next = self.head1.q.val().last_be;
        }
        if self.phase.val() {
            self.request2.d.next.first_strobe = bit_cast::<8, 4>(self.first1.q.val()) << 4;
        } else {
            self.request2.d.next.first_strobe =
                bit_cast::<8, 4>(self.first1.q.val()) | (bit_cast::<8, 4>(self.upper.val()) << 4);
        }
        self.request2.d.next.last_strobe = bit_cast::<8, 4>(self.head1.q.val().last_be);
        if self.ends_high.val() {
            self.request2.d.next.last_strobe =
                (bit_cast::<8, 4>(self.head1.q.val().last_be) << 4) | 0xF;
        }

        self.job2.d.next.status = status::UR.into();
        if self.read1.q.val() & self.here1.q.val() & self.single1.q.val() {
            self.job2.d.next.status = status::CA.into();
            if self.short.val() {
                self.job2.d.next.status = status::SC.into();
            }
        }
        self.job2.d.next.words = bit_cast::<4, 12>(self.words.val());
        self.job2.d.next.phase = self.phase.val();
        self.job2.d.next.dwords = bit_cast::<5, 11>(self.dwords1.q.val());
        self.job2.d.next.lower_address = 0.into();
        self.whole2.d.next = OTHER_BYTE_COUNT.into();
        self.cut2.d.next = 0.into();
        if self.memory_read.val() {
            self.job2.d.next.lower_address = bit_cast::<7, 2>(self.lead.val())
                | (bit_cast::<7, 5>(self.addr1.q.val().get_bits::<5>(0)) << 2);
            self.whole2.d.next = bit_cast::<13, 11>(self.dwords1.q.val()) << 2;
            self.cut2.d.next =
                bit_cast::<3, 2>(self.lead.val()) + bit_cast::<3, 2>(self.trail.val());
        } else if self.cas1.q.val() {
            // Two operands: the one to compare with and the one to store.
            self.whole2.d.next = bit_cast::<13, 11>(self.dwords1.q.val()) << 1;
        } else if self.atomic1.q.val() {
            self.whole2.d.next = bit_cast::<13, 11>(self.dwords1.q.val()) << 2;
        }
        self.job2.d.next.at = 0.into();
        if self.memory_read.val() | self.atomic1.q.val() {
            self.job2.d.next.at = self.head1.q.val().descriptor.get_bits::<2>(0);
        }
        self.job2.d.next.locked = self.locked1.q.val();
        self.job2.d.next.descriptor = self.head1.q.val().descriptor;
        self.job2.d.next.enables = bit_cast::<8, 4>(self.head1.q.val().first_be)
            | (bit_cast::<8, 4>(self.head1.q.val().last_be) << 4);

        // Stage 3: the length fits, or nothing is done.
        self.writes.next = self.request2.q.val().access
            & self.request2.q.val().write
            & (bit_cast::<8, 5>(self.request2.q.val().beats) == self.expected2.q.val());
        self.access.next =
            self.writes.val() | (self.request2.q.val().access & !self.request2.q.val().write);
        self.valid3.d.next = self.valid2.q.val();
        self.request3.d.next = self.request2.q.val();
        self.request3.d.next.access = self.access.val();
        self.job3.d.next = self.job2.q.val();
        self.job3.d.next.byte_count = self.whole2.q.val() - bit_cast::<13, 3>(self.cut2.q.val());
        if !self.access.val() {
            self.job3.d.next.words = 0.into();
            self.job3.d.next.dwords = 0.into();
        }
        self.job_valid3.d.next = self.valid2.q.val() & !self.posted2.q.val();
        self.unsupported3.d.next = self.valid2.q.val() & !self.posted2.q.val() & !self.access.val();
        self.dropped3.d.next = self.valid2.q.val() & self.posted2.q.val() & !self.access.val();

        self.request.next = self.request3.q.val();
        self.request_valid.next = self.valid3.q.val();
        self.job.next = self.job3.q.val();
        self.job_valid.next = self.job_valid3.q.val();
        self.unsupported.next = self.unsupported3.q.val();
        self.dropped.next = self.dropped3.q.val();
    }
}

ferroce_emit::register_leaf!("cq_decode", CqDecode::default);

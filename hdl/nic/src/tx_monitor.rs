//! What goes to the wire, counted by looking at the frames.

use ferroce_abi::headers::syndrome::{self, NakCode};
use ferroce_abi::opcode::rc;
use ferroce_emit::prelude::*;
use ferroce_rtl::stream::Beat;

/// Bit of the BTH opcode in a frame's first beat: after Ethernet, IPv4 and UDP headers.
const OPCODE: usize = 8 * (14 + 20 + 8);
/// Bit of the AETH syndrome, after the BTH.
const SYNDROME: usize = OPCODE + 8 * 12;
const ACKNOWLEDGE: u64 = rc::ACKNOWLEDGE as u64;
const READ_FIRST: u64 = rc::READ_RESPONSE_FIRST as u64;
const READ_ONLY: u64 = rc::READ_RESPONSE_ONLY as u64;
const ATOMIC_ACKNOWLEDGE: u64 = rc::ATOMIC_ACKNOWLEDGE as u64;
const CLASS: u64 = syndrome::CLASS_MASK as u64;
const ACK: u64 = syndrome::ACK as u64;
const RNR: u64 = syndrome::RNR as u64;
const SEQUENCE: u64 = NakCode::PsnSequence.syndrome() as u64;
const INVALID: u64 = NakCode::InvalidRequest.syndrome() as u64;
const ACCESS: u64 = NakCode::RemoteAccess.syndrome() as u64;
const OPERATIONAL: u64 = NakCode::RemoteOperational.syndrome() as u64;

/// Events of the transmit side; names of `ferroce_abi::regs::Counter` without `Tx`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct TxEvents {
    /// A frame ended.
    pub frames: Bit,
    /// Bytes of a beat.
    pub bytes: Bits<7>,
    /// A request packet began.
    pub requests: Bit,
    /// A READ response packet began.
    pub read_responses: Bit,
    /// An ATOMIC ACKNOWLEDGE.
    pub atomic_acks: Bit,
    /// An ACK.
    pub acks: Bit,
    /// An RNR NAK.
    pub rnr_naks: Bit,
    /// A NAK 0x60.
    pub nak_sequence: Bit,
    /// A NAK 0x61.
    pub nak_invalid_request: Bit,
    /// A NAK 0x62.
    pub nak_remote_access: Bit,
    /// A NAK 0x63.
    pub nak_remote_operational: Bit,
}

/// Watches the stream of RoCE frames towards the MAC. Latency 2.
#[derive(LogicBlock, Module, Default)]
pub struct TxMonitor {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A beat goes through in this cycle.
    pub moved: Signal<In, Bit>,
    /// The beat.
    pub beat: Signal<In, Beat>,
    /// What is counted.
    pub events: Signal<Out, TxEvents>,
    /// The next beat begins a frame unless this is set.
    inside: DFF<Bit>,
    seen: DFF<Bit>,
    first: DFF<Bit>,
    last: DFF<Bit>,
    len: DFF<Bits<7>>,
    opcode: DFF<Bits<8>>,
    aeth: DFF<Bits<8>>,
    out_events: DFF<TxEvents>,
    is_answer: Signal<Local, Bit>,
    is_response: Signal<Local, Bit>,
}

impl Logic for TxMonitor {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, inside, seen, first, last, len, opcode, aeth, out_events);
        self.seen.d.next = self.moved.val();
        self.first.d.next = self.moved.val() & !self.inside.q.val();
        self.last.d.next = self.moved.val() & self.beat.val().last;
        if self.moved.val() {
            self.inside.d.next = !self.beat.val().last;
        }
        self.len.d.next = self.beat.val().len;
        self.opcode.d.next = self.beat.val().data.get_bits::<8>(OPCODE);
        self.aeth.d.next = self.beat.val().data.get_bits::<8>(SYNDROME);

        self.is_answer.next = self.first.q.val() & (self.opcode.q.val() == ACKNOWLEDGE);
        self.out_events.d.next.frames = self.last.q.val();
        self.out_events.d.next.bytes = 0.into();
        if self.seen.q.val() {
            self.out_events.d.next.bytes = self.len.q.val();
        }
        // READ responses, ACKNOWLEDGE and ATOMIC ACKNOWLEDGE are adjacent.
        self.is_response.next =
            (self.opcode.q.val() >= READ_FIRST) & (self.opcode.q.val() <= ATOMIC_ACKNOWLEDGE);
        self.out_events.d.next.requests = self.first.q.val() & !self.is_response.val();
        self.out_events.d.next.read_responses = self.first.q.val()
            & (self.opcode.q.val() >= READ_FIRST)
            & (self.opcode.q.val() <= READ_ONLY);
        self.out_events.d.next.atomic_acks =
            self.first.q.val() & (self.opcode.q.val() == ATOMIC_ACKNOWLEDGE);
        self.out_events.d.next.acks = self.is_answer.val() & ((self.aeth.q.val() & CLASS) == ACK);
        self.out_events.d.next.rnr_naks =
            self.is_answer.val() & ((self.aeth.q.val() & CLASS) == RNR);
        self.out_events.d.next.nak_sequence =
            self.is_answer.val() & (self.aeth.q.val() == SEQUENCE);
        self.out_events.d.next.nak_invalid_request =
            self.is_answer.val() & (self.aeth.q.val() == INVALID);
        self.out_events.d.next.nak_remote_access =
            self.is_answer.val() & (self.aeth.q.val() == ACCESS);
        self.out_events.d.next.nak_remote_operational =
            self.is_answer.val() & (self.aeth.q.val() == OPERATIONAL);
        self.events.next = self.out_events.q.val();
    }
}

ferroce_emit::register_leaf!("tx_monitor", TxMonitor::default);

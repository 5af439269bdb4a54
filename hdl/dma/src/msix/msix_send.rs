//! From events to messages.

use super::{beyond, MsixEntry, MAX_VECTORS, VECTOR_BITS};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Bytes of a message.
const MESSAGE_BYTES: u64 = 4;
/// Doublewords of a beat.
const BEAT_DWORDS: usize = 16;

/// What the sender does.
#[derive(Clone, Copy, Debug, PartialEq, LogicState, FromBits)]
pub enum SendPhase {
    /// Waits for an event or a pending bit.
    Idle,
    /// The vector's entry is read.
    Read,
    /// It comes in the next cycle.
    Wait,
    /// Sends, or sets the pending bit.
    Judge,
    /// The message waits to be taken.
    Send,
}

/// Visits one vector after the other: those that have an event and, in turn with them, those that a scan of the pending bits
/// finds. A masked vector is visited again and again until it may send.
#[derive(LogicBlock, Module)]
pub struct MsixSend {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Events.
    pub fire: StreamIn<Bits<VECTOR_BITS>>,
    /// MSI-X is enabled.
    pub enable: Signal<In, Bit>,
    /// All vectors are masked.
    pub function_mask: Signal<In, Bit>,
    /// Vector to look up.
    pub vector: Signal<Out, Bits<VECTOR_BITS>>,
    /// Its entry, [`RAM_LATENCY`](ferroce_rtl::ram::RAM_LATENCY) cycles later.
    pub entry: Signal<In, MsixEntry>,
    /// Pending bits.
    pub pending: Signal<Out, Bits<MAX_VECTORS>>,
    /// Messages.
    pub write: StreamOut<DmaWriteBeat>,
    beyond: Constant<Bits<VECTOR_BITS>>,
    phase: DFF<SendPhase>,
    enabled: DFF<Bit>,
    masked: DFF<Bit>,
    pending_bits: DFF<Bits<MAX_VECTORS>>,
    /// Pending bit to look at.
    scan: DFF<Bits<VECTOR_BITS>>,
    found: DFF<Bit>,
    found_vector: DFF<Bits<VECTOR_BITS>>,
    /// A pending bit goes before the next event.
    scan_turn: DFF<Bit>,
    current: DFF<Bits<VECTOR_BITS>>,
    /// The visit is for an event.
    event: DFF<Bit>,
    exists: DFF<Bit>,
    one_hot: DFF<Bits<MAX_VECTORS>>,
    message: DFF<MsixEntry>,
    idle: Signal<Local, Bit>,
    scan_first: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    one: Signal<Local, Bits<MAX_VECTORS>>,
    spread: Signal<Local, Bits<512>>,
}

impl MsixSend {
    /// For `2^vectors_log2` vectors.
    ///
    /// # Panics
    /// If `vectors_log2` is not 1 to [`MAX_VECTORS_LOG2`](super::MAX_VECTORS_LOG2).
    #[must_use]
    pub fn new(vectors_log2: usize) -> Self {
        Self {
            clock: Signal::default(),
            fire: StreamIn::default(),
            enable: Signal::default(),
            function_mask: Signal::default(),
            vector: Signal::default(),
            entry: Signal::default(),
            pending: Signal::default(),
            write: StreamOut::default(),
            beyond: beyond(vectors_log2),
            phase: DFF::default(),
            enabled: DFF::default(),
            masked: DFF::default(),
            pending_bits: DFF::default(),
            scan: DFF::default(),
            found: DFF::default(),
            found_vector: DFF::default(),
            scan_turn: DFF::default(),
            current: DFF::default(),
            event: DFF::default(),
            exists: DFF::default(),
            one_hot: DFF::default(),
            message: DFF::default(),
            idle: Signal::default(),
            scan_first: Signal::default(),
            free: Signal::default(),
            one: Signal::default(),
            spread: Signal::default(),
        }
    }
}

/// For 32 vectors.
impl Default for MsixSend {
    fn default() -> Self {
        Self::new(5)
    }
}

impl Logic for MsixSend {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            phase,
            enabled,
            masked,
            pending_bits,
            scan,
            found,
            found_vector,
            scan_turn,
            current,
            event,
            exists,
            one_hot,
            message
        );
        self.enabled.d.next = self.enable.val();
        self.masked.d.next = self.function_mask.val();
        self.pending.next = self.pending_bits.q.val();
        self.vector.next = self.current.q.val();

        // The scan stands still during a visit, so that it never sees a bit that the visit clears.
        self.idle.next = self.phase.q.val() == SendPhase::Idle;
        if self.idle.val() & !self.found.q.val() {
            self.scan.d.next = self.scan.q.val() + 1;
            self.found.d.next = self.pending_bits.q.val().get_bit(self.scan.q.val().index());
            self.found_vector.d.next = self.scan.q.val();
        }

        self.scan_first.next = self.found.q.val() & self.scan_turn.q.val();
        self.fire.ready.next = self.idle.val() & !self.scan_first.val();
        self.free.next = self.enabled.q.val()
            & !self.masked.q.val()
            & self.entry.val().unmasked
            & self.exists.q.val();
        self.one.next = 1.into();
        self.one_hot.d.next = self.one.val() << self.current.q.val();
        self.exists.d.next = !(self.current.q.val() & self.beyond.val()).any();
        match self.phase.q.val() {
            SendPhase::Idle => {
                if self.fire.valid.val() & !self.scan_first.val() {
                    self.current.d.next = self.fire.data.val();
                    self.event.d.next = true;
                    self.scan_turn.d.next = true;
                    self.phase.d.next = SendPhase::Read;
                } else if self.found.q.val() {
                    self.current.d.next = self.found_vector.q.val();
                    self.event.d.next = false;
                    self.found.d.next = false;
                    self.scan_turn.d.next = false;
                    self.phase.d.next = SendPhase::Read;
                }
            }
            SendPhase::Read => {
                self.phase.d.next = SendPhase::Wait;
            }
            SendPhase::Wait => {
                self.phase.d.next = SendPhase::Judge;
            }
            SendPhase::Judge => {
                self.message.d.next = self.entry.val();
                self.phase.d.next = SendPhase::Idle;
                if self.free.val() {
                    self.phase.d.next = SendPhase::Send;
                    self.pending_bits.d.next = self.pending_bits.q.val() & !self.one_hot.q.val();
                    if self.found_vector.q.val() == self.current.q.val() {
                        self.found.d.next = false;
                    }
                } else if self.event.q.val() & self.enabled.q.val() & self.exists.q.val() {
                    self.pending_bits.d.next = self.pending_bits.q.val() | self.one_hot.q.val();
                }
            }
            // Send.
            _ => {
                if self.write.ready.val() {
                    self.phase.d.next = SendPhase::Idle;
                }
            }
        }

        self.write.valid.next = self.phase.q.val() == SendPhase::Send;
        // Wherever the message's bytes are in the beat.
        self.spread.next = 0.into();
        for _ in 0..BEAT_DWORDS {
            self.spread.next =
                (self.spread.val() << 32) | bit_cast::<512, 32>(self.message.q.val().data);
        }
        self.write.data.next.data = self.spread.val();
        self.write.data.next.addr = (bit_cast::<64, 30>(self.message.q.val().low) << 2)
            | (bit_cast::<64, 32>(self.message.q.val().high) << 32);
        self.write.data.next.len = MESSAGE_BYTES.into();
        self.write.data.next.last = true;
    }
}

ferroce_emit::register_leaf!("msix_send", MsixSend::default);

//! Window stage of the sender: may the QP send now?

use crate::send_desc::{SendContext, SendGate};
use ferroce_emit::prelude::*;

/// Cycles from `context` to `gate`.
pub const WINDOW_LATENCY: usize = 3;

/// Most PSNs that may be unacknowledged: the peer tells old PSNs from new ones by half of the PSN space.
const PSN_WINDOW: u64 = (1 << 23) - 1;

/// Compares the sender's position with the completer's. Both windows are open when the retransmit table has a free entry
/// (`wqe - una_wqe` below its depth) and fewer than 2^23 - 1 PSNs are unacknowledged.
///
/// After a rewind, late ACKs of the first transmission may take the completer past the sender. WQEs in between are
/// retired and may be overwritten by software, so they must not be sent again. Once all that was ever sent is acknowledged, the
/// sender goes on after it (`skip`). Before, it waits: packets are unacknowledged, so either more ACKs come, or the completer's
/// time-out sends it to the oldest WQE left.
#[derive(LogicBlock, Module)]
pub struct TxSendWindow {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The QP's positions.
    pub context: Signal<In, SendContext>,
    /// The verdict, [`WINDOW_LATENCY`] cycles later.
    pub gate: Signal<Out, SendGate>,
    /// Bits of a WQE distance that mean a full retransmit table.
    full_mask: Constant<Bits<16>>,
    runnable1: DFF<Bit>,
    all_acked1: DFF<Bit>,
    wqes1: DFF<Bits<16>>,
    psns1: DFF<Bits<24>>,
    runnable2: DFF<Bit>,
    skip2: DFF<Bit>,
    retired2: DFF<Bit>,
    full2: DFF<Bit>,
    verdict: DFF<SendGate>,
}

impl TxSendWindow {
    /// For a retransmit table of `2^log2_messages` entries a QP.
    ///
    /// # Panics
    /// If `log2_messages` is above 15: the 16-bit WQE index must tell ahead from behind.
    #[must_use]
    pub fn new(log2_messages: usize) -> Self {
        assert!(log2_messages <= 15, "2^{log2_messages} messages a QP");
        let behind = 1u64 << 15;
        let full_mask = (behind - 1) & !((1u64 << log2_messages) - 1);
        Self {
            clock: Signal::default(),
            context: Signal::default(),
            gate: Signal::default(),
            full_mask: Constant::new(full_mask.into()),
            runnable1: DFF::default(),
            all_acked1: DFF::default(),
            wqes1: DFF::default(),
            psns1: DFF::default(),
            runnable2: DFF::default(),
            skip2: DFF::default(),
            retired2: DFF::default(),
            full2: DFF::default(),
            verdict: DFF::default(),
        }
    }
}

/// 16 messages a QP.
impl Default for TxSendWindow {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for TxSendWindow {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, runnable1, all_acked1, wqes1, psns1, runnable2, skip2, retired2, full2,
            verdict
        );
        self.runnable1.d.next = self.context.val().cfg.enabled & !self.context.val().state.halted;
        self.all_acked1.d.next = self.context.val().una.psn == self.context.val().high.max_psn;
        self.wqes1.d.next = self.context.val().state.wqe - self.context.val().una.wqe;
        self.psns1.d.next = self.context.val().state.psn - self.context.val().una.psn;

        self.runnable2.d.next = self.runnable1.q.val();
        self.skip2.d.next = self.all_acked1.q.val() & self.psns1.q.val().get_bit(23);
        self.retired2.d.next = self.wqes1.q.val().get_bit(15);
        self.full2.d.next =
            (self.wqes1.q.val() & self.full_mask.val()).any() | (self.psns1.q.val() == PSN_WINDOW);

        self.verdict.d.next.open = self.runnable2.q.val()
            & !self.skip2.q.val()
            & !self.retired2.q.val()
            & !self.full2.q.val();
        self.verdict.d.next.skip = self.runnable2.q.val() & self.skip2.q.val();
        self.gate.next = self.verdict.q.val();
    }
}

ferroce_emit::register_leaf!("send_window", TxSendWindow::default);

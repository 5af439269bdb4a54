//! Window stage of the sender: may the QP send now?

use crate::send_desc::{SendContext, SendGate, MAX_VISIT_PACKETS};
use ferroce_emit::prelude::*;

/// Cycles from `context` to `gate`.
pub const WINDOW_LATENCY: usize = 3;

/// Bits of the PSN distance that are ones when the window is full. The peer tells old PSNs from new ones by half of the PSN
/// space, so at most 2^23 - 1 may be unacknowledged, and a visit may add 16: from 2^23 - 16 on it is full.
const PSN_FULL_SHIFT: usize = MAX_VISIT_PACKETS.trailing_zeros() as usize;
/// As many ones as there are between that bit and bit 23, which tells ahead from behind.
const PSN_FULL: u64 = (1 << 23) / MAX_VISIT_PACKETS - 1;

/// Compares the sender's position with the completer's. Both windows are open when the retransmit table has a free entry
/// (`wqe - una_wqe` below its depth) and fewer than 2^23 - 16 PSNs are unacknowledged.
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
        self.full2.d.next = (self.wqes1.q.val() & self.full_mask.val()).any()
            | (self.psns1.q.val().get_bits::<20>(PSN_FULL_SHIFT) == PSN_FULL);

        self.verdict.d.next.open = self.runnable2.q.val()
            & !self.skip2.q.val()
            & !self.retired2.q.val()
            & !self.full2.q.val();
        self.verdict.d.next.skip = self.runnable2.q.val() & self.skip2.q.val();
        self.gate.next = self.verdict.q.val();
    }
}

ferroce_emit::register_leaf!("send_window", TxSendWindow::default);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::send_desc::{SendCfg, SendHigh, SendState, SendUna};

    /// What a table of 16 messages allows a sender at (`wqe`, `psn`), with the completer at (`una_wqe`,
    /// `una_psn`) and `max_psn` sent: whether it is open, whether it skips.
    fn verdict(position: (u64, u64), una: (u64, u64), max_psn: u64) -> (bool, bool) {
        let mut uut = TxSendWindow::new(4);
        uut.connect_all();
        uut.context.next = SendContext {
            state: SendState {
                wqe: (position.0 & 0xFFFF).into(),
                psn: (position.1 & 0xFF_FFFF).into(),
                ..SendState::default()
            },
            una: SendUna {
                wqe: (una.0 & 0xFFFF).into(),
                psn: (una.1 & 0xFF_FFFF).into(),
                ..SendUna::default()
            },
            high: SendHigh {
                max_psn: (max_psn & 0xFF_FFFF).into(),
                ..SendHigh::default()
            },
            cfg: SendCfg {
                enabled: true,
                ..SendCfg::default()
            },
            ..SendContext::default()
        };
        for _ in 0..WINDOW_LATENCY {
            for level in [false, true] {
                uut.clock.next = level.into();
                assert!(simulate(&mut uut, 64));
            }
        }
        (uut.gate.val().open, uut.gate.val().skip)
    }

    #[test]
    fn windows_open_and_close_at_their_ends() {
        ferroce_emit::on_big_stack(|| {
            // Also where the indices wrap.
            for (wqe, psn) in [(0, 0), (0xFFF8, 0xFF_FFF0), (0x7FFA, 0x7F_FFFC)] {
                let una = (wqe, psn);
                for ahead in 0..16 {
                    assert_eq!(
                        verdict((wqe + ahead, psn + ahead), una, psn + 16),
                        (true, false)
                    );
                }
                for ahead in [16, 17, 31, 1000, 0x7FFF] {
                    assert_eq!(
                        verdict((wqe + ahead, psn + 16), una, psn + 16),
                        (false, false)
                    );
                }
                for psns in [1 << 22, (1 << 23) - 17] {
                    assert_eq!(verdict((wqe, psn + psns), una, psn + psns), (true, false));
                }
                for full in [(1 << 23) - 16, (1 << 23) - 9, (1 << 23) - 1] {
                    assert_eq!(verdict((wqe, psn + full), una, psn + full), (false, false));
                }
            }
        });
    }

    #[test]
    fn a_sender_behind_skips_when_all_is_acknowledged() {
        ferroce_emit::on_big_stack(|| {
            for (wqe, psn) in [(0, 0), (0xFFFE, 0xFF_FFFE), (0x7FFF, 0x7F_FFFF)] {
                let una = (wqe + 3, psn + 9);
                // Retired WQEs are not sent again.
                assert_eq!(verdict((wqe, psn), una, psn + 12), (false, false));
                assert_eq!(verdict((wqe, psn), una, psn + 9), (false, true));
                // In the oldest WQE left, packets are only sent for nothing.
                assert_eq!(verdict((wqe + 3, psn + 7), una, psn + 12), (true, false));
                assert_eq!(verdict((wqe + 3, psn + 7), una, psn + 9), (false, true));
                assert_eq!(verdict((wqe + 3, psn + 9), una, psn + 9), (true, false));
            }
        });
    }
}

//! DMA writes into TLPs.

use super::tlp::PackTlp;
use super::write_cut::{WriteCut, CUT_PAYLOAD_LATENCY, CUT_TLP_LATENCY};
use super::write_plan::{WritePlan, WRITE_PLAN_LATENCY};
use crate::desc::{PcieLimits, RqPayload};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::flow_gate::FlowGate;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Payload beats stored: two TLPs of the largest payload (1024 bytes in 16 beats: cuts are aligned), so that one fills while the other
/// leaves, and the reserve; the next power of two. A TLP that is too long for the free places would never be complete.
const PAYLOAD_LOG2: usize = 6;
/// TLPs stored. A TLP has a beat at least, and one of one beat takes 1.5 beats of RQ, so this hides every gap as long as the
/// payload does; LUT RAM has no smaller size.
const TLP_LOG2: usize = 5;
/// One cycle of the gate and one for its decision.
const GATE: usize = 2;

/// Cuts each write at multiples of max payload and stores it. A TLP shows only when all of its beats are stored, so it can leave
/// without a gap. A beat a cycle.
#[derive(LogicBlock, Module)]
pub struct WriteSplit {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The writes.
    pub dma_write: StreamIn<DmaWriteBeat>,
    /// Max payload.
    pub limits: Signal<In, PcieLimits>,
    /// TLPs.
    pub tlps: StreamOut<PackTlp>,
    /// Their payload, in order.
    pub payload: StreamOut<RqPayload>,
    gate: FlowGate<DmaWriteBeat>,
    cut: WriteCut,
    plan: WritePlan,
    stored_tlps: SyncFifo<PackTlp>,
    stored_payload: SyncFifo<RqPayload>,
}

impl WriteSplit {
    /// With or without TLPs that start in the middle of an RQ beat.
    #[must_use]
    pub fn new(straddle: bool) -> Self {
        Self {
            clock: Signal::default(),
            dma_write: StreamIn::default(),
            limits: Signal::default(),
            tlps: StreamOut::default(),
            payload: StreamOut::default(),
            gate: FlowGate::default(),
            cut: WriteCut::default(),
            plan: WritePlan::new(straddle),
            stored_tlps: SyncFifo::new_with_reserve(
                TLP_LOG2,
                GATE + CUT_TLP_LATENCY + WRITE_PLAN_LATENCY,
            ),
            stored_payload: SyncFifo::new_with_reserve(PAYLOAD_LOG2, GATE + CUT_PAYLOAD_LATENCY),
        }
    }
}

/// With straddling.
impl Default for WriteSplit {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Logic for WriteSplit {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, gate, cut, plan, stored_tlps, stored_payload);
        StreamIn::<DmaWriteBeat>::link(&mut self.dma_write, &mut self.gate.input);
        self.gate.hold.next =
            self.stored_tlps.almost_full.val() | self.stored_payload.almost_full.val();
        self.cut.valid.next = self.gate.valid.val();
        self.cut.beat.next = self.gate.data.val();
        self.cut.limits.next = self.limits.val();
        self.stored_payload.input.valid.next = self.cut.payload_valid.val();
        self.stored_payload.input.data.next = self.cut.payload.val();
        self.plan.valid.next = self.cut.tlp_valid.val();
        self.plan.cut.next = self.cut.tlp.val();
        self.stored_tlps.input.valid.next = self.plan.tlp_valid.val();
        self.stored_tlps.input.data.next = self.plan.tlp.val();
        StreamOut::<PackTlp>::link(&mut self.tlps, &mut self.stored_tlps.output);
        StreamOut::<RqPayload>::link(&mut self.payload, &mut self.stored_payload.output);
    }
}

ferroce_emit::register_leaf!("write_split", WriteSplit::default);

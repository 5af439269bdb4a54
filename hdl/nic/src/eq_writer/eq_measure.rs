//! What an EQ's indices and times mean.

use super::desc::{EqPlan, EqState};
use ferroce_abi::limits::EQE_BYTES;
use ferroce_emit::prelude::*;

/// Log2 of an EQE's bytes.
const EQE_LOG2: u64 = EQE_BYTES.ilog2() as u64;

/// Compares an EQ's state with its plan, in two cycles; what goes in stands still that long.
#[derive(LogicBlock, Module, Default)]
pub struct EqMeasure {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// State of the EQ.
    pub state: Signal<In, EqState>,
    /// What it is configured with.
    pub plan: Signal<In, EqPlan>,
    /// Running index after the last EQE that the host has taken out.
    pub consumer: Signal<In, Bits<24>>,
    /// Units since the last interrupt.
    pub elapsed: Signal<In, Bits<16>>,
    /// There is no room for an EQE.
    pub full: Signal<Out, Bit>,
    /// The host has not taken all EQEs.
    pub unseen: Signal<Out, Bit>,
    /// The gap behind the last interrupt is over.
    pub gap_over: Signal<Out, Bit>,
    /// There is a gap.
    pub has_gap: Signal<Out, Bit>,
    /// Running index after the next EQE.
    pub next_producer: Signal<Out, Bits<24>>,
    /// Phase bit of the next EQE.
    pub eqe_phase: Signal<Out, Bit>,
    /// Its address.
    pub addr: Signal<Out, Bits<64>>,
    elapsed_now: DFF<Bits<16>>,
    used: DFF<Bits<24>>,
    mask: DFF<Bits<15>>,
    next_index: DFF<Bits<24>>,
    first_pass: DFF<Bit>,
    is_full: DFF<Bit>,
    is_unseen: DFF<Bit>,
    is_over: DFF<Bit>,
    is_gap: DFF<Bit>,
    low: DFF<Bits<33>>,
    high: Signal<Local, Bits<32>>,
}

impl Logic for EqMeasure {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            elapsed_now,
            used,
            mask,
            next_index,
            first_pass,
            is_full,
            is_unseen,
            is_over,
            is_gap,
            low
        );
        self.elapsed_now.d.next = self.elapsed.val();
        self.used.d.next = self.state.val().producer - self.consumer.val();
        self.mask.d.next =
            !(Bits::<15>::from(0x7FFF) << bit_cast::<15, 4>(self.plan.val().log_size));
        self.next_index.d.next = self.state.val().producer + 1;
        self.first_pass.d.next = !self
            .state
            .val()
            .producer
            .get_bit(self.plan.val().log_size.index());

        self.is_full.d.next = (self.used.q.val().get_bits::<15>(0) & !self.mask.q.val()).any()
            | self.used.q.val().get_bits::<9>(15).any();
        self.is_unseen.d.next = self.used.q.val().any();
        self.is_over.d.next = self.elapsed_now.q.val() >= bit_cast::<16, 12>(self.plan.val().gap);
        self.is_gap.d.next = self.plan.val().gap.any();
        self.low.d.next = bit_cast::<33, 32>(self.plan.val().base.get_bits::<32>(0))
            + (bit_cast::<33, 15>(self.state.val().producer.get_bits::<15>(0) & self.mask.q.val())
                << EQE_LOG2);

        self.high.next = self.plan.val().base.get_bits::<32>(32);
        if self.low.q.val().get_bit(32) {
            self.high.next = self.plan.val().base.get_bits::<32>(32) + 1;
        }
        self.full.next = self.is_full.q.val();
        self.unseen.next = self.is_unseen.q.val();
        self.gap_over.next = self.is_over.q.val();
        self.has_gap.next = self.is_gap.q.val();
        self.next_producer.next = self.next_index.q.val();
        self.eqe_phase.next = self.first_pass.q.val();
        self.addr.next = (bit_cast::<64, 32>(self.high.val()) << 32)
            | bit_cast::<64, 32>(self.low.q.val().get_bits::<32>(0));
    }
}

ferroce_emit::register_leaf!("eq_measure", EqMeasure::default);

//! Lets the completer hear of data when it is on its way to the host.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::AckInfo;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// ACK without end-to-end credits.
const ACK: u64 = 0x1F;

/// Responses stay in order. Data waits until the write arbiter has taken it, and so do all responses behind it: the CQE that they bring about can't overtake the data. One place keeps data whose turn at the completer has not come; further data of the same QP
/// takes its place, since it speaks for all before it. So a QP's data may come faster than the completer makes its passes.
#[derive(LogicBlock, Module, Default)]
pub struct LandingGate {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Responses.
    pub responses: StreamIn<AckInfo>,
    /// The oldest data of which it was not said yet was taken by the write arbiter.
    pub landed: Signal<In, Bit>,
    /// Responses for the completer.
    pub told: StreamOut<AckInfo>,
    /// Data that was taken and is not told yet: as many as verdicts that wait between control pipeline and mover, far fewer than 256.
    count: DFF<Bits<8>>,
    kept: DFF<AckInfo>,
    full: DFF<Bit>,
    open: Signal<Local, Bit>,
    covers: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
}

impl Logic for LandingGate {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, count, kept, full);
        self.told.data.next = self.kept.q.val();
        self.told.valid.next = self.full.q.val();
        self.covers.next = self.kept.q.val().data
            & (self.kept.q.val().syndrome == ACK)
            & self.responses.data.val().data
            & (self.responses.data.val().syndrome == ACK)
            & (self.responses.data.val().qp == self.kept.q.val().qp);
        self.open.next = (!self.responses.data.val().landing | self.count.q.val().any())
            & (!self.full.q.val() | self.told.ready.val() | self.covers.val());
        self.responses.ready.next = self.open.val();
        self.take.next = self.open.val() & self.responses.valid.val();
        if self.take.val() {
            self.kept.d.next = self.responses.data.val();
        }
        self.full.d.next = self.take.val() | (self.full.q.val() & !self.told.ready.val());
        self.count.d.next = self.count.q.val() + bit_cast::<8, 1>(self.landed.val().into())
            - bit_cast::<8, 1>((self.take.val() & self.responses.data.val().landing).into());
    }
}

ferroce_emit::register_leaf!("landing_gate", LandingGate::default);

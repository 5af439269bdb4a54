//! The event path: event queues and interrupts.

use crate::bar::desc::QueuePosition;
use crate::bell_keeper::BellKeeper;
use crate::eq_writer::desc::EventJob;
use crate::eq_writer::EqWriter;
use crate::ring_cfg::RingCfgPort;
use ferroce_dma::msix::MsixTable;
use ferroce_emit::prelude::*;
use ferroce_rtl::arb2::Arb2;
use ferroce_rtl::desc::bar::{BarReq, BarResp, EqBell, QueueSeen};
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Event queues and the MSI-X table, whose messages follow the EQEs that they report: a message is made only when the arbiter has taken the EQE, and
/// what the arbiter takes stays in order.
#[derive(LogicBlock, Module)]
pub struct EventPath {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// Consumer indices of EQs; 0 with an EQ's configuration.
    pub seen: Signal<In, QueueSeen>,
    /// Doorbells of EQs. They are taken whether the host takes writes or not.
    pub bell: StreamIn<EqBell>,
    /// Events.
    pub event: StreamIn<EventJob>,
    /// Accesses to the MSI-X window.
    pub access: StreamIn<BarReq>,
    /// Answers to reads of it.
    pub answer: StreamOut<BarResp>,
    /// MSI-X is enabled.
    pub msix_enable: Signal<In, Bit>,
    /// All vectors are masked.
    pub msix_mask: Signal<In, Bit>,
    /// EQEs and messages.
    pub write: StreamOut<DmaWriteBeat>,
    /// An EQE was written.
    pub written: Signal<Out, Bit>,
    /// An event was dropped.
    pub dropped: Signal<Out, Bit>,
    /// EQ to look at for a query.
    pub asked: Signal<In, Bits<7>>,
    /// Where it is, two cycles later.
    pub position: Signal<Out, QueuePosition>,
    /// A CQ or EQ is gone: arbiters have taken all that was written for it.
    pub gone: Signal<Out, Bit>,
    /// A message was sent.
    pub interrupt: Signal<Out, Bit>,
    ring_port: RingCfgPort,
    /// Doorbells; a sticky one asks for an interrupt.
    bells: BellKeeper,
    eqs: EqWriter,
    msix: MsixTable,
    writes: Arb2<DmaWriteBeat>,
}

impl EventPath {
    /// `2^eqs_log2` EQs and as many vectors.
    ///
    /// # Panics
    /// If `eqs_log2` is not 1 to 7.
    #[must_use]
    pub fn new(eqs_log2: usize) -> Self {
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            seen: Signal::default(),
            bell: StreamIn::default(),
            event: StreamIn::default(),
            access: StreamIn::default(),
            answer: StreamOut::default(),
            msix_enable: Signal::default(),
            msix_mask: Signal::default(),
            write: StreamOut::default(),
            written: Signal::default(),
            dropped: Signal::default(),
            asked: Signal::default(),
            position: Signal::default(),
            gone: Signal::default(),
            interrupt: Signal::default(),
            ring_port: RingCfgPort::new(table::EQ),
            bells: BellKeeper::new(eqs_log2),
            eqs: EqWriter::new(eqs_log2),
            msix: MsixTable::new(eqs_log2),
            writes: Arb2::default(),
        }
    }
}

/// 4 EQs.
impl Default for EventPath {
    fn default() -> Self {
        Self::new(2)
    }
}

impl Logic for EventPath {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, ring_port, bells, eqs, msix, writes);
        self.eqs.cfg.next = self.cfg.val();
        self.eqs.seen.next = self.seen.val();
        self.ring_port.cfg.next = self.cfg.val();
        self.bells.forget.next = self.ring_port.ring.val().valid;
        self.bells.forget_queue.next = self.ring_port.ring.val().index;
        self.bells.bell.valid.next = self.bell.valid.val();
        self.bell.ready.next = self.bells.bell.ready.val();
        self.bells.bell.data.next.queue = bit_cast::<14, 7>(self.bell.data.val().eq);
        self.bells.bell.data.next.kind = 0.into();
        self.bells.bell.data.next.sticky = self.bell.data.val().arm;
        self.eqs.bell.valid.next = self.bells.kept.valid.val();
        self.bells.kept.ready.next = self.eqs.bell.ready.val();
        self.eqs.bell.data.next.eq = self.bells.kept.data.val().queue.get_bits::<7>(0);
        self.eqs.bell.data.next.arm = self.bells.kept.data.val().sticky;
        StreamIn::<EventJob>::link(&mut self.event, &mut self.eqs.event);
        StreamIn::<BarReq>::link(&mut self.access, &mut self.msix.access);
        StreamOut::<BarResp>::link(&mut self.answer, &mut self.msix.answer);
        self.msix.enable.next = self.msix_enable.val();
        self.msix.function_mask.next = self.msix_mask.val();
        StreamOut::<Bits<7>>::join(&mut self.eqs.fire, &mut self.msix.fire);
        StreamOut::<DmaWriteBeat>::join(&mut self.eqs.write, &mut self.writes.in0);
        StreamOut::<DmaWriteBeat>::join(&mut self.msix.write, &mut self.writes.in1);
        StreamOut::<DmaWriteBeat>::link(&mut self.write, &mut self.writes.output);
        self.written.next = self.eqs.written.val();
        self.dropped.next = self.eqs.dropped.val();
        self.eqs.asked.next = self.asked.val();
        self.position.next = self.eqs.position.val();
        self.gone.next = self.eqs.gone.val();
        self.interrupt.next = self.msix.write.valid.val() & self.writes.in1.ready.val();
    }
}

ferroce_emit::register_leaf!("event_path", EventPath::default);

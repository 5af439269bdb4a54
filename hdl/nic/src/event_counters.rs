//! From events to counters.

use crate::counters::{Counters, CELLS};
use crate::tx_monitor::TxEvents;
use ferroce_abi::regs::Counter;
use ferroce_dma::pcie_engine::PcieEvents;
use ferroce_emit::prelude::*;
use ferroce_roce_rx::events::RxEvents;
use ferroce_rtl::desc::pages::PageEvents;

/// Events of the MAC; they are frames that never reach the receive side.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MacEvents {
    /// A damaged frame.
    pub bad_fcs: Bit,
    /// A frame that is too short.
    pub runt: Bit,
    /// A frame that is too long.
    pub oversize: Bit,
    /// A frame that found no room.
    pub overflow: Bit,
}

/// Events of both translators.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct TranslationEvents {
    /// Payload to be sent.
    pub tx: PageEvents,
    /// Payload received.
    pub rx: PageEvents,
}

/// Events towards the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct HostEvents {
    /// A packet was not sent because its payload could not be read.
    pub tx_dma_dropped: Bit,
    /// A CQE was written.
    pub cqe_written: Bit,
    /// A CQE was dropped.
    pub cqe_dropped: Bit,
    /// An EQE was written.
    pub eqe_written: Bit,
    /// An EQE was dropped.
    pub eqe_dropped: Bit,
    /// An MSI-X message went to the host.
    pub interrupt: Bit,
    /// A read request went to the host.
    pub dma_read: Bit,
    /// A write to the host ended.
    pub dma_write: Bit,
    /// A read failed.
    pub dma_error: Bit,
    /// An SQ WQE burst is read.
    pub sq_fetch: Bit,
    /// An RQ WQE burst is read.
    pub rq_fetch: Bit,
    /// A local access was denied.
    pub tx_denied: Bit,
    /// A remote or receive access was denied.
    pub rx_denied: Bit,
    /// A doorbell was rung.
    pub bell: Bit,
    /// It names a queue that does not exist.
    pub bell_bad: Bit,
    /// A doorbell was rung in another page than its queue's.
    pub bell_foreign: Bit,
}

/// All counters of the card, fed by name.
#[derive(LogicBlock, Module, Default)]
pub struct EventCounters {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Of the receive side.
    pub rx: Signal<In, RxEvents>,
    /// Of the transmit side.
    pub tx: Signal<In, TxEvents>,
    /// Of the MAC.
    pub mac: Signal<In, MacEvents>,
    /// Of the host side.
    pub host: Signal<In, HostEvents>,
    /// Of the PCIe engine.
    pub pcie: Signal<In, PcieEvents>,
    /// Of the translators.
    pub pages: Signal<In, TranslationEvents>,
    /// Counter to read.
    pub number: Signal<In, Bits<7>>,
    /// Its value [`ferroce_rtl::ram::RAM_LATENCY`] cycles later.
    pub value: Signal<Out, Bits<64>>,
    counters: Counters,
    mac_now: DFF<MacEvents>,
    host_now: DFF<HostEvents>,
    pcie_now: DFF<PcieEvents>,
    pages_now: DFF<TranslationEvents>,
}

impl Logic for EventCounters {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, mac_now, host_now, pcie_now, pages_now);
        clock!(self, clock, counters);
        self.mac_now.d.next = self.mac.val();
        self.pcie_now.d.next = self.pcie.val();
        self.host_now.d.next = self.host.val();
        self.pages_now.d.next = self.pages.val();
        self.counters.number.next = self.number.val();
        self.value.next = self.counters.value.val();
        for k in 0..CELLS {
            self.counters.add[k].next = 0.into();
        }
        self.counters.add[Counter::RxFrames as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.frames.into())
                + bit_cast::<16, 1>(self.mac_now.q.val().bad_fcs.into())
                + bit_cast::<16, 1>(self.mac_now.q.val().runt.into())
                + bit_cast::<16, 1>(self.mac_now.q.val().oversize.into())
                + bit_cast::<16, 1>(self.mac_now.q.val().overflow.into());
        self.counters.add[Counter::RxBytes as usize].next =
            bit_cast::<16, 7>(self.rx.val().parse.bytes);
        self.counters.add[Counter::RxPackets as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.packets.into());
        self.counters.add[Counter::RxDropFcs as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.drop_fcs.into())
                + bit_cast::<16, 1>(self.mac_now.q.val().bad_fcs.into());
        self.counters.add[Counter::RxDropRunt as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.drop_runt.into())
                + bit_cast::<16, 1>(self.mac_now.q.val().runt.into());
        self.counters.add[Counter::RxDropOversize as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.drop_oversize.into())
                + bit_cast::<16, 1>(self.mac_now.q.val().oversize.into());
        self.counters.add[Counter::RxDropNotRoce as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.drop_not_roce.into());
        self.counters.add[Counter::RxDropIpChecksum as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.drop_ip_checksum.into());
        self.counters.add[Counter::RxDropLength as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.drop_length.into());
        self.counters.add[Counter::RxDropIcrc as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.drop_icrc.into());
        self.counters.add[Counter::RxDropTver as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.drop_tver.into());
        self.counters.add[Counter::RxDropOverflow as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.drop_overflow.into())
                + bit_cast::<16, 1>(self.mac_now.q.val().overflow.into());
        self.counters.add[Counter::RxDropAddress as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.drop_address.into());
        self.counters.add[Counter::RxDropQpn as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.drop_qpn.into());
        self.counters.add[Counter::RxDropQpState as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.drop_qp_state.into());
        self.counters.add[Counter::RxDropPkey as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.drop_pkey.into());
        self.counters.add[Counter::RxDropPeer as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.drop_peer.into());
        self.counters.add[Counter::RxDropOpcode as usize].next =
            bit_cast::<16, 1>(self.rx.val().parse.drop_opcode.into())
                + bit_cast::<16, 1>(self.rx.val().control.drop_opcode.into());
        self.counters.add[Counter::RxDuplicate as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.duplicate.into());
        self.counters.add[Counter::RxOutOfSequence as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.out_of_sequence.into());
        self.counters.add[Counter::RxNoReceiveWqe as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.no_receive_wqe.into());
        self.counters.add[Counter::RxRequests as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.requests.into());
        self.counters.add[Counter::RxMessages as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.messages.into());
        self.counters.add[Counter::RxPayloadBytes as usize].next =
            bit_cast::<16, 13>(self.rx.val().payload_bytes);
        self.counters.add[Counter::RxAcks as usize].next =
            bit_cast::<16, 1>(self.rx.val().completer.acks.into());
        self.counters.add[Counter::RxIgnoredAcks as usize].next =
            bit_cast::<16, 1>(self.rx.val().completer.ignored_acks.into());
        self.counters.add[Counter::RxReads as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.reads.into());
        self.counters.add[Counter::RxAtomics as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.atomics.into());
        self.counters.add[Counter::RxReplays as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.replays.into());
        self.counters.add[Counter::RxData as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.landings.into());
        self.counters.add[Counter::TxReadResponses as usize].next =
            bit_cast::<16, 1>(self.tx.val().read_responses.into());
        self.counters.add[Counter::TxAtomicAcks as usize].next =
            bit_cast::<16, 1>(self.tx.val().atomic_acks.into());
        self.counters.add[Counter::TxFrames as usize].next =
            bit_cast::<16, 1>(self.tx.val().frames.into());
        self.counters.add[Counter::TxBytes as usize].next = bit_cast::<16, 7>(self.tx.val().bytes);
        self.counters.add[Counter::TxRequests as usize].next =
            bit_cast::<16, 1>(self.tx.val().requests.into());
        self.counters.add[Counter::TxAcks as usize].next =
            bit_cast::<16, 1>(self.tx.val().acks.into());
        self.counters.add[Counter::TxRnrNaks as usize].next =
            bit_cast::<16, 1>(self.tx.val().rnr_naks.into());
        self.counters.add[Counter::TxNakSequence as usize].next =
            bit_cast::<16, 1>(self.tx.val().nak_sequence.into());
        self.counters.add[Counter::TxNakInvalidRequest as usize].next =
            bit_cast::<16, 1>(self.tx.val().nak_invalid_request.into());
        self.counters.add[Counter::TxNakRemoteAccess as usize].next =
            bit_cast::<16, 1>(self.tx.val().nak_remote_access.into());
        self.counters.add[Counter::TxNakRemoteOperational as usize].next =
            bit_cast::<16, 1>(self.tx.val().nak_remote_operational.into());
        self.counters.add[Counter::TxDmaDropped as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().tx_dma_dropped.into());
        self.counters.add[Counter::Retransmits as usize].next =
            bit_cast::<16, 1>(self.rx.val().completer.retransmits.into());
        self.counters.add[Counter::Timeouts as usize].next =
            bit_cast::<16, 1>(self.rx.val().completer.timeouts.into());
        self.counters.add[Counter::RnrWaits as usize].next =
            bit_cast::<16, 1>(self.rx.val().completer.rnr_waits.into());
        self.counters.add[Counter::SequenceNaks as usize].next =
            bit_cast::<16, 1>(self.rx.val().completer.sequence_naks.into());
        self.counters.add[Counter::RequesterErrors as usize].next =
            bit_cast::<16, 1>(self.rx.val().completer.requester_errors.into());
        self.counters.add[Counter::ResponderErrors as usize].next =
            bit_cast::<16, 1>(self.rx.val().control.responder_errors.into());
        self.counters.add[Counter::CqeWritten as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().cqe_written.into());
        self.counters.add[Counter::CqeDropped as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().cqe_dropped.into());
        self.counters.add[Counter::EqeWritten as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().eqe_written.into());
        self.counters.add[Counter::EqeDropped as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().eqe_dropped.into());
        self.counters.add[Counter::Interrupts as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().interrupt.into());
        self.counters.add[Counter::DmaReads as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().dma_read.into());
        self.counters.add[Counter::DmaWrites as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().dma_write.into());
        self.counters.add[Counter::DmaErrors as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().dma_error.into());
        self.counters.add[Counter::WqeFetches as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().sq_fetch.into())
                + bit_cast::<16, 1>(self.host_now.q.val().rq_fetch.into());
        self.counters.add[Counter::MrDenied as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().tx_denied.into())
                + bit_cast::<16, 1>(self.host_now.q.val().rx_denied.into());
        self.counters.add[Counter::Doorbells as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().bell.into());
        self.counters.add[Counter::DoorbellsBad as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().bell_bad.into());
        self.counters.add[Counter::DoorbellsForeign as usize].next =
            bit_cast::<16, 1>(self.host_now.q.val().bell_foreign.into());
        self.counters.add[Counter::Translations as usize].next =
            bit_cast::<16, 1>(self.pages_now.q.val().tx.lookup.into())
                + bit_cast::<16, 1>(self.pages_now.q.val().rx.lookup.into());
        self.counters.add[Counter::TranslationMisses as usize].next =
            bit_cast::<16, 1>(self.pages_now.q.val().tx.miss.into())
                + bit_cast::<16, 1>(self.pages_now.q.val().rx.miss.into());
        self.counters.add[Counter::TranslationFaults as usize].next =
            bit_cast::<16, 1>(self.pages_now.q.val().tx.fault.into())
                + bit_cast::<16, 1>(self.pages_now.q.val().rx.fault.into());
        self.counters.add[Counter::PcieReadTimeouts as usize].next =
            bit_cast::<16, 2>(self.pcie_now.q.val().read_timeouts);
        self.counters.add[Counter::PcieReadsFailed as usize].next =
            bit_cast::<16, 1>(self.pcie_now.q.val().read_failed.into());
        self.counters.add[Counter::PcieUnexpected as usize].next =
            bit_cast::<16, 1>(self.pcie_now.q.val().unexpected.into());
        self.counters.add[Counter::PcieUnsupported as usize].next =
            bit_cast::<16, 1>(self.pcie_now.q.val().unsupported.into());
        self.counters.add[Counter::PcieDropped as usize].next =
            bit_cast::<16, 1>(self.pcie_now.q.val().dropped.into());
        self.counters.add[Counter::PcieDamaged as usize].next =
            bit_cast::<16, 1>(self.pcie_now.q.val().damaged.into());
    }
}

ferroce_emit::register_leaf!("event_counters", EventCounters::default);

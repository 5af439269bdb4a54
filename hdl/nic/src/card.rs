//! The whole card, as it goes onto a board.

use crate::config::NicConfig;
use crate::nic::Nic;
use crate::stage_trace::StageTrace;
use ferroce_dma::axis::{CcBeat, CqBeat, RcBeat, RqBeat};
use ferroce_dma::desc::PcieLimits;
use ferroce_dma::pcie_engine::PcieEngine;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::{BarReq, BarResp};
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq, DmaWriteBeat};
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};

/// A [`Nic`] behind the [`PcieEngine`]: between the streams of the UltraScale+ PCIe block and a MAC.
#[derive(LogicBlock, Module)]
pub struct Card {
    /// The PCIe block's user clock, 250 MHz.
    pub core_clock: Signal<In, Clock>,
    /// Clock of `mac_tx`, 322.265625 MHz.
    pub mac_tx_clock: Signal<In, Clock>,
    /// Clock of `mac_rx_*`, 322.265625 MHz.
    pub mac_rx_clock: Signal<In, Clock>,
    /// Requester requests, two TLPs a beat.
    pub rq: StreamOut<RqBeat>,
    /// Requester completions, up to four TLPs a beat.
    pub rc: StreamIn<RcBeat>,
    /// Completer requests; not straddled.
    pub cq: StreamIn<CqBeat>,
    /// Completer completions; not straddled.
    pub cc: StreamOut<CcBeat>,
    /// The host's settings of the function.
    pub limits: Signal<In, PcieLimits>,
    /// Non-posted header credits (`pcie_tfc_nph_av`).
    pub np_credit: Signal<In, Bits<4>>,
    /// Another non-posted request of the host is wanted (bit 0 of `pcie_cq_np_req`).
    pub np_wanted: Signal<Out, Bit>,
    /// MSI-X is enabled (`cfg_interrupt_msix_enable`).
    pub msix_enable: Signal<In, Bit>,
    /// All MSI-X vectors are masked (`cfg_interrupt_msix_mask`).
    pub msix_mask: Signal<In, Bit>,
    /// Frames to the MAC, with FCS, no bubble inside a frame.
    pub mac_tx: StreamOut<Beat>,
    /// A beat of a frame from the MAC, with FCS.
    pub mac_rx_data: Signal<In, Beat>,
    /// The MAC offers a beat, which can't wait.
    pub mac_rx_valid: Signal<In, Bit>,
    /// Where messages are, for measurements; no pins.
    pub stages: Signal<Out, StageTrace>,
    pcie: PcieEngine,
    nic: Nic,
}

impl Card {
    /// A card of the given size.
    ///
    /// # Panics
    /// As [`Nic::new`].
    #[must_use]
    pub fn new(config: NicConfig) -> Self {
        Self {
            core_clock: Signal::default(),
            mac_tx_clock: Signal::default(),
            mac_rx_clock: Signal::default(),
            rq: StreamOut::default(),
            rc: StreamIn::default(),
            cq: StreamIn::default(),
            cc: StreamOut::default(),
            limits: Signal::default(),
            np_credit: Signal::default(),
            np_wanted: Signal::default(),
            msix_enable: Signal::default(),
            msix_mask: Signal::default(),
            mac_tx: StreamOut::default(),
            mac_rx_data: Signal::default(),
            mac_rx_valid: Signal::default(),
            stages: Signal::default(),
            pcie: PcieEngine::new(true, config.read_timeout_log2),
            nic: Nic::new(config),
        }
    }
}

/// A small card.
impl Default for Card {
    fn default() -> Self {
        Self::new(NicConfig::SMALL)
    }
}

impl Logic for Card {
    #[kernel]
    fn update(&mut self) {
        self.pcie.clock.next = self.core_clock.val();
        self.nic.core_clock.next = self.core_clock.val();
        self.nic.mac_tx_clock.next = self.mac_tx_clock.val();
        self.nic.mac_rx_clock.next = self.mac_rx_clock.val();

        StreamOut::<RqBeat>::link(&mut self.rq, &mut self.pcie.rq);
        StreamIn::<RcBeat>::link(&mut self.rc, &mut self.pcie.rc);
        StreamIn::<CqBeat>::link(&mut self.cq, &mut self.pcie.cq);
        StreamOut::<CcBeat>::link(&mut self.cc, &mut self.pcie.cc);
        self.pcie.limits.next = self.limits.val();
        self.pcie.np_credit.next = self.np_credit.val();
        self.np_wanted.next = self.pcie.np_wanted.val();

        StreamOut::<BarReq>::join(&mut self.pcie.access, &mut self.nic.bar_req);
        StreamOut::<BarResp>::join(&mut self.nic.bar_resp, &mut self.pcie.answer);
        StreamOut::<DmaReadReq>::join(&mut self.nic.dma_read_req, &mut self.pcie.read_req);
        StreamOut::<DmaReadBeat>::join(&mut self.pcie.read_data, &mut self.nic.dma_read_data);
        StreamOut::<DmaWriteBeat>::join(&mut self.nic.dma_write, &mut self.pcie.write);
        self.nic.msix_enable.next = self.msix_enable.val();
        self.nic.msix_mask.next = self.msix_mask.val();
        self.nic.link_offered.next = self.pcie.rq.valid.val();
        self.nic.link_taken.next = self.rq.ready.val();
        self.nic.pcie.next = self.pcie.events.val();

        StreamOut::<Beat>::link(&mut self.mac_tx, &mut self.nic.mac_tx);
        self.nic.mac_rx_data.next = self.mac_rx_data.val();
        self.nic.mac_rx_valid.next = self.mac_rx_valid.val();
        self.stages.next = self.nic.stages.val();
    }
}

ferroce_emit::register_leaf!("card", Card::default);

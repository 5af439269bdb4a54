//! State stage of the sender: all that is known of an item's QP.

use crate::send_desc::{SendCfg, SendContext, SendHigh, SendItem, SendState, SendUna};
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::tx::CompleterPub;
use ferroce_rtl::ram::{Ram, RAM_LATENCY};

/// Cycles from `item` to `context`.
pub const STATE_LATENCY: usize = RAM_LATENCY;

/// The write of the sender's last stage into the state RAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct StateWrite {
    /// Write in this cycle.
    pub valid: Bit,
    /// Write the configuration too.
    pub configure: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// New state.
    pub state: SendState,
    /// New configuration.
    pub cfg: SendCfg,
}

/// The write of the sender's last stage into the RAM of furthest positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct HighWrite {
    /// Write in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// New furthest position.
    pub high: SendHigh,
}

/// Four RAMs by QP, read together: the sender's state and its furthest position, its configuration, and the
/// copy of the completer's published position. A read sees all writes of earlier cycles.
#[derive(LogicBlock, Module, Default)]
pub struct TxSendState {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Item, one a cycle.
    pub item: Signal<In, SendItem>,
    /// The item and its QP, [`STATE_LATENCY`] cycles later.
    pub context: Signal<Out, SendContext>,
    /// State and configuration to write.
    pub write: Signal<In, StateWrite>,
    /// Furthest position to write.
    pub write_high: Signal<In, HighWrite>,
    /// The completer's position.
    pub una: Signal<In, CompleterPub>,
    state_ram: Ram<SendState>,
    high_ram: Ram<SendHigh>,
    cfg_ram: Ram<SendCfg>,
    una_ram: Ram<SendUna>,
    items: Delay<SendItem>,
}

impl TxSendState {
    /// For `2^log2_qps` QPs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            state_ram: Ram::new(log2_qps),
            high_ram: Ram::new(log2_qps),
            cfg_ram: Ram::new(log2_qps),
            una_ram: Ram::new(log2_qps),
            items: Delay::new(STATE_LATENCY),
            ..Self::default()
        }
    }
}

impl Logic for TxSendState {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, state_ram, high_ram, cfg_ram, una_ram, items);
        self.items.data_in.next = self.item.val();
        self.state_ram.rd_addr.next = bit_cast::<20, 14>(self.item.val().qp);
        self.high_ram.rd_addr.next = bit_cast::<20, 14>(self.item.val().qp);
        self.cfg_ram.rd_addr.next = bit_cast::<20, 14>(self.item.val().qp);
        self.una_ram.rd_addr.next = bit_cast::<20, 14>(self.item.val().qp);
        self.context.next.item = self.items.data_out.val();
        self.context.next.state = self.state_ram.rd_data.val();
        self.context.next.high = self.high_ram.rd_data.val();
        self.context.next.cfg = self.cfg_ram.rd_data.val();
        self.context.next.una = self.una_ram.rd_data.val();

        self.state_ram.wr_valid.next = self.write.val().valid;
        self.state_ram.wr_addr.next = bit_cast::<20, 14>(self.write.val().qp);
        self.state_ram.wr_data.next = self.write.val().state;
        self.cfg_ram.wr_valid.next = self.write.val().configure;
        self.cfg_ram.wr_addr.next = bit_cast::<20, 14>(self.write.val().qp);
        self.cfg_ram.wr_data.next = self.write.val().cfg;
        self.high_ram.wr_valid.next = self.write_high.val().valid;
        self.high_ram.wr_addr.next = bit_cast::<20, 14>(self.write_high.val().qp);
        self.high_ram.wr_data.next = self.write_high.val().high;
        self.una_ram.wr_valid.next = self.una.val().valid;
        self.una_ram.wr_addr.next = bit_cast::<20, 14>(self.una.val().qp);
        self.una_ram.wr_data.next.psn = self.una.val().una_psn;
        self.una_ram.wr_data.next.wqe = self.una.val().una_wqe;
        self.una_ram.wr_data.next.jobs = self.una.val().jobs;
    }
}

ferroce_emit::register_leaf!("send_state", || TxSendState::new(4));

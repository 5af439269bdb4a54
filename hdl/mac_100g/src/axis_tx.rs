//! Beats to the AXI stream of a MAC.

use ferroce_emit::prelude::*;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{Beat, StreamIn};

/// What an AXI stream carries in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AxisBeat {
    data: Bits<512>,
    keep: Bits<64>,
    last: Bit,
    user: Bit,
}

/// Offers beats as the transmit AXI stream of `cmac_usplus`. Outputs come from registers. Latency 1.
#[derive(LogicBlock, Module, Default)]
pub struct AxisTx {
    /// The MAC's transmit clock.
    pub clock: Signal<In, Clock>,
    /// Frames.
    pub from: StreamIn<Beat>,
    /// Bytes; byte `k` is `tdata[8k+7:8k]`.
    pub tdata: Signal<Out, Bits<512>>,
    /// Valid bytes.
    pub tkeep: Signal<Out, Bits<64>>,
    /// Last beat of a frame.
    pub tlast: Signal<Out, Bit>,
    /// With `tlast`: send the frame with a wrong FCS.
    pub tuser: Signal<Out, Bit>,
    /// A beat is offered.
    pub tvalid: Signal<Out, Bit>,
    /// The MAC takes it.
    pub tready: Signal<In, Bit>,
    skid: Skid<AxisBeat>,
}

impl Logic for AxisTx {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, skid);
        self.from.ready.next = self.skid.input.ready.val();
        self.skid.input.valid.next = self.from.valid.val();
        self.skid.input.data.next.data = self.from.data.val().data;
        self.skid.input.data.next.keep = !(!bits::<64>(0) << self.from.data.val().len);
        self.skid.input.data.next.last = self.from.data.val().last;
        self.skid.input.data.next.user = self.from.data.val().err;
        self.tdata.next = self.skid.output.data.val().data;
        self.tkeep.next = self.skid.output.data.val().keep;
        self.tlast.next = self.skid.output.data.val().last;
        self.tuser.next = self.skid.output.data.val().user;
        self.tvalid.next = self.skid.output.valid.val();
        self.skid.output.ready.next = self.tready.val();
    }
}

ferroce_emit::register_leaf!("axis_tx", AxisTx::default);

//! The card's side of the MAC as a whole.

use ferroce_emit::prelude::*;
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};

use crate::fcs_check::FcsCheck;
use crate::fcs_insert::FcsInsert;
use crate::pad60::Pad60;
use crate::pulse_cross::PulseCross;
use crate::rx_frame_fifo::RxFrameFifo;
use crate::tx_frame_fifo::TxFrameFifo;

/// Who appends, checks and strips the frame check sequence. A generation parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fcs {
    /// The card's logic: the MAC passes the FCS through both ways.
    InCard,
    /// The MAC, as a CMAC does with `CTL_TX_FCS_INS_ENABLE` and `CTL_RX_DELETE_FCS`; it marks damaged
    /// frames.
    InMac,
}

/// Shortest frame of 802.3, FCS included, in bytes.
pub const MIN_FRAME: u64 = 64;

/// Longest frame, FCS included, in bytes: what a CMAC accepts with its usual `CTL_RX_MAX_PACKET_LEN`.
pub const MAX_FRAME: usize = 9600;

/// Its beats.
const MAX_BEATS: usize = MAX_FRAME / 64;

/// Depth (log2) of the frame FIFOs: three frames of [`MAX_FRAME`], of which one arrives, one waits
/// and one leaves, so that neither side waits for the other with any frame size. 512 words are also what the block
/// RAMs that the width needs have anyway.
pub const FRAME_FIFO_LOG2_DEPTH: usize = 9;

/// Padding, FCS and whole-frame FIFOs between the core clock (250 MHz) and the MAC's clocks (322.265625 MHz).
///
/// Transmit frames come without FCS and may have any length up to [`MAX_FRAME`] - 4; longer and marked ones are dropped. Received
/// frames go to the core without FCS, undamaged and whole, or not at all; `rx_data.err` is always low. The counting outputs are
/// pulses of the core clock.
#[derive(LogicBlock, Module)]
pub struct Mac100g {
    /// Clock of `tx`, `rx` and the pulses.
    pub core_clock: Signal<In, Clock>,
    /// The MAC's transmit clock.
    pub mac_tx_clock: Signal<In, Clock>,
    /// The MAC's receive clock.
    pub mac_rx_clock: Signal<In, Clock>,
    /// Frames to be sent.
    pub tx: StreamIn<Beat>,
    /// Frames received.
    pub rx: StreamOut<Beat>,
    /// To the MAC: no bubbles inside a frame.
    pub mac_tx: StreamOut<Beat>,
    /// The MAC offers a beat, which can't wait.
    pub mac_rx_valid: Signal<In, Bit>,
    /// The beat; `err` in the last one if the MAC found the frame damaged.
    pub mac_rx_data: Signal<In, Beat>,
    /// A received frame of legal length was damaged.
    pub rx_bad_fcs: Signal<Out, Bit>,
    /// A received frame was shorter than [`MIN_FRAME`].
    pub rx_runt: Signal<Out, Bit>,
    /// A received frame was longer than [`MAX_FRAME`].
    pub rx_oversize: Signal<Out, Bit>,
    /// A received frame, damaged or not, found no room.
    pub rx_overflow: Signal<Out, Bit>,
    /// A frame to be sent was marked as damaged or too long.
    pub tx_discarded: Signal<Out, Bit>,
    pad: Pad60,
    tx_frames: TxFrameFifo,
    insert: FcsInsert,
    check: FcsCheck,
    rx_frames: RxFrameFifo,
    bad_fcs_cross: PulseCross,
    runt_cross: PulseCross,
    oversize_cross: PulseCross,
    overflow_cross: PulseCross,
    discarded_cross: PulseCross,
}

impl Mac100g {
    /// For a MAC of the given kind.
    #[must_use]
    pub fn new(fcs: Fcs) -> Self {
        Self {
            core_clock: Signal::default(),
            mac_tx_clock: Signal::default(),
            mac_rx_clock: Signal::default(),
            tx: StreamIn::default(),
            rx: StreamOut::default(),
            mac_tx: StreamOut::default(),
            mac_rx_valid: Signal::default(),
            mac_rx_data: Signal::default(),
            rx_bad_fcs: Signal::default(),
            rx_runt: Signal::default(),
            rx_oversize: Signal::default(),
            rx_overflow: Signal::default(),
            tx_discarded: Signal::default(),
            pad: Pad60::default(),
            tx_frames: TxFrameFifo::new(FRAME_FIFO_LOG2_DEPTH, MAX_BEATS),
            insert: FcsInsert::new(fcs),
            check: FcsCheck::new(fcs, MAX_BEATS),
            rx_frames: RxFrameFifo::new(FRAME_FIFO_LOG2_DEPTH, MAX_BEATS),
            bad_fcs_cross: PulseCross::default(),
            runt_cross: PulseCross::default(),
            oversize_cross: PulseCross::default(),
            overflow_cross: PulseCross::default(),
            discarded_cross: PulseCross::default(),
        }
    }
}

/// For a MAC that leaves the FCS to the card.
impl Default for Mac100g {
    fn default() -> Self {
        Self::new(Fcs::InCard)
    }
}

impl Logic for Mac100g {
    #[kernel]
    fn update(&mut self) {
        self.pad.clock.next = self.core_clock.val();
        self.tx_frames.core_clock.next = self.core_clock.val();
        self.tx_frames.mac_clock.next = self.mac_tx_clock.val();
        self.insert.clock.next = self.mac_tx_clock.val();
        StreamIn::<Beat>::link(&mut self.tx, &mut self.pad.from);
        StreamOut::<Beat>::join(&mut self.pad.to, &mut self.tx_frames.from);
        StreamOut::<Beat>::join(&mut self.tx_frames.to, &mut self.insert.from);
        StreamOut::<Beat>::link(&mut self.mac_tx, &mut self.insert.to);

        self.check.clock.next = self.mac_rx_clock.val();
        self.rx_frames.mac_clock.next = self.mac_rx_clock.val();
        self.rx_frames.core_clock.next = self.core_clock.val();
        self.check.valid.next = self.mac_rx_valid.val();
        self.check.beat.next = self.mac_rx_data.val();
        self.rx_frames.valid.next = self.check.stripped_valid.val();
        self.rx_frames.beat.next = self.check.stripped.val();
        StreamOut::<Beat>::link(&mut self.rx, &mut self.rx_frames.to);

        self.bad_fcs_cross.from_clock.next = self.mac_rx_clock.val();
        self.bad_fcs_cross.to_clock.next = self.core_clock.val();
        self.bad_fcs_cross.event.next = self.check.bad_fcs.val();
        self.rx_bad_fcs.next = self.bad_fcs_cross.pulse.val();
        self.runt_cross.from_clock.next = self.mac_rx_clock.val();
        self.runt_cross.to_clock.next = self.core_clock.val();
        self.runt_cross.event.next = self.check.runt.val();
        self.rx_runt.next = self.runt_cross.pulse.val();
        self.oversize_cross.from_clock.next = self.mac_rx_clock.val();
        self.oversize_cross.to_clock.next = self.core_clock.val();
        self.oversize_cross.event.next = self.check.oversize.val();
        self.rx_oversize.next = self.oversize_cross.pulse.val();
        self.overflow_cross.from_clock.next = self.mac_rx_clock.val();
        self.overflow_cross.to_clock.next = self.core_clock.val();
        self.overflow_cross.event.next = self.rx_frames.overflow.val();
        self.rx_overflow.next = self.overflow_cross.pulse.val();
        self.discarded_cross.from_clock.next = self.mac_tx_clock.val();
        self.discarded_cross.to_clock.next = self.core_clock.val();
        self.discarded_cross.event.next = self.tx_frames.discarded.val();
        self.tx_discarded.next = self.discarded_cross.pulse.val();
    }
}

ferroce_emit::register_leaf!("mac_100g", Mac100g::default);

//! ICRC check of received frames.

use super::crc32::RESIDUE;
use super::icrc_engine::{IcrcEngine, ICRC_LATENCY};
use crate::stream::Beat;
use ferroce_emit::prelude::*;

/// Cycles from a last beat at the input of [`IcrcCheck`] to its verdict.
pub const CHECK_LATENCY: usize = ICRC_LATENCY + 1;

/// Checks the ICRC at the end of each frame. The beats must end with the ICRC, so Ethernet padding
/// is cut off before (the packet's end follows from the IP or UDP length).
#[derive(LogicBlock, Module)]
pub struct IcrcCheck {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A beat is here; there is no back-pressure.
    pub valid: Signal<In, Bit>,
    /// The beat.
    pub beat: Signal<In, Beat>,
    /// The ICRC was right.
    pub ok: Signal<Out, Bit>,
    /// `ok` is valid: [`CHECK_LATENCY`] cycles after a last beat.
    pub done: Signal<Out, Bit>,
    engine: IcrcEngine,
    ok_reg: DFF<Bit>,
    done_reg: DFF<Bit>,
    residue: Constant<Bits<32>>,
}

impl Default for IcrcCheck {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            valid: Signal::default(),
            beat: Signal::default(),
            ok: Signal::default(),
            done: Signal::default(),
            engine: IcrcEngine::default(),
            ok_reg: DFF::default(),
            done_reg: DFF::default(),
            residue: Constant::new(u64::from(RESIDUE).into()),
        }
    }
}

impl Logic for IcrcCheck {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, ok_reg, done_reg);
        clock!(self, clock, engine);
        self.engine.valid.next = self.valid.val();
        self.engine.beat.next = self.beat.val();
        self.ok_reg.d.next = self.engine.crc.val() == self.residue.val();
        self.done_reg.d.next = self.engine.done.val();
        self.ok.next = self.ok_reg.q.val();
        self.done.next = self.done_reg.q.val();
    }
}

ferroce_emit::register_leaf!("icrc_check", IcrcCheck::default);

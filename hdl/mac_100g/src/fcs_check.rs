//! Checks and strips the frame check sequence.

use ferroce_emit::prelude::*;
use ferroce_rtl::crc::crc32::RESIDUE;
use ferroce_rtl::crc::{FcsEngine, FCS_LATENCY};
use ferroce_rtl::delay::Delay;
use ferroce_rtl::stream::Beat;

use crate::mac_100g::{Fcs, MIN_FRAME};

/// Marks frames with a wrong FCS, runts and oversize frames, and strips the FCS; or, when the MAC checks and strips it,
/// takes the MAC's word for it. A frame whose last beat is all FCS ends one beat earlier. Frames of 4 bytes and less vanish, but count as
/// runts.
#[derive(LogicBlock, Module)]
pub struct FcsCheck {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A beat is here; it can't wait.
    pub valid: Signal<In, Bit>,
    /// The beat, with `err` as the MAC reports it.
    pub beat: Signal<In, Beat>,
    /// A beat is out.
    pub stripped_valid: Signal<Out, Bit>,
    /// The frame without FCS; `err` in the last beat is the verdict.
    pub stripped: Signal<Out, Beat>,
    /// Pulse: a frame of legal length was damaged.
    pub bad_fcs: Signal<Out, Bit>,
    /// Pulse: a frame was shorter than 64 bytes.
    pub runt: Signal<Out, Bit>,
    /// Pulse: a frame was too long.
    pub oversize: Signal<Out, Bit>,
    here: Constant<Bit>,
    residue: Constant<Bits<32>>,
    min_len: Constant<Bits<7>>,
    /// Index of the last beat of a frame of the greatest length.
    last_allowed: Constant<Bits<8>>,
    engine: FcsEngine,
    valid_delay: Delay<Bit>,
    beat_delay: Delay<Beat>,
    fcs_ok: DFF<Bit>,
    // With the verdict.
    aligned_valid: DFF<Bit>,
    aligned: DFF<Beat>,
    inside: DFF<Bit>,
    index: DFF<Bits<8>>,
    too_long: DFF<Bit>,
    ends: Signal<Local, Bit>,
    is_runt: Signal<Local, Bit>,
    damaged: Signal<Local, Bit>,
    only_fcs: Signal<Local, Bit>,
    bad_fcs_pulse: DFF<Bit>,
    runt_pulse: DFF<Bit>,
    oversize_pulse: DFF<Bit>,
    // One beat is held back until it is known whether it is the last.
    held_valid: DFF<Bit>,
    held: DFF<Beat>,
    out_valid: DFF<Bit>,
    out: DFF<Beat>,
}

impl FcsCheck {
    /// `fcs` says who checks and strips; frames may have up to `max_beats` beats, FCS included if it is
    /// there.
    ///
    /// # Panics
    /// If `max_beats` is not 2 to 255.
    #[must_use]
    pub fn new(fcs: Fcs, max_beats: usize) -> Self {
        assert!((2..=255).contains(&max_beats), "{max_beats} beats");
        let stripped_before = if fcs == Fcs::InMac { 4 } else { 0 };
        Self {
            clock: Signal::default(),
            valid: Signal::default(),
            beat: Signal::default(),
            stripped_valid: Signal::default(),
            stripped: Signal::default(),
            bad_fcs: Signal::default(),
            runt: Signal::default(),
            oversize: Signal::default(),
            here: Constant::new(fcs == Fcs::InCard),
            residue: Constant::new(u64::from(RESIDUE).into()),
            min_len: Constant::new((MIN_FRAME - stripped_before).into()),
            last_allowed: Constant::new((max_beats as u64 - 1).into()),
            engine: FcsEngine::default(),
            // Beats leave the engine after one cycle; `aligned` is there with `fcs_ok`, one cycle after the CRC.
            valid_delay: Delay::new(FCS_LATENCY - 1),
            beat_delay: Delay::new(FCS_LATENCY - 1),
            fcs_ok: DFF::default(),
            aligned_valid: DFF::default(),
            aligned: DFF::default(),
            inside: DFF::default(),
            index: DFF::default(),
            too_long: DFF::default(),
            ends: Signal::default(),
            is_runt: Signal::default(),
            damaged: Signal::default(),
            only_fcs: Signal::default(),
            bad_fcs_pulse: DFF::default(),
            runt_pulse: DFF::default(),
            oversize_pulse: DFF::default(),
            held_valid: DFF::default(),
            held: DFF::default(),
            out_valid: DFF::default(),
            out: DFF::default(),
        }
    }
}

impl Logic for FcsCheck {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            fcs_ok,
            aligned_valid,
            aligned,
            inside,
            index,
            too_long
        );
        dff_setup!(self, clock, bad_fcs_pulse, runt_pulse, oversize_pulse);
        dff_setup!(self, clock, held_valid, held, out_valid, out);
        clock!(self, clock, engine, valid_delay, beat_delay);

        self.engine.valid.next = self.valid.val();
        self.engine.beat.next = self.beat.val();
        self.valid_delay.data_in.next = self.engine.zeroed_valid.val();
        self.beat_delay.data_in.next = self.engine.zeroed.val();
        self.fcs_ok.d.next = (self.engine.crc.val() == self.residue.val()) | !self.here.val();
        self.aligned_valid.d.next = self.valid_delay.data_out.val();
        self.aligned.d.next = self.beat_delay.data_out.val();
        // Gated, so that these are registers and not the end of the delay's slow shift register.
        self.aligned.d.next.last =
            self.beat_delay.data_out.val().last & self.valid_delay.data_out.val();
        self.aligned.d.next.err =
            self.beat_delay.data_out.val().err & self.valid_delay.data_out.val();
        if !self.valid_delay.data_out.val() {
            self.aligned.d.next.len = 64.into();
        }

        // The verdict.
        self.ends.next = self.aligned_valid.q.val() & self.aligned.q.val().last;
        if self.aligned_valid.q.val() {
            self.inside.d.next = !self.aligned.q.val().last;
            self.index.d.next = self.index.q.val() + 1;
            if self.index.q.val() == self.last_allowed.val() {
                self.too_long.d.next = true;
            }
            if self.aligned.q.val().last {
                self.index.d.next = 0.into();
                self.too_long.d.next = false;
            }
        }
        self.is_runt.next = !self.inside.q.val() & (self.aligned.q.val().len < self.min_len.val());
        self.damaged.next = self.aligned.q.val().err | !self.fcs_ok.q.val();
        self.runt_pulse.d.next = self.ends.val() & self.is_runt.val();
        self.oversize_pulse.d.next = self.ends.val() & self.too_long.q.val();
        self.bad_fcs_pulse.d.next =
            self.ends.val() & self.damaged.val() & !self.is_runt.val() & !self.too_long.q.val();
        self.runt.next = self.runt_pulse.q.val();
        self.oversize.next = self.oversize_pulse.q.val();
        self.bad_fcs.next = self.bad_fcs_pulse.q.val();

        // The last 4 bytes go.
        self.only_fcs.next = self.here.val() & self.ends.val() & (self.aligned.q.val().len < 5);
        self.out_valid.d.next =
            self.held_valid.q.val() & (self.aligned_valid.q.val() | self.held.q.val().last);
        self.out.d.next = self.held.q.val();
        if self.only_fcs.val() & !self.held.q.val().last {
            self.out.d.next.last = true;
            self.out.d.next.len = bit_cast::<7, 3>(self.aligned.q.val().len.get_bits::<3>(0)) + 60;
            self.out.d.next.err = self.damaged.val() | self.too_long.q.val();
        }
        if self.aligned_valid.q.val() {
            self.held_valid.d.next = !self.only_fcs.val();
            self.held.d.next = self.aligned.q.val();
            if self.aligned.q.val().last {
                self.held.d.next.err =
                    self.damaged.val() | self.too_long.q.val() | self.is_runt.val();
                if self.here.val() {
                    self.held.d.next.len = self.aligned.q.val().len - 4;
                }
            }
        } else if self.held.q.val().last {
            self.held_valid.d.next = false;
        }
        self.stripped_valid.next = self.out_valid.q.val();
        self.stripped.next = self.out.q.val();
    }
}

ferroce_emit::register_leaf!("fcs_check", || FcsCheck::new(Fcs::InCard, 3));
ferroce_emit::register_leaf!("fcs_check_bypassed", || FcsCheck::new(Fcs::InMac, 3));

//! [`Mac100g`] on three clocks, with sources and sinks at its four streams.

use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_mac_100g::{Fcs, Mac100g};
use ferroce_rtl::stream::Beat;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

use crate::frames::Collector;

/// Periods in picoseconds: 250 MHz, 322.265625 MHz, and 100 ppm slower for the far end's transmitter.
const CORE_PS: u64 = 4_000_000;
const MAC_TX_PS: u64 = 3_103_030;
const MAC_RX_PS: u64 = 3_103_340;

/// Probabilities by cycle.
pub struct Rates {
    /// The core offers a beat to be sent.
    pub offer: f64,
    /// The MAC takes one.
    pub mac_ready: f64,
    /// The MAC has a received beat.
    pub arrive: f64,
    /// The core takes it.
    pub ready: f64,
}

/// No one waits.
pub const FULL: Rates = Rates {
    offer: 1.0,
    mac_ready: 1.0,
    arrive: 1.0,
    ready: 1.0,
};

/// Pulses seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub bad_fcs: usize,
    pub runt: usize,
    pub oversize: usize,
    pub overflow: usize,
    pub discarded: usize,
}

pub struct Bench {
    uut: Box<Mac100g>,
    pub random: ChaCha8Rng,
    pub rates: Rates,
    /// Beats to be sent by the core.
    pub tx: VecDeque<Beat>,
    /// Beats about to arrive from the MAC.
    pub mac_rx: VecDeque<Beat>,
    /// What the MAC was given.
    pub mac_tx: Collector,
    /// What the core was given.
    pub rx: Collector,
    pub counts: Counts,
    /// Core cycles so far.
    pub core_cycles: usize,
    next_ps: [u64; 3],
    tx_offered: bool,
    rx_held: Option<Beat>,
    mac_tx_held: Option<Beat>,
}

impl Bench {
    pub fn new(fcs: Fcs, rates: Rates) -> Self {
        let mut uut = Box::new(Mac100g::new(fcs));
        uut.connect_all();
        check_all(uut.as_ref()).expect("the module is wired");
        Self {
            uut,
            random: random(),
            rates,
            tx: VecDeque::new(),
            mac_rx: VecDeque::new(),
            mac_tx: Collector::default(),
            rx: Collector::default(),
            counts: Counts::default(),
            core_cycles: 0,
            next_ps: [CORE_PS, MAC_TX_PS / 3, MAC_RX_PS / 2],
            tx_offered: false,
            rx_held: None,
            mac_tx_held: None,
        }
    }

    /// Runs until `done`, at most `limit` core cycles.
    pub fn run_until(&mut self, limit: usize, mut done: impl FnMut(&mut Self) -> bool) {
        let end = self.core_cycles + limit;
        while !done(self) {
            assert!(self.core_cycles < end, "{:?}, stuck", self.counts);
            self.step();
        }
    }

    /// Runs for some core cycles.
    pub fn run(&mut self, cycles: usize) {
        let end = self.core_cycles + cycles;
        self.run_until(cycles + 1, |bench| bench.core_cycles == end);
    }

    fn simulate(&mut self) {
        assert!(simulate(self.uut.as_mut(), 64), "the circuit oscillates");
    }

    /// The next rising edge of any clock.
    fn step(&mut self) {
        let now = *self.next_ps.iter().min().expect("three clocks");
        let rising = self.next_ps.map(|time| time == now);
        if rising[0] {
            self.drive_core();
        }
        if rising[1] {
            self.uut.mac_tx.ready.next = self.random.gen_bool(self.rates.mac_ready);
        }
        if rising[2] {
            self.drive_mac_rx();
        }
        self.simulate();
        if rising[0] {
            self.sample_core();
            self.uut.core_clock.next = true.into();
            self.next_ps[0] += CORE_PS;
        }
        if rising[1] {
            self.sample_mac_tx();
            self.uut.mac_tx_clock.next = true.into();
            self.next_ps[1] += MAC_TX_PS;
        }
        if rising[2] {
            self.uut.mac_rx_clock.next = true.into();
            self.next_ps[2] += MAC_RX_PS;
        }
        self.simulate();
        self.uut.core_clock.next = false.into();
        self.uut.mac_tx_clock.next = false.into();
        self.uut.mac_rx_clock.next = false.into();
        self.simulate();
    }

    fn drive_core(&mut self) {
        self.tx_offered |= self.random.gen_bool(self.rates.offer);
        self.uut.tx.valid.next = self.tx_offered && !self.tx.is_empty();
        self.uut.tx.data.next = self.tx.front().copied().unwrap_or_default();
        self.uut.rx.ready.next = self.random.gen_bool(self.rates.ready);
    }

    fn drive_mac_rx(&mut self) {
        let beat = if self.random.gen_bool(self.rates.arrive) {
            self.mac_rx.pop_front()
        } else {
            None
        };
        self.uut.mac_rx_valid.next = beat.is_some();
        self.uut.mac_rx_data.next = beat.unwrap_or_default();
    }

    fn sample_core(&mut self) {
        self.core_cycles += 1;
        let uut = &self.uut;
        if uut.tx.valid.next && uut.tx.ready.val() {
            self.tx.pop_front();
            self.tx_offered = false;
        }
        let offered = uut.rx.valid.val().then(|| uut.rx.data.val());
        hold(&mut self.rx_held, offered, uut.rx.ready.next);
        if let (Some(beat), true) = (offered, uut.rx.ready.next) {
            self.rx.take(&beat);
        }
        self.counts.bad_fcs += usize::from(uut.rx_bad_fcs.val());
        self.counts.runt += usize::from(uut.rx_runt.val());
        self.counts.oversize += usize::from(uut.rx_oversize.val());
        self.counts.overflow += usize::from(uut.rx_overflow.val());
        self.counts.discarded += usize::from(uut.tx_discarded.val());
    }

    fn sample_mac_tx(&mut self) {
        let uut = &self.uut;
        let (valid, ready) = (uut.mac_tx.valid.val(), uut.mac_tx.ready.next);
        assert!(
            valid || !ready || !self.mac_tx.is_inside(),
            "a bubble in a frame"
        );
        let offered = valid.then(|| uut.mac_tx.data.val());
        hold(&mut self.mac_tx_held, offered, ready);
        if let (Some(beat), true) = (offered, ready) {
            self.mac_tx.take(&beat);
        }
    }
}

/// An offered beat must stay until it is taken.
fn hold(held: &mut Option<Beat>, offered: Option<Beat>, taken: bool) {
    if held.is_some() {
        assert_eq!(offered, *held, "an offered beat changed");
    }
    *held = if taken { None } else { offered };
}

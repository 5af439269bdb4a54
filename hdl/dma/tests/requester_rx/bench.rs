//! The block, Verilated, between clients and host.

use crate::client::Clients;
use crate::fates::Fate;
use crate::host::{Host, HostConfig};
use ferroce_dma::desc::{PcieLimits, RqTlp};
use ferroce_dma::reader::RequesterRx;
use ferroce_emit::harness::Sim;
use ferroce_emit::prelude::*;
use ferroce_pcie::usp::RcBeat;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Time-out of the block under test (log2 of cycles).
pub const LOG2_TIMEOUT: usize = 13;

/// How the other sides behave.
#[derive(Clone, Copy, Debug)]
pub struct BenchConfig {
    /// Most bytes of a read: 128 shifted left by this.
    pub max_read_req: u8,
    /// Completions that the PCIe block can hold.
    pub headers: usize,
    /// The host.
    pub host: HostConfig,
    /// Probability that a client has a request.
    pub request_rate: f64,
    /// Probability that the TLP stream takes a read.
    pub reads_rate: f64,
    /// Probability that RC has a beat, when there is one.
    pub rc_rate: f64,
    /// Probability that the clients take a beat.
    pub data_rate: f64,
}

/// What the block reported, and how long things took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub failed: usize,
    pub timeouts: usize,
    pub unexpected: usize,
    /// Cycles in which RC had a beat that was not taken.
    pub rc_stalls: u64,
    /// Beats of RC.
    pub rc_beats: u64,
    /// Cycles of the first and the last beat for the clients, and their number.
    pub data_first: u64,
    pub data_last: u64,
    pub data_beats: u64,
}

/// The bench.
pub struct Bench {
    sim: Sim,
    pub config: BenchConfig,
    pub clients: Clients,
    pub host: Host,
    pub rng: ChaCha8Rng,
    pub counts: Counts,
    request: Option<DmaReadReq>,
    rc: Option<RcBeat>,
    rc_open: bool,
}

impl Bench {
    pub fn new(config: BenchConfig, rng: ChaCha8Rng) -> Self {
        let mut sim = Sim::new("requester_rx", || {
            RequesterRx::with_headers(LOG2_TIMEOUT, config.headers)
        });
        sim.set(
            "limits",
            &PcieLimits {
                max_payload: 1.into(),
                max_read_req: u64::from(config.max_read_req).into(),
            },
        );
        let mut bench = Self {
            sim,
            config,
            clients: Clients::new(config.max_read_req),
            host: Host::new(config.host, config.headers),
            rng,
            counts: Counts::default(),
            request: None,
            rc: None,
            rc_open: true,
        };
        // The block has the limits in registers.
        for _ in 0..4 {
            bench.sim.tick();
        }
        bench
    }

    pub fn now(&self) -> u64 {
        self.sim.cycle
    }

    /// Whether everything is answered.
    pub fn idle(&self) -> bool {
        self.request.is_none() && self.rc.is_none() && self.clients.idle() && self.host.idle()
    }

    /// Lets RC have beats, or none.
    pub fn open_rc(&mut self, open: bool) {
        self.rc_open = open;
    }

    /// Lets the next beat of RC be noise.
    pub fn noise(&mut self) {
        let words: Vec<u32> = (0..RcBeat::WORDS).map(|_| self.rng.gen()).collect();
        self.rc = Some(RcBeat::unpack(&words));
    }

    /// One cycle. `next` makes requests, `fate` decides about read TLPs.
    pub fn cycle(
        &mut self,
        next: &mut dyn FnMut(&mut Clients, &mut ChaCha8Rng) -> Option<DmaReadReq>,
        fate: &mut dyn FnMut(&mut ChaCha8Rng) -> Fate,
    ) {
        let now = self.now();
        if self.request.is_none() && self.rng.gen_bool(self.config.request_rate) {
            self.request = next(&mut self.clients, &mut self.rng);
        }
        if self.rc.is_none() && self.rc_open && self.rng.gen_bool(self.config.rc_rate) {
            self.rc = self.host.beat(&mut self.clients, now, &mut self.rng);
        }
        self.sim.offer("request", self.request.as_ref());
        self.sim.set("rc_valid", &self.rc.is_some());
        if let Some(beat) = &self.rc {
            self.sim.set_words("rc_data", &beat.to_words());
        }
        let reads_ready = self.rng.gen_bool(self.config.reads_rate);
        let data_ready = self.rng.gen_bool(self.config.data_rate);
        self.sim.set("reads_ready", &reads_ready);
        self.sim.set("data_ready", &data_ready);
        self.sim.settle();

        if self.sim.taken("request") {
            let request = self.request.take().expect("an offer");
            self.clients.sent(&request);
        }
        if self.rc.is_some() {
            if self.sim.taken("rc") {
                self.rc = None;
                self.counts.rc_beats += 1;
            } else {
                self.counts.rc_stalls += 1;
            }
        }
        if self.sim.taken("reads") {
            let tlp: RqTlp = self.sim.get("reads_data");
            let fate = fate(&mut self.rng);
            self.host
                .read(&tlp, fate, &mut self.clients, now, &mut self.rng);
        }
        if self.sim.taken("data") {
            let beat: DmaReadBeat = self.sim.get("data_data");
            self.clients.beat(&beat);
            if self.counts.data_beats == 0 {
                self.counts.data_first = now;
            }
            self.counts.data_last = now;
            self.counts.data_beats += 1;
        }
        self.counts.failed += usize::from(self.sim.high("failed"));
        self.counts.timeouts += self.sim.get::<Bits<2>>("timeouts").index();
        self.counts.unexpected += usize::from(self.sim.high("unexpected"));
        self.sim.tick();
    }

    /// Cycles without new requests until everything is answered.
    ///
    /// # Panics
    /// If that takes more than `most`.
    pub fn drain(&mut self, most: u64) {
        let end = self.now() + most;
        self.drain_until(|_| end, "everything");
    }

    /// The same for as long as it takes: with little room for completions answers come slowly, but they keep coming.
    ///
    /// # Panics
    /// If none comes for `most` cycles.
    pub fn drain_steadily(&mut self, most: u64) {
        let mut last = (self.now(), self.counts.data_beats);
        let next = move |bench: &Self| {
            if last.1 != bench.counts.data_beats {
                last = (bench.now(), bench.counts.data_beats);
            }
            last.0 + most
        };
        self.drain_until(next, "nothing more comes: the rest");
    }

    fn drain_until(&mut self, mut end: impl FnMut(&Self) -> u64, what: &str) {
        let begin = self.now();
        while !self.idle() {
            let waited = self.now() - begin;
            assert!(
                self.now() < end(self),
                "{waited} cycles, and {what} is not answered"
            );
            self.cycle(&mut |_, _| None, &mut |_| Fate::Good);
        }
        // Pulses come behind the beats.
        for _ in 0..40 {
            self.cycle(&mut |_, _| None, &mut |_| Fate::Good);
        }
    }

    /// The block must have counted what the host has done.
    pub fn check_counts(&self) {
        assert_eq!(self.counts.failed, self.host.failed, "failed reads");
        assert_eq!(self.counts.timeouts, self.host.timeouts, "time-outs");
        assert_eq!(self.counts.unexpected, self.host.strays, "strays");
    }
}

//! Messages of all kinds over the QPs of a pair, with every completion and every byte checked.

mod flow;

use anyhow::{bail, ensure, Context, Result};
use ferroce_driver::{Completion, Counters};
use ferroce_sim::load::Op;
use ferroce_sim::pair::Pair;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::image::Image;
use flow::Flow;

/// Core cycles without any completion after which traffic counts as stuck: 4 ms.
const STALL_CYCLES: u64 = 1_000_000;
/// Core cycles after which a card without work has nothing on its way to the host or the peer.
const DRAIN_CYCLES: u64 = 2_000;

/// A message to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Kind.
    pub op: Op,
    /// Bytes.
    pub len: usize,
}

/// Traffic of a pair. Addresses, keys of empty messages, immediates, batches, and which messages are signaled or
/// solicited, are random.
pub struct Traffic<'a> {
    pair: &'a Pair,
    rng: ChaCha8Rng,
    sources: [Image; 2],
    targets: [Image; 2],
    flows: Vec<Flow>,
    lagging: bool,
}

impl<'a> Traffic<'a> {
    /// No traffic yet. No message will be longer than `source` bytes; what one side receives, with some space in
    /// between, fits `target` bytes.
    ///
    /// # Errors
    /// Of the driver.
    pub fn new(pair: &'a Pair, mut rng: ChaCha8Rng, source: usize, target: usize) -> Result<Self> {
        let mut image = |side: usize, len| Image::new(&pair.sides[side].pd, len, &mut rng);
        Ok(Self {
            pair,
            sources: [image(0, source)?, image(1, source)?],
            targets: [image(0, target)?, image(1, target)?],
            flows: Vec::new(),
            lagging: false,
            rng,
        })
    }

    /// Senders do not wait for receive requests, which come late: messages meet with RNR NAKs.
    pub fn lag(&mut self) {
        self.lagging = true;
    }

    /// Adds messages from side `from` over QP number `qp`, in this order. One call for each direction of a QP.
    ///
    /// # Errors
    /// The memory is used up.
    pub fn add(&mut self, from: usize, qp: usize, messages: &[Message]) -> Result<()> {
        ensure!(
            self.flow(from, self.pair.sides[from].qps[qp].qpn(), true)
                .is_err(),
            "QP {qp} of side {from} has its messages already"
        );
        let number = self.flows.len() as u64;
        let mut flow = Flow::new(number, from, qp, self.pair);
        for message in messages {
            flow.add(*message, &self.sources, &mut self.targets, &mut self.rng)?;
        }
        flow.close();
        self.flows.push(flow);
        Ok(())
    }

    /// Sends everything and checks everything. Returns how the counters of both sides have changed.
    ///
    /// # Errors
    /// A completion is missing, superfluous, out of order or wrong; a byte is wrong; the cards stop.
    pub fn run(mut self) -> Result<[Counters; 2]> {
        let before = self.counters()?;
        let mut last = self.pair.sim.with(|w| w.cycles());
        while !self.flows.iter().all(Flow::done) {
            for flow in &mut self.flows {
                flow.post(self.pair, self.lagging, &mut self.rng)?;
            }
            self.pair.sim.step()?;
            let now = self.pair.sim.with(|w| w.cycles());
            if self.reap()? > 0 {
                last = now;
            } else if now - last > STALL_CYCLES {
                bail!("nothing moves any more: {}", self.progress()?);
            }
        }
        self.pair.sim.with(|w| w.run(DRAIN_CYCLES))?;
        ensure!(self.reap()? == 0, "there are more completions than work");
        for side in 0..2 {
            self.sources[side]
                .check()
                .with_context(|| format!("sources of side {side}"))?;
            self.targets[side]
                .check()
                .with_context(|| format!("targets of side {side}"))?;
        }
        let [a, b] = self.counters()?;
        Ok([a.since(&before[0]), b.since(&before[1])])
    }

    fn counters(&self) -> Result<[Counters; 2]> {
        let [a, b] = &self.pair.sides;
        Ok([a.device.counters()?, b.device.counters()?])
    }

    fn progress(&self) -> Result<String> {
        let flows: Vec<String> = self.flows.iter().map(ToString::to_string).collect();
        let [a, b] = self.counters()?;
        Ok(format!("{}\nside 0:\n{a}\nside 1:\n{b}", flows.join("\n")))
    }

    /// Takes and checks completions; how many there were.
    fn reap(&mut self) -> Result<usize> {
        let mut count = 0;
        for side in 0..2 {
            let max = self.rng.gen_range(1..32);
            let sent = self.pair.sides[side].send_cq.poll(max)?;
            let received = self.pair.sides[side].recv_cq.poll(max)?;
            count += sent.len() + received.len();
            for completion in sent {
                self.take(side, &completion, true)?;
            }
            for completion in received {
                self.take(side, &completion, false)?;
            }
        }
        Ok(count)
    }

    fn take(&mut self, side: usize, completion: &Completion, send: bool) -> Result<()> {
        let from = if send { side } else { 1 - side };
        let index = self.flow(from, completion.qpn, send)?;
        let flow = &mut self.flows[index];
        let checked = if send {
            flow.sent(completion, &self.targets[side])
        } else {
            flow.received(completion, &self.targets[side])
        };
        checked.with_context(|| format!("side {side}, {completion:?}; {flow}"))
    }

    /// The flow from side `from` whose sender, or else receiver, is QP `qpn`.
    fn flow(&self, from: usize, qpn: u32, sender: bool) -> Result<usize> {
        let side = if sender { from } else { 1 - from };
        let found = self
            .flows
            .iter()
            .position(|f| f.from == from && self.pair.sides[side].qps[f.qp].qpn() == qpn);
        found.with_context(|| format!("QP {qpn} of side {side} has no messages"))
    }
}

/// Random messages of up to `longest` bytes, short ones more often.
pub fn random_messages(rng: &mut ChaCha8Rng, count: usize, longest: usize) -> Vec<Message> {
    let bits = usize::BITS - longest.leading_zeros();
    (0..count)
        .map(|_| Message {
            op: Op::ALL[rng.gen_range(0..Op::ALL.len())],
            len: {
                let shift = rng.gen_range(0..bits);
                rng.gen_range(0..=longest >> shift)
            },
        })
        .collect()
}

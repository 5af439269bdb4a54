//! Completion events and interrupts of whole cards.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{ensure, Result};
use ferroce_abi::regs::{in_page, EqDoorbell, EQ_DOORBELL, MSIX_PBA, MSIX_TABLE};
use ferroce_driver::{
    Access, Bar, Counter, Cq, DoorbellPage, Eq, EqAttr, Event, InitAttr, Interrupts, Mr, Qp,
    RecvWr, RtrAttr, RtsAttr, SendWr,
};
use ferroce_sim::link::LinkConfig;
use ferroce_sim::pair::Pair;
use ferroce_tests::model;
use ferroce_tests::seed::seed;
use ferroce_tests::setup::{pair, world, Connection};

/// Core cycles in which a message, its completion, event and interrupt arrive: several times what they take.
const SETTLE: u64 = 4_000;
/// No interrupt comes.
const SILENCE: Duration = Duration::from_micros(5);
/// An interrupt comes much sooner.
const LONG: Duration = Duration::from_millis(1);
const VECTOR: u8 = 2;

/// Card 0 sends to card 1, whose CQs have an EQ.
struct Bench {
    pair: Pair,
    bar: Arc<dyn Bar>,
    interrupts: Arc<dyn Interrupts>,
    eq: Eq,
    recv_cq: Cq,
    send_cq: Cq,
    qps: [Qp; 2],
    memory: [Mr; 2],
    page: Option<DoorbellPage>,
    sent: u64,
}

impl Bench {
    fn new(attr: EqAttr, cq_entries: usize, own_page: bool) -> Result<Self> {
        let link = LinkConfig::default();
        let pair = pair(
            &model::small()?,
            &world(link, seed()),
            16,
            &[Connection::default()],
        )?;
        let interrupts = pair.sim.interrupts(1)?;
        let (bar, _) = pair.sim.host(1);
        let device = &pair.sides[1].device;
        let page = own_page.then(|| device.create_page()).transpose()?;
        let eq = device.create_eq(attr, page.as_ref())?;
        let recv_cq = device.create_cq_with(&eq, page.as_ref(), cq_entries)?;
        let send_cq = device.create_cq_with(&eq, None, 16)?;
        let from = pair.sides[0].pd.qp(&pair.sides[0].send_cq).build()?;
        let to = pair.sides[1]
            .pd
            .qp(&send_cq)
            .recv_cq(&recv_cq)
            .recv_depth(16)
            .build()?;
        for (me, peer, side) in [(&from, &to, 1), (&to, &from, 0)] {
            let rtr = RtrAttr::new(pair.sides[side].address, peer.qpn(), 7);
            me.connect(InitAttr::default(), rtr, RtsAttr::new(7))?;
        }
        let allocate = |side: usize| pair.sides[side].pd.allocate(4096, Access::LOCAL_WRITE);
        Ok(Self {
            memory: [allocate(0)?, allocate(1)?],
            qps: [from, to],
            pair,
            bar,
            interrupts,
            eq,
            recv_cq,
            send_cq,
            page,
            sent: 0,
        })
    }

    fn usual() -> Result<Self> {
        Self::new(EqAttr::new(16, VECTOR), 16, false)
    }

    /// Messages from card `from` to the other; all that comes of them has come.
    fn send(&mut self, from: usize, solicited: &[bool]) -> Result<()> {
        for &solicited in solicited {
            let to = 1 - from;
            self.qps[to].post_recv(RecvWr::new(self.sent, self.memory[to].sge(0..64)?))?;
            let wr = SendWr::send(self.sent, self.memory[from].sge(0..64)?);
            let wr = if solicited { wr.solicited() } else { wr };
            self.qps[from].post_send(wr)?;
            self.sent += 1;
        }
        self.run(SETTLE)
    }

    fn run(&self, cycles: u64) -> Result<()> {
        Ok(self.pair.sim.with(|world| world.run(cycles))?)
    }

    fn interrupted(&self, within: Duration) -> Result<u64> {
        Ok(self.interrupts.wait(VECTOR, within)?)
    }

    fn received(&self) -> Event {
        Event::Completion {
            cqn: self.recv_cq.cqn(),
        }
    }

    fn count(&self, counter: Counter) -> Result<u64> {
        Ok(self.pair.sides[1].device.counter(counter)?)
    }
}

#[test]
fn an_armed_queue_tells_once() -> Result<()> {
    let mut bench = Bench::usual()?;
    // Not armed: nothing.
    bench.eq.arm()?;
    bench.send(0, &[false; 2])?;
    ensure!(bench.eq.poll()?.is_empty());
    ensure!(bench.interrupted(SILENCE)? == 0);
    ensure!(bench.recv_cq.poll(16)?.len() == 2);
    // Armed: one event and one interrupt for two completions.
    ensure!(!bench.recv_cq.request_notify(false)?);
    bench.send(0, &[false; 2])?;
    ensure!(bench.interrupted(LONG)? == 1);
    ensure!(bench.eq.poll()? == [bench.received()]);
    ensure!(bench.recv_cq.poll(16)?.len() == 2);
    // The EQ is not armed any more: an event, and no interrupt until it is armed.
    bench.recv_cq.request_notify(false)?;
    bench.send(0, &[false])?;
    ensure!(bench.interrupted(SILENCE)? == 0);
    bench.eq.arm()?;
    ensure!(bench.interrupted(LONG)? == 1);
    ensure!(bench.eq.poll()? == [bench.received()]);
    ensure!(bench.interrupted(SILENCE)? == 0);
    ensure!(bench.count(Counter::EqeWritten)? == 2);
    ensure!(bench.count(Counter::Interrupts)? == 2);
    ensure!(bench.count(Counter::EqeDropped)? == 0);
    Ok(())
}

#[test]
fn a_completion_before_the_arming_is_told_at_once() -> Result<()> {
    let mut bench = Bench::usual()?;
    bench.send(0, &[false])?;
    bench.recv_cq.request_notify(false)?;
    let events = bench.eq.wait(bench.interrupts.as_ref(), LONG)?;
    ensure!(events == [bench.received()]);
    // A completion that was taken is not told again.
    ensure!(bench.recv_cq.poll(16)?.len() == 1);
    bench.recv_cq.request_notify(false)?;
    let none = bench.eq.wait(bench.interrupts.as_ref(), SILENCE)?;
    ensure!(none.is_empty());
    bench.send(0, &[false])?;
    let events = bench.eq.wait(bench.interrupts.as_ref(), LONG)?;
    ensure!(events == [bench.received()]);
    Ok(())
}

#[test]
fn solicited_only_means_solicited_and_failed_ones() -> Result<()> {
    let mut bench = Bench::usual()?;
    bench.send(0, &[false])?;
    bench.recv_cq.request_notify(true)?;
    bench.send(0, &[false; 2])?;
    ensure!(bench.eq.poll()?.is_empty());
    bench.send(0, &[true])?;
    ensure!(bench.eq.poll()? == [bench.received()]);
    // A solicited one that was not seen before the arming.
    bench.recv_cq.request_notify(true)?;
    bench.run(SETTLE)?;
    ensure!(bench.eq.poll()? == [bench.received()]);
    ensure!(bench.recv_cq.poll(16)?.len() == 4);
    bench.recv_cq.request_notify(true)?;
    bench.run(SETTLE)?;
    ensure!(bench.eq.poll()?.is_empty());
    // A message longer than the buffer fails; what was asked for stays asked for.
    bench.qps[1].post_recv(RecvWr::new(0, bench.memory[1].sge(0..4)?))?;
    bench.qps[0].post_send(SendWr::send(0, bench.memory[0].sge(0..64)?))?;
    bench.run(SETTLE)?;
    ensure!(bench.eq.poll()? == [bench.received()]);
    ensure!(bench
        .recv_cq
        .poll(16)?
        .iter()
        .any(|done| done.ok().is_err()));
    Ok(())
}

#[test]
fn two_queues_share_an_event_queue() -> Result<()> {
    let mut bench = Bench::usual()?;
    bench.recv_cq.request_notify(false)?;
    bench.send_cq.request_notify(false)?;
    bench.eq.arm()?;
    bench.send(1, &[false])?;
    let sent = Event::Completion {
        cqn: bench.send_cq.cqn(),
    };
    ensure!(bench.eq.poll()? == [sent]);
    bench.send(0, &[false])?;
    ensure!(bench.eq.poll()? == [bench.received()]);
    ensure!(bench.interrupted(SILENCE)? == 1);
    Ok(())
}

#[test]
fn a_full_event_queue_drops_and_says_so() -> Result<()> {
    let mut bench = Bench::new(EqAttr::new(2, VECTOR), 16, false)?;
    bench.eq.arm()?;
    for _ in 0..4 {
        bench.recv_cq.request_notify(false)?;
        bench.send(0, &[false])?;
        ensure!(bench.recv_cq.poll(16)?.len() == 1);
    }
    ensure!(bench.count(Counter::EqeWritten)? == 2);
    ensure!(bench.count(Counter::EqeDropped)? == 2);
    ensure!(bench.eq.poll()? == [bench.received(), bench.received()]);
    bench.run(SETTLE)?;
    ensure!(bench.eq.poll()? == [Event::EqOverrun]);
    // It goes on.
    bench.recv_cq.request_notify(false)?;
    bench.send(0, &[false])?;
    ensure!(bench.eq.poll()? == [bench.received()]);
    Ok(())
}

#[test]
fn a_full_completion_queue_is_told_without_arming() -> Result<()> {
    let mut bench = Bench::new(EqAttr::new(16, VECTOR), 2, false)?;
    bench.eq.arm()?;
    bench.send(0, &[false; 4])?;
    let overrun = Event::CqOverrun {
        cqn: bench.recv_cq.cqn(),
    };
    ensure!(bench.interrupted(LONG)? == 1);
    // Once, for two lost completions.
    ensure!(bench.eq.poll()? == [overrun]);
    ensure!(bench.count(Counter::CqeDropped)? == 2);
    Ok(())
}

#[test]
fn a_masked_vector_interrupts_when_it_is_unmasked() -> Result<()> {
    let mut bench = Bench::usual()?;
    let entry = MSIX_TABLE + 16 * u64::from(VECTOR);
    bench.bar.write32(entry + 12, 1)?;
    bench.eq.arm()?;
    bench.recv_cq.request_notify(false)?;
    bench.send(0, &[false])?;
    ensure!(bench.interrupted(SILENCE)? == 0);
    ensure!(bench.bar.read64(MSIX_PBA)? == 1 << VECTOR);
    ensure!(bench.bar.read32(entry + 12)? == 1);
    bench.bar.write32(entry + 12, 0)?;
    ensure!(bench.interrupted(LONG)? == 1);
    ensure!(bench.bar.read64(MSIX_PBA)? == 0);
    ensure!(bench.interrupted(SILENCE)? == 0);
    // The function's mask does the same.
    let mask = |mask| {
        let sim = &bench.pair.sim;
        sim.with(|world| world.card_mut(1).host.set_msix(true, mask));
    };
    mask(true);
    ensure!(bench.eq.poll()? == [bench.received()]);
    bench.recv_cq.poll(16)?;
    bench.recv_cq.request_notify(false)?;
    bench.eq.arm()?;
    bench.qps[1].post_recv(RecvWr::new(9, bench.memory[1].sge(0..64)?))?;
    bench.qps[0].post_send(SendWr::send(9, bench.memory[0].sge(0..64)?))?;
    ensure!(bench.interrupted(SILENCE)? == 0);
    mask(false);
    ensure!(bench.interrupted(LONG)? == 1);
    Ok(())
}

#[test]
fn interrupts_keep_their_distance() -> Result<()> {
    let gap = Duration::from_micros(60);
    let attr = EqAttr {
        gap,
        ..EqAttr::new(16, VECTOR)
    };
    let mut bench = Bench::new(attr, 16, false)?;
    let mut times = Vec::new();
    for round in 0..3 {
        bench.eq.arm()?;
        bench.recv_cq.request_notify(false)?;
        bench.send(0, &[false])?;
        // The event is there, the interrupt may have to wait.
        ensure!(bench.eq.poll()? == [bench.received()]);
        bench.recv_cq.poll(16)?;
        ensure!(bench.interrupted(LONG)? == 1, "round {round}");
        times.push(bench.pair.sim.now_fs());
    }
    for pair in times.windows(2) {
        let apart = Duration::from_nanos((pair[1] - pair[0]) / 1_000_000);
        // The first was looked at late, by what a message takes.
        ensure!(apart > gap - Duration::from_micros(20), "{apart:?}");
        ensure!(apart < gap + Duration::from_micros(20), "{apart:?}");
    }
    Ok(())
}

#[test]
fn another_page_does_not_ring() -> Result<()> {
    let mut bench = Bench::new(EqAttr::new(16, VECTOR), 16, true)?;
    let own = bench.page.as_ref().map_or(0, DoorbellPage::number);
    ensure!(own != 0);
    let arm = EqDoorbell {
        eqn: bench.eq.eqn(),
        arm: true,
        consumer: 0,
    };
    bench.bar.write64(in_page(0, EQ_DOORBELL), arm.to_bits())?;
    bench.recv_cq.request_notify(false)?;
    bench.send(0, &[false])?;
    ensure!(bench.interrupted(SILENCE)? == 0);
    ensure!(bench.count(Counter::DoorbellsForeign)? == 1);
    bench.eq.arm()?;
    ensure!(bench.interrupted(LONG)? == 1);
    ensure!(bench.eq.poll()? == [bench.received()]);
    Ok(())
}

#[test]
fn a_foreign_write_is_told() -> Result<()> {
    let bench = Bench::usual()?;
    let device = bench.pair.sides[1].device.clone();
    device.set_async_eq(Some(&bench.eq))?;
    bench.eq.arm()?;
    // The region takes no remote writes.
    let target = bench.memory[1].remote(0)?;
    bench.qps[0].post_send(SendWr::write(1, bench.memory[0].sge(0..64)?, target))?;
    bench.run(SETTLE)?;
    let qpn = bench.qps[1].qpn();
    ensure!(bench.interrupted(LONG)? == 1);
    ensure!(bench.eq.poll()? == [Event::QpAccessError { qpn }]);
    Ok(())
}

#[test]
fn a_receive_buffer_out_of_bounds_is_told_where_it_was_wished() -> Result<()> {
    let bench = Bench::usual()?;
    let device = bench.pair.sides[1].device.clone();
    let fail = || -> Result<()> {
        let stranger = device.create_pd()?.allocate(4096, Access::LOCAL_WRITE)?;
        bench.qps[1].post_recv(RecvWr::new(0, stranger.sge(0..64)?))?;
        bench.qps[0].post_send(SendWr::send(0, bench.memory[0].sge(0..64)?))?;
        bench.run(SETTLE)
    };
    let own = device.create_eq(EqAttr::new(4, 1), None)?;
    device.set_async_eq(Some(&own))?;
    fail()?;
    let qpn = bench.qps[1].qpn();
    ensure!(own.poll()? == [Event::QpFatal { qpn }]);
    // An EQ that goes takes them no more, and is not held by them.
    drop(own);
    let again = device.create_eq(EqAttr::new(4, 1), None)?;
    bench.run(SETTLE)?;
    ensure!(again.poll()?.is_empty() && bench.eq.poll()?.is_empty());
    Ok(())
}

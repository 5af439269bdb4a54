//! Messages of many packets, up to the longest that the standard allows. The soak test sends whole ones of 2^31 bytes.

use std::ops::Range;
use std::time::Instant;

use anyhow::{ensure, Context, Result};
use ferroce_abi::limits::MAX_MESSAGE;
use ferroce_abi::wqe::SqWqe;
use ferroce_driver::{
    Access, Completion, Counter, Cq, Error, Mr, Pmtu, RecvWr, SendOp, SendWr, Sge, Status,
};
use ferroce_sim::card::lock;
use ferroce_sim::host::pattern_buffer;
use ferroce_sim::link::LinkConfig;
use ferroce_sim::pair::{Pair, PairError};
use ferroce_sim::time::NS_FS;
use ferroce_tests::extra::{extra, join};
use ferroce_tests::model;
use ferroce_tests::peer::add24;
use ferroce_tests::seed::{rng, rounds, seed};
use ferroce_tests::setup::{connect, pair, world, Connection};
use ferroce_tests::traffic::{random_messages, Traffic};
use rand::Rng;

/// Delay of the cable, ten times the usual one: the simulation goes in steps of that length, and long ones are faster.
const DELAY_FS: u64 = 3_000 * NS_FS;
const IMM: u32 = 0x0102_0304;
/// Bytes of the short message behind a long one.
const SHORT: usize = 100;

/// Two cards with a QP, and memory for a long message on both sides.
struct Line {
    pair: Pair,
    connection: Connection,
    source: Mr,
    target: Mr,
}

impl Line {
    /// The message is as long as the memory, which begins anywhere in a page.
    fn new(connection: Connection, len: usize) -> Result<Self> {
        let seed = seed();
        let mut rng = rng(seed);
        let link = LinkConfig {
            delay_fs: DELAY_FS,
            ..LinkConfig::default()
        };
        let pair = pair(&model::small()?, &world(link, seed), 4, &[connection])?;
        let mut region = |side: usize, access| {
            let offset = rng.gen_range(0..4096);
            let buffer = pattern_buffer(&pair.sim, side, len, offset, seed);
            pair.sides[side].pd.register(buffer, access)
        };
        let source = region(0, Access::NONE)?;
        let target = region(1, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
        Ok(Self {
            pair,
            connection,
            source,
            target,
        })
    }

    /// The first `len` bytes of the message.
    fn write(&self, wr_id: u64, len: usize) -> Result<SendWr> {
        let local = self.source.sge(0..len)?;
        Ok(SendWr::write(wr_id, local, self.target.remote(0)?))
    }

    fn wait(&self, cq: &Cq, count: usize, cycles: u64) -> Result<Vec<Completion>> {
        let mut done = Vec::new();
        self.pair
            .sim
            .run_until::<PairError>("completions", cycles, || {
                done.extend(cq.poll(count - done.len())?);
                Ok(done.len() == count)
            })?;
        Ok(done)
    }

    /// Which bytes have arrived, all of them right: begin and end of each piece.
    fn arrived(&self) -> Result<Vec<(u64, u64)>> {
        self.pair.sim.with(|world| {
            let faults = world.card(1).host.stats().faults;
            ensure!(faults == 0, "{faults} accesses hit no memory");
            let memory = lock(world.card(1).memory());
            let pattern = memory.pattern(self.target.addr()).context("no pattern")?;
            let wrong = pattern.first_wrong();
            ensure!(wrong.is_none(), "byte {wrong:x?} is wrong");
            Ok(pattern.written().iter().map(|r| (r.start, r.end)).collect())
        })
    }

    /// All QPs of both sides are made anew, and work.
    fn works_again(&self) -> Result<()> {
        // Both sides are down before one comes up, or old packets would be taken for new ones.
        for side in &self.pair.sides {
            side.qps[0].reset()?;
        }
        self.pair.sim.with(|world| world.run(3000))?;
        connect(&self.pair, 0, &self.connection)?;
        let mut rng = rng(1);
        let mut traffic = Traffic::new(&self.pair, rng.clone(), 1 << 14, 1 << 18)?;
        for from in 0..2 {
            traffic.add(from, 0, &random_messages(&mut rng, 8, 3000))?;
        }
        traffic.run()?;
        Ok(())
    }
}

/// What is lost, and what comes of it.
struct Loss {
    /// Frames, counted back from the short message's, which is number 0.
    frames: Range<u64>,
    /// Why the sender goes back.
    counter: Counter,
}

/// A long message and a short one behind it. Frames near the end are lost, so that the sender goes back to there.
fn carry(send: bool, pmtu: Pmtu, len: usize, loss: &Loss) -> Result<()> {
    let packets = pmtu.packets(len as u32);
    let connection = Connection {
        pmtu,
        // PSN 0 is in the middle of the message.
        psn: [add24(0, (packets / 2).wrapping_neg()), 7],
        ..Connection::default()
    };
    let line = Line::new(connection, len)?;
    let [sender, receiver] = &line.pair.sides;
    let before = [sender.device.counters()?, receiver.device.counters()?];
    let packets = u64::from(packets);
    line.pair.sim.with(|world| {
        let lost = packets + 1 - loss.frames.end..packets + 1 - loss.frames.start;
        world.card_mut(1).incoming.drop_frames(lost);
    });

    let source = sender.pd.allocate(SHORT, Access::NONE)?;
    source.write(0, &[0x5a; SHORT])?;
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let short = receiver.pd.allocate(SHORT, rights)?;
    let long = if send {
        let buffer = line.target.sge(0..len)?;
        receiver.qps[0].post_recv(RecvWr::new(3, buffer))?;
        let local = line.source.sge(0..len)?;
        SendWr::new(1, SendOp::SendWithImm(IMM), local)
    } else {
        line.write(1, len)?
    };
    let (start, wall) = (line.pair.sim.with(|w| w.cycles()), Instant::now());
    sender.qps[0].post_send_list(&[
        long,
        SendWr::write(2, source.sge(0..SHORT)?, short.remote(0)?),
    ])?;
    // Twice the time that the beats take on the wire is more than enough for any packet size.
    let done = line.wait(&sender.send_cq, 2, 2 * len as u64 / 64 + 200_000)?;
    let cycles = line.pair.sim.with(|w| w.cycles()) - start;
    let seconds = wall.elapsed().as_secs_f64();
    println!(
        "{len} bytes, {packets} packets: {cycles} cycles in {seconds:.1} s, {:.0} cycles/s",
        cycles as f64 / seconds
    );

    for (completion, (wr_id, len)) in done.iter().zip([(1, len), (2, SHORT)]) {
        ensure!(
            (completion.wr_id, completion.status) == (wr_id, Status::Success),
            "{done:?}"
        );
        ensure!(completion.byte_len as usize == len, "{done:?}");
    }
    let received = receiver.recv_cq.poll(2)?;
    if send {
        ensure!(received.len() == 1, "{received:?}");
        let completion = &received[0];
        ensure!(
            (completion.wr_id, completion.status, completion.imm)
                == (3, Status::Success, Some(IMM))
                && completion.byte_len as usize == len,
            "{received:?}"
        );
    } else {
        ensure!(received.is_empty(), "{received:?}");
    }
    let arrived = line.arrived()?;
    ensure!(arrived == [(0, len as u64)], "{arrived:x?}");
    ensure!(short.to_vec(0..SHORT)? == [0x5a; SHORT]);

    let counted = [
        sender.device.counters()?.since(&before[0]),
        receiver.device.counters()?.since(&before[1]),
    ];
    for (side, counter, want) in [
        (1, Counter::RxMessages, 2),
        (1, Counter::RxRequests, packets + 1),
        (1, Counter::RxPayloadBytes, (len + SHORT) as u64),
        (0, loss.counter, 1),
        (0, Counter::Retransmits, 1),
    ] {
        let count = counted[side].get(counter);
        ensure!(count == want, "{count} {}, not {want}", counter.name());
    }
    // It went back, and not far: to the lost packet, or to the last one that was acknowledged, and one in 16 is.
    let again = counted[0].get(Counter::TxRequests) - (packets + 1);
    ensure!((1..64).contains(&again), "{again} packets were repeated");
    Ok(())
}

/// Large packets; the gap shows with the next one.
#[test]
fn a_long_write_goes_back_near_its_end() -> Result<()> {
    let len = rounds((64 << 20) + 3, MAX_MESSAGE.into());
    let loss = Loss {
        frames: 5..6,
        counter: Counter::SequenceNaks,
    };
    carry(false, Pmtu::B4096, len as usize, &loss)
}

/// More packets than 16 bits count, at most as many as half of the PSN space; the end is lost, so only the time-out
/// helps.
#[test]
fn a_long_send_in_many_packets_loses_its_end() -> Result<()> {
    let len = rounds((17 << 20) + 5, MAX_MESSAGE.into());
    let loss = Loss {
        frames: 0..4,
        counter: Counter::Timeouts,
    };
    carry(true, Pmtu::B256, len as usize, &loss)
}

/// The longest message with each path MTU is begun right; torn down in the middle, it leaves nothing behind.
#[test]
fn the_longest_message_begins_and_is_abandoned() -> Result<()> {
    let len = MAX_MESSAGE as usize;
    for pmtu in Pmtu::ALL {
        let connection = Connection {
            pmtu,
            ..Connection::default()
        };
        let line = Line::new(connection, len)?;
        let [sender, _] = &line.pair.sides;
        sender.qps[0].post_send_list(&[line.write(1, len)?, line.write(2, 1)?])?;
        line.pair.sim.with(|world| world.run(20_000))?;
        ensure!(sender.send_cq.poll(1)?.is_empty());
        let arrived = line.arrived()?;
        // All that the wire carries in this time, with the headers of the smallest packets, less the way there.
        ensure!(
            arrived.len() == 1 && arrived[0].0 == 0 && arrived[0].1 > 500_000,
            "{arrived:x?} with {pmtu:?}"
        );
        sender.qps[0].to_error()?;
        let done = line.wait(&sender.send_cq, 2, 10_000)?;
        ensure!(
            done.iter()
                .map(|c| (c.wr_id, c.status))
                .eq([(1, Status::WrFlush), (2, Status::WrFlush)]),
            "{done:?}"
        );
        line.works_again().with_context(|| format!("{pmtu:?}"))?;
    }
    Ok(())
}

/// The driver takes no message longer than 2^31 bytes, and a card that finds one in its ring sends nothing of it.
#[test]
fn a_message_that_is_too_long_is_refused() -> Result<()> {
    let len = MAX_MESSAGE as usize + 1;
    let line = Line::new(Connection::default(), len)?;
    let Line { pair, .. } = &line;
    let [sender, receiver] = &pair.sides;
    let refused = sender.qps[0].post_send(line.write(1, len)?);
    let too_long = matches!(
        refused,
        Err(Error::Attribute {
            name: "message length",
            ..
        })
    );
    ensure!(too_long, "{refused:?}");

    let [mine, other] = [
        extra(pair, 0, &sender.send_cq)?,
        extra(pair, 1, &receiver.send_cq)?,
    ];
    join(pair, [&mine.qp, &other.qp])?;
    let before = sender.device.counters()?;
    mine.qp
        .post_send_list(&[line.write(1, len - 1)?.unsignaled(), line.write(2, 10)?])?;
    // The doorbell is not there yet.
    pair.sim.with(|world| -> Result<()> {
        let mut memory = lock(world.card(0).memory());
        let entry: &mut [u8; 64] = memory.slice_mut(mine.sq, 64)?.try_into()?;
        let mut wqe = SqWqe::decode(entry)?;
        ensure!(wqe.length == MAX_MESSAGE, "{wqe:?}");
        wqe.length += 1;
        wqe.sges = Sge {
            len: wqe.length,
            ..wqe.sges.as_slice()[0]
        }
        .into();
        *entry = wqe.encode()?;
        Ok(())
    })?;
    let done = line.wait(&sender.send_cq, 2, 10_000)?;
    ensure!(
        done.iter()
            .map(|c| (c.wr_id, c.status))
            .eq([(1, Status::LocLen), (2, Status::WrFlush)]),
        "{done:?}"
    );
    pair.sim.with(|world| world.run(3000))?;
    let counted = sender.device.counters()?.since(&before);
    ensure!(counted.get(Counter::TxRequests) == 0 && counted.get(Counter::RequesterErrors) == 1);
    ensure!(line.arrived()?.is_empty());

    // The other QP never noticed; this one is as good as new after a reset.
    line.works_again()?;
    for qp in [&mine.qp, &other.qp] {
        qp.reset()?;
    }
    join(pair, [&mine.qp, &other.qp])?;
    mine.qp.post_send(line.write(3, 5000)?)?;
    let done = line.wait(&sender.send_cq, 1, 10_000)?;
    ensure!(
        (done[0].wr_id, done[0].status) == (3, Status::Success),
        "{done:?}"
    );
    ensure!(line.arrived()? == [(0, 5000)]);
    Ok(())
}

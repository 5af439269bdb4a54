//! Messages that go along with their requests, in WQEs of one to four blocks.

use anyhow::{ensure, Result};
use ferroce_driver::{Counter, SendOp, SendWr, Status};
use ferroce_sim::link::LinkConfig;
use ferroce_sim::load::Op;
use ferroce_tests::model;
use ferroce_tests::seed::{rng, seed};
use ferroce_tests::setup::{pair, world, Connection};
use ferroce_tests::traffic::{Message, Traffic};

/// Around the borders of blocks, words and doublewords.
const LENGTHS: [usize; 22] = [
    0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 95, 96, 97, 159, 160, 161, 221, 222, 223, 224,
];

/// All lengths, twice as many messages as the ring has places, on each of the QPs.
fn all_lengths(link: LinkConfig, depth: usize) -> Result<[u64; 2]> {
    let seed = seed();
    let library = model::small()?;
    let connections = [Connection {
        timeout: 2,
        ..Connection::default()
    }; 2];
    let pair = pair(&library, &world(link, seed), depth, &connections)?;
    let mut traffic = Traffic::new(&pair, rng(seed), 1 << 16, 1 << 20)?;
    for qp in 0..connections.len() {
        for from in 0..2 {
            let messages: Vec<Message> = (0..4 * LENGTHS.len())
                .map(|n| Message {
                    op: Op::ALL[n % Op::ALL.len()],
                    len: LENGTHS[(n + n / LENGTHS.len()) % LENGTHS.len()],
                })
                .collect();
            traffic.add(from, qp, &messages)?;
        }
    }
    let counters = traffic.run()?;
    let sent = counters.map(|counters| counters.get(Counter::Retransmits));
    Ok(sent)
}

#[test]
fn every_length_and_rings_that_wrap_inside_of_wqes() -> Result<()> {
    ensure!(all_lengths(LinkConfig::default(), 32)? == [0, 0]);
    Ok(())
}

#[test]
fn rings_of_two_wqes() -> Result<()> {
    ensure!(all_lengths(LinkConfig::default(), 8)? == [0, 0]);
    Ok(())
}

#[test]
fn lost_messages_are_sent_again_from_the_ring() -> Result<()> {
    let link = LinkConfig {
        drop: 0.05,
        ..LinkConfig::default()
    };
    let again = all_lengths(link, 32)?;
    ensure!(again.iter().all(|&count| count > 0));
    Ok(())
}

/// No key is needed, payload is read by nobody, and a failed WQE of several blocks is one completion.
#[test]
fn only_the_wqe_is_read_and_flushed_once() -> Result<()> {
    let seed = seed();
    let library = model::small()?;
    let connections = [Connection::default()];
    let pair = pair(
        &library,
        &world(LinkConfig::default(), seed),
        32,
        &connections,
    )?;
    let [near, far] = &pair.sides;
    let qp = &near.qps[0];
    let before = near.device.counters()?;
    // The peer has no such region: its NAK fails the first request, and the others are flushed.
    let op = SendOp::Write(ferroce_driver::Remote {
        addr: 0x1000,
        rkey: 0x77,
    });
    let requests = (0..4)
        .map(|n| SendWr::inline(n, op, &[n as u8; 200]))
        .collect::<Result<Vec<_>, _>>()?;
    qp.post_send_list(&requests)?;
    let mut seen = Vec::new();
    pair.sim.run_until("flushed requests", 100_000, || {
        seen.extend(near.send_cq.poll(16)?);
        Ok::<_, anyhow::Error>(seen.len() >= 4)
    })?;
    pair.sim.with(|world| world.run(5_000))?;
    seen.extend(near.send_cq.poll(16)?);
    let got: Vec<_> = seen.iter().map(|c| (c.wr_id, c.status)).collect();
    ensure!(got[0] == (0, Status::RemAccess), "{got:?}");
    let flushed: Vec<_> = (1..4).map(|n| (n, Status::WrFlush)).collect();
    ensure!(got[1..] == flushed, "{got:?}");
    let counters = near.device.counters()?.since(&before);
    ensure!(counters.get(Counter::MrDenied) == 0 && counters.get(Counter::TxDmaDropped) == 0);
    ensure!(far.device.counters()?.get(Counter::TxNakRemoteAccess) > 0);
    Ok(())
}

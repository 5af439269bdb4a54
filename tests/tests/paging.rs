//! Memory that lies scattered: page tables, their cache, and what happens when there is no page.

use std::sync::Arc;

use anyhow::{ensure, Result};
use ferroce_driver::{Access, Counter, PageSize, Pmtu, RecvWr, SendWr, Status};
use ferroce_sim::card::lock;
use ferroce_sim::link::LinkConfig;
use ferroce_sim::load::{Load, Op};
use ferroce_sim::roof;
use ferroce_sim::scatter::ScatteredBuffer;
use ferroce_sim::transfer::piece;
use ferroce_tests::model;
use ferroce_tests::paged::{Paged, TARGET};
use ferroce_tests::seed::{rng, seed};
use ferroce_tests::setup::{connect, world, Connection};
use ferroce_tests::traffic::{random_messages, Traffic};
use rand::Rng;

/// The QP that meets what is wrong; the other one is number 1.
const VICTIM: usize = 0;

fn paged(size: PageSize) -> Result<Paged> {
    let connection = Connection {
        timeout: 4,
        ..Connection::default()
    };
    let world = world(LinkConfig::default(), seed());
    Paged::new(&model::small()?, &world, size, &[connection; 2])
}

/// QPs with these numbers carry messages in both directions.
fn works(paged: &Paged, qps: &[usize], seed: u64) -> Result<()> {
    let mut rng = rng(seed);
    let mut traffic = Traffic::new(&paged.pair, rng.clone(), 1 << 15, 1 << 18)?;
    for &qp in qps {
        for from in 0..2 {
            traffic.add(from, qp, &random_messages(&mut rng, 12, 9000))?;
        }
    }
    traffic.run()?;
    Ok(())
}

/// Messages of every kind in both directions at once, from and to regions in pages of each size.
#[test]
fn every_operation_in_pages_of_every_size() -> Result<()> {
    for size in PageSize::ALL {
        let paged = paged(size)?;
        works(&paged, &[0, 1], seed())?;
        for side in 0..2 {
            let lookups = paged.counter(side, Counter::Translations)?;
            let misses = paged.counter(side, Counter::TranslationMisses)?;
            println!("{size:?}: side {side}, {misses} misses of {lookups}");
            ensure!(misses > 0 && misses < lookups, "{misses} of {lookups}");
            ensure!(paged.counter(side, Counter::TranslationFaults)? == 0);
        }
        paged.nothing_stray(&[])?;
    }
    Ok(())
}

/// Regions that begin and end inside of pages, and messages around the end of each page.
#[test]
fn messages_across_page_ends() -> Result<()> {
    let mut rng = rng(seed());
    for size in PageSize::ALL {
        let paged = paged(size)?;
        let bytes = size.bytes() as usize;
        let offsets = [rng.gen_range(1..size.bytes()), size.bytes() - 1];
        let regions = paged.regions(bytes + 70_001, offsets, &mut rng)?;
        let [source, target] = [&regions[0].mr, &regions[1].mr];
        let len = source.len();
        let mut expected = vec![0; len];
        let ends = offsets.map(|offset| bytes - offset as usize);
        let mut places = vec![(0, 1), (0, 70_001), (len - 1, 1), (len - 9000, 9000)];
        for end in ends {
            for before in [1, 63, 1023, 1024, 4097] {
                let before = before.min(end);
                places.push((end - before, before + rng.gen_range(1..5000)));
            }
        }
        for (at, count) in places {
            let count = count.min(len - at);
            let done = paged.write(VICTIM, [source, target], at, count)?;
            ensure!(done.status == Status::Success, "{at}+{count}: {done:?}");
            source.read(at, &mut expected[at..at + count])?;
            ensure!(target.to_vec(0..len)? == expected, "{size:?} {at}+{count}");
        }
        paged.nothing_stray(&regions)?;
    }
    Ok(())
}

/// More pages than a leaf has entries: the table has two levels.
#[test]
fn tables_of_two_levels() -> Result<()> {
    let mut rng = rng(seed());
    let paged = paged(PageSize::K4)?;
    // Three leaves, the first and the last not full.
    let len = 1100 * 4096;
    let regions = paged.regions(len, [100, 77 * 4096 + 4000], &mut rng)?;
    let [source, target] = [&regions[0].mr, &regions[1].mr];
    for n in 0..40 {
        let count = rng.gen_range(1..20_000);
        let at = match n % 4 {
            // Around the leaves' ends of the target and the source.
            0 => (512 - 77) * 4096 - 4000 - count / 2,
            1 => 1024 * 4096 - 100 - count / 2,
            2 => len - count,
            _ => rng.gen_range(0..len - count),
        };
        let done = paged.write(VICTIM, [source, target], at, count)?;
        ensure!(done.status == Status::Success, "{at}+{count}: {done:?}");
        let range = at..at + count;
        ensure!(source.to_vec(range.clone())? == target.to_vec(range)?);
    }
    paged.nothing_stray(&regions)
}

/// A cache of two pages.
#[test]
fn a_cache_that_is_too_small() -> Result<()> {
    let config = world(LinkConfig::default(), seed());
    let connections = [Connection::default(); 4];
    let paged = Paged::new(&model::tiny()?, &config, PageSize::K4, &connections)?;
    let mut rng = rng(seed());
    let mut traffic = Traffic::new(&paged.pair, rng.clone(), 1 << 15, 1 << 19)?;
    for qp in 0..4 {
        for from in 0..2 {
            traffic.add(from, qp, &random_messages(&mut rng, 16, 20_000))?;
        }
    }
    traffic.run()?;
    paged.nothing_stray(&[])
}

/// 4 KiB pages, random messages of 64 KiB in far more memory than the caches hold: every page is a miss on both sides.
#[test]
fn misses_cost_no_rate() -> Result<()> {
    const LEN: u64 = 65_536;
    const SLOTS: u64 = 256;
    let config = world(LinkConfig::default(), seed());
    let connection = Connection {
        pmtu: Pmtu::B4096,
        timeout: 8,
        ..Connection::default()
    };
    let paged = Paged::new(&model::buffered()?, &config, PageSize::K4, &[connection; 4])?;
    let mut rng = rng(seed());
    // Not aligned, so that each packet needs two pages on the one side.
    let regions = paged.regions((SLOTS * LEN) as usize, [0, 1000], &mut rng)?;
    let order: Vec<u64> = (0..150).map(|_| rng.gen_range(0..SLOTS)).collect();
    let times = paged.pair.run(Load {
        op: Op::Write,
        count: 150,
        depth: 8,
        message: &|n| {
            let at = order[n as usize] * LEN;
            piece(&regions[0].mr, &regions[1].mr, at, LEN).expect("inside of the regions")
        },
        progress: &mut |_| {},
    })?;
    let share = times.rate() / roof::message_rate(Op::Write, LEN, Pmtu::B4096);
    let lookups = paged.counter(0, Counter::Translations)?;
    let misses = paged.counter(0, Counter::TranslationMisses)?;
    println!(
        "{:.2} Gb/s, {:.1} % of the roof; {misses} misses of {lookups}",
        times.rate() * LEN as f64 * 8e-9,
        share * 100.0
    );
    ensure!(misses * 10 > lookups * 8, "{misses} misses of {lookups}");
    ensure!(share >= 0.95, "{:.1} % of the roof", share * 100.0);
    paged.nothing_stray(&regions)
}

/// A page of the source is not there: the request fails where it was posted, and nothing wrong is sent.
#[test]
fn a_source_without_a_page() -> Result<()> {
    let paged = paged(PageSize::K4)?;
    let mut rng = rng(seed());
    let [whole, target] = paged.regions(40_000, [5, 6], &mut rng)?;
    let buffer = ScatteredBuffer::without(paged.memory[0].buffer(40_000, 5), 3);
    let source = paged.register(0, buffer, Access::NONE)?;
    // Up to the page that lacks, everything goes.
    let done = paged.write(VICTIM, [&source.mr, &target.mr], 0, 3 * 4096 - 5)?;
    ensure!(done.status == Status::Success, "{done:?}");
    let done = paged.write(VICTIM, [&source.mr, &target.mr], 4096, 3 * 4096)?;
    ensure!(done.status == Status::LocQpOp, "{done:?}");
    ensure!(paged.counter(0, Counter::TranslationFaults)? > 0);
    ensure!(paged.counter(0, Counter::TxDmaDropped)? > 0);
    let done = paged.write(1, [&whole.mr, &target.mr], 0, 40_000)?;
    ensure!(done.status == Status::Success, "{done:?}");
    connect(&paged.pair, VICTIM, &Connection::default())?;
    works(&paged, &[VICTIM, 1], 3)?;
    paged.nothing_stray(&[whole, target, source])
}

/// A page of the target is not there: NAK, remote operational error, and nothing behind it is executed or acknowledged.
#[test]
fn a_target_without_a_page() -> Result<()> {
    for send in [false, true] {
        let paged = paged(PageSize::K4)?;
        let mut rng = rng(seed());
        let [source, whole] = paged.regions(40_000, [5, 6], &mut rng)?;
        let buffer = ScatteredBuffer::without(paged.memory[1].buffer(40_000, 6), 3);
        let target = paged.register(1, buffer, TARGET)?;
        let [sender, receiver] = &paged.pair.sides;
        let local = source.mr.sge(100..16_100)?;
        if send {
            receiver.qps[VICTIM].post_recv(RecvWr::new(7, target.mr.sge(4096..30_000)?))?;
            sender.qps[VICTIM].post_send(SendWr::send(1, local))?;
        } else {
            let behind = SendWr::write(2, source.mr.sge(0..8)?, target.mr.remote(0)?);
            let write = SendWr::write(1, local, target.mr.remote(4096)?);
            sender.qps[VICTIM].post_send_list(&[write, behind])?;
        }
        let done = paged.wait(&sender.send_cq, 2 - usize::from(send))?;
        ensure!(done[0].status == Status::RemOp, "{done:?}");
        ensure!(paged.counter(1, Counter::TxNakRemoteOperational)? == 1);
        ensure!(paged.counter(1, Counter::TranslationFaults)? > 0);
        ensure!(target.mr.to_vec(0..8)? == [0; 8]);
        if send {
            let done = paged.wait(&receiver.recv_cq, 1)?;
            ensure!(done[0].status == Status::LocProt, "{done:?}");
        }
        let done = paged.write(1, [&source.mr, &whole.mr], 0, 40_000)?;
        ensure!(done.status == Status::Success, "{done:?}");
        connect(&paged.pair, VICTIM, &Connection::default())?;
        works(&paged, &[VICTIM, 1], 4)?;
        paged.nothing_stray(&[source, whole, target])?;
    }
    Ok(())
}

/// The page table itself can't be read.
#[test]
fn tables_that_are_gone() -> Result<()> {
    for (side, expected) in [(0, Status::LocQpOp), (1, Status::RemOp)] {
        let paged = paged(PageSize::K64)?;
        let regions = paged.regions(200_000, [9, 10], &mut rng(seed()))?;
        let table = regions[side].mr.page_table().expect("the region is paged");
        (paged.pair.sim).with(|world| lock(world.card(side).memory()).release(table));
        let done = paged.write(VICTIM, [&regions[0].mr, &regions[1].mr], 0, 100_000)?;
        ensure!(done.status == expected, "{done:?}");
        ensure!(paged.counter(side, Counter::TranslationFaults)? > 0);
        ensure!(regions[1].mr.to_vec(0..200_000)? == vec![0; 200_000]);
        works(&paged, &[1], 5)?;
    }
    Ok(())
}

/// One index for all regions of a side: it comes back with other pages more often than epochs and key tags have values.
#[test]
fn pages_of_former_regions_are_never_used() -> Result<()> {
    let config = world(LinkConfig::default(), seed());
    let paged = Paged::new(
        &model::tiny()?,
        &config,
        PageSize::K4,
        &[Connection::default()],
    )?;
    let mut rng = rng(seed());
    let mut target = paged.memory[1].buffer(9000, 77);
    let source = paged.region(0, 9000, 4000, Access::NONE)?;
    for n in 0..270u32 {
        let bytes: Vec<u8> = (0..9000).map(|k| (k + 7 * n) as u8).collect();
        source.mr.write(0, &bytes)?;
        let region = paged.register(1, Arc::clone(&target), TARGET)?;
        let at = rng.gen_range(0..4000);
        let done = paged.write(0, [&source.mr, &region.mr], at, 5000)?;
        ensure!(done.status == Status::Success, "{n}: {done:?}");
        ensure!(
            region.mr.to_vec(at..at + 5000)? == bytes[at..at + 5000],
            "{n}"
        );
        drop(region);
        target = paged.memory[1].again(&target);
    }
    paged.nothing_stray(&[source])
}

/// When the driver hears that a region has gone, no access that it had allowed is under way any more.
#[test]
fn nothing_is_under_way_when_a_region_has_gone() -> Result<()> {
    for (side, wait) in [(0, 300), (0, 2000), (1, 1500), (1, 3000)] {
        let paged = paged(PageSize::K4)?;
        let [source, target] = paged.regions(1 << 20, [5, 6], &mut rng(seed()))?;
        source.mr.write(0, &vec![1; 1 << 20])?;
        let qps = &paged.pair.sides[0].qps;
        for qp in qps.iter().take(2) {
            for n in 0..8 {
                let range = n << 16..(n + 1) << 16;
                qp.post_send(SendWr::write(
                    n as u64,
                    source.mr.sge(range.clone())?,
                    target.mr.remote(range.start)?,
                ))?;
            }
        }
        paged.pair.sim.with(|world| world.run(wait))?;
        let regions = [source, target];
        let buffers = [0, 1].map(|side: usize| Arc::clone(&regions[side].buffer));
        let [source, target] = regions;
        let arrived = if side == 0 {
            drop(source);
            use ferroce_driver::DmaBuffer;
            buffers[0].write(0, &vec![2; 1 << 20])?;
            None
        } else {
            drop(target);
            use ferroce_driver::DmaBuffer;
            let mut bytes = vec![0; 1 << 20];
            buffers[1].read(0, &mut bytes)?;
            ensure!(
                bytes.contains(&1) && bytes.contains(&0),
                "too early or too late"
            );
            Some(bytes)
        };
        paged.pair.sim.with(|world| world.run(20_000))?;
        let mut bytes = vec![0; 1 << 20];
        ferroce_driver::DmaBuffer::read(&*buffers[1], 0, &mut bytes)?;
        match arrived {
            // What was written behind the end of the source is never seen.
            None => ensure!(bytes.contains(&1) && !bytes.contains(&2)),
            Some(arrived) => ensure!(bytes == arrived),
        }
    }
    Ok(())
}

/// Messages of no bytes need no page, and a region of no bytes no table.
#[test]
fn nothing_needs_no_page() -> Result<()> {
    let paged = paged(PageSize::K4)?;
    let [source, target] = paged.regions(100, [4090, 4095], &mut rng(seed()))?;
    for at in [0, 100] {
        let done = paged.write(VICTIM, [&source.mr, &target.mr], at, 0)?;
        ensure!(done.status == Status::Success, "{done:?}");
    }
    ensure!(paged.counter(0, Counter::Translations)? == 0);
    ensure!(paged.counter(1, Counter::Translations)? == 0);
    let pd = &paged.pair.sides[0].pd;
    let empty = pd.register_range(paged.memory[0].buffer(10, 0), 4..4, Access::NONE)?;
    ensure!(empty.page_table().is_none());
    paged.nothing_stray(&[source, target])
}

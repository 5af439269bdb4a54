//! SRQs as objects: limits, numbers, who uses what, doorbells.

use std::sync::Arc;

use crate::bench::{bytes, exchange, peer, Bench, ACK, MTU};
use anyhow::{ensure, Context, Result};
use ferroce_abi::cfg::{ResponderCfg, RingCfg, SrqLimitCfg, ENTRY_WORDS};
use ferroce_abi::mailbox::{Command, CommandStatus};
use ferroce_abi::opcode::rc;
use ferroce_driver::{Counter, Error, RecvWr};
use ferroce_tests::mailbox::command;

#[test]
fn the_limit_tells_once() -> Result<()> {
    let mut bench = Bench::new(8, 2)?;
    let text = bytes(5, MTU);
    bench.post(0..4)?;
    bench.srq.arm_limit(3)?;
    ensure!(bench.events()?.is_empty());
    bench.packet(0, rc::SEND_ONLY, &text, ACK)?;
    ensure!(bench.events()?.is_empty(), "three are left");
    // The first packet takes.
    bench.packet(1, rc::SEND_FIRST, &text, ACK)?;
    ensure!(bench.events()? == [bench.limit()]);
    bench.packet(1, rc::SEND_LAST, &text, ACK)?;
    bench.packet(0, rc::SEND_ONLY, &text, ACK)?;
    ensure!(bench.events()?.is_empty(), "it is armed once");
    // At once when it is so already; not when it is not.
    bench.srq.arm_limit(2)?;
    ensure!(bench.events()? == [bench.limit()]);
    bench.srq.arm_limit(1)?;
    ensure!(bench.events()?.is_empty());
    bench.srq.arm_limit(0)?;
    bench.packet(0, rc::SEND_ONLY, &text, ACK)?;
    ensure!(bench.events()?.is_empty(), "taken back");
    ensure!(bench.poll()?.len() == 4);
    Ok(())
}

#[test]
fn what_is_posted_goes_with_its_queue() -> Result<()> {
    let mut bench = Bench::new(8, 1)?;
    let text = bytes(6, MTU);
    let device = bench.open.device.clone();
    let queues = device.capabilities().srqs as usize;
    for round in 0..2 * queues as u64 {
        // Numbers come round again.
        let srq = bench.open.pd.srq(4).build()?;
        for k in 0..3 {
            srq.post_recv(RecvWr::new(k, bench.memory.sge(Bench::place(k))?))?;
        }
        let qp = bench.open.pd.qp(&bench.open.cq).srq(&srq).build()?;
        let mut peer = peer(&bench.open, qp, 0x900)?;
        ensure!(bench.open.answers()?.is_empty());
        exchange(&bench.open, &mut peer, rc::SEND_ONLY, &text, ACK)
            .with_context(|| format!("round {round}"))?;
        let done = bench.poll()?;
        ensure!(done.len() == 1 && done[0].wr_id == 0, "{done:?}");
    }
    bench.post(0..1)?;
    bench.packet(0, rc::SEND_ONLY, &text, ACK)?;
    bench.received(0, 0, &text)
}

#[test]
fn the_driver_refuses_what_makes_no_sense() -> Result<()> {
    let bench = Bench::new(4, 1)?;
    let pd = bench.open.device.create_pd()?;
    let other = pd.qp(&bench.open.cq).srq(&bench.srq).build();
    ensure!(matches!(other, Err(Error::OtherPd { .. })), "{other:?}");
    let sge = bench.memory.sge(0..8)?;
    let posted = bench.peers[0].qp.post_recv(RecvWr::new(0, sge));
    ensure!(matches!(posted, Err(Error::HasSrq { .. })), "{posted:?}");
    let silent = bench.open.pd.srq(4).build()?.arm_limit(1);
    ensure!(
        matches!(silent, Err(Error::SrqWithoutEq { .. })),
        "{silent:?}"
    );
    let wide = bench.srq.arm_limit(5);
    ensure!(matches!(wide, Err(Error::Attribute { .. })), "{wide:?}");
    let list: Vec<_> = (0..6).map(|k| RecvWr::new(k, sge)).collect();
    let Err(error) = bench.srq.post_recv_list(&list) else {
        anyhow::bail!("six fit into four");
    };
    ensure!(error.posted == 4, "{error:?}");
    ensure!(matches!(error.cause, Error::QueueFull { depth: 4, .. }));
    Ok(())
}

/// A doorbell in another page than the queue's has no effect.
#[test]
fn foreign_doorbells_are_not_heard() -> Result<()> {
    use ferroce_abi::regs::{in_page, QueueDoorbell, SRQ_DOORBELL};
    let mut bench = Bench::new(8, 1)?;
    let foreign = bench.open.device.counter(Counter::DoorbellsForeign)?;
    let bad = bench.open.device.counter(Counter::DoorbellsBad)?;
    let bar = Arc::clone(&bench.open.bar);
    let ring = |page, qpn| {
        let word = QueueDoorbell {
            qpn,
            producer: 3,
            pushed: 0,
        };
        bar.write64(in_page(page, SRQ_DOORBELL), word.to_bits())
    };
    ring(1, bench.srq.srqn())?;
    ring(0, 1 << 10)?;
    ensure!(bench.open.answers()?.is_empty());
    ensure!(bench.open.device.counter(Counter::DoorbellsForeign)? == foreign + 1);
    ensure!(bench.open.device.counter(Counter::DoorbellsBad)? == bad + 1);
    let rnr = 0x20 | bench.peers[0].config.min_rnr_timer;
    bench.packet(0, rc::SEND_ONLY, &[1], rnr)
}

#[test]
fn queries_tell_where_the_queue_is() -> Result<()> {
    let mut bench = Bench::new(8, 2)?;
    let now = |bench: &Bench| -> Result<_> {
        let info = bench.srq.query()?;
        Ok((info.posted, info.next, info.limit))
    };
    ensure!(now(&bench)? == (0, 0, 0));
    bench.post(0..5)?;
    bench.packet(0, rc::SEND_FIRST, &bytes(0, MTU), ACK)?;
    bench.packet(1, rc::SEND_ONLY, &[1], ACK)?;
    bench.srq.arm_limit(2)?;
    ensure!(now(&bench)? == (5, 2, 2), "{:?}", now(&bench)?);
    bench.packet(1, rc::SEND_ONLY, &[1], ACK)?;
    bench.packet(1, rc::SEND_ONLY, &[1], ACK)?;
    ensure!(now(&bench)? == (5, 4, 0), "{:?}", now(&bench)?);
    let qp = bench.peers[1].qp.query()?;
    ensure!(
        qp.has_srq && u32::from(qp.srq) == bench.srq.srqn(),
        "{qp:?}"
    );
    ensure!(!bench.own.qp.query()?.has_srq);
    // An SRQ with a QP's number.
    let qpn = bench.peers[1].qp.qpn();
    let others: Vec<_> = (0..3)
        .map(|_| bench.open.pd.srq(4).build())
        .collect::<Result<_, _>>()?;
    let Some(same) = others.iter().find(|srq| srq.srqn() == qpn) else {
        anyhow::bail!("no SRQ has the number {qpn}");
    };
    same.post_recv(RecvWr::new(0, bench.memory.sge(Bench::place(1))?))?;
    ensure!(bench.open.answers()?.is_empty());
    ensure!((same.query()?.posted, same.query()?.next) == (1, 0));
    let qp = bench.peers[1].qp.query()?;
    ensure!((qp.rq_posted, qp.rq_next) == (0, 0), "{qp:?}");
    Ok(())
}

/// Commands that name SRQs which are not there, are in use, or can't be.
#[test]
fn a_queue_goes_when_nobody_uses_it() -> Result<()> {
    const SRQN: u32 = 2;
    const QPN: u32 = 11;
    let mut bench = Bench::new(8, 1)?;
    let (used, cqn, eqn) = (bench.srq.srqn(), bench.open.cq.cqn(), bench.eq.eqn());
    let ring = |base| RingCfg {
        enabled: true,
        base,
        log_size: 4,
        page: 0,
    };
    let limit = |limit, eq| SrqLimitCfg { limit, eq };
    let none = [0; ENTRY_WORDS];
    let create = |base| -> Result<_> { Ok(vec![none, ring(base).to_bits()?]) };
    let modify = |wqes, eq| -> Result<_> { Ok(vec![limit(wqes, eq).to_bits()?]) };
    let init = |srq| -> Result<_> {
        let responder = ResponderCfg {
            cq: cqn as u16,
            shared: true,
            srq,
            ..ResponderCfg::default()
        };
        Ok(vec![ring(0).to_bits()?, none, responder.to_bits()?])
    };
    let eqn = eqn as u8;
    let cases: Vec<(Command, u32, Vec<_>, CommandStatus)> = vec![
        (
            Command::DestroySrq,
            used,
            vec![none; 2],
            CommandStatus::InUse,
        ),
        (Command::CreateSrq, used, create(0)?, CommandStatus::Exists),
        (Command::CreateSrq, 4, create(0)?, CommandStatus::BadIndex),
        (
            Command::CreateSrq,
            SRQN,
            create(8)?,
            CommandStatus::BadArgument,
        ),
        (
            Command::CreateSrq,
            SRQN,
            vec![none; 2],
            CommandStatus::BadArgument,
        ),
        (
            Command::DestroySrq,
            SRQN,
            vec![none; 2],
            CommandStatus::NoObject,
        ),
        (
            Command::ModifySrq,
            SRQN,
            modify(1, eqn)?,
            CommandStatus::NoObject,
        ),
        (Command::QuerySrq, SRQN, vec![], CommandStatus::NoObject),
        (
            Command::ModifySrq,
            used,
            modify(1, eqn + 1)?,
            CommandStatus::NoObject,
        ),
        (
            Command::QpResetToInit,
            QPN,
            init(SRQN as u16)?,
            CommandStatus::NoObject,
        ),
        (
            Command::QpResetToInit,
            QPN,
            init(0x200)?,
            CommandStatus::NoObject,
        ),
        (Command::CreateSrq, SRQN, create(0x1000)?, CommandStatus::Ok),
        (
            Command::QpResetToInit,
            QPN,
            init(SRQN as u16)?,
            CommandStatus::Ok,
        ),
        (
            Command::DestroySrq,
            SRQN,
            vec![none; 2],
            CommandStatus::InUse,
        ),
        (Command::QpToReset, QPN, vec![none; 5], CommandStatus::Ok),
        (Command::ModifySrq, SRQN, modify(0, 99)?, CommandStatus::Ok),
        (
            Command::DestroyEq,
            eqn.into(),
            vec![none],
            CommandStatus::Ok,
        ),
        (
            Command::ModifySrq,
            SRQN,
            modify(1, eqn)?,
            CommandStatus::NoObject,
        ),
        (Command::DestroySrq, SRQN, vec![none; 2], CommandStatus::Ok),
        (Command::QuerySrq, SRQN, vec![], CommandStatus::NoObject),
    ];
    for (name, object, entries, expected) in cases {
        let status = command(&bench.open, name, object, &entries)?;
        ensure!(
            status == expected,
            "{name:?} of {object}: {status}, not {expected}"
        );
    }
    bench.post(0..1)?;
    bench.packet(0, rc::SEND_ONLY, &[3], ACK)?;
    bench.received(0, 0, &[3])
}

#[test]
fn a_limit_holds_its_event_queue() -> Result<()> {
    let bench = Bench::new(8, 1)?;
    let eqn = bench.eq.eqn();
    let destroy = || command(&bench.open, Command::DestroyEq, eqn, &[[0; ENTRY_WORDS]]);
    bench.srq.arm_limit(3)?;
    ensure!(bench.events()? == [bench.limit()]);
    ensure!(destroy()? == CommandStatus::InUse);
    bench.srq.arm_limit(0)?;
    ensure!(destroy()? == CommandStatus::Ok);
    Ok(())
}

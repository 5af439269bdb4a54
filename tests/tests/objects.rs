//! Commands on whole cards that name what is not there, what is used, or what can't be: each is refused for its reason, and the
//! QPs go on.

use anyhow::{ensure, Result};
use ferroce_abi::cfg::{
    mac_bits, AsyncCfg, CqCfg, EqCfg, MrCfg, ResponderCfg, RingCfg, ENTRY_WORDS,
};
use ferroce_abi::mailbox::{Command, CommandStatus};
use ferroce_driver::{Access, AhAttr, AhCfg, Mac, PortAddress, QpState, RecvWr, SendWr};
use ferroce_sim::link::LinkConfig;
use ferroce_tests::bench::Bench;
use ferroce_tests::mailbox::command;
use ferroce_tests::model;
use ferroce_tests::peer::PeerConfig;
use ferroce_tests::seed::seed;
use ferroce_tests::setup::{pair, world, Connection};
use std::net::Ipv4Addr;

type Entry = [u64; ENTRY_WORDS];

/// Objects that the bench has not made.
const CQN: u32 = 9;
const EQN: u32 = 1;
const QPN: u32 = 9;

fn cq() -> CqCfg {
    CqCfg {
        enabled: true,
        base: 0x10_0000,
        log_size: 4,
        page: 0,
        has_eq: false,
        eq: 0,
    }
}

fn eq() -> EqCfg {
    EqCfg {
        enabled: true,
        base: 0x20_0000,
        log_size: 4,
        page: 0,
        vector: 0,
        gap: 0,
    }
}

fn init(cqn: u32, base: u64) -> Result<[Entry; 3]> {
    let ring = RingCfg {
        enabled: true,
        base,
        log_size: 4,
        page: 0,
    };
    let responder = ResponderCfg {
        cq: cqn as u16,
        ..ResponderCfg::default()
    };
    Ok([ring.to_bits()?, ring.to_bits()?, responder.to_bits()?])
}

#[test]
fn commands_on_the_wrong_object_are_refused() -> Result<()> {
    let mut bench = Bench::new(&model::small()?, seed(), &[PeerConfig::default(); 2])?;
    let used = bench.open.cq.cqn();
    let off = [[0; ENTRY_WORDS]];
    let cq_of = |eq| CqCfg {
        has_eq: true,
        eq,
        ..cq()
    };
    let cases: Vec<(Command, u32, Vec<Entry>, CommandStatus)> = vec![
        (Command::DestroyCq, used, off.to_vec(), CommandStatus::InUse),
        (
            Command::CreateCq,
            used,
            vec![cq().to_bits()?],
            CommandStatus::Exists,
        ),
        (
            Command::DestroyCq,
            CQN,
            off.to_vec(),
            CommandStatus::NoObject,
        ),
        (
            Command::DestroyEq,
            EQN,
            off.to_vec(),
            CommandStatus::NoObject,
        ),
        (Command::DeregMr, 15, off.to_vec(), CommandStatus::NoObject),
        (
            Command::CreateCq,
            CQN,
            vec![cq_of(3).to_bits()?],
            CommandStatus::NoObject,
        ),
        (
            Command::SetAsyncEq,
            0,
            vec![AsyncCfg {
                enabled: true,
                eq: 3,
            }
            .to_bits()?],
            CommandStatus::NoObject,
        ),
        (
            Command::QpResetToInit,
            QPN,
            init(CQN, 0)?.to_vec(),
            CommandStatus::NoObject,
        ),
        (
            Command::QpResetToInit,
            QPN,
            init(used, 0x40)?.to_vec(),
            CommandStatus::BadArgument,
        ),
        (
            Command::CreateCq,
            CQN,
            vec![CqCfg {
                base: 0x10_0800,
                ..cq()
            }
            .to_bits()?],
            CommandStatus::BadArgument,
        ),
        (
            Command::CreateCq,
            CQN,
            vec![CqCfg {
                log_size: 0,
                ..cq()
            }
            .to_bits()?],
            CommandStatus::BadArgument,
        ),
        (
            Command::CreateCq,
            CQN,
            off.to_vec(),
            CommandStatus::BadArgument,
        ),
        (
            Command::CreateEq,
            EQN,
            vec![EqCfg { vector: 4, ..eq() }.to_bits()?],
            CommandStatus::BadArgument,
        ),
        (
            Command::RegMr,
            15,
            vec![MrCfg::default().to_bits()?],
            CommandStatus::BadArgument,
        ),
    ];
    for (name, object, entries, expected) in cases {
        let status = command(&bench.open, name, object, &entries)?;
        ensure!(
            status == expected,
            "{name:?} of {object}: {status}, not {expected}"
        );
        bench.good(0)?;
        bench.good(1)?;
    }
    Ok(())
}

#[test]
fn queues_are_taken_away_when_nothing_uses_them() -> Result<()> {
    let mut bench = Bench::new(&model::small()?, seed(), &[PeerConfig::default(); 2])?;
    let off = [[0; ENTRY_WORDS]];
    let of_eq = CqCfg {
        has_eq: true,
        eq: EQN as u8,
        ..cq()
    };
    let async_eq = AsyncCfg {
        enabled: true,
        eq: EQN as u8,
    };
    for (name, object, entries, expected) in [
        (
            Command::CreateEq,
            EQN,
            vec![eq().to_bits()?],
            CommandStatus::Ok,
        ),
        (
            Command::CreateCq,
            CQN,
            vec![of_eq.to_bits()?],
            CommandStatus::Ok,
        ),
        (Command::DestroyEq, EQN, off.to_vec(), CommandStatus::InUse),
        (
            Command::QpResetToInit,
            QPN,
            init(CQN, 0)?.to_vec(),
            CommandStatus::Ok,
        ),
        (Command::DestroyCq, CQN, off.to_vec(), CommandStatus::InUse),
        (
            Command::QpToReset,
            QPN,
            vec![[0; ENTRY_WORDS]; 5],
            CommandStatus::Ok,
        ),
        (Command::DestroyCq, CQN, off.to_vec(), CommandStatus::Ok),
        (
            Command::SetAsyncEq,
            0,
            vec![async_eq.to_bits()?],
            CommandStatus::Ok,
        ),
        (Command::DestroyEq, EQN, off.to_vec(), CommandStatus::InUse),
        (Command::SetAsyncEq, 0, off.to_vec(), CommandStatus::Ok),
        (Command::DestroyEq, EQN, off.to_vec(), CommandStatus::Ok),
        (
            Command::DestroyEq,
            EQN,
            off.to_vec(),
            CommandStatus::NoObject,
        ),
    ] {
        let status = command(&bench.open, name, object, &entries)?;
        ensure!(
            status == expected,
            "{name:?} of {object}: {status}, not {expected}"
        );
        bench.good(0)?;
    }
    bench.good(1)
}

#[test]
fn queries_tell_where_everything_is() -> Result<()> {
    let connection = Connection::default();
    let pair = pair(
        &model::small()?,
        &world(LinkConfig::default(), seed()),
        16,
        &[connection],
    )?;
    let [from, to] = &pair.sides;
    let [source, target] = [from, to].map(|side| side.pd.allocate(4096, Access::LOCAL_WRITE));
    let (source, target) = (source?, target?);
    const SENDS: u16 = 5;
    for number in 0..u64::from(SENDS) {
        to.qps[0].post_recv(RecvWr::new(number, target.sge(0..64)?))?;
        from.qps[0].post_send(SendWr::send(number, source.sge(0..64)?))?;
    }
    to.qps[0].post_recv(RecvWr::new(9, target.sge(0..64)?))?;
    pair.sim.with(|world| world.run(6_000))?;
    let sender = from.qps[0].query()?;
    let psn = (connection.psn[0] + u32::from(SENDS)) & 0xff_ffff;
    ensure!(sender.state == QpState::Rts as u8 && sender.has_send && sender.has_recv);
    ensure!(u32::from(sender.send_cq) == from.send_cq.cqn());
    ensure!(u32::from(sender.recv_cq) == from.recv_cq.cqn());
    ensure!((sender.sq_psn, sender.una_psn) == (psn, psn), "{sender:?}");
    ensure!((sender.sq_posted, sender.sq_begun, sender.sq_oldest) == (SENDS, SENDS, SENDS));
    let receiver = to.qps[0].query()?;
    ensure!(
        (receiver.rq_posted, receiver.rq_next) == (SENDS + 1, SENDS),
        "{receiver:?}"
    );
    let before = to.recv_cq.query()?;
    ensure!(
        (before.producer, before.consumer) == (SENDS.into(), 0),
        "{before:?}"
    );
    ensure!(to.recv_cq.poll(16)?.len() == usize::from(SENDS));
    ensure!(to.recv_cq.query()?.consumer == SENDS.into());
    source.query()?;
    Ok(())
}

#[test]
fn address_handles_hold_what_they_were_given() -> Result<()> {
    let mut bench = Bench::new(&model::small()?, seed(), &[PeerConfig::default(); 2])?;
    let device = &bench.open.device;
    let peer = PortAddress {
        mac: Mac([2, 3, 4, 5, 6, 7]),
        ip: Ipv4Addr::new(198, 51, 100, 9),
    };
    let pds = [device.create_pd()?, device.create_pd()?];
    let attrs: Vec<_> = (0..device.capabilities().ahs)
        .map(|number| AhAttr {
            traffic_class: number as u8,
            hop_limit: 255 - number as u8,
            flow_label: 0xF_FFFF - number,
            ..AhAttr::new(peer)
        })
        .collect();
    let mut handles = Vec::new();
    for (number, attr) in attrs.iter().enumerate() {
        handles.push(pds[number % 2].create_ah(*attr)?);
    }
    let holds = |answer: AhCfg, attr: &AhAttr| {
        answer.valid
            && (answer.traffic_class, answer.hop_limit, answer.flow_label)
                == (attr.traffic_class, attr.hop_limit, attr.flow_label)
            && answer.dgid() == attr.dgid
            && answer.dmac == mac_bits(attr.dmac.0)
    };
    for (handle, attr) in handles.iter().zip(&attrs) {
        let answer = handle.query()?;
        ensure!(holds(answer, attr), "{answer:?}");
    }
    ensure!(handles[0].query()?.pd == handles[2].query()?.pd);
    ensure!(handles[0].query()?.pd != handles[1].query()?.pd);
    // One is changed, one goes; the others stay.
    let changed = AhAttr {
        dgid: Ipv4Addr::new(203, 0, 113, 1).to_ipv6_mapped(),
        ..attrs[1]
    };
    handles[1].modify(changed)?;
    let gone = handles.remove(0).number();
    ensure!(holds(handles[0].query()?, &changed));
    ensure!(holds(handles[1].query()?, &attrs[2]));
    let good = AhCfg {
        valid: true,
        ..AhCfg::default()
    }
    .with_dgid(attrs[0].dgid);
    let ipv6 = good.with_dgid("2001:db8::1".parse()?);
    let second = AhCfg {
        sgid_index: 1,
        ..good
    };
    let off = [0; ENTRY_WORDS];
    for (name, object, entry, expected) in [
        (Command::QueryAh, gone, off, CommandStatus::NoObject),
        (
            Command::ModifyAh,
            gone,
            good.to_bits()?,
            CommandStatus::NoObject,
        ),
        (Command::DestroyAh, gone, off, CommandStatus::NoObject),
        (Command::CreateAh, 3, good.to_bits()?, CommandStatus::Exists),
        (
            Command::CreateAh,
            gone,
            ipv6.to_bits()?,
            CommandStatus::BadArgument,
        ),
        (
            Command::CreateAh,
            gone,
            second.to_bits()?,
            CommandStatus::BadArgument,
        ),
        (Command::CreateAh, gone, off, CommandStatus::BadArgument),
        (Command::ModifyAh, 3, off, CommandStatus::BadArgument),
        (
            Command::CreateAh,
            1 << 14,
            good.to_bits()?,
            CommandStatus::BadIndex,
        ),
    ] {
        let status = command(&bench.open, name, object, &[entry])?;
        ensure!(
            status == expected,
            "{name:?} of {object}: {status}, not {expected}"
        );
    }
    ensure!(holds(handles[2].query()?, &attrs[3]));
    bench.good(0)?;
    bench.good(1)
}

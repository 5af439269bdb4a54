//! The register window of a whole card: what it says of itself, commands and doorbells that it must refuse.

use anyhow::{ensure, Result};
use ferroce_abi::mailbox::{Command, CommandStatus, MailboxState};
use ferroce_abi::regs::{self, feature, CqDoorbell, QueueDoorbell};
use ferroce_driver::{Counter, Pmtu, QpState};
use ferroce_nic::NicConfig;
use ferroce_tests::bench::Bench;
use ferroce_tests::model;
use ferroce_tests::open::Open;
use ferroce_tests::peer::PeerConfig;
use ferroce_tests::seed::seed;

#[test]
fn capabilities_are_those_of_the_configuration() -> Result<()> {
    let config = NicConfig::SMALL;
    let open = Open::new(&model::small()?, seed())?;
    let caps = open.device.capabilities();
    let sending = feature::RC | feature::READ | feature::ATOMIC | feature::INLINE | feature::PUSH;
    ensure!(caps.features == sending | feature::EVENTS | feature::PAGES | feature::SRQ);
    ensure!(
        (caps.qps, caps.cqs, caps.mrs)
            == (
                1 << config.qps_log2,
                1 << config.cqs_log2,
                1 << config.mrs_log2
            )
    );
    ensure!(caps.wqe_window == 1 << config.sq_window_log2.min(config.rq_window_log2));
    ensure!(caps.retransmit_depth == 1 << config.retransmit_log2);
    ensure!((caps.max_sge, caps.max_pmtu) == (1, Pmtu::B4096));
    ensure!((caps.max_rd_atomic, caps.max_dest_rd_atomic) == (16, 16));
    ensure!(caps.core_clock_hz == 250_000_000);
    // Both halves of a counter, and what is not there.
    let counter = Counter::Doorbells.offset();
    ensure!(open.bar.read64(counter)? == u64::from(open.bar.read32(counter)?));
    ensure!(open.bar.read32(counter + 4)? == 0);
    ensure!(caps.ahs == 1 << config.ahs_log2);
    ensure!(caps.srqs == 1 << config.srqs_log2);
    for nothing in [
        0x00f8,
        regs::MAILBOX_OUT,
        0x07f8,
        0x0ff8,
        0x1000,
        regs::DOORBELLS - 8,
        regs::in_page(0, regs::SQ_DOORBELL),
        regs::BAR_BYTES - 8,
    ] {
        ensure!(open.bar.read64(nothing)? == 0, "{nothing:#x}");
    }
    for read_only in [regs::MAGIC, regs::NUM_QPS] {
        let before = open.bar.read32(read_only)?;
        open.bar.write32(read_only, !before)?;
        ensure!(open.bar.read32(read_only)? == before);
    }
    Ok(())
}

/// Runs a command without arguments.
fn command(open: &Open, opcode: u32, object: u32) -> Result<CommandStatus> {
    for word in (regs::MAILBOX_IN..regs::MAILBOX_OUT).step_by(8) {
        open.bar.write64(word, 0)?;
    }
    open.bar.write32(regs::COMMAND_OBJECT, object)?;
    open.bar.write32(regs::COMMAND, opcode)?;
    loop {
        if let MailboxState::Done(code) =
            MailboxState::from_bits(open.bar.read32(regs::COMMAND_STATUS)?)
        {
            return CommandStatus::from_code(code).ok_or_else(|| anyhow::anyhow!("code {code}"));
        }
    }
}

/// A refused command changes nothing: the QPs work as before.
#[test]
fn commands_that_are_refused() -> Result<()> {
    let mut bench = Bench::new(&model::small()?, seed(), &[PeerConfig::default(); 2])?;
    let qpn = bench.peers[0].qp.qpn();
    let (bad_opcode, bad_index, bad_state) = (
        CommandStatus::BadOpcode,
        CommandStatus::BadIndex,
        CommandStatus::BadState,
    );
    for (opcode, object, status) in [
        (0, qpn, bad_opcode),
        (22, qpn, bad_opcode),
        (0xff, qpn, bad_opcode),
        (Command::QpToReset as u32, 16, bad_index),
        (Command::QpToReset as u32, 0x4000 | qpn, bad_index),
        (Command::QpToErr as u32, 0x8000_0000 | qpn, bad_index),
        (Command::CreateCq as u32, 16, bad_index),
        (Command::DestroyCq as u32, 0x1_0000, bad_index),
        (Command::DeregMr as u32, 16, bad_index),
        (Command::SetPort as u32, 1, bad_index),
        (Command::QpResetToInit as u32, qpn, bad_state),
        (Command::QpInitToRtr as u32, qpn, bad_state),
        (Command::QpRtrToRts as u32, qpn, bad_state),
        (Command::QpToErr as u32, 9, bad_state),
        (Command::QpRtrToRts as u32, 9, bad_state),
    ] {
        let got = command(&bench.open, opcode, object)?;
        ensure!(
            got == status,
            "command {opcode} of {object:#x}: {got}, not {status}"
        );
        bench.good(0)?;
        bench.good(1)?;
    }
    ensure!(bench.peers[0].qp.state() == QpState::Rts);
    Ok(())
}

/// Rings a doorbell in a page.
fn ring(bench: &Bench, page: u8, doorbell: u64, word: u64) -> Result<()> {
    Ok(bench
        .open
        .bar
        .write64(regs::in_page(page, doorbell), word)?)
}

/// Doorbells of what does not exist are counted and do nothing; those of idle queues do nothing either.
#[test]
fn doorbells_that_ring_in_vain() -> Result<()> {
    let mut bench = Bench::new(&model::small()?, seed(), &[PeerConfig::default(); 2])?;
    let mut bad = 0;
    for register in [regs::SQ_DOORBELL, regs::RQ_DOORBELL] {
        for qpn in [16, 0x4002, 0xff_ffff] {
            let bell = QueueDoorbell {
                qpn,
                producer: 3,
                pushed: 0,
            };
            ring(&bench, 0, register, bell.to_bits())?;
            bad += 1;
        }
    }
    for cqn in [16, 0x4000, 0xff_ffff] {
        let bell = CqDoorbell { cqn, consumer: 3 };
        ring(&bench, 0, regs::CQ_DOORBELL, bell.to_bits())?;
        bad += 1;
    }
    // QP 9 has no ring.
    for register in [regs::SQ_DOORBELL, regs::RQ_DOORBELL] {
        let bell = QueueDoorbell {
            qpn: 9,
            producer: 5,
            pushed: 0,
        };
        ring(&bench, 0, register, bell.to_bits())?;
    }
    ensure!(bench.open.run(3000)?.is_empty());
    bench.counted(&[(Counter::DoorbellsBad, bad)])?;
    ensure!(bench.open.device.counter(Counter::DmaReads)? == 0);
    bench.good(0)?;
    bench.good(1)
}

/// Who has another page can't ring for a queue: neither make the card read WQEs nor move a CQ's consumer index.
#[test]
fn doorbells_in_another_page() -> Result<()> {
    let mut bench = Bench::new(&model::small()?, seed(), &[PeerConfig::default(); 2])?;
    let qpn = bench.peers[0].qp.qpn();
    let mut foreign = 0;
    for page in [1, 64, 127] {
        for doorbell in [regs::SQ_DOORBELL, regs::RQ_DOORBELL] {
            let bell = QueueDoorbell {
                qpn,
                producer: 7,
                pushed: 0,
            };
            ring(&bench, page, doorbell, bell.to_bits())?;
        }
        // Taken seriously, it would make the CQ look full.
        let bell = CqDoorbell {
            cqn: bench.open.cq.cqn(),
            consumer: 0x80_0000,
        };
        ring(&bench, page, regs::CQ_DOORBELL, bell.to_bits())?;
        foreign += 3;
    }
    ensure!(bench.open.run(3000)?.is_empty());
    bench.counted(&[(Counter::DoorbellsForeign, foreign)])?;
    bench.good(0)?;
    bench.good(1)
}

//! A doorbell counts only in the page of its queue.

use crate::bench::Bench;
use crate::entries::{good_entries, Names};
use ferroce_abi::cfg::{RingCfg, Table};
use ferroce_abi::mailbox::{Command, CommandStatus};
use ferroce_abi::regs::{self, in_page, CqArm, CqDoorbell, EqDoorbell, QueueDoorbell};
use ferroce_emit::on_big_stack;

/// CQ of the QPs.
const CQN: u32 = 0;

/// Runs a command, its first ring that of `page`.
fn ring_command(bench: &mut Bench, command: Command, object: u32, page: u8) {
    let ring = RingCfg {
        enabled: true,
        base: 0x4000,
        log_size: 4,
        page,
    };
    let mut entries = good_entries(command, Names::of(CQN));
    let is_ring = |table: &Table| table.fields().starts_with(RingCfg::FIELDS);
    let block = command.tables().iter().position(is_ring).unwrap();
    entries[block] = ring.to_bits().unwrap();
    assert_eq!(bench.command(command, object, &entries), CommandStatus::Ok);
}

#[test]
fn only_the_own_page_rings() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        ring_command(&mut bench, Command::CreateCq, CQN, 1);
        ring_command(&mut bench, Command::QpResetToInit, 5, 3);
        ring_command(&mut bench, Command::CreateCq, 2, 127);
        ring_command(&mut bench, Command::CreateEq, 1, 64);
        ring_command(&mut bench, Command::CreateSrq, 2, 31);
        let queue = QueueDoorbell {
            qpn: 5,
            producer: 1,
            pushed: 0,
        };
        let cq = CqDoorbell {
            cqn: 2,
            consumer: 1,
        };
        let arm = CqArm {
            cqn: 2,
            solicited_only: true,
            consumer: 5,
        };
        let eq = EqDoorbell {
            eqn: 1,
            arm: true,
            consumer: 0xFE_DCBA,
        };
        // Each begins at 0.
        assert_eq!(bench.cq_seen, [(u64::from(CQN), 0), (2, 0)]);
        assert_eq!(bench.eq_seen, [(1, 0)]);
        let srq = QueueDoorbell { qpn: 2, ..queue };
        for page in 0..128 {
            bench.write64(in_page(page, regs::SRQ_DOORBELL), srq.to_bits());
            bench.write64(in_page(page, regs::SQ_DOORBELL), queue.to_bits());
            bench.write64(in_page(page, regs::RQ_DOORBELL), queue.to_bits());
            bench.write64(in_page(page, regs::CQ_DOORBELL), cq.to_bits());
            bench.write64(in_page(page, regs::CQ_ARM), arm.to_bits());
            bench.write64(in_page(page, regs::EQ_DOORBELL), eq.to_bits());
        }
        bench.idle(5000);
        assert_eq!((bench.sq.len(), bench.rq.len(), bench.cq.len()), (1, 2, 1));
        // The SRQ is numbered behind the 8 QPs.
        let rung: Vec<_> = bench.rq.iter().map(|bell| bell.qp.to_u64()).collect();
        assert_eq!(rung, [5, 8 + 2]);
        assert_eq!(bench.eq.len(), 1);
        assert_eq!(
            (bench.rung, bench.bad, bench.foreign),
            (6 * 128, 0, 6 * 127)
        );
        assert_eq!(bench.sq[0].qp.to_u64(), 5);
        assert_eq!(bench.cq_seen[2..], [(2, 1), (2, 5)]);
        let bell = bench.cq[0];
        assert_eq!((bell.cq.to_u64(), bell.solicited_only), (2, true));
        let bell = bench.eq[0];
        assert_eq!((bell.eq.to_u64(), bell.arm), (1, true));
        assert_eq!(bench.eq_seen[1..], [(1, 0xFE_DCBA)]);
    });
}

/// What a queue may ring changes with its next configuration, and with no other queue's.
#[test]
fn pages_follow_the_configuration() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        bench.stall = 0.0;
        let rings = |bench: &mut Bench, qpn: u32, page: u8| {
            let before = bench.sq.len();
            let bell = QueueDoorbell {
                qpn,
                producer: 9,
                pushed: 0,
            };
            bench.write64(in_page(page, regs::SQ_DOORBELL), bell.to_bits());
            bench.idle(40);
            bench.sq.len() - before
        };
        ring_command(&mut bench, Command::CreateCq, CQN, 1);
        ring_command(&mut bench, Command::QpResetToInit, 5, 3);
        ring_command(&mut bench, Command::QpResetToInit, 6, 4);
        // CQ 3 is not QP 3.
        ring_command(&mut bench, Command::CreateCq, 3, 9);
        assert_eq!((rings(&mut bench, 5, 3), rings(&mut bench, 6, 3)), (1, 0));
        assert_eq!((rings(&mut bench, 5, 4), rings(&mut bench, 6, 4)), (0, 1));
        assert_eq!((rings(&mut bench, 3, 9), rings(&mut bench, 3, 0)), (0, 1));
        let reset = good_entries(Command::QpToReset, Names::of(CQN));
        assert_eq!(
            bench.command(Command::QpToReset, 5, &reset),
            CommandStatus::Ok
        );
        ring_command(&mut bench, Command::QpResetToInit, 5, 77);
        assert_eq!((rings(&mut bench, 5, 3), rings(&mut bench, 5, 77)), (0, 1));
    });
}

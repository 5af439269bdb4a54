//! A doorbell counts only in the page of its queue.

use crate::bench::Bench;
use ferroce_abi::cfg::RingCfg;
use ferroce_abi::mailbox::{Command, CommandStatus};
use ferroce_abi::regs::{self, in_page, CqDoorbell, QueueDoorbell};
use ferroce_emit::on_big_stack;

/// Runs a command whose first block is a ring of `page`.
fn ring_command(bench: &mut Bench, command: Command, object: u32, page: u8) {
    let ring = RingCfg {
        enabled: true,
        base: 0x4000,
        log_size: 4,
        page,
    };
    for (word, value) in (0..).step_by(8).zip(ring.to_bits().unwrap()) {
        bench.write64(regs::MAILBOX_IN + word, value);
    }
    let status = bench.execute(command as u32, object);
    assert_eq!(status, CommandStatus::Ok);
}

#[test]
fn only_the_own_page_rings() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        ring_command(&mut bench, Command::QpResetToInit, 5, 3);
        ring_command(&mut bench, Command::CreateCq, 2, 127);
        let queue = QueueDoorbell {
            qpn: 5,
            producer: 1,
        };
        let cq = CqDoorbell {
            cqn: 2,
            consumer: 1,
        };
        for page in 0..128 {
            bench.write64(in_page(page, regs::SQ_DOORBELL), queue.to_bits());
            bench.write64(in_page(page, regs::RQ_DOORBELL), queue.to_bits());
            bench.write64(in_page(page, regs::CQ_DOORBELL), cq.to_bits());
        }
        bench.idle(2000);
        assert_eq!((bench.sq.len(), bench.rq.len(), bench.cq.len()), (1, 1, 1));
        assert_eq!(
            (bench.rung, bench.bad, bench.foreign),
            (3 * 128, 0, 3 * 127)
        );
        assert_eq!(bench.sq[0].qp.to_u64(), 5);
        assert_eq!(bench.cq[0].cq.to_u64(), 2);
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
            let bell = QueueDoorbell { qpn, producer: 9 };
            bench.write64(in_page(page, regs::SQ_DOORBELL), bell.to_bits());
            bench.idle(40);
            bench.sq.len() - before
        };
        ring_command(&mut bench, Command::QpResetToInit, 5, 3);
        ring_command(&mut bench, Command::QpResetToInit, 6, 4);
        // CQ 3 is not QP 3.
        ring_command(&mut bench, Command::CreateCq, 3, 9);
        assert_eq!((rings(&mut bench, 5, 3), rings(&mut bench, 6, 3)), (1, 0));
        assert_eq!((rings(&mut bench, 5, 4), rings(&mut bench, 6, 4)), (0, 1));
        assert_eq!((rings(&mut bench, 3, 9), rings(&mut bench, 3, 0)), (0, 1));
        assert_eq!(
            bench.execute(Command::QpToReset as u32, 5),
            CommandStatus::Ok
        );
        ring_command(&mut bench, Command::QpResetToInit, 5, 77);
        assert_eq!((rings(&mut bench, 5, 3), rings(&mut bench, 5, 77)), (0, 1));
    });
}

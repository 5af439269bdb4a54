//! Identification, counters and doorbells.

use crate::bench::Bench;
use crate::entries::good_cq;
use ferroce_abi::mailbox::{Command, MailboxState};
use ferroce_abi::regs::{self, CqArm, CqDoorbell, EqDoorbell, QueueDoorbell};
use ferroce_emit::on_big_stack;
use ferroce_rtl::desc::bar::QueueBell;

/// Doorbells of page 0, to which queues belong from power-up.
const SQ_DOORBELL: u64 = regs::in_page(0, regs::SQ_DOORBELL);
const RQ_DOORBELL: u64 = regs::in_page(0, regs::RQ_DOORBELL);
const SRQ_DOORBELL: u64 = regs::in_page(0, regs::SRQ_DOORBELL);
const CQ_DOORBELL: u64 = regs::in_page(0, regs::CQ_DOORBELL);

#[test]
fn identification_tells_the_sizes() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        for (register, value) in [
            (regs::MAGIC, regs::MAGIC_VALUE),
            (regs::VERSION, regs::VERSION_VALUE),
            (
                regs::FEATURES,
                regs::feature::RC
                    | regs::feature::READ
                    | regs::feature::ATOMIC
                    | regs::feature::INLINE
                    | regs::feature::EVENTS
                    | regs::feature::PAGES
                    | regs::feature::PUSH
                    | regs::feature::SRQ,
            ),
            (regs::NUM_QPS, 8),
            (regs::NUM_CQS, 4),
            (regs::NUM_MRS, 16),
            (regs::WQE_WINDOW, 16),
            (regs::RETRANSMIT_DEPTH, 16),
            (regs::MAX_SGE, 1),
            (regs::MAX_PMTU, 12),
            (regs::CORE_CLOCK, 250_000_000),
            (regs::MAX_RD_ATOMIC, 16 << 16 | 16),
            (regs::NUM_EQS, 2),
            (regs::NUM_SRQS, 4),
            (regs::NUM_AHS, 8),
            (regs::COMMAND, 0),
            (regs::COMMAND_STATUS, 0),
            (regs::MAILBOX_IN, 0),
            (regs::MAILBOX_OUT, 0),
            (SQ_DOORBELL, 0),
        ] {
            assert_eq!(bench.read32(register), value, "{register:#x}");
            // The same offset behind the registers is reserved.
            assert_eq!(bench.read64(register + 0x2000), 0);
        }
        for number in [0, 1, 72, 127] {
            assert_eq!(
                bench.read64(regs::COUNTERS + 8 * number),
                Bench::counter_value(number)
            );
        }
        bench.write32(regs::COMMAND_OBJECT, 0x1234_5678);
        assert_eq!(bench.read32(regs::COMMAND_OBJECT), 0x1234_5678);
        bench.write32(regs::MAGIC, 0);
        assert_eq!(bench.read32(regs::MAGIC), regs::MAGIC_VALUE);
    });
}

/// A register of 32 bits takes all its bytes or none, a doorbell all eight.
#[test]
fn partial_writes_are_ignored() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        bench.write32(regs::COMMAND_OBJECT, 0x1234_5678);
        for strobe in 0..=0xFF {
            if strobe != 0xFF {
                bench.request(SQ_DOORBELL, true, 0, strobe);
                bench.request(CQ_DOORBELL, true, 0, strobe);
            }
            if strobe & 0xF != 0xF {
                bench.request(regs::COMMAND_OBJECT, true, u64::MAX, strobe);
                bench.request(regs::COMMAND, true, 1, strobe);
            }
        }
        while !bench.requests.is_empty() {
            bench.idle(1);
        }
        assert_eq!(bench.read32(regs::COMMAND_OBJECT), 0x1234_5678);
        assert_eq!(bench.read32(regs::COMMAND_STATUS), 0);
        assert_eq!((bench.rung, bench.bad), (0, 0));
    });
}

#[test]
fn doorbells_go_where_they_belong() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        let queue = |qpn, producer| {
            QueueDoorbell {
                qpn,
                producer,
                pushed: 0,
            }
            .to_bits()
        };
        bench.write64(SQ_DOORBELL, queue(7, 0xFFFF));
        bench.write64(RQ_DOORBELL, queue(1, 2));
        // SRQs are numbered behind the 8 QPs, and in order with their doorbells.
        bench.write64(SRQ_DOORBELL, queue(3, 9));
        bench.write64(SRQ_DOORBELL, queue(4, 1));
        bench.write64(
            CQ_DOORBELL,
            CqDoorbell {
                cqn: 3,
                consumer: 0xAB_CDEF,
            }
            .to_bits(),
        );
        // Beyond the tables, and in halves.
        bench.write64(SQ_DOORBELL, queue(8, 1));
        bench.write64(RQ_DOORBELL, queue(0x80_0000, 1));
        bench.write64(
            CQ_DOORBELL,
            CqDoorbell {
                cqn: 4,
                consumer: 0,
            }
            .to_bits(),
        );
        bench.write32(SQ_DOORBELL, 2);
        bench.write32(SQ_DOORBELL + 4, 5);
        // Behind the registers of the page, and outside of all pages.
        bench.write64(SQ_DOORBELL + 0x800, queue(2, 1));
        bench.write64(regs::SQ_DOORBELL, queue(2, 1));
        bench.idle(60);
        let bell = |qp: u64, producer: u64| QueueBell {
            qp: qp.into(),
            producer: producer.into(),
            ..QueueBell::default()
        };
        assert_eq!(bench.sq, [bell(7, 0xFFFF)]);
        assert_eq!(bench.rq, [bell(1, 2), bell(8 + 3, 9)]);
        assert_eq!(bench.cq_seen, [(3, 0xAB_CDEF)]);
        assert_eq!(bench.cq.len(), 0);
        assert_eq!((bench.rung, bench.bad), (8, 4));
    });
}

/// Consumer indices are known although nobody takes a doorbell, armings among them, and while a queue is taken away.
#[test]
fn consumer_indices_wait_for_nobody() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        let made = bench.command(Command::CreateCq, 1, &[good_cq(None)]);
        assert_eq!(made as u8, 0);
        bench.stall = 1.0;
        bench.cq_seen.clear();
        bench.fill(&[[0; 4]]);
        bench.start(Command::DestroyCq as u32, 1);
        let mut expected = Vec::new();
        // As many as the FIFOs of other doorbells hold, and nobody takes them.
        for consumer in 0..16_u32 {
            let arm = CqArm {
                cqn: 2,
                solicited_only: false,
                consumer: 2 * consumer,
            };
            let bell = CqDoorbell {
                cqn: 3,
                consumer: 2 * consumer + 1,
            };
            let eq = EqDoorbell {
                eqn: 1,
                arm: true,
                consumer,
            };
            bench.write64(regs::in_page(0, regs::CQ_ARM), arm.to_bits());
            bench.write64(CQ_DOORBELL, bell.to_bits());
            bench.write64(regs::in_page(0, regs::EQ_DOORBELL), eq.to_bits());
            expected.extend([
                (2, u64::from(2 * consumer)),
                (3, u64::from(2 * consumer + 1)),
            ]);
        }
        bench.idle(600);
        assert!(bench.requests.is_empty());
        assert_eq!(bench.eq_seen, (0..16).map(|k| (1, k)).collect::<Vec<_>>());
        // The queue that is taken away begins anew, at some moment.
        let cleared: Vec<_> = bench.cq_seen.iter().filter(|seen| seen.0 == 1).collect();
        assert_eq!(cleared, [&(1, 0)]);
        bench.cq_seen.retain(|seen| seen.0 != 1);
        assert_eq!(bench.cq_seen, expected);
        assert_eq!((bench.cq.len(), bench.eq.len()), (0, 0));
        bench.stall = 0.0;
        bench.idle(200);
        assert_eq!((bench.cq.len(), bench.eq.len()), (16, 16));
        assert_eq!(bench.state(), MailboxState::Done(0));
    });
}

#[test]
fn no_doorbell_is_lost_and_no_read_is_reordered_under_stalls() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        bench.stall = 0.9;
        let mut expected = Vec::new();
        let mut reads = Vec::new();
        for index in 0..400_u16 {
            if index % 3 == 0 {
                let number = u64::from(index) % 128;
                bench.request(regs::COUNTERS + 8 * number, false, 0, 0);
                reads.push(Bench::counter_value(number));
            }
            let bell = QueueDoorbell {
                qpn: u32::from(index % 8),
                producer: index,
                pushed: 0,
            };
            bench.write64(SQ_DOORBELL, bell.to_bits());
            expected.push(QueueBell {
                qp: u64::from(index % 8).into(),
                producer: u64::from(index).into(),
                ..QueueBell::default()
            });
        }
        while !bench.requests.is_empty() {
            bench.idle(1);
        }
        bench.stall = 0.0;
        bench.idle(100);
        assert_eq!(bench.sq, expected);
        assert_eq!(Vec::from(bench.answers), reads);
    });
}

use anyhow::Result;
use ferroce_abi::regs::Counter;
use ferroce_driver::{Access, Pmtu};
use ferroce_sim::load::{Load, Op};
use ferroce_sim::pair::{Pair, PairConfig};
use ferroce_sim::transfer::piece;
use ferroce_sim::world::WorldConfig;
use ferroce_tests::model;
#[test]
fn rate() -> Result<()> {
    for (qps, depth) in [(1usize, 64usize), (10, 64), (16usize, 64usize)] {
        let config = PairConfig {
            qps,
            depth: 128,
            pmtu: Pmtu::B4096,
            ..PairConfig::default()
        };
        let world = WorldConfig::default();
        let pair = Pair::new(&model::wide()?, &world, &config)?;
        let source = pair.sides[0].pd.allocate(64, Access::NONE)?;
        let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
        let target = pair.sides[1].pd.allocate(64, rights)?;
        let message = piece(&source, &target, 0, 64)?;
        let mut last = 0;
        let t0 = pair.sim.now_fs();
        let times = pair.run(Load {
            op: Op::Write,
            count: 6000,
            depth,
            message: &|_| message,
            progress: &mut |n| {
                if n > 99999999 {
                    last = n;
                    let d = |i: usize, c| pair.sides[i].device.counter(c).unwrap();
                    println!(
                        "n {n} tx {} rx {} acks {} cqe {} reads {} fetches {} bells {}",
                        d(0, Counter::TxRequests),
                        d(1, Counter::RxRequests),
                        d(0, Counter::RxAcks),
                        d(0, Counter::CqeWritten),
                        d(0, Counter::DmaReads),
                        d(0, Counter::WqeFetches),
                        d(0, Counter::Doorbells)
                    );
                }
            },
        })?;
        let mut h = vec![0; 4000];
        for t in &times.sent {
            h[((t - t0) / 2_000_000_000) as usize] += 1;
        }
        println!(
            "{qps} {depth} cycles {} per 2us: {:?}",
            times.cycles,
            &h[..100.min(h.len())]
        );
        for c in [Counter::Doorbells, Counter::WqeFetches] {
            println!("{}", pair.sides[0].device.counter(c)?);
        }
    }
    Ok(())
}

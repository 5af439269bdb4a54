//! One RDMA WRITE and one SEND between two simulated cards, through the driver alone.
//!
//! Run it with `cargo run --release -p ferroce-sim --example write`.

use ferroce_driver::{Access, RecvWr, SendWr};
use ferroce_nic::NicConfig;
use ferroce_sim::design::{card_library, Options};
use ferroce_sim::pair::{Pair, PairConfig, PairError};
use ferroce_sim::world::WorldConfig;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let library = card_library(&NicConfig::SMALL, Options::default())?;
    let pair = Pair::new(&library, &WorldConfig::default(), &PairConfig::default())?;
    let [a, b] = &pair.sides;

    let source = a.pd.allocate(4096, Access::LOCAL_WRITE)?;
    let target =
        b.pd.allocate(4096, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
    source.write(0, b"written without b's help; sent into b's buffer")?;
    b.qps[0].post_recv(RecvWr::new(7, target.sge(1024..2048)?))?;

    a.qps[0].post_send(SendWr::write(1, source.sge(0..24)?, target.remote(3)?))?;
    a.qps[0].post_send(SendWr::send(2, source.sge(26..46)?))?;

    let mut left = 3;
    pair.sim
        .run_until::<PairError>("three completions", 100_000, || {
            for (name, cq) in [("a", &a.send_cq), ("b", &b.recv_cq)] {
                for completion in cq.poll(16)? {
                    left -= 1;
                    println!(
                        "{:7.3} us  {name}: request {}, {:?}, {} bytes: {}",
                        pair.sim.now_fs() as f64 * 1e-9,
                        completion.wr_id,
                        completion.opcode,
                        completion.byte_len,
                        completion.status
                    );
                }
            }
            Ok(left == 0)
        })?;

    for range in [3..27, 1024..1044] {
        let bytes = target.to_vec(range.clone())?;
        println!(
            "b's memory at {range:?}: {:?}",
            String::from_utf8_lossy(&bytes)
        );
    }
    Ok(())
}

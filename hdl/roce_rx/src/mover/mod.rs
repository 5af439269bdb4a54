//! From the packet buffer to host memory.

mod move_job;
mod move_plan;
mod move_writes;
mod payload_mover;

pub use move_job::{MoveJob, MoveLabel, MovedBeat};
pub use move_plan::MovePlan;
pub use move_writes::MoveWrites;
pub use payload_mover::{Mover, BEATS_BEHIND};

//! From the packet buffer to host memory.

mod move_align;
mod move_plan;
mod move_read;
mod move_step;
mod payload_mover;

pub use move_align::{MoveAlign, MovedBeat};
pub use move_plan::MovePlan;
pub use move_read::MoveRead;
pub use move_step::{MoveJob, MoveStep};
pub use payload_mover::Mover;

//! Headers in front of payload and away from it, at one 512-bit beat a cycle.
//!
//! * [`HeaderInsert`] puts a header of 0 to 127 bytes in front of each payload: a stream of headers and a stream of
//!   payload beats become a stream of frames.
//! * [`HeaderStrip`] takes payload out of frames that lie in a RAM, and places it at a byte offset of its first beat.
//!   It reads only beats that payload is in, so neither headers nor trailers cost time.
//!
//! Both walk over beats in steps and shift bytes by one rotation and one merge. What a step has to know of lengths and
//! offsets is computed beforehand, by [`InsertPlanner`] and [`StripPlanner`]: the parent runs them beside what it has to do for
//! a frame anyway.

pub mod insert;
pub mod insert_plan;
pub mod insert_steps;
pub mod strip;
pub mod strip_plan;
pub mod strip_steps;

pub use insert::HeaderInsert;
pub use insert_plan::{InsertJob, InsertPlan, InsertPlanner, INSERT_PLAN_LATENCY};
pub use strip::{HeaderStrip, STRIP_LATENCY};
pub use strip_plan::{StripJob, StripPlanner, STRIP_PLAN_LATENCY};
pub use strip_steps::StripStep;

/// Longest header in bytes that [`HeaderInsert`] and [`HeaderStrip`] take: one less than two beats.
pub const MAX_HEADER_BYTES: usize = 127;
/// Longest payload in bytes, with its pad: counters of beats have 7 bits.
pub const MAX_PAYLOAD_BYTES: usize = 8000;

//! What the whole-system tests share. The tests themselves are in `tests/`: Verilated cards with the driver on top
//! and a cable, or a software peer, in between.

pub mod asked;
pub mod extra;
pub mod judge;
pub mod mailbox;
pub mod model;
pub mod paged;
pub mod responder;
pub mod rough;
pub mod seed;
pub mod shadow;
pub mod traffic;

pub use ferroce_conformance::{
    atomics, bench, edit, failure, image, open, peer, reads, requester, setup,
};

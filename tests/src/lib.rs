//! What the whole-system tests share. The tests themselves are in `tests/`: Verilated cards with the driver on top
//! and a cable, or a software peer, in between.

pub mod asked;
pub mod bench;
pub mod edit;
pub mod extra;
pub mod failure;
pub mod image;
pub mod judge;
pub mod mailbox;
pub mod model;
pub mod open;
pub mod paged;
pub mod peer;
pub mod reads;
pub mod requester;
pub mod rough;
pub mod seed;
pub mod setup;
pub mod shadow;
pub mod traffic;

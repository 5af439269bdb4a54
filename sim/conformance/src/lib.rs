//! Rules of the RoCEv2 standards, each with a check that runs against a Verilated card: what the card must send, count and write
//! is built from the rule or by the software model of the transport, never taken from the card.

pub mod atomics;
pub mod bench;
pub mod edit;
pub mod failure;
pub mod image;
pub mod open;
pub mod peer;
pub mod reads;
pub mod requester;
pub mod rules;
pub mod setup;
pub mod spoil;
pub mod stage;

pub use rules::groups;
pub use stage::{Rule, Run, Stage};

//! The receive side, Verilated, in a world of models.

mod chaos;
mod completions;
mod moving;
mod packet;
mod parsing;
mod random_requests;
mod rates;
mod requests;
#[path = "../../../roce_tx/tests/roce_tx/sim.rs"]
mod sim;
mod world;

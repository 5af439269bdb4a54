//! The receive side, Verilated, in a world of models.

mod chaos;
mod completions;
mod lengths;
mod moving;
mod packet;
mod parsing;
mod random_requests;
mod rates;
mod receives;
mod requester;
mod requests;
mod responder;
mod rights;
#[path = "../../../roce_tx/tests/roce_tx/sim.rs"]
mod sim;
mod timers;
mod world;

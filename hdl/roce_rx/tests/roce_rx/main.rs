//! The receive side, Verilated, in a world of models.

mod chaos;
mod completions;
mod data;
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
mod shared;
mod timers;
mod world;

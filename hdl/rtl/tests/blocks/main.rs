//! The building blocks in rust-hdl's simulation: directed and random, with back-pressure on every stream.

mod arbiters;
mod async_fifo;
mod bench;
mod checks;
mod datapath;
mod flow;
mod four_states;
mod header_insert;
mod header_strip;
mod rams;
mod rmw_ram;
mod skid;
mod sync_fifo;
mod weighted_arb;

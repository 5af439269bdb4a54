//! The CRC blocks in rust-hdl's simulation, against the `crc` crate.

mod append;
mod captures;
mod engines;
mod support;

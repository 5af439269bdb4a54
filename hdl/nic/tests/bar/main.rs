//! The register window with its command engine and counters, as a driver uses it.

mod bench;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod entries;
mod objects;
mod pages;
mod window;

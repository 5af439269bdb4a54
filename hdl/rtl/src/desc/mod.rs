//! Descriptors: what one pipeline tells another, as typed structs. A descriptor crosses a pipeline
//! border on a [`crate::stream`] stream or as one of the fixed-latency look-ups of [`lookup`].
//!
//! Architectural index widths are those of `ferroce_abi::limits`; RAM depths are generation
//! parameters and never exceed them.

pub mod bar;
pub mod cfg;
pub mod dma;
pub mod lookup;
pub mod pages;
pub mod rx;
pub mod tx;

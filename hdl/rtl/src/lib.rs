//! Building blocks shared by every Ferroce pipeline: streams, FIFOs, RAMs, arbiters, rotators,
//! CRC engines, and the descriptors that the pipelines exchange.

pub mod desc;
pub mod stream;

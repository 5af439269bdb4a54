//! From frames to packet descriptors: header checks, lengths, ICRC.

mod header_check;
mod meta_extract;
mod rx_parse;

pub use header_check::{HeaderCheck, HeaderInfo, HEADER_LATENCY};
pub use meta_extract::MetaExtract;
pub use rx_parse::{BufferWrite, RxParse, VALUE_OFFSET};

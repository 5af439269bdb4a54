//! Tables, register window and top level of the card.

pub mod mr_check;
pub mod wqe_cache;

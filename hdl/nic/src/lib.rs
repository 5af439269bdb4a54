//! Tables, register window and top level of the card.

pub mod wqe_cache;

//! Address translation: memory regions whose pages are scattered in host memory, an on-chip cache of their page tables, and the order in which a
//! region comes and goes while accesses are under way.

pub mod desc;
pub mod drain;
pub mod page_front;
pub mod page_head;
pub mod page_translator;
pub mod page_walk;
pub mod region_writer;

#[cfg(test)]
ferroce_emit::check_crate!();

//! Transmit side of the card: scheduler, sender, payload fetch, headers, frame assembly.
//!
//! [`roce_tx`] wires it together; `docs/microarchitecture.md` describes it.

pub mod answer_cut;
pub mod answer_desc;
pub mod answer_order;
pub mod answer_visit;
pub mod answers;
pub mod atomic_unit;
pub mod desc;
pub mod fetch;
pub mod fetch_collect;
pub mod fetch_issue;
pub mod fetch_pages;
pub mod fetch_read;
pub mod fetch_release;
pub mod fetch_split;
pub mod gate;
pub mod gate_filter;
pub mod header;
pub mod header_bth;
pub mod header_ipv4;
pub mod merge;
pub mod roce_tx;
pub mod sched;
pub mod send;
pub mod send_commit;
pub mod send_cut;
pub mod send_desc;
pub mod send_front;
pub mod send_packet;
pub mod send_state;
pub mod send_window;

#[cfg(test)]
ferroce_emit::check_crate!();

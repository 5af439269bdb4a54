//! Transmit side of the card: scheduler, sender, payload fetch, headers, frame assembly.
//!
//! [`roce_tx`] wires it together; `docs/microarchitecture.md` describes it.

pub mod desc;
pub mod sched;
pub mod send;
pub mod send_commit;
pub mod send_desc;
pub mod send_front;
pub mod send_packet;
pub mod send_state;
pub mod send_window;

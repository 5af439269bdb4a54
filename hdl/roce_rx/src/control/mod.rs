//! The control pipeline of the receive side: what each packet means for its QP.

mod data_match;
mod packet;
mod responder_loop;
mod rq_guard;
mod rx_control;
mod rx_entry;
mod rx_front;
mod rx_pages;
mod rx_place;
mod rx_verdict;

pub use data_match::DataMatch;
pub use packet::{Checked, DataStep, Decided, DropReason, PacketClass, Placed};
pub use responder_loop::ResponderLoop;
pub use rq_guard::RqGuard;
pub use rx_control::RxControl;
pub use rx_entry::{Op, ResponderEntry, RxEntry};
pub use rx_front::RxFront;
pub use rx_pages::RxPages;
pub use rx_place::RxPlace;
pub use rx_verdict::RxVerdict;

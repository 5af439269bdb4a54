//! The completing half of the requester: acknowledgements, retries, timers, send completions.

mod completion_pass;
mod event;
mod event_select;
mod pass_data;
mod rx_completer;
mod timer_scan;

pub use completion_pass::CompletionPass;
pub use event::{kind, Event};
pub use event_select::EventSelect;
pub use pass_data::{PassState, QpCfg, ScanWrite};
pub use rx_completer::Completer;
pub use timer_scan::TimerScan;

//! The completing half of the requester: acknowledgements, retries, timers, send completions.

mod completion_pass;
mod event;
mod event_select;
mod pass_commit;
mod pass_compare;
mod pass_data;
mod pass_decide;
mod rx_completer;
mod timer_scan;

pub use completion_pass::CompletionPass;
pub use event::{kind, Event};
pub use event_select::EventSelect;
pub use pass_commit::PassCommit;
pub use pass_compare::PassCompare;
pub use pass_data::{PassAction, PassNumbers, PassRead, PassState, QpCfg, ScanWrite};
pub use pass_decide::PassDecide;
pub use rx_completer::Completer;
pub use timer_scan::TimerScan;

//! How a module carries the name of its Rust type.
//!
//! rust-hdl's `Probe` shows a module as `&dyn Block`, which hides its type.
//! `Logic::timing()` is reachable there and rust-hdl's checks never read it
//! (only its unused `check_timing` report does), so it is the carrier.

use rust_hdl::prelude::TimingInfo;

/// Marks the `name` of a [`TimingInfo`] that carries a Rust type name.
pub(crate) const TYPE_TAG: &str = "type:";

/// The `timing()` of a module or hand-written primitive: its type name.
///
/// ```
/// use ferroce_emit::prelude::*;
/// # #[derive(LogicBlock, Default)]
/// # struct Ram { pub clock: Signal<In, Clock> }
/// impl Logic for Ram {
///     fn update(&mut self) {}
///     fn timing(&self) -> Vec<TimingInfo> {
///         type_tag::<Self>()
///     }
/// }
/// ```
#[must_use]
pub fn type_tag<T: ?Sized>() -> Vec<TimingInfo> {
    vec![TimingInfo {
        name: format!("{TYPE_TAG}{}", std::any::type_name::<T>()),
        clock: String::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
    }]
}

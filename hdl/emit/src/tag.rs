//! How a module carries the name of its Rust type.
//!
//! rust-hdl's `Probe` shows a module as `&dyn Block`, which hides its type.
//! `Logic::timing()` is reachable there and rust-hdl's checks never read it
//! (only its unused `check_timing` report does), so it is the carrier.

use rust_hdl::prelude::{TimingInfo, Verilog, VerilogLiteral};

/// Marks the `name` of a [`TimingInfo`] that carries a Rust type name.
pub(crate) const TYPE_TAG: &str = "type:";

/// The `name` with which rust-hdl-widgets' `DFF` describes itself.
const DFF_TAG: &str = "dff";

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

/// The `timing()` of a register primitive with ports `d`, `q` and `clock`: it
/// is printed inside its parent, like `DFF`. Its `hdl()` must be
/// [`register_verilog`].
#[must_use]
pub fn register_tag() -> Vec<TimingInfo> {
    vec![TimingInfo {
        name: DFF_TAG.into(),
        clock: "clock".into(),
        inputs: vec!["d".into()],
        outputs: vec!["q".into()],
    }]
}

/// The `hdl()` of a register primitive (see [`register_tag`]) that starts with
/// the value `init`.
#[must_use]
pub fn register_verilog(init: VerilogLiteral) -> Verilog {
    Verilog::Custom(format!(
        "initial begin\n    q = {init:x};\nend\n\nalways @(posedge clock) begin\n    q <= d;\nend\n"
    ))
}

/// The ports of a register that is printed inside its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegisterPorts {
    pub clock: String,
    pub d: String,
    pub q: String,
}

impl RegisterPorts {
    /// What `timing()` says, if it is the one of a register.
    pub fn find(timing: &[TimingInfo]) -> Option<Self> {
        let info = timing.iter().find(|info| info.name == DFF_TAG)?;
        Some(Self {
            clock: info.clock.clone(),
            d: info.inputs.first()?.clone(),
            q: info.outputs.first()?.clone(),
        })
    }
}

//! The list of modules to prove.

use super::stimulus::Inputs;
use crate::ports::Ports;
use rust_hdl::prelude::Block;

/// A module with a port list.
pub trait LeafModule: Block + Ports {
    /// It as a circuit.
    fn block(&self) -> &dyn Block;
}

impl<T: Block + Ports> LeafModule for T {
    fn block(&self) -> &dyn Block {
        self
    }
}

/// A registered module; made by [`register_leaf!`](crate::register_leaf).
pub struct Leaf {
    /// Name in reports, unique within the crate.
    pub name: &'static str,
    /// The Cargo package that registered it.
    pub package: &'static str,
    /// Name of its Rust type.
    pub type_name: fn() -> &'static str,
    /// Makes one.
    pub make: fn() -> Box<dyn LeafModule>,
    /// Restricts random inputs to what the module can take.
    pub restrict: fn(&mut Inputs),
}

inventory::collect!(Leaf);

/// The modules that a Cargo package registered, by name.
#[must_use]
pub fn leaves_of(package: &str) -> Vec<&'static Leaf> {
    let mut leaves: Vec<_> = inventory::iter::<Leaf>
        .into_iter()
        .filter(|leaf| leaf.package == package)
        .collect();
    leaves.sort_by_key(|leaf| leaf.name);
    leaves
}

/// The name of the type that `make` makes.
#[must_use]
pub fn constructed_type<T>(_make: &dyn Fn() -> T) -> &'static str {
    std::any::type_name::<T>()
}

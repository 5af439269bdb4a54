//! The ports of a module as data, for harnesses and testbenches.

use crate::bits::{pack, unpack, FromBits};
use crate::names::verilog_name;
use crate::netlist::struct_fields;
use rust_hdl::prelude::{Clock, In, Out, Signal, Synth};
use std::any::TypeId;

/// Direction of a port, seen from the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PortDirection {
    /// Driven from outside.
    Input,
    /// Driven by the module.
    Output,
    /// Both ways (pads only).
    InOut,
}

/// One port of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortInfo {
    /// Name in Verilog: the path of fields joined by `_`.
    pub name: String,
    /// Width in bits.
    pub width: usize,
    /// Direction, seen from the module.
    pub direction: PortDirection,
    /// Whether its type is `Clock`.
    pub is_clock: bool,
}

/// A signal of a module's boundary, whatever its type.
pub trait Port {
    /// Width in bits.
    fn width(&self) -> usize;
    /// Direction, seen from the module.
    fn direction(&self) -> PortDirection;
    /// Whether its type is `Clock`.
    fn is_clock(&self) -> bool;
    /// The fields of a struct, least significant first, as offset and width;
    /// for anything else one field that is all of it.
    fn fields(&self) -> Vec<(usize, usize)>;
    /// Sets the value that an input takes in the next `update_all`; outputs
    /// ignore it. A bit pattern that is no value of the type (an enum number
    /// without a variant) becomes the value that `FromBits` reads from it.
    fn set(&mut self, words: &[u32]);
    /// The present value: what an input was last set to, what an output drives.
    fn get(&self) -> Vec<u32>;
}

/// Walks over ports; names arrive as a path of fields.
pub trait PortVisitor {
    /// Goes into a field (a port, or an interface of ports).
    fn enter(&mut self, field: &str);
    /// Goes into an element of an array field.
    fn enter_index(&mut self, index: usize) {
        self.enter(&index.to_string());
    }
    /// Leaves the field or element entered last.
    fn leave(&mut self);
    /// The port at the present path.
    fn port(&mut self, port: &mut dyn Port);
}

/// Something with ports: a module, an interface, a signal or an array of those.
///
/// `#[derive(Module)]` implements it for modules and interfaces.
pub trait Ports {
    /// Shows every port once, always in the same order.
    fn visit_ports(&mut self, visitor: &mut dyn PortVisitor);
}

impl<T: FromBits + 'static> Port for Signal<In, T> {
    fn fields(&self) -> Vec<(usize, usize)> {
        fields_of::<T>()
    }
    fn width(&self) -> usize {
        T::BITS
    }
    fn direction(&self) -> PortDirection {
        PortDirection::Input
    }
    fn is_clock(&self) -> bool {
        TypeId::of::<T>() == TypeId::of::<Clock>()
    }
    fn set(&mut self, words: &[u32]) {
        self.next = unpack(words);
    }
    fn get(&self) -> Vec<u32> {
        pack(&self.next)
    }
}

impl<T: FromBits + 'static> Port for Signal<Out, T> {
    fn fields(&self) -> Vec<(usize, usize)> {
        fields_of::<T>()
    }
    fn width(&self) -> usize {
        T::BITS
    }
    fn direction(&self) -> PortDirection {
        PortDirection::Output
    }
    fn is_clock(&self) -> bool {
        TypeId::of::<T>() == TypeId::of::<Clock>()
    }
    fn set(&mut self, _words: &[u32]) {}
    fn get(&self) -> Vec<u32> {
        pack(&self.val())
    }
}

impl<T: FromBits + 'static> Ports for Signal<In, T> {
    fn visit_ports(&mut self, visitor: &mut dyn PortVisitor) {
        visitor.port(self);
    }
}

impl<T: FromBits + 'static> Ports for Signal<Out, T> {
    fn visit_ports(&mut self, visitor: &mut dyn PortVisitor) {
        visitor.port(self);
    }
}

fn fields_of<T: Synth>() -> Vec<(usize, usize)> {
    let mut fields = Vec::new();
    struct_fields(&T::descriptor(), "", 0, &mut fields);
    if fields.is_empty() {
        return vec![(0, T::BITS)];
    }
    fields
        .into_iter()
        .map(|(_, offset, width)| (offset, width))
        .collect()
}

/// A public generation parameter is no port.
impl<T: Synth> Ports for rust_hdl::prelude::Constant<T> {
    fn visit_ports(&mut self, _visitor: &mut dyn PortVisitor) {}
}

impl<P: Ports, const N: usize> Ports for [P; N] {
    fn visit_ports(&mut self, visitor: &mut dyn PortVisitor) {
        visit_elements(self, visitor);
    }
}

impl<P: Ports> Ports for Vec<P> {
    fn visit_ports(&mut self, visitor: &mut dyn PortVisitor) {
        visit_elements(self, visitor);
    }
}

fn visit_elements<P: Ports>(elements: &mut [P], visitor: &mut dyn PortVisitor) {
    for (index, element) in elements.iter_mut().enumerate() {
        visitor.enter_index(index);
        element.visit_ports(visitor);
        visitor.leave();
    }
}

/// The ports of a module, in the order in which they are visited.
#[must_use]
pub fn port_list(module: &mut dyn Ports) -> Vec<PortInfo> {
    struct Collect {
        path: Vec<String>,
        found: Vec<PortInfo>,
    }
    impl PortVisitor for Collect {
        fn enter(&mut self, field: &str) {
            self.path.push(field.to_owned());
        }
        fn leave(&mut self) {
            self.path.pop();
        }
        fn port(&mut self, port: &mut dyn Port) {
            self.found.push(PortInfo {
                name: verilog_name(&self.path.join("$")),
                width: port.width(),
                direction: port.direction(),
                is_clock: port.is_clock(),
            });
        }
    }
    let mut collect = Collect {
        path: Vec::new(),
        found: Vec::new(),
    };
    module.visit_ports(&mut collect);
    collect.found
}

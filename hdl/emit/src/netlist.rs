//! The tree of modules that a rust-hdl design consists of.

use crate::names::type_base_name;
use crate::tag::{RegisterPorts, TYPE_TAG};
use num_bigint::BigUint;
use rust_hdl::core::type_descriptor::TypeKind;
use rust_hdl::prelude::{Atom, AtomKind, Block, Probe, TypeDescriptor, Verilog};

/// A signal or constant of a module; its name joins fields by `$`.
#[derive(Debug, Clone)]
pub(crate) struct AtomInfo {
    pub name: String,
    pub kind: AtomKind,
    pub width: usize,
    pub signed: bool,
    pub is_clock: bool,
    /// The value of a constant.
    pub value: BigUint,
    /// Fields of a struct: name, offset, width.
    pub fields: Vec<(String, usize, usize)>,
    /// `Kind::Variant` of an enum, by number.
    pub variants: Vec<String>,
}

/// A module instance.
#[derive(Debug)]
pub(crate) struct Node {
    /// Field of the parent that holds it.
    pub instance: String,
    /// Path from the top, for messages.
    pub path: String,
    /// Base of its module name.
    pub base_name: String,
    /// Rust's name of its type, if it carries it.
    pub type_name: Option<String>,
    pub verilog: Verilog,
    pub atoms: Vec<AtomInfo>,
    pub children: Vec<Node>,
    /// How to print it as a register of its parent.
    pub register: Option<RegisterPorts>,
}

impl Node {
    /// Where it is, for messages.
    pub fn place(&self) -> String {
        match &self.type_name {
            Some(name) => format!("{} ({name})", self.path),
            None => self.path.clone(),
        }
    }

    pub fn atom(&self, name: &str) -> Option<&AtomInfo> {
        self.atoms.iter().find(|atom| atom.name == name)
    }
}

/// Reads the whole design.
pub(crate) fn read(top: &dyn Block, name: &str) -> Option<Node> {
    let mut walk = Walk::default();
    top.accept(name, &mut walk);
    walk.done
}

#[derive(Default)]
struct Walk {
    open: Vec<(Node, Vec<String>)>,
    done: Option<Node>,
}

impl Walk {
    /// The full name of `name` in the namespace being visited.
    fn scoped(&self, name: &str) -> String {
        match self.open.last() {
            Some((_, namespace)) if !namespace.is_empty() => {
                format!("{}${name}", namespace.join("$"))
            }
            _ => name.to_owned(),
        }
    }
}

impl Probe for Walk {
    fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
        let instance = self.scoped(name);
        let path = match self.open.last() {
            Some((parent, _)) => format!("{}.{}", parent.path, instance.replace('$', ".")),
            None => instance.clone(),
        };
        let timing = node.timing();
        let type_name = timing
            .iter()
            .find_map(|info| info.name.strip_prefix(TYPE_TAG))
            .map(str::to_owned);
        self.open.push((
            Node {
                base_name: type_base_name(type_name.as_deref().unwrap_or(&instance)),
                instance,
                path,
                type_name,
                verilog: node.hdl(),
                atoms: Vec::new(),
                children: Vec::new(),
                register: RegisterPorts::find(&timing),
            },
            Vec::new(),
        ));
    }

    fn visit_start_namespace(&mut self, name: &str, _node: &dyn Block) {
        if let Some((_, namespace)) = self.open.last_mut() {
            namespace.push(name.to_owned());
        }
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        let name = self.scoped(name);
        if let Some((node, _)) = self.open.last_mut() {
            node.atoms.push(atom_info(name, signal));
        }
    }

    fn visit_end_namespace(&mut self, _name: &str, _node: &dyn Block) {
        if let Some((_, namespace)) = self.open.last_mut() {
            namespace.pop();
        }
    }

    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        if let Some((node, _)) = self.open.pop() {
            match self.open.last_mut() {
                Some((parent, _)) => parent.children.push(node),
                None => self.done = Some(node),
            }
        }
    }
}

fn atom_info(name: String, signal: &dyn Atom) -> AtomInfo {
    let descriptor = signal.descriptor();
    let kind = signal.kind();
    let mut fields = Vec::new();
    struct_fields(&descriptor, "", 0, &mut fields);
    AtomInfo {
        name,
        kind,
        width: signal.bits(),
        signed: matches!(descriptor.kind, TypeKind::Signed(_)),
        is_clock: descriptor.name == "clock",
        value: if kind == AtomKind::Constant {
            crate::runtime::literal_value(&signal.verilog())
        } else {
            BigUint::default()
        },
        fields,
        variants: match descriptor.kind {
            TypeKind::Enum(variants) => variants,
            _ => Vec::new(),
        },
    }
}

/// Lists the leaves of a struct; returns the width of `descriptor`.
pub(crate) fn struct_fields(
    descriptor: &TypeDescriptor,
    name: &str,
    offset: usize,
    fields: &mut Vec<(String, usize, usize)>,
) -> usize {
    let width = match &descriptor.kind {
        TypeKind::Bits(width) | TypeKind::Signed(width) => *width,
        TypeKind::Enum(variants) => rust_hdl::prelude::clog2(variants.len()),
        TypeKind::Composite(members) => {
            let mut at = offset;
            for member in members {
                let inner = if name.is_empty() {
                    member.fieldname.clone()
                } else {
                    format!("{name}.{}", member.fieldname)
                };
                at += struct_fields(&member.kind, &inner, at, fields);
            }
            return at - offset;
        }
    };
    if !name.is_empty() {
        fields.push((name.to_owned(), offset, width));
    }
    width
}

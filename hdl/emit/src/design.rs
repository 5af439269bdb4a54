//! Designs as sets of Verilog modules.

use crate::error::EmitError;
use crate::module::{ports, print_custom, print_kernel, Body, Child, Instance, Paths};
use crate::names::NameSpace;
use crate::netlist::{read, Node};
use crate::ports::PortInfo;
use rust_hdl::core::ast::VerilogStatement;
use rust_hdl::prelude::{Block, Verilog};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};

/// A Verilog module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleText {
    /// Its name.
    pub name: String,
    /// The Rust type that it was printed for, if that carries its name.
    pub rust_type: Option<String>,
    /// From `module` to `endmodule`.
    pub text: String,
    /// Its ports.
    pub ports: Vec<PortInfo>,
    /// Modules inside it.
    pub instances: Vec<Instance>,
}

/// A design in Verilog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    top: String,
    ports: Vec<PortInfo>,
    modules: Vec<ModuleText>,
    cores: Vec<(String, String)>,
}

/// A module that an [`Emitter`] printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmittedModule {
    /// Its name.
    pub name: String,
    /// Its ports.
    pub ports: Vec<PortInfo>,
}

/// Prints a circuit and everything in it; the top module is called `top_name`.
///
/// # Errors
/// See [`EmitError`]; the circuit must have been set up by `connect_all` only
/// if rust-hdl's own checks shall run on it, this one needs no preparation.
pub fn emit(block: &dyn Block, top_name: &str) -> Result<Design, EmitError> {
    let mut emitter = Emitter::default();
    let top = emitter.add_named(block, top_name)?;
    Ok(emitter.finish(top))
}

/// Prints several circuits that share modules.
#[derive(Debug, Default)]
pub struct Emitter {
    modules: Vec<ModuleText>,
    /// Text after the name, to the module's name.
    printed: HashMap<String, String>,
    names: NameSpace,
    /// External declarations by name.
    cores: BTreeMap<String, String>,
}

impl Emitter {
    /// Prints a circuit as a module called `name`.
    ///
    /// # Errors
    /// See [`EmitError`].
    pub fn add_named(&mut self, block: &dyn Block, name: &str) -> Result<EmittedModule, EmitError> {
        self.names.claim(name);
        self.add_circuit(block, Some(name))
    }

    /// Prints a circuit as a module named after its type.
    ///
    /// # Errors
    /// See [`EmitError`].
    pub fn add(&mut self, block: &dyn Block) -> Result<EmittedModule, EmitError> {
        self.add_circuit(block, None)
    }

    fn add_circuit(
        &mut self,
        block: &dyn Block,
        name: Option<&str>,
    ) -> Result<EmittedModule, EmitError> {
        let node = catch_unwind(AssertUnwindSafe(|| read(block, name.unwrap_or("top"))))
            .map_err(|panic| EmitError::Panicked {
                message: panic_message(panic.as_ref()),
            })?
            .ok_or_else(|| EmitError::Unsupported {
                module: name.unwrap_or("top").to_owned(),
                what: "the top of a design is a module, not a signal or array".to_owned(),
            })?;
        Ok(EmittedModule {
            name: self.print(&node, name)?.module,
            ports: ports(&node)?,
        })
    }

    /// Prints a module after those that it contains.
    fn print(&mut self, node: &Node, name: Option<&str>) -> Result<Child, EmitError> {
        let by_hand = |text| Body {
            text,
            // Primitives answer after a clock edge; if one does not, a loop
            // through it is found when it is simulated.
            paths: Paths::new(),
            instances: Vec::new(),
        };
        let body = match &node.verilog {
            Verilog::Combinatorial(code) => self.print_with_children(node, code)?,
            Verilog::Empty if ports(node)?.is_empty() => self.print_with_children(node, &[])?,
            Verilog::Empty => {
                return Err(EmitError::NoVerilog {
                    module: node.place(),
                })
            }
            Verilog::Custom(code) => by_hand(print_custom(node, code, false)?),
            Verilog::Wrapper(wrapper) => {
                self.add_core(&wrapper.cores, &wrapper.cores)?;
                by_hand(print_custom(node, &wrapper.code, true)?)
            }
            Verilog::Blackbox(core) => {
                self.add_core(&core.name, &core.code)?;
                return Ok(Child {
                    module: core.name.clone(),
                    paths: Paths::new(),
                });
            }
        };
        let known = self.printed.get(&body.text).filter(|_| name.is_none());
        let module = match (known, name) {
            (Some(module), _) => module.clone(),
            (None, Some(name)) => self.add_module(node, name.to_owned(), &body)?,
            (None, None) => {
                let name = self.names.allocate(&node.base_name);
                self.add_module(node, name, &body)?
            }
        };
        Ok(Child {
            module,
            paths: body.paths,
        })
    }

    fn add_module(&mut self, node: &Node, name: String, body: &Body) -> Result<String, EmitError> {
        self.modules.push(ModuleText {
            name: name.clone(),
            rust_type: node.type_name.clone(),
            text: format!("module {name}{}", body.text),
            ports: ports(node)?,
            instances: body.instances.clone(),
        });
        self.printed.insert(body.text.clone(), name.clone());
        Ok(name)
    }

    fn print_with_children(
        &mut self,
        node: &Node,
        code: &[VerilogStatement],
    ) -> Result<Body, EmitError> {
        let mut children = BTreeMap::new();
        for child in &node.children {
            if child.register.is_none() {
                children.insert(child.instance.clone(), self.print(child, None)?);
            }
        }
        print_kernel(node, code, &children)
    }

    fn add_core(&mut self, name: &str, code: &str) -> Result<(), EmitError> {
        if code.trim().is_empty() {
            return Ok(());
        }
        match self.cores.get(name) {
            Some(known) if known != code => Err(EmitError::BlackBoxConflict {
                name: name.to_owned(),
            }),
            Some(_) => Ok(()),
            None => {
                self.cores.insert(name.to_owned(), code.to_owned());
                Ok(())
            }
        }
    }

    /// Keeps a module name for somebody else.
    pub fn reserve(&mut self, name: &str) {
        self.names.claim(name);
    }

    /// All modules so far as one file.
    #[must_use]
    pub fn text(&self) -> String {
        file_text(&self.modules, self.cores.values())
    }

    /// The design whose top is `top`.
    #[must_use]
    pub fn finish(self, top: EmittedModule) -> Design {
        Design {
            top: top.name,
            ports: top.ports,
            modules: self.modules,
            cores: self.cores.into_iter().collect(),
        }
    }
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
        .unwrap_or_else(|| "no message".to_owned())
}

/// What every file starts with: undeclared names are errors.
pub(crate) const FILE_START: &str = "`default_nettype none\n\n";
/// Leaves the default as other people's files expect it.
pub(crate) const FILE_END: &str = "\n`default_nettype wire\n";

fn file_text<'a>(modules: &[ModuleText], cores: impl Iterator<Item = &'a String>) -> String {
    let mut text = String::from(FILE_START);
    for module in modules {
        text.push_str(&module.commented());
        text.push('\n');
    }
    for code in cores {
        text.push_str(code.trim());
        text.push_str("\n\n");
    }
    text.trim_end().to_owned() + "\n" + FILE_END
}

impl Design {
    /// Name of the top module.
    #[must_use]
    pub fn top(&self) -> &str {
        &self.top
    }

    /// Ports of the top module.
    #[must_use]
    pub fn ports(&self) -> &[PortInfo] {
        &self.ports
    }

    /// All modules, each after those that it contains.
    #[must_use]
    pub fn modules(&self) -> &[ModuleText] {
        &self.modules
    }

    /// The module of this name and all modules inside it, as a design of its own; it keeps all
    /// external declarations.
    #[must_use]
    pub fn part(&self, module: &str) -> Option<Self> {
        let top = self.modules.iter().find(|text| text.name == module)?;
        let mut wanted = HashSet::from([module]);
        // Modules come after those that they contain.
        for outer in self.modules.iter().rev() {
            if wanted.contains(outer.name.as_str()) {
                wanted.extend(outer.instances.iter().map(|inner| inner.module.as_str()));
            }
        }
        Some(Self {
            top: module.to_owned(),
            ports: top.ports.clone(),
            modules: (self.modules.iter())
                .filter(|text| wanted.contains(text.name.as_str()))
                .cloned()
                .collect(),
            cores: self.cores.clone(),
        })
    }

    /// The whole design as one file.
    #[must_use]
    pub fn verilog(&self) -> String {
        file_text(&self.modules, self.cores.iter().map(|(_, code)| code))
    }

    /// Writes `<module>.sv` for every module and `cores.sv` for external
    /// declarations, if there are any; returns the paths.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn write_to(&self, folder: &Path) -> std::io::Result<Vec<PathBuf>> {
        std::fs::create_dir_all(folder)?;
        let mut paths = Vec::new();
        let mut write = |name: &str, text: &str| -> std::io::Result<()> {
            let path = folder.join(format!("{name}.sv"));
            std::fs::write(
                &path,
                format!("{FILE_START}{}\n{FILE_END}", text.trim_end()),
            )?;
            paths.push(path);
            Ok(())
        };
        for module in &self.modules {
            write(&module.name, &module.commented())?;
        }
        if !self.cores.is_empty() {
            let cores: Vec<&str> = self.cores.iter().map(|(_, code)| code.trim()).collect();
            write("cores", &cores.join("\n\n"))?;
        }
        Ok(paths)
    }
}

impl ModuleText {
    /// The text under a comment that names the Rust type.
    fn commented(&self) -> String {
        match &self.rust_type {
            Some(name) => format!("// {name}\n{}", self.text),
            None => self.text.clone(),
        }
    }
}

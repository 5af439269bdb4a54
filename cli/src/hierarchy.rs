//! Where the modules of a design are used, and which clocks they get there.

use std::collections::{BTreeMap, BTreeSet};

use ferroce_emit::{Design, ModuleText};

/// Modules that only connect others; what stands in them counts as a block of the card.
const CONTAINERS: [&str; 6] = ["Card", "Nic", "PcieEngine", "RoceTx", "RoceRx", "Mac100g"];

/// Blocks of the toolbox that are listed by themselves, although they stand inside another block.
const INNER: [&str; 1] = ["HeaderStrip"];

/// A module of a design.
#[derive(Debug, Clone)]
pub struct Placed<'a> {
    /// The module.
    pub module: &'a ModuleText,
    /// How often it is there.
    pub instances: u32,
    /// By clock input: the clocks of the top module that drive it.
    pub clocks: BTreeMap<String, BTreeSet<String>>,
    /// Whether it stands directly in a container.
    pub is_block: bool,
    /// Whether it is one.
    pub is_container: bool,
    /// Whether it is listed, but part of a block.
    pub is_inner: bool,
}

/// Name of a Rust type without path and parameters.
pub fn short_type(full: &str) -> &str {
    let plain = full.split('<').next().unwrap_or(full);
    plain.rsplit("::").next().unwrap_or(plain)
}

/// All modules of a design by name.
pub fn places(design: &Design) -> BTreeMap<&str, Placed<'_>> {
    let mut walk = Walk {
        modules: design
            .modules()
            .iter()
            .map(|module| (module.name.as_str(), module))
            .collect(),
        placed: BTreeMap::new(),
    };
    let own = design.ports().iter().filter(|port| port.is_clock);
    let clocks = own
        .map(|port| (port.name.clone(), port.name.clone()))
        .collect();
    walk.enter(design.top(), &clocks, false);
    walk.placed
}

struct Walk<'a> {
    modules: BTreeMap<&'a str, &'a ModuleText>,
    placed: BTreeMap<&'a str, Placed<'a>>,
}

impl<'a> Walk<'a> {
    /// `clocks` maps nets of the module to clocks of the top.
    fn enter(&mut self, name: &str, clocks: &BTreeMap<String, String>, in_container: bool) {
        // External modules have no contents.
        let Some(module) = self.modules.get(name).copied() else {
            return;
        };
        let type_name = module.rust_type.as_deref().map_or("", short_type);
        let is_container = CONTAINERS.contains(&type_name);
        let placed = self.placed.entry(&module.name).or_insert(Placed {
            module,
            instances: 0,
            clocks: BTreeMap::new(),
            is_block: false,
            is_container,
            is_inner: INNER.contains(&type_name),
        });
        placed.instances += 1;
        placed.is_block |= in_container && !is_container;
        for port in module.ports.iter().filter(|port| port.is_clock) {
            let sources = placed.clocks.entry(port.name.clone()).or_default();
            sources.extend(clocks.get(&port.name).cloned());
        }
        for instance in &module.instances {
            let inner = instance.clocks.iter().filter_map(|(port, net)| {
                let source = clocks.get(net)?;
                Some((port.clone(), source.clone()))
            });
            self.enter(&instance.module, &inner.collect(), is_container);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_lose_paths_and_parameters() {
        assert_eq!(short_type("ferroce_rtl::ram::Ram<a::b::C<d::E>>"), "Ram");
        assert_eq!(short_type("Nic"), "Nic");
    }
}

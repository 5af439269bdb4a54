//! A flat netlist as Yosys' `write_json` gives it.

use std::collections::{BTreeMap, HashMap};

use serde::de::IgnoredAny;
use serde::Deserialize;

use crate::ReportError;

/// A connected wire; constants have no number.
pub type Bit = usize;

#[derive(Deserialize)]
struct Document {
    modules: HashMap<String, Netlist>,
}

/// One module.
#[derive(Deserialize)]
pub struct Netlist {
    pub ports: BTreeMap<String, PortBits>,
    pub cells: BTreeMap<String, Cell>,
    netnames: BTreeMap<String, NetName>,
    /// Best name of each bit, made from the above.
    #[serde(skip)]
    names: HashMap<Bit, String>,
}

/// A port of the module.
#[derive(Deserialize)]
pub struct PortBits {
    pub direction: Direction,
    bits: Vec<Signal>,
}

/// A cell instance.
#[derive(Deserialize)]
pub struct Cell {
    #[serde(rename = "type")]
    pub kind: String,
    parameters: Parameters,
    port_directions: BTreeMap<String, Direction>,
    connections: BTreeMap<String, Vec<Signal>>,
}

/// The few cell parameters that matter; initial contents are skipped.
#[derive(Deserialize)]
struct Parameters {
    #[serde(rename = "WRITE_WIDTH_B")]
    write_width_b: Option<String>,
}

#[derive(Deserialize)]
struct NetName {
    hide_name: u32,
    bits: Vec<Signal>,
    /// Lowest index, where it isn't 0.
    #[serde(default)]
    offset: i64,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Input,
    Output,
    Inout,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Signal {
    Net(Bit),
    /// "0", "1", "x" or "z", which are alike here.
    Constant(IgnoredAny),
}

impl Signal {
    fn net(&self) -> Option<Bit> {
        match self {
            Self::Net(bit) => Some(*bit),
            Self::Constant(_) => None,
        }
    }
}

impl PortBits {
    /// Its connected bits.
    pub fn nets(&self) -> impl Iterator<Item = Bit> + '_ {
        self.bits.iter().filter_map(Signal::net)
    }
}

impl Cell {
    /// A pin's bits by index, constants left out.
    pub fn pin(&self, name: &str) -> impl Iterator<Item = (usize, Bit)> + '_ {
        let signals = self
            .connections
            .get(name)
            .map(Vec::as_slice)
            .unwrap_or_default();
        signals
            .iter()
            .enumerate()
            .filter_map(|(index, signal)| Some((index, signal.net()?)))
    }

    /// The first bit of a pin, if it is connected to a net.
    pub fn bit(&self, pin: &str) -> Option<Bit> {
        self.connections.get(pin)?.first()?.net()
    }

    /// Names of the pins of one direction.
    pub fn pins(&self, direction: Direction) -> impl Iterator<Item = &str> + '_ {
        let pins = self
            .port_directions
            .iter()
            .filter(move |pin| *pin.1 == direction);
        pins.map(|(name, _)| name.as_str())
    }

    /// All bits of the pins of one direction.
    pub fn bits(&self, direction: Direction) -> impl Iterator<Item = Bit> + '_ {
        self.pins(direction)
            .flat_map(|pin| self.pin(pin))
            .map(|(_, bit)| bit)
    }

    /// Data width of a RAM's second write port.
    pub fn write_width_b(&self) -> u32 {
        let text = self.parameters.write_width_b.as_deref().unwrap_or_default();
        // Integers are strings of binary digits.
        u32::from_str_radix(text, 2).unwrap_or(0)
    }
}

impl Netlist {
    /// Reads the module `top` of a JSON text.
    pub fn parse(text: &str, top: &str) -> Result<Self, ReportError> {
        let unreadable = |problem: String| ReportError::Netlist {
            top: top.to_owned(),
            problem,
        };
        let mut document: Document =
            serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        let mut netlist = document
            .modules
            .remove(top)
            .ok_or_else(|| unreadable("the module is absent".to_owned()))?;
        netlist.name_bits();
        Ok(netlist)
    }

    /// A net's name as in the source if it has one there, else the tool's.
    pub fn name(&self, bit: Bit) -> &str {
        self.names.get(&bit).map_or("unnamed", String::as_str)
    }

    /// One more than the highest bit number.
    pub fn bit_count(&self) -> usize {
        let cells = self
            .cells
            .values()
            .flat_map(|cell| cell.connections.values().flatten());
        let ports = self.ports.values().flat_map(|port| &port.bits);
        cells
            .chain(ports)
            .filter_map(Signal::net)
            .max()
            .map_or(0, |bit| bit + 1)
    }

    fn name_bits(&mut self) {
        // Ports first, then names from the source, the highest in the hierarchy, the shortest.
        let rank = |name: &str, net: &NetName| {
            let port = self.ports.contains_key(name);
            (!port, net.hide_name, name.matches('.').count(), name.len())
        };
        let mut nets: Vec<_> = self.netnames.iter().collect();
        nets.sort_by_key(|(name, net)| rank(name, net));
        for (name, net) in nets {
            let name = without_part(name);
            for (index, signal) in net.bits.iter().enumerate() {
                if let Some(bit) = signal.net() {
                    self.names
                        .entry(bit)
                        .or_insert_with(|| match net.bits.len() {
                            1 => name.to_owned(),
                            _ => format!("{name}[{}]", index as i64 + net.offset),
                        });
                }
            }
        }
    }
}

/// A net's name without the part of the mapper's input that it was in.
fn without_part(name: &str) -> &str {
    name.strip_prefix("clock_part_")
        .and_then(|rest| rest.split_once('.'))
        .map_or(name, |(_, inner)| inner)
}

//! Longest paths through a netlist, counted in LUT levels.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cells::{self, Arc, Capture, Class, LEVEL};
use crate::netlist::{Bit, Cell, Direction, Netlist};
use crate::ReportError;

/// What takes the value at a path's end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// Registers and RAMs of the clock of this name.
    Clock(String),
    /// The block's output ports.
    Outputs,
    /// Blocks of unknown contents.
    BlackBoxes,
}

impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Clock(name) => f.write_str(name),
            Self::Outputs => f.write_str("(output ports)"),
            Self::BlackBoxes => f.write_str("(black boxes)"),
        }
    }
}

/// One cell on a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Cell type.
    pub kind: String,
    /// Net it drives.
    pub net: String,
    /// Depth behind it, in eighths of a level.
    pub eighths: u32,
}

/// A path from a register, RAM or port to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// Whole LUT levels.
    pub levels: u32,
    /// Depth in eighths of a level, carry ripple included.
    pub eighths: u32,
    /// Type of the starting cell, or "port".
    pub start_kind: String,
    /// Net it starts at.
    pub start: String,
    /// Cells passed.
    pub steps: Vec<Step>,
    /// Where it ends: cell type and pin and the net of its first output, or a port.
    pub end: String,
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let depth = |eighths: u32| f64::from(eighths) / f64::from(LEVEL);
        writeln!(f, "{} levels ({:.3})", self.levels, depth(self.eighths))?;
        writeln!(f, "  {:>6}  {:<10} {}", "", self.start_kind, self.start)?;
        for step in &self.steps {
            writeln!(
                f,
                "  {:>6.3}  {:<10} {}",
                depth(step.eighths),
                step.kind,
                step.net
            )?;
        }
        write!(f, "  to {}", self.end)
    }
}

/// Paths that end in one domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainReport {
    /// Where they end.
    pub domain: Domain,
    /// Number of end points by level: the first entry counts those without logic before them.
    pub end_points: Vec<u32>,
    /// The longest.
    pub longest: Path,
    /// The longest of those that start at a block RAM's or UltraRAM's output and pass logic. Such
    /// an output without its register is about two levels slower than a flip-flop's.
    pub longest_from_ram: Option<Path>,
}

impl DomainReport {
    /// Whole LUT levels of the longest path.
    pub fn levels(&self) -> u32 {
        self.longest.levels
    }
}

/// Longest paths of all domains, in the domains' order.
pub(crate) fn domains(netlist: &Netlist) -> Result<Vec<DomainReport>, ReportError> {
    let graph = Graph::new(netlist)?;
    let all = graph.arrivals(|_| true);
    let rams = graph.arrivals(|start| {
        let class = start.cell.map(|cell| Class::of(&cell.kind));
        matches!(class, Some(Class::BlockRam | Class::UltraRam))
    });

    let mut reports = BTreeMap::new();
    for (domain, ends) in graph.ends() {
        let Some((longest, end)) = all.longest(&ends) else {
            continue;
        };
        let mut end_points = vec![0; (longest / LEVEL) as usize + 1];
        for arrival in ends.iter().filter_map(|end| all.depth[end.bit]) {
            end_points[(arrival / LEVEL) as usize] += 1;
        }
        let from_ram = rams.longest(&ends).filter(|(depth, _)| *depth > 0);
        let report = DomainReport {
            domain: domain.clone(),
            end_points,
            longest: graph.path(&all, end),
            longest_from_ram: from_ram.map(|(_, end)| graph.path(&rams, end)),
        };
        reports.insert(domain, report);
    }
    Ok(reports.into_values().collect())
}

struct Edge<'a> {
    cell: &'a Cell,
    arc: Arc,
}

struct Start<'a> {
    bit: Bit,
    depth: u32,
    /// None for a port.
    cell: Option<&'a Cell>,
}

struct End {
    bit: Bit,
    text: String,
}

/// Depth of every bit and the edge that made it so.
struct Arrivals {
    depth: Vec<Option<u32>>,
    by: Vec<Option<usize>>,
}

impl Arrivals {
    fn longest<'e>(&self, ends: &'e [End]) -> Option<(u32, &'e End)> {
        let reached = ends
            .iter()
            .filter_map(|end| Some((self.depth[end.bit]?, end)));
        // The first of equals, so that reports don't change without reason.
        reached.rev().max_by_key(|(depth, _)| *depth)
    }
}

struct Graph<'a> {
    netlist: &'a Netlist,
    bits: usize,
    /// In an order in which every edge comes after those it depends on.
    edges: Vec<Edge<'a>>,
    starts: Vec<Start<'a>>,
    /// Input of the buffer that drives a bit, to find a clock's source.
    buffered: BTreeMap<Bit, Bit>,
}

impl<'a> Graph<'a> {
    fn new(netlist: &'a Netlist) -> Result<Self, ReportError> {
        let mut edges = Vec::new();
        let mut starts = Vec::new();
        let mut buffered = BTreeMap::new();
        for port in netlist
            .ports
            .values()
            .filter(|port| port.direction != Direction::Output)
        {
            starts.extend(port.nets().map(|bit| Start {
                bit,
                depth: 0,
                cell: None,
            }));
        }
        for cell in netlist.cells.values() {
            let class = Class::of(&cell.kind);
            if let Some(depth) = cells::start_depth(class) {
                starts.extend(cell.bits(Direction::Output).map(|bit| Start {
                    bit,
                    depth,
                    cell: Some(cell),
                }));
            }
            let arcs = cells::arcs(cell);
            if class == Class::Wire {
                buffered.extend(arcs.iter().map(|arc| (arc.to, arc.from)));
            }
            edges.extend(arcs.into_iter().map(|arc| Edge { cell, arc }));
        }
        let bits = netlist.bit_count();
        Ok(Self {
            netlist,
            bits,
            edges: in_order(edges, bits, netlist)?,
            starts,
            buffered,
        })
    }

    fn arrivals(&self, from: impl Fn(&Start) -> bool) -> Arrivals {
        let mut arrivals = Arrivals {
            depth: vec![None; self.bits],
            by: vec![None; self.bits],
        };
        for start in self.starts.iter().filter(|start| from(start)) {
            arrivals.depth[start.bit] = Some(start.depth);
        }
        for (index, Edge { arc, .. }) in self.edges.iter().enumerate() {
            if let Some(depth) = arrivals.depth[arc.from] {
                let through = Some(depth + arc.depth);
                if arrivals.depth[arc.to] < through {
                    arrivals.depth[arc.to] = through;
                    arrivals.by[arc.to] = Some(index);
                }
            }
        }
        arrivals
    }

    fn ends(&self) -> BTreeMap<Domain, Vec<End>> {
        let mut ends: BTreeMap<Domain, Vec<End>> = BTreeMap::new();
        for cell in self.netlist.cells.values() {
            for pin in cell.pins(Direction::Input) {
                let domain = match cells::capture(cell, pin) {
                    None => continue,
                    Some(Capture::Unknown) => Domain::BlackBoxes,
                    Some(Capture::By(clock)) => Domain::Clock(self.clock_name(cell, clock)),
                };
                let output = cell.bits(Direction::Output).next();
                let owner = output.map_or("nothing", |bit| self.netlist.name(bit));
                ends.entry(domain)
                    .or_default()
                    .extend(cell.pin(pin).map(|(index, bit)| End {
                        bit,
                        text: format!("{} {pin}[{index}] of {owner}", cell.kind),
                    }));
            }
        }
        for (name, port) in &self.netlist.ports {
            if port.direction == Direction::Output {
                ends.entry(Domain::Outputs)
                    .or_default()
                    .extend(port.nets().enumerate().map(|(index, bit)| End {
                        bit,
                        text: format!("port {name}[{index}]"),
                    }));
            }
        }
        ends
    }

    fn clock_name(&self, cell: &Cell, pin: &str) -> String {
        let Some(mut bit) = cell.bit(pin) else {
            return "(constant)".to_owned();
        };
        while let Some(source) = self.buffered.get(&bit) {
            bit = *source;
        }
        self.netlist.name(bit).to_owned()
    }

    fn path(&self, arrivals: &Arrivals, end: &End) -> Path {
        let mut steps = Vec::new();
        let mut bit = end.bit;
        while let Some(index) = arrivals.by[bit] {
            let Edge { cell, arc } = &self.edges[index];
            steps.push(Step {
                kind: cell.kind.clone(),
                net: self.netlist.name(bit).to_owned(),
                eighths: arrivals.depth[bit].unwrap_or(0),
            });
            bit = arc.from;
        }
        steps.reverse();
        let start = self.starts.iter().find(|start| start.bit == bit);
        let eighths = arrivals.depth[end.bit].unwrap_or(0);
        Path {
            levels: eighths / LEVEL,
            eighths,
            start_kind: start
                .and_then(|start| start.cell)
                .map_or("port", |cell| &cell.kind)
                .to_owned(),
            start: self.netlist.name(bit).to_owned(),
            steps,
            end: end.text.clone(),
        }
    }
}

/// Sorts edges so that all edges into a bit come before those out of it.
fn in_order<'a>(
    edges: Vec<Edge<'a>>,
    bits: usize,
    netlist: &Netlist,
) -> Result<Vec<Edge<'a>>, ReportError> {
    let mut waiting = vec![0u32; bits];
    let mut leaving: Vec<Vec<u32>> = vec![Vec::new(); bits];
    for (index, Edge { arc, .. }) in edges.iter().enumerate() {
        waiting[arc.to] += 1;
        leaving[arc.from].push(index as u32);
    }
    let mut ready: Vec<Bit> = (0..bits).filter(|bit| waiting[*bit] == 0).collect();
    let mut order = Vec::with_capacity(edges.len());
    while let Some(bit) = ready.pop() {
        for index in &leaving[bit] {
            order.push(*index);
            let to = edges[*index as usize].arc.to;
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(to);
            }
        }
    }
    if order.len() < edges.len() {
        return Err(ReportError::Loop {
            nets: find_loop(&edges, &waiting, netlist),
        });
    }
    let mut edges: Vec<Option<Edge>> = edges.into_iter().map(Some).collect();
    Ok(order
        .into_iter()
        .filter_map(|index| edges[index as usize].take())
        .collect())
}

/// Walks against the edges among the bits that never became ready, until one comes again.
fn find_loop(edges: &[Edge], waiting: &[u32], netlist: &Netlist) -> Vec<String> {
    let mut before: Vec<Option<Bit>> = vec![None; waiting.len()];
    for Edge { arc, .. } in edges {
        if waiting[arc.from] > 0 && waiting[arc.to] > 0 {
            before[arc.to] = Some(arc.from);
        }
    }
    let mut visited: Vec<Bit> = Vec::new();
    let mut next = before.iter().position(Option::is_some);
    while let Some(bit) = next {
        if let Some(first) = visited.iter().position(|seen| *seen == bit) {
            visited.push(bit);
            return visited[first..]
                .iter()
                .rev()
                .map(|bit| netlist.name(*bit).to_owned())
                .collect();
        }
        visited.push(bit);
        next = before[bit];
    }
    Vec::new()
}

//! The same in Verilog.

use super::error::{HarnessError, Mismatch};
use super::leaf::Leaf;
use super::trace::Trace;
use crate::design::{Emitter, FILE_END, FILE_START};
use crate::ports::{PortDirection, PortInfo};
use crate::print::range;
use crate::waiver::WAIVERS;
use ferroce_bridge::{build, lint, Effort, Model, ModelSpec, Port};
use std::fmt::Write;

/// Name of the module that holds all leaves of a batch.
const WRAPPER: &str = "leaves";

/// A batch of modules in one Verilog text.
pub(super) struct Batch {
    text: String,
    modules: Vec<String>,
}

/// Prints modules side by side; ports of module `n` get the prefix `m<n>_`.
pub(super) fn batch(leaves: &[(&Leaf, &Trace)]) -> Result<Batch, HarnessError> {
    let mut emitter = Emitter::default();
    emitter.reserve(WRAPPER);
    let (mut ports, mut instances) = (Vec::new(), String::new());
    let mut modules = Vec::new();
    for (number, (leaf, trace)) in leaves.iter().enumerate() {
        let module = (leaf.make)();
        let emitted = emitter
            .add(module.block())
            .map_err(|source| HarnessError::Emit {
                leaf: leaf.name.to_owned(),
                source,
            })?;
        check_ports(leaf, trace, &emitted.ports)?;
        let mut connections = Vec::new();
        for port in &emitted.ports {
            let direction = match port.direction {
                PortDirection::Input => "input  wire",
                PortDirection::Output => "output wire",
                PortDirection::InOut => "inout  wire",
            };
            let range = range(port.width);
            ports.push(format!("    {direction} {range}m{number}_{}", port.name));
            connections.push(format!("        .{0}(m{number}_{0})", port.name));
        }
        let _ = writeln!(
            instances,
            "\n    // {}\n    {} u{number} (\n{}\n    );",
            leaf.name,
            emitted.name,
            connections.join(",\n")
        );
        modules.push(emitted.name);
    }
    let mut text = emitter.text();
    let _ = writeln!(
        text,
        "{FILE_START}module {WRAPPER} (\n{}\n);{instances}endmodule\n{FILE_END}",
        ports.join(",\n")
    );
    Ok(Batch { text, modules })
}

/// Both lists must name the same ports.
fn check_ports(leaf: &Leaf, trace: &Trace, emitted: &[PortInfo]) -> Result<(), HarnessError> {
    let derived: Vec<&String> = trace
        .inputs
        .iter()
        .chain(trace.outputs.iter().map(|(name, _)| name))
        .collect();
    let missing = emitted
        .iter()
        .map(|port| &port.name)
        .find(|name| !derived.contains(name))
        .or_else(|| {
            derived
                .into_iter()
                .find(|name| !emitted.iter().any(|port| port.name == **name))
        });
    match missing {
        None => Ok(()),
        Some(port) => Err(HarnessError::Ports {
            leaf: leaf.name.to_owned(),
            port: port.clone(),
        }),
    }
}

/// A trace's ports in the model.
struct Replay<'a> {
    leaf: &'a Leaf,
    module: &'a str,
    trace: &'a Trace,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    mismatch: Option<Mismatch>,
}

/// Runs a batch with the inputs of the traces; gives the first difference of
/// every module that has one.
pub(super) fn replay(
    batch: &Batch,
    leaves: &[(&Leaf, &Trace)],
) -> Result<Vec<Mismatch>, HarnessError> {
    let mut spec = ModelSpec::new(WRAPPER)
        .source("leaves.sv", batch.text.clone())
        .effort(Effort::Build);
    for waiver in WAIVERS {
        spec = spec.waive([ferroce_bridge::Waiver::everywhere(
            waiver.rule,
            waiver.reason,
        )]);
    }
    let warnings = lint(&spec)?;
    if !warnings.is_empty() {
        let lines: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        return Err(HarnessError::Lint(lines.join("\n")));
    }
    let mut model = Model::new(&build(&spec)?)?;
    let mut replays = Vec::new();
    for (number, (leaf, trace)) in leaves.iter().enumerate() {
        let port = |name: &String| model.port(&format!("m{number}_{name}"));
        replays.push(Replay {
            leaf,
            module: &batch.modules[number],
            trace,
            inputs: trace.inputs.iter().map(port).collect::<Result<_, _>>()?,
            outputs: trace
                .outputs
                .iter()
                .map(|(name, _)| port(name))
                .collect::<Result<_, _>>()?,
            mismatch: None,
        });
    }
    let moments = leaves.iter().map(|(_, trace)| trace.moments.len()).max();
    for index in 0..moments.unwrap_or(0) {
        for replay in &replays {
            if let Some(moment) = replay.trace.moments.get(index) {
                for (port, words) in replay.inputs.iter().zip(&moment.inputs) {
                    model.write_words(*port, words);
                }
            }
        }
        model.eval()?;
        for replay in &mut replays {
            replay.compare(index, &model);
        }
    }
    Ok(replays
        .into_iter()
        .filter_map(|replay| replay.mismatch)
        .collect())
}

impl Replay<'_> {
    fn compare(&mut self, index: usize, model: &Model) {
        let Some(moment) = self.trace.moments.get(index) else {
            return;
        };
        if self.mismatch.is_some() {
            return;
        }
        let ports = self.outputs.iter().zip(&self.trace.outputs);
        for ((port, (name, width)), rust) in ports.zip(&moment.outputs) {
            let mut verilog = vec![0; rust.len()];
            model.read_words(*port, &mut verilog);
            let differs = |bit: &usize| (rust[bit / 32] ^ verilog[bit / 32]) >> (bit % 32) & 1 == 1;
            if let Some(bit) = (0..*width).find(differs) {
                self.mismatch = Some(Mismatch {
                    leaf: self.leaf.name.to_owned(),
                    module: self.module.to_owned(),
                    cycle: moment.cycle,
                    port: name.clone(),
                    bit,
                    rust: hexadecimal(rust),
                    verilog: hexadecimal(&verilog),
                });
                return;
            }
        }
    }
}

fn hexadecimal(words: &[u32]) -> String {
    let digits: Vec<String> = words
        .iter()
        .rev()
        .map(|word| format!("{word:08x}"))
        .collect();
    let digits = digits.concat();
    let short = digits.trim_start_matches('0');
    if short.is_empty() { "0" } else { short }.to_owned()
}

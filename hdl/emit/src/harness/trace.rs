//! What a module does in Rust.

use super::error::HarnessError;
use super::leaf::{Leaf, LeafModule};
use super::stimulus::{InputPort, Inputs, Stimulus};
use crate::names::verilog_name;
use crate::ports::{Port, PortDirection, PortVisitor};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Passes of `update_all` within which a circuit must settle. Each level of
/// hierarchy takes a few; more than this is a loop.
const SETTLE_PASSES: usize = 1_000;

/// Inputs and outputs of a module at one moment.
#[derive(Debug, Clone)]
pub(super) struct Moment {
    /// Rising edges so far.
    pub cycle: usize,
    /// Words of every input, in order.
    pub inputs: Vec<Vec<u32>>,
    /// Words of every output, in order.
    pub outputs: Vec<Vec<u32>>,
}

/// A run of a module.
#[derive(Debug)]
pub(super) struct Trace {
    pub inputs: Vec<String>,
    pub outputs: Vec<(String, usize)>,
    pub moments: Vec<Moment>,
}

/// Runs a module in Rust for a number of clock cycles (or changes of its
/// inputs, if it has no clock).
pub(super) fn record(leaf: &Leaf, cycles: usize, seed: u64) -> Result<Trace, HarnessError> {
    let mut module = (leaf.make)();
    module.connect_all();
    let mut run = Run::new(leaf, &mut *module, cycles, seed);
    let outcome = catch_unwind(AssertUnwindSafe(|| run.go(cycles)));
    let problem = match outcome {
        Ok(true) => return Ok(run.trace),
        Ok(false) => format!("the circuit does not settle in {SETTLE_PASSES} passes"),
        Err(panic) => format!(
            "Rust panics: {}",
            crate::design::panic_message(panic.as_ref())
        ),
    };
    Err(HarnessError::Rust {
        leaf: leaf.name.to_owned(),
        cycle: run.cycle,
        problem,
        seed,
    })
}

/// A clock's schedule.
struct ClockState {
    port: usize,
    level: bool,
    /// Steps between edges, and until the next one.
    half_period: usize,
    left: usize,
}

struct Run<'a> {
    module: &'a mut dyn LeafModule,
    restrict: fn(&mut Inputs),
    rng: ChaCha8Rng,
    inputs: Inputs,
    stimulus: Stimulus,
    clocks: Vec<ClockState>,
    handshakes: Vec<Handshake>,
    cycle: usize,
    trace: Trace,
}

/// A stream into the module: what it offers stays until it is taken.
struct Handshake {
    valid: usize,
    /// Position among the outputs.
    ready: usize,
    /// All inputs of the stream.
    members: Vec<usize>,
}

impl<'a> Run<'a> {
    fn new(leaf: &Leaf, module: &'a mut dyn LeafModule, cycles: usize, seed: u64) -> Self {
        let (ports, outputs) = boundary(module);
        // Each module has its own sequence, whatever else is registered.
        let salt = leaf.name.bytes().fold(0u64, |salt, byte| {
            (salt ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ salt);
        let clocks = ports
            .iter()
            .enumerate()
            .filter(|(_, port)| port.is_clock)
            .map(|(port, _)| ClockState {
                port,
                level: false,
                half_period: 1,
                left: 1,
            })
            .collect();
        Self {
            module,
            restrict: leaf.restrict,
            stimulus: Stimulus::new(&ports, &mut rng),
            rng,
            clocks,
            handshakes: handshakes(&ports, &outputs),
            cycle: 0,
            trace: Trace {
                inputs: ports.iter().map(|port| port.name.clone()).collect(),
                outputs,
                moments: Vec::with_capacity(2 * cycles + 2),
            },
            inputs: Inputs::new(ports),
        }
    }

    /// False if the circuit does not settle.
    fn go(&mut self, cycles: usize) -> bool {
        let mut keep = vec![false; self.inputs.ports().len()];
        (self.restrict)(&mut self.inputs);
        if !self.moment() {
            return false;
        }
        while self.cycle < cycles {
            if self.rng.gen_range(0..200) == 0 {
                self.change_clocks();
            }
            let (mut rising, mut falling) = (Vec::new(), Vec::new());
            for clock in &mut self.clocks {
                clock.left -= 1;
                if clock.left == 0 {
                    clock.left = clock.half_period;
                    clock.level = !clock.level;
                    if clock.level {
                        &mut rising
                    } else {
                        &mut falling
                    }
                    .push(clock.port);
                }
            }
            // Inputs change while clocks fall, never when one rises.
            for port in falling {
                self.inputs.replace(port, vec![0]);
            }
            if !rising.is_empty() || self.clocks.is_empty() {
                self.stimulus.next(&mut self.inputs, &keep, &mut self.rng);
                (self.restrict)(&mut self.inputs);
            }
            if !self.moment() {
                return false;
            }
            if self.clocks.is_empty() {
                self.cycle += 1;
                continue;
            }
            if rising.is_empty() {
                continue;
            }
            self.keep_offers(&mut keep);
            for port in rising {
                self.inputs.replace(port, vec![1]);
            }
            self.cycle += 1;
            if !self.moment() {
                return false;
            }
        }
        true
    }

    /// New ratios; a single clock has none to choose.
    fn change_clocks(&mut self) {
        if self.clocks.len() > 1 {
            for clock in &mut self.clocks {
                clock.half_period = self.rng.gen_range(1..5);
                clock.left = self.rng.gen_range(1..=clock.half_period);
            }
        }
    }

    /// Streams whose offer is not taken at the coming edge must repeat it.
    fn keep_offers(&mut self, keep: &mut [bool]) {
        keep.fill(false);
        let Some(now) = self.trace.moments.last() else {
            return;
        };
        for stream in &self.handshakes {
            let offered = self.inputs.words(stream.valid)[0] != 0;
            if offered && now.outputs[stream.ready][0] == 0 {
                for member in &stream.members {
                    keep[*member] = true;
                }
            }
        }
    }

    /// Lets the circuit settle with the present inputs and notes its outputs.
    fn moment(&mut self) -> bool {
        let mut access = Access {
            write: Some(&self.inputs),
            next_input: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        self.module.visit_ports(&mut access);
        let settled = (0..SETTLE_PASSES).any(|_| {
            self.module.update_all();
            !self.module.has_changed()
        });
        let mut access = Access {
            write: None,
            next_input: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        self.module.visit_ports(&mut access);
        self.trace.moments.push(Moment {
            cycle: self.cycle,
            inputs: access.inputs,
            outputs: access.outputs,
        });
        settled
    }
}

/// Sets inputs or reads everything.
struct Access<'a> {
    write: Option<&'a Inputs>,
    next_input: usize,
    inputs: Vec<Vec<u32>>,
    outputs: Vec<Vec<u32>>,
}

impl PortVisitor for Access<'_> {
    fn enter(&mut self, _field: &str) {}
    fn enter_index(&mut self, _index: usize) {}
    fn leave(&mut self) {}
    fn port(&mut self, port: &mut dyn Port) {
        if port.direction() == PortDirection::Input {
            match self.write {
                Some(inputs) => port.set(inputs.words(self.next_input)),
                None => self.inputs.push(port.get()),
            }
            self.next_input += 1;
        } else if self.write.is_none() {
            self.outputs.push(port.get());
        }
    }
}

/// Inputs, and outputs with their widths.
fn boundary(module: &mut dyn LeafModule) -> (Vec<InputPort>, Vec<(String, usize)>) {
    struct Boundary {
        path: Vec<String>,
        inputs: Vec<InputPort>,
        outputs: Vec<(String, usize)>,
    }
    impl PortVisitor for Boundary {
        fn enter(&mut self, field: &str) {
            self.path.push(field.to_owned());
        }
        fn leave(&mut self) {
            self.path.pop();
        }
        fn port(&mut self, port: &mut dyn Port) {
            let name = verilog_name(&self.path.join("$"));
            if port.direction() == PortDirection::Input {
                self.inputs.push(InputPort {
                    name,
                    width: port.width(),
                    is_clock: port.is_clock(),
                    fields: port.fields(),
                });
            } else {
                self.outputs.push((name, port.width()));
            }
        }
    }
    let mut boundary = Boundary {
        path: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
    };
    module.visit_ports(&mut boundary);
    (boundary.inputs, boundary.outputs)
}

/// Streams by their names: an input `x_valid` and an output `x_ready`.
fn handshakes(inputs: &[InputPort], outputs: &[(String, usize)]) -> Vec<Handshake> {
    let mut streams = Vec::new();
    for (valid, port) in inputs.iter().enumerate() {
        let Some(prefix) = port.name.strip_suffix("valid") else {
            continue;
        };
        let ready = format!("{prefix}ready");
        let Some(ready) = outputs.iter().position(|(name, _)| *name == ready) else {
            continue;
        };
        let belongs = |other: &InputPort| !prefix.is_empty() && other.name.starts_with(prefix);
        let members = (0..inputs.len())
            .filter(|member| *member == valid || belongs(&inputs[*member]))
            .collect();
        streams.push(Handshake {
            valid,
            ready,
            members,
        });
    }
    streams
}

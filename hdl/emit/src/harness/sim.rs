//! A Verilated module whose ports carry typed values.

use std::collections::HashMap;

use ferroce_bridge::{build, Effort, Model, ModelSpec, Port, Waiver};

use crate::prelude::*;
use crate::{emit, on_big_stack, WAIVERS};

/// A model and its clock.
pub struct Sim {
    model: Model,
    clock: Port,
    ports: HashMap<String, Port>,
    /// Rising edges so far.
    pub cycle: u64,
}

impl Sim {
    /// Verilates a design, or takes it from the cache.
    pub fn new<U: Block>(top: &str, make: impl FnOnce() -> U + Send) -> Self {
        let verilog = on_big_stack(|| {
            emit(&make(), top)
                .unwrap_or_else(|error| panic!("{error}"))
                .verilog()
        });
        let spec = ModelSpec::new(top)
            .source(format!("{top}.sv"), verilog)
            .waive(
                WAIVERS
                    .iter()
                    .map(|waiver| Waiver::everywhere(waiver.rule, waiver.reason)),
            )
            .effort(Effort::Run);
        let library = build(&spec).unwrap_or_else(|error| panic!("{error}"));
        let model = Model::new(&library).unwrap_or_else(|error| panic!("{error}"));
        let ports = library
            .ports()
            .iter()
            .map(|info| {
                let port = model.port(&info.name).expect("a listed port");
                (info.name.clone(), port)
            })
            .collect();
        let clock = model.port("clock").expect("a clock");
        Self {
            model,
            clock,
            ports,
            cycle: 0,
        }
    }

    fn port(&self, name: &str) -> Port {
        *self
            .ports
            .get(name)
            .unwrap_or_else(|| panic!("no port is called {name}"))
    }

    /// The bits that a port shows.
    pub fn words(&self, name: &str) -> Vec<u32> {
        let port = self.port(name);
        let mut words = vec![0; port.word_count()];
        self.model.read_words(port, &mut words);
        words
    }

    /// Sets an input to the bits of a value that is packed already.
    pub fn set_words(&mut self, name: &str, words: &[u32]) {
        let port = self.port(name);
        self.model.write_words(port, words);
    }

    /// What a port shows.
    pub fn get<T: FromBits>(&self, name: &str) -> T {
        unpack(&self.words(name))
    }

    /// Whether a one-bit port is high.
    pub fn high(&self, name: &str) -> bool {
        self.model.get_bool(self.port(name))
    }

    /// Sets an input.
    pub fn set<T: FromBits>(&mut self, name: &str, value: &T) {
        let port = self.port(name);
        self.model.write_words(port, &pack(value));
    }

    /// Lets outputs follow the inputs within a cycle.
    pub fn settle(&mut self) {
        self.model.eval().expect("the model runs");
    }

    /// The rising edge that ends a cycle, and the falling one.
    pub fn tick(&mut self) {
        for level in [true, false] {
            self.model.set_bool(self.clock, level);
            self.settle();
        }
        self.cycle += 1;
    }

    /// Offers an item to a stream, or nothing.
    pub fn offer<T: FromBits>(&mut self, stream: &str, item: Option<&T>) {
        self.set(&format!("{stream}_valid"), &item.is_some());
        if let Some(item) = item {
            self.set(&format!("{stream}_data"), item);
        }
    }

    /// Whether the stream takes what is offered.
    pub fn taken(&self, stream: &str) -> bool {
        self.high(&format!("{stream}_valid")) && self.high(&format!("{stream}_ready"))
    }
}

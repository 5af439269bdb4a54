//! How the Verilog looks: what is shared, what is inlined, what is called what.

use ferroce_emit::prelude::*;
use ferroce_emit::{emit, on_big_stack, PortDirection};
use std::time::{Duration, Instant};

/// Turns a value by a number of bytes, in a register.
#[derive(LogicBlock, Module, Default)]
struct Turn<const BYTES: usize> {
    pub clock: Signal<In, Clock>,
    pub data: Signal<In, Bits<512>>,
    pub turned: Signal<Out, Bits<512>>,
    held: DFF<Bits<512>>,
}

impl<const BYTES: usize> Logic for Turn<BYTES> {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, held);
        self.held.d.next =
            self.data.val() << (8 * BYTES as u64) | self.data.val() >> (512 - 8 * BYTES as u64);
        self.turned.next = self.held.q.val();
    }
}

#[derive(LogicBlock, Module, Default)]
struct TurnTwice {
    pub clock: Signal<In, Clock>,
    pub data: Signal<In, Bits<512>>,
    pub turned: Signal<Out, Bits<512>>,
    first: Turn<3>,
    second: Turn<3>,
    third: Turn<5>,
}

impl Logic for TurnTwice {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, first, second, third);
        self.first.data.next = self.data.val();
        self.second.data.next = self.first.turned.val();
        self.third.data.next = self.second.turned.val();
        self.turned.next = self.third.turned.val();
    }
}

#[test]
fn equal_instances_share_a_module_named_after_its_type() {
    let design = emit(&TurnTwice::default(), "turn_twice").expect("it is right");
    let names: Vec<&str> = design.modules().iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["turn_3", "turn_5", "turn_twice"]);
    let rust = design.modules()[0].rust_type.as_deref();
    assert_eq!(rust, Some("shape::Turn<3>"));
    let top = &design.modules()[2].text;
    for line in [
        "turn_3 first (",
        "turn_3 second (",
        "turn_5 third (",
        ".clock(clock),",
        ".data(data),",
        ".turned(turned)",
    ] {
        assert!(top.contains(line), "{line} is missing in\n{top}");
    }
    // A page of connections: no copies.
    assert!(!top.contains("assign") && !top.contains("always"), "{top}");
}

#[test]
fn registers_are_part_of_their_module() {
    let design = emit(&Turn::<3>::default(), "turn").expect("it is right");
    let text = &design.modules()[0].text;
    assert_eq!(design.modules().len(), 1);
    for line in [
        "    reg  [511:0] held_q = 512'd0;\n",
        "    wire [511:0] held_d;\n",
        "    assign held_d = (data << 24) | (data >> 488);\n",
        "    assign turned = held_q;\n",
        "    always @(posedge clock) begin\n        held_q <= held_d;\n    end\n",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

#[test]
fn ports_of_the_top_are_listed() {
    let design = emit(&Turn::<3>::default(), "turn").expect("it is right");
    let ports = design.ports();
    assert_eq!(ports.len(), 3);
    assert!(ports[0].is_clock && ports[0].direction == PortDirection::Input);
    assert_eq!((ports[2].name.as_str(), ports[2].width), ("turned", 512));
    assert_eq!(ports[2].direction, PortDirection::Output);
}

#[test]
fn one_file_a_module() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("shape");
    let design = emit(&TurnTwice::default(), "turn_twice").expect("it is right");
    let paths = design.write_to(&folder).expect("the folder is writable");
    assert_eq!(paths.len(), 3);
    for (path, module) in paths.iter().zip(design.modules()) {
        let text = std::fs::read_to_string(path).expect("it was written");
        assert!(text.starts_with("`default_nettype none"));
        assert!(text.contains(&module.text));
    }
}

/// A hundred and twelve wide instances.
#[derive(LogicBlock, Default)]
struct Card {
    pub clock: Signal<In, Clock>,
    pub data: Signal<In, Bits<512>>,
    pub turned: Signal<Out, Bits<512>>,
    pairs: [TurnTwice; 20],
    singles: [Turn<7>; 32],
}

impl Logic for Card {
    #[kernel]
    fn update(&mut self) {
        for i in 0..20 {
            self.pairs[i].clock.next = self.clock.val();
        }
        for i in 0..32 {
            self.singles[i].clock.next = self.clock.val();
        }
        self.pairs[0].data.next = self.data.val();
        for i in 1..20 {
            self.pairs[i].data.next = self.pairs[i - 1].turned.val();
        }
        self.singles[0].data.next = self.pairs[19].turned.val();
        for i in 1..32 {
            self.singles[i].data.next = self.singles[i - 1].turned.val();
        }
        self.turned.next = self.singles[31].turned.val();
    }
}

#[test]
fn a_hundred_wide_modules_take_no_time() {
    let (modules, took) = on_big_stack(|| {
        let card = Box::<Card>::default();
        let start = Instant::now();
        let design = emit(&*card, "card").expect("it is right");
        (design.modules().len(), start.elapsed())
    });
    assert_eq!(modules, 5);
    // Measured: 4 ms. The limit only catches something quadratic.
    assert!(took < Duration::from_secs(5), "{took:?}");
    println!("{took:?}");
}

/// A vendor's buffer, with the vendor's names.
#[derive(LogicBlock, Default)]
struct ClockBuffer {
    pub pin: Signal<In, Clock>,
    pub clock: Signal<Out, Clock>,
}

impl Logic for ClockBuffer {
    fn update(&mut self) {
        self.clock.next = self.pin.val();
    }
    fn connect(&mut self) {
        self.clock.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Wrapper(Wrapper {
            code: "BUFG buffer (.I(pin), .O(clock));".into(),
            cores: "(* blackbox *)\nmodule BUFG (input wire I, output wire O);\nendmodule".into(),
        })
    }
    fn timing(&self) -> Vec<TimingInfo> {
        type_tag::<Self>()
    }
}

/// A vendor's block as it is.
#[derive(LogicBlock, Default)]
#[allow(non_snake_case)]
struct Startup {
    pub CLK: Signal<In, Clock>,
    pub EOS: Signal<Out, Bit>,
}

impl Logic for Startup {
    fn update(&mut self) {}
    fn connect(&mut self) {
        self.EOS.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Blackbox(BlackBox {
            code: "(* blackbox *)\nmodule STARTUP (input wire CLK, output wire EOS);\nendmodule"
                .into(),
            name: "STARTUP".into(),
        })
    }
}

#[derive(LogicBlock, Default)]
struct Board {
    pub pin: Signal<In, Clock>,
    pub other_pin: Signal<In, Clock>,
    pub ready: Signal<Out, Bit>,
    buffer: ClockBuffer,
    other: ClockBuffer,
    startup: Startup,
    seen: DFF<Bit>,
    renamed: Signal<Local, Clock>,
}

impl Logic for Board {
    #[kernel]
    fn update(&mut self) {
        self.buffer.pin.next = self.pin.val();
        self.other.pin.next = self.other_pin.val();
        self.startup.CLK.next = self.other.clock.val();
        self.renamed.next = self.buffer.clock.val();
        dff_setup!(self, renamed, seen);
        self.seen.d.next = self.startup.EOS.val();
        self.ready.next = self.seen.q.val();
    }
}

#[test]
fn vendor_blocks_are_wrapped_declared_once_and_fed_by_the_clock_itself() {
    let text = emit(&Board::default(), "board")
        .expect("it is right")
        .verilog();
    for line in [
        "clock_buffer buffer (",
        "clock_buffer other (",
        "BUFG buffer (.I(pin), .O(clock));",
        "STARTUP startup (",
        ".CLK(other_clock)",
        // Not a copy of it.
        "always @(posedge buffer_clock) begin",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    assert_eq!(text.matches("module BUFG").count(), 1);
    assert_eq!(text.matches("module STARTUP").count(), 1);
    assert_eq!(text.matches("module clock_buffer").count(), 1);
}

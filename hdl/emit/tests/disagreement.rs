//! The harness finds what it is there to find.

use ferroce_emit::harness::{check_leaves, leaves_of, HarnessError, Leaf, Options};
use ferroce_emit::prelude::*;
use ferroce_emit::register_leaf;

/// A primitive whose Verilog is what the test says.
#[derive(LogicBlock, Module, Default)]
struct Primitive {
    pub clock: Signal<In, Clock>,
    pub a: Signal<In, Bits<40>>,
    pub other: Signal<Out, Bit>,
    pub y: Signal<Out, Bits<40>>,
    _verilog: &'static str,
    _panic_at: u64,
    _oscillates: bool,
    _phase: bool,
}

impl Logic for Primitive {
    fn update(&mut self) {
        self.other.next = self.a.val().any();
        if self._oscillates {
            self._phase = !self._phase;
            self.other.next = self._phase;
        }
        if self.clock.pos_edge() {
            self.y.next = self.a.val() + 1;
            self._panic_at = self._panic_at.saturating_sub(1);
            assert_ne!(self._panic_at, 1, "enough");
        }
    }
    fn connect(&mut self) {
        self.other.connect();
        self.y.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "assign other = |a;\ninitial y = 40'd0;\nalways @(posedge clock) y <= {};",
            self._verilog
        ))
    }
    fn timing(&self) -> Vec<TimingInfo> {
        type_tag::<Self>()
    }
}

fn primitive(verilog: &'static str) -> Primitive {
    Primitive {
        _verilog: verilog,
        ..Default::default()
    }
}

register_leaf!("right", || primitive("a + 40'd1"));
register_leaf!("wrong_at_bit_33", || primitive(
    "(a + 40'd1) ^ (a & 40'h2_0000_0000)"
));
register_leaf!("wrong_on_wrap", || primitive("&a ? 40'd1 : a + 40'd1"));
register_leaf!("questionable", || primitive("{1'b0, a} + 41'd1"));
register_leaf!("panics", || Primitive {
    _panic_at: 100,
    ..primitive("a + 40'd1")
});
register_leaf!("oscillates", || Primitive {
    _oscillates: true,
    ..primitive("a + 40'd1")
});

fn leaves(names: &[&str]) -> Vec<&'static Leaf> {
    let all = leaves_of(env!("CARGO_PKG_NAME"));
    let chosen: Vec<_> = all
        .into_iter()
        .filter(|leaf| names.contains(&leaf.name))
        .collect();
    assert_eq!(chosen.len(), names.len());
    chosen
}

const OPTIONS: Options = Options {
    cycles: 2_000,
    seed: 7,
};

#[test]
fn equal_modules_pass() {
    check_leaves(&leaves(&["right"]), &OPTIONS).expect("they are equal");
}

#[test]
fn one_wrong_bit_is_found_and_named() {
    let error =
        check_leaves(&leaves(&["right", "wrong_at_bit_33"]), &OPTIONS).expect_err("they differ");
    let HarnessError::Mismatch { mismatches, seed } = error else {
        panic!("{error}");
    };
    assert_eq!(seed, 7);
    assert_eq!(mismatches.len(), 1);
    let found = &mismatches[0];
    assert_eq!(
        (found.leaf.as_str(), found.port.as_str(), found.bit),
        ("wrong_at_bit_33", "y", 33)
    );
}

#[test]
fn corner_values_are_tried() {
    let error = check_leaves(&leaves(&["wrong_on_wrap"]), &OPTIONS).expect_err("they differ");
    let HarnessError::Mismatch { mismatches, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((mismatches[0].port.as_str(), mismatches[0].bit), ("y", 0));
}

#[test]
fn warnings_of_verilator_fail() {
    let error = check_leaves(&leaves(&["questionable"]), &OPTIONS).expect_err("widths differ");
    assert!(
        matches!(&error, HarnessError::Lint(text) if text.contains("WIDTHTRUNC")),
        "{error}"
    );
}

#[test]
fn panics_in_rust_are_reported() {
    let error = check_leaves(&leaves(&["panics"]), &OPTIONS).expect_err("Rust panics");
    assert!(
        matches!(&error, HarnessError::Rust { leaf, problem, cycle: 90..=100, .. }
            if leaf == "panics" && problem.contains("enough")),
        "{error}"
    );
}

#[test]
fn circuits_that_never_settle_are_reported() {
    let error = check_leaves(&leaves(&["oscillates"]), &OPTIONS).expect_err("it oscillates");
    assert!(
        matches!(&error, HarnessError::Rust { leaf, problem, .. }
            if leaf == "oscillates" && problem.contains("settle")),
        "{error}"
    );
}

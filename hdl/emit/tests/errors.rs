//! Wrong designs are refused, and the message says where.

use ferroce_emit::prelude::*;
use ferroce_emit::{emit, EmitError};

fn refusal(block: &dyn Block) -> EmitError {
    match emit(block, "top") {
        Ok(design) => panic!("accepted:\n{}", design.verilog()),
        Err(error) => error,
    }
}

/// A module with `body` as its kernel; the rest is common to the tests.
macro_rules! module {
    ($name:ident, |$self:ident| { $($body:tt)* }) => {
        #[derive(LogicBlock, Default)]
        struct $name {
            pub clock: Signal<In, Clock>,
            pub gate: Signal<In, Bit>,
            pub a: Signal<In, Bits<8>>,
            pub y: Signal<Out, Bits<8>>,
            pub inner: Pass,
            local: Signal<Local, Bits<8>>,
            held: DFF<Bits<8>>,
        }

        impl Logic for $name {
            #[kernel]
            fn update(&mut $self) {
                $($body)*
            }
        }
    };
}

/// Answers in the same cycle.
#[derive(LogicBlock, Default)]
struct Pass {
    pub a: Signal<In, Bits<8>>,
    pub y: Signal<Out, Bits<8>>,
}

impl Logic for Pass {
    #[kernel]
    fn update(&mut self) {
        self.y.next = self.a.val() + 1;
    }
}

#[test]
fn the_common_part_is_accepted() {
    module!(Good, |self| {
        dff_setup!(self, clock, held);
        self.local.next = self.a.val();
        self.inner.a.next = self.local.val();
        self.y.next = self.inner.y.val();
    });
    let design = emit(&Good::default(), "good").expect("nothing is wrong");
    assert_eq!(design.top(), "good");
}

#[test]
fn a_path_without_a_value_is_a_latch() {
    module!(Latch, |self| {
        dff_setup!(self, clock, held);
        self.local.next = self.a.val();
        self.inner.a.next = self.local.val();
        if self.gate.val() {
            self.y.next = self.inner.y.val();
        }
    });
    let error = refusal(&Latch::default());
    let EmitError::Latch { module, signal } = &error else {
        panic!("{error}");
    };
    assert_eq!(signal, "y");
    assert!(
        module.starts_with("top (") && module.ends_with("Latch)"),
        "{module}"
    );
}

#[test]
fn a_field_without_a_value_is_a_latch() {
    #[derive(LogicStruct, Default, Copy, Clone, Debug, PartialEq)]
    struct Two {
        low: Bits<4>,
        high: Bits<4>,
    }
    #[derive(LogicBlock, Default)]
    struct Half {
        pub a: Signal<In, Bits<4>>,
        pub y: Signal<Out, Two>,
    }
    impl Logic for Half {
        #[kernel]
        fn update(&mut self) {
            self.y.next.low = self.a.val();
        }
    }
    let error = refusal(&Half::default());
    assert!(
        matches!(&error, EmitError::Latch { signal, .. } if signal == "y"),
        "{error}"
    );
}

#[test]
fn branches_must_give_the_same_fields_a_value() {
    #[derive(LogicStruct, Default, Copy, Clone, Debug, PartialEq)]
    struct Two {
        low: Bits<4>,
        high: Bits<4>,
    }
    #[derive(LogicBlock, Default)]
    struct Either {
        pub a: Signal<In, Bits<4>>,
        pub y: Signal<Out, Two>,
    }
    impl Logic for Either {
        #[kernel]
        fn update(&mut self) {
            if self.a.val().any() {
                self.y.next.low = self.a.val();
                self.y.next.high = 1.into();
            } else {
                self.y.next.high = self.a.val();
            }
        }
    }
    let error = refusal(&Either::default());
    assert!(
        matches!(&error, EmitError::Latch { signal, .. } if signal == "y"),
        "{error}"
    );
}

#[test]
fn conditions_are_part_of_a_loop() {
    module!(Condition, |self| {
        dff_setup!(self, clock, held);
        self.local.next = self.a.val();
        self.inner.a.next = self.local.val();
        if self.inner.y.val() == 3 {
            self.inner.a.next = 0.into();
        }
        self.y.next = self.inner.y.val();
    });
    let error = refusal(&Condition::default());
    assert!(
        matches!(&error, EmitError::CombinationalLoop { signals, .. } if signals.len() == 2),
        "{error}"
    );
}

#[test]
fn inputs_of_sub_blocks_need_a_driver() {
    module!(Open, |self| {
        dff_setup!(self, clock, held);
        self.local.next = self.a.val();
        self.y.next = self.inner.y.val() + self.local.val();
    });
    let error = refusal(&Open::default());
    assert!(
        matches!(&error, EmitError::Unconnected { signal, .. } if signal == "inner.a"),
        "{error}"
    );
}

#[test]
fn registers_need_a_clock() {
    module!(NoClock, |self| {
        self.held.d.next = self.a.val();
        self.local.next = self.a.val();
        self.inner.a.next = self.local.val();
        self.y.next = self.inner.y.val();
    });
    let error = refusal(&NoClock::default());
    assert!(
        matches!(&error, EmitError::Unconnected { signal, .. } if signal == "held.clock"),
        "{error}"
    );
}

#[test]
fn temporaries_are_written_before_they_are_read() {
    module!(Early, |self| {
        dff_setup!(self, clock, held);
        self.y.next = self.local.val();
        self.local.next = self.a.val();
        self.inner.a.next = self.a.val();
    });
    let error = refusal(&Early::default());
    assert!(
        matches!(&error, EmitError::ReadBeforeWrite { signal, .. } if signal == "local"),
        "{error}"
    );
}

#[test]
fn inputs_are_not_driven_from_inside() {
    module!(Driver, |self| {
        dff_setup!(self, clock, held);
        self.local.next = self.a.val();
        self.inner.a.next = self.a.val();
        self.y.next = self.inner.y.val();
        self.a.next = 3.into();
    });
    let error = refusal(&Driver::default());
    assert!(
        matches!(&error, EmitError::DrivesInput { signal, .. } if signal == "a"),
        "{error}"
    );
}

#[test]
fn loops_through_sub_blocks_are_found() {
    module!(Circle, |self| {
        dff_setup!(self, clock, held);
        self.local.next = self.inner.y.val();
        self.inner.a.next = self.local.val() + self.a.val();
        self.y.next = self.inner.y.val();
    });
    let error = refusal(&Circle::default());
    let EmitError::CombinationalLoop { signals, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(signals.len(), 3, "{signals:?}");
    for signal in ["inner.a", "inner.y", "local"] {
        assert!(signals.iter().any(|s| s == signal), "{signals:?}");
    }
}

#[test]
fn a_register_breaks_a_loop() {
    module!(Ring, |self| {
        dff_setup!(self, clock, held);
        self.held.d.next = self.inner.y.val();
        self.local.next = self.held.q.val();
        self.inner.a.next = self.local.val() + self.a.val();
        self.y.next = self.inner.y.val();
    });
    assert!(emit(&Ring::default(), "ring").is_ok());
}

#[test]
fn clocks_are_not_computed() {
    #[derive(LogicBlock, Default)]
    struct Gated {
        pub clock: Signal<In, Clock>,
        pub other: Signal<In, Clock>,
        pub gate: Signal<In, Bit>,
        pub y: Signal<Out, Bit>,
        held: DFF<Bit>,
    }
    impl Logic for Gated {
        #[kernel]
        fn update(&mut self) {
            dff_setup!(self, clock, held);
            if self.gate.val() {
                self.held.clock.next = self.other.val();
            }
            self.held.d.next = !self.held.q.val();
            self.y.next = self.held.q.val();
        }
    }
    let error = refusal(&Gated::default());
    assert!(
        matches!(&error, EmitError::ClockLogic { signal, .. } if signal == "held.clock"),
        "{error}"
    );
}

#[test]
fn literals_must_fit() {
    // Rust accepts this and compares with the low 40 bits; nobody means that.
    #[derive(LogicBlock, Default)]
    struct TooWide {
        pub a: Signal<In, Bits<40>>,
        pub y: Signal<Out, Bit>,
    }
    impl Logic for TooWide {
        #[kernel]
        fn update(&mut self) {
            self.y.next = self.a.val() == 0xFFF_FFFF_FFFF;
        }
    }
    let error = refusal(&TooWide::default());
    assert!(
        matches!(&error, EmitError::LiteralTooWide { width: 40, value, .. } if value == "0xfffffffffff"),
        "{error}"
    );
}

#[test]
fn modules_need_verilog() {
    #[derive(LogicBlock, Default)]
    struct OnlyRust {
        pub y: Signal<Out, Bit>,
    }
    impl Logic for OnlyRust {
        fn update(&mut self) {
            self.y.next = true;
        }
    }
    let error = refusal(&OnlyRust::default());
    assert!(matches!(&error, EmitError::NoVerilog { .. }), "{error}");
}

#[test]
fn ports_keep_their_names_or_fail() {
    #[derive(LogicInterface, Default)]
    struct Port {
        pub data: Signal<In, Bit>,
    }
    #[derive(LogicBlock, Default)]
    struct Twice {
        pub x: Port,
        pub x_data: Signal<In, Bit>,
        pub y: Signal<Out, Bit>,
    }
    impl Logic for Twice {
        #[kernel]
        fn update(&mut self) {
            self.y.next = self.x.data.val() & self.x_data.val();
        }
    }
    let error = refusal(&Twice::default());
    assert!(
        matches!(&error, EmitError::PortNameConflict { name, .. } if name == "x_data"),
        "{error}"
    );
}

#[test]
fn enums_with_one_variant_have_no_bits() {
    #[derive(LogicState, Copy, Clone, Debug, PartialEq)]
    enum Only {
        One,
    }
    #[derive(LogicBlock, Default)]
    struct NoBits {
        pub y: Signal<Out, Only>,
    }
    impl Logic for NoBits {
        #[kernel]
        fn update(&mut self) {
            self.y.next = Only::One;
        }
    }
    let error = refusal(&NoBits::default());
    assert!(
        matches!(&error, EmitError::ZeroWidth { signal, .. } if signal == "y"),
        "{error}"
    );
}

#[test]
fn panics_of_kernels_are_errors() {
    #[derive(LogicBlock, Default)]
    struct OutOfBounds {
        pub y: Signal<Out, Bit>,
        pub a: [Signal<In, Bits<8>>; 2],
    }
    impl Logic for OutOfBounds {
        #[kernel]
        fn update(&mut self) {
            self.y.next = false;
            for i in 0..3 {
                self.y.next = bit_cast::<8, 8>(self.a[i].val()).any();
            }
        }
    }
    let error = refusal(&OutOfBounds::default());
    assert!(
        matches!(&error, EmitError::UnknownSignal { signal, .. } if signal == "a.2")
            || matches!(&error, EmitError::Panicked { .. }),
        "{error}"
    );
}

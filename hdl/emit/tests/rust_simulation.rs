//! The macros at work in rust-hdl's own simulation: a generic stream, a
//! generic module, joins, state enums and structs.

use ferroce_emit::prelude::*;
use ferroce_emit::{port_list, PortDirection};

/// A descriptor, as pipelines exchange them.
#[derive(LogicStruct, FromBits, Default, Copy, Clone, Debug, PartialEq)]
struct Beat {
    /// Bits 15:0.
    payload: Bits<16>,
    /// Bit 16.
    last: Bit,
    /// Bits 18:17.
    kind: Kind,
}

#[derive(LogicState, FromBits, Copy, Clone, Debug, PartialEq)]
enum Kind {
    Send,
    Write,
    Read,
}

/// Producer's side of a stream.
#[derive(LogicInterface, Module, Default)]
#[join = "StreamIn"]
struct StreamOut<T: Synth> {
    pub data: Signal<Out, T>,
    pub valid: Signal<Out, Bit>,
    pub ready: Signal<In, Bit>,
}

/// Consumer's side of a stream.
#[derive(LogicInterface, Module, Default)]
#[join = "StreamOut"]
struct StreamIn<T: Synth> {
    pub data: Signal<In, T>,
    pub valid: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,
}

/// One register stage with a spare place, so that `ready` is a register too.
#[derive(LogicBlock, Module, Default)]
struct Skid<T: Synth> {
    pub clock: Signal<In, Clock>,
    pub from: StreamIn<T>,
    pub to: StreamOut<T>,
    front: DFF<T>,
    front_valid: DFF<Bit>,
    spare: DFF<T>,
    spare_valid: DFF<Bit>,
    advance: Signal<Local, Bit>,
}

impl<T: Synth> Logic for Skid<T> {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, front, front_valid, spare, spare_valid);
        self.advance.next = self.to.ready.val() | !self.front_valid.q.val();
        self.from.ready.next = !self.spare_valid.q.val();
        self.to.data.next = self.front.q.val();
        self.to.valid.next = self.front_valid.q.val();
        if self.advance.val() {
            self.front.d.next = self.from.data.val();
            self.front_valid.d.next = self.from.valid.val() & !self.spare_valid.q.val();
            if self.spare_valid.q.val() {
                self.front.d.next = self.spare.q.val();
                self.front_valid.d.next = true;
                self.spare_valid.d.next = false;
            }
        } else if self.from.valid.val() & !self.spare_valid.q.val() {
            self.spare.d.next = self.from.data.val();
            self.spare_valid.d.next = true;
        }
    }
}

/// Two skids in a row, wired by `link` and `join` alone.
#[derive(LogicBlock, Module, Default)]
struct Pair {
    pub clock: Signal<In, Clock>,
    pub from: StreamIn<Beat>,
    pub to: StreamOut<Beat>,
    first: Skid<Beat>,
    second: Skid<Beat>,
}

impl Logic for Pair {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, first, second);
        StreamIn::<Beat>::link(&mut self.from, &mut self.first.from);
        StreamOut::<Beat>::join(&mut self.first.to, &mut self.second.from);
        StreamOut::<Beat>::link(&mut self.to, &mut self.second.to);
    }
}

fn beat(number: u64) -> Beat {
    Beat {
        payload: number.into(),
        last: number % 3 == 0,
        kind: match number % 3 {
            0 => Kind::Send,
            1 => Kind::Write,
            _ => Kind::Read,
        },
    }
}

#[test]
fn beats_pass_two_skids_in_order() {
    let mut uut = Pair::default();
    uut.connect_all();
    check_all(&uut).expect("the pair is wired");
    let (mut sent, mut received, mut noise) = (0u64, 0u64, 0x1234_5678_u64);
    for _ in 0..2_000 {
        noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1);
        uut.from.valid.next = noise >> 60 != 0;
        uut.from.data.next = beat(sent);
        uut.to.ready.next = noise >> 33 & 1 == 1;
        uut.clock.next = false.into();
        assert!(simulate(&mut uut, 32));
        if uut.from.valid.val() & uut.from.ready.val() {
            sent += 1;
        }
        if uut.to.valid.val() & uut.to.ready.val() {
            assert_eq!(uut.to.data.val(), beat(received));
            received += 1;
        }
        uut.clock.next = true.into();
        assert!(simulate(&mut uut, 32));
    }
    assert!(received > 900, "only {received} beats went through");
    assert!(sent - received <= 4);
}

#[test]
fn structs_pack_first_field_lowest() {
    let value = Beat {
        payload: 0xBEEF.into(),
        last: true,
        kind: Kind::Read,
    };
    assert_eq!(pack(&value), [0x2 << 17 | 1 << 16 | 0xBEEF]);
    assert_eq!(unpack::<Beat>(&pack(&value)), value);
    let bits: Bits<19> = value.into();
    assert_eq!(pack(&bits), pack(&value));
}

#[test]
fn ports_are_listed_with_flat_names() {
    let ports = port_list(&mut Pair::default());
    let names: Vec<&str> = ports.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "clock",
            "from_data",
            "from_valid",
            "from_ready",
            "to_data",
            "to_valid",
            "to_ready"
        ]
    );
    assert!(ports[0].is_clock && !ports[1].is_clock);
    assert_eq!(ports[1].width, 19);
    assert_eq!(ports[3].direction, PortDirection::Output);
}

#[test]
fn modules_carry_their_type_name() {
    let tag = Skid::<Beat>::default().timing();
    assert_eq!(tag.len(), 1);
    assert!(
        tag[0].name.ends_with("Skid<rust_simulation::Beat>"),
        "{}",
        tag[0].name
    );
}

//! The hierarchy of a design, and designs cut out of it.

use ferroce_emit::prelude::*;

#[derive(LogicBlock, Default)]
struct Inner {
    pub clock: Signal<In, Clock>,
    pub d: Signal<In, Bit>,
    pub q: Signal<Out, Bit>,
    state: DFF<Bit>,
}

impl Logic for Inner {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, state);
        self.state.d.next = self.d.val();
        self.q.next = self.state.q.val();
    }
}

#[derive(LogicBlock, Default)]
struct Middle {
    pub fast_clock: Signal<In, Clock>,
    pub d: Signal<In, Bit>,
    pub q: Signal<Out, Bit>,
    inner: Inner,
}

impl Logic for Middle {
    #[kernel]
    fn update(&mut self) {
        self.inner.clock.next = self.fast_clock.val();
        self.inner.d.next = self.d.val();
        self.q.next = self.inner.q.val();
    }
}

#[derive(LogicBlock, Default)]
struct Outer {
    pub clock: Signal<In, Clock>,
    pub other_clock: Signal<In, Clock>,
    pub d: Signal<In, Bit>,
    pub q: Signal<Out, Bit>,
    pub r: Signal<Out, Bit>,
    middle: Middle,
    inner: Inner,
}

impl Logic for Outer {
    #[kernel]
    fn update(&mut self) {
        self.middle.fast_clock.next = self.other_clock.val();
        self.middle.d.next = self.d.val();
        clock!(self, clock, inner);
        self.inner.d.next = self.d.val();
        self.q.next = self.middle.q.val();
        self.r.next = self.inner.q.val();
    }
}

#[test]
fn instances_tell_module_and_clocks() {
    let design = ferroce_emit::emit(&Outer::default(), "outer").expect("the design can be printed");
    let top = design.modules().last().expect("a module");
    let mut found: Vec<_> = top
        .instances
        .iter()
        .map(|i| (i.name.as_str(), i.module.as_str(), i.clocks.clone()))
        .collect();
    found.sort();
    let clock = |port: &str, net: &str| vec![(port.to_owned(), net.to_owned())];
    assert_eq!(
        found,
        [
            ("inner", "inner", clock("clock", "clock")),
            ("middle", "middle", clock("fast_clock", "other_clock")),
        ]
    );
}

#[test]
fn a_part_has_what_it_contains_and_nothing_else() {
    let design = ferroce_emit::emit(&Outer::default(), "outer").expect("the design can be printed");
    let part = design.part("middle").expect("there is such a module");
    let names: Vec<_> = part.modules().iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["inner", "middle"]);
    assert_eq!(part.top(), "middle");
    assert!(part.ports().iter().any(|port| port.name == "fast_clock"));
    assert_eq!(design.part("absent"), None);
}

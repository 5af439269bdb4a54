//! The whole card as Verilog: clean under Verilator's checks, and alive.

use ferroce_abi::regs;
use ferroce_bridge::{build, Effort, Model, ModelSpec, Port, Waiver};
use ferroce_emit::harness::icarus;
use ferroce_emit::prelude::*;
use ferroce_emit::{emit, on_big_stack, Design, WAIVERS};
use ferroce_nic::{Card, Nic, NicConfig};
use ferroce_rtl::desc::bar::{BarReq, BarResp};
use std::path::Path;

fn spec(top: &str, make: impl FnOnce() -> Design + Send) -> ModelSpec {
    let design = on_big_stack(make);
    let waivers = WAIVERS
        .iter()
        .map(|waiver| Waiver::everywhere(waiver.rule, waiver.reason));
    ModelSpec::new(top)
        .source(format!("{top}.sv"), design.verilog())
        .waive(waivers)
        .effort(Effort::Build)
}

#[test]
fn small_and_large_cards_are_clean() {
    for config in [NicConfig::SMALL, NicConfig::LARGE] {
        let card = move || emit(&Card::new(config), "card").expect("the card can be printed");
        let warnings = ferroce_bridge::lint(&spec("card", card)).expect("Verilator reads the card");
        let lines: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }
}

#[test]
fn icarus_compiles_the_card() {
    let design = on_big_stack(|| emit(&Card::new(NicConfig::SMALL), "card"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("icarus");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let text = design.expect("the card can be printed").verilog();
    std::fs::write(folder.join("card.sv"), text).expect("the folder is writable");
    icarus(&["-s", "card", "-o", "card.vvp", "card.sv"], &folder);
}

#[test]
fn the_wiring_is_complete() {
    on_big_stack(|| {
        let mut card = Nic::default();
        card.connect_all();
        check_all(&card).expect("the card is wired");
    });
}

/// The card's register window.
struct Window {
    model: Model,
    clock: Port,
    request: Port,
    valid: Port,
    ready: Port,
    answer: Port,
    answer_valid: Port,
}

impl Window {
    fn cycle(&mut self) {
        for level in [true, false] {
            self.model.set_bool(self.clock, level);
            self.model.eval().expect("the model runs");
        }
    }

    fn access(&mut self, request: BarReq) {
        let words = pack(&request);
        self.model.write_words(self.request, &words);
        self.model.set_bool(self.valid, true);
        self.model.eval().expect("the model runs");
        while !self.model.get_bool(self.ready) {
            self.cycle();
        }
        self.cycle();
        self.model.set_bool(self.valid, false);
    }

    fn read(&mut self, addr: u64) -> u64 {
        self.access(BarReq {
            addr: addr.into(),
            ..BarReq::default()
        });
        for _ in 0..40 {
            if self.model.get_bool(self.answer_valid) {
                let mut words = [0; 2];
                self.model.read_words(self.answer, &mut words);
                self.cycle();
                return unpack::<BarResp>(&words).data.to_u64();
            }
            self.cycle();
        }
        panic!("no answer");
    }
}

#[test]
fn a_card_says_what_it_is_and_counts_its_doorbells() {
    let nic = || emit(&Nic::default(), "nic").expect("the card can be printed");
    let library = build(&spec("nic", nic)).expect("the model builds");
    let port = |name: &str| library.port(name).expect("the card has the port");
    let mut window = Window {
        clock: port("core_clock"),
        request: port("bar_req_data"),
        valid: port("bar_req_valid"),
        ready: port("bar_req_ready"),
        answer: port("bar_resp_data"),
        answer_valid: port("bar_resp_valid"),
        model: Model::new(&library).expect("the model starts"),
    };
    let answer_ready = port("bar_resp_ready");
    window.model.set_bool(answer_ready, true);
    assert_eq!(
        window.read(regs::MAGIC),
        u64::from(regs::VERSION_VALUE) << 32 | u64::from(regs::MAGIC_VALUE)
    );
    assert_eq!(window.read(regs::NUM_QPS), 16 << 32 | 16);
    for qpn in [3, 15, 16, 0xFF_FFFF] {
        window.access(BarReq {
            addr: regs::in_page(0, regs::SQ_DOORBELL).into(),
            write: true,
            data: (1 << 32 | qpn).into(),
            strobe: 0xFF.into(),
        });
    }
    // Twice the period of the counters' token.
    for _ in 0..300 {
        window.cycle();
    }
    for counter in regs::Counter::ALL {
        let expected = match counter {
            regs::Counter::Doorbells => 4,
            regs::Counter::DoorbellsBad => 2,
            _ => 0,
        };
        assert_eq!(window.read(counter.offset()), expected, "{counter:?}");
    }
}

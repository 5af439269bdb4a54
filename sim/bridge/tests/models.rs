//! Models of small designs: ports of all widths, clocks, waves, caching, errors.

use std::path::PathBuf;
use std::sync::Arc;

use ferroce_bridge::{
    build, cache, lint, BridgeError, Clocks, Effort, Model, ModelSpec, Period, Waiver,
};

const COUNTER: &str = "
module counter(input clock, input enable, output reg [6:0] count = 0);
  always @(posedge clock) if (enable) count <= count + 1;
endmodule
";

/// Every storage size, each register loaded on the clock.
const WIDTHS: &str = "
module widths(
  input clock,
  input [7:0] a, input [11:0] b, input [31:0] c, input [40:0] d, input [511:0] e, input [69:0] f,
  output reg [7:0] qa, output reg [11:0] qb, output reg [31:0] qc, output reg [40:0] qd,
  output reg [511:0] qe, output reg [69:0] qf
);
  always @(posedge clock) begin
    qa <= a; qb <= b; qc <= c; qd <= d; qe <= {e[7:0], e[511:8]}; qf <= ~f;
  end
endmodule
";

fn spec(top: &str, verilog: &str) -> ModelSpec {
    ModelSpec::new(top)
        .source(format!("{top}.v"), verilog)
        .effort(Effort::Build)
}

fn model(spec: &ModelSpec) -> Model {
    Model::new(&build(spec).unwrap()).unwrap()
}

fn tick(model: &mut Model) {
    let clock = model.port("clock").unwrap();
    for level in [true, false] {
        model.set_bool(clock, level);
        model.eval().unwrap();
    }
}

#[test]
fn a_counter_counts_when_enabled_and_wraps() {
    let mut model = model(&spec("counter", COUNTER));
    let (enable, count) = (model.port("enable").unwrap(), model.port("count").unwrap());
    assert_eq!((count.bits(), count.word_count()), (7, 1));
    tick(&mut model);
    assert_eq!(model.get_u64(count), 0);
    model.set_bool(enable, true);
    for expected in (1..128).chain([0, 1]) {
        tick(&mut model);
        assert_eq!(model.get_u64(count), expected);
    }
}

#[test]
fn instances_are_independent_and_move_between_threads() {
    let library = build(&spec("counter", COUNTER)).unwrap();
    let (enable, count) = (
        library.port("enable").unwrap(),
        library.port("count").unwrap(),
    );
    let threads: Vec<_> = (0..4u64)
        .map(|number| {
            let mut model = Model::new(&library).unwrap();
            model.set_bool(enable, true);
            std::thread::spawn(move || {
                for _ in 0..10 * number {
                    tick(&mut model);
                }
                model.get_u64(count)
            })
        })
        .collect();
    let counts: Vec<u64> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert_eq!(counts, [0, 10, 20, 30]);
}

#[test]
fn ports_of_all_widths_keep_their_bits() {
    let mut model = model(&spec("widths", WIDTHS));
    let narrow = [
        ("a", 0xa5u64, 0xa5u64),
        ("b", 0xfabc, 0xabc),
        ("c", 0x1_dead_beef, 0xdead_beef),
    ];
    for (name, value, _) in narrow.into_iter().chain([("d", u64::MAX, 0)]) {
        let port = model.port(name).unwrap();
        model.set_u64(port, value);
    }
    let e = model.wide_port("e").unwrap();
    for (index, byte) in (0u8..).zip(model.bytes_mut(e)) {
        *byte = index;
    }
    let f = model.port("f").unwrap();
    model.write_words(f, &[1, 2, u32::MAX, 7]);
    tick(&mut model);

    for (name, _, expected) in narrow.into_iter().chain([("d", 0, (1 << 41) - 1)]) {
        let port = model.port(&format!("q{name}")).unwrap();
        assert_eq!(model.get_u64(port), expected, "port q{name}");
    }
    let qe = model.wide_port("qe").unwrap();
    let rotated: Vec<u8> = (1..64).chain([0]).collect();
    assert_eq!(model.bytes(qe), rotated);
    assert_eq!(model.words(qe)[..2], [0x0403_0201, 0x0807_0605]);
    assert_eq!(model.words(qe)[15], 0x003f_3e3d);
    let mut words = [9; 4];
    model.read_words(model.port("qf").unwrap(), &mut words);
    assert_eq!(
        words,
        [!1, !2, 0, 0],
        "70 bits: the third word holds 6, all inverted ones"
    );
    assert_eq!(
        model.get_u64(model.port("qf").unwrap()),
        u64::from(!1u32) | u64::from(!2u32) << 32
    );
}

#[test]
fn two_clocks_run_in_one_schedule() {
    let verilog = "
module domains(input core, input mac, output reg [31:0] core_count = 0, output reg [31:0] mac_count = 0);
  always @(posedge core) core_count <= core_count + 1;
  always @(posedge mac) mac_count <= mac_count + 1;
endmodule
";
    let mut model = model(&spec("domains", verilog));
    let mut clocks = Clocks::default();
    let lines = [
        ("core", Period::from_fs(4_000_000)),
        ("mac", Period::from_hz(322_265_625)),
    ]
    .map(|(name, period)| {
        (
            clocks.add(period, 1_000_000).unwrap(),
            model.port(name).unwrap(),
        )
    });
    // Rises are at 1 ns, then every period: those before 40.9 us count.
    while clocks.next_time() < 40_900_000_000 {
        let edges = clocks.advance();
        for (clock, port) in lines {
            if let Some(level) = edges.level(clock) {
                model.set_bool(port, level);
            }
        }
        model.set_time(edges.time_fs);
        model.eval().unwrap();
    }
    // 40 899 ns hold 10224.75 periods of 4 ns and 13180.34 of 1000/322.265625 ns.
    assert_eq!(model.get_u64(model.port("core_count").unwrap()), 10_225);
    assert_eq!(model.get_u64(model.port("mac_count").unwrap()), 13_181);
}

#[test]
fn waves_are_recorded_when_built_in_and_refused_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counter.fst");
    let traced = spec("counter", COUNTER).trace(true);
    let mut recording = model(&traced);
    recording.open_wave(&path).unwrap();
    for time in 0..100 {
        recording.set_time(time * 4_000_000);
        tick(&mut recording);
    }
    drop(recording);
    let wave = std::fs::read(&path).unwrap();
    // FST: a header block (type 0) of 329 bytes, whose end time is bytes 17..25.
    assert_eq!((wave[0], &wave[1..9]), (0, 329u64.to_be_bytes().as_slice()));
    assert_eq!(wave[17..25], (99 * 4_000_000 + 1u64).to_be_bytes());

    let unwritable = model(&traced).open_wave(&folder.path().join("absent/x.fst"));
    assert!(
        matches!(unwritable, Err(BridgeError::Io { .. })),
        "{unwritable:?}"
    );
    let untraced = model(&spec("counter", COUNTER)).open_wave(&path);
    assert!(
        matches!(untraced, Err(BridgeError::NotTraced { .. })),
        "{untraced:?}"
    );
}

#[test]
fn a_model_is_built_once_for_all_threads() {
    // Unique content, so that no earlier run has left it in the cache.
    let unique = format!("{COUNTER}// {:?}\n", std::time::SystemTime::now());
    let spec = spec("counter", &unique);
    let entries = || -> Vec<PathBuf> {
        // There is no such folder before the first build of all.
        let folders = std::fs::read_dir(cache::folder("ferroce-models"))
            .into_iter()
            .flatten();
        let folders = folders.map(|folder| folder.unwrap().path());
        folders
            .filter(|folder| {
                std::fs::read_to_string(folder.join("counter.v")).is_ok_and(|text| text == unique)
            })
            .collect()
    };
    assert!(entries().is_empty());
    let libraries = std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(|| build(&spec).unwrap()));
        threads.map(|thread| thread.join().unwrap())
    });
    assert!(libraries
        .iter()
        .all(|library| Arc::ptr_eq(library, &libraries[0])));
    let entries = entries();
    assert_eq!(entries.len(), 1, "{entries:?}");
    std::fs::remove_dir_all(&entries[0]).unwrap();
}

#[test]
fn a_complete_cache_entry_is_used_and_an_abandoned_one_is_rebuilt() {
    const KIND: &str = "ferroce-bridge-cache-test";
    let folder = cache::folder(KIND);
    let key = format!(
        "{:?}",
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
    );
    // What a killed builder leaves behind: a partial entry and a lock file that nobody holds.
    let partial = folder.join(format!("{key}.partial"));
    std::fs::create_dir_all(&partial).unwrap();
    std::fs::write(partial.join("stale"), "").unwrap();
    std::fs::write(folder.join(format!("{key}.lock")), "").unwrap();

    let mut builds = 0;
    for _ in 0..2 {
        let entry = cache::entry::<BridgeError>(KIND, &key, |folder| {
            builds += 1;
            assert!(!folder.join("stale").exists());
            std::fs::write(folder.join("product"), "fresh")
                .map_err(BridgeError::io("write", folder))
        });
        assert_eq!(
            std::fs::read_to_string(entry.unwrap().join("product")).unwrap(),
            "fresh"
        );
    }
    assert_eq!(builds, 1);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn broken_verilog_is_reported_with_verilators_words() {
    let error = build(&spec(
        "broken",
        "module broken(input a, output b);\n  assign b = a +;\nendmodule\n",
    ));
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("Verilator rejects broken:\n%Error: broken.v:2:"),
        "{text}"
    );
}

#[test]
fn warnings_stop_a_build_unless_waived_or_tolerated() {
    let verilog = "module narrow(input [7:0] a, output [3:0] b); assign b = a; endmodule\n";
    let strict = spec("narrow", verilog);
    assert!(matches!(build(&strict), Err(BridgeError::Verilate { .. })));
    let waiver = Waiver::everywhere("WIDTHTRUNC", "the upper half is not wanted");
    for accepted in [strict.clone().waive([waiver]), strict.fatal_warnings(false)] {
        let mut model = model(&accepted);
        model.set_u64(model.port("a").unwrap(), 0x5c);
        model.eval().unwrap();
        assert_eq!(model.get_u64(model.port("b").unwrap()), 0xc);
    }
}

#[test]
fn lint_lists_findings_and_waivers_remove_them() {
    let questionable = "module odd(input [7:0] a, output [3:0] b);\n  assign b = a;\nendmodule\n";
    let spec = spec("odd", questionable);
    let found = lint(&spec).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|w| (w.rule.as_str(), w.file.as_str(), w.line))
        .collect();
    assert_eq!(
        found,
        [("WIDTHTRUNC", "odd.v", 2), ("UNUSEDSIGNAL", "odd.v", 1)]
    );
    let waivers = ["WIDTHTRUNC", "UNUSEDSIGNAL"].map(|rule| Waiver {
        rule: rule.to_owned(),
        file: Some("odd.v".to_owned()),
        reason: "the upper half is not wanted".to_owned(),
    });
    assert_eq!(lint(&spec.waive(waivers)).unwrap(), []);
    assert!(matches!(
        lint(&ModelSpec::new("absent").source("x.v", COUNTER)),
        Err(BridgeError::Verilate { .. })
    ));
}

#[test]
fn a_model_that_gives_up_returns_an_error_instead_of_ending_the_process() {
    let verilog = "
module fragile(input clock, input go, output reg done = 0);
  always @(posedge clock) begin
    if (go) $stop;
    done <= 1;
  end
endmodule
";
    let mut model = model(&spec("fragile", verilog));
    tick(&mut model);
    assert!(model.get_bool(model.port("done").unwrap()) && !model.finished());
    model.set_bool(model.port("go").unwrap(), true);
    model.set_bool(model.port("clock").unwrap(), true);
    model.set_time(8_000_000);
    let text = model.eval().unwrap_err().to_string();
    assert!(
        text.starts_with("model fragile at 8000000 fs: fragile.v:4: "),
        "{text}"
    );
}

#[test]
fn several_threads_evaluate_one_model() {
    let mut model = model(&spec("widths", WIDTHS).threads(2));
    let (d, qd) = (model.port("d").unwrap(), model.port("qd").unwrap());
    for value in 0..1000 {
        model.set_u64(d, value);
        tick(&mut model);
        assert_eq!(model.get_u64(qd), value);
    }
}

#[test]
fn names_and_widths_are_checked_at_look_up() {
    let library = build(&spec("counter", COUNTER)).unwrap();
    let text = library.port("cuont").unwrap_err().to_string();
    assert_eq!(
        text,
        "model counter has no port cuont; it has clock, enable, count"
    );
    assert!(matches!(
        library.wide_port("count"),
        Err(BridgeError::NotWide { bits: 7, .. })
    ));
    let unusable = [
        ModelSpec::new("x"),
        ModelSpec::new("x").source("../x.v", ""),
        ModelSpec::new("x").source("x.v", "").source("x.v", ""),
        ModelSpec::new("x").source("x.v", "").threads(0),
        ModelSpec::new("-x").source("x.v", ""),
    ];
    for spec in unusable {
        assert!(
            matches!(build(&spec), Err(BridgeError::InvalidSpec { .. })),
            "{spec:?}"
        );
    }
}

#[test]
#[should_panic(expected = "a port of another library")]
fn a_port_of_another_design_is_refused() {
    let foreign = build(&spec("counter", COUNTER))
        .unwrap()
        .port("clock")
        .unwrap();
    model(&spec("widths", WIDTHS)).get_u64(foreign);
}

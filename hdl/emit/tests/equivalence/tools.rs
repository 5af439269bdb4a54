//! The other tools that read our Verilog: Icarus and Yosys.

use ferroce_bridge::tools::{find_in_workspace, run};
use ferroce_emit::harness::{icarus, icarus_prints, leaves_of};
use ferroce_emit::Emitter;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fresh folder of this test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    folder
}

/// Every registered module in one file, and the module of `leaf`.
fn everything(leaf: &str) -> (String, String) {
    let mut emitter = Emitter::default();
    let mut wanted = None;
    for registered in leaves_of(env!("CARGO_PKG_NAME")) {
        let module = (registered.make)();
        let emitted = emitter.add(module.block()).expect("it is a good module");
        if registered.name == leaf {
            wanted = Some(emitted.name);
        }
    }
    (emitter.text(), wanted.expect("it is registered"))
}

#[test]
fn icarus_reads_everything() {
    let folder = folder("icarus");
    let (text, _) = everything("wrap");
    std::fs::write(folder.join("all.sv"), text).expect("the folder is writable");
    // Constant parts of signals never change, which is what this rule is about.
    let flags = ["-Wall", "-Wno-sensitivity-entire-vector", "-Wno-timescale"];
    let mut arguments = flags.to_vec();
    arguments.extend(["-t", "null", "all.sv"]);
    icarus(&arguments, &folder);
}

/// What depends on constants alone has its value at once in a simulator of
/// four states.
#[test]
fn icarus_sees_constants() {
    let folder = folder("icarus_constants");
    let (text, fields) = everything("fields");
    let bench = format!(
        "{text}
module bench;
    reg [54:0] value = 55'd0;
    wire [3:0] constant;
    {fields} uut (.input_(value), .at(3'd0), .constant(constant));
    initial begin
        #1 $display(\"constant=%b\", constant);
        $finish;
    end
endmodule
"
    );
    let output = icarus_prints(&bench, &folder);
    assert!(output.contains("constant=1011"), "{output}");
}

#[test]
fn yosys_finds_no_latches_and_no_problems() {
    let python =
        find_in_workspace(".tools/yosys/bin/python").expect("Yosys is missing: run scripts/setup");
    let folder = folder("yosys");
    let (text, _) = everything("wrap");
    std::fs::write(folder.join("all.sv"), text).expect("the folder is writable");
    let script = "
from pyosys import libyosys as ys
design = ys.Design()
for command in [
    'read_verilog -sv all.sv',
    'proc',
    'select -assert-none t:$dlatch t:$adlatch t:$dlatchsr',
    'check -assert',
]:
    ys.run_pass(command, design)
print('all is well')
";
    std::fs::write(folder.join("check.py"), script).expect("the folder is writable");
    let (success, output) =
        run(Command::new(python).arg("check.py").current_dir(&folder)).expect("Python starts");
    assert!(
        success && output.contains("all is well") && !output.contains("Warning"),
        "{output}"
    );
}

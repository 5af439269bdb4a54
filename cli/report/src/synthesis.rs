//! Yosys: Verilog in, a netlist of UltraScale+ cells out, cached by content.

use std::path::{Path, PathBuf};
use std::process::Command;

use ferroce_bridge::{cache, tools, BridgeError};

use crate::cells::LEVEL;
use crate::netlist::Netlist;
use crate::ReportError;

/// Python with Yosys as a module, as `scripts/setup` installs it.
const PYTHON: &str = ".tools/yosys/bin/python";

const DRIVER: &str = include_str!("synth.py");
const XOR_MAP: &str = include_str!("xor_by_sixes.v");
const XOR_MAP_FILE: &str = "xor_by_sixes.v";
const CARRY_MODEL: &str = include_str!("carry_in_eighths.v");
const CARRY_MODEL_FILE: &str = "carry_in_eighths.v";
const NETLIST: &str = "netlist.json";

/// Synthesises `top`, its sub-modules flattened into it.
pub fn synthesise(verilog: &str, top: &str) -> Result<Netlist, ReportError> {
    let python = python()?;
    let script = script(plain_name(top)?);
    let mut key = cache::Key::default();
    key.part("yosys", yosys_identity(&python));
    key.part("driver", DRIVER);
    key.part("script", &script);
    key.part(XOR_MAP_FILE, XOR_MAP);
    key.part(CARRY_MODEL_FILE, CARRY_MODEL);
    key.part("verilog", verilog);
    let entry = cache::entry("ferroce-netlists", &key.finish(), |folder| {
        run(&python, &script, verilog, top, folder)
    })?;
    let path = entry.join(NETLIST);
    let text = std::fs::read_to_string(&path).map_err(BridgeError::io("read", &path))?;
    Netlist::parse(&text, top)
}

/// A module name that a Yosys script can hold.
pub fn plain_name(top: &str) -> Result<&str, ReportError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if top.is_empty() || !top.chars().all(plain) || top.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(ReportError::TopName(top.to_owned()));
    }
    Ok(top)
}

fn script(top: &str) -> String {
    // - abc9 would prove its own result with a SAT solver, which does not end on wide XORs.
    // - A block's ports are not pins and its clocks come from elsewhere: no pads, no clock buffers.
    // - XORs of two inputs are gathered into wide ones, which are then mapped by sixes. Each output
    //   gets a tree of its own: its depth is right, but LUTs that outputs could share are counted
    //   for each.
    // - Then the steps of `synth_xilinx` from `map_luts` on, but for the mapper's input: each clock's
    //   logic by itself, no cell delays but the carry's, and LUTs that cost an area as there and a
    //   depth of 1 + W.
    // - Scope notes, displays and assertions are no hardware.
    // - Source attributes name temporary files and double the netlist's size.
    let synth =
        format!("synth_xilinx -family xcup -flatten -uram -noiopad -noclkbuf -top {top} -run");
    let beyond_one = LEVEL - 1;
    format!(
        "scratchpad -set abc9.verify 0\n\
         read_verilog -sv design.sv\n\
         {synth} begin:map_luts\n\
         extract_reduce -allow-off-chain t:$_XOR_\n\
         opt_clean\n\
         techmap -map {XOR_MAP_FILE}\n\
         simplemap\n\
         opt_clean\n\
         opt_expr -mux_undef -noclkinv\n\
         split_by_clock {top}\n\
         setattr -mod -unset abc9_box =A:abc9_box\n\
         setattr -mod -unset abc9_lut =A:abc9_lut\n\
         delete =*/t:$spec*\n\
         read_verilog -lib -specify -overwrite {CARRY_MODEL_FILE}\n\
         abc9 -W {beyond_one} -luts 2:2,3,6:5\n\
         clean\n\
         flatten {top}\n\
         opt_clean {top}\n\
         xilinx_srl -fixed -minlen 3\n\
         techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6\n\
         xilinx_dffopt\n\
         opt_lut_ins -tech xilinx\n\
         {synth} finalize:\n\
         delete t:$scopeinfo t:$print t:$check\n\
         setattr -unset src\n\
         select {top}\n\
         write_json -selected {NETLIST}\n"
    )
}

/// Puts a file into a folder.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<(), BridgeError> {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(BridgeError::io("write", &path))
}

fn run(
    python: &Path,
    script: &str,
    verilog: &str,
    top: &str,
    folder: &Path,
) -> Result<(), ReportError> {
    write(folder, "design.sv", verilog)?;
    write(folder, "script.ys", script)?;
    write(folder, "synth.py", DRIVER)?;
    write(folder, XOR_MAP_FILE, XOR_MAP)?;
    write(folder, CARRY_MODEL_FILE, CARRY_MODEL)?;
    let (success, log) = tools::run(
        Command::new(python)
            .args(["synth.py", "script.ys"])
            .current_dir(folder),
    )?;
    write(folder, "yosys.log", &log)?;
    if success {
        return Ok(());
    }
    let errors: Vec<&str> = log.lines().filter(|line| line.contains("ERROR")).collect();
    Err(ReportError::Synthesis {
        top: top.to_owned(),
        messages: if errors.is_empty() {
            log
        } else {
            errors.join("\n")
        },
    })
}

/// `FERROCE_YOSYS_PYTHON` names another Python that has pyosys.
pub fn python() -> Result<PathBuf, BridgeError> {
    std::env::var_os("FERROCE_YOSYS_PYTHON")
        .map(PathBuf::from)
        .or_else(|| tools::find_in_workspace(PYTHON))
        .ok_or_else(|| BridgeError::ToolMissing {
            tool: "Yosys",
            looked_at: format!("FERROCE_YOSYS_PYTHON, {PYTHON}"),
        })
}

/// The installed package's record names its version; without one, the interpreter's path has to do.
pub fn yosys_identity(python: &Path) -> String {
    let environment = python.parent().and_then(Path::parent);
    let versions = environment
        .into_iter()
        .flat_map(|folder| {
            std::fs::read_dir(folder.join("lib"))
                .into_iter()
                .flatten()
                .flatten()
        })
        .flat_map(|library| {
            std::fs::read_dir(library.path().join("site-packages"))
                .into_iter()
                .flatten()
                .flatten()
        })
        .map(|package| package.file_name().to_string_lossy().into_owned())
        .find(|name| name.starts_with("pyosys-"));
    versions.unwrap_or_else(|| python.display().to_string())
}

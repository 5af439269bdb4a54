//! From Verilog to a loaded shared library: Verilator, then the C++ compiler, both cached.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::error::first_errors;
use crate::tools::{self, Compiler, Verilator};
use crate::{cache, ports, BridgeError, Effort, Library, ModelSpec};

const SHIM: &str = include_str!("shim.cpp");

/// Cache of models, and of the run-time library's objects.
const CACHE: &str = "ferroce-models";

/// The finished product inside a cache entry.
const LIBRARY: &str = "model.so";

const WAIVERS: &str = "waivers.vlt";

/// Units of generated C++ up to this size are compiled as one: each unit costs a third of a
/// second for the headers alone.
const UNIT_BYTES: u64 = 400_000;

/// Returns the model's library, building it unless this process or the cache has it already.
/// Models that are built at the same time by several threads or processes are built once.
///
/// # Errors
/// Missing tools, Verilog that Verilator rejects, an inconsistent spec, file system failures.
pub fn build(spec: &ModelSpec) -> Result<Arc<Library>, BridgeError> {
    type Slot = Arc<Mutex<Option<Arc<Library>>>>;
    static LOADED: OnceLock<Mutex<HashMap<String, Slot>>> = OnceLock::new();

    spec.check()?;
    let key = key(spec)?;
    let slot = {
        let mut loaded = LOADED
            .get_or_init(Mutex::default)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(loaded.entry(key.clone()).or_default())
    };
    // Held during the build, so that other threads of this process wait for its result.
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = &*slot {
        return Ok(Arc::clone(library));
    }
    let entry = cache::entry(CACHE, &key, |folder| make(spec, folder))?;
    let library = Arc::new(Library::load(spec, &entry.join(LIBRARY))?);
    *slot = Some(Arc::clone(&library));
    Ok(library)
}

fn key(spec: &ModelSpec) -> Result<String, BridgeError> {
    let mut key = cache::Key::default();
    key.part("verilator", Verilator::find()?.version());
    key.part("arguments", verilator_arguments(spec).join("\n"));
    key.part("compiler", &Compiler::find()?.identity);
    key.part("flags", flags(spec.trace, spec.effort, false).join("\n"));
    key.part(
        "slow flags",
        flags(spec.trace, spec.effort, true).join("\n"),
    );
    key.part("run-time flags", runtime_flags().join("\n"));
    key.part("shim", SHIM);
    key.part(WAIVERS, spec.waiver_text());
    for source in &spec.sources {
        key.part(&source.name, &source.text);
    }
    Ok(key.finish())
}

/// Writes the spec's sources and waivers into a folder, for Verilator to run in.
pub(crate) fn write_sources(spec: &ModelSpec, folder: &Path) -> Result<(), BridgeError> {
    write(&folder.join(WAIVERS), &spec.waiver_text())?;
    for source in &spec.sources {
        write(&folder.join(&source.name), &source.text)?;
    }
    Ok(())
}

/// Arguments common to building and linting.
pub(crate) fn common_arguments(spec: &ModelSpec) -> Vec<String> {
    let mut arguments = vec![
        "--top-module".to_owned(),
        spec.top.clone(),
        WAIVERS.to_owned(),
    ];
    arguments.extend(spec.arguments.iter().cloned());
    arguments.extend(spec.sources.iter().map(|source| source.name.clone()));
    arguments
}

fn verilator_arguments(spec: &ModelSpec) -> Vec<String> {
    let fixed = "--cc --prefix Vmodel --Mdir cpp -O3 --x-assign fast --x-initial fast \
                 --timescale-override 1fs/1fs --quiet --output-split 20000";
    let mut arguments: Vec<String> = fixed.split_whitespace().map(str::to_owned).collect();
    arguments.extend(["--threads".to_owned(), spec.threads.to_string()]);
    if spec.trace {
        arguments.push("--trace-fst".to_owned());
    }
    if !spec.fatal_warnings {
        arguments.push("-Wno-fatal".to_owned());
    }
    arguments.extend(common_arguments(spec));
    arguments
}

/// Fills an empty cache entry: sources, Verilator's C++, objects, library.
fn make(spec: &ModelSpec, folder: &Path) -> Result<(), BridgeError> {
    let started = Instant::now();
    write_sources(spec, folder)?;
    let mut command = Verilator::find()?.command();
    let (success, output) =
        tools::run(command.args(verilator_arguments(spec)).current_dir(folder))?;
    write(&folder.join("verilator.log"), &output)?;
    if !success {
        return Err(BridgeError::Verilate {
            top: spec.top.clone(),
            messages: first_errors(&output),
        });
    }
    let cpp = folder.join("cpp");
    let header = cpp.join("Vmodel.h");
    let header = fs::read_to_string(&header).map_err(BridgeError::io("read", &header))?;
    let members = ports::parse(&header).map_err(|line| BridgeError::InvalidSpec {
        top: spec.top.clone(),
        problem: format!("only plain inputs and outputs can be driven, not {line}"),
    })?;
    write(&cpp.join("ports.inc"), &ports::include_text(&members))?;
    write(&cpp.join("shim.cpp"), SHIM)?;
    let verilated = started.elapsed();

    let mut objects = compile_units(spec, &cpp)?;
    objects.extend(runtime(spec.trace)?);
    link(spec, &objects, &folder.join(LIBRARY))?;
    fs::remove_dir_all(&cpp).map_err(BridgeError::io("remove", &cpp))?;
    tracing::info!(
        top = spec.top,
        verilate_ms = verilated.as_millis() as u64,
        compile_ms = (started.elapsed() - verilated).as_millis() as u64,
        "model built"
    );
    Ok(())
}

/// Groups the generated files into units and compiles these in parallel.
fn compile_units(spec: &ModelSpec, cpp: &Path) -> Result<Vec<PathBuf>, BridgeError> {
    let mut files = Vec::new();
    let mut total = 0;
    for file in fs::read_dir(cpp)
        .map_err(BridgeError::io("list", cpp))?
        .flatten()
    {
        let name = file.file_name().to_string_lossy().into_owned();
        if name.ends_with(".cpp") {
            let size = file
                .metadata()
                .map_err(BridgeError::io("read", &file.path()))?
                .len();
            total += size;
            files.push((name, size));
        }
    }
    files.sort();
    // Constructors, first settling and wave set-up run once: no time is spent on optimising them.
    let is_slow = |name: &str| total > UNIT_BYTES / 2 && name.contains("__Slow");
    let mut units: Vec<(String, u64, bool)> = Vec::new();
    for (name, size) in files {
        let slow = is_slow(&name);
        let include = format!("#include \"{name}\"\n");
        match units.iter_mut().rev().find(|unit| unit.2 == slow) {
            Some(unit) if unit.1 + size <= UNIT_BYTES => {
                unit.0.push_str(&include);
                unit.1 += size;
            }
            _ => units.push((include, size, slow)),
        }
    }
    // Longest first, so that the last unit to finish is a short one.
    units.sort_by_key(|unit| (unit.2, std::cmp::Reverse(unit.1)));

    let mut jobs = Vec::new();
    for (index, (text, _, slow)) in units.into_iter().enumerate() {
        let unit = cpp.join(format!("unit{index}.cc"));
        write(&unit, &text)?;
        jobs.push(Job {
            object: unit.with_extension("o"),
            source: unit,
            flags: flags(spec.trace, spec.effort, slow),
            what: spec.top.clone(),
        });
    }
    compile(&jobs)?;
    Ok(jobs.into_iter().map(|job| job.object).collect())
}

fn flags(trace: bool, effort: Effort, slow: bool) -> Vec<String> {
    let optimise: &[&str] = match effort {
        _ if slow => &["-O0"],
        Effort::Build => &["-O1"],
        Effort::Run => &["-O3", "-march=native"],
    };
    let trace = u32::from(trace);
    // `-fno-gnu-unique` and hidden symbols keep models apart that share a process.
    let fixed = format!(
        "-std=gnu++17 -w -fPIC -fvisibility=hidden -fno-gnu-unique -faligned-new \
         -fcf-protection=none -DVERILATOR=1 -DVM_COVERAGE=0 -DVM_SC=0 -DVM_TIMING=0 -DVM_VPI=0 \
         -DVM_TRACE={trace} -DVM_TRACE_FST={trace} -DVM_TRACE_VCD=0 -DVM_TRACE_SAIF=0"
    );
    let fixed = fixed.split_whitespace().map(str::to_owned);
    fixed
        .chain(optimise.iter().map(|flag| (*flag).to_owned()))
        .collect()
}

/// The run-time library is compiled once for all models, so always for speed.
fn runtime_flags() -> Vec<String> {
    let mut flags = flags(false, Effort::Run, false);
    flags.extend(["-DVL_USER_FATAL", "-DVL_USER_FINISH"].map(str::to_owned));
    flags
}

/// Objects of Verilator's run-time library, one cache entry each.
fn runtime(trace: bool) -> Result<Vec<PathBuf>, BridgeError> {
    let mut names = vec!["verilated.cpp", "verilated_threads.cpp"];
    if trace {
        names.push("verilated_fst_c.cpp");
    }
    let include = Verilator::find()?.include();
    let mut objects = Vec::new();
    for name in names {
        let mut key = cache::Key::default();
        key.part("verilator", Verilator::find()?.version());
        key.part("compiler", &Compiler::find()?.identity);
        key.part("flags", runtime_flags().join("\n"));
        key.part("file", name);
        let entry = cache::entry(CACHE, &format!("runtime-{}", key.finish()), |folder| {
            compile(&[Job {
                source: include.join(name),
                object: folder.join("runtime.o"),
                flags: runtime_flags(),
                what: name.to_owned(),
            }])
        })?;
        objects.push(entry.join("runtime.o"));
    }
    Ok(objects)
}

struct Job {
    source: PathBuf,
    object: PathBuf,
    flags: Vec<String>,
    /// For messages.
    what: String,
}

/// Compiles all, as many at a time as there are processors.
fn compile(jobs: &[Job]) -> Result<(), BridgeError> {
    let compiler = &Compiler::find()?.program;
    let include = Verilator::find()?.include();
    let run = |job: &Job| -> Result<(), BridgeError> {
        let mut command = Command::new(compiler);
        command
            .args(&job.flags)
            .arg("-I")
            .arg(&include)
            .arg("-I")
            .arg(include.join("vltstd"));
        command
            .arg("-c")
            .arg(&job.source)
            .arg("-o")
            .arg(&job.object);
        checked(&mut command, &job.what)
    };
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let workers = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(jobs.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = run(job) {
                        *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        next.store(jobs.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn link(spec: &ModelSpec, objects: &[PathBuf], library: &Path) -> Result<(), BridgeError> {
    let mut command = Command::new(&Compiler::find()?.program);
    command
        .args(["-shared", "-Wl,-Bsymbolic", "-Wl,--no-undefined", "-o"])
        .arg(library);
    command.args(objects).args(["-pthread", "-latomic"]);
    if spec.trace {
        command.args(["-llz4", "-lz"]);
    }
    checked(&mut command, &spec.top)
}

fn checked(command: &mut Command, what: &str) -> Result<(), BridgeError> {
    match tools::run(command)? {
        (true, _) => Ok(()),
        (false, output) => Err(BridgeError::Compile {
            what: what.to_owned(),
            messages: first_errors(&output),
        }),
    }
}

fn write(path: &Path, text: &str) -> Result<(), BridgeError> {
    fs::write(path, text).map_err(BridgeError::io("write", path))
}

//! Finding Verilator, the C++ compiler and other tools that `scripts/setup` installs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::BridgeError;

/// Where this crate was compiled: last resort for programs that run outside the work tree.
const COMPILED_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Looks for `relative` (such as `.tools/yosys/bin/python`) in the work tree: above the
/// current folder, above the running program, and where this crate was compiled.
pub fn find_in_workspace(relative: impl AsRef<Path>) -> Option<PathBuf> {
    let relative = relative.as_ref();
    let starts = [
        std::env::current_dir().ok(),
        std::env::current_exe().ok(),
        Some(PathBuf::from(COMPILED_IN)),
    ];
    starts
        .iter()
        .flatten()
        .flat_map(|start| start.ancestors())
        .map(|folder| folder.join(relative))
        .find(|candidate| candidate.exists())
}

/// Runs a command to its end and returns both outputs as one text, with success or not.
pub fn run(command: &mut Command) -> Result<(bool, String), BridgeError> {
    let program = PathBuf::from(command.get_program());
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().map_err(BridgeError::io("run", &program))?;
    let mut text = String::from_utf8_lossy(&stderr).into_owned();
    text.push_str(&String::from_utf8_lossy(&stdout));
    Ok((status.success(), text))
}

/// A usable Verilator.
#[derive(Debug, Clone)]
pub struct Verilator {
    program: PathBuf,
    version: String,
    root: PathBuf,
}

impl Verilator {
    /// Oldest accepted version as (major, minor).
    const OLDEST: (u32, u32) = (5, 30);

    /// Finds it once a process: `FERROCE_VERILATOR`, then `.tools/verilator`, then `PATH`.
    ///
    /// # Errors
    /// Nothing found, or a version before 5.030.
    pub fn find() -> Result<&'static Self, BridgeError> {
        static FOUND: OnceLock<Verilator> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Ok(found);
        }
        let found = Self::look()?;
        Ok(FOUND.get_or_init(|| found))
    }

    fn look() -> Result<Self, BridgeError> {
        const INSTALLED: &str = ".tools/verilator/verilator/bin/verilator";
        if let Some(program) = std::env::var_os("FERROCE_VERILATOR") {
            return Self::ask(PathBuf::from(program));
        }
        if let Some(program) = find_in_workspace(INSTALLED) {
            return Self::ask(program);
        }
        match find_in_path("verilator") {
            Some(program) => Self::ask(program),
            None => Err(BridgeError::ToolMissing {
                tool: "Verilator",
                looked_at: format!("FERROCE_VERILATOR, {INSTALLED}, PATH"),
            }),
        }
    }

    fn ask(program: PathBuf) -> Result<Self, BridgeError> {
        let (_, version) = run(Self::at(&program).arg("--version"))?;
        let version = version.trim().to_owned();
        // "Verilator 5.052 2026-09-05 rev v5.052"
        let number = version
            .split_whitespace()
            .nth(1)
            .and_then(|number| number.split_once('.'))
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        if number.is_none_or(|number: (u32, u32)| number < Self::OLDEST) {
            return Err(BridgeError::ToolVersion {
                path: program,
                found: version,
                wanted: "Verilator 5.030 or newer",
            });
        }
        let (_, root) = run(Self::at(&program).args(["--getenv", "VERILATOR_ROOT"]))?;
        let root = PathBuf::from(root.trim());
        Ok(Self {
            program,
            version,
            root,
        })
    }

    /// A foreign VERILATOR_ROOT would pair this program with another version's headers.
    fn at(program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_remove("VERILATOR_ROOT");
        command
    }

    /// A command that runs it.
    pub fn command(&self) -> Command {
        Self::at(&self.program)
    }

    /// Full version line.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Folder of the C++ run-time sources.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }
}

/// The C++ compiler: `CXX`, else g++.
#[derive(Debug, Clone)]
pub(crate) struct Compiler {
    pub program: PathBuf,
    /// Version and processor: objects built with `-march=native` are valid only here.
    pub identity: String,
}

impl Compiler {
    pub fn find() -> Result<&'static Self, BridgeError> {
        static FOUND: OnceLock<Compiler> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Ok(found);
        }
        let name = std::env::var_os("CXX").unwrap_or_else(|| "g++".into());
        let program = find_in_path(&name).ok_or(BridgeError::ToolMissing {
            tool: "a C++ compiler",
            looked_at: "CXX, g++ in PATH".into(),
        })?;
        let (_, version) = run(Command::new(&program).arg("--version"))?;
        let version = version.lines().next().unwrap_or_default().to_owned();
        let found = Self {
            program,
            identity: format!("{version}; {}", processor()),
        };
        Ok(FOUND.get_or_init(|| found))
    }
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    ["model name", "flags"]
        .iter()
        .filter_map(|key| info.lines().find(|line| line.starts_with(key)))
        .collect::<Vec<_>>()
        .join("; ")
}

fn find_in_path(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = Path::new(name.as_ref());
    if name.components().count() > 1 {
        return name.exists().then(|| name.to_owned());
    }
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(folder: &Path, says: &str) -> PathBuf {
        let path = folder.join("verilator");
        std::fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn old_and_unknown_versions_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for says in [
            "Verilator 5.006 2023-01-22 rev 5.006",
            "Verilator 4.228 2022-10-01",
            "rev vUNKNOWN-built20260516",
            "",
        ] {
            let text = Verilator::ask(program(folder.path(), says))
                .unwrap_err()
                .to_string();
            assert!(
                text.ends_with("but Verilator 5.030 or newer is needed; run scripts/setup"),
                "{text}"
            );
        }
        let accepted = Verilator::ask(program(
            folder.path(),
            "Verilator 5.052 2026-09-05 rev v5.052",
        ))
        .unwrap();
        assert_eq!(accepted.version(), "Verilator 5.052 2026-09-05 rev v5.052");
    }
}

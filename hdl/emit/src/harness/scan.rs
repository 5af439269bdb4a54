//! Finds modules that nobody registered.

use super::leaf::leaves_of;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the list of registered modules is not complete.
#[derive(Debug, Error)]
pub enum UnregisteredError {
    /// Modules without a `register_leaf!`.
    #[error("not registered with register_leaf!: {}", .0.join(", "))]
    Modules(Vec<String>),
    /// Exemptions for types that don't exist or are registered.
    #[error("exempt without need: {}", .0.join(", "))]
    Exemptions(Vec<String>),
    /// A source file can't be read.
    #[error("can't read {path}: {source}", path = .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
}

/// Checks that every module defined under `sources` is registered by
/// `package` or named in `exempt` (type, reason).
///
/// Modules are the structs that derive `LogicBlock` and the types with a
/// hand-written `impl Block`. A file is searched up to its `#[cfg(test)]`.
///
/// # Errors
/// Modules that are not registered; exemptions that nobody needs.
pub fn unregistered(
    package: &str,
    sources: &Path,
    exempt: &[(&str, &str)],
) -> Result<(), UnregisteredError> {
    let mut defined = BTreeSet::new();
    for file in rust_files(sources)? {
        let text = std::fs::read_to_string(&file).map_err(|source| UnregisteredError::Io {
            path: file.clone(),
            source,
        })?;
        defined.extend(modules_in(&text));
    }
    let registered: BTreeSet<String> = leaves_of(package)
        .iter()
        .map(|leaf| base_type((leaf.type_name)()))
        .collect();
    let missing: BTreeSet<String> = defined.difference(&registered).cloned().collect();
    let exempt: BTreeSet<String> = exempt.iter().map(|(name, _)| (*name).to_owned()).collect();
    let needless: Vec<String> = exempt.difference(&missing).cloned().collect();
    if !needless.is_empty() {
        return Err(UnregisteredError::Exemptions(needless));
    }
    let missing: Vec<String> = missing.difference(&exempt).cloned().collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(UnregisteredError::Modules(missing))
    }
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, UnregisteredError> {
    let error = |source| UnregisteredError::Io {
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// `a::b::Fifo<T>` is `Fifo`.
fn base_type(name: &str) -> String {
    let path = name.split('<').next().unwrap_or(name);
    path.rsplit("::").next().unwrap_or(path).trim().to_owned()
}

/// Names of the modules that a source text defines.
fn modules_in(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut names = Vec::new();
    let mut derives_block = false;
    let mut attribute = String::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("//") {
            continue;
        }
        // An attribute may go over several lines.
        if !attribute.is_empty() || line.starts_with("#[derive") {
            attribute.push_str(line);
            if attribute.contains(")]") {
                derives_block |= attribute
                    .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .any(|word| word == "LogicBlock");
                attribute.clear();
            }
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(at) = words.iter().position(|word| *word == "struct") {
            if derives_block {
                names.extend(words.get(at + 1).map(|name| identifier(name)));
            }
            derives_block = false;
        }
        if line.starts_with("impl") {
            let target = line.split_once(" Block for ").map(|(_, target)| target);
            names.extend(target.map(identifier));
        }
    }
    names
}

fn identifier(text: &str) -> String {
    let is_part = |c: &char| c.is_alphanumeric() || *c == '_';
    text.chars().take_while(is_part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_and_hand_written_modules_are_found() {
        let text = "
            /// #[derive(LogicBlock)] struct InAComment;
            #[derive(LogicBlock, Module, Default)]
            pub struct Plain<T: Synth> {
            #[derive(
                Clone,
                LogicBlock,
            )]
            pub(crate) struct Split {
            #[derive(Default, Clone)]
            struct NoModule;
            impl<T: Synth> Block for HandMade<T> {
            #[cfg(test)]
            mod tests { #[derive(LogicBlock)] struct OnlyATest { } }";
        assert_eq!(modules_in(text), ["Plain", "Split", "HandMade"]);
        assert_eq!(base_type("a::b::Fifo<c::D<8>>"), "Fifo");
    }
}

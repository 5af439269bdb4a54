//! Build products under the target folder, found by the hash of everything they came from.
//!
//! An entry is a folder that appears by one rename when it is complete. A lock file, which the
//! kernel releases when its holder dies, lets one process build while others wait for the result.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::BridgeError;

/// Entries that nobody used for this long are removed when a new one is built.
const KEPT_UNUSED: Duration = Duration::from_secs(7 * 24 * 3600);

/// File in every entry whose modification time tells its last use.
const USED: &str = "used";

/// A hash over named parts; names and lengths go in too, so that no two lists collide.
#[derive(Default)]
pub struct Key(Sha256);

impl Key {
    /// Adds one part.
    pub fn part(&mut self, name: &str, content: impl AsRef<[u8]>) {
        let content = content.as_ref();
        self.0.update((name.len() as u64).to_le_bytes());
        self.0.update(name);
        self.0.update((content.len() as u64).to_le_bytes());
        self.0.update(content);
    }

    /// 64 hexadecimal digits.
    pub fn finish(self) -> String {
        self.0
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// Folder that holds entries of this kind (such as `ferroce-models`): inside cargo's target
/// folder, or the user's cache folder for a program that runs elsewhere.
pub fn folder(kind: &str) -> PathBuf {
    target().join(kind)
}

fn target() -> PathBuf {
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        return PathBuf::from(target);
    }
    let program = std::env::current_exe().unwrap_or_default();
    // Cargo marks its target folder so.
    if let Some(target) = program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").exists())
    {
        return target.to_owned();
    }
    if let Some(cache) = std::env::var_os("XDG_CACHE_HOME") {
        return PathBuf::from(cache).join("ferroce");
    }
    match std::env::var_os("HOME") {
        Some(home) => PathBuf::from(home).join(".cache/ferroce"),
        None => std::env::temp_dir().join("ferroce"),
    }
}

/// Returns the entry's folder, first calling `build` with an empty folder to fill if there is no
/// such entry yet. A failed build's folder stays beside it, named `<key>.failed`, to look into.
///
/// # Errors
/// Those of `build`, and file system failures.
pub fn entry<E: From<BridgeError>>(
    kind: &str,
    key: &str,
    build: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<PathBuf, E> {
    let folder = folder(kind);
    fs::create_dir_all(&folder).map_err(BridgeError::io("create", &folder))?;
    let done = folder.join(key);
    if touch(&done) {
        return Ok(done);
    }

    let lock_path = folder.join(format!("{key}.lock"));
    let lock = File::create(&lock_path).map_err(BridgeError::io("create", &lock_path))?;
    lock.lock().map_err(BridgeError::io("lock", &lock_path))?;
    if touch(&done) {
        return Ok(done);
    }
    let partial = folder.join(format!("{key}.partial"));
    let failed = folder.join(format!("{key}.failed"));
    for left_over in [&partial, &failed] {
        remove(left_over)?;
    }
    fs::create_dir_all(&partial).map_err(BridgeError::io("create", &partial))?;
    if let Err(error) = build(&partial) {
        // The build's own error matters more than one of keeping its remains.
        let _ = fs::rename(&partial, &failed);
        return Err(error);
    }
    let used = partial.join(USED);
    File::create(&used).map_err(BridgeError::io("create", &used))?;
    fs::rename(&partial, &done).map_err(BridgeError::io("rename to", &done))?;
    prune(&folder);
    Ok(done)
}

/// Marks a complete entry as used now; false when there is none.
fn touch(entry: &Path) -> bool {
    File::options()
        .write(true)
        .open(entry.join(USED))
        .is_ok_and(|used| used.set_modified(SystemTime::now()).is_ok())
}

fn remove(folder: &Path) -> Result<(), BridgeError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(BridgeError::io("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

/// Best effort: another process may be pruning too. A loaded library stays valid when its file goes.
fn prune(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten().map(|entry| entry.path()) {
        let failed = entry
            .extension()
            .is_some_and(|extension| extension == "failed");
        let stamp = if failed {
            entry.clone()
        } else {
            entry.join(USED)
        };
        let Ok(used) = fs::metadata(stamp).and_then(|stamp| stamp.modified()) else {
            continue;
        };
        if used.elapsed().is_ok_and(|age| age > KEPT_UNUSED) {
            let _ = fs::remove_dir_all(&entry);
            let _ = fs::remove_file(entry.with_extension("lock"));
        }
    }
}

//! Good frames with one thing wrong.

use anyhow::{Context, Result};
use ferroce_abi::frame::{on_wire, reseal};

use crate::bench::{Bench, Counts};
use crate::edit::fix_checksum;

/// Payload bytes of the frames that are spoiled: 3 pad bytes follow.
pub const LEN: usize = 101;

/// A good WRITE without FCS.
///
/// # Errors
/// The memory is used up.
pub fn frame(bench: &mut Bench) -> Result<Vec<u8>> {
    Ok(bench.write_only(0, LEN)?.0.encode()?)
}

/// The card drops `wire`, counts it, and takes the next good frame.
///
/// # Errors
/// The card does anything else.
pub fn check(bench: &mut Bench, name: &str, wire: Vec<u8>, counts: &Counts) -> Result<()> {
    bench
        .exchange(vec![wire], &[], counts)
        .and_then(|()| bench.good(0))
        .with_context(|| name.to_owned())
}

/// Whether checksum and ICRC are made right again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// They are.
    Renewed,
    /// They stay as they were before the edit.
    Old,
}

/// Spoils a good frame, which the card must drop.
///
/// # Errors
/// The card does anything else.
pub fn spoil(
    bench: &mut Bench,
    name: &str,
    seal: Seal,
    edit: impl FnOnce(&mut Vec<u8>),
    counts: &Counts,
) -> Result<()> {
    let mut bytes = frame(bench)?;
    edit(&mut bytes);
    if seal == Seal::Renewed {
        fix_checksum(&mut bytes);
        reseal(&mut bytes)?;
    }
    check(bench, name, on_wire(bytes), counts)
}

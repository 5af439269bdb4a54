//! Commands past the driver.

use anyhow::{anyhow, Result};
use ferroce_abi::cfg::ENTRY_WORDS;
use ferroce_abi::mailbox::{Command, CommandStatus, MailboxState};
use ferroce_abi::regs;

use crate::open::Open;

/// Runs a command to its end with these entries.
///
/// # Errors
/// Of the simulation; a status that does not exist.
pub fn command(
    open: &Open,
    command: Command,
    object: u32,
    entries: &[[u64; ENTRY_WORDS]],
) -> Result<CommandStatus> {
    for (word, &value) in entries.iter().flatten().enumerate() {
        open.bar
            .write64(regs::MAILBOX_IN + 8 * word as u64, value)?;
    }
    open.bar.write32(regs::COMMAND_OBJECT, object)?;
    open.bar.write32(regs::COMMAND, command as u32)?;
    loop {
        let state = MailboxState::from_bits(open.bar.read32(regs::COMMAND_STATUS)?);
        if let MailboxState::Done(code) = state {
            return CommandStatus::from_code(code).ok_or_else(|| anyhow!("code {code}"));
        }
    }
}

//! Runs mailbox commands, one at a time.

use crate::error::Error;
use crate::lock::lock;
use crate::platform::Bar;
use ferroce_abi::cfg::{ENTRY_BYTES, ENTRY_WORDS};
use ferroce_abi::mailbox::{CommandStatus, MailboxState, Request};
use ferroce_abi::regs;
use std::sync::{Arc, Mutex};

/// The card's mailbox.
#[derive(Debug)]
pub(crate) struct Mailbox {
    bar: Arc<dyn Bar>,
    polls: u32,
    turn: Mutex<()>,
}

impl Mailbox {
    /// A mailbox whose commands may take `polls` looks at the status register.
    pub(crate) fn new(bar: Arc<dyn Bar>, polls: u32) -> Self {
        Self {
            bar,
            polls,
            turn: Mutex::new(()),
        }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, request: &Request) -> Result<(), Error> {
        let _turn = lock(&self.turn);
        self.run_locked(request)
    }

    /// Runs a query; its answer.
    pub(crate) fn ask(&self, request: &Request) -> Result<[u64; ENTRY_WORDS], Error> {
        let _turn = lock(&self.turn);
        self.run_locked(request)?;
        let mut answer = [0; ENTRY_WORDS];
        for (word, value) in answer.iter_mut().enumerate() {
            *value = self.bar.read64(regs::MAILBOX_OUT + 8 * word as u64)?;
        }
        Ok(answer)
    }

    fn run_locked(&self, request: &Request) -> Result<(), Error> {
        let command = request.command;
        // A command that timed out earlier may still be running.
        self.wait(request)?;
        for (block, entry) in request.entries.iter().enumerate() {
            for (word, &value) in entry.iter().enumerate() {
                let offset = regs::MAILBOX_IN + (block * ENTRY_BYTES + word * 8) as u64;
                self.bar.write64(offset, value)?;
            }
        }
        self.bar.write32(regs::COMMAND_OBJECT, request.object)?;
        self.bar.write32(regs::COMMAND, command as u32)?;
        let code = self.wait(request)?;
        match CommandStatus::from_code(code) {
            Some(CommandStatus::Ok) => Ok(()),
            Some(status) => Err(Error::CommandRefused {
                command,
                object: request.object,
                status,
            }),
            None => Err(Error::CommandCode { command, code }),
        }
    }

    /// Waits until no command is running; the last one's code, 0 when there was none.
    fn wait(&self, request: &Request) -> Result<u8, Error> {
        for _ in 0..self.polls {
            match MailboxState::from_bits(self.bar.read32(regs::COMMAND_STATUS)?) {
                MailboxState::Busy => {}
                MailboxState::Idle => return Ok(0),
                MailboxState::Done(code) => return Ok(code),
            }
        }
        Err(Error::CommandTimeout {
            command: request.command,
            polls: self.polls,
        })
    }
}

//! The commands as a constant for the command engine, made from `ferroce_abi::mailbox`.

use ferroce_abi::mailbox::{Command, Object, MAX_TABLES};
use ferroce_emit::prelude::*;

/// Bits of one command's entry, log2.
pub const ENTRY_LOG2: u64 = 6;
/// Opcodes in the table.
pub const OPCODES: u64 = 32;
/// Bits of the whole table.
pub const TABLE_BITS: usize = (OPCODES as usize) << ENTRY_LOG2;

/// The command exists.
pub const KNOWN: usize = 0;
/// What the object register names, see [`object_number`]; 3 bits.
pub const OBJECT: usize = 1;
/// Configuration writes; 3 bits.
pub const COUNT: usize = 4;
/// Their tables, 4 bits each.
pub const TABLES: usize = 7;
/// A bit for each QP state in which the command is allowed.
pub const FROM: usize = TABLES + 4 * MAX_TABLES;
/// State of the QP afterwards; 3 bits.
pub const TO: usize = FROM + 8;
/// The command makes its object, which must not exist.
pub const MAKES: usize = TO + 3;
/// The command takes its object away, which must exist and not be in use.
pub const REMOVES: usize = MAKES + 1;
/// The command asks for its object, which must exist, and writes nothing.
pub const QUERIES: usize = REMOVES + 1;

/// The command changes its object, which must exist.
pub const CHANGES: usize = QUERIES + 1;

/// How an entry names the kind of object.
#[must_use]
pub const fn object_number(object: Object) -> u64 {
    match object {
        Object::Port => 0,
        Object::Qp => 1,
        Object::Cq => 2,
        Object::Mr => 3,
        Object::Eq => 4,
        Object::Srq => 5,
        Object::Ah => 6,
    }
}

fn entry(command: Command) -> u64 {
    let tables = command.tables();
    let mut entry = 1 << KNOWN
        | object_number(command.object()) << OBJECT
        | (tables.len() as u64) << COUNT
        | command.to().map_or(0, |state| state as u64) << TO;
    if let Some(makes) = command.makes() {
        entry |= 1 << if makes { MAKES } else { REMOVES };
    }
    entry |= u64::from(command.queries()) << QUERIES;
    entry |= u64::from(command.changes()) << CHANGES;
    for (k, &table) in tables.iter().enumerate() {
        entry |= (table as u64) << (TABLES + 4 * k);
    }
    for &state in command.from() {
        entry |= 1 << (FROM + state as usize);
    }
    entry
}

/// The table, by opcode.
#[must_use]
pub fn command_table() -> Bits<TABLE_BITS> {
    Command::ALL
        .into_iter()
        .fold(Bits::default(), |table, command| {
            let entry: Bits<64> = entry(command).into();
            table | bit_cast::<TABLE_BITS, 64>(entry) << ((command as u64) << ENTRY_LOG2)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_and_entries_fit() {
        for command in Command::ALL {
            assert!((command as u64) < OPCODES);
            let bits = command_table().get_bits::<64>((command as usize) << ENTRY_LOG2);
            assert_eq!(bits.to_u64(), entry(command));
        }
        const { assert!(CHANGES < 1 << ENTRY_LOG2) };
    }
}

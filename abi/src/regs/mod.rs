//! BAR 0: identification, mailbox, counters, doorbell pages. Accesses are 32 or 64 bits wide and aligned to
//! their width; a 64-bit register may be read as two halves. Reserved addresses read 0 and ignore writes.
//!
//! Doorbells are in pages of 4 KiB, so that an operating system can give a process one page and nothing else: a
//! doorbell counts only in the page that its queue belongs to.

pub mod counter;
pub mod doc;
pub mod doorbell;

pub use counter::Counter;
pub use doorbell::{CqArm, CqDoorbell, EqDoorbell, QueueDoorbell};

use crate::mailbox;
use serde::Serialize;

/// Bytes of BAR 0.
pub const BAR_BYTES: u64 = 0x10_0000;
/// Content of the magic register: "FERR".
pub const MAGIC_VALUE: u32 = 0x4645_5252;
/// Major version of this register map: drivers of another one must refuse the card.
pub const VERSION_MAJOR: u16 = 1;
/// Minor version: additions that an older driver need not know.
pub const VERSION_MINOR: u16 = 1;
/// Content of the version register.
pub const VERSION_VALUE: u32 = (VERSION_MAJOR as u32) << 16 | VERSION_MINOR as u32;

/// Identification.
pub const MAGIC: u64 = 0x0000;
/// Version: major in bits 31:16, minor in bits 15:0.
pub const VERSION: u64 = 0x0004;
/// Features, bits of [`feature`].
pub const FEATURES: u64 = 0x0008;
/// Number of QPs; QPNs are below it.
pub const NUM_QPS: u64 = 0x0010;
/// Number of CQs.
pub const NUM_CQS: u64 = 0x0014;
/// Number of MRs.
pub const NUM_MRS: u64 = 0x0018;
/// WQEs of each queue that the card keeps on chip.
pub const WQE_WINDOW: u64 = 0x001C;
/// Messages of a QP that may be unacknowledged.
pub const RETRANSMIT_DEPTH: u64 = 0x0020;
/// Scatter/gather entries of a WQE.
pub const MAX_SGE: u64 = 0x0024;
/// Largest path MTU, log2 of bytes.
pub const MAX_PMTU: u64 = 0x0028;
/// Core clock in Hz.
pub const CORE_CLOCK: u64 = 0x002C;
/// READs and atomics of a QP: that its requester may have outstanding in bits 15:0, that its responder holds unanswered in
/// bits 31:16; 0 without them.
pub const MAX_RD_ATOMIC: u64 = 0x0030;
/// Number of EQs, and of MSI-X vectors; 0 without events.
pub const NUM_EQS: u64 = 0x0034;
/// Number of SRQs; 0 without them.
pub const NUM_SRQS: u64 = 0x0038;
/// Number of address handles.
pub const NUM_AHS: u64 = 0x003C;
/// Command opcode; writing starts the command.
pub const COMMAND: u64 = 0x0040;
/// Command status.
pub const COMMAND_STATUS: u64 = 0x0044;
/// Object of the command.
pub const COMMAND_OBJECT: u64 = 0x0048;
/// First byte of the mailbox, 256 bytes.
pub const MAILBOX_IN: u64 = 0x0100;
/// First byte of the answer to a query, 32 bytes; 256 bytes are kept for answers.
pub const MAILBOX_OUT: u64 = 0x0200;
/// First counter, see [`Counter`].
pub const COUNTERS: u64 = 0x0400;
/// First byte of the MSI-X table, 16 bytes a vector (PCIe Base 7.7.2).
pub const MSIX_TABLE: u64 = 0x1_0000;
/// First byte of the MSI-X pending bits.
pub const MSIX_PBA: u64 = 0x1_0800;
/// Most MSI-X vectors.
pub const MSIX_VECTORS: u64 = 128;
/// First doorbell page.
pub const DOORBELLS: u64 = 0x8_0000;
/// Bytes of a doorbell page: a page of the host's MMU.
pub const DOORBELL_PAGE: u64 = 0x1000;
/// Doorbell pages.
pub const DOORBELL_PAGES: u64 = 128;
/// SQ doorbell in a page, [`QueueDoorbell`]; one 64-bit write.
pub const SQ_DOORBELL: u64 = 0x00;
/// RQ doorbell in a page, [`QueueDoorbell`]; one 64-bit write.
pub const RQ_DOORBELL: u64 = 0x08;
/// CQ doorbell in a page, [`CqDoorbell`]; one 64-bit write.
pub const CQ_DOORBELL: u64 = 0x10;
/// CQ arm doorbell in a page, [`CqArm`]; one 64-bit write.
pub const CQ_ARM: u64 = 0x18;
/// EQ doorbell in a page, [`EqDoorbell`]; one 64-bit write.
pub const EQ_DOORBELL: u64 = 0x20;
/// SRQ doorbell in a page, [`QueueDoorbell`] with the SRQ's number; one 64-bit write.
pub const SRQ_DOORBELL: u64 = 0x28;

/// Push window in a page: 256 bytes, for the blocks of one WQE.
///
/// A WQE that was written to its ring may be stored here too, from the beginning of the window on in 64-bit words of ascending address, and announced in
/// its SQ doorbell. The card then need not read it; if it can't use the words, because some are missing, came in another order or
/// were mixed with those of another thread, or because older WQEs are still to be read, it reads the ring as ever. Of the programs that share a page
/// only one may push at a time, from its first word to its doorbell. For a write-combined mapping.
pub const PUSH: u64 = 0x400;

/// Byte offset in BAR 0 of a doorbell (such as [`SQ_DOORBELL`]) in page `page`.
pub const fn in_page(page: u8, doorbell: u64) -> u64 {
    DOORBELLS + page as u64 * DOORBELL_PAGE + doorbell
}

/// Bits of the feature register.
pub mod feature {
    /// Reliable connections with SEND and RDMA WRITE, with and without immediate.
    pub const RC: u32 = 1 << 0;
    /// RDMA READ, as requester.
    pub const READ: u32 = 1 << 1;
    /// Compare and swap, fetch and add, as requester.
    pub const ATOMIC: u32 = 1 << 2;
    /// SEND with invalidate.
    pub const SEND_INV: u32 = 1 << 3;
    /// Payload in the WQE.
    pub const INLINE: u32 = 1 << 4;
    /// Unreliable connections.
    pub const UC: u32 = 1 << 5;
    /// Unreliable datagrams.
    pub const UD: u32 = 1 << 6;
    /// Shared receive queues.
    pub const SRQ: u32 = 1 << 7;
    /// IPv6.
    pub const IPV6: u32 = 1 << 8;
    /// Memory windows and local invalidate.
    pub const MW: u32 = 1 << 9;
    /// Event queues, completion events and interrupts.
    pub const EVENTS: u32 = 1 << 10;
    /// Memory regions with page tables.
    pub const PAGES: u32 = 1 << 11;
    /// WQEs that are pushed along with their doorbell.
    pub const PUSH: u32 = 1 << 12;

    /// Names for documents and messages.
    pub const NAMES: [(u32, &str); 13] = [
        (
            RC,
            "reliable connections: SEND and RDMA WRITE, with and without immediate",
        ),
        (READ, "RDMA READ"),
        (ATOMIC, "compare and swap, fetch and add"),
        (SEND_INV, "SEND with invalidate"),
        (INLINE, "payload in the WQE"),
        (UC, "unreliable connections"),
        (UD, "unreliable datagrams"),
        (SRQ, "shared receive queues"),
        (IPV6, "IPv6"),
        (MW, "memory windows and local invalidate"),
        (EVENTS, "event queues, completion events, interrupts"),
        (PAGES, "memory regions with page tables"),
        (PUSH, "WQEs pushed along with their doorbell"),
    ];
}

/// How software may use a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Rights {
    /// Read only; writes are ignored.
    Ro,
    /// Read and write.
    Rw,
    /// Write only; reads give 0.
    Wo,
}

/// One register, or an array of equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Register {
    /// Name.
    pub name: &'static str,
    /// Byte offset in BAR 0.
    pub offset: u64,
    /// Bits: 32 or 64.
    pub width: u32,
    /// Number of registers, one after the other.
    pub count: u64,
    /// Rights.
    pub rights: Rights,
    /// Meaning.
    pub doc: &'static str,
}

impl Register {
    /// First byte behind it.
    pub const fn end(&self) -> u64 {
        self.offset + self.count * self.width as u64 / 8
    }
}

const fn one(
    name: &'static str,
    offset: u64,
    width: u32,
    rights: Rights,
    doc: &'static str,
) -> Register {
    Register {
        name,
        offset,
        width,
        count: 1,
        rights,
        doc,
    }
}

/// The map, ascending.
pub const REGISTERS: &[Register] = &[
    one("MAGIC", MAGIC, 32, Rights::Ro, "0x46455252, \"FERR\""),
    one(
        "VERSION",
        VERSION,
        32,
        Rights::Ro,
        "major version in bits 31:16, minor in bits 15:0",
    ),
    one(
        "FEATURES",
        FEATURES,
        32,
        Rights::Ro,
        "feature bits, see below",
    ),
    one(
        "NUM_QPS",
        NUM_QPS,
        32,
        Rights::Ro,
        "number of QPs; QPNs are below it",
    ),
    one("NUM_CQS", NUM_CQS, 32, Rights::Ro, "number of CQs"),
    one(
        "NUM_MRS",
        NUM_MRS,
        32,
        Rights::Ro,
        "number of memory regions",
    ),
    one(
        "WQE_WINDOW",
        WQE_WINDOW,
        32,
        Rights::Ro,
        "WQEs of each queue that the card keeps on chip",
    ),
    one(
        "RETRANSMIT_DEPTH",
        RETRANSMIT_DEPTH,
        32,
        Rights::Ro,
        "messages of a QP that may be unacknowledged",
    ),
    one(
        "MAX_SGE",
        MAX_SGE,
        32,
        Rights::Ro,
        "scatter/gather entries of a WQE",
    ),
    one(
        "MAX_PMTU",
        MAX_PMTU,
        32,
        Rights::Ro,
        "largest path MTU, log2 of bytes",
    ),
    one("CORE_CLOCK", CORE_CLOCK, 32, Rights::Ro, "core clock in Hz"),
    one(
        "MAX_RD_ATOMIC",
        MAX_RD_ATOMIC,
        32,
        Rights::Ro,
        "READs and atomics of a QP: outstanding of its requester in bits 15:0, held by its responder in bits 31:16; 0 without them",
    ),
    one(
        "NUM_EQS",
        NUM_EQS,
        32,
        Rights::Ro,
        "number of EQs, and of MSI-X vectors; 0 without events",
    ),
    one(
        "NUM_SRQS",
        NUM_SRQS,
        32,
        Rights::Ro,
        "number of shared receive queues, 0 without them",
    ),
    one(
        "NUM_AHS",
        NUM_AHS,
        32,
        Rights::Ro,
        "number of address handles",
    ),
    one(
        "COMMAND",
        COMMAND,
        32,
        Rights::Wo,
        "command opcode in bits 7:0; writing starts the command",
    ),
    one(
        "COMMAND_STATUS",
        COMMAND_STATUS,
        32,
        Rights::Ro,
        "bit 0 busy, bit 1 done, bits 15:8 status code of the last command",
    ),
    one(
        "COMMAND_OBJECT",
        COMMAND_OBJECT,
        32,
        Rights::Rw,
        "index of the command's object",
    ),
    Register {
        name: "MAILBOX_IN",
        offset: MAILBOX_IN,
        width: 64,
        count: mailbox::BYTES as u64 / 8,
        rights: Rights::Wo,
        doc: "arguments of the command, blocks of 32 bytes",
    },
    Register {
        name: "MAILBOX_OUT",
        offset: MAILBOX_OUT,
        width: 64,
        count: mailbox::BYTES as u64 / 8,
        rights: Rights::Ro,
        doc: "answer to the last query, 32 bytes; the rest is kept for longer answers and reads 0",
    },
    Register {
        name: "COUNTERS",
        offset: COUNTERS,
        width: 64,
        count: Counter::WINDOW as u64,
        rights: Rights::Ro,
        doc: "counters, see below",
    },
    Register {
        name: "MSIX_TABLE",
        offset: MSIX_TABLE,
        width: 64,
        count: 2 * MSIX_VECTORS,
        rights: Rights::Rw,
        doc: "MSI-X table: message address, then message data in bits 31:0 and the mask bit in bit 32",
    },
    Register {
        name: "MSIX_PBA",
        offset: MSIX_PBA,
        width: 64,
        count: MSIX_VECTORS / 64,
        rights: Rights::Ro,
        doc: "MSI-X pending bits",
    },
];

/// The registers of a doorbell page, by byte offset in it.
pub const PAGE_REGISTERS: &[Register] = &[
    one(
        "SQ_DOORBELL",
        SQ_DOORBELL,
        64,
        Rights::Wo,
        "QPN in bits 23:0, pushed blocks (0 to 4) in bits 26:24, SQ producer index in bits 47:32",
    ),
    one(
        "RQ_DOORBELL",
        RQ_DOORBELL,
        64,
        Rights::Wo,
        "QPN in bits 23:0, RQ producer index in bits 47:32",
    ),
    one(
        "CQ_DOORBELL",
        CQ_DOORBELL,
        64,
        Rights::Wo,
        "CQ index in bits 23:0, running consumer index in bits 55:32",
    ),
    one(
        "CQ_ARM",
        CQ_ARM,
        64,
        Rights::Wo,
        "CQ index in bits 23:0, bit 24 only for solicited and failed completions, running consumer index in bits 55:32",
    ),
    one(
        "EQ_DOORBELL",
        EQ_DOORBELL,
        64,
        Rights::Wo,
        "EQ index in bits 23:0, bit 24 interrupt for the next event, running consumer index in bits 55:32",
    ),
    one(
        "SRQ_DOORBELL",
        SRQ_DOORBELL,
        64,
        Rights::Wo,
        "SRQ number in bits 23:0, SRQ producer index in bits 47:32",
    ),
    Register {
        name: "PUSH",
        offset: PUSH,
        width: 64,
        count: 32,
        rights: Rights::Wo,
        doc: "push window: the blocks of one WQE in ascending order, before its SQ doorbell",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_aligned_disjoint_and_inside() {
        for (registers, limit) in [(REGISTERS, DOORBELLS), (PAGE_REGISTERS, DOORBELL_PAGE)] {
            let mut end = 0;
            for register in registers {
                assert!(register.offset >= end, "{} overlaps", register.name);
                assert_eq!(register.offset % u64::from(register.width / 8), 0);
                end = register.end();
            }
            assert!(end <= limit);
        }
        assert_eq!(DOORBELLS + DOORBELL_PAGES * DOORBELL_PAGE, BAR_BYTES);
    }

    #[test]
    fn magic_spells_the_name() {
        assert_eq!(&MAGIC_VALUE.to_be_bytes(), b"FERR");
    }
}

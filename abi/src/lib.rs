//! Everything that Ferroce's hardware and software must agree on, described once: index widths,
//! wire headers and opcodes, work queue and completion queue entries, memory keys, the BAR's
//! register map and the mailbox commands. The hardware description, the driver, the simulator and
//! `docs/registers.md` all read it; nothing here depends on any of them.
//!
//! Formats are plain data with an `encode`/`decode` pair over bytes or words. Multi-byte fields on the wire
//! are big-endian, in host memory little-endian.

pub mod cfg;
pub mod cqe;
pub mod eqe;
pub mod frame;
pub mod headers;
pub mod icrc;
pub mod limits;
pub mod mailbox;
pub mod mr;
pub mod opcode;
pub mod page_table;
pub mod pci;
pub mod regs;
pub mod udp_port;
pub mod wqe;

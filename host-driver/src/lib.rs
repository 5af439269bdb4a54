//! Verbs for Ferroce cards.
//!
//! The words are those of ibverbs: a [`Device`] (context), protection domains ([`Pd`]), memory regions ([`Mr`]),
//! completion queues ([`Cq`]), event queues ([`Eq`], their completion channels), shared receive queues ([`Srq`]), queue pairs ([`Qp`]) and address handles ([`AddressHandle`]). Ownership does what ibverbs leaves to discipline: a region
//! keeps its memory alive, a QP its CQs and its domain, and all of them the card. Dropping an object takes it
//! off the card before its memory is freed; when the card does not answer, the memory is kept for ever instead.
//!
//! The driver reaches the card through two traits, [`Bar`] and [`DmaMemory`] (and sleeps through a third, [`Interrupts`]), and is the same on a real card and in a
//! simulation; [`linux`] implements them for a card in the machine. It never waits for anything but the end of a mailbox command, and for that only as long as
//! [`DeviceOptions`] say; only [`Eq::wait`] sleeps, until an interrupt ([`Interrupts`]) or its time-out.
//!
//! # Example
//!
//! A message of one card written into memory of another, once somebody has made `Bar` and `DmaMemory`:
//!
//! ```
//! use ferroce_driver::{
//!     Access, Bar, Cq, Device, DmaMemory, Error, InitAttr, Mr, PortAddress, Qp, RecvWr, RtrAttr, RtsAttr, SendWr,
//! };
//! use std::sync::Arc;
//!
//! struct Node {
//!     device: Device,
//!     address: PortAddress,
//!     cq: Cq,
//!     qp: Qp,
//!     mr: Mr,
//! }
//!
//! fn node(bar: Arc<dyn Bar>, memory: Arc<dyn DmaMemory>, address: PortAddress) -> Result<Node, Error> {
//!     let device = Device::open(bar, memory)?;
//!     device.set_port(address)?;
//!     let pd = device.create_pd()?;
//!     let cq = device.create_cq(256)?;
//!     let qp = pd.qp(&cq).send_depth(64).recv_depth(64).build()?;
//!     let mr = pd.allocate(1 << 20, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
//!     Ok(Node { device, address, cq, qp, mr })
//! }
//!
//! fn connect(a: &Node, b: &Node, psn: u32) -> Result<(), Error> {
//!     for (from, to) in [(a, b), (b, a)] {
//!         let rtr = RtrAttr::new(to.address, to.qp.qpn(), psn);
//!         from.qp.connect(InitAttr::default(), rtr, RtsAttr::new(psn))?;
//!     }
//!     Ok(())
//! }
//!
//! fn write_then_send(a: &Node, b: &Node) -> Result<(), Error> {
//!     b.qp.post_recv(RecvWr::new(7, b.mr.sge(4096..8192)?))?;
//!     a.mr.write(0, b"written without b's help")?;
//!     a.qp.post_send(SendWr::write(1, a.mr.sge(0..24)?, b.mr.remote(0)?).unsignaled())?;
//!     a.qp.post_send(SendWr::send(2, a.mr.sge(0..24)?))?;
//!     // `poll` looks once; whoever has other work to do looks again later.
//!     while a.cq.poll(16)?.is_empty() {}
//!     for completion in b.cq.poll(16)? {
//!         println!("{:?} of {} bytes: {}", completion.opcode, completion.byte_len, completion.status);
//!     }
//!     println!("{}", b.device.counters()?);
//!     Ok(())
//! }
//! ```
#![deny(unsafe_code)]

mod ah;
mod clear;
mod completion;
mod counters;
mod cq;
mod device;
mod eq;
mod error;
mod ids;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub mod linux;
mod lock;
mod mailbox;
mod mr;
mod page;
mod page_table;
mod pd;
mod platform;
mod port;
mod qp;
mod srq;
mod wr;

pub use ah::{AddressHandle, AhAttr};
pub use completion::Completion;
pub use counters::Counters;
pub use cq::Cq;
pub use device::{Capabilities, Device, DeviceOptions};
pub use eq::{Eq, EqAttr, Event};
pub use error::{Error, PostError};
pub use mr::Mr;
pub use page::DoorbellPage;
pub use pd::Pd;
pub use platform::{
    Bar, BarError, DmaBuffer, DmaError, DmaMemory, Interrupts, PageList, WaitError,
};
pub use port::PortAddress;
pub use qp::{InitAttr, Qp, QpBuilder, RtrAttr, RtsAttr};
pub use srq::{Srq, SrqBuilder};
pub use wr::{RecvWr, Remote, SendOp, SendWr};

pub use ferroce_abi::cfg::{AhCfg, QpInfo, QueueInfo, SrqInfo};
pub use ferroce_abi::cqe::{Status, WcOpcode};
pub use ferroce_abi::headers::Mac;
pub use ferroce_abi::limits::Pmtu;
pub use ferroce_abi::mailbox::QpState;
pub use ferroce_abi::mr::Access;
pub use ferroce_abi::page_table::PageSize;
pub use ferroce_abi::regs::Counter;
pub use ferroce_abi::wqe::{Sge, SgeList};

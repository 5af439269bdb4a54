//! A simulated card whose cable ends in a unix datagram socket: one raw Ethernet frame a datagram, without
//! FCS, as QEMU's `-netdev dgram` has it. Programs tell its host what to do in lines of JSON.
//!
//! Time: while there is anything to do, the card runs as fast as the machine allows, which is far below its real speed. When
//! nothing moves and no request of its host is under way, its time stands still. So to a real peer the card is a slow
//! one, and to the card a peer's thinking time is short.

mod host;
mod neighbours;
mod protocol;
mod wire;

pub use host::{Server, ServerConfig, ServerError};
pub use neighbours::Neighbours;
pub use protocol::{
    Command, Completed, Connect, PostRecv, PostSend, RemoteBytes, Reply, Request, SendKind,
};
pub use wire::{Wire, WireError};

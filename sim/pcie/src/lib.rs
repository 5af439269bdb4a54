//! PCI Express as a card's engine meets it: transaction layer packets, the 512-bit streams of the UltraScale+ block, and the
//! host behind the link. Plain Rust, without hardware descriptions.

pub mod block;
pub mod enables;
pub mod root;
#[cfg(test)]
mod seed;
pub mod tlp;
pub mod usp;

//! Building blocks shared by every Ferroce pipeline: streams, FIFOs, RAMs, arbiters, rotators,
//! CRC engines, and the descriptors that the pipelines exchange.
//!
//! Conventions of all blocks:
//!
//! * Registers start at zero and there is no reset.
//! * A latency of `n` means: what was an input in cycle `t` is an output in cycle `t + n`.
//! * Blocks with a run-time size have `new(..)`; their `Default` is the smallest useful one, so that
//!   a parent can derive `Default` and replace the block in its own constructor.
//! * Stream ports are called `input` and `output` (`in0`.. for several). A parent that links one of
//!   its own ports to them gives that port another name: rust-hdl's `link` takes neither name for a port of
//!   the module itself.

pub mod arb2;
pub mod arb4;
pub mod async_fifo;
pub mod beat_arb2;
pub mod beat_arb4;
pub mod byte_mask;
pub mod byte_spread;
pub mod crc;
pub mod delay;
pub mod desc;
pub mod dma_write_arb2;
pub mod dma_write_arb4;
pub mod dword_spread;
pub mod fifo_ram;
pub mod flow_gate;
pub mod frame_arb4;
pub mod frame_check;
pub mod header;
pub mod in_flight;
pub mod lutram;
pub mod ram;
pub mod ram2;
pub mod ram_style;
pub mod rmw_ram;
pub mod rotate64;
pub mod round_robin4;
pub mod share_credit;
pub mod skid;
pub mod stream;
pub mod stream_check;
pub mod sync2;
pub mod sync_fifo;
pub mod weighted_arb4;
pub mod write_fence;

mod memory;

#[cfg(test)]
ferroce_emit::check_crate!();

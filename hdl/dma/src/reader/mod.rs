//! The reading half of the requester: cuts reads into TLPs ([`read_split`]) as the block has room ([`read_budget`]), takes their completions apart
//! ([`rc_intake`]) into a reorder buffer, and gives the data back in order ([`retire`], [`deliver`]).

pub mod deliver;
pub mod rc_header;
pub mod rc_intake;
pub mod rc_lane;
pub mod rc_place;
pub mod rc_segments;
pub mod read_budget;
pub mod read_cut;
pub mod read_split;
pub mod reorder_buffer;
pub mod requester_rx;
pub mod retire;
pub mod slot;
pub mod slot_ring;

pub use requester_rx::RequesterRx;

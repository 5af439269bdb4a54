//! Requester's way out: DMA writes and read requests become TLPs on RQ.
//!
//! [`WriteSplit`](write_split::WriteSplit) cuts writes and stores their TLPs, [`ReadGate`](read_gate::ReadGate) holds reads back
//! while they must not leave, [`RqPack`](rq_pack::RqPack) puts both into beats.

pub mod pack_merge;
pub mod pack_steps;
pub mod read_credit;
pub mod read_gate;
pub mod requester_tx;
pub mod rq_pack;
pub mod rq_user;
pub mod tlp;
pub mod write_cut;
pub mod write_plan;
pub mod write_split;

//! The reading half of the requester against a host that answers in pieces, out of order, late, wrong or not at all.

mod bench;
mod client;
mod dead;
mod fates;
mod host;
mod noise;
mod random;
mod rates;

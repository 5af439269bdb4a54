//! Where a message is on its way through the card.

use ferroce_emit::prelude::*;

/// What passes the seams between the card's parts in a cycle. It costs nothing on a board, where nobody listens: an output without
/// a load, made of valid bits that are there anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct StageTrace {
    /// A doorbell, checked, enters the SQ's WQE cache.
    pub sq_bell: Bit,
    /// WQEs are asked for.
    pub sq_fetch: Bit,
    /// WQEs are there: the scheduler is told.
    pub sq_kick: Bit,
    /// The sender reads a WQE.
    pub wqe_read: Bit,
    /// The sender has decided to send a message.
    pub sent: Bit,
    /// Payload is asked for.
    pub payload_read: Bit,
    /// A beat of a frame leaves towards the MAC crossing.
    pub tx_frame: Bit,
    /// A beat of a frame has come through the MAC crossing.
    pub rx_frame: Bit,
    /// A beat of received payload leaves towards host memory.
    pub payload_write: Bit,
    /// A receive is complete.
    pub rx_cqe: Bit,
    /// A send is complete.
    pub tx_cqe: Bit,
    /// A CQE leaves towards host memory.
    pub cqe_write: Bit,
}

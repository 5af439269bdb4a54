//! RC opcodes as they stand in the BTH. The other services use the same operations: add
//! [`Transport::bits`](super::Transport::bits).

/// SEND, first packet.
pub const SEND_FIRST: u8 = 0x00;
/// SEND, middle packet.
pub const SEND_MIDDLE: u8 = 0x01;
/// SEND, last packet.
pub const SEND_LAST: u8 = 0x02;
/// SEND, last packet, with immediate.
pub const SEND_LAST_IMM: u8 = 0x03;
/// SEND, only packet.
pub const SEND_ONLY: u8 = 0x04;
/// SEND, only packet, with immediate.
pub const SEND_ONLY_IMM: u8 = 0x05;
/// RDMA WRITE, first packet.
pub const WRITE_FIRST: u8 = 0x06;
/// RDMA WRITE, middle packet.
pub const WRITE_MIDDLE: u8 = 0x07;
/// RDMA WRITE, last packet.
pub const WRITE_LAST: u8 = 0x08;
/// RDMA WRITE, last packet, with immediate.
pub const WRITE_LAST_IMM: u8 = 0x09;
/// RDMA WRITE, only packet.
pub const WRITE_ONLY: u8 = 0x0A;
/// RDMA WRITE, only packet, with immediate.
pub const WRITE_ONLY_IMM: u8 = 0x0B;
/// RDMA READ request.
pub const READ_REQUEST: u8 = 0x0C;
/// RDMA READ response, first packet.
pub const READ_RESPONSE_FIRST: u8 = 0x0D;
/// RDMA READ response, middle packet.
pub const READ_RESPONSE_MIDDLE: u8 = 0x0E;
/// RDMA READ response, last packet.
pub const READ_RESPONSE_LAST: u8 = 0x0F;
/// RDMA READ response, only packet.
pub const READ_RESPONSE_ONLY: u8 = 0x10;
/// ACK, RNR NAK and every NAK.
pub const ACKNOWLEDGE: u8 = 0x11;
/// Answer to a successful atomic operation.
pub const ATOMIC_ACKNOWLEDGE: u8 = 0x12;
/// Compare and swap.
pub const CMP_SWAP: u8 = 0x13;
/// Fetch and add.
pub const FETCH_ADD: u8 = 0x14;
/// SEND, last packet, with invalidate.
pub const SEND_LAST_INV: u8 = 0x16;
/// SEND, only packet, with invalidate.
pub const SEND_ONLY_INV: u8 = 0x17;

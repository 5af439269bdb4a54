//! Extension headers. ImmDt and IETH are four opaque bytes and need no type.

use super::{be, put_u24, take_bytes, Syndrome, Truncated, WireHeader};

/// RDMA extended transport header, 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Remote virtual address.
    pub va: u64,
    /// Remote key.
    pub rkey: u32,
    /// Bytes of the whole message.
    pub dma_len: u32,
}

impl WireHeader for Reth {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.va.to_be_bytes());
        out.extend_from_slice(&self.rkey.to_be_bytes());
        out.extend_from_slice(&self.dma_len.to_be_bytes());
    }

    fn take(input: &mut &[u8]) -> Result<Self, Truncated> {
        let b: [u8; 16] = take_bytes(input, "RETH")?;
        Ok(Self {
            va: be(&b[0..8]),
            rkey: be(&b[8..12]) as u32,
            dma_len: be(&b[12..16]) as u32,
        })
    }
}

/// Atomic extended transport header, 28 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicEth {
    /// Remote virtual address, a multiple of 8.
    pub va: u64,
    /// Remote key.
    pub rkey: u32,
    /// Value to swap in or to add.
    pub operand: u64,
    /// Value to compare; 0 in a fetch and add.
    pub compare: u64,
}

impl WireHeader for AtomicEth {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.va.to_be_bytes());
        out.extend_from_slice(&self.rkey.to_be_bytes());
        out.extend_from_slice(&self.operand.to_be_bytes());
        out.extend_from_slice(&self.compare.to_be_bytes());
    }

    fn take(input: &mut &[u8]) -> Result<Self, Truncated> {
        let b: [u8; 28] = take_bytes(input, "AtomicETH")?;
        Ok(Self {
            va: be(&b[0..8]),
            rkey: be(&b[8..12]) as u32,
            operand: be(&b[12..20]),
            compare: be(&b[20..28]),
        })
    }
}

/// ACK extended transport header, 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    /// ACK, RNR NAK or NAK.
    pub syndrome: Syndrome,
    /// Message sequence number, 24 bits.
    pub msn: u32,
}

impl WireHeader for Aeth {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.syndrome.byte());
        put_u24(out, self.msn);
    }

    fn take(input: &mut &[u8]) -> Result<Self, Truncated> {
        let b: [u8; 4] = take_bytes(input, "AETH")?;
        Ok(Self {
            syndrome: Syndrome::from(b[0]),
            msn: be(&b[1..4]) as u32,
        })
    }
}

/// Atomic acknowledge extended transport header, 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicAckEth {
    /// Value before the operation.
    pub original: u64,
}

impl WireHeader for AtomicAckEth {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.original.to_be_bytes());
    }

    fn take(input: &mut &[u8]) -> Result<Self, Truncated> {
        Ok(Self {
            original: u64::from_be_bytes(take_bytes(input, "AtomicAckETH")?),
        })
    }
}

/// Datagram extended transport header, 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deth {
    /// Q_Key.
    pub qkey: u32,
    /// Source QPN, 24 bits.
    pub src_qpn: u32,
}

impl WireHeader for Deth {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.qkey.to_be_bytes());
        out.push(0);
        put_u24(out, self.src_qpn);
    }

    fn take(input: &mut &[u8]) -> Result<Self, Truncated> {
        let b: [u8; 8] = take_bytes(input, "DETH")?;
        Ok(Self {
            qkey: be(&b[0..4]) as u32,
            src_qpn: be(&b[5..8]) as u32,
        })
    }
}

/// XRC extended transport header, 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XrcEth {
    /// XRC SRQ number, 24 bits.
    pub srqn: u32,
}

impl WireHeader for XrcEth {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(0);
        put_u24(out, self.srqn);
    }

    fn take(input: &mut &[u8]) -> Result<Self, Truncated> {
        let b: [u8; 4] = take_bytes(input, "XRCETH")?;
        Ok(Self {
            srqn: be(&b[1..4]) as u32,
        })
    }
}

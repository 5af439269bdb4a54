//! Wire headers, big-endian, as plain structs. [`WireHeader::put`] appends to a frame under construction,
//! [`WireHeader::take`] consumes from the front of a received one.

pub mod bth;
pub mod ext;
pub mod net;
pub mod syndrome;

pub use bth::Bth;
pub use ext::{Aeth, AtomicAckEth, AtomicEth, Deth, Reth, XrcEth};
pub use net::{Ethernet, Ipv4, Ipv6, Mac, Udp};
pub use syndrome::{NakCode, Syndrome};

/// The input ends inside a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{header} needs {needed} bytes, {left} are left")]
pub struct Truncated {
    /// The header.
    pub header: &'static str,
    /// Its bytes.
    pub needed: usize,
    /// Bytes there were.
    pub left: usize,
}

/// A header that can be written and read.
pub trait WireHeader: Sized {
    /// Appends the header.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads the header and moves `input` behind it. Reserved fields are ignored.
    ///
    /// # Errors
    /// [`Truncated`]; `input` is unchanged then.
    fn take(input: &mut &[u8]) -> Result<Self, Truncated>;
}

/// Takes `N` bytes off the front of `input`.
pub(crate) fn take_bytes<const N: usize>(
    input: &mut &[u8],
    header: &'static str,
) -> Result<[u8; N], Truncated> {
    let (bytes, rest) = input.split_first_chunk::<N>().ok_or(Truncated {
        header,
        needed: N,
        left: input.len(),
    })?;
    *input = rest;
    Ok(*bytes)
}

/// A big-endian number of up to 8 bytes.
pub(crate) fn be(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Appends the low 24 bits, big-endian.
pub(crate) fn put_u24(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes()[1..]);
}

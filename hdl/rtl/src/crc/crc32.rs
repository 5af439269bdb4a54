//! CRC-32 (IEEE 802.3 clause 3.2.9, the ICRC of RoCEv2 too) as linear maps.
//!
//! All values are those of the reflected register: bit 0 is the coefficient of the highest power,
//! the first bit of a byte on the wire is its bit 0.

use super::gf2::BitMatrix;

/// Register at the start of an FCS.
pub const INIT: u32 = 0xFFFF_FFFF;

/// Final (inverted) CRC of any message that is followed by its own CRC, least significant byte
/// first.
pub const RESIDUE: u32 = 0x2144_DF1C;

/// The generator polynomial, reflected.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// The register after one more byte.
#[must_use]
pub fn step(register: u32, byte: u8) -> u32 {
    (0..8).fold(register ^ u32::from(byte), |register, _| {
        (register >> 1) ^ (POLYNOMIAL * (register & 1))
    })
}

/// The register after `count` zero bytes.
#[must_use]
pub fn advance(register: u32, count: usize) -> u32 {
    (0..count).fold(register, |register, _| step(register, 0))
}

/// The map of a register to the register after `count` zero bytes.
#[must_use]
pub fn advance_matrix(count: usize) -> BitMatrix {
    BitMatrix::of_map(32, 32, |register| {
        vec![u64::from(advance(register[0] as u32, count))]
    })
}

/// The map of a register to the register `count` zero bytes earlier.
#[must_use]
pub fn retreat_matrix(count: usize) -> BitMatrix {
    advance_matrix(count)
        .inverse()
        .expect("the polynomial's constant term is 1, so every step can be undone")
}

/// The map of `bytes` bytes, byte `k` in bits `8k+7:8k`, to the register after them when it
/// started at 0.
#[must_use]
pub fn data_matrix(bytes: usize) -> BitMatrix {
    BitMatrix::of_map(32, 8 * bytes, |data| {
        let register = (0..bytes).fold(0, |register, byte| {
            step(register, (data[byte / 8] >> (8 * (byte % 8))) as u8)
        });
        vec![u64::from(register)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crc(bytes: &[u8]) -> u32 {
        u32::from_le_bytes(ferroce_abi::icrc::fcs(bytes))
    }

    #[test]
    fn steps_are_crc_32() {
        let message = b"123456789";
        let register = message.iter().fold(INIT, |r, &b| step(r, b));
        assert_eq!(!register, crc(message));
        let prefix = ferroce_abi::icrc::PREFIX;
        assert_eq!(
            prefix.iter().fold(INIT, |r, &b| step(r, b)),
            ferroce_abi::icrc::AFTER_PREFIX
        );
    }

    #[test]
    fn a_message_with_its_crc_leaves_the_residue() {
        let mut message = b"RoCEv2".to_vec();
        message.extend(crc(b"RoCEv2").to_le_bytes());
        assert_eq!(crc(&message), RESIDUE);
    }

    #[test]
    fn retreat_undoes_advance() {
        for count in [1, 2, 4, 8, 16, 32] {
            let there = advance_matrix(count);
            let back = retreat_matrix(count);
            assert_eq!(back.after(&there), BitMatrix::identity(32));
            let register = 0x1234_5678;
            let later = advance(register, count);
            assert_eq!(back.apply(&[later.into()]), [u64::from(register)]);
        }
    }

    #[test]
    fn blocks_add_up() {
        let bytes: Vec<u8> = (0..64u32).map(|k| (k * 37 + 11) as u8).collect();
        let words: Vec<u64> = bytes
            .chunks(8)
            .map(|c| c.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b)))
            .collect();
        let from_data = data_matrix(64).apply(&words)[0];
        let from_state = advance_matrix(64).apply(&[INIT.into()])[0];
        assert_eq!(!((from_data ^ from_state) as u32), crc(&bytes));
    }
}

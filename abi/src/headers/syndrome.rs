//! AETH syndrome: bit 7 is 0, bits 6:5 are the class, bits 4:0 its value.

/// Class bits of an ACK.
pub const ACK: u8 = 0x00;
/// Class bits of an RNR NAK.
pub const RNR: u8 = 0x20;
/// Class bits of a NAK.
pub const NAK: u8 = 0x60;
/// Class bits of the syndrome (with the reserved bit 7).
pub const CLASS_MASK: u8 = 0xE0;
/// Value bits of the syndrome.
pub const VALUE_MASK: u8 = 0x1F;
/// ACK that says nothing about receive credits; what Ferroce sends.
pub const ACK_NO_CREDITS: u8 = 0x1F;

/// Receive WQEs that an ACK's credit code promises; code 31 makes no promise.
pub const CREDITS: [u16; 31] = [
    0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
];

/// Microseconds that an RNR NAK's timer code asks to wait. Code 0 is the longest.
pub const RNR_TIMER_US: [u32; 32] = [
    655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560, 3840,
    5120, 7680, 10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840, 245_760,
    327_680, 491_520,
];

/// NAK codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum NakCode {
    /// 0x60: a PSN is missing.
    PsnSequence = 0,
    /// 0x61: the request is invalid.
    InvalidRequest = 1,
    /// 0x62: key, range or rights.
    RemoteAccess = 2,
    /// 0x63: the responder failed locally.
    RemoteOperational = 3,
    /// 0x64: invalid RD request.
    InvalidRdRequest = 4,
}

impl NakCode {
    /// All codes, ascending.
    pub const ALL: [Self; 5] = [
        Self::PsnSequence,
        Self::InvalidRequest,
        Self::RemoteAccess,
        Self::RemoteOperational,
        Self::InvalidRdRequest,
    ];

    /// The syndrome byte.
    pub const fn syndrome(self) -> u8 {
        NAK | self as u8
    }
}

/// A syndrome byte, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syndrome {
    /// ACK with its credit code, 0 to 31.
    Ack(u8),
    /// RNR NAK with its timer code, 0 to 31.
    Rnr(u8),
    /// NAK.
    Nak(NakCode),
    /// Anything else: to be ignored.
    Reserved(u8),
}

impl From<u8> for Syndrome {
    fn from(byte: u8) -> Self {
        let value = byte & VALUE_MASK;
        match byte & CLASS_MASK {
            ACK => Self::Ack(value),
            RNR => Self::Rnr(value),
            NAK => match NakCode::ALL.get(usize::from(value)) {
                Some(&code) => Self::Nak(code),
                None => Self::Reserved(byte),
            },
            _ => Self::Reserved(byte),
        }
    }
}

impl Syndrome {
    /// The byte.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Ack(credits) => ACK | credits & VALUE_MASK,
            Self::Rnr(timer) => RNR | timer & VALUE_MASK,
            Self::Nak(code) => code.syndrome(),
            Self::Reserved(byte) => byte,
        }
    }

    /// Receive WQEs promised by an ACK; `None` when it is no ACK or says nothing.
    pub fn credits(self) -> Option<u16> {
        match self {
            Self::Ack(code) => CREDITS.get(usize::from(code)).copied(),
            _ => None,
        }
    }

    /// Microseconds to wait; `None` when it is no RNR NAK.
    pub fn rnr_wait_us(self) -> Option<u32> {
        match self {
            Self::Rnr(code) => Some(RNR_TIMER_US[usize::from(code & VALUE_MASK)]),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives() {
        for byte in 0..=u8::MAX {
            assert_eq!(Syndrome::from(byte).byte(), byte);
        }
        assert_eq!(Syndrome::from(0x62), Syndrome::Nak(NakCode::RemoteAccess));
        assert_eq!(Syndrome::from(0x65), Syndrome::Reserved(0x65));
        assert_eq!(Syndrome::from(0x40), Syndrome::Reserved(0x40));
        assert_eq!(Syndrome::from(0x9F), Syndrome::Reserved(0x9F));
    }

    #[test]
    fn tables_have_their_rule() {
        // From code 2 on, the codes run through 2^k and 3 * 2^(k-1) in turn.
        for (code, &wait) in RNR_TIMER_US.iter().enumerate().skip(2) {
            let base: u32 = if code % 2 == 0 { 2 } else { 3 };
            assert_eq!(wait, 10 * (base << (code / 2 - 1)));
        }
        // Credit codes count the same steps.
        for (credits, wait) in CREDITS.iter().zip(RNR_TIMER_US).skip(1) {
            assert_eq!(10 * u32::from(*credits), wait);
        }
        assert_eq!(Syndrome::Rnr(12).rnr_wait_us(), Some(640));
        assert_eq!(Syndrome::Rnr(0).rnr_wait_us(), Some(655_360));
        assert_eq!(Syndrome::Ack(0).credits(), Some(0));
        assert_eq!(Syndrome::Ack(31).credits(), None);
    }
}

//! What can become of a read TLP.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// The fate of a read TLP. The errors befall one of its completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Data.
    Good,
    /// UR or CA, and nothing more.
    BadStatus,
    /// Poisoned.
    Poisoned,
    /// The block cuts it off.
    Discontinued,
    /// The block finds a wrong length and ends the request.
    BadLength,
    /// The block finds wrong attributes or a wrong address.
    Mismatch,
    /// The block's time-out or a reset end the request; the rest of the descriptor is noise.
    Notice,
    /// A wrong address that the block does not find.
    WrongAddress,
    /// More payload than a slot has room for, or a byte count that no read has, found by nobody.
    TooLong,
    /// No answer, ever.
    Lost,
    /// An answer after the time-out.
    Late,
}

impl Fate {
    const ERRORS: [Self; 8] = [
        Self::BadStatus,
        Self::Poisoned,
        Self::Discontinued,
        Self::BadLength,
        Self::Mismatch,
        Self::Notice,
        Self::WrongAddress,
        Self::TooLong,
    ];

    /// Mostly good; an error with probability `errors`, late with `late`.
    pub fn random(rng: &mut ChaCha8Rng, errors: f64, late: f64) -> Self {
        if rng.gen_bool(late) {
            Self::Late
        } else if rng.gen_bool(errors) {
            Self::ERRORS[rng.gen_range(0..Self::ERRORS.len())]
        } else {
            Self::Good
        }
    }

    /// Whether the client must see an error.
    pub fn fails(self) -> bool {
        self != Self::Good
    }

    /// Whether the card gives up waiting.
    pub fn times_out(self) -> bool {
        matches!(self, Self::Lost | Self::Late)
    }
}

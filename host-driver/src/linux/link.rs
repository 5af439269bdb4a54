//! Speed and width of a PCIe link.

use std::fmt;

/// A link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Speed of a lane in megatransfers a second: 8000 is Gen3.
    pub mega_transfers: u32,
    /// Lanes.
    pub lanes: u8,
}

/// A text that names no speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoSpeed;

impl Link {
    /// From the two files' content: `8.0 GT/s PCIe` (`8 GT/s` in old kernels) or `Unknown`, and lanes. `Ok(None)` without
    /// a link that is up.
    pub(super) fn parse(speed: &str, lanes: u8) -> Result<Option<Self>, NoSpeed> {
        if speed.starts_with("Unknown") {
            return Ok(None);
        }
        let (number, _) = speed.split_once(" GT/s").ok_or(NoSpeed)?;
        let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
        let (whole, tenths): (u32, u32) =
            whole.parse().ok().zip(tenths.parse().ok()).ok_or(NoSpeed)?;
        if tenths > 9 || whole > 1000 {
            return Err(NoSpeed);
        }
        Ok((lanes != 0).then_some(Self {
            mega_transfers: whole * 1000 + tenths * 100,
            lanes,
        }))
    }

    /// Megabits a second in each direction after line coding, before any packet overhead: 126 030 of Gen3 x16.
    pub const fn megabits(&self) -> u32 {
        let raw = self.mega_transfers * self.lanes as u32;
        match self.mega_transfers {
            // Gen1 and Gen2: 8b/10b.
            0..=5000 => raw / 10 * 8,
            // Gen3 to Gen5: 128b/130b.
            5001..=32_000 => raw / 130 * 128 + raw % 130 * 128 / 130,
            // From Gen6 on flits; their CRC and FEC count as packet overhead.
            _ => raw,
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, tenths) = (self.mega_transfers / 1000, self.mega_transfers % 1000 / 100);
        write!(f, "{whole}.{tenths} GT/s x{}", self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_understood() {
        let link = |text, lanes| Link::parse(text, lanes).unwrap().unwrap();
        assert_eq!(link("8.0 GT/s PCIe", 16).to_string(), "8.0 GT/s x16");
        assert_eq!(link("8 GT/s", 16), link("8.0 GT/s PCIe", 16));
        assert_eq!(link("2.5 GT/s PCIe", 1).mega_transfers, 2500);
        assert_eq!(Link::parse("Unknown", 255), Ok(None));
        assert_eq!(Link::parse("8.0 GT/s PCIe", 0), Ok(None));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "8.0",
            "fast GT/s",
            "8.0.0 GT/s",
            "8.25 GT/s",
            "5000000 GT/s",
            "-8.0 GT/s",
        ] {
            assert_eq!(Link::parse(text, 16), Err(NoSpeed), "{text}");
        }
    }

    /// Rates of the PCIe base specification's table of link rates.
    #[test]
    fn rates_are_those_of_the_line_codes() {
        let megabits = |mega_transfers, lanes| {
            Link {
                mega_transfers,
                lanes,
            }
            .megabits()
        };
        assert_eq!(megabits(2500, 1), 2000);
        assert_eq!(megabits(5000, 4), 16_000);
        // 128 000 * 128 / 130
        assert_eq!(megabits(8000, 16), 126_030);
        assert_eq!(megabits(16_000, 8), 126_030);
    }
}

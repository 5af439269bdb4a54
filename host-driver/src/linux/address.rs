//! Where a PCI function is.

use std::fmt;
use std::str::FromStr;

/// Domain, bus, device and function, written `0000:03:00.0` as Linux writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// Domain (segment): 16 bits in firmware's tables, more for bridges that make domains of their own.
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device on the bus, 5 bits.
    pub device: u8,
    /// Function of the device, 3 bits.
    pub function: u8,
}

/// A text that is no PCI address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no PCI address: write it as 0000:03:00.0, or 03:00.0 in domain 0")]
pub struct PciAddressError {
    /// The text.
    pub text: String,
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            domain,
            bus,
            device,
            function,
        } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function}")
    }
}

impl FromStr for PciAddress {
    type Err = PciAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| PciAddressError { text: text.into() })
    }
}

fn parse(text: &str) -> Option<PciAddress> {
    let (rest, function) = text.rsplit_once('.')?;
    let (rest, device) = rest.rsplit_once(':')?;
    let (domain, bus) = rest.split_once(':').unwrap_or(("0", rest));
    Some(PciAddress {
        domain: hex(domain, u32::MAX)?,
        bus: hex(bus, 0xFF)? as u8,
        device: hex(device, 0x1F)? as u8,
        function: hex(function, 7)? as u8,
    })
}

/// Hexadecimal digits, nothing else, up to `max`.
fn hex(text: &str, max: u32) -> Option<u32> {
    // `from_str_radix` would take a sign too.
    let digits = text.bytes().all(|b| b.is_ascii_hexdigit());
    let value = u32::from_str_radix(text, 16).ok()?;
    (digits && value <= max).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_addresses_agree() {
        let address = PciAddress {
            domain: 0,
            bus: 0xAF,
            device: 0x1F,
            function: 7,
        };
        assert_eq!(address.to_string(), "0000:af:1f.7");
        assert_eq!("0000:af:1f.7".parse(), Ok(address));
        assert_eq!("AF:1F.7".parse(), Ok(address));
        let far = "10000:01:00.0".parse::<PciAddress>().unwrap();
        assert_eq!((far.domain, far.bus), (0x1_0000, 1));
        assert_eq!(far.to_string(), "10000:01:00.0");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "03",
            "03:00",
            "03.0",
            "0:3:0:0.0",
            "03:20.0",
            "03:00.8",
            "100:00.0",
            "03:00.",
            "+3:00.0",
            "x:00.0",
        ] {
            assert_eq!(
                text.parse::<PciAddress>(),
                Err(PciAddressError { text: text.into() }),
            );
        }
    }
}

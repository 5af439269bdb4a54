//! BARs as the `resource` file of sysfs lists them.

/// BARs of a function; the lines behind them are its ROM and a bridge's windows.
const BARS: usize = 6;
/// `IORESOURCE_MEM` of the kernel's `ioport.h`.
const MEMORY: u64 = 0x200;
/// `IORESOURCE_PREFETCH`.
const PREFETCHABLE: u64 = 0x2000;

/// A BAR that has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Number of the BAR, 0 to 5.
    pub bar: usize,
    /// First physical address.
    pub start: u64,
    /// Bytes.
    pub len: u64,
    /// The kernel's flags (`IORESOURCE_*`).
    pub flags: u64,
}

impl Resource {
    /// Whether it is memory, not ports.
    pub const fn is_memory(&self) -> bool {
        self.flags & MEMORY != 0
    }

    /// Whether it may be read ahead and written combined.
    pub const fn is_prefetchable(&self) -> bool {
        self.flags & PREFETCHABLE != 0
    }

    /// The BARs in the text of a `resource` file; `Err` with the first line that is malformed.
    pub(super) fn parse_all(text: &str) -> Result<Vec<Self>, String> {
        let parsed = text
            .lines()
            .take(BARS)
            .enumerate()
            .map(|(bar, line)| Self::parse(bar, line).ok_or_else(|| line.to_owned()));
        Ok(parsed
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .flatten()
            .collect())
    }

    /// `None` for a malformed line, `Some(None)` for a BAR that has no address.
    fn parse(bar: usize, line: &str) -> Option<Option<Self>> {
        let mut words = line.split_whitespace().map(|word| {
            let digits = word.strip_prefix("0x")?;
            u64::from_str_radix(digits, 16).ok()
        });
        let (start, end, flags) = (words.next()??, words.next()??, words.next()??);
        if words.next().is_some() {
            return None;
        }
        if start == 0 {
            return Some(None);
        }
        let len = end.checked_sub(start)?.checked_add(1)?;
        Some(Some(Self {
            bar,
            start,
            len,
            flags,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_bars() {
        let text = "0x00000000f0000000 0x00000000f0001fff 0x000000000014220c\n\
                    0x0000000000000000 0x0000000000000000 0x0000000000000000\n\
                    0x000000000000e000 0x000000000000e0ff 0x0000000000040101\n";
        let [registers, ports] = Resource::parse_all(text).unwrap()[..] else {
            panic!("two BARs have addresses");
        };
        assert_eq!(
            (registers.bar, registers.start, registers.len),
            (0, 0xF000_0000, 0x2000)
        );
        assert!(registers.is_memory() && registers.is_prefetchable());
        assert_eq!((ports.bar, ports.len), (2, 0x100));
        assert!(!ports.is_memory() && !ports.is_prefetchable());
    }

    #[test]
    fn only_bars_count() {
        let line = "0x1000 0x1fff 0x200\n";
        assert_eq!(Resource::parse_all(&line.repeat(13)).unwrap().len(), 6);
    }

    #[test]
    fn malformed_lines_are_named() {
        for line in [
            "",
            "0x1000",
            "0x1000 0x1fff",
            "0x1000 0x1fff 0x200 0x0",
            "1000 1fff 200",
            "0x2000 0x1fff 0x0fff",
            "0x1 0xffffffffffffffffff 0x200",
        ] {
            let text = format!("0x0 0x0 0x0\n{line}\n");
            assert_eq!(Resource::parse_all(&text), Err(line.to_owned()));
        }
    }
}

//! Several clocks in one schedule of femtoseconds.

use crate::BridgeError;

/// Femtoseconds in a second.
const SECOND_FS: u64 = 1_000_000_000_000_000;

/// A clock's period as an exact fraction of femtoseconds, so that long runs do not drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    numerator_fs: u64,
    denominator: u64,
}

impl Period {
    /// A whole number of femtoseconds.
    pub const fn from_fs(period_fs: u64) -> Self {
        Self {
            numerator_fs: period_fs,
            denominator: 1,
        }
    }

    /// From a frequency in hertz: `Period::from_hz(322_265_625)` is exact.
    pub const fn from_hz(frequency_hz: u64) -> Self {
        Self {
            numerator_fs: SECOND_FS,
            denominator: frequency_hz,
        }
    }
}

/// A clock of a [`Clocks`] schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClockId(u32);

#[derive(Debug, Clone)]
struct Clock {
    period: Period,
    first_rise_fs: u64,
    /// Half periods since the first rise; even ones are rises.
    half: u64,
    next_fs: u64,
}

impl Clock {
    /// Edge `half`, rounded down: never more than a femtosecond off, and not accumulating.
    fn edge(&self, half: u64) -> u64 {
        let offset = u128::from(half) * u128::from(self.period.numerator_fs)
            / (2 * u128::from(self.period.denominator));
        // A schedule of u64 femtoseconds ends after 5 hours of simulated time; it then stays there.
        self.first_rise_fs
            .saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
    }
}

/// The edges that happen at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edges {
    /// Time in femtoseconds.
    pub time_fs: u64,
    rising: u64,
    falling: u64,
}

impl Edges {
    /// Whether this clock rises now.
    pub fn rises(&self, clock: ClockId) -> bool {
        self.rising >> clock.0 & 1 == 1
    }

    /// Whether this clock falls now.
    pub fn falls(&self, clock: ClockId) -> bool {
        self.falling >> clock.0 & 1 == 1
    }

    /// The clock's new level if it has an edge now.
    pub fn level(&self, clock: ClockId) -> Option<bool> {
        if self.rises(clock) {
            Some(true)
        } else {
            self.falls(clock).then_some(false)
        }
    }
}

/// Up to 64 free-running clocks with a duty cycle of one half.
///
/// ```
/// use ferroce_bridge::{Clocks, Period};
/// let mut clocks = Clocks::default();
/// let core = clocks.add(Period::from_fs(4_000_000), 0)?;
/// let mac = clocks.add(Period::from_hz(322_265_625), 0)?;
/// let edges = clocks.advance();
/// assert!(edges.time_fs == 0 && edges.rises(core) && edges.rises(mac));
/// let edges = clocks.advance();
/// assert!(edges.time_fs == 1_551_515 && edges.falls(mac) && edges.level(core).is_none());
/// # Ok::<(), ferroce_bridge::BridgeError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Clocks {
    clocks: Vec<Clock>,
}

impl Clocks {
    /// Adds a clock that is low until it first rises at `first_rise_fs`.
    ///
    /// # Errors
    /// A period below 2 fs, which has no two edges; a 65th clock.
    pub fn add(&mut self, period: Period, first_rise_fs: u64) -> Result<ClockId, BridgeError> {
        if period.denominator == 0
            || period.numerator_fs / period.denominator < 2
            || self.clocks.len() == u64::BITS as usize
        {
            return Err(BridgeError::Period {
                numerator_fs: period.numerator_fs,
                denominator: period.denominator,
            });
        }
        self.clocks.push(Clock {
            period,
            first_rise_fs,
            half: 0,
            next_fs: first_rise_fs,
        });
        Ok(ClockId(self.clocks.len() as u32 - 1))
    }

    /// Time of the next edge of any clock in femtoseconds; `u64::MAX` without clocks.
    pub fn next_time(&self) -> u64 {
        self.clocks
            .iter()
            .map(|clock| clock.next_fs)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Moves to the next time at which any clock has an edge, and returns all edges of that time.
    pub fn advance(&mut self) -> Edges {
        let mut edges = Edges {
            time_fs: self.next_time(),
            rising: 0,
            falling: 0,
        };
        for (index, clock) in self.clocks.iter_mut().enumerate() {
            if clock.next_fs == edges.time_fs {
                let rises = clock.half % 2 == 0;
                *if rises {
                    &mut edges.rising
                } else {
                    &mut edges.falling
                } |= 1 << index;
                clock.half += 1;
                clock.next_fs = clock.edge(clock.half);
            }
        }
        edges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_two_clocks_come_in_order_and_do_not_drift() {
        let mut clocks = Clocks::default();
        let core = clocks.add(Period::from_fs(4_000_000), 0).unwrap();
        let mac = clocks.add(Period::from_hz(322_265_625), 500).unwrap();
        let (mut core_rises, mut mac_rises, mut last) = (0u64, 0u64, None);
        // A millisecond of simulated time.
        while clocks.next_time() < 1_000_000_000_000 {
            let edges = clocks.advance();
            assert!(last < Some(edges.time_fs), "times must increase");
            last = Some(edges.time_fs);
            core_rises += u64::from(edges.rises(core));
            mac_rises += u64::from(edges.rises(mac));
        }
        assert_eq!(core_rises, 250_000);
        // 322265.625 periods fit in a millisecond; the rise at 500 fs starts the first.
        assert_eq!(mac_rises, 322_266);
    }

    #[test]
    fn odd_periods_alternate_levels() {
        let mut clocks = Clocks::default();
        let clock = clocks.add(Period::from_fs(3), 10).unwrap();
        let edges: Vec<_> = (0..5)
            .map(|_| clocks.advance())
            .map(|edges| (edges.time_fs, edges.level(clock).unwrap()))
            .collect();
        assert_eq!(
            edges,
            [(10, true), (11, false), (13, true), (14, false), (16, true)]
        );
    }

    #[test]
    fn impossible_periods_are_refused() {
        let mut clocks = Clocks::default();
        for period in [
            Period::from_fs(1),
            Period::from_hz(0),
            Period::from_hz(SECOND_FS),
        ] {
            assert!(clocks.add(period, 0).is_err());
        }
    }
}

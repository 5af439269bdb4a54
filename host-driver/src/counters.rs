//! The card's counters.

use ferroce_abi::regs::Counter;
use std::fmt;

/// All counters at one time. They are read one after the other, so they may differ by what happened in
/// between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    values: Vec<u64>,
}

impl Counters {
    /// From values in the order of [`Counter::ALL`].
    pub(crate) fn new(values: Vec<u64>) -> Self {
        Self { values }
    }

    /// Counters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
        Counter::ALL
            .iter()
            .copied()
            .zip(self.values.iter().copied())
    }

    /// One value.
    pub fn get(&self, counter: Counter) -> u64 {
        self.iter()
            .find_map(|(c, value)| (c == counter).then_some(value))
            .unwrap_or(0)
    }

    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let pairs = self.values.iter().zip(&earlier.values);
        Self::new(pairs.map(|(now, then)| now.wrapping_sub(*then)).collect())
    }
}

impl fmt::Display for Counters {
    /// One line for each counter that is not 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (counter, value) in self.iter().filter(|&(_, value)| value != 0) {
            writeln!(f, "{:<28}{value:>16}", counter.name())?;
        }
        Ok(())
    }
}

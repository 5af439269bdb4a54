//! What can go wrong with the completions of a read.

use serde::{Deserialize, Serialize};

use crate::tlp::Status;

/// A misfortune of a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The read ends with this status instead.
    Status(Status),
    /// The completion is poisoned.
    Poisoned,
    /// The completion gets lost.
    Lost,
    /// The completion and all behind it get lost.
    LostRest,
    /// The completion arrives twice.
    Duplicate,
    /// A completion that nobody asked for follows.
    Unexpected,
    /// The completion and those behind it are late by this many core cycles.
    Late(u64),
}

/// Probabilities of misfortunes, from 0 to 1; a completion suffers at most one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultRates {
    /// Status UR.
    pub unsupported: f64,
    /// Status CA.
    pub abort: f64,
    /// Poisoned.
    pub poisoned: f64,
    /// Lost with all completions of the read behind it.
    pub lost: f64,
    /// Twice.
    pub duplicate: f64,
    /// Followed by one that nobody asked for.
    pub unexpected: f64,
    /// Late.
    pub late: f64,
    /// By this many core cycles.
    pub late_cycles: u64,
}

impl FaultRates {
    /// The misfortune that `dice`, evenly from 0 to 1, picks.
    pub fn pick(&self, mut dice: f64) -> Option<Fault> {
        let choices = [
            (self.unsupported, Fault::Status(Status::UnsupportedRequest)),
            (self.abort, Fault::Status(Status::CompleterAbort)),
            (self.poisoned, Fault::Poisoned),
            (self.lost, Fault::LostRest),
            (self.duplicate, Fault::Duplicate),
            (self.unexpected, Fault::Unexpected),
            (self.late, Fault::Late(self.late_cycles)),
        ];
        choices.into_iter().find_map(|(rate, fault)| {
            let hit = dice < rate;
            dice -= rate;
            hit.then_some(fault)
        })
    }

    /// Whether anything can go wrong.
    pub fn any(&self) -> bool {
        self.pick(0.0).is_some()
    }
}

/// A misfortune of one completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scripted {
    /// Which read, counted from 0 in the order of their requests.
    pub read: u64,
    /// Which of its completions, counted from 0.
    pub piece: usize,
    /// What happens.
    pub fault: Fault,
}

/// Misfortunes that are certain.
#[derive(Debug, Default)]
pub struct Script {
    entries: Vec<Scripted>,
}

impl Script {
    /// Adds one.
    pub fn add(&mut self, entry: Scripted) {
        self.entries.push(entry);
    }

    /// Takes out all that has not happened.
    pub fn clear(&mut self) -> Vec<Scripted> {
        std::mem::take(&mut self.entries)
    }

    /// Takes out what befalls a completion.
    pub fn take(&mut self, read: u64, piece: usize) -> Option<Fault> {
        let mut entries = self.entries.iter();
        let index = entries.position(|e| (e.read, e.piece) == (read, piece))?;
        Some(self.entries.swap_remove(index).fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dice_pick_by_rate() {
        let rates = FaultRates {
            abort: 0.25,
            lost: 0.25,
            ..FaultRates::default()
        };
        assert!(rates.any() && !FaultRates::default().any());
        assert_eq!(rates.pick(0.1), Some(Fault::Status(Status::CompleterAbort)));
        assert_eq!(rates.pick(0.3), Some(Fault::LostRest));
        assert_eq!(rates.pick(0.6), None);
    }

    #[test]
    fn scripted_faults_happen_once() {
        let mut script = Script::default();
        script.add(Scripted {
            read: 3,
            piece: 1,
            fault: Fault::Lost,
        });
        assert_eq!(script.take(3, 0), None);
        assert_eq!(script.take(3, 1), Some(Fault::Lost));
        assert_eq!(script.take(3, 1), None);
    }
}

//! What the host knows of its queues.

use ferroce_rtl::desc::bar::QueueSeen;

#[derive(Clone, Copy)]
pub struct Setup {
    pub eq_log: u32,
    pub gap: u16,
    pub solicited_only: bool,
}

/// A doorbell of a CQ or EQ.
#[derive(Clone, Copy)]
pub struct HostBell {
    pub queue: usize,
    pub consumer: u32,
    pub arm: bool,
}

impl HostBell {
    pub fn seen(self) -> QueueSeen {
        QueueSeen {
            valid: true,
            queue: (self.queue as u64).into(),
            consumer: u64::from(self.consumer).into(),
        }
    }
}

/// A queue as its host sees it.
#[derive(Default)]
pub struct Cq {
    pub consumer: u32,
    pub issued: u32,
    /// Consumer index that the card has heard of.
    pub told: u32,
    /// Running index after the last CQE that counts.
    pub wanted: u32,
    pub armed: bool,
    pub arms: u64,
    pub events: u64,
}

#[derive(Default)]
pub struct Eq {
    pub consumer: u32,
    pub arms: u64,
    pub messages: u64,
    pub last_message: Option<u64>,
    /// When the host looks.
    pub wake: Option<u64>,
}

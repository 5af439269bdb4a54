//! Sizes of a card on the command line.

use clap::{Args, ValueEnum};
use ferroce_abi::limits::FIRST_QPN;
use ferroce_nic::NicConfig;

use crate::args::{log2, size, size_text, UsageError};

/// Bytes of a beat, log2.
const BEAT_LOG2: u32 = 6;

/// Sizes to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// 16 QPs: what simulations use
    Small,
    /// 1024 QPs: a data centre card
    Large,
}

/// Sizes of a card.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Card")]
pub struct CardArgs {
    /// Sizes that the other options change
    #[arg(long, value_enum, default_value = "large")]
    pub preset: Preset,
    /// Queue pairs: a power of two, 4 to 8192
    #[arg(long, value_name = "N", value_parser = log2(2..=13))]
    pub qps: Option<usize>,
    /// Completion queues: a power of two, 2 to 16384
    #[arg(long, value_name = "N", value_parser = log2(1..=14))]
    pub cqs: Option<usize>,
    /// Shared receive queues: a power of two, 2 to 1024, at most as many as queue pairs
    #[arg(long, value_name = "N", value_parser = log2(1..=10))]
    pub srqs: Option<usize>,
    /// Memory regions: a power of two, 2 to 65536
    #[arg(long, value_name = "N", value_parser = log2(1..=16))]
    pub mrs: Option<usize>,
    /// Blocks of send WQEs of a QP on chip: a power of two, 4 to 64
    #[arg(long, value_name = "N", value_parser = log2(2..=6))]
    pub sq_window: Option<usize>,
    /// Receive WQEs of a QP on chip: a power of two, 2 to 64
    #[arg(long, value_name = "N", value_parser = log2(1..=6))]
    pub rq_window: Option<usize>,
    /// Messages of a QP that may be unacknowledged: a power of two, 2 to 64
    #[arg(long, value_name = "N", value_parser = log2(1..=6))]
    pub retransmit: Option<usize>,
    /// Receive packet buffer: a power of two, 16K to 2M bytes
    #[arg(long, value_name = "SIZE", value_parser = buffer)]
    pub packet_buffer: Option<usize>,
    /// Payload reads outstanding: a power of two, 2 to 128
    #[arg(long, value_name = "N", value_parser = log2(1..=7))]
    pub payload_reads: Option<usize>,
    /// Reorder buffer of payload reads: a power of two, 16K to 2M bytes
    #[arg(long, value_name = "SIZE", value_parser = buffer)]
    pub payload_buffer: Option<usize>,
}

/// Log2 of the beats in a buffer of so many bytes.
fn buffer(text: &str) -> Result<usize, String> {
    let (min, max) = (1u64 << (8 + BEAT_LOG2), 1u64 << (15 + BEAT_LOG2));
    let bytes = size(min..=max)(text).ok();
    bytes
        .filter(|bytes| bytes.is_power_of_two())
        .map(|bytes| (bytes.ilog2() - BEAT_LOG2) as usize)
        .ok_or_else(|| {
            let (min, max) = (size_text(min), size_text(max));
            format!("a power of two from {min} to {max} is needed")
        })
}

impl CardArgs {
    /// The sizes.
    ///
    /// # Errors
    /// [`UsageError`] for what the hardware can't be generated with.
    pub fn config(&self) -> Result<NicConfig, UsageError> {
        let mut config = match self.preset {
            Preset::Small => NicConfig::SMALL,
            Preset::Large => NicConfig::LARGE,
        };
        for (given, field) in [
            (self.qps, &mut config.qps_log2),
            (self.cqs, &mut config.cqs_log2),
            (self.srqs, &mut config.srqs_log2),
            (self.mrs, &mut config.mrs_log2),
            (self.sq_window, &mut config.sq_window_log2),
            (self.rq_window, &mut config.rq_window_log2),
            (self.retransmit, &mut config.retransmit_log2),
            (self.packet_buffer, &mut config.packet_buffer_log2),
            (self.payload_reads, &mut config.payload_reads_log2),
            (self.payload_buffer, &mut config.payload_buffer_log2),
        ] {
            *field = given.unwrap_or(*field);
        }
        if self.srqs.is_none() {
            config.srqs_log2 = config.srqs_log2.min(config.qps_log2);
        }
        config
            .check()
            .map_err(|error| UsageError(error.to_string()))?;
        Ok(config)
    }
}

/// The smallest card for simulations that holds so many connections.
pub fn for_connections(qps: usize) -> NicConfig {
    let needed = (qps + FIRST_QPN as usize).next_power_of_two().ilog2() as usize;
    NicConfig {
        qps_log2: needed.max(NicConfig::SMALL.qps_log2),
        ..NicConfig::SMALL
    }
}

/// A card for measurements: with so many messages of a QP on chip and unacknowledged.
pub fn for_rates(qps: usize, messages_log2: usize) -> NicConfig {
    NicConfig {
        sq_window_log2: messages_log2,
        rq_window_log2: messages_log2,
        retransmit_log2: messages_log2,
        ..for_connections(qps)
    }
}

/// Most connections of any card.
pub const MAX_CONNECTIONS: u64 = (1 << 13) - FIRST_QPN as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_grow_with_their_connections() {
        assert_eq!(for_connections(1), NicConfig::SMALL);
        assert_eq!(for_connections(14), NicConfig::SMALL);
        assert_eq!(for_connections(15).qps_log2, 5);
        let largest = for_connections(MAX_CONNECTIONS as usize);
        assert_eq!((largest.qps_log2, largest.check()), (13, Ok(())));
    }

    #[test]
    fn packet_buffers_are_counted_in_beats() {
        assert_eq!((buffer("16K"), buffer("2M")), (Ok(8), Ok(15)));
        for text in ["8K", "4M", "24K", "x"] {
            assert_eq!(
                buffer(text),
                Err("a power of two from 16K to 2M is needed".to_owned())
            );
        }
    }
}

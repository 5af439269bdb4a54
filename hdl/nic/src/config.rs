//! Sizes of a card.

use ferroce_abi::limits::{AH_BITS, CQ_BITS, EQ_BITS, MR_BITS, QP_BITS, SRQ_BITS};
use ferroce_dma::reader::requester_rx::DEFAULT_LOG2_TIMEOUT;
use serde::{Deserialize, Serialize};

use crate::wqe_cache::desc::MAX_WINDOW_LOG2;

/// What a card is generated with. All numbers are log2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NicConfig {
    /// QPs.
    pub qps_log2: usize,
    /// CQs.
    pub cqs_log2: usize,
    /// EQs and MSI-X vectors: one for each core that handles completions.
    pub eqs_log2: usize,
    /// SRQs.
    pub srqs_log2: usize,
    /// Memory regions.
    pub mrs_log2: usize,
    /// Address handles.
    pub ahs_log2: usize,
    /// Blocks of each SQ's WQEs on chip; a whole WQE of four must fit.
    pub sq_window_log2: usize,
    /// WQEs of each RQ and SRQ on chip. A SEND that finds none there is answered with an RNR NAK, so a burst of SENDs must
    /// not outrun the refill of half a window.
    pub rq_window_log2: usize,
    /// Messages of a QP that may be unacknowledged.
    pub retransmit_log2: usize,
    /// Beats of 64 bytes in the receive packet buffer.
    pub packet_buffer_log2: usize,
    /// Payload reads that may be outstanding.
    pub payload_reads_log2: usize,
    /// Beats of 64 bytes in the reorder buffer of payload reads.
    pub payload_buffer_log2: usize,
    /// Translated pages on chip, for either direction.
    pub page_cache_log2: usize,
    /// Core cycles after which a read of host memory without an answer has failed.
    pub read_timeout_log2: usize,
}

/// A size is outside what the hardware can be generated with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {value}; it must be {min} to {max}")]
pub struct ConfigError {
    /// Field of [`NicConfig`].
    pub name: &'static str,
    /// Its value.
    pub value: usize,
    /// Smallest possible value.
    pub min: usize,
    /// Largest possible value.
    pub max: usize,
}

impl NicConfig {
    /// For simulations: quick to build and to run.
    pub const SMALL: Self = Self {
        qps_log2: 4,
        cqs_log2: 4,
        eqs_log2: 2,
        srqs_log2: 2,
        mrs_log2: 4,
        ahs_log2: 4,
        sq_window_log2: 4,
        rq_window_log2: 6,
        retransmit_log2: 4,
        packet_buffer_log2: 9,
        payload_reads_log2: 7,
        payload_buffer_log2: 10,
        page_cache_log2: 6,
        read_timeout_log2: DEFAULT_LOG2_TIMEOUT,
    };

    /// For a data centre card: 1024 connections, 4096 regions, 256 KiB of packet buffer.
    pub const LARGE: Self = Self {
        qps_log2: 10,
        cqs_log2: 10,
        eqs_log2: 5,
        srqs_log2: 6,
        mrs_log2: 12,
        ahs_log2: 10,
        sq_window_log2: 4,
        rq_window_log2: 6,
        retransmit_log2: 6,
        packet_buffer_log2: 12,
        payload_reads_log2: 7,
        payload_buffer_log2: 10,
        page_cache_log2: 12,
        read_timeout_log2: DEFAULT_LOG2_TIMEOUT,
    };

    /// Checks every size.
    ///
    /// # Errors
    /// The first size that the hardware can't be generated with.
    pub fn check(&self) -> Result<(), ConfigError> {
        let sizes = [
            // The SRQs' numbers follow those of the QPs.
            ("qps_log2", self.qps_log2, 2, QP_BITS - 1),
            ("cqs_log2", self.cqs_log2, 1, CQ_BITS),
            ("eqs_log2", self.eqs_log2, 1, EQ_BITS),
            ("srqs_log2", self.srqs_log2, 1, SRQ_BITS.min(self.qps_log2)),
            ("mrs_log2", self.mrs_log2, 1, MR_BITS),
            ("ahs_log2", self.ahs_log2, 1, AH_BITS),
            ("sq_window_log2", self.sq_window_log2, 2, MAX_WINDOW_LOG2),
            ("rq_window_log2", self.rq_window_log2, 1, MAX_WINDOW_LOG2),
            ("retransmit_log2", self.retransmit_log2, 1, 6),
            // Two of the largest frames must fit, so that one arrives while one leaves.
            ("packet_buffer_log2", self.packet_buffer_log2, 8, 15),
            // Half of all DMA tags are there for payload.
            ("payload_reads_log2", self.payload_reads_log2, 1, 7),
            ("payload_buffer_log2", self.payload_buffer_log2, 8, 15),
            ("page_cache_log2", self.page_cache_log2, 1, 16),
            // Above any host's latency, and within the engine's counter.
            ("read_timeout_log2", self.read_timeout_log2, 12, 28),
        ];
        for (name, value, min, max) in sizes {
            if !(min..=max).contains(&value) {
                return Err(ConfigError {
                    name,
                    value,
                    min,
                    max,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid_and_bad_sizes_are_named() {
        assert_eq!(NicConfig::SMALL.check(), Ok(()));
        assert_eq!(NicConfig::LARGE.check(), Ok(()));
        let wrong = NicConfig {
            mrs_log2: 17,
            ..NicConfig::SMALL
        };
        assert_eq!(wrong.check().map_err(|error| error.name), Err("mrs_log2"));
    }
}

//! The identification registers as one constant.

use crate::config::NicConfig;
use ferroce_abi::limits::{Pmtu, MAX_READS};
use ferroce_abi::regs;
use ferroce_emit::prelude::*;

/// Core clock in Hz.
pub const CORE_HZ: u32 = 250_000_000;
/// Bits of the identification registers.
pub const IDENT_BITS: usize = 512;

/// All identification registers, by byte offset from `regs::MAGIC`.
#[must_use]
pub fn ident(config: &NicConfig) -> Bits<IDENT_BITS> {
    let registers = [
        (regs::MAGIC, regs::MAGIC_VALUE),
        (regs::VERSION, regs::VERSION_VALUE),
        (
            regs::FEATURES,
            regs::feature::RC
                | regs::feature::READ
                | regs::feature::ATOMIC
                | regs::feature::INLINE
                | regs::feature::EVENTS
                | regs::feature::PAGES
                | regs::feature::PUSH
                | regs::feature::SRQ,
        ),
        (regs::NUM_QPS, 1 << config.qps_log2),
        (regs::NUM_CQS, 1 << config.cqs_log2),
        (regs::NUM_MRS, 1 << config.mrs_log2),
        (
            regs::WQE_WINDOW,
            1 << config.sq_window_log2.min(config.rq_window_log2),
        ),
        (regs::RETRANSMIT_DEPTH, 1 << config.retransmit_log2),
        // The sender and the responder use the first entry only.
        (regs::MAX_SGE, 1),
        (regs::MAX_PMTU, u32::from(Pmtu::B4096.log2())),
        (regs::CORE_CLOCK, CORE_HZ),
        (
            regs::MAX_RD_ATOMIC,
            u32::from(MAX_READS) << 16 | u32::from(MAX_READS),
        ),
        (regs::NUM_EQS, 1 << config.eqs_log2),
        (regs::NUM_SRQS, 1 << config.srqs_log2),
        (regs::NUM_AHS, 1 << config.ahs_log2),
    ];
    registers
        .into_iter()
        .fold(Bits::default(), |bits, (offset, value)| {
            let value: Bits<32> = u64::from(value).into();
            bits | bit_cast::<IDENT_BITS, 32>(value) << (8 * (offset - regs::MAGIC))
        })
}

//! Order between host memory, the card's registers and the card's own accesses.
//!
//! On x86-64 stores become visible in program order and register accesses are uncached, so that only the compiler has to be
//! held back; write-combined stores alone need `sfence`. On AArch64 the outer-shareable barriers are those that Linux
//! uses around its own register accesses (`dma_wmb`, `__iormb`).
#![allow(unsafe_code, reason = "barriers that the standard library has not")]

#[cfg(target_arch = "aarch64")]
use std::arch::asm;
#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{compiler_fence, Ordering};

/// Earlier writes to memory reach the card before later register writes.
pub(super) fn before_register_write() {
    #[cfg(target_arch = "x86_64")]
    compiler_fence(Ordering::Release);
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier changes no memory and no register.
    unsafe {
        asm!("dmb oshst", options(nostack, preserves_flags));
    }
}

/// Later reads of memory and registers see what was there after an earlier read of a register, or of memory that
/// the card writes.
pub(super) fn after_card_read() {
    #[cfg(target_arch = "x86_64")]
    compiler_fence(Ordering::Acquire);
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier changes no memory and no register.
    unsafe {
        asm!("dmb oshld", options(nostack, preserves_flags));
    }
}

/// Orders write-combined stores against all stores before and after, and sends those before to the card.
pub(super) fn flush_combined() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has SSE; a barrier changes no memory.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier changes no memory and no register.
    unsafe {
        asm!("dsb st", options(nostack, preserves_flags));
    }
}

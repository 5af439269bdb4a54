//! Atomics of the software peer, one at a time, and what they do to memory.

use anyhow::Result;
use ferroce_abi::headers::AtomicEth;
use ferroce_abi::opcode::rc;
use ferroce_driver::Counter;

use crate::bench::Bench;
use crate::peer::{add24, same_frames};
use crate::reads::{atomic, executed, original, reth};

/// An atomic on the word at `offset`.
///
/// # Errors
/// The place is outside of the memory, or the card does anything else.
pub fn header(bench: &Bench, offset: usize, operand: u64, compare: u64) -> Result<AtomicEth> {
    let reth = reth(&bench.image.mr, offset, 8)?;
    Ok(AtomicEth {
        va: reth.va,
        rkey: reth.rkey,
        operand,
        compare,
    })
}

/// The word of the plan at `offset`, as a little-endian host sees it.
pub fn word(bench: &Bench, offset: usize) -> u64 {
    let bytes = bench.image.bytes(offset..offset + 8);
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Plans an atomic and returns the value before it.
pub fn plan(bench: &mut Bench, offset: usize, opcode: u8, operand: u64, compare: u64) -> u64 {
    let old = word(bench, offset);
    let new = match opcode {
        rc::FETCH_ADD => old.wrapping_add(operand),
        _ if old == compare => operand,
        _ => old,
    };
    bench.image.expect(offset, &new.to_le_bytes());
    old
}

/// Executes an atomic, alone.
///
/// # Errors
/// The place is outside of the memory, or the card does anything else.
pub fn good(
    bench: &mut Bench,
    qp: usize,
    opcode: u8,
    at: usize,
    operands: (u64, u64),
) -> Result<u64> {
    let header = header(bench, at, operands.0, operands.1)?;
    let request = atomic(bench, qp, opcode, 0, header)?;
    let old = plan(bench, at, opcode, operands.0, operands.1);
    let (psn, msn) = (bench.peers[qp].psn, add24(bench.peers[qp].msn, 1));
    let want = original(bench, qp, psn, msn, old)?;
    executed(&mut bench.peers[qp], 1);
    bench.open.inject_raw(request);
    same_frames(&bench.open.run(2000)?, &[want])?;
    bench.counted(&[
        (Counter::RxFrames, 1),
        (Counter::RxPackets, 1),
        (Counter::RxRequests, 1),
        (Counter::RxMessages, 1),
        (Counter::RxAtomics, 1),
        (Counter::TxFrames, 1),
        (Counter::TxAtomicAcks, 1),
    ])?;
    bench.image.check_range(at - at.min(64)..at + 72)?;
    Ok(old)
}

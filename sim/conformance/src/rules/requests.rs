//! Requests that are wrong for their QP: the right NAK, once, and no byte written.

use crate::bench::{answered, Bench};
use crate::failure::{fail, fail_script, frames, renew, writable, Failure, Request, INVALID, MTU};
use anyhow::{Context, Result};
use ferroce_abi::frame::{on_wire, reseal};
use ferroce_abi::headers::Reth;
use ferroce_abi::mr::Key;
use ferroce_abi::opcode::rc;
use ferroce_driver::{Access, Counter};

/// Requests that are reserved, or that the QP does not take: refused once, with NAK 0x61.
pub fn opcodes(bench: &mut Bench) -> Result<()> {
    for opcode in [
        rc::READ_REQUEST,
        rc::CMP_SWAP,
        rc::FETCH_ADD,
        0x15,
        rc::SEND_LAST_INV,
        rc::SEND_ONLY_INV,
        0x18,
        0x1c,
        0x1f,
    ] {
        // Enough bytes for any extension header.
        let name = format!("opcode {opcode:#04x}");
        let (_, reth) = bench.target(32)?;
        let mut frame = bench.peers[0].request(&bench.open, rc::SEND_ONLY, 0, reth, &[7; 32]);
        frame.packet.bth.ackreq = false;
        let mut bytes = frame.encode()?;
        bytes[42] = opcode;
        reseal(&mut bytes)?;
        let peer = &bench.peers[0];
        let nak = peer.answer(&bench.open, peer.psn, INVALID, peer.msn)?;
        let mut counts = answered(Counter::TxNakInvalidRequest);
        counts.push((Counter::ResponderErrors, 1));
        bench
            .exchange(vec![on_wire(bytes)], &[nak], &counts)
            .context(name)?;
        renew(bench, writable())?;
        bench.good(0)?;
    }
    bench.image.check()
}

/// FIRST packet of a message of three.
const FIRST: Request = (rc::WRITE_FIRST, 2 * MTU as u32 + 10, MTU);

fn all(bench: &mut Bench, scripts: &[(&str, &[Request])]) -> Result<()> {
    for (name, script) in scripts {
        fail_script(bench, name, script)?;
    }
    Ok(())
}

/// A message begins with FIRST or ONLY.
pub fn middle_without_first(bench: &mut Bench) -> Result<()> {
    all(
        bench,
        &[
            ("MIDDLE without FIRST", &[(rc::WRITE_MIDDLE, 0, MTU)]),
            ("LAST without FIRST", &[(rc::WRITE_LAST, 0, 10)]),
            ("LAST_IMM without FIRST", &[(rc::WRITE_LAST_IMM, 0, 10)]),
            ("SEND MIDDLE without FIRST", &[(rc::SEND_MIDDLE, 0, MTU)]),
            ("SEND LAST without FIRST", &[(rc::SEND_LAST, 0, 3)]),
            (
                "MIDDLE after LAST",
                &[
                    (rc::WRITE_FIRST, MTU as u32 + 10, MTU),
                    (rc::WRITE_MIDDLE, 0, MTU),
                ],
            ),
        ],
    )
}

/// Inside a message no other one begins.
pub fn first_inside_message(bench: &mut Bench) -> Result<()> {
    all(
        bench,
        &[
            ("FIRST in a message", &[FIRST, FIRST]),
            ("ONLY in a message", &[FIRST, (rc::WRITE_ONLY, 8, 8)]),
            ("SEND in a WRITE", &[FIRST, (rc::SEND_LAST, 0, 10)]),
        ],
    )
}

/// Payload of a path MTU in all packets but the last, and never more.
pub fn pmtu(bench: &mut Bench) -> Result<()> {
    let mtu = MTU as u32;
    all(
        bench,
        &[
            ("short FIRST", &[(rc::WRITE_FIRST, 2 * mtu, MTU - 4)]),
            ("long FIRST", &[(rc::WRITE_FIRST, 2 * mtu, MTU + 4)]),
            ("padded FIRST", &[(rc::WRITE_FIRST, 2 * mtu, MTU - 1)]),
            ("long ONLY", &[(rc::WRITE_ONLY, mtu + 1, MTU + 1)]),
            (
                "short MIDDLE",
                &[
                    (rc::WRITE_FIRST, 3 * mtu, MTU),
                    (rc::WRITE_MIDDLE, 0, MTU - 4),
                ],
            ),
            ("SEND, short FIRST", &[(rc::SEND_FIRST, 0, 100)]),
            ("SEND, long ONLY", &[(rc::SEND_ONLY, 0, MTU + 1)]),
        ],
    )
}

/// As much payload as the RETH says, in as many packets as that takes.
pub fn reth_length(bench: &mut Bench) -> Result<()> {
    let mtu = MTU as u32;
    all(
        bench,
        &[
            ("FIRST of all", &[(rc::WRITE_FIRST, mtu, MTU)]),
            ("FIRST of too little", &[(rc::WRITE_FIRST, mtu - 1, MTU)]),
            ("ONLY, RETH says more", &[(rc::WRITE_ONLY, 11, 10)]),
            ("ONLY, RETH says less", &[(rc::WRITE_ONLY, 9, 10)]),
            ("ONLY, RETH says 0", &[(rc::WRITE_ONLY, 0, 1)]),
            ("ONLY without payload", &[(rc::WRITE_ONLY, 1, 0)]),
            ("more than 2^31", &[(rc::WRITE_FIRST, 0x8000_0001, MTU)]),
            (
                "MIDDLE where LAST should be",
                &[(rc::WRITE_FIRST, 2 * mtu, MTU), (rc::WRITE_MIDDLE, 0, MTU)],
            ),
            (
                "LAST too early",
                &[(rc::WRITE_FIRST, 3 * mtu, MTU), (rc::WRITE_LAST, 0, MTU)],
            ),
            (
                "LAST too long",
                &[(rc::WRITE_FIRST, mtu + 5, MTU), (rc::WRITE_LAST, 0, 6)],
            ),
        ],
    )
}

/// LAST carries at least one byte.
pub fn empty_last(bench: &mut Bench) -> Result<()> {
    let first = (rc::WRITE_FIRST, MTU as u32 + 1, MTU);
    fail_script(bench, "empty LAST", &[first, (rc::WRITE_LAST, 0, 0)])
}

/// Key, domain, rights and bounds of the memory that a WRITE names.
pub fn memory_access(bench: &mut Bench) -> Result<()> {
    let rights = writable();
    let other_pd = bench.open.device.create_pd()?.allocate(4096, rights)?;
    let read_only = bench.open.pd.allocate(4096, Access::LOCAL_WRITE)?;
    let stale = bench.open.pd.allocate(4096, rights)?;
    let (stale_key, stale_va) = (stale.rkey(), stale.addr());
    drop(stale);
    let (va, len) = (bench.image.mr.addr(), bench.image.mr.len() as u64);
    let key = bench.image.mr.rkey();
    let index = Key::from_bits(key).index();
    let cases = [
        ("no such key", 0, va),
        ("another tag", key ^ 0x80, va),
        ("beyond the table", key | 0x10_0000, va),
        ("empty index", (index + 7) << 8, va),
        ("removed", stale_key, stale_va),
        ("another domain", other_pd.rkey(), other_pd.addr()),
        ("no remote right", read_only.rkey(), read_only.addr()),
        ("one byte below", key, va - 1),
        ("end one byte above", key, va + len - 19),
        ("begin above", key, va + len),
        ("4 GiB above", key, va + (1 << 32)),
        ("4 GiB below", key, va.wrapping_sub(1 << 32)),
        ("zero", key, 0),
    ];
    for (name, rkey, va) in cases {
        let reth = Reth {
            va,
            rkey,
            dma_len: 20,
        };
        let frames = frames(bench, &[(rc::WRITE_ONLY, 20, 20)], reth, 0)?;
        fail(bench, frames, Failure::access()).context(name)?;
    }
    // The whole message is checked with its first packet.
    let reth = Reth {
        va: va + len - 3 * MTU as u64 + 1,
        rkey: key,
        dma_len: 0,
    };
    let whole = frames(bench, &[(rc::WRITE_FIRST, 3 * MTU as u32, MTU)], reth, 0)?;
    fail(bench, whole, Failure::access()).context("end of a longer message")
}

/// The QP itself does not allow writing.
pub fn qp_access(bench: &mut Bench) -> Result<()> {
    renew(bench, Access::LOCAL_WRITE)?;
    fail_script(bench, "QP without remote write", &[(rc::WRITE_ONLY, 4, 4)])
}

/// A range that wraps 2^64 is outside of every region.
pub fn address_wrap(bench: &mut Bench) -> Result<()> {
    let rkey = bench.image.mr.rkey();
    for va in [u64::MAX - 9, u64::MAX - 18, u64::MAX] {
        let reth = Reth {
            va,
            rkey,
            dma_len: 20,
        };
        let frames = frames(bench, &[(rc::WRITE_ONLY, 20, 20)], reth, 0)?;
        fail(bench, frames, Failure::access()).with_context(|| format!("from {va:#x} on"))?;
    }
    Ok(())
}

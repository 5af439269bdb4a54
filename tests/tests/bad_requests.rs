//! Requests that are wrong for their QP: the right NAK, once, and no byte written.

use anyhow::{Context, Result};
use ferroce_abi::frame::{on_wire, reseal};
use ferroce_abi::headers::Reth;
use ferroce_abi::mr::Key;
use ferroce_abi::opcode::rc;
use ferroce_driver::{Access, Counter};
use ferroce_tests::bench::answered;
use ferroce_tests::failure::{
    bench, fail, fail_script, frames, renew, writable, Failure, Request, INVALID, MTU,
};

#[test]
fn opcodes_that_the_card_does_not_know() -> Result<()> {
    let mut bench = bench()?;
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
        renew(&mut bench, writable())?;
        bench.good(0)?;
    }
    bench.image.check()
}

#[test]
fn packets_out_of_order_in_their_message() -> Result<()> {
    let mut bench = bench()?;
    let first = (rc::WRITE_FIRST, 2 * MTU as u32 + 10, MTU);
    let scripts: [(&str, &[Request]); 9] = [
        ("MIDDLE without FIRST", &[(rc::WRITE_MIDDLE, 0, MTU)]),
        ("LAST without FIRST", &[(rc::WRITE_LAST, 0, 10)]),
        ("LAST_IMM without FIRST", &[(rc::WRITE_LAST_IMM, 0, 10)]),
        ("SEND MIDDLE without FIRST", &[(rc::SEND_MIDDLE, 0, MTU)]),
        ("SEND LAST without FIRST", &[(rc::SEND_LAST, 0, 3)]),
        ("FIRST in a message", &[first, first]),
        ("ONLY in a message", &[first, (rc::WRITE_ONLY, 8, 8)]),
        ("SEND in a WRITE", &[first, (rc::SEND_LAST, 0, 10)]),
        (
            "MIDDLE after LAST",
            &[
                (rc::WRITE_FIRST, MTU as u32 + 10, MTU),
                (rc::WRITE_MIDDLE, 0, MTU),
            ],
        ),
    ];
    for (name, script) in scripts {
        fail_script(&mut bench, name, script)?;
    }
    Ok(())
}

#[test]
fn wrong_lengths() -> Result<()> {
    let mut bench = bench()?;
    let mtu = MTU as u32;
    let scripts: [(&str, &[Request]); 16] = [
        ("short FIRST", &[(rc::WRITE_FIRST, 2 * mtu, MTU - 4)]),
        ("long FIRST", &[(rc::WRITE_FIRST, 2 * mtu, MTU + 4)]),
        ("padded FIRST", &[(rc::WRITE_FIRST, 2 * mtu, MTU - 1)]),
        ("FIRST of all", &[(rc::WRITE_FIRST, mtu, MTU)]),
        ("FIRST of too little", &[(rc::WRITE_FIRST, mtu - 1, MTU)]),
        (
            "ONLY longer than the path MTU",
            &[(rc::WRITE_ONLY, mtu + 1, MTU + 1)],
        ),
        ("ONLY, RETH says more", &[(rc::WRITE_ONLY, 11, 10)]),
        ("ONLY, RETH says less", &[(rc::WRITE_ONLY, 9, 10)]),
        ("ONLY, RETH says 0", &[(rc::WRITE_ONLY, 0, 1)]),
        ("ONLY without payload", &[(rc::WRITE_ONLY, 1, 0)]),
        ("more than 2^31", &[(rc::WRITE_FIRST, 0x8000_0001, MTU)]),
        (
            "short MIDDLE",
            &[
                (rc::WRITE_FIRST, 3 * mtu, MTU),
                (rc::WRITE_MIDDLE, 0, MTU - 4),
            ],
        ),
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
        (
            "empty LAST",
            &[(rc::WRITE_FIRST, mtu + 1, MTU), (rc::WRITE_LAST, 0, 0)],
        ),
    ];
    for (name, script) in scripts {
        fail_script(&mut bench, name, script)?;
    }
    for (name, script) in [
        ("SEND, short FIRST", (rc::SEND_FIRST, 0, 100)),
        ("SEND, long ONLY", (rc::SEND_ONLY, 0, MTU + 1)),
    ] {
        fail_script(&mut bench, name, &[script])?;
    }
    Ok(())
}

#[test]
fn memory_that_may_not_be_written() -> Result<()> {
    let mut bench = bench()?;
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
        ("wraps", key, u64::MAX - 9),
        ("zero", key, 0),
    ];
    for (name, rkey, va) in cases {
        let reth = Reth {
            va,
            rkey,
            dma_len: 20,
        };
        let frames = frames(&mut bench, &[(rc::WRITE_ONLY, 20, 20)], reth, 0)?;
        fail(&mut bench, frames, Failure::access()).context(name)?;
    }
    // The whole message is checked with its first packet.
    let reth = Reth {
        va: va + len - 3 * MTU as u64 + 1,
        rkey: key,
        dma_len: 0,
    };
    let whole = frames(
        &mut bench,
        &[(rc::WRITE_FIRST, 3 * MTU as u32, MTU)],
        reth,
        0,
    )?;
    fail(&mut bench, whole, Failure::access()).context("end of a longer message")?;

    // The QP itself does not allow writing.
    renew(&mut bench, Access::LOCAL_WRITE)?;
    fail_script(
        &mut bench,
        "QP without remote write",
        &[(rc::WRITE_ONLY, 4, 4)],
    )
}

//! Frames that must not get past the parser.

use anyhow::{Context, Result};
use ferroce_abi::frame::{on_wire, reseal};
use ferroce_abi::headers::Reth;
use ferroce_abi::opcode::rc;
use ferroce_driver::Counter;
use ferroce_tests::bench::{dropped, refused, Bench, Counts};
use ferroce_tests::edit::*;
use ferroce_tests::model;
use ferroce_tests::peer::{Peer, PeerConfig};
use ferroce_tests::seed::seed;
use rand::Rng;

/// Payload of the frames that are spoiled.
const LEN: usize = 101;

/// A bench whose first QP is connected.
fn bench() -> Result<Bench> {
    Bench::new(&model::small()?, seed(), &[PeerConfig::default()])
}

/// A good WRITE without FCS.
fn frame(bench: &mut Bench) -> Result<Vec<u8>> {
    Ok(bench.write_only(0, LEN)?.0.encode()?)
}

/// The card drops `wire`, counts it, and takes the next good frame.
fn check(bench: &mut Bench, name: &str, wire: Vec<u8>, counts: &Counts) -> Result<()> {
    bench
        .exchange(vec![wire], &[], counts)
        .and_then(|()| bench.good(0))
        .with_context(|| name.to_owned())
}

/// Spoils a good frame; `seal` makes checksum and ICRC right again.
fn spoil(
    bench: &mut Bench,
    name: &str,
    seal: bool,
    edit: impl FnOnce(&mut Vec<u8>),
    counts: &Counts,
) -> Result<()> {
    let mut bytes = frame(bench)?;
    edit(&mut bytes);
    if seal {
        fix_checksum(&mut bytes);
        reseal(&mut bytes)?;
    }
    check(bench, name, on_wire(bytes), counts)
}

#[test]
fn damaged_frames() -> Result<()> {
    let mut bench = bench()?;
    let icrc = dropped(Counter::RxDropIcrc);
    let end = PAYLOAD + LEN.next_multiple_of(4);
    for at in [
        UDP,
        BTH + 8,
        BTH + 11,
        54,
        PAYLOAD,
        end - 1,
        end,
        end + 1,
        end + 2,
        end + 3,
    ] {
        let bit = 1 << bench.rng.gen_range(0..8);
        spoil(
            &mut bench,
            &format!("ICRC, byte {at}"),
            false,
            |f| f[at] ^= bit,
            &icrc,
        )?;
    }
    for at in [IP_ID, SOURCE_IP + 3] {
        let edit = |f: &mut Vec<u8>| {
            f[at] ^= 1;
            fix_checksum(f);
        };
        spoil(
            &mut bench,
            &format!("ICRC, IP byte {at}"),
            false,
            edit,
            &icrc,
        )?;
    }
    for n in 0..8 {
        let mut wire = on_wire(frame(&mut bench)?);
        let at = if n < 4 {
            wire.len() - 1 - n
        } else {
            bench.rng.gen_range(0..wire.len())
        };
        wire[at] ^= 1 << bench.rng.gen_range(0..8);
        check(&mut bench, "FCS", wire, &dropped(Counter::RxDropFcs))?;
    }
    for at in [CHECKSUM, CHECKSUM + 1, TTL, IP + 1] {
        let counts = dropped(Counter::RxDropIpChecksum);
        spoil(&mut bench, "IP checksum", false, |f| f[at] ^= 0x10, &counts)?;
    }
    bench.image.check()
}

#[test]
fn frames_of_wrong_lengths() -> Result<()> {
    let mut bench = bench()?;
    let runt = dropped(Counter::RxDropRunt);
    for len in [1, 2, 3, 4, 5, 8, 14, 20, 46, 58, 60, 63] {
        let bytes = frame(&mut bench)?;
        let wire = match len {
            0..=3 => bytes[..len].to_vec(),
            _ => with_fcs(&bytes[..len - 4]),
        };
        check(&mut bench, &format!("runt of {len}"), wire, &runt)?;
    }
    let length = dropped(Counter::RxDropLength);
    let full = PAYLOAD + LEN.next_multiple_of(4) + 4;
    for len in [60, 63, 64, 65, 70, 100, 127, 128, 129, full - 4, full - 1] {
        let wire = with_fcs(&frame(&mut bench)?[..len]);
        check(&mut bench, &format!("cut at {len}"), wire, &length)?;
    }
    for (at, name) in [(UDP_LEN, "UDP"), (TOTAL_LEN, "IP")] {
        for difference in [-1, 1, -4, 4, -20, 100, 0x4000] {
            let name = format!("{name} length {difference:+}");
            let edit = |f: &mut Vec<u8>| add16(f, at, difference);
            spoil(&mut bench, &name, true, edit, &length)?;
        }
        for value in [0u16, 7, 8, 20, 27, 28, 0xffff] {
            let edit = |f: &mut Vec<u8>| f[at..][..2].copy_from_slice(&value.to_be_bytes());
            spoil(
                &mut bench,
                &format!("{name} length {value}"),
                true,
                edit,
                &length,
            )?;
        }
    }
    // Both agree, but not with the frame or with the headers.
    for (difference, counter) in [
        (4, Counter::RxDropLength),
        (400, Counter::RxDropLength),
        (-4, Counter::RxDropIcrc),
        (24 - (LEN + 3 + 8 + 28 + 4) as i32, Counter::RxDropLength),
    ] {
        let edit = |f: &mut Vec<u8>| {
            add16(f, UDP_LEN, difference);
            add16(f, TOTAL_LEN, difference);
        };
        let name = format!("both lengths {difference:+}");
        spoil(&mut bench, &name, true, edit, &dropped(counter))?;
    }
    let none = Reth {
        va: 0,
        rkey: 0,
        dma_len: 0,
    };
    for pad in 1..4 {
        let send = bench.peers[0].request(&bench.open, rc::SEND_ONLY, 0, none, &[]);
        let mut bytes = send.encode()?;
        bytes[BTH + 1] |= pad << 4;
        reseal(&mut bytes)?;
        check(&mut bench, "pad without payload", on_wire(bytes), &length)?;
    }
    bench.image.check()
}

#[test]
fn frames_that_are_too_long() -> Result<()> {
    let mut bench = bench()?;
    let oversize = dropped(Counter::RxDropOversize);
    for len in [4097, 4100, 9000] {
        let (big, _) = bench.write_only(0, len)?;
        check(
            &mut bench,
            &format!("{len} bytes of payload"),
            on_wire(big.encode()?),
            &oversize,
        )?;
    }
    for len in [9601, 9664, 9665, 20_000] {
        let mut bytes = frame(&mut bench)?;
        bytes.resize(len - 4, 0x77);
        check(
            &mut bench,
            &format!("frame of {len}"),
            with_fcs(&bytes),
            &oversize,
        )?;
    }
    bench.image.check()
}

#[test]
fn frames_that_are_not_for_the_card() -> Result<()> {
    let mut bench = bench()?;
    let not_roce = dropped(Counter::RxDropNotRoce);
    type Edit = (&'static str, fn(&mut Vec<u8>));
    let edits: [Edit; 12] = [
        ("ARP", |f| f[12..14].copy_from_slice(&[0x08, 0x06])),
        ("IPv6", |f| f[12..14].copy_from_slice(&[0x86, 0xdd])),
        ("EtherType 0", |f| f[12..14].fill(0)),
        ("VLAN", |f| {
            f.splice(12..12, [0x81, 0, 0, 5]);
        }),
        ("IP version 5", |f| f[IP] = 0x55),
        ("IP options", |f| {
            f[IP] = 0x46;
            add16(f, TOTAL_LEN, 4);
            f.splice(UDP..UDP, [1, 1, 1, 0]);
        }),
        ("IHL 4", |f| f[IP] = 0x44),
        ("more fragments", |f| f[FRAGMENT] |= 0x20),
        ("fragment offset", |f| f[FRAGMENT + 1] = 1),
        ("last fragment", |f| f[FRAGMENT] |= 0x10),
        ("TCP", |f| f[PROTOCOL] = 6),
        ("UDP port 4790", |f| f[UDP + 3] -= 1),
    ];
    for (name, edit) in edits {
        let mut bytes = frame(&mut bench)?;
        edit(&mut bytes);
        // Whether the checksum is right makes no difference; ICRCs are only there in IP packets.
        fix_checksum(&mut bytes);
        check(&mut bench, name, on_wire(bytes), &not_roce)?;
    }
    for byte in [0x00, 0xff] {
        check(&mut bench, "nonsense", with_fcs(&[byte; 60]), &not_roce)?;
    }
    let address = dropped(Counter::RxDropAddress);
    for at in [0, 2, 3, 5, TARGET_IP, TARGET_IP + 3] {
        spoil(
            &mut bench,
            &format!("address byte {at}"),
            true,
            |f| f[at] ^= 4,
            &address,
        )?;
    }
    spoil(
        &mut bench,
        "broadcast",
        true,
        |f| f[..6].fill(0xff),
        &address,
    )?;
    for tver in [1, 8, 15] {
        let counts = dropped(Counter::RxDropTver);
        spoil(&mut bench, "TVer", true, |f| f[BTH + 1] |= tver, &counts)?;
    }
    for service in 1..8 {
        let counts = dropped(Counter::RxDropOpcode);
        let name = format!("service {service}");
        spoil(&mut bench, &name, true, |f| f[BTH] |= service << 5, &counts)?;
    }
    spoil(
        &mut bench,
        "CNP",
        true,
        |f| f[BTH] = 0x81,
        &dropped(Counter::RxDropOpcode),
    )?;
    bench.image.check()
}

#[test]
fn packets_that_no_qp_takes() -> Result<()> {
    let mut bench = bench()?;
    let idle = Peer::new(&bench.open, 0x222, PeerConfig::default())?;
    idle.qp.reset()?;
    let qpn = bench.peers[0].qp.qpn();
    let mut cases = Vec::new();
    for other in [
        0x10,
        0x4000 | qpn,
        0x10_0000 | qpn,
        0x80_0000 | qpn,
        0xff_ffff,
    ] {
        cases.push((
            BTH + 5,
            other.to_be_bytes()[1..].to_vec(),
            Counter::RxDropQpn,
        ));
    }
    for other in [0, 1, idle.qp.qpn(), 15] {
        cases.push((
            BTH + 5,
            other.to_be_bytes()[1..].to_vec(),
            Counter::RxDropQpState,
        ));
    }
    for pkey in [0xfffeu16, 0x7ffe, 0x8000, 0x0000] {
        cases.push((BTH + 2, pkey.to_be_bytes().to_vec(), Counter::RxDropPkey));
    }
    for last in [1, 3, 0xff] {
        cases.push((SOURCE_IP + 3, vec![last], Counter::RxDropPeer));
    }
    for (at, bytes, counter) in cases {
        let name = format!("{bytes:02x?} at byte {at}");
        let edit = |f: &mut Vec<u8>| f[at..][..bytes.len()].copy_from_slice(&bytes);
        spoil(&mut bench, &name, true, edit, &refused(counter))?;
    }
    bench.image.check()
}

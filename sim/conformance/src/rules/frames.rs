//! Damaged frames and frames of wrong lengths: the parser drops and counts them.

use anyhow::Result;
use ferroce_abi::frame::{on_wire, reseal};
use ferroce_abi::headers::Reth;
use ferroce_abi::opcode::rc;
use ferroce_driver::Counter;
use rand::Rng;

use crate::bench::{dropped, Bench};
use crate::edit::*;
use crate::spoil::{check, frame, spoil, Seal, LEN};

/// A wrong ICRC, wherever the damage is that it covers.
pub fn icrc(bench: &mut Bench) -> Result<()> {
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
        let name = format!("ICRC, byte {at}");
        spoil(bench, &name, Seal::Old, |f| f[at] ^= bit, &icrc)?;
    }
    for at in [IP_ID, SOURCE_IP + 3] {
        let edit = |f: &mut Vec<u8>| {
            f[at] ^= 1;
            fix_checksum(f);
        };
        spoil(
            bench,
            &format!("ICRC, IP byte {at}"),
            Seal::Old,
            edit,
            &icrc,
        )?;
    }
    bench.image.check()
}

/// A wrong FCS.
pub fn fcs(bench: &mut Bench) -> Result<()> {
    for n in 0..8 {
        let mut wire = on_wire(frame(bench)?);
        let at = if n < 4 {
            wire.len() - 1 - n
        } else {
            bench.rng.gen_range(0..wire.len())
        };
        wire[at] ^= 1 << bench.rng.gen_range(0..8);
        check(bench, "FCS", wire, &dropped(Counter::RxDropFcs))?;
    }
    bench.image.check()
}

/// A wrong header checksum.
pub fn ip_checksum(bench: &mut Bench) -> Result<()> {
    let counts = dropped(Counter::RxDropIpChecksum);
    for at in [CHECKSUM, CHECKSUM + 1, TTL, IP + 1] {
        spoil(bench, "IP checksum", Seal::Old, |f| f[at] ^= 0x10, &counts)?;
    }
    bench.image.check()
}

/// Less than 64 bytes.
pub fn runts(bench: &mut Bench) -> Result<()> {
    let runt = dropped(Counter::RxDropRunt);
    for len in [1, 2, 3, 4, 5, 8, 14, 20, 46, 58, 60, 63] {
        let bytes = frame(bench)?;
        let wire = match len {
            0..=3 => bytes[..len].to_vec(),
            _ => with_fcs(&bytes[..len - 4]),
        };
        check(bench, &format!("runt of {len}"), wire, &runt)?;
    }
    bench.image.check()
}

/// More than a path MTU of 4096 needs, and more than the MAC takes.
pub fn oversize(bench: &mut Bench) -> Result<()> {
    let oversize = dropped(Counter::RxDropOversize);
    for len in [4097, 4100, 9000] {
        let (big, _) = bench.write_only(0, len)?;
        let name = format!("{len} bytes of payload");
        check(bench, &name, on_wire(big.encode()?), &oversize)?;
    }
    for len in [9601, 9664, 9665, 20_000] {
        let mut bytes = frame(bench)?;
        bytes.resize(len - 4, 0x77);
        check(
            bench,
            &format!("frame of {len}"),
            with_fcs(&bytes),
            &oversize,
        )?;
    }
    bench.image.check()
}

/// A frame that ends before its headers say.
pub fn cut(bench: &mut Bench) -> Result<()> {
    let length = dropped(Counter::RxDropLength);
    let full = PAYLOAD + LEN.next_multiple_of(4) + 4;
    for len in [60, 63, 64, 65, 70, 100, 127, 128, 129, full - 4, full - 1] {
        let wire = with_fcs(&frame(bench)?[..len]);
        check(bench, &format!("cut at {len}"), wire, &length)?;
    }
    bench.image.check()
}

fn length_field(bench: &mut Bench, at: usize) -> Result<()> {
    let length = dropped(Counter::RxDropLength);
    for difference in [-1, 1, -4, 4, -20, 100, 0x4000] {
        let edit = |f: &mut Vec<u8>| add16(f, at, difference);
        let name = format!("length {difference:+}");
        spoil(bench, &name, Seal::Renewed, edit, &length)?;
    }
    for value in [0u16, 7, 8, 20, 27, 28, 0xffff] {
        let edit = |f: &mut Vec<u8>| f[at..][..2].copy_from_slice(&value.to_be_bytes());
        spoil(
            bench,
            &format!("length {value}"),
            Seal::Renewed,
            edit,
            &length,
        )?;
    }
    bench.image.check()
}

/// A UDP length that disagrees with that of IP.
pub fn udp_length(bench: &mut Bench) -> Result<()> {
    length_field(bench, UDP_LEN)
}

/// A total length that disagrees with that of UDP.
pub fn ip_length(bench: &mut Bench) -> Result<()> {
    length_field(bench, TOTAL_LEN)
}

/// Both lengths agree, but not with the frame or with the headers.
pub fn both_lengths(bench: &mut Bench) -> Result<()> {
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
        spoil(bench, &name, Seal::Renewed, edit, &dropped(counter))?;
    }
    bench.image.check()
}

/// A pad count that is larger than the payload.
pub fn pad(bench: &mut Bench) -> Result<()> {
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
        let counts = dropped(Counter::RxDropLength);
        check(bench, "pad without payload", on_wire(bytes), &counts)?;
    }
    bench.image.check()
}

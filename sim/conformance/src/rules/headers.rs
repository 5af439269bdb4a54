//! Headers that are not for the card or for no QP of it, and odd ones that are good.

use anyhow::{Context, Result};
use ferroce_abi::frame::{on_wire, reseal};
use ferroce_driver::Counter;

use crate::bench::{dropped, refused, Bench};
use crate::edit::*;
use crate::peer::{Peer, PeerConfig};
use crate::spoil::{check, frame, spoil, Seal, LEN};

type Edit = (&'static str, fn(&mut Vec<u8>));

fn not_roce(bench: &mut Bench, edits: &[Edit]) -> Result<()> {
    let counts = dropped(Counter::RxDropNotRoce);
    for (name, edit) in edits {
        let mut bytes = frame(bench)?;
        edit(&mut bytes);
        // Whether the checksum is right makes no difference; ICRCs are only there in IP packets.
        fix_checksum(&mut bytes);
        check(bench, name, on_wire(bytes), &counts)?;
    }
    bench.image.check()
}

/// Other protocols in Ethernet, IP and UDP.
pub fn other_protocols(bench: &mut Bench) -> Result<()> {
    not_roce(
        bench,
        &[
            ("ARP", |f| f[12..14].copy_from_slice(&[0x08, 0x06])),
            ("IPv6", |f| f[12..14].copy_from_slice(&[0x86, 0xdd])),
            ("EtherType 0", |f| f[12..14].fill(0)),
            ("VLAN", |f| {
                f.splice(12..12, [0x81, 0, 0, 5]);
            }),
            ("IP version 5", |f| f[IP] = 0x55),
            ("TCP", |f| f[PROTOCOL] = 6),
            ("UDP port 4790", |f| f[UDP + 3] -= 1),
        ],
    )?;
    for byte in [0x00, 0xff] {
        let counts = dropped(Counter::RxDropNotRoce);
        check(bench, "nonsense", with_fcs(&[byte; 60]), &counts)?;
    }
    Ok(())
}

/// Options between IP and UDP header, or a header that is too short.
pub fn ip_options(bench: &mut Bench) -> Result<()> {
    not_roce(
        bench,
        &[
            ("IP options", |f| {
                f[IP] = 0x46;
                add16(f, TOTAL_LEN, 4);
                f.splice(UDP..UDP, [1, 1, 1, 0]);
            }),
            ("IHL 4", |f| f[IP] = 0x44),
        ],
    )
}

/// Fragments: the first, one in the middle, the last.
pub fn ip_fragments(bench: &mut Bench) -> Result<()> {
    not_roce(
        bench,
        &[
            ("more fragments", |f| f[FRAGMENT] |= 0x20),
            ("fragment offset", |f| f[FRAGMENT + 1] = 1),
            ("last fragment", |f| f[FRAGMENT] |= 0x10),
        ],
    )
}

/// Destinations other than the card.
pub fn addresses(bench: &mut Bench) -> Result<()> {
    let address = dropped(Counter::RxDropAddress);
    for at in [0, 2, 3, 5, TARGET_IP, TARGET_IP + 3] {
        let name = format!("address byte {at}");
        spoil(bench, &name, Seal::Renewed, |f| f[at] ^= 4, &address)?;
    }
    let broadcast = |f: &mut Vec<u8>| f[..6].fill(0xff);
    spoil(bench, "broadcast", Seal::Renewed, broadcast, &address)?;
    bench.image.check()
}

/// A transport version other than 0.
pub fn tver(bench: &mut Bench) -> Result<()> {
    for tver in [1, 8, 15] {
        let counts = dropped(Counter::RxDropTver);
        spoil(
            bench,
            "TVer",
            Seal::Renewed,
            |f| f[BTH + 1] |= tver,
            &counts,
        )?;
    }
    bench.image.check()
}

/// Opcodes of services other than RC, CNPs among them.
pub fn other_services(bench: &mut Bench) -> Result<()> {
    let counts = dropped(Counter::RxDropOpcode);
    for service in 1..8 {
        let name = format!("service {service}");
        let edit = |f: &mut Vec<u8>| f[BTH] |= service << 5;
        spoil(bench, &name, Seal::Renewed, edit, &counts)?;
    }
    spoil(bench, "CNP", Seal::Renewed, |f| f[BTH] = 0x81, &counts)?;
    bench.image.check()
}

fn refuse(bench: &mut Bench, at: usize, bytes: &[u8], counter: Counter) -> Result<()> {
    let name = format!("{bytes:02x?} at byte {at}");
    let edit = |f: &mut Vec<u8>| f[at..][..bytes.len()].copy_from_slice(bytes);
    spoil(bench, &name, Seal::Renewed, edit, &refused(counter))
}

/// QPNs that the table has no entry for.
pub fn qpn_beyond_table(bench: &mut Bench) -> Result<()> {
    let qpn = bench.peers[0].qp.qpn();
    for other in [
        0x10,
        0x4000 | qpn,
        0x10_0000 | qpn,
        0x80_0000 | qpn,
        0xff_ffff,
    ] {
        refuse(
            bench,
            BTH + 5,
            &other.to_be_bytes()[1..],
            Counter::RxDropQpn,
        )?;
    }
    bench.image.check()
}

/// QPs that are not ready to receive.
pub fn qp_state(bench: &mut Bench) -> Result<()> {
    let idle = Peer::new(&bench.open, 0x222, PeerConfig::default())?;
    idle.qp.reset()?;
    for other in [0, 1, idle.qp.qpn(), 15] {
        let bytes = &other.to_be_bytes()[1..];
        refuse(bench, BTH + 5, bytes, Counter::RxDropQpState)?;
    }
    bench.image.check()
}

/// P_Keys of other partitions.
pub fn pkey(bench: &mut Bench) -> Result<()> {
    for pkey in [0xfffeu16, 0x7ffe, 0x8000, 0x0000] {
        refuse(bench, BTH + 2, &pkey.to_be_bytes(), Counter::RxDropPkey)?;
    }
    bench.image.check()
}

/// Senders other than the QP's peer.
pub fn source_address(bench: &mut Bench) -> Result<()> {
    for last in [1, 3, 0xff] {
        refuse(bench, SOURCE_IP + 3, &[last], Counter::RxDropPeer)?;
    }
    bench.image.check()
}

/// A frame that `edit` has made odd is executed.
fn take(bench: &mut Bench, (name, edit): Edit) -> Result<()> {
    let (good, place) = bench.write_only(0, LEN)?;
    let mut bytes = good.encode()?;
    edit(&mut bytes);
    fix_checksum(&mut bytes);
    reseal(&mut bytes)?;
    if name.starts_with("padding") {
        bytes.resize(bytes.len() + 90, 0x99);
    }
    bench
        .accept(0, on_wire(bytes), place, &good.packet.payload)
        .context(name)
}

/// What may change on the way, or what no receiver may look at.
pub fn odd_and_good(bench: &mut Bench) -> Result<()> {
    let edits: [Edit; 13] = [
        ("source MAC", |f| f[6..12].fill(0x33)),
        ("TOS", |f| f[IP + 1] = 0xff),
        ("TTL", |f| f[TTL] = 1),
        ("IP ID", |f| f[IP_ID] = 0x55),
        ("may be fragmented", |f| f[FRAGMENT] = 0),
        ("UDP source port", |f| f[UDP] = 1),
        ("UDP checksum", |f| f[UDP_CHECKSUM] = 0x55),
        ("solicited", |f| f[BTH + 1] |= 0x80),
        ("not migrated", |f| f[BTH + 1] &= !0x40),
        ("limited member", |f| f[BTH + 2] = 0x7f),
        ("FECN, BECN, reserved", |f| f[BTH + 4] = 0xff),
        ("reserved beside AckReq", |f| f[BTH + 8] |= 0x7f),
        ("padding behind the ICRC", |_| {}),
    ];
    for edit in edits {
        take(bench, edit)?;
    }
    bench.image.check()
}

/// 3 pad bytes of any value are not delivered.
pub fn three_pad_bytes(bench: &mut Bench) -> Result<()> {
    let zero: Edit = ("pad of zeros", |_| {});
    let other: Edit = ("pad of other bytes", |f| {
        let at = PAYLOAD + LEN;
        f[at..at + 3].fill(0xee);
    });
    for edit in [zero, other] {
        take(bench, edit)?;
    }
    bench.image.check()
}

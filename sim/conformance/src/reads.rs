//! READs and atomics of the software peer, and what the card must answer.

use anyhow::Result;
use ferroce_abi::frame::{on_wire, Extensions, Packet};
use ferroce_abi::headers::{Aeth, AtomicAckEth, AtomicEth, Bth, Reth, Syndrome};
use ferroce_abi::opcode::rc;
use ferroce_driver::{Access, Counter, Mr, Pmtu};

use crate::bench::{Bench, ACK};
use crate::peer::{add24, same_frames, Peer, PeerConfig};

/// Connections whose peers may do everything.
pub fn configs(pmtu: Pmtu) -> [PeerConfig; 2] {
    let config = PeerConfig {
        pmtu,
        access: Access::ALL,
        ..PeerConfig::default()
    };
    [config; 2]
}

/// PSNs that the answer to a READ of `len` bytes takes.
pub fn psns(len: usize, pmtu: Pmtu) -> u32 {
    len.div_ceil(pmtu.bytes() as usize).max(1) as u32
}

/// Where `len` bytes at `offset` of a region are, for a peer.
///
/// # Errors
/// They are outside.
pub fn reth(mr: &Mr, offset: usize, len: usize) -> Result<Reth> {
    let remote = mr.remote(offset)?;
    Ok(Reth {
        va: remote.addr,
        rkey: remote.rkey,
        dma_len: len as u32,
    })
}

/// A READ request `ahead` PSNs after the expected one, as it comes out of the cable.
///
/// # Errors
/// None for real packets.
pub fn read(bench: &Bench, qp: usize, ahead: u32, reth: Reth) -> Result<Vec<u8>> {
    let frame = bench.peers[qp].request(&bench.open, rc::READ_REQUEST, ahead, reth, &[]);
    Ok(on_wire(frame.encode()?))
}

/// An atomic, as [`read`].
///
/// # Errors
/// None for real packets.
pub fn atomic(
    bench: &Bench,
    qp: usize,
    opcode: u8,
    ahead: u32,
    header: AtomicEth,
) -> Result<Vec<u8>> {
    let peer = &bench.peers[qp];
    let mut packet = Packet::new(Bth {
        ackreq: true,
        ..Bth::new(opcode, peer.qp.qpn(), add24(peer.psn, ahead))
    });
    packet.ext = Extensions {
        atomic: Some(header),
        ..Extensions::default()
    };
    Ok(on_wire(peer.to_card(&bench.open, packet).encode()?))
}

/// The answer to a READ whose first PSN is `psn`.
///
/// # Errors
/// None for real packets.
pub fn response(
    bench: &Bench,
    qp: usize,
    psn: u32,
    msn: u32,
    bytes: &[u8],
) -> Result<Vec<Vec<u8>>> {
    let peer = &bench.peers[qp];
    let mtu = peer.config.pmtu.bytes() as usize;
    let last = psns(bytes.len(), peer.config.pmtu) - 1;
    (0..=last)
        .map(|n| {
            let opcode = match (n == 0, n == last) {
                (true, true) => rc::READ_RESPONSE_ONLY,
                (true, false) => rc::READ_RESPONSE_FIRST,
                (false, true) => rc::READ_RESPONSE_LAST,
                (false, false) => rc::READ_RESPONSE_MIDDLE,
            };
            let mut packet = Packet::new(Bth::new(opcode, peer.qpn, add24(psn, n)));
            packet.ext.aeth = (opcode != rc::READ_RESPONSE_MIDDLE).then_some(aeth(msn));
            let start = n as usize * mtu;
            packet.payload = bytes[start..bytes.len().min(start + mtu)].to_vec();
            peer.from_card(&bench.open, packet)
        })
        .collect()
}

/// The answer to an atomic.
///
/// # Errors
/// None for real packets.
pub fn original(bench: &Bench, qp: usize, psn: u32, msn: u32, value: u64) -> Result<Vec<u8>> {
    let peer = &bench.peers[qp];
    let mut packet = Packet::new(Bth::new(rc::ATOMIC_ACKNOWLEDGE, peer.qpn, psn));
    packet.ext.aeth = Some(aeth(msn));
    packet.ext.atomic_ack = Some(AtomicAckEth { original: value });
    peer.from_card(&bench.open, packet)
}

fn aeth(msn: u32) -> Aeth {
    Aeth {
        syndrome: Syndrome::from(ACK),
        msn,
    }
}

/// Counts a request of the peer that the card executes.
pub fn executed(peer: &mut Peer, psns: u32) {
    (peer.psn, peer.msn) = (add24(peer.psn, psns), add24(peer.msn, 1));
}

/// Core cycles in which a few packets with payload come back.
pub const READ_CYCLES: u64 = 4000;

/// A READ of `len` bytes at `offset` must be answered, alone.
///
/// # Errors
/// The card does anything else.
pub fn good_read(bench: &mut Bench, qp: usize, offset: usize, len: usize) -> Result<()> {
    let reth = reth(&bench.image.mr, offset, len)?;
    let request = read(bench, qp, 0, reth)?;
    let pmtu = bench.peers[qp].config.pmtu;
    let (psn, msn) = (bench.peers[qp].psn, add24(bench.peers[qp].msn, 1));
    let bytes = bench.image.bytes(offset..offset + len);
    let want = response(bench, qp, psn, msn, bytes)?;
    bench.open.inject_raw(request);
    let packets = psns(len, pmtu);
    let got = bench.open.run(READ_CYCLES + len as u64 / 8)?;
    same_frames(&got, &want)?;
    executed(&mut bench.peers[qp], packets);
    bench.counted(&[
        (Counter::RxFrames, 1),
        (Counter::RxPackets, 1),
        (Counter::RxRequests, 1),
        (Counter::RxMessages, 1),
        (Counter::RxReads, 1),
        (Counter::TxFrames, packets.into()),
        (Counter::TxReadResponses, packets.into()),
    ])
}

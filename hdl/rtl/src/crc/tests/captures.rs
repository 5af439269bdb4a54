//! Frames of Linux Soft-RoCE, recorded on the wire: their ICRC must be ours.

use super::engines::{number, run};
use super::support::*;
use crate::crc::{IcrcCheck, IcrcEngine, CHECK_LATENCY, ICRC_LATENCY};
use ferroce_abi::headers::net::ROCE_PORT;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::path::PathBuf;

/// First byte of the UDP destination port, by IP version.
const UDP_PORT_IPV4: usize = 36;
const UDP_PORT_IPV6: usize = 56;

fn data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../tests/data", name]
        .iter()
        .collect()
}

/// Frames of the text file, one a line, all of RoCEv2.
fn listed_frames() -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(data("rxe_frames.txt")).expect("recorded frames");
    text.lines()
        .map(|line| {
            let (_, digits) = line.rsplit_once("frame=").expect("a frame");
            (0..digits.len())
                .step_by(2)
                .map(|k| u8::from_str_radix(&digits[k..k + 2], 16).expect("hex"))
                .collect()
        })
        .collect()
}

/// The packets of a capture file of either format.
fn packets(name: &str) -> Vec<Vec<u8>> {
    let file = std::fs::File::open(data(name)).expect("a capture");
    let mut packets = Vec::new();
    if name.ends_with(".pcapng") {
        let mut reader = PcapNgReader::new(file).expect("a pcapng file");
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.expect("a block") {
                packets.push(packet.data.into_owned());
            }
        }
    } else {
        let mut reader = PcapReader::new(file).expect("a pcap file");
        while let Some(packet) = reader.next_packet() {
            packets.push(packet.expect("a packet").data.into_owned());
        }
    }
    packets
}

/// The frame of a packet up to the end of its IP packet, if it is RoCEv2.
fn roce_frame(packet: &[u8]) -> Option<Vec<u8>> {
    let word = |at: usize| {
        let bytes = packet.get(at..at + 2)?;
        Some(usize::from(bytes[0]) << 8 | usize::from(bytes[1]))
    };
    let (end, port) = match word(12)? {
        0x0800 => (14 + word(16)?, word(UDP_PORT_IPV4)?),
        0x86DD => (54 + word(18)?, word(UDP_PORT_IPV6)?),
        _ => return None,
    };
    (port == usize::from(ROCE_PORT)).then(|| packet[..end].to_vec())
}

fn captured_frames(name: &str) -> Vec<Vec<u8>> {
    packets(name).iter().filter_map(|p| roce_frame(p)).collect()
}

fn check(frames: Vec<Vec<u8>>) {
    on_big_stack(move || {
        let mut noise = seeded("captures");
        let good = frames.iter().map(|frame| (frame.clone(), true)).collect();
        run(IcrcCheck::default(), CHECK_LATENCY, good, 0.0, &mut noise);
        let cut = frames
            .iter()
            .map(|frame| {
                let (covered, icrc) = frame.split_at(frame.len() - 4);
                let icrc = icrc.try_into().expect("4 bytes");
                (covered.to_vec(), number(icrc))
            })
            .collect();
        run(IcrcEngine::default(), ICRC_LATENCY, cut, 0.0, &mut noise);
    });
}

#[test]
fn every_kind_of_frame() {
    let frames = listed_frames();
    assert_eq!(frames.len(), 44);
    check(frames);
}

#[test]
fn odd_payload_sizes() {
    let frames = captured_frames("rxe_odd_sizes.pcap");
    assert!(frames.len() > 100, "{} frames", frames.len());
    check(frames);
}

#[test]
fn path_mtu_of_4096() {
    let frames = captured_frames("rxe_mtu4096.pcapng");
    assert!(frames.len() > 100, "{} frames", frames.len());
    check(frames);
}

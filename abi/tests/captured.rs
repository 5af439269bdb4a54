//! Frames of Linux Soft-RoCE, recorded on the wire: our own encoders and checksums must reproduce them
//! byte for byte.

use ferroce_abi::frame::{on_wire, reseal, Frame, FrameError, Ip};
use ferroce_abi::icrc;
use ferroce_abi::opcode::{Opcode, Transport};

const FRAMES: &str = include_str!("../../tests/data/rxe_frames.txt");

/// Name, declared pad, declared ICRC, frame without FCS.
fn frames() -> Vec<(String, u8, Vec<u8>, Vec<u8>)> {
    FRAMES
        .lines()
        .map(|line| {
            let mut words = line.split(' ');
            let mut next = || words.next().unwrap();
            let name = format!("{} {}", next(), next());
            let pad = next().strip_prefix("pad=").unwrap().parse().unwrap();
            let icrc = hex(next().strip_prefix("icrc_bytes=").unwrap());
            let frame = hex(next().strip_prefix("frame=").unwrap());
            (name, pad, icrc, frame)
        })
        .collect()
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|k| u8::from_str_radix(&text[k..k + 2], 16).unwrap())
        .collect()
}

#[test]
fn icrc_matches_every_recorded_frame() {
    let frames = frames();
    assert_eq!(frames.len(), 44);
    for (name, _, icrc, frame) in frames {
        let end = frame.len() - 4;
        assert_eq!(icrc::icrc(&frame[14..end]).unwrap(), icrc[..], "{name}");
        assert_eq!(frame[end..], icrc[..], "{name}");
    }
}

#[test]
fn recorded_frames_are_rebuilt_from_their_fields() {
    for (name, pad, _, bytes) in frames() {
        let frame = Frame::decode(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(frame.packet.bth.pad, pad, "{name}");
        let opcode = frame.packet.opcode().unwrap();
        assert_eq!(opcode.transport(), Transport::Rc, "{name}");
        assert!(frame.packet.ext.fit(opcode), "{name}");
        assert_eq!(
            matches!(frame.ip, Ip::V4(_)),
            name.starts_with("v4"),
            "{name}"
        );
        assert_eq!(frame.encode().unwrap(), bytes, "{name}");
        // Ethernet padding is not part of the packet.
        let mut padded = bytes.clone();
        padded.extend_from_slice(&[0xEE; 7]);
        assert_eq!(Frame::decode(&padded).unwrap(), frame, "{name}");
    }
}

#[test]
fn recorded_opcodes_have_their_names() {
    for (name, _, _, bytes) in frames() {
        let opcode = Frame::decode(&bytes).unwrap().packet.bth.opcode;
        let expected = match &name[3..] {
            "RC_SEND_LAST" => 0x02,
            "RC_SEND_ONLY" => 0x04,
            "RC_WRITE_LAST" => 0x08,
            "RC_WRITE_ONLY" => 0x0A,
            "RC_READ_REQ" => 0x0C,
            "RC_READ_RESP_LAST" => 0x0F,
            "RC_READ_RESP_ONLY" => 0x10,
            "RC_ACK" => 0x11,
            "RC_ATOMIC_ACK" => 0x12,
            "RC_CMP_SWAP" => 0x13,
            "RC_FETCH_ADD" => 0x14,
            other => panic!("{other}"),
        };
        assert_eq!(opcode, expected, "{name}");
        assert_eq!(Opcode::try_from(opcode).unwrap().byte(), opcode);
    }
}

#[test]
fn any_flipped_bit_is_noticed_unless_it_may_change_on_the_way() {
    for (name, _, _, bytes) in frames() {
        let mask = icrc::mask_of(&bytes[14..]).unwrap();
        for bit in 14 * 8..bytes.len() * 8 {
            let (at, flip) = (bit / 8, 1u8 << (bit % 8));
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let masked = mask.iter().any(|&(k, m)| k + 14 == at && m & flip != 0);
            let end = damaged.len() - 4;
            let icrc_ok =
                icrc::icrc(&damaged[14..end]).is_some_and(|crc| crc[..] == damaged[end..]);
            assert_eq!(icrc_ok, masked, "{name}: bit {bit}");
        }
    }
}

#[test]
fn resealing_makes_a_changed_frame_valid_again() {
    for (name, _, _, mut bytes) in frames() {
        let psn = if bytes[12] == 0x08 {
            14 + 20 + 8 + 11
        } else {
            14 + 40 + 8 + 11
        };
        bytes[psn] ^= 0x55;
        assert_eq!(Frame::decode(&bytes), Err(FrameError::Icrc), "{name}");
        reseal(&mut bytes).unwrap();
        Frame::decode(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn frames_on_the_wire_have_the_crc_residue() {
    for (name, _, _, bytes) in frames() {
        let wire = on_wire(bytes.clone());
        assert!(wire.len() >= 64 && wire.starts_with(&bytes), "{name}");
        // A CRC-32 over data and its own FCS gives this constant (IEEE 802.3).
        assert_eq!(icrc::fcs(&wire), 0x2144_DF1Cu32.to_le_bytes(), "{name}");
    }
}

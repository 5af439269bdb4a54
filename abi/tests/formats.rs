//! Encode, then decode: the identity for every format.

use ferroce_abi::cfg::{AvCfg, CompleterCfg, MrCfg, PortCfg, ResponderCfg, RingCfg, SenderCfg};
use ferroce_abi::cqe::{self, Cqe, Status, WcOpcode};
use ferroce_abi::frame::{Endpoint, Extensions, Frame, Ip, Packet};
use ferroce_abi::headers::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Ethernet, Ipv4, Ipv6, Mac, Reth, Syndrome, Udp,
    WireHeader, XrcEth,
};
use ferroce_abi::limits::MAX_INLINE;
use ferroce_abi::mr::Key;
use ferroce_abi::opcode::Opcode;
use ferroce_abi::regs::{CqDoorbell, QueueDoorbell};
use ferroce_abi::wqe::{flags, InlineData, RqWqe, Sge, SgeList, SqWqe, WqeError, WrOpcode};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fmt::Debug;

/// Cases from the seed in `FERROCE_SEED`, or from one that is printed.
fn config() -> ProptestConfig {
    let seed = std::env::var("FERROCE_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| {
            std::time::UNIX_EPOCH
                .elapsed()
                .map_or(0, |now| now.as_nanos() as u64)
        });
    println!("FERROCE_SEED={seed}");
    ProptestConfig {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn survives<H: WireHeader + PartialEq + Debug>(header: &H, bytes: usize) {
    let mut out = vec![0xA5];
    header.put(&mut out);
    assert_eq!(out.len(), 1 + bytes);
    let mut input = &out[1..];
    assert_eq!(H::take(&mut input).as_ref(), Ok(header));
    assert!(input.is_empty());
    for len in 0..bytes {
        let mut short = &out[1..1 + len];
        assert!(H::take(&mut short).is_err());
        assert_eq!(short.len(), len, "a failed take consumes nothing");
    }
}

prop_compose! {
    fn bth()(
        opcode: u8, se: bool, mig: bool, pad in 0u8..4, tver in 0u8..16, pkey: u16, fecn: bool,
        becn: bool, dqpn in 0u32..1 << 24, ackreq: bool, psn in 0u32..1 << 24,
    ) -> Bth {
        Bth { opcode, se, mig, pad, tver, pkey, fecn, becn, dqpn, ackreq, psn }
    }
}

prop_compose! {
    fn sge()(addr: u64, lkey: u32, len: u32) -> Sge {
        Sge { addr, lkey, len }
    }
}

fn wr_opcode() -> impl Strategy<Value = WrOpcode> {
    prop::sample::select(&WrOpcode::ALL[..])
}

fn extensions(opcode: Opcode) -> impl Strategy<Value = Extensions> {
    let numbers = (any::<[u64; 4]>(), any::<[u32; 6]>(), any::<u8>());
    numbers.prop_map(move |(long, word, byte)| Extensions {
        deth: opcode.has_deth().then_some(Deth {
            qkey: word[0],
            src_qpn: word[1] >> 8,
        }),
        xrceth: opcode.has_xrceth().then_some(XrcEth { srqn: word[1] >> 8 }),
        reth: opcode.has_reth().then_some(Reth {
            va: long[0],
            rkey: word[2],
            dma_len: word[3],
        }),
        atomic: opcode.has_atomic_eth().then_some(AtomicEth {
            va: long[0],
            rkey: word[2],
            operand: long[1],
            compare: long[2],
        }),
        aeth: opcode.has_aeth().then_some(Aeth {
            syndrome: Syndrome::from(byte),
            msn: word[4] >> 8,
        }),
        atomic_ack: opcode
            .has_atomic_ack_eth()
            .then_some(AtomicAckEth { original: long[3] }),
        imm: opcode.has_imm().then_some(word[5].to_be_bytes()),
        ieth: opcode.has_ieth().then_some(word[5].to_be_bytes()),
    })
}

prop_compose! {
    fn packet()(opcode in prop::sample::select(Opcode::all().collect::<Vec<_>>()))(
        ext in extensions(opcode),
        payload in if opcode.has_payload() { 0..600usize } else { 0..1 }
            .prop_flat_map(|len| prop::collection::vec(any::<u8>(), len)),
        bth in bth(),
        opcode in Just(opcode),
    ) -> Packet {
        let pad = (4 - payload.len() % 4) as u8 % 4;
        Packet { bth: Bth { opcode: opcode.byte(), pad, ..bth }, ext, payload }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn network_headers(
        dst: [u8; 6], src: [u8; 6], vlan: Option<u16>, words: [u16; 6], bytes: [u8; 4], ips: [u128; 2],
        flow_label in 0u32..1 << 20,
    ) {
        // A frame whose inner EtherType is a tag again is not a singly tagged frame.
        let ethertype = if words[0] == 0x8100 { 0x0800 } else { words[0] };
        survives(
            &Ethernet { dst: Mac(dst), src: Mac(src), vlan, ethertype },
            if vlan.is_some() { 18 } else { 14 },
        );
        survives(
            &Ipv4 {
                version_ihl: bytes[0], tos: bytes[1], total_len: words[1], id: words[2],
                fragment: words[3], ttl: bytes[2], protocol: bytes[3], checksum: words[4],
                src: (ips[0] as u32).into(), dst: (ips[1] as u32).into(),
            },
            20,
        );
        survives(
            &Ipv6 {
                traffic_class: bytes[0], flow_label, payload_len: words[1], next_header: bytes[1],
                hop_limit: bytes[2], src: ips[0].into(), dst: ips[1].into(),
            },
            40,
        );
        survives(&Udp { sport: words[0], dport: words[1], len: words[2], checksum: words[3] }, 8);
    }

    #[test]
    fn transport_headers(
        bth in bth(), va: u64, operand: u64, compare: u64, rkey: u32, dma_len: u32, byte: u8,
        number in 0u32..1 << 24,
    ) {
        survives(&bth, 12);
        survives(&Reth { va, rkey, dma_len }, 16);
        survives(&AtomicEth { va, rkey, operand, compare }, 28);
        survives(&Aeth { syndrome: Syndrome::from(byte), msn: number }, 4);
        survives(&AtomicAckEth { original: va }, 8);
        survives(&Deth { qkey: rkey, src_qpn: number }, 8);
        survives(&XrcEth { srqn: number }, 4);
    }

    #[test]
    fn whole_frames(
        packet in packet(), src: [u8; 6], dst: [u8; 6], sip: u32, dip: u32, sport: u16,
        vlan: Option<u16>, v6: Option<(u128, u128)>, tail in 0usize..50,
    ) {
        let end = |mac, ip: u32| Endpoint { mac: Mac(mac), ip: ip.into() };
        let mut frame = Frame::ipv4(end(src, sip), end(dst, dip), sport, packet);
        frame.eth.vlan = vlan;
        if let Some((src, dst)) = v6 {
            frame.ip = Ip::V6(Ipv6 {
                traffic_class: 0, flow_label: 0, payload_len: 0, next_header: 17, hop_limit: 64,
                src: src.into(), dst: dst.into(),
            });
        }
        let mut bytes = frame.encode().unwrap();
        let decoded = Frame::decode(&bytes).unwrap();
        prop_assert_eq!(&decoded.packet, &frame.packet);
        prop_assert_eq!(decoded.eth.vlan, vlan);
        prop_assert_eq!(decoded.encode().unwrap(), bytes.clone());
        for cut in 0..bytes.len() {
            prop_assert!(Frame::decode(&bytes[..cut]).is_err());
        }
        bytes.resize(bytes.len() + tail, 0x5A);
        prop_assert_eq!(Frame::decode(&bytes).unwrap(), decoded);
    }

    #[test]
    fn arbitrary_bytes_are_parsed_without_panic(mut bytes: Vec<u8>, v6: bool, seal: bool) {
        if bytes.len() > 38 {
            bytes[12..15].copy_from_slice(if v6 { &[0x86, 0xDD, 0x60] } else { &[8, 0, 0x45] });
            bytes[23] = 17;
            if seal {
                let _ = ferroce_abi::frame::reseal(&mut bytes);
            }
        }
        if let Ok(frame) = Frame::decode(&bytes) {
            prop_assert_eq!(Frame::decode(&frame.encode().unwrap()).unwrap().packet, frame.packet);
        }
    }

    #[test]
    fn sq_wqes(
        opcode in wr_opcode(), flags: u8, imm: [u8; 4], longs: [u64; 3], rkey: u32, length: u32,
        sges in prop::collection::vec(sge(), 0..=2),
    ) {
        let fits = sges.len() <= opcode.max_sges();
        let wqe = SqWqe {
            opcode, flags, imm, remote_va: longs[0], rkey, length, operand: longs[1],
            compare: if opcode == WrOpcode::AtomicCmpAndSwp { longs[2] } else { 0 },
            sges: SgeList::try_from(&sges[..]).unwrap(),
            inline: None,
        };
        if fits {
            prop_assert_eq!(SqWqe::decode(&wqe.encode().unwrap()), Ok(wqe));
        } else {
            prop_assert_eq!(wqe.encode(), Err(WqeError::SgeCount(2)));
        }
    }

    #[test]
    fn inline_payloads(opcode in wr_opcode(), data in prop::collection::vec(any::<u8>(), 0..300)) {
        let inline = InlineData::try_from(&data[..]);
        prop_assert_eq!(inline.is_err(), data.len() > MAX_INLINE);
        if let Ok(inline) = inline {
            let wqe = SqWqe { inline: Some(inline), ..SqWqe::new(opcode) };
            match wqe.blocks() {
                Ok(blocks) => {
                    let bytes = blocks.as_slice().as_flattened();
                    prop_assert_eq!(bytes.len(), 64 * (1 + data.len().saturating_sub(32).div_ceil(64)));
                    prop_assert_eq!(usize::from(bytes[3]), bytes.len() / 64 - 1);
                    prop_assert_eq!(bytes[1], flags::INLINE);
                    prop_assert_eq!(&bytes[32..32 + data.len()], &data[..]);
                }
                Err(error) => {
                    prop_assert_eq!(error, WqeError::InlineMix);
                    prop_assert!(!opcode.may_be_inline());
                }
            }
        }
    }

    #[test]
    fn rq_wqes(sges in prop::collection::vec(sge(), 0..=2), tag: u16) {
        let wqe = RqWqe { sges: SgeList::try_from(&sges[..]).unwrap(), tag };
        prop_assert_eq!(RqWqe::decode(&wqe.encode()), Ok(wqe));
    }

    #[test]
    fn cqes(
        opcode in prop::sample::select(&WcOpcode::ALL[..]), status in prop::sample::select(Status::ALL),
        flags: u8, qpn in 0u32..1 << 24, byte_len: u32, imm: [u8; 4], wqe_index: u16, vendor_err: u16,
        src_qpn in 0u32..1 << 24, phase: bool,
    ) {
        let cqe = Cqe {
            opcode, status, flags, qpn, byte_len, imm, wqe_index, vendor_err, src_qpn, phase,
        };
        prop_assert_eq!(Cqe::decode(&cqe.encode()), Ok(cqe));
    }

    #[test]
    fn arbitrary_queue_entries_are_decoded_without_panic(bytes: [[u8; 32]; 2]) {
        let mut wqe = [0; 64];
        wqe[..32].copy_from_slice(&bytes[0]);
        wqe[32..].copy_from_slice(&bytes[1]);
        if let Ok(decoded) = SqWqe::decode(&wqe) {
            prop_assert_eq!(SqWqe::decode(&decoded.encode().unwrap()), Ok(decoded));
        }
        if let Ok(decoded) = Cqe::decode(&bytes[0]) {
            prop_assert_eq!(Cqe::decode(&decoded.encode()), Ok(decoded));
        }
    }

    #[test]
    fn doorbells_and_keys(
        qpn in 0u32..1 << 24, producer: u16, consumer in 0u32..1 << 24, key: u32,
    ) {
        let queue = QueueDoorbell { qpn, producer, pushed: 0 };
        prop_assert_eq!(QueueDoorbell::from_bits(queue.to_bits()), queue);
        let cq = CqDoorbell { cqn: qpn, consumer };
        prop_assert_eq!(CqDoorbell::from_bits(cq.to_bits()), cq);
        let key = Key::from_bits(key);
        prop_assert_eq!(Key::new(key.index(), key.tag()), Some(key));
    }

    #[test]
    fn table_entries(words: [u64; 4]) {
        // Reading any bits and writing them again clears what belongs to no field, and nothing else.
        macro_rules! check {
            ($($entry:ident),*) => {$({
                let entry = $entry::from_bits(&words);
                let again = entry.to_bits().unwrap();
                prop_assert_eq!($entry::from_bits(&again), entry);
                let used: usize = $entry::FIELDS.iter().map(|f| f.width).sum();
                for (k, (&was, &is)) in words.iter().zip(&again).enumerate() {
                    let bits = used.saturating_sub(64 * k).min(64);
                    let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
                    prop_assert_eq!(is, was & mask);
                }
            })*};
        }
        check!(PortCfg, AvCfg, SenderCfg, CompleterCfg, ResponderCfg, RingCfg, MrCfg);
    }
}

#[test]
fn layouts_are_where_the_tables_say() {
    let mut wqe = SqWqe::new(WrOpcode::AtomicCmpAndSwp);
    wqe.flags = 0b101;
    wqe.imm = [1, 2, 3, 4];
    wqe.remote_va = 0x1112_1314_1516_1718;
    wqe.rkey = 0x2122_2324;
    wqe.length = 8;
    wqe.operand = 0x3132_3334_3536_3738;
    wqe.compare = 0x4142_4344_4546_4748;
    let sge = Sge {
        addr: 0x5152_5354_5556_5758,
        lkey: 0x6162_6364,
        len: 0x7172_7374,
    };
    wqe.sges = SgeList::try_from(&[sge][..]).unwrap();
    let bytes = wqe.encode().unwrap();
    assert_eq!(bytes[..8], [5, 5, 1, 0, 1, 2, 3, 4]);
    assert_eq!(
        bytes[8..16],
        [0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]
    );
    assert_eq!(bytes[16..24], [0x24, 0x23, 0x22, 0x21, 8, 0, 0, 0]);
    assert_eq!(bytes[24..26], [0x38, 0x37]);
    assert_eq!(bytes[32..34], [0x58, 0x57]);
    assert_eq!(
        bytes[40..48],
        [0x64, 0x63, 0x62, 0x61, 0x74, 0x73, 0x72, 0x71]
    );
    assert_eq!(bytes[48..50], [0x48, 0x47]);
    assert_eq!(bytes[56..], [0; 8]);

    let cqe = Cqe {
        opcode: WcOpcode::RecvRdmaWithImm,
        status: Status::RemAccess,
        flags: cqe::flags::WITH_IMM,
        qpn: 0x123,
        byte_len: 0x4567,
        imm: [9, 8, 7, 6],
        wqe_index: 0xABCD,
        vendor_err: 0x1122,
        src_qpn: 0x334455,
        phase: true,
    };
    assert_eq!(
        cqe.encode(),
        [
            129, 10, 1, 0, 0x23, 1, 0, 0, 0x67, 0x45, 0, 0, 9, 8, 7, 6, 0xCD, 0xAB, 0x22, 0x11,
            0x55, 0x44, 0x33, 0, 0, 0, 0, 0, 0, 0, 0, 1
        ]
    );
    assert!(cqe::phase_of(0, 4) && cqe::phase_of(15, 4));
    assert!(!cqe::phase_of(16, 4) && cqe::phase_of(32, 4));
}

#[test]
fn phases_alternate_where_the_consumer_index_wraps() {
    let last = (1 << ferroce_abi::limits::CQE_INDEX_BITS) - 1;
    for log_size in ferroce_abi::limits::RING_LOG_MIN..=ferroce_abi::limits::RING_LOG_MAX {
        assert!(!cqe::phase_of(last, log_size) && cqe::phase_of(0, log_size));
    }
}

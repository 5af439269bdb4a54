//! Random traffic of several QPs with losses and repetitions, against a responder in plain software.

use crate::packet::Packet;
use crate::responder::{ready, start_psn};
use crate::world::{responder, Buffer, Region, World, QPS, ROUGH, SMOOTH};
use ferroce_abi::opcode::rc;
use ferroce_emit::harness::random;
use rand::seq::SliceRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

const KEY: u32 = 0x777;
const MTU: usize = 256;

/// A message of one QP, cut into packets.
struct Message {
    packets: Vec<Packet>,
    /// Bytes and place at the host, and the receive WQE that reports them.
    addr: u64,
    bytes: Vec<u8>,
    wqe: Option<u16>,
}

fn message(rng: &mut ChaCha8Rng, qp: usize, psn: u32, addr: u64, wqe: u16) -> Message {
    let len = *[0, 1, 7, 255, 256, 257, 512, 700, 1500]
        .choose(rng)
        .expect("some");
    let bytes: Vec<u8> = (0..len).map(|_| rng.gen()).collect();
    let (write, imm) = (rng.gen_bool(0.5), rng.gen_bool(0.3));
    let chunks: Vec<&[u8]> = if len == 0 {
        vec![&[]]
    } else {
        bytes.chunks(MTU).collect()
    };
    let count = chunks.len();
    let packets = chunks
        .iter()
        .enumerate()
        .map(|(k, chunk)| {
            let opcode = match (write, count, k) {
                (false, 1, _) => [rc::SEND_ONLY, rc::SEND_ONLY_IMM][usize::from(imm)],
                (true, 1, _) => [rc::WRITE_ONLY, rc::WRITE_ONLY_IMM][usize::from(imm)],
                (false, _, 0) => rc::SEND_FIRST,
                (true, _, 0) => rc::WRITE_FIRST,
                (false, n, k) if k + 1 == n => [rc::SEND_LAST, rc::SEND_LAST_IMM][usize::from(imm)],
                (true, n, k) if k + 1 == n => {
                    [rc::WRITE_LAST, rc::WRITE_LAST_IMM][usize::from(imm)]
                }
                (false, _, _) => rc::SEND_MIDDLE,
                (true, _, _) => rc::WRITE_MIDDLE,
            };
            Packet {
                opcode,
                qpn: qp as u32,
                psn: psn.wrapping_add(k as u32) & 0xFF_FFFF,
                ackreq: k + 1 == count || rng.gen_bool(0.2),
                va: addr,
                rkey: KEY,
                dma_len: Some(len as u32),
                payload: chunk.to_vec(),
                ..Packet::default()
            }
        })
        .collect();
    Message {
        packets,
        addr,
        bytes,
        wqe: (!write || imm).then_some(wqe),
    }
}

/// What the responder of one QP must do, from the rules of the transport.
#[derive(Default)]
struct Expected {
    epsn: u32,
    msn: u32,
    nak_sent: bool,
    acks: Vec<(u32, u8, u32)>,
}

impl Expected {
    fn packet(&mut self, packet: &Packet) {
        let ends = ![
            rc::SEND_FIRST,
            rc::SEND_MIDDLE,
            rc::WRITE_FIRST,
            rc::WRITE_MIDDLE,
        ]
        .contains(&packet.opcode);
        match packet.psn.wrapping_sub(self.epsn) & 0xFF_FFFF {
            0 => {
                self.nak_sent = false;
                self.msn += u32::from(ends);
                if packet.ackreq {
                    self.acks.push((self.epsn, 0x1F, self.msn));
                }
                self.epsn = (self.epsn + 1) & 0xFF_FFFF;
            }
            1..=0x7F_FFFF => {
                if !self.nak_sent {
                    self.acks.push((self.epsn, 0x60, self.msn));
                }
                self.nak_sent = true;
            }
            _ => {
                let before = self.epsn.wrapping_sub(1) & 0xFF_FFFF;
                self.acks.push((before, 0x1F, self.msn));
            }
        }
    }
}

/// A QP's packets and how far the sender is.
#[derive(Default)]
struct Sender {
    packets: Vec<Packet>,
    next: usize,
    /// Packets that were delivered in order.
    delivered: usize,
}

fn run(mut world: World, messages: usize) {
    world.regions.push(Region {
        key: KEY,
        base: 0x1000_0000,
        len: 1 << 30,
        pd: 7,
        access: 7,
    });
    let mut senders: Vec<Sender> = Vec::new();
    let mut expected: Vec<Expected> = Vec::new();
    let mut contents = Vec::new();
    for qp in 0..QPS {
        // PSNs wrap on the way.
        let start = 0x100_0000 - start_psn(0) / 512 - qp as u32;
        let mut cfg = responder(qp, start);
        cfg.pmtu = 8;
        world.configure_responder(qp, &cfg);
        let mut sender = Sender::default();
        let mut wqes = 0;
        for k in 0..messages {
            let addr =
                0x1000_0000 + ((qp * messages + k) as u64) * 0x1000 + world.rng.gen_range(0..0x800);
            let psn = start.wrapping_add(sender.packets.len() as u32);
            let message = message(&mut world.rng, qp, psn, addr, wqes);
            if let Some(wqe) = message.wqe {
                wqes += 1;
                world.post_receive(
                    qp,
                    Buffer {
                        addr,
                        lkey: KEY,
                        len: message.bytes.len() as u32,
                        sges: 1,
                    },
                );
                world
                    .promised
                    .insert((qp as u16, wqe), (addr, message.bytes.clone()));
            }
            contents.push((message.addr, message.bytes));
            sender.packets.extend(message.packets);
        }
        senders.push(sender);
        expected.push(Expected {
            epsn: start & 0xFF_FFFF,
            ..Expected::default()
        });
    }
    world.settle();
    let promises = world.promised.len();
    while let Some(qp) = (0..QPS)
        .filter(|&qp| senders[qp].delivered < senders[qp].packets.len())
        .collect::<Vec<_>>()
        .choose(&mut world.rng)
        .copied()
    {
        let sender = &mut senders[qp];
        let roll = world.rng.gen_range(0..100);
        if sender.next == sender.packets.len() || roll < 8 {
            // Go back to the missing packet, or further.
            sender.next = sender.delivered.saturating_sub(world.rng.gen_range(0..3));
        }
        let lost = roll > 94;
        if !lost {
            let packet = &sender.packets[sender.next];
            expected[qp].packet(packet);
            world.send_frame(&packet.frame(), false);
            if sender.next == sender.delivered {
                sender.delivered += 1;
            }
        }
        sender.next += 1;
        // Keep the wire busy and the packet buffer from overflowing.
        world.cycles(12);
    }
    world.settle();
    let mut acks = vec![Vec::new(); QPS];
    for (qp, psn, syndrome, msn) in world.take_acks() {
        acks[usize::from(qp)].push((psn, syndrome, msn));
    }
    for qp in 0..QPS {
        assert_eq!(acks[qp], expected[qp].acks, "QP {qp}");
    }
    assert_eq!(world.rx_cqes.len(), promises);
    assert!(world.promised.is_empty());
    for (addr, bytes) in contents {
        assert_eq!(world.memory_at(addr, bytes.len()), bytes);
    }
}

#[test]
fn losses_and_repetitions_do_no_harm() {
    run(ready(random(), SMOOTH), 60);
}

#[test]
fn nor_do_they_under_back_pressure() {
    run(ready(random(), ROUGH), 60);
}

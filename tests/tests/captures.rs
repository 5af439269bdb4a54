//! Frames that a Linux soft-RoCE device has sent, given to the card as they are.

use std::path::PathBuf;

use anyhow::{bail, ensure, Context, Result};
use ferroce_abi::cfg::MrCfg;
use ferroce_abi::frame::{Endpoint, Frame, FrameError, Ip, Packet};
use ferroce_abi::headers::{Aeth, Bth, Reth, Syndrome};
use ferroce_abi::mailbox::{Command, MailboxState};
use ferroce_abi::mr::Key;
use ferroce_abi::opcode::{rc, Kind, Opcode, Place};
use ferroce_abi::{regs, udp_port};
use ferroce_driver::{
    Access, Counter, InitAttr, Pmtu, Qp, RecvWr, RtrAttr, RtsAttr, SendWr, Status,
};
use ferroce_tests::bench::ACK;
use ferroce_tests::model;
use ferroce_tests::open::{port, Open};
use ferroce_tests::peer::{add24, same_frames};
use ferroce_tests::seed::{rng, seed};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};
use rand::Rng;

/// Number of the first protection domain of a card.
const FIRST_PD: u16 = 1;
/// Path MTU of the QPs: that of the longer messages in the list.
const PMTU: Pmtu = Pmtu::B256;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("data")
        .join(name)
}

/// The frames of the list, with their names. They end with the ICRC.
fn listed() -> Result<Vec<(String, Vec<u8>)>> {
    let text = std::fs::read_to_string(data("rxe_frames.txt"))?;
    text.lines()
        .map(|line| {
            let hex = line.rsplit("frame=").next().context("no frame")?;
            let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16);
            let bytes = (0..hex.len()).step_by(2).map(byte);
            Ok((line.to_owned(), bytes.collect::<Result<_, _>>()?))
        })
        .collect()
}

fn ends(frame: &Frame) -> Option<[Endpoint; 2]> {
    let Ip::V4(ip) = frame.ip else { return None };
    let end = |mac, ip| Endpoint { mac, ip };
    Some([end(frame.eth.src, ip.src), end(frame.eth.dst, ip.dst)])
}

/// Registers memory that the peer has chosen, past the driver, which would choose by itself.
fn register(open: &Open, reth: &Reth) -> Result<()> {
    let entry = MrCfg {
        valid: true,
        tag: Key::from_bits(reth.rkey).tag(),
        pd: FIRST_PD,
        access: (Access::LOCAL_WRITE | Access::REMOTE_WRITE).bits(),
        base: reth.va,
        len: reth.dma_len.into(),
        ..MrCfg::default()
    };
    command(open, Command::RegMr, reth, entry)
}

/// Takes that memory back: the next frame may ask for the same key.
fn deregister(open: &Open, reth: &Reth) -> Result<()> {
    let gone = MrCfg {
        tag: Key::from_bits(reth.rkey).tag(),
        ..MrCfg::default()
    };
    command(open, Command::DeregMr, reth, gone)
}

fn command(open: &Open, command: Command, reth: &Reth, entry: MrCfg) -> Result<()> {
    for (at, word) in (regs::MAILBOX_IN..).step_by(8).zip(entry.to_bits()?) {
        open.bar.write64(at, word)?;
    }
    let object = Key::from_bits(reth.rkey).index();
    open.bar.write32(regs::COMMAND_OBJECT, object)?;
    open.bar.write32(regs::COMMAND, command as u32)?;
    loop {
        match MailboxState::from_bits(open.bar.read32(regs::COMMAND_STATUS)?) {
            MailboxState::Done(0) => return Ok(()),
            MailboxState::Done(code) => bail!("{command:?} ended with code {code}"),
            MailboxState::Idle | MailboxState::Busy => {}
        }
    }
}

/// The card, with as many QPs as the captured QPNs ask for.
struct Stage {
    open: Open,
    qps: Vec<Qp>,
}

impl Stage {
    fn new() -> Result<Self> {
        let open = Open::new(&model::wide()?, seed())?;
        ensure!(open.device.capabilities().qps > 0x101e);
        Ok(Self {
            open,
            qps: Vec::new(),
        })
    }

    /// The QP with number `qpn`.
    fn qp(&mut self, qpn: u32) -> Result<&Qp> {
        while self.qps.last().is_none_or(|qp| qp.qpn() < qpn) {
            let cq = &self.open.cq;
            let qp = self.open.pd.qp(cq).send_depth(2).recv_depth(2).build()?;
            self.qps.push(qp);
        }
        self.qps
            .iter()
            .find(|qp| qp.qpn() == qpn)
            .with_context(|| format!("QPN {qpn} is not for general use"))
    }

    /// Makes the card the frame's receiver, and its QP one that expects PSN `psn` and sends from `sq_psn` on.
    fn connect(&mut self, frame: &Frame, psn: u32, sq_psn: u32) -> Result<()> {
        let [peer, card] = ends(frame).context("no IPv4")?;
        self.open.device.set_port(port(card))?;
        let rtr = RtrAttr {
            pmtu: PMTU,
            ..RtrAttr::new(port(peer), PEER_QPN, psn)
        };
        let qp = self.qp(frame.packet.bth.dqpn)?;
        qp.reset()?;
        qp.connect(InitAttr::default(), rtr, RtsAttr::new(sq_psn))?;
        Ok(())
    }

    /// The card's ACK for the frame's sender.
    fn ack(&self, frame: &Frame) -> Result<Vec<u8>> {
        let [peer, card] = ends(frame).context("no IPv4")?;
        let bth = frame.packet.bth;
        let mut packet = Packet::new(Bth::new(rc::ACKNOWLEDGE, PEER_QPN, bth.psn));
        packet.ext.aeth = Some(Aeth {
            syndrome: Syndrome::from(ACK),
            msn: 1,
        });
        let sport = udp_port::from_qpns(bth.dqpn, PEER_QPN);
        let frame = Frame::ipv4(card, peer, sport, packet);
        Ok(ferroce_abi::frame::on_wire(frame.encode()?))
    }
}

/// QPN of the captured QPs' peers; the frames do not tell.
const PEER_QPN: u32 = 0x77;

/// The packet before a captured LAST, as its sender would have built it.
fn first_of(frame: &Frame, opcode: u8, reth: Option<Reth>) -> Frame {
    let mut first = frame.clone();
    first.packet.bth.opcode = opcode;
    first.packet.bth.ackreq = false;
    first.packet.bth.psn = add24(frame.packet.bth.psn, 0xff_ffff);
    first.packet.ext.reth = reth;
    first.packet.payload = (0..=255).collect();
    first
}

/// WRITE and SEND requests: payload in its place, and an ACK with the right PSN and MSN.
#[test]
fn requests_are_executed() -> Result<()> {
    let mut stage = Stage::new()?;
    let mut seen = 0;
    for (name, bytes) in listed()? {
        let frame = Frame::decode(&bytes).with_context(|| name.clone())?;
        let opcode = frame.packet.opcode().context("opcode")?;
        if ends(&frame).is_none() || !matches!(opcode.kind(), Kind::Send | Kind::Write) {
            continue;
        }
        request(&mut stage, &frame, bytes, opcode).context(name)?;
        seen += 1;
    }
    ensure!(seen == 12, "{seen} requests");
    Ok(())
}

fn request(stage: &mut Stage, frame: &Frame, bytes: Vec<u8>, opcode: Opcode) -> Result<()> {
    let bth = frame.packet.bth;
    let last = opcode.place() == Place::Last;
    let before = u32::from(last);
    stage.connect(frame, add24(bth.psn, 0u32.wrapping_sub(before)), 0)?;
    let payload = &frame.packet.payload;
    let total = payload.len() + 256 * before as usize;
    let memory = stage.open.sim.with(|w| w.card(0).memory().clone());
    let write = opcode.kind() == Kind::Write;
    // Where a LAST goes was said by a packet that is not in the list.
    let reth = frame.packet.ext.reth.unwrap_or(Reth {
        va: 0x0000_5555_1234_5677,
        rkey: 0x0000_0bcd,
        dma_len: total as u32,
    });
    ferroce_sim::card::lock(&memory).map(reth.va, total);
    let receive = stage.open.pd.allocate(4096, Access::LOCAL_WRITE)?;
    if write {
        register(&stage.open, &reth)?;
    } else {
        let buffer = receive.sge(1..total + 1)?;
        stage.qp(bth.dqpn)?.post_recv(RecvWr::new(9, buffer))?;
        ensure!(stage.open.answers()?.is_empty());
    }
    let mut want = Vec::new();
    if last {
        let first = if write {
            first_of(frame, rc::WRITE_FIRST, Some(reth))
        } else {
            first_of(frame, rc::SEND_FIRST, None)
        };
        want.extend_from_slice(&first.packet.payload);
        stage.open.inject(first.encode()?);
    }
    want.extend_from_slice(payload);
    stage.open.inject(bytes);
    let answers = stage.open.answers()?;
    let acks = if bth.ackreq {
        vec![stage.ack(frame)?]
    } else {
        Vec::new()
    };
    same_frames(&answers, &acks)?;
    let done = stage.open.cq.poll(4)?;
    let got = if write {
        ensure!(done.is_empty(), "{done:?}");
        deregister(&stage.open, &reth)?;
        ferroce_sim::card::lock(&memory)
            .slice(reth.va, total)?
            .to_vec()
    } else {
        ensure!(
            done.len() == 1 && done[0].status == Status::Success,
            "{done:?}"
        );
        ensure!(done[0].byte_len as usize == total && done[0].wr_id == 9);
        receive.to_vec(1..total + 1)?
    };
    ensure!(got == want, "{got:02x?} arrived, not {want:02x?}");
    ferroce_sim::card::lock(&memory).release(reth.va);
    Ok(())
}

/// A captured ACK retires the card's request with that PSN.
#[test]
fn acknowledgements_are_taken() -> Result<()> {
    let mut stage = Stage::new()?;
    let mut seen = 0;
    for (name, bytes) in listed()? {
        let frame = Frame::decode(&bytes)?;
        let kind = frame.packet.opcode().map(Opcode::kind);
        if ends(&frame).is_none() || kind != Some(Kind::Acknowledge) {
            continue;
        }
        seen += 1;
        let bth = frame.packet.bth;
        stage.connect(&frame, 0, bth.psn)?;
        let source = stage.open.pd.allocate(64, Access::NONE)?;
        let send = SendWr::send(3, source.sge(0..5)?);
        stage.qp(bth.dqpn)?.post_send(send)?;
        let sent = stage.open.run(3000)?;
        ensure!(sent.len() == 1, "{name}");
        ensure!(stage.open.cq.poll(1)?.is_empty(), "{name}");
        stage.open.inject(bytes);
        ensure!(stage.open.answers()?.is_empty(), "{name}");
        let done = stage.open.cq.poll(2)?;
        ensure!(done.len() == 1 && done[0].wr_id == 3, "{name}: {done:?}");
        ensure!(done[0].status == Status::Success, "{name}: {done:?}");
    }
    ensure!(seen == 1);
    Ok(())
}

/// ICRCs are right as they are, and wrong with any bit that they cover changed.
#[test]
fn listed_frames_pass_and_fail_the_icrc() -> Result<()> {
    let stage = Stage::new()?;
    let mut rng = rng(seed());
    for (name, bytes) in listed()? {
        let frame = Frame::decode(&bytes)?;
        let Some([_, card]) = ends(&frame) else {
            drops(&stage.open, &name, bytes, Counter::RxDropNotRoce)?;
            continue;
        };
        stage.open.device.set_port(port(card))?;
        // No QP is connected: past the parser is far enough.
        drops(&stage.open, &name, bytes.clone(), Counter::RxDropQpState)?;
        let mut damaged = bytes;
        // Behind BTH byte 4, which is not covered.
        let at = rng.gen_range(47..damaged.len());
        damaged[at] ^= 1 << rng.gen_range(0..8);
        drops(&stage.open, &name, damaged, Counter::RxDropIcrc)?;
    }
    Ok(())
}

fn drops(open: &Open, name: &str, bytes: Vec<u8>, counter: Counter) -> Result<()> {
    let before = open.device.counter(counter)?;
    open.inject(bytes);
    ensure!(open.answers()?.is_empty(), "{name} is answered");
    let count = open.device.counter(counter)? - before;
    ensure!(count == 1, "{name}: {} is {count}", counter.name());
    Ok(())
}

/// Whole captures, with everything that was on that cable: each frame meets the fate that software foretells.
#[test]
fn whole_captures() -> Result<()> {
    let stage = Stage::new()?;
    for (name, frames) in [
        ("rxe_odd_sizes.pcap", pcap("rxe_odd_sizes.pcap")?),
        ("rxe_mtu4096.pcapng", pcapng("rxe_mtu4096.pcapng")?),
    ] {
        let decoded = frames.iter().filter_map(|f| Frame::decode(f).ok());
        let card = decoded
            .filter_map(|frame| ends(&frame))
            .map(|[_, card]| card)
            .next()
            .context("no RoCE frame")?;
        stage.open.device.set_port(port(card))?;
        let before = stage.open.device.counters()?;
        let (mut packets, mut others, mut foreign) = (0, 0, 0);
        for frame in &frames {
            match Frame::decode(frame) {
                Ok(frame) => match ends(&frame) {
                    Some([_, to]) if to == card => packets += 1,
                    Some(_) => foreign += 1,
                    None => others += 1,
                },
                Err(FrameError::Icrc) => bail!("{name} has a wrong ICRC"),
                Err(_) => others += 1,
            }
            stage.open.inject(frame.clone());
            if packets % 16 == 0 {
                ensure!(stage.open.run(64)?.is_empty());
            }
        }
        ensure!(packets > 50 && foreign > 50 && others > 20, "{name}");
        // Everything is still to be played; no frame takes longer than a thousand cycles.
        let count = frames.len() as u64;
        let mut cycles = 0;
        while stage.open.device.counter(Counter::RxFrames)? - before.get(Counter::RxFrames) < count
        {
            ensure!(stage.open.answers()?.is_empty());
            cycles += 1;
            ensure!(cycles < count, "frames are missing");
        }
        let now = stage.open.device.counters()?.since(&before);
        for (counter, want) in [
            (Counter::RxFrames, count),
            (Counter::RxPackets, packets),
            (Counter::RxDropQpState, packets),
            (Counter::RxDropAddress, foreign),
            (Counter::RxDropNotRoce, others),
            (Counter::RxDropIcrc, 0),
            (Counter::RxDropRunt, 0),
            (Counter::TxFrames, 0),
        ] {
            let got = now.get(counter);
            ensure!(
                got == want,
                "{name}: {} is {got}, not {want}:\n{now}",
                counter.name()
            );
        }
    }
    Ok(())
}

fn pcap(name: &str) -> Result<Vec<Vec<u8>>> {
    let mut reader = PcapReader::new(std::fs::File::open(data(name))?)?;
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        frames.push(packet?.data.into_owned());
    }
    Ok(frames)
}

fn pcapng(name: &str) -> Result<Vec<Vec<u8>>> {
    let mut reader = PcapNgReader::new(std::fs::File::open(data(name))?)?;
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block? {
            frames.push(packet.data.into_owned());
        }
    }
    Ok(frames)
}

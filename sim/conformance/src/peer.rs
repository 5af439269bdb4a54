//! A software peer of one QP of a card: builds what the peer would send, and what the card must send.

use anyhow::{ensure, Result};
use ferroce_abi::frame::{on_wire, Extensions, Frame, Packet};
use ferroce_abi::headers::{Aeth, Bth, Reth, Syndrome};
use ferroce_abi::opcode::{rc, Opcode};
use ferroce_abi::udp_port;
use ferroce_driver::{Access, InitAttr, Pmtu, Qp, RtrAttr, RtsAttr};

use crate::open::{port, Open};

/// 24-bit arithmetic of PSNs and MSNs.
pub fn add24(a: u32, b: u32) -> u32 {
    a.wrapping_add(b) & 0xff_ffff
}

/// How a QP of the card is connected to the software peer.
#[derive(Debug, Clone, Copy)]
pub struct PeerConfig {
    /// Path MTU.
    pub pmtu: Pmtu,
    /// First PSN of the peer's requests.
    pub psn: u32,
    /// First PSN of the card's requests.
    pub card_psn: u32,
    /// Rights of the QP.
    pub access: Access,
    /// P_Key of the QP.
    pub pkey: u16,
    /// RNR timer code.
    pub min_rnr_timer: u8,
    /// ACK timeout exponent.
    pub timeout: u8,
    /// Retries after time-outs and sequence NAKs.
    pub retry_cnt: u8,
    /// Retries after RNR NAKs.
    pub rnr_retry: u8,
    /// READs and atomics of the card that may be unanswered.
    pub max_rd_atomic: u8,
}

impl Default for PeerConfig {
    /// The card's requests never time out.
    fn default() -> Self {
        Self {
            pmtu: Pmtu::B256,
            psn: 0xff_fffe,
            card_psn: 0x00_1234,
            access: Access::LOCAL_WRITE | Access::REMOTE_WRITE,
            pkey: 0xffff,
            min_rnr_timer: 1,
            timeout: 0,
            retry_cnt: 7,
            rnr_retry: 7,
            max_rd_atomic: 16,
        }
    }
}

/// A QP of the card, and what its peer knows.
#[derive(Debug)]
pub struct Peer {
    /// The card's QP.
    pub qp: Qp,
    /// The peer's QPN.
    pub qpn: u32,
    /// How they are connected.
    pub config: PeerConfig,
    /// PSN that the card expects next.
    pub psn: u32,
    /// Messages that the card has completed.
    pub msn: u32,
}

impl Peer {
    /// A new QP of the card, connected to the peer's QP `qpn`.
    ///
    /// # Errors
    /// Of the driver.
    pub fn new(open: &Open, qpn: u32, config: PeerConfig) -> Result<Self> {
        let mut peer = Self {
            qp: open.pd.qp(&open.cq).send_depth(16).recv_depth(16).build()?,
            qpn,
            config,
            psn: 0,
            msn: 0,
        };
        peer.connect(open, config)?;
        Ok(peer)
    }

    /// Resets the card's QP and connects it anew.
    ///
    /// # Errors
    /// Of the driver.
    pub fn connect(&mut self, open: &Open, config: PeerConfig) -> Result<()> {
        let init = InitAttr {
            access: config.access,
            pkey: config.pkey,
        };
        let rtr = RtrAttr {
            pmtu: config.pmtu,
            min_rnr_timer: config.min_rnr_timer,
            ..RtrAttr::new(port(open.peer), self.qpn, config.psn)
        };
        let rts = RtsAttr {
            timeout: config.timeout,
            retry_cnt: config.retry_cnt,
            rnr_retry: config.rnr_retry,
            max_rd_atomic: config.max_rd_atomic,
            ..RtsAttr::new(config.card_psn)
        };
        self.qp.reset()?;
        self.qp.connect(init, rtr, rts)?;
        (self.config, self.psn, self.msn) = (config, config.psn, 0);
        Ok(())
    }

    /// The peer's frame with this opcode `ahead` PSNs after the one that the card expects. AckReq is set. RETH and
    /// immediate are there if the opcode has them: the former with `reth`, the latter with a fixed value.
    pub fn request(
        &self,
        open: &Open,
        opcode: u8,
        ahead: u32,
        reth: Reth,
        payload: &[u8],
    ) -> Frame {
        let known = Opcode::try_from(opcode).ok();
        let mut packet = Packet::new(Bth {
            ackreq: true,
            ..Bth::new(opcode, self.qp.qpn(), add24(self.psn, ahead))
        });
        packet.ext = Extensions {
            reth: known.is_some_and(Opcode::has_reth).then_some(reth),
            imm: known.is_some_and(Opcode::has_imm).then_some(IMM),
            ..Extensions::default()
        };
        packet.payload = payload.to_vec();
        self.to_card(open, packet)
    }

    /// The peer's ACK or NAK of one of the card's requests.
    pub fn response(&self, open: &Open, psn: u32, syndrome: u8, msn: u32) -> Frame {
        self.to_card(open, aeth_packet(self.qp.qpn(), psn, syndrome, msn))
    }

    /// What the card must answer, as it comes out of the cable.
    ///
    /// # Errors
    /// None for real packets.
    pub fn answer(&self, open: &Open, psn: u32, syndrome: u8, msn: u32) -> Result<Vec<u8>> {
        self.from_card(open, aeth_packet(self.qpn, psn, syndrome, msn))
    }

    /// A packet of the peer.
    pub fn to_card(&self, open: &Open, packet: Packet) -> Frame {
        Frame::ipv4(open.peer, open.card, self.sport(), packet)
    }

    /// A packet of the card, as it comes out of the cable.
    ///
    /// # Errors
    /// None for real packets.
    pub fn from_card(&self, open: &Open, packet: Packet) -> Result<Vec<u8>> {
        let frame = Frame::ipv4(open.card, open.peer, self.sport(), packet);
        Ok(on_wire(frame.encode()?))
    }

    fn sport(&self) -> u16 {
        udp_port::from_qpns(self.qp.qpn(), self.qpn)
    }
}

/// The immediate of [`Peer::request`].
pub const IMM: [u8; 4] = [0x12, 0x34, 0x56, 0x78];

/// ACK or NAK.
fn aeth_packet(dqpn: u32, psn: u32, syndrome: u8, msn: u32) -> Packet {
    let mut packet = Packet::new(Bth::new(rc::ACKNOWLEDGE, dqpn, psn));
    packet.ext.aeth = Some(Aeth {
        syndrome: Syndrome::from(syndrome),
        msn,
    });
    packet
}

/// Compares frames and shows the headers of those that differ.
///
/// # Errors
/// They differ.
pub fn same_frames(got: &[Vec<u8>], want: &[Vec<u8>]) -> Result<()> {
    let show = |frames: &[Vec<u8>]| -> Vec<String> {
        frames.iter().map(|bytes| describe(bytes)).collect()
    };
    ensure!(
        got == want,
        "the card sent {:#?}, not {:#?}",
        show(got),
        show(want)
    );
    Ok(())
}

fn describe(bytes: &[u8]) -> String {
    let body = &bytes[..bytes.len().saturating_sub(4)];
    let hex: String = bytes.iter().take(96).map(|b| format!("{b:02x}")).collect();
    match Frame::decode(body) {
        Ok(frame) => format!(
            "{:?} {:?}, {} bytes of payload: {hex}",
            frame.packet.bth,
            frame.packet.ext,
            frame.packet.payload.len()
        ),
        Err(error) => format!("{error}: {hex}"),
    }
}

//! BTH opcodes: the service in bits 7:5, the operation in bits 4:0.

pub mod rc;

/// Congestion notification packet.
pub const CNP: u8 = 0x81;

/// Bits 7:5 of the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Transport {
    /// Reliable connection.
    Rc = 0,
    /// Unreliable connection.
    Uc = 1,
    /// Unreliable datagram.
    Ud = 3,
    /// Congestion notification.
    Cnp = 4,
    /// Extended reliable connection.
    Xrc = 5,
}

impl Transport {
    /// The service in place: bits 7:5 of a BTH opcode, all others 0.
    pub const fn bits(self) -> u8 {
        (self as u8) << 5
    }

    /// From an opcode byte; `None` for reliable datagram, reserved and vendor services.
    pub const fn of(opcode: u8) -> Option<Self> {
        match opcode >> 5 {
            0 => Some(Self::Rc),
            1 => Some(Self::Uc),
            3 => Some(Self::Ud),
            4 => Some(Self::Cnp),
            5 => Some(Self::Xrc),
            _ => None,
        }
    }

    const fn carries(self, operation: u8) -> bool {
        match self {
            Self::Rc | Self::Xrc => {
                operation <= rc::FETCH_ADD
                    || operation == rc::SEND_LAST_INV
                    || operation == rc::SEND_ONLY_INV
            }
            Self::Uc => operation <= rc::WRITE_ONLY_IMM,
            Self::Ud => operation == rc::SEND_ONLY || operation == rc::SEND_ONLY_IMM,
            Self::Cnp => operation == CNP & 0x1F,
        }
    }
}

/// What a packet does, whatever its place in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// SEND request.
    Send,
    /// RDMA WRITE request.
    Write,
    /// RDMA READ request.
    ReadRequest,
    /// RDMA READ response.
    ReadResponse,
    /// ACK, RNR NAK or NAK.
    Acknowledge,
    /// Atomic acknowledge.
    AtomicAcknowledge,
    /// Compare and swap request.
    CmpSwap,
    /// Fetch and add request.
    FetchAdd,
    /// Congestion notification.
    Cnp,
}

/// A packet's place in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// First of several packets.
    First,
    /// Neither first nor last.
    Middle,
    /// Last of several packets.
    Last,
    /// The only packet.
    Only,
}

impl Place {
    /// The message begins with this packet.
    pub const fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// The message ends with this packet.
    pub const fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// A valid opcode of one of the services in [`Transport`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opcode(u8);

/// The byte is no opcode that a service in [`Transport`] defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("BTH opcode {0:#04x} is reserved or of an unsupported service")]
pub struct UnknownOpcode(pub u8);

impl TryFrom<u8> for Opcode {
    type Error = UnknownOpcode;

    fn try_from(byte: u8) -> Result<Self, UnknownOpcode> {
        match Transport::of(byte) {
            Some(transport) if transport.carries(byte & 0x1F) => Ok(Self(byte)),
            _ => Err(UnknownOpcode(byte)),
        }
    }
}

impl From<Opcode> for u8 {
    fn from(opcode: Opcode) -> u8 {
        opcode.0
    }
}

impl Opcode {
    /// Every valid opcode, ascending.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=u8::MAX).filter_map(|byte| Self::try_from(byte).ok())
    }

    /// The byte in the BTH.
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// The service.
    pub const fn transport(self) -> Transport {
        match Transport::of(self.0) {
            Some(transport) => transport,
            None => unreachable!(),
        }
    }

    /// Bits 4:0; equal to the RC opcode for all services but CNP.
    pub const fn operation(self) -> u8 {
        self.0 & 0x1F
    }

    /// What the packet does.
    pub const fn kind(self) -> Kind {
        if self.0 == CNP {
            return Kind::Cnp;
        }
        match self.operation() {
            rc::SEND_FIRST..=rc::SEND_ONLY_IMM | rc::SEND_LAST_INV | rc::SEND_ONLY_INV => {
                Kind::Send
            }
            rc::WRITE_FIRST..=rc::WRITE_ONLY_IMM => Kind::Write,
            rc::READ_REQUEST => Kind::ReadRequest,
            rc::READ_RESPONSE_FIRST..=rc::READ_RESPONSE_ONLY => Kind::ReadResponse,
            rc::ACKNOWLEDGE => Kind::Acknowledge,
            rc::ATOMIC_ACKNOWLEDGE => Kind::AtomicAcknowledge,
            rc::CMP_SWAP => Kind::CmpSwap,
            _ => Kind::FetchAdd,
        }
    }

    /// The place in the message; [`Place::Only`] for what is always one packet.
    pub const fn place(self) -> Place {
        if self.0 == CNP {
            return Place::Only;
        }
        match self.operation() {
            rc::SEND_FIRST | rc::WRITE_FIRST | rc::READ_RESPONSE_FIRST => Place::First,
            rc::SEND_MIDDLE | rc::WRITE_MIDDLE | rc::READ_RESPONSE_MIDDLE => Place::Middle,
            rc::SEND_LAST
            | rc::SEND_LAST_IMM
            | rc::SEND_LAST_INV
            | rc::WRITE_LAST
            | rc::WRITE_LAST_IMM
            | rc::READ_RESPONSE_LAST => Place::Last,
            _ => Place::Only,
        }
    }

    /// A request: goes to the peer's responder.
    pub const fn is_request(self) -> bool {
        !self.is_response() && !matches!(self.kind(), Kind::Cnp)
    }

    /// A response: goes to the peer's requester.
    pub const fn is_response(self) -> bool {
        matches!(
            self.kind(),
            Kind::ReadResponse | Kind::Acknowledge | Kind::AtomicAcknowledge
        )
    }

    /// An RETH is present.
    pub const fn has_reth(self) -> bool {
        match self.kind() {
            Kind::Write => self.place().begins(),
            Kind::ReadRequest => true,
            _ => false,
        }
    }

    /// An AtomicETH is present.
    pub const fn has_atomic_eth(self) -> bool {
        matches!(self.kind(), Kind::CmpSwap | Kind::FetchAdd)
    }

    /// An AETH is present.
    pub const fn has_aeth(self) -> bool {
        match self.kind() {
            Kind::ReadResponse => !matches!(self.place(), Place::Middle),
            Kind::Acknowledge | Kind::AtomicAcknowledge => true,
            _ => false,
        }
    }

    /// An AtomicAckETH is present.
    pub const fn has_atomic_ack_eth(self) -> bool {
        matches!(self.kind(), Kind::AtomicAcknowledge)
    }

    /// A DETH is present.
    pub const fn has_deth(self) -> bool {
        matches!(self.transport(), Transport::Ud)
    }

    /// An XRCETH is present.
    pub const fn has_xrceth(self) -> bool {
        matches!(self.transport(), Transport::Xrc) && self.is_request()
    }

    /// An ImmDt is present.
    pub const fn has_imm(self) -> bool {
        !matches!(self.kind(), Kind::Cnp)
            && matches!(
                self.operation(),
                rc::SEND_LAST_IMM | rc::SEND_ONLY_IMM | rc::WRITE_LAST_IMM | rc::WRITE_ONLY_IMM
            )
    }

    /// An IETH is present.
    pub const fn has_ieth(self) -> bool {
        matches!(self.operation(), rc::SEND_LAST_INV | rc::SEND_ONLY_INV)
    }

    /// The packet may carry payload.
    pub const fn has_payload(self) -> bool {
        matches!(self.kind(), Kind::Send | Kind::Write | Kind::ReadResponse)
    }

    /// The packet consumes a receive WQE when it is the first (SEND) or last (WRITE with immediate)
    /// of its message.
    pub const fn takes_receive_wqe(self) -> bool {
        match self.kind() {
            Kind::Send => self.place().begins(),
            Kind::Write => self.has_imm(),
            _ => false,
        }
    }

    /// Bytes of all headers between the BTH and the payload.
    pub const fn extension_bytes(self) -> usize {
        const fn part(present: bool, bytes: usize) -> usize {
            if present {
                bytes
            } else {
                0
            }
        }
        part(matches!(self.kind(), Kind::Cnp), 16)
            + part(self.has_deth(), 8)
            + part(self.has_xrceth(), 4)
            + part(self.has_reth(), 16)
            + part(self.has_atomic_eth(), 28)
            + part(self.has_aeth(), 4)
            + part(self.has_atomic_ack_eth(), 8)
            + part(self.has_imm() || self.has_ieth(), 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(byte: u8) -> Opcode {
        Opcode::try_from(byte).unwrap()
    }

    #[test]
    fn services_carry_their_operations_only() {
        let count = |t| Opcode::all().filter(|o| o.transport() == t).count();
        assert_eq!(count(Transport::Rc), 23);
        assert_eq!(count(Transport::Xrc), 23);
        assert_eq!(count(Transport::Uc), 12);
        assert_eq!(count(Transport::Ud), 2);
        assert_eq!(count(Transport::Cnp), 1);
        for bad in [0x15, 0x18, 0x2C, 0x31, 0x40, 0x60, 0x80, 0xB5, 0xE0] {
            assert_eq!(Opcode::try_from(bad), Err(UnknownOpcode(bad)));
        }
    }

    #[test]
    fn header_bytes_follow_the_table() {
        // Table of BTH opcodes and the headers after the BTH.
        for (byte, bytes) in [
            (rc::SEND_FIRST, 0),
            (rc::SEND_ONLY_IMM, 4),
            (rc::SEND_LAST_INV, 4),
            (rc::WRITE_FIRST, 16),
            (rc::WRITE_LAST_IMM, 4),
            (rc::WRITE_ONLY_IMM, 20),
            (rc::READ_REQUEST, 16),
            (rc::READ_RESPONSE_FIRST, 4),
            (rc::READ_RESPONSE_MIDDLE, 0),
            (rc::READ_RESPONSE_ONLY, 4),
            (rc::ACKNOWLEDGE, 4),
            (rc::ATOMIC_ACKNOWLEDGE, 12),
            (rc::CMP_SWAP, 28),
            (Transport::Ud.bits() | rc::SEND_ONLY_IMM, 12),
            (Transport::Xrc.bits() | rc::WRITE_ONLY, 20),
            (Transport::Xrc.bits() | rc::ACKNOWLEDGE, 4),
            (CNP, 16),
        ] {
            assert_eq!(op(byte).extension_bytes(), bytes, "opcode {byte:#04x}");
        }
    }

    #[test]
    fn every_opcode_is_a_request_or_a_response_or_a_cnp() {
        for o in Opcode::all() {
            let classes = [o.is_request(), o.is_response(), o.byte() == CNP];
            assert_eq!(classes.iter().filter(|&&c| c).count(), 1, "{o:?}");
        }
        let responses: Vec<u8> = Opcode::all()
            .filter(|o| o.transport() == Transport::Rc && o.is_response())
            .map(Opcode::byte)
            .collect();
        assert_eq!(responses, [0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x12]);
    }

    #[test]
    fn receive_wqes_are_taken_by_sends_and_writes_with_immediate() {
        let takers: Vec<u8> = Opcode::all()
            .filter(|o| o.transport() == Transport::Rc && o.takes_receive_wqe())
            .map(Opcode::byte)
            .collect();
        assert_eq!(takers, [0x00, 0x04, 0x05, 0x09, 0x0B, 0x17]);
    }
}

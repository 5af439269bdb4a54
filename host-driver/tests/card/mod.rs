//! A card at register level: it decodes mailbox commands and doorbells and keeps them for the tests to look
//! at, and it writes the CQEs that a test asks for. It transports nothing.
#![allow(dead_code, reason = "each test program uses a part of this module")]

pub mod memory;

use ferroce_abi::cfg::{RingCfg, Table};
use ferroce_abi::cqe::{phase_of, Cqe, Status, WcOpcode};
use ferroce_abi::eqe::Eqe;
use ferroce_abi::limits::{CQE_BYTES, EQE_BYTES, WQE_BYTES};
use ferroce_abi::mailbox::{Command, CommandStatus, MailboxState, Object, QpState, BLOCKS};
use ferroce_abi::regs::{self, feature, CqArm, CqDoorbell, EqDoorbell, QueueDoorbell};
use ferroce_driver::{
    Access, Bar, BarError, Cq, Device, DeviceOptions, InitAttr, Mac, Mr, Pd, PortAddress, Qp,
    RtrAttr, RtsAttr,
};
use memory::TestMemory;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// A command as the card decoded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub command: Command,
    pub object: u32,
    pub writes: Vec<(Table, [u64; 4])>,
}

impl Ran {
    /// The entry written to `table`.
    pub fn entry(&self, table: Table) -> &[u64; 4] {
        &self.writes.iter().find(|(t, _)| *t == table).unwrap().1
    }
}

#[derive(Debug)]
pub struct State {
    /// 32-bit registers that can be read.
    pub words: HashMap<u64, u32>,
    pub counters: HashMap<u64, u64>,
    mailbox: [u64; BLOCKS * 4],
    object: u32,
    status: MailboxState,
    /// Status reads that still say busy.
    busy: u32,
    /// Every command stays busy for so many status reads.
    pub slowness: u32,
    /// The next command is refused.
    pub refuse: Option<CommandStatus>,
    /// No register answers.
    pub dead: bool,
    pub ran: Vec<Ran>,
    qp_states: HashMap<u32, QpState>,
    rings: HashMap<(Table, u32), RingCfg>,
    cqe_producers: HashMap<u32, u32>,
    eqe_producers: HashMap<u32, u32>,
    pub sq_doorbells: Vec<QueueDoorbell>,
    pub rq_doorbells: Vec<QueueDoorbell>,
    pub srq_doorbells: Vec<QueueDoorbell>,
    pub cq_doorbells: Vec<CqDoorbell>,
    pub cq_arms: Vec<CqArm>,
    pub eq_doorbells: Vec<EqDoorbell>,
    /// Page of every doorbell write.
    pub pages_rung: Vec<u8>,
}

/// The card and its host memory.
#[derive(Clone, Debug)]
pub struct TestCard {
    state: Arc<Mutex<State>>,
    pub memory: TestMemory,
}

pub const QPS: u32 = 8;
pub const CQS: u32 = 4;
pub const MRS: u32 = 8;
pub const EQS: u32 = 2;
pub const SRQS: u32 = 2;
pub const AHS: u32 = 4;

impl TestCard {
    pub fn new() -> Self {
        let words = [
            (regs::MAGIC, regs::MAGIC_VALUE),
            (regs::VERSION, regs::VERSION_VALUE),
            (regs::FEATURES, feature::RC | feature::EVENTS | feature::SRQ),
            (regs::NUM_QPS, QPS),
            (regs::NUM_CQS, CQS),
            (regs::NUM_MRS, MRS),
            (regs::NUM_EQS, EQS),
            (regs::NUM_SRQS, SRQS),
            (regs::NUM_AHS, AHS),
            (regs::WQE_WINDOW, 16),
            (regs::RETRANSMIT_DEPTH, 64),
            (regs::MAX_SGE, 1),
            (regs::MAX_PMTU, 12),
            (regs::CORE_CLOCK, 250_000_000),
            (regs::MAX_RD_ATOMIC, 16 << 16 | 16),
        ];
        Self {
            state: Arc::new(Mutex::new(State {
                words: words.into(),
                counters: HashMap::new(),
                mailbox: [0; BLOCKS * 4],
                object: 0,
                status: MailboxState::Idle,
                busy: 0,
                slowness: 3,
                refuse: None,
                dead: false,
                ran: Vec::new(),
                qp_states: HashMap::new(),
                rings: HashMap::new(),
                cqe_producers: HashMap::new(),
                eqe_producers: HashMap::new(),
                sq_doorbells: Vec::new(),
                rq_doorbells: Vec::new(),
                srq_doorbells: Vec::new(),
                cq_doorbells: Vec::new(),
                cq_arms: Vec::new(),
                eq_doorbells: Vec::new(),
                pages_rung: Vec::new(),
            })),
            memory: TestMemory::default(),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn open(&self) -> Device {
        self.try_open().unwrap()
    }

    pub fn try_open(&self) -> Result<Device, ferroce_driver::Error> {
        self.open_with(DeviceOptions {
            command_polls: 10,
            ..DeviceOptions::default()
        })
    }

    pub fn open_with(&self, options: DeviceOptions) -> Result<Device, ferroce_driver::Error> {
        Device::open_with(
            Arc::new(self.clone()),
            Arc::new(self.memory.clone()),
            options,
        )
    }

    /// Commands since the last call.
    pub fn take_ran(&self) -> Vec<Ran> {
        std::mem::take(&mut self.state().ran)
    }

    /// Opcodes of the commands since the last call.
    pub fn take_commands(&self) -> Vec<Command> {
        self.take_ran().iter().map(|ran| ran.command).collect()
    }

    /// The bytes of a WQE in a QP's ring.
    pub fn wqe(&self, table: Table, qpn: u32, index: u16) -> [u8; WQE_BYTES] {
        let ring = self.state().rings[&(table, qpn)];
        let slot = u64::from(index) & ((1 << ring.log_size) - 1);
        let mut bytes = [0; WQE_BYTES];
        self.memory
            .read(ring.base + slot * WQE_BYTES as u64, &mut bytes);
        bytes
    }

    /// IO address of a CQ's ring.
    pub fn ring(&self, cqn: u32) -> u64 {
        self.state().rings[&(Table::Cq, cqn)].base
    }

    /// Writes a CQE as the card does.
    pub fn write_cqe(&self, cqn: u32, mut cqe: Cqe) {
        let mut state = self.state();
        let ring = state.rings[&(Table::Cq, cqn)];
        let producer = state.cqe_producers.entry(cqn).or_insert(0);
        cqe.phase = phase_of(*producer, ring.log_size.into());
        let slot = u64::from(*producer) & ((1 << ring.log_size) - 1);
        *producer = (*producer + 1) & 0xFF_FFFF;
        self.memory
            .write(ring.base + slot * CQE_BYTES as u64, &cqe.encode());
    }

    /// Writes an EQE as the card does.
    pub fn write_event(&self, eqn: u32, edit: impl FnOnce(&mut [u8; EQE_BYTES]), mut eqe: Eqe) {
        let mut state = self.state();
        let ring = state.rings[&(Table::Eq, eqn)];
        let producer = state.eqe_producers.entry(eqn).or_insert(0);
        eqe.phase = phase_of(*producer, ring.log_size.into());
        let slot = u64::from(*producer) & ((1 << ring.log_size) - 1);
        *producer = (*producer + 1) & 0xFF_FFFF;
        let mut bytes = eqe.encode();
        edit(&mut bytes);
        self.memory
            .write(ring.base + slot * EQE_BYTES as u64, &bytes);
    }

    fn start(state: &mut State, opcode: u32) {
        let code = Self::execute(state, opcode);
        state.status = MailboxState::Done(code as u8);
        state.busy = state.slowness;
    }

    fn execute(state: &mut State, opcode: u32) -> CommandStatus {
        if state.busy > 0 {
            return CommandStatus::Busy;
        }
        if let Some(status) = state.refuse.take() {
            return status;
        }
        let Some(command) = Command::from_opcode(opcode) else {
            return CommandStatus::BadOpcode;
        };
        let limit = match command.object() {
            Object::Port => 1,
            Object::Qp => QPS,
            Object::Cq => CQS,
            Object::Eq => EQS,
            Object::Mr => MRS,
            Object::Srq => SRQS,
            Object::Ah => AHS,
        };
        if state.object >= limit {
            return CommandStatus::BadIndex;
        }
        if let Some(to) = command.to() {
            let now = state
                .qp_states
                .entry(state.object)
                .or_insert(QpState::Reset);
            if !command.from().contains(now) {
                return CommandStatus::BadState;
            }
            *now = to;
        }
        let mut writes = Vec::new();
        for (block, &table) in command.tables().iter().enumerate() {
            let mut entry = [0; 4];
            entry.copy_from_slice(&state.mailbox[4 * block..4 * block + 4]);
            writes.push((table, entry));
            if matches!(
                table,
                Table::Sq | Table::Rq | Table::Cq | Table::Eq | Table::Srq
            ) {
                let key = (table, state.object);
                state.rings.insert(key, RingCfg::from_bits(&entry));
            }
            if table == Table::Eq {
                state.eqe_producers.insert(state.object, 0);
            }
            if table == Table::Cq {
                state.cqe_producers.insert(state.object, 0);
            }
        }
        state.ran.push(Ran {
            command,
            object: state.object,
            writes,
        });
        CommandStatus::Ok
    }

    fn alive(&self, offset: u64) -> Result<MutexGuard<'_, State>, BarError> {
        let state = self.state();
        if state.dead {
            return Err(BarError {
                offset,
                source: "the card is gone".into(),
            });
        }
        Ok(state)
    }
}

impl Bar for TestCard {
    fn read32(&self, offset: u64) -> Result<u32, BarError> {
        let mut state = self.alive(offset)?;
        if offset != regs::COMMAND_STATUS {
            return Ok(state.words[&offset]);
        }
        if state.busy > 0 {
            state.busy -= 1;
            return Ok(MailboxState::Busy.to_bits());
        }
        Ok(state.status.to_bits())
    }

    fn read64(&self, offset: u64) -> Result<u64, BarError> {
        Ok(self
            .alive(offset)?
            .counters
            .get(&offset)
            .copied()
            .unwrap_or(0))
    }

    fn write32(&self, offset: u64, value: u32) -> Result<(), BarError> {
        let mut state = self.alive(offset)?;
        match offset {
            regs::COMMAND_OBJECT => state.object = value,
            regs::COMMAND => Self::start(&mut state, value),
            other => panic!("32-bit write to {other:#x}"),
        }
        Ok(())
    }

    fn write64(&self, offset: u64, value: u64) -> Result<(), BarError> {
        let mut state = self.alive(offset)?;
        match offset {
            regs::DOORBELLS..regs::BAR_BYTES => {
                let (page, doorbell) = (
                    (offset - regs::DOORBELLS) / regs::DOORBELL_PAGE,
                    offset % regs::DOORBELL_PAGE,
                );
                state.pages_rung.push(page as u8);
                match doorbell {
                    regs::SQ_DOORBELL => state.sq_doorbells.push(QueueDoorbell::from_bits(value)),
                    regs::RQ_DOORBELL => state.rq_doorbells.push(QueueDoorbell::from_bits(value)),
                    regs::SRQ_DOORBELL => {
                        state.srq_doorbells.push(QueueDoorbell::from_bits(value));
                    }
                    regs::CQ_DOORBELL => state.cq_doorbells.push(CqDoorbell::from_bits(value)),
                    regs::CQ_ARM => state.cq_arms.push(CqArm::from_bits(value)),
                    regs::EQ_DOORBELL => state.eq_doorbells.push(EqDoorbell::from_bits(value)),
                    other => panic!("64-bit write to {other:#x} of a doorbell page"),
                }
            }
            regs::MAILBOX_IN..regs::MAILBOX_OUT => {
                assert_eq!(offset % 8, 0);
                state.mailbox[(offset - regs::MAILBOX_IN) as usize / 8] = value;
            }
            other => panic!("64-bit write to {other:#x}"),
        }
        Ok(())
    }
}

/// A successful completion.
pub fn cqe(opcode: WcOpcode, qpn: u32, wqe_index: u16) -> Cqe {
    Cqe {
        opcode,
        status: Status::Success,
        flags: 0,
        qpn,
        byte_len: 0,
        imm: [0; 4],
        wqe_index,
        vendor_err: 0,
        src_qpn: 0,
        phase: false,
    }
}

/// A failed completion.
pub fn failed(opcode: WcOpcode, qpn: u32, wqe_index: u16, status: Status) -> Cqe {
    Cqe {
        status,
        ..cqe(opcode, qpn, wqe_index)
    }
}

pub const PEER: PortAddress = PortAddress {
    mac: Mac([2, 0, 0, 0, 0, 0xB]),
    ip: std::net::Ipv4Addr::new(192, 0, 2, 11),
};

/// A card with the usual objects, the QP in RESET.
pub struct Bench {
    pub qp: Qp,
    pub mr: Mr,
    pub cq: Cq,
    pub pd: Pd,
    pub device: Device,
    pub card: TestCard,
}

impl Bench {
    pub fn new(depth: usize) -> Self {
        let card = TestCard::new();
        let device = card.open();
        let pd = device.create_pd().unwrap();
        let cq = device.create_cq(4 * depth).unwrap();
        let qp = pd
            .qp(&cq)
            .send_depth(depth)
            .recv_depth(depth)
            .build()
            .unwrap();
        let mr = pd
            .allocate(8192, Access::LOCAL_WRITE | Access::REMOTE_WRITE)
            .unwrap();
        card.take_ran();
        Self {
            qp,
            mr,
            cq,
            pd,
            device,
            card,
        }
    }

    /// The same with the QP in RTS.
    pub fn connected(depth: usize) -> Self {
        let bench = Self::new(depth);
        connect(&bench.qp);
        bench.card.take_ran();
        bench
    }
}

pub fn connect(qp: &Qp) {
    let rtr = RtrAttr::new(PEER, 17, 100);
    qp.connect(InitAttr::default(), rtr, RtsAttr::new(200))
        .unwrap();
}

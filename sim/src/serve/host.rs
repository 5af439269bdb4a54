//! The host of a served card, and its time.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ferroce_abi::frame::on_wire;
use ferroce_abi::icrc;
use ferroce_bridge::Library;
use ferroce_driver::{
    Access, Completion, Cq, Device, InitAttr, Mac, Mr, Pd, Pmtu, PortAddress, Qp, RecvWr, Remote,
    RtrAttr, RtsAttr, SendOp, SendWr,
};
use thiserror::Error;

use super::neighbours::{Handled, Neighbours};
use super::protocol::{Command, Completed, Connect, PostRecv, PostSend, Reply, Request, SendKind};
use super::wire::{Wire, WireError};
use crate::host::Sim;
use crate::link::{Frame, Link, LinkConfig};
use crate::world::{World, WorldConfig, WorldError};

/// Core cycles that the card runs on after the last frame or command: longer than any answer of its takes.
const RESTLESS_CYCLES: u64 = 20_000;
/// How long a sleeping card lets a command wait.
const NAP: Duration = Duration::from_millis(2);
/// How long a neighbour may take to answer ARP, and how often it is asked.
const ARP_PATIENCE: Duration = Duration::from_secs(5);
const ARP_INTERVAL: Duration = Duration::from_millis(250);
/// Entries of the one CQ.
const CQ_ENTRIES: usize = 4096;

/// How to serve a card.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Socket of the card's end.
    pub local: PathBuf,
    /// Socket of the peer's end.
    pub remote: PathBuf,
    /// The card's addresses.
    pub address: PortAddress,
    /// Cable (both directions), hosts, capture, waves. Its wiring is open, whatever is said here.
    pub world: WorldConfig,
}

/// A served card stops.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The simulation.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The driver.
    #[error(transparent)]
    Driver(#[from] ferroce_driver::Error),
    /// The socket.
    #[error(transparent)]
    Wire(#[from] WireError),
}

/// A command can't be done; the card goes on.
#[derive(Debug, Error)]
enum Refused {
    #[error("no {what} has number {number}")]
    Unknown { what: &'static str, number: u32 },
    #[error("{0}")]
    Wrong(String),
    #[error(transparent)]
    Driver(#[from] ferroce_driver::Error),
    #[error(transparent)]
    Memory(#[from] ferroce_driver::DmaError),
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error(transparent)]
    World(#[from] WorldError),
}

/// Someone who waits for completions.
#[derive(Debug)]
struct Waiting {
    id: u64,
    count: usize,
    end: Instant,
}

/// A card with a host, on a wire.
#[derive(Debug)]
pub struct Server {
    sim: Sim,
    device: Device,
    pd: Pd,
    cq: Cq,
    qps: BTreeMap<u32, Qp>,
    mrs: BTreeMap<u32, Mr>,
    next_mr: u32,
    wire: Wire,
    /// The cable away from the card; the one towards it is the card's own.
    outgoing: Link,
    neighbours: Neighbours,
    address: PortAddress,
    done: VecDeque<Completion>,
    waiting: Option<Waiting>,
    /// Core cycle of the last thing that moved.
    moved_at: u64,
}

impl Server {
    /// Sets up a card and its socket.
    ///
    /// # Errors
    /// The model, the driver or the socket fails.
    pub fn new(library: &Arc<Library>, config: &ServerConfig) -> Result<Self, ServerError> {
        let wire = Wire::bind(&config.local, &config.remote)?;
        let mut world = config.world.clone();
        world.wiring = crate::world::Wiring::Open;
        let outgoing = Link::new(
            LinkConfig {
                delay_fs: 0,
                ..world.link
            },
            !world.seed,
        );
        let sim = Sim::new(World::new(library, 1, &world)?);
        let (bar, memory) = sim.host(0);
        let device = Device::open(bar, memory)?;
        device.set_port(config.address)?;
        Ok(Self {
            pd: device.create_pd()?,
            cq: device.create_cq(CQ_ENTRIES)?,
            qps: BTreeMap::new(),
            mrs: BTreeMap::new(),
            next_mr: 0,
            neighbours: Neighbours::new(config.address),
            address: config.address,
            done: VecDeque::new(),
            waiting: None,
            moved_at: 0,
            sim,
            device,
            wire,
            outgoing,
        })
    }

    /// Serves until the program hangs up.
    ///
    /// # Errors
    /// The simulation or the socket fails.
    pub fn run(
        &mut self,
        requests: &Receiver<Request>,
        mut reply: impl FnMut(u64, Reply),
    ) -> Result<(), ServerError> {
        reply(
            0,
            Reply::Ready {
                mac: self.address.mac.to_string(),
                ip: self.address.ip,
            },
        );
        loop {
            if self.waiting.is_none() {
                match requests.try_recv() {
                    Ok(request) => self.obey(request, &mut reply)?,
                    Err(TryRecvError::Disconnected) => return Ok(()),
                    Err(TryRecvError::Empty) => {}
                }
            }
            self.exchange()?;
            if self.restless() {
                self.sim.step()?;
            } else {
                self.wire.wait(NAP)?;
            }
            self.collect(&mut reply)?;
        }
    }

    /// Something moves, or may move by itself.
    fn restless(&self) -> bool {
        let cycles = self.sim.with(|world| world.cycles());
        cycles < self.moved_at + RESTLESS_CYCLES
            || self.qps.values().any(|qp| qp.outstanding_sends() > 0)
    }

    /// Moves frames between card and socket.
    fn exchange(&mut self) -> Result<(), WireError> {
        let now_fs = self.sim.now_fs();
        for frame in self.sim.with(|world| world.take_sent(0)) {
            self.moved();
            self.outgoing.send(frame);
        }
        while let Some(Frame { mut bytes, .. }) = self.outgoing.receive(now_fs) {
            bytes.truncate(bytes.len() - icrc::BYTES);
            self.wire.send(bytes)?;
        }
        self.wire.flush()?;
        while let Some(frame) = self.wire.receive()? {
            match self.neighbours.handle(&frame) {
                Handled::Answer(answer) => self.wire.send(answer)?,
                Handled::Silently => {}
                Handled::No => {
                    self.moved();
                    self.sim.with(|world| world.inject(0, on_wire(frame)));
                }
            }
        }
        Ok(())
    }

    fn moved(&mut self) {
        self.moved_at = self.sim.with(|world| world.cycles());
    }

    /// Takes completions, and answers who waits for them.
    fn collect(&mut self, reply: &mut impl FnMut(u64, Reply)) -> Result<(), ServerError> {
        let Some(waiting) = &self.waiting else {
            return Ok(());
        };
        self.done.extend(self.cq.poll(CQ_ENTRIES)?);
        if self.done.len() >= waiting.count || Instant::now() >= waiting.end {
            let all = self.done.drain(..).map(Completed::from).collect();
            reply(waiting.id, Reply::Completions(all));
            self.waiting = None;
        }
        Ok(())
    }

    fn obey(
        &mut self,
        request: Request,
        reply: &mut impl FnMut(u64, Reply),
    ) -> Result<(), ServerError> {
        self.moved();
        let Request { id, command } = request;
        match self.done_by(id, command) {
            Ok(Some(answer)) => reply(id, answer),
            Ok(None) => {}
            // The card itself is broken.
            Err(Refused::World(error)) => return Err(error.into()),
            Err(Refused::Wire(error)) => return Err(error.into()),
            Err(error) => reply(id, Reply::Error(error.to_string())),
        }
        Ok(())
    }

    /// The answer, unless it comes later.
    fn done_by(&mut self, id: u64, command: Command) -> Result<Option<Reply>, Refused> {
        let answer = match command {
            Command::Mr { len } => self.allocate(len)?,
            Command::DropMr { mr } => {
                self.mr(mr)?;
                self.mrs.remove(&mr);
                Reply::Done
            }
            Command::DropQp { qpn } => {
                self.qp(qpn)?;
                self.qps.remove(&qpn);
                Reply::Done
            }
            Command::Write { mr, offset, hex } => {
                let bytes = bytes_of(&hex)?;
                self.mr(mr)?.write(offset, &bytes)?;
                Reply::Done
            }
            Command::Read { mr, offset, len } => {
                let end = offset.checked_add(len).ok_or(overflow())?;
                let bytes = self.mr(mr)?.to_vec(offset..end)?;
                Reply::Bytes {
                    hex: hex_of(&bytes),
                }
            }
            Command::Qp { depth } => {
                let qp = self
                    .pd
                    .qp(&self.cq)
                    .send_depth(depth)
                    .recv_depth(depth)
                    .build()?;
                let qpn = qp.qpn();
                self.qps.insert(qpn, qp);
                Reply::Qp { qpn }
            }
            Command::Connect(connect) => self.connect(&connect)?,
            Command::Reset { qpn } => {
                self.qp(qpn)?.reset()?;
                Reply::Done
            }
            Command::State { qpn } => Reply::State {
                name: format!("{:?}", self.qp(qpn)?.state()),
            },
            Command::Send(request) => self.send(&request)?,
            Command::Recv(request) => self.receive(&request)?,
            Command::Poll { count, timeout_ms } => {
                let end = Instant::now() + Duration::from_millis(timeout_ms);
                self.waiting = Some(Waiting { id, count, end });
                return Ok(None);
            }
            Command::Counters => {
                let counters = self.device.counters()?;
                let some = counters.iter().filter(|(_, value)| *value != 0);
                Reply::Counters(
                    some.map(|(c, value)| (c.name().to_owned(), value))
                        .collect(),
                )
            }
            Command::Time => Reply::Time {
                ns: self.sim.now_fs() / crate::time::NS_FS,
                cycles: self.sim.with(|world| world.cycles()),
            },
        };
        Ok(Some(answer))
    }

    fn allocate(&mut self, len: usize) -> Result<Reply, Refused> {
        let mr = self.pd.allocate(len, Access::ALL)?;
        let (addr, rkey) = (mr.addr(), mr.rkey());
        let number = self.next_mr;
        self.mrs.insert(number, mr);
        self.next_mr += 1;
        Ok(Reply::Mr {
            mr: number,
            addr,
            rkey,
        })
    }

    fn mr(&self, number: u32) -> Result<&Mr, Refused> {
        let what = "region";
        let mr = self.mrs.get(&number);
        mr.ok_or(Refused::Unknown { what, number })
    }

    fn qp(&self, number: u32) -> Result<&Qp, Refused> {
        let what = "QP";
        let qp = self.qps.get(&number);
        qp.ok_or(Refused::Unknown { what, number })
    }

    fn connect(&mut self, c: &Connect) -> Result<Reply, Refused> {
        let mac = match &c.mac {
            Some(text) => text
                .parse::<Mac>()
                .map_err(|error| Refused::Wrong(error.to_string()))?,
            None => self.resolve(c.ip)?,
        };
        let found = Pmtu::ALL.into_iter().find(|pmtu| pmtu.bytes() == c.pmtu);
        let pmtu = found.ok_or_else(|| {
            Refused::Wrong(format!(
                "{} is no path MTU: 256, 512, 1024, 2048 or 4096",
                c.pmtu
            ))
        })?;
        let init = InitAttr {
            access: Access::ALL,
            ..InitAttr::default()
        };
        let rtr = RtrAttr {
            pmtu,
            min_rnr_timer: c.min_rnr_timer,
            ..RtrAttr::new(PortAddress { mac, ip: c.ip }, c.dest_qpn, c.rq_psn)
        };
        let rts = RtsAttr {
            timeout: c.timeout,
            retry_cnt: c.retry_cnt,
            rnr_retry: c.rnr_retry,
            ..RtsAttr::new(c.sq_psn)
        };
        self.qp(c.qpn)?.connect(init, rtr, rts)?;
        Ok(Reply::Done)
    }

    /// A neighbour's MAC address, asked for until it answers.
    fn resolve(&mut self, ip: std::net::Ipv4Addr) -> Result<Mac, Refused> {
        let end = Instant::now() + ARP_PATIENCE;
        let mut ask_at = Instant::now();
        loop {
            if let Some(mac) = self.neighbours.mac_of(ip) {
                return Ok(mac);
            }
            let now = Instant::now();
            if now >= end {
                return Err(Refused::Wrong(format!("{ip} does not answer ARP")));
            }
            if now >= ask_at {
                self.wire.send(self.neighbours.question(ip))?;
                ask_at = now + ARP_INTERVAL;
            }
            self.wire.wait(NAP)?;
            self.exchange()?;
        }
    }

    fn send(&self, r: &PostSend) -> Result<Reply, Refused> {
        let end = r.offset.checked_add(r.len).ok_or(overflow())?;
        let sge = self.mr(r.mr)?.sge(r.offset..end)?;
        let remote = || {
            let remote = r.remote.map(|remote| Remote {
                addr: remote.addr,
                rkey: remote.rkey,
            });
            remote.ok_or_else(|| Refused::Wrong("this operation needs `remote`".into()))
        };
        let op = match r.op {
            SendKind::Send => SendOp::Send,
            SendKind::SendImm => SendOp::SendWithImm(r.imm),
            SendKind::SendInv => SendOp::SendWithInv(r.imm),
            SendKind::Write => SendOp::Write(remote()?),
            SendKind::WriteImm => SendOp::WriteWithImm(remote()?, r.imm),
            SendKind::Read => SendOp::Read(remote()?),
            SendKind::CompareSwap => SendOp::CompareAndSwap {
                remote: remote()?,
                compare: r.compare,
                swap: r.swap,
            },
            SendKind::FetchAdd => SendOp::FetchAndAdd {
                remote: remote()?,
                add: r.swap,
            },
        };
        self.qp(r.qpn)?.post_send(SendWr::new(r.wr_id, op, sge))?;
        Ok(Reply::Done)
    }

    fn receive(&self, r: &PostRecv) -> Result<Reply, Refused> {
        let end = r.offset.checked_add(r.len).ok_or(overflow())?;
        let sge = self.mr(r.mr)?.sge(r.offset..end)?;
        self.qp(r.qpn)?.post_recv(RecvWr::new(r.wr_id, sge))?;
        Ok(Reply::Done)
    }
}

fn overflow() -> Refused {
    Refused::Wrong("offset and length wrap".into())
}

fn bytes_of(hex: &str) -> Result<Vec<u8>, Refused> {
    let wrong = || Refused::Wrong("`hex` is no even number of hexadecimal digits".into());
    if !hex.is_ascii() || hex.len() % 2 != 0 {
        return Err(wrong());
    }
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).map_err(|_| wrong()))
        .collect()
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

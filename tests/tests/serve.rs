//! Two served cards on one wire, each told what to do as another program would tell it.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use anyhow::{bail, ensure, Context, Result};
use ferroce_driver::{Mac, PortAddress};
use ferroce_sim::serve::{
    Command, Connect, PostRecv, PostSend, RemoteBytes, Reply, Request, SendKind, Server,
    ServerConfig, ServerError,
};
use ferroce_sim::world::WorldConfig;
use ferroce_tests::model;

const PATIENCE_MS: u64 = 120_000;
const LEN: usize = 3000;

/// A served card in a thread of its own.
struct Host {
    requests: Sender<Request>,
    replies: Receiver<(u64, Reply)>,
    thread: JoinHandle<Result<(), ServerError>>,
    asked: u64,
}

impl Host {
    fn new(folder: &Path, number: u8) -> Result<Self> {
        let end = |n: u8| folder.join(format!("wire.{n}"));
        let config = ServerConfig {
            local: end(number),
            remote: end(3 - number),
            address: PortAddress {
                mac: Mac([2, 0, 0, 0, 0, number]),
                ip: ip(number),
            },
            world: WorldConfig::default(),
        };
        let mut server = Server::new(&model::small()?, &config)?;
        let (requests, inbox) = mpsc::channel();
        let (outbox, replies) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            server.run(&inbox, |id, reply| {
                // A test that has failed no more listens.
                let _ = outbox.send((id, reply));
            })
        });
        let host = Self {
            requests,
            replies,
            thread,
            asked: 0,
        };
        let (id, ready) = host.replies.recv()?;
        ensure!(
            id == 0 && matches!(ready, Reply::Ready { ip: own, .. } if own == ip(number)),
            "{ready:?}"
        );
        Ok(host)
    }

    fn ask(&mut self, command: Command) -> Result<Reply> {
        self.asked += 1;
        let id = self.asked;
        self.requests.send(Request { id, command })?;
        let (answered, reply) = self.replies.recv().context("the server is gone")?;
        ensure!(answered == id, "{answered} is no answer to {id}");
        Ok(reply)
    }

    fn does(&mut self, command: Command) -> Result<()> {
        match self.ask(command)? {
            Reply::Done => Ok(()),
            other => bail!("{other:?}"),
        }
    }

    fn region(&mut self) -> Result<(u32, RemoteBytes)> {
        match self.ask(Command::Mr { len: LEN })? {
            Reply::Mr { mr, addr, rkey } => Ok((mr, RemoteBytes { addr, rkey })),
            other => bail!("{other:?}"),
        }
    }

    fn qp(&mut self) -> Result<u32> {
        match self.ask(Command::Qp { depth: 16 })? {
            Reply::Qp { qpn } => Ok(qpn),
            other => bail!("{other:?}"),
        }
    }

    /// Number, status, length and immediate of the next completion.
    fn completion(&mut self) -> Result<(u64, u8, u32, Option<u32>)> {
        let poll = Command::Poll {
            count: 1,
            timeout_ms: PATIENCE_MS,
        };
        match self.ask(poll)? {
            Reply::Completions(all) if all.len() == 1 => {
                Ok((all[0].wr_id, all[0].status, all[0].byte_len, all[0].imm))
            }
            other => bail!("{other:?}"),
        }
    }

    fn refusal(&mut self, command: Command) -> Result<String> {
        match self.ask(command)? {
            Reply::Error(text) => Ok(text),
            other => bail!("{other:?}"),
        }
    }

    fn stop(self) -> Result<()> {
        drop(self.requests);
        match self.thread.join() {
            Ok(result) => Ok(result?),
            Err(_) => bail!("the server panicked"),
        }
    }
}

fn ip(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, number)
}

fn connect(qpn: u32, peer: u8, dest_qpn: u32, sq_psn: u32, rq_psn: u32) -> Command {
    Command::Connect(Connect {
        qpn,
        ip: ip(peer),
        mac: None,
        dest_qpn,
        rq_psn,
        sq_psn,
        pmtu: 1024,
        min_rnr_timer: 12,
        timeout: 12,
        retry_cnt: 7,
        rnr_retry: 7,
    })
}

#[test]
fn a_message_crosses_the_wire_of_sockets() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut a, mut b) = (Host::new(folder.path(), 1)?, Host::new(folder.path(), 2)?);
    let ((source, _), (target, remote)) = (a.region()?, b.region()?);
    let (qpn_a, qpn_b) = (a.qp()?, b.qp()?);
    // Each asks the other for its MAC address.
    a.does(connect(qpn_a, 2, qpn_b, 0xff_ffff, 5))?;
    b.does(connect(qpn_b, 1, qpn_a, 5, 0xff_ffff))?;
    let bytes: Vec<String> = (0..LEN).map(|k| format!("{:02x}", k % 251)).collect();
    let hex = bytes.concat();
    a.does(Command::Write {
        mr: source,
        offset: 0,
        hex: hex.clone(),
    })?;
    b.does(Command::Recv(PostRecv {
        qpn: qpn_b,
        mr: target,
        offset: 0,
        len: 0,
        wr_id: 7,
    }))?;
    a.does(Command::Send(PostSend {
        qpn: qpn_a,
        op: SendKind::WriteImm,
        mr: source,
        offset: 0,
        len: LEN,
        remote: Some(remote),
        imm: 0x1234_5678,
        wr_id: 9,
        compare: 0,
        swap: 0,
    }))?;
    let received = b.completion()?;
    ensure!(
        received == (7, 0, LEN as u32, Some(0x1234_5678)),
        "{received:?}"
    );
    let sent = a.completion()?;
    ensure!(sent.0 == 9 && sent.1 == 0, "{sent:?}");
    let read = b.ask(Command::Read {
        mr: target,
        offset: 0,
        len: LEN,
    })?;
    ensure!(read == Reply::Bytes { hex }, "other bytes arrived");
    a.stop()?;
    b.stop()
}

#[test]
fn what_cannot_be_done_is_refused_and_the_card_goes_on() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut host = Host::new(folder.path(), 1)?;
    let (mr, _) = host.region()?;
    let read = |mr, offset, len| Command::Read { mr, offset, len };
    let no_region = host.refusal(read(mr + 1, 0, 1))?;
    ensure!(no_region == "no region has number 1", "{no_region}");
    host.refusal(read(mr, 1, LEN))?;
    host.refusal(read(mr, usize::MAX, 2))?;
    host.refusal(Command::Write {
        mr,
        offset: 0,
        hex: "0g".into(),
    })?;
    let no_qp = host.refusal(Command::State { qpn: 99 })?;
    ensure!(no_qp == "no QP has number 99", "{no_qp}");
    let qpn = host.qp()?;
    // Nobody lives there.
    let silent = host.refusal(connect(qpn, 77, 1, 0, 0))?;
    ensure!(silent == "192.0.2.77 does not answer ARP", "{silent}");
    let state = host.ask(Command::State { qpn })?;
    let name = "Reset".to_owned();
    ensure!(state == Reply::State { name }, "{state:?}");
    host.does(Command::DropMr { mr })?;
    host.refusal(read(mr, 0, 1))?;
    host.does(Command::DropQp { qpn })?;
    host.refusal(Command::Reset { qpn })?;
    host.stop()
}

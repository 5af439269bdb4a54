//! `ferroce sim serve`: a simulated card on a wire that other programs share.

use std::io::{BufRead, Write};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};

use anyhow::{Context, Result};
use ferroce_driver::{Mac, PortAddress};
use ferroce_nic::NicConfig;
use ferroce_sim::serve::{Reply, Request, Server, ServerConfig};
use serde::Serialize;

use crate::cable::RunArgs;
use crate::model;
use crate::Outcome;

/// Run a card whose wire is a unix datagram socket, for QEMU and other peers
///
/// Each datagram is one Ethernet frame without FCS, which is what QEMU's `-netdev dgram,id=n0,local.type=unix,local.path=REMOTE,remote.type=unix,remote.path=LOCAL`
/// speaks. The card's host answers ARP and pings, and does what lines of JSON on standard input say; answers come on standard output (docs/serve.md).
/// It ends with its input.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Socket of the card's end of the wire
    #[arg(long, value_name = "PATH")]
    pub local: PathBuf,
    /// Socket of the peer's end
    #[arg(long, value_name = "PATH")]
    pub remote: PathBuf,
    /// The card's MAC address
    #[arg(long, value_name = "MAC", default_value = "02:00:00:00:00:14")]
    pub mac: Mac,
    /// The card's IP address
    #[arg(long, value_name = "IP", default_value = "192.0.2.20")]
    pub ip: Ipv4Addr,
    /// The simulation
    #[command(flatten)]
    pub run: RunArgs,
}

/// A reply with the request's number.
#[derive(Debug, Serialize)]
struct Answer {
    id: u64,
    #[serde(flatten)]
    reply: Reply,
}

/// Serves.
///
/// # Errors
/// The card, its socket or an output fails.
pub fn run(args: &Args) -> Result<Outcome> {
    let world = args.run.world()?;
    let library = model::card(&NicConfig::SMALL, world.wave.is_some())?;
    let config = ServerConfig {
        local: args.local.clone(),
        remote: args.remote.clone(),
        address: PortAddress {
            mac: args.mac,
            ip: args.ip,
        },
        world,
    };
    let mut server = Server::new(&library, &config)?;
    server.run(&requests(), |id, reply| say(&Answer { id, reply }))?;
    Ok(Outcome::Good)
}

/// Requests from standard input; wrong lines are answered at once.
fn requests() -> Receiver<Request> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let read = line.context("standard input");
            let parsed = read.and_then(|line| Ok(serde_json::from_str(&line)?));
            match parsed {
                Ok(request) => {
                    if send.send(request).is_err() {
                        return;
                    }
                }
                Err(error) => say(&Answer {
                    id: 0,
                    reply: Reply::Error(error.to_string()),
                }),
            }
        }
    });
    receive
}

/// One line. A program that no more listens closes standard input, too, which ends the server.
fn say(answer: &Answer) {
    let mut out = std::io::stdout().lock();
    let written = serde_json::to_string(answer)
        .map_err(std::io::Error::from)
        .and_then(|line| writeln!(out, "{line}"))
        .and_then(|()| out.flush());
    if let Err(error) = written {
        tracing::warn!(%error, "an answer was not heard");
    }
}

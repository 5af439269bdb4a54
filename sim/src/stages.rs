//! Time stamps of a message on its way through a card: at its pins, and where one part hands over to the next.

use ferroce_bridge::{BridgeError, Library, Model, Port};
use ferroce_pcie::tlp::RequestType;
use ferroce_pcie::usp::desc::{RequestDescriptor, REQUEST_BYTES};
use ferroce_pcie::usp::RqBeat;
use serde::Serialize;

/// A point that a message passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The last beat of a store of the host enters the card on CQ.
    Store,
    /// The doorbell, checked, enters the SQ's WQE cache.
    Doorbell,
    /// WQEs are asked for.
    WqeRequest,
    /// A read request leaves the card on RQ.
    ReadRequest,
    /// A beat of completions enters the card on RC.
    Completion,
    /// WQEs are there: the scheduler is told.
    Kick,
    /// The sender reads a WQE.
    WqeRead,
    /// The sender has decided to send a message.
    Sent,
    /// Payload is asked for.
    PayloadRequest,
    /// A beat of a frame leaves towards the MAC crossing.
    FrameOut,
    /// The first beat of a frame leaves the card.
    MacTx,
    /// The first beat of a frame enters the card.
    MacRx,
    /// A beat of a frame has come through the MAC crossing.
    FrameIn,
    /// A beat of received payload leaves towards host memory.
    PayloadWrite,
    /// A receive is complete.
    ReceiveDone,
    /// A send is complete.
    SendDone,
    /// A CQE leaves towards host memory.
    CqeWrite,
    /// A write request begins on RQ.
    WriteRequest,
}

/// Stages by bit of the card's `stages` port.
const TRACED: [Stage; 12] = [
    Stage::Doorbell,
    Stage::WqeRequest,
    Stage::Kick,
    Stage::WqeRead,
    Stage::Sent,
    Stage::PayloadRequest,
    Stage::FrameOut,
    Stage::FrameIn,
    Stage::PayloadWrite,
    Stage::ReceiveDone,
    Stage::SendDone,
    Stage::CqeWrite,
];

/// A stage was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Passed {
    /// Which.
    pub stage: Stage,
    /// The clock edge, in femtoseconds.
    pub time_fs: u64,
}

/// A recorder at a card.
#[derive(Debug)]
pub struct Stages {
    port: Port,
    passed: Vec<Passed>,
}

impl Stages {
    /// At a card's `stages` port.
    ///
    /// # Errors
    /// The model has none.
    pub fn new(library: &Library) -> Result<Self, BridgeError> {
        Ok(Self {
            port: library.port("stages")?,
            passed: Vec::new(),
        })
    }

    /// Notes that something passes at the clock edge at `time_fs`.
    pub fn note(&mut self, stage: Stage, time_fs: u64) {
        self.passed.push(Passed { stage, time_fs });
    }

    /// Looks at the card's inside just before a rising core clock edge.
    pub fn look(&mut self, model: &Model, time_fs: u64) {
        let bits = model.get_u64(self.port);
        if bits == 0 {
            return;
        }
        for (bit, stage) in TRACED.into_iter().enumerate() {
            if bits >> bit & 1 == 1 {
                self.note(stage, time_fs);
            }
        }
    }

    /// What was passed since the last call, in order of time.
    pub fn take(&mut self) -> Vec<Passed> {
        std::mem::take(&mut self.passed)
    }
}

/// The requests that begin in a beat of RQ.
pub fn requests(beat: &RqBeat) -> impl Iterator<Item = Stage> + '_ {
    let starts = (beat.user.is_sop & 3).count_ones() as usize;
    beat.user.sop_ptr[..starts].iter().filter_map(|place| {
        let at = usize::from(*place) * REQUEST_BYTES;
        let bytes = beat.data.get(at..at + REQUEST_BYTES)?;
        match RequestDescriptor::from_bytes(bytes).kind {
            Some(RequestType::MemWrite) => Some(Stage::WriteRequest),
            Some(RequestType::MemRead) => Some(Stage::ReadRequest),
            _ => None,
        }
    })
}

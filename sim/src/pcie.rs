//! The host at the PCIe streams of a card: the block, the link and the root complex, and the loads and stores of its processor.

use std::collections::VecDeque;

use ferroce_bridge::{BridgeError, Library, Model, Port};
use ferroce_pcie::block::{Block, BlockConfig};
use ferroce_pcie::root::{self, HostMemoryPort, RootConfig, RootStats, Scripted};
use ferroce_pcie::usp::user::CqUser;
use ferroce_pcie::usp::{AxisBeat, CcBeat, CqBeat, RcBeat, RqBeat, User};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::memory::HostMemory;
use crate::ports::{StreamPort, MAX_WORDS};
use crate::stages::{self, Stage, Stages};

/// Bits of `max_payload` in the packed limits.
const MAX_PAYLOAD_BITS: u32 = 2;

/// The block and the host behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PcieConfig {
    /// The block.
    pub block: BlockConfig,
    /// Link and host.
    pub root: RootConfig,
}

impl HostMemoryPort for HostMemory {
    fn read(&self, addr: u64, bytes: &mut [u8]) -> Result<(), root::Unmapped> {
        let len = bytes.len();
        let source = self.slice(addr, len);
        bytes.copy_from_slice(source.map_err(|_| root::Unmapped { addr, len })?);
        Ok(())
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), root::Unmapped> {
        let len = bytes.len();
        HostMemory::write(self, addr, bytes).map_err(|_| root::Unmapped { addr, len })
    }
}

/// Accesses of the card to host memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DmaStats {
    /// Read requests.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Most reads outstanding at once.
    pub most_outstanding: usize,
    /// Accesses outside mapped memory.
    pub faults: u64,
}

/// One load or store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BarAccess {
    /// Byte offset in the BAR, a multiple of the access width.
    pub offset: u32,
    /// What to store; `None` loads.
    pub store: Option<u64>,
    /// Bytes: 4 or 8. A load may have 1 to 255, of which the first eight are kept.
    pub width: u8,
}

/// A load that the card has not answered, or whose answer was not fetched.
#[derive(Debug)]
struct Load {
    tag: u8,
    width: u8,
    answer: Option<u64>,
}

/// The host of one card.
#[derive(Debug)]
pub struct PciePort {
    rq: StreamPort,
    rc: StreamPort,
    cq: StreamPort,
    cc: StreamPort,
    np_credit: Port,
    /// Bit 0 of `pcie_cq_np_req`, if the card has it; else it always grants.
    np_wanted: Option<Port>,
    limits: Port,
    /// `cfg_interrupt_msix_enable` and `cfg_interrupt_msix_mask`, if the card has them.
    msix: Option<[Port; 2]>,
    msix_set: [bool; 2],
    block: Block,
    loads: VecDeque<Load>,
    /// Write-combined stores are torn, by these random numbers.
    torn: Option<ChaCha8Rng>,
    violation: Option<String>,
}

impl PciePort {
    /// The host end of streams `rq`, `rc`, `cq` and `cc` and of ports `np_credit` and `limits`, and of `np_wanted`,
    /// `msix_enable` and `msix_mask` if there are any. MSI-X is enabled.
    ///
    /// # Errors
    /// The model lacks one of them.
    pub fn new(library: &Library, config: PcieConfig, seed: u64) -> Result<Self, BridgeError> {
        Ok(Self {
            rq: StreamPort::find(library, "rq")?,
            rc: StreamPort::find(library, "rc")?,
            cq: StreamPort::find(library, "cq")?,
            cc: StreamPort::find(library, "cc")?,
            np_credit: library.port("np_credit")?,
            np_wanted: library.port("np_wanted").ok(),
            limits: library.port("limits")?,
            msix: match (library.port("msix_enable"), library.port("msix_mask")) {
                (Ok(enable), Ok(mask)) => Some([enable, mask]),
                _ => None,
            },
            msix_set: [true, false],
            block: Block::new(config.block, config.root, seed),
            loads: VecDeque::new(),
            torn: None,
            violation: None,
        })
    }

    /// Queues a load or store of the BAR.
    pub fn push(&mut self, access: BarAccess) {
        let addr = self.block.config().bar.base + u64::from(access.offset);
        let width = usize::from(access.width);
        match access.store {
            Some(value) => {
                let bytes = value.to_le_bytes();
                self.block.root.host_write(addr, &bytes[..width]);
            }
            None => self.loads.push_back(Load {
                tag: self.block.root.host_read(addr, width),
                width: access.width,
                answer: None,
            }),
        }
    }

    /// Queues a write-combined store of a whole number of doublewords: one request, unless it is torn.
    pub fn push_bytes(&mut self, offset: u32, bytes: &[u8]) {
        let addr = self.block.config().bar.base + u64::from(offset);
        let Some(rng) = &mut self.torn else {
            self.block.root.host_write(addr, bytes);
            return;
        };
        let cut = 4 * rng.gen_range(0..=bytes.len() / 4);
        let (low, high) = bytes.split_at(cut);
        let parts = [(addr, low), (addr + cut as u64, high)];
        // Whole, in two, in the wrong order, a part twice, a part missing.
        let order: &[usize] = [
            &[][..],
            &[0, 1],
            &[1, 0],
            &[0, 0, 1],
            &[0, 1, 1],
            &[0],
            &[1],
        ][rng.gen_range(0..7)];
        if order.is_empty() {
            self.block.root.host_write(addr, bytes);
        }
        let some = order.iter().map(|&part| parts[part]);
        for (addr, part) in some.filter(|(_, part)| !part.is_empty()) {
            self.block.root.host_write(addr, part);
        }
    }

    /// From now on write-combined stores are torn at random, in worse ways than processors do it: parts change their order, come
    /// twice or not at all.
    pub fn tear_pushes(&mut self, seed: u64) {
        self.torn = Some(ChaCha8Rng::seed_from_u64(seed));
    }

    /// The answer to the oldest load, if it has come. A load that the card refuses is answered with ones, as processors do.
    pub fn answer(&mut self) -> Option<u64> {
        while let Some(answer) = self.block.root.answer() {
            let mut loads = self.loads.iter_mut();
            let Some(load) = loads.find(|l| l.tag == answer.tag && l.answer.is_none()) else {
                continue;
            };
            let ones = u64::MAX >> 64u32.saturating_sub(8 * u32::from(load.width));
            load.answer = Some(answer.bytes.map_or(ones, |bytes| {
                let place = |word, &byte| word << 8 | u64::from(byte);
                bytes.iter().rev().fold(0, place)
            }));
        }
        let answer = self.loads.front()?.answer?;
        self.loads.pop_front();
        Some(answer)
    }

    /// Sets the function's MSI-X enable and mask bits from the next cycle on.
    pub fn set_msix(&mut self, enable: bool, mask: bool) {
        self.msix_set = [enable, mask];
    }

    /// Makes a completion suffer.
    pub fn script(&mut self, entry: Scripted) {
        self.block.root.script(entry);
    }

    /// Calls off what was scripted and has not happened, and returns it.
    pub fn unscript(&mut self) -> Vec<Scripted> {
        self.block.root.unscript()
    }

    /// Accesses of the card so far, a TLP each. Injected faults and refused requests are not faults of the card's.
    pub fn stats(&self) -> DmaStats {
        let stats = self.block.root.stats();
        DmaStats {
            reads: stats.reads,
            read_bytes: stats.read_bytes,
            writes: stats.writes,
            write_bytes: stats.write_bytes,
            most_outstanding: stats.most_reads,
            faults: stats.unmapped,
        }
    }

    /// What the link carried and what the host saw.
    pub fn link_stats(&self) -> RootStats {
        self.block.root.stats()
    }

    /// The first rule of the streams that the card broke, if any.
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Whether nothing is under way.
    pub fn idle(&self) -> bool {
        self.block.is_idle()
    }

    /// Notes what passes the streams at the rising core clock edge at `time_fs`.
    pub fn watch(&self, model: &Model, time_fs: u64, log: &mut Stages) {
        if self.cq.fires(model) && beat::<CqUser>(model, self.cq).last {
            log.note(Stage::Store, time_fs);
        }
        if self.rc.fires(model) {
            log.note(Stage::Completion, time_fs);
        }
        if self.rq.fires(model) {
            for stage in stages::requests(&beat(model, self.rq)) {
                log.note(stage, time_fs);
            }
        }
    }

    /// Looks at the ports just before a rising core clock edge and takes what passes at it.
    pub fn before_edge(&mut self, model: &Model) {
        let (rq, cc) = (self.rq, self.cc);
        self.block.rq(model.get_bool(rq.valid), || beat(model, rq));
        self.block.cc(model.get_bool(cc.valid), || beat(model, cc));
        self.block.rc_ready(model.get_bool(self.rc.ready));
        self.block.cq_ready(model.get_bool(self.cq.ready));
        let wanted = self.np_wanted.is_none_or(|port| model.get_bool(port));
        self.block.cq_np_req(wanted);
        if let (None, Some(rule)) = (&self.violation, self.block.violation()) {
            self.violation = Some(rule.to_string());
        }
    }

    /// Drives the ports after a rising core clock edge, and lets a cycle of link and host pass.
    pub fn after_edge(&mut self, model: &mut Model, memory: &mut HostMemory) {
        // What is offered is new when the last one has been taken.
        let (rc_held, cq_held) = (
            self.block.rc_beat().is_some(),
            self.block.cq_beat().is_some(),
        );
        self.block.tick(memory);
        model.set_bool(self.rq.ready, self.block.rq_is_ready());
        model.set_bool(self.cc.ready, self.block.cc_is_ready());
        offer(model, self.rc, self.block.rc_beat(), rc_held);
        offer(model, self.cq, self.block.cq_beat(), cq_held);
        model.set_u64(self.np_credit, u64::from(self.block.np_credit()));
        let (payload, read) = (self.block.max_payload_code(), self.block.max_read_code());
        let limits = u64::from(payload) | u64::from(read) << MAX_PAYLOAD_BITS;
        model.set_u64(self.limits, limits);
        for (port, set) in self.msix.into_iter().flatten().zip(self.msix_set) {
            model.set_bool(port, set);
        }
    }
}

fn beat<U: User>(model: &Model, stream: StreamPort) -> AxisBeat<U> {
    let mut words = [0; MAX_WORDS];
    model.read_words(stream.data, &mut words[..stream.data.word_count()]);
    AxisBeat::unpack(&words)
}

fn offer<U: User>(model: &mut Model, stream: StreamPort, beat: Option<&AxisBeat<U>>, held: bool) {
    model.set_bool(stream.valid, beat.is_some());
    if let (Some(beat), false) = (beat, held) {
        let mut words = [0; MAX_WORDS];
        beat.pack(&mut words);
        model.write_words(stream.data, &words[..stream.data.word_count()]);
    }
}

const _: () = {
    assert!(RqBeat::WORDS <= MAX_WORDS && RcBeat::WORDS <= MAX_WORDS);
    assert!(CqBeat::WORDS <= MAX_WORDS && CcBeat::WORDS <= MAX_WORDS);
};

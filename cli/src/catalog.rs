//! The blocks that have names: those of the card, and building blocks by themselves.

use anyhow::{bail, Result};
use ferroce_emit::harness::{leaves_of, Leaf};
use ferroce_emit::{on_big_stack, Design};

use crate::hierarchy::{places, short_type, Placed};

// Their registered modules are found at run time; this makes sure that they are linked.
use {
    ferroce_dma as _, ferroce_mac_100g as _, ferroce_mmu as _, ferroce_nic as _,
    ferroce_roce_rx as _, ferroce_roce_tx as _, ferroce_rtl as _,
};

/// Packages with hardware in them.
const PACKAGES: [&str; 7] = [
    "ferroce-nic",
    "ferroce-mac-100g",
    "ferroce-roce-tx",
    "ferroce-roce-rx",
    "ferroce-dma",
    "ferroce-mmu",
    "ferroce-rtl",
];

/// What the parts of a card do, by Rust type.
const SUMMARIES: &[(&str, &str)] = &[
    ("Card", "the whole card, between the PCIe block and the MAC"),
    ("Nic", "the card without its PCIe engine"),
    ("PcieEngine", "DMA and register accesses as PCIe TLPs"),
    (
        "RequesterTx",
        "writes and read requests of the card onto the RQ stream",
    ),
    (
        "RequesterRx",
        "cuts reads, puts their completions in place and in order",
    ),
    ("CqAccess", "the host's loads and stores of the BAR"),
    (
        "EventPath",
        "event queues and MSI-X: who is told of which CQE",
    ),
    (
        "BarSplit",
        "register accesses to the register window or the MSI-X table",
    ),
    (
        "DmaWriteArb4",
        "payload, completions and events into one stream of writes",
    ),
    (
        "SrqLimits",
        "tells when few requests are left in a shared receive queue",
    ),
    ("Arb2", "takes turns between two sources"),
    ("Drain", "tells when accesses under way have ended"),
    (
        "InlineReader",
        "hands payload out of WQEs to the frames that carry it",
    ),
    ("Mac100g", "Ethernet side: clock crossings, FCS, padding"),
    ("RoceTx", "transmit side: scheduler to frames with ICRC"),
    (
        "RoceRx",
        "receive side: frames to DMA writes, completions, ACKs",
    ),
    (
        "TxSched",
        "takes turns between QPs that have something to send",
    ),
    (
        "TxSend",
        "turns WQEs into packets: PSNs, opcodes, window, retransmission",
    ),
    (
        "TxAnswers",
        "ACKs, READ responses and atomics, in the order of the requests",
    ),
    (
        "WriteFence",
        "tells when the writes before a READ or atomic are on their way",
    ),
    ("TxGate", "holds a request back until its payload is there"),
    (
        "PayloadFetch",
        "reads payload from host memory, many reads at once",
    ),
    (
        "TxMerge",
        "ACKs first, then requests, into one stream of packets",
    ),
    ("TxHeader", "Ethernet, IPv4, UDP, BTH and extension headers"),
    (
        "HeaderInsert",
        "puts a header in front of each payload, any alignment",
    ),
    ("IcrcInsert", "computes and appends the ICRC"),
    ("RxParse", "checks headers, lengths and ICRC of a frame"),
    (
        "PacketBuffer",
        "keeps payload until it is known where it goes",
    ),
    (
        "RxControl",
        "responder: PSN, opcode, receive WQE and memory checks, ACKs",
    ),
    (
        "LandingGate",
        "tells the completer of READ data once it is on its way to the host",
    ),
    ("Completer", "matches ACKs to WQEs; time-outs and retries"),
    (
        "Mover",
        "writes payload to host memory, then hands over the completion",
    ),
    (
        "HeaderStrip",
        "takes payload out of frames and moves it to its alignment",
    ),
    (
        "WqeCache",
        "work queue entries on chip, fetched ahead in bursts",
    ),
    ("MrChecker", "checks an access against its memory region"),
    (
        "PageTranslator",
        "finds the pages of memory regions: cache, and walks of page tables",
    ),
    (
        "RegionWriter",
        "makes and removes memory regions while accesses are under way",
    ),
    (
        "BellKeeper",
        "keeps the newest doorbell of each queue until it can be handled",
    ),
    ("QpEvents", "tells of QPs that failed"),
    ("QpView", "where each QP is, for queries"),
    (
        "WriteDrain",
        "waits until the writes to a removed queue have left the card",
    ),
    ("CqeWriter", "writes completions into rings in host memory"),
    (
        "Bar",
        "register window: identification, mailbox, counters, doorbells",
    ),
    ("EventCounters", "counts what the blocks report"),
    (
        "TxMonitor",
        "tells the counters what kind of packets are sent",
    ),
    ("DmaReadArb", "shares the read port of host memory"),
    ("DmaReadDemux", "hands read data to whoever asked, by tag"),
    (
        "TxFrameFifo",
        "whole frames over to the MAC's transmit clock",
    ),
    (
        "RxFrameFifo",
        "frames over to the core clock, dropped whole when full",
    ),
    ("FcsInsert", "computes and appends the FCS"),
    ("FcsCheck", "checks and removes the FCS"),
    ("Pad60", "pads short frames"),
    ("PulseCross", "carries counted events to the core clock"),
];

/// What a part of the card does.
pub fn summary(rust_type: &str) -> Option<&'static str> {
    let wanted = short_type(rust_type);
    SUMMARIES
        .iter()
        .find_map(|(name, text)| (*name == wanted).then_some(*text))
}

/// Every registered building block.
pub fn leaves() -> Vec<&'static Leaf> {
    PACKAGES
        .iter()
        .flat_map(|package| leaves_of(package))
        .collect()
}

/// The containers of a card, then its blocks, each by name.
pub fn parts(card: &Design) -> Vec<Placed<'_>> {
    let mut parts: Vec<Placed> = places(card)
        .into_values()
        .filter(|placed| placed.is_block || placed.is_inner || placed.is_container)
        .collect();
    parts.sort_by_key(|placed| !placed.is_container);
    parts
}

/// A block by its name.
#[derive(Debug)]
pub struct Block {
    /// Its Verilog.
    pub design: Design,
    /// Whether it has the sizes of the card; otherwise it is a small one for tests.
    pub of_card: bool,
}

/// Finds a block: a module or Rust type of the card, else a building block.
///
/// # Errors
/// There is none of that name, or it can't be printed.
pub fn find(card: &Design, name: &str) -> Result<Block> {
    let module = card
        .modules()
        .iter()
        .find(|module| module.name == name)
        .or_else(|| {
            card.modules()
                .iter()
                .find(|module| module.rust_type.as_deref().map(short_type) == Some(name))
        });
    if let Some(design) = module.and_then(|module| card.part(&module.name)) {
        return Ok(Block {
            design,
            of_card: true,
        });
    }
    let Some(leaf) = leaves().into_iter().find(|leaf| leaf.name == name) else {
        bail!(crate::args::UsageError(format!(
            "there is no block {name:?}; `ferroce generate --list` names all"
        )));
    };
    let design = on_big_stack(|| ferroce_emit::emit((leaf.make)().block(), leaf.name))?;
    Ok(Block {
        design,
        of_card: false,
    })
}

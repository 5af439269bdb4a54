//! What stands in for the CMAC and its cable end: takes frames from the card's MAC-side transmit
//! stream at line rate, and plays arriving frames into the receive stream, which can't wait.

use ferroce_bridge::{BridgeError, Library, Model, Port};

use crate::link::{Frame, Link};
use crate::ports::Packed;
use crate::stages::{Stage, Stages};
use crate::time::wire_time_fs;

/// Bytes that the MAC accepts ahead of the wire, like the transmit buffer of a CMAC.
const TX_BUFFER_FS: u64 = 512 * crate::time::WIRE_BYTE_FS;

/// Largest frame on the wire, FCS included.
const MAX_FRAME: usize = 9_622;

/// Ports of one AXI-stream-like MAC stream.
#[derive(Debug, Clone, Copy)]
struct MacStream {
    data: Port,
    valid: Port,
    ready: Option<Port>,
}

/// The MAC end of one card.
#[derive(Debug)]
pub struct MacPort {
    tx: MacStream,
    rx: MacStream,
    /// Frame being sent by the card.
    sending: Vec<u8>,
    /// When the wire is free for the next frame, or began with the one being sent.
    wire_free_fs: u64,
    /// Frame being played into the card, and bytes of it already played.
    receiving: Option<(Frame, usize)>,
    /// The beat that is offered to the card begins a frame.
    begins: bool,
    violation: Option<String>,
}

impl MacPort {
    /// The MAC end for streams `mac_tx` and `mac_rx` of a card.
    ///
    /// # Errors
    /// The model lacks one of their ports.
    pub fn new(library: &Library) -> Result<Self, BridgeError> {
        let stream = |name: &str, ready: bool| -> Result<MacStream, BridgeError> {
            Ok(MacStream {
                data: library.port(&format!("{name}_data"))?,
                valid: library.port(&format!("{name}_valid"))?,
                ready: ready
                    .then(|| library.port(&format!("{name}_ready")))
                    .transpose()?,
            })
        };
        Ok(Self {
            tx: stream("mac_tx", true)?,
            rx: stream("mac_rx", false)?,
            sending: Vec::new(),
            wire_free_fs: 0,
            receiving: None,
            begins: false,
            violation: None,
        })
    }

    /// The first rule of the MAC interface that the card broke, if any.
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Notes frames that begin at the rising MAC clock edge at `time_fs`.
    pub fn watch(&self, model: &Model, time_fs: u64, log: &mut Stages) {
        let ready = self.tx.ready.is_some_and(|port| model.get_bool(port));
        if self.sending.is_empty() && ready && model.get_bool(self.tx.valid) {
            log.note(Stage::MacTx, time_fs);
        }
        if self.begins {
            log.note(Stage::MacRx, time_fs);
        }
    }

    /// Looks at the transmit stream just before a rising MAC clock edge; a complete frame goes
    /// into `link`.
    pub fn before_edge(&mut self, model: &Model, now_fs: u64, mut link: impl FnMut(Frame)) {
        let valid = model.get_bool(self.tx.valid);
        let ready = self.tx.ready.is_some_and(|port| model.get_bool(port));
        if ready && !valid && !self.sending.is_empty() {
            self.violate("a transmitted frame has a bubble (the CMAC would under-run)");
        }
        if !(valid && ready) {
            return;
        }
        let item = Packed::read(model, self.tx.data);
        let (len, last) = (item.get(512, 7) as usize, item.get(519, 1) == 1);
        if len == 0 || len > 64 || (!last && len != 64) {
            self.violate("a transmitted beat has an impossible length");
        }
        // The frame goes onto the wire while its rest arrives.
        if self.sending.is_empty() {
            self.wire_free_fs = self.wire_free_fs.max(now_fs) + wire_time_fs(0);
        }
        self.wire_free_fs += wire_time_fs(len.min(64)) - wire_time_fs(0);
        if self.sending.is_empty() {
            self.wire_free_fs = self.wire_free_fs.max(now_fs);
        }
        self.sending.extend_from_slice(&item.beat()[..len.min(64)]);
        if self.sending.len() > MAX_FRAME {
            self.violate("a transmitted frame never ends");
            self.sending.clear();
        }
        if last {
            if self.sending.len() < 64 {
                self.violate("a transmitted frame is shorter than 64 bytes");
            }
            let bytes = std::mem::take(&mut self.sending);
            link(Frame {
                bytes,
                time_fs: self.wire_free_fs,
            });
        }
    }

    fn violate(&mut self, rule: &str) {
        self.violation.get_or_insert_with(|| rule.to_owned());
    }

    /// Drives the streams after a rising MAC clock edge.
    pub fn after_edge(&mut self, model: &mut Model, now_fs: u64, link: &mut Link) {
        if let Some(ready) = self.tx.ready {
            model.set_bool(ready, self.wire_free_fs <= now_fs + TX_BUFFER_FS);
        }
        if self.receiving.is_none() {
            self.receiving = link.receive(now_fs).map(|frame| (frame, 0));
        }
        let Some((frame, played)) = &mut self.receiving else {
            model.set_bool(self.rx.valid, false);
            self.begins = false;
            return;
        };
        let rest = &frame.bytes[*played..];
        let count = rest.len().min(64);
        let mut bytes = [0; 64];
        bytes[..count].copy_from_slice(&rest[..count]);
        let mut packed = Packed::default();
        packed.set_beat(&bytes);
        packed.set(512, 7, count as u64);
        packed.set(519, 1, u64::from(count == rest.len()));
        packed.write(model, self.rx.data);
        model.set_bool(self.rx.valid, true);
        self.begins = *played == 0;
        *played += count;
        if *played == frame.bytes.len() {
            self.receiving = None;
        }
    }
}

//! MSI-X: the interrupts of the card (PCIe Base 6.1.4 and 7.7.2).

pub mod msix_regs;
pub mod msix_send;

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::{BarReq, BarResp};
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use msix_regs::MsixRegs;
use msix_send::MsixSend;

/// Most vectors, log2.
pub const MAX_VECTORS_LOG2: usize = 7;
/// Width of a vector number.
pub const VECTOR_BITS: usize = MAX_VECTORS_LOG2;
/// Most vectors: width of the pending bits.
pub const MAX_VECTORS: usize = 1 << MAX_VECTORS_LOG2;
/// Bytes of the window that holds the table and the pending bits.
pub const WINDOW_BYTES: u64 = 0x1000;
/// Offset of the table, in the window: 16 bytes a vector.
pub const TABLE_OFFSET: u64 = 0;
/// Offset of the pending bit array, in the window.
pub const PBA_OFFSET: u64 = 0x800;

/// An entry of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MsixEntry {
    /// Message address bits 31:2.
    pub low: Bits<30>,
    /// Message address bits 63:32.
    pub high: Bits<32>,
    /// Message data.
    pub data: Bits<32>,
    /// The vector is not masked.
    pub unmasked: Bit,
}

/// Table and pending bits of a run-time number of vectors, and the messages themselves as DMA writes of four bytes.
///
/// An event of a vector that may not send (its mask bit or the function's is set) is remembered in its pending bit and sent when it
/// may; several make one message. Events while MSI-X is disabled are dropped. All vectors are masked at the start.
#[derive(LogicBlock, Module)]
pub struct MsixTable {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Accesses to the window; address bits 11:0 count. The halves of a word are written whole or not at all.
    pub access: StreamIn<BarReq>,
    /// Answers to reads, in order.
    pub answer: StreamOut<BarResp>,
    /// Events: the vector's number. One that does not exist is ignored.
    pub fire: StreamIn<Bits<VECTOR_BITS>>,
    /// MSI-X is enabled (`cfg_interrupt_msix_enable` of the PCIe block).
    pub enable: Signal<In, Bit>,
    /// All vectors are masked (`cfg_interrupt_msix_mask`).
    pub function_mask: Signal<In, Bit>,
    /// Messages. One is taken at most every fifth cycle.
    pub write: StreamOut<DmaWriteBeat>,
    regs: MsixRegs,
    send: MsixSend,
}

impl MsixTable {
    /// `2^vectors_log2` vectors.
    ///
    /// # Panics
    /// If `vectors_log2` is not 1 to [`MAX_VECTORS_LOG2`].
    #[must_use]
    pub fn new(vectors_log2: usize) -> Self {
        Self {
            clock: Signal::default(),
            access: StreamIn::default(),
            answer: StreamOut::default(),
            fire: StreamIn::default(),
            enable: Signal::default(),
            function_mask: Signal::default(),
            write: StreamOut::default(),
            regs: MsixRegs::new(vectors_log2),
            send: MsixSend::new(vectors_log2),
        }
    }
}

/// 32 vectors.
impl Default for MsixTable {
    fn default() -> Self {
        Self::new(5)
    }
}

/// The bits of a vector's number that are 0 in all of `2^vectors_log2`.
fn beyond(vectors_log2: usize) -> Constant<Bits<VECTOR_BITS>> {
    assert!(
        (1..=MAX_VECTORS_LOG2).contains(&vectors_log2),
        "MSI-X has 2^1 to 2^{MAX_VECTORS_LOG2} vectors, not 2^{vectors_log2}"
    );
    Constant::new(((MAX_VECTORS - (1 << vectors_log2)) as u64).into())
}

impl Logic for MsixTable {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, regs, send);
        StreamIn::<BarReq>::link(&mut self.access, &mut self.regs.access);
        StreamOut::<BarResp>::link(&mut self.answer, &mut self.regs.answer);
        StreamIn::<Bits<VECTOR_BITS>>::link(&mut self.fire, &mut self.send.fire);
        StreamOut::<DmaWriteBeat>::link(&mut self.write, &mut self.send.write);
        self.send.enable.next = self.enable.val();
        self.send.function_mask.next = self.function_mask.val();
        self.regs.pending.next = self.send.pending.val();
        self.regs.vector.next = self.send.vector.val();
        self.send.entry.next = self.regs.entry.val();
    }
}

ferroce_emit::register_leaf!("msix_table", MsixTable::default);

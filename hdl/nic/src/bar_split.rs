//! Who of the card answers an access to BAR 0: its registers or its MSI-X table.

use ferroce_abi::regs::MSIX_TABLE;
use ferroce_dma::msix::WINDOW_BYTES;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::{BarReq, BarResp};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

const WINDOW_LOG2: u64 = WINDOW_BYTES.ilog2() as u64;
/// Reads under way, log2: more than the answers that both sides hold.
const READS_LOG2: usize = 6;

/// Sends accesses to the window that they are in, and keeps the order of answers.
#[derive(LogicBlock, Module)]
pub struct BarSplit {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Accesses, from registers.
    pub access: StreamIn<BarReq>,
    /// Answers to reads, in order.
    pub answer: StreamOut<BarResp>,
    /// Accesses to registers.
    pub regs: StreamOut<BarReq>,
    /// Their answers.
    pub regs_answer: StreamIn<BarResp>,
    /// Accesses to the MSI-X window.
    pub msix: StreamOut<BarReq>,
    /// Their answers.
    pub msix_answer: StreamIn<BarResp>,
    /// For each read: it was of the MSI-X window.
    reads: SyncFifo<Bit>,
    in_msix: Signal<Local, Bit>,
    open: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
    from_msix: Signal<Local, Bit>,
}

impl Default for BarSplit {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            access: StreamIn::default(),
            answer: StreamOut::default(),
            regs: StreamOut::default(),
            regs_answer: StreamIn::default(),
            msix: StreamOut::default(),
            msix_answer: StreamIn::default(),
            reads: SyncFifo::new(READS_LOG2),
            in_msix: Signal::default(),
            open: Signal::default(),
            takes: Signal::default(),
            from_msix: Signal::default(),
        }
    }
}

impl Logic for BarSplit {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, reads);
        self.in_msix.next =
            (self.access.data.val().addr >> WINDOW_LOG2) == (MSIX_TABLE >> WINDOW_LOG2);
        self.open.next = self.access.valid.val() & self.reads.input.ready.val();
        self.regs.valid.next = self.open.val() & !self.in_msix.val();
        self.regs.data.next = self.access.data.val();
        self.msix.valid.next = self.open.val() & self.in_msix.val();
        self.msix.data.next = self.access.data.val();
        self.takes.next = self.reads.input.ready.val() & self.regs.ready.val();
        if self.in_msix.val() {
            self.takes.next = self.reads.input.ready.val() & self.msix.ready.val();
        }
        self.access.ready.next = self.takes.val();
        self.reads.input.valid.next =
            self.takes.val() & self.access.valid.val() & !self.access.data.val().write;
        self.reads.input.data.next = self.in_msix.val();

        self.from_msix.next = self.reads.output.data.val();
        self.answer.data.next = self.regs_answer.data.val();
        self.answer.valid.next = self.reads.output.valid.val() & self.regs_answer.valid.val();
        self.regs_answer.ready.next =
            self.answer.ready.val() & self.reads.output.valid.val() & !self.from_msix.val();
        self.msix_answer.ready.next =
            self.answer.ready.val() & self.reads.output.valid.val() & self.from_msix.val();
        self.reads.output.ready.next = self.answer.ready.val() & self.regs_answer.valid.val();
        if self.from_msix.val() {
            self.answer.data.next = self.msix_answer.data.val();
            self.answer.valid.next = self.reads.output.valid.val() & self.msix_answer.valid.val();
            self.reads.output.ready.next = self.answer.ready.val() & self.msix_answer.valid.val();
        }
    }
}

ferroce_emit::register_leaf!("bar_split", BarSplit::default);

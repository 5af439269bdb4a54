//! The mailbox and the object register.

use super::desc::MailboxWrite;
use ferroce_emit::prelude::*;
use ferroce_rtl::ram::Ram;

/// In a step, the first 16 cycles collect the four words of the entry, one in every fourth.
pub const WORDS_END: u64 = 16;

/// Takes what the host writes, and collects one block after the other for the command engine.
#[derive(LogicBlock, Module)]
pub struct CommandBox {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Writes of the host.
    pub host_write: Signal<In, MailboxWrite>,
    /// Block of the mailbox to collect.
    pub block: Signal<In, Bits<3>>,
    /// Cycle of the step.
    pub cycle: Signal<In, Bits<6>>,
    /// Object register.
    pub object: Signal<Out, Bits<32>>,
    /// The block, from cycle [`WORDS_END`] on.
    pub entry: Signal<Out, Bits<256>>,
    low: Ram<Bits<32>>,
    high: Ram<Bits<32>>,
    object_reg: DFF<Bits<32>>,
    entry_reg: DFF<Bits<256>>,
    word_addr: Signal<Local, Bits<20>>,
    word: Signal<Local, Bits<64>>,
}

impl Default for CommandBox {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            host_write: Signal::default(),
            block: Signal::default(),
            cycle: Signal::default(),
            object: Signal::default(),
            entry: Signal::default(),
            // 32 words of 64 bits.
            low: Ram::new(5),
            high: Ram::new(5),
            object_reg: DFF::default(),
            entry_reg: DFF::default(),
            word_addr: Signal::default(),
            word: Signal::default(),
        }
    }
}

impl Logic for CommandBox {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, object_reg, entry_reg);
        clock!(self, clock, low, high);
        self.low.wr_valid.next = self.host_write.val().low;
        self.low.wr_addr.next = bit_cast::<20, 5>(self.host_write.val().word);
        self.low.wr_data.next = self.host_write.val().data.get_bits::<32>(0);
        self.high.wr_valid.next = self.host_write.val().high;
        self.high.wr_addr.next = bit_cast::<20, 5>(self.host_write.val().word);
        self.high.wr_data.next = self.host_write.val().data.get_bits::<32>(32);
        if self.host_write.val().object {
            self.object_reg.d.next = self.host_write.val().data.get_bits::<32>(0);
        }
        self.object.next = self.object_reg.q.val();

        // The entry's word: its address stands for four cycles, its data comes two cycles later.
        self.word_addr.next = bit_cast::<20, 2>(self.cycle.val().get_bits::<2>(2))
            | (bit_cast::<20, 3>(self.block.val()) << 2);
        self.low.rd_addr.next = self.word_addr.val();
        self.high.rd_addr.next = self.word_addr.val();
        self.word.next = bit_cast::<64, 32>(self.low.rd_data.val())
            | (bit_cast::<64, 32>(self.high.rd_data.val()) << 32);
        if (self.cycle.val() < WORDS_END) & (self.cycle.val().get_bits::<2>(0) == 3) {
            self.entry_reg.d.next =
                (self.entry_reg.q.val() >> 64) | (bit_cast::<256, 64>(self.word.val()) << 192);
        }
        self.entry.next = self.entry_reg.q.val();
    }
}

ferroce_emit::register_leaf!("command_box", CommandBox::default);

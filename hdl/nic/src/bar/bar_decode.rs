//! From accesses to what they mean.

use super::desc::{BarRead, BellWrite, MailboxWrite, PushWrite};
use ferroce_abi::regs::{
    doorbell::FLAG, QueueDoorbell, COMMAND, COMMAND_OBJECT, COUNTERS, CQ_ARM, CQ_DOORBELL,
    DOORBELLS, DOORBELL_PAGE, EQ_DOORBELL, MAGIC, MAILBOX_IN, MAILBOX_OUT, PUSH, RQ_DOORBELL,
    SQ_DOORBELL, SRQ_DOORBELL,
};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::BarReq;
use ferroce_rtl::flow_gate::FlowGate;
use ferroce_rtl::stream::StreamIn;

/// Cycles from an access's transfer to what it means.
pub const DECODE_LATENCY: usize = 2;
/// Log2 of the bytes of the regions of more than one register.
const IDENT_LOG2: u64 = 6;
const MAILBOX_LOG2: u64 = ferroce_abi::mailbox::BYTES.ilog2() as u64;
/// An answer to a query is an entry.
const ANSWER_LOG2: u64 = ferroce_abi::cfg::ENTRY_BYTES.ilog2() as u64;
const COUNTERS_LOG2: u64 = ferroce_abi::regs::Counter::WINDOW.ilog2() as u64 + 3;
const FLAG_BIT: usize = FLAG as usize;
const PUSHED_BIT: usize = QueueDoorbell::PUSHED_SHIFT as usize;
/// Log2 of the words of a push window.
const PUSH_LOG2: u64 = 5;
const PAGE_LOG2: usize = DOORBELL_PAGE.ilog2() as usize;
/// The address bit that tells doorbell pages from all else.
const IN_PAGES: usize = DOORBELLS.ilog2() as usize;

/// Decodes addresses; everything from registers.
#[derive(LogicBlock, Module, Default)]
pub struct BarDecode {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Accesses.
    pub access: StreamIn<BarReq>,
    /// Take no access in this cycle.
    pub hold: Signal<In, Bit>,
    /// Writes for the command engine.
    pub host_write: Signal<Out, MailboxWrite>,
    /// Doorbells.
    pub bell: Signal<Out, BellWrite>,
    /// Words of push windows.
    pub push: Signal<Out, PushWrite>,
    /// Reads.
    pub read: Signal<Out, BarRead>,
    gate: FlowGate<BarReq>,
    mailbox_out: DFF<MailboxWrite>,
    bell_out: DFF<BellWrite>,
    push_out: DFF<PushWrite>,
    read_out: DFF<BarRead>,
    addr: Signal<Local, Bits<20>>,
    writes: Signal<Local, Bit>,
    /// A whole 64-bit word is written in a doorbell page.
    rings: Signal<Local, Bit>,
    in_page: Signal<Local, Bits<9>>,
    reads: Signal<Local, Bit>,
    low: Signal<Local, Bit>,
    high: Signal<Local, Bit>,
    /// The word's registers.
    is_mailbox: Signal<Local, Bit>,
    is_command: Signal<Local, Bit>,
    is_object: Signal<Local, Bit>,
}

impl Logic for BarDecode {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, mailbox_out, bell_out, push_out, read_out);
        clock!(self, clock, gate);
        StreamIn::<BarReq>::link(&mut self.access, &mut self.gate.input);
        self.gate.hold.next = self.hold.val();

        self.addr.next = self.gate.data.val().addr;
        self.writes.next = self.gate.valid.val() & self.gate.data.val().write;
        self.reads.next = self.gate.valid.val() & !self.gate.data.val().write;
        // Registers have 32 bits; a write of less of one is ignored.
        self.low.next = self.gate.data.val().strobe.get_bits::<4>(0).all();
        self.high.next = self.gate.data.val().strobe.get_bits::<4>(4).all();
        self.is_mailbox.next = (self.addr.val() >> MAILBOX_LOG2) == (MAILBOX_IN >> MAILBOX_LOG2);
        self.is_command.next = (self.addr.val() >> 3) == (COMMAND >> 3);
        self.is_object.next = (self.addr.val() >> 3) == (COMMAND_OBJECT >> 3);

        self.mailbox_out.d.next.low = self.writes.val() & self.is_mailbox.val() & self.low.val();
        self.mailbox_out.d.next.high = self.writes.val() & self.is_mailbox.val() & self.high.val();
        self.mailbox_out.d.next.word = self.addr.val().get_bits::<5>(3);
        self.mailbox_out.d.next.object = self.writes.val() & self.is_object.val() & self.low.val();
        self.mailbox_out.d.next.start = self.writes.val() & self.is_command.val() & self.low.val();
        self.mailbox_out.d.next.data = self.gate.data.val().data;

        // A doorbell is one 64-bit write.
        self.rings.next = self.writes.val()
            & self.low.val()
            & self.high.val()
            & self.addr.val().get_bit(IN_PAGES);
        self.in_page.next = self.addr.val().get_bits::<9>(3);
        self.bell_out.d.next.sq = self.rings.val() & (self.in_page.val() == SQ_DOORBELL / 8);
        self.bell_out.d.next.rq = self.rings.val() & (self.in_page.val() == RQ_DOORBELL / 8);
        self.bell_out.d.next.cq = self.rings.val() & (self.in_page.val() == CQ_DOORBELL / 8);
        self.bell_out.d.next.arm = self.rings.val() & (self.in_page.val() == CQ_ARM / 8);
        self.bell_out.d.next.eq = self.rings.val() & (self.in_page.val() == EQ_DOORBELL / 8);
        self.bell_out.d.next.pushed = self.gate.data.val().data.get_bits::<3>(PUSHED_BIT);
        self.push_out.d.next.valid = self.writes.val()
            & self.addr.val().get_bit(IN_PAGES)
            & ((self.in_page.val() >> PUSH_LOG2) == ((PUSH / 8) >> PUSH_LOG2));
        self.push_out.d.next.whole = self.low.val() & self.high.val();
        self.push_out.d.next.page = self.addr.val().get_bits::<7>(PAGE_LOG2);
        self.push_out.d.next.word = self.addr.val().get_bits::<5>(3);
        self.push_out.d.next.data = self.gate.data.val().data;
        self.bell_out.d.next.srq = self.rings.val() & (self.in_page.val() == SRQ_DOORBELL / 8);
        self.bell_out.d.next.flag = self.gate.data.val().data.get_bit(FLAG_BIT);
        self.bell_out.d.next.page = self.addr.val().get_bits::<7>(PAGE_LOG2);
        self.bell_out.d.next.index = self.gate.data.val().data.get_bits::<24>(0);
        self.bell_out.d.next.value = self.gate.data.val().data.get_bits::<24>(32);

        self.read_out.d.next.valid = self.reads.val();
        self.read_out.d.next.ident = (self.addr.val() >> IDENT_LOG2) == (MAGIC >> IDENT_LOG2);
        self.read_out.d.next.status = self.is_command.val();
        self.read_out.d.next.object = self.is_object.val();
        self.read_out.d.next.answer =
            (self.addr.val() >> ANSWER_LOG2) == (MAILBOX_OUT >> ANSWER_LOG2);
        self.read_out.d.next.counter =
            (self.addr.val() >> COUNTERS_LOG2) == (COUNTERS >> COUNTERS_LOG2);
        self.read_out.d.next.word = self.addr.val().get_bits::<7>(3);

        self.host_write.next = self.mailbox_out.q.val();
        self.bell.next = self.bell_out.q.val();
        self.push.next = self.push_out.q.val();
        self.read.next = self.read_out.q.val();
    }
}

ferroce_emit::register_leaf!("bar_decode", BarDecode::default);

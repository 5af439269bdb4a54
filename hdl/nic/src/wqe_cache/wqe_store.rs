//! The cached WQEs.

use super::desc::{BlockWrite, Burst, BurstDone, PushBeat, WindowPub, TAGS_LOG2};
use ferroce_abi::wqe;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::dma::DmaReadBeat;
use ferroce_rtl::desc::lookup::{WqeData, WqeRead};
use ferroce_rtl::lutram::Lutram;
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Bits of a byte offset in a WQE.
const BYTE: usize = 8;
/// Byte offsets of the first SGE's address, local key and length.
const SGE_ADDR: usize = wqe::SGE[0];
const SGE_LKEY: usize = SGE_ADDR + 8;
const SGE_LENGTH: usize = SGE_ADDR + 12;

/// A WQE as it is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct StoredWqe {
    /// Work request opcode.
    pub opcode: Bits<8>,
    /// WQE flags.
    pub flags: Bits<8>,
    /// Scatter/gather entries.
    pub sges: Bits<8>,
    /// Blocks behind the first.
    pub extra: Bits<2>,
    /// Immediate or key to invalidate.
    pub imm: Bits<32>,
    /// Remote virtual address.
    pub va: Bits<64>,
    /// Remote key.
    pub rkey: Bits<32>,
    /// Message length in bytes.
    pub len: Bits<32>,
    /// Address of the first SGE.
    pub addr: Bits<64>,
    /// Local key of the first SGE.
    pub lkey: Bits<32>,
    /// Length of the first SGE in bytes.
    pub sge_len: Bits<32>,
}

/// What only an atomic has.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Operands {
    /// Value to swap in or to add.
    pub operand: Bits<64>,
    /// Value to compare.
    pub compare: Bits<64>,
}

/// WQE slots, `[qp][index mod window]`: written beat by beat (a WQE is a beat, for its address is a multiple of
/// 64), read by index with [`ferroce_rtl::desc::lookup::WQE_READ_LATENCY`].
///
/// Slots of a window are written before the state counts them in, and overwritten only after the state has
/// counted them out, both many cycles apart, so the window's copy that is read along with a slot is never wrong about
/// it.
#[derive(LogicBlock, Module)]
pub struct WqeStore {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A burst was requested in this cycle.
    pub burst_valid: Signal<In, Bit>,
    /// Its tag.
    pub burst_tag: Signal<In, Bits<5>>,
    /// The burst.
    pub burst: Signal<In, Burst>,
    /// Data of the bursts; ready while there are no pushed blocks, of which a host can send only so much.
    pub beat: StreamIn<DmaReadBeat>,
    /// Pushed blocks, which go first.
    pub push: Signal<In, PushBeat>,
    /// Bursts that are complete; must never stall.
    pub done: StreamOut<BurstDone>,
    /// Every new state of a queue, once its blocks are in their slots.
    pub window: Signal<In, WindowPub>,
    /// Blocks as they are written.
    pub block: Signal<Out, BlockWrite>,
    /// Look-up.
    pub read: Signal<In, WqeRead>,
    /// Its answer.
    pub data: Signal<Out, WqeData>,
    window_log2: Constant<Bits<20>>,
    slot_mask: Constant<Bits<20>>,
    slots: Ram<StoredWqe>,
    /// Beside the slots; receive WQEs have none.
    operands: Ram<Operands>,
    operand_mask: Constant<Bits<20>>,
    operand_data: Delay<Operands>,
    b1_operands: DFF<Operands>,
    b2_operands: DFF<Operands>,
    windows: Ram<WindowPub>,
    indices: Delay<Bits<16>>,
    slot_data: Delay<StoredWqe>,
    bursts: Lutram<Burst>,
    /// Beats of each tag's burst so far.
    beats: Lutram<Bits<6>>,
    /// The beat.
    b1_valid: DFF<Bit>,
    b1_tag: DFF<Bits<5>>,
    b1_last: DFF<Bit>,
    b1_err: DFF<Bit>,
    b1_push: DFF<Bit>,
    b1_push_qp: DFF<Bits<14>>,
    b1_push_index: DFF<Bits<8>>,
    b1_wqe: DFF<StoredWqe>,
    b1_block: DFF<Bits<512>>,
    /// Its slot.
    b2_valid: DFF<Bit>,
    b2_wqe: DFF<StoredWqe>,
    b2_block: DFF<Bits<512>>,
    b2_slot: DFF<Bits<20>>,
    b2_done: DFF<Bit>,
    b2_burst: DFF<BurstDone>,
    incoming: Signal<Local, Bits<512>>,
    /// Distance of the wanted WQE to the window's end.
    r3_distance: DFF<Bits<16>>,
    r3_level: DFF<Bits<9>>,
    r3_bad: DFF<Bit>,
    r3_extra: DFF<Bits<2>>,
    r4_avail: DFF<Bit>,
    r4_bad: DFF<Bit>,
}

impl WqeStore {
    /// `2^qps_log2` queues with a window of `2^window_log2` WQEs.
    #[must_use]
    pub fn new(qps_log2: usize, window_log2: usize) -> Self {
        let words = (1 << qps_log2) << window_log2;
        Self::with_operands(1 << qps_log2, window_log2, words)
    }

    /// Any number of receive queues, at least 2. Their WQEs have no operands.
    #[must_use]
    pub fn receive(queues: usize, window_log2: usize) -> Self {
        Self::with_operands(queues, window_log2, 2)
    }

    fn with_operands(queues: usize, window_log2: usize, operand_words: usize) -> Self {
        Self {
            clock: Signal::default(),
            burst_valid: Signal::default(),
            burst_tag: Signal::default(),
            burst: Signal::default(),
            beat: StreamIn::default(),
            push: Signal::default(),
            done: StreamOut::default(),
            window: Signal::default(),
            block: Signal::default(),
            read: Signal::default(),
            data: Signal::default(),
            window_log2: Constant::new((window_log2 as u64).into()),
            slot_mask: Constant::new(((1u64 << window_log2) - 1).into()),
            slots: Ram::with_words(queues << window_log2),
            operands: Ram::with_words(operand_words),
            operand_mask: Constant::new((operand_words as u64 - 1).into()),
            operand_data: Delay::new(2),
            b1_operands: DFF::default(),
            b2_operands: DFF::default(),
            windows: Ram::new(queues.next_power_of_two().ilog2() as usize),
            indices: Delay::new(RAM_LATENCY),
            slot_data: Delay::new(2),
            bursts: Lutram::new(TAGS_LOG2),
            beats: Lutram::new(TAGS_LOG2),
            b1_valid: DFF::default(),
            b1_tag: DFF::default(),
            b1_last: DFF::default(),
            b1_err: DFF::default(),
            b1_push: DFF::default(),
            b1_push_qp: DFF::default(),
            b1_push_index: DFF::default(),
            b1_wqe: DFF::default(),
            b1_block: DFF::default(),
            b2_valid: DFF::default(),
            b2_wqe: DFF::default(),
            b2_block: DFF::default(),
            b2_slot: DFF::default(),
            b2_done: DFF::default(),
            b2_burst: DFF::default(),
            incoming: Signal::default(),
            r3_distance: DFF::default(),
            r3_level: DFF::default(),
            r3_bad: DFF::default(),
            r3_extra: DFF::default(),
            r4_avail: DFF::default(),
            r4_bad: DFF::default(),
        }
    }
}

/// 16 queues with a window of 16 WQEs.
impl Default for WqeStore {
    fn default() -> Self {
        Self::new(4, 4)
    }
}

impl Logic for WqeStore {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            b1_valid,
            b1_tag,
            b1_last,
            b1_err,
            b1_push,
            b1_push_qp,
            b1_push_index,
            b1_wqe,
            b1_block,
            b1_operands,
            b2_operands,
            b2_valid,
            b2_wqe,
            b2_block,
            b2_slot,
            b2_done,
            b2_burst,
            r3_distance,
            r3_level,
            r3_bad,
            r3_extra,
            r4_avail,
            r4_bad
        );
        clock!(
            self,
            clock,
            slots,
            operands,
            windows,
            indices,
            slot_data,
            operand_data,
            bursts,
            beats
        );

        // Beats into slots.
        self.beat.ready.next = !self.push.val().valid;
        self.incoming.next = self.beat.data.val().data;
        if self.push.val().valid {
            self.incoming.next = self.push.val().data;
        }
        self.b1_push.d.next = self.push.val().valid;
        self.b1_push_qp.d.next = self.push.val().qp;
        self.b1_push_index.d.next = self.push.val().index;
        self.b1_valid.d.next = self.beat.valid.val() & !self.push.val().valid;
        self.b1_tag.d.next = self.beat.data.val().tag.get_bits::<5>(0);
        self.b1_last.d.next = self.beat.data.val().last;
        self.b1_err.d.next = self.beat.data.val().err;
        self.b1_wqe.d.next.opcode = self.incoming.val().get_bits::<8>(wqe::OPCODE * BYTE);
        self.b1_wqe.d.next.flags = self.incoming.val().get_bits::<8>(wqe::FLAGS * BYTE);
        self.b1_wqe.d.next.sges = self.incoming.val().get_bits::<8>(wqe::NUM_SGE * BYTE);
        self.b1_wqe.d.next.extra = self.incoming.val().get_bits::<2>(wqe::EXTRA_BLOCKS * BYTE);
        self.b1_block.d.next = self.incoming.val();
        self.b1_wqe.d.next.imm = self.incoming.val().get_bits::<32>(wqe::IMM * BYTE);
        self.b1_wqe.d.next.va = self.incoming.val().get_bits::<64>(wqe::REMOTE_VA * BYTE);
        self.b1_wqe.d.next.rkey = self.incoming.val().get_bits::<32>(wqe::RKEY * BYTE);
        self.b1_wqe.d.next.len = self.incoming.val().get_bits::<32>(wqe::LENGTH * BYTE);
        self.b1_wqe.d.next.addr = self.incoming.val().get_bits::<64>(SGE_ADDR * BYTE);
        self.b1_wqe.d.next.lkey = self.incoming.val().get_bits::<32>(SGE_LKEY * BYTE);
        self.b1_wqe.d.next.sge_len = self.incoming.val().get_bits::<32>(SGE_LENGTH * BYTE);
        self.b1_operands.d.next.operand = self.incoming.val().get_bits::<64>(wqe::OPERAND * BYTE);
        self.b1_operands.d.next.compare = self.incoming.val().get_bits::<64>(wqe::COMPARE * BYTE);

        self.bursts.wr_valid.next = self.burst_valid.val();
        self.bursts.wr_addr.next = bit_cast::<20, 5>(self.burst_tag.val());
        self.bursts.wr_data.next = self.burst.val();
        self.bursts.rd_addr.next = bit_cast::<20, 5>(self.b1_tag.q.val());
        self.beats.rd_addr.next = bit_cast::<20, 5>(self.b1_tag.q.val());
        self.beats.wr_valid.next = self.b1_valid.q.val();
        self.beats.wr_addr.next = bit_cast::<20, 5>(self.b1_tag.q.val());
        self.beats.wr_data.next = self.beats.rd_data.val() + 1;
        if self.b1_last.q.val() {
            self.beats.wr_data.next = 0.into();
        }
        self.b2_valid.d.next = self.b1_valid.q.val() | self.b1_push.q.val();
        self.b2_wqe.d.next = self.b1_wqe.q.val();
        self.b2_operands.d.next = self.b1_operands.q.val();
        self.b2_block.d.next = self.b1_block.q.val();
        self.b2_slot.d.next = (bit_cast::<20, 14>(self.bursts.rd_data.val().qp)
            << self.window_log2.val())
            | (bit_cast::<20, 8>(
                self.bursts.rd_data.val().first + bit_cast::<8, 6>(self.beats.rd_data.val()),
            ) & self.slot_mask.val());
        if self.b1_push.q.val() {
            self.b2_slot.d.next = (bit_cast::<20, 14>(self.b1_push_qp.q.val())
                << self.window_log2.val())
                | (bit_cast::<20, 8>(self.b1_push_index.q.val()) & self.slot_mask.val());
        }
        self.b2_done.d.next = self.b1_valid.q.val() & self.b1_last.q.val();
        self.b2_burst.d.next.qp = self.bursts.rd_data.val().qp;
        self.b2_burst.d.next.tag = self.b1_tag.q.val();
        self.b2_burst.d.next.count = self.bursts.rd_data.val().count;
        self.b2_burst.d.next.err = self.b1_err.q.val();
        self.slots.wr_valid.next = self.b2_valid.q.val();
        self.slots.wr_addr.next = self.b2_slot.q.val();
        self.slots.wr_data.next = self.b2_wqe.q.val();
        self.operands.wr_valid.next = self.b2_valid.q.val();
        self.operands.wr_addr.next = self.b2_slot.q.val() & self.operand_mask.val();
        self.operands.wr_data.next = self.b2_operands.q.val();
        self.block.next.valid = self.b2_valid.q.val();
        self.block.next.slot = self.b2_slot.q.val();
        self.block.next.data = self.b2_block.q.val();
        self.done.valid.next = self.b2_done.q.val();
        self.done.data.next = self.b2_burst.q.val();

        // Look-up.
        self.windows.wr_valid.next = self.window.val().valid;
        self.windows.wr_addr.next = bit_cast::<20, 14>(self.window.val().qp);
        self.windows.wr_data.next = self.window.val();
        self.windows.rd_addr.next = bit_cast::<20, 14>(self.read.val().qp);
        self.slots.rd_addr.next = (bit_cast::<20, 14>(self.read.val().qp)
            << self.window_log2.val())
            | (bit_cast::<20, 16>(self.read.val().wqe) & self.slot_mask.val());
        self.operands.rd_addr.next = self.slots.rd_addr.val() & self.operand_mask.val();
        self.operand_data.data_in.next = self.operands.rd_data.val();
        self.indices.data_in.next = self.read.val().wqe;
        self.slot_data.data_in.next = self.slots.rd_data.val();
        self.r3_distance.d.next = self.windows.rd_data.val().fetched - self.indices.data_out.val();
        self.r3_level.d.next = self.windows.rd_data.val().level;
        self.r3_bad.d.next = self.windows.rd_data.val().bad;
        // A WQE that ends in the window's bad block, or would end behind it, is bad.
        self.r3_extra.d.next = self.slots.rd_data.val().extra;
        self.r4_avail.d.next = self.r3_distance.q.val().any()
            & (self.r3_distance.q.val() <= bit_cast::<16, 9>(self.r3_level.q.val()))
            & ((self.r3_distance.q.val() > bit_cast::<16, 2>(self.r3_extra.q.val()))
                | self.r3_bad.q.val());
        self.r4_bad.d.next = self.r3_bad.q.val()
            & (self.r3_distance.q.val() <= (bit_cast::<16, 2>(self.r3_extra.q.val()) + 1));

        self.data.next.avail = self.r4_avail.q.val();
        self.data.next.opcode = self.slot_data.data_out.val().opcode;
        self.data.next.flags = self.slot_data.data_out.val().flags;
        self.data.next.sges = self.slot_data.data_out.val().sges;
        self.data.next.extra = self.slot_data.data_out.val().extra;
        self.data.next.imm = self.slot_data.data_out.val().imm;
        self.data.next.va = self.slot_data.data_out.val().va;
        self.data.next.rkey = self.slot_data.data_out.val().rkey;
        self.data.next.len = self.slot_data.data_out.val().len;
        self.data.next.addr = self.slot_data.data_out.val().addr;
        self.data.next.lkey = self.slot_data.data_out.val().lkey;
        self.data.next.sge_len = self.slot_data.data_out.val().sge_len;
        self.data.next.operand = self.operand_data.data_out.val().operand;
        self.data.next.compare = self.operand_data.data_out.val().compare;
        // No valid WQE has this opcode or so many SGEs.
        if self.r4_bad.q.val() {
            self.data.next.opcode = 0xFF.into();
            self.data.next.sges = 0xFF.into();
        }
    }
}

ferroce_emit::register_leaf!("wqe_store", WqeStore::default);

//! The receive packet buffer.

use crate::parse::BufferWrite;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::RxMeta;
use ferroce_rtl::ram::Ram;
use ferroce_rtl::stream::StreamOut;
use ferroce_rtl::sync_fifo::SyncFifo;

/// Default log2 of the beats in the buffer: 256 KiB, 21 us at line rate, in eight UltraRAMs.
pub const DEFAULT_LOG2_BEATS: usize = 12;
/// Log2 of the packets that may wait for the control pipeline. Packets of one beat come faster than it takes
/// them (every cycle against every second one), so bursts of them queue up here.
pub const LOG2_WAITING_PACKETS: usize = 9;
/// `crowded` is judged one cycle late, so it leaves this many beats unused.
const SPARE_BEATS: usize = 2;

/// Ring of beats. A frame's beats are stored as they come and become visible when its end is good, together with
/// its descriptor; the beats of a bad frame, or of one for which there is no room, are taken back.
///
/// The mover reads beats by their place, in any order, and moves `freed` on when it is done with frames.
#[derive(LogicBlock, Module)]
pub struct PacketBuffer {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Beats and frame ends.
    pub write: Signal<In, BufferWrite>,
    /// Descriptor of the frame, valid with `write.end`.
    pub meta: Signal<In, RxMeta>,
    /// Descriptors of good frames, in order.
    pub packets: StreamOut<RxMeta>,
    /// Beat to read: its running number.
    pub rd_addr: Signal<In, Bits<16>>,
    /// The beat, `RAM_LATENCY` cycles later.
    pub rd_data: Signal<Out, Bits<512>>,
    /// Running number of the oldest beat that must be kept.
    pub freed: Signal<In, Bits<16>>,
    /// Beats in use.
    pub used: Signal<Out, Bits<16>>,
    /// A frame was kept.
    pub kept: Signal<Out, Bit>,
    /// A good frame was dropped for want of room.
    pub overflow: Signal<Out, Bit>,
    beats: Ram<Bits<512>>,
    queue: SyncFifo<RxMeta>,
    crowded_at: Constant<Bits<16>>,
    /// Running number of the next beat.
    head: DFF<Bits<16>>,
    /// Running number of the present frame's first beat.
    base: DFF<Bits<16>>,
    /// A beat of the present frame found no room.
    lost: DFF<Bit>,
    crowded: DFF<Bit>,
    fill: DFF<Bits<16>>,
    was_kept: DFF<Bit>,
    was_lost: DFF<Bit>,
    room: Signal<Local, Bit>,
    commit: Signal<Local, Bit>,
    next_head: Signal<Local, Bits<16>>,
}

impl PacketBuffer {
    /// A buffer of `2^log2_beats` beats.
    ///
    /// # Panics
    /// If `log2_beats` is not 7 to 15: the longest frame has 66 beats, and numbers have 16 bits.
    #[must_use]
    pub fn new(log2_beats: usize) -> Self {
        assert!(
            (7..=15).contains(&log2_beats),
            "a packet buffer has 2^7 to 2^15 beats, not 2^{log2_beats}"
        );
        Self {
            clock: Signal::default(),
            write: Signal::default(),
            meta: Signal::default(),
            packets: StreamOut::default(),
            rd_addr: Signal::default(),
            rd_data: Signal::default(),
            freed: Signal::default(),
            used: Signal::default(),
            kept: Signal::default(),
            overflow: Signal::default(),
            beats: Ram::new(log2_beats),
            queue: SyncFifo::new(LOG2_WAITING_PACKETS),
            crowded_at: Constant::new(((1u64 << log2_beats) - SPARE_BEATS as u64).into()),
            head: DFF::default(),
            base: DFF::default(),
            lost: DFF::default(),
            crowded: DFF::default(),
            fill: DFF::default(),
            was_kept: DFF::default(),
            was_lost: DFF::default(),
            room: Signal::default(),
            commit: Signal::default(),
            next_head: Signal::default(),
        }
    }
}

/// The smallest one.
impl Default for PacketBuffer {
    fn default() -> Self {
        Self::new(7)
    }
}

impl Logic for PacketBuffer {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, head, base, lost, crowded, fill, was_kept, was_lost);
        clock!(self, clock, beats, queue);
        StreamOut::<RxMeta>::link(&mut self.packets, &mut self.queue.output);

        // `fill` lags by one cycle, in which one beat may be stored; `crowded` by one more.
        self.fill.d.next = self.head.q.val() - self.freed.val();
        self.crowded.d.next = self.fill.q.val() >= self.crowded_at.val();
        self.used.next = self.fill.q.val();

        self.room.next = !self.lost.q.val() & !self.crowded.q.val();
        self.next_head.next = self.head.q.val();
        if self.write.val().store & self.room.val() {
            self.next_head.next = self.head.q.val() + 1;
        }
        self.beats.wr_valid.next = self.write.val().store & self.room.val();
        self.beats.wr_addr.next = bit_cast::<20, 16>(self.head.q.val());
        self.beats.wr_data.next = self.write.val().data;
        self.beats.rd_addr.next = bit_cast::<20, 16>(self.rd_addr.val());
        self.rd_data.next = self.beats.rd_data.val();

        self.commit.next = self.write.val().end
            & self.write.val().good
            & !self.lost.q.val()
            & !(self.write.val().store & self.crowded.q.val())
            & self.queue.input.ready.val();
        self.queue.input.data.next = self.meta.val();
        self.queue.input.valid.next = self.commit.val();
        self.head.d.next = self.next_head.val();
        if self.write.val().store & self.crowded.q.val() {
            self.lost.d.next = true;
        }
        if self.write.val().end {
            self.lost.d.next = false;
            if self.commit.val() {
                self.base.d.next = self.next_head.val();
            } else {
                self.head.d.next = self.base.q.val();
            }
        }
        self.was_kept.d.next = self.commit.val();
        self.was_lost.d.next = self.write.val().end & self.write.val().good & !self.commit.val();
        self.kept.next = self.was_kept.q.val();
        self.overflow.next = self.was_lost.q.val();
    }
}

ferroce_emit::register_leaf!("packet_buffer", PacketBuffer::default);

//! Appends a CRC to the frames it was computed from.

use crate::delay::Delay;
use crate::stream::{Beat, StreamOut};
use crate::sync_fifo::SyncFifo;
use ferroce_emit::prelude::*;

/// A beat with its share of the CRC, and what of the CRC did not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AppendedBeat {
    data: Bits<512>,
    len: Bits<7>,
    last: Bit,
    err: Bit,
    /// Bytes for a beat of their own.
    spill: Bits<32>,
    /// Their number, 0 to 4.
    spill_len: Bits<3>,
}

/// Depth (log2) of the output FIFO. It takes what is in the pipeline when the output stalls (one beat a
/// stage, at most [`CrcAppend::reserve`]) and as many again, so that the input's restart is covered.
const FIFO_LOG2_DEPTH: usize = 5;

/// Behind a CRC engine: appends the 4 CRC bytes, least significant first, to each frame, which may
/// take one beat more. A frame marked `err` gets the inverted CRC, so that no receiver takes it.
///
/// Beats may enter the engine in cycles in which `room` is high. Without back-pressure a frame that entered without
/// bubbles leaves without bubbles.
#[derive(LogicBlock, Module)]
pub struct CrcAppend {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The engine may take a beat in this cycle.
    pub room: Signal<Out, Bit>,
    /// The engine has a beat, which it took in this cycle or the one before.
    pub zeroed_valid: Signal<In, Bit>,
    /// That beat, 0 beyond `len`.
    pub zeroed: Signal<In, Beat>,
    /// The engine's result, a fixed time after a last beat.
    pub crc: Signal<In, Bits<32>>,
    /// Frames with CRC.
    pub to: StreamOut<Beat>,
    valid_delay: Delay<Bit>,
    beat_delay: Delay<Beat>,
    aligned_valid: DFF<Bit>,
    aligned: DFF<Beat>,
    spills: Signal<Local, Bit>,
    beyond: Signal<Local, Bits<544>>,
    checksum: Signal<Local, Bits<32>>,
    placed_valid: DFF<Bit>,
    placed: DFF<AppendedBeat>,
    /// Ones where the CRC goes, from byte 0 of the beat to byte 3 of the next; the latter in full beats too, where they
    /// are not used.
    window: DFF<Bits<544>>,
    /// The CRC, rotated so that byte `k` is the one for all positions `k` modulo 4.
    lanes: DFF<Bits<32>>,
    lanes64: Signal<Local, Bits<544>>,
    lanes128: Signal<Local, Bits<544>>,
    lanes256: Signal<Local, Bits<544>>,
    lanes512: Signal<Local, Bits<544>>,
    inserted: Signal<Local, Bits<544>>,
    fifo: SyncFifo<AppendedBeat>,
    advance: Signal<Local, Bit>,
    out_valid: DFF<Bit>,
    out: DFF<Beat>,
    pending: DFF<Bit>,
    spill: DFF<Bits<32>>,
    spill_len: DFF<Bits<3>>,
    spill_err: DFF<Bit>,
}

impl CrcAppend {
    /// For an engine whose `crc` comes `latency` cycles after the last `zeroed`.
    #[must_use]
    pub fn new(latency: usize) -> Self {
        Self {
            clock: Signal::default(),
            room: Signal::default(),
            zeroed_valid: Signal::default(),
            zeroed: Signal::default(),
            crc: Signal::default(),
            to: StreamOut::default(),
            // The last cycle is `aligned`.
            valid_delay: Delay::new(latency - 1),
            beat_delay: Delay::new(latency - 1),
            aligned_valid: DFF::default(),
            aligned: DFF::default(),
            spills: Signal::default(),
            beyond: Signal::default(),
            checksum: Signal::default(),
            placed_valid: DFF::default(),
            placed: DFF::default(),
            window: DFF::default(),
            lanes: DFF::default(),
            lanes64: Signal::default(),
            lanes128: Signal::default(),
            lanes256: Signal::default(),
            lanes512: Signal::default(),
            inserted: Signal::default(),
            fifo: SyncFifo::quick_with_reserve(FIFO_LOG2_DEPTH, Self::reserve(latency)),
            advance: Signal::default(),
            out_valid: DFF::default(),
            out: DFF::default(),
            pending: DFF::default(),
            spill: DFF::default(),
            spill_len: DFF::default(),
            spill_err: DFF::default(),
        }
    }

    /// FIFO places kept for beats in the pipeline: the engine's stages and one before them, the placing stage, and the beat that enters as
    /// `room` falls.
    fn reserve(latency: usize) -> usize {
        latency + 3
    }
}

impl Logic for CrcAppend {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            aligned_valid,
            aligned,
            placed_valid,
            placed,
            window,
            lanes
        );
        dff_setup!(self, clock, out_valid, out, pending, spill, spill_len, spill_err);
        clock!(self, clock, valid_delay, beat_delay, fifo);

        // Until the CRC is there.
        self.room.next = !self.fifo.almost_full.val();
        self.valid_delay.data_in.next = self.zeroed_valid.val();
        self.beat_delay.data_in.next = self.zeroed.val();
        self.aligned_valid.d.next = self.valid_delay.data_out.val();
        self.aligned.d.next = self.beat_delay.data_out.val();
        // Gated, so that these are registers and not the end of the delay's slow shift register.
        self.aligned.d.next.last =
            self.beat_delay.data_out.val().last & self.valid_delay.data_out.val();
        self.aligned.d.next.err =
            self.beat_delay.data_out.val().err & self.valid_delay.data_out.val();
        if !self.valid_delay.data_out.val() {
            self.aligned.d.next.len = 64.into();
        }

        // Where it goes.
        self.placed_valid.d.next = self.aligned_valid.q.val();
        self.placed.d.next.data = self.aligned.q.val().data;
        self.placed.d.next.last = self.aligned.q.val().last;
        self.placed.d.next.err = self.aligned.q.val().err;
        self.placed.d.next.spill = 0.into();
        self.placed.d.next.spill_len = 0.into();
        self.placed.d.next.len = self.aligned.q.val().len + 4;
        self.spills.next = self.aligned.q.val().len > 60;
        if self.spills.val() & self.aligned.q.val().last {
            self.placed.d.next.spill_len = bit_cast::<3, 7>(self.aligned.q.val().len + 4);
        }
        if self.spills.val() | !self.aligned.q.val().last {
            self.placed.d.next.len = 64.into();
        }
        self.beyond.next = !bits::<544>(0) << (bit_cast::<10, 7>(self.aligned.q.val().len) << 3);
        self.window.d.next = self.beyond.val() & !(self.beyond.val() << 32);
        self.checksum.next = self.crc.val();
        if self.aligned.q.val().err {
            self.checksum.next = !self.crc.val();
        }
        self.lanes.d.next = self.checksum.val();
        if self.aligned.q.val().len.get_bits::<2>(0) == 1 {
            self.lanes.d.next = (self.checksum.val() << 8) | (self.checksum.val() >> 24);
        }
        if self.aligned.q.val().len.get_bits::<2>(0) == 2 {
            self.lanes.d.next = (self.checksum.val() << 16) | (self.checksum.val() >> 16);
        }
        if self.aligned.q.val().len.get_bits::<2>(0) == 3 {
            self.lanes.d.next = (self.checksum.val() << 24) | (self.checksum.val() >> 8);
        }

        // Put there.
        self.lanes64.next = bit_cast::<544, 32>(self.lanes.q.val())
            | (bit_cast::<544, 32>(self.lanes.q.val()) << 32);
        self.lanes128.next = self.lanes64.val() | (self.lanes64.val() << 64);
        self.lanes256.next = self.lanes128.val() | (self.lanes128.val() << 128);
        self.lanes512.next = self.lanes256.val() | (self.lanes256.val() << 256);
        self.inserted.next = self.window.q.val()
            & (self.lanes512.val() | (bit_cast::<544, 32>(self.lanes.q.val()) << 512));
        self.fifo.input.valid.next = self.placed_valid.q.val();
        self.fifo.input.data.next = self.placed.q.val();
        self.fifo.input.data.next.data =
            self.placed.q.val().data | bit_cast::<512, 544>(self.inserted.val());
        self.fifo.input.data.next.spill = self.inserted.val().get_bits::<32>(512);

        // The additional beat.
        self.to.valid.next = self.out_valid.q.val();
        self.to.data.next = self.out.q.val();
        self.advance.next = self.to.ready.val() | !self.out_valid.q.val();
        self.fifo.output.ready.next = self.advance.val() & !self.pending.q.val();
        if self.advance.val() {
            self.out_valid.d.next = self.fifo.output.valid.val() | self.pending.q.val();
            self.out.d.next.data = self.fifo.output.data.val().data;
            self.out.d.next.len = self.fifo.output.data.val().len;
            self.out.d.next.last =
                self.fifo.output.data.val().last & (self.fifo.output.data.val().spill_len == 0);
            self.out.d.next.err =
                self.fifo.output.data.val().err & (self.fifo.output.data.val().spill_len == 0);
            self.pending.d.next =
                self.fifo.output.valid.val() & (self.fifo.output.data.val().spill_len != 0);
            self.spill.d.next = self.fifo.output.data.val().spill;
            self.spill_len.d.next = self.fifo.output.data.val().spill_len;
            self.spill_err.d.next = self.fifo.output.data.val().err;
            if self.pending.q.val() {
                self.out.d.next.data = bit_cast::<512, 32>(self.spill.q.val());
                self.out.d.next.len = bit_cast::<7, 3>(self.spill_len.q.val());
                self.out.d.next.last = true;
                self.out.d.next.err = self.spill_err.q.val();
                self.pending.d.next = false;
            }
        }
    }
}

ferroce_emit::register_leaf!("crc_append", || CrcAppend::new(4));

//! Puts headers in front of payload.

use super::insert_plan::InsertJob;
use super::insert_steps::{InsertStep, InsertSteps};
use crate::byte_mask::{ByteMask, BYTE_MASK_LATENCY};
use crate::byte_spread::ByteSpread;
use crate::delay::Delay;
use crate::rotate64::{Rotate64, ROTATE_LATENCY};
use crate::stream::{Beat, StreamIn, StreamOut};
use crate::sync_fifo::SyncFifo;
use ferroce_emit::prelude::*;

/// Cycles from a step to its frame beat in the output FIFO: rotation and one merge.
const PIPE: usize = ROTATE_LATENCY + 1;
/// What is in flight, and as much again.
const FIFO_LOG2: usize = 4;

/// Each frame is a header of 0 to 127 bytes and a payload of 0 to 8000 bytes, both given by the frame's job; pad bytes and
/// everything after the frame's end are 0. One frame beat a cycle, from one frame to the next too; only a payload that begins later in
/// its first beat than in the frame takes one cycle more. So a frame has no gap as long as its payload comes
/// without one and the sink takes beats. A job without header, payload and pad gives no frame.
///
/// A frame beat is `(previous or present rotated payload beat) and mask, or header`: five inputs a bit.
#[derive(LogicBlock, Module)]
pub struct HeaderInsert {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Frames to be put together, with plans of an [`InsertPlanner`](super::InsertPlanner).
    pub jobs: StreamIn<InsertJob>,
    /// Their payload in order, each from a beat of its own on; a frame takes as many beats as its plan says.
    pub payload: StreamIn<Bits<512>>,
    /// The frames.
    pub to: StreamOut<Beat>,
    steps: InsertSteps,
    hdr2: DFF<Bits<512>>,
    hdr_wait: Delay<Bits<512>>,
    step_wait: Delay<InsertStep>,
    step4: DFF<InsertStep>,
    rotate: Rotate64<Bit>,
    start_mask: ByteMask,
    end_mask: ByteMask,
    shift_mask: ByteMask,
    previous: DFF<Bits<512>>,
    beat5: DFF<Beat>,
    emit5: DFF<Bit>,
    frames: SyncFifo<Beat>,
    keep: ByteSpread,
    old: ByteSpread,
    merged: Signal<Local, Bits<512>>,
}

impl Default for HeaderInsert {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            jobs: StreamIn::default(),
            payload: StreamIn::default(),
            to: StreamOut::default(),
            steps: InsertSteps::default(),
            hdr2: DFF::default(),
            hdr_wait: Delay::new(ROTATE_LATENCY - 1),
            step_wait: Delay::new(ROTATE_LATENCY - BYTE_MASK_LATENCY),
            step4: DFF::default(),
            rotate: Rotate64::default(),
            start_mask: ByteMask::default(),
            end_mask: ByteMask::default(),
            shift_mask: ByteMask::default(),
            previous: DFF::default(),
            beat5: DFF::default(),
            emit5: DFF::default(),
            frames: SyncFifo::quick_with_reserve(FIFO_LOG2, PIPE + 2),
            keep: ByteSpread::default(),
            old: ByteSpread::default(),
            merged: Signal::default(),
        }
    }
}

impl Logic for HeaderInsert {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, hdr2, step4, previous, beat5, emit5);
        clock!(
            self, clock, steps, hdr_wait, step_wait, rotate, start_mask, end_mask, shift_mask,
            frames
        );
        StreamIn::<InsertJob>::link(&mut self.jobs, &mut self.steps.jobs);
        StreamIn::<Bits<512>>::link(&mut self.payload, &mut self.steps.payload);
        self.steps.hold.next = self.frames.almost_full.val();

        // Beside the rotation: header bytes of the beat, and masks in time for its end.
        self.rotate.data_in.next = self.steps.data.val();
        self.rotate.amount.next = self.steps.step.val().shift;
        self.rotate.side_in.next = self.steps.step.val().valid;
        self.hdr2.d.next = 0.into();
        if self.steps.step.val().beat0 {
            self.hdr2.d.next = self.steps.hdr.val().get_bits::<512>(0);
        } else if self.steps.step.val().beat1 {
            self.hdr2.d.next = bit_cast::<512, 504>(self.steps.hdr.val().get_bits::<504>(512));
        }
        self.hdr_wait.data_in.next = self.hdr2.q.val();
        self.step_wait.data_in.next = self.steps.step.val();
        self.step4.d.next = self.step_wait.data_out.val();
        self.start_mask.len.next = self.step_wait.data_out.val().start;
        self.end_mask.len.next = self.step_wait.data_out.val().end;
        self.shift_mask.len.next = bit_cast::<7, 6>(self.step_wait.data_out.val().shift);

        // Merge.
        self.keep.bits.next = self.end_mask.mask.val() & !self.start_mask.mask.val();
        self.old.bits.next = self.shift_mask.mask.val();
        self.merged.next = (self.previous.q.val() & self.old.bytes.val())
            | (self.rotate.data_out.val() & !self.old.bytes.val());
        if self.rotate.side_out.val() {
            self.previous.d.next = self.rotate.data_out.val();
        }
        self.beat5.d.next.data =
            (self.merged.val() & self.keep.bytes.val()) | self.hdr_wait.data_out.val();
        self.beat5.d.next.len = self.step4.q.val().len;
        self.beat5.d.next.last = self.step4.q.val().last;
        self.beat5.d.next.err = false;
        self.emit5.d.next = self.step4.q.val().emit;

        self.frames.input.valid.next = self.emit5.q.val();
        self.frames.input.data.next = self.beat5.q.val();
        StreamOut::<Beat>::link(&mut self.to, &mut self.frames.output);
    }
}

ferroce_emit::register_leaf!("header_insert", HeaderInsert::default);

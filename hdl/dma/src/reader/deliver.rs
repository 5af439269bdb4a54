//! Reads slots out of the reorder buffer.

use super::slot::ReadJob;
use ferroce_emit::prelude::*;
use ferroce_rtl::arb4::Arb4;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::dma::DmaReadBeat;
use ferroce_rtl::ram::RAM_LATENCY;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Beats on their way to the clients (log2): what the RAM has in flight, and enough to go on while it drains.
const FIFO_LOG2: usize = 4;

/// What a beat is, while the RAM is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct BeatNote {
    /// A beat.
    pub valid: Bit,
    /// The client's tag.
    pub tag: Bits<8>,
    /// Last beat of the request.
    pub last: Bit,
    /// With `last`: it failed.
    pub err: Bit,
}

/// A beat a cycle, slot by slot, round robin among the classes; a void place takes a cycle, too.
#[derive(LogicBlock, Module)]
pub struct Deliver {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Places of payload reads.
    pub payload: StreamIn<ReadJob>,
    /// Places of SQ WQE reads.
    pub sq: StreamIn<ReadJob>,
    /// Places of RQ WQE reads.
    pub rq: StreamIn<ReadJob>,
    /// Line to read.
    pub rd_line: Signal<Out, Bits<11>>,
    /// The line, [`RAM_LATENCY`] cycles later.
    pub rd_data: Signal<In, Bits<512>>,
    /// Data for the clients.
    pub data: StreamOut<DmaReadBeat>,
    /// Bit `c`: the oldest place of class `c` is free.
    pub freed: Signal<Out, Bits<3>>,
    jobs: Arb4<ReadJob>,
    job: DFF<ReadJob>,
    busy: DFF<Bit>,
    /// No line is behind this one.
    ends: DFF<Bit>,
    freed_reg: DFF<Bits<3>>,
    notes: Delay<BeatNote>,
    beats: SyncFifo<DmaReadBeat>,
    step: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
}

impl Default for Deliver {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            payload: StreamIn::default(),
            sq: StreamIn::default(),
            rq: StreamIn::default(),
            rd_line: Signal::default(),
            rd_data: Signal::default(),
            data: StreamOut::default(),
            freed: Signal::default(),
            jobs: Arb4::default(),
            job: DFF::default(),
            busy: DFF::default(),
            ends: DFF::default(),
            freed_reg: DFF::default(),
            notes: Delay::new(RAM_LATENCY),
            beats: SyncFifo::new_with_reserve(FIFO_LOG2, RAM_LATENCY + 1),
            step: Signal::default(),
            done: Signal::default(),
            load: Signal::default(),
        }
    }
}

impl Logic for Deliver {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, job, busy, ends, freed_reg);
        clock!(self, clock, jobs, notes, beats);
        StreamIn::<ReadJob>::link(&mut self.payload, &mut self.jobs.in0);
        StreamIn::<ReadJob>::link(&mut self.sq, &mut self.jobs.in1);
        StreamIn::<ReadJob>::link(&mut self.rq, &mut self.jobs.in2);
        // There is no fourth class.
        self.jobs.in3.data.next = self.rq.data.val();
        self.jobs.in3.valid.next = false;

        self.step.next = self.busy.q.val() & !self.beats.almost_full.val();
        self.done.next = self.step.val() & self.ends.q.val();
        self.load.next = !self.busy.q.val() | self.done.val();
        self.jobs.output.ready.next = self.load.val();
        if self.step.val() {
            self.job.d.next.line = self.job.q.val().line + 1;
            self.job.d.next.more_lines = self.job.q.val().more_lines - 1;
            self.ends.d.next = self.job.q.val().more_lines == 1;
        }
        if self.load.val() {
            self.job.d.next = self.jobs.output.data.val();
            self.busy.d.next = self.jobs.output.valid.val();
            self.ends.d.next =
                (self.jobs.output.data.val().more_lines == 0) | self.jobs.output.data.val().void;
        }

        self.freed_reg.d.next = 0.into();
        if self.done.val() {
            self.freed_reg.d.next = 1.into();
            if self.job.q.val().line.get_bit(10) {
                self.freed_reg.d.next = 2.into();
                if self.job.q.val().line.get_bit(9) {
                    self.freed_reg.d.next = 4.into();
                }
            }
        }
        self.freed.next = self.freed_reg.q.val();

        self.rd_line.next = self.job.q.val().line;
        self.notes.data_in.next.valid = self.step.val() & !self.job.q.val().void;
        self.notes.data_in.next.tag = self.job.q.val().tag;
        self.notes.data_in.next.last = self.job.q.val().last & self.ends.q.val();
        self.notes.data_in.next.err =
            self.job.q.val().err & self.job.q.val().last & self.ends.q.val();
        self.beats.input.valid.next = self.notes.data_out.val().valid;
        self.beats.input.data.next.data = self.rd_data.val();
        self.beats.input.data.next.tag = self.notes.data_out.val().tag;
        self.beats.input.data.next.last = self.notes.data_out.val().last;
        self.beats.input.data.next.err = self.notes.data_out.val().err;
        StreamOut::<DmaReadBeat>::link(&mut self.data, &mut self.beats.output);
    }
}

ferroce_emit::register_leaf!("deliver", Deliver::default);

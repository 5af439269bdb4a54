//! Finds out which slots of a class are over, in the ring's order.

use super::slot::{class_mask, ReadJob, SlotEnd, SlotRecord, PAYLOAD_LOG2};
use ferroce_emit::prelude::*;
use ferroce_rtl::lutram::Lutram;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::StreamOut;
use ferroce_rtl::sync_fifo::SyncFifo;

/// What the newest end of a slot was.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SlotResult {
    /// Lap.
    pub lap: Bit,
    /// The read failed.
    pub err: Bit,
}

/// Looks at the oldest place of the ring: one a cycle. A read that is older than the time-out has failed. Errors add up
/// over the pieces of a request.
#[derive(LogicBlock, Module)]
pub struct Retire {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Places taken, of all classes.
    pub record: Signal<In, SlotRecord>,
    /// A place is taken.
    pub record_valid: Signal<In, Bit>,
    /// Slots that are over, of all classes.
    pub end: Signal<In, SlotEnd>,
    /// Time, in sixteenths of the time-out.
    pub now: Signal<In, Bits<5>>,
    /// Places whose turn has come.
    pub job: StreamOut<ReadJob>,
    /// A read has timed out.
    pub timeout: Signal<Out, Bit>,
    base: Constant<Bits<8>>,
    class: Constant<Bits<8>>,
    /// A place for each slot of the class.
    records: SyncFifo<SlotRecord>,
    /// Results for the FIFO's oldest record, and for the one before.
    ahead: Lutram<SlotResult>,
    here: Lutram<SlotResult>,
    oldest: DFF<SlotRecord>,
    valid: DFF<Bit>,
    over: DFF<Bit>,
    over_err: DFF<Bit>,
    expired: DFF<Bit>,
    /// A piece before, of the same request, has failed.
    failed: DFF<Bit>,
    timeout_reg: DFF<Bit>,
    jobs: Skid<ReadJob>,
    mine: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    err: Signal<Local, Bit>,
    next: Signal<Local, SlotRecord>,
    age: Signal<Local, Bits<5>>,
}

impl Retire {
    /// The `2^log2_slots` slots from `base`.
    ///
    /// # Panics
    /// If they are not aligned to their number.
    #[must_use]
    pub fn new(base: u8, log2_slots: usize) -> Self {
        Self {
            clock: Signal::default(),
            record: Signal::default(),
            record_valid: Signal::default(),
            end: Signal::default(),
            now: Signal::default(),
            job: StreamOut::default(),
            timeout: Signal::default(),
            base: Constant::new(u64::from(base).into()),
            class: Constant::new(class_mask(base, log2_slots)),
            records: SyncFifo::new(log2_slots),
            ahead: Lutram::new(log2_slots),
            here: Lutram::new(log2_slots),
            oldest: DFF::default(),
            valid: DFF::default(),
            over: DFF::default(),
            over_err: DFF::default(),
            expired: DFF::default(),
            failed: DFF::default(),
            timeout_reg: DFF::default(),
            jobs: Skid::default(),
            mine: Signal::default(),
            go: Signal::default(),
            load: Signal::default(),
            err: Signal::default(),
            next: Signal::default(),
            age: Signal::default(),
        }
    }
}

impl Default for Retire {
    fn default() -> Self {
        Self::new(crate::tags::PAYLOAD, PAYLOAD_LOG2)
    }
}

impl Logic for Retire {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            oldest,
            valid,
            over,
            over_err,
            expired,
            failed,
            timeout_reg
        );
        clock!(self, clock, records, ahead, here, jobs);
        self.records.input.valid.next = self.record_valid.val()
            & ((self.record.val().slot & self.class.val()) == self.base.val());
        self.records.input.data.next = self.record.val();
        self.mine.next =
            self.end.val().valid & ((self.end.val().slot & self.class.val()) == self.base.val());
        self.ahead.wr_valid.next = self.mine.val();
        self.ahead.wr_addr.next = bit_cast::<20, 8>(self.end.val().slot);
        self.ahead.wr_data.next.lap = self.end.val().lap;
        self.ahead.wr_data.next.err = self.end.val().err;
        self.here.wr_valid.next = self.mine.val();
        self.here.wr_addr.next = bit_cast::<20, 8>(self.end.val().slot);
        self.here.wr_data.next.lap = self.end.val().lap;
        self.here.wr_data.next.err = self.end.val().err;

        self.go.next = self.valid.q.val()
            & (self.over.q.val() | self.expired.q.val())
            & self.jobs.input.ready.val();
        self.load.next = !self.valid.q.val() | self.go.val();
        self.next.next = self.records.output.data.val();
        self.records.output.ready.next = self.load.val();
        self.ahead.rd_addr.next = bit_cast::<20, 8>(self.next.val().slot);
        self.here.rd_addr.next = bit_cast::<20, 8>(self.oldest.q.val().slot);
        self.age.next = self.now.val() - self.oldest.q.val().stamp;
        if self.load.val() {
            self.oldest.d.next = self.next.val();
            self.valid.d.next = self.records.output.valid.val();
            self.expired.d.next = false;
            if self.next.val().read {
                self.over.d.next = self.ahead.rd_data.val().lap == self.next.val().lap;
                self.over_err.d.next = self.ahead.rd_data.val().err;
            } else {
                self.over.d.next = true;
                self.over_err.d.next = !self.next.val().void;
            }
        } else {
            self.expired.d.next = self.expired.q.val() | self.age.val().get_bit(4);
            if !self.over.q.val() {
                self.over.d.next = self.here.rd_data.val().lap == self.oldest.q.val().lap;
                self.over_err.d.next = self.here.rd_data.val().err;
            }
        }

        self.err.next = self.failed.q.val() | !self.over.q.val() | self.over_err.q.val();
        if self.go.val() {
            self.failed.d.next = self.err.val();
            if self.oldest.q.val().last & !self.oldest.q.val().void {
                self.failed.d.next = false;
            }
        }
        self.timeout_reg.d.next = self.go.val() & !self.over.q.val();
        self.timeout.next = self.timeout_reg.q.val();
        self.jobs.input.valid.next =
            self.valid.q.val() & (self.over.q.val() | self.expired.q.val());
        self.jobs.input.data.next.line = (bit_cast::<11, 8>(self.oldest.q.val().slot) << 3)
            | bit_cast::<11, 3>(self.oldest.q.val().first_line);
        self.jobs.input.data.next.more_lines = self.oldest.q.val().more_lines;
        self.jobs.input.data.next.tag = self.oldest.q.val().tag;
        self.jobs.input.data.next.last = self.oldest.q.val().last;
        self.jobs.input.data.next.err = self.err.val();
        self.jobs.input.data.next.void = self.oldest.q.val().void;
        StreamOut::<ReadJob>::link(&mut self.job, &mut self.jobs.output);
    }
}

ferroce_emit::register_leaf!("retire", || Retire::new(8, 3));

//! Plans how a frame's beats become a payload's.

use ferroce_emit::prelude::*;

/// Cycles from the inputs to `job`.
pub const STRIP_PLAN_LATENCY: usize = 2;

/// One payload to be taken out of its frame; made by [`StripPlanner`].
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct StripJob {
    /// Number of the frame beat in which the payload begins.
    pub start: Bits<16>,
    /// Bytes by which frame beats are rotated up.
    pub rotate: Bits<6>,
    /// The first frame beat gives no payload beat of its own.
    pub prime: Bit,
    /// Steps, 1 to 127.
    pub steps: Bits<7>,
    /// Steps give payload beats; else the job takes its time and gives nothing.
    pub emit: Bit,
}

/// The payload's first byte is byte `hdr_len` of the frame and byte `offset` of its first payload beat. So frame beats are rotated up by
/// `offset - hdr_len` modulo 64; if the payload moves down, its first beat needs two frame beats. A job in every
/// cycle.
#[derive(LogicBlock, Module, Default)]
pub struct StripPlanner {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Number of the frame's first beat.
    pub head: Signal<In, Bits<16>>,
    /// Bytes to remove from the frame's front, 0 to [`MAX_HEADER_BYTES`](super::MAX_HEADER_BYTES).
    pub hdr_len: Signal<In, Bits<7>>,
    /// Payload bytes, 0 to [`MAX_PAYLOAD_BYTES`](super::MAX_PAYLOAD_BYTES). Without any, the job takes one step, of which the
    /// beat has no payload in it.
    pub len: Signal<In, Bits<13>>,
    /// Place of the payload in its first beat.
    pub offset: Signal<In, Bits<6>>,
    /// Give payload beats.
    pub emit: Signal<In, Bit>,
    /// The job, [`STRIP_PLAN_LATENCY`] cycles later.
    pub job: Signal<Out, StripJob>,
    start1: DFF<Bits<16>>,
    rotate1: DFF<Bits<6>>,
    prime1: DFF<Bit>,
    end1: DFF<Bits<13>>,
    has_payload1: DFF<Bit>,
    emit1: DFF<Bit>,
    job2: DFF<StripJob>,
    round_up: Signal<Local, Bits<13>>,
}

impl Logic for StripPlanner {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            start1,
            rotate1,
            prime1,
            end1,
            has_payload1,
            emit1,
            job2
        );
        self.start1.d.next =
            self.head.val() + bit_cast::<16, 1>(self.hdr_len.val().get_bits::<1>(6));
        self.rotate1.d.next = self.offset.val() - self.hdr_len.val().get_bits::<6>(0);
        self.prime1.d.next =
            (self.offset.val() < self.hdr_len.val().get_bits::<6>(0)) & self.len.val().any();
        self.end1.d.next = self.len.val() + bit_cast::<13, 6>(self.offset.val());
        self.has_payload1.d.next = self.len.val().any();
        self.emit1.d.next = self.emit.val();

        self.job2.d.next.start = self.start1.q.val();
        self.job2.d.next.rotate = self.rotate1.q.val();
        self.job2.d.next.prime = self.prime1.q.val();
        self.job2.d.next.emit = self.emit1.q.val();
        self.round_up.next = 63.into();
        if self.prime1.q.val() {
            self.round_up.next = (63 + 64).into();
        }
        self.job2.d.next.steps = (self.end1.q.val() + self.round_up.val()).get_bits::<7>(6);
        if !self.has_payload1.q.val() {
            self.job2.d.next.steps = 1.into();
        }
        self.job.next = self.job2.q.val();
    }
}

ferroce_emit::register_leaf!("strip_planner", StripPlanner::default);

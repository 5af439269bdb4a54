//! Looks at every QP in turn for timers and flushes.

use crate::completer::pass_data::{PassState, ScanWrite};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::tx::{Kick, SenderPub, SqPub};
use ferroce_rtl::ram::Ram;
use ferroce_rtl::stream::StreamOut;
use ferroce_rtl::sync_fifo::SyncFifo;

/// Core cycles of a timer unit: 4.096 us at 250 MHz, the unit of the ACK timeout.
const UNIT_CYCLES: u64 = 1024;
/// Least cycles of a scan, so that a QP is not found twice before its first find had its pass.
const LOG2_SCAN: usize = 6;
/// Log2 of the finds that may wait. A find for which there is no room comes again in the next scan.
const LOG2_FINDS: usize = 4;

/// Reads one QP a cycle from copies of what the passes, the sender and the SQ WQE cache publish, and reports those with
/// something to do: unacknowledged PSNs and no timer or the reverse, a timer or RNR wait that has expired, WQEs to be flushed. The pass
/// that follows decides with the true state, so a stale find does no harm.
#[derive(LogicBlock, Module)]
pub struct TimerScan {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// State writes of the passes.
    pub state: Signal<In, ScanWrite>,
    /// What the sender publishes.
    pub sender_pub: Signal<In, SenderPub>,
    /// What the SQ WQE cache publishes.
    pub sq_pub: Signal<In, SqPub>,
    /// Time in units of 1024 cycles.
    pub now: Signal<Out, Bits<33>>,
    /// QPs with something to do.
    pub ticks: StreamOut<Kick>,
    qps: Constant<Bits<14>>,
    scan_mask: Constant<Bits<14>>,
    states: Ram<PassState>,
    sent: Ram<Bits<24>>,
    posted: Ram<Bits<16>>,
    finds: SyncFifo<Kick>,
    prescaler: DFF<Bits<10>>,
    time: DFF<Bits<33>>,
    index: DFF<Bits<14>>,
    index1: DFF<Bits<14>>,
    index2: DFF<Bits<14>>,
    index3: DFF<Bits<14>>,
    index4: DFF<Bits<14>>,
    state3: DFF<PassState>,
    exists3: DFF<Bit>,
    open3: DFF<Bit>,
    flush3: DFF<Bit>,
    age3: DFF<Bits<33>>,
    found4: DFF<Bit>,
    s: Signal<Local, PassState>,
    expired: Signal<Local, Bit>,
}

impl TimerScan {
    /// For `2^log2_qps` QPs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            clock: Signal::default(),
            state: Signal::default(),
            sender_pub: Signal::default(),
            sq_pub: Signal::default(),
            now: Signal::default(),
            ticks: StreamOut::default(),
            qps: Constant::new(((1u64 << log2_qps) - 1).into()),
            scan_mask: Constant::new(((1u64 << log2_qps.max(LOG2_SCAN)) - 1).into()),
            states: Ram::new(log2_qps),
            sent: Ram::new(log2_qps),
            posted: Ram::new(log2_qps),
            finds: SyncFifo::new(LOG2_FINDS),
            prescaler: DFF::default(),
            time: DFF::default(),
            index: DFF::default(),
            index1: DFF::default(),
            index2: DFF::default(),
            index3: DFF::default(),
            index4: DFF::default(),
            state3: DFF::default(),
            exists3: DFF::default(),
            open3: DFF::default(),
            flush3: DFF::default(),
            age3: DFF::default(),
            found4: DFF::default(),
            s: Signal::default(),
            expired: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for TimerScan {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for TimerScan {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, prescaler, time, index, index1, index2, index3, index4, state3, exists3,
            open3, flush3, age3, found4
        );
        clock!(self, clock, states, sent, posted, finds);
        StreamOut::<Kick>::link(&mut self.ticks, &mut self.finds.output);

        self.prescaler.d.next = self.prescaler.q.val() + 1;
        if self.prescaler.q.val() == (UNIT_CYCLES - 1) {
            self.time.d.next = self.time.q.val() + 1;
        }
        self.now.next = self.time.q.val();

        self.states.wr_valid.next = self.state.val().valid;
        self.states.wr_addr.next = bit_cast::<20, 14>(self.state.val().qp);
        self.states.wr_data.next = self.state.val().state;
        self.sent.wr_valid.next = self.sender_pub.val().valid;
        self.sent.wr_addr.next = bit_cast::<20, 14>(self.sender_pub.val().qp);
        self.sent.wr_data.next = self.sender_pub.val().max_psn;
        self.posted.wr_valid.next = self.sq_pub.val().valid;
        self.posted.wr_addr.next = bit_cast::<20, 14>(self.sq_pub.val().qp);
        self.posted.wr_data.next = self.sq_pub.val().pi;

        // Read.
        self.index.d.next = (self.index.q.val() + 1) & self.scan_mask.val();
        self.states.rd_addr.next = bit_cast::<20, 14>(self.index.q.val());
        self.sent.rd_addr.next = bit_cast::<20, 14>(self.index.q.val());
        self.posted.rd_addr.next = bit_cast::<20, 14>(self.index.q.val());
        self.index1.d.next = self.index.q.val();
        self.index2.d.next = self.index1.q.val();

        // Compare.
        self.s.next = self.states.rd_data.val();
        self.index3.d.next = self.index2.q.val();
        self.exists3.d.next = self.index2.q.val() <= self.qps.val();
        self.state3.d.next = self.s.val();
        self.open3.d.next = self.s.val().una_psn != self.sent.rd_data.val();
        self.flush3.d.next = self.s.val().una_wqe != self.posted.rd_data.val();
        self.age3.d.next = self.time.q.val() - self.s.val().deadline;

        // Decide.
        self.expired.next = !self.age3.q.val().get_bit(32);
        self.index4.d.next = self.index3.q.val();
        if self.state3.q.val().failed {
            self.found4.d.next = self.flush3.q.val();
        } else if self.state3.q.val().rnr_wait {
            self.found4.d.next = self.expired.val();
        } else {
            self.found4.d.next = (self.open3.q.val() != self.state3.q.val().armed)
                | (self.open3.q.val() & self.expired.val() & !self.state3.q.val().forever);
        }
        if !self.exists3.q.val() {
            self.found4.d.next = false;
        }
        self.finds.input.data.next.qp = self.index4.q.val();
        self.finds.input.valid.next = self.found4.q.val();
    }
}

ferroce_emit::register_leaf!("timer_scan", TimerScan::default);

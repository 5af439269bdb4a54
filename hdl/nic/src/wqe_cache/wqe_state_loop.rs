//! State of the queues.

use super::desc::{EventKind, FetchJob, PushJob, WindowPub, WqeEvent, WqeState, PUSH_COPY_CYCLES};
use ferroce_abi::limits::WQE_BLOCKS;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::tx::Kick;
use ferroce_rtl::rmw_ram::{RmwRam, RMW_LATENCY};
use ferroce_rtl::stream::StreamOut;

/// Blocks of the longest WQE.
const LONGEST_WQE: u64 = WQE_BLOCKS as u64;

/// Takes an event every two cycles, the same QP's too: the state's data comes in one cycle, in which differences are
/// taken, and is written in the next, in which they decide.
///
/// A QP that can be fed (something was posted, the window has room, nothing is on its way) leaves through `hungry`
/// and is `busy` until the burst that results has arrived, or until its turn finds nothing to do any more. So
/// `hungry` holds a QP once at most.
///
/// A burst whose read failed is read again as long as a whole WQE is sure to be in the window; then one bad block
/// takes its place, whose WQE fails at the owner, and nothing more is read until the owner goes elsewhere.
#[derive(LogicBlock, Module)]
pub struct WqeStateLoop {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// An event in this cycle.
    pub valid: Signal<In, Bit>,
    /// The event.
    pub event: Signal<In, WqeEvent>,
    /// Every new state.
    pub window: Signal<Out, WindowPub>,
    /// Every new state for those who read the slots: that of a push comes when its blocks are there.
    pub readable: Signal<Out, WindowPub>,
    /// QPs that have new WQEs; must never stall.
    pub kick: StreamOut<Kick>,
    /// QPs that wait for their turn to fetch; must never stall.
    pub hungry: StreamOut<Bits<14>>,
    /// Bursts to read.
    pub fetch: Signal<Out, FetchJob>,
    /// Pushes to take or to forget.
    pub push: Signal<Out, PushJob>,
    window_size: Constant<Bits<9>>,
    states: RmwRam<WqeState>,
    events: Delay<WqeEvent>,
    /// Index before the blocks that a doorbell's push has.
    first: DFF<Bits<16>>,
    firsts: Delay<Bits<16>>,
    /// Blocks in the window with which that push has room; bit 9: none.
    most: DFF<Bits<10>>,
    mosts: Delay<Bits<10>>,
    /// First cycle of the loop: differences.
    s1_valid: DFF<Bit>,
    s1_event: DFF<WqeEvent>,
    s1_state: DFF<WqeState>,
    /// How far the position is behind the window's end.
    s1_behind: DFF<Bits<16>>,
    /// Window after the burst.
    s1_end: DFF<Bits<16>>,
    s1_filled: DFF<Bits<9>>,
    s1_full: DFF<Bit>,
    s1_drained: DFF<Bit>,
    s1_bell_at_end: DFF<Bit>,
    s1_index_at_producer: DFF<Bit>,
    s1_is_push: DFF<Bit>,
    /// The push begins where the producer stood, which is the window's end, and has room.
    s1_push_fits: DFF<Bit>,
    /// Second cycle: decision.
    state: Signal<Local, WqeState>,
    next: Signal<Local, WqeState>,
    inside: Signal<Local, Bit>,
    can_feed: Signal<Local, Bit>,
    fresh: Signal<Local, Bit>,
    ask: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    take_push: Signal<Local, Bit>,
    is_push: Signal<Local, Bit>,
    /// Results.
    out_window: DFF<WindowPub>,
    /// States of pushes, while their blocks are copied. No other state comes in the meantime.
    pushed: Delay<WindowPub>,
    out_kick: DFF<Bit>,
    out_hungry: DFF<Bit>,
    out_fetch: DFF<FetchJob>,
    out_push: DFF<PushJob>,
}

impl WqeStateLoop {
    /// `2^qps_log2` queues with a window of `2^window_log2` WQEs.
    #[must_use]
    pub fn new(qps_log2: usize, window_log2: usize) -> Self {
        Self {
            clock: Signal::default(),
            valid: Signal::default(),
            event: Signal::default(),
            window: Signal::default(),
            readable: Signal::default(),
            kick: StreamOut::default(),
            hungry: StreamOut::default(),
            fetch: Signal::default(),
            push: Signal::default(),
            window_size: Constant::new((1u64 << window_log2).into()),
            states: RmwRam::new(qps_log2),
            events: Delay::new(RMW_LATENCY),
            first: DFF::default(),
            firsts: Delay::new(RMW_LATENCY - 1),
            most: DFF::default(),
            mosts: Delay::new(RMW_LATENCY - 1),
            s1_valid: DFF::default(),
            s1_event: DFF::default(),
            s1_state: DFF::default(),
            s1_behind: DFF::default(),
            s1_end: DFF::default(),
            s1_filled: DFF::default(),
            s1_full: DFF::default(),
            s1_drained: DFF::default(),
            s1_bell_at_end: DFF::default(),
            s1_index_at_producer: DFF::default(),
            s1_is_push: DFF::default(),
            s1_push_fits: DFF::default(),
            state: Signal::default(),
            next: Signal::default(),
            inside: Signal::default(),
            can_feed: Signal::default(),
            fresh: Signal::default(),
            ask: Signal::default(),
            go: Signal::default(),
            take_push: Signal::default(),
            is_push: Signal::default(),
            out_window: DFF::default(),
            pushed: Delay::new(PUSH_COPY_CYCLES),
            out_kick: DFF::default(),
            out_hungry: DFF::default(),
            out_fetch: DFF::default(),
            out_push: DFF::default(),
        }
    }
}

/// 16 queues with a window of 16 WQEs.
impl Default for WqeStateLoop {
    fn default() -> Self {
        Self::new(4, 4)
    }
}

impl Logic for WqeStateLoop {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            s1_valid,
            s1_event,
            s1_state,
            s1_behind,
            s1_end,
            s1_filled,
            s1_full,
            s1_drained,
            s1_bell_at_end,
            s1_index_at_producer,
            s1_is_push,
            s1_push_fits,
            first,
            most,
            out_push,
            out_window,
            out_kick,
            out_hungry,
            out_fetch
        );
        clock!(self, clock, states, events, firsts, mosts, pushed);
        self.states.rd_valid.next = self.valid.val();
        self.states.rd_addr.next = bit_cast::<20, 14>(self.event.val().qp);
        self.events.data_in.next = self.event.val();
        self.first.d.next = self.event.val().index - bit_cast::<16, 7>(self.event.val().count);
        self.firsts.data_in.next = self.first.q.val();
        self.most.d.next =
            bit_cast::<10, 9>(self.window_size.val()) - bit_cast::<10, 7>(self.event.val().count);
        self.mosts.data_in.next = self.most.q.val();

        // First cycle: all differences.
        self.s1_valid.d.next = self.states.data_valid.val();
        self.s1_event.d.next = self.events.data_out.val();
        self.s1_state.d.next = self.states.rd_data.val();
        self.s1_behind.d.next =
            self.states.rd_data.val().fetched - self.events.data_out.val().index;
        self.s1_end.d.next =
            self.states.rd_data.val().fetched + bit_cast::<16, 7>(self.events.data_out.val().count);
        self.s1_filled.d.next =
            self.states.rd_data.val().level + bit_cast::<9, 7>(self.events.data_out.val().count);
        self.s1_full.d.next = self.states.rd_data.val().level == self.window_size.val();
        self.s1_drained.d.next =
            self.states.rd_data.val().producer == self.states.rd_data.val().fetched;
        self.s1_bell_at_end.d.next =
            self.events.data_out.val().index == self.states.rd_data.val().fetched;
        self.s1_index_at_producer.d.next =
            self.events.data_out.val().index == self.states.rd_data.val().producer;

        self.s1_is_push.d.next = self.events.data_out.val().count.any();
        self.s1_push_fits.d.next = (self.firsts.data_out.val()
            == self.states.rd_data.val().producer)
            & (self.states.rd_data.val().producer == self.states.rd_data.val().fetched)
            & !self.mosts.data_out.val().get_bit(9)
            & (self.states.rd_data.val().level <= self.mosts.data_out.val().get_bits::<9>(0));

        // Second cycle: the new state, and whether it can be fed.
        self.state.next = self.s1_state.q.val();
        self.next.next = self.s1_state.q.val();
        self.inside.next = (self.s1_behind.q.val().get_bits::<7>(9) == 0)
            & (self.s1_behind.q.val().get_bits::<9>(0) <= self.state.val().level);
        self.can_feed.next = !self.s1_drained.q.val() & !self.s1_full.q.val();
        self.fresh.next = false;
        self.go.next = false;
        self.is_push.next = false;
        self.take_push.next = false;
        match self.s1_event.q.val().kind {
            EventKind::Configure => {
                self.next.next.enabled = self.s1_event.q.val().flag;
                self.next.next.stale = true;
                self.next.next.bad = false;
                self.next.next.level = 0.into();
                self.next.next.fetched = 0.into();
                self.next.next.producer = 0.into();
                self.can_feed.next = false;
            }
            EventKind::Arrived => {
                self.next.next.busy = false;
                if !self.state.val().stale {
                    if !self.s1_event.q.val().flag {
                        self.fresh.next = true;
                        self.next.next.level = self.s1_filled.q.val();
                        self.next.next.fetched = self.s1_end.q.val();
                        self.can_feed.next = (self.state.val().producer != self.s1_end.q.val())
                            & (self.s1_filled.q.val() != self.window_size.val());
                    } else if self.state.val().level < LONGEST_WQE {
                        self.fresh.next = true;
                        self.next.next.bad = true;
                        self.next.next.level = self.state.val().level + 1;
                        self.next.next.fetched = self.state.val().fetched + 1;
                    }
                }
            }
            EventKind::Position => {
                if self.state.val().enabled {
                    if self.inside.val() {
                        self.next.next.level = self.s1_behind.q.val().get_bits::<9>(0);
                        self.next.next.bad =
                            self.state.val().bad & self.s1_behind.q.val().get_bits::<9>(0).any();
                        self.can_feed.next = !self.s1_drained.q.val()
                            & (self.s1_behind.q.val().get_bits::<9>(0) != self.window_size.val());
                    } else {
                        self.next.next.stale = true;
                        self.next.next.bad = false;
                        self.next.next.level = 0.into();
                        self.next.next.fetched = self.s1_event.q.val().index;
                        self.can_feed.next = !self.s1_index_at_producer.q.val();
                    }
                }
            }
            EventKind::Doorbell => {
                // A push is taken if everything before it is in the window and there is room. Its owner is kicked at once: the visit that
                // follows reads the WQE only after the copy, which nothing holds up.
                self.is_push.next = self.s1_is_push.q.val();
                self.take_push.next = self.s1_is_push.q.val()
                    & self.s1_push_fits.q.val()
                    & self.state.val().enabled
                    & !self.state.val().busy
                    & !self.state.val().bad;
                if self.state.val().enabled {
                    self.next.next.producer = self.s1_event.q.val().index;
                    self.can_feed.next = !self.s1_bell_at_end.q.val()
                        & !self.s1_full.q.val()
                        & !self.take_push.val();
                }
                if self.take_push.val() {
                    self.fresh.next = true;
                    self.next.next.level = self.s1_filled.q.val();
                    self.next.next.fetched = self.s1_end.q.val();
                }
            }
            // Fetch.
            _ => {
                self.go.next =
                    self.can_feed.val() & self.state.val().enabled & !self.state.val().bad;
                self.next.next.stale = false;
                self.next.next.busy = self.go.val();
                self.can_feed.next = false;
            }
        }
        self.ask.next = self.can_feed.val()
            & self.next.val().enabled
            & !self.next.val().bad
            & !self.next.val().busy;
        self.states.wr_valid.next = self.s1_valid.q.val();
        self.states.wr_addr.next = bit_cast::<20, 14>(self.s1_event.q.val().qp);
        self.states.wr_data.next = self.next.val();
        self.states.wr_data.next.busy = self.next.val().busy | self.ask.val();

        // Results.
        self.out_window.d.next.valid = self.s1_valid.q.val();
        self.out_window.d.next.qp = self.s1_event.q.val().qp;
        self.out_window.d.next.bad = self.next.val().bad;
        self.out_window.d.next.level = self.next.val().level;
        self.out_window.d.next.fetched = self.next.val().fetched;
        self.out_window.d.next.producer = self.next.val().producer;
        self.out_kick.d.next = self.s1_valid.q.val() & self.fresh.val();
        self.out_hungry.d.next = self.s1_valid.q.val() & self.ask.val();
        self.out_fetch.d.next.valid = self.s1_valid.q.val() & self.go.val();
        self.out_fetch.d.next.qp = self.s1_event.q.val().qp;
        self.out_fetch.d.next.fetched = self.state.val().fetched;
        self.out_fetch.d.next.level = self.state.val().level;
        self.out_fetch.d.next.producer = self.state.val().producer;
        self.out_push.d.next.valid = self.s1_valid.q.val() & self.is_push.val();
        self.out_push.d.next.taken = self.take_push.val();
        self.out_push.d.next.qp = self.s1_event.q.val().qp;
        self.out_push.d.next.first = self.state.val().fetched;
        self.out_push.d.next.blocks = self.s1_event.q.val().count.get_bits::<3>(0);
        self.out_push.d.next.place = self.s1_event.q.val().place;
        self.push.next = self.out_push.q.val();
        self.window.next = self.out_window.q.val();
        self.readable.next = self.out_window.q.val();
        self.readable.next.valid = self.out_window.q.val().valid & !self.out_push.q.val().taken;
        self.pushed.data_in.next = self.out_window.q.val();
        self.pushed.data_in.next.valid =
            self.out_window.q.val().valid & self.out_push.q.val().taken;
        if self.pushed.data_out.val().valid {
            self.readable.next = self.pushed.data_out.val();
        }
        self.kick.data.next.qp = self.out_window.q.val().qp;
        self.kick.valid.next = self.out_kick.q.val();
        self.hungry.data.next = self.out_window.q.val().qp;
        self.hungry.valid.next = self.out_hungry.q.val();
        self.fetch.next = self.out_fetch.q.val();
    }
}

ferroce_emit::register_leaf!("wqe_state_loop", WqeStateLoop::default);

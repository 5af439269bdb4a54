//! Finds out where in host memory payload goes, before anyone is told that it was received.

use crate::control::packet::{Decided, Placed};
use crate::control::rx_verdict::DEAD_LEAD;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::lookup::MrAnswer;
use ferroce_rtl::desc::pages::{PageAnswer, PageReq};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Log2 of the packets that wait for their pages: at a round trip of 250 cycles and a packet every two cycles, nearly as many as come meanwhile.
const LOG2_WAITING: usize = 7;
/// Configuration writes that may wait; more are held up.
const MOST_CONFIGS: u64 = 4;
/// Places that must be free to start a packet. The pipeline before has 26 cycles and holds a packet every second one; beside them
/// there are the configuration writes that may wait, and two that may be on their way when they are held up.
const RESERVE: usize = 16 + MOST_CONFIGS as usize + 2;
/// The same for page requests: two a packet.
const REQUEST_RESERVE: usize = 32;
/// Bytes between two boundaries that no write may cross.
const BOUNDARY: u64 = 4096;

/// A packet that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Waiting {
    /// The packet.
    pub packet: Decided,
    /// Its place so far.
    pub placed: Placed,
    /// It needs a page.
    pub asks: Bit,
    /// It needs two.
    pub crosses: Bit,
}

/// Packets stay in order, and so do their answers, since the error mark of the QP, verdict, ACK and completion come behind this block: a page that
/// isn't there makes a NAK, and nothing of the QP behind it is executed or acknowledged.
///
/// Packets come at most every second cycle and can't be held back here; `hold` stops them where they begin.
#[derive(LogicBlock, Module)]
pub struct RxPages {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Packets.
    pub packet_in: Signal<In, Decided>,
    /// Their place.
    pub placed_in: Signal<In, Placed>,
    /// Whether it may be written.
    pub mr_answer: Signal<In, MrAnswer>,
    /// Start no packet.
    pub hold: Signal<Out, Bit>,
    /// Configure no QP.
    pub hold_configs: Signal<Out, Bit>,
    /// Pages wanted.
    pub page_req: StreamOut<PageReq>,
    /// Their places, in the same order.
    pub page_answer: StreamIn<PageAnswer>,
    /// Let no packet go; from a register.
    pub stop: Signal<In, Bit>,
    /// QP of the packet that comes out [`DEAD_LEAD`] cycles later.
    pub dead_qp: Signal<Out, Bits<14>>,
    /// Packets.
    pub packet: Signal<Out, Decided>,
    /// Their place.
    pub placed: Signal<Out, Placed>,
    waiting1: DFF<Waiting>,
    wanted1: DFF<Bit>,
    some1: DFF<Bit>,
    epoch1: DFF<Bits<8>>,
    span1: DFF<Bits<13>>,
    page2_1: DFF<Bits<52>>,
    waiting2: DFF<Waiting>,
    epoch2: DFF<Bits<8>>,
    second3: DFF<Bit>,
    req3: DFF<PageReq>,
    waiting: SyncFifo<Waiting>,
    requests: SyncFifo<PageReq>,
    configs: DFF<Bits<4>>,
    hold_reg: DFF<Bit>,
    hold_configs_reg: DFF<Bit>,
    /// The first of two pages.
    got_first: DFF<Bit>,
    first: DFF<PageAnswer>,
    out: DFF<Waiting>,
    packet_delay: Delay<Decided>,
    placed_delay: Delay<Placed>,
    real: Signal<Local, Bit>,
    head: Signal<Local, Waiting>,
    takes_first: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    more: Signal<Local, Bits<4>>,
    fewer: Signal<Local, Bits<4>>,
}

impl Default for RxPages {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            packet_in: Signal::default(),
            placed_in: Signal::default(),
            mr_answer: Signal::default(),
            hold: Signal::default(),
            hold_configs: Signal::default(),
            page_req: StreamOut::default(),
            page_answer: StreamIn::default(),
            stop: Signal::default(),
            dead_qp: Signal::default(),
            packet: Signal::default(),
            placed: Signal::default(),
            waiting1: DFF::default(),
            wanted1: DFF::default(),
            some1: DFF::default(),
            epoch1: DFF::default(),
            span1: DFF::default(),
            page2_1: DFF::default(),
            waiting2: DFF::default(),
            epoch2: DFF::default(),
            second3: DFF::default(),
            req3: DFF::default(),
            waiting: SyncFifo::new_with_reserve(LOG2_WAITING, RESERVE),
            requests: SyncFifo::new_with_reserve(LOG2_WAITING, REQUEST_RESERVE),
            configs: DFF::default(),
            hold_reg: DFF::default(),
            hold_configs_reg: DFF::default(),
            got_first: DFF::default(),
            first: DFF::default(),
            out: DFF::default(),
            packet_delay: Delay::new(DEAD_LEAD),
            placed_delay: Delay::new(DEAD_LEAD),
            real: Signal::default(),
            head: Signal::default(),
            takes_first: Signal::default(),
            go: Signal::default(),
            more: Signal::default(),
            fewer: Signal::default(),
        }
    }
}

impl Logic for RxPages {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            waiting1,
            wanted1,
            some1,
            epoch1,
            span1,
            page2_1,
            waiting2,
            epoch2,
            second3,
            req3,
            configs,
            hold_reg,
            hold_configs_reg,
            got_first,
            first,
            out
        );
        clock!(self, clock, waiting, requests, packet_delay, placed_delay);

        // What is wanted.
        self.waiting1.d.next.packet = self.packet_in.val();
        self.waiting1.d.next.placed = self.placed_in.val();
        self.waiting1.d.next.placed.denied = !self.mr_answer.val().ok;
        self.waiting1.d.next.placed.paged = self.mr_answer.val().paged;
        self.waiting1.d.next.placed.epoch = self.mr_answer.val().epoch;
        self.wanted1.d.next = (self.packet_in.val().accept | self.packet_in.val().lands)
            & self.mr_answer.val().ok
            & self.mr_answer.val().paged
            & !self.placed_in.val().bad_wqe
            & !self.placed_in.val().too_long;
        // A READ's pages are looked up when it is answered; an atomic's word lies in one page.
        self.some1.d.next = self.packet_in.val().len.any() | self.packet_in.val().class.atomic;
        self.epoch1.d.next = self.mr_answer.val().epoch;
        self.span1.d.next = self.packet_in.val().len
            + bit_cast::<13, 12>(self.placed_in.val().addr.get_bits::<12>(0));
        self.page2_1.d.next = self.placed_in.val().addr.get_bits::<52>(12) + 1;

        self.waiting2.d.next = self.waiting1.q.val();
        self.waiting2.d.next.asks = self.wanted1.q.val() & self.some1.q.val();
        self.waiting2.d.next.crosses =
            self.wanted1.q.val() & self.some1.q.val() & (self.span1.q.val() > BOUNDARY);
        self.waiting2.d.next.placed.page2 = self.page2_1.q.val();
        self.epoch2.d.next = self.epoch1.q.val();

        // A packet in one cycle, its second page in the next.
        self.real.next = self.waiting2.q.val().packet.packet
            | self.waiting2.q.val().packet.reconfig
            | self.waiting2.q.val().packet.kill
            | self.waiting2.q.val().packet.halt;
        self.waiting.input.valid.next = self.real.val();
        self.waiting.input.data.next = self.waiting2.q.val();
        self.second3.d.next = self.real.val() & self.waiting2.q.val().crosses;
        self.req3.d.next.mr = self.waiting2.q.val().placed.mr;
        self.req3.d.next.epoch = self.epoch2.q.val();
        self.req3.d.next.page = self.waiting2.q.val().placed.page2;
        self.requests.input.valid.next =
            (self.real.val() & self.waiting2.q.val().asks) | self.second3.q.val();
        self.requests.input.data.next.mr = self.waiting2.q.val().placed.mr;
        self.requests.input.data.next.epoch = self.epoch2.q.val();
        self.requests.input.data.next.page = self.waiting2.q.val().placed.addr.get_bits::<52>(12);
        if self.second3.q.val() {
            self.requests.input.data.next = self.req3.q.val();
        }
        StreamOut::<PageReq>::link(&mut self.page_req, &mut self.requests.output);
        self.hold_reg.d.next = self.waiting.almost_full.val() | self.requests.almost_full.val();
        self.hold.next = self.hold_reg.q.val();
        self.more.next =
            bit_cast::<4, 1>((self.real.val() & self.waiting2.q.val().packet.reconfig).into());

        // The oldest packet takes its pages.
        self.head.next = self.waiting.output.data.val();
        self.takes_first.next =
            self.head.val().crosses & !self.got_first.q.val() & self.waiting.output.valid.val();
        self.go.next = self.waiting.output.valid.val()
            & !self.stop.val()
            & (!self.head.val().asks
                | (self.page_answer.valid.val()
                    & (!self.head.val().crosses | self.got_first.q.val())));
        self.waiting.output.ready.next = self.go.val();
        self.page_answer.ready.next =
            self.takes_first.val() | (self.go.val() & self.head.val().asks);
        if self.takes_first.val() & self.page_answer.valid.val() {
            self.got_first.d.next = true;
            self.first.d.next = self.page_answer.data.val();
        }
        if self.go.val() {
            self.got_first.d.next = false;
        }
        self.fewer.next =
            bit_cast::<4, 1>((self.go.val() & self.head.val().packet.reconfig).into());
        self.configs.d.next = self.configs.q.val() + self.more.val() - self.fewer.val();
        self.hold_configs_reg.d.next = self.configs.q.val() >= MOST_CONFIGS;
        self.hold_configs.next = self.hold_configs_reg.q.val();

        self.out.d.next = Default::default();
        if self.go.val() {
            self.out.d.next = self.head.val();
            if self.head.val().crosses {
                self.out.d.next.placed.addr = (bit_cast::<64, 52>(self.first.q.val().page) << 12)
                    | bit_cast::<64, 12>(self.head.val().placed.addr.get_bits::<12>(0));
                self.out.d.next.placed.page2 = self.page_answer.data.val().page;
                self.out.d.next.placed.fault =
                    self.first.q.val().fault | self.page_answer.data.val().fault;
            } else if self.head.val().asks {
                self.out.d.next.placed.addr =
                    (bit_cast::<64, 52>(self.page_answer.data.val().page) << 12)
                        | bit_cast::<64, 12>(self.head.val().placed.addr.get_bits::<12>(0));
                self.out.d.next.placed.fault = self.page_answer.data.val().fault;
            }
        }
        self.dead_qp.next = self.out.q.val().packet.qp;
        self.packet_delay.data_in.next = self.out.q.val().packet;
        self.placed_delay.data_in.next = self.out.q.val().placed;
        self.packet.next = self.packet_delay.data_out.val();
        self.placed.next = self.placed_delay.data_out.val();
    }
}

ferroce_emit::register_leaf!("rx_pages", RxPages::default);

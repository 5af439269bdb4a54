//! Entry of the sender: visits, rewinds and configuration become items of its pipeline.

use crate::desc::Visit;
use crate::send::SEND_PIPE;
use crate::send_desc::SendItem;
use ferroce_abi::cfg::SenderCfg;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::tx::Rewind;
use ferroce_rtl::stream::StreamIn;

/// Counted down while a `set` item is on its way: the last cycle of it is that of the item's state write, so
/// that a visit taken after it reads the new state.
const HOLD_CYCLES: u64 = SEND_PIPE as u64 + 1;

const ENABLED: usize = SenderCfg::FIELDS[0].offset;
const PMTU: usize = SenderCfg::FIELDS[1].offset;
const PD: usize = SenderCfg::FIELDS[2].offset;
const PSN: usize = SenderCfg::FIELDS[3].offset;
const MAX_READS: usize = SenderCfg::FIELDS[4].offset;

/// Configuration goes first, then rewinds, then visits: the first two are rare. While one of them is on its
/// way to the state RAM, others wait, and visits of its QP bounce. Visits that are already in the pipeline are ahead of it and do
/// it no harm: it replaces the state without looking.
#[derive(LogicBlock, Module, Default)]
pub struct TxSendFront {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// QPs that may send a packet.
    pub visit: StreamIn<Visit>,
    /// Positions to go back to.
    pub rewind: StreamIn<Rewind>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// The sender's outputs have room for a `set` item; looked at one cycle later.
    pub set_room: Signal<In, Bit>,
    /// The sender's outputs have room for a visit; looked at one cycle later.
    pub visit_room: Signal<In, Bit>,
    /// The item accepted in the cycle before.
    pub item: Signal<Out, SendItem>,
    taken: DFF<SendItem>,
    set_open: DFF<Bit>,
    visit_open: DFF<Bit>,
    /// This cycle is for configuration or a rewind.
    set_turn: DFF<Bit>,
    cfg_pending: DFF<Bit>,
    cfg_item: DFF<SendItem>,
    hold: DFF<Bits<5>>,
    held: DFF<Bit>,
    held_qp: DFF<Bits<14>>,
    take_set: Signal<Local, Bit>,
    take_cfg: Signal<Local, Bit>,
    take_rewind: Signal<Local, Bit>,
    take_visit: Signal<Local, Bit>,
}

impl Logic for TxSendFront {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            set_open,
            visit_open,
            set_turn,
            taken,
            cfg_pending,
            cfg_item,
            hold,
            held,
            held_qp
        );
        self.item.next = self.taken.q.val();

        self.set_open.d.next = self.set_room.val();
        self.visit_open.d.next = self.visit_room.val();
        self.set_turn.d.next = (self.cfg_pending.q.val() | self.rewind.valid.val())
            & !self.held.q.val()
            & !self.set_turn.q.val();
        self.take_set.next = self.set_turn.q.val() & self.set_open.q.val();
        self.take_cfg.next = self.take_set.val() & self.cfg_pending.q.val();
        self.rewind.ready.next = self.take_set.val() & !self.cfg_pending.q.val();
        self.take_rewind.next =
            self.rewind.valid.val() & self.take_set.val() & !self.cfg_pending.q.val();
        self.visit.ready.next = self.visit_open.q.val() & !self.set_turn.q.val();
        self.take_visit.next = self.visit.valid.val() & self.visit.ready.val();

        // Data of rewind and visit share the fields' registers; `cfg_item` has them all.
        self.taken.d.next = self.cfg_item.q.val();
        self.taken.d.next.visit = self.take_visit.val();
        self.taken.d.next.bounce =
            self.held.q.val() & (self.visit.data.val().qp == self.held_qp.q.val());
        self.taken.d.next.set = self.take_cfg.val() | self.take_rewind.val();
        self.taken.d.next.configure = self.take_cfg.val();
        if !self.cfg_pending.q.val() {
            self.taken.d.next.wqe = self.rewind.data.val().wqe;
            self.taken.d.next.sent = self.rewind.data.val().psn - self.rewind.data.val().first_psn;
            self.taken.d.next.psn = self.rewind.data.val().psn;
            self.taken.d.next.halted = self.rewind.data.val().halt;
        }
        if self.take_visit.val() {
            self.taken.d.next.qp = self.visit.data.val().qp;
        } else if !self.cfg_pending.q.val() {
            self.taken.d.next.qp = self.rewind.data.val().qp;
        }

        if self.take_cfg.val() {
            self.cfg_pending.d.next = false;
        }
        if self.cfg.val().valid & (self.cfg.val().table == table::SENDER) {
            self.cfg_pending.d.next = true;
        }
        if !self.cfg_pending.q.val() {
            self.cfg_item.d.next.qp = self.cfg.val().index.get_bits::<14>(0);
            self.cfg_item.d.next.psn = self.cfg.val().data.get_bits::<24>(PSN);
            self.cfg_item.d.next.enabled = self.cfg.val().data.get_bit(ENABLED);
            self.cfg_item.d.next.pmtu = self.cfg.val().data.get_bits::<4>(PMTU);
            self.cfg_item.d.next.pd = self.cfg.val().data.get_bits::<16>(PD);
            self.cfg_item.d.next.max_reads = self.cfg.val().data.get_bits::<5>(MAX_READS);
        }

        if self.hold.q.val() != 0 {
            self.hold.d.next = self.hold.q.val() - 1;
        }
        self.held.d.next = self.hold.q.val() > 1;
        if self.take_cfg.val() | self.take_rewind.val() {
            self.hold.d.next = HOLD_CYCLES.into();
            self.held.d.next = true;
            self.held_qp.d.next = self.rewind.data.val().qp;
            if self.cfg_pending.q.val() {
                self.held_qp.d.next = self.cfg_item.q.val().qp;
            }
        }
    }
}

ferroce_emit::register_leaf!("send_front", TxSendFront::default);

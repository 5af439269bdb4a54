//! Judges what a command is about to write.

use ferroce_abi::cfg::{
    field_offset, AhCfg, AsyncCfg, BitField, CompleterCfg, CqCfg, EqCfg, MrCfg, ResponderCfg,
    RingCfg, SenderCfg, SrqLimitCfg, IPV4_GID,
};
use ferroce_abi::limits::SRQ_BITS;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::table;

/// Cycles from an entry to its judgement.
pub const CHECK_LATENCY: usize = 2;

const BASE: usize = field_offset(RingCfg::FIELDS, "base");
const LOG_SIZE: usize = field_offset(RingCfg::FIELDS, "log_size");
const HAS_EQ: usize = field_offset(CqCfg::FIELDS, "has_eq");
const EQ: usize = field_offset(CqCfg::FIELDS, "eq");
const VECTOR: usize = field_offset(EqCfg::FIELDS, "vector");
const ASYNC_EQ: usize = field_offset(AsyncCfg::FIELDS, "eq");
const SENDER_PMTU: usize = field_offset(SenderCfg::FIELDS, "pmtu");
const COMPLETER_PMTU: usize = field_offset(CompleterCfg::FIELDS, "pmtu");
const COMPLETER_CQ: usize = field_offset(CompleterCfg::FIELDS, "cq");
const FLUSH: usize = field_offset(CompleterCfg::FIELDS, "flush");
const RESPONDER_PMTU: usize = field_offset(ResponderCfg::FIELDS, "pmtu");
const RESPONDER_CQ: usize = field_offset(ResponderCfg::FIELDS, "cq");
const DGID_HIGH: usize = field_offset(AhCfg::FIELDS, "dgid_high");
const DGID_LOW: usize = field_offset(AhCfg::FIELDS, "dgid_low");
const SGID_INDEX: usize = field_offset(AhCfg::FIELDS, "sgid_index");
const GID_HIGH: u64 = IPV4_GID.0;
const GID_MIDDLE: u64 = IPV4_GID.1;
const SHARED: usize = field_offset(ResponderCfg::FIELDS, "shared");
const SRQ: usize = field_offset(ResponderCfg::FIELDS, "srq");
const LIMIT: usize = field_offset(SrqLimitCfg::FIELDS, "limit");
const LIMIT_EQ: usize = field_offset(SrqLimitCfg::FIELDS, "eq");

/// Every entry that has one begins with the bit that says whether its object works.
const fn begins_with_its_switch(fields: &[BitField]) -> bool {
    fields[0].offset == 0 && fields[0].width == 1
}
const _: () = assert!(begins_with_its_switch(RingCfg::FIELDS));
const _: () = assert!(begins_with_its_switch(CqCfg::FIELDS));
const _: () = assert!(begins_with_its_switch(EqCfg::FIELDS));
const _: () = assert!(begins_with_its_switch(AsyncCfg::FIELDS));
const _: () = assert!(begins_with_its_switch(MrCfg::FIELDS));
const _: () = assert!(begins_with_its_switch(AhCfg::FIELDS));
const _: () = assert!(begins_with_its_switch(SenderCfg::FIELDS));
const _: () = assert!(begins_with_its_switch(CompleterCfg::FIELDS));
const _: () = assert!(begins_with_its_switch(ResponderCfg::FIELDS));

/// Ranges of an entry's fields, and the queues that it names. What goes in stands still; the answers come [`CHECK_LATENCY`] cycles later.
#[derive(LogicBlock, Module)]
pub struct EntryCheck {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The entry.
    pub entry: Signal<In, Bits<256>>,
    /// Its table.
    pub table: Signal<In, Bits<4>>,
    /// The object exists after the command.
    pub creates: Signal<In, Bit>,
    /// The command leaves its QP in RESET.
    pub resets: Signal<In, Bit>,
    /// A field is out of range, or the object is switched on by a command that takes it away, or the reverse.
    pub bad: Signal<Out, Bit>,
    /// The entry uses a CQ.
    pub uses_cq: Signal<Out, Bit>,
    /// That CQ.
    pub cq: Signal<Out, Bits<14>>,
    /// The entry uses an EQ.
    pub uses_eq: Signal<Out, Bit>,
    /// That EQ.
    pub eq: Signal<Out, Bits<7>>,
    /// The entry uses an SRQ.
    pub uses_srq: Signal<Out, Bit>,
    /// That SRQ.
    pub srq: Signal<Out, Bits<SRQ_BITS>>,
    /// Vector bits beyond the card's.
    no_vector: Constant<Bits<7>>,
    on: DFF<Bit>,
    unaligned: DFF<Bit>,
    empty: DFF<Bit>,
    vector_bad: DFF<Bit>,
    pmtu_bad: DFF<Bit>,
    gid_bad: DFF<Bit>,
    sgid_bad: DFF<Bit>,
    named_cq: DFF<Bits<14>>,
    named_eq: DFF<Bits<7>>,
    named_srq: DFF<Bits<SRQ_BITS>>,
    has_eq: DFF<Bit>,
    shared: DFF<Bit>,
    limited: DFF<Bit>,
    flush: DFF<Bit>,
    is_ring: DFF<Bit>,
    is_object: DFF<Bit>,
    is_half: DFF<Bit>,
    is_eq: DFF<Bit>,
    is_cq: DFF<Bit>,
    is_async: DFF<Bit>,
    is_ah: DFF<Bit>,
    is_limit: DFF<Bit>,
    is_completer: DFF<Bit>,
    is_responder: DFF<Bit>,
    bad_out: DFF<Bit>,
    uses_cq_out: DFF<Bit>,
    uses_eq_out: DFF<Bit>,
    uses_srq_out: DFF<Bit>,
    pmtu: Signal<Local, Bits<4>>,
}

impl EntryCheck {
    /// For `2^eqs_log2` EQs and as many vectors.
    #[must_use]
    pub fn new(eqs_log2: usize) -> Self {
        Self {
            clock: Signal::default(),
            entry: Signal::default(),
            table: Signal::default(),
            creates: Signal::default(),
            resets: Signal::default(),
            bad: Signal::default(),
            uses_cq: Signal::default(),
            cq: Signal::default(),
            uses_eq: Signal::default(),
            eq: Signal::default(),
            uses_srq: Signal::default(),
            srq: Signal::default(),
            no_vector: Constant::new((0x7F & !((1u64 << eqs_log2) - 1)).into()),
            on: DFF::default(),
            unaligned: DFF::default(),
            empty: DFF::default(),
            vector_bad: DFF::default(),
            pmtu_bad: DFF::default(),
            gid_bad: DFF::default(),
            sgid_bad: DFF::default(),
            named_cq: DFF::default(),
            named_eq: DFF::default(),
            named_srq: DFF::default(),
            has_eq: DFF::default(),
            shared: DFF::default(),
            limited: DFF::default(),
            flush: DFF::default(),
            is_ring: DFF::default(),
            is_object: DFF::default(),
            is_half: DFF::default(),
            is_eq: DFF::default(),
            is_cq: DFF::default(),
            is_async: DFF::default(),
            is_ah: DFF::default(),
            is_limit: DFF::default(),
            is_completer: DFF::default(),
            is_responder: DFF::default(),
            bad_out: DFF::default(),
            uses_cq_out: DFF::default(),
            uses_eq_out: DFF::default(),
            uses_srq_out: DFF::default(),
            pmtu: Signal::default(),
        }
    }
}

impl Logic for EntryCheck {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, on, unaligned, empty, vector_bad, pmtu_bad, gid_bad, sgid_bad, named_cq,
            named_eq, has_eq, flush
        );
        dff_setup!(
            self,
            clock,
            is_ring,
            is_object,
            is_half,
            is_eq,
            is_cq,
            is_async,
            is_ah,
            is_completer,
            is_responder,
            bad_out,
            uses_cq_out,
            uses_eq_out
        );
        dff_setup!(
            self,
            clock,
            named_srq,
            shared,
            limited,
            is_limit,
            uses_srq_out
        );

        // Which table it is.
        self.is_cq.d.next = self.table.val() == table::CQ;
        self.is_async.d.next = self.table.val() == table::ASYNC;
        self.is_ah.d.next = self.table.val() == table::AH;
        self.is_limit.d.next = self.table.val() == table::SRQ_LIMIT;
        self.is_eq.d.next = self.table.val() == table::EQ;
        self.is_completer.d.next = self.table.val() == table::COMPLETER;
        self.is_responder.d.next = self.table.val() == table::RESPONDER;
        self.is_ring.d.next = (self.table.val() == table::SQ)
            | (self.table.val() == table::RQ)
            | (self.table.val() == table::CQ)
            | (self.table.val() == table::SRQ)
            | (self.table.val() == table::EQ);
        self.is_object.d.next = (self.table.val() == table::MR)
            | (self.table.val() == table::CQ)
            | (self.table.val() == table::SRQ)
            | (self.table.val() == table::AH)
            | (self.table.val() == table::EQ);
        self.is_half.d.next = (self.table.val() == table::SENDER)
            | (self.table.val() == table::COMPLETER)
            | (self.table.val() == table::RESPONDER);

        // Its fields.
        self.on.d.next = self.entry.val().get_bit(0);
        self.unaligned.d.next = self.entry.val().get_bits::<12>(BASE).any();
        self.empty.d.next = !self.entry.val().get_bits::<4>(LOG_SIZE).any();
        self.vector_bad.d.next =
            (self.entry.val().get_bits::<7>(VECTOR) & self.no_vector.val()).any();
        self.named_eq.d.next = self.entry.val().get_bits::<7>(EQ);
        if self.table.val() == table::ASYNC {
            self.named_eq.d.next = self.entry.val().get_bits::<7>(ASYNC_EQ);
        } else if self.table.val() == table::SRQ_LIMIT {
            self.named_eq.d.next = self.entry.val().get_bits::<7>(LIMIT_EQ);
        }
        self.named_srq.d.next = self.entry.val().get_bits::<SRQ_BITS>(SRQ);
        self.shared.d.next = self.entry.val().get_bit(SHARED);
        self.limited.d.next = self.entry.val().get_bits::<16>(LIMIT).any();
        self.has_eq.d.next = self.entry.val().get_bit(HAS_EQ);
        self.flush.d.next = self.entry.val().get_bit(FLUSH);
        self.pmtu.next = self.entry.val().get_bits::<4>(SENDER_PMTU);
        self.named_cq.d.next = self.entry.val().get_bits::<14>(RESPONDER_CQ);
        if self.table.val() == table::COMPLETER {
            self.pmtu.next = self.entry.val().get_bits::<4>(COMPLETER_PMTU);
            self.named_cq.d.next = self.entry.val().get_bits::<14>(COMPLETER_CQ);
        } else if self.table.val() == table::RESPONDER {
            self.pmtu.next = self.entry.val().get_bits::<4>(RESPONDER_PMTU);
        }
        // 256 to 4096 bytes: 8 to 12.
        self.pmtu_bad.d.next = (self.pmtu.val() < 8) | (self.pmtu.val() > 12);

        self.gid_bad.d.next = (self.entry.val().get_bits::<64>(DGID_HIGH) != GID_HIGH)
            | (self.entry.val().get_bits::<32>(DGID_LOW + 32) != GID_MIDDLE);
        self.sgid_bad.d.next = self.entry.val().get_bits::<8>(SGID_INDEX).any();

        self.bad_out.d.next = (self.is_object.q.val() & (self.on.q.val() != self.creates.val()))
            | (self.is_ring.q.val()
                & self.on.q.val()
                & (self.unaligned.q.val() | self.empty.q.val()))
            | (self.is_ah.q.val()
                & self.on.q.val()
                & (self.gid_bad.q.val() | self.sgid_bad.q.val()))
            | (self.is_eq.q.val() & self.on.q.val() & self.vector_bad.q.val())
            | (self.is_half.q.val() & self.on.q.val() & self.pmtu_bad.q.val());
        self.uses_cq_out.d.next = !self.resets.val()
            & (self.is_responder.q.val()
                | (self.is_completer.q.val() & (self.on.q.val() | self.flush.q.val())));
        self.uses_eq_out.d.next = (self.on.q.val()
            & (self.is_async.q.val() | (self.is_cq.q.val() & self.has_eq.q.val())))
            | (self.is_limit.q.val() & self.limited.q.val());
        self.uses_srq_out.d.next =
            !self.resets.val() & self.is_responder.q.val() & self.shared.q.val();
        self.bad.next = self.bad_out.q.val();
        self.uses_cq.next = self.uses_cq_out.q.val();
        self.uses_eq.next = self.uses_eq_out.q.val();
        self.cq.next = self.named_cq.q.val();
        self.eq.next = self.named_eq.q.val();
        self.uses_srq.next = self.uses_srq_out.q.val();
        self.srq.next = self.named_srq.q.val();
    }
}

/// 4 EQs.
impl Default for EntryCheck {
    fn default() -> Self {
        Self::new(2)
    }
}

ferroce_emit::register_leaf!("entry_check", EntryCheck::default);

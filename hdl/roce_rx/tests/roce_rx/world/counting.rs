//! Events of the receive side, as the counters that they become.

use super::World;
use ferroce_abi::regs::Counter;
use ferroce_roce_rx::events::RxEvents;

/// Frames that the parser's events of a cycle say are through.
pub(super) fn judged(events: &RxEvents) -> u64 {
    let p = &events.parse;
    [
        p.packets,
        p.drop_fcs,
        p.drop_runt,
        p.drop_oversize,
        p.drop_not_roce,
        p.drop_ip_checksum,
        p.drop_length,
        p.drop_icrc,
        p.drop_tver,
        p.drop_overflow,
        p.drop_address,
        p.drop_opcode,
    ]
    .map(u64::from)
    .iter()
    .sum()
}

pub(super) fn counts(events: &RxEvents) -> Vec<(Counter, u64)> {
    let (p, c, r) = (&events.parse, &events.control, &events.completer);
    let bit = u64::from;
    vec![
        (Counter::RxFrames, bit(p.frames)),
        (Counter::RxBytes, p.bytes.to_u64()),
        (Counter::RxPackets, bit(p.packets)),
        (Counter::RxDropFcs, bit(p.drop_fcs)),
        (Counter::RxDropRunt, bit(p.drop_runt)),
        (Counter::RxDropOversize, bit(p.drop_oversize)),
        (Counter::RxDropNotRoce, bit(p.drop_not_roce)),
        (Counter::RxDropIpChecksum, bit(p.drop_ip_checksum)),
        (Counter::RxDropLength, bit(p.drop_length)),
        (Counter::RxDropIcrc, bit(p.drop_icrc)),
        (Counter::RxDropTver, bit(p.drop_tver)),
        (Counter::RxDropOverflow, bit(p.drop_overflow)),
        (Counter::RxDropAddress, bit(p.drop_address)),
        (
            Counter::RxDropOpcode,
            bit(p.drop_opcode) + bit(c.drop_opcode),
        ),
        (Counter::RxDropQpn, bit(c.drop_qpn)),
        (Counter::RxDropQpState, bit(c.drop_qp_state)),
        (Counter::RxDropPkey, bit(c.drop_pkey)),
        (Counter::RxDropPeer, bit(c.drop_peer)),
        (Counter::RxDuplicate, bit(c.duplicate)),
        (Counter::RxOutOfSequence, bit(c.out_of_sequence)),
        (Counter::RxNoReceiveWqe, bit(c.no_receive_wqe)),
        (Counter::RxRequests, bit(c.requests)),
        (Counter::RxMessages, bit(c.messages)),
        (Counter::RxReads, bit(c.reads)),
        (Counter::RxAtomics, bit(c.atomics)),
        (Counter::RxReplays, bit(c.replays)),
        (Counter::RxData, bit(c.landings)),
        (Counter::ResponderErrors, bit(c.responder_errors)),
        (Counter::RxPayloadBytes, events.payload_bytes.to_u64()),
        (Counter::RxAcks, bit(r.acks)),
        (Counter::RxIgnoredAcks, bit(r.ignored_acks)),
        (Counter::Retransmits, bit(r.retransmits)),
        (Counter::Timeouts, bit(r.timeouts)),
        (Counter::RnrWaits, bit(r.rnr_waits)),
        (Counter::SequenceNaks, bit(r.sequence_naks)),
        (Counter::RequesterErrors, bit(r.requester_errors)),
    ]
}

/// Counters that tests do not name when they compare: volume, not judgement.
const VOLUME: [Counter; 5] = [
    Counter::RxFrames,
    Counter::RxBytes,
    Counter::RxPackets,
    Counter::RxPayloadBytes,
    Counter::RxMessages,
];

impl World {
    /// Counters other than those of volume, since the last call, in order.
    pub fn take_counters(&mut self) -> Vec<(Counter, u64)> {
        let mut counted: Vec<_> = std::mem::take(&mut self.counters)
            .into_iter()
            .filter(|(counter, count)| *count > 0 && !VOLUME.contains(counter))
            .collect();
        counted.sort_unstable();
        counted
    }
}

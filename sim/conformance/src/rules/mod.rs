//! The rules, in groups.

mod atomics;
mod connection;
mod frames;
mod headers;
mod reads;
mod receiver;
mod requester;
mod requests;
mod retries;

use anyhow::Result;
use ferroce_driver::Pmtu;

use crate::bench::Bench;
use crate::peer::PeerConfig;
use crate::stage::{Rule, Run};
use crate::{failure, reads as reading, requester as requesting};

/// Rules that belong together.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// Its name.
    pub name: &'static str,
    /// Its rules.
    pub rules: &'static [Rule],
}

/// All rules.
pub fn groups() -> &'static [Group] {
    const GROUPS: &[Group] = &[
        Group {
            name: "frames",
            rules: FRAMES,
        },
        Group {
            name: "headers",
            rules: HEADERS,
        },
        Group {
            name: "requests",
            rules: REQUESTS,
        },
        Group {
            name: "reads",
            rules: READS,
        },
        Group {
            name: "receiver",
            rules: RECEIVER,
        },
        Group {
            name: "requester",
            rules: REQUESTER,
        },
        Group {
            name: "retries",
            rules: RETRIES,
        },
    ];
    GROUPS
}

/// A rule for the card as a responder.
const fn responder(
    name: &'static str,
    clause: &'static str,
    check: fn(&mut Bench) -> Result<()>,
) -> Rule {
    on_bench(name, clause, failure::configs, check)
}

/// A rule for READs and atomics of the peer.
const fn reading(
    name: &'static str,
    clause: &'static str,
    check: fn(&mut Bench) -> Result<()>,
) -> Rule {
    on_bench(name, clause, || reading::configs(Pmtu::B256), check)
}

/// A rule for the card as a requester.
const fn requester(
    name: &'static str,
    clause: &'static str,
    check: fn(&mut Bench) -> Result<()>,
) -> Rule {
    on_bench(name, clause, requesting::configs, check)
}

const fn on_bench(
    name: &'static str,
    clause: &'static str,
    configs: fn() -> [PeerConfig; 2],
    check: fn(&mut Bench) -> Result<()>,
) -> Rule {
    Rule {
        name,
        clause,
        run: Run::Bench(configs, check),
    }
}

const FRAMES: &[Rule] = &[
    responder("wrong ICRC is dropped", "7.8.1, A17", frames::icrc),
    responder("wrong FCS is dropped", "IEEE 802.3, 3.2.9", frames::fcs),
    responder(
        "wrong IP header checksum is dropped",
        "RFC 791, 3.1",
        frames::ip_checksum,
    ),
    responder("runt is dropped", "IEEE 802.3, 4.2.3.3", frames::runts),
    responder("oversize frame is dropped", "9.6.1", frames::oversize),
    responder("frame shorter than its headers say", "9.6.1", frames::cut),
    responder(
        "UDP length that disagrees is dropped",
        "RFC 768, A17",
        frames::udp_length,
    ),
    responder(
        "IP length that disagrees is dropped",
        "RFC 791, 3.1",
        frames::ip_length,
    ),
    responder(
        "both lengths disagree with the frame",
        "RFC 791, RFC 768",
        frames::both_lengths,
    ),
    responder("pad count larger than the payload", "9.2", frames::pad),
];

const HEADERS: &[Rule] = &[
    responder(
        "other protocols are not taken",
        "A17",
        headers::other_protocols,
    ),
    responder("IP options are not taken", "A17", headers::ip_options),
    responder("IP fragments are not taken", "A17", headers::ip_fragments),
    responder("frame for another address", "A17", headers::addresses),
    responder("TVer other than 0 is dropped", "9.6.1", headers::tver),
    responder(
        "opcode of another service is dropped",
        "9.6.1",
        headers::other_services,
    ),
    responder("QPN beyond the table", "9.6.1", headers::qpn_beyond_table),
    responder("QP that is not ready", "9.6.1", headers::qp_state),
    responder("QP in the error state", "10.3.1", connection::error_state),
    responder("wrong P_Key is dropped", "9.6.1", headers::pkey),
    responder(
        "source other than the peer",
        "9.6.1",
        headers::source_address,
    ),
    responder(
        "fields that no receiver looks at",
        "9.2, A17",
        headers::odd_and_good,
    ),
    responder(
        "3 pad bytes are not delivered",
        "9.2",
        headers::three_pad_bytes,
    ),
];

const REQUESTS: &[Rule] = &[
    responder(
        "unknown, reserved or disabled opcode",
        "9.7.4.1",
        requests::opcodes,
    ),
    responder(
        "MIDDLE or LAST without FIRST",
        "9.7.4.1",
        requests::middle_without_first,
    ),
    responder(
        "FIRST, ONLY or SEND inside a message",
        "9.7.4.1",
        requests::first_inside_message,
    ),
    responder("payload against the path MTU", "9.7.4.1", requests::pmtu),
    responder("payload against the RETH", "9.7.4.1", requests::reth_length),
    responder("LAST without payload", "9.7.4.1", requests::empty_last),
    responder(
        "key, PD, rights and bounds of a WRITE",
        "9.7.4.1, 10.6",
        requests::memory_access,
    ),
    responder("QP without remote write", "9.7.4.1", requests::qp_access),
    responder(
        "address range that wraps 2^64",
        "9.7.4.1",
        requests::address_wrap,
    ),
    responder(
        "WRITE of nothing ignores its key",
        "9.4.3, C9-88",
        connection::zero_length_write,
    ),
];

const READS: &[Rule] = &[
    reading(
        "READ of nothing ignores its key",
        "9.4.4, C9-88",
        reads::a_read_of_nothing_needs_no_key,
    ),
    reading(
        "key, rights, length and place of a READ",
        "9.7.4.1",
        reads::wrong_reads_are_refused,
    ),
    reading(
        "duplicate READ is executed again",
        "9.7.5.1.2",
        reads::duplicates_are_read_again,
    ),
    on_bench(
        "READ with no resource left",
        "9.7.4.1",
        || reading::configs(Pmtu::B4096),
        reads::the_seventeenth_is_refused,
    ),
    reading(
        "key, rights and alignment of an atomic",
        "9.4.5, 9.7.4.1",
        atomics::wrong_atomics_are_refused,
    ),
    reading(
        "duplicate atomic gets the stored result",
        "9.4.5, 9.7.5.1.2",
        atomics::duplicates_get_the_stored_result_and_are_not_executed,
    ),
];

const RECEIVER: &[Rule] = &[
    responder(
        "receive buffer too small or not allowed",
        "9.7.4.1, 9.9.3",
        receiver::buffers,
    ),
    responder(
        "duplicate acknowledged, gap refused once",
        "9.7.4.1, 9.7.5.1.2",
        receiver::sequence_numbers,
    ),
    responder(
        "RNR NAK without a receive WQE",
        "9.7.5.2",
        receiver::requests_without_a_receive_request,
    ),
    responder(
        "RNR timer code on the wire",
        "9.7.5.2",
        connection::rnr_timer_codes,
    ),
    responder("PSN goes on behind 0xFFFFFF", "9.7.1", connection::psn_wrap),
    responder(
        "PSN of an older connection",
        "9.7.1, 9.7.4.1",
        connection::stale_psn,
    ),
    responder(
        "receive ring wraps",
        "10.8.3",
        connection::receive_ring_wrap,
    ),
    responder("full CQ", "11.6.3", connection::full_cq),
];

const REQUESTER: &[Rule] = &[
    requester(
        "requests on the wire",
        "9.2, 9.4, 9.7.3",
        requester::requests_are_built_right,
    ),
    requester(
        "ACK for what was not sent",
        "9.7.5.1.2, 9.9.2",
        requester::responses_that_mean_nothing,
    ),
    requester(
        "NAK 0x60 repeats from its PSN",
        "9.9.2",
        requester::sequence_naks_repeat_the_rest,
    ),
    requester(
        "NAK 0x61 to 0x64 end the work request",
        "9.9.2",
        requester::fatal_naks_fail_the_work_request,
    ),
    requester(
        "RNR wait is kept",
        "9.7.5.2",
        requester::rnr_naks_are_obeyed,
    ),
    requester(
        "local errors send nothing",
        "9.9.2",
        requester::local_errors_send_nothing,
    ),
];

/// A rule with cards of its own.
const fn cards(
    name: &'static str,
    clause: &'static str,
    check: fn(&std::sync::Arc<ferroce_bridge::Library>, u64) -> Result<()>,
) -> Rule {
    Rule {
        name,
        clause,
        run: Run::Cards(check),
    }
}

const RETRIES: &[Rule] = &[
    cards(
        "retry_cnt retries, then the end",
        "9.7.6, 9.9.2",
        retries::a_silent_peer_ends_in_retry_exceeded,
    ),
    cards(
        "rnr_retry retries, then the end",
        "9.7.5.2, 9.9.2",
        retries::rnr_retries_run_out,
    ),
    cards(
        "rnr_retry 7 never ends",
        "9.7.5.2",
        retries::a_late_receive_request_is_waited_for,
    ),
    cards(
        "failed QP is reset and connected anew",
        "10.3.1",
        retries::a_failed_connection_can_be_made_anew,
    ),
];

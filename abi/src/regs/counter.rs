//! The card's counters: 64 bits each, they count from power-up and never stick.

use super::COUNTERS;
use serde::Serialize;

macro_rules! counters {
    ($($name:ident = $index:literal, $text:literal, $doc:literal;)*) => {
        /// A counter; the number is its index in the counter window.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[repr(u8)]
        pub enum Counter {
            $(#[doc = $doc] $name = $index,)*
        }

        impl Counter {
            /// All counters, ascending.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Name in reports and documents.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// What is counted.
            pub const fn doc(self) -> &'static str {
                match self {
                    $(Self::$name => $doc,)*
                }
            }
        }
    };
}

counters! {
    RxFrames = 0, "rx_frames", "Frames from the MAC, good or bad.";
    RxBytes = 1, "rx_bytes", "Bytes of these frames, FCS not counted.";
    RxPackets = 2, "rx_packets", "RoCE packets that passed the parser.";
    RxDropFcs = 3, "rx_drop_fcs", "Frames that the MAC marked as damaged.";
    RxDropRunt = 4, "rx_drop_runt", "Frames that end before their headers do.";
    RxDropOversize = 5, "rx_drop_oversize", "Frames longer than the largest RoCE frame.";
    RxDropNotRoce = 6, "rx_drop_not_roce", "Frames that are not IPv4, UDP, port 4791.";
    RxDropIpChecksum = 7, "rx_drop_ip_checksum", "Packets with a wrong IPv4 header checksum.";
    RxDropLength = 8, "rx_drop_length", "Packets whose IP, UDP, header and pad lengths contradict each other.";
    RxDropIcrc = 9, "rx_drop_icrc", "Packets with a wrong ICRC.";
    RxDropTver = 10, "rx_drop_tver", "Packets of another transport version.";
    RxDropOverflow = 11, "rx_drop_overflow", "Frames that found no room in the packet buffer.";
    RxDropAddress = 12, "rx_drop_address", "Frames to another MAC or IP address.";
    RxDropQpn = 16, "rx_drop_qpn", "Packets to a QPN that does not exist.";
    RxDropQpState = 17, "rx_drop_qp_state", "Packets to a QP that does not take them in its state.";
    RxDropPkey = 18, "rx_drop_pkey", "Packets with another P_Key than the QP's.";
    RxDropPeer = 19, "rx_drop_peer", "Packets from another IP address than the QP's peer.";
    RxDropOpcode = 20, "rx_drop_opcode", "Packets with an opcode of another service, and CNPs.";
    RxDuplicate = 21, "rx_duplicate", "Duplicate requests.";
    RxOutOfSequence = 22, "rx_out_of_sequence", "Requests ahead of the expected PSN.";
    RxNoReceiveWqe = 23, "rx_no_receive_wqe", "Requests that needed a receive WQE and found none.";
    RxRequests = 24, "rx_requests", "Requests executed, in packets.";
    RxMessages = 25, "rx_messages", "Requests completed, in messages.";
    RxPayloadBytes = 26, "rx_payload_bytes", "Payload bytes written to host memory.";
    RxAcks = 27, "rx_acks", "ACKs and NAKs taken by the completer.";
    RxIgnoredAcks = 28, "rx_ignored_acks", "Responses to PSNs already acknowledged or never sent, or with a reserved syndrome.";
    RxReads = 29, "rx_reads", "READ requests executed, in messages.";
    RxAtomics = 30, "rx_atomics", "Atomics executed.";
    RxReplays = 31, "rx_replays", "Duplicate READs and atomics that are answered again; of the atomics only those whose result is still there.";
    TxFrames = 32, "tx_frames", "Frames to the MAC.";
    TxBytes = 33, "tx_bytes", "Bytes of these frames, FCS not counted.";
    TxRequests = 34, "tx_requests", "Request packets, retransmitted ones too.";
    TxAcks = 35, "tx_acks", "ACKs.";
    TxRnrNaks = 36, "tx_rnr_naks", "RNR NAKs.";
    TxNakSequence = 37, "tx_nak_sequence", "NAKs 0x60, PSN sequence error.";
    TxNakInvalidRequest = 38, "tx_nak_invalid_request", "NAKs 0x61, invalid request.";
    TxNakRemoteAccess = 39, "tx_nak_remote_access", "NAKs 0x62, remote access error.";
    TxNakRemoteOperational = 40, "tx_nak_remote_operational", "NAKs 0x63, remote operational error.";
    TxDmaDropped = 41, "tx_dma_dropped", "Packets not sent because their payload could not be read.";
    TxReadResponses = 42, "tx_read_responses", "READ response packets.";
    TxAtomicAcks = 43, "tx_atomic_acks", "ATOMIC ACKNOWLEDGE packets.";
    RxData = 44, "rx_data", "Packets with data of own READs and atomics, in order and placed.";
    Retransmits = 48, "retransmits", "Go-backs of the requester, whatever the cause.";
    Timeouts = 49, "timeouts", "Go-backs caused by the ACK timer.";
    RnrWaits = 50, "rnr_waits", "RNR NAKs that stopped the requester.";
    SequenceNaks = 51, "sequence_naks", "NAKs 0x60 that made the requester go back.";
    RequesterErrors = 52, "requester_errors", "WQEs that failed and moved their QP to ERR.";
    ResponderErrors = 53, "responder_errors", "Requests that failed and moved their QP to ERR.";
    CqeWritten = 64, "cqe_written", "CQEs written.";
    CqeDropped = 65, "cqe_dropped", "CQEs lost because their CQ was full or does not exist.";
    DmaReads = 66, "dma_reads", "Read requests to host memory.";
    DmaWrites = 67, "dma_writes", "Writes to host memory.";
    DmaErrors = 68, "dma_errors", "Reads of host memory that failed.";
    WqeFetches = 69, "wqe_fetches", "WQE bursts read.";
    MrDenied = 70, "mr_denied", "Accesses that no memory region allowed.";
    Doorbells = 71, "doorbells", "Doorbells rung.";
    DoorbellsBad = 72, "doorbells_bad", "Doorbells for a queue that does not exist.";
    DoorbellsForeign = 73, "doorbells_foreign", "Doorbells in another page than their queue's.";
    EqeWritten = 74, "eqe_written", "EQEs written.";
    EqeDropped = 75, "eqe_dropped", "EQEs lost because their EQ was full or does not exist.";
    Interrupts = 76, "interrupts", "MSI-X messages sent.";
    Translations = 77, "translations", "Payload accesses whose page was looked up.";
    TranslationMisses = 78, "translation_misses", "Of these, those that had to read a page table.";
    TranslationFaults = 79, "translation_faults", "Of these, those that failed: no page there, or its table can't be read.";
    PcieReadsFailed = 80, "pcie_reads_failed", "Read TLPs of the card that were answered with an error.";
    PcieReadTimeouts = 81, "pcie_read_timeouts", "Read TLPs of the card that were not answered in time.";
    PcieUnexpected = 82, "pcie_unexpected", "Completions that answer no request of the card.";
    PcieUnsupported = 83, "pcie_unsupported", "Requests of the host that were completed with an error.";
    PcieDropped = 84, "pcie_dropped", "Posted requests of the host that were dropped.";
    PcieDamaged = 85, "pcie_damaged", "Damaged requests of the host.";
}

impl Counter {
    /// Counters that the window has room for; those without a name read 0.
    pub const WINDOW: usize = 128;

    /// Byte offset in BAR 0.
    pub const fn offset(self) -> u64 {
        COUNTERS + 8 * self as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_ascend_inside_the_window() {
        assert!(Counter::ALL.windows(2).all(|w| w[0] < w[1]));
        assert!(Counter::ALL
            .iter()
            .all(|&c| usize::from(c as u8) < Counter::WINDOW));
        assert_eq!(Counter::RxDropQpn.offset(), 0x480);
    }
}

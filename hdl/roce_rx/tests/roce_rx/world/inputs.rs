//! What tests put in: configuration, receive buffers, frames.

use super::{Buffer, World};
use crate::packet::PEER_IP;
use ferroce_abi::cfg::{CompleterCfg, ResponderCfg, RingCfg};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::rx::RqPub;
use ferroce_rtl::stream::Beat;

/// A right configuration of a responder, path MTU 1024, everything allowed.
pub fn responder(qp: usize, psn: u32) -> ResponderCfg {
    ResponderCfg {
        enabled: true,
        restart: true,
        restart_rq: true,
        pmtu: 10,
        pd: 7,
        access: 0b0111,
        cq: qp as u16 + 1,
        psn,
        min_rnr: 12,
        pkey: 0xFFFF,
        peer_ip: u32::from_be_bytes(PEER_IP),
        shared: false,
        srq: 0,
        max_reads: 16,
    }
}

/// A right configuration of a completer.
pub fn completer(qp: usize, psn: u32) -> CompleterCfg {
    CompleterCfg {
        enabled: true,
        cq: qp as u16 + 0x100,
        psn,
        timeout: 0,
        retry_cnt: 7,
        rnr_retry: 7,
        pmtu: 10,
        flush: false,
    }
}

impl World {
    pub fn configure(&mut self, table: u64, index: usize, words: [u64; 4]) {
        self.cfg.push_back(CfgWrite::of_entry(table, index, words));
    }

    pub fn configure_responder(&mut self, qp: usize, cfg: &ResponderCfg) {
        self.configure(table::RESPONDER, qp, cfg.to_bits().expect("fits"));
    }

    pub fn configure_completer(&mut self, qp: usize, cfg: &CompleterCfg) {
        self.configure(table::COMPLETER, qp, cfg.to_bits().expect("fits"));
    }

    pub fn configure_sq(&mut self, qp: usize) {
        let ring = RingCfg {
            enabled: true,
            base: 0x1000,
            log_size: 6,
            page: 0,
        };
        self.configure(table::SQ, qp, ring.to_bits().expect("fits"));
    }

    /// Posts a receive buffer, in the cache at once.
    pub fn post_receive(&mut self, qp: usize, buffer: Buffer) {
        self.buffers[qp].push(buffer);
        self.fetch(qp, self.buffers[qp].len());
    }

    /// Posts a receive buffer that is not in the cache yet.
    pub fn post_unfetched(&mut self, qp: usize, buffer: Buffer) {
        self.buffers[qp].push(buffer);
        self.fetch(qp, self.fetched[qp]);
    }

    /// The cache now has so many of the buffers posted.
    pub fn fetch(&mut self, qp: usize, count: usize) {
        self.fetched[qp] = count;
        self.rq_pubs.push_back(RqPub {
            valid: true,
            queue: (qp as u64).into(),
            fetched: (count as u64 & 0xFFFF).into(),
            posted: (self.buffers[qp].len() as u64 & 0xFFFF).into(),
        });
    }

    /// Empties an RQ and its cache, as its configuration does.
    pub fn clear_receives(&mut self, qp: usize) {
        self.buffers[qp].clear();
        self.fetch(qp, 0);
    }

    /// Sends a frame; `damaged` as the MAC marks one with a bad FCS.
    pub fn send_frame(&mut self, frame: &[u8], damaged: bool) {
        let beats = frame.len().div_ceil(64);
        for (index, chunk) in frame.chunks(64).enumerate() {
            let words: Vec<u32> = chunk
                .chunks(4)
                .map(|bytes| {
                    bytes
                        .iter()
                        .enumerate()
                        .fold(0, |word, (k, &byte)| word | u32::from(byte) << (8 * k))
                })
                .collect();
            let last = index + 1 == beats;
            self.beats.push_back(Beat {
                data: unpack(&words),
                len: (chunk.len() as u64).into(),
                last,
                err: last && damaged,
            });
        }
    }
}

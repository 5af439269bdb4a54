//! One cycle of every port.

use super::counting::{counts, judged};
use super::World;
use ferroce_roce_rx::events::RxEvents;
use ferroce_rtl::desc::cfg::CFG_SPACING;
use ferroce_rtl::desc::lookup::{MrCheck, WqeRead};
use ferroce_rtl::desc::rx::{Answer, CqeJob};
use ferroce_rtl::desc::tx::{CompleterPub, Consumed, Kick, Rewind};
use ferroce_rtl::stream::Beat;

impl World {
    /// Sets the inputs of a cycle; whether configuration is under way.
    pub(super) fn drive(&mut self) -> bool {
        let cfg = if self.cfg_wait == 0 {
            self.cfg.pop_front()
        } else {
            None
        };
        self.cfg_wait = if cfg.is_some() {
            CFG_SPACING - 1
        } else {
            self.cfg_wait.saturating_sub(1)
        };
        let busy = cfg.is_some() || !self.cfg.is_empty();
        self.sim.set("cfg", &cfg.unwrap_or_default());
        let beat = if self.chance(self.knobs.wire) {
            self.beats.front().copied()
        } else {
            None
        };
        self.sim.offer("frames", beat.as_ref());
        let rq_pub = self.rq_pubs.pop_front();
        let sq_pub = self.sq_pubs.pop_front();
        let sender_pub = self.sender_pubs.pop_front();
        let sent = self.sent.pop_front();
        self.sim.set("rq_pub", &rq_pub.unwrap_or_default());
        self.sim.set("sq_pub", &sq_pub.unwrap_or_default());
        self.sim.set("sender_pub", &sender_pub.unwrap_or_default());
        self.sim.set("sent_write", &sent.unwrap_or_default());
        let local = self.local_errors.front().copied();
        self.sim.offer("local_errors", local.as_ref());
        let wqe_answer = self.wqe_answers.pop_front().expect("a pipeline");
        let mr_answer = self.mr_answers.pop_front().expect("a pipeline");
        self.sim.set("rq_data", &wqe_answer);
        self.sim.set("mr_answer", &mr_answer);
        let take_write = self.chance(self.knobs.writes);
        self.sim.set("writes_ready", &take_write);
        for sink in [
            "answers",
            "rx_cqes",
            "tx_cqes",
            "rq_consumed",
            "rewinds",
            "kicks",
        ] {
            let take = self.chance(self.knobs.others);
            self.sim.set(&format!("{sink}_ready"), &take);
        }
        busy
    }

    /// Takes the outputs of a cycle; whether anything moves.
    pub(super) fn observe(&mut self) -> bool {
        let read: WqeRead = self.sim.get("rq_read");
        let check: MrCheck = self.sim.get("mr_check");
        let answer = self.answer_wqe(&read);
        self.wqe_answers.push_back(answer);
        let answer = self.answer_mr(&check);
        self.mr_answers.push_back(answer);
        if self.sim.high("frames_valid") {
            assert!(self.sim.high("frames_ready"), "the wire can't wait");
            if let Some(Beat { last: true, .. }) = self.beats.pop_front() {
                self.frame_cycles.push(self.sim.cycle);
            }
        }
        let mut active = !self.beats.is_empty();
        if self.sim.taken("local_errors") {
            self.local_errors.pop_front();
        }
        if self.sim.taken("writes") {
            let beat = self.sim.get("writes_data");
            self.take_write(&beat);
        }
        if self.sim.taken("answers") {
            let answer: Answer = self.sim.get("answers_data");
            if answer.ack {
                self.acks.push((
                    answer.qp.to_u64() as u16,
                    answer.psn.to_u64() as u32,
                    answer.syndrome.to_u64() as u8,
                    answer.msn.to_u64() as u32,
                ));
            }
        }
        if self.sim.taken("rx_cqes") {
            let cqe: CqeJob = self.sim.get("rx_cqes_data");
            if cqe.last {
                self.last_wqes
                    .push((cqe.qp.to_u64() as u16, self.rx_cqes.len()));
            } else {
                self.take_rx_cqe(cqe.into());
            }
        }
        if self.sim.taken("tx_cqes") {
            let cqe: CqeJob = self.sim.get("tx_cqes_data");
            self.tx_cqes.push(cqe.into());
        }
        if self.sim.taken("rq_consumed") {
            let consumed: Consumed = self.sim.get("rq_consumed_data");
            self.consumed
                .push((consumed.qp.to_u64() as u16, consumed.wqe.to_u64() as u16));
        }
        if self.sim.taken("rewinds") {
            let rewind: Rewind = self.sim.get("rewinds_data");
            self.rewinds.push((
                rewind.qp.to_u64() as u16,
                rewind.wqe.to_u64() as u16,
                rewind.psn.to_u64() as u32,
                rewind.first_psn.to_u64() as u32,
                rewind.halt,
            ));
        }
        if self.sim.taken("kicks") {
            let kick: Kick = self.sim.get("kicks_data");
            self.kicks.push(kick.qp.to_u64() as u16);
        }
        let published: CompleterPub = self.sim.get("completer_pub");
        if published.valid {
            self.published.insert(
                published.qp.to_u64() as u16,
                (
                    published.una_psn.to_u64() as u32,
                    published.una_wqe.to_u64() as u16,
                ),
            );
        }
        let events: RxEvents = self.sim.get("events");
        self.judged_frames += judged(&events);
        for (counter, count) in counts(&events) {
            *self.counters.entry(counter).or_default() += count;
        }
        for stream in [
            "writes",
            "answers",
            "rx_cqes",
            "tx_cqes",
            "rq_consumed",
            "rewinds",
            "kicks",
        ] {
            active |= self.sim.high(&format!("{stream}_valid"));
        }
        active |= published.valid || !self.local_errors.is_empty();
        active
    }
}

//! Frames on the wire: put together, compared with what must come, and answered.

use super::World;
use ferroce_emit::prelude::*;
use ferroce_rtl::stream::Beat;
use rand::Rng;

impl World {
    pub(super) fn take_beat(&mut self, beat: &Beat) {
        let len = beat.len.index();
        assert!(!beat.err, "a frame is marked as damaged");
        assert!(
            (1..=64).contains(&len) && (beat.last || len == 64),
            "a beat of {len} bytes"
        );
        let bytes: Vec<u8> = pack(&beat.data)
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        self.frame.extend_from_slice(&bytes[..len]);
        if beat.last {
            let frame = std::mem::take(&mut self.frame);
            self.frames += 1;
            self.frame_cycles.push(self.sim.cycle);
            self.take_frame(&frame);
        }
    }

    fn take_frame(&mut self, frame: &[u8]) {
        assert!(frame.len() >= 58, "a frame of {} bytes", frame.len());
        if self.expected_acks.front().is_some_and(|ack| ack == frame) {
            self.expected_acks.pop_front();
            return;
        }
        let field = |at: usize| u32::from_be_bytes([0, frame[at], frame[at + 1], frame[at + 2]]);
        let (dqpn, psn) = (field(47), field(51));
        let qp = self
            .queues
            .iter()
            .position(|queue| queue.conn.dqpn == dqpn)
            .unwrap_or_else(|| panic!("no QP sends to {dqpn:#x}: {frame:02x?}"));
        let queue = &mut self.queues[qp];
        let packet = queue.arrive(psn);
        let (expected, end) = (queue.frame(packet), queue.next_frame);
        assert_eq!(
            frame,
            expected,
            "QP {qp}, packet {packet}, {:?}",
            queue.messages[queue.place(packet).0]
        );
        let wants_ack = frame[50] >> 7 == 1;
        let lost = self.knobs.ack_loss != 0 && self.rng.gen_range(0..self.knobs.ack_loss) == 0;
        if wants_ack && !lost {
            let at = self.sim.cycle + self.knobs.ack.0 + self.rng.gen_range(0..=self.knobs.ack.1);
            self.answers.push((std::cmp::Reverse(at), qp, end));
        }
    }
}

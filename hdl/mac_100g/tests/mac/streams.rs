//! Beats to AXI stream and back.

use crate::frames::{assert_frames, beats, noise, Collector};
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_mac_100g::axis_rx::AxisRx;
use ferroce_mac_100g::axis_tx::AxisTx;
use rand::Rng;
use std::collections::VecDeque;

#[test]
fn every_length_passes_the_axi_stream() {
    ferroce_emit::on_big_stack(|| {
        let mut random = random();
        let frames: Vec<_> = (1..=200).map(|len| noise(len, &mut random)).collect();
        let mut queue: VecDeque<_> = frames
            .iter()
            .flat_map(|frame| beats(frame, &mut random))
            .collect();
        let (mut tx, mut rx) = (AxisTx::default(), AxisRx::default());
        tx.connect_all();
        rx.connect_all();
        let mut found = Collector::default();
        for _ in 0..2000 {
            tx.from.valid.next = !queue.is_empty();
            tx.from.data.next = queue.front().copied().unwrap_or_default();
            tx.tready.next = random.gen_bool(0.7);
            assert!(simulate(&mut tx, 16));
            if tx.from.valid.next && tx.from.ready.val() {
                queue.pop_front();
            }
            rx.tvalid.next = tx.tvalid.val() && tx.tready.next;
            rx.tdata.next = tx.tdata.val();
            rx.tkeep.next = tx.tkeep.val();
            rx.tlast.next = tx.tlast.val();
            rx.tuser.next = tx.tuser.val();
            assert!(simulate(&mut rx, 16));
            if rx.valid.val() {
                found.take(&rx.beat.val());
            }
            for level in [true, false] {
                tx.clock.next = level.into();
                rx.clock.next = level.into();
                assert!(simulate(&mut tx, 16) && simulate(&mut rx, 16));
            }
        }
        assert_frames(&found.frames, &frames);
    });
}

//! A bad wire.

use std::collections::VecDeque;

use ferroce_abi::frame::Packet;
use rand::Rng;

/// Puts a packet onto a wire that with probability `evil` each loses it, doubles it, or swaps it with the one before.
pub fn suffer(rng: &mut impl Rng, evil: f64, wire: &mut VecDeque<Packet>, packet: Packet) {
    let fate = rng.gen::<f64>();
    if fate < evil {
        return;
    }
    if fate < 2.0 * evil {
        wire.push_back(packet.clone());
    }
    wire.push_back(packet);
    let len = wire.len();
    if fate > 1.0 - evil && len > 1 {
        wire.swap(len - 1, len - 2);
    }
}

//! Frames through the MAC side of the card, both ways, on three clocks.

mod bench;
mod damage;
mod frame_fifo;
mod frames;
mod loopback;
mod streams;

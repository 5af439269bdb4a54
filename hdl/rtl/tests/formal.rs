//! Proofs by induction that blocks whose failure would stop everything are right for all time and any input.
//!
//! The properties (`formal/*.sv`) are put into the generated module, where they see its registers. Each proof is tried on a broken block, too.

use ferroce_emit::prelude::*;
use ferroce_emit::{emit, on_big_stack};
use ferroce_report::{Proof, Verdict};
use ferroce_rtl::async_fifo::AsyncFifo;
use ferroce_rtl::in_flight::InFlight;
use ferroce_rtl::ram_style::RamStyle;
use ferroce_rtl::round_robin4::RoundRobin4;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::sync_fifo::SyncFifo;

/// Steps of the longest induction: the properties name what a state needs, so few are enough. A broken block shows it within so many.
const STEPS: usize = 12;

fn proof<U: Block>(top: &str, make: impl FnOnce() -> U + Send, properties: &str) -> Proof {
    let verilog = on_big_stack(|| emit(&make(), top).expect("the block has Verilog").verilog());
    Proof::new(verilog, top, properties).expect("the block has a module")
}

/// Proves a block, and that it can't be proven when `from` is `to`.
fn check(block: Proof, from: &str, to: &str) {
    assert_eq!(block.prove(STEPS).expect("Yosys"), Verdict::Proven);
    let broken = block.replace(from, to).expect("the text is there");
    assert_eq!(broken.prove(STEPS).expect("Yosys"), Verdict::Refuted);
}

/// Shows the properties what a RAM of 8 words holds, and its first read stage.
fn with_ram(block: Proof, width: usize, first: &str) -> Proof {
    let words: Vec<String> = (0..8).rev().map(|k| format!("mem[{k}]")).collect();
    let (high, words_high) = (width - 1, 8 * width - 1);
    let words = words.join(", ");
    let shown =
        format!("wire [{words_high}:0] words = {{{words}}};\nwire [{high}:0] first = {first};");
    block.with("module fifo_ram", &shown).expect("a RAM")
}

fn fifo(
    make: impl FnOnce() -> SyncFifo<Bits<4>> + Send,
    [two_stages, passes]: [u8; 2],
    first: &str,
) -> Proof {
    let properties = include_str!("formal/sync_fifo.sv");
    let properties = format!(
        "localparam TWO_STAGES = 1'd{two_stages};\nlocalparam PASSES = 1'd{passes};\n{properties}"
    );
    with_ram(proof("sync_fifo", make, &properties), 4, first)
}

#[test]
fn skid_keeps_every_item_and_never_hangs() {
    let properties = include_str!("formal/skid.sv");
    check(
        proof("skid", Skid::<Bits<4>>::default, properties),
        "front_valid_d = spare_valid_q | input_valid;",
        "front_valid_d = input_valid;",
    );
}

#[test]
fn fifo_of_lut_ram_keeps_every_item_and_never_hangs() {
    check(
        fifo(
            || SyncFifo::with_style(3, 3, RamStyle::Distributed),
            [0, 0],
            "4'd0",
        ),
        "full_d = fill_q == LAST_PLACE_AT;",
        "full_d = 1'b0;",
    );
}

#[test]
fn quick_fifo_keeps_every_item_and_never_waits() {
    check(
        fifo(|| SyncFifo::quick_with_reserve(3, 3), [0, 1], "4'd0"),
        "pass = PASSES & (!waiting_q);",
        "pass = PASSES;",
    );
}

#[test]
fn fifo_of_block_ram_keeps_every_item_and_never_hangs() {
    check(
        fifo(
            || SyncFifo::with_style(3, 3, RamStyle::Block),
            [1, 0],
            "fetched",
        ),
        "waiting_d = newest_q != rd_ptr_q;",
        "waiting_d = 1'b0;",
    );
}

#[test]
fn credits_are_counted_right() {
    let properties = include_str!("formal/in_flight.sv");
    check(
        proof("in_flight", || InFlight::new(5), properties),
        "counter_q != 16'd1",
        "counter_q != 16'd0",
    );
}

/// What `Arb2`, `Arb4` and all frame arbiters decide with; behind it they have a skid.
#[test]
fn everyone_has_a_turn() {
    let properties = include_str!("formal/round_robin4.sv");
    check(
        proof("round_robin4", RoundRobin4::default, properties),
        "owner_d = select;",
        "owner_d = 2'd0;",
    );
}

#[test]
fn fifo_between_clocks_keeps_every_item() {
    let properties = include_str!("formal/async_fifo.sv");
    let block = proof("async_fifo", || AsyncFifo::<Bits<5>>::new(3), properties);
    let block = with_ram(block, 5, "5'd0")
        .with("module sync2", "wire [15:0] between = first;")
        .expect("a synchroniser")
        .any_clocks(&["wr_clock", "rd_clock", "clock"]);
    check(
        block,
        "assign full_d = fill_q > READY_UP_TO;",
        "assign full_d = 1'b0;",
    );
}

//! FIFOs in a simulator of four states whose inputs never change: nothing but
//! initial values may be needed to start.

use ferroce_emit::emit;
use ferroce_emit::harness::icarus_prints;
use ferroce_emit::prelude::*;
use ferroce_rtl::async_fifo::AsyncFifo;
use ferroce_rtl::sync_fifo::SyncFifo;
use std::path::Path;

/// Streams the number 5 through `fifo`, looking at it from the first edge on;
/// returns what the bench says at its end.
fn run(fifo: &dyn Block, name: &str, clocks: &str, fill: &str) -> String {
    let design = emit(fifo, name).expect("it is a good module");
    let text = design.verilog();
    let bench = format!(
        "{text}
module bench;
    reg clock = 1'b0;
    wire in_ready, out_valid, nearly_full;
    wire [7:0] data;
    wire [15:0] used;
    integer unknown = 0, moved = 0, wrong = 0;
    {name} uut ({clocks}, .input_data(8'd5), .input_valid(1'b1), .input_ready(in_ready),
        .output_data(data), .output_valid(out_valid), .output_ready(1'b1),
        .{fill}used(used), .{fill}almost_full(nearly_full));
    always #1 clock = !clock;
    always @(posedge clock) begin
        if (^{{in_ready, out_valid, nearly_full, used}} === 1'bx) unknown = unknown + 1;
        if (out_valid === 1'b1) moved = moved + 1;
        if (out_valid === 1'b1 && data !== 8'd5) wrong = wrong + 1;
    end
    initial begin
        #81 $display(\"unknown %0d, wrong %0d, moved %0d\", unknown, wrong, moved);
        $finish;
    end
endmodule
"
    );
    icarus_prints(&bench, &Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
}

fn assert_moves(output: &str) {
    let moved = output
        .trim()
        .strip_prefix("unknown 0, wrong 0, moved ")
        .unwrap_or_else(|| panic!("{output}"));
    assert!(
        moved.parse::<u32>().is_ok_and(|moved| moved > 20),
        "{output}"
    );
}

#[test]
fn a_sync_fifo_starts_from_initial_values() {
    let fifo = SyncFifo::<Bits<8>>::new(3);
    assert_moves(&run(&fifo, "sync_start", ".clock(clock)", ""));
}

#[test]
fn an_async_fifo_starts_from_initial_values() {
    let fifo = AsyncFifo::<Bits<8>>::new(4);
    let clocks = ".wr_clock(clock), .rd_clock(clock)";
    assert_moves(&run(&fifo, "async_start", clocks, "wr_"));
}

//! Small blocks whose cells and levels were worked out by hand.

use ferroce_report::{analyse, BlockReport, Domain, DomainReport, ReportError};

fn domain<'a>(report: &'a BlockReport, clock: &str) -> &'a DomainReport {
    let wanted = Domain::Clock(clock.to_owned());
    report
        .domains
        .iter()
        .find(|domain| domain.domain == wanted)
        .unwrap_or_else(|| panic!("no {clock} in {report}"))
}

#[test]
fn registers_without_logic_have_no_levels() {
    let verilog = "
module pair(input clock, input d, output reg q);
  reg middle;
  always @(posedge clock) begin middle <= d; q <= middle; end
endmodule
";
    let report = analyse(verilog, "pair").unwrap();
    assert_eq!((report.resources.registers, report.resources.luts), (2, 0));
    assert_eq!(report.levels("clock"), Some(0));
    assert_eq!(domain(&report, "clock").end_points, [2]);
    assert_eq!(report.levels("other"), None);
    assert_eq!(report.worst(), 0);
}

#[test]
fn an_adder_is_a_lut_a_chain_entry_and_ripple() {
    let verilog = "
module adder(input clock, input [31:0] a, input [31:0] b, output reg [31:0] sum);
  reg [31:0] left, right;
  always @(posedge clock) begin left <= a; right <= b; sum <= left + right; end
endmodule
";
    let report = analyse(verilog, "adder").unwrap();
    // A propagate LUT and a carry bit for each bit of the sum.
    assert_eq!(
        (report.resources.registers, report.resources.luts),
        (96, 32)
    );
    assert_eq!(report.resources.carry_bits, 32);
    // LUT 1, entry into the first CARRY4 1, seven more CARRY4 of 1/8.
    let path = &domain(&report, "clock").longest;
    assert_eq!((path.eighths, path.levels), (8 + 8 + 7, 2));
    let kinds: Vec<&str> = path.steps.iter().map(|step| step.kind.as_str()).collect();
    assert_eq!(
        kinds,
        ["LUT2", "CARRY4", "CARRY4", "CARRY4", "CARRY4", "CARRY4", "CARRY4", "CARRY4", "CARRY4"]
    );
    assert!(
        path.start.starts_with("left[") || path.start.starts_with("right["),
        "{path}"
    );
    // The last CARRY4 makes the four highest bits.
    assert!(
        (28..32).any(|bit| path.end == format!("FDRE D[0] of sum[{bit}]")),
        "{path}"
    );
    // a and b come without logic; the lowest bit of the sum is its LUT, the others leave the chain.
    assert_eq!(domain(&report, "clock").end_points, [64, 1, 31]);
}

#[test]
fn an_exclusive_or_of_36_registers_has_two_levels() {
    let verilog = "
module parity(input clock, input [35:0] d, output reg odd);
  reg [35:0] held;
  always @(posedge clock) begin held <= d; odd <= ^held; end
endmodule
";
    let report = analyse(verilog, "parity").unwrap();
    assert_eq!((report.resources.registers, report.resources.luts), (37, 7));
    assert_eq!(report.levels("clock"), Some(2));
    let path = &domain(&report, "clock").longest;
    assert!(path.start.starts_with("held["), "{path}");
    assert_eq!(path.start_kind, "FDRE");
    assert_eq!(domain(&report, "clock").end_points, [36, 0, 1]);
}

#[test]
fn wide_exclusive_ors_have_the_fewest_levels_however_they_are_written() {
    let chain: Vec<String> = (0..217).map(|bit| format!("held[{bit}]")).collect();
    let verilog = format!(
        "
module parities(input clock, input [216:0] d, output reg chain, output reg masked);
  reg [216:0] held;
  always @(posedge clock) begin
    held <= d;
    chain <= {};
    masked <= (^(held[63:0] & 64'h5555555555555555)) ^ held[200];
  end
endmodule
",
        chain.join(" ^ ")
    );
    let report = analyse(&verilog, "parities").unwrap();
    // 217 inputs are one more than three levels of six take; 33 fit in two levels.
    assert_eq!(domain(&report, "clock").end_points, [217, 0, 1, 0, 1]);
}

#[test]
fn the_ending_register_decides_the_domain_and_ports_end_paths() {
    let verilog = "
module domains(input core, input mac, input [5:0] a, output reg x, output reg y, output z);
  always @(posedge core) x <= &a;
  always @(posedge mac) y <= x;
  assign z = x ^ y;
endmodule
";
    let report = analyse(verilog, "domains").unwrap();
    assert_eq!(
        (report.levels("core"), report.levels("mac")),
        (Some(1), Some(0))
    );
    assert_eq!(domain(&report, "core").longest.start_kind, "port");
    let outputs = report
        .domains
        .iter()
        .find(|domain| domain.domain == Domain::Outputs)
        .unwrap();
    assert_eq!(
        (outputs.levels(), outputs.longest.end.as_str()),
        (1, "port z[0]")
    );
    assert_eq!(outputs.end_points, [2, 1]);
}

#[test]
fn wide_multiplexers_cost_a_quarter_from_data_and_a_level_from_select() {
    let verilog = "
module wide(input clock, input [12:0] d, output reg from_data, output reg from_select);
  wire [1:0] l;
  wire m, n;
  LUT6 #(.INIT(64'h8000000000000001)) l0(.O(l[0]), .I0(d[0]), .I1(d[1]), .I2(d[2]), .I3(d[3]), .I4(d[4]), .I5(d[5]));
  LUT6 #(.INIT(64'h8000000000000001)) l1(.O(l[1]), .I0(d[6]), .I1(d[7]), .I2(d[8]), .I3(d[9]), .I4(d[10]), .I5(d[11]));
  MUXF7 data(.O(m), .I0(l[0]), .I1(l[1]), .S(d[12]));
  MUXF7 select(.O(n), .I0(d[0]), .I1(d[1]), .S(l[0]));
  always @(posedge clock) begin from_data <= m; from_select <= n; end
endmodule
";
    let report = analyse(verilog, "wide").unwrap();
    assert_eq!((report.resources.luts, report.resources.wide_muxes), (2, 2));
    let clock = domain(&report, "clock");
    // Data: 1 + 1/4. Select: 1 + 1, which is the longest.
    assert_eq!(
        (clock.longest.eighths, clock.end_points.as_slice()),
        (16, [0, 1, 1].as_slice())
    );
    assert_eq!(clock.longest.end, "FDRE D[0] of from_select");
}

#[test]
fn block_ram_ports_have_their_own_clocks_and_unregistered_outputs_are_shown() {
    let verilog = "
module store(
  input write_clock, input read_clock, input write, input [9:0] to, input [31:0] d,
  input [9:0] from, output reg plain, output reg mixed
);
  (* ram_style = \"block\" *) reg [31:0] words [0:1023];
  reg [31:0] read;
  wire enable = write & ~to[9];
  always @(posedge write_clock) if (enable) words[to] <= d;
  always @(posedge read_clock) begin
    read <= words[from];
    plain <= read[0];
    mixed <= ^read[5:0];
  end
endmodule
";
    let report = analyse(verilog, "store").unwrap();
    assert_eq!(report.resources.block_ram_halves, 2);
    assert_eq!(report.resources.registers, 2);
    assert_eq!(
        (report.levels("write_clock"), report.levels("read_clock")),
        (Some(1), Some(1))
    );
    assert_eq!(domain(&report, "write_clock").longest_from_ram, None);
    let from_ram = domain(&report, "read_clock")
        .longest_from_ram
        .as_ref()
        .unwrap();
    assert_eq!(
        (from_ram.levels, from_ram.start_kind.as_str()),
        (1, "RAMB36E2")
    );
    assert_eq!(from_ram.end, "FDRE D[0] of mixed");
}

#[test]
fn reading_a_lut_ram_is_a_level() {
    let verilog = "
module table32(input clock, input write, input [4:0] to, input [6:0] d, input [4:0] from, output reg [6:0] q);
  (* ram_style = \"distributed\" *) reg [6:0] words [0:31];
  reg [4:0] address;
  always @(posedge clock) begin
    if (write) words[to] <= d;
    address <= from;
    q <= words[address];
  end
endmodule
";
    let report = analyse(verilog, "table32").unwrap();
    assert_eq!(report.cells.get("RAM32M16"), Some(&1), "{report}");
    assert_eq!((report.resources.lut_rams, report.resources.luts), (8, 0));
    assert_eq!(report.levels("clock"), Some(1));
}

#[test]
fn ultra_rams_are_counted() {
    let verilog = "
module buffer(input clock, input write, input [11:0] to, input [71:0] d, input [11:0] from, output reg [71:0] q);
  (* ram_style = \"ultra\" *) reg [71:0] words [0:4095];
  always @(posedge clock) begin
    if (write) words[to] <= d;
    q <= words[from];
  end
endmodule
";
    let report = analyse(verilog, "buffer").unwrap();
    assert_eq!(
        (
            report.resources.ultra_rams,
            report.resources.block_ram_halves
        ),
        (1, 0)
    );
    assert_eq!(
        report.levels("clock").map(|levels| levels <= 1),
        Some(true),
        "{report}"
    );
}

#[test]
fn sub_modules_are_flattened_and_black_boxes_end_paths() {
    let verilog = "
(* blackbox *)
module transceiver(input clock, input [5:0] send, output [5:0] receive);
endmodule
module invert(input [5:0] x, output y);
  assign y = ~&x;
endmodule
module link(input clock, input [5:0] d, output reg q);
  wire [5:0] received;
  wire inverted;
  transceiver phy(.clock(clock), .send({d[5:1], d[0] & q}), .receive(received));
  invert inner(.x(received), .y(inverted));
  always @(posedge clock) q <= inverted;
endmodule
";
    let report = analyse(verilog, "link").unwrap();
    assert_eq!(
        (report.resources.black_boxes, report.resources.luts),
        (1, 2)
    );
    assert_eq!(report.levels("clock"), Some(1));
    assert_eq!(domain(&report, "clock").longest.start, "received[0]");
    let boxes = report
        .domains
        .iter()
        .find(|domain| domain.domain == Domain::BlackBoxes)
        .unwrap();
    assert_eq!(boxes.levels(), 1);
    let text = report.to_string();
    assert!(
        text.starts_with("link: 2 LUT, ") && text.contains("(black boxes): 1 levels (1.000)\n"),
        "{text}"
    );
}

#[test]
fn a_combinational_loop_is_an_error_that_names_its_nets() {
    let verilog = "
module ring(input clock, input x, input y, output reg q);
  wire first, second;
  LUT2 #(.INIT(4'h8)) a(.O(first), .I0(second), .I1(x));
  LUT2 #(.INIT(4'he)) b(.O(second), .I0(first), .I1(y));
  always @(posedge clock) q <= first;
endmodule
";
    let Err(ReportError::Loop { nets }) = analyse(verilog, "ring") else {
        panic!("the loop was missed");
    };
    assert_eq!(nets.len(), 3);
    assert!(
        nets == ["first", "second", "first"] || nets == ["second", "first", "second"],
        "{nets:?}"
    );
}

#[test]
fn wrong_verilog_and_wrong_names_are_reported() {
    let text = analyse("module broken(input a; endmodule", "broken")
        .unwrap_err()
        .to_string();
    assert!(
        text.starts_with("Yosys rejects broken:") && text.contains("design.sv:1"),
        "{text}"
    );
    let absent = analyse("module present(input a); endmodule", "absent").unwrap_err();
    assert!(matches!(absent, ReportError::Synthesis { .. }), "{absent}");
    let name = analyse("", "a; shell").unwrap_err();
    assert!(matches!(name, ReportError::TopName(_)), "{name}");
}

#[test]
fn a_deep_clock_does_not_make_another_clocks_logic_deeper() {
    let verilog = "
module two(input core, input mac, input [31:0] a, input [31:0] b, input [63:0] x, output reg [31:0] sum, output reg all);
  reg [31:0] left, right;
  reg [63:0] held;
  always @(posedge core) begin
    left <= a;
    right <= b;
    sum <= (((left + right) ^ 32'h5) + left ^ right) + (left & right);
  end
  always @(posedge mac) begin
    held <= x ^ {64{sum[0]}};
    all <= &held;
  end
endmodule
";
    let report = analyse(verilog, "two").unwrap();
    assert!(report.levels("core") > Some(4), "{report}");
    // Two levels take 36 inputs, three are the fewest for 64.
    assert_eq!(report.levels("mac"), Some(3), "{report}");
    // Named as in the source, although mapped in a module of its own.
    let path = &domain(&report, "mac").longest;
    assert!(path.start.starts_with("held["), "{path}");
    assert_eq!(path.end, "FDRE D[0] of all");
}

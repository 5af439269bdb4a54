// Exclusive ors of more than six inputs as LUTs of six. Yosys' mapper keeps the tree of pairs that
// it is given, which costs up to two levels more than FPGA vendors' tools take.
(* techmap_celltype = "$reduce_xor" *)
module xor_by_sixes(A, Y);
  parameter A_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter Y_WIDTH = 1;
  input [A_WIDTH-1:0] A;
  output [Y_WIDTH-1:0] Y;
  // Up to six inputs are left to the mapper, which joins them with the logic around.
  wire _TECHMAP_FAIL_ = A_WIDTH <= 6;
  localparam GROUPS = (A_WIDTH + 5) / 6;
  wire [6*GROUPS-1:0] padded = A;
  wire [GROUPS-1:0] group;
  genvar i;
  generate
    for (i = 0; i < GROUPS; i = i + 1)
      if (6 * i + 1 == A_WIDTH) assign group[i] = padded[6*i];
      else LUT6 #(.INIT(64'h6996966996696996)) sixth(
        .O(group[i]), .I0(padded[6*i]), .I1(padded[6*i+1]), .I2(padded[6*i+2]),
        .I3(padded[6*i+3]), .I4(padded[6*i+4]), .I5(padded[6*i+5]));
  endgenerate
  assign Y = ^group;
endmodule

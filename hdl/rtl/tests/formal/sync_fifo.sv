// The item numbers in and out stand for the data: what comes out is what went in, in order, nothing twice.
reg [3:0] taken = 4'd0;
reg [3:0] given = 4'd0;
// Steps since the output was empty although something was inside.
reg [1:0] late = 2'd0;
wire [3:0] inside = taken - given;
wire [3:0] fetched = given + {3'd0, mid_valid_q} + {3'd0, out_valid_q};
wire [3:0] left = taken - fetched;
(* hierconn *) wire [31:0] \ram.words ;
(* hierconn *) wire [3:0] \ram.first ;

always @(posedge clock) begin
    taken <= taken + {3'd0, input_valid & input_ready};
    given <= given + {3'd0, output_valid & output_ready};
    late <= (output_valid | (inside == 4'd0)) ? 2'd0 : late + 2'd1;
end

always @* begin
    if (input_valid) assume (input_data == taken);
    assert (!output_valid | (output_data == given));
    assert (inside <= 4'd8);
    // Nothing hangs: it takes items until it is full, and offers what it has after two cycles at most.
    assert (input_ready == (inside < 4'd8));
    assert (late <= 2'd2);
    assert (!PASSES | (late == 2'd0));
    assert (used == {12'd0, inside});
    assert (almost_full == (inside > 4'd5));
    // What makes it inductive.
    assert (late != 2'd1 | mid_valid_q | out_valid_q);
    assert (late != 2'd2 | out_valid_q);
    assert (left <= inside);
    assert (TWO_STAGES | !mid_valid_q);
    assert (!PASSES | output_valid | (inside == 4'd0));
    assert ((wr_ptr_q[15:3] == 13'd0) & (rd_ptr_q[15:3] == 13'd0));
    assert (wr_ptr_q[2:0] - rd_ptr_q[2:0] == left[2:0]);
    assert (waiting_q == (left != 4'd0));
    assert (left == 4'd0 | newest_q == {13'd0, wr_ptr_q[2:0] - 3'd1});
    assert (!mid_valid_q | (\ram.first == given + {3'd0, out_valid_q}));
end

genvar k;
generate
    for (k = 0; k < 8; k = k + 1) begin : places
        wire [2:0] place = rd_ptr_q[2:0] + k;
        wire [3:0] item = fetched + k;
        always @* assert (left <= k | \ram.words [4 * place +: 4] == item);
    end
endgenerate

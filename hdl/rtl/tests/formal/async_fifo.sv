// Each clock is an enable of a common step, so edges come in any order and together. A Gray pointer changes one bit an edge:
// a synchroniser sees the old or the new pointer, as it does here.
reg [4:0] taken = 5'd0;
reg [4:0] given = 5'd0;
wire [4:0] inside = taken - given;
wire [4:0] fetched = given + {4'd0, out_valid_q};
wire [4:0] left = taken - fetched;
(* hierconn *) wire [39:0] \ram.words ;
(* hierconn *) wire [15:0] \sync_to_rd.between ;
(* hierconn *) wire [15:0] \sync_to_wr.between ;

function automatic [3:0] plain(input [15:0] gray);
    plain = {gray[3], ^gray[3:2], ^gray[3:1], ^gray[3:0]};
endfunction

// Items that each copy of the write pointer knows of, beyond those fetched.
wire [3:0] seen4 = wr_ptr_q[3:0] - rd_ptr_q[3:0];
wire [3:0] seen3 = plain(wr_gray_q) - rd_ptr_q[3:0];
wire [3:0] seen2 = plain(\sync_to_rd.between ) - rd_ptr_q[3:0];
wire [3:0] seen1 = plain(sync_to_rd_q) - rd_ptr_q[3:0];
wire [3:0] seen0 = rd_side_wr_ptr_q[3:0] - rd_ptr_q[3:0];
// Places that each copy of the read pointer takes for used.
wire [3:0] held1 = wr_ptr_q[3:0] - plain(rd_gray_q);
wire [3:0] held2 = wr_ptr_q[3:0] - plain(\sync_to_wr.between );
wire [3:0] held3 = wr_ptr_q[3:0] - plain(sync_to_wr_q);
wire [3:0] held4 = wr_ptr_q[3:0] - wr_side_rd_ptr_q[3:0];
// The newest two pushes are not in `fill_q` and `full_q` yet.
reg pushed1 = 1'b0;
reg pushed2 = 1'b0;

always @($global_clock) begin
    if (wr_clock) begin
        taken <= taken + {4'd0, input_valid & input_ready};
        pushed1 <= push;
        pushed2 <= pushed1;
    end
    if (rd_clock) begin
        given <= given + {4'd0, output_valid & output_ready};
    end
end

always @* begin
    if (input_valid) assume (input_data == taken);
    assert (!output_valid | (output_data == given));
    assert (inside <= 5'd9);
    // What makes it inductive.
    assert (wr_ptr_q == {12'd0, taken[3:0]});
    assert (rd_ptr_q == {12'd0, fetched[3:0]});
    assert (rd_ahead_q == {12'd0, (fetched[3:0] + 4'd1) ^ 4'd1});
    assert (left <= 5'd8);
    assert (!mid_valid_q & !both_valid_q);
    assert (wr_gray_q[15:4] == 12'd0 & rd_gray_q[15:4] == 12'd0);
    assert (\sync_to_rd.between [15:4] == 12'd0 & \sync_to_wr.between [15:4] == 12'd0);
    assert (sync_to_rd_q[15:4] == 12'd0 & sync_to_wr_q[15:4] == 12'd0);
    assert (rd_side_wr_ptr_q[15:4] == 12'd0 & wr_side_rd_ptr_q[15:4] == 12'd0);
    assert (seen0 <= seen1 & seen1 <= seen2 & seen2 <= seen3 & seen3 <= seen4 & seen4 <= 4'd8);
    assert (seen4 <= held1 & held1 <= held2 & held2 <= held3 & held3 <= held4 & held4 <= 4'd8);
    assert (!waiting_q | seen0 != 4'd0);
    assert (fill_q[15:4] == 12'd0);
    assert (held4 <= fill_q[3:0] + {3'd0, pushed1});
    assert (full_q | fill_q[3:0] <= 4'd5 + {3'd0, pushed2} );
end

genvar k;
generate
    for (k = 0; k < 8; k = k + 1) begin : places
        wire [2:0] place = fetched[2:0] + k;
        wire [4:0] item = fetched + k;
        always @* assert (left <= k | \ram.words [5 * place +: 5] == item);
    end
endgenerate

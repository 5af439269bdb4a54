// The item numbers in and out stand for the data: what comes out is what went in, in order, nothing twice.
reg [3:0] taken = 4'd0;
reg [3:0] given = 4'd0;
wire [3:0] inside = taken - given;

always @(posedge clock) begin
    taken <= taken + {3'd0, input_valid & input_ready};
    given <= given + {3'd0, output_valid & output_ready};
end

always @* begin
    if (input_valid) assume (input_data == taken);
    assert (!output_valid | (output_data == given));
    // Nothing hangs: what is inside is offered, and there is room for two.
    assert (output_valid == (inside != 4'd0));
    assert (input_ready == (inside < 4'd2));
    assert (inside <= 4'd2);
    // What makes it inductive.
    assert (inside == {3'd0, front_valid_q} + {3'd0, spare_valid_q});
    assert (!spare_valid_q | (front_valid_q & (spare_q == given + 4'd1)));
end

// As many as were started and are not done; the limit is 5.
reg [3:0] under_way = 4'd0;

always @(posedge clock) begin
    under_way <= under_way + {3'd0, start} - {3'd0, done};
end

always @* begin
    // The user's part.
    assume (!(start & full));
    assume (!(done & (under_way == 4'd0)));
    assert (under_way <= 4'd5);
    assert (count == {12'd0, under_way});
    assert (full == (under_way == 4'd5));
    assert (idle == (under_way == 4'd0));
end

// `watched` is any one of the streams, the same for ever. Every item of another stream that passes it by brings its turn nearer.
(* anyconst *) reg [1:0] watched;
// Frames of others that ended since the watched stream began to wait.
reg [2:0] passed = 3'd0;
wire [3:0] through = ready & valid;
wire waits = valid[watched] & !ready[watched];
// Distance from the owner: 0 has its turn next.
wire [1:0] distance = watched - owner_q - 2'd1;

always @(posedge clock) begin
    if (!waits) passed <= 3'd0;
    else passed <= passed + {2'd0, |(through & last)};
end

always @* begin
    // One at a time, the selected one, and only when there is space.
    assert ((through & (through - 4'd1)) == 4'd0);
    assert (through == 4'd0 | (space & select_valid & through[select]));
    // Nothing hangs: with space and an offer of whose turn it is, something goes through.
    assert (!(space & select_valid) | through != 4'd0);
    assert (locked_q | select_valid == (valid != 4'd0));
    assert (!locked_q | select_valid == valid[owner_q]);
    // Fair: at most three frames of others, and the rest of one that had begun, go before.
    assert (!waits | passed <= 3'd3);
    // What makes it inductive: who waits has been passed at most as often as its distance has shrunk.
    assert (passed == 3'd0 | passed + {1'b0, distance} + {2'd0, locked_q & (owner_q != watched)} <= 3'd3);
end

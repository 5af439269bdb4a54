// A card that copies 32 bytes of host memory: the smallest thing with the four streams of the PCIe block, one beat a TLP.
//
// BAR: a 64-bit store to offset 0 sets the source, one to offset 8 sets the destination and starts a copy, which
// must be done before the next one. A load reads how many have been done; one from offset 16 on is refused.
module copier (
    input wire core_clock,
    output wire [665:0] rq_data,
    output wire rq_valid,
    input wire rq_ready,
    input wire [689:0] rc_data,
    input wire rc_valid,
    output wire rc_ready,
    input wire [711:0] cq_data,
    input wire cq_valid,
    output wire cq_ready,
    output wire [609:0] cc_data,
    output wire cc_valid,
    input wire cc_ready,
    input wire [3:0] np_credit,
    input wire [4:0] limits
);
    reg [63:0] source = 0;
    reg [63:0] target = 0;
    reg [63:0] copies = 0;
    reg read_due = 0;
    reg write_due = 0;
    reg [255:0] bytes = 0;
    reg answer_due = 0;
    reg refused = 0;
    reg [127:0] request = 0;
    reg [7:0] enables = 0;

    // A read leaves only while the host has a buffer for it, and only if it may be as long.
    wire may_read = np_credit != 0 && limits != 5'b11111;
    wire [127:0] read_head = {24'b0, 8'h05, 16'b0, 5'b0, 11'd8, source};
    wire [127:0] write_head = {24'b0, 8'h00, 16'b0, 5'b1, 11'd8, target};
    wire [3:0] rq_end = write_due ? 4'd11 : 4'd3;
    wire [15:0] rq_keep = write_due ? 16'h0fff : 16'h000f;
    wire [136:0] rq_user = {101'b0, 4'b0, rq_end, 2'b01, 4'b0, 2'b01, 4'b0, 8'h0f, 8'h0f};
    assign rq_valid = write_due || (read_due && may_read);
    assign rq_data = {rq_user, 1'b1, rq_keep,
        write_due ? {128'b0, bytes, write_head} : {384'b0, read_head}};

    // Never waits for a completion: completions stay behind the stores before them.
    assign rc_ready = 1;
    assign cq_ready = !answer_due;

    wire [2:0] status = refused ? 3'd1 : 3'd0;
    wire [10:0] dwords = request[74:64];
    wire [95:0] answer_head = {16'b0, 8'b0, request[103:96] , request[95:80], 2'b0, status,
        refused ? 11'd0 : dwords, 3'b0, dwords[10:0], 2'b0, 9'b0, request[6:0]};
    wire [159:0] answer_tail = refused ? {request, 24'b0, enables} : {96'b0, copies};
    wire [15:0] cc_keep = refused ? 16'h00ff : (dwords == 1 ? 16'h000f : 16'h001f);
    assign cc_valid = answer_due;
    assign cc_data = {81'b0, 1'b1, cc_keep, 256'b0, answer_tail, answer_head};

    always @(posedge core_clock) begin
        if (cq_valid && cq_ready) begin
            request <= cq_data[127:0];
            enables <= {cq_data[540:537], cq_data[532:529]};
            if (cq_data[78:75] == 4'd0) begin
                answer_due <= 1;
                refused <= cq_data[11:4] != 0;
            end else if (cq_data[3]) begin
                target <= cq_data[191:128];
                read_due <= 1;
            end else begin
                source <= cq_data[191:128];
            end
        end
        if (cc_valid && cc_ready) answer_due <= 0;
        if (rq_valid && rq_ready) begin
            if (write_due) begin
                write_due <= 0;
                copies <= copies + 1;
            end else begin
                read_due <= 0;
            end
        end
        if (rc_valid && rc_ready && rc_data[71:64] == 8'h05) begin
            bytes <= rc_data[351:96];
            write_due <= 1;
        end
    end
endmodule

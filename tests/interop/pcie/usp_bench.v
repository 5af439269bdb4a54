// The PCIe engine between the streams of the PCIe block's model (vendor port names) and a client
// whose ports are single fields.
`timescale 1ns / 1ps

`ifndef ENGINE
`define ENGINE pcie_engine
`endif

module usp_bench (
    input  wire         user_clk,
    input  wire         user_reset,

    output reg  [511:0] s_axis_rq_tdata,
    output reg  [15:0]  s_axis_rq_tkeep,
    output reg          s_axis_rq_tlast,
    output reg  [136:0] s_axis_rq_tuser,
    output reg          s_axis_rq_tvalid,
    input  wire         s_axis_rq_tready,

    input  wire [511:0] m_axis_rc_tdata,
    input  wire [15:0]  m_axis_rc_tkeep,
    input  wire         m_axis_rc_tlast,
    input  wire [160:0] m_axis_rc_tuser,
    input  wire         m_axis_rc_tvalid,
    output reg          m_axis_rc_tready,

    input  wire [511:0] m_axis_cq_tdata,
    input  wire [15:0]  m_axis_cq_tkeep,
    input  wire         m_axis_cq_tlast,
    input  wire [182:0] m_axis_cq_tuser,
    input  wire         m_axis_cq_tvalid,
    output reg          m_axis_cq_tready,

    output reg  [511:0] s_axis_cc_tdata,
    output reg  [15:0]  s_axis_cc_tkeep,
    output reg          s_axis_cc_tlast,
    output reg  [80:0]  s_axis_cc_tuser,
    output reg          s_axis_cc_tvalid,
    input  wire         s_axis_cc_tready,

    input  wire [3:0]   pcie_tfc_nph_av,
    output reg  [1:0]   pcie_cq_np_req,
    input  wire [1:0]   cfg_max_payload,
    input  wire [2:0]   cfg_max_read_req,

    input  wire [63:0]  read_req_addr,
    input  wire [12:0]  read_req_len,
    input  wire [7:0]   read_req_tag,
    input  wire         read_req_ordered,
    input  wire         read_req_valid,
    output reg          read_req_ready,

    output reg  [511:0] read_data_bytes,
    output reg  [7:0]   read_data_tag,
    output reg          read_data_last,
    output reg          read_data_err,
    output reg          read_data_valid,
    input  wire         read_data_ready,

    input  wire [511:0] write_bytes,
    input  wire [63:0]  write_addr,
    input  wire [12:0]  write_len,
    input  wire         write_last,
    input  wire         write_valid,
    output reg          write_ready,

    output reg  [19:0]  access_addr,
    output reg          access_write,
    output reg  [63:0]  access_word,
    output reg  [7:0]   access_strobe,
    output reg          access_valid,
    input  wire         access_ready,

    input  wire [63:0]  answer_word,
    input  wire         answer_valid,
    output reg          answer_ready
);

    wire [511:0] s_axis_rq_tdata_now;
    wire  [15:0] s_axis_rq_tkeep_now;
    wire         s_axis_rq_tlast_now;
    wire [136:0] s_axis_rq_tuser_now;
    wire         s_axis_rq_tvalid_now;
    wire         m_axis_rc_tready_now;
    wire         m_axis_cq_tready_now;
    wire [511:0] s_axis_cc_tdata_now;
    wire  [15:0] s_axis_cc_tkeep_now;
    wire         s_axis_cc_tlast_now;
    wire  [80:0] s_axis_cc_tuser_now;
    wire         s_axis_cc_tvalid_now;
    wire   [1:0] pcie_cq_np_req_now;
    wire         read_req_ready_now;
    wire [511:0] read_data_bytes_now;
    wire   [7:0] read_data_tag_now;
    wire         read_data_last_now;
    wire         read_data_err_now;
    wire         read_data_valid_now;
    wire         write_ready_now;
    wire  [19:0] access_addr_now;
    wire         access_write_now;
    wire  [63:0] access_word_now;
    wire   [7:0] access_strobe_now;
    wire         access_valid_now;
    wire         answer_ready_now;
    wire [6:0] events;
    assign pcie_cq_np_req_now[1] = 1'b0;

    // The engine has initial values and no reset: its clock starts when the block's reset is over, and no unknown
    // value of the first moments reaches a register.
    reg was_reset = 1'b0;
    reg running = 1'b0;
    always @(negedge user_clk) begin
        if (user_reset === 1'b1) begin
            was_reset <= 1'b1;
        end else if (was_reset) begin
            running <= 1'b1;
        end
    end
    wire clock = user_clk & running;

    `ENGINE engine (
        .clock(clock),
        .rq_data({s_axis_rq_tuser_now, s_axis_rq_tlast_now, s_axis_rq_tkeep_now, s_axis_rq_tdata_now}),
        .rq_valid(s_axis_rq_tvalid_now),
        .rq_ready(s_axis_rq_tready),
        .rc_data({m_axis_rc_tuser, m_axis_rc_tlast, m_axis_rc_tkeep, m_axis_rc_tdata}),
        .rc_valid(m_axis_rc_tvalid),
        .rc_ready(m_axis_rc_tready_now),
        .cq_data({m_axis_cq_tuser, m_axis_cq_tlast, m_axis_cq_tkeep, m_axis_cq_tdata}),
        .cq_valid(m_axis_cq_tvalid),
        .cq_ready(m_axis_cq_tready_now),
        .cc_data({s_axis_cc_tuser_now, s_axis_cc_tlast_now, s_axis_cc_tkeep_now, s_axis_cc_tdata_now}),
        .cc_valid(s_axis_cc_tvalid_now),
        .cc_ready(s_axis_cc_tready),
        .np_credit(pcie_tfc_nph_av),
        .np_wanted(pcie_cq_np_req_now[0]),
        .limits({cfg_max_read_req, cfg_max_payload}),
        .read_req_data({read_req_ordered, read_req_tag, read_req_len, read_req_addr}),
        .read_req_valid(read_req_valid),
        .read_req_ready(read_req_ready_now),
        .read_data_data({read_data_err_now, read_data_last_now, read_data_tag_now, read_data_bytes_now}),
        .read_data_valid(read_data_valid_now),
        .read_data_ready(read_data_ready),
        .write_data({write_last, write_len, write_addr, write_bytes}),
        .write_valid(write_valid),
        .write_ready(write_ready_now),
        .access_data({access_strobe_now, access_word_now, access_write_now, access_addr_now}),
        .access_valid(access_valid_now),
        .access_ready(access_ready),
        .answer_data(answer_word),
        .answer_valid(answer_valid),
        .answer_ready(answer_ready_now),
        .events(events)
    );

    // A test that wakes at a rising edge must see what was there before it, but Verilator shows what is there after it.
    // So outputs are shown as they were at the falling edge, when everything has settled.
    always @(negedge user_clk) begin
        s_axis_rq_tdata <= s_axis_rq_tdata_now;
        s_axis_rq_tkeep <= s_axis_rq_tkeep_now;
        s_axis_rq_tlast <= s_axis_rq_tlast_now;
        s_axis_rq_tuser <= s_axis_rq_tuser_now;
        s_axis_rq_tvalid <= s_axis_rq_tvalid_now;
        m_axis_rc_tready <= m_axis_rc_tready_now;
        m_axis_cq_tready <= m_axis_cq_tready_now;
        s_axis_cc_tdata <= s_axis_cc_tdata_now;
        s_axis_cc_tkeep <= s_axis_cc_tkeep_now;
        s_axis_cc_tlast <= s_axis_cc_tlast_now;
        s_axis_cc_tuser <= s_axis_cc_tuser_now;
        s_axis_cc_tvalid <= s_axis_cc_tvalid_now;
        pcie_cq_np_req <= pcie_cq_np_req_now;
        read_req_ready <= read_req_ready_now;
        read_data_bytes <= read_data_bytes_now;
        read_data_tag <= read_data_tag_now;
        read_data_last <= read_data_last_now;
        read_data_err <= read_data_err_now;
        read_data_valid <= read_data_valid_now;
        write_ready <= write_ready_now;
        access_addr <= access_addr_now;
        access_write <= access_write_now;
        access_word <= access_word_now;
        access_strobe <= access_strobe_now;
        access_valid <= access_valid_now;
        answer_ready <= answer_ready_now;
    end

endmodule

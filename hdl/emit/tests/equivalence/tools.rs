//! The other tools that read our Verilog.

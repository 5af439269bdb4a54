// The carry cell with the depths of this crate's page as its delays, in eighths of a LUT level, so
// that the mapper minimises what is reported.
(* abc9_box, lib_whitebox *)
module CARRY4(
  (* abc9_carry *) output [3:0] CO,
  output [3:0] O,
  (* abc9_carry *) input CI,
  input CYINIT,
  input [3:0] DI, S
);
  assign O = S ^ {CO[2:0], CI | CYINIT};
  assign CO[0] = S[0] ? CI | CYINIT : DI[0];
  assign CO[1] = S[1] ? CO[0] : DI[1];
  assign CO[2] = S[2] ? CO[1] : DI[2];
  assign CO[3] = S[3] ? CO[2] : DI[3];
  specify
    (CYINIT *> O) = 8;
    (CYINIT *> CO) = 8;
    (S *> O) = 8;
    (S *> CO) = 8;
    (DI *> O) = 8;
    (DI *> CO) = 8;
    (CI *> O) = 1;
    (CI *> CO) = 1;
  endspecify
endmodule

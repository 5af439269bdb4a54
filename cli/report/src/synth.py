# Runs the Yosys commands of the file named by the first argument, and one more:
# `split_by_clock <top>` moves each clock's logic into a module of its own, so that the mapper
# gives each the depth that it needs, and not the depth of the deepest.
import sys

from pyosys import libyosys as ys

# What a path goes through; anything else ends the logic in front of a register.
COMBINATIONAL = (
    "$_NOT_,$_BUF_,$_AND_,$_NAND_,$_OR_,$_NOR_,$_XOR_,$_XNOR_,$_ANDNOT_,$_ORNOT_,$_MUX_,$_NMUX_,"
    "$lut,INV,LUT1,LUT2,LUT3,LUT4,LUT5,LUT6,MUXF7,MUXF8,MUXF9,CARRY4,CARRY8"
)
LIST = "selected.txt"
# Nets inside are named `clock_part_<number>.<name>` after flattening; the reader takes that off.
PART = "clock_part_"


def selected(design, selection):
    ys.run_pass(f"select -write {LIST} {selection}", design)
    with open(LIST) as names:
        return [name.strip().split("/", 1)[1] for name in names]


def split_by_clock(design, top):
    ys.run_pass(f"cd {top}", design)
    clocks = selected(design, "t:FD* %ci1:+[C] t:FD* %d")
    ends = {clock: f"w:{clock} %co1 w:{clock} %d" for clock in clocks}
    clocks.sort(key=lambda clock: (len(selected(design, ends[clock])), clock))
    # The largest keeps the top module.
    for number, clock in enumerate(clocks[:-1]):
        ys.run_pass(f"select -set ends {ends[clock]}", design)
        ys.run_pass(f"select -set logic @ends %ci1 %ci*:+{COMBINATIONAL} t:* %i", design)
        ys.run_pass(f"submod -hidden -name {PART}{number} @ends @logic %u", design)
    ys.run_pass("cd ..", design)


design = ys.Design()
with open(sys.argv[1]) as script:
    for command in script.read().splitlines():
        if command.startswith("split_by_clock "):
            split_by_clock(design, command.split()[1])
        else:
            ys.run_pass(command, design)

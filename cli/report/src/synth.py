# Runs the Yosys commands of the file named by the first argument.
import sys

from pyosys import libyosys as ys

design = ys.Design()
with open(sys.argv[1]) as script:
    for command in script.read().splitlines():
        ys.run_pass(command, design)

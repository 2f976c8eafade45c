"""docs/languages.md's lines in Python, two steps of them, read back. Usage: six_lines.py PREFIX [mpi4py]"""

import sys

import numpy as np

if "mpi4py" in sys.argv:
    from mpi4py import MPI
import hakobi

ny, nx = 300, 400
whole = np.arange(ny * nx, dtype=float).reshape(ny, nx)
comm = hakobi.Comm.duplicate(MPI.COMM_WORLD if "mpi4py" in sys.argv else None)
block = hakobi.split((ny, nx), comm.size, comm.rank)
out = hakobi.Output.create(comm, sys.argv[1], method="pipelined")
field = out.define("eta", "m", (ny, nx))
for step in range(2):
    out.begin_step(0.5 * step)
    eta = whole[block.slices] + step
    out.put(field, block, eta)
    out.end_step()
out.close()
with hakobi.Input.open(sys.argv[1], comm) as steps:
    assert (steps.read("eta", block=block) == eta).all()
if comm.rank == 0:
    print(f"{sys.argv[1]}: {comm.size} ranks, {hakobi._library.load()._name}")

"""The same as ending.cpp, from Python. "exception" leaves `with`, and nobody catches it."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import hakobi

prefix, method, ending = sys.argv[1:]
comm = hakobi.Comm.duplicate(MPI.COMM_WORLD)
block = hakobi.split((256, 512), comm.size, comm.rank)


def write_steps(out: hakobi.Output) -> None:
    for step in range(5):
        out.begin_step(step)
        out.put("eta", "1", block, np.full(block.count, step + 0.5))
        out.end_step()
        if comm.rank == 0:
            with Path(prefix + ".accepted").open("a") as file:
                print(step, file=file)


if ending == "exception":
    with hakobi.Output.create(comm, prefix, method=method) as out:
        write_steps(out)
        raise RuntimeError("the solver diverges")
out = hakobi.Output.create(comm, prefix, method=method)
write_steps(out)
is_last = comm.rank == comm.size - 1
if ending == "close":
    out.close()
if ending == "drop":
    del out
if ending == "exit":
    sys.exit(3)
if ending == "abort" and is_last:
    MPI.COMM_WORLD.Abort(3)
if ending in ("terminate", "kill") and is_last:
    os.kill(os.getpid(), signal.SIGTERM if ending == "terminate" else signal.SIGKILL)
if ending in ("abort", "terminate", "kill"):
    time.sleep(30)

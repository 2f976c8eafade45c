"""Reads the two steps of wave.py back: see sums.cpp.

Usage: mpiexec -n 4 python sums.py PREFIX
"""

import sys

import numpy as np
from mpi4py import MPI

import hakobi


def run(prefix: str = "wave") -> None:
    comm = hakobi.Comm.duplicate(MPI.COMM_WORLD)
    steps = hakobi.Input.open(prefix, comm)
    shape = steps.field("eta").shape
    block = hakobi.split(shape, comm.size, comm.size - 1 - comm.rank)
    weights = (np.arange(np.prod(shape)).reshape(shape) % 7 + 1)[block.slices]
    if comm.rank == 0:
        print(f"missing: {steps.field('eta').attributes['_FillValue']:.0f}", flush=True)
    for step, time in zip(steps.steps, steps.times, strict=True):
        eta = steps.read("eta", step=step, block=block)
        total = MPI.COMM_WORLD.reduce((weights * eta).sum())
        if comm.rank == 0:
            print(f"step {step} at {time:g} s: {total:.2f}")
    steps.close()
    comm.free()


if __name__ == "__main__":
    try:
        run(*sys.argv[1:2])
    except hakobi.HakobiError as error:
        sys.exit(f"sums: {error}")

#!/usr/bin/env python3
"""Heat in a square plate whose edges are kept at 0, cut into rows for the ranks."""

import argparse
import json
from pathlib import Path

import numpy as np
from mpi4py import MPI

import hakobi

hakobi.report_errors()
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--output", default="heat")
parser.add_argument("--method", default="auto")
parser.add_argument("--json")
parser.add_argument("--resume", action="store_true")
given = parser.parse_args()
world = MPI.COMM_WORLD
rank, size, step = world.rank, world.size, 0

# This rank's rows, and one more on each side: a neighbour's, or the edge.
n = 400
first = n * rank // size
rows = n * (rank + 1) // size - first
before = rank - 1 if rank > 0 else MPI.PROC_NULL
behind = rank + 1 if rank < size - 1 else MPI.PROC_NULL
heat = np.zeros((rows + 2, n))
row = np.arange(first, first + rows)
heat[1:-1][(row >= n // 4) & (row < n // 2), n // 4 : n // 2] = 100

comm = hakobi.Comm.duplicate(world)
block = hakobi.Block((n, n), (first, 0), (rows, n))
out = hakobi.Output.create(comm, given.output, method=given.method, if_exists="resume" if given.resume else "fail")
field = out.define("heat", "K", (n, n))

if given.resume:
    steps = hakobi.Input.open(given.output, comm)
    steps.read("heat", block=block, out=heat[1:-1])
    step = steps.steps[-1] + 1
    steps.close()

begin_s = MPI.Wtime()

while step < given.steps:
    for _ in range(1000):
        world.Sendrecv(heat[1], before, recvbuf=heat[-1], source=behind)
        world.Sendrecv(heat[-2], behind, recvbuf=heat[0], source=before)
        at = heat[1:-1, 1:-1]
        around = heat[:-2, 1:-1] + heat[2:, 1:-1] + heat[1:-1, :-2] + heat[1:-1, 2:]
        at += 0.2 * (around - 4 * at)
    step += 1
    out.begin_step(1000.0 * step)
    out.put(field, block, heat[1:-1])
    out.end_step()

out.close()

if rank == 0 and given.json:
    with Path(given.json).open("a") as record:
        record.write(json.dumps({"time_s": MPI.Wtime() - begin_s}) + "\n")

comm.free()
hottest = world.reduce(heat[1:-1].max(), MPI.MAX)
if rank == 0:
    print(f"{step} steps: the hottest place has {hottest:.6f} K")

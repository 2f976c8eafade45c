#!/usr/bin/env python3
"""Heat in a square plate whose edges are kept at 0, cut into rows for the ranks."""

import argparse

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
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

while step < given.steps:
    for _ in range(1000):
        world.Sendrecv(heat[1], before, recvbuf=heat[-1], source=behind)
        world.Sendrecv(heat[-2], behind, recvbuf=heat[0], source=before)
        at = heat[1:-1, 1:-1]
        around = heat[:-2, 1:-1] + heat[2:, 1:-1] + heat[1:-1, :-2] + heat[1:-1, 2:]
        at += 0.2 * (around - 4 * at)
    step += 1

hottest = world.reduce(heat[1:-1].max(), MPI.MAX)
if rank == 0:
    print(f"{step} steps: the hottest place has {hottest:.6f} K")

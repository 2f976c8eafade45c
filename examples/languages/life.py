"""Conway's Game of Life on ranks, by Hakobi from Python: see life.cpp.

Usage: mpiexec -n 4 python life.py [PATH]
"""

import sys

import numpy as np

import hakobi

NY, NX = 37, 53
NUM_STEPS = 20


def run(path: str = "auto") -> None:
    world = hakobi.Comm.duplicate()  # or of an mpi4py communicator
    dims = hakobi.dims_of_ranks((NY, NX), world.size)
    order = hakobi.Topology.discover(world).reorder(dims, is_periodic=(True, True))
    comm = hakobi.reordered(world, order)
    block = hakobi.split((NY, NX), comm.size, comm.rank)

    grid = hakobi.HaloGrid(block.count, ghosts=1, ranks=dims, is_periodic=True)
    cells = hakobi.allocate_shared(comm, grid.shape(), np.int32)
    own = cells[grid.own()]
    y, x = np.ogrid[block.slices]
    own[...] = (7 * y + 13 * x + x * y) % 5 < 2
    halo = hakobi.Halo.plan(comm, grid, [cells], path=path)
    rows, columns = block.count
    for _ in range(NUM_STEPS):
        halo.start()  # what needs no ghosts would be computed between the two
        halo.wait()
        around = sum(cells[i : i + rows, j : j + columns] for i in range(3) for j in range(3)) - own
        own[...] = (around == 3) | ((around == 2) & (own == 1))

    arrays = hakobi.BufferArrays.get(comm)
    mine = arrays.make()
    for row in own:
        mine.append(row)
    mine.send(0)
    if comm.rank == 0:
        whole = np.zeros((NY, NX), np.int32)
        parts = []
        for rank in range(comm.size):
            part = arrays.make()
            for row in whole[hakobi.split((NY, NX), comm.size, rank).slices]:
                part.append(row)
            part.receive(rank)
            parts.append(part)
        for part in parts:
            part.wait()
        places = np.dot(whole.ravel().astype(np.int64), np.arange(whole.size))
        print(f"life: {whole.sum()} alive after {NUM_STEPS} steps, sum of their places {places}")
    mine.wait()
    comm.free()
    world.free()


if __name__ == "__main__":
    try:
        run(*sys.argv[1:2])
    except hakobi.HakobiError as error:
        print(f"life: {error}", file=sys.stderr)
        sys.exit(2)

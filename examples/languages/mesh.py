"""An unstructured mesh whose points move, written and read by Hakobi from Python: see mesh.cpp.

Usage: mpiexec -n 4 python mesh.py PREFIX [METHOD]
"""

import sys

import numpy as np
from mpi4py import MPI

import hakobi


def write(comm: hakobi.Comm, prefix: str, method: str) -> None:
    """Each rank's part: a column of hexahedra, on the last of several ranks nothing."""
    height = 0 if comm.size > 1 and comm.rank == comm.size - 1 else 2 + comm.rank
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=float)
    levels = np.arange(height + 1 if height else 0)
    points = np.array([(2 * comm.rank + x, y, z) for z in levels for x, y in corners]).reshape(-1, 3)
    connectivity = (4 * np.arange(height)[:, None] + np.arange(8)).ravel()
    offsets = 8 * np.arange(height + 1)
    types = np.full(height, 12, dtype=np.uint8)  # VTK's hexahedron

    out = hakobi.Output.create(comm, prefix, method=method, format="vtkhdf", if_exists="replace")
    p_id = out.define("p", "Pa", on="cells")
    velocity_id = out.define("U", "m s-1", on="cells", components=3)
    temperature_id = out.define("T", "K", on="points")
    for step in range(2):
        p = 100 * comm.rank + np.arange(height) + 0.5 * step
        velocity = p[:, None] + [0, 0.25, 0.5]
        temperature = 273.0 + np.arange(len(points)) + step
        out.begin_step(0.5 * step)
        if step == 0:
            out.put_mesh(points, connectivity, offsets, types, motion="moves")
        else:
            points[:, 0] += 0.125
            out.put_points(points)
        out.put(p_id, None, p)
        out.put(velocity_id, None, velocity)
        out.put(temperature_id, None, temperature)
        out.end_step()
    out.close()


def read(comm: hakobi.Comm, prefix: str) -> None:
    with hakobi.Input.open(prefix, comm) as steps:
        mesh, part = steps.mesh(), steps.read_mesh()
        num_cells = part.types.size
        p = steps.read("p", block=hakobi.Block((mesh.num_cells,), (part.first_cell,), (num_cells,)))
        velocity = steps.read("U", block=hakobi.Block((mesh.num_cells, 3), (part.first_cell, 0), (num_cells, 3)))
    last = part.connectivity[part.offsets[1:] - 1]
    total = MPI.COMM_WORLD.reduce(float((p * part.points[last, 0] + velocity[:, 2]).sum()))
    if comm.rank == 0:
        print(f"mesh: {mesh.num_points} points, {mesh.num_cells} cells, {mesh.num_pieces} pieces: {total:.3f}")


def run(prefix: str = "mesh", method: str = "auto") -> None:
    comm = hakobi.Comm.duplicate(MPI.COMM_WORLD)
    write(comm, prefix, method)
    read(comm, prefix)
    comm.free()


if __name__ == "__main__":
    try:
        run(*sys.argv[1:3])
    except hakobi.HakobiError as error:
        sys.exit(f"mesh: {error}")

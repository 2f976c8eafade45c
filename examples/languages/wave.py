"""Two steps of a field that is split over the ranks, written by Hakobi from Python: see wave.cpp.

Usage: mpiexec -n 4 python wave.py PREFIX [METHOD]
"""

import sys

import numpy as np
from mpi4py import MPI

import hakobi

NY, NX = 37, 53


def run(prefix: str = "wave", method: str = "auto") -> None:
    comm = hakobi.Comm.duplicate(MPI.COMM_WORLD)
    block = hakobi.split((NY, NX), comm.size, comm.rank)
    axes = [
        hakobi.Axis("lat", "degrees_north", 30 + 0.5 * np.arange(NY), standard_name="latitude"),
        hakobi.Axis("lon", "degrees_east", 140 + 0.5 * np.arange(NX), standard_name="longitude"),
    ]
    out = hakobi.Output.create(
        comm,
        prefix,
        method=method,
        axes=axes,
        title="a wave",
        attributes={"institution": "an example"},
        time_units="seconds since 2011-03-11 05:46:24",
        if_exists="replace",
    )
    # Once for all steps; an error here is one on every rank.
    eta_id = out.define(
        "eta",
        "m",
        (NY, NX),
        standard_name="sea_surface_height",
        attributes={"cell_methods": "time: point", "valid_range": (0.0, 1e6)},
        fill_value=-9999.0,
    )
    cell_id = out.define("cell", "1", (NY, NX), "int32", long_name="number of the cell", attributes={"valid_min": 0})
    number_id = out.define("number", dtype="int64")  # a scalar
    depth_id = out.define("depth", "m", (NY, NX), "float32", is_static=True)
    y, x = np.ogrid[block.slices]
    for step in range(2):
        eta = 1000.0 * y + x + 0.25 * step
        cell = (y * NX + x).astype(np.int32)
        out.begin_step(60.0 * step)
        out.put(eta_id, block, eta)
        out.put(cell_id, block, cell)
        out.put(number_id, hakobi.Block((), (), ()), np.array(step))
        if step == 0:  # in all files
            out.put(depth_id, block, np.broadcast_to((10 * y).astype(np.float32), eta.shape))
        out.end_step()
    out.close()
    comm.free()


if __name__ == "__main__":
    try:
        run(*sys.argv[1:3])
    except hakobi.HakobiError as error:
        sys.exit(f"wave: {error}")

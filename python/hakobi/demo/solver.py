"""The demonstration's solver: long waves over a sea floor, by numpy, on any number of ranks; started by quick.py.

Usage: python -m hakobi.demo.solver PREFIX [--method NAME] [--waits] [--steps N] [--between N] [--resume] [--told FILE]

It keeps what it needs to go on in its steps: the surface now and one time step before. Ranks own rows; every element is
computed alike wherever it is, so that the bytes of a step depend on nothing but its number.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hakobi

Array = NDArray[np.float32]
EXTENT = 1000
#: A time step; in 1 the deepest water carries a wave over one element.
STEP = 0.6


def depth() -> Array:
    """The sea: deep, with a shelf in the east, a ridge and an island. 0 is land."""
    y, x = np.mgrid[0 : 1 : EXTENT * 1j, 0 : 1 : EXTENT * 1j]
    floor = 1 - 0.8 / (1 + np.exp(-(x - 0.72 - 0.05 * np.sin(9 * y)) / 0.02))
    floor -= 0.6 * np.exp(-(((x - 0.42) / 0.03) ** 2) - ((y - 0.75) / 0.2) ** 2)
    floor[np.hypot(x - 0.55, y - 0.35) < 0.05] = 0
    floor[x > 0.94 + 0.02 * np.sin(14 * y)] = 0
    sea: Array = floor.astype(np.float32)
    return sea


def hump(rows: slice) -> Array:
    y, x = np.mgrid[0 : 1 : EXTENT * 1j, 0 : 1 : EXTENT * 1j]
    wave = np.exp(-(((x - 0.28) / 0.02) ** 2) - ((y - 0.5) / 0.22) ** 2)
    whole: Array = np.where(depth() > 0, wave, 0).astype(np.float32)
    return whole[rows]


class Waves:
    """One rank's rows of the sea, with a row of each neighbour."""

    def __init__(self, comm: hakobi.Comm) -> None:
        first, last = (EXTENT * (comm.rank + more) // comm.size for more in (0, 1))
        self.block = hakobi.Block((EXTENT, EXTENT), (first, 0), (last - first, EXTENT))
        self._grid = hakobi.HaloGrid((last - first, EXTENT), 1, (comm.size, 1))
        self._levels = [np.zeros(self._grid.shape(), np.float32) for _ in range(2)]
        self._halos = [hakobi.Halo.plan(comm, self._grid, [level], corners=False) for level in self._levels]
        self.now[...] = self.before[...] = hump(slice(first, last))
        floor = np.pad(depth(), 1)[first : last + 2]
        # Water flows between two elements as deep as the shallower one is; none flows out of the sea.
        self._down = STEP**2 * np.minimum(floor[:-1, 1:-1], floor[1:, 1:-1])
        self._right = STEP**2 * np.minimum(floor[1:-1, :-1], floor[1:-1, 1:])

    @property
    def now(self) -> Array:
        return self._levels[0][self._grid.own()]

    @property
    def before(self) -> Array:
        return self._levels[1][self._grid.own()]

    def advance(self) -> None:
        self._halos[0].exchange()
        level, before = self._levels
        down = self._down * (level[1:, 1:-1] - level[:-1, 1:-1])
        right = self._right * (level[1:-1, 1:] - level[1:-1, :-1])
        before[1:-1, 1:-1] *= -1
        before[1:-1, 1:-1] += 2 * level[1:-1, 1:-1]
        before[1:-1, 1:-1] += down[1:] - down[:-1] + right[:, 1:] - right[:, :-1]
        self._levels.reverse()
        self._halos.reverse()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hakobi.demo.solver")
    parser.add_argument("prefix")
    parser.add_argument("--method", default="pipelined")
    parser.add_argument("--waits", action="store_true", help="output is not hidden")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--between", type=int, default=20, help="time steps between two steps of output")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--told", type=Path, help="rank 0 writes what the run took, as JSON")
    given = parser.parse_args()
    hakobi.report_errors()
    comm = hakobi.Comm.duplicate()
    options: dict[str, Any] = {"asynchronous": False} if given.waits else {}
    waves, first = Waves(comm), 0
    Path(f"{given.prefix}.{comm.rank}.pid").write_text(str(os.getpid()))
    out = hakobi.Output.create(
        comm, given.prefix, method=given.method, if_exists="resume" if given.resume else "replace", **options
    )
    fields = [out.define(name, "m", (EXTENT, EXTENT), "float32", dims=["y", "x"]) for name in ("eta", "eta_before")]
    if given.resume:
        with hakobi.Input.open(given.prefix, comm) as steps:
            first = steps.steps[-1] + 1
            steps.read("eta", block=waves.block, out=waves.now)
            steps.read("eta_before", block=waves.block, out=waves.before)
    begin_s = time.perf_counter()
    for step in range(first, given.steps):
        for _ in range(given.between):
            waves.advance()
        out.begin_step((step + 1) * given.between * STEP)
        for field, level in zip(fields, (waves.now, waves.before), strict=True):
            out.put(field, waves.block, level)
        out.end_step()
    out.close()
    run_s = time.perf_counter() - begin_s
    if comm.rank == 0 and given.told:
        given.told.write_text(json.dumps({"run_s": run_s, "first": first, "ranks": comm.size}))
    Path(f"{given.prefix}.{comm.rank}.pid").unlink()
    comm.free()


if __name__ == "__main__":
    main()

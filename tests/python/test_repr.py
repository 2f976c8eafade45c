"""How public objects of the package are shown to a person who looks at one."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import hakobi
from building import needs_build
from running import run_python

LOOK = """
import hakobi, numpy as np
comm = hakobi.Comm.duplicate()
axis = hakobi.Axis("y", "m", [0.5, 1.0, 1.5])
print(comm, axis, sep="\\n")
out = hakobi.Output.create(comm, "plate", method="root", axes=[axis], asynchronous=False)
for step in range(2):
    out.begin_step(step)
    if not step:
        print(out)
    out.put("eta", "m", hakobi.Block((3,), (0,), (3,)), np.zeros(3))
    out.end_step()
print(out)
out.close()
print(out)
steps = hakobi.Input.open("plate")
print(steps)
print(steps.field("eta"))
steps.close()
print(steps)
topology = hakobi.Topology.declare([0, 0, 1, 1])
print(topology, topology.reorder((2, 2)), sep="\\n")
grid = hakobi.HaloGrid((4, 4), 1, (1, 1), True)
halo = hakobi.Halo.plan(comm, grid, [np.zeros(grid.shape())])
print(grid, halo, sep="\\n")
arrays = hakobi.BufferArrays.get(comm)
some = arrays.make()
some.append(np.zeros(3))
print(arrays, some, sep="\\n")
collectives = hakobi.Collectives.create(comm)
print(collectives, collectives.allreduce("float64", 4), sep="\\n")
with hakobi.open_store("fields", "flow") as store:
    print(store)
    store.archive("case=a,run=b,variable=p,step=1,block=0", np.zeros(3))
print(store.list(), repr(store.list()[0]), sep="\\n")
"""


def test_every_public_class_says_what_an_object_is() -> None:
    classes = [getattr(hakobi, name) for name in hakobi.__all__ if inspect.isclass(getattr(hakobi, name))]
    silent = [c.__name__ for c in classes if c.__repr__ is object.__repr__]
    assert len(classes) > 15
    assert not silent


@needs_build
@pytest.mark.programs
@pytest.mark.once
def test_objects_are_shown_in_a_line(tmp_path: Path) -> None:
    done = run_python(LOOK, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert all(line.startswith(("<hakobi.", "InputField(", "HaloGrid(")) for line in lines), done.stdout
    assert max(map(len, lines)) < 200
    for line in (
        "<hakobi.Comm: rank 0 of 1>",
        "<hakobi.Axis: y, 3 values in 'm': 0.5 to 1.5>",
        "<hakobi.Output: plate, root, a step is open>",
        "<hakobi.Output: plate, root, open>",
        "<hakobi.Output: plate, root, closed>",
        "<hakobi.Input: plate, 2 complete, steps 0 to 1; fields eta>",
        "<hakobi.Input: plate, closed>",
        "<hakobi.Topology: 4 ranks on 2 nodes>",
        "<hakobi.BufferArray: 1 piece, 24 bytes>",
        "<hakobi.Collectives: 1 rank, topology nodes>",
        "<hakobi.Store: fields>",
        "<hakobi.Listing: 1 field of fields>",
    ):
        assert line in lines, done.stdout

"""Halos, buffer arrays and where ranks are, from Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hakobi import launch, programs
from hakobi.errors import InputError
from hakobi.programs import Program

pytestmark = pytest.mark.programs

FLAVOUR = programs.flavour()
LIFE = Path(__file__).parents[2] / "examples" / "languages" / "life.py"
try:
    programs.find("hakobi-gather")
except InputError as reason:
    pytest.skip(str(reason), allow_module_level=True)

SCRIPT = """
import numpy as np
import hakobi

comm = hakobi.Comm.duplicate()
up, down = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
grid = hakobi.HaloGrid((3, 4), ((2, 1), (1, 1)), (comm.size, 1), (True, False))

def value(rank):
    return 1000 * rank + np.arange(12.0).reshape(3, 4)

# Memory that is shared, arrays of one's own in Fortran's order, and components on either side.
shared = hakobi.allocate_shared(comm, grid.shape())
turned = np.full(grid.shape(), -1.0, order="F")
last = np.full((*grid.shape(), 2), -1, np.float32)
first = np.full((2, *grid.shape()), -1, np.float32)
shared[...] = -1
for path in ("auto", "packed"):
    for array in (shared, turned):
        array[grid.own()] = value(comm.rank)
    last[grid.own()] = value(comm.rank)[..., None] * (1, 2)
    first[(slice(None), *grid.own())] = value(comm.rank) * np.array([1, 2])[:, None, None]
    for array, components in ((shared, "last"), (turned, "last"), (last, "last"), (first, "first")):
        halo = hakobi.Halo.plan(comm, grid, [array], components=components, path=path)
        assert halo.explain() == halo.explanation != ""
        halo.exchange()
        plain = array[..., 1] / 2 if array is last else array[1] / 2 if array is first else array
        assert np.array_equal(plain[:2, 1:-1], value(down)[-2:]), plain
        assert np.array_equal(plain[-1:, 1:-1], value(up)[:1]), plain
        assert np.array_equal(plain[2:-1, 1:-1], value(comm.rank)), plain
        assert (plain[:, 0] < 0).all(), plain

def refused(text, call):
    try:
        call()
    except hakobi.InputError as error:
        assert text in str(error), error
    else:
        raise SystemExit(f"wrong: taken, not '{text}'")

wrong = shared if comm.rank else np.zeros((3, 4))
refused("shape (3, 4)", lambda: hakobi.Halo.plan(comm, grid, [wrong]))
refused("did you mean 'packed'", lambda: hakobi.Halo.plan(comm, grid, [shared], path="paked"))
many = hakobi.HaloGrid((3, 4), ((2, 1), (1, 1)), (comm.size, 2), True)
refused("ranks", lambda: hakobi.Halo.plan(comm, many, [shared]))
thin = hakobi.HaloGrid((3, 4), ((4, 1), (1, 1)), (comm.size, 1), True)
refused("fewer than the 4", lambda: hakobi.Halo.plan(comm, thin, [np.zeros(thin.shape())]))
refused("no exchange is in progress", halo.wait)

arrays = hakobi.BufferArrays.get(comm)
sent, received = np.arange(3000) + 5000 * comm.rank, np.zeros((3, 1000), np.int64)
out, into = arrays.make(), arrays.make()
out.append(sent[:2000])
out.append(sent[2000:])
for row in received:
    into.append(row)
out.send(up, tag=7)
into.receive(down, tag=7)
while not into.done():
    pass
out.wait()
assert np.array_equal(received.ravel(), np.arange(3000) + 5000 * down)
refused("contiguous", lambda: out.append(sent[::2]))
refused("no rank", lambda: arrays.path_to(comm.size))
refused("no path", lambda: hakobi.BufferArrays.get(comm, path="cam"))

topology = hakobi.Topology.declare([0, 1] * 4)
order = topology.reorder((2, 4))
assert order.text() == "between nodes: 4 of 20 instead of 12 (67 % less)", order
assert topology.node_of(order.rank_at[0]) == topology.node_of(order.rank_at[1])
refused("places", lambda: topology.reorder((3, 4)))
back = hakobi.Reordering(tuple(range(comm.size))[::-1], 0, 0, 0)
turned_comm = hakobi.reordered(comm, back)
assert turned_comm.rank == comm.size - 1 - comm.rank
refused("not one of", lambda: hakobi.reordered(comm, order))
print("done")
"""


def run(script: Path, ranks: int, folder: Path, *arguments: str) -> str:
    python = Program(Path(sys.executable), FLAVOUR)
    found = launch.run(python, [str(script), *arguments], ranks, timeout_s=60, folder=folder)
    assert found.status == 0, found.stderr
    return found.stdout


@pytest.mark.parametrize("ranks", [1, 2])
def test_exchanges_and_refuses_alike_on_all_ranks(tmp_path: Path, ranks: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert "".join(run(script, ranks, tmp_path).split()) == "done" * ranks  # a launcher may join the ranks' lines


def test_life_goes_on_as_in_cpp(tmp_path: Path) -> None:
    program = programs.source_tree()
    cpp = program / "build" / FLAVOUR / "examples" / "life_cpp" if program else None
    if cpp is None or not cpp.is_file():
        pytest.skip("the examples are not built")
    found = launch.run(Program(cpp, FLAVOUR), [], 1, timeout_s=60, folder=tmp_path)
    assert found.stdout.startswith("life: "), found.stderr
    for path in ("auto", "packed"):
        assert run(LIFE, 2, tmp_path, path).strip() == found.stdout.strip()

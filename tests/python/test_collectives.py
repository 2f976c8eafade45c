"""hakobi.Collectives from Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hakobi import launch, programs
from hakobi.errors import InputError
from hakobi.programs import Program

pytestmark = pytest.mark.programs

FLAVOUR = programs.flavour()
try:
    programs.find("hakobi-gather")
except InputError as reason:
    pytest.skip(str(reason), allow_module_level=True)

SCRIPT = """
import numpy as np
import hakobi

comm = hakobi.Comm.duplicate()
collectives = hakobi.Collectives.create(comm, method="model", reproducible=True)
plan = collectives.allreduce(np.complex128, 3)
sums = np.zeros(3, np.complex128)
plan.execute(np.arange(3) * (1 + 1j) + comm.rank, sums)
assert np.array_equal(sums, comm.size * np.arange(3) * (1 + 1j) + comm.size * (comm.size - 1) / 2), sums
ours = np.array([comm.rank], np.int64)
everybody = np.full(comm.size, -1)
gather = collectives.allgather(8)
gather.start(ours, everybody)
gather.wait()
assert np.array_equal(everybody, np.arange(comm.size)), everybody
for wrong in (np.zeros(4), np.zeros(6)[::2], None):
    try:
        plan.execute(wrong, sums)
    except hakobi.InputError:
        continue
    raise SystemExit("wrong: taken")
try:
    hakobi.Collectives.create(comm, "torus:77")
except hakobi.InputError as error:
    assert "77 nodes" in str(error), error
else:
    raise SystemExit("wrong: taken")
collectives.free()
print("done")
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_sums_and_gathers_and_refuses_alike_on_all_ranks(tmp_path: Path, ranks: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    python = Program(Path(sys.executable), FLAVOUR)
    found = launch.run(python, [str(script)], ranks, timeout_s=60, folder=tmp_path)
    assert found.status == 0, found.stderr
    assert "".join(found.stdout.split()) == "done" * ranks  # a launcher may join the ranks' lines

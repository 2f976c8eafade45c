"""Output's option `overview`: the bytes of `hakobi index`, there before the step is."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hakobi import launch, programs
from hakobi.post import indexing
from hakobi.post.overview import path_of
from hakobi.programs import Program
from posting import open_step
from running import run_python

pytestmark = pytest.mark.programs

FLAVOUR = programs.flavour()
TSUNAMI = Path(__file__).resolve().parents[2] / "build" / FLAVOUR / "bin" / "hakobi-tsunami"

if not TSUNAMI.is_file():
    pytest.skip(f"{TSUNAMI} is not built", allow_module_level=True)


def run_alone(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_python("import hakobi, numpy as np\ncomm = hakobi.Comm.duplicate()\n" + text, folder)


def assert_near(one: Any, other: Any) -> None:
    """Equal, but for the last digits of numbers."""
    if isinstance(one, dict):
        assert list(one) == list(other)
        for name in one:
            assert_near(one[name], other[name])
    elif isinstance(one, list):
        assert len(one) == len(other)
        if sum(isinstance(v, int) for v in one) == len(one) > 10:  # a histogram: a value on an edge goes either way
            assert sum(one) == sum(other)
            assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= 4
            return
        for a, b in zip(one, other, strict=True):
            assert_near(a, b)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-12)
    else:
        assert one == other


def check_against_index(step: Path) -> None:
    """The step's overview has the entries that `hakobi index` makes, in order, byte for byte."""
    assert open_step(step).overview is not None
    path = path_of(step)
    made = path.rename(path.with_suffix(".made"))
    assert indexing.make_overview(step).state == "made"
    with zipfile.ZipFile(made) as ours, zipfile.ZipFile(path) as theirs:
        assert ours.testzip() is None
        assert ours.namelist() == theirs.namelist()
        for name in ours.namelist()[:-1]:
            assert ours.read(name) == theirs.read(name), name
        assert_near(*(json.loads(file.read("zarr.json")) for file in (ours, theirs)))


@pytest.mark.parametrize(("ranks", "way"), [(1, ["root"]), (2, ["pipelined"]), (3, ["pipelined", "--asynchronous"])])
def test_steps_of_a_run_come_with_their_overviews(tmp_path: Path, ranks: int, way: list[str]) -> None:
    arguments = ["--resolution=30", "--hours=0.2", "--steps-out=3", f"--output={tmp_path / 'run'}", "--overview"]
    if ranks == 3 and FLAVOUR == "mpich":
        ranks = 2  # MPICH spins while it waits
    done = launch.run(Program(TSUNAMI, FLAVOUR), [*arguments, "--method", *way], ranks, timeout_s=60)
    assert done.status == 0, done.stderr
    steps = sorted(tmp_path.glob("run_*.nc"))
    assert len(steps) >= 3
    assert {path.name for path in tmp_path.iterdir()} >= {path_of(step).name for step in steps}
    assert not [path for path in tmp_path.iterdir() if path.name.endswith((".part", ".lock"))]
    check_against_index(steps[-1])


def test_fields_of_all_types_in_two_and_three_dimensions(tmp_path: Path) -> None:
    text = """
z, y, x = (hakobi.Axis(name, "µm", [0.5 * i for i in range(n)]) for name, n in (("z", 70), ("y", 65), ("x", 100)))
out = hakobi.Output.create(comm, "run", axes=[z, y, x], overview=True)
out.begin_step(1.5)
rng = np.random.default_rng(1)
block, flat = hakobi.split((70, 65, 100), 1, 0), hakobi.split((65, 100), 1, 0)
values = rng.normal(3, 1000, (70, 65, 100))
values[:9, :9] = np.nan
out.put("u", "m s-1", block, values)
out.put("a__b", "1", block, values.astype("f4"))
out.put("depth", "m", flat, values[20].astype("f4") + 7)
out.put("one", "1", flat, np.full((65, 100), 273.25))
for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
    out.put(name, "1", flat, rng.integers(0, 99, (65, 100)).astype(name))
out.put("gaps", "1", flat, rng.integers(0, 9, (65, 100)).astype("int32"), fill_value=3)
out.put("holes", "1", flat, np.where(values[30] > 900, -99.0, values[30]), fill_value=-99.0)
for name, bright in (("f4", 3e38), ("f8", -1.7e308)):
    noise = rng.normal(0, 1e-25, (65, 100)).astype(name)
    noise[31, 77] = bright
    out.put("bright" + name, "1", flat, noise)
out.put("line", "1", hakobi.split((100,), 1, 0), np.arange(100.0))
out.end_step()
out.close()
"""
    done = run_alone(text, tmp_path)
    assert done.returncode == 0, done.stderr
    check_against_index(tmp_path / "run_000000.nc")


def test_what_has_no_place_for_it_is_refused(tmp_path: Path) -> None:
    for options in ('method="per-process"', 'compression="deflate"'):
        done = run_alone(f'hakobi.Output.create(comm, "run", {options}, overview=True)', tmp_path)
        assert "option overview" in done.stderr
        assert "hakobi index" in done.stderr
    assert not list(tmp_path.glob("run*"))


def test_an_overview_that_cannot_be_written_takes_no_step_with_it(tmp_path: Path) -> None:
    (tmp_path / "run_000001.nc.overview.zip").mkdir()
    (tmp_path / "run_000001.nc.overview.zip" / "full").touch()
    for asynchronous in (False, True):
        text = f"""
out = hakobi.Output.create(
    comm, "run", method="pipelined", asynchronous={asynchronous}, overview=True, if_exists="replace"
)
block = hakobi.split((40, 50), 1, 0)
for step in range(4):
    out.begin_step(step)
    out.put("eta", "m", block, np.full((40, 50), float(step)))
    out.end_step()
out.close()
"""
        done = run_alone(text, tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("run_000001.nc is whole, but has no overview (cannot rename") == 1, done.stderr
        steps = {f"run_{step:06}.nc" for step in range(4)}
        assert {path.name for path in tmp_path.iterdir()} == {
            "run.series.nc", *steps, *(name + ".overview.zip" for name in steps)
        }  # fmt: skip
        assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["run_000001.nc.overview.zip"]


def test_a_run_that_replaces_another_takes_its_overviews_too(tmp_path: Path) -> None:
    text = """
out = hakobi.Output.create(comm, "run", overview={}, if_exists="replace")
for step in range({}):
    out.begin_step(step)
    out.put("eta", "m", hakobi.split((40, 50), 1, 0), np.zeros((40, 50)))
    out.end_step()
out.close()
"""
    assert run_alone(text.format(True, 3), tmp_path).returncode == 0
    left = tmp_path / f"run_000001.nc.overview.zip.{'0' * 16}.part"
    left.touch()
    assert run_alone(text.format(False, 1), tmp_path).returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.series.nc", "run_000000.nc"]

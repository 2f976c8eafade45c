"""Several steps in one file: what a kill leaves, read by others' libraries, and Python's option.

HAKOBI_KILLS=200 kills so many runs; without it the suite kills 20.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import psutil
import pytest
import xarray

from hakobi import launch, programs
from hakobi.programs import Program
from running import Result, run_python

FLAVOUR = programs.flavour()
RUN = Path(__file__).resolve().parents[2] / "build" / FLAVOUR / "tests" / "endless_run"
Command = Callable[..., Result]
NUM_KILLS = int(os.environ.get("HAKOBI_KILLS", "20"))


def expect_whole_mesh(path: Path) -> int:
    """The same of a mesh's file, for HDF5."""
    with h5py.File(path, "r", locking=False) as file:
        grid = file["VTKHDF"]
        num = int(grid["Steps"].attrs["NSteps"])
        steps = np.arange(num)
        np.testing.assert_array_equal(grid["Steps/Values"], steps)
        for name, size in (("CellData/p", 6000), ("PointData/T", 12004)):
            np.testing.assert_array_equal(
                grid[name][()].reshape(num, size), np.broadcast_to(steps[:, None], (num, size))
            )
            offsets = grid[f"Steps/{name.replace('Data/', 'DataOffsets/')}"]
            np.testing.assert_array_equal(offsets, size * steps)
        assert grid["Points"].shape == (12004, 3)
        assert grid["Connectivity"][-1] == 6000
        np.testing.assert_array_equal(grid["Types"], np.full(6000, 9))
    return num


def expect_whole_for_vtk(path: Path, num: int) -> None:
    """Where it is installed; in a process of its own, since it brings an HDF5 library."""
    if importlib.util.find_spec("vtkmodules") is None:
        return
    code = """
import sys
from vtkmodules.vtkIOHDF import vtkHDFReader
reader = vtkHDFReader()
reader.SetFileName(sys.argv[1])
for step in range(int(sys.argv[2])):
    reader.UpdateTimeStep(float(step))
    whole = reader.GetOutputDataObject(0)
    pieces = [whole.GetPartition(i) for i in range(whole.GetNumberOfPartitions())]
    print(whole.GetNumberOfCells(), *(p.GetCellData().GetArray("p").GetRange() for p in pieces))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), str(num)], capture_output=True, text=True, timeout=120, check=True
    )
    right = [f"6000 {(float(s), float(s))} {(float(s), float(s))}" for s in range(num)]
    assert done.stdout.splitlines() == right, done.stderr


def expect_whole(path: Path) -> int:
    """Every step that the file shows has all its values, for HDF5 and for netCDF. Returns how many there are."""
    if path.suffix == ".hdf":
        return expect_whole_mesh(path)
    with h5py.File(path, "r", locking=False) as file:
        num = len(file["time"])
        steps = np.arange(num)
        np.testing.assert_array_equal(file["time"], steps)
        for name in ("eta", "packed"):
            assert file[name].shape == (num, 60, 101)
            np.testing.assert_array_equal(file[name][()], np.broadcast_to(steps[:, None, None], (num, 60, 101)))
    with netCDF4.Dataset(path) as data:
        assert data.dimensions["time"].isunlimited()
        assert data["eta"].shape[0] == num
        assert (data["eta"][num - 1] == num - 1).all()
    return num


def wait_for_ranks(prefix: str) -> None:
    """Those that the launcher has put into groups of their own end with it, but not at once."""
    for _ in range(6000):
        running = [p for p in psutil.process_iter(["cmdline"]) if prefix in (p.info["cmdline"] or ())]
        if not running:
            return
        time.sleep(0.01)
    raise AssertionError(running)


@pytest.mark.programs
@pytest.mark.skipif(not RUN.is_file(), reason=f"{RUN} is not built")
@pytest.mark.parametrize("asynchronous", ["0", "1"])
@pytest.mark.parametrize(("kind", "suffix"), [("netcdf4", ".nc"), ("vtkhdf", ".hdf")])
def test_a_kill_costs_no_step_that_was_committed(tmp_path: Path, asynchronous: str, kind: str, suffix: str) -> None:
    draw = random.Random(int(os.environ.get("HAKOBI_SEED", "1")))
    folder = path = tmp_path
    committed = 0
    for kill in range(NUM_KILLS // 2):
        if kill % 4 == 0:  # else a run goes on in the file of the one before
            folder, committed = tmp_path / f"from_{kill}", 0
            path = folder / f"run_000000{suffix}"
        method = draw.choice(["root", "pipelined"])
        mode = "resume" if path.exists() else "fail"
        command = launch.command_line(Program(RUN, FLAVOUR), [str(folder / "run"), method, mode, kind], 2)
        process = subprocess.Popen(
            command,
            env=launch.environment(FLAVOUR, {"HAKOBI_ASYNCHRONOUS": asynchronous}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        size = path.stat().st_size if path.exists() else 0
        try:  # the run has no end of its own
            for _ in range(6000):
                if process.poll() is not None or (path.exists() and path.stat().st_size > size):
                    break
                time.sleep(0.01)
            time.sleep(draw.uniform(0, 0.2))
            assert process.poll() is None, process.communicate()[1]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
        wait_for_ranks(str(folder / "run"))
        num = expect_whole(path)
        assert num >= committed, (kill, errors)
        committed = num
        # The commits of hidden steps stay for the next opener.
        commits = [p for p in folder.glob(f"run_*{suffix}.commit.*.part") if asynchronous == "1"]
        assert [p.name for p in folder.glob("run_*") if p not in commits] == [path.name], errors
    if suffix == ".hdf":
        expect_whole_for_vtk(path, committed)
        return
    with xarray.open_dataset(path, engine="h5netcdf", decode_times=False) as data:
        assert float(data.eta[-1].max()) == committed - 1


WRITE = """
import hakobi, numpy as np
comm = hakobi.Comm.duplicate()
with hakobi.Output.create(comm, "run", steps_per_file={steps}, asynchronous=False) as out:
    block = hakobi.split((4, 5), 1, 0)
    for step in range(5):
        out.begin_step(step)
        out.put("eta", "m", block, np.full((4, 5), step, np.float64))
        out.end_step()
"""


STOPPED = """
import os, signal, sys, time
import numpy as np
import hakobi

method, num, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
comm = hakobi.Comm.duplicate()
out = hakobi.Output.create(comm, "run", method=method, asynchronous=True, steps_per_file="all", if_exists="resume")
block = hakobi.split((50, 40), comm.size, comm.rank)
for step in range(num):
    out.begin_step(float(step))
    out.put("eta", "m", block, np.full(block.count, step + 1.0))
    out.end_step()
print("ended", num, flush=True)
time.sleep(1)
os.kill(os.getpid(), getattr(signal, how))
"""


LAST_VALUES = """
import hakobi
steps = hakobi.Input.open("run")
print([float(steps.read("eta", step=step)[49, 39]) for step in steps.steps])
"""


@pytest.mark.programs
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
@pytest.mark.parametrize("method", ["pipelined", "root"])
@pytest.mark.parametrize("num", [1, 6])
def test_hidden_steps_that_are_stored_survive_a_kill(tmp_path: Path, how: str, method: str, num: int) -> None:
    """They are accepted, stored, and not in the file yet."""
    for run in (1, 2):
        done = run_python(STOPPED, tmp_path, method, str(num), how)
        assert f"ended {num}" in done.stdout, done.stderr
        if how == "SIGTERM":
            assert "before step" in done.stderr, done.stderr
        # The second run has completed those of the first before it began.
        read = run_python(LAST_VALUES, tmp_path)
        assert read.stdout.strip() == str([s + 1.0 for s in range(num)] * run), read.stderr
        assert "completed step" in read.stderr, read.stderr
        assert expect_shown(tmp_path) == num * run
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.series.nc", "run_000000.nc"]


def expect_shown(folder: Path) -> int:
    with netCDF4.Dataset(folder / "run_000000.nc") as file, netCDF4.Dataset(folder / "run.series.nc") as series:
        assert np.array_equal(file["eta"][...], series["eta"][...])
        return len(file["time"])


@pytest.mark.programs
def test_python_says_how_many_steps_a_file_takes(tmp_path: Path) -> None:
    done = run_python(WRITE.format(steps="2"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in tmp_path.glob("run_*.nc")) == ["run_000000.nc", "run_000002.nc", "run_000004.nc"]
    with netCDF4.Dataset(tmp_path / "run.series.nc") as data:
        assert (data["eta"][:, 0, 0] == np.arange(5)).all()
    done = run_python(WRITE.format(steps="'all'").replace('"run"', '"all"'), tmp_path)
    assert done.returncode == 0, done.stderr
    assert [p.name for p in tmp_path.glob("all_*.nc")] == ["all_000000.nc"]


@pytest.mark.programs
def test_files_of_several_steps_are_listed_by_their_steps(tmp_path: Path, hakobi: Command) -> None:
    assert run_python(WRITE.format(steps="2"), tmp_path).returncode == 0
    lines = hakobi("ls", tmp_path).stdout.splitlines()
    assert lines[0].startswith("run_######.nc: 5 steps (0 to 4), NetCDF-4")
    assert "times: 0 to 4 s, every 1" in lines
    drawn = []
    for step in ("2", "3", "2.1"):
        assert hakobi("post", tmp_path / "run", "--picture", tmp_path / "out.png", "--step", step).status == 0
        drawn.append((tmp_path / "out.png").read_bytes())
    assert drawn[0] != drawn[1] == drawn[2]
    none = hakobi("post", tmp_path / "run", "--picture", tmp_path / "out.png", "--step", "5")
    assert (none.status, "there is no step 5: they go from 0 to 4" in none.line()) == (2, True)


@pytest.mark.programs
@pytest.mark.parametrize("steps", ["0", "-3", "'some'"])
def test_python_refuses_what_is_no_number_of_steps(tmp_path: Path, steps: str) -> None:
    done = run_python(WRITE.format(steps=steps), tmp_path)
    assert "InputError" in done.stderr
    assert "steps_per_file" in done.stderr
    assert not list(tmp_path.glob("run_*"))

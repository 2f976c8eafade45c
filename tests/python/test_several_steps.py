"""Several steps in one file: what a kill leaves, read by others' libraries, and Python's option.

HAKOBI_KILLS=200 kills so many runs; without it the suite kills 20.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import xarray

from hakobi import launch, programs
from hakobi.programs import Program
from running import Result, run_python

FLAVOUR = programs.flavour()
RUN = Path(__file__).resolve().parents[2] / "build" / FLAVOUR / "tests" / "endless_run"
Command = Callable[..., Result]
NUM_KILLS = int(os.environ.get("HAKOBI_KILLS", "20"))


def expect_whole(path: Path) -> int:
    """Every step that the file shows has all its values, for HDF5 and for netCDF. Returns how many there are."""
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


@pytest.mark.programs
@pytest.mark.skipif(not RUN.is_file(), reason=f"{RUN} is not built")
@pytest.mark.parametrize("asynchronous", ["0", "1"])
def test_a_kill_costs_no_step_that_was_committed(tmp_path: Path, asynchronous: str) -> None:
    draw = random.Random(int(os.environ.get("HAKOBI_SEED", "1")))
    folder = path = tmp_path
    committed = 0
    for kill in range(NUM_KILLS // 2):
        if kill % 4 == 0:  # else a run goes on in the file of the one before
            folder, committed = tmp_path / f"from_{kill}", 0
            path = folder / "run_000000.nc"
        method = draw.choice(["root", "pipelined"])
        mode = "resume" if path.exists() else "fail"
        command = launch.command_line(Program(RUN, FLAVOUR), [str(folder / "run"), method, mode], 2)
        process = subprocess.Popen(
            command,
            env=launch.environment(FLAVOUR, {"HAKOBI_ASYNCHRONOUS": asynchronous}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        size = path.stat().st_size if path.exists() else 0
        deadline = time.monotonic() + 60
        while process.poll() is None and (not path.exists() or path.stat().st_size <= size):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(draw.uniform(0, 0.2))
        os.killpg(process.pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
        time.sleep(0.05)  # ranks that the launcher has put into groups of their own end with it
        num = expect_whole(path)
        assert num >= committed, (kill, errors)
        committed = num
        assert [p.name for p in folder.glob("run_*.nc")] == ["run_000000.nc"]
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


@pytest.mark.programs
@pytest.mark.parametrize("steps", ["0", "-3", "'some'"])
def test_python_refuses_what_is_no_number_of_steps(tmp_path: Path, steps: str) -> None:
    done = run_python(WRITE.format(steps=steps), tmp_path)
    assert "InputError" in done.stderr
    assert "steps_per_file" in done.stderr
    assert not list(tmp_path.glob("run_*"))

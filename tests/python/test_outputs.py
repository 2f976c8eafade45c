"""hakobi.Outputs from Python: means and extremes against NumPy's, times that xarray decodes, a run that goes on."""

from __future__ import annotations

import inspect
import os
import random
import re
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import xarray

import hakobi
from building import FLAVOUR, ROOT, build, needs_build
from hakobi import launch
from hakobi.programs import Program
from running import run_python

pytestmark = [pytest.mark.programs, needs_build]

SHAPE = (6, 5)


def values_of(step: int) -> npt.NDArray[np.float64]:
    values = np.random.default_rng(step).normal(280.0, 9.0, SHAPE)
    values[0, 0] = np.nan
    values[step % 6, 3] = np.nan
    return values


#: A program whose steps are hours: its outputs are "raw", "mean" and "all".
PROGRAM = f"""
import os, sys
import numpy as np
import numpy.typing as npt
import hakobi

SHAPE = {SHAPE}
{inspect.getsource(values_of)}

def outputs(comm, if_exists, resume_at=None):
    outs = hakobi.Outputs.create(
        comm, "state", time_units="hours since 2001-01-01", calendar="noleap", if_exists=if_exists, resume_at=resume_at
    )
    t = outs.define("t", "K", SHAPE, long_name="temperature")
    mean = [hakobi.Derived("t", "mean"), hakobi.Derived("t", "maximum", name="hottest", attributes={{"level": 2}})]
    outs.add("raw", [hakobi.Derived("t", store_as="float32")], method="root")
    outs.add("mean", [*mean, hakobi.Derived("t", "standard_deviation")], every="6h", title="Means")
    outs.add("all", [hakobi.Derived("t", "minimum")], every="run")
    return outs, t

def run(comm, outs, t, first, last, checkpoint=None):
    block = hakobi.split(SHAPE, comm.size, comm.rank)
    for step in range(first, last + 1):
        outs.begin_step(step)
        values = np.full((block.count[0] + 2, block.count[1] + 2), -1.0)
        values[1:-1, 1:-1] = values_of(step)[block.slices]
        outs.put(t, block, values[1:-1, 1:-1])
        outs.end_step()
        if step == checkpoint:
            outs.checkpoint()
"""


def whole_run(folder: Path) -> None:
    done = run_python(
        PROGRAM
        + """
comm = hakobi.Comm.duplicate()
with outputs(comm, "fail")[0] as outs:
    assert outs.resume_time is None
outs, t = outputs(comm, "replace")
run(comm, outs, t, 0, 14)
assert "every 6h" in outs.explain()
outs.close()
outs.close()
assert "missing values were left out" in outs.explain()
print(outs)
""",
        folder,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "<hakobi.Outputs: state, closed>\n"
    assert "mean: the run ends inside an interval" in done.stderr


def steps_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("[!s]*_0*.nc")}


def test_values_are_those_of_extended_precision(tmp_path: Path) -> None:
    whole_run(tmp_path)
    values = np.array([values_of(step) for step in range(15)], np.longdouble)
    with xarray.open_dataset(tmp_path / "mean.series.nc") as data:
        assert [str(time) for time in data.time.values] == ["2001-01-01 06:00:00", "2001-01-01 12:00:00"]
        assert [str(time) for time in data.time_bnds.values[1]] == ["2001-01-01 06:00:00", "2001-01-01 12:00:00"]
        assert data.t_mean.cell_methods == "time: mean"
        assert data.hottest.level == 2
        assert data.title == "Means"
        for number, interval in enumerate((values[1:7], values[7:13])):
            extremes = values[0:7] if number == 0 else interval  # they have the first step, which stands for no time
            with np.errstate(invalid="ignore"):
                num = np.sum(~np.isnan(interval), axis=0)
                mean = np.nansum(interval, axis=0) / num
                spread = np.sqrt(np.nansum((interval - mean) ** 2, axis=0) / num)
            np.testing.assert_array_equal(data.t_mean[number], mean.astype(np.float64))
            np.testing.assert_array_equal(data.hottest[number], np.fmax.reduce(extremes, axis=0).astype(np.float64))
            np.testing.assert_allclose(data.t_standard_deviation[number], spread.astype(np.float64), rtol=1e-14)
    with xarray.open_dataset(tmp_path / "all.series.nc") as data:
        np.testing.assert_array_equal(data.t_minimum[0], np.fmin.reduce(values, axis=0).astype(np.float64))
    assert len(list(tmp_path.glob("raw_0*.nc"))) == 15


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_that_was_killed_goes_on(tmp_path: Path, mpi4py_environment: dict[str, str], ranks: int) -> None:
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole_run(tmp_path / "whole")
    killed = run_python(
        PROGRAM
        + """
comm = hakobi.Comm.duplicate()
outs, t = outputs(comm, "fail")
run(comm, outs, t, 0, 10, checkpoint=8)
os._exit(7)
""",
        tmp_path / "killed",
    )
    assert killed.returncode == 7, killed.stderr
    script = tmp_path / "resume.py"
    script.write_text(
        PROGRAM
        + """
from mpi4py import MPI
comm = hakobi.Comm.duplicate(MPI.COMM_WORLD)
outs, t = outputs(comm, "resume")
assert outs.resume_time == 8
run(comm, outs, t, 9, 14)
outs.close()
comm.free()
"""
    )
    python = Program(Path(sys.executable), FLAVOUR)
    resumed = launch.run(
        python,
        [str(script)],
        ranks,
        timeout_s=60,
        extra_environment=mpi4py_environment,
        folder=tmp_path / "killed",
    )
    assert resumed.status == 0, resumed.stderr
    expected = steps_in(tmp_path / "whole")
    assert len(expected) == 15 + 2 + 1
    assert steps_in(tmp_path / "killed") == expected


#: A run of 40 steps, with a checkpoint after each third; a rank kills itself in a step, or none does.
KILLED = """
from mpi4py import MPI
import signal
comm = hakobi.Comm.duplicate(MPI.COMM_WORLD)
victim, step_of_death, is_late = (int(text) for text in sys.argv[1:])
outs, t = outputs(comm, "resume")
block = hakobi.split(SHAPE, comm.size, comm.rank)
for step in range(0 if outs.resume_time is None else int(outs.resume_time) + 1, 41):
    dies = comm.rank == victim and step == step_of_death
    outs.begin_step(step)
    outs.put(t, block, np.ascontiguousarray(values_of(step)[block.slices]))
    if dies and not is_late:
        os.kill(os.getpid(), signal.SIGKILL)
    outs.end_step()
    if dies:
        os.kill(os.getpid(), signal.SIGKILL)
    if step % 3 == 2:
        outs.checkpoint()
outs.close()
comm.free()
"""

#: HAKOBI_OUTPUT_KILLS=40 kills in each step; without it the suite kills in some.
NUM_KILLS = int(os.environ.get("HAKOBI_OUTPUT_KILLS", "3"))


@pytest.mark.timeout(60 + 20 * NUM_KILLS)
def test_a_run_killed_in_any_step_writes_the_same_bytes(tmp_path: Path, mpi4py_environment: dict[str, str]) -> None:
    script = tmp_path / "run.py"
    script.write_text(PROGRAM + KILLED)

    def run(folder: Path, ranks: int, *arguments: int) -> launch.Finished:
        folder.mkdir(exist_ok=True)
        return launch.run(
            Program(Path(sys.executable), FLAVOUR),
            [str(script), *map(str, arguments)],
            ranks,
            timeout_s=60,
            extra_environment=mpi4py_environment,
            folder=folder,
        )

    assert run(tmp_path / "whole", 1, -1, -1, 0).status == 0
    expected = steps_in(tmp_path / "whole")
    assert len(expected) == 41 + 6 + 1
    draw = random.Random(4)
    for number, step in enumerate(sorted(draw.sample(range(1, 41), NUM_KILLS))):
        folder, ranks, is_late = tmp_path / f"killed_{step}", 1 + number % 2, draw.randrange(2)
        assert run(folder, ranks, draw.randrange(ranks), step, is_late).status != 0
        resumed = run(folder, 2 - number % 2, -1, -1, 0)
        assert resumed.status == 0, (step, is_late, resumed.stderr)
        assert steps_in(folder) == expected, (step, is_late, ranks)


REFUSED = """
comm = hakobi.Comm.duplicate()
def say(call):
    try:
        call()
    except hakobi.HakobiError as error:
        print(f"{type(error).__name__}: {error}")
say(lambda: hakobi.Outputs.create(comm, "other", if_exists="resum"))
say(lambda: hakobi.Outputs.create(comm, "other", begin_time="now"))
say(lambda: hakobi.Outputs.create(comm, "other", if_exists="resume", resume_at=3.0))
outs, t = outputs(comm, "fail")
say(lambda: outs.define("t", "K", SHAPE))
say(lambda: outs.define("u", dtype="datetime64[s]"))
say(lambda: outs.add("new", [hakobi.Derived("t", "mean")], every="2h", compresion="zstd"))
say(lambda: outs.add("new", ["t"], every="2h"))
say(lambda: outs.add("new", [hakobi.Derived("t", "mean", attributes={"a": None})], every="2h"))
say(lambda: outs.put(t, None, np.zeros(3)))
say(lambda: outs.begin_step(np.nan))
outs.begin_step(0)
outs.put(t, hakobi.Block(SHAPE, (0, 0), SHAPE), np.zeros((2, 2)))
say(outs.end_step)
outs.close()
say(lambda: outs.checkpoint())
say(lambda: outs.begin_step(1))
say(lambda: outs.resume_time)
"""


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    done = run_python(PROGRAM + REFUSED, tmp_path)
    assert done.returncode == 0, done.stderr
    expected = [
        "InputError: unknown if_exists 'resum': did you mean 'resume'?",
        "InputError: ",
        "InputError: Outputs::create: other has no checkpoint of time 3.0",
        "InputError: define: field t is defined already",
        "InputError: field u: dtype <M8[s]",
        "InputError: output new: unknown option 'compresion': did you mean 'compression'?",
        "InputError: output new: a field is a str, not a hakobi.Derived",
        "InputError: output new: field t: attribute a is no text",
        "InputError: put: no step is open (begin_step)",
        "InputError: begin_step: time nan is not later",
        "InputError: field t: the array's shape (2, 2) is not the block's (6, 5)",
        "InputError: checkpoint: the outputs are closed",
        "InputError: begin_step: the outputs are closed",
        "InputError: resume_time: the outputs are closed",
    ]
    lines = done.stdout.splitlines()
    assert len(lines) == len(expected), done.stdout
    for line, begin in zip(lines, expected, strict=True):
        assert line.startswith(begin), line


def test_flush_gives_a_hidden_step_its_name(tmp_path: Path) -> None:
    done = run_python(
        """
import hakobi, numpy as np, pathlib
comm = hakobi.Comm.duplicate()
out = hakobi.Output.create(comm, "run", method="pipelined", asynchronous=True)
out.begin_step(0)
out.put("a", "m", hakobi.Block((3,), (0,), (3,)), np.zeros(3))
out.end_step()
out.flush()
assert pathlib.Path("run_000000.nc").is_file()
out.close()
""",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr


def test_a_derived_field_is_shown_as_it_is_made() -> None:
    assert "cell_method='mean'" in repr(hakobi.Derived("t", "mean"))


@pytest.mark.once
def test_the_guides_program_makes_what_the_guide_says(tmp_path: Path) -> None:
    found = re.search(r"^```cpp\n(.*?)^```$", (ROOT / "docs" / "outputs.md").read_text(), re.MULTILINE | re.DOTALL)
    assert found
    program = build("cpp", found.group(1), tmp_path / "program")
    done = launch.run(Program(program, FLAVOUR), (), 2, timeout_s=60, folder=tmp_path)
    assert done.status == 0, done.stderr
    with xarray.open_dataset(tmp_path / "hourly.series.nc") as data:
        assert data.t.shape == (49, 60, 40)
    with xarray.open_dataset(tmp_path / "daily.series.nc") as data:
        assert data.t_mean.shape == (2, 60, 40)
        assert data.t_maximum.max() == 327

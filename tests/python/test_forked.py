"""Children that a program makes by fork: they hold no lock of their parent, and end, close and remove nothing of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hakobi import launch, programs
from running import run_python

pytestmark = pytest.mark.programs

FLAVOUR = programs.flavour()
#: Steps 0 and 1 are the parent's; `act` is what it does between them.
WRITER = """
import os, signal, sys, time
import numpy as np
import hakobi
prefix, act, options = sys.argv[1], sys.argv[2], eval(sys.argv[3])
comm = hakobi.Comm.duplicate()
block = hakobi.split((50, 40), comm.size, comm.rank)
def put(out, step):
    out.begin_step(step)
    out.put("eta", "m", block, np.full(block.count, step + 0.5))
    out.end_step()
out = hakobi.Output.create(comm, prefix, if_exists="resume", **options)
first = int(sys.argv[4])
put(out, first)
if act:
    child = os.fork()
    if child == 0:
        if act == "sleep":
            time.sleep(60)
        if act == "close":
            out.close()
        if act == "step":
            try:
                put(out, first + 1)
                os._exit(1)
            except hakobi.InputError as error:
                assert "this process was forked" in str(error), error
        if act == "drop":
            del out
            import gc
            gc.collect()
        if act == "exit" or act == "drop":
            sys.exit(0)
        os._exit(0)
    if act != "sleep":
        assert os.waitpid(child, 0)[1] == 0
put(out, first + 1)
print("child", child if act else 0, flush=True)
if act == "sleep":
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
out.close()
"""
READ = """
import sys, hakobi
series = hakobi.Input.open(sys.argv[1])
for step in series.steps:
    assert (series.read("eta", step=step) == step + 0.5).all(), step
print(list(series.steps))
"""
OPTIONS = {
    "step": {},
    "grown": {"steps_per_file": "all"},
    "zarr": {"format": "zarr"},
    "pieces": {"method": "per-process"},
    "not-hidden": {"asynchronous": False},
}


def write(folder: Path, act: str, kind: str, first: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_python(WRITER, folder, str(folder / "run"), act, repr(OPTIONS[kind]), str(first), **environment)


def steps(folder: Path) -> str:
    read = run_python(READ, folder, str(folder / "run"))
    assert read.returncode == 0, read.stderr
    return read.stdout.strip()


@pytest.mark.parametrize("act", ["close", "step", "drop", "exit"])
@pytest.mark.parametrize("kind", OPTIONS)
def test_what_a_child_does_changes_nothing(tmp_path: Path, act: str, kind: str) -> None:
    written = write(tmp_path, act, kind)
    assert written.returncode == 0, written.stderr
    assert steps(tmp_path) == "[0, 1]"
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".part", ".whole", ".lock")]


@pytest.mark.parametrize(  # a file that grows is not carried
    ("kind", "is_staged"), [("step", False), ("step", True), ("grown", False), ("zarr", False), ("zarr", True)]
)
def test_a_child_that_outlives_a_killed_run_keeps_nobody_out(tmp_path: Path, kind: str, is_staged: bool) -> None:
    stage = tmp_path / "nvme"
    stage.mkdir()
    environment = {"HAKOBI_STAGE": str(stage)} if is_staged else {}
    arguments = [str(tmp_path / "run"), "sleep", repr(OPTIONS[kind]), "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, *arguments],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=launch.environment(FLAVOUR, environment),
        cwd=tmp_path,
    )
    assert process.stdout is not None
    child = int(process.stdout.readline().split()[1])
    try:
        assert process.wait(60) == -signal.SIGKILL
        os.kill(child, 0)  # it lives
        written = write(tmp_path, "", kind, first=2, **environment)
        assert written.returncode == 0, written.stderr
        assert steps(tmp_path) == "[0, 1, 2, 3]"
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()

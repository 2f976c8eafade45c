"""The ranks of a command or launcher that is killed: by the real launcher of the MPI library that the programs use."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from hakobi import programs
from hakobi.errors import InputError
from running import children_called, has_ended

pytestmark = pytest.mark.programs

_STUDY = """
import sys
from pathlib import Path
from hakobi import launch, programs
program = programs.Program(Path(sys.argv[1]), programs.flavour())
launch.run(program, [sys.argv[2]], 2)
"""


#: A rank that is not in MPI (yet): nothing of MPI tells it that its launcher is gone.
_RANK = """
import os, sys, time
open(sys.argv[1] + str(os.getpid()), 'w').close()
time.sleep(120)
"""


@pytest.mark.parametrize("victim", ["command", "launcher"])
@pytest.mark.parametrize("kind", ["with MPI", "before MPI_Init"])
def test_ranks_end_with_a_killed_launcher(tmp_path: Path, victim: str, kind: str) -> None:
    for name in ("hakobi-with-parent", "hakobi-bench-mpi"):
        try:
            programs.find(name)
        except InputError as reason:
            pytest.skip(str(reason))
    program = tmp_path / "rank"
    program.write_text(f"#!{sys.executable} -S\n{_RANK}")
    program.chmod(0o755)
    folder = tmp_path / "pids"
    folder.mkdir()
    if kind == "with MPI":
        path, argument = programs.find("hakobi-bench-mpi").path, "--budget=100"
    else:
        path, argument = program, f"{folder}/"
    command = [sys.executable, "-c", _STUDY, str(path), argument]
    study = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        end_s = time.monotonic() + 60
        ranks: list[psutil.Process] = []
        while len(ranks) < 2 and time.monotonic() < end_s:
            ranks = [
                child
                for child in children_called(path.name, study.pid)
                if kind == "with MPI" or (folder / str(child.pid)).exists()
            ]
            time.sleep(0.1)
        assert len(ranks) == 2
        if kind == "with MPI":
            time.sleep(1.0)  # into MPI, whose own threads may hold a rank back
        launcher = psutil.Process(study.pid).children()[0]
        (psutil.Process(study.pid) if victim == "command" else launcher).kill()
        study.wait(timeout=30)
        _gone, alive = psutil.wait_procs([launcher, *ranks], timeout=20)
        assert all(has_ended(process.pid) for process in alive)
    finally:
        for process in [*ranks, psutil.Process(study.pid)] if study.poll() is None else ranks:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        study.wait()

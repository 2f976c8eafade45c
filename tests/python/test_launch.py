from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from hakobi import allocation, launch, reasons
from hakobi.errors import InputError, RunError
from hakobi.programs import Program
from running import has_ended, launcher_that_records


def script(tmp_path: Path, text: str, name: str = "hakobi-script") -> Program:
    path = tmp_path / name
    path.write_text(f"#!{sys.executable} -S\n{text}\n")
    path.chmod(0o755)
    return Program(path, "openmpi")


@pytest.fixture(autouse=True)
def _fake_launcher(waves: Path) -> None:
    """Every test here uses the pretended mpiexec."""


def test_open_mpi_is_told_to_yield_and_mpich_is_told_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = launch.command_line(Program(Path("/p/x"), "openmpi"), ["--a", "1"], 4)
    assert line[1:3] == ["--oversubscribe", "--bind-to"]
    assert line[-5:] == ["-n", "4", "/p/x", "--a", "1"]
    hydra = launcher_that_records(tmp_path, "mpiexec", "HYDRA build details:")
    monkeypatch.setenv("HAKOBI_MPIEXEC", str(hydra))
    launch.launcher.cache_clear()
    assert launch.command_line(Program(Path("/p/x"), "mpich"), [], 2)[1:] == ["-n", "2", "/p/x"]


def test_root_may_run_open_mpi_and_others_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMPI_ALLOW_RUN_AS_ROOT", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert launch.environment("openmpi")["OMPI_ALLOW_RUN_AS_ROOT"] == "1"
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in launch.environment("mpich")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in launch.environment("openmpi", {"A": "b"})


def test_output_status_and_ranks_come_back(tmp_path: Path) -> None:
    program = script(tmp_path, "import os, sys; print(os.environ['FAKE_RANKS'], sys.argv[1:]); sys.exit(3)")
    finished = launch.run(program, ["x"], 5)
    assert (finished.status, finished.stdout) == (3, "5 ['x']\n")
    assert finished.wall_s > 0


def test_a_missing_launcher_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAKOBI_MPIEXEC", "no-such-mpiexec")
    with pytest.raises(InputError, match="HAKOBI_MPIEXEC=no-such-mpiexec is no program"):
        launch.mpiexec("openmpi")
    monkeypatch.delenv("HAKOBI_MPIEXEC")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match="no mpiexec of mpich in PATH"):
        launch.mpiexec("mpich")


def test_the_users_own_launcher_comes_before_the_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, name, text in (
        ("own", "mpiexec", "mpiexec (Open MPI) 5.0.11"),
        ("system", "mpiexec.openmpi", "mpirun (Open MPI) 4.1.4"),
        ("system", "mpiexec.mpich", "HYDRA build details:"),
    ):
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{text}'\n")
        path.chmod(0o755)
    monkeypatch.delenv("HAKOBI_MPIEXEC")
    monkeypatch.setenv("PATH", f"{tmp_path}/own:{tmp_path}/system:/usr/bin:/bin")
    assert launch.mpiexec("openmpi") == tmp_path / "own" / "mpiexec"
    assert launch.mpiexec("mpich") == tmp_path / "system" / "mpiexec.mpich"


_FAMILY = """
import os, sys, time
if os.fork() == 0:
    os.setpgid(0, 0)  # as Open MPI's ranks
    {child}
    open(sys.argv[1], "w").write(str(os.getpid()))
    time.sleep(60)
time.sleep(60)
"""


def wait_for_pid(path: Path) -> int:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.02)
    raise AssertionError(f"no {path}")


@pytest.mark.parametrize("child", ["pass", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"])
def test_a_time_limit_ends_the_whole_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, child: str) -> None:
    monkeypatch.setattr(launch, "GRACE_S", 0.5)
    program = script(tmp_path, _FAMILY.format(child=child))
    with pytest.raises(RunError, match="hakobi-script on 2 ranks took longer than 3 s and was ended"):
        launch.run(program, [str(tmp_path / "pid")], 2, timeout_s=3)
    pid = wait_for_pid(tmp_path / "pid")
    assert has_ended(pid)


def test_ctrl_c_ends_the_whole_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "GRACE_S", 0.5)
    program = script(tmp_path, _FAMILY.format(child="pass"))
    pid_file = tmp_path / "pid"

    def interrupt() -> None:
        wait_for_pid(pid_file)
        os.kill(os.getpid(), signal.SIGINT)

    user = threading.Thread(target=interrupt)
    user.start()
    with pytest.raises(KeyboardInterrupt):
        launch.run(program, [str(pid_file)], 1)
    user.join()
    pid = wait_for_pid(pid_file)
    assert has_ended(pid)


OPEN_MPI_TAIL = """--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpiexec detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[5,1],0]
  Exit code:    2
--------------------------------------------------------------------------
"""
OPEN_MPI_KILLED = """--------------------------------------------------------------------------
mpiexec noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).
--------------------------------------------------------------------------
"""
MPICH_KILLED = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 15 RUNNING AT vm
=   EXIT CODE: 11
=   CLEANING UP REMAINING PROCESSES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)
"""
MPICH_ENDED = MPICH_KILLED.replace("11\n", "1\n").replace("Segmentation fault (signal 11)", "Hangup (signal 1)")


@pytest.mark.parametrize(
    ("stderr", "status", "reason"),
    [
        ("chatter\nhakobi-tsunami: no space left\n" + OPEN_MPI_TAIL, 2, "no space left"),
        ("terminate called\n  what():  bad\n" + OPEN_MPI_TAIL, 1, "what(): bad"),
        (OPEN_MPI_KILLED, 137, "a rank ended by signal SIGKILL, which the system sends when memory runs out"),
        (MPICH_KILLED, 139, "a rank ended by signal SIGSEGV"),
        (MPICH_ENDED, 1, "exit status 1"),
        ("hakobi: run_000001.nc: 2 aggregators\nValueError: bad\n" + MPICH_ENDED, 1, "ValueError: bad"),
        ("hakobi: run_000001.nc: 2 aggregators\nhakobi-waves: bad\n", 1, "bad"),
        ("hakobi: warning: bytes may be lost\n" + MPICH_KILLED, 139, "a rank ended by signal SIGSEGV"),
        ("hakobi: no program of that name\nhakobi: warning: bytes may be lost\n", 2, "no program of that name"),
        ("", -15, "ended by signal SIGTERM"),
        ("", 7, "exit status 7"),
        (OPEN_MPI_TAIL, 2, "exit status 2"),
    ],
)
def test_the_reason_is_the_programs_own_line(stderr: str, status: int, reason: str) -> None:
    assert reasons.reason_of(stderr, status) == reason


def test_an_interrupt_is_held_back() -> None:
    steps = []

    def interrupted() -> None:
        with launch.uninterrupted():
            signal.raise_signal(signal.SIGINT)
            steps.append("went on")
            ended = subprocess.run(["/bin/sh", "-c", "kill -INT $$; sleep 9"], check=False)
            steps.append(str(ended.returncode))

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert steps == ["went on", str(-signal.SIGINT)]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_that_an_interrupt_meets_while_it_is_started_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, _command: object, **options: object) -> None:
            super().__init__(["sleep", "60"], **options)  # type: ignore[call-overload]
            started.append(self.pid)
            signal.raise_signal(signal.SIGINT)

    launch.launcher("openmpi")  # asked before, or its question for the version would be interrupted
    monkeypatch.setattr(launch, "command_line", lambda *_arguments, **_options: ["sleep", "60"])
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        launch.run(Program(Path("sleep"), "openmpi"), [], 1)
    assert not psutil.pid_exists(started[0])


def test_a_crowd_is_warned_about_once_before_it_starts(capfd: pytest.CaptureFixture[str]) -> None:
    allocation.warn_of_crowd.cache_clear()
    allocation.warn_of_crowd(64, 2, "openmpi")
    assert capfd.readouterr().err == ""
    allocation.warn_of_crowd(4096, 2, "openmpi")
    allocation.warn_of_crowd(4096, 2, "openmpi")
    said = capfd.readouterr().err
    assert said.startswith("hakobi: warning: 4096 ranks on 2 cores")
    assert said.count("--ranks 4 is what this machine can serve") == 1


def test_what_a_killed_job_left_in_shared_memory_is_removed_and_nothing_else(tmp_path: Path) -> None:
    begin_s = time.time()
    folder = tmp_path / "shm"
    folder.mkdir()
    left, used, other = (folder / name for name in ("vader_segment.a.0.1.2", "mpich_shar_tmpX", "my_vader_segment"))
    for path in (left, used, other):
        path.write_bytes(b"x")
    with used.open():
        launch.remove_leftovers(begin_s, folder)
    assert sorted(folder.iterdir()) == sorted([used, other])
    launch.remove_leftovers(time.time() + 10, folder)
    assert used.exists()


def test_more_ranks_than_memory_holds_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"99999999 ranks take about 2\.10 PB of memory before they begin, and this machin"
    ):
        launch.run(Program(Path("x"), "openmpi"), [], 99_999_999)
    assert launch.command_line(Program(Path("/p/x"), "mpich"), [], 128)

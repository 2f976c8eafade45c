"""Several nodes of one machine, by the real script; skipped where namespaces cannot be made."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from hakobi import launch
from hakobi.errors import InputError, RunError
from hakobi.programs import Program
from hakobi_lab.measuring import nodes
from hakobi_lab.measuring.nodes import Nodes, UnavailableError
from running import has_ended

_LINES = Nodes(3, lines=((1, 2), (1, 3)), rate="200mbit")


@pytest.fixture
def shell() -> Program:
    """A program for the nodes that tells what it finds there: sh, taken for one of Open MPI's."""
    program = Program(Path("/bin/sh"), "openmpi")
    try:
        launch.mpiexec("openmpi")
        nodes.check(_LINES, program)
    except (InputError, UnavailableError) as reason:
        pytest.skip(str(reason))
    return program


def test_why_there_are_no_nodes_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(Path("/bin/true"), "openmpi")
    with pytest.raises(UnavailableError, match="reached by Open MPI, and true is linked with mpich"):
        nodes.check(Nodes(), Program(Path("/bin/true"), "mpich"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UnavailableError, match="need root"):
        nodes.check(Nodes(), program)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "tc" else f"/bin/{tool}")
    monkeypatch.setattr(nodes, "_has_namespaces", lambda: False)
    with pytest.raises(UnavailableError, match="lets nobody make network namespaces"):
        nodes.check(Nodes(), program)
    with pytest.raises(UnavailableError, match="need 'tc'"):
        nodes.check(_LINES, program)


@pytest.mark.programs
@pytest.mark.once
def test_nodes_have_lines_of_their_own_and_one_folder(tmp_path: Path, shell: Program) -> None:
    script = f'echo $(hostname) $ORDER $(grep -o "line[0-9]" /proc/net/dev | sort) > {tmp_path}/$(hostname); echo said'
    done = nodes.run(_LINES, shell, ["-c", script], timeout_s=60, variables={"ORDER": "7"}, folder=tmp_path)
    assert (done.status, done.stdout.split()) == (0, ["said"] * 3), done.stderr
    found = {path.name: path.read_text().split() for path in tmp_path.iterdir()}
    assert found == {
        "n1": ["n1", "7", "line1", "line2"],
        "n2": ["n2", "7", "line1"],
        "n3": ["n3", "7", "line2"],
    }
    assert nodes.run(Nodes(), shell, ["-c", "exit 3"], timeout_s=60).status == 3


def _sleeping() -> list[psutil.Process]:
    """The processes that keep nodes, of whatever cluster."""
    return [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "infinity"]]


@pytest.mark.programs
@pytest.mark.once
def test_a_time_limit_and_a_kill_end_the_nodes(tmp_path: Path, shell: Program) -> None:
    others = {process.pid for process in _sleeping()}
    begin_s = time.monotonic()
    with pytest.raises(RunError, match="took longer than 1 s"):
        nodes.run(Nodes(), shell, ["-c", "sleep 50"], timeout_s=1)
    assert time.monotonic() - begin_s < 1 + launch.GRACE_S
    made = (
        "from hakobi_lab.measuring import nodes as n; from hakobi.programs import Program; from pathlib import Path\n"
        "n.run(n.Nodes(), Program(Path('/bin/sh'), 'openmpi'), ['-c', 'sleep 51'])"
    )
    surroundings = os.environ | {"TMPDIR": str(tmp_path)}  # a killed process leaves its folder
    with subprocess.Popen([sys.executable, "-c", made], stderr=subprocess.DEVNULL, env=surroundings) as process:
        end_s = time.monotonic() + 30
        while len(kept := [p for p in _sleeping() if p.pid not in others]) < 2:
            assert time.monotonic() < end_s
            time.sleep(0.05)
        below = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
    assert kept
    psutil.wait_procs(below, timeout=20)
    assert all(has_ended(each.pid) for each in below)

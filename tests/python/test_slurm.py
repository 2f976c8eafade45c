"""A real Slurm with four nodes on this machine (docs/slurm.md), or skipped."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from building import ROOT, needs_build
from hakobi import programs
from hakobi.errors import InputError
from hakobi_lab.slurm import Cluster, UnavailableError
from hakobi_lab.slurm.__main__ import parse
from running import has_ended
from test_run import FLAVOUR, compiled

#: The process manager of each MPI library.
SRUN = {"openmpi": "srun --mpi=pmix", "mpich": "srun --mpi=pmi2"}[FLAVOUR]
NETWORK = {
    "openmpi": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_tcp_if_include": "10.77.0.0/24"},
    "mpich": {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"},
}[FLAVOUR]
#: MPICH polls without yielding: more ranks on two processors take minutes.
NUM_NODES = {"openmpi": 4, "mpich": 2}[FLAVOUR]
#: Without it, one run of MPICH 4.0 in four never ends (tests/nodes/mpich_finalize.c).
FINALIZE = ROOT / "build" / FLAVOUR / "tests" / "libmpich_finalize.so"

#: The first test may fetch Slurm's packages.
pytestmark = pytest.mark.timeout(360)


def test_words_that_no_slurm_has_are_refused() -> None:
    with pytest.raises(InputError, match="'nodes=0' is no word of a Slurm"):
        parse(["nodes=0"])
    tool = ROOT / "tools" / "testbed"
    refused = subprocess.run([tool, "slurm", "start"], capture_output=True, text=True, timeout=60, check=False)
    assert (refused.returncode, refused.stderr) == (2, "testbed: say up [nodes=4] [cpus=2], run COMMAND, or down\n")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    others = set(psutil.Process().children(recursive=True))
    try:
        with Cluster(shared=[tmp_path_factory.getbasetemp(), ROOT]) as cluster:
            yield cluster
            below = [process for process in psutil.Process().children(recursive=True) if process not in others]
            assert any(process.name() == "slurmctld" for process in below)
    except UnavailableError as error:
        pytest.skip(str(error))
    assert psutil.wait_procs(below, timeout=60)[1] == []


def submit(
    cluster: Cluster, *words: object, timeout_s: float = 300, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A command on the head, as a user's shell there runs it. One that takes too long, or whose test does, leaves no
    job: later tests would wait for its processors."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | NETWORK | {"PATH": path, "HAKOBI_MPI": FLAVOUR} | variables

    def run(words: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            cluster.command_line(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            timeout=timeout_s,
            check=False,
        )

    try:
        return run([str(word) for word in words], timeout_s)
    except BaseException:
        run(["scancel", "--user=root"], 60)
        assert _holds(lambda: run(["squeue", "--noheader"], 60).stdout == "", 100)
        raise


def test_a_job_that_was_given_up_keeps_no_nodes(cluster: Cluster) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        submit(cluster, "salloc", "-N4", "-n8", "sleep", "1000", timeout_s=2)
    assert submit(cluster, "salloc", "-N4", "-n8", "true", timeout_s=60).returncode == 0


@pytest.mark.programs
@needs_build
def test_the_drop_in_reaches_the_ranks_of_all_nodes(cluster: Cluster, tmp_path: Path) -> None:
    """Also where the job exports next to nothing; and the file has the bytes of all of them."""
    compiled(tmp_path, FLAVOUR)
    words = ["salloc", f"-N{NUM_NODES}", "hakobi", "run", "--profile", "--", *SRUN.split(), "-n", str(NUM_NODES)]
    words += [f"--export={','.join(NETWORK)}", f"--chdir={tmp_path}"]
    preload = {"LD_PRELOAD": str(FINALIZE)} if FINALIZE.exists() else {}
    done = submit(cluster, *words, tmp_path / "writer", **preload)
    assert (done.returncode, done.stdout) == (0, "error 0\n"), done.stderr
    assert "taken     1 collective writes" in done.stderr
    assert "between nodes" in done.stderr
    assert (tmp_path / "out").read_bytes() == b"".join(rank.to_bytes(4, "little") for rank in range(NUM_NODES))


@pytest.mark.programs
@pytest.mark.once
@pytest.mark.long
@pytest.mark.timeout(900)
@needs_build
def test_the_job_of_the_document_runs_as_it_is_printed(cluster: Cluster, tmp_path: Path) -> None:
    compiled(tmp_path, FLAVOUR).rename(tmp_path / "solver")
    found = re.search(r"```bash\n(.*?)```", (ROOT / "docs" / "slurm.md").read_text(), re.DOTALL)
    assert found
    (tmp_path / "job.sh").write_text(found.group(1).replace("srun --mpi=pmix", SRUN))
    done = submit(cluster, "sbatch", "--wait", "--output=said", "job.sh", timeout_s=800)
    said = (tmp_path / "said").read_text()
    assert done.returncode == 0, said
    assert re.search(r"batch system +Slurm job \d+: 4 nodes, 8 processors", said), said
    assert f"Slurm's srun: {SRUN}" in said
    records = [json.loads(line) for line in (tmp_path / "study.jsonl").read_text().splitlines()]
    runs = [record for record in records if record.get("study") == "output-methods"]
    assert {(run["method"], run["ranks"]) for run in runs} == {
        (method, ranks) for method in ("none", "root", "pipelined") for ranks in (4, 8)
    }
    assert "by srun (slurm-wlm 22.05" in runs[0]["conditions"]["mpi"]
    assert (tmp_path / "out").is_dir()
    assert list(tmp_path.glob("hakobi-run-*")) == []


@pytest.mark.programs
@pytest.mark.once
@needs_build
def test_what_slurm_refuses_is_one_sentence(cluster: Cluster) -> None:
    def said(*words: str, **variables: str) -> str:
        study = ["study", "output-methods", "--ranks", "9", "--repetitions", "1", "--methods", "root"]
        done = submit(cluster, *words, "hakobi", *study, "--storage", "here=out", **variables)
        assert done.returncode == 2, done.stderr
        lines = [line for line in done.stderr.splitlines() if line.startswith("hakobi study")]
        assert len(lines) == 1, done.stderr
        return lines[0].partition(": ")[2]

    in_job = ("salloc", "-N4", "-n8")
    assert said(*in_job, HAKOBI_MPIEXEC=SRUN).startswith("9 ranks are more than the allocation has (Slurm job ")
    assert said(*in_job, HAKOBI_MPIEXEC="srin -O").startswith("HAKOBI_MPIEXEC=srin -O: srin is no program")
    if FLAVOUR == "openmpi":
        text = said(*in_job, HAKOBI_MPIEXEC="srun -O --mpi=none")
        assert "srun gave the ranks no process manager that their MPI library knows: put one of" in text


@pytest.mark.programs
@pytest.mark.once
@needs_build
def test_ranks_on_other_nodes_end_with_the_command(cluster: Cluster, tmp_path: Path) -> None:
    """By its time limit, and when it is killed."""
    script = "import sys; from pathlib import Path; from hakobi import launch; from hakobi.programs import Program\n"
    script += f"launch.run(Program(Path('/bin/sleep'), {FLAVOUR!r}), ['1234.5'], 4, timeout_s=float(sys.argv[1]))\n"
    (tmp_path / "start.py").write_text(script)
    words = ["salloc", "-N4", sys.executable, "start.py"]

    def sleepers() -> list[int]:
        found = psutil.process_iter(["cmdline", "name"])
        return [each.pid for each in found if each.info["name"] == "sleep" and "1234.5" in (each.info["cmdline"] or [])]

    limited = submit(cluster, *words, "3", HAKOBI_MPIEXEC=SRUN)
    assert "sleep on 4 ranks took longer than 3 s and was ended" in limited.stderr
    assert _holds(lambda: not sleepers())
    line = cluster.command_line([*words, "60"])
    with subprocess.Popen(line, env=os.environ | {"HAKOBI_MPIEXEC": SRUN}, stderr=subprocess.DEVNULL) as process:
        assert _holds(lambda: len(sleepers()) == 4)
        found = sleepers()
        below = psutil.Process(process.pid).children(recursive=True)
        starter = next(child for child in below if child.cmdline()[1:2] == ["start.py"])
        starter.kill()
        process.wait(timeout=60)
    assert _holds(lambda: all(has_ended(pid) for pid in found))


def _holds(condition: object, timeout_s: float = 100) -> bool:
    assert callable(condition)
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_nothing_is_left_when_its_maker_is_killed(cluster: Cluster) -> None:
    """`cluster` is asked for only to be skipped where there can be none."""
    assert cluster.pid
    text = "import time, hakobi_lab.slurm as s\nwith s.Cluster(nodes=1): print('up', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == "up\n"
        below = psutil.Process(maker.pid).children(recursive=True)
        assert any(process.name() == "slurmctld" for process in below)
        maker.kill()
    assert psutil.wait_procs(below, timeout=60)[1] == []
    assert programs.source_tree() == ROOT

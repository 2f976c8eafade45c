"""Fixtures that the tests share: stand-ins for programs and the launcher, each in a folder of its own."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from hakobi import cli, launch, launchers, programs, progress
from hakobi.measuring import session
from hakobi_lab import browser as browsers
from hakobi_lab import object_servers
from hakobi_lab.testbed.bed import UnavailableError
from posting import Client, served
from pytest_rules import pytest_configure, pytest_itemcollected, pytest_runtest_setup  # noqa: F401, hooks
from running import Result, end_started

FAKES = Path(__file__).parent / "fakes"
SEED = os.environ.get("HAKOBI_SEED")

# A shell starts what it puts in the background with SIGINT ignored, and processes inherit that: tests that
# send it to one would wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The machine may be busy with other tests: an example's time says nothing here.
settings.register_profile("hakobi", deadline=None, max_examples=60)
settings.load_profile("hakobi")

#: Variables by which a batch system describes an allocation: to tests it is one machine like any other.
BATCH_SYSTEMS = ("SLURM_", "PBS_", "LSB_", "FLUX_")


def _left_by_mpi() -> bool:
    """Whether a library has made this process a rank in its environment, which os.environ does not see. Told once."""
    process = ctypes.CDLL(None)
    process.getenv.restype = ctypes.c_char_p
    left = "PMIX_RANK" not in os.environ and process.getenv(b"PMIX_RANK") is not None
    if left:
        process.unsetenv(b"PMIX_RANK")
    return left


def signal_actions() -> dict[str, set[str]]:
    """The signals that this process ignores and catches, also by what a library in it has set. SIGALRM is
    pytest-timeout's; SIGHUP is MPICH's, which catches it from MPI_Init to MPI_Finalize."""
    actions = {}
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, mask = line.partition(":")
        if name in ("SigIgn", "SigCgt"):
            known = {number.name for number in signal.Signals if int(mask, 16) >> (number - 1) & 1}
            actions[name] = known - {"SIGALRM", "SIGHUP"}
    return actions


def forget_launchers() -> None:
    for known in (launch.launcher, launch.mpiexec, launchers.version_text):
        known.cache_clear()


@pytest.fixture(autouse=True)
def _own_surroundings(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    """Each test: its own folder, none of the user's settings, no launcher remembered from another test, no process left
    to the next one. Tests of the built programs keep what says which programs those are."""
    kept = {"HAKOBI_MPI"}
    if request.node.get_closest_marker("programs"):
        kept |= {"HAKOBI_PREFIX", "HAKOBI_MPIEXEC"}
    for name in [name for name in os.environ if name.startswith(("HAKOBI_", *BATCH_SYSTEMS)) and name not in kept]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    forget_launchers()
    monkeypatch.setattr(progress, "_last_line_s", None)  # as in a process of its own
    monkeypatch.setattr(session, "contention", lambda seconds=1.0: [])  # other tests may run beside this one
    actions = signal_actions()
    yield
    end_started()
    assert signal_actions() == actions, "this test left another action for a signal: it may end a later test's process"
    assert not _left_by_mpi(), "this test initialised MPI in pytest's own process: launchers of later tests would fail"


@pytest.fixture
def hakobi(capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Runs the command in this process: hakobi("study", "output-methods", …)."""

    def run(*arguments: object) -> Result:
        capfd.readouterr()
        status = cli.run([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Result(status, captured.out, captured.err)

    return run


@pytest.fixture
def fresh_seed(capfd: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> int:
    """Another one each time, HAKOBI_SEED repeats it. It is on the terminal before its use: that may end the process."""
    seed = int(SEED or time.time())
    with capfd.disabled():
        print(f"\n{request.node.nodeid}: HAKOBI_SEED={seed}", file=sys.stderr, flush=True)
    return seed


@pytest.fixture
def waves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The application `waves` and a launcher that are only pretended; the folder of programs."""
    folder = tmp_path / "prefix" / "bin"
    folder.mkdir(parents=True)
    script = (FAKES / "hakobi-waves").read_text().splitlines()
    program = folder / "hakobi-waves"
    program.write_text("\n".join([f"#!{sys.executable} -S", *script[1:]]))
    program.chmod(0o755)
    monkeypatch.setenv("HAKOBI_PREFIX", str(folder.parent))
    monkeypatch.setenv("HAKOBI_MPIEXEC", str(FAKES / "mpiexec"))
    return folder


@pytest.fixture(scope="session")
def mpi4py_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that the wheel of mpi4py needs: it looks for MPICH as libmpi.so.12, and Debian's is called
    libmpich.so.12."""
    pytest.importorskip("mpi4py")
    flavour = programs.flavour()
    if flavour != "mpich":
        return {"MPI4PY_MPIABI": flavour}
    build = Path(__file__).resolve().parents[2] / "build" / flavour
    listing = subprocess.run(
        ["ldd", build / "lib" / "libhakobi.so.0"], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"libmpich\.so\.12 => (\S+)", listing)
    assert found, listing
    folder = tmp_path_factory.mktemp("mpich")
    (folder / "libmpi.so.12").symlink_to(found.group(1))
    return {"MPI4PY_MPIABI": flavour, "LD_LIBRARY_PATH": str(folder)}


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    """A viewer's server of a module's own fixture `folder`."""
    with served(folder) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[browsers.Browser]:
    with browsers.Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object_servers.S3Server]:
    """A real S3 server with one bucket, where there can be one."""
    try:
        with object_servers.s3(tmp_path_factory.mktemp("s3")) as server:
            yield server
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def ceph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yields the variables that a client of a real cluster of Ceph needs, where there can be one."""
    try:
        with object_servers.ceph(tmp_path_factory.mktemp("ceph")) as environment:
            yield environment
    except UnavailableError as error:
        pytest.skip(str(error))

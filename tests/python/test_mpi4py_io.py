"""mpi4py's own tests of MPI.File, with the same outcome on every rank without and with the drop-in."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from hakobi import launch, programs
from hakobi.programs import Program

ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = programs.flavour()
DROP_IN = ROOT / "build" / FLAVOUR / "lib" / "libhakobi_mpiio.so"
#: MPICH spins while it waits: no more ranks than cores.
MOST_RANKS = 3 if FLAVOUR == "openmpi" else 2
RANKS = [pytest.param(n, marks=[] if n == 2 else pytest.mark.long) for n in range(1, MOST_RANKS + 1)]

pytestmark = [
    pytest.mark.programs,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not DROP_IN.is_file(), reason="the drop-in is not built"),
]


@pytest.fixture(scope="session")
def mpi4py_tests() -> Path:
    """The tests of the installed version, from its source package on PyPI (the wheel has none); kept in build/."""
    pytest.importorskip("mpi4py")
    version = importlib.metadata.version("mpi4py")
    folder = ROOT / "build" / "sources"
    tests = folder / f"mpi4py-{version}" / "test"
    if not tests.is_dir():
        archive = folder / f"mpi4py-{version}.tar.gz"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        source = ["--no-deps", "--no-binary", "mpi4py", "--dest", str(folder), f"mpi4py=={version}"]
        done = subprocess.run([*pip, *source], capture_output=True, text=True, timeout=200, check=False)
        if not archive.is_file():
            pytest.skip(f"no sources of mpi4py {version}: {done.stderr.strip()[-200:]}")
        subprocess.run(["tar", "xf", archive.name], cwd=folder, check=True)
    return tests


@pytest.mark.parametrize("ranks", RANKS)
def test_every_test_ends_as_without_the_drop_in(
    tmp_path: Path, mpi4py_environment: dict[str, str], mpi4py_tests: Path, ranks: int
) -> None:
    script = ROOT / "tests" / "mpiio" / "programs" / "mpi4py_io.py"
    program = Program(Path(sys.executable), FLAVOUR)
    line = launch.command_line(program, [str(script), str(mpi4py_tests)], ranks)
    memory = {"TMPDIR": "/dev/shm"} if Path("/dev/shm").is_dir() else {}  # the tests sync their small files
    comparison = [sys.executable, str(ROOT / "tests" / "mpiio" / "same_with_drop_in.py")]
    done = subprocess.run(
        [*comparison, "--drop-in", str(DROP_IN), "--takes", "20", "--", *line],
        env=launch.environment(FLAVOUR, mpi4py_environment | memory),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr

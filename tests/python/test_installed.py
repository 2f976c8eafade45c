"""The results of `cmake --install`, and a wheel's contents: the library is found, or one sentence says why not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import click
import numpy
import pytest

from hakobi import _library, _mpi, launch, plugins, programs

ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = programs.flavour()
BUILD = ROOT / "build" / FLAVOUR
LIBRARY = BUILD / "lib" / "libhakobi.so.0"

pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(not LIBRARY.is_file(), reason="the library is not built"),
]

#: docs/languages.md's lines in Python, and what was written read back.
SIX_LINES = """
import numpy as np
import hakobi
ny, nx, time_s = 30, 40, 1.5
whole = np.arange(ny * nx, dtype=float).reshape(ny, nx)
comm = hakobi.Comm.duplicate()
block = hakobi.split((ny, nx), comm.size, comm.rank)
eta = whole[block.slices]
out = hakobi.Output.create(comm, "run", method="pipelined")
out.begin_step(time_s)
out.put("eta", "m", block, eta)
out.end_step()
out.close()
if comm.rank == 0:
    with hakobi.Input.open("run") as steps:
        print(comm.size, (steps.read("eta") == whole).all(), hakobi._library.load()._name)
"""

COMMAND = "from hakobi import cli\nsys.exit(cli.run(%r))\n"


def python(
    site: Path, text: str, folder: Path, *, ranks: int | None = None, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program with the package of `site` and HAKOBI_PREFIX unset, under the launcher where `ranks` is given."""
    command = [sys.executable, "-S", "-c", f"import sys; sys.path += {packages()!r}\n{text}"]
    if ranks is not None:
        program = programs.Program(Path(sys.executable), FLAVOUR)
        command = [*launch.command_line(program, command[1:], ranks)]
    dropped = ("HAKOBI_PREFIX", "HAKOBI_MPI", "HAKOBI_LIBRARY")
    environment = {name: value for name, value in launch.environment(FLAVOUR).items() if name not in dropped}
    environment |= {"PYTHONPATH": str(site)} | dict(variables or {})
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100)


def packages() -> list[str]:
    """Where numpy is, without this tree's own package, which is there by a hook (-S)."""
    return [entry for entry in sys.path if "site-packages" in entry]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "prefix"
    command = ["cmake", "--install", BUILD, "--prefix", folder]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    return folder


@pytest.mark.parametrize("ranks", [None, 2])
def test_a_prefix_serves_python_without_a_variable(prefix: Path, tmp_path: Path, ranks: int | None) -> None:
    done = python(prefix / "lib" / "python", SIX_LINES, tmp_path, ranks=ranks)
    assert done.returncode == 0, done.stderr
    size, is_right, library = done.stdout.split()
    assert (size, is_right) == (str(ranks or 1), "True")
    assert Path(library).is_relative_to(prefix)


def test_a_prefix_has_what_pip_would_write(prefix: Path, tmp_path: Path) -> None:
    text = """
from importlib import metadata
for group in ("console_scripts", "xarray.backends"):
    print(*(point.load().__name__ for point in metadata.entry_points(group=group) if point.name == "hakobi"))
import hakobi
print(hakobi.__version__)
"""
    done = python(prefix / "lib" / "python", text, tmp_path)
    assert done.returncode == 0, done.stderr
    command, engine, version = done.stdout.splitlines()
    assert (command.split()[0], engine.split()[0]) == ("main", "HakobiBackend")
    assert version in (ROOT / "CMakeLists.txt").read_text()


def test_a_prefix_without_its_library_is_told(prefix: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(prefix / "lib" / "python", other / "lib" / "python")
    (other / "bin").mkdir()
    (other / "bin" / "hakobi").touch()
    done = python(other / "lib" / "python", "import hakobi\nhakobi.output_methods()", tmp_path)
    said = f"no libhakobi.so.0 below {other}: the installation that this Python package belongs to is not whole"
    assert done.stderr.splitlines()[-1] == f"hakobi.errors.InputError: {said}"


def test_the_library_of_another_release_is_told(prefix: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(ROOT / "python" / "hakobi", site / "hakobi", ignore=shutil.ignore_patterns("__pycache__"))
    (site / "hakobi-99.0.dist-info").mkdir()
    (site / "hakobi-99.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: hakobi\nVersion: 99.0\n")
    variables = {"HAKOBI_PREFIX": str(prefix)}
    done = python(site, "import hakobi\nhakobi.output_methods()", tmp_path, variables=variables)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("hakobi.errors.InputError: two installations of Hakobi: ")
    assert f"the Python package {site / 'hakobi'} is 99.0: HAKOBI_PREFIX, " in last


def test_two_libraries_in_one_process_are_told(prefix: Path, tmp_path: Path) -> None:
    text = f"import ctypes\nctypes.CDLL({str(LIBRARY)!r})\nimport hakobi\nhakobi.output_methods()"
    done = python(prefix / "lib" / "python", text, tmp_path)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("hakobi.errors.InputError: two installations of Hakobi in one process: ")
    named = python(prefix / "lib" / "python", text, tmp_path, variables={"HAKOBI_LIBRARY": str(LIBRARY)})
    assert named.returncode == 0, named.stderr


def test_the_workbench_beside_a_prefix_runs_its_programs(prefix: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-deps"]
    build = [*pip, "--no-build-isolation", "--target", site, ROOT / "lab"]
    subprocess.run(build, check=True, capture_output=True, timeout=100)
    variables = {"PYTHONPATH": f"{prefix}/lib/python:{site}"}
    words = ["bench", "mpi", "--ranks", "2", "--sizes", "4K", "--samples", "3", "--budget", "0.1"]
    done = python(prefix, COMMAND % words, tmp_path, variables=variables)
    assert done.returncode == 0, done.stderr
    assert "4 KiB" in done.stdout
    folder = site / "hakobi_lab"
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (".html", ".sh", ".toml")}
    assert {"templates/report.html", "measuring/nodes/cluster.sh", "studies/scale/published.toml"} <= found
    assert os.access(folder / "measuring" / "nodes" / "cluster.sh", os.X_OK)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a wheel is unpacked, with this build's library; with MPICH, for processes that run alone too."""
    site = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "python" / "hakobi", site / "hakobi", ignore=shutil.ignore_patterns("__pycache__"))
    folder = site / "hakobi" / "lib"
    folder.mkdir()
    shutil.copy(LIBRARY, folder / f"libhakobi-{FLAVOUR}.so")
    serial = folder / "libhakobi-serial.so"
    if FLAVOUR == "mpich":
        shutil.copy(BUILD / "lib" / "libhakobi_serial_mpi.so", folder)
        (folder / "libhakobi.so.0").symlink_to("libhakobi-mpich.so")  # its soname, which tools/wheel changes
        link = ["cc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", serial, "-Wl,--no-as-needed,-rpath,$ORIGIN"]
        both = ["-l:libhakobi_serial_mpi.so", "-x", "none", folder / "libhakobi-mpich.so"]
        subprocess.run([*link, f"-L{folder}", *both], check=True, timeout=60)
    else:
        serial.touch()
    return site


@pytest.mark.skipif(FLAVOUR != "mpich", reason="MPI for one process has MPICH's ABI")
def test_a_wheel_serves_a_process_without_mpi(wheel: Path, tmp_path: Path) -> None:
    text = (
        SIX_LINES
        + """
for method in hakobi.output_methods():
    out = hakobi.Output.create(comm, method, method=method)
    out.begin_step(time_s)
    out.put("eta", "m", block, eta)
    out.end_step()
    out.close()
with hakobi.open_store("store", schema="weather"):
    pass
try:
    hakobi.Comm.duplicate(0)
except hakobi.InputError as error:
    print(error)
"""
    )
    done = python(wheel, text, tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == f"1 True {wheel}/hakobi/lib/libhakobi-serial.so"
    assert second.endswith("runs without MPI: import mpi4py.MPI first")
    written = {path.name: path.read_bytes() for path in tmp_path.glob("*_000000.nc")}
    assert len(written) == 6  # `none` writes none, and `run`
    assert len(set(written.values())) == 1


def test_a_wheel_serves_ranks_by_the_launchers_library(wheel: Path, tmp_path: Path) -> None:
    done = python(wheel, SIX_LINES, tmp_path, ranks=2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "True", f"{wheel}/hakobi/lib/libhakobi-{FLAVOUR}.so"]


@pytest.mark.parametrize(
    ("variables", "error"),
    [
        (
            {"SLURM_STEP_NUM_TASKS": "2"},
            "this process is one of 2, and nothing says by which MPI library: import mpi4py",
        ),
        ({"HAKOBI_MPI": "lam"}, "unknown MPI library in HAKOBI_MPI 'lam'"),
    ],
)
def test_a_wheel_tells_what_it_cannot_know(wheel: Path, tmp_path: Path, variables: dict[str, str], error: str) -> None:
    done = python(wheel, "import hakobi\nhakobi.output_methods()", tmp_path, variables=variables)
    assert done.stderr.splitlines()[-1].startswith(f"hakobi.errors.InputError: {error}")


@pytest.fixture
def alone(tmp_path: Path) -> str:
    """A program that is the command in an environment of what pip brings with a wheel, and of nothing else."""
    folder = tmp_path / "alone"
    folder.mkdir()
    for package in (click, numpy):
        for path in Path(package.__file__).parents[1].glob(f"{package.__name__}*"):
            (folder / path.name).symlink_to(path)
    return f"sys.path[:] = [p for p in sys.path if 'site-packages' not in p] + [{str(folder)!r}]\n" + COMMAND


@pytest.mark.parametrize("words", ["bench collective", "compare", "report stream", "study mpi-cache"])
def test_without_the_workbench_its_commands_say_how_to_get_it(
    wheel: Path, alone: str, tmp_path: Path, words: str
) -> None:
    done = python(wheel, alone % words.split(), tmp_path)
    first = words.split()[0]
    said = f"hakobi: '{first}' is in hakobi-lab, which is not installed: {plugins.HOW_TO_GET_IT}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
    assert f" {first} " not in python(wheel, alone % ["--help"], tmp_path).stdout


def test_without_the_workbench_the_demo_is_the_quick_one(wheel: Path, alone: str, tmp_path: Path) -> None:
    done = python(wheel, alone % ["demo"], tmp_path)
    said = f"hakobi demo: the study is in hakobi-lab, which is not installed: {plugins.HOW_TO_GET_IT}; "
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{said}hakobi demo --quick needs none\n")


def test_a_command_without_its_libraries_names_the_extra(wheel: Path, alone: str, tmp_path: Path) -> None:
    done = python(wheel, alone % ["doctor"], tmp_path)
    assert "pip install 'hakobi[measure]'" in done.stderr
    assert done.returncode == 2


def test_a_wheel_beside_the_workbench_tells_that_a_program_is_no_part_of_it(wheel: Path, tmp_path: Path) -> None:
    end = "is not part of the wheel: build Hakobi (docs/install.md, From source) and set HAKOBI_PREFIX\n"
    for words, program in (
        ("study mpi-cache", "hakobi-bench-mpi"),
        ("bench collective", "hakobi-bench-collective"),
        ("report stream", "hakobi-tsunami"),
    ):
        text = f"sys.path.append({str(ROOT / 'lab')!r})\n" + COMMAND % words.split()
        done = python(wheel, text, tmp_path, variables={"PATH": "/usr/bin"})
        assert (done.returncode, done.stderr) == (2, f"hakobi {words}: {program} {end}")


def test_an_mpi_library_that_no_build_is_for_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unknown:
        @staticmethod
        def Get_library_version() -> str:  # noqa: N802, mpi4py's name
            return "LAM/MPI 7.1.4\nmore"

    monkeypatch.setitem(sys.modules, "mpi4py.MPI", Unknown)  # type: ignore[arg-type]
    with pytest.raises(
        _library.InputError, match=r"mpi4py runs on an MPI library that Hakobi is not built for here \(LAM"
    ):
        _mpi.in_use()


@pytest.mark.parametrize(
    ("version", "flavour"),
    [
        ("Open MPI v4.1.4, package: Debian", "openmpi"),
        ("MPICH Version:      4.0.2", "mpich"),
        ("MPI VERSION    : CRAY MPICH version 8.1.29", "mpich"),
        ("Intel(R) MPI Library 2021.11 for Linux* OS", "mpich"),
        ("MVAPICH2 Version      :	2.3.7", "mpich"),
    ],
)
def test_a_librarys_version_says_its_abi(monkeypatch: pytest.MonkeyPatch, version: str, flavour: str) -> None:
    monkeypatch.setattr(_mpi, "loaded", list)
    assert _mpi._flavour_of(version, "") == flavour


def test_mpi_5s_abi_is_none_of_these(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_mpi, "loaded", lambda: [Path("/usr/lib/libmpi_abi.so.0")])
    with pytest.raises(_library.InputError, match=r"\(MPICH Version: 5.0.2 with the ABI of MPI 5\): build Hakobi"):
        _mpi._flavour_of("MPICH Version:      5.0.2\n", "this is")


def test_mpi_in_this_process_is_found() -> None:
    text = f"from hakobi import _mpi\nprint(_mpi.load({FLAVOUR!r}), *_mpi.loaded(), _mpi.in_use())"
    environment = {name: value for name, value in os.environ.items() if name != "HAKOBI_MPI"}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=60)
    is_there, *paths, flavour = done.stdout.split()
    assert (is_there, flavour, len(paths)) == ("True", FLAVOUR, 1), done.stderr

"""MPI libraries by what they export: Cray's names, MPICH 3's functions, two at once; and the drop-in under each."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import drop_in, launch, mpi_library, programs
from hakobi.errors import InputError
from mpi_copies import copy_of
from running import Result, start

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = ROOT / "tests" / "mpiio" / "programs" / "blocks_program.c"
MPICH = Path("/usr/lib") / f"{os.uname().machine}-linux-gnu" / "libmpich.so.12"
#: Functions that MPICH 3.4 does not have: large counts and sessions.
NOT_IN_3_4 = r"P?MPIX?_\w+_c|P?MPI_Session_\w+"

needs_mpich = pytest.mark.skipif(not MPICH.is_file() or shutil.which("mpicc.mpich") is None, reason="no MPICH here")


def ldd_text(*libraries: Path) -> str:
    return "".join(f"\t{path.name} => {path} (0x00007f)\n" for path in libraries)


def linked(folder: Path, *libraries: Path) -> Path:
    """The program of blocks_program.c, linked with these libraries by their names."""
    shown = subprocess.run(["mpicc.mpich", "-show", "-c"], capture_output=True, text=True, check=True).stdout.split()
    includes = [word for word in shown if word.startswith("-I")]
    links = [
        word for path in libraries for word in (f"-L{path.parent}", f"-l:{path.name}", f"-Wl,-rpath,{path.parent}")
    ]
    program = folder / "blocks"
    line = ["cc", *includes, BLOCKS, "-o", program, "-Wl,--no-as-needed", *links]
    subprocess.run(line, check=True, timeout=100)
    return program


# --- What a library is --------------------------------------------------------------------------------------


@needs_mpich
def test_crays_library_is_known_by_what_it_exports(tmp_path: Path) -> None:
    cray = copy_of(MPICH, tmp_path / "libmpi_gnu_123.so.12")
    other = copy_of(MPICH, tmp_path / "libsolver_messages.so.2")
    found = mpi_library.of_program(ldd_text(Path("/lib/libc.so.6"), cray))
    assert [(library.soname, library.abi) for library in found] == [("libmpi_gnu_123.so.12", "mpich")]
    assert [library.abi for library in mpi_library.of_program(ldd_text(other))] == ["mpich"]


@needs_mpich
def test_a_library_that_is_called_so_and_is_none_is_none(tmp_path: Path) -> None:
    fake = copy_of(MPICH, tmp_path / "libmpi.so.12", without=r"P?MPI_File_open")
    assert mpi_library.of_program(ldd_text(fake)) == []


@needs_mpich
def test_another_abi_than_mpichs_or_the_standards_is_called_after_its_soname(tmp_path: Path) -> None:
    own = copy_of(MPICH, tmp_path / "libmpi_ours.so.3", without="MPIR_Dup_fn")
    assert [library.abi for library in mpi_library.of_program(ldd_text(own))] == ["libmpi_ours.so.3"]


@pytest.mark.parametrize(
    ("soname", "abi"),
    [
        ("libmpi_cray.so.12", "mpich"),
        ("libmpich.so.12", "mpich"),
        ("libmpi.so.12", "mpich"),
        ("libmpi_abi.so.1", "mpi_abi"),
        ("libmpi.so.40", "libmpi.so.40"),
        ("libmpt.so", "libmpt.so"),
        ("libmpi_usempif08.so.40", None),
        ("libmpifort.so.12", None),
    ],
)
def test_a_library_that_is_not_here_is_known_by_its_name(soname: str, abi: str | None) -> None:
    found = mpi_library.of_program(f"\t{soname} => not found\n")
    assert [library.abi for library in found] == ([abi] if abi else [])


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 100, b"text\n"])
def test_what_is_no_library_exports_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "libmpi.so").write_bytes(content)
    assert mpi_library.exported(tmp_path / "libmpi.so", ["PMPI_File_open"]) == set()
    assert mpi_library.exported(tmp_path / "none", ["PMPI_File_open"]) == set()


@needs_mpich
def test_a_library_cut_short_exports_nothing(tmp_path: Path) -> None:
    whole = MPICH.read_bytes()
    sections_at = struct.unpack_from("<Q", whole, 40)[0]
    (tmp_path / "half.so").write_bytes(whole[: sections_at + 100])
    assert mpi_library.exported(tmp_path / "half.so", ["PMPI_File_open"]) == set()


@needs_mpich
def test_a_program_with_two_mpi_libraries_is_refused_by_name(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    first = copy_of(MPICH, tmp_path / "one" / "libmpi_one.so.12")
    second = copy_of(MPICH, tmp_path / "two" / "libmpi_two.so.12")
    program = linked(tmp_path, first, second)
    with pytest.raises(
        InputError, match=r"blocks loads two MPI libraries, .*libmpi_one\.so\.12 and .*libmpi_two\.so\.12"
    ):
        drop_in.library_of(program)
    result = hakobi("run", "--", program)
    assert result.status == 2
    assert "loads two MPI libraries" in result.line()
    assert hakobi("run", "--off", "--print", "--", program).status == 0


# --- Programs -----------------------------------------------------------------------------------------------

FOLDER = ROOT / "build" / "mpich"
with_drop_in = pytest.mark.skipif(
    programs.flavour() != "mpich" or not (FOLDER / "lib" / drop_in.LIBRARY).is_file(),
    reason="the drop-in for MPICH is not built",
)


def expected(ranks: int) -> bytes:
    numbers = [*range(60 * 4 * ranks), *range(ranks)]
    return struct.pack(f"={len(numbers)}i", *numbers)


def run_blocks(program: Path, *options: str) -> tuple[Result, bytes]:
    """The program on two ranks under `hakobi run`, and the file that it leaves."""
    line = launch.command_line(programs.Program(program, "mpich"), ("out.dat",), 2)
    process = start("run", *options, "--", *line, cwd=program.parent, env=launch.environment("mpich"))
    stdout, stderr = process.communicate(timeout=100)
    return Result(process.returncode, stdout, stderr), (program.parent / "out.dat").read_bytes()


@pytest.mark.programs
@needs_mpich
@with_drop_in
@pytest.mark.parametrize(
    ("name", "without"),
    [("libmpi_gnu_123.so.12", ""), ("libmpi_cray.so.12", NOT_IN_3_4), ("libmpi.so.12", NOT_IN_3_4)],
)
def test_one_drop_in_serves_mpich_under_every_name_and_of_every_age(tmp_path: Path, name: str, without: str) -> None:
    program = linked(tmp_path, copy_of(MPICH, tmp_path / "lib" / name, without))
    result, content = run_blocks(program, "--profile")
    assert (result.status, content == expected(2)) == (0, True), result.stderr
    assert result.stdout.startswith("0 wrong with MPICH")
    assert "taken     1 collective writes and 1 collective reads" in result.stderr


@pytest.mark.programs
@needs_mpich
@with_drop_in
def test_a_function_that_the_library_lacks_is_named_and_the_program_runs_without(tmp_path: Path) -> None:
    poor = copy_of(MPICH, tmp_path / "lib" / "libmpi_poor.so.12", without="PMPI_Type_get_true_extent_x")
    result, content = run_blocks(linked(tmp_path, poor), "--profile")
    assert (result.status, content == expected(2)) == (0, True), result.stderr
    said = [line for line in result.stderr.splitlines() if "hakobi" in line]
    assert len(said) == 1
    assert said[0].startswith("hakobi: libmpi_poor.so.12 (MPICH")
    assert said[0].endswith("has no PMPI_Type_get_true_extent_x, the program runs without the drop-in")


@pytest.mark.programs
@needs_mpich
@with_drop_in
def test_an_mpi_that_no_build_knows_is_named_with_its_version(tmp_path: Path) -> None:
    own = copy_of(MPICH, tmp_path / "lib" / "libmpi_ours.so.3", without="MPIR_Dup_fn")
    program = linked(tmp_path, own)
    environment = launch.environment("mpich", {"LD_PRELOAD": str(FOLDER / "lib" / drop_in.LIBRARY)})
    line = launch.command_line(programs.Program(program, "mpich"), ("out.dat",), 2)
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, (tmp_path / "out.dat").read_bytes()) == (0, expected(2))
    said = [line for line in done.stderr.splitlines() if "hakobi" in line]
    assert len(said) == 1
    assert "this program's MPI library is libmpi_ours.so.3 (MPICH Version: " in said[0]
    assert "the drop-in here is for mpich: the program runs without it" in said[0]


@pytest.mark.programs
@needs_mpich
@with_drop_in
def test_of_two_drop_ins_that_are_preloaded_the_first_works(tmp_path: Path) -> None:
    program = linked(tmp_path, MPICH)
    other = tmp_path / "other"
    shutil.copytree(FOLDER / "lib", other, ignore=lambda _folder, names: [n for n in names if "mpiio" not in n])
    both = f"{FOLDER / 'lib' / drop_in.LIBRARY}:{other / drop_in.LIBRARY}"
    environment = launch.environment("mpich", {"LD_PRELOAD": both, "HAKOBI_PROFILE": "1"})
    line = launch.command_line(programs.Program(program, "mpich"), ("out.dat",), 2)
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, (tmp_path / "out.dat").read_bytes()) == (0, expected(2)), done.stderr
    assert done.stderr.count("hakobi: two drop-ins are preloaded, ") == 1
    assert "taken     1 collective writes and 1 collective reads" in done.stderr


# --- The ABI of the MPI 5 standard --------------------------------------------------------------------------


@pytest.mark.programs
@pytest.mark.once
@pytest.mark.long
@pytest.mark.timeout(2400)
def test_a_program_of_the_standards_abi_runs_under_the_drop_in_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds that drop-in with PyPI's MPICH 5, and the program, which needs libmpi_abi.so."""
    mpi = ROOT / "build" / "mpi5"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-deps"]
    subprocess.run([*pip, "--prefix", mpi, "--ignore-installed", "mpich==5.0.2"], check=True, timeout=300)
    monkeypatch.setenv("PATH", f"{mpi / 'bin'}:{os.environ['PATH']}")
    build = [ROOT / "tools" / "build", "mpi_abi", "--preset=bare", "hakobi_mpiio", "hakobi_mpiio_below"]
    subprocess.run(build, check=True, timeout=1500)
    subprocess.run(["mpicc_abi", BLOCKS, "-o", mpi / "blocks"], check=True, timeout=100)
    target = drop_in.look_at([str(mpi / "bin" / "mpiexec"), "-n", "2", str(mpi / "blocks")])
    assert target.abi == "mpi_abi"
    assert drop_in.find_library(target)[0] == ROOT / "build" / "mpi_abi" / "lib" / drop_in.LIBRARY
    (mpi / "out.dat").unlink(missing_ok=True)
    process = start("run", "--profile", "--", *target.command, cwd=mpi)
    stdout, stderr = process.communicate(timeout=100)
    assert (process.returncode, (mpi / "out.dat").read_bytes()) == (0, expected(2)), stderr
    assert stdout.startswith("0 wrong with MPICH Version:")
    assert "taken     1 collective writes and 1 collective reads" in stderr

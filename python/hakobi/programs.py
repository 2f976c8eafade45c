"""Finds the executables that the C++ build made (`hakobi-tsunami`, `hakobi-gather`, …) and the MPI each is linked with.

Order, first hit wins:
 1. <prefix>/bin and nowhere else, with <prefix> from $HAKOBI_PREFIX, or that of the installation by CMake which this
    package is part of;
 2. the source tree's build/<mpi>/bin, when the package runs from one (an editable install), with <mpi> from
    $HAKOBI_MPI: openmpi (the default) or mpich; 3. the package's own `bin`, which a wheel's has;
 4. the `bin` folder of this Python's environment; 5. $PATH.
"""

from __future__ import annotations

import mmap
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from hakobi.errors import InputError, unknown_name

FLAVOURS = ("openmpi", "mpich")

NOT_IN_WHEEL = "not part of the wheel: build Hakobi (docs/install.md, From source) and set HAKOBI_PREFIX"

#: The folder of this package.
PACKAGE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Program:
    """An executable and the MPI library that it is linked with: a name of FLAVOURS."""

    path: Path
    flavour: str

    @property
    def name(self) -> str:
        return self.path.name


def flavour() -> str:
    """The MPI library that the user asks for: $HAKOBI_MPI, or openmpi. Raises InputError for an unknown name."""
    asked = os.environ.get("HAKOBI_MPI") or FLAVOURS[0]
    if asked not in FLAVOURS:
        raise unknown_name("MPI library in HAKOBI_MPI", asked, FLAVOURS)
    return asked


def source_tree() -> Path | None:
    """The source tree that this package runs from, or None when it is installed for good."""
    root = PACKAGE.parents[1]
    return root if (root / "CMakeLists.txt").is_file() and (root / "include" / "hakobi").is_dir() else None


def is_wheel() -> bool:
    """Whether this package brings the library itself, as a wheel's does (tools/wheel)."""
    return (PACKAGE / "lib" / "libhakobi-serial.so").is_file()


def prefix() -> Path | None:
    """The installation that alone is looked at: $HAKOBI_PREFIX, or the one that has this package below lib/python."""
    if named := os.environ.get("HAKOBI_PREFIX"):
        return Path(named)
    own = PACKAGE.parents[2]
    return own if PACKAGE.parent == own / "lib" / "python" and (own / "bin" / "hakobi").is_file() else None


def not_whole() -> str:
    """Why something may be missing in `prefix`."""
    if os.environ.get("HAKOBI_PREFIX"):
        return "HAKOBI_PREFIX names no finished installation"
    return "the installation that this Python package belongs to is not whole"


def folders() -> list[Path]:
    """Where programs are looked for, in order."""
    if only := prefix():
        return [only / "bin"]
    tree = source_tree()
    own = tree / "build" / flavour() / "bin" if tree else PACKAGE / "bin"
    on_path = [
        Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry and os.access(entry, os.X_OK)
    ]
    return [own, Path(sys.prefix) / "bin", *on_path]


def find(name: str) -> Program:
    """The program `name`. Raises InputError with one line that says where it was looked for and how to get it."""
    for folder in folders():
        path = folder / name
        if path.is_file() and os.access(path, os.X_OK):
            return Program(path, flavour_of(path))
    if only := prefix():
        raise InputError(f"no program {name} in {only}/bin: {not_whole()}")
    if is_wheel():
        raise InputError(f"{name} is {NOT_IN_WHEEL}")
    how = "build it with 'make'" if source_tree() else "install Hakobi's programs or set HAKOBI_PREFIX"
    raise InputError(f"no program {name} for {flavour()}, neither in {folders()[0]} nor in PATH: {how}")


def names(prefix: str = "hakobi-") -> list[str]:
    """The names of the programs that `find` would find and that start with `prefix`, sorted."""
    found = {path.name for folder in folders() if folder.is_dir() for path in folder.glob(prefix + "*")}
    return sorted(name for name in found if shutil.which(name, path=os.pathsep.join(map(str, folders()))))


def flavour_of(path: Path) -> str:
    """The MPI library an executable is linked with, from the names in its dynamic section; the user's for a script.

    Open MPI's library is libmpi.so.40; MPICH's is libmpich.so.12, or libmpi.so.12 where it was built for the common
    ABI. Raises InputError when the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return flavour()
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
                if view[:4] != b"\x7fELF":
                    return flavour()
                if view.find(b"libmpich.so.12\0") >= 0 or view.find(b"libmpi.so.12\0") >= 0:
                    return "mpich"
                return "openmpi" if view.find(b"libmpi.so.40\0") >= 0 else flavour()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error

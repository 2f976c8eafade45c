"""Loads libhakobi.so, whose functions hakobi/_capi.py declares for ctypes: the Python side of the C interface.

The library is the first of:
 1. the file that $HAKOBI_LIBRARY names, and no other;
 2. <prefix>/lib and nowhere else, with <prefix> as for programs (hakobi/programs.py);
 3. the source tree's build/<mpi>/lib, when the package runs from one;
 4. a wheel's libhakobi-<mpi>.so;
 5. the `lib` folder of this Python's environment; 6. where the system's loader looks.

<mpi> is the MPI library in use (hakobi/_mpi.py), without one Open MPI in a source tree, and `serial` in a wheel: its
library for a process that runs alone, which needs no MPI library.

libhakobi.so is loaded with its symbols hidden from other modules: it uses an HDF5 of its own or the system's, while
h5py's wheel brings another. MPI's own symbols are made global: Open MPI's plugins look for them there, and so does a
wheel's library, which names none.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from hakobi import _mpi, programs
from hakobi._capi import CONSTANTS, SIGNATURES
from hakobi.errors import ExistsError, FormatError, HakobiError, InputError, StorageError

MAX_DIMS = 8
MAX_HALO_DIMS = 5
_NUMBERS = ("float64", "float32", "int32", "int64", "int8", "uint8", "int16", "uint16", "uint32", "uint64")
#: numpy's name -> HAKOBI_FLOAT64, …
TYPES = {name: CONSTANTS[name.upper()] for name in _NUMBERS}

_SONAME = "libhakobi.so.0"
#: In a wheel: for a process that runs alone.
SERIAL = "serial"
_ERROR_CLASS: dict[str, type[HakobiError]] = {
    "invalid_argument": InputError,
    "not_found": InputError,
    "unsupported": InputError,
    "exists": ExistsError,
    "permission": StorageError,
    "no_space": StorageError,
    "io": StorageError,
    "format": FormatError,
}


def mpi_in_use() -> str:
    """The MPI library in use, or the one that a source tree's build has: "openmpi" or "mpich". Raises InputError where
    the process runs on another one."""
    return _mpi.in_use() or programs.flavour()


def _in_wheel() -> tuple[str, str]:
    """The wheel's library for this process, and which one it is; its MPI library is loaded. Raises InputError."""
    flavour, size = _mpi.in_use(), _mpi.num_ranks()
    if flavour is None and (size or 1) > 1:
        raise InputError(
            f"this process is one of {size}, and nothing says by which MPI library: import mpi4py.MPI before Hakobi is "
            "used, or set HAKOBI_MPI to openmpi or mpich"
        )
    if flavour and not _mpi.load(flavour):
        if size != 1:
            raise InputError(
                f"{_mpi.SONAMES[flavour][0]} is not found, the library of {flavour}, which this process runs with: "
                "import mpi4py.MPI before Hakobi is used, or name the library's folder in LD_LIBRARY_PATH"
            )
        flavour = None
    return str(programs.PACKAGE / "lib" / f"libhakobi-{flavour or SERIAL}.so"), flavour or SERIAL


def _below(prefix: Path) -> str | None:
    found = sorted(prefix.glob(f"lib*/{_SONAME}")) + sorted(prefix.glob(f"lib/*/{_SONAME}"))
    return str(found[0]) if found else None


def _candidates() -> Iterator[Path]:
    if tree := programs.source_tree():
        yield tree / "build" / mpi_in_use() / "lib" / _SONAME
    yield Path(sys.prefix) / "lib" / _SONAME


def _locate() -> str:
    if named := os.environ.get("HAKOBI_LIBRARY"):
        return named
    if prefix := programs.prefix():
        if found := _below(prefix):
            return found
        raise InputError(f"no {_SONAME} below {prefix}: {programs.not_whole()}")
    return next((str(path) for path in _candidates() if path.is_file()), _SONAME)


@cache
def load() -> ctypes.CDLL:
    """The library, loaded at the first call. Raises InputError when there is none, one for another MPI library, or one
    of another installation."""
    is_wheels = programs.is_wheel() and not os.environ.get("HAKOBI_LIBRARY") and programs.prefix() is None
    path, build = _in_wheel() if is_wheels else (_locate(), "")
    in_use = None if is_wheels else _mpi.in_use()  # before the library, which brings its own
    _refuse_second(path)
    # Deeply bound, it calls its own MPI, whatever the process loads later.
    mode = os.RTLD_DEEPBIND if build == SERIAL else ctypes.DEFAULT_MODE
    try:
        library = ctypes.CDLL(path, mode=mode)
    except OSError as error:
        how = f"build it with 'make HAKOBI_MPI={mpi_in_use()}'" if programs.source_tree() else "set HAKOBI_PREFIX"
        raise InputError(f"cannot load Hakobi's library: {error}: {how}") from error
    for (result, arguments), names in SIGNATURES:
        for name in names.split():
            function = getattr(library, f"hakobi_{name}", None)
            if function is None:
                raise InputError(f"{path} has no hakobi_{name}: it is of another version than {programs.PACKAGE}")
            function.restype, function.argtypes = result, arguments
    _check_version(path, library.hakobi_version().decode())
    if is_wheels:
        return library
    built_with = library.hakobi_mpi_name().decode()
    # In a source tree the user has a choice, and may have made it wrongly; an installation has one library.
    flavour = in_use or (programs.flavour() if programs.source_tree() else built_with)
    if built_with in _mpi.SONAMES and built_with != flavour:
        raise InputError(f"{path} is built with {built_with}, but this process runs with {flavour}")
    for soname in _mpi.SONAMES.get(built_with, ()):
        with contextlib.suppress(OSError):
            ctypes.CDLL(soname, mode=ctypes.RTLD_GLOBAL)
            break
    return library


def is_serial() -> bool:
    """Whether the library runs without MPI, for this process alone."""
    return Path(load()._name).name == f"libhakobi-{SERIAL}.so"


def _refuse_second(path: str) -> None:
    """Raises InputError where the process holds another libhakobi, as a solver's own extension may have loaded."""
    if "/" not in path:  # the loader gives what is there
        return
    with contextlib.suppress(OSError), Path("/proc/self/maps").open() as maps:
        held = {found[0] for line in maps if (found := re.search(r"/.*/libhakobi(-\w+)?\.so[\d.]*$", line.rstrip()))}
        own = os.path.realpath(path)
        if others := [each for each in sorted(held) if os.path.realpath(each) != own]:
            raise InputError(
                f"two installations of Hakobi in one process: {others[0]} is loaded, and {programs.PACKAGE} would load "
                f"{path}: name the first in HAKOBI_LIBRARY, or take one of them away"
            )


def _check_version(path: str, version: str) -> None:
    """Raises InputError for a library of another release than this package. A source tree has what was built."""
    if programs.source_tree():
        return
    beside = metadata.distributions(name="hakobi", path=[str(programs.PACKAGE.parent)])
    own = next((found.version for found in beside), version)
    if own != version:
        raise InputError(
            f"two installations of Hakobi: {path} is version {version}, the Python package {programs.PACKAGE} is "
            f"{own}: HAKOBI_PREFIX, HAKOBI_LIBRARY or PYTHONPATH names another one than the package's"
        )


def error_of(library: ctypes.CDLL, code: int) -> HakobiError:
    """The exception for a code that a call of this thread just returned."""
    name = library.hakobi_error_name(code).decode()
    text = library.hakobi_error_text().decode(errors="replace")
    return _ERROR_CLASS.get(name, HakobiError)(text, code=name, rank=library.hakobi_error_rank())


def check(library: ctypes.CDLL, code: int) -> None:
    """Raises what a code other than 0 stands for."""
    if code != 0:
        raise error_of(library, code)


def shown(this: object, text: str) -> str:
    """How an object is shown to a person who looks at one: its class, and what it is.

    >>> shown(object(), "two of them")
    '<hakobi.object: two of them>'
    """
    return f"<hakobi.{type(this).__name__}: {text}>"

"""Loads libhakobi.so, whose functions hakobi/_capi.py declares for ctypes: the Python side of the C interface.

Which library, first hit wins:
 1. the file that $HAKOBI_LIBRARY names, and no other;
 2. $HAKOBI_PREFIX/lib, when HAKOBI_PREFIX is set, and nowhere else;
 3. the source tree's build/<mpi>/lib, when the package runs from one, with <mpi> the MPI library in use;
 4. the `lib` folder of this Python's environment; 5. where the system's loader looks.

The MPI library in use is mpi4py's when its `MPI` is imported, else the launcher's (Open MPI and MPICH each set
variables for the processes that they start), else $HAKOBI_MPI, else Open MPI. A process can hold only one.

libhakobi.so is loaded with its symbols hidden from other modules: it uses the system's HDF5, while h5py's wheel brings
another. MPI's own symbols are made global, since Open MPI's plugins look for them there.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hakobi import programs
from hakobi._capi import CONSTANTS, SIGNATURES
from hakobi.errors import ExistsError, FormatError, HakobiError, InputError, StorageError

MAX_DIMS = 8
MAX_HALO_DIMS = 5
_NUMBERS = ("float64", "float32", "int32", "int64", "int8", "uint8", "int16", "uint16", "uint32", "uint64")
#: numpy's name -> HAKOBI_FLOAT64, …
TYPES = {name: CONSTANTS[name.upper()] for name in _NUMBERS}

_SONAME = "libhakobi.so.0"
_MPI_SONAMES = {"openmpi": ("libmpi.so.40",), "mpich": ("libmpich.so.12", "libmpi.so.12")}
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
    """ "openmpi" or "mpich": see the head of the file. Raises InputError where mpi4py runs on another MPI library."""
    mpi4py_mpi = sys.modules.get("mpi4py.MPI")
    if mpi4py_mpi is not None:
        version: str = mpi4py_mpi.Get_library_version()
        if version.startswith("Open MPI"):
            return "openmpi"
        if "MPICH" in version:
            return "mpich"
        raise InputError(f"mpi4py runs on an MPI library that Hakobi is not built for: {version.splitlines()[0]}")
    if "OMPI_COMM_WORLD_SIZE" in os.environ:
        return "openmpi"
    if "PMI_SIZE" in os.environ:
        return "mpich"
    return programs.flavour()


def _candidates(flavour: str) -> Iterator[Path]:
    tree = programs.source_tree()
    if tree:
        yield tree / "build" / flavour / "lib" / _SONAME
    yield Path(sys.prefix) / "lib" / _SONAME


def _locate(flavour: str) -> str:
    if named := os.environ.get("HAKOBI_LIBRARY"):
        return named
    if prefix := os.environ.get("HAKOBI_PREFIX"):
        found = sorted(Path(prefix).glob(f"lib*/{_SONAME}")) + sorted(Path(prefix).glob(f"lib/*/{_SONAME}"))
        if not found:
            raise InputError(f"no {_SONAME} below {prefix}: HAKOBI_PREFIX names no finished installation")
        return str(found[0])
    return next((str(path) for path in _candidates(flavour) if path.is_file()), _SONAME)


@cache
def load() -> ctypes.CDLL:
    """The library, loaded at the first call. Raises InputError when there is none, or one for another MPI library."""
    flavour = mpi_in_use()
    path = _locate(flavour)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        how = f"build it with 'make HAKOBI_MPI={flavour}'" if programs.source_tree() else "set HAKOBI_PREFIX"
        raise InputError(f"cannot load Hakobi's library for {flavour}: {error}: {how}") from error
    for (result, arguments), names in SIGNATURES:
        for name in names.split():
            function = getattr(library, f"hakobi_{name}")
            function.restype, function.argtypes = result, arguments
    built_with = library.hakobi_mpi_name().decode()
    if built_with in _MPI_SONAMES and built_with != flavour:
        raise InputError(f"{path} is built with {built_with}, but this process runs with {flavour}")
    for soname in _MPI_SONAMES.get(built_with, ()):
        try:
            ctypes.CDLL(soname, mode=ctypes.RTLD_GLOBAL)
            break
        except OSError:
            continue
    return library


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

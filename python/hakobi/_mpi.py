"""Finds the MPI library that this process uses, if it uses one. A process can hold only one.

The first of these tells:
 1. mpi4py, when its `MPI` is imported; 2. an MPI library that the process has loaded;
 3. the launcher: each library's sets variables for the processes that it starts; 4. $HAKOBI_MPI.

Nothing of this starts MPI, and only `load` loads a library.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from hakobi import mpi_library, programs
from hakobi.errors import InputError

#: The names under which a library's loader finds it: MPICH's ABI has two.
SONAMES = {"openmpi": ("libmpi.so.40",), "mpich": ("libmpi.so.12", "libmpich.so.12")}
#: The variable in which each library's launcher says how many processes it has started.
_SIZES = {"OMPI_COMM_WORLD_SIZE": "openmpi", "PMI_SIZE": "mpich"}
#: How a library of MPICH's ABI begins its version: its own, its relatives', Intel's.
_MPICH_ABI = ("MPICH", "MVAPICH", "Intel(R) MPI")


def in_use() -> str | None:
    """ "openmpi" or "mpich"; None where nothing says that the process uses MPI. Raises InputError for others."""
    mpi4py_mpi = sys.modules.get("mpi4py.MPI")
    if mpi4py_mpi is not None:
        return _flavour_of(mpi4py_mpi.Get_library_version(), "mpi4py runs on")
    for path in loaded():
        return _flavour_of(_version(path), f"{path} is")
    for variable, flavour in _SIZES.items():
        if variable in os.environ:
            return flavour
    return programs.flavour() if os.environ.get("HAKOBI_MPI") else None


def _flavour_of(version: str, what: str) -> str:
    if version.startswith("Open MPI"):
        return "openmpi"
    is_new_abi = any(path.name.startswith("libmpi_abi.") for path in loaded())
    if any(word in version for word in _MPICH_ABI) and not is_new_abi:
        return "mpich"
    name = " ".join(version.split("\n")[0].split()) + (" with the ABI of MPI 5" if is_new_abi else "")
    raise InputError(
        f"{what} an MPI library that Hakobi is not built for here ({name}): build Hakobi with it "
        "(docs/install.md, From source) and set HAKOBI_PREFIX"
    )


def loaded() -> list[Path]:
    """The MPI libraries that the process holds."""
    with contextlib.suppress(OSError), Path("/proc/self/maps").open() as maps:
        files = (line.rstrip("\n").partition("/") for line in maps)
        paths = dict.fromkeys(Path(slash + rest) for _, slash, rest in files if slash)
        return [path for path in paths if re.fullmatch(mpi_library.NAME, path.name)]
    return []


def _version(path: Path) -> str:
    text, length = ctypes.create_string_buffer(16384), ctypes.c_int()
    ctypes.CDLL(str(path)).MPI_Get_library_version(text, ctypes.byref(length))
    return text.value.decode(errors="replace")


def num_ranks() -> int | None:
    """How many processes the launcher says that the run has; None where there is no launcher, or it does not say."""
    for variable in (*_SIZES, "SLURM_STEP_NUM_TASKS"):
        with contextlib.suppress(KeyError, ValueError):
            return int(os.environ[variable])
    return None


def load(flavour: str) -> bool:
    """Makes the symbols of the process's MPI library visible to libraries that are loaded after it, and loads one if
    there is none yet. Returns whether there is one."""
    for path in [*map(str, loaded()), *_candidates(flavour)]:
        with contextlib.suppress(OSError):
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
            return True
    return False


def _candidates(flavour: str) -> Iterator[str]:
    """Beside the launcher, in this Python's environment, where the system's loader looks."""
    launcher = shutil.which("mpiexec")
    prefixes = [Path(launcher).resolve().parent.parent] if launcher else []
    for prefix in [*prefixes, Path(sys.prefix)]:
        yield from (str(prefix / folder / name) for folder in ("lib", "lib64") for name in SONAMES[flavour])
    yield from SONAMES[flavour]

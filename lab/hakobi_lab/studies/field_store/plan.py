"""The runs of the study: how the model runs, where its output goes, and with what settings; pure.

A round has every case once. Each way of running the model (Model) has a run without output, and on each storage one
with two files a step and one with the store, or those of them that a plan wants. Strides, and settings of the store one
at a time, are those of the last model; settings are tried on the first storage.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from hakobi import conditions
from hakobi.errors import InputError
from hakobi.measuring.storage_model import StorageModel
from hakobi.words import binary_text, count_text

#: Where output goes; "none" is the baseline.
KINDS = ("none", "files", "store")
RESOLUTIONS = ("T63", "T95", "T159", "T255", "T511")
#: Ways to huge pages, and what glibc's tunable malloc.hugetlb calls them.
HEAPS = {"madvise": 1, "hugetlbfs": 2 << 20}


@dataclass(frozen=True)
class Model:
    """How hakobi-weather computes."""

    resolution: str = "T159"
    ranks: int = 2
    threads: int = 1  #: of each rank
    huge_heap: str = ""  #: a way in HEAPS: all memory that the program allocates is in huge pages, where there are any

    def words(self) -> str:
        """
        >>> Model("T63", 2).words(), Model("T63", 1, threads=2).words()
        ('T63, 2 ranks', 'T63, 1 rank x 2 threads')
        """
        threads = f" x {count_text(self.threads, 'thread')}" if self.threads > 1 else ""
        heap = f", huge pages everywhere by {self.huge_heap}" if self.huge_heap else ""
        return f"{self.resolution}, {count_text(self.ranks, 'rank')}{threads}{heap}"

    def arguments(self) -> list[str]:
        return ["--resolution", self.resolution, "--threads", str(self.threads)]

    def environment(self) -> dict[str, str]:
        """Threads that wait sleep: where ranks x threads are more than the cores, others need these. glibc 2.35 and
        later asks the kernel for huge pages for all that malloc gives."""
        pages = {"GLIBC_TUNABLES": f"glibc.malloc.hugetlb={HEAPS[self.huge_heap]}"} if self.huge_heap else {}
        return {"OMP_WAIT_POLICY": "passive", **pages}


@dataclass(frozen=True)
class Settings:
    """The store's options (hakobi::StoreOptions) and its files' stripes. Defaults: the store's own."""

    num_buffers: int = 4
    buffer_mib: int = 64
    is_asynchronous: bool = True
    num_io_threads: int = 4
    pad_bytes: int = 0
    is_synced: bool = True
    is_directory_synced: bool = True
    has_huge_pages: bool = False
    is_direct: bool = False
    striping_factor: int = 0  #: 0: as the folder has it
    striping_unit_mib: int = 0

    def changes(self) -> list[tuple[str, str]]:
        """The settings that differ from the store's defaults: parameter and value.

        >>> Settings(num_buffers=2, is_synced=False).changes()
        [('buffers', '2 x 64 MiB'), ('sync at flush', 'no')]
        """
        usual = Settings()
        found = []
        if (self.num_buffers, self.buffer_mib) != (usual.num_buffers, usual.buffer_mib):
            found.append(("buffers", f"{self.num_buffers} x {self.buffer_mib} MiB"))
        for name, (words, value) in _PARAMETERS.items():
            if getattr(self, name) != getattr(usual, name):
                found.append((words, value(getattr(self, name))))
        if self.striping_factor:
            found.append(("stripes", f"{self.striping_factor} x {self.striping_unit_mib} MiB"))
        return found

    def arguments(self) -> list[str]:
        """The arguments for hakobi-weather.

        >>> Settings(pad_bytes=4096).arguments()
        ['--buffers', '4', '--buffer-mib', '64', '--io-threads', '4', '--pad-bytes', '4096']
        """
        words = ["--buffers", str(self.num_buffers), "--buffer-mib", str(self.buffer_mib)]
        words += ["--io-threads", str(self.num_io_threads), "--pad-bytes", str(self.pad_bytes)]
        flags = {
            "--synchronous": not self.is_asynchronous,
            "--no-sync": not self.is_synced,
            "--no-directory-sync": not self.is_directory_synced,
            "--huge-pages": self.has_huge_pages,
            "--direct": self.is_direct,
        }
        return words + [flag for flag, is_given in flags.items() if is_given]


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


#: Settings that have a name and a value of their own, as tables say them.
_PARAMETERS: dict[str, tuple[str, Callable[..., str]]] = {
    "is_asynchronous": ("asynchronous", _yes_or_no),
    "num_io_threads": ("I/O threads", str),
    "pad_bytes": ("padding to multiples of", binary_text),
    "is_synced": ("sync at flush", _yes_or_no),
    "is_directory_synced": ("sync of the directory", _yes_or_no),
    "has_huge_pages": ("huge pages for the buffers", _yes_or_no),
    "is_direct": ("past the page cache (O_DIRECT)", _yes_or_no),
}

#: Each of the store's parameters but for the buffers' number and size, changed alone; O_DIRECT needs padding.
OTHER_SETTINGS = (
    Settings(is_asynchronous=False),
    Settings(num_io_threads=1),
    Settings(pad_bytes=4096),
    Settings(pad_bytes=1 << 20),
    Settings(pad_bytes=4096, is_direct=True),
    Settings(is_synced=False),
    Settings(is_directory_synced=False),
    Settings(has_huge_pages=True),
)
assert set(_PARAMETERS) <= {one.name for one in fields(Settings)}


@dataclass(frozen=True)
class Striping:
    """How a run's files lie on the servers, and which ranks write them."""

    factor: int
    unit_mib: int
    stride: int = 1


@dataclass(frozen=True)
class Case:
    """One setting. `storage` is "" for the run without output."""

    kind: str  #: none, files, store
    model: Model
    storage: str = ""
    stride: int = 1
    settings: Settings = Settings()

    def words(self) -> str:
        """Words that tell it from the other cases.

        >>> Case("store", Model("T63", 4), "disk", 2, Settings(has_huge_pages=True)).words()
        'T63, 4 ranks, store, disk, stride 2, huge pages for the buffers: yes'
        """
        words = [self.model.words(), self.kind, self.storage]
        words += [f"stride {self.stride}"] if self.kind == "store" else []
        words += [f"{name}: {value}" for name, value in self.settings.changes()]
        return ", ".join(filter(None, words))

    def arguments(self, folder: Path) -> list[str]:
        """The arguments for hakobi-weather.

        >>> Case("files", Model("T63"), "disk").arguments(Path("x"))
        ['--resolution', 'T63', '--threads', '1', '--output', 'files:x/fields/forecast']
        """
        words = self.model.arguments()
        if self.kind == "none":
            return [*words, "--output", "none"]
        if self.kind == "files":
            return [*words, "--output", f"files:{folder / 'fields' / 'forecast'}"]
        words += ["--output", f"store:{folder / 'fields'}", "--writer-stride", str(self.stride)]
        return words + self.settings.arguments()


@dataclass(frozen=True)
class Plan:
    """The whole study. `arguments` are for hakobi-weather: levels, hours."""

    storages: dict[str, Path]
    models: tuple[Model, ...]
    strides: tuple[int, ...] = (1,)
    settings: tuple[Settings, ...] = ()
    stripings: tuple[Striping, ...] = ()  #: on each storage that has stripes
    rounds: int = 3
    timeout_s: float = 3600.0
    arguments: tuple[str, ...] = ()
    storage_models: dict[str, StorageModel] = field(default_factory=dict)  #: laid over a storage's files
    kinds: tuple[str, ...] = KINDS  #: of each model's runs
    further: tuple[Case, ...] = ()

    @property
    def base(self) -> Model:
        """The model of strides and settings."""
        return self.models[-1]

    @property
    def first_storage(self) -> str:
        return next(iter(self.storages))

    def cases(self) -> list[Case]:
        """Every case once, runs without output first."""
        cases = []
        for model in self.models:
            cases += [Case("none", model)] if "none" in self.kinds else []
            for storage in self.storages:
                cases += [Case(kind, model, storage) for kind in self.kinds if kind != "none"]
        for storage in self.storages:
            cases += [Case("store", self.base, storage, stride) for stride in self.strides]
        cases += [self.with_settings(one) for one in self.settings]
        striped = [storage for storage in self.storages if self.has_stripes(storage)]
        cases += [
            self.with_stripes(storage, one) for one in self.stripings for storage in striped
        ]  # a budget ends alike
        return list(dict.fromkeys([*cases, *self.further]))

    def with_settings(self, settings: Settings) -> Case:
        return Case("store", self.base, self.first_storage, settings=settings)

    def has_stripes(self, storage: str) -> bool:
        """Whether they can be chosen there: on Lustre, and on a modelled storage."""
        return storage in self.storage_models or has_striping(self.storages[storage])

    def clamped(self, storage: str, factor: int) -> int:
        """As many stripes as a file gets: no more than a modelled storage's servers. Lustre clamps by itself."""
        model = self.storage_models.get(storage)
        return min(factor, model.servers) if model else factor

    def with_stripes(self, storage: str, one: Striping) -> Case:
        settings = Settings(striping_factor=self.clamped(storage, one.factor), striping_unit_mib=one.unit_mib)
        return Case("store", self.base, storage, one.stride, settings)

    def storage_model_of(self, case: Case) -> StorageModel | None:
        """The storage model laid over the case's files; its stripes are those of a new file."""
        model = self.storage_models.get(case.storage)
        if model is None or not case.settings.striping_factor:
            return model
        unit_bytes = case.settings.striping_unit_mib << 20
        return replace(model, stripes=case.settings.striping_factor, stripe_bytes=unit_bytes)


def has_striping(folder: Path) -> bool:
    """Whether the folder's file system has stripes that can be chosen here: Lustre, with its program lfs."""
    return conditions.file_system(folder).get("type") == "lustre" and shutil.which("lfs") is not None


def models_of(resolutions: Sequence[str], ranks: Sequence[int], threads: Sequence[int]) -> tuple[Model, ...]:
    """Each combination.

    >>> [model.words() for model in models_of(["T63", "T95"], [2], [1])]
    ['T63, 2 ranks', 'T95, 2 ranks']
    """
    return tuple(Model(name, count, each) for name in resolutions for count in ranks for each in threads)


def parse_resolutions(text: str) -> tuple[str, ...]:
    """ "T63,T159", in the order given. Raises InputError.

    >>> parse_resolutions("T63, T159")
    ('T63', 'T159')
    """
    return tuple(dict.fromkeys(parse_resolution(word.strip()) for word in text.split(",")))


def parse_resolution(name: str) -> str:
    """Itself. Raises InputError."""
    if name not in RESOLUTIONS:
        raise InputError(f"--resolution {name}: {', '.join(RESOLUTIONS)} are there")
    return name


def parse_pairs(option: str, text: str, least: int) -> tuple[tuple[int, int], ...]:
    """ "2x16,4x64": number, at least `least`, and MiB of each. Raises InputError.

    >>> parse_pairs("--buffers", "2x16,4x64", 2)
    ((2, 16), (4, 64))
    """
    pairs = []
    for word in text.split(","):
        count, times, mib = word.strip().partition("x")
        if not (times and count.isdigit() and mib.isdigit() and int(count) >= least and int(mib) >= 1):
            raise InputError(f"{option} {word}: NUMBERxMIB is needed, such as 4x64, with {least} or more")
        pairs.append((int(count), int(mib)))
    return tuple(dict.fromkeys(pairs))


def useful_strides(strides: Sequence[int], ranks: int) -> tuple[int, ...]:
    """Those from 1 to the number of ranks: larger ones name the same single writer.

    >>> useful_strides((1, 2, 4, 8), 2)
    (1, 2)
    """
    return tuple(stride for stride in strides if stride <= ranks)


def settings_of(buffers: Sequence[tuple[int, int]]) -> tuple[Settings, ...]:
    """The store as it is by itself, with each number and size of buffers, and with each other parameter changed."""
    pairs = [replace(Settings(), num_buffers=count, buffer_mib=mib) for count, mib in buffers]
    return tuple(dict.fromkeys([Settings(), *pairs, *OTHER_SETTINGS]))

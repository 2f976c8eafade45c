"""The results below a path: series of steps, each a file or a time in a file.

`run_000000.nc`, `run_000001.nc`, … are one series; a file without a number is a series of its own. Numbers are kept as
integers, so that a series of a million steps costs 8 bytes a step. Links are not followed, hidden files not looked at.
GRIB files are known by their suffix or, of this machine, by how they begin.
`run.series.nc`, which shows the steps of `run` as one data set, is left out beside them, unless it is what was named.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hakobi.errors import HakobiError, InputError
from hakobi.post import zarr_store
from hakobi.post.cache import Cache
from hakobi.post.grib_scan import HEAD_BYTES, is_grib
from hakobi.post.grib_scan import SUFFIXES as GRIB_SUFFIXES
from hakobi.post.opening import open_step
from hakobi.post.overview import Overview, path_of
from hakobi.post.place import Location, ObjectPath, below
from hakobi.post.reaching import entries_of, open_location, seen
from hakobi.post.source import Array, Step
from hakobi.post.staged import staged_text
from hakobi.post.stored import MARK, Archive, StoredStep

SUFFIXES = (".nc", ".nc4", ".h5", ".hdf5", ".hdf", ".he5", *GRIB_SUFFIXES)
_NUMBERED = re.compile(r"(?s)(.*?)(\d{1,18})")
_VIEW = re.compile(r"(?s)(.*)\.series(\.#+)?(\.[^.]+)")
_MOST_FOLDERS = 10_000
_MOST_RUNS = 20_000
#: Files of unknown names whose first bytes are read, and remembered.
_MOST_SNIFFED = 20_000


def identifier(text: str, size: int = 6) -> str:
    """A short name for an address, made from any text.

    >>> len(identifier("<b>"))
    12
    """
    return hashlib.blake2s(text.encode(errors="surrogateescape"), digest_size=size).hexdigest()


@dataclass
class Series:
    """Files of one name with ascending numbers; a file without a number has the number -1."""

    key: str  # path below the root, the number left out
    folder: Location
    prefix: str
    suffix: str
    width: int  # of the number with its leading zeros
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def id(self) -> str:
        return identifier(self.key)

    def open(self, number: int, root: Location) -> Step:
        """The step with that number. Raises KeyError, and what open_step raises."""
        return open_step(self.path(number), root)

    def path(self, number: int) -> Location:
        """The file with that number, which is one of the series'. Raises KeyError."""
        at = int(np.searchsorted(self.numbers, number))
        if at >= len(self.numbers) or self.numbers[at] != number:
            raise KeyError(number)
        text = "" if number < 0 else str(number).zfill(self.width)
        return self.folder / f"{self.prefix}{text}{self.suffix}"

    def runs(self) -> list[list[int]]:
        """The numbers as [first, difference, count]: few for an even series, however long."""
        runs: list[list[int]] = []
        at, count = 0, len(self.numbers)
        differences = np.diff(self.numbers)
        changes = np.flatnonzero(np.diff(differences)) + 1
        while at < count and len(runs) < _MOST_RUNS:
            if at + 1 == count:
                runs.append([int(self.numbers[at]), 1, 1])
                break
            place = int(np.searchsorted(changes, at, side="right"))
            stop = int(changes[place]) + 1 if place < len(changes) else count
            runs.append([int(self.numbers[at]), int(differences[at]), stop - at])
            at = stop
        return runs


@dataclass
class StoreSeries(Series):
    """A field store: its steps are numbered by date and time."""

    archive: Archive | None = None

    def open(self, number: int, root: Location) -> Step:
        """The fields of one date and time. Raises KeyError, HakobiError."""
        assert self.archive is not None
        self.archive.refresh()
        return StoredStep(self.archive, number)

    def path(self, number: int) -> Location:
        """The store's folder."""
        return self.folder


class Catalogue:
    """The series below a root, looked up again by `scan`. `path` is a folder, a file, or the prefix of a series as a
    program was given it (`out/run`). Raises InputError where nothing is there."""

    def __init__(self, path: Location) -> None:
        self._only: str | None = None
        self._with_parts = False
        self.root: Location
        if isinstance(path, ObjectPath):
            self._begin_with_objects(path)
        else:
            is_named = path.is_file() or path.name.endswith(zarr_store.SUFFIX)
            path = path.resolve() if is_named else path.absolute()  # a link that was named is followed
            if path.is_dir() and not zarr_store.is_store(path):
                self.root = path.resolve()
            elif path.parent.is_dir():
                self.root, self._only = path.parent.resolve(), path.name
            else:
                raise InputError(f"{path}: there is no such file or folder", code="not_found")
        self.series: dict[str, Series] = {}
        self._archives: dict[Path, Archive] = {}
        self._sniffed: dict[Location, bool] = {}
        self.scan()
        if self._only is None and not self.series:
            self._take_the_series_beside(path)
        if self._only is not None and not self.series:  # run_rotor, run_stator: parts of a run that was given `run`
            self._with_parts = True
            self.scan()
        if self._only is not None and not self.series:
            staged = staged_text(path)
            text = f"there is no such file, nor steps {path.name}_….nc"
            raise InputError(f"{path}: {f'{text} ({staged})' if staged else text}", code="not_found")

    def _begin_with_objects(self, path: ObjectPath) -> None:
        """Begins with objects: a path with anything below it is a folder. Raises InputError where the bucket is not
        there or not readable."""
        try:
            is_store = path.key and zarr_store.is_store(path)
            is_folder = not is_store and (not path.key or any(True for _ in entries_of(path)))
            if not is_folder:
                next(entries_of(path.parent), None)
        except FileNotFoundError as error:
            raise InputError(f"{path}: {error.strerror}", code="not_found") from error
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        self.root, self._only = (path, None) if is_folder else (path.parent, path.name)

    def _take_the_series_beside(self, path: Location) -> None:
        """Takes the series beside a folder without results whose name is the series' prefix, such as one of logs beside
        `run_000000.nc`."""
        root = self.root
        if isinstance(path, Path):
            self.root, self._only = path.parent.resolve(), path.name
        elif path.key:
            self.root, self._only = path.parent, path.name
        self.scan()
        if not self.series:
            self.root, self._only = root, None

    def scan(self) -> list[Series]:
        """Looks again; returns the series that are new or have other steps than before."""
        found: dict[str, tuple[Series, list[int]]] = {}
        folders: list[Location] = [self.root]
        for folder in folders:
            if self._only is None and isinstance(folder, Path) and (folder / MARK).is_file():
                self._add_store(found, folder)
                continue
            with contextlib.suppress(OSError):
                for entry in entries_of(folder):
                    if entry.name.startswith("."):
                        continue
                    if entry.name.endswith(SUFFIXES):
                        if entry.is_file:
                            self._add(found, folder, entry.name)
                    elif zarr_store.is_store(folder / entry.name):
                        self._add(found, folder, entry.name)
                    elif self._only is None and len(folders) < _MOST_FOLDERS and entry.is_folder:
                        folders.append(folder / entry.name)
                    elif entry.is_file and self._is_grib(folder, entry.name):
                        self._add(found, folder, entry.name)
        self._leave_views_out(found)
        self._merge_widths(found)
        changed = []
        now: dict[str, Series] = {}
        for series, numbers in found.values():
            series.numbers = np.unique(np.array(numbers, np.int64))
            now[series.id] = series
            before = self.series.get(series.id)
            if before is None or not np.array_equal(before.numbers, series.numbers):
                changed.append(series)
        self.series = now
        return changed

    def _is_grib(self, folder: Location, name: str) -> bool:
        """Whether a file whose name says nothing is GRIB. It is asked once; of objects only what was named."""
        if self._only is not None and not name.startswith(self._only):
            return False
        path = folder / name
        if path not in self._sniffed:
            if len(self._sniffed) >= _MOST_SNIFFED or not (isinstance(path, Path) or self._only == name):
                return False
            try:
                file = open_location(path)
            except OSError:
                return False
            try:
                head = file.read(HEAD_BYTES, 0)
            finally:
                file.close()
            if len(head) < 8:  # it may grow
                return False
            self._sniffed[path] = is_grib(head)
        return self._sniffed[path]

    def _add_store(self, found: dict[str, tuple[Series, list[int]]], folder: Path) -> None:
        archive = self._archives.setdefault(folder, Archive(folder))
        with contextlib.suppress(HakobiError, OSError):  # one that cannot be read keeps what was known of it
            archive.refresh()
        inside = below(folder, self.root) or "."
        name = folder.name if inside == "." else inside
        series = StoreSeries(name, folder, "", "", 0, archive=archive)
        found[f"{folder}\0"] = (series, list(range(len(archive.steps))))

    def _add(self, found: dict[str, tuple[Series, list[int]]], folder: Location, name: str) -> None:
        suffix = next(
            (s for s in (*SUFFIXES, zarr_store.SUFFIX) if name.endswith(s)), ""
        )  # else it ends with its number
        stem = name.removesuffix(suffix)
        match = _NUMBERED.fullmatch(stem)
        prefix, digits = match.groups() if match else (stem, "")
        if self._only is not None and not self._is_named(name, stem, prefix):
            return
        if self._only == name:
            prefix, digits = stem, ""
        # Numbers of one width are a series, and so are those without leading zeros that are wider.
        width = len(digits)
        sign = "#" * width
        key = f"{folder}\0{prefix}{sign}{suffix}"
        if key not in found:
            inside = below(folder, self.root) or "."
            place = "" if inside == "." else inside + "/"
            found[key] = (Series(f"{place}{prefix}{sign}{suffix}", folder, prefix, suffix, width), [])
        found[key][1].append(int(digits) if digits else -1)

    def _is_named(self, name: str, stem: str, prefix: str) -> bool:
        """Whether a file belongs to what was named."""
        is_part = self._with_parts and prefix.startswith(f"{self._only}_")
        return is_part or self._only in (name, stem, prefix, prefix.rstrip("_-."))

    def _leave_views_out(self, found: dict[str, tuple[Series, list[int]]]) -> None:
        for key in list(found):
            view = _VIEW.fullmatch(key)
            if view and found[key][0].key != self._only and f"{view[1]}_######{view[3]}" in found:
                del found[key]

    @staticmethod
    def _merge_widths(found: dict[str, tuple[Series, list[int]]]) -> None:
        """run_9 and run_10 are one series: a width whose numbers have no leading zero goes to the one below it."""
        for key in sorted(found, key=len, reverse=True):
            series, numbers = found[key]
            if not series.width:
                continue
            narrower = key.replace("#" * series.width, "#" * (series.width - 1), 1)
            if series.width > 1 and narrower in found and min(numbers) >= 10 ** (series.width - 1):
                found[narrower][1].extend(numbers)
                del found[key]

    def of(self, series_id: str) -> Series:
        """Raises KeyError."""
        return self.series[series_id]


@dataclass
class OpenStep:
    """A step with its overview where there is one that fits. `version` is other for every content of the file."""

    step: Step
    overview: Overview | None
    version: str
    bounds: Callable[[int], tuple[Array, Array]] | None = None  # of the mesh's points at a time, where it has a mesh


class Steps:
    """Open steps, the most recently used ones, shared by all viewers. `root` is what files may lie below."""

    def __init__(self, root: Location, most: int = 64) -> None:
        self._root, self._most = root, most
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[str, int], OpenStep] = OrderedDict()
        self._bounds: Cache[tuple[Array, Array]] = Cache(256, lambda _: 1)

    def get(self, series: Series, number: int) -> OpenStep:
        """The step as it is now. Raises KeyError, FormatError (torn, being written), OSError (gone, no permission)."""
        place = (series.key, number)
        with self._lock:
            known = self._open.get(place)
            if known is not None:
                self._open.move_to_end(place)
        if known is not None and known.step.is_current() and overview_state(known.step.path) == state_of(known):
            return known
        fresh = self._load(series.open(number, self._root))
        with self._lock:
            self._open[place] = fresh
            self._open.move_to_end(place)
            while len(self._open) > self._most:
                self._open.popitem(last=False)  # closed when its last reader lets go of it
        return fresh

    def _load(self, step: Step) -> OpenStep:
        overview: Overview | None = None
        try:
            overview = Overview(path_of(step.path)) if step.fields and step.file and step.found.kind != "grib" else None
            if overview and not (step.file and overview.is_of(step.file) and _fits(overview, step)):
                overview = None
        except (HakobiError, OSError):
            overview = None
        state = overview_state(step.path) if overview else None
        version = identifier(f"{step.identity()} {state}", 5)
        mesh = step.mesh
        if mesh is None:
            return OpenStep(step, overview, version)
        bounds = lambda time: self._bounds.get(mesh.points_key(time), lambda: mesh.bounds(time))  # noqa: E731
        return OpenStep(step, overview, version, bounds)


def _fits(overview: Overview, step: Step) -> bool:
    for name, found in list(overview.fields.items()):
        this = step.fields.get(name)
        if this is not None and this.on_map is not None:  # an overview is of the field's own cells
            del overview.fields[name]
            continue
        if this is None or len(found.shards) != max(1, this.num_times):
            return False
        if any(shard.level.shape != type(shard.level).of(this.shape, shard.level.number).shape
               for time in found.shards for shard in time.values()):  # fmt: skip
            return False
    return True


def overview_state(path: Location) -> str | None:
    found = seen(path_of(path))
    return None if found is None else str(found)


def state_of(known: OpenStep) -> str | None:
    return None if known.overview is None else str(known.overview.identity)

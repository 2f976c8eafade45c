"""The work of a server's process: it opens steps, reads of them, answers. Its memory and time are bounded (pool.py)."""

from __future__ import annotations

import contextlib
import dataclasses
import zlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hakobi.errors import HakobiError, InputError
from hakobi.post import answers, tiles
from hakobi.post import volume as volumes
from hakobi.post.catalogue import OpenStep, Series, Steps, StoreSeries, overview_state, state_of
from hakobi.post.glance import glance
from hakobi.post.mesh import MeshField
from hakobi.post.meshes import Shapes
from hakobi.post.place import Identity, Location, ObjectPath
from hakobi.post.reaching import is_current, seen
from hakobi.post.source import Field, default_field
from hakobi.post.stored import Archive


class GoneError(HakobiError):
    """The address names a file that is another by now."""


@dataclass(frozen=True)
class Known:
    """A step's version, and what tells that it is still that one."""

    version: str
    path: Location
    identities: tuple[Identity, ...]  # of a store: none
    overview: Any

    def is_current(self) -> bool:
        return (
            bool(self.identities)
            and all(map(is_current, self.identities))
            and overview_state(self.path) == self.overview
        )


@dataclass(frozen=True)
class Place:
    """A step of a series, and a time in its file; with a version where the address has one."""

    series: Series
    number: int
    time: int
    version: str = ""

    @classmethod
    def of(cls, series: Series, number: int, time: int, version: str = "") -> Place:
        """With as much of the series as another process needs. Raises KeyError for a step that is not there."""
        series.path(number)
        return cls(_alone(series, np.array([number], np.int64)), number, time, version)


def _alone(series: Series, numbers: Any) -> Series:
    if isinstance(series, StoreSeries):
        return dataclasses.replace(series, numbers=numbers, archive=None)
    return dataclasses.replace(series, numbers=numbers)


def whole(series: Series) -> Series:
    """For another process, with all of its steps."""
    return _alone(series, series.numbers)


class Looker:
    """Opens steps below a root and keeps the last ones open."""

    def __init__(self, root: Location) -> None:
        import h5py  # noqa: F401  # before the first call, and before memory is bounded

        if isinstance(root, ObjectPath):
            import obstore  # noqa: F401  # its threads, too

        self._steps = Steps(root, 16)
        self._shapes = Shapes(64 << 20)
        self._archives: dict[Path, Archive] = {}
        self._times_of: dict[str, dict[tuple[str, ...], str]] = {}
        self._counts: dict[Location, tuple[Identity | None, int]] = {}

    # JSON

    def known(self, place: Place) -> Known:
        opened = self._open(place)
        return Known(opened.version, opened.step.path, opened.step.identities, state_of(opened))

    def step(self, place: Place, _field: str) -> dict[str, Any]:
        return answers.describe_step(self._open(place), place.time)

    def start(self, place: Place) -> dict[str, Any]:
        """The answer to the page's first question."""
        opened = self._open(place)
        first = default_field(opened.step)
        told: dict[str, Any] = {"step": answers.describe_step(opened)}
        if first is not None:
            told["statistics"] = answers.describe_statistics(opened, answers.checked(first), 0)
        return told

    def statistics(self, place: Place, field: str) -> dict[str, Any]:
        return answers.describe_statistics(*self._field(place, field))

    def point(self, place: Place, field: str, at: list[int]) -> dict[str, Any]:
        return {"value": answers.number(answers.read_point(*self._field(place, field), at))}

    def line(self, place: Place, field: str, first: list[int], last: list[int]) -> dict[str, Any]:
        return answers.read_line(*self._field(place, field), first, last)

    def times(self, series: Series, field: str, at: list[int]) -> dict[str, Any]:
        return answers.read_times(self._own(series), self._steps, field, at)

    def counts(self, series: Series) -> dict[str, Any]:
        return {"steps": answers.count_steps(series, partial(self._count, self._times_of.setdefault(series.id, {})))}

    def _count(self, times_of: dict[tuple[str, ...], str], path: Location) -> int:
        """The steps of a file; one where it cannot be read. What was counted is known until the file is another."""
        identity = seen(path)
        known = self._counts.get(path)
        if known is None or identity is None or known[0] != identity:
            steps = 1
            with contextlib.suppress(HakobiError, OSError):
                steps = max(1, len(glance(path, times_of).times))
            known = self._counts[path] = (identity, steps)
        return known[1]

    def source(self, place: Place, field: str, shape: str, detail: int, number: int) -> dict[str, Any]:
        opened, this, time = self._mesh_field(place, field)
        return {"at": self._shapes.source(opened, time, shape, detail, this, number)}

    # Bytes, packed

    def tile(self, place: Place, field: str, *at: int, is_exact: bool = False) -> bytes:
        opened, plane, row, column = self._plane(place, field, *at)
        return zlib.compress(tiles.plane_tile(opened, plane, row, column, is_exact), 1)

    def exact_tile(self, place: Place, field: str, *at: int) -> bytes:
        return self.tile(place, field, *at, is_exact=True)

    def difference(self, place: Place, field: str, other: Place, *at: int, is_exact: bool = False) -> bytes:
        opened, plane, row, column = self._plane(place, field, *at)
        second = self._open(other)
        this = next((f for f in second.step.fields.values() if f.name == plane.field.name), None)
        if this is None:
            raise InputError(f"{second.step.path.name} has no field '{plane.field.name}' to take away")
        time = min(other.time, max(0, this.num_times - 1))
        planes = (tiles.Plane(answers.checked(this), time, plane.level, plane.axis, plane.index), plane)
        return zlib.compress(tiles.difference_tile(second, opened, planes, row, column, is_exact), 1)

    def exact_difference(self, place: Place, field: str, other: Place, *at: int) -> bytes:
        return self.difference(place, field, other, *at, is_exact=True)

    def volume(self, place: Place, field: str, level: int) -> bytes:
        return zlib.compress(volumes.volume(*self._grid_field(place, field), level), 1)

    def bent_volume(self, place: Place, field: str, level: int) -> bytes:
        return zlib.compress(volumes.volume(*self._grid_field(place, field), level, is_bent=True), 1)

    def geometry(self, place: Place, shape: str, detail: int) -> bytes:
        opened = self._open(place)
        if opened.step.mesh is not None and not 0 <= place.time < opened.step.mesh.num_times:
            raise InputError(f"time {place.time} is not there")
        return zlib.compress(self._shapes.geometry(opened, place.time, shape, detail), 1)

    def values(self, place: Place, field: str, shape: str, detail: int) -> bytes:
        opened, this, time = self._mesh_field(place, field)
        return zlib.compress(self._shapes.values(opened, time, shape, detail, this), 1)

    # Names

    def _own(self, series: Series) -> Series:
        if not isinstance(series, StoreSeries):
            return series
        assert isinstance(series.folder, Path)
        return dataclasses.replace(series, archive=self._archives.setdefault(series.folder, Archive(series.folder)))

    def _open(self, place: Place) -> OpenStep:
        opened = self._steps.get(self._own(place.series), place.number)
        if place.version and opened.version != place.version:
            raise GoneError("the step is another by now")
        return opened

    def _field(self, place: Place, field_id: str) -> tuple[OpenStep, Field, int]:
        opened = self._open(place)
        field = answers.field_of(opened, field_id)
        if not 0 <= place.time < max(1, field.num_times):
            raise InputError(f"time {place.time} is not there")
        return opened, field, place.time

    def _grid_field(self, place: Place, field_id: str) -> tuple[OpenStep, Field, int]:
        opened, field, time = self._field(place, field_id)
        if isinstance(field, MeshField):
            raise InputError("the field is a mesh's")
        return opened, field, time

    def _mesh_field(self, place: Place, field_id: str) -> tuple[OpenStep, MeshField, int]:
        opened, field, time = self._field(place, field_id)
        if not isinstance(field, MeshField):
            raise InputError("the field is a grid's")
        return opened, field, time

    def _plane(
        self, place: Place, field_id: str, level: int, axis: int, index: int, row: int, column: int
    ) -> tuple[OpenStep, tiles.Plane, int, int]:
        opened, field, time = self._grid_field(place, field_id)
        return opened, tiles.Plane(field, time, level, axis, index), row, column

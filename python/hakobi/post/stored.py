"""A field store as a series of steps: a step is a date and time of the fields, a field what else they are called.

The store's own library lists and reads (hakobi.store); GRIB values are ecCodes', arrays are as they were archived.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hakobi.errors import FormatError, HakobiError
from hakobi.post.curvilinear import MOST_CELLS, on_maps
from hakobi.post.source import MOST_FIELDS, Array, Axis, Box, Field, Found, Step
from hakobi.store.grib_grid import Grid, Projection, grid_of
from hakobi.store.grib_names import EPOCH, words_of
from hakobi.store.parameters import param_name, step_end_s

#: The file that makes a folder a store.
MARK = "hakobi-store"
#: Keywords that say when, and those that name a field first.
_WHEN = ("date", "hdate", "time", "step", "iteration", "trajectory", "cycle")
_NAMES = ("param", "variable", "field", "name", "quantity")
_MOST_KEPT_BYTES = 64 << 20


class Archive:
    """The fields of one store as they were when it was last looked at; `refresh` looks again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._state: Any = None
        self._listing: Any = None
        self.steps: list[list[int]] = []
        self._decoded: OrderedDict[str, Array] = OrderedDict()

    def refresh(self) -> None:
        """Lists the fields again where a file has changed. Raises HakobiError, OSError."""
        from hakobi.store.library import open_store

        with os.scandir(self.folder) as entries:
            state = sorted((e.name, *_seen(e)) for e in entries if e.is_file(follow_symlinks=False))
        with self._lock:
            if state == self._state:
                return
            listing = open_store(self.folder).list()
            self._listing, self._state = listing, state
            self._whens = [word for word in _WHEN if word in listing.keywords()]
            columns = [_when_codes(word, *listing.column(word)) for word in self._whens]
            codes = np.stack(columns) if columns else np.zeros((1, len(listing)), np.int32)
            when, places = np.unique(codes, axis=1, return_inverse=True)
            order = np.argsort(places.reshape(-1), kind="stable")
            parts = np.split(order, np.searchsorted(places.reshape(-1)[order], np.arange(1, when.shape[1])))
            self.steps = [part.tolist() for part in parts if len(part)]

    def fields(self, number: int) -> list[tuple[str, int, Any]]:
        """Name, place in the listing, and entry of each field of a step. Raises KeyError."""
        with self._lock:
            if not 0 <= number < len(self.steps):
                raise KeyError(number)
            entries = [(place, self._listing[place]) for place in self.steps[number][:MOST_FIELDS]]
        keywords = [
            k for k in dict.fromkeys(k for _, e in entries for k in e.keys) if k == "step" or k not in self._whens
        ]
        varied = [k for k in keywords if len({e.keys.get(k) for _, e in entries}) > 1 and k not in _NAMES]
        found: dict[str, tuple[str, int, Any]] = {}
        for place, entry in entries:
            name = _name_of(entry.keys, varied)
            while name in found:
                name += "'"
            found[name] = (name, place, entry)
        return sorted(found.values(), key=lambda item: item[0])

    def keywords(self) -> dict[str, list[str]]:
        """The values that each keyword has, in order."""
        with self._lock:
            return {word: self._listing.column(word)[1] for word in self._listing.keywords()} if self.steps else {}

    def when(self, number: int) -> str:
        with self._lock:
            keys = self._listing[self.steps[number][0]].keys
        return ", ".join(f"{word} {_end_of(word, keys[word])}" for word in self._whens if word in keys)

    def bytes_of(self, place: int, size: int | None = None) -> bytes:
        with self._lock:
            length = self._listing[place].length
            return bytes(self._listing.read(place, 0, length if size is None else min(size, length)))

    def kept(self, key: str, make: Any) -> Array:
        """Values by a key, the last ones kept."""
        with self._lock:
            known = self._decoded.get(key)
        if known is None:
            known = make()
            with self._lock:
                self._decoded[key] = known
                while len(self._decoded) > 1 and sum(v.nbytes for v in self._decoded.values()) > _MOST_KEPT_BYTES:
                    self._decoded.popitem(last=False)
        return known


def _seen(entry: os.DirEntry[str]) -> tuple[int, int]:
    status = entry.stat(follow_symlinks=False)
    return status.st_size, status.st_mtime_ns


def _end_of(word: str, value: str) -> str:
    """The end of a step that is an interval ("66-72"): the fields of both are valid then."""
    return value.rpartition("-")[2] if word == "step" and step_end_s(value) is not None else value


def _when_codes(word: str, codes: Array, values: list[str]) -> Array:
    """The codes of a keyword's values, in order; steps with one end have the same."""
    ends = [_end_of(word, value) for value in values]
    if ends == values:
        return codes
    order = sorted(dict.fromkeys(ends), key=lambda end: (step_end_s(end) is None, step_end_s(end) or 0))
    return np.array([order.index(end) for end in ends], np.int32)[codes]


def _name_of(keys: dict[str, str], varied: list[str]) -> str:
    word = next((w for w in _NAMES if w in keys), "")
    name = keys.get(word, "field")
    if word == "param":
        short = param_name(name)
        name = f"param={short}" if short.replace("-", "").isdigit() else short
    told = [k for k in varied if k in keys and (k != "step" or "-" in keys[k])]
    return " ".join([name, *(f"{k}={keys[k]}" for k in told)])


class StoredStep(Step):
    """The fields of one date and time."""

    def __init__(self, archive: Archive, number: int) -> None:
        self._archive, self._number = archive, number
        found = Found(kind="store", label=archive.when(number))
        self._places: dict[str, tuple[int, str, Grid | Projection | None]] = {}
        identity = []
        for name, place, entry in archive.fields(number):
            identity.append(f"{name} {entry.path} {entry.offset} {entry.length} {entry.checksum}")
            try:
                field, grid, valid_s = _field(archive, name, place, entry)
            except HakobiError as error:
                found.left_out[name] = str(error)
                continue
            found.fields[name] = field
            if valid_s is not None and not found.times:
                found.times, found.time_units = (valid_s,), EPOCH
            self._places[name] = (place, identity[-1], grid)
        self._identity = identity
        super().__init__(archive.folder, found, None, ())

    def identity(self) -> str:
        """Other for every content."""
        return "\n".join(self._identity)

    def is_current(self) -> bool:
        """Whether the step still has the same fields."""
        try:
            self._archive.refresh()
            now = [f"{n} {e.path} {e.offset} {e.length} {e.checksum}" for n, _, e in self._archive.fields(self._number)]
        except (HakobiError, OSError, KeyError):
            return False
        return now == self._identity

    def read(self, name: str, time: int, box: Box) -> Array:
        """Values of a box, float32 or float64."""
        from hakobi.store.arrays import decoded

        place, key, grid = self._places[name]
        this = self.fields[name]
        made, own = this.on_map or (None, this)

        def make() -> Array:
            data = self._archive.bytes_of(place)
            values = decoded("grib" if grid else str(self._form(name)), data)
            shaped = grid.map_of(values) if grid else values
            return shaped.reshape(own.shape).astype(own.value_type)

        values = self._archive.kept(key, make)

        def read(inside: Box) -> Array:
            return values[tuple(slice(a, b) for a, b in inside)].copy()

        return made.read(box, read) if made is not None else read(box)

    def _form(self, name: str) -> str:
        form: str = next(entry.form for n, _, entry in self._archive.fields(self._number) if n == name)
        return form

    @property
    def num_bytes(self) -> int:
        return sum(field.num_bytes for field in self.fields.values())


def _field(archive: Archive, name: str, place: int, entry: Any) -> tuple[Field, Grid | Projection | None, float | None]:
    """With the grid of a GRIB message, and when it is valid."""
    from hakobi.store.arrays import array_form

    if entry.form == "grib":
        message = archive.bytes_of(place)
        grid, words = grid_of(message), words_of(message)
        long_name = " ".join([words.name, *name.split(" ")[1:]]) if words.name else ""
        field = Field(name, (), 0, np.dtype(np.float64), words.units, long_name)
        return _on_grid(field, grid, message), grid, words.valid_s
    dtype, shape = array_form(entry.form)
    if not 2 <= len(shape) <= 3 or 0 in shape:
        raise FormatError("it does not have two or three dimensions")
    axes = tuple(Axis("zyx"[d - len(shape)], size) for d, size in enumerate(shape))
    return Field(name, axes, 0, dtype), None, None


def _on_grid(field: Field, grid: Grid | Projection, message: bytes) -> Field:
    """The field with its axes; one on a projection as a map where ecCodes knows it."""
    if isinstance(grid, Grid):
        latitudes, longitudes = (tuple(float(v) for v in a) for a in (grid.latitudes, grid.longitudes))
        north = Axis("latitude", len(latitudes), latitudes, "degrees_north", "lat")
        return replace(field, axes=(north, Axis("longitude", len(longitudes), longitudes, "degrees_east", "lon")))
    field = replace(field, axes=(Axis("y", grid.shape[0]), Axis("x", grid.shape[1])))
    places = grid.places(message) if grid.shape[0] * grid.shape[1] <= MOST_CELLS else None
    if places is None:
        return field
    found = {"latitude": ("degrees_north", places[0]), "longitude": ("degrees_east", places[1])}
    return on_maps([field], {field.name: " ".join(found)}, found.get)[field.name]

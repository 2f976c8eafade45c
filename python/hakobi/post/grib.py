"""GRIB files as steps: the fields of their messages, put together by parameter.

1. `hakobi.post.grib_scan` finds the messages, `grib_keys` says what each is.
2. Messages of one parameter on one grid and type of level are one field: its levels are its first direction where there
   are several, its times those of the file. In what else they differ (member, kind of interval, …) is in the names.
3. Values are ecCodes', a message at a time, when they are looked at. Spectral fields are summed on a grid (`spectral`).

A message that cannot be drawn is named with the reason; one that is cut ends the file and is told as a problem.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from hakobi.errors import FormatError, HakobiError, InputError
from hakobi.post.curvilinear import MOST_CELLS, on_maps
from hakobi.post.grib_keys import KeyReader, Keys
from hakobi.post.grib_scan import Record, scan
from hakobi.post.place import OpenFile
from hakobi.post.source import MOST_FIELDS, Array, Axis, Box, Field, Found
from hakobi.post.spectral import MOST_TRUNCATION, grid_of_truncation, synthesis
from hakobi.store.grib_grid import Grid, Projection, grid_of
from hakobi.store.grib_names import EPOCH
from hakobi.store.parameters import grib_array

#: Cells of a map: one message is decoded whole.
_MOST_MAP_CELLS = 32 << 20
_MOST_KEPT_BYTES = 64 << 20
_MOST_SAMPLE, _SAMPLED_LEVELS = 100_000, 4
_LEVEL_UNITS = {"pl": "hPa"}
_FALLING = ("pl", "ml")
#: Kinds of grids by code table 3.1, and edition 1's table 6.
_SPECTRAL_2, _GAUSSIAN_2 = 50, 40
_SPECTRAL_1, _GAUSSIAN_1 = 50, 4


@dataclass(frozen=True)
class Waves:
    """The grid of a spectral field: its map is `spectral`'s."""

    truncation: int


Layout = Grid | Projection | Waves
#: Level (None where there is one) and valid time -> the message.
Places = dict[tuple[float | None, float | None], Record]


@dataclass
class _Group:
    """The messages of one field."""

    name: str
    keys: Keys  # of the first
    layout: Layout
    places: Places
    first: Record

    @property
    def levels(self) -> list[float]:
        """From the ground up: pressure and the numbers of model levels fall."""
        found = {level for level, _ in self.places if level is not None}
        return sorted(found, reverse=self.keys.levtype in _FALLING)


def survey(file: OpenFile) -> Found:
    """Finds what is in the file. Raises FormatError where there is no message in it, OSError."""
    return _Survey(file).take()


class _Survey:
    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._scanned = scan(file)
        self._keys = KeyReader()
        self._layouts: dict[tuple[object, ...], Layout | str] = {}
        self._found = Found(kind="grib")

    def take(self) -> Found:
        found = self._found
        alike: dict[str, list[tuple[Record, Keys, Layout]]] = {}
        for record in self._scanned.records:
            keys = self._keys.of(record, lambda record=record: record.read(self._file))  # type: ignore[misc]
            layout = self._layout_of(record)
            if isinstance(layout, str):
                found.left_out.setdefault(_told(keys), layout)
                continue
            alike.setdefault(keys.name, []).append((record, keys, layout))
        groups = [group for each in alike.values() for group in _groups_of(each)]
        if len(groups) > MOST_FIELDS:
            found.left_out["…"] = f"only the first {MOST_FIELDS} of {len(groups)} fields are listed"
        groups = groups[:MOST_FIELDS]
        times = sorted({valid for group in groups for _, valid in group.places if valid is not None})
        found.times, found.time_units = tuple(times), EPOCH if times else ""
        fields = [self._field(group, times) for group in groups]
        found.reader = reader = _Reader(self._file, times, {group.name: group for group in groups})
        found.sample = reader.sample
        found.fields = {}
        for field, group in zip(fields, groups, strict=True):
            found.fields[field.name] = self._placed(field, group)
        if self._keys.reason:
            found.problems.append(f"parameters have numbers for names, and values cannot be read: {self._keys.reason}")
        if self._scanned.torn:
            found.problems.append(f"{self._file.path.name}: {self._scanned.torn}")
            found.left_out["the rest of the file"] = self._scanned.torn
        return found

    def _layout_of(self, record: Record) -> Layout | str:
        """The grid, or why it cannot be drawn."""
        packing = record.sections[5][9:11] + record.sections[5][22:23] if record.edition == 2 else b""
        key = (record.edition, record.sections[3], record.has_bitmap, packing)
        if key not in self._layouts:
            try:
                self._layouts[key] = _layout_of(record, self._file)
            except (HakobiError, IndexError) as error:
                self._layouts[key] = str(error)
        return self._layouts[key]

    def _field(self, group: _Group, times: list[float]) -> Field:
        keys, levels = group.keys, group.levels
        at = sorted({times.index(valid) for _, valid in group.places if valid is not None})
        long_name = keys.long_name + group.name[len(keys.name) :] if keys.long_name else ""
        if isinstance(group.layout, Waves):
            long_name = f"{long_name or group.name} (from waves to T{group.layout.truncation})"
        axes = _axes_of(group.layout)
        if len(levels) > 1:
            units, is_down = _LEVEL_UNITS.get(keys.levtype, ""), keys.levtype in _FALLING
            axes = (Axis("level", len(levels), tuple(levels), units, is_down=is_down, is_layered=True), *axes)
        elif levels and keys.levtype in ("pl", "ml"):
            level = f"{levels[0]:g} hPa" if keys.levtype == "pl" else f"model level {levels[0]:g}"
            long_name = f"{long_name or group.name}, {level}"
        return Field(
            group.name, axes, len(times) if len(times) > 1 else 0, np.dtype(np.float64), keys.units, long_name,
            keys.standard_name, filters=(keys.packing,) if keys.packing else (),
            chunk_bytes=8 * math.prod(axis.size for axis in axes[-2:]),
            at_times=tuple(at) if 0 < len(at) < len(times) else (),
            wind_name=_wind_name(keys, group),
        )  # fmt: skip

    def _placed(self, field: Field, group: _Group) -> Field:
        """One on a projection as a map, where ecCodes knows it."""
        layout = group.layout
        if not isinstance(layout, Projection) or math.prod(layout.shape) > MOST_CELLS:
            return field
        places = layout.places(group.first.read(self._file))
        if places is None:
            return field
        known = {"latitude": ("degrees_north", places[0]), "longitude": ("degrees_east", places[1])}
        return on_maps([field], {field.name: " ".join(known)}, known.get)[field.name]


def _told(keys: Keys) -> str:
    level = "" if keys.level is None or not keys.levtype else f" {keys.levtype}={keys.level:g}"
    return f"{keys.name}{level}"


def _layout_of(record: Record, file: OpenFile) -> Layout:
    """Raises HakobiError with the reason why it is no map."""
    section = record.sections[3]
    kind = int.from_bytes(section[12:14], "big") if record.edition == 2 else section[5] if section else -1
    if kind == (_SPECTRAL_2 if record.edition == 2 else _SPECTRAL_1):
        size, first = (4, 14) if record.edition == 2 else (2, 6)
        return _waves([int.from_bytes(section[at : at + size], "big") for at in range(first, first + 3 * size, size)])
    layout = grid_of(record.read(file))
    is_gaussian = kind == (_GAUSSIAN_2 if record.edition == 2 else _GAUSSIAN_1)
    if is_gaussian and isinstance(layout, Grid) and layout.rows and min(layout.rows) < 2:  # ecCodes would abort
        raise InputError("its reduced grid has rows without points: it is damaged, or not of the whole globe")
    if math.prod(layout.shape) > _MOST_MAP_CELLS:
        raise InputError(f"its map has {math.prod(layout.shape)} cells: up to {_MOST_MAP_CELLS} are drawn")
    return layout


def _waves(numbers: list[int]) -> Waves:
    if len(set(numbers)) != 1:
        raise InputError("its truncation is not triangular: such spectral fields are not drawn")
    if not 1 <= numbers[0] <= MOST_TRUNCATION:
        raise InputError(f"its truncation is T{numbers[0]}: spectral fields up to T{MOST_TRUNCATION} are drawn")
    return Waves(numbers[0])


def _axes_of(layout: Layout) -> tuple[Axis, ...]:
    if isinstance(layout, Projection):
        return Axis("y", layout.shape[0]), Axis("x", layout.shape[1])
    latitudes, longitudes = (
        grid_of_truncation(layout.truncation) if isinstance(layout, Waves) else (layout.latitudes, layout.longitudes)
    )
    north = Axis("latitude", len(latitudes), tuple(map(float, latitudes)), "degrees_north", "lat")
    return north, Axis("longitude", len(longitudes), tuple(map(float, longitudes)), "degrees_east", "lon")


def _grid_name(layout: Layout, keys: Keys) -> str:
    if isinstance(layout, Waves):
        return f"T{layout.truncation}"
    return f"{keys.grid or 'grid'}-{layout.shape[1]}x{layout.shape[0]}"


def _groups_of(messages: list[tuple[Record, Keys, Layout]]) -> list[_Group]:
    """The fields of one parameter's messages. Names have what tells them apart; of those that nothing does, all but the
    first have a ' more."""
    words = [_words(record, keys, layout) for record, keys, layout in messages]
    varied = [word for word in words[0] if len({each[word] for each in words}) > 1]
    parts: dict[tuple[str, ...], list[int]] = {}
    for number, each in enumerate(words):
        parts.setdefault(tuple(each[word] for word in varied), []).append(number)
    groups: list[_Group] = []
    for values, members in parts.items():
        shown = [f"{word}={value}" for word, value in zip(varied, values, strict=True) if value]
        groups += _parted([messages[n] for n in members], shown)
    names: set[str] = set()
    for group in groups:
        while group.name in names:
            group.name += "'"
        names.add(group.name)
    return groups


def _words(record: Record, keys: Keys, layout: Layout) -> dict[str, str]:
    # A grid of another place may have the same size: then fields differ, and their names by a '.
    grid = _grid_name(layout, keys)
    return {"levtype": keys.levtype, "grid": grid, "steptype": keys.steptype, "number": keys.member}


def _parted(messages: list[tuple[Record, Keys, Layout]], shown: list[str]) -> list[_Group]:
    """Fields of messages that these words do not tell apart: by their layouts, and where there are several of one level
    and time by the length of their interval, by when the forecast began, by their order."""
    groups: list[_Group] = []
    by_layout: dict[object, list[tuple[Record, Keys, Layout]]] = {}
    for message in messages:
        by_layout.setdefault(_identity(message[2]), []).append(message)
    for alike in by_layout.values():
        for ways in ((), ("span",), ("span", "base")):
            parts: dict[tuple[str, ...], list[tuple[Record, Keys, Layout]]] = {}
            for message in alike:
                parts.setdefault(tuple(_way(way, message[1]) for way in ways), []).append(message)
            if all(len({_place(m[1]) for m in part}) == len(part) for part in parts.values()):
                break
        for values, part in parts.items():
            more = [f"{way}={value}" for way, value in zip(ways, values, strict=True) if value and len(parts) > 1]
            while part:
                places: Places = {}
                rest = []
                for message in part:
                    if places.setdefault(_place(message[1]), message[0]) is not message[0]:
                        rest.append(message)
                record, keys, layout = part[0]
                groups.append(_Group(" ".join([keys.name, *shown, *more]), keys, layout, places, record))
                part = rest
    return groups


def _identity(layout: Layout) -> object:
    return layout.truncation if isinstance(layout, Waves) else layout.description


def _place(keys: Keys) -> tuple[float | None, float | None]:
    return keys.level, keys.valid_s


def _way(way: str, keys: Keys) -> str:
    if way == "base":
        return "" if keys.base_s is None else str(np.datetime64(int(keys.base_s), "s")).replace(":00", "")
    if keys.from_s is None or keys.valid_s is None:
        return ""
    return f"{(keys.valid_s - keys.from_s) / 3600:g}h"


def _wind_name(keys: Keys, group: _Group) -> str:
    """See Field. Components along the axes of a projection are none, whatever CF's name of the parameter is."""
    if isinstance(group.layout, Projection) and not _is_by_compass(group.first):
        return ""
    known = {"eastward_wind": "u", "northward_wind": "v", "x_wind": "u", "y_wind": "v"}
    part = known.get(keys.standard_name, keys.name if keys.name in ("u", "v") else "")
    if not part and keys.name[-1:] in ("u", "v") and keys.name[:-1].isdigit():  # 10u
        part = keys.name[-1]
    if not part:
        return ""
    rest = group.name[len(keys.name) :]
    return f"{part} {keys.name[:-1] if keys.name.endswith(part) else ''}{rest}"


def _is_by_compass(record: Record) -> bool:
    """Whether components are eastward and northward, not along the grid's axes (flag table 3.3, edition 1's 7)."""
    section = record.sections[3]
    if record.edition == 1:
        return len(section) > 16 and not section[16] & 0x08
    place = {0: 54, 1: 54, 10: 46, 20: 46, 30: 46, 40: 54}.get(int.from_bytes(section[12:14], "big"))
    return place is not None and len(section) > place and not section[place] & 0x08


class _Reader:
    """Decodes messages, and keeps the last ones."""

    def __init__(self, file: OpenFile, times: list[float], groups: dict[str, _Group]) -> None:
        self._file, self._times, self._groups = file, times, groups
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, float | None, float | None], Array] = OrderedDict()

    def close(self) -> None:
        self._kept.clear()

    def read(self, this: Field, time: int, box: Box) -> Array:
        """NaN where there is no message, or it has no value."""
        group = self._groups[this.name]
        inner = tuple(slice(a, b) for a, b in box[-2:])
        levels = group.levels[slice(*box[0])] if len(box) > 2 else [group.levels[0] if group.levels else None]
        result = np.empty([b - a for a, b in box])
        for row, level in zip(result if len(box) > 2 else [result], levels, strict=True):
            values = self._map(group, level, time)
            row[...] = np.nan if values is None else values[inner]
        return result

    def sample(self, this: Field, time: int) -> Array:
        """Values from some levels, evenly over the map."""
        group = self._groups[this.name]
        levels: list[float | None] = [*group.levels] or [None]
        chosen = levels[:: -(-len(levels) // _SAMPLED_LEVELS)]
        parts = [values for level in chosen if (values := self._map(group, level, time)) is not None]
        if not parts:
            return np.array([np.nan])
        return np.concatenate([v.ravel()[:: max(1, v.size * len(parts) // _MOST_SAMPLE)] for v in parts])

    def _map(self, group: _Group, level: float | None, time: int) -> Array | None:
        valid = self._times[time] if self._times else None
        if (level, None) in group.places:
            valid = None
        record = group.places.get((level, valid))
        if record is None:
            return None
        key = (group.name, level, valid)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        values = _decode(record, group.layout, self._file)
        with self._lock:
            self._kept[key] = values
            while len(self._kept) > 1 and sum(v.nbytes for v in self._kept.values()) > _MOST_KEPT_BYTES:
                self._kept.popitem(last=False)
        return values


def _decode(record: Record, layout: Layout, file: OpenFile) -> Array:
    """The map of a message. Raises FormatError, InputError without ecCodes."""
    message = record.read(file)
    if isinstance(layout, Waves):
        size = (layout.truncation + 1) * (layout.truncation + 2)
        return synthesis(_values(message, size), layout.truncation)
    size = int.from_bytes(record.sections[3][6:10], "big") if record.edition == 2 else math.prod(layout.shape)
    return layout.map_of(_values(message, min(size, 2 * _MOST_MAP_CELLS)))


def _values(message: bytes, size: int) -> Array:
    try:
        return grib_array(message, "values", size)
    except FormatError as error:
        raise FormatError(f"{error}: its values are packed in a way that this ecCodes does not unpack") from error

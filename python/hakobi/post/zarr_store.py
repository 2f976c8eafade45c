"""A series that Hakobi wrote as one Zarr group (format "zarr"): all its steps as the times of one file.

The group's metadata say everything but values. A shard is one field at one time; its index, at the end, says where each
chunk is. src/format/zarr/store.hpp describes both.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from typing import Any

import numpy as np

from hakobi.errors import FormatError
from hakobi.post.place import Identity, Location, OpenFile
from hakobi.post.reaching import open_location, seen
from hakobi.post.source import (
    MOST_COORDINATES,
    MOST_FIELDS,
    NAMING_ATTRIBUTES,
    Array,
    Axis,
    Box,
    Field,
    Found,
    axis_kind,
    with_coordinates_marked,
)

SUFFIX, METADATA = ".zarr", "zarr.json"
_MARK = "hakobi_store"
_MOST_METADATA = 64 << 20
_INDEX_ENTRY = 16
_CHECKSUM = 4


def is_store(folder: Location) -> bool:
    """Whether it is a folder that has a group's metadata."""
    return folder.name.endswith(SUFFIX) and seen(folder / METADATA) is not None


class Store:
    """A group's arrays. `read` is `hakobi.post.source.Reader`'s."""

    def __init__(self, folder: Location) -> None:
        """Raises FormatError where it is no group of Hakobi's, OSError."""
        self.folder = folder
        text, self.identity = _whole(folder / METADATA)
        try:
            if len(text) > _MOST_METADATA:
                raise ValueError("too long")
            self.root = json.loads(text)
            if self.root["attributes"].get(_MARK) != 1:
                raise ValueError("another's")
            self.arrays: dict[str, Any] = self.root["consolidated_metadata"]["metadata"]
            self.times = self._times()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"{folder.name} is no series that Hakobi wrote as Zarr ({error})") from error

    def close(self) -> None:
        """Nothing is held open."""

    def _times(self) -> list[float]:
        if "time" not in self.arrays:
            return []
        num, chunk = self.arrays["time"]["shape"][0], _chunk(self.arrays["time"])[0]
        if not 0 <= num <= MOST_COORDINATES:
            raise ValueError(f"{num} steps")
        parts = [self._doubles("time", i) for i in range(math.ceil(num / chunk))]
        if any(len(part) != chunk for part in parts):
            raise ValueError("its times are torn")
        return [float(t) for part in parts for t in part][:num]

    def _doubles(self, name: str, chunk: int) -> Array:
        data, _ = _whole(self.folder / name / f"c.{chunk}")
        return np.frombuffer(data[: len(data) // 8 * 8], "<f8")

    def line(self, name: str) -> Array | None:
        """The coordinates of an axis; None where it has none."""
        document = self.arrays.get(name)
        if document is None or document["dimension_names"] != [name] or document["shape"][0] > MOST_COORDINATES:
            return None
        values = self._doubles(name, 0)
        return values if len(values) == document["shape"][0] else None

    def read(self, this: Field, time: int, box: Box) -> Array:
        """Values of a field at one time, as they are stored; a step without the field has its fill value."""
        document = self.arrays[this.name]
        has_time = document["dimension_names"][:1] == ["time"]
        outer = (0,) * len(this.outer_shape)
        ranges = (*((i, i + 1) for i in outer), *box)
        key = ".".join(["c", *([str(max(0, time))] if has_time else []), *("0" for _ in ranges)])
        result = np.empty([b - a for a, b in ranges], this.dtype)
        try:
            file = open_location(self.folder / this.name / key)
        except FileNotFoundError:
            result[...] = _number(document["fill_value"])
            return result.reshape([b - a for a, b in box])
        try:
            chunk, places, unpack = self._chunks(document, has_time, file)
            wanted = []
            for index in np.ndindex(*(places.shape[:-1])):
                starts = [i * n for i, n in zip(index, chunk, strict=True)]
                both = [
                    (max(a, s), min(b, s + n)) for (a, b), s, n in zip(ranges, starts, chunk, strict=True)
                ]  # fmt: skip
                if all(a < b for a, b in both):
                    offset, length = (int(word) for word in places[index])
                    wanted.append((starts, both, offset, bytearray(length)))
            file.fill([(memoryview(packed), offset) for _, _, offset, packed in wanted])
            for starts, both, _, packed in wanted:
                values = np.frombuffer(unpack(packed), this.dtype).reshape(chunk)
                result[tuple(slice(a - r[0], b - r[0]) for (a, b), r in zip(both, ranges, strict=True))] = values[
                    tuple(slice(a - s, b - s) for (a, b), s in zip(both, starts, strict=True))
                ]
        except (ValueError, struct.error, RuntimeError) as error:
            raise FormatError(f"{self.folder.name}/{this.name}/{key} is damaged: {error}") from error
        finally:
            file.close()
        return result.reshape([b - a for a, b in box])

    @staticmethod
    def _chunks(document: Any, has_time: bool, file: OpenFile) -> tuple[list[int], Array, Any]:
        """Extents of a chunk, where each is (the grid, then offset and length), and what unpacks one."""
        shard, codecs = _chunk(document), document["codecs"]
        size = file.identity.num_bytes
        chunk = shard
        if codecs[0]["name"] == "sharding_indexed":
            chunk, codecs = codecs[0]["configuration"]["chunk_shape"], codecs[0]["configuration"]["codecs"]
        if has_time:
            shard, chunk = shard[1:], chunk[1:]
        grid = [a // b for a, b in zip(shard, chunk, strict=True)]
        num = math.prod(grid)
        if chunk == shard:
            places = np.array([[0, size]], "<u8")
        else:
            words, start = bytearray(_INDEX_ENTRY * num), size - _CHECKSUM - _INDEX_ENTRY * num
            if start < 0:
                raise ValueError("torn")
            file.fill([(memoryview(words), start)])
            places = np.frombuffer(words, "<u8").reshape(num, 2)
            if (places.sum(axis=1) > size).any() or (places[:, 1] > size).any():
                raise ValueError("its index leads out of the shard")
        return chunk, places.reshape(*grid, 2), _unpack_blosc if len(codecs) > 1 else bytes


def _whole(path: Location) -> tuple[bytes, Identity]:
    """Raises FileNotFoundError, OSError."""
    file = open_location(path)
    try:
        return file.read(min(file.identity.num_bytes, _MOST_METADATA + 1), 0), file.identity
    finally:
        file.close()


def _unpack_blosc(packed: bytearray) -> bytes:
    from numcodecs import blosc

    return bytes(blosc.decompress(packed))


def _chunk(document: Any) -> list[int]:
    return [int(n) for n in document["chunk_grid"]["configuration"]["chunk_shape"]]


def _number(value: Any) -> float:
    return float(value.replace("Infinity", "inf")) if isinstance(value, str) else value


def _fill(document: Any) -> tuple[float, ...]:
    attributes = document["attributes"]
    values = []
    if (fill := attributes.get("_FillValue")) is not None:
        values.append(struct.unpack("<d", base64.b64decode(fill))[0] if isinstance(fill, str) else float(fill))
    if isinstance(missing := attributes.get("missing_value"), int | float):
        values.append(float(missing))
    return tuple(values)


def _text(attributes: Any, name: str) -> str:
    value = attributes.get(name, "")
    return value if isinstance(value, str) else ""


def survey(folder: Location) -> Found:
    """What is in a series' group. Raises FormatError, OSError."""
    store = Store(folder)
    found = Found(reader=store, kind="zarr")
    try:
        for name, document in store.arrays.items():
            _add(found, store, name, document)
        time = store.arrays.get("time", {"attributes": {}})["attributes"]
        found.times = tuple(store.times)
        found.time_units, found.calendar = _text(time, "units"), _text(time, "calendar")
        found.source = _text(store.root["attributes"], "source")
        texts = (_text(d["attributes"], word) for d in store.arrays.values() for word in NAMING_ATTRIBUTES)
        found.fields = with_coordinates_marked(found.fields.values(), texts)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{folder.name}: its metadata are damaged ({error})") from error
    return found


def _add(found: Found, store: Store, name: str, document: Any) -> None:
    dims, shape = list(document["dimension_names"]), [int(n) for n in document["shape"]]
    if dims == [name] or len(found.fields) >= MOST_FIELDS:
        return
    has_time = dims[:1] == ["time"]
    if has_time:
        dims, shape = dims[1:], shape[1:]
    axes = []
    for dim, size in zip(dims, shape, strict=True):
        attributes = store.arrays.get(dim, {"attributes": {}})["attributes"]
        values, units = store.line(dim), _text(attributes, "units")
        coordinates = None if values is None else tuple(float(v) for v in values)
        axes.append(Axis(dim, size, coordinates, units, axis_kind(units, _text(attributes, "standard_name"))))
    attributes = document["attributes"]
    scale, shift = attributes.get("scale_factor"), attributes.get("add_offset")
    codecs = document["codecs"]
    chunk = _chunk(document)
    if codecs[0]["name"] == "sharding_indexed":
        chunk, codecs = codecs[0]["configuration"]["chunk_shape"], codecs[0]["configuration"]["codecs"]
    dtype = np.dtype(document["data_type"])
    this = Field(
        name=name,
        axes=tuple(axes[-3:]),
        num_times=len(store.times) if has_time else 0,
        dtype=dtype,
        units=_text(attributes, "units"),
        long_name=_text(attributes, "long_name"),
        fill=_fill(document),
        packing=None if scale is None and shift is None else (float(scale or 1.0), float(shift or 0.0)),
        chunk_bytes=math.prod(chunk) * dtype.itemsize,
        filters=(codecs[1]["configuration"]["cname"],) if len(codecs) > 1 else (),
        outer_shape=tuple(shape[:-3]),
    )
    if len(shape) < 2:
        found.left_out[name] = "one dimension and time only"
        found.undrawn[name] = this
    elif math.prod(shape[:-3]) != 1:
        found.left_out[name] = "more than three dimensions and time"
    else:
        found.fields[name] = this

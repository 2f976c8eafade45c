"""Overviews: coarse versions of a step's fields in one file beside the step's.

`run_000012.nc` has `run_000012.nc.overview.zip`: a Zarr 3 store in a ZIP file whose entries are not compressed.
 1. Groups `2`, `4`, `8`, `16` are the levels. Each has the step's coordinates, a mean for each 2, 4, … cells, and for
    each field an array of means: float16, with `scale_factor` and `add_offset` of CF, NaN where all of the cells are.
    A time axis is there where the step's file has several times.
 2. An array is one shard (codec `sharding_indexed`) whose inner chunks are the bricks of hakobi.post.pyramid, each with
    its crc32c. Groups `min/2`, `max/2`, … have extremes of the field's own values, one a brick.
 3. The attribute `hakobi` of the root says whose overview it is and where each shard lies, so that a brick is
    one `pread`; others need none of it: `zarr.open_group("….overview.zip")`, or xarray with the group of a level.
 4. It is made under a temporary name and renamed. Who reads one holds it against the step (`fingerprint`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from hakobi.errors import FormatError
from hakobi.post.place import Location, OpenFile
from hakobi.post.pyramid import CHECKSUM_BYTES, Level
from hakobi.post.reaching import open_location

SUFFIX = ".overview.zip"
FORMAT = 1
_SAMPLES, _SAMPLE_BYTES = 66, 4096
#: Bricks that are read at once: 32 of 64 KiB are a second's share of a slow link.
_BRICKS = 32
_LARGEST_ATTRIBUTES = 64 << 20


@overload
def path_of(step: Path) -> Path: ...
@overload
def path_of(step: Location) -> Location: ...
def path_of(step: Location) -> Location:
    """Where a step's overview is."""
    return step.with_name(step.name + SUFFIX)


def fingerprint(file: OpenFile) -> str:
    """Identifies a file's content without reading all of it, by its size and 66 pieces of 4 KiB. A copy has the
    same."""
    size = file.identity.num_bytes
    digest = hashlib.blake2s(str(size).encode(), digest_size=16)
    samples = [bytearray(min(size, _SAMPLE_BYTES)) for _ in range(_SAMPLES)]
    places = (number * max(0, size - _SAMPLE_BYTES) // (_SAMPLES - 1) for number in range(_SAMPLES))
    file.fill(zip([memoryview(sample) for sample in samples], places, strict=True))
    for sample in samples:
        digest.update(sample)
    return digest.hexdigest()


@dataclass(frozen=True)
class Shard:
    """One field's array at one level."""

    level: Level
    offset_bytes: int


@dataclass(frozen=True)
class FieldOverview:
    """A field in the overview: for each time the shards of its levels, and statistics (min, max, mean, std, num_nan,
    percentiles, histogram)."""

    offset: float
    scale: float
    shards: list[dict[int, Shard]]
    statistics: list[dict[str, Any]]


class Overview:
    """A whole overview, open for reading; any thread may read. Raises FormatError where it is not what it should be,
    FileNotFoundError where there is none."""

    def __init__(self, path: Location) -> None:
        self.path = path
        self._file = open_location(path)
        try:
            self.identity = self._file.identity
            self.num_bytes = self.identity.num_bytes
            attributes = _read_attributes(self._file)
            self.source: dict[str, Any] = attributes["source"]
            self.fields = {name: self._field(text) for name, text in attributes["fields"].items()}
        except (KeyError, TypeError, ValueError, AttributeError, struct.error) as error:
            self.close()
            raise FormatError(f"{path} is no overview of this version: {error}") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self.close()

    def _field(self, text: dict[str, Any]) -> FieldOverview:
        full = tuple(int(n) for n in text["shape"])
        if len(full) not in (2, 3) or min(full) < 1 or math.prod(full) > 1 << 50:
            raise ValueError(f"shape {full}")
        shards: list[dict[int, Shard]] = []
        for time in text["times"]:
            shards.append({})
            for number, place in time["levels"].items():
                level = Level.of(full, min(8, abs(int(number))))
                if level.number == 0 or not 0 <= place <= self.num_bytes - level.num_bytes:
                    raise ValueError(f"level {number} outside the file")
                shards[-1][level.number] = Shard(level, int(place))
        offset, scale = float(text["offset"]), float(text["scale"])
        if not (math.isfinite(offset) and math.isfinite(scale) and scale != 0):
            raise ValueError(f"scale {scale}")
        return FieldOverview(offset, scale, shards, [dict(time["statistics"]) for time in text["times"]])

    def is_of(self, step: OpenFile) -> bool:
        """Whether it was made from the step's file as it is now: same size and time, or same content where the time
        differs, as after a copy."""
        if step.identity.num_bytes != self.source.get("num_bytes"):
            return False
        is_untouched = step.identity.mtime_ns == self.source.get("mtime_ns")
        return is_untouched or fingerprint(step) == self.source.get("content")

    def read(self, field: str, time: int, level: int, box: tuple[tuple[int, int], ...]) -> NDArray[np.float16]:
        """Values of a box (start and stop a direction, in cells of the level): (value - offset) / scale."""
        shard = self.fields[field].shards[time][level]
        brick = shard.level.brick
        result = np.empty([stop - start for start, stop in box], np.float16)
        grids = [range(start // b, -(-stop // b)) for (start, stop), b in zip(box, brick, strict=True)]
        places = list(itertools.product(*grids))
        for at, values in zip(places, self._bricks(shard, places), strict=True):
            inner, outer = [], []
            for position, b, (start, stop) in zip(at, brick, box, strict=True):
                low, high = max(start, position * b), min(stop, (position + 1) * b)
                inner.append(slice(low - position * b, high - position * b))
                outer.append(slice(low - start, high - start))
            result[tuple(outer)] = values[tuple(inner)]
        return result

    def _bricks(self, shard: Shard, places: list[tuple[int, ...]]) -> Iterator[NDArray[np.float16]]:
        level = shard.level
        for first in range(0, len(places), _BRICKS):
            part = places[first : first + _BRICKS]
            read = [bytearray(level.brick_bytes) for _ in part]
            offsets = [shard.offset_bytes + level.brick_number(at) * level.brick_bytes for at in part]
            self._file.fill(zip([memoryview(data) for data in read], offsets, strict=True))
            for data in read:
                values, told = bytes(data[:-CHECKSUM_BYTES]), data[-CHECKSUM_BYTES:]
                if google_crc32c.value(values) != int.from_bytes(told, "little"):
                    text = f"a brick of level {level.number} is damaged: run `hakobi index` again"
                    raise FormatError(f"{self.path.name}: {text}")
                yield np.frombuffer(values, "<f2").reshape(level.brick)


def _read_attributes(file: OpenFile) -> dict[str, Any]:
    """The root's attributes, which are the last entry; the end of the directory names where it is."""
    size = file.identity.num_bytes
    tail = file.read(98, max(0, size - 98))
    if len(tail) < 98 or not tail.startswith(b"PK\x06\x06") or tail[76:80] != b"PK\x05\x06":
        raise FormatError(f"{file.path} is no overview: it does not end as one")
    directory_bytes, directory = struct.unpack_from("<QQ", tail, 40)
    if directory + directory_bytes > size or directory_bytes > _LARGEST_ATTRIBUTES:
        raise ValueError("directory outside the file")
    lines = file.read(directory_bytes, directory)
    last = lines.rfind(b"PK\x01\x02")
    name_bytes = struct.unpack_from("<H", lines, last + 28)[0]
    length, _, start = struct.unpack_from("<QQQ", lines, last + 46 + name_bytes + 4)
    if length > _LARGEST_ATTRIBUTES or start + length > size:
        raise ValueError("attributes outside the file")
    header = 30 + name_bytes + 20
    root = json.loads(file.read(length, start + header))
    attributes: dict[str, Any] = root["attributes"]["hakobi"]
    if attributes["format"] != FORMAT:
        raise ValueError(f"format {attributes['format']}")
    return attributes

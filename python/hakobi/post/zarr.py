"""The words of Zarr 3 for what an overview holds: metadata of groups, arrays and shards."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from hakobi.post.container import Writer
from hakobi.post.pyramid import Level, levels_of
from hakobi.post.source import Axis, Field

_LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
_CHECKSUM = {"name": "crc32c"}
_GROUP: dict[str, Any] = {"zarr_format": 3, "node_type": "group", "attributes": {}}


def array_name(field: str, level: int) -> str:
    """Path of a field's array: its name without what Zarr or file systems give a meaning."""
    name = quote(field, safe=" ()[]+,=@")
    return f"{1 << level}/{'%2E' + name[1:] if name.startswith('.') else name.replace('__', '_%5F', 1)}"


def shard_index(level: Level) -> bytes:
    """Offsets and lengths of a shard's bricks, with checksum."""
    index = np.empty((level.num_bricks, 2), "<u8")
    index[:, 0] = np.arange(level.num_bricks, dtype=np.uint64) * np.uint64(level.brick_bytes)
    index[:, 1] = level.brick_bytes
    data = index.tobytes()
    return data + int(google_crc32c.value(data)).to_bytes(4, "little")


def _array(
    shape: tuple[int, ...],
    chunk: tuple[int, ...],
    data_type: str,
    codecs: list[dict[str, Any]],
    names: list[str],
    attributes: dict[str, Any],
) -> bytes:
    return _json(
        {
            "zarr_format": 3,
            "node_type": "array",
            "shape": shape,
            "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": "NaN",
            "codecs": codecs,
            "dimension_names": names,
            "attributes": attributes,
        }
    )


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def shard_name(field: Field, level: int, time: int) -> str:
    """Path of the shard with a field's values of one level and time."""
    return f"{array_name(field.name, level)}/c{_time_part(field, time)}{'/0' * len(field.shape)}"


def _time_part(field: Field, time: int) -> str:
    return f"/{time}" if field.num_times > 1 else ""


def write_metadata(writer: Writer, field: Field, offset: float, scale: float) -> None:
    """Metadata of a field's arrays: means and extremes."""
    names = [_dimension(axis) for axis in field.axes]
    lead, lead_names = ((field.num_times,), ["time"]) if field.num_times > 1 else ((), [])
    one = (1,) * len(lead)
    for level in levels_of(field.shape):
        inner = {
            "chunk_shape": one + level.brick,
            "codecs": [_LITTLE, _CHECKSUM],
            "index_codecs": [_LITTLE, _CHECKSUM],
            "index_location": "end",
        }
        shard = tuple(n * b for n, b in zip(level.grid, level.brick, strict=True))
        attributes = {"scale_factor": scale, "add_offset": offset, "units": field.units, "long_name": field.long_name}
        codecs = [{"name": "sharding_indexed", "configuration": inner}]
        path = array_name(field.name, level.number)
        text = _array(lead + level.shape, one + shard, "float16", codecs, lead_names + names, attributes)
        writer.add(f"{path}/zarr.json", text)
        bricks = lead_names + [f"{name}_brick{n}" for name, n in zip(names, level.brick, strict=True)]
        for kind in ("min", "max"):
            shape, chunk = lead + level.grid, one + level.grid
            text = _array(shape, chunk, str(field.value_type), [_LITTLE], bricks, {"units": field.units})
            writer.add(f"{kind}/{path}/zarr.json", text)


def write_extremes(writer: Writer, field: Field, time: int, low: NDArray[Any], high: NDArray[Any]) -> None:
    """The smallest and the largest of the field's own values in each brick, of every level."""
    levels = levels_of(field.shape)
    for kind, take, values in (("min", np.fmin, low), ("max", np.fmax, high)):
        values = values.astype(field.value_type.newbyteorder("<")).reshape(levels[0].grid)
        for level in levels:
            while values.shape != level.grid:
                values = _merge(take, values)
            path = f"{kind}/{array_name(field.name, level.number)}/c{_time_part(field, time)}{'/0' * values.ndim}"
            writer.add(path, values.tobytes())


def _merge(take: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
    for axis in range(values.ndim):
        values = take.reduceat(values, np.arange(0, values.shape[axis], 2), axis=axis)
    return values


def _dimension(axis: Axis) -> str:
    return axis.name if axis.coordinates is not None else f"{axis.name}_{axis.size}"


def write_groups(writer: Writer, fields: list[Field]) -> None:
    """A group a level with the coordinates of its cells: means of those of the step."""
    axes = {axis.name: axis for field in fields for axis in field.axes if axis.coordinates is not None}
    most = max(len(levels_of(field.shape)) for field in fields)
    for name in ("min", "max"):
        writer.add(f"{name}/zarr.json", _json(_GROUP))
    for number in range(1, most + 1):
        for prefix in ("", "min/", "max/"):
            writer.add(f"{prefix}{1 << number}/zarr.json", _json(_GROUP))
        for axis in axes.values():
            values = np.asarray(axis.coordinates, np.float64)
            width = 1 << number
            starts = np.arange(0, axis.size, width)
            means = np.add.reduceat(values, starts) / np.minimum(width, axis.size - starts)
            path = array_name(axis.name, number)
            names = [axis.name]
            attributes = {"units": axis.units}
            writer.add(f"{path}/zarr.json", _array(means.shape, means.shape, "float64", [_LITTLE], names, attributes))
            writer.add(f"{path}/c/0", means.astype("<f8").tobytes())


def write_root(writer: Writer, told: dict[str, Any]) -> None:
    """The last entry: `told` for hakobi.post.overview, in words for anybody."""
    note = "Means over 2, 4, 8, 16 cells a direction of a step's fields, and extremes a brick; see attribute hakobi."
    writer.add("zarr.json", _json(_GROUP | {"attributes": {"title": note, "hakobi": told}}))

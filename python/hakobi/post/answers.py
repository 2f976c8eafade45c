"""The server's answers in JSON: a step's fields, exact values at points and along lines, a point over the steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hakobi.errors import FormatError, HakobiError, InputError
from hakobi.post.catalogue import OpenStep, Series, Steps, StoreSeries, identifier
from hakobi.post.dates import rebased
from hakobi.post.mesh import MeshField
from hakobi.post.place import Location
from hakobi.post.pyramid import levels_of as levels_of
from hakobi.post.reduction import statistics_of
from hakobi.post.source import Axis, Field, Times, default_field
from hakobi.post.wind import wind_over, winds_of

_WHOLE_BYTES = 16 << 20
_PLANES_BYTES = 64 << 20
#: A chunk is unpacked whole, and HDF5 holds it packed beside it.
MOST_CHUNK_BYTES = 256 << 20
#: The bytes of chunks that a sample may unpack, and its pieces: so many of contiguous values.
_SAMPLE_BYTES, _NUM_PIECES, _PIECE = 256 << 20, 800, 128
#: The most points of a line, and the most steps of a time series in one answer.
MOST_SAMPLES = 2048
MOST_STEPS = 400
#: Files whose steps are counted one by one.
MOST_COUNTED = 5000


def number(value: float) -> float | str | None:
    """A value as JSON has it: NaN is null, infinities are words."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


def describe_series(series: Series) -> dict[str, Any]:
    return {"id": series.id, "name": series.key, "runs": series.runs(), "count": len(series.numbers)}


def describe_step(opened: OpenStep, time: int = 0) -> dict[str, Any]:
    """Everything that the client must know to draw. Where `is_of_time`, it is another for each time of the file."""
    step = opened.step
    time = min(max(0, time), max(0, len(step.times) - 1))
    axes: dict[str, Any] = {}
    winds = winds_of(step)
    fields = []
    other_times: list[Times] = []  # of fields that are not along the file's
    for field in (step.at(each, time) for each in step.all_fields()):
        names = []
        for axis in field.axes:
            key = f"{axis.name}/{axis.size}"
            axes.setdefault(key, _describe_axis(axis))
            names.append(key)
        own = field.own_times
        if own and not any(own is known for known in other_times):
            other_times.append(own)
        has_overview = opened.overview is not None and field.name in opened.overview.fields
        fields.append(
            {
                "id": identifier(field.name),
                "name": field.name,
                "units": field.shown_units,
                "long_name": field.title if field.outer_axes else field.long_name,
                "axes": names,
                "shape": field.shape,
                "type": str(field.dtype),
                "num_times": field.num_times,
                "num_levels": len(levels_of(field.shape)) if len(field.shape) > 1 else 0,
                "num_bytes": field.num_bytes,
                "has_overview": has_overview,
                "is_on_map": field.on_map is not None,
                "wind": [identifier(part.name) for part in wind_over(winds, field) or ()] or None,
                "other_times": next((n for n, known in enumerate(other_times) if known is own), None),
                **(_describe_place(opened, field, time) if isinstance(field, MeshField) else {}),
            }
        )
    return {
        "version": opened.version,
        "path": str(step.path),
        "num_bytes": step.num_bytes_at(time),
        "overview_bytes": opened.overview.num_bytes if opened.overview else 0,
        **_describe_times(Times(step.times, step.time_units, step.found.calendar)),
        "other_times": [_describe_times(times) for times in other_times],
        "axes": axes,
        "fields": fields,
        "default": first.name if (first := default_field(step)) else "",
        "left_out": step.left_out,
        "kind": step.found.kind,
        "label": step.found.label,
        "is_of_time": len(step.times) > 1 and step.found.kind in ("vtkhdf", "zarr"),
        **_describe_mesh(opened, time),
    }


def _describe_times(times: Times) -> dict[str, Any]:
    told = [number(time) for time in times.values]
    return {"times": told, "time_units": times.units, "calendar": times.calendar}


def _describe_place(opened: OpenStep, field: MeshField, time: int) -> dict[str, Any]:
    """Where the values of a mesh's field are in the file."""
    mesh = opened.step.mesh
    assert mesh is not None
    start, width = mesh.place_of(field, time)
    count = mesh.num_points(time) if field.location == "point" else mesh.num_cells(time)
    rows = [start, start + count] if field.num_times else None
    return {"location": field.location, "dataset": field.dataset, "rows": rows, "width": width,
            "component": field.component}  # fmt: skip


def _describe_mesh(opened: OpenStep, time: int) -> dict[str, Any]:
    """`keys` has one entry a time, or one for all: where it is equal, geometry is too."""
    mesh = opened.step.mesh
    if mesh is None or opened.bounds is None:
        return {}
    low, high = opened.bounds(time)
    keys = [identifier(mesh.key(number)) for number in range(mesh.num_times)]
    return {
        "mesh": {
            "num_points": mesh.num_points(time),
            "num_cells": mesh.num_cells(time),
            "low": low.tolist(),
            "high": high.tolist(),
            "keys": keys[:1] if len(set(keys)) == 1 else keys,
        }
    }


def _describe_axis(axis: Axis) -> dict[str, Any]:
    told: dict[str, Any] = {"name": axis.name, "size": axis.size, "units": axis.shown_units, "kind": axis.kind}
    told |= {word: True for word in ("is_down", "is_layered") if getattr(axis, word)}
    if axis.coordinates is not None:
        values = np.asarray(axis.coordinates)
        steps = np.diff(values)
        is_even = axis.size > 1 and np.allclose(steps, steps[0], rtol=1e-4, atol=0)
        told |= {"first": values[0], "last": values[-1]}
        if not is_even and axis.size > 1:
            told["values"] = axis.coordinates
    return told


def describe_statistics(opened: OpenStep, field: Field, time: int) -> dict[str, Any]:
    """The statistics of one field at one time: from the overview, else of a sample (all of a small field). Of layers,
    whose ranges differ, each level's percentiles and extremes are `planes`, where that is quick."""
    field = opened.step.at(field, time)
    told = _field_statistics(opened, field, time)
    if len(field.shape) < 3 or not field.axes[0].is_layered or field.num_bytes > _PLANES_BYTES:
        return told
    planes = []
    for level in range(field.shape[0]):
        values = opened.step.read(field.name, time, ((level, level + 1), *((0, n) for n in field.shape[1:])))
        found = statistics_of(values.size, values, values, 0.0, int(np.isnan(values).sum()), values)
        planes.append({word: found[word] for word in ("percentiles", "min", "max") if word in found})
    return told | {"planes": planes}


def _field_statistics(opened: OpenStep, field: Field, time: int) -> dict[str, Any]:
    if opened.overview is not None and field.name in opened.overview.fields:
        return opened.overview.fields[field.name].statistics[time]
    if field.num_bytes <= _WHOLE_BYTES:
        values = opened.step.read(field.name, time, tuple((0, n) for n in field.shape)).ravel()
        with np.errstate(all="ignore"):
            low, high = np.fmin.reduce(values, keepdims=True), np.fmax.reduce(values, keepdims=True)
            total, num_nan = float(np.nansum(values, dtype=np.float64)), int(np.isnan(values).sum())
            values = values.astype(np.float64)
        return statistics_of(values.size, low, high, total, num_nan, values)
    told = statistics_of(0, np.empty(0), np.empty(0), 0.0, 0, _sample(opened, field, time))
    points = told.get("percentiles", {})
    return told | {"is_sampled": True, "min": points.get("0.5"), "max": points.get("99.5")}


def _sample(opened: OpenStep, field: Field, time: int) -> Any:
    """Pieces of rows, evenly over the field: fewer of large chunks. A row may be longer than memory."""
    own = opened.step.found.sample
    if own is not None and field.on_map is None:
        return own(field, time).astype(np.float64)
    rows, width = math.prod(field.shape[:-1]), min(_PIECE, field.shape[-1])
    count = min(_NUM_PIECES, rows * -(-field.shape[-1] // width))
    if field.chunk_bytes:
        count = max(1, min(count, _SAMPLE_BYTES // field.chunk_bytes))
    pieces = []
    for number in range(count):
        place = number * (rows - 1) // max(1, count - 1)
        at = np.unravel_index(place, field.shape[:-1])
        start = number * 7919 * width % (field.shape[-1] - width + 1)
        box = (*((int(i), int(i) + 1) for i in at), (start, start + width))
        pieces.append(opened.step.read(field.name, time, box).ravel().astype(np.float64))
    return np.concatenate(pieces)


def read_point(opened: OpenStep, field: Field, time: int, at: Sequence[int]) -> float:
    """The exact value of one cell. Raises InputError outside the field."""
    field = opened.step.at(field, time)
    if len(at) != len(field.shape) or any(not 0 <= i < n for i, n in zip(at, field.shape, strict=True)):
        raise InputError("the point lies outside the field")
    return float(opened.step.read(field.name, time, tuple((i, i + 1) for i in at)).item())


def read_line(opened: OpenStep, field: Field, time: int, first: Sequence[int], last: Sequence[int]) -> dict[str, Any]:
    """Exact values of the cells nearest to a line, one a cell of its longest direction, at most MOST_SAMPLES."""
    read_point(opened, field, time, first)
    read_point(opened, field, time, last)
    count = min(MOST_SAMPLES, 1 + max(abs(a - b) for a, b in zip(first, last, strict=True)))
    cells = np.rint(np.linspace(first, last, count)).astype(int).tolist()
    box = tuple((min(a, b), max(a, b) + 1) for a, b in zip(first, last, strict=True))
    if math.prod(b - a for a, b in box) * field.dtype.itemsize <= _WHOLE_BYTES // 4:
        values = opened.step.read(field.name, time, box)
        found = [float(values[tuple(i - a for i, (a, _) in zip(cell, box, strict=True))]) for cell in cells]
    else:
        found = [read_point(opened, field, time, cell) for cell in cells]
    return {"cells": cells, "values": [number(v) for v in found]}


def read_times(series: Series, steps: Steps, field_id: str, at: Sequence[int]) -> dict[str, Any]:
    """One cell over the series: every n-th step, so that there are at most MOST_STEPS; the last one always. Steps that
    cannot be read, and those of a mesh without the cell, have no value. Times are in the first one's units, whatever
    date those of others count from. Raises InputError where no step has the cell."""
    numbers = series.numbers
    stride = max(1, -(-len(numbers) // MOST_STEPS))
    chosen = sorted({*range(0, len(numbers), stride), len(numbers) - 1}) if len(numbers) else []
    points: list[list[Any]] = []
    units: tuple[str, str] | None = None
    outside, is_there = None, False
    for place in chosen:
        name = int(numbers[place])
        try:
            opened = steps.get(series, name)
            field = field_of(opened, field_id)
            told = opened.step.times_of(field)
            own = (told.units, told.calendar)
            units = units or (own if told.values else None)
            times = rebased(told.values, own, units or own)
            count = max(1, field.num_times)
            every = max(1, -(-count // MOST_STEPS))
            for time in range(0, count, every):
                when = times[time] if time < len(times) else None
                try:
                    value, is_there = read_point(opened, field, time, at), True
                except InputError as error:  # a mesh may have fewer cells at some times
                    value, outside = math.nan, error
                points.append([f"{name}.{time}", None if when is None else number(when), number(value)])
        except (FormatError, OSError, KeyError):
            points.append([f"{name}.0", None, None])
    if outside and not is_there:
        raise outside
    return {"points": points, "time_units": units[0] if units else "", "stride": stride}


def count_steps(series: Series, count: Callable[[Location], int]) -> list[list[int]]:
    """How many steps the files have, as runs [steps, files]. Where the first and the last file have one, so have those
    between them; of very many files all are taken for such as the first. `count` is that of one file."""
    numbers = [int(number) for number in series.numbers]
    if isinstance(series, StoreSeries) or not numbers:
        return [[1, len(numbers)]]
    first, last = count(series.path(numbers[0])), count(series.path(numbers[-1]))
    inner = numbers[1:-1]
    is_alike = first == last == 1 or len(inner) > MOST_COUNTED
    found = [first, *(first if is_alike else count(series.path(number)) for number in inner), last]
    return [[steps, len(list(files))] for steps, files in itertools.groupby(found[: len(numbers)])]


def field_of(opened: OpenStep, field_id: str) -> Field:
    """Raises KeyError, and what `checked` raises."""
    for field in opened.step.all_fields():
        if identifier(field.name) == field_id:
            return checked(field)
    raise KeyError(field_id)


def checked(field: Field) -> Field:
    """Raises FormatError for a field of which no value can be read in a viewer's memory."""
    if field.chunk_bytes > MOST_CHUNK_BYTES:
        raise FormatError(
            f"{field.name} is stored in chunks of {field.chunk_bytes >> 20} MiB, each of which is read whole: more "
            f"than {MOST_CHUNK_BYTES >> 20} MiB is too large to look at; h5repack and nccopy make smaller ones"
        )
    return field


def reason(error: Exception) -> str:
    """One line without what only the machine's owner needs to know."""
    if isinstance(error, HakobiError):
        return " ".join(str(error).split())
    if isinstance(error, OSError):
        return error.strerror or "the storage failed"
    return "not found"

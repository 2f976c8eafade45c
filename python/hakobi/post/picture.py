"""Pictures without a browser: one plane of a field as PNG, for reports and batch jobs."""

from __future__ import annotations

import contextlib
import json
import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hakobi.errors import HakobiError, InputError, unknown_name
from hakobi.post import answers, geography, mesh_picture, reduction, tiles
from hakobi.post.catalogue import Catalogue, OpenStep, Series, Steps
from hakobi.post.dates import time_text
from hakobi.post.mesh import MeshField
from hakobi.post.painting import add_bar, painted
from hakobi.post.place import Location, location_of
from hakobi.post.reduction import statistics_of
from hakobi.post.rulers import cell_text, edges, falls, index_of, is_even, place_text
from hakobi.post.source import Axis, Field, default_field, find_field

Array = NDArray[Any]
_GAP_COLOUR = "#c8c4bc"
_NOTHING = (np.empty(0), np.empty(0))


def picture(
    path: Location | str,
    out: Path | str,
    *,
    field: str | None = None,
    step: str = "last",
    cut: str | None = None,
    low: float | None = None,
    high: float | None = None,
    colours: str | None = None,
    width: int = 1600,
    coast: bool = True,
    arrows: bool = False,
    tell: Callable[[str], object] = lambda _: None,
) -> Path:
    """Writes one plane of a field as PNG and returns its path. `tell` is called with what was drawn, as in the title.

    `path` is what `hakobi post` takes; the first series of a folder is taken, and of a run's parts the one inside of
    the others. `field` is by default one over time, in most dimensions, with a name of CF. `step` is `last` (without
    `field` the last one that can be drawn), `first`, a number as in the file's name (of a file of several steps, its
    first one's), or with a dot the time in the file (`0.7`). `cut` is `axis=index` (`z=0`; the axis's name or z, y, x;
    or a coordinate with its unit, `level=500hPa`), by default the middle of the first axis of a field in 3-D; of a mesh
    `axis=coordinate`, by default the surface. `low` and `high` are in the field's units, by default its percentiles 0.5
    and 99.5. `colours` is a name of `colour_maps()`. The level shown is the coarsest that has `width` values a
    direction. Maps of some size have coast lines, unless `coast` is false, and with `arrows` the wind that is on the
    same grid and levels.
    Raises InputError, FormatError, StorageError, OSError.
    """
    if not 200 <= width <= 10_000:
        raise InputError(f"width {width} is not between 200 and 10000")
    catalogue = Catalogue(location_of(path))
    if not catalogue.series:
        raise InputError(f"{path}: there is no NetCDF, HDF5 or GRIB file", code="not_found")
    series = min(catalogue.series.values(), key=lambda s: s.key)
    number, time = _find_step(series, step)
    steps = Steps(catalogue.root)
    opened = _innermost(steps, catalogue, series, number)
    if step == "last" and not field:
        opened, number = _last_with_fields(steps, series, opened, number)
    this = find_field(opened.step, field) if field else default_field(opened.step)
    if this is None:
        reasons = "".join(f"; {name}: {reason}" for name, reason in list(opened.step.left_out.items())[:3])
        raise InputError(f"{opened.step.path.name} has no field in 2-D or 3-D, nor on a mesh{reasons}")
    last_time = max(1, this.num_times) - 1
    time = min(time, last_time) if step in ("last", "first") else time
    if time > last_time:
        raise _no_step(step, series, number + last_time)
    if this.at_times and time not in this.at_times:
        if step not in ("last", "first"):
            there = ", ".join(f"{max(0, number)}.{n}" for n in this.at_times[:8])
            raise InputError(f"field '{this.name}' is not at that time; it is at {there}")
        time = this.at_times[0 if step == "first" else -1]
    if isinstance(this, MeshField):
        if arrows:
            raise InputError("arrows are for maps: this is a mesh")
        limits = _limits(opened, this, time, low, high)
        colour_table = colours_of(colours or _map_for(limits))
        title = ", ".join([this.title, *([cut] if cut else []), *_when(opened, this, number, time)])
        mesh_picture.draw(Path(out), opened, this, time, cut, limits, colour_table, title)
        tell(f"{title} ({opened.step.path.name})")
        return Path(out)
    plane = _find_plane(this, time, cut, width)
    plane.check()
    rows, columns = plane.shape
    box = plane.box((0, rows), (0, columns))
    values, offset, scale = tiles.read_plane(opened, plane, box)
    # Levels of the atmosphere are not of one range.
    limits = _limits(opened, this, time, low, high, values if plane.is_layer else None)
    wind = geography.wind_of(opened, plane) if arrows else None
    if values.dtype == np.float16 and not reduction.resolves(values, offset, scale, *limits):
        values, offset, scale = tiles.exact_plane(opened, plane, box), 0.0, 1.0
    values = values.reshape(rows, columns).astype(np.float64) * scale + offset
    title = ", ".join([_title(plane, opened, number), *([wind.name] if wind else [])])
    _draw(Path(out), values, plane, title, limits, colours, coast, wind)
    tell(f"{title} ({opened.step.path.name})")
    return Path(out)


def _innermost(steps: Steps, catalogue: Catalogue, series: Series, number: int) -> OpenStep:
    """The step, or of the parts of a run the one that the others lie around: the blades, and not the drum around them.
    The page does the same (client/bodies.js)."""
    found = steps.get(series, number)
    if found.bounds is None:
        return found
    run = _RUN.sub(r"\1", series.key)
    others = [s for s in catalogue.series.values() if s is not series and _RUN.sub(r"\1", s.key) == run]
    for other in sorted(others, key=lambda s: s.key)[:7]:
        with contextlib.suppress(HakobiError, OSError, KeyError):
            part = steps.get(other, number)
            if part.bounds is not None and found.bounds is not None and _is_around(found.bounds(0), part.bounds(0)):
                found = part
    return found


def _last_with_fields(steps: Steps, series: Series, newest: OpenStep, number: int) -> tuple[OpenStep, int]:
    """The step, or the last of the ten before it that can be drawn. The page does the same (client/main.js)."""
    for before in (number, *(int(n) for n in series.numbers[-2:-12:-1])):
        with contextlib.suppress(HakobiError, OSError, KeyError):
            found = newest if before == number else steps.get(series, before)
            if default_field(found.step) is not None:
                return found, before
    return newest, number


_TITLE_CHARACTERS = 110

#: run_rotor_######.hdf -> run: names of a run's parts differ in the last word.
_RUN = re.compile(r"(.*)_[^_/]*_#*\.\w+")


def _is_around(outer: tuple[Array, Array], inner: tuple[Array, Array]) -> bool:
    size = float((outer[1] - outer[0]).max())

    def held(slack: float) -> int:
        return int(((outer[0] <= inner[0] + slack) & (outer[1] >= inner[1] - slack)).sum())

    return held(1e-6 * size) == 3 and held(-1e-3 * size) >= 2


def _find_step(series: Series, step: str) -> tuple[int, int]:
    """The file's number, and the time in it; a large time stands for the last one."""
    if step == "last":
        return int(series.numbers[-1]), 1 << 40
    if step == "first":
        return int(series.numbers[0]), 0
    name, _, time = step.partition(".")
    if not name.isdigit() or (time and not time.isdigit()):
        raise InputError(f"step '{step}' is neither last, first nor a number")
    if int(series.numbers[0]) < 0:
        return -1, int(time or name)
    # A file of several steps has the number of its first.
    at = int(np.searchsorted(series.numbers, int(name), "right")) - 1
    number = int(series.numbers[max(at, 0)])
    if at < 0:
        raise _no_step(step, series, number)
    return number, int(name) - number + int(time or 0)


def _no_step(step: str, series: Series, last: int) -> InputError:
    numbers = series.numbers
    return InputError(f"there is no step {step}: they go from {numbers[0]} to {max(int(numbers[-1]), last)}")


def _find_plane(field: Field, time: int, cut: str | None, width: int) -> tiles.Plane:
    axis, index = 0, 0
    if len(field.shape) == 3:
        index = field.shape[0] // 2
    elif cut is not None:
        raise InputError(f"field '{field.name}' has two dimensions: nothing to slice")
    if cut is not None:
        name, _, text = cut.partition("=")
        names = {a.name: d for d, a in enumerate(field.axes)} | {"z": 0, "y": 1, "x": 2}
        names |= {a.name: d for d, a in enumerate(field.axes)}
        if name not in names:
            raise unknown_name("axis", name, names)
        axis = names[name]
        try:
            index = index_of(field.axes[axis], text)
        except ValueError:
            raise InputError(f"slice '{cut}' is not axis=index") from None
        if not 0 <= index < field.shape[axis]:
            units, known = field.axes[axis].shown_units, field.axes[axis].coordinates
            places = f", or is a coordinate with its unit, as {name}={known[-1]:g}{units}" if units and known else ""
            raise InputError(f"slice {cut}: the index goes from 0 to {field.shape[axis] - 1}{places}")
    level = 0
    while level < len(answers.levels_of(field.shape)):
        plane = _plane_at(field, time, level + 1, axis, index)
        if max(plane.shape) < width:
            break
        level += 1
    return _plane_at(field, time, level, axis, index)


def _plane_at(field: Field, time: int, level: int, axis: int, index: int) -> tiles.Plane:
    """The plane of a level that a cell's index is in."""
    plane = tiles.Plane(field, time, level, axis, index)
    return plane if plane.is_layer else replace(plane, index=index >> level)


def _limits(
    opened: OpenStep, field: Field, time: int, low: float | None, high: float | None, of: Array | None = None
) -> tuple[float, float]:
    """`of` are the values to be told apart, by default the field's."""
    found = (
        answers.describe_statistics(opened, field, time)
        if of is None
        else statistics_of(of.size, *_NOTHING, 0.0, 0, of)
    )
    points = found.get("percentiles", {})
    first, last = points.get("0.5", found.get("min", 0.0)), points.get("99.5", found.get("max", 1.0))
    if first < 0 < last and min(-first, last) > 0.2 * max(-first, last):
        last = max(-first, last)
        first = -last
    low, high = first if low is None else low, last if high is None else high
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise InputError(f"the range {low} to {high} is empty")
    pad = 0.0 if low < high else (abs(low) * 1e-3 or 1.0)
    return low - pad, high + pad


def _map_for(limits: tuple[float, float]) -> str:
    is_two_sided = limits[0] < 0 < limits[1] and math.isclose(-limits[0], limits[1], rel_tol=1e-6)
    return "swell" if is_two_sided else "tide"


def _when(opened: OpenStep, field: Field, number: int, time: int) -> list[str]:
    """The step's number, where it is one of several, and its time."""
    step = opened.step
    if step.found.label:
        valid = time_text(step.times[0], step.time_units) if step.times else ""
        return [f"{valid} ({step.found.label})" if valid else step.found.label]
    # A file of several steps has the number of its first.
    times = step.times_of(field)
    is_one = number < 0 and len(times.values) < 2
    named = [] if is_one else [f"step {max(0, number) + time}"]
    return named + [time_text(t, times.units, times.calendar) for t in times.values[time : time + 1]]


def colour_maps() -> dict[str, Any]:
    """Colour maps by name: points in OKLab (lightness, chroma, hue), and whether they are two-sided."""
    text = resources.files("hakobi.post").joinpath("client/maps.json").read_text()
    maps: dict[str, Any] = json.loads(text)
    return maps


def colours_of(name: str, count: int = 256) -> NDArray[np.float64]:
    """Colours of a map as rows of red, green, blue in 0 … 1, evenly spaced in OKLab (B. Ottosson, 2020).

    Raises InputError for an unknown name.
    """
    maps = colour_maps()
    if name not in maps:
        raise unknown_name("colour map", name, maps)
    lightness, chroma, hue = np.array(maps[name]["points"], float).T
    angle = np.radians(hue)
    path = np.stack([lightness, chroma * np.cos(angle), chroma * np.sin(angle)], axis=1)
    way = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    if maps[name].get("diverging"):  # each half by itself, so that the middle stays in the middle
        half = len(way) // 2
        way = np.where(
            np.arange(len(way)) <= half, way / way[half] / 2, 0.5 + (way - way[half]) / (way[-1] - way[half]) / 2
        )
    at = np.linspace(0, way[-1], count)
    light, a, b = (np.interp(at, way, path[:, d]) for d in range(3))
    cone = np.stack(
        [
            light + 0.3963377774 * a + 0.2158037573 * b,
            light - 0.1055613458 * a - 0.0638541728 * b,
            light - 0.0894841775 * a - 1.291485548 * b,
        ]
    )
    matrix = [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.707614701],
    ]
    linear = np.clip(np.array(matrix) @ cone**3, 0, 1)
    light_of: NDArray[np.float64] = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return light_of.T


def _draw(
    out: Path, values: Array, plane: tiles.Plane, title: str, limits: tuple[float, float], colours: str | None,
    coast: bool, wind: geography.Wind | None,
) -> None:  # fmt: skip
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    field = plane.field
    row_axis, column_axis = (a for d, a in enumerate(field.axes) if plane.is_flat or d != plane.axis)
    table = colours_of(colours or _map_for(limits))
    with matplotlib.rc_context({"font.family": "DejaVu Sans", "font.size": 9.5, "text.parse_math": False}):
        figure = Figure(figsize=(9.6, 6.4), dpi=170)
        figure.set_layout_engine("constrained", h_pad=0.12)  # with less a label loses its descenders
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.set_facecolor(_GAP_COLOUR)
        extent = (*edges(column_axis), *edges(row_axis))
        axes.imshow(
            painted(values, limits, table), origin="lower", extent=extent, interpolation="nearest",
            aspect=_aspect(row_axis, column_axis, extent),
        )  # fmt: skip
        if falls(column_axis):
            axes.invert_xaxis()
        if falls(row_axis) != row_axis.is_down:
            axes.invert_yaxis()
        if (row_axis.kind, column_axis.kind) == ("lat", "lon") and is_even(row_axis) and is_even(column_axis):
            if coast:
                geography.draw_coast(axes, row_axis, column_axis)
            if wind is not None:
                geography.draw_wind(axes, row_axis, column_axis, wind)
        for shown, axis in ((axes.xaxis, column_axis), (axes.yaxis, row_axis)):
            if not is_even(axis):
                shown.set_major_locator(MaxNLocator(integer=True))
                shown.set_major_formatter(partial(cell_text, axis))
            elif axis.is_down and axis.is_layered:
                shown.set_major_locator(MaxNLocator(integer=True))
            elif axis.kind:
                shown.set_major_formatter(partial(place_text, axis))
            if not axis.kind:
                shown.set_label_text(" ".join([axis.name, *([f"({axis.shown_units})"] if axis.shown_units else [])]))
        # The title is the figure's, not the axes': a long one would go on across the bar. Matplotlib makes no
        # room for lines that it wraps itself.
        figure.suptitle(textwrap.fill(title, _TITLE_CHARACTERS), x=0.01, ha="left", fontsize=10.5)
        add_bar(figure, axes, limits, table, field.shown_units)
        figure.savefig(out, format="png")


def _aspect(rows: Axis, columns: Axis, extent: tuple[float, ...]) -> float | Literal["equal", "auto"]:
    if not (is_even(rows) and is_even(columns)):
        return "auto"
    if rows.kind == "lat" and columns.kind == "lon":
        return float(1 / max(0.1, math.cos(math.radians((extent[2] + extent[3]) / 2))))
    width, height = abs(extent[1] - extent[0]), abs(extent[3] - extent[2])
    return "equal" if rows.units == columns.units and 0.05 < width / height < 20 else "auto"


def _title(plane: tiles.Plane, opened: OpenStep, number: int) -> str:
    field = plane.field
    parts = [field.title]
    if not plane.is_flat:
        axis = field.axes[plane.axis]
        index = min(axis.size - 1, plane.cell)
        where = index if axis.coordinates is None else place_text(axis, axis.coordinates[index])
        parts.append(f"{axis.name} = {where}")
    parts += _when(opened, field, number, plane.time)
    if plane.level:
        parts.append(f"means over {1 << plane.level} cells a direction")
    return ", ".join(parts)

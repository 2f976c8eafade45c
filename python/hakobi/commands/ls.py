"""`hakobi ls`: what is in a result."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import click

from hakobi.options import json_option

if TYPE_CHECKING:
    from hakobi.post.contents import Contents, FieldContents
    from hakobi.table import Table

#: Series that are shown with all their fields, and rows and lines that a screen has room for.
_MOST_SERIES, _MOST_ROWS, _MOST_LINES = 4, 25, 8
_KINDS = {"hdf5": "NetCDF-4 or HDF5", "classic": "NetCDF classic", "vtkhdf": "VTKHDF", "zarr": "Zarr",
          "store": "field store", "grib": "GRIB"}  # fmt: skip


@click.command()
@click.argument("path")
@click.option("--values", is_flag=True, help="Least and greatest of all steps: read all values that no overview tells.")
@json_option("Print JSON lines, one for a series, instead; or append them to this file.")
def command(path: str, values: bool, json_file: str | None) -> int:
    """List what is in a result: steps, times, fields, sizes.

    PATH is a folder, a file, or the prefix of a series (of objects its address, as s3://bucket/run): steps of Hakobi,
    other programs' NetCDF, HDF5, VTKHDF and GRIB files, field stores. GRIB files of this machine may have any name.

    Every step's file is looked at, and of each layout one is read. Least and greatest values are the last step's: from
    its overview (`hakobi index`), or from up to 64 MiB of its values. Which output method wrote a step is not in its
    file, whose bytes do not depend on it.

    \b
    hakobi ls out/run
    hakobi ls out/run --values
    hakobi ls out --json | jq .fields

    Exit status 1: something could not be read, which a line says; the rest is listed.
    """
    from hakobi import options, table
    from hakobi.errors import InputError
    from hakobi.post.catalogue import Catalogue
    from hakobi.post.contents import contents_of
    from hakobi.post.place import location_of
    from hakobi.progress import phase

    catalogue = Catalogue(location_of(path))
    series = sorted(catalogue.series.values(), key=lambda each: each.key)
    if not series:
        raise InputError(
            f"{path}: no results are in this folder (files .nc, .nc4, .h5, .hdf5, .hdf, GRIB, or a field store)"
        )
    found = []
    for each in series:
        with phase(f"reading {each.key}"):
            found.append(contents_of(each, catalogue.root, values))
    if json_file is not None:
        options.write_json(json_file, [record_of(contents, values) for contents in found])
    elif len(found) <= _MOST_SERIES:
        for number, contents in enumerate(found):
            click.echo("\n" if number else "", nl=False)
            table.show(table_of(contents, values))
    else:
        table.show(summary_of(path, found))
    return 1 if any(contents.problems for contents in found) else 0


def record_of(contents: Contents, all_values: bool) -> dict[str, Any]:
    """One series for `--json`. Extremes are null where they were not read."""
    finite = [time for time in contents.times if math.isfinite(time)]
    return {
        "series": contents.name,
        "kind": contents.kind,
        "steps": contents.numbers,
        "times": finite,
        "time_units": contents.time_units,
        "bytes": contents.num_bytes,
        "overviews": contents.num_overviews,
        "source": contents.source,
        "extremes_of": "all steps" if all_values else "last step",
        "fields": [
            {
                "name": this.name,
                "dtype": this.dtype,
                "dims": list(this.dims),
                "shape": list(this.shape),
                "units": this.units,
                "long_name": this.long_name,
                "stored": this.stored,
                "bytes": this.num_bytes,
                "steps": this.num_steps,
                "least": this.extremes[0] if this.extremes else None,
                "greatest": this.extremes[1] if this.extremes else None,
            }
            for this in contents.fields.values()
        ],
        "left_out": contents.left_out,
        "notes": contents.notes,
        "problems": contents.problems,
    }


def table_of(contents: Contents, all_values: bool) -> Table:
    """One series on a screen."""
    from hakobi.table import Table
    from hakobi.words import bytes_text

    size = bytes_text(contents.num_bytes)
    title = ", ".join(filter(None, [f"{contents.name}: {_steps_text(contents)}", _KINDS.get(contents.kind, ""), size]))
    view = Table(title, ["<field", "<type", "<shape", "<units", "least", "greatest", "<stored", "<what it is"])
    rows = list(contents.fields.values())
    for this in rows[:_MOST_ROWS]:
        low, high = (f"{value:.6g}" for value in this.extremes) if this.extremes else ("", "")
        view.add(this.name, this.dtype, _shape_text(this), this.units, low, high, this.stored, this.long_name)
    _drop_empty_columns(view)
    view.notes += _notes(contents, len(rows), all_values)
    return view


def _notes(contents: Contents, num_fields: int, all_values: bool) -> list[str]:
    from hakobi.words import count_text

    fields, num_steps = contents.fields.values(), len(contents.numbers)
    lines = [text for text in [_times_text(contents), *contents.notes] if text]
    lines += [f"written by {contents.source}"] if contents.source else []
    lines += [count_text(contents.num_overviews, "overview")] if contents.num_overviews else []
    if contents.kind != "store":
        some = [f"{this.name} is in {this.num_steps} of {num_steps} steps" for this in fields]
        lines += [line for this, line in zip(fields, some, strict=True) if this.num_steps < num_steps][:_MOST_LINES]
    if num_steps > 1 and any(this.extremes for this in fields):
        lines.append(f"least and greatest are those of {'all steps' if all_values else 'the last step'}")
    if any(this.extremes is None for this in fields) and not all_values:
        lines.append("least and greatest that are not shown take a look at all values: --values")
    if num_fields > _MOST_ROWS:
        lines.append(f"{count_text(num_fields - _MOST_ROWS, 'more field')}: --json lists all")
    return [*lines, *_left_out_text(contents), *_problems_text(contents.problems)]


def _left_out_text(contents: Contents) -> list[str]:
    """A line for each reason, with the first names that it holds for."""
    from hakobi.words import count_text

    by_reason: dict[str, list[str]] = {}
    for name, why in contents.left_out.items():
        by_reason.setdefault(why, []).append(name)
    lines = []
    for why, names in by_reason.items():
        more = f" and {count_text(len(names) - 3, 'more', 'more')}" if len(names) > 3 else ""
        lines.append(f"not listed: {', '.join(names[:3])}{more}: {why}")
    return lines


def _problems_text(problems: list[str]) -> list[str]:
    from hakobi.words import count_text

    more = len(problems) - _MOST_LINES
    rest = [f"{count_text(more, 'more problem')}: --json lists all"] if more > 0 else []
    return problems[:_MOST_LINES] + rest


def summary_of(path: str, found: list[Contents]) -> Table:
    """Many series: a row each."""
    from hakobi.post.place import location_of
    from hakobi.table import Table
    from hakobi.words import bytes_text, count_text

    view = Table(
        f"{path}: {count_text(len(found), 'series', 'series')}", ["<series", "<steps", "<kind", "size", "<fields"]
    )
    for contents in found:
        names = ", ".join(contents.fields)
        short = names if len(names) <= 60 else f"{count_text(len(contents.fields), 'field')}: {names[:40]}…"
        kind = _KINDS.get(contents.kind, "")
        view.add(contents.name, _steps_text(contents), kind, bytes_text(contents.num_bytes), short)
    view.notes += _problems_text([problem for contents in found for problem in contents.problems])
    view.notes.append(f"the fields of one: hakobi ls {location_of(path) / found[0].name.split('_#')[0]}")
    return view


def _steps_text(contents: Contents) -> str:
    """How many steps, their numbers where some are missing between them."""
    from hakobi.words import count_text

    numbers = contents.numbers
    if not numbers:
        return count_text(max(1, len(contents.times)), "step") if contents.fields else "no step that can be read"
    if contents.kind == "store":
        return count_text(len(numbers), "date and time", "dates and times")
    span = f" ({numbers[0]} to {numbers[-1]})" if len(numbers) > 1 else f" ({numbers[0]})"
    missing = numbers[-1] - numbers[0] + 1 - len(numbers)
    # Numbers of steps may go up by more than one: that is no gap.
    every = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    is_even = all(b - a == every for a, b in itertools.pairwise(numbers))
    gaps = "" if is_even or missing == 0 else f", {missing} missing between them"
    return count_text(len(numbers), "step") + span + gaps


def _times_text(contents: Contents) -> str:
    """
    >>> from hakobi.post.contents import Contents
    >>> _times_text(Contents("a", times=[0, 50, 100], time_units="s"))
    'times: 0 to 100 s, every 50'
    >>> _times_text(Contents("a", times=[0, 50, 20], time_units="s"))
    'times: 0 to 20 s, not in order: they go back'
    >>> _times_text(Contents("a", "grib", times=[0, 3600, 7200], time_units="seconds since 1970-01-01 00:00:00"))
    'times: 1970-01-01 00:00:00 UTC to 1970-01-01 02:00:00 UTC, every 1 h'
    >>> _times_text(Contents("a", times=[0, 50, math.nan], time_units="s"))
    'times: 0 to 50 s; 1 more has no place among them'
    """
    from hakobi.post.dates import time_text
    from hakobi.words import count_text

    times = [time for time in contents.times if math.isfinite(time)]
    if not times or contents.kind == "store":
        return ""
    every = times[1] - times[0] if len(times) > 1 else 0
    is_even = all(math.isclose(b - a, every, rel_tol=1e-6) for a, b in itertools.pairwise(times))
    ends = [times[0], times[-1]] if len(times) > 1 else times
    if contents.kind == "grib":  # counted in seconds by ourselves: the file has dates
        span, units = " to ".join(time_text(time, contents.time_units) for time in ends), ""
        told = f"{every / 3600:.6g} h"
    else:
        span, units = " to ".join(f"{time:.10g}" for time in ends), contents.time_units
        told = f"{every:.6g}"
    rhythm = f", every {told}" if len(times) > 2 and is_even and every > 0 else ""
    if any(b < a for a, b in itertools.pairwise(times)):
        rhythm = ", not in order: they go back"
    more = len(contents.times) - len(times)
    rest = f"; {count_text(more, 'more has', 'more have')} no place among them" if more else ""
    return f"time{'s' if len(times) > 1 else ''}: {span} {units}".rstrip() + rhythm + rest


def _shape_text(this: FieldContents) -> str:
    """
    >>> from hakobi.post.contents import FieldContents
    >>> _shape_text(FieldContents("a", "float64", ("lat", "lon"), (40, 50), "m", "", "", 16000))
    'lat 40, lon 50'
    """
    return ", ".join(f"{name} {size}".strip() for name, size in zip(this.dims, this.shape, strict=True)) or "one number"


def _drop_empty_columns(view: Table) -> None:
    """Drops the columns in which no field has a value."""
    kept = [i for i in range(len(view.columns)) if i < 1 or any(row[i] for row in view.rows)]
    view.columns = [view.columns[i] for i in kept]
    view.rows = [[row[i] for i in kept] for row in view.rows]

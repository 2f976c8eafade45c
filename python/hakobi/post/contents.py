"""The contents of a series: `hakobi ls`.

 1. Each step's file is looked at (hakobi.post.glance): its times, and the names in it.
 2. Of each layout that this shows one file is surveyed: its fields. Files of one layout have the same names, and the
    same size unless fields are compressed.
 3. Least and greatest values are the last step's, from its overview, else from its values where they are few; or all
    steps', when asked.

A file that cannot be read is a sentence in `problems`, and the rest goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hakobi import layout, pending
from hakobi.errors import HakobiError
from hakobi.post import zarr_store
from hakobi.post.catalogue import Series, Steps, StoreSeries, overview_state
from hakobi.post.dates import rebased
from hakobi.post.extremes import Extremes, joined, known_extremes, read_extremes
from hakobi.post.glance import Glance, glance
from hakobi.post.mesh import MeshField
from hakobi.post.place import Location
from hakobi.post.source import Field, Step
from hakobi.post.staged import staged_text
from hakobi.words import count_text

#: Values of a step that are read for their extremes without being asked.
FEW_BYTES = 64 << 20
#: Layouts that are surveyed.
_MOST_LAYOUTS = 20
#: Values of a store's keyword that are named.
_MOST_VALUES = 6


@dataclass
class FieldContents:
    """One field. `shape` is that of one time, `num_bytes` its size before compression; `num_steps` counts the steps
    that have it."""

    name: str
    dtype: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    units: str
    long_name: str
    stored: str  # contiguous, chunks, or the filters of compressed chunks
    num_bytes: int
    num_steps: int = 0
    extremes: Extremes | None = None


@dataclass
class Contents:
    """The contents of a series."""

    name: str
    kind: str = ""  # hdf5 (NetCDF-4, too), classic, vtkhdf, grib or store
    numbers: list[int] = field(default_factory=list)  # of the steps that can be read; none of a file without a number
    times: list[float] = field(default_factory=list)
    time_units: str = ""
    num_bytes: int = 0
    num_overviews: int = 0
    source: str = ""  # what wrote it, as the file says
    fields: dict[str, FieldContents] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)  # what is there and is no such field: why
    notes: list[str] = field(default_factory=list)  # what is in it beside fields: a mesh, a store's keywords
    problems: list[str] = field(default_factory=list)


def contents_of(series: Series, root: Location, all_values: bool = False) -> Contents:
    """Reads no values but a few of the last step's; with `all_values` those of all steps. What a file holds is no
    reason to fail: see `Contents.problems`."""
    found = Contents(series.key)
    steps = Steps(root, most=1)
    readable = _add_store(found, series, steps) if isinstance(series, StoreSeries) else _add_files(found, series, steps)
    if all_values:
        for number in readable:
            _add_extremes(found, series, steps, number)
    elif readable:
        _add_extremes(found, series, steps, readable[-1], FEW_BYTES)
    return found


def _add_files(found: Contents, series: Series, steps: Steps) -> list[int]:
    """Steps, times, sizes and fields. Returns the steps that can be read."""
    glances: dict[int, Glance] = {}
    by_names: dict[tuple[str, ...], list[int]] = {}
    times_of: dict[tuple[str, ...], str] = {}
    unstored = pending.names(series.folder) if isinstance(series.folder, Path) else set()
    for number in map(int, series.numbers):
        path = series.path(number)
        if path.name in unstored:
            found.problems.append(pending.sentence(path.name))
        try:
            seen = glance(path, times_of)
        except (HakobiError, OSError) as error:
            found.problems.append(_reason(path, error))
            continue
        glances[number] = seen
        by_names.setdefault(seen.layout, []).append(number)
        found.num_bytes += seen.num_bytes
        found.num_overviews += overview_state(path) is not None
    unreadable: set[int] = set()
    num_surveys = 0
    for numbers in by_names.values():
        rest = numbers
        while rest and num_surveys < _MOST_LAYOUTS:
            num_surveys += 1
            fields = _survey(found, series, steps, rest[0])
            is_one = glances[rest[0]].num_steps == 1  # the sizes of others tell how many they have
            sizes_tell = is_one and (fields is None or all(this.stored == "contiguous" for this in fields))
            size = glances[rest[0]].num_bytes
            alike = [number for number in rest if not sizes_tell or glances[number].num_bytes == size]
            rest = [number for number in rest if sizes_tell and glances[number].num_bytes != size]
            if not fields:
                found.problems[-1] += f" (and {count_text(len(alike) - 1, 'step')} like it)" if len(alike) > 1 else ""
                unreadable.update(alike if fields is None else ())
            for this in fields or ():
                found.fields.setdefault(this.name, this).num_steps += sum(glances[n].num_steps for n in alike)
        if rest:
            found.notes.append(f"{count_text(len(rest), 'step')} of further layouts were not looked into")
    readable = [number for number in glances if number not in unreadable]
    if readable and (stripes := _stripes(series.path(readable[-1]))):
        found.notes.append(f"{'the last file' if len(readable) > 1 else 'the file'} on its servers: {stripes}")
    is_series = series.width or series.suffix == zarr_store.SUFFIX
    if is_series and (staged := staged_text(series.folder / series.prefix.removesuffix("_"))):
        found.notes.append(staged)
    found.numbers = [number + s for number in readable if number >= 0 for s in range(glances[number].num_steps)]
    found.times, time_units = _times([glances[number] for number in readable])
    found.time_units = time_units if found.times else found.time_units
    return readable


def _times(glances: list[Glance]) -> tuple[list[float], str]:
    """The times of all files, in the units of the first, whatever date those of others count from."""
    units = next(((each.time_units, each.calendar) for each in glances if each.times), ("", ""))
    times = [time for each in glances for time in rebased(each.times, (each.time_units, each.calendar), units)]
    return times, units[0]


def _survey(found: Contents, series: Series, steps: Steps, number: int) -> list[FieldContents] | None:
    """The fields of a step; None where it cannot be read. No field, and that, are problems."""
    try:
        step = steps.get(series, number).step
    except (HakobiError, OSError) as error:
        found.problems.append(_reason(series.path(number), error))
        return None
    if not found.kind:
        _describe(found, step)
    name = step.found.label or step.path.name
    fields = [_describe_field(this) for this in all_fields(step)]
    found.left_out |= {what: why for what, why in step.left_out.items() if what not in step.found.undrawn}
    found.problems += step.found.problems
    if not fields:
        found.problems.append(f"{name} has no field")
    return fields


def _describe(found: Contents, step: Step) -> None:
    """Notes what is said once: kind, units of time, source, mesh."""
    found.kind, found.source = step.found.kind, step.found.source
    found.time_units = step.time_units
    if step.mesh is not None:
        mesh = step.mesh
        counts = (count_text(mesh.num_points(0), "point"), count_text(mesh.num_cells(0), "cell"))
        others = "".join(f", also in {identity.path.name}" for identity in mesh.identities())
        found.num_bytes += sum(identity.num_bytes for identity in mesh.identities())
        found.notes.append(f"mesh: {', '.join(counts)}, {count_text(mesh.num_parts(0), 'part')}{others}")


def all_fields(step: Step) -> list[Field]:
    """Those that can be drawn and those that cannot, as they are in the file; of a vector its magnitude alone."""
    drawn = [this.on_map[1] if this.on_map else this for this in step.all_fields()]
    whole = [this for this in drawn if not isinstance(this, MeshField) or not this.component]
    vectors = {this.dataset for this in whole if isinstance(this, MeshField) and this.component is None}
    kept = [this for this in whole if not isinstance(this, MeshField) or this.component is None
            or this.dataset not in vectors]  # fmt: skip
    return [*kept, *step.found.undrawn.values()]


def _describe_field(this: Field) -> FieldContents:
    axes = (*this.outer_axes, *this.axes)
    dims, shape = tuple(axis.name for axis in axes), tuple(axis.size for axis in axes)
    packed = [name for name in this.filters if name != "shuffle"]
    stored = "contiguous" if not this.filters else ", ".join(packed) or "chunks"
    return FieldContents(
        this.name, this.dtype.name, dims, shape, this.units, this.long_name, stored, this.num_bytes
    )  # fmt: skip


def _add_store(found: Contents, series: StoreSeries, steps: Steps) -> list[int]:
    """Dates and times, keywords, and the last date's fields. Returns the steps that can be read."""
    assert series.archive is not None
    assert isinstance(series.folder, Path)
    files = [path for path in series.folder.iterdir() if path.is_file()]
    found.kind, found.num_bytes = "store", sum(path.stat().st_size for path in files)
    numbers = [int(number) for number in series.numbers]
    if not numbers:
        found.problems.append(f"{series.folder.name} has no field")
        return []
    keywords = series.archive.keywords()
    found.notes.append(
        ", ".join(f"{word}={values[0]}" for word, values in keywords.items() if [*filter(None, values)] == values[:1])
    )
    for word, values in keywords.items():
        if len(values) > 1:
            named = values if len(values) <= _MOST_VALUES else [values[0], values[1], "…", values[-1]]
            found.notes.append(f"{word}: {count_text(len(values), 'value')}: {', '.join(named)}")
    found.numbers = numbers
    for this in _survey(found, series, steps, numbers[-1]) or ():
        this.num_steps, this.stored = 1, ""
        found.fields[this.name] = this
    return numbers


def _add_extremes(found: Contents, series: Series, steps: Steps, number: int, most_bytes: int | None = None) -> None:
    """Joins those of one step. `most_bytes` of values are read, or all."""
    try:
        opened = steps.get(series, number)
        for this in all_fields(opened.step):
            if this.name not in found.fields or this.outer_axes:
                continue
            extremes = known_extremes(opened, this)
            if extremes is None:
                num_bytes = this.num_bytes * max(1, this.num_times)
                if most_bytes is not None and num_bytes > most_bytes:
                    continue
                most_bytes = None if most_bytes is None else most_bytes - num_bytes
                extremes = read_extremes(opened.step, this)
            known = found.fields[this.name]
            known.extremes = joined([pair for pair in (known.extremes, extremes) if pair is not None])
    except (HakobiError, OSError) as error:
        found.problems.append(_reason(series.path(number), error))


def _stripes(path: Location) -> str:
    return layout.of_file(path) if isinstance(path, Path) else ""


def _reason(path: Location, error: Exception) -> str:
    """One sentence that names the file."""
    text = str(error) if isinstance(error, HakobiError) else f"{getattr(error, 'strerror', '') or error}"
    return text if path.name in text else f"{path.name}: {text}"

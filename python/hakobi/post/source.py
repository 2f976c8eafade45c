"""A step's file as what can be looked at: its fields in 2-D and 3-D, their coordinates, and boxes of their values.

Each kind of file is a module that says what is in it: `hdf5` (NetCDF-4, plain HDF5), `classic` (NetCDF's classic
formats), `vtkhdf` (meshes), `grib`, `stored` (a field store); `opening` opens files. Values that lie in the file as
they are are read from their place (hakobi.post.place), others by whoever can unpack them. A file is opened for reading
only, without locks, and never mapped: one that is cut short under a reader is an error and not a signal.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hakobi.errors import FormatError, InputError
from hakobi.post.packing import Packing
from hakobi.post.place import Identity, Location, OpenFile
from hakobi.post.reaching import is_current

if TYPE_CHECKING:
    from hakobi.post.curvilinear import Map
    from hakobi.post.mesh import Mesh

Array = NDArray[Any]
Box = tuple[tuple[int, int], ...]

MOST_FIELDS, MOST_COORDINATES = 2000, 1 << 20
#: Reading a whole row is cheaper than one request a value up to this length.
_ROW_BYTES = 64 << 10
_ROWS_BYTES = 4 << 20
TIME_NAMES = {"time", "t", "step", "steps", "times"}


def is_time(name: str, attribute: Callable[[str], str]) -> bool:
    """Whether a variable is a time, by its name and its attributes (CF conventions, 4.4).

    >>> is_time("ocean_time", {"units": "days since 1990-01-01"}.get), is_time("run", lambda _: "")
    (True, False)
    """
    is_named = name.rpartition("/")[2].lower() in TIME_NAMES
    is_told = attribute("axis") == "T" or attribute("standard_name") == "time"
    return is_named or is_told or " since " in (attribute("units") or "")


@dataclass(frozen=True)
class Axis:
    """One direction of a field: its name, and the coordinates of its cells where the file has them."""

    name: str
    size: int
    coordinates: tuple[float, ...] | None = None
    units: str = ""
    kind: str = ""  # lat, lon or "" (from units and standard_name)
    is_down: bool = False  # coordinates grow downwards, as pressure does
    is_layered: bool = False  # of a first axis: a plane across it is that of one cell at all levels of detail

    @property
    def shown_units(self) -> str:
        """Those that are worth a word: none of a plain number."""
        return units_text(self.units)


#: A unit and its power, as UDUNITS and ecCodes write them. Few units have one without a sign or an operator:
#: CO2 has none.
_POWER = re.compile(r"(?<![^\s.*/(])(?:([a-zA-Zµ°]+)(?:(?:\*\*|\^)(-?\d+)|(-\d+))|(c?m|km|s|K)([2-9]))(?![^\s.*/)])")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def units_text(units: str) -> str:
    """
    >>> [units_text(units) for units in ("m s**-1", "kg m-2 s-1", "K^2", "W/m2", "1", "mol CO2", "days since 1990-1-1")]
    ['m s⁻¹', 'kg m⁻² s⁻¹', 'K²', 'W/m²', '', 'mol CO2', 'days since 1990-1-1']
    """

    def raised(found: re.Match[str]) -> str:
        unit, power = (str(part) for part in found.groups() if part)
        return unit + power.translate(_RAISED)

    return "" if units == "1" else _POWER.sub(raised, units)


def axis_kind(units: str, standard_name: str) -> str:
    """lat, lon or "" (CF conventions, 4.1 and 4.2).

    >>> axis_kind("degrees_east", "")
    'lon'
    """
    found = _DEGREES.fullmatch(units.lower())
    if standard_name == "latitude" or (found and found[1] == "n"):
        return "lat"
    return "lon" if standard_name == "longitude" or found else ""


#: CF's six ways to write each (4.1, 4.2).
_DEGREES = re.compile(r"degrees?_?(n|e)(?:orth|ast)?")
_PRESSURES = {"pa", "hpa", "kpa", "mbar", "millibar", "millibars", "mb", "bar", "dbar", "decibar", "decibars"}


def axis_of(name: str, size: int, values: Array | None, attribute: Callable[[str], str]) -> Axis:
    """An axis by its coordinates and their attributes. Longitudes across the date line go on: 179, 181.

    >>> axis_of("x", 3, np.array([178.0, 179, -180]), {"units": "degrees_east"}.get).coordinates
    (178.0, 179.0, 180.0)
    >>> axis_of("edges", 2, np.array([-180.0, 180]), {"units": "degrees_east"}.get).coordinates
    (-180.0, 180.0)
    """
    units, positive, standard_name = (attribute(word) or "" for word in ("units", "positive", "standard_name"))
    kind, coordinates = axis_kind(units, standard_name), None
    if values is not None and len(values) == size and np.isfinite(values).all():
        turned = np.unwrap(values, period=360) if kind == "lon" else values
        ways = {*np.sign(np.diff(turned))}
        coordinates = tuple(map(float, turned if ways in ({1}, {-1}) else values))
    is_down = positive.lower() == "down" or (units.lower() in _PRESSURES and positive.lower() != "up")
    return Axis(name, size, coordinates, units, kind, is_down)


@dataclass(frozen=True)
class Times:
    """Times of steps, with their units and CF's calendar ("": "standard")."""

    values: tuple[float, ...] = ()
    units: str = ""
    calendar: str = ""


@dataclass(frozen=True)
class Field:
    """One field of a step. `shape` is that of one time, C order; `num_times` is 0 where it has no time axis."""

    name: str
    axes: tuple[Axis, ...]
    num_times: int
    dtype: np.dtype[Any]
    units: str = ""
    long_name: str = ""
    standard_name: str = ""  # CF's
    offset_bytes: int | None = None  # of contiguous values
    packing: Packing | None = None  # of `dtype`; None: values are as they are
    time_stride_bytes: int = 0  # from one time to the next of contiguous values; 0: they follow each other
    chunk_bytes: int = 0  # of values that can only be read a whole chunk at a time; 0: each by itself
    on_map: tuple[Map, Field] | None = None  # where cells come from that are not in the file as they are shown here
    is_coordinate: bool = False  # where others' cells are: can be looked at, but not what a viewer begins with
    filters: tuple[str, ...] = ()  # that its chunks have passed: deflate, shuffle, …
    outer_axes: tuple[Axis, ...] = ()  # directions before `axes`, of which `read` takes the first entry
    own_times: Times | None = None  # where it is along other times than the file's
    at_times: tuple[int, ...] = ()  # the times at which it is there; () is all of them
    wind_name: str | None = None  # "u" or "v" and what the other one shares; "": no wind's, None: by standard_name

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def title(self) -> str:
        """The name for people, with the entry that is read of directions that are not shown."""
        firsts = [f"{a.name} = {a.coordinates[0] if a.coordinates else 0:g}" for a in self.outer_axes if a.size > 1]
        return ", ".join([self.long_name or self.name, *firsts])

    @property
    def unpacking(self) -> Packing:
        """How values come from what is stored."""
        return self.packing or Packing(self.dtype)

    @property
    def shown_units(self) -> str:
        """As an axis's."""
        return units_text(self.units)

    @property
    def num_bytes(self) -> int:
        """The bytes of one time, in the file."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def value_type(self) -> np.dtype[Any]:
        """float32 or float64: what `Step.read` returns."""
        return self.unpacking.value_type


#: Attributes of a variable that name its coordinates and their bounds (CF conventions, 5, 7.1, 7.2 and 7.4).
NAMING_ATTRIBUTES = ("coordinates", "bounds", "climatology", "cell_measures")


class Reader(Protocol):
    """Who reads the values that do not lie in the file as they are."""

    def read(self, this: Field, time: int, box: Box) -> Array | None:
        """Values as they are stored, in the box's shape; None where the time is without the field. Raises FormatError,
        OSError."""

    def close(self) -> None: ...


@dataclass
class Found:
    """The contents of a file, as its kind describes them. `left_out` has a reason for each data set that is no
    field."""

    fields: dict[str, Field] = field(default_factory=dict)
    times: tuple[float, ...] = ()
    time_units: str = ""
    calendar: str = ""  # CF's name; "": "standard"
    left_out: dict[str, str] = field(default_factory=dict)
    reader: Reader | None = None
    mesh: Mesh | None = None
    kind: str = "hdf5"  # or classic, vtkhdf, store, grib: how other programs open it
    label: str = ""  # what the step is called where it has no time
    undrawn: dict[str, Field] = field(default_factory=dict)  # in less than two directions: described, not drawn
    source: str = ""  # the file's attribute: what wrote it
    num_bytes_at: Callable[[int], int] | None = None  # of a time's own files
    problems: list[str] = field(default_factory=list)  # why not all of the file could be read
    sample: Callable[[Field, int], Array] | None = None  # some values, where the reader knows better than to pick rows
    times_name: str = ""  # the variable of the times


class Step:
    """One open step. Any thread may read; `close` when nobody does."""

    def __init__(self, path: Location, found: Found, file: OpenFile | None, identities: tuple[Identity, ...]) -> None:
        self.path, self.found, self.identities, self.file = path, found, identities, file
        self.fields, self.times, self.time_units = found.fields, found.times, found.time_units
        self.left_out, self.mesh = found.left_out, found.mesh

    def identity(self) -> str:
        """Other for every content."""
        return " ".join(map(str, self.identities))

    @property
    def num_bytes(self) -> int:
        """The bytes of the file, and of those that it names."""
        return sum(identity.num_bytes for identity in self.identities)

    def num_bytes_at(self, time: int) -> int:
        """The bytes of one time where it has files of its own, else of all."""
        return self.found.num_bytes_at(time) if self.found.num_bytes_at else self.num_bytes

    def close(self) -> None:
        if self.found.reader is not None:
            self.found.reader.close()
        if self.file is not None:
            self.file.close()
            self.file = None

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> Step:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def is_current(self) -> bool:
        """Whether the names still lead to the files as they were opened."""
        return all(map(is_current, self.identities))

    def all_fields(self) -> Iterator[Field]:
        """Those of the grid, and those of the mesh."""
        yield from self.fields.values()
        if self.mesh is not None:
            yield from self.mesh.fields.values()

    def times_of(self, this: Field) -> Times:
        """The times of a field."""
        return this.own_times or Times(self.times, self.time_units, self.found.calendar)

    def at(self, this: Field, time: int) -> Field:
        """The field as it is at a time: a mesh may have other sizes then."""
        is_of_mesh = self.mesh is not None and this.name not in self.fields
        return self.mesh.at(self.mesh.fields[this.name], time) if self.mesh and is_of_mesh else this

    def read(self, name: str, time: int, box: Box) -> Array:
        """Values of a box (start and stop a direction), float32 or float64, NaN where the file says that there is no
        value. Raises FormatError where the file is shorter than it says, OSError where the storage fails."""
        if name not in self.fields and self.mesh is not None:
            return self.mesh.read(name, time, *box[0])
        this = self.fields[name]
        if this.on_map is not None:
            made, own = this.on_map
            return made.read(box, lambda inside: self.read_cells(own, time, inside))
        return self.read_cells(this, time, box)

    def read_cells(self, this: Field, time: int, box: Box) -> Array:
        """The same of a grid's field as it is in the file."""
        if this.offset_bytes is not None:
            raw = self._read_bytes(this, _place(this, time), box)
        elif self.found.reader is not None:
            read = self.found.reader.read(this, time, box)
            if read is None:
                return np.full([b - a for a, b in box], np.nan, this.value_type)
            raw = read
        else:
            raise FormatError(f"{self.path.name} was closed")
        return this.unpacking.values(raw)

    def _read_bytes(self, this: Field, start: int, box: Box) -> Array:
        """Contiguous values: as few requests as the box allows, rows read whole where they are short."""
        shape = this.shape
        item = this.dtype.itemsize
        # The last direction that the box does not take whole; everything behind it is contiguous.
        cut = max((d for d, (a, b) in enumerate(box) if (a, b) != (0, shape[d])), default=-1)
        result = np.empty([b - a for a, b in box], this.dtype)
        if self.file is None:
            raise FormatError(f"{self.path.name} was closed")
        is_here = self.file.fileno() >= 0  # of objects, `fill` joins what is near
        if is_here and 0 < cut == len(shape) - 1 and shape[-1] * item <= _ROW_BYTES and box[-2] != (0, 1):
            d = len(shape) - 2  # rows read whole, some at a time: they may be much more than what is wanted
            most = max(1, _ROWS_BYTES // (shape[-1] * item))
            for outer in np.ndindex(*result.shape[:d]):
                place = tuple((box[k][0] + i, box[k][0] + i + 1) for k, i in enumerate(outer))
                for first in range(*box[d], most):
                    last = min(box[d][1], first + most)
                    read = self._read_bytes(this, start, (*place, (first, last), (0, shape[-1])))
                    read = read.reshape(last - first, shape[-1])[:, box[-1][0] : box[-1][1]]
                    result[(*outer, slice(first - box[d][0], last - box[d][0]))] = read
            return result
        rows = result.reshape(-1, math.prod(result.shape[max(0, cut) :]))

        def parts() -> Iterator[tuple[memoryview, int]]:
            for row, index in zip(rows, _leading(box[: max(0, cut)]), strict=True):
                at = 0
                for position, extent in zip((*index, *(a for a, _ in box[max(0, cut) :])), shape, strict=True):
                    at = at * extent + position
                yield memoryview(row.view(np.uint8).data), start + at * item

        self.file.fill(parts())
        return result


def _place(this: Field, time: int) -> int:
    assert this.offset_bytes is not None
    return this.offset_bytes + max(0, time) * (this.time_stride_bytes or this.num_bytes)


def _leading(box: Box) -> Iterator[tuple[int, ...]]:
    return np.ndindex(*(b - a for a, b in box)) if not box else _shifted(box)


def _shifted(box: Box) -> Iterator[tuple[int, ...]]:
    starts = [a for a, _ in box]
    for index in np.ndindex(*(b - a for a, b in box)):
        yield tuple(s + i for s, i in zip(starts, index, strict=True))


def default_field(step: Step) -> Field | None:
    """The field that a viewer begins with: rather no coordinate of others, one over time than a static one, values than
    numbers of kinds, in more dimensions, with a name of CF; of equal ones the first in the file."""

    def rank(this: Field) -> tuple[bool | int, ...]:
        is_kind = this.dtype.kind != "f" and this.unpacking.scaling is None
        is_rare = bool(this.at_times)
        return this.is_coordinate, not this.num_times, is_rare, is_kind, -len(this.shape), not this.standard_name

    return min(step.all_fields(), key=rank, default=None)


def with_coordinates_marked(fields: Iterable[Field], texts: Iterable[str]) -> dict[str, Field]:
    """Fields by name. Marked are those whose names stand in `texts`, which are the attributes by which variables name
    their coordinates and bounds (CF conventions, 5 and 7), and latitudes and longitudes."""
    named = {word.rstrip(":") for text in texts for word in text.split()}

    def is_coordinate(this: Field) -> bool:
        return this.name.rpartition("/")[2] in named or bool(axis_kind(this.units, ""))

    return {f.name: dataclasses.replace(f, is_coordinate=True) if is_coordinate(f) else f for f in fields}


def find_field(step: Step, name: str) -> Field:
    """The field called `name`. Raises InputError that lists those that are there, or says why it cannot be drawn."""
    known = {this.name: this for this in step.all_fields()}
    if name in known:
        return known[name]
    if name in step.left_out:
        raise InputError(f"{step.path.name}: field '{name}' cannot be drawn: {step.left_out[name]}")
    raise InputError(f"{step.path.name} has no field '{name}' (it has: {', '.join(known) or 'none'})")

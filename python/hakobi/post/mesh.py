"""An unstructured mesh and the fields on its points and cells; hakobi/post/vtkhdf.py finds them in files.

Nothing is held in memory but a piece of the arrays at a time; hakobi/post/shapes.py makes shapes from pieces.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hakobi.errors import FormatError
from hakobi.post.hdf5 import ERRORS, LOCK, give_up
from hakobi.post.place import Identity, OpenFile
from hakobi.post.source import Array, Field

#: Cells, points or values that are looked at together.
PIECE = 1 << 18
_POLYHEDRON = 42
#: Cells that another rank has too (1) or that are blanked (32) are not drawn (VTK's vtkDataSetAttributes).
GHOSTS, _NOT_HERE = "CellData/vtkGhostType", 33
FACES = ("FaceConnectivity", "FaceOffsets", "PolyhedronToFaces", "PolyhedronOffsets")


@dataclass(frozen=True)
class MeshField(Field):
    """A field on points or cells; of vectors each component and the magnitude are fields of their own."""

    location: str = "point"
    component: int | None = None  # None: the magnitude, or the only one
    dataset: str = ""


@dataclass(frozen=True)
class Part:
    """Where the rows of one part begin in the arrays, and how many there are."""

    point: int
    num_points: int
    cell: int
    num_cells: int
    connectivity: int
    num_connectivity: int
    offset: int
    points_before: int
    cells_before: int
    faces: tuple[int, int, int, int] = (0, 0, 0, 0)  # first rows of the four arrays of faces


@dataclass(frozen=True)
class Cells:
    """A piece of the cells: numbers of its points in the whole mesh. `first` is the first cell's number."""

    first: int
    types: Array
    starts: Array
    counts: Array
    ids: Array
    faces: Faces | None = None


@dataclass(frozen=True)
class Faces:
    """The faces of a piece's polyhedra: `cells` has the number of each one's cell in the piece."""

    cells: Array
    starts: Array
    counts: Array
    ids: Array


class File:
    """One open file: itself for what lies in it as it is, HDF5's view of it for the rest."""

    def __init__(self, opened: OpenFile, handle: Any) -> None:
        self.path, self.opened, self.handle = opened.path, opened, handle
        self.identity = opened.identity


class Rows:
    """One array of a file, read by its rows."""

    def __init__(self, file: File, dataset: Any) -> None:
        self._file, self._dataset = file, dataset
        self.shape, self.dtype = dataset.shape, dataset.dtype
        self._offset = None
        if dataset.chunks is None and dataset.id.get_create_plist().get_nfilters() == 0:
            self._offset = dataset.id.get_offset()
        self.key = f"{file.identity} {self._offset} {dataset.name}"

    def read(self, start: int, stop: int) -> Array:
        """Rows from `start` to `stop`. Raises FormatError outside the array, and where the file is shorter."""
        if not 0 <= start <= stop <= self.shape[0]:
            raise FormatError(f"{self._file.path.name} is damaged: an array is shorter than the mesh says")
        if self._offset is None:
            with LOCK:
                if not self._dataset:
                    raise FormatError(f"{self._file.path.name} was closed")
                try:
                    values: Array = self._dataset[start:stop]
                except ERRORS as error:
                    raise FormatError(f"{self._file.path.name}: HDF5 cannot read {self._dataset.name!r}") from error
            return values
        result = np.empty((stop - start, *self.shape[1:]), self.dtype)
        row_bytes = self.dtype.itemsize * int(np.prod(self.shape[1:]))
        view = memoryview(result.reshape(-1).view(np.uint8).data)
        self._file.opened.fill([(view, self._offset + start * row_bytes)])
        return result

    def at(self, rows: Array, base: int = 0) -> Array:
        """Rows by ascending numbers, a piece of the array at a time."""
        result = np.empty((len(rows), *self.shape[1:]), self.dtype)
        bounds = np.searchsorted(rows, np.arange(0, (int(rows[-1]) if len(rows) else -1) + PIECE + 1, PIECE))
        for a, b in itertools.pairwise(bounds):
            if a < b:
                first = int(rows[a])
                result[a:b] = self.read(base + first, base + int(rows[b - 1]) + 1)[rows[a:b] - first]
        return result


class Mesh:
    """The mesh of a step; arrays are read when they are asked for."""

    def __init__(self, files: list[File], arrays: dict[str, Rows], fields: dict[str, MeshField],
                 parts: list[list[Part]], bases: dict[str, list[int]]) -> None:  # fmt: skip
        self._files, self._arrays, self.fields, self._parts, self._bases = files, arrays, fields, parts, bases

    def identities(self) -> tuple[Identity, ...]:
        """The identities of the other files that arrays lie in."""
        return tuple(file.identity for file in self._files[1:])

    def __del__(self) -> None:
        for file in self._files:
            give_up(file.handle)
            file.opened.close()
        self._files = []

    def parts(self, time: int) -> list[Part]:
        return self._parts[min(time, len(self._parts) - 1)]

    @property
    def num_times(self) -> int:
        return len(self._parts)

    def num_parts(self, time: int) -> int:
        return len(self.parts(time))

    def num_points(self, time: int) -> int:
        last = self.parts(time)[-1]
        return last.points_before + last.num_points

    def num_cells(self, time: int) -> int:
        last = self.parts(time)[-1]
        return last.cells_before + last.num_cells

    def cells_key(self, time: int) -> str:
        """Equal for equal cells of which the same are drawn, be it in other steps."""
        ghosts = f" {self._arrays[GHOSTS].key} {self._first_row(GHOSTS, time)}" if GHOSTS in self._arrays else ""
        return f"{self._arrays['Connectivity'].key} {self._arrays['Offsets'].key} {self.parts(time)}{ghosts}"

    def points_key(self, time: int) -> str:
        """Equal for equal points."""
        return f"{self._arrays['Points'].key} {self.parts(time)[0].point} {self.num_points(time)}"

    def key(self, time: int) -> str:
        """Equal for equal cells and points."""
        return f"{self.cells_key(time)} {self.points_key(time)}"

    def points(self, time: int, ids: Array) -> Array:
        """Positions (n, 3) of points by ascending numbers."""
        part = self.parts(time)[0]
        found: Array = self._arrays["Points"].at(ids, part.point).astype(np.float64)
        return found

    def all_points(self, time: int) -> Iterator[Array]:
        """Positions of all points, piece by piece."""
        first, count = self.parts(time)[0].point, self.num_points(time)
        for start in range(first, first + count, PIECE):
            yield self._arrays["Points"].read(start, min(first + count, start + PIECE))

    def bounds(self, time: int) -> tuple[Array, Array]:
        """Smallest and largest coordinates; zeros where no point is anywhere."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for piece in self.all_points(time):
            values = piece[np.isfinite(piece).all(axis=1)].astype(np.float64)
            if len(values):
                low, high = np.minimum(low, values.min(axis=0)), np.maximum(high, values.max(axis=0))
        return (low, high) if np.isfinite(low).all() else (np.zeros(3), np.zeros(3))

    def read(self, name: str, time: int, start: int, stop: int) -> Array:
        """Values of points or cells `start` to `stop`, float32 or float64."""
        field = self.fields[name]
        base = self._base(field, time)
        return _component(field, self._arrays[field.dataset].read(base + start, base + stop))

    def values_at(self, name: str, time: int, rows: Array) -> Array:
        """Values of points or cells by ascending numbers."""
        field = self.fields[name]
        return _component(field, self._arrays[field.dataset].at(rows, self._base(field, time)))

    def at(self, field: MeshField, time: int) -> MeshField:
        """The field with the size that the mesh has at a time."""
        size = self.num_points(time) if field.location == "point" else self.num_cells(time)
        return dataclasses.replace(field, axes=(dataclasses.replace(field.axes[0], size=size),))

    def place_of(self, field: MeshField, time: int) -> tuple[int, int]:
        """The first row of a field's values in its data set, and how many numbers a row is; 0: it has no columns."""
        return self._base(field, time), (*self._arrays[field.dataset].shape, 0)[1]

    def _base(self, field: MeshField, time: int) -> int:
        return self._first_row(field.dataset, time, field.location)

    def _first_row(self, dataset: str, time: int, location: str = "cell") -> int:
        if dataset in self._bases:
            return self._bases[dataset][min(time, len(self._bases[dataset]) - 1)]
        part = self.parts(time)[0]
        return part.point if location == "point" else part.cell

    def pieces(self, time: int) -> Iterator[Cells]:
        """All cells, a piece at a time. Raises FormatError where their numbers lead nowhere."""
        for part in self.parts(time):
            for start in range(0, part.num_cells, PIECE):
                yield self._cells(part, time, start, min(part.num_cells, start + PIECE))

    def _cells(self, part: Part, time: int, start: int, stop: int) -> Cells:
        types = self._arrays["Types"].read(part.cell + start, part.cell + stop)
        if GHOSTS in self._arrays:
            first = self._first_row(GHOSTS, time) + part.cells_before
            ghosts = self._arrays[GHOSTS].read(first + start, first + stop)
            types = np.where(ghosts & _NOT_HERE, 0, types)
        ends = self._arrays["Offsets"].read(part.offset + start, part.offset + stop + 1).astype(np.int64)
        counts = np.diff(ends)
        if ends[0] < 0 or (counts < 0).any() or ends[-1] > part.num_connectivity:
            raise FormatError("the mesh is damaged: its offsets lead out of it")
        ids = self._arrays["Connectivity"].read(part.connectivity + int(ends[0]), part.connectivity + int(ends[-1]))
        ids = _checked(ids.astype(np.int64), part)
        faces = self._polyhedra(part, start, stop, types) if "FaceOffsets" in self._arrays else None
        return Cells(part.cells_before + start, types, ends[:-1] - ends[0], counts, ids, faces)

    def _polyhedra(self, part: Part, start: int, stop: int, types: Array) -> Faces:
        """Polyhedra have offsets and numbers of faces, faces have offsets and numbers of points."""
        connectivity, offsets, to_faces, polyhedra = (self._arrays[name] for name in FACES)
        first = part.faces
        ends = polyhedra.read(first[3] + start, first[3] + stop + 1).astype(np.int64)
        if ends[0] < 0 or (np.diff(ends) < 0).any():
            raise FormatError("the mesh is damaged: its polyhedra lead out of it")
        numbers = to_faces.read(first[2] + int(ends[0]), first[2] + int(ends[-1])).astype(np.int64)
        cells = np.repeat(np.arange(stop - start), np.diff(ends))
        is_one = types[cells] == _POLYHEDRON
        cells, numbers = cells[is_one], numbers[is_one]
        if not len(numbers):
            return Faces(cells, numbers, numbers, numbers)
        used, place = np.unique(numbers, return_inverse=True)
        if used[0] < 0:
            raise FormatError("the mesh is damaged: its polyhedra lead out of it")
        begins = offsets.at(used, first[1]).astype(np.int64)
        counts = offsets.at(used + 1, first[1]).astype(np.int64) - begins
        if begins.min() < 0 or counts.min() < 3 or counts.max() > 10_000:
            raise FormatError("the mesh is damaged: its faces lead out of it")
        rows = _spread(begins, counts)
        order = np.argsort(rows, kind="stable")
        ids = np.empty(len(rows), np.int64)
        ids[order] = connectivity.at(rows[order], first[0])
        starts = (np.cumsum(counts) - counts)[place]
        return Faces(cells, starts, counts[place], _checked(ids, part))


def _spread(starts: Array, counts: Array) -> Array:
    """start, start + 1, … of each, one after the other."""
    ends = np.cumsum(counts)
    rows: Array = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - counts), counts)
    return rows


def _checked(ids: Array, part: Part) -> Array:
    if len(ids) and (ids.min() < 0 or ids.max() >= part.num_points):
        raise FormatError("the mesh is damaged: cells name points that it does not have")
    return ids + part.points_before


def _component(field: MeshField, values: Array) -> Array:
    if values.ndim == 2:
        if field.component is not None:
            values = values[:, field.component]
        else:
            with np.errstate(all="ignore"):
                values = np.sqrt(np.square(values, dtype=np.float64).sum(axis=1))
    result: Array = values.astype(field.value_type, copy=False)
    return result

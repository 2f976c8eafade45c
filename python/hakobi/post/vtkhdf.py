"""Reads the contents of a VTKHDF file, whoever wrote it (VTK's file format "VTKHDF", versions 1 and 2, type
UnstructuredGrid).

With one part or several, with the times in one file (the group Steps) or a file a step. Arrays may lie in another file
of the same folder tree (HDF5's external links): the mesh of a run is written once. HDF5 never follows those itself: a
link is resolved here, and only to a regular file below the root.
"""

from __future__ import annotations

import contextlib
import functools
import os
import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hakobi.errors import FormatError
from hakobi.post.hdf5 import attribute_text, is_elsewhere, is_own, open_hdf5
from hakobi.post.mesh import FACES, GHOSTS, File, Mesh, MeshField, Part, Rows
from hakobi.post.place import Location, ObjectPath, OpenFile, below
from hakobi.post.reaching import open_inside
from hakobi.post.source import MOST_FIELDS, Axis, Found

_MOST_PARTS, _MOST_STEPS, _MOST_POINTS = 1 << 20, 1 << 20, 1 << 30
_COUNTS = ("NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds")
#: First rows of the arrays of faces at each step, in the order of these.
_FACE_STEPS = ("FaceConnectivityOffsets", "FaceOffsetsOffsets", "PolyhedronToFaceIdOffsets")
#: Where a file with several steps has their times, and what the time of one is called.
STEPS, TIME_NAMES = "VTKHDF/Steps/Values", ("TimeValue", "time", "Time")


class _Opener:
    """Finds arrays by name, through links to other files below the root."""

    def __init__(self, file: Any, opened: OpenFile, root: Location) -> None:
        self.files = [File(opened.another(), file)]
        self._root = root.resolve() if isinstance(root, Path) else root

    def close(self) -> None:
        """Closes what was opened here; the caller closes its own handle."""
        for number, file in enumerate(self.files):
            file.opened.close()
            if number:
                with contextlib.suppress(Exception):
                    file.handle.close()

    def find(self, name: str) -> tuple[File, Any] | None:
        """The array and its file; None where there is none. Raises FormatError for a link that leads elsewhere."""
        file, group = self.files[0], self.files[0].handle
        parts = name.split("/")
        for _ in range(8):
            item = self._walk(group, parts)
            if item is None or not isinstance(item, tuple):
                return None if item is None else (file, item)
            file = self._open(file, item[0])
            group, parts = file.handle, [p for p in item[1].split("/") if p]
        raise FormatError(f"{file.path.name}: links lead from file to file without an end")

    @staticmethod
    def _walk(group: Any, parts: list[str]) -> Any:
        """The item at the end of a path, or (file, path) of the link that leads on. Soft links count as absent."""
        import h5py

        for number, part in enumerate(parts):
            if not isinstance(group, h5py.Group):
                return None
            link = group.get(part, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                return link.filename, "/".join([link.path, *parts[number + 1 :]])
            if not isinstance(link, h5py.HardLink):
                return None
            group = group[part]
        return group

    def _open(self, origin: File, name: str) -> File:
        path = _linked(origin.path, name)
        inside = None if path is None else below(path, self._root)
        if path is None or inside in (None, "."):
            raise FormatError(f"{origin.path.name} has its mesh outside of what is served here")
        for file in self.files:
            if file.path == path:
                return file
        try:
            opened = open_inside(self._root, *str(inside).split("/"))
        except (FormatError, OSError) as error:
            reason = getattr(error, "strerror", "") or str(error)
            raise FormatError(f"{origin.path.name} has its mesh in {path.name}: {reason}") from error
        try:
            handle = open_hdf5(opened)
        except FormatError:
            opened.close()
            raise
        self.files.append(File(opened, handle))
        return self.files[-1]


def _linked(origin: Location, name: str) -> Location | None:
    """Where a link of a file leads; None: to no place that a file can be in."""
    if isinstance(origin, Path):
        return Path(os.path.normpath(origin.parent / name))
    key = posixpath.normpath(posixpath.join(origin.parent.key, name))
    return None if key.startswith((".", "/")) else ObjectPath(origin.store, key)


def survey(file: Any, opened: OpenFile, root: Location) -> Found | None:
    """Finds what is in a VTKHDF file of type UnstructuredGrid; None for any other. Called with HDF5's lock held.

    Raises FormatError, and what h5py raises for a damaged file."""
    if not is_own(file, "VTKHDF") or attribute_text(file["VTKHDF"], "Type") != "UnstructuredGrid":
        return None
    opener = _Opener(file, opened, root)
    try:
        return _Survey(opener).take()
    except BaseException:
        opener.close()
        raise


class _Survey:
    def __init__(self, opener: _Opener) -> None:
        self._opener = opener
        self._arrays: dict[str, Rows] = {}
        self._fields: dict[str, MeshField] = {}
        self._left_out: dict[str, str] = {}
        self._bases: dict[str, list[int]] = {}

    def take(self) -> Found:
        for name in ("Points", "Connectivity", "Offsets", "Types"):
            self._arrays[name] = self._array(name, "iuf" if name == "Points" else "iu")
        if all(self._opener.find(f"VTKHDF/{name}") for name in FACES):
            for name in FACES:
                self._arrays[name] = self._array(name, "iu")
        times, parts = self._steps()
        self._take_fields(parts, len(times))
        times = times or self._time_of_file()
        mesh = Mesh(self._opener.files, self._arrays, self._fields, parts, self._bases)
        units, calendar = self._time_units()
        source = attribute_text(self._opener.files[0].handle, "source")
        return Found({}, times, units, calendar, self._left_out, mesh=mesh, kind="vtkhdf", source=source)

    def _array(self, name: str, kinds: str) -> Rows:
        found = self._numbers_in(name)
        if (
            found is None
            or found[1].dtype.kind not in kinds
            or found[1].shape[1:] != ((3,) if name == "Points" else ())
        ):
            raise FormatError(f"{self._opener.files[0].path.name} is no whole VTKHDF file: it has no {name}")
        return Rows(*found)

    def _numbers_in(self, name: str) -> tuple[File, Any] | None:
        """An array that lies in a file as it is said to. Raises FormatError for one that is put together of others."""
        found = self._opener.find(f"VTKHDF/{name}")
        if found is not None and not hasattr(found[1], "ndim"):
            return None
        if found is not None and is_elsewhere(found[1]):
            raise FormatError(f"{found[0].path.name} keeps {name} in other files: those are not followed")
        return found

    def _numbers(self, name: str, most: int) -> list[int]:
        found = self._numbers_in(name)
        if found is None:
            return []
        dataset = found[1]
        if dataset.dtype.kind not in "iu" or dataset.size > most:
            raise FormatError(f"{self._opener.files[0].path.name} is damaged: {name} is no list of numbers")
        numbers = [int(v) for v in np.asarray(dataset[()]).reshape(-1)]
        if any(not 0 <= v < 1 << 62 for v in numbers):
            raise FormatError(f"{self._opener.files[0].path.name} is damaged: {name} has numbers below 0")
        return numbers

    def _steps(self) -> tuple[tuple[float, ...], list[list[Part]]]:
        """Times in the file (none: it is one step), and the parts of each."""
        points, cells, ids = (self._numbers(name, _MOST_PARTS) for name in _COUNTS)
        if not points or not len(points) == len(cells) == len(ids):
            raise FormatError(f"{self._opener.files[0].path.name} is no whole VTKHDF file: its parts are not counted")
        found = self._opener.find("VTKHDF/Steps")
        if found is None:
            return (), [self._parts(points, cells, ids, (0, 0, 0, 0), self._first_faces(0, ()))]
        values = self._numbers_in("Steps/Values")
        if values is None or values[1].size > _MOST_STEPS or values[1].dtype.kind not in "iuf":
            raise FormatError(f"{self._opener.files[0].path.name} is damaged: its steps have no times")
        times = tuple(float(v) for v in np.asarray(values[1][()]).reshape(-1))
        firsts = [self._of_steps(name, len(times)) for name in
                  ("PartOffsets", "PointOffsets", "CellOffsets", "ConnectivityIdOffsets")]  # fmt: skip
        counts = self._numbers("Steps/NumberOfParts", _MOST_STEPS) or [1] * len(times)
        face_firsts = [self._numbers(f"Steps/{name}", _MOST_STEPS) for name in _FACE_STEPS]
        made: dict[tuple[int, ...], list[Part]] = {}
        steps = []
        for number, (place, count) in enumerate(zip(zip(*firsts, strict=True), counts, strict=True)):
            a, b = place[0], place[0] + count
            if not 0 < count <= len(points) - a:
                raise FormatError(f"{self._opener.files[0].path.name} is damaged: a step has parts that are not there")
            faces = self._first_faces(a, [each[number] for each in face_firsts if number < len(each)])
            key = (*place, count, *faces)
            if key not in made:
                made[key] = self._parts(points[a:b], cells[a:b], ids[a:b], place, faces)
            steps.append(made[key])
        return times, steps

    def _of_steps(self, name: str, count: int) -> list[int]:
        numbers = self._numbers(f"Steps/{name}", _MOST_STEPS) or [0] * count
        if len(numbers) != count:
            raise FormatError(f"{self._opener.files[0].path.name} is damaged: {name} is not one number a step")
        return numbers

    def _first_faces(self, part: int, told: Sequence[int]) -> tuple[int, int, int]:
        """First rows of FaceConnectivity, FaceOffsets and PolyhedronToFaces from a part on: as the steps tell, else
        behind those of the parts before it. Of offsets each part has one more than of faces."""
        before = told if len(told) == len(_FACE_STEPS) else [sum(counts[:part]) for counts in self._face_counts]
        return (before[0], before[1] + part, before[2]) if before else (0, 0, 0)

    def _parts(
        self, points: list[int], cells: list[int], ids: list[int], first: tuple[int, ...], first_faces: Sequence[int]
    ) -> list[Part]:
        part_first, point, cell, connectivity = first
        offset = cell + part_first
        faces, face_counts = [*first_faces, offset], self._face_counts
        needed = {
            "Points": point + sum(points), "Types": cell + sum(cells), "Connectivity": connectivity + sum(ids),
            "Offsets": offset + sum(cells) + len(cells),
        }  # fmt: skip
        if sum(points) > _MOST_POINTS or any(self._arrays[name].shape[0] < rows for name, rows in needed.items()):
            raise FormatError(
                f"{self._opener.files[0].path.name} is damaged: it has fewer points or cells than it says"
            )
        points_before = cells_before = 0
        parts = []
        for number, (p, c, i) in enumerate(zip(points, cells, ids, strict=True)):
            parts.append(
                Part(
                    point,
                    p,
                    cell,
                    c,
                    connectivity,
                    i,
                    offset,
                    points_before,
                    cells_before,
                    (faces[0], faces[1], faces[2], faces[3]),
                )
            )
            point, cell, connectivity, offset = point + p, cell + c, connectivity + i, offset + c + 1
            points_before, cells_before = points_before + p, cells_before + c
            if face_counts:
                taken = [counts[part_first + number] for counts in face_counts]
                faces = [faces[0] + taken[0], faces[1] + taken[1] + 1, faces[2] + taken[2], faces[3] + c + 1]
        return parts

    @functools.cached_property
    def _face_counts(self) -> list[list[int]]:
        if "FaceOffsets" not in self._arrays:
            return []
        names = ("NumberOfFaceConnectivityIds", "NumberOfFaces", "NumberOfPolyhedronToFaceIds")
        counts = [self._numbers(name, _MOST_PARTS) for name in names]
        return counts if all(len(c) == len(counts[0]) > 0 for c in counts) else []

    def _take_fields(self, parts: list[list[Part]], num_times: int) -> None:
        last = parts[0][-1]
        sizes = {"point": last.points_before + last.num_points, "cell": last.cells_before + last.num_cells}
        for location, group in (("point", "PointData"), ("cell", "CellData")):
            found = self._opener.find(f"VTKHDF/{group}")
            for name in list(found[1])[:MOST_FIELDS] if found else []:
                self._take_field(f"{group}/{name}", name, location, sizes[location], num_times)

    def _take_field(self, place: str, name: str, location: str, size: int, num_times: int) -> None:
        found = self._opener.find(f"VTKHDF/{place}")
        reason = ""
        if found is None or not hasattr(found[1], "ndim"):
            reason = "its values are not in this file"
        elif found[1].dtype.kind not in "fiu" or found[1].dtype.itemsize > 8 or not 1 <= found[1].ndim <= 2:
            reason = "not a field of numbers"
        elif is_elsewhere(found[1]):
            reason = "its values are in other files"
        elif size == 0 or found[1].shape[0] < size:
            reason = "not as many values as the mesh has"
        if reason or found is None:
            self._left_out[name] = reason
            return
        dataset = found[1]
        self._arrays[place] = Rows(*found)
        bases = self._numbers(f"Steps/{place.replace('Data/', 'DataOffsets/', 1)}", _MOST_STEPS)
        if bases:
            self._bases[place] = bases
        if place == GHOSTS:
            return
        width = dataset.shape[1] if dataset.ndim == 2 else 1
        axis = Axis("points" if location == "point" else "cells", size)
        for suffix, component in _components(width):
            text = name + suffix
            while text in self._fields:
                text += f" ({location}s)" if f"({location}s)" not in text else "'"
            self._fields[text] = MeshField(
                name=text, axes=(axis,), num_times=num_times, dtype=dataset.dtype,
                units=attribute_text(dataset, "units"), long_name=attribute_text(dataset, "long_name"),
                standard_name=attribute_text(dataset, "standard_name"),
                location=location, component=component, dataset=place,
            )  # fmt: skip

    def _time_of_file(self) -> tuple[float, ...]:
        for name in TIME_NAMES:
            found = self._numbers_in(f"FieldData/{name}")
            if found and getattr(found[1], "size", 0) == 1 and found[1].dtype.kind in "iuf":
                return (float(np.asarray(found[1][()]).reshape(-1)[0]),)
        return ()

    def _time_units(self) -> tuple[str, str]:
        """And their calendar."""
        for place in ("Steps/Values", *(f"FieldData/{name}" for name in TIME_NAMES)):
            found = self._opener.find(f"VTKHDF/{place}")
            if found and (units := attribute_text(found[1], "units")):
                return units, attribute_text(found[1], "calendar")
        return "", ""


def _components(width: int) -> list[tuple[str, int | None]]:
    """Ends of the names, and which component each is."""
    if width == 1:
        return [("", 0)]
    letters = [f" {c}" for c in ("xyz" if width == 3 else "xy" if width == 2 else range(min(width, 9)))]
    return [(" magnitude", None), *((letter, number) for number, letter in enumerate(letters))]

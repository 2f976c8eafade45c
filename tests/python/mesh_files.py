"""VTKHDF files for tests, in the layout of version 1.0: blocks of cells of several kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: How a hexahedron (VTK's order of corners) is cut into each kind: type, and corners of each piece; 8 is its
#: middle.
QUADS = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
PIECES = {
    "hexahedra": (12, ((0, 1, 2, 3, 4, 5, 6, 7),)),
    "wedges": (13, ((0, 1, 3, 4, 5, 7), (1, 2, 3, 5, 6, 7))),
    "pyramids": (14, tuple((*quad, 8) for quad in QUADS)),
    "tetrahedra": (10, tuple((0, a, b, 6) for a, b in ((1, 2), (2, 3), (3, 7), (7, 4), (4, 5), (5, 1)))),
    "polyhedra": (42, ((0, 1, 2, 3, 4, 5, 6, 7),)),
}


def block(kind: str, cells: tuple[int, int, int], low: tuple[float, float, float] = (0, 0, 0)) -> dict[str, Array]:
    """Points, connectivity, offsets and types of a block of unit cubes, x fastest."""
    nx, ny, nz = cells
    grids = np.meshgrid(np.arange(nz + 1), np.arange(ny + 1), np.arange(nx + 1), indexing="ij")
    points = np.stack([g.ravel() for g in grids[::-1]], axis=1).astype(float)
    k, j, i = (g.ravel() for g in np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij"))

    def corner(dx: int, dy: int, dz: int) -> Array:
        return ((k + dz) * (ny + 1) + j + dy) * (nx + 1) + i + dx

    bottom = [corner(0, 0, 0), corner(1, 0, 0), corner(1, 1, 0), corner(0, 1, 0)]
    corners = [*bottom, *(c + (ny + 1) * (nx + 1) for c in bottom)]
    if kind == "pyramids":
        corners.append(len(points) + np.arange(len(k)))
        points = np.concatenate([points, np.stack([i + 0.5, j + 0.5, k + 0.5], axis=1)])
    number, pieces = PIECES[kind]
    corner_table = np.stack(corners, axis=1)
    connectivity = np.stack([corner_table[:, list(piece)] for piece in pieces], axis=1)
    width, count = len(pieces[0]), len(k) * len(pieces)
    return {
        "Points": points + np.array(low),
        "Connectivity": connectivity.reshape(-1).astype(np.int64),
        "Offsets": width * np.arange(count + 1, dtype=np.int64),
        "Types": np.full(count, number, np.uint8),
    }


def ball(cells: int) -> dict[str, Array]:
    """A ball of radius 1, made of a cube of hexahedra."""
    mesh = block("hexahedra", (cells,) * 3)
    x, y, z = (2 * mesh["Points"] / cells - 1).T ** 2
    shares = [np.sqrt(1 - a / 2 - b / 2 + a * b / 3) for a, b in ((y, z), (z, x), (x, y))]
    return {**mesh, "Points": (2 * mesh["Points"] / cells - 1) * np.stack(shares, axis=1)}


def faces_of_polyhedra(mesh: dict[str, Array]) -> dict[str, Array]:
    """The four arrays of faces for a block of polyhedra: faces are not shared."""
    cells = mesh["Connectivity"].reshape(-1, 8)
    quads = np.stack([cells[:, list(quad)] for quad in QUADS], axis=1).reshape(-1, 4)
    return {
        "FaceConnectivity": quads.reshape(-1),
        "FaceOffsets": 4 * np.arange(len(quads) + 1),
        "PolyhedronToFaces": np.arange(len(quads)),
        "PolyhedronOffsets": 6 * np.arange(len(cells) + 1),
    }


def write_mesh(
    path: Path, parts: list[dict[str, Array]], point_fields: dict[str, Callable[[Array], Array]] | None = None,
    cell_fields: dict[str, Array] | None = None, time_s: float | None = None, mesh_in: str = "",
) -> Path:  # fmt: skip
    """Writes a step of parts. A field on points is a function of positions. With `mesh_in` the mesh is in another
    file of that name, which is written where it is not there, and linked to."""
    where = path.parent / mesh_in if mesh_in else path
    if not mesh_in or not where.exists():
        with h5py.File(where, "w") as file:
            _write_arrays(_root(file), parts)
    with h5py.File(path, "a" if not mesh_in else "w") as file:
        group = _root(file)
        if mesh_in:
            for name in ("Points", "Connectivity", "Offsets", "Types", "NumberOfPoints", "NumberOfCells",
                         "NumberOfConnectivityIds"):  # fmt: skip
                group[name] = h5py.ExternalLink(mesh_in, f"/VTKHDF/{name}")
        points = np.concatenate([part["Points"] for part in parts])
        for name, function in (point_fields or {}).items():
            group.require_group("PointData").create_dataset(name, data=function(points)).attrs["units"] = "Pa"
        for name, values in (cell_fields or {}).items():
            group.require_group("CellData")[name] = values
        if time_s is not None:
            group.require_group("FieldData").create_dataset("TimeValue", data=[time_s]).attrs["units"] = "s"
    return path


def write_moving_mesh(path: Path, part: dict[str, Array]) -> Path:
    """A file of two steps: the second is 10 farther along each axis, and p is greater by 100."""
    points = part["Points"]
    write_mesh(path, [part])
    with h5py.File(path, "a") as file:
        group = file["VTKHDF"]
        del group["Points"]
        group["Points"] = np.concatenate([points, points + 10])
        group["PointData/p"] = np.concatenate([points[:, 0], points[:, 0] + 100])
        steps = group.create_group("Steps")
        steps.attrs["NSteps"] = 2
        steps["Values"] = [0.0, 0.5]
        steps["PartOffsets"] = [0, 0]
        steps["NumberOfParts"] = [1, 1]
        steps["PointOffsets"] = [0, len(points)]
        steps["CellOffsets"] = steps["ConnectivityIdOffsets"] = np.zeros((2, 1), np.int64)
        steps["PointDataOffsets/p"] = [0, len(points)]
    return path


def write_changing_mesh(path: Path, meshes: list[dict[str, Array]], tell_faces: bool = False) -> Path:
    """A file of steps, each with a mesh of its own. Fields c of cells and p of points count on from 100 times the step.
    With `tell_faces` the steps tell where their faces begin, as VTK's writer does; else it is told by the counts."""
    write_mesh(path, meshes)
    with h5py.File(path, "a") as file:
        group = file["VTKHDF"]
        steps = group.create_group("Steps")
        steps.attrs["NSteps"] = len(meshes)
        steps["Values"] = np.arange(len(meshes), dtype=float)
        steps["PartOffsets"], steps["NumberOfParts"] = np.arange(len(meshes)), np.ones(len(meshes), int)

        def starts(name: str, rows: str, less: int = 0) -> None:
            counts = [len(mesh[rows]) - less for mesh in meshes]
            steps[name] = np.concatenate([[0], np.cumsum(counts)[:-1]])

        starts("PointOffsets", "Points")
        starts("CellOffsets", "Types")
        starts("ConnectivityIdOffsets", "Connectivity")
        for place, rows in (("CellData/c", "Types"), ("PointData/p", "Points")):
            counted = [100.0 * number + np.arange(len(mesh[rows])) for number, mesh in enumerate(meshes)]
            group[place] = np.concatenate(counted)
            starts(place.replace("Data", "DataOffsets"), rows)
        if "FaceOffsets" in meshes[0]:
            for name, rows, less in (
                ("FaceConnectivityIds", "FaceConnectivity", 0),
                ("Faces", "FaceOffsets", 1),
                ("PolyhedronToFaceIds", "PolyhedronToFaces", 0),
            ):
                group[f"NumberOf{name}"] = np.array([len(mesh[rows]) - less for mesh in meshes], np.int64)
        if tell_faces:
            starts("FaceConnectivityOffsets", "FaceConnectivity")
            starts("FaceOffsetsOffsets", "FaceOffsets", 1)
            starts("PolyhedronToFaceIdOffsets", "PolyhedronToFaces")
    return path


def _root(file: h5py.File) -> h5py.Group:
    group = file.require_group("VTKHDF")
    group.attrs["Version"] = np.array([1, 0], np.int64)
    group.attrs.create("Type", b"UnstructuredGrid", dtype=h5py.string_dtype("ascii", 16))
    return group


def _write_arrays(group: h5py.Group, parts: list[dict[str, Array]]) -> None:
    for name in parts[0]:
        group[name] = np.concatenate([part[name] for part in parts])
    for name, rows in (
        ("NumberOfPoints", "Points"),
        ("NumberOfCells", "Types"),
        ("NumberOfConnectivityIds", "Connectivity"),
    ):
        group[name] = np.array([len(part[rows]) for part in parts], np.int64)

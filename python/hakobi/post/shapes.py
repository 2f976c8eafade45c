"""Triangles of an unstructured mesh: its surface, plane cuts and isosurfaces, each at several levels of detail.

1. A cell's faces come from a template of its type, a polyhedron's from the file. Higher-order cells count as linear.
2. The surface is the faces that only one cell has. A face's key is the sum of its points' hashes, so that the order of
   points does not matter; where a mesh was written in parts, a point's hash is that of its position, since parts have
   copies of the points that they share.
3. A cut is where a scalar is zero: cells that straddle it are split into tetrahedra, all from the cell's point with the
   lowest number to the triangles of the faces without it, faces from their lowest point. Neighbours split their face
   alike, so that cuts have no cracks.
   Each tetrahedron gives one triangle or two, on edges between two points of the mesh.
4. Coarser levels: points that lie in one cube of a grid become the first of them (J. Rossignac, P. Borrel, 1993).

Cells go through in pieces: memory is bounded by a number a point, the keys of _MOST_KEYS faces, and the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hakobi.errors import InputError
from hakobi.post.mesh import Cells, Mesh
from hakobi.post.source import Array

#: The most triangles of each level of detail; a shape that has fewer is whole at that level.
DETAILS = (12_000, 100_000, 600_000, 3_000_000)
_MOST_KEYS = 8_000_000
_MOST_TRIANGLES = 40_000_000
_TABLE_MASK = np.uint64((1 << 22) - 1)

_TETRAHEDRON = ((0, 1, 3), (1, 2, 3), (2, 0, 3), (0, 2, 1))
_HEXAHEDRON = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7))
_VOXEL = ((0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6))
_WEDGE = ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0))
_PYRAMID = ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))
#: VTK's number of a cell's type -> its faces (VTK's book of file formats; the quadratic ones' corners come
#: first).
FACES = {
    10: _TETRAHEDRON, 24: _TETRAHEDRON, 11: _VOXEL, 12: _HEXAHEDRON, 25: _HEXAHEDRON, 29: _HEXAHEDRON, 33: _HEXAHEDRON,
    13: _WEDGE, 26: _WEDGE, 32: _WEDGE, 14: _PYRAMID, 27: _PYRAMID, 37: _PYRAMID,
}  # fmt: skip
#: Cells that are a face themselves: the order of their corners; a polygon (7) has as many as it has.
FLAT = {5: (0, 1, 2), 22: (0, 1, 2), 9: (0, 1, 2, 3), 23: (0, 1, 2, 3), 28: (0, 1, 2, 3), 8: (0, 1, 3, 2)}
_POLYGON = 7


@dataclass(frozen=True)
class Shape:
    """Triangles whose points lie on edges of the mesh: `first` + share * (`second` - `first`), numbers of points."""

    first: Array
    second: Array
    share: Array
    triangles: Array  # (n, 3), numbers of the shape's points
    cells: Array  # (n,), the mesh's cell that each comes from

    @property
    def num_bytes(self) -> int:
        return sum(a.nbytes for a in (self.first, self.second, self.share, self.triangles, self.cells))


@dataclass(frozen=True)
class Polygons:
    """Faces with one number of points (n, k), and the number of each one's cell in its piece."""

    ids: Array
    cells: Array


def faces_of(piece: Cells) -> Iterator[Polygons]:
    """All faces of the cells that have a volume."""
    for kind, templates in FACES.items():
        cells = np.flatnonzero((piece.types == kind) & (piece.counts > np.max([max(t) for t in templates])))
        for template in templates if len(cells) else ():
            yield Polygons(piece.ids[piece.starts[cells, None] + np.array(template)], cells)
    if piece.faces is not None:
        faces = piece.faces
        for count in np.unique(faces.counts):
            these = np.flatnonzero(faces.counts == count)
            yield Polygons(faces.ids[faces.starts[these, None] + np.arange(count)], faces.cells[these])


def flat_cells_of(piece: Cells) -> Iterator[Polygons]:
    """The cells that are faces themselves."""
    for kind, template in FLAT.items():
        cells = np.flatnonzero((piece.types == kind) & (piece.counts >= len(template)))
        if len(cells):
            yield Polygons(piece.ids[piece.starts[cells, None] + np.array(template)], cells)
    polygons = np.flatnonzero((piece.types == _POLYGON) & (piece.counts >= 3) & (piece.counts <= 10_000))
    for count in np.unique(piece.counts[polygons]):
        cells = polygons[piece.counts[polygons] == count]
        yield Polygons(piece.ids[piece.starts[cells, None] + np.arange(count)], cells)


def _fans(polygons: Polygons) -> tuple[Array, Array]:
    """Triangles (m, 3) and their cells; each face from its point with the lowest number."""
    count = polygons.ids.shape[1]
    turned = polygons.ids
    if count > 3:
        lowest = polygons.ids.argmin(axis=1)
        turned = np.take_along_axis(polygons.ids, (lowest[:, None] + np.arange(count)) % count, axis=1)
    triangles = np.stack([turned[:, [0, n, n + 1]] for n in range(1, count - 1)], axis=1)
    return triangles.reshape(-1, 3), np.repeat(polygons.cells, count - 2)


def _mixed(values: Array) -> Array:
    """Scatters 64-bit numbers (the finaliser of SplitMix64, G. Steele et al., 2014)."""
    x = values.astype(np.uint64, copy=True)
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    hashed: Array = x ^ (x >> np.uint64(31))
    return hashed


def _point_hashes(mesh: Mesh, time: int) -> Array:
    """A number a point: its own, or, where points have copies in other parts, one that is equal at one place."""
    if mesh.num_parts(time) == 1:
        return _mixed(np.arange(mesh.num_points(time), dtype=np.uint64))
    hashes = np.empty(mesh.num_points(time), np.uint64)
    at = 0
    for piece in mesh.all_points(time):
        bits = (piece.astype(np.float64) + 0.0).view(np.uint64)  # -0 is 0
        hashes[at : at + len(piece)] = _mixed(_mixed(_mixed(bits[:, 0]) ^ bits[:, 1]) ^ bits[:, 2])
        at += len(piece)
    return hashes


def _keys(polygons: Polygons, hashes: Array) -> Array:
    key = hashes[polygons.ids[:, 0]]
    for column in range(1, polygons.ids.shape[1]):
        key += hashes[polygons.ids[:, column]]
    return key


def surface(mesh: Mesh, time: int) -> Shape:
    """The faces that one cell has, and the cells that are faces themselves. Raises FormatError, InputError."""
    hashes = _point_hashes(mesh, time)
    num_rounds = max(1, -(-6 * mesh.num_cells(time) // _MOST_KEYS))
    triangles: list[Array] = []
    cells: list[Array] = []
    for turn in range(num_rounds):
        found: list[Array] = []
        for piece in mesh.pieces(time):
            for polygons in faces_of(piece):
                keys = _keys(polygons, hashes)
                found.append(keys if num_rounds == 1 else keys[keys % np.uint64(num_rounds) == turn])
        keys = np.concatenate([*found, np.empty(0, np.uint64)])
        found.clear()
        keys.sort()
        is_other = np.ones(len(keys) + 1, bool)
        is_other[1:-1] = keys[1:] != keys[:-1]
        once = keys[is_other[1:] & is_other[:-1]]
        table = np.zeros(int(_TABLE_MASK) + 1, bool)
        table[once & _TABLE_MASK] = True
        for piece in mesh.pieces(time):
            for polygons in faces_of(piece):
                keys = _keys(polygons, hashes)
                chosen = np.flatnonzero(table[keys & _TABLE_MASK])  # few are left for the search
                place = np.minimum(np.searchsorted(once, keys[chosen]), max(0, len(once) - 1))
                chosen = chosen[once[place] == keys[chosen]]
                _add(triangles, cells, piece, Polygons(polygons.ids[chosen], polygons.cells[chosen]))
            if turn == 0:
                for polygons in flat_cells_of(piece):
                    _add(triangles, cells, piece, polygons)
    ids = np.concatenate([*triangles, np.empty((0, 3), np.int64)])
    used, place = np.unique(ids, return_inverse=True)
    shares = np.zeros(len(used), np.float32)
    return Shape(used, used, shares, place.reshape(-1, 3).astype(np.int32), np.concatenate([*cells, np.empty(0, int)]))


def _add(triangles: list[Array], cells: list[Array], piece: Cells, polygons: Polygons) -> None:
    if len(polygons.cells):
        made, of = _fans(polygons)
        triangles.append(made)
        cells.append(piece.first + of)
        if sum(map(len, cells)) > _MOST_TRIANGLES:
            raise InputError("the surface has too many triangles to be shown")


def contour(mesh: Mesh, time: int, scalar: Array) -> Shape:
    """Where a scalar of the points is zero, in the cells that have a volume. Cells where it is NaN are left out."""
    firsts: list[Array] = []
    seconds: list[Array] = []
    cells: list[Array] = []
    for piece in mesh.pieces(time):
        for tetrahedra, of in _straddling(piece, scalar):
            for a, b, these in _crossings(tetrahedra, scalar[tetrahedra] > 0):
                firsts.append(a)
                seconds.append(b)
                cells.append(piece.first + of[these])
                if sum(map(len, cells)) > _MOST_TRIANGLES:
                    raise InputError("the cut has too many triangles to be shown")
    a = np.concatenate([*firsts, np.empty((0, 3), np.int64)])
    b = np.concatenate([*seconds, np.empty((0, 3), np.int64)])
    edges, place = np.unique(np.minimum(a, b) * np.int64(len(scalar)) + np.maximum(a, b), return_inverse=True)
    first, second = np.divmod(edges, np.int64(max(1, len(scalar))))
    low, high = scalar[first].astype(np.float64), scalar[second].astype(np.float64)
    with np.errstate(all="ignore"):
        share = np.nan_to_num(np.clip(low / (low - high), 0, 1)).astype(np.float32)
    return Shape(
        first, second, share, place.reshape(-1, 3).astype(np.int32), np.concatenate([*cells, np.empty(0, np.int64)])
    )


def _straddling(piece: Cells, scalar: Array) -> Iterator[tuple[Array, Array]]:
    """Tetrahedra (n, 4) of the cells with points on both sides, and the number of each one's cell in the piece."""
    if not len(piece.types):
        return
    inside, valid = scalar[piece.ids] > 0, ~np.isnan(scalar[piece.ids])
    sums = np.concatenate([[0], np.cumsum(inside)])
    num_inside = sums[piece.starts + piece.counts] - sums[piece.starts]
    good = np.concatenate([[0], np.cumsum(valid)])
    is_whole = good[piece.starts + piece.counts] - good[piece.starts] == piece.counts
    chosen = (num_inside > 0) & (num_inside < piece.counts) & is_whole
    apex = np.full(len(piece.types), -1, np.int64)
    some = np.flatnonzero(chosen)
    if not len(some):
        return
    rows = np.repeat(some, piece.counts[some])
    starts = np.cumsum(piece.counts[some]) - piece.counts[some]
    within = np.arange(len(rows)) - np.repeat(starts, piece.counts[some])
    apex[some] = np.minimum.reduceat(piece.ids[piece.starts[rows] + within], starts)
    part = Cells(piece.first, np.where(chosen, piece.types, 0), piece.starts, piece.counts, piece.ids, piece.faces)
    for polygons in faces_of(part):
        tops = apex[polygons.cells]
        keep = chosen[polygons.cells] & (polygons.ids != tops[:, None]).all(axis=1)
        triangles, of = _fans(Polygons(polygons.ids[keep], polygons.cells[keep]))
        if len(of):
            yield np.column_stack([apex[of], triangles]), of


def _crossings(tetrahedra: Array, inside: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Ends (n, 3) of the edges that the triangles' points lie on, and the number of each one's tetrahedron. All turn
    one way about what is inside where the tetrahedra do."""
    order = np.argsort(~inside, axis=1, kind="stable")  # the points inside come first
    pairs_of = itertools.combinations(range(4), 2)
    is_turned = np.sum([order[:, a] > order[:, b] for a, b in pairs_of], axis=0) % 2 == 1
    ids = np.take_along_axis(tetrahedra, order, axis=1)
    count = inside.sum(axis=1)
    for number, pairs in (
        (1, (((0, 1), (0, 2), (0, 3)),)),
        (2, (((0, 2), (0, 3), (1, 3)), ((0, 2), (1, 3), (1, 2)))),
        (3, (((3, 0), (3, 1), (3, 2)),)),
    ):
        these = np.flatnonzero(count == number)
        for triangle in pairs if len(these) else ():
            ends = np.array(triangle)
            places = np.where(is_turned[these, None], [0, 2, 1], [0, 1, 2])
            first, second = (np.take_along_axis(ids[these][:, ends[:, d]], places, axis=1) for d in (0, 1))
            yield first, second, these


def plane_scalar(mesh: Mesh, time: int, axis: int, at: float) -> Array:
    """Signed distance of all points to a plane across an axis."""
    with np.errstate(over="ignore"):
        pieces = [(piece[:, axis].astype(np.float64) - at).astype(np.float32) for piece in mesh.all_points(time)]
    return np.concatenate([*pieces, np.empty(0, np.float32)])


def field_scalar(mesh: Mesh, time: int, name: str, value: float) -> Array:
    """A field less a value, at all points: that of cells is averaged over those around a point."""
    field = mesh.fields[name]
    num_points, piece_size = mesh.num_points(time), 1 << 20
    if field.location == "point":
        result = np.empty(num_points, np.float32)
        for start in range(0, num_points, piece_size):
            stop = min(num_points, start + piece_size)
            result[start:stop] = mesh.read(name, time, start, stop) - value
        return result
    sums, counts = np.zeros(num_points), np.zeros(num_points, np.int32)
    for piece in mesh.pieces(time):
        values = mesh.read(name, time, piece.first, piece.first + len(piece.types)).astype(np.float64)
        seen = np.where(piece.types == 0, 0, piece.counts)
        ids = piece.ids[np.repeat(piece.types != 0, piece.counts)]
        sums += np.bincount(ids, np.repeat(values, seen), num_points)
        counts += np.bincount(ids, minlength=num_points).astype(np.int32)
    with np.errstate(all="ignore"):
        return (sums / counts - value).astype(np.float32)


def positions(mesh: Mesh, time: int, shape: Shape) -> Array:
    """Positions (n, 3) of the shape's points."""
    first = _gather(lambda rows: mesh.points(time, rows), shape.first)
    if shape.first is shape.second:
        return first
    second = _gather(lambda rows: mesh.points(time, rows), shape.second)
    where: Array = first + shape.share[:, None] * (second - first)
    return where


def values(mesh: Mesh, time: int, shape: Shape, name: str) -> Array:
    """Values of a field: one a point of the shape, or, of a field on cells, one a triangle."""
    if mesh.fields[name].location == "cell":
        return _gather(lambda rows: mesh.values_at(name, time, rows), shape.cells)
    first = _gather(lambda rows: mesh.values_at(name, time, rows), shape.first)
    if shape.first is shape.second:
        return first
    second = _gather(lambda rows: mesh.values_at(name, time, rows), shape.second)
    with np.errstate(all="ignore"):
        between: Array = first + shape.share * (second - first)
        return between


def _gather(read, rows: Array) -> Array:  # type: ignore[no-untyped-def]
    used, place = np.unique(rows, return_inverse=True)
    found: Array = read(used)[place]
    return found


def decimated(shape: Shape, where: Array, most: int) -> tuple[Shape, Array]:
    """At most `most` triangles of a shape and the positions of its points, or the shape itself where it has no more."""
    if len(shape.triangles) <= most or not len(where):
        return shape, where
    low = where.min(axis=0)
    span = float((where.max(axis=0) - low).max()) or 1.0
    cubes = int(np.sqrt(most))
    while True:
        index = np.minimum(((where - low) * (cubes / span)).astype(np.int64), cubes - 1)
        _, chosen, place = np.unique(
            (index[:, 0] * cubes + index[:, 1]) * cubes + index[:, 2], return_index=True, return_inverse=True
        )
        triangles = place[shape.triangles]
        a, b, c = triangles.T
        kept = np.flatnonzero((a != b) & (b != c) & (c != a))
        ordered = np.sort(triangles[kept], axis=1).astype(np.int64)
        size = np.int64(len(chosen))
        _, one = np.unique(
            _mixed(ordered[:, 0] * size + ordered[:, 1]) + ordered[:, 2].astype(np.uint64), return_index=True
        )
        kept = kept[np.sort(one)]
        if len(kept) <= most or cubes <= 4:
            break
        cubes = max(4, int(cubes * min(0.85, np.sqrt(most / len(kept)))))
    same = shape.first is shape.second
    first = shape.first[chosen]
    made = Shape(
        first, first if same else shape.second[chosen], shape.share[chosen], triangles[kept].astype(np.int32),
        shape.cells[kept],
    )  # fmt: skip
    return made, where[chosen]

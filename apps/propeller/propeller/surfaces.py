"""Triangulated surfaces: the blades and hub of a screw, and cylinders around them. Lengths are in diameters.

1. A blade is rows of points: its sections from the hub's radius to the tip, each once around from the trailing edge
   along the pressure side to the leading edge and back. Between rows stand triangles; the last row is closed.
2. The hub is a cylinder with elliptic ends. A section of a blade lies on a cylinder about the shaft, so that the first
   rows of all blades lie on the hub: unrolled it is a plane with four holes, which gmsh fills with triangles. The
   plane's cut runs between two blades along their pitch; both its sides have the same points.
3. Patches with the same points at their borders make a closed surface: `merged` numbers equal points once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propeller.series import HUB_RADIUS, Screw

Points = NDArray[np.float64]
Triangles = NDArray[np.int64]

TIP = 0.985  #: where the blades end, of the screw's radius
HUB_HALF_LENGTH, FAIRING_LENGTH = 0.20, 0.14  #: the hub's cylinder, and each of its elliptic ends
_SAME = 1e-7  # points closer than this are one


@dataclass(frozen=True)
class Patch:
    points: Points  #: (n, 3)
    triangles: Triangles  #: (m, 3), of its own points


def joined(patches: Sequence[Patch]) -> Patch:
    firsts = np.cumsum([0, *(len(patch.points) for patch in patches)])
    return Patch(
        np.vstack([patch.points for patch in patches]),
        np.vstack([patch.triangles + first for patch, first in zip(patches, firsts, strict=False)]),
    )


def merged(patches: Sequence[Patch]) -> tuple[Points, list[Triangles]]:
    """All points, equal ones once, and each patch's triangles of them; triangles without an area are left out."""
    every = np.vstack([patch.points for patch in patches])
    _, first, number = np.unique(
        np.round(every / _SAME).astype(np.int64), axis=0, return_index=True, return_inverse=True
    )
    triangles, begin = [], 0
    for patch in patches:
        faces = number.ravel()[patch.triangles + begin]
        begin += len(patch.points)
        triangles.append(faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)])
    return every[first], triangles


def check_closed(name: str, triangles: Sequence[Triangles]) -> None:
    """Raises RuntimeError unless every edge belongs to two triangles."""
    faces = np.vstack(triangles)
    edges = np.sort(np.vstack([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    if (counts != 2).any():
        raise RuntimeError(f"{name}: {int((counts != 2).sum())} of {len(counts)} edges do not belong to two triangles")


def screw(gmsh: Any, screw: Screw, blade_size: float, hub_size: float) -> tuple[Patch, Patch]:
    """The blades and the hub of a screw."""
    rows = _rows(screw, blade_size)
    return joined([_turned(_between(rows), 2 * np.pi * i / screw.blades) for i in range(screw.blades)]), _hub(
        gmsh, screw, rows[0], hub_size
    )


def _rows(screw: Screw, size: float) -> Points:
    """Step 1: (rows, around, 3) of the blade whose generator line is along z."""
    middle = 0.5 * (HUB_RADIUS + TIP)
    half = 0.5 * (TIP - HUB_RADIUS)
    num_rows = max(int(np.ceil(half / size)), 8) + 1
    # Rows are twice as close at the hub and at the tip.
    at = np.linspace(-1.0, 1.0, num_rows)
    radii = middle + half * np.sin(0.5 * np.pi * 0.67 * at) / np.sin(0.5 * np.pi * 0.67)
    num_along = max(int(np.ceil(0.4 / size)), 8) + 1
    rows = []
    for radius in radii:
        along, pressure, suction = screw.section(float(radius), num_along)
        face = screw.surface(float(radius), along, pressure)
        back = screw.surface(float(radius), along, suction)
        rows.append(np.vstack([face, back[-2:0:-1]]))
    return np.array(rows)


def _between(rows: Points) -> Patch:
    num_rows, around, _ = rows.shape
    k, i = (index.ravel() for index in np.meshgrid(np.arange(num_rows - 1), np.arange(around), indexing="ij"))
    a, b = k * around + i, k * around + (i + 1) % around
    c, d = a + around, b + around
    # The shorter diagonal of each quadrangle.
    flat = rows.reshape(-1, 3)
    first = np.linalg.norm(flat[a] - flat[d], axis=1) < np.linalg.norm(flat[b] - flat[c], axis=1)
    one = np.where(first[:, None], np.column_stack([a, b, d]), np.column_stack([a, b, c]))
    two = np.where(first[:, None], np.column_stack([a, d, c]), np.column_stack([b, d, c]))
    return Patch(flat, np.vstack([one, two, _lid(around, (num_rows - 1) * around)]))


def _lid(around: int, first: int) -> Triangles:
    """Closes a row between its two sides: point i of the one side is across point around - i."""
    low = np.arange(around // 2)
    high = (around - low) % around
    lid = np.vstack([np.column_stack([low, low + 1, high]), np.column_stack([low + 1, (high - 1) % around, high])])
    return np.asarray(lid + first)


def _turned(patch: Patch, angle: float) -> Patch:
    """Turned about -x."""
    c, s = np.cos(angle), np.sin(angle)
    return Patch(patch.points @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]]), patch.triangles)


def _hub(gmsh: Any, screw: Screw, root: Points, size: float) -> Patch:
    """Step 2. In the plane: x, and the arc about -x from z."""
    radius = 0.5 * HUB_RADIUS
    arc = radius * np.arctan2(root[:, 1], root[:, 2])
    turn = 2 * np.pi * radius
    holes = [np.column_stack([root[:, 0], arc + turn * blade / screw.blades]) for blade in range(screw.blades)]
    # The cut follows the chord of the root, half way from the last blade to the first.
    ends = holes[0][[0, len(root) // 2]]
    slope = (ends[1, 1] - ends[0, 1]) / (ends[1, 0] - ends[0, 0])
    centre = ends.mean(axis=0) - [0, 0.5 * turn / screw.blades]
    corner = centre[1] + slope * (np.array([-HUB_HALF_LENGTH, HUB_HALF_LENGTH]) - centre[0])
    around = 4 * int(np.ceil(turn / size / 4))
    along = int(np.ceil(np.hypot(2 * HUB_HALF_LENGTH, corner[1] - corner[0]) / size))
    x = np.linspace(-HUB_HALF_LENGTH, HUB_HALF_LENGTH, along + 1)
    cut = np.column_stack([x, np.linspace(corner[0], corner[1], along + 1)])
    step = np.column_stack([np.zeros(around + 1), np.linspace(0.0, turn, around + 1)])
    outline = np.vstack([cut[:-1], (step + cut[-1])[:-1], (cut + np.array([0.0, turn]))[:0:-1], (step + cut[0])[:0:-1]])
    plane = _plane(gmsh, [outline, *holes], size)
    angle = plane.points[:, 1] / radius
    rolled = np.column_stack([plane.points[:, 0], radius * np.sin(angle), radius * np.cos(angle)])
    caps = [_cap(gmsh, side, corner[end] / radius, around, size) for end, side in ((0, -1.0), (1, 1.0))]
    return joined([Patch(rolled, plane.triangles), *caps])


def _cap(gmsh: Any, side: float, angle: float, around: int, size: float) -> Patch:
    """The elliptic end of the hub: a disc whose radius is the ellipse's parameter."""
    radius = 0.5 * HUB_RADIUS
    disc = _disc(gmsh, 0.5 * np.pi, angle, around, size / radius)
    parameter = np.hypot(disc.points[:, 0], disc.points[:, 1])
    rest = np.where(parameter < 1e-9, 1.0, np.sin(parameter) / np.maximum(parameter, 1e-9))
    x = side * (HUB_HALF_LENGTH + FAIRING_LENGTH * np.cos(np.minimum(parameter, 0.5 * np.pi)))
    return Patch(
        np.column_stack([x, radius * rest * disc.points[:, 0], radius * rest * disc.points[:, 1]]), disc.triangles
    )


def _disc(gmsh: Any, radius: float, angle: float, around: int, size: float) -> Patch:
    """A disc of a plane: y, z; its border begins at `angle` about -x from z."""
    at = angle + 2 * np.pi * np.arange(around) / around
    return _plane(gmsh, [radius * np.column_stack([np.sin(at), np.cos(at)])], size)


def can(gmsh: Any, begin: float, end: float, radius: float, size: float) -> Patch:
    """A closed cylinder about the x axis. Its side is the same turned by one of its points."""
    return joined(can_sides(gmsh, begin, end, radius, size))


def can_sides(gmsh: Any, begin: float, end: float, radius: float, size: float) -> tuple[Patch, Patch, Patch]:
    """Its two ends and its side."""
    around = 12 * max(round(2 * np.pi * radius / size / 12), 1)
    num = max(round((end - begin) / size), 2)
    angle = 2 * np.pi * np.arange(around) / around
    ring = radius * np.column_stack([np.sin(angle), np.cos(angle)])
    rings = [np.column_stack([np.full(around, x), ring]) for x in np.linspace(begin, end, num + 1)]
    k, i = (index.ravel() for index in np.meshgrid(np.arange(num), np.arange(around), indexing="ij"))
    a, b = k * around + i, k * around + (i + 1) % around
    side = np.vstack([np.column_stack([a, b, b + around]), np.column_stack([a, b + around, a + around])])
    disc = _disc(gmsh, radius, 0.0, around, size)
    ends = [Patch(np.column_stack([np.full(len(disc.points), x), disc.points]), disc.triangles) for x in (begin, end)]
    return ends[0], ends[1], Patch(np.vstack(rings), side)


def _plane(gmsh: Any, borders: Sequence[Points], size: float) -> Patch:
    """Triangles within the first border and outside the others, with the borders' points and no other ones on them."""
    gmsh.model.add("plane")
    loops = []
    for border in borders:
        points = [gmsh.model.geo.addPoint(float(a), float(b), 0.0) for a, b in border]
        lines = [gmsh.model.geo.addLine(p, q) for p, q in zip(points, [*points[1:], points[0]], strict=True)]
        for line in lines:
            gmsh.model.geo.mesh.setTransfiniteCurve(line, 2)
        loops.append(gmsh.model.geo.addCurveLoop(lines))
    gmsh.model.geo.addPlaneSurface(loops)
    gmsh.model.geo.synchronize()
    gmsh.option.setNumber("Mesh.ScalingFactor", 1.0)
    gmsh.option.setNumber("Mesh.MeshSizeMax", size)
    gmsh.model.mesh.generate(2)
    tags, coordinates, _ = gmsh.model.mesh.getNodes()
    _, nodes = gmsh.model.mesh.getElementsByType(2)
    gmsh.option.setNumber("Mesh.MeshSizeMax", 1e22)
    gmsh.model.remove()
    number = np.zeros(int(tags.max()) + 1, dtype=np.int64)
    number[tags] = np.arange(len(tags))
    return Patch(coordinates.reshape(-1, 3)[:, :2], number[nodes.astype(np.int64)].reshape(-1, 3))

"""Pictures of meshes without a browser: the surface as it is first seen there, or a cut in its plane."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from hakobi.errors import InputError, unknown_name
from hakobi.post import shapes
from hakobi.post.catalogue import OpenStep
from hakobi.post.mesh import MeshField
from hakobi.post.meshes import Shapes
from hakobi.post.painting import add_bar, painted
from hakobi.post.source import Array

#: The level of detail: matplotlib draws about 100,000 triangles in some seconds.
_DETAIL = 1
#: Fewer triangles are cut into smaller ones: between corners matplotlib mixes colours and not values.
_ENOUGH = 50_000
#: Surfaces that meet at a larger angle meet in an edge, others are round (client/normals.js has the same).
_EDGE = math.cos(math.radians(40))
#: Triangles so small beside those about them look anywhere.
_SLIVER = 0.02
_TURN, _TILT = 0.7, 0.5  # the browser's first view
_GAP_COLOUR = "#c8c4bc"


def draw(
    out: Path, opened: OpenStep, field: MeshField, time: int, cut: str | None, limits: tuple[float, float],
    colours: Array, title: str,
) -> None:  # fmt: skip
    """Writes the picture. `cut` is `x=0.5`, in the mesh's coordinates, or None for the surface. Raises InputError."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import TriMesh
    from matplotlib.colors import to_rgba
    from matplotlib.figure import Figure
    from matplotlib.tri import Triangulation

    mesh = opened.step.mesh
    assert mesh is not None
    axis = None if cut is None else _axis_of(cut)
    name = "surface" if axis is None or cut is None else f"cut:{axis}:{cut.partition('=')[2]}"
    placed = Shapes().placed(opened, time, name, _DETAIL)
    values = shapes.values(mesh, time, placed.shape, field.name)
    corners = placed.shape.triangles
    if not len(corners):
        raise InputError(f"nothing of the mesh lies at {cut}" if cut else "the mesh has no surface")
    is_smooth = field.location == "point"
    values = values[corners] if is_smooth else np.repeat(values[:, None], 3, axis=1)
    flat, depth, shade = _seen(placed.where, corners, axis, is_smooth)
    order = np.argsort(depth)[::-1]  # the farthest first
    drawn = np.dstack([flat, values, shade])[order]
    while is_smooth and len(drawn) < _ENOUGH:
        drawn = _in_four(drawn)
    points, values, shade = drawn.reshape(-1, 4)[:, :2], drawn[..., 2].ravel(), drawn[..., 3].ravel()
    faces = painted(values, limits, colours) / 255
    faces[np.isnan(values)] = to_rgba(_GAP_COLOUR)
    faces[:, :3] *= shade[:, None]
    with matplotlib.rc_context({"font.family": "DejaVu Sans", "font.size": 9.5, "text.parse_math": False}):
        figure = Figure(figsize=(9.6, 6.4), dpi=170, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        numbered = Triangulation(points[:, 0], points[:, 1], np.arange(len(points)).reshape(-1, 3))
        axes.add_collection(TriMesh(numbered, facecolors=faces), autolim=False)
        axes.update_datalim(points)
        axes.autoscale_view()
        axes.set_aspect("equal")
        if axis is None:
            axes.set_axis_off()
        else:
            across = [letter for number, letter in enumerate("xyz") if number != axis]
            axes.set_xlabel(across[0])
            axes.set_ylabel(across[1])
        axes.set_title(title, loc="left", fontsize=10.5, wrap=True)
        add_bar(figure, axes, limits, colours, field.shown_units)
        figure.savefig(out, format="png")


def _axis_of(cut: str) -> int:
    name, _, text = cut.partition("=")
    if name not in ("x", "y", "z"):
        raise unknown_name("axis", name, ("x", "y", "z"))
    try:
        if math.isfinite(float(text)):
            return "xyz".index(name)
    except ValueError:
        pass
    raise InputError(f"slice '{cut}' is not axis=coordinate")


def _in_four(drawn: Array) -> Array:
    """Triangles (n, 3, …) cut through the middles of their sides."""
    a, b, c = drawn[:, 0], drawn[:, 1], drawn[:, 2]
    ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
    parts = [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
    return np.stack([np.stack(part, axis=1) for part in parts], axis=1).reshape(-1, *drawn.shape[1:])


def _normals(corners: Array, faces: Array) -> Array:
    """Those of each triangle's corners (n, 3, 3), from the normals of triangles (n, 3), as long as these are large: at
    points where the surface is round the mean of those about it, at edges its own."""
    sums = np.stack([np.bincount(corners.ravel(), np.repeat(faces[:, d], 3)) for d in range(3)], axis=1)
    units, means = _units(faces), _units(sums)
    is_sliver = np.linalg.norm(faces, axis=1)[:, None] <= _SLIVER * np.linalg.norm(sums, axis=1)[corners]
    is_edge = np.zeros(len(sums), bool)
    is_edge[corners[~is_sliver & (np.einsum("ncd,nd->nc", means[corners], units) < _EDGE)]] = True
    return np.where(is_edge[corners][..., None], units[:, None], means[corners])


def _units(vectors: Array) -> Array:
    result: Array = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300)
    return result


def _seen(where: Array, corners: Array, axis: int | None, is_smooth: bool) -> tuple[Array, Array, Array]:
    """Corners on the page (n, 3, 2), distance of each triangle from the eye, and how bright its corners are."""
    triangles = where[corners]
    if axis is not None:
        inside = [d for d in range(3) if d != axis]
        return triangles[:, :, inside], np.zeros(len(triangles)), np.ones(corners.shape)
    forward = np.array([-math.cos(_TILT) * math.sin(_TURN), math.cos(_TILT) * math.cos(_TURN), -math.sin(_TILT)])
    right = np.array([math.cos(_TURN), math.sin(_TURN), 0.0])
    up = np.cross(right, forward)
    flat = np.stack([triangles @ right, triangles @ up], axis=2)
    faces = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals = _normals(corners, faces) if is_smooth else np.repeat(_units(faces)[:, None], 3, axis=1)
    normals *= np.where(faces @ forward > 0, -1, 1)[:, None, None]  # the side that is seen
    light = -forward + 0.6 * up - 0.5 * right
    shade = 0.45 + 0.55 * np.clip(normals @ (light / np.linalg.norm(light)), 0, 1)
    return flat, (triangles @ forward).mean(axis=1), shade

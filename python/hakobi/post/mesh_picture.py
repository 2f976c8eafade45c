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
_TURN, _TILT = 0.7, 0.5  # the browser's first view
_GAP_COLOUR = "#c8c4bc"


def draw(
    out: Path, opened: OpenStep, field: MeshField, time: int, cut: str | None, limits: tuple[float, float],
    colours: Array, title: str,
) -> None:  # fmt: skip
    """Writes the picture. `cut` is `x=0.5`, in the mesh's coordinates, or None for the surface. Raises InputError."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba
    from matplotlib.figure import Figure

    mesh = opened.step.mesh
    assert mesh is not None
    axis = None if cut is None else _axis_of(cut)
    name = "surface" if axis is None or cut is None else f"cut:{axis}:{cut.partition('=')[2]}"
    placed = Shapes().placed(opened, time, name, _DETAIL)
    values = shapes.values(mesh, time, placed.shape, field.name)
    triangles = placed.where[placed.shape.triangles]
    if field.location == "point":
        values = values[placed.shape.triangles].mean(axis=1)
    if not len(triangles):
        raise InputError(f"nothing of the mesh lies at {cut}" if cut else "the mesh has no surface")
    flat, depth, shade = _seen(triangles, axis)
    order = np.argsort(depth)[::-1]  # the farthest first
    faces = painted(values, limits, colours) / 255
    faces[np.isnan(values)] = to_rgba(_GAP_COLOUR)
    faces[:, :3] *= shade[:, None]
    with matplotlib.rc_context({"font.family": "DejaVu Sans", "font.size": 9.5, "text.parse_math": False}):
        figure = Figure(figsize=(9.6, 6.4), dpi=170, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.add_collection(
            PolyCollection(list(flat[order]), facecolors=faces[order], edgecolors=faces[order], linewidths=0.2)
        )
        axes.autoscale_view()
        axes.set_aspect("equal")
        if axis is None:
            axes.set_axis_off()
        else:
            across = [letter for number, letter in enumerate("xyz") if number != axis]
            axes.set_xlabel(across[0])
            axes.set_ylabel(across[1])
        axes.set_title(title, loc="left", fontsize=10.5, wrap=True)
        add_bar(figure, axes, limits, colours, field.units)
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


def _seen(triangles: Array, axis: int | None) -> tuple[Array, Array, Array]:
    """Corners on the page (n, 3, 2), distance of each triangle from the eye, and how bright it is."""
    if axis is not None:
        inside = [d for d in range(3) if d != axis]
        return triangles[:, :, inside], np.zeros(len(triangles)), np.ones(len(triangles))
    forward = np.array([-math.cos(_TILT) * math.sin(_TURN), math.cos(_TILT) * math.cos(_TURN), -math.sin(_TILT)])
    right = np.array([math.cos(_TURN), math.sin(_TURN), 0.0])
    up = np.cross(right, forward)
    flat = np.stack([triangles @ right, triangles @ up], axis=2)
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    normals *= np.where(normals @ forward > 0, -1, 1)[:, None]  # the side that is seen
    light = -forward + 0.6 * up - 0.5 * right
    shade = 0.45 + 0.55 * np.clip(normals @ (light / np.linalg.norm(light)), 0, 1)
    return flat, (triangles @ forward).mean(axis=1), shade

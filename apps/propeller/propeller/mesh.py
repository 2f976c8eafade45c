"""The mesh around a screw: a rotor zone (a cylinder around screw and hub) in a stator zone, both of tetrahedra.

Lengths are in metres; the shaft is the x axis, the water flows towards +x. Two files are written, `rotor.msh` and
`stator.msh` (gmsh 2.2), whose faces on the zones' common surface coincide while the rotor stands at angle 0: the
solver joins them there, and joins them anew when the rotor has turned.

1. Every surface is triangulated here (surfaces.py), each from the same rows of points as its neighbours. No geometry
   kernel cuts anything: the kernels fail where blades this thin meet the hub.
2. gmsh fills the two closed surfaces with tetrahedra, whose size goes over from that of the surfaces.
"""

from __future__ import annotations

import importlib
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from propeller import surfaces
from propeller.series import Screw
from propeller.surfaces import Patch

ROTOR_RADIUS, ROTOR_HALF_LENGTH = 0.62, 0.42  #: of the rotor zone, in diameters
UPSTREAM, DOWNSTREAM, SIDE = 2.5, 4.0, 3.0  #: ends and radius of the water, in diameters


#: Numbers of the groups of cells and faces; the solver's preprocessor drops their names. The user sources
#: have them in propeller_setting.h.
GROUPS = {
    "rotor": 1,
    "stator": 2,
    "blades": 11,
    "hub": 12,
    "rotor_interface": 13,
    "inlet": 21,
    "outlet": 22,
    "side": 23,
    "stator_interface": 24,
}


@dataclass(frozen=True)
class Sizes:
    """Edge lengths of triangles, in diameters."""

    blade: float
    hub: float
    interface: float
    far: float

    def scaled(self, factor: float) -> Sizes:
        return Sizes(*(factor * size for size in (self.blade, self.hub, self.interface, self.far)))


#: About 200,000 cells.
MEDIUM = Sizes(blade=0.016, hub=0.02, interface=0.05, far=0.5)
#: Number of cells that a user may ask for -> sizes.
LEVELS = {"10k": MEDIUM.scaled(2.6), "60k": MEDIUM.scaled(1.5), "200k": MEDIUM, "1m": MEDIUM.scaled(0.55)}


def write(folder: Path, sizes: Sizes, diameter: float = 0.25, screw: Screw | None = None) -> dict[str, int]:
    """Writes rotor.msh and stator.msh into `folder`; returns how many cells each has. Needs gmsh (PyPI)."""
    gmsh: Any = importlib.import_module("gmsh")  # has no types

    gmsh.initialize(readConfigFiles=False, interruptible=False)
    try:
        gmsh.option.setNumber("General.Verbosity", 2)
        blades, hub = surfaces.screw(gmsh, screw or Screw(), sizes.blade, sizes.hub)
        interface = surfaces.can(gmsh, -ROTOR_HALF_LENGTH, ROTOR_HALF_LENGTH, ROTOR_RADIUS, sizes.interface)
        inlet, outlet, side = surfaces.can_sides(gmsh, -UPSTREAM, DOWNSTREAM, SIDE, sizes.far)
        gmsh.option.setNumber("Mesh.Algorithm3D", 10)  # HXT
        gmsh.option.setNumber("Mesh.ScalingFactor", diameter)
        gmsh.option.setNumber("Mesh.MshFileVersion", 2.2)
        gmsh.option.setNumber("Mesh.Binary", 1)
        rotor = {"blades": blades, "hub": hub, "rotor_interface": interface}
        stator = {"inlet": inlet, "outlet": outlet, "side": side, "stator_interface": interface}
        return {
            "rotor": _fill(gmsh, "rotor", rotor, folder / "rotor.msh"),
            "stator": _fill(gmsh, "stator", stator, folder / "stator.msh"),
        }
    finally:
        gmsh.finalize()


def _fill(gmsh: Any, zone: str, patches: dict[str, Patch], path: Path) -> int:
    """Fills the space that the patches enclose, and writes it. Returns the number of tetrahedra."""
    points, triangles = surfaces.merged(list(patches.values()))
    surfaces.check_closed(zone, triangles)
    gmsh.model.add(zone)
    first_node, first_element = 1, 1
    for number, (name, faces) in enumerate(zip(patches, triangles, strict=True), start=1):
        gmsh.model.addDiscreteEntity(2, number)
        if number == 1:  # all points belong to the first patch: gmsh asks only that each belongs to one
            gmsh.model.mesh.addNodes(2, 1, np.arange(1, len(points) + 1), points.ravel())
        tags = np.arange(first_element, first_element + len(faces))
        gmsh.model.mesh.addElementsByType(number, 2, tags, (faces + first_node).ravel())
        first_element += len(faces)
        gmsh.model.addPhysicalGroup(2, [number], GROUPS[name])
    loop = gmsh.model.geo.addSurfaceLoop(list(range(1, len(patches) + 1)))
    volume = gmsh.model.geo.addVolume([loop])
    gmsh.model.geo.synchronize()
    gmsh.model.addPhysicalGroup(3, [volume], GROUPS[zone])
    gmsh.model.mesh.generate(3)
    for method in ("", "Netgen"):  # flat cells near the blades upset the solver
        gmsh.model.mesh.optimize(method)
    _, tags, _ = gmsh.model.mesh.getElements(3, volume)
    gmsh.write(str(path))
    gmsh.model.remove()
    return len(list(itertools.chain.from_iterable(tags)))

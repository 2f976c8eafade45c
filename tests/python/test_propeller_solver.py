"""apps/propeller with code_saturne and gmsh: from the mesh to steps that read back."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from building import BUILD, FLAVOUR, ROOT, needs_build
from hakobi import launch, programs
from propeller import case, mesh, surfaces
from propeller.series import Screw

gmsh = pytest.importorskip("gmsh", exc_type=ImportError)
needs_solver = pytest.mark.skipif(bool(case.missing()) or FLAVOUR != "openmpi", reason="code_saturne is not installed")
COARSE = mesh.MEDIUM.scaled(4.0)


def test_the_screws_surface_is_closed() -> None:
    gmsh.initialize(readConfigFiles=False, interruptible=False)
    try:
        gmsh.option.setNumber("General.Verbosity", 2)
        points, triangles = surfaces.merged(surfaces.screw(gmsh, Screw(), COARSE.blade, COARSE.hub))
    finally:
        gmsh.finalize()
    surfaces.check_closed("screw", triangles)
    assert np.hypot(points[:, 1], points[:, 2]).max() == pytest.approx(0.5 * surfaces.TIP)
    with pytest.raises(RuntimeError, match=r"screw: .* edges do not belong to two triangles"):
        surfaces.check_closed("screw", [triangles[0][1:], triangles[1]])


@needs_build
@needs_solver
@pytest.mark.programs
@pytest.mark.timeout(300)
@pytest.mark.parametrize("turns", [False, True])
def test_two_ranks_write_the_step_that_they_computed(
    tmp_path: Path, turns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAKOBI_PROPELLER", str(tmp_path / "cache"))
    case.compile_solver(ROOT / "include", BUILD / "lib")
    cells = mesh.write(tmp_path, COARSE)
    case.import_mesh([tmp_path / f"{zone}.msh" for zone in cells], "10k")
    program = programs.Program(ROOT / "apps" / "propeller" / "hakobi-propeller", FLAVOUR)
    arguments = [
        "--mesh",
        "10k",
        "--steps",
        "2",
        "--output",
        str(tmp_path / "run"),
        "--json",
        str(tmp_path / "run.jsonl"),
    ]
    launch.check(launch.run(program, [*arguments, *(["--turns"] if turns else [])], 2, timeout_s=280), "the propeller")
    told = json.loads((tmp_path / "run.jsonl").read_text())
    assert (told["steps"], told["cells"]) == (2, sum(cells.values()))
    for zone, count in cells.items():
        with h5py.File(tmp_path / f"run_{zone}_000001.hdf") as file:
            grid = file["VTKHDF"]
            assert int(np.sum(grid["NumberOfCells"])) == count
            assert grid["CellData/velocity"].shape == (count, 3)
            assert np.isfinite(grid["CellData/pressure"][:]).all()
            points = grid["Points"][:]
        with h5py.File(tmp_path / f"run_{zone}_000000.hdf") as file:
            moved = np.abs(file["VTKHDF/Points"][:] - points).max()
        assert (moved > 1e-4) == (turns and zone == "rotor")

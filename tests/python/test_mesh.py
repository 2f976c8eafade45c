"""Unstructured meshes from Python: the bytes of C++, read back alone and together, refused where wrong.

And what others make of the files: VTK and ParaView, where those are installed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import hakobi
from hakobi import launch, programs
from hakobi._capi import MeshC
from hakobi.device_arrays import lend
from hakobi.errors import FormatError, InputError
from hakobi.mesh import field_for_c, mesh_for_c, points_for_c
from hakobi.programs import Program
from running import run_python

pytestmark = pytest.mark.programs

ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = programs.flavour()
MESH_CPP = ROOT / "build" / FLAVOUR / "examples" / "mesh_cpp"
MESH_PY = ROOT / "examples" / "languages" / "mesh.py"
SHOW_MESH = Path(__file__).with_name("show_mesh.py")
FILES = ("run_000000.hdf", "run_000000.hdf.mesh", "run_000001.hdf")

if not MESH_CPP.is_file():
    pytest.skip(f"{MESH_CPP} is not built", allow_module_level=True)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of two pieces, the second of them empty: three points' levels of a column, of two cells."""
    path = tmp_path_factory.mktemp("mesh") / "run"
    wrote = launch.run(Program(MESH_CPP, FLAVOUR), [str(path), "root"], 2, timeout_s=120)
    assert wrote.status == 0, wrote.stderr
    assert wrote.stdout == "mesh: 12 points, 2 cells, 2 pieces: 3.250\n"
    return path


def test_files_have_the_bytes_that_cpp_writes(tmp_path: Path, mpi4py_environment: dict[str, str], prefix: Path) -> None:
    done = launch.run(
        Program(Path(sys.executable), FLAVOUR),
        [str(MESH_PY), str(tmp_path / "run"), "pipelined"],
        2,
        timeout_s=120,
        extra_environment=mpi4py_environment,
    )
    assert done.status == 0, done.stderr
    assert done.stdout == "mesh: 12 points, 2 cells, 2 pieces: 3.250\n"
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (prefix.parent / name).read_bytes(), name


def test_one_process_reads_a_mesh_without_mpi(prefix: Path) -> None:
    with hakobi.Input.open(prefix) as steps:
        assert steps.mesh() == hakobi.InputMesh(num_points=12, num_cells=2, num_pieces=2, has_ghosts=False)
        assert steps.fields == ["T", "p", "U"]  # those on points first
        assert steps.field("T").dims == ("points",)
        for step in (0, 1):
            part = steps.read_mesh(step)
            assert (part.first_point, part.first_cell, part.first_piece, part.num_pieces) == (0, 0, 0, 2)
            assert part.points.shape == (12, 3)
            assert part.points[:4, 0].tolist() == [x + 0.125 * step for x in (0, 1, 1, 0)]
            assert part.connectivity.tolist() == [*range(8), *range(4, 12)]
            assert part.offsets.tolist() == [0, 8, 16]
            assert part.types.tolist() == [12, 12]
            assert part.ghosts is None
            assert steps.read("p", step=step).tolist() == [0.5 * step, 1 + 0.5 * step]
        with pytest.raises(InputError, match="no whole step 5"):
            steps.read_mesh(5)
    with pytest.raises(InputError, match="closed"):
        steps.read_mesh()


def test_numbers_that_leave_the_mesh_are_an_error(tmp_path: Path, prefix: Path) -> None:
    for name in FILES:
        shutil.copy(prefix.parent / name, tmp_path / name)
    with h5py.File(tmp_path / FILES[1], "a") as file:
        file["VTKHDF/Connectivity"][3] = 77
    with hakobi.Input.open(tmp_path / "run") as steps, pytest.raises(FormatError, match="the mesh"):
        steps.read_mesh()


def test_a_series_without_a_mesh_says_so(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run_000000.nc", "w") as file:
        file["eta"] = np.zeros(3)
    with hakobi.Input.open(tmp_path / "run") as steps:
        with pytest.raises(InputError, match="has no mesh"):
            steps.mesh()
        with pytest.raises(InputError, match="has no mesh"):
            steps.read_mesh()


POINTS = np.zeros((4, 3))
IDS = np.arange(4)
TYPES = np.array([10], np.uint8)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"points": POINTS.T}, "not contiguous"),
        ({"points": np.zeros((3, 4))}, "not (points, 3)"),
        ({"points": POINTS.astype(int)}, "float64 or float32"),
        ({"points": [[0, 0, 0]]}, "a list"),
        ({"connectivity": IDS.astype(float)}, "int64 or int32"),
        ({"connectivity": IDS.reshape(2, 2)}, "2 dimensions"),
        ({"offsets": np.array([0])}, "1 types of cells and 1 offsets"),
        ({"types": TYPES.astype(int)}, "uint8"),
        ({"ghosts": np.zeros(2, np.uint8)}, "ghosts for 2"),
        ({"motion": "turns"}, "'turns'"),
    ],
)
def test_what_cannot_be_lent_is_refused(change: dict[str, Any], text: str) -> None:
    lent: dict[str, Any] = {
        "points": POINTS,
        "connectivity": IDS,
        "offsets": np.array([0, 4]),
        "types": TYPES,
        "ghosts": None,
        "motion": "fixed",
        "first_number": 0,
    }

    def made(points: Any, **others: Any) -> MeshC:
        return mesh_for_c(points_for_c(points), **others)

    assert made(**lent).num_cells == 1
    with pytest.raises(InputError) as refused:
        made(**{**lent, **change})
    assert text in str(refused.value)


def test_fields_of_another_length_are_refused() -> None:
    with pytest.raises(InputError, match="5 cells"):
        field_for_c("p", "Pa", "cells", lend(np.zeros(4)), 5)
    with pytest.raises(InputError, match="points or cells"):
        field_for_c("p", "Pa", "faces", lend(np.zeros(4)), 4)


WRITE = """
import sys, numpy as np, hakobi
# A hexahedron, a wedge on it, a tetrahedron beside, which is a copy of another rank's.
points = np.array([[0,0,0],[1,0,0],[1,1,0],[0,1,0],[0,0,1],[1,0,1],[1,1,1],[0,1,1],[0,.5,2],[1,.5,2],[2,0,0]], float)
cells = [(12, range(8)), (13, (4, 7, 8, 5, 6, 9)), (10, (1, 10, 2, 5))]
ids = np.concatenate([np.array(list(of)) for _, of in cells])
offsets = np.cumsum([0, *(len(of) for _, of in cells)])
types = np.array([kind for kind, _ in cells], np.uint8)
comm = hakobi.Comm.duplicate()
for motion in ("fixed", "moves", "changes"):
    out = hakobi.Output.create(comm, motion, format="vtkhdf", method="root", steps_per_file=STEPS)
    for step in range(3):
        moved = points + [0, 0, step if motion != "fixed" else 0]
        out.begin_step(0.5 * step)
        if step == 0 or motion == "changes":
            out.put_mesh(moved, ids, offsets, types, ghosts=np.array([0, 0, 1], np.uint8), motion=motion)
        elif motion == "moves":
            out.put_points(moved)
        out.put("p", "Pa", None, np.array([1., 2., 3.]) + 10 * step, on="cells")
        out.put("U", "m s-1", None, np.array([[1., 0, 0], [0, 2., 0], [0, 0, 3.]], np.float32), on="cells")
        out.put("T", "K", None, np.arange(11.) + step, on="points")
        out.put("level", "1", hakobi.Block((), (), ()), np.array(7.0 + step))
        out.end_step()
    out.close()
comm.free()
"""


def readers() -> list[Any]:
    """Pythons with a reader of VTK's: this one where it has the package vtk, and ParaView's."""
    has_vtk = importlib.util.find_spec("vtkmodules") is not None
    pvpython = shutil.which("pvpython")
    return [
        pytest.param(
            sys.executable, id="vtk", marks=pytest.mark.skipif(not has_vtk, reason="the package vtk is not installed")
        ),
        pytest.param(
            pvpython, id="paraview", marks=pytest.mark.skipif(pvpython is None, reason="ParaView is not installed")
        ),
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown")
    done = run_python(WRITE.replace("STEPS", "1"), folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module", params=["2", "'all'"])
def grown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several steps in one file, VTKHDF 2.0."""
    folder = tmp_path_factory.mktemp("grown")
    done = run_python(WRITE.replace("STEPS", request.param), folder)
    assert done.returncode == 0, done.stderr
    return folder


def shown_by(reader: str, files: list[Path]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [reader, str(SHOW_MESH), *map(str, files)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def right_of(name: str, motion: str, step: int) -> dict[str, Any]:
    lifted = step if motion != "fixed" else 0
    return {
        "file": name,
        "points": 11,
        "cells": 3,
        "types": [12, 13, 10],
        "bounds": [0, 2, 0, 1, lifted, 2 + lifted],
        "p": [1 + 10 * step, 3 + 10 * step],
        "U": 3,
        "T": [step, 10 + step],
        "ghosts": [0, 0, 1],
        "level": [7 + step],
        "time": 0.5 * step,
    }


@pytest.mark.parametrize("reader", readers())
def test_vtk_and_paraview_open_every_file(written: Path, reader: str) -> None:
    files = sorted(written.glob("*.hdf"))
    shown = shown_by(reader, files)
    assert shown == [right_of(f.name, f.name.split("_")[0], int(f.name[-5])) for f in files]
    assert len(shown) == 9


@pytest.mark.parametrize("reader", readers())
def test_vtk_and_paraview_open_every_step_of_a_file(grown: Path, reader: str) -> None:
    files = sorted(grown.glob("*.hdf"))
    right = []
    for file in files:
        motion, first = file.name.split("_")[0], int(file.name[-5])
        num = 3 if len(files) == 3 else 2 - first // 2
        right += [right_of(file.name, motion, step) for step in range(first, first + num)]
    assert shown_by(reader, files) == right


def test_a_file_of_several_steps_is_as_vtkhdf_2_0_asks(grown: Path) -> None:
    """Its "Temporal Data", for machines without a reader of VTK's."""
    files = sorted(grown.glob("*.hdf"))
    for path in files:
        motion, first = path.name.split("_")[0], int(path.name[-5])
        num = 3 if len(files) == 3 else 2 - first // 2
        with h5py.File(path) as file:
            grid, steps = file["VTKHDF"], file["VTKHDF/Steps"]
            assert grid.attrs["Version"].tolist() == [2, 0]
            assert steps.attrs["NSteps"] == num
            np.testing.assert_array_equal(steps["Values"], 0.5 * np.arange(first, first + num))
            s = np.arange(num)
            strides = {
                "PartOffsets": 1 if motion == "changes" else 0,
                "PointOffsets": 0 if motion == "fixed" else 11,
                "CellOffsets": 3 if motion == "changes" else 0,
                "ConnectivityIdOffsets": 18 if motion == "changes" else 0,
                "PointDataOffsets/T": 11,
                "CellDataOffsets/p": 3,
                "CellDataOffsets/U": 3,
                "CellDataOffsets/vtkGhostType": 3 if motion == "changes" else 0,
                "FieldDataOffsets/level": 1,
                "FieldDataOffsets/TimeValue": 1,
            }
            for name, stride in strides.items():
                assert steps[name].dtype == np.int64
                assert steps[name].shape == (
                    (num, 1) if name.startswith(("Cell", "Conn")) and "/" not in name else (num,)
                )
                np.testing.assert_array_equal(steps[name][()].reshape(-1), stride * s, err_msg=name)
            assert grid["FieldData/TimeValue"] == steps["Values"]
            np.testing.assert_array_equal(steps["NumberOfParts"], np.ones(num))
            np.testing.assert_array_equal(steps["FieldDataSizes/level"], np.ones((num, 2)))
            assert grid["Points"].shape == (11 if motion == "fixed" else 11 * num, 3)
            assert grid["Types"].shape == (3 * num if motion == "changes" else 3,)
            assert grid["PointData/T"].shape == (11 * num,)
            assert grid["CellData/U"].shape == (3 * num, 3)
            np.testing.assert_array_equal(grid["FieldData/level"], 7.0 + np.arange(first, first + num))


def test_files_of_several_steps_are_listed_and_shown_by_their_steps(grown: Path, hakobi: Callable[..., Any]) -> None:
    done = hakobi("ls", grown)
    for motion in ("fixed", "moves", "changes"):
        line = next(line for line in done.stdout.splitlines() if line.startswith(f"{motion}_######.hdf"))
        assert "3 steps (0 to 2), VTKHDF" in line, done.stdout


def test_every_file_is_as_vtkhdf_1_0_asks(written: Path) -> None:
    """The demands of VTK's file format on an UnstructuredGrid of version 1.0, for machines without a reader of
    VTK's."""
    for path in sorted(written.glob("*.hdf")):
        with h5py.File(path) as file:
            grid = file["VTKHDF"]
            assert grid.attrs["Version"].tolist() == [1, 0]
            assert h5py.check_string_dtype(grid.attrs.get_id("Type").dtype) is not None
            assert grid.attrs["Type"] in ("UnstructuredGrid", b"UnstructuredGrid")
            assert set(grid) >= {
                "NumberOfPoints",
                "NumberOfCells",
                "NumberOfConnectivityIds",
                "Points",
                "Connectivity",
                "Offsets",
                "Types",
            }
            for name in ("NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds", "Connectivity", "Offsets"):
                assert grid[name].dtype == np.int64, name
                assert grid[name].ndim == 1, name
            assert grid["Types"].dtype == np.uint8
            points, cells = int(grid["NumberOfPoints"][:].sum()), int(grid["NumberOfCells"][:].sum())
            assert grid["Points"].shape == (points, 3)
            assert grid["Types"].shape == (cells,)
            assert grid["Offsets"].shape == (cells + grid["NumberOfCells"].size,)
            assert grid["Connectivity"].shape == (int(grid["NumberOfConnectivityIds"][:].sum()),)
            assert all(array.shape[0] == points for array in grid["PointData"].values())
            assert all(array.shape[0] == cells for array in grid["CellData"].values())
            assert grid["CellData/vtkGhostType"].dtype == np.uint8


# The code around the blocks of docs/meshes.md: a tetrahedron on each rank.
AROUND = {
    "c": """
#include <mpi.h>
#include <hakobi.h>
int main(int argc, char** argv) {
    const double xyz[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, p[1] = {7}, u[3] = {1, 2, 3}, time_s = 0.5;
    const uint8_t types[1] = {10};
    const int64_t offsets[2] = {0, 4}, ids[4] = {0, 1, 2, 3}, n = 4, m = 1;
    hakobi_comm* comm = NULL;
    hakobi_output* out = NULL;
    int64_t p_id, u_id;
    MPI_Init(&argc, &argv);
    hakobi_comm_duplicate(MPI_COMM_WORLD, &comm);
BLOCK
    if (hakobi_output_close(out) != HAKOBI_OK) return 1;
    hakobi_output_free(out);
    hakobi_comm_free(comm);
    MPI_Finalize();
    return 0;
}
""",
    "py": """
import numpy as np
from hakobi import Comm, Output
comm, time_s = Comm.duplicate(), 0.5
points, types = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float), np.array([10], np.uint8)
connectivity, offsets, p = np.arange(4), np.array([0, 4]), np.full(4, 7.0)
BLOCK
out.close()
comm.free()
""",
    "f90": """
program main
    use, intrinsic :: iso_fortran_env, only: int8, real64
    use mpi
    use hakobi
    type(hakobi_comm) :: comm
    type(hakobi_output) :: out
    type(hakobi_field_id) :: p_id
    real(real64), target :: points(3, 4) = reshape([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], [3, 4])
    real(real64), target :: p(4) = 7
    real(real64) :: time_s = 0.5
    integer, target :: connectivity(4) = [1, 2, 3, 4], offsets(2) = [0, 4]
    integer(int8), target :: types(1) = 10
    integer :: error
    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
BLOCK
    call out%close()
    call comm%free()
    call MPI_Finalize(error)
end program
""",
}


@pytest.mark.parametrize("language", AROUND)
def test_the_examples_of_the_document_write_what_they_say(
    tmp_path: Path, mpi4py_environment: dict[str, str], language: str
) -> None:
    blocks = re.findall(r"(?:^    .*\n)+", (ROOT / "docs" / "meshes.md").read_text(), re.MULTILINE)
    block = blocks[{"c": 0, "py": 1, "f90": 2}[language]]
    if language == "py":
        block = textwrap.dedent(block)
    source = tmp_path / f"example.{language}"
    source.write_text(AROUND[language].replace("BLOCK\n", block))
    build = ROOT / "build" / FLAVOUR
    program, arguments = Program(Path(sys.executable), FLAVOUR), [str(source)]
    if language != "py":
        compiler = shutil.which(f"{'mpicc' if language == 'c' else 'mpifort'}.{FLAVOUR}")
        modules = build / "fortran" / "modules"
        if compiler is None or (language == "f90" and not modules.is_dir()):
            pytest.skip(f"no compiler of {language} for {FLAVOUR}")
        link = [f"-L{build / 'lib'}", "-lhakobi", f"-Wl,-rpath,{build / 'lib'}"]
        command = [compiler, str(source), f"-I{ROOT / 'include'}", f"-I{modules}", "-o", "example"]
        command += ["-lhakobi_fortran", *link][0 if language == "f90" else 1 :]
        made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert made.returncode == 0, made.stderr
        program, arguments = Program(tmp_path / "example", FLAVOUR), []
    done = launch.run(program, arguments, 2, timeout_s=120, extra_environment=mpi4py_environment, folder=tmp_path)
    assert done.status == 0, done.stderr
    with h5py.File(tmp_path / "run_000000.hdf") as file:
        grid = file["VTKHDF"]
        assert grid["Connectivity"][:].tolist() == [0, 1, 2, 3] * 2
        assert grid["FieldData/TimeValue"][0] == 0.5
        if language == "c":
            assert grid["CellData/p"][:].tolist() == [7, 7]
            assert grid["CellData/U"][:].tolist() == [[1, 2, 3]] * 2
        else:
            assert grid["PointData/p"][:].tolist() == [7] * 8

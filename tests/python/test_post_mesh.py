"""Unstructured meshes in `hakobi post`: VTKHDF files, their shapes, and what is not followed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from fuzz_post import attack
from hakobi.errors import FormatError, InputError
from hakobi.post import answers, indexing, mesh_picture, shapes
from hakobi.post.catalogue import Catalogue, Steps, identifier
from hakobi.post.extremes import read_extremes
from hakobi.post.glance import glance
from hakobi.post.hdf5 import LOCK
from hakobi.post.mesh import Mesh
from hakobi.post.meshes import Shapes
from hakobi.post.opening import open_step
from hakobi.post.picture import picture
from mesh_files import PIECES, ball, block, faces_of_polyhedra, write_changing_mesh, write_mesh, write_moving_mesh
from posting import Client, served, wave, write_step

Array = NDArray[Any]
COPIES = [(kind, parts) for kind in PIECES for parts in (1, 2) if kind != "polyhedra" or parts == 1]


def pressure(points: Array) -> Array:
    return points[:, 0] + 10 * points[:, 1]


def area(shape: shapes.Shape, where: Array) -> float:
    a, b, c = (where[shape.triangles[:, corner]] for corner in range(3))
    return float(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())


def opened(path: Path) -> Mesh:
    mesh = open_step(path).mesh
    assert mesh is not None
    return mesh


def boxes(kind: str, parts: int) -> list[dict[str, Array]]:
    """One block of 4 x 3 x 2 cubes, or two side by side that share a face's points."""
    made = [block(kind, (4, 3, 2), (4.0 * number, 0, 0)) for number in range(parts)]
    for part in made if kind == "polyhedra" else ():
        part.update(faces_of_polyhedra(part))
    return made


@pytest.mark.parametrize(("kind", "parts"), COPIES)
def test_shapes_have_the_area_that_they_must_have(tmp_path: Path, kind: str, parts: int) -> None:
    mesh = opened(write_mesh(tmp_path / "run_0.hdf", boxes(kind, parts), {"p": pressure}))
    length = 4 * parts
    skin = shapes.surface(mesh, 0)
    assert area(skin, shapes.positions(mesh, 0, skin)) == pytest.approx(2 * (length * 3 + length * 2 + 3 * 2))
    cut = shapes.contour(mesh, 0, shapes.plane_scalar(mesh, 0, 0, 1.3))
    where = shapes.positions(mesh, 0, cut)
    assert area(cut, where) == pytest.approx(3 * 2, rel=1e-6)
    np.testing.assert_allclose(where[:, 0], 1.3, atol=1e-6)
    iso = shapes.contour(mesh, 0, shapes.field_scalar(mesh, 0, "p", 17.2))
    np.testing.assert_allclose(shapes.values(mesh, 0, iso, "p"), 17.2, atol=1e-5)
    assert area(iso, shapes.positions(mesh, 0, iso)) == pytest.approx(2 * length * np.hypot(1, 0.1), rel=1e-6)
    np.testing.assert_allclose(shapes.values(mesh, 0, cut, "p"), pressure(where), atol=1e-5)


@pytest.mark.parametrize("kind", ["hexahedra", "tetrahedra"])
def test_pieces_and_rounds_change_nothing(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = opened(write_mesh(tmp_path / "run_0.hdf", [block(kind, (5, 4, 3))]))
    whole = shapes.surface(mesh, 0)
    monkeypatch.setattr("hakobi.post.mesh.PIECE", 37)
    monkeypatch.setattr("hakobi.post.shapes._MOST_KEYS", 500)
    again = shapes.surface(mesh, 0)
    assert len(again.triangles) == len(whole.triangles)
    assert area(again, shapes.positions(mesh, 0, again)) == pytest.approx(2 * (20 + 15 + 12))


def test_flat_cells_are_surface_and_ghosts_are_nothing(tmp_path: Path) -> None:
    part = block("hexahedra", (2, 1, 1))
    part["Connectivity"] = np.concatenate([part["Connectivity"], [0, 1, 4], [1, 2, 5, 4]])
    part["Offsets"] = np.concatenate([part["Offsets"], [19, 23]])
    part["Types"] = np.concatenate([part["Types"], [5, 9]]).astype(np.uint8)
    ghosts = np.array([0, 1, 0, 0], np.uint8)
    mesh = opened(write_mesh(tmp_path / "run_0.hdf", [part], cell_fields={"c": np.arange(4.0), "vtkGhostType": ghosts}))
    assert list(mesh.fields) == ["c"]
    skin = shapes.surface(mesh, 0)
    assert area(skin, shapes.positions(mesh, 0, skin)) == pytest.approx(6 + 0.5 + 1)
    assert sorted(set(skin.cells.tolist())) == [0, 2, 3]


def test_vectors_are_magnitude_and_components(tmp_path: Path) -> None:
    part = block("hexahedra", (2, 1, 1))
    speeds = np.array([[3.0, 4, 0], [0, 0, -2]])
    step = open_step(write_mesh(tmp_path / "run_0.hdf", [part], cell_fields={"U": speeds}, time_s=2.5))
    assert [f.name for f in step.all_fields()] == ["U magnitude", "U x", "U y", "U z"]
    assert step.read("U magnitude", 0, ((0, 2),)).tolist() == [5, 2]
    assert step.read("U z", 0, ((1, 2),)).tolist() == [-2]
    assert (step.times, step.time_units) == ((2.5,), "s")


def test_times_in_one_file_have_their_own_points_and_values(tmp_path: Path) -> None:
    mesh = opened(write_moving_mesh(tmp_path / "moving.hdf", block("tetrahedra", (2, 2, 2))))
    assert mesh.num_times == 2
    assert mesh.bounds(1)[0].tolist() == [10, 10, 10]
    skin = shapes.surface(mesh, 1)
    where = shapes.positions(mesh, 1, skin)
    assert area(skin, where) == pytest.approx(24)
    np.testing.assert_allclose(shapes.values(mesh, 1, skin, "p"), where[:, 0] - 10 + 100)


def test_meshes_may_have_other_sizes_at_later_times(tmp_path: Path) -> None:
    path = write_changing_mesh(tmp_path / "run.hdf", [block("hexahedra", (n, 1, 1)) for n in (2, 5, 3)])
    with served(tmp_path) as client:
        described = [client.json(f"/api/{identifier('run.hdf')}/-1.{time}")["fields"] for time in range(3)]
    assert [next(f["shape"] for f in fields if f["name"] == "c") for fields in described] == [[2], [5], [3]]
    opened_step = Steps(tmp_path).get(next(iter(Catalogue(path).series.values())), -1)
    assert opened_step.step.mesh is not None
    field = opened_step.step.mesh.fields["c"]
    for number, count in enumerate((2, 5, 3)):
        told = answers.describe_statistics(opened_step, field, number)
        assert (told["num_values"], told["min"], told["max"]) == (count, 100 * number, 100 * number + count - 1)
        assert answers.read_point(opened_step, field, number, [count - 1]) == 100 * number + count - 1
        with pytest.raises(InputError, match="outside"):
            answers.read_point(opened_step, field, number, [count])
    assert read_extremes(opened_step.step, field) == (0, 202)
    series, steps = next(iter(Catalogue(path).series.values())), Steps(tmp_path)
    points = answers.read_times(series, steps, identifier("c"), [4])["points"]
    assert [value for _, _, value in points] == [None, 104, None]
    with pytest.raises(InputError, match="outside"):
        answers.read_times(series, steps, identifier("c"), [5])


@pytest.mark.parametrize("tell_faces", [False, True])
def test_polyhedra_have_the_faces_of_their_step(tmp_path: Path, tell_faces: bool) -> None:
    meshes = [block("polyhedra", (n, 1, 1)) for n in (2, 3)]
    for part in meshes:
        part.update(faces_of_polyhedra(part))
    mesh = opened(write_changing_mesh(tmp_path / "run.hdf", meshes, tell_faces))
    for time, length in enumerate((2, 3)):
        skin = shapes.surface(mesh, time)
        assert area(skin, shapes.positions(mesh, time, skin)) == pytest.approx(4 * length + 2)


def test_cells_may_be_blanked_at_some_times(tmp_path: Path) -> None:
    path = write_moving_mesh(tmp_path / "moving.hdf", block("hexahedra", (3, 1, 1)))
    with h5py.File(path, "a") as file:
        file["VTKHDF/CellData/vtkGhostType"] = np.array([0, 0, 0, 32, 0, 0], np.uint8)
        file["VTKHDF/Steps/CellDataOffsets/vtkGhostType"] = [0, 3]
    step = Steps(tmp_path).get(next(iter(Catalogue(path).series.values())), -1)
    made = Shapes()
    drawn = [set(made.placed(step, time, "surface", 3).shape.cells.tolist()) for time in (0, 1)]
    assert drawn == [{0, 1, 2}, {1, 2}]


def test_the_description_of_a_moving_mesh_is_of_its_time(tmp_path: Path) -> None:
    write_moving_mesh(tmp_path / "moving.hdf", block("tetrahedra", (2, 2, 2)))
    with served(tmp_path) as client:
        series = identifier("moving.hdf")
        first, second = (client.json(f"/api/{series}/-1.{time}") for time in (0, 1))
        assert first["is_of_time"]
        assert [told["mesh"]["low"] for told in (first, second)] == [[0, 0, 0], [10, 10, 10]]
        assert second["mesh"]["high"] == [12, 12, 12]
        assert [told["fields"][0]["rows"] for told in (first, second)] == [[0, 27], [27, 54]]
        assert client.json(f"/api/{series}/-1.7")["fields"] == second["fields"]


def test_shapes_turn_one_way_and_are_as_round_as_they_are(tmp_path: Path) -> None:
    """A ball's surface and isosurface; a cube keeps its edges."""
    write_mesh(tmp_path / "ball_0.hdf", [ball(12)], {"r": lambda at: np.linalg.norm(at, axis=1)})
    mesh = opened(tmp_path / "ball_0.hdf")
    for shape in (shapes.surface(mesh, 0), shapes.contour(mesh, 0, shapes.field_scalar(mesh, 0, "r", 0.62))):
        where = shapes.positions(mesh, 0, shape)
        corners = where[shape.triangles]
        faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        out = np.einsum("nd,nd->n", faces, corners.mean(axis=1)) * (1 if shape.first is shape.second else -1)
        assert (out > 0).mean() in (0, 1)
        normals = mesh_picture._normals(shape.triangles, faces)
        units = corners / np.linalg.norm(corners, axis=2, keepdims=True)
        assert np.median(np.abs(np.einsum("ncd,ncd->nc", normals, units))) > 0.995
    write_mesh(tmp_path / "cube_0.hdf", [block("hexahedra", (3, 3, 3))])
    cube = opened(tmp_path / "cube_0.hdf")
    skin = shapes.surface(cube, 0)
    corners = shapes.positions(cube, 0, skin)[skin.triangles]
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    np.testing.assert_array_equal(mesh_picture._normals(skin.triangles, faces), np.repeat(faces[:, None], 3, axis=1))


def test_coarse_shapes_keep_to_their_limit_and_to_the_mesh(tmp_path: Path) -> None:
    mesh = opened(write_mesh(tmp_path / "run_0.hdf", [block("tetrahedra", (12, 12, 12))], {"p": pressure}))
    skin = shapes.surface(mesh, 0)
    coarse, where = shapes.decimated(skin, shapes.positions(mesh, 0, skin), 300)
    assert 50 < len(coarse.triangles) <= 300
    assert np.isin(coarse.first, skin.first).all()
    assert area(coarse, where) == pytest.approx(6 * 144, rel=0.2)
    np.testing.assert_allclose(shapes.values(mesh, 0, coarse, "p"), pressure(where))


def decode(data: bytes) -> tuple[Array, Array, bool]:
    """Positions, triangles, whether it is whole: as a browser reads them (hakobi/post/meshes.py)."""
    low, high = np.frombuffer(data, "<f8", 6).reshape(2, 3)
    num_points, num_triangles, is_whole = (int(n) for n in np.frombuffer(data, "<u4", 3, 48))
    raw = np.frombuffer(data, np.uint8, 6 * num_points, 64).reshape(3, 2, num_points).astype(int)
    positions = low + (raw[:, 0] + 256 * raw[:, 1]).T / 65535 * (high - low)
    below = np.frombuffer(data, np.uint8, offset=64 + 6 * num_points).reshape(4, -1).astype(int)
    numbers, following = [], 0
    for one in (below * [[1], [256], [65536], [1 << 24]]).sum(axis=0):
        numbers.append(following - one)
        following += one == 0
    triangles = np.array(numbers).reshape(-1, 3)
    assert len(triangles) == num_triangles
    return positions, triangles, bool(is_whole)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("meshes")
    part = block("tetrahedra", (6, 5, 4))
    for number in range(3):
        numbers = np.arange(len(part["Types"]), dtype="f4") + number
        write_mesh(
            folder / f"run_{number}.hdf", [part], {"p": pressure}, {"c": numbers}, 0.5 * number, "run_0.hdf.mesh"
        )
    with served(folder) as client:
        yield client


SERIES = identifier("run_#.hdf")


def mesh_path(client: Client, *place: object, step: str = "1.0") -> str:
    version = client.json(f"/api/{SERIES}/{step}")["version"]
    return f"/mesh/{SERIES}/{step}/{version}/" + "/".join(map(str, place))


def test_a_mesh_is_described_and_linked_to(client: Client) -> None:
    steps = [client.json(f"/api/{SERIES}/{number}.0") for number in range(3)]
    assert steps[0]["mesh"]["high"] == [6, 5, 4]
    assert steps[0]["mesh"]["keys"] == steps[2]["mesh"]["keys"]
    assert steps[0]["version"] != steps[2]["version"]
    assert [(f["name"], f["location"], f["units"]) for f in steps[0]["fields"]] == [
        ("p", "point", "Pa"),
        ("c", "cell", ""),
    ]
    assert steps[2]["times"] == [1.0]
    assert (steps[2]["kind"], steps[2]["fields"][1]["dataset"]) == ("vtkhdf", "CellData/c")


def test_geometry_and_values_go_over_the_wire(client: Client) -> None:
    _, headers, data = client.get(mesh_path(client, "surface", 0))
    assert "immutable" in headers["cache-control"]
    positions, _, is_whole = decode(data)
    assert is_whole
    assert area_of(data) == pytest.approx(2 * (30 + 24 + 20), rel=1e-3)
    _, _, data = client.get(mesh_path(client, "surface", 0, identifier("p")))
    offset, scale = np.frombuffer(data, "<f8", 2)
    joined = np.frombuffer(data, np.uint8, offset=24).reshape(4, -1).T.tobytes()
    values = np.frombuffer(joined, "<f4").astype(float) * scale + offset
    np.testing.assert_allclose(values, pressure(positions), atol=0.01)


def test_a_point_of_a_shape_leads_to_the_exact_value(client: Client) -> None:
    place = f"/api/{SERIES}/1.0/{identifier('c')}"
    found = client.json(f"{place}/source?shape=surface&detail=0&number=3")["at"]
    assert client.json(f"{place}/point?at={found}")["value"] == found + 1
    times = client.json(f"/api/{SERIES}/times/{identifier('c')}?at={found}")
    assert [value for _, _, value in times["points"]] == [found, found + 1, found + 2]


@pytest.mark.parametrize(
    ("place", "status"),
    [(("surface", 4), 400), (("surface", "-1"), 404), (("cut:3:1", 0), 400), (("cut:0:nan", 0), 400),
     (("cut:0", 0), 400), (("cut:0:1e999", 0), 400), (("iso:nothing:1", 0), 400), (("", 0), 404),
     (("surface:x", 0), 400), (("cut:0:1e300", 0), 200), ((f"cut:0:{'9' * 50}", 0), 400),
     (("surface", 0, "nofield"), 404),
     ((f"iso:{identifier('p')}:1e30", 0), 200)],
)  # fmt: skip
def test_shapes_that_there_are_not(client: Client, place: tuple[object, ...], status: int) -> None:
    assert client.get(mesh_path(client, *place))[0] == status


def test_a_mesh_may_change_under_a_viewer(tmp_path: Path) -> None:
    path = write_mesh(tmp_path / "run_0.hdf", [block("hexahedra", (3, 2, 2))], {"p": pressure})
    with served(tmp_path) as client:
        old = mesh_path(client, "surface", 0, step="0.0")
        assert client.get(old)[0] == 200
        write_mesh(tmp_path / "new", [block("hexahedra", (5, 2, 2))], {"p": pressure}).rename(path)
        assert [client.get(place)[0] for place in (old, f"{old}/{identifier('p')}")] == [410, 410]
        fresh = mesh_path(client, "surface", 0, step="0.0")
        assert area_of(client.get(fresh)[2]) == pytest.approx(2 * (10 + 10 + 4), rel=1e-3)
        os.truncate(path, path.stat().st_size // 2)
        assert client.get(fresh)[0] == 410
        status, _, body = client.get(mesh_path(client, "surface", 0, step="0.0"))
        assert (status, body) == (422, b"run_0.hdf is shorter than it says: torn, or still being written\n")
        path.unlink()
        for place in (fresh, f"{fresh}/{identifier('p')}", f"/api/{SERIES}/0.0"):
            assert client.get(place)[0] == 404
        assert client.get("/api/series")[0] == 200


def area_of(data: bytes) -> float:
    positions, triangles, _ = decode(data)
    return area(shapes.Shape(*[np.empty(0)] * 3, triangles, np.empty(0)), positions)


def test_requests_by_a_fuzzer(client: Client, fresh_seed: int) -> None:
    report = attack(client.port, client.cookie or "", num_requests=1000, seed=fresh_seed)
    assert not report.findings, report.findings[:3]
    assert client.get("/api/series")[0] == 200


def test_tiles_of_a_mesh_and_meshes_of_a_grid_are_refused(client: Client) -> None:
    version = client.json(f"/api/{SERIES}/1.0")["version"]
    for path in (
        f"/tile/{SERIES}/1.0/{version}/{identifier('p')}/0/0/0/0/0",
        f"/volume/{SERIES}/1.0/{version}/{identifier('p')}/0",
    ):
        assert client.get(path)[0] == 400
    assert client.get(f"/api/{SERIES}/1.0/{identifier('p')}/line?from=1&to=5")[0] == 200
    assert client.get(f"/api/{SERIES}/1.0/{identifier('p')}/point?at=99999")[0] == 400


def test_links_lead_nowhere_but_below_the_root(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    part = block("hexahedra", (2, 1, 1))
    write_mesh(outside / "secret.mesh", [part], cell_fields={"c": np.arange(2.0)})
    (inside / "link.mesh").symlink_to(outside / "secret.mesh")
    write_mesh(inside / "good.mesh", [part])
    for name in (
        "../out/secret.mesh",
        str(outside / "secret.mesh"),
        "link.mesh",
        "../in/../out/secret.mesh",
        "none.mesh",
    ):
        path = inside / "run_0.hdf"
        write_mesh(path, [part], mesh_in="good.mesh")
        with h5py.File(path, "a") as file:
            del file["VTKHDF/Points"]
            file["VTKHDF/Points"] = h5py.ExternalLink(name, "/VTKHDF/Points")
        with pytest.raises(FormatError, match=r"run_0\.hdf has its mesh"):
            open_step(path, inside)
        path.unlink()
    path = write_mesh(inside / "run_1.hdf", [part], mesh_in="good.mesh")
    with h5py.File(path, "a") as file:  # a field by a link, and a mesh that links to itself
        file["VTKHDF/CellData/c"] = h5py.ExternalLink("../out/secret.mesh", "/VTKHDF/CellData/c")
    with pytest.raises(FormatError, match="outside"):
        open_step(path, inside)
    with h5py.File(inside / "good.mesh", "a") as file:
        del file["VTKHDF/Points"]
        file["VTKHDF/Points"] = h5py.ExternalLink("good.mesh", "/VTKHDF/Points")
    with pytest.raises(FormatError):
        open_step(write_mesh(inside / "run_2.hdf", [part], mesh_in="good.mesh"), inside)


@pytest.mark.parametrize("how", ["external", "virtual"])
@pytest.mark.parametrize("name", ["Points", "NumberOfPoints", "Types"])
def test_no_array_of_a_mesh_is_put_together_of_other_files(tmp_path: Path, name: str, how: str) -> None:
    (tmp_path / "in").mkdir()
    path = write_mesh(tmp_path / "in/run_0.hdf", [block("hexahedra", (1, 1, 1))])
    with h5py.File(path, "a") as file:
        group = file["VTKHDF"]
        shape, dtype = group[name].shape, group[name].dtype
        values = group[name][()]
        del group[name]
        if how == "external":
            (tmp_path / "secret").write_bytes(values.tobytes())
            group.create_dataset(name, shape, dtype, external=[(str(tmp_path / "secret"), 0, values.nbytes)])
        else:
            with h5py.File(tmp_path / "secret.h5", "w") as other:
                other["values"] = values
            layout = h5py.VirtualLayout(shape, dtype)
            layout[...] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "values", shape)
            group.create_virtual_dataset(name, layout)
    with pytest.raises(FormatError, match=rf"run_0\.hdf keeps {name} in other files"):
        open_step(path)


def test_times_and_coordinates_are_not_taken_from_other_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(np.arange(20.0).tobytes())
    served = tmp_path / "served"
    served.mkdir()
    path = write_step(served / "run_000000.nc", {"eta": wave((4, 5))})
    for name, size in (("time", 1), ("lat", 4)):
        with h5py.File(path, "a") as file:
            attributes = dict(file[name].attrs)
            del file[name]
            made = file.create_dataset(name, (size,), "f8", external=[(str(secret), 8, 8 * size)])
            for word in ("units", "CLASS", "NAME"):
                made.attrs[word] = attributes[word]
            file["eta"].dims[0 if name == "time" else 1].attach_scale(made)
    with h5py.File(tmp_path / "times.h5", "w") as file:
        file["times"] = np.array([7.0])
    with h5py.File(served / "linked_000000.nc", "w") as file:
        file["eta"] = wave((4, 5))
        file["time"] = h5py.ExternalLink(str(tmp_path / "times.h5"), "times")
        file["VTKHDF"] = h5py.ExternalLink(str(tmp_path / "times.h5"), "/")
        file["way"] = h5py.SoftLink("/VTKHDF/times")
    with open_step(path) as step:
        assert step.times == ()
        assert all(axis.coordinates is None or axis.name == "lon" for axis in step.fields["eta"].axes)
    with open_step(served / "linked_000000.nc") as step:
        assert step.times == ()
        assert step.left_out["way"] == "a link to /VTKHDF/times, which is not there"
    for name in ("run_000000.nc", "linked_000000.nc"):
        assert glance(served / name).times == ()


@pytest.mark.parametrize(
    ("name", "values"),
    [("Connectivity", [0, 1, 999]), ("Connectivity", [-1] * 16), ("Offsets", [0, 99, 16]), ("Offsets", [0, 16, 8]),
     ("Types", [12]), ("NumberOfPoints", [10**9]), ("NumberOfCells", [-3]), ("NumberOfPoints", []),
     ("Points", [[0.0, 1.0]]), ("Offsets", [0.5, 2])],
)  # fmt: skip
def test_a_damaged_mesh_is_a_clear_error(tmp_path: Path, name: str, values: list[Any]) -> None:
    path = write_mesh(tmp_path / "run_0.hdf", [block("hexahedra", (2, 1, 1))])
    with h5py.File(path, "a") as file:
        del file[f"VTKHDF/{name}"]
        file[f"VTKHDF/{name}"] = np.array(values)
    with pytest.raises(FormatError):
        shapes.surface(opened(path), 0)


@pytest.mark.parametrize("cut", [None, "x=1.5"])
def test_a_picture_of_a_mesh(tmp_path: Path, cut: str | None) -> None:
    image = pytest.importorskip("PIL.Image")
    write_mesh(tmp_path / "run_0.hdf", [block("wedges", (6, 5, 4))], {"p": pressure})
    out = picture(tmp_path / "run", tmp_path / "out.png", field="p", cut=cut)
    with image.open(out) as drawn:
        assert len(drawn.convert("RGB").getcolors(1 << 24)) > 60  # a field, not a sheet
    for wrong in ("x=9.5", "w=1", "x=nan", "x"):
        with pytest.raises(InputError):
            picture(tmp_path / "run", tmp_path / "wrong.png", field="p", cut=wrong)
    assert not (tmp_path / "wrong.png").exists()


def test_meshes_may_be_collected_while_their_library_is_in_use(tmp_path: Path) -> None:
    """The collector runs destructors in any thread, also in the one that holds the lock."""
    path = write_mesh(tmp_path / "flow.hdf", boxes("hexahedra", 1))
    mesh: Mesh | None = opened(path)
    handle = mesh._files[0].handle  # type: ignore[union-attr]

    def collect() -> None:
        nonlocal mesh
        with LOCK:
            mesh = None

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    opened(path)  # closes what was given up
    assert not handle


def test_an_index_of_meshes_has_nothing_to_do(tmp_path: Path) -> None:
    path = write_mesh(tmp_path / "run_0.hdf", [block("hexahedra", (2, 1, 1))])
    assert indexing.make_overview(path).state == "kept"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_to_draw_is_no_error(tmp_path: Path) -> None:
    part = block("hexahedra", (2, 1, 1))
    points = part["Points"].copy()
    points[3] = np.nan
    mesh = opened(write_mesh(tmp_path / "run_0.hdf", [{**part, "Points": points}], {"p": lambda x: x[:, 0] * np.nan}))
    assert len(shapes.contour(mesh, 0, shapes.field_scalar(mesh, 0, "p", 0.5)).triangles) == 0
    assert np.isfinite(mesh.bounds(0)).all()
    empty = {
        "Points": np.empty((0, 3)),
        "Connectivity": np.empty(0, int),
        "Offsets": np.zeros(1, int),
        "Types": np.empty(0, np.uint8),
    }
    mesh = opened(write_mesh(tmp_path / "empty_0.hdf", [empty]))
    assert len(shapes.surface(mesh, 0).triangles) == 0
    assert mesh.bounds(0)[0].tolist() == [0, 0, 0]

"""`hakobi post` and `hakobi ls` of results in a bucket: the values of files, and what they say where that fails."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from hakobi.errors import FormatError, InputError
from hakobi.post import indexing, objects
from hakobi.post.catalogue import Catalogue, OpenStep, Series, Steps
from hakobi.post.place import ObjectPath, location_of
from hakobi_lab import object_servers
from mesh_files import block, write_mesh
from posting import Client, decode_tile, served, wave, write_step
from running import Result

obstore = pytest.importorskip("obstore")

Command = Callable[..., Result]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of each kind, with an overview or without."""
    folder = tmp_path_factory.mktemp("results")
    for number in range(2):
        indexing.make_overview(
            write_step(folder / f"flat_{number:03}.nc", {"eta": wave((300, 530), number)}, 60.0 * number)
        )
    indexing.make_overview(write_step(folder / "solid_0.nc", {"p": wave((70, 65, 100))}))
    write_step(folder / "packed_0.nc", {"p": wave((70, 65, 100), 2.0)}, chunks=(1, 16, 16, 16), compression="gzip")
    with netCDF4.Dataset(folder / "classic_0.nc", "w", format="NETCDF3_64BIT_OFFSET") as file:
        for name, size in (("y", 40), ("x", 50)):
            file.createDimension(name, size)
        file.createVariable("t", "f4", ("y", "x"))[:] = wave((40, 50))
    write_mesh(
        folder / "part_0.hdf",
        [block("hexahedra", (3, 4, 5))],
        {"p": lambda at: at[:, 0] + at[:, 1]},
        mesh_in="the_mesh",
    )
    return folder


@pytest.fixture
def bucket(s3: object_servers.S3Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results in `out`; this process has the server's credentials."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    objects._store.cache_clear()
    for path in folder.iterdir():
        put(path)


def put(path: Path) -> None:
    obstore.put(objects._store(address().rstrip("/")), f"out/{path.name}", path)


def address(name: str = "") -> str:
    return f"s3://{object_servers.BUCKET}/{name}"


def opened(where: Path | str) -> Iterator[tuple[Series, int, OpenStep]]:
    catalogue = Catalogue(location_of(where))
    steps = Steps(catalogue.root)
    for series in sorted(catalogue.series.values(), key=lambda each: each.key):
        for number in map(int, series.numbers):
            yield series, number, steps.get(series, number)


def test_values_and_overviews_are_those_of_the_files(bucket: None, folder: Path) -> None:
    of_files, of_objects = list(opened(folder)), list(opened(address("out")))
    assert [(s.key, n) for s, n, _ in of_objects] == [(s.key, n) for s, n, _ in of_files]
    assert len(of_files) == 6
    for (_, _, file), (_, _, other) in zip(of_files, of_objects, strict=True):
        assert other.step.times == file.step.times
        assert list(other.step.fields) == list(file.step.fields)
        for name, this in file.step.fields.items():
            shape = this.shape
            boxes = [tuple((0, n) for n in shape), tuple((n // 3, n // 3 + 1) for n in shape)]
            boxes += [
                tuple((3, 4) if d == cut else (5, n - 2) for d, n in enumerate(shape)) for cut in range(len(shape))
            ]
            for box in boxes:
                np.testing.assert_array_equal(other.step.read(name, 0, box), file.step.read(name, 0, box))
        assert (other.overview is None) == (file.overview is None)
        if file.overview is not None and other.overview is not None:
            for name, found in file.overview.fields.items():
                for level, shard in found.shards[0].items():
                    box = tuple((0, n) for n in shard.level.shape)
                    np.testing.assert_array_equal(
                        other.overview.read(name, 0, level, box), file.overview.read(name, 0, level, box)
                    )
        if file.step.mesh is not None and other.step.mesh is not None:
            for name in file.step.mesh.fields:
                np.testing.assert_array_equal(other.step.read(name, 0, ((2, 5),)), file.step.read(name, 0, ((2, 5),)))
    assert [e.step.mesh is not None for _, _, e in of_objects] == [e.step.mesh is not None for _, _, e in of_files]


def test_a_browser_gets_the_same_tiles(bucket: None, folder: Path) -> None:
    def tiles(client: Client) -> list[Any]:
        [flat] = [s for s in client.json("/api/series")["series"] if s["name"].endswith("flat_###.nc")]
        step = client.json(f"/api/{flat['id']}/1.0")
        path = f"/tile/{flat['id']}/1.0/{step['version']}/{step['fields'][0]['id']}/0/0/0/1/2"
        status, _, data = client.get(path)
        assert status == 200
        return [step["fields"], step["times"], decode_tile(data).tolist()]

    with served(folder) as of_files:
        expected = tiles(of_files)
    with served(location_of(address("out"))) as of_objects:
        assert str(tiles(of_objects)) == str(expected)


def test_a_prefix_a_key_and_a_bucket_can_be_named(hakobi: Command, bucket: None) -> None:
    for name in ("out/flat", "out/flat_000.nc", "out/"):
        told = hakobi("ls", address(name))
        assert told.status == 0
        assert "flat_" in told.stdout
    assert "out/solid_#.nc" in hakobi("ls", address()).stdout


def test_a_new_step_is_seen_and_a_replaced_one_is_another(bucket: None, tmp_path: Path) -> None:
    catalogue = Catalogue(location_of(address("out/flat")))
    put(write_step(tmp_path / "flat_002.nc", {"eta": wave((300, 530), 2.0)}, 120.0))
    [changed] = catalogue.scan()
    assert changed.numbers.tolist() == [0, 1, 2]
    steps = Steps(catalogue.root)
    before = steps.get(changed, 2)
    put(write_step(tmp_path / "flat_002.nc", {"eta": wave((300, 530), 3.0)}, 120.0))
    with pytest.raises(FormatError, match=r"flat_002\.nc was replaced while it was read"):
        before.step.read("eta", 0, ((0, 300), (0, 530)))
    objects._seen.clear()
    after = steps.get(changed, 2)
    assert after.version != before.version
    np.testing.assert_array_equal(after.step.read("eta", 0, ((7, 8), (0, 530)))[0], wave((300, 530), 3.0)[7])


@pytest.mark.parametrize(
    ("where", "variables", "said"),
    [
        ("s3://no-such-bucket/run", {}, "there is no such object or bucket"),
        (address("nothing"), {}, "there is no such file, nor steps nothing_….nc"),
        (address("out"), {"AWS_SECRET_ACCESS_KEY": "wrong"}, "the server refuses: SignatureDoesNotMatch"),
        (address("out"), {"AWS_ACCESS_KEY_ID": "nobody"}, "the server refuses: "),
        ("s3://", {}, "is no address of objects"),
        ("ftp://host/run", {}, "there is no storage 'ftp' here"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    hakobi: Command, bucket: None, monkeypatch: pytest.MonkeyPatch, where: str, variables: dict[str, str], said: str
) -> None:
    secret = os.environ["AWS_SECRET_ACCESS_KEY"]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    objects._store.cache_clear()
    result = hakobi("ls", where)
    assert result.status != 0
    assert said in result.line()
    assert secret not in result.stderr


def test_a_server_that_does_not_answer_is_given_up(
    hakobi: Command, bucket: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{taken.getsockname()[1]}")
        objects._store.cache_clear()
        assert "error sending request" in hakobi("ls", address("out")).line()


def test_overviews_are_made_where_files_are(hakobi: Command, bucket: None) -> None:
    assert "overviews are made where files are" in hakobi("index", address("out")).line()


@pytest.mark.parametrize(
    "address", ["S3://b/run", "GS://b/run", "ftp://b/run", "file:///b/run", "rados://b/run", "s4+x://b"]
)
@pytest.mark.parametrize("command", ["ls", "post", "index"])
def test_an_address_of_other_storage_is_refused(hakobi: Command, command: str, address: str) -> None:
    refused = hakobi(command, address)
    assert refused.status == 2
    assert f"{address}: there is no storage '{address.partition(':')[0]}' here: give a path, or" in refused.line()


def test_a_link_to_a_mesh_leads_nowhere_outside(bucket: None) -> None:
    with pytest.raises(InputError):
        ObjectPath.of("s3:///key")
    assert ObjectPath("s3://b", "out/run").below(ObjectPath("s3://b", "out")) == "run"
    assert ObjectPath("s3://b", "outer/run").below(ObjectPath("s3://b", "out")) is None
    assert ObjectPath("s3://c", "out/run").below(ObjectPath("s3://b", "out")) is None

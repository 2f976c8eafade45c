"""`hakobi post` as a server: what it answers, and to whom it does not."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import h5py
import numpy as np
import pytest

from fuzz_post import attack
from hakobi.post import indexing, serving
from hakobi.post.cache import Cache
from hakobi.post.catalogue import identifier
from hakobi_lab.slow_line import slow_line
from posting import TOKEN, Array, Client, decode_tile, served, wave, write_step
from running import Result

Command = Callable[..., Result]
FLAT = [wave((300, 530), phase) for phase in (0.0, 1.0, 2.0)]
SOLID = wave((70, 65, 100))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for number, values in enumerate(FLAT):
        indexing.make_overview(write_step(folder / f"flat_{number:03}.nc", {"eta": values}, 60.0 * number))
    indexing.make_overview(write_step(folder / "solid_0.nc", {"p": SOLID}))
    write_step(folder / "bare_0.nc", {"p": SOLID}, chunks=(1, 16, 16, 16), compression="gzip")
    return folder


def series(name: str) -> str:
    return identifier(name)


def tile_path(client: Client, name: str, field: str, *place: int, step: str = "0.0") -> str:
    version = client.json(f"/api/{series(name)}/{step}")["version"]
    return f"/tile/{series(name)}/{step}/{version}/{identifier(field)}/" + "/".join(map(str, place))


def test_a_step_is_described(client: Client) -> None:
    found = {s["name"]: s for s in client.json("/api/series")["series"]}
    assert found["flat_###.nc"]["runs"] == [[0, 1, 3]]
    step = client.json(f"/api/{series('flat_###.nc')}/2.0")
    [field] = step["fields"]
    assert (field["name"], field["shape"], field["has_overview"], field["num_levels"]) == ("eta", [300, 530], True, 4)
    assert step["axes"]["lat/300"] == {
        "name": "lat", "size": 300, "units": "degrees_north", "kind": "lat", "first": 10.0, "last": 47.375,
    }  # fmt: skip
    assert step["times"] == [120.0]
    told = client.json(f"/api/{series('flat_###.nc')}/2.0/{field['id']}/statistics")
    assert told["max"] == pytest.approx(float(np.nanmax(FLAT[2])))


@pytest.mark.parametrize("name", ["solid_#.nc", "bare_#.nc"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_tiles_are_the_fields_planes(client: Client, name: str, axis: int) -> None:
    for index in (0, 13, SOLID.shape[axis] - 1):
        _, _, data = client.get(tile_path(client, name, "p", 0, axis, index, 0, 0))
        np.testing.assert_allclose(decode_tile(data), np.take(SOLID, index, axis), atol=2e-3)
    _, _, data = client.get(tile_path(client, name, "p", 2, axis, 4, 0, 0))
    rows, columns = (-(-n // 4) for d, n in enumerate(SOLID.shape) if d != axis)
    assert decode_tile(data).shape == (rows, columns)


def test_tiles_meet(client: Client) -> None:
    rows = [
        np.hstack(
            [decode_tile(client.get(tile_path(client, "flat_###.nc", "eta", 0, 0, 0, r, c))[2]) for c in range(3)]
        )
        for r in range(2)
    ]
    np.testing.assert_allclose(np.vstack(rows), FLAT[0], atol=2e-3)


def test_a_difference_is_of_exact_values(client: Client) -> None:
    path = tile_path(client, "flat_###.nc", "eta", 0, 0, 0, 1, 2, step="2.0").replace("/tile/", "/difference/")
    other = client.json(f"/api/{series('flat_###.nc')}/1.0")["version"]
    _, _, data = client.get(f"{path}/{series('flat_###.nc')}:1.0@{other}")
    expected = FLAT[2].astype(float) - FLAT[1]
    np.testing.assert_allclose(decode_tile(data), expected[256:, 512:], atol=2e-3)


def test_fields_at_other_places_or_in_other_units_are_not_taken_away(tmp_path: Path) -> None:
    """Their shapes are equal all the same: a run of another region, or stored from the north."""
    for name in ("a", "same", "north", "shifted", "units"):
        write_step(tmp_path / f"{name}.nc", {"eta": FLAT[0]})
    with h5py.File(tmp_path / "same.nc", "a") as file:
        file["lon"][...] += 360
    with h5py.File(tmp_path / "north.nc", "a") as file:
        file["lat"][...] = file["lat"][...][::-1]
    with h5py.File(tmp_path / "shifted.nc", "a") as file:
        file["lon"][...] += 0.0625
    with h5py.File(tmp_path / "units.nc", "a") as file:
        file["eta"].attrs["units"] = "cm"
    with served(tmp_path) as client:
        path = tile_path(client, "a.nc", "eta", 0, 0, 0, 0, 0, step="-1.0").replace("/tile/", "/difference/")

        def less(name: str) -> tuple[int, bytes]:
            version = client.json(f"/api/{series(f'{name}.nc')}/-1.0")["version"]
            status, _, data = client.get(f"{path}/{series(f'{name}.nc')}:-1.0@{version}")
            return status, data

        status, data = less("same")
        assert (status, np.nanmax(np.abs(decode_tile(data)))) == (200, 0)
        for name, text in (("north", b"along lat"), ("shifted", b"along lon"), ("units", b"units: cm and m")):
            status, data = less(name)
            assert (status, text in data) == (400, True), data


def test_points_lines_and_times_are_exact(client: Client) -> None:
    path = f"/api/{series('flat_###.nc')}"
    field = identifier("eta")
    assert client.json(f"{path}/1.0/{field}/point?at=200,300")["value"] == float(FLAT[1][200, 300])
    assert client.json(f"{path}/1.0/{field}/point?at=0,0")["value"] is None
    line = client.json(f"{path}/1.0/{field}/line?from=250,10&to=290,410")
    assert len(line["values"]) == 401
    assert line["cells"][-1] == [290, 410]
    assert line["values"] == [float(FLAT[1][r, c]) for r, c in line["cells"]]
    times = client.json(f"{path}/times/{field}?at=200,300")
    assert times["points"] == [[f"{n}.0", 60.0 * n, float(FLAT[n][200, 300])] for n in range(3)]


def test_a_volume_has_eight_bits(client: Client) -> None:
    version = client.json(f"/api/{series('solid_#.nc')}/0.0")["version"]
    path = f"/volume/{series('solid_#.nc')}/0.0/{version}/{identifier('p')}"
    _, _, data = client.get(f"{path}/0")
    low, high = np.frombuffer(data, "<f8", 2)
    shape = tuple(np.frombuffer(data, "<u4", 3, 16))
    codes = np.frombuffer(data, np.uint8, offset=32).reshape(shape)
    assert shape == SOLID.shape
    assert np.array_equal(codes == 0, np.isnan(SOLID))
    values = np.where(codes == 0, np.nan, low + (codes.astype(float) - 1) / 254 * (high - low))
    np.testing.assert_allclose(values, SOLID, atol=(high - low) / 500)
    assert client.get(f"{path}/9")[0] == 400


def test_a_bent_volume_is_even_over_the_logarithm(client: Client) -> None:
    version = client.json(f"/api/{series('solid_#.nc')}/0.0")["version"]
    _, _, data = client.get(f"/bent-volume/{series('solid_#.nc')}/0.0/{version}/{identifier('p')}/0")
    low, high = np.frombuffer(data, "<f8", 2)
    codes = np.frombuffer(data, np.uint8, offset=32).reshape(SOLID.shape)
    assert np.array_equal(codes == 0, np.isnan(SOLID))
    unit = max(abs(low), abs(high)) / 1e6

    def bent(values: Array) -> Array:
        return np.sign(values) * np.log1p(np.abs(values) / unit)

    ends = bent(np.array([low, high]))
    found = ends[0] + (codes.astype(float) - 1) / 254 * (ends[1] - ends[0])
    is_there = codes > 0
    np.testing.assert_allclose(found[is_there], bent(SOLID.astype(float))[is_there], atol=(ends[1] - ends[0]) / 500)


def test_answers_are_cached_for_ever_and_come_in_ranges(client: Client) -> None:
    path = tile_path(client, "flat_###.nc", "eta", 1, 0, 0, 0, 0)
    status, headers, whole = client.get(path)
    assert status == 200
    assert "immutable" in headers["cache-control"]
    assert client.get(path, If_None_Match=headers["etag"])[0] == 304
    packed = client.get(path, Accept_Encoding="deflate")
    assert packed[1]["content-encoding"] == "deflate"
    assert len(packed[2]) < len(whole)
    assert packed[1]["etag"] != headers["etag"]
    status, headers, part = client.get(path, Range="bytes=100-199")
    assert (status, part) == (206, whole[100:200])
    assert headers["content-range"] == f"bytes 100-199/{len(whole)}"
    assert client.get(path, Range="bytes=-5")[2] == whole[-5:]
    for wrong in ("bytes=9999999-", "bytes=5-1", "lines=1-2", "bytes=-", f"bytes={'9' * 30}-"):
        assert client.get(path, Range=wrong)[0] == 416


def test_only_those_with_the_token_are_answered(client: Client) -> None:
    stranger = Client(client.port, None)
    for path in ("/", "/api/series", "/static/main.js", "/?token=wrong", f"/api/series?token={TOKEN}", "/?token="):
        assert stranger.get(path)[0] == 403, path
    name = (client.cookie or "").partition("=")[0]
    for cookie in (f"{name}=", f"{name}=x", "other=" + TOKEN, f"{name}={TOKEN}x", "\xff=;;;"):
        assert Client(client.port, cookie).get("/api/series")[0] == 403, cookie
    status, headers, _ = stranger.get(f"/?token={TOKEN}")
    assert status == 200
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]


def test_other_hosts_and_sites_are_refused(client: Client) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost@evil.example", f"evil.example:{client.port}"):
        assert client.get("/api/series", Host=host)[0] == 421, host
    for host in ("localhost", "localhost:1234", f"127.0.0.1:{client.port}"):
        assert client.get("/api/series", Host=host)[0] == 200, host
    for origin in ("http://evil.example", "null", "http://localhost:1", "http://[", "http://127.0.0.1"):
        assert client.get("/api/series", Origin=origin)[0] == 403, origin
    assert client.get("/api/series", Origin=f"http://127.0.0.1:{client.port}")[0] == 200
    assert client.get("/api/series", Sec_Fetch_Site="cross-site")[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "NONSENSE"])
def test_it_only_reads(client: Client, method: str) -> None:
    assert client.get("/api/series", method)[0] == 405


def test_a_two_gigabyte_post_is_not_read(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as line:
        line.sendall(
            f"POST /api/series HTTP/1.1\r\nHost: localhost\r\nCookie: {client.cookie}\r\n"
            f"Content-Length: {2 << 30}\r\n\r\n".encode()
        )
        sent, answer = 0, b""
        try:
            for _ in range(200):
                line.sendall(b"x" * 100_000)
                sent += 100_000
            answer = line.recv(100)
        except OSError:  # closed under us, which is the point
            answer = answer or b"HTTP/1.1 405"
        assert answer.startswith(b"HTTP/1.1 405")
        assert sent < 200 * 100_000 or line.recv(1) is not None
    assert client.get("/api/series")[0] == 200


def test_no_path_leads_out_of_the_root(client: Client, folder: Path) -> None:
    secret = folder.parent / "secret_0.nc"
    write_step(secret, {"p": SOLID[0]})
    (folder / "link_0.nc").symlink_to(secret)
    (folder / "away").symlink_to(folder.parent)
    try:
        names = {s["name"] for s in client.json("/api/series")["series"]}
        assert names == {"flat_###.nc", "solid_#.nc", "bare_#.nc"}
        for path in ("/static/../server.py", "/static/..%2fserver.py", "/static/%2fetc%2fpasswd", "//etc/passwd",
                     "/static/index.html", "/api/../../etc", f"/api/{series('link_#.nc')}/0.0", "/static/main.js%00",
                     f"/api/{quote(str(secret), safe='')}/0.0",
                     f"/api/{identifier('../secret_#.nc')}/0.0"):  # fmt: skip
            assert client.get(path)[0] == 404, path
    finally:
        for name in ("link_0.nc", "away"):
            (folder / name).unlink()
        secret.unlink()


@pytest.mark.parametrize(
    "place",
    [(0, 3, 0, 0, 0), (0, 0, 70, 0, 0), (0, 0, 0, 1, 0), (0, 0, 0, 0, 1), (5, 0, 0, 0, 0), (10**17, 0, 0, 0, 0),
     (0, 0, 10**18, 0, 0), (0, 0, 0, 10**18, 10**18)],
)  # fmt: skip
def test_tiles_outside_are_a_clear_error(client: Client, place: tuple[int, ...]) -> None:
    status, _, body = client.get(tile_path(client, "solid_#.nc", "p", *place))
    assert status == 400
    assert b"is not there" in body


@pytest.mark.parametrize(
    "path",
    ["/tile/a/b/c/d/-1/0/0/0/0", "/tile/a/b/c/d/x/0/0/0/0", "/api/x/0.0", "/api/{flat}/999.0", "/api/{flat}/1e3.0",
     "/api/{flat}/" + "9" * 400, "/api/{flat}/0.0/nofield/point?at=1,2", "/nothing", "/api/{flat}/٣.0"],
)  # fmt: skip
def test_what_is_not_there_is_404(client: Client, path: str) -> None:
    path = quote(path.replace("{flat}", series("flat_###.nc")), safe="/?=,")
    status, _, body = client.get(path)
    assert (status, body) == (404, b"not found\n")


@pytest.mark.parametrize("query", ["", "at=", "at=1", "at=1,2,3", "at=-1,0", "at=a,b", "at=999,0", f"at={'9' * 99},0"])
def test_points_outside_are_a_clear_error(client: Client, query: str) -> None:
    assert client.get(f"/api/{series('flat_###.nc')}/0.0/{identifier('eta')}/point?{query}")[0] == 400


def test_a_step_may_change_under_a_viewer(tmp_path: Path) -> None:
    path = write_step(tmp_path / "run_0.nc", {"eta": FLAT[0]})
    with served(tmp_path) as client:
        tile = tile_path(client, "run_#.nc", "eta", 0, 0, 0, 0, 0)
        assert client.get(tile)[0] == 200
        write_step(tmp_path / "new", {"eta": FLAT[1]}).rename(path)
        assert client.get(tile)[0] == 410
        fresh = tile_path(client, "run_#.nc", "eta", 0, 0, 0, 0, 0)
        np.testing.assert_allclose(decode_tile(client.get(fresh)[2]), FLAT[1][:256, :256], atol=2e-3)
        os.truncate(path, path.stat().st_size // 2)
        status, _, body = client.get(f"/api/{series('run_#.nc')}/0.0")
        assert status == 422
        assert body == b"run_0.nc is no whole NetCDF-4 or HDF5 file\n"
        path.write_bytes(b"")
        assert client.get(f"/api/{series('run_#.nc')}/0.0")[0] == 422
        path.unlink()
        assert client.get(tile)[0] == 404
        assert client.get("/api/series")[0] == 200


def test_values_that_are_no_smooth_field(tmp_path: Path) -> None:
    fields = {
        "nan": np.full((20, 30), np.nan, "f4"),
        "one": np.full((20, 30), 7.5, "f4"),
        "tiny": np.linspace(1e-300, 2e-300, 600).reshape(20, 30),
        "infinite": np.where(np.arange(600).reshape(20, 30) == 5, -np.inf, 1).astype("f8"),
    }
    write_step(tmp_path / "odd_0.nc", fields)
    with served(tmp_path) as client:
        for name, values in fields.items():
            data = client.get(tile_path(client, "odd_#.nc", name, 0, 0, 0, 0, 0))[2]
            np.testing.assert_allclose(decode_tile(data), values, rtol=1e-3)
            client.json(f"/api/{series('odd_#.nc')}/0.0/{identifier(name)}/statistics")
        assert (
            client.json(f"/api/{series('odd_#.nc')}/0.0/{identifier('infinite')}/point?at=0,5")["value"] == "-Infinity"
        )


def test_no_tile_says_infinity_of_a_finite_value(tmp_path: Path) -> None:
    values = np.random.default_rng(3).normal(0, 1e-250, (300, 40))
    values[12, 30] = 1e-236
    values[13, 30], values[14, 30], values[15, 30] = 1e300, np.inf, np.nan
    write_step(tmp_path / "odd_0.nc", {"eta": values})
    with served(tmp_path) as client:
        path = tile_path(client, "odd_#.nc", "eta", 0, 0, 0, 0, 0)
        shown = decode_tile(client.get(path)[2])
        assert np.array_equal(np.isfinite(shown), np.isfinite(values[:256]))
        assert shown[13, 30] == pytest.approx(1e300, rel=1e-3)
        exact = client.get(path.replace("/tile/", "/exact-tile/"))[2]
        np.testing.assert_array_equal(decode_tile(exact), values[:256])


def test_a_small_difference_is_not_the_rounding_of_overviews(tmp_path: Path) -> None:
    for number, values in enumerate((FLAT[0].astype("f8"), FLAT[0] + 1e-7 * FLAT[1].astype("f8"))):
        indexing.make_overview(write_step(tmp_path / f"run_{number}.nc", {"eta": values}))
    with served(tmp_path) as client:
        other = client.json(f"/api/{series('run_#.nc')}/0.0")["version"]
        for level in (0, 1, 3):
            path = tile_path(client, "run_#.nc", "eta", level, 0, 0, 0, 0, step="1.0").replace("/tile/", "/difference/")
            path += f"/{series('run_#.nc')}:0.0@{other}"
            rough, exact = (decode_tile(client.get(p)[2]) for p in (path, path.replace("/diff", "/exact-diff")))
            np.testing.assert_allclose(rough, exact, atol=1e-10)
            row, column, width = 200 >> level, 160 >> level, 1 << level
            cells = FLAT[1][row * width : (row + 1) * width, column * width : (column + 1) * width]
            assert exact[row, column] == pytest.approx(1e-7 * cells.astype("f8").mean(), abs=1e-13)


def test_names_of_any_kind(tmp_path: Path) -> None:
    name = "<script>alert(1)</script> \"q' & ünï 運び"
    write_step(tmp_path / f"{name.replace('/', '')}_1.nc", {name.replace("/", "|"): FLAT[0][:20, :20]})
    with served(tmp_path) as client:
        [found] = client.json("/api/series")["series"]
        step = client.json(f"/api/{found['id']}/1.0")
        assert step["fields"][0]["name"] == name.replace("/", "|")
        _, _, page = client.get("/")
        assert b"<script>alert" not in page
        start = page.partition(b'id="start">')[2].partition(b"</script>")[0]
        assert json.loads(start)["step"]["fields"][0]["name"] == name.replace("/", "|")


def test_new_steps_are_told(tmp_path: Path) -> None:
    write_step(tmp_path / "run_0.nc", {"eta": FLAT[0]})
    with served(tmp_path) as client, socket.create_connection(("127.0.0.1", client.port), timeout=20) as line:
        line.sendall(f"GET /api/events HTTP/1.1\r\nHost: localhost\r\nCookie: {client.cookie}\r\n\r\n".encode())
        told = line.recv(10_000)
        write_step(tmp_path / "new", {"eta": FLAT[1]}).rename(tmp_path / "run_1.nc")
        begin = time.monotonic()
        while b"event: series" not in told:
            told += line.recv(10_000)
        assert time.monotonic() - begin < 10
        news: Any = json.loads(told.partition(b"data: ")[2].partition(b"\n")[0])
        assert (news["id"], news["runs"]) == (series("run_#.nc"), [[0, 1, 2]])


def test_the_cache_is_bounded() -> None:
    cache = Cache(1000, len)
    made = []
    for number in range(100):
        cache.get(str(number), lambda n=number: made.append(n) or b"x" * 100)  # type: ignore[misc]
    assert cache.num_bytes <= 1000
    cache.get("99", lambda: pytest.fail("it was kept"))
    with pytest.raises(ZeroDivisionError):
        cache.get("bad", lambda: bytes(1 // 0))
    assert cache.get("bad", lambda: b"good") == b"good"


def test_a_slow_line_brings_everything_and_nothing_too_soon(client: Client) -> None:
    path = tile_path(client, "flat_###.nc", "eta", 0, 0, 0, 0, 0)
    whole = client.get(path)[2]
    with slow_line(client.port, 200_000, 0.1) as port:
        begin = time.monotonic()
        far = Client(port, client.cookie)
        assert far.get(path)[2] == whole
        assert time.monotonic() - begin > 0.2 + len(whole) / 200_000


def test_requests_by_a_fuzzer(client: Client, fresh_seed: int) -> None:
    report = attack(client.port, client.cookie or "", num_requests=2000, seed=fresh_seed)
    assert report.num_requests == 2000
    assert not report.findings, report.findings[:3]
    assert client.get("/api/series")[0] == 200


def test_a_picture_without_a_browser(hakobi: Command, folder: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    out = tmp_path / "out.png"
    result = hakobi("post", folder / "flat", "--picture", out, "--field", "eta", "--step", "last")
    assert (result.status, result.stderr) == (0, "")
    with image.open(out) as picture:
        assert picture.width > 1000
        assert len(picture.getcolors(1 << 24)) > 100
    assert hakobi("post", folder / "solid", "--picture", out, "--slice", "z=3").status == 0
    for arguments, text in [
        (["--field", "et"], "has no field 'et'"),
        (["--step", "77"], "there is no step 77"),
        (["--slice", "z=1"], "nothing to slice"),
        (["--colours", "jet"], "unknown colour map 'jet'"),
        (["--range", "2", "1"], "is empty"),
    ]:
        result = hakobi("post", folder / "flat", "--picture", out, *arguments)
        assert result.status == 2
        assert text in result.line()
    assert hakobi("post", folder / "solid", "--picture", out, "--slice", "z=70").status == 2


def test_colour_maps_are_even() -> None:
    from hakobi.post.picture import colour_maps, colours_of

    matrix = np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                       [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
    to_lab = np.array([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099],
                       [0.0259040371, 0.7827717662, -0.808675766]])  # fmt: skip
    for name, told in colour_maps().items():
        rgb = colours_of(name)
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        steps = np.linalg.norm(np.diff((to_lab @ np.cbrt(matrix @ linear.T)).T, axis=0), axis=1)
        halves = np.split(steps, [127, 128])[::2] if told.get("diverging") else [steps]
        for half in halves:
            assert half.max() < 1.35 * np.median(half), name
        lightness = to_lab[0] @ np.cbrt(matrix @ linear.T)
        if not told.get("diverging"):
            assert (np.diff(lightness) > 0).all(), name


def test_answers_are_sent_at_once() -> None:
    """asyncio asks for TCP_NODELAY only where the socket says that it is TCP."""

    async def is_at_once() -> bool:
        found = asyncio.get_running_loop().create_future()

        class Accepted(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                end = transport.get_extra_info("socket")
                found.set_result(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0)

        with serving.listen("127.0.0.1", 0) as listener:
            server = await asyncio.get_running_loop().create_server(Accepted, sock=listener)
            with socket.create_connection(listener.getsockname()):
                result: bool = await asyncio.wait_for(found, 30)
            server.close()
            return result

    assert asyncio.run(is_at_once())

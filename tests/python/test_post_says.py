"""`hakobi post` says what is there: the line of Python, the first field, how many steps, sizes, that it works."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from matplotlib.figure import Figure

from hakobi.post import objects, server
from hakobi.post.catalogue import identifier
from hakobi.post.opening import open_step
from hakobi.post.source import default_field
from hakobi_lab import browser as browsers
from hakobi_lab import object_servers
from mesh_files import QUADS, ball, block, write_mesh, write_moving_mesh
from posting import TOKEN, Client, served, wave, write_step
from running import Result, run_python, start
from test_post_browser import errors
from test_post_browser import pytestmark as pytestmark

Command = Callable[..., Result]


def write_times(path: Path, first: int, count: int, **attributes: str) -> Path:
    """A file of several steps."""
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("time", None), ("y", 30), ("x", 40)):
            file.createDimension(name, size)
        times = file.createVariable("time", "f8", ("time",))
        times.units, times[:] = "days since 2001-02-27", np.arange(first, first + count)
        times.setncatts(attributes)
        values = np.arange(first, first + count)[:, None, None] + wave((30, 40)) / 10
        file.createVariable("eta", "f8", ("time", "y", "x"))[:] = values
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for first, count in ((0, 2), (2, 2), (4, 1)):
        write_times(folder / f"days_{first:06}.nc", first, count)
    write_step(folder / "deep_0.nc", {"p": wave((20, 24, 28))})
    with netCDF4.Dataset(folder / "classic.nc", "w", format="NETCDF3_64BIT_OFFSET") as file:
        for name, size in (("y", 40), ("x", 50)):
            file.createDimension(name, size)
        file.createVariable("t", "f4", ("y", "x"))[:] = wave((40, 50))
    write_moving_mesh(folder / "moving.hdf", block("tetrahedra", (2, 2, 2)))
    velocity = np.random.default_rng(1).random((8, 3))
    write_mesh(folder / "flow_0.hdf", [block("hexahedra", (2, 2, 2))], None, {"U": velocity})
    return folder


def opened(browser: browsers.Browser, client: Client, name: str, state: str = "") -> browsers.Browser:
    browser.go("about:blank")
    browser.console()
    browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}#series={identifier(name)}&{state}")
    browser.wait("document.querySelector('#python').textContent && document.querySelector('#busy').hidden")
    return browser


def text(browser: browsers.Browser, name: str) -> str:
    return browser.run("return document.getElementById(arguments[0]).textContent", name)  # type: ignore[no-any-return]


def values_of(path: Path, field: str, time_: int) -> Any:
    with open_step(path) as step:
        shape = next(this.shape for this in step.all_fields() if this.name == field)
        return step.read(field, time_, tuple((0, n) for n in shape))


def data_of(line: str) -> Any:
    names: dict[str, Any] = {}
    exec(line, names)
    return np.asarray(names["data"])


@pytest.mark.parametrize(
    ("name", "file", "field", "time_"),
    [("days_######.nc", "days_000002.nc", "eta", 1), ("deep_#.nc", "deep_0.nc", "p", 0),
     ("classic.nc", "classic.nc", "t", 0), ("moving.hdf", "moving.hdf", "p", 1), ("moving.hdf", "moving.hdf", "p", 0),
     ("flow_#.hdf", "flow_0.hdf", "U y", 0), ("flow_#.hdf", "flow_0.hdf", "U magnitude", 0)],
)  # fmt: skip
def test_the_line_of_python_gives_what_is_shown(
    browser: browsers.Browser, client: Client, folder: Path, name: str, file: str, field: str, time_: int
) -> None:
    expected = values_of(folder / file, field, time_)
    number = file.removesuffix(".nc").removesuffix(".hdf").rpartition("_")[2]
    place = f"{int(number) if '#' in name else -1}.{time_}"
    opened(browser, client, name, f"step={place}&field={field}")
    shown = expected[len(expected) // 2] if expected.ndim == 3 else expected
    np.testing.assert_allclose(data_of(text(browser, "python")), shown)
    assert errors(browser) == []


ZARR = """
import numpy as np, hakobi
comm = hakobi.Comm.duplicate()
block = hakobi.split((200, 300), comm.size, comm.rank)
with hakobi.Output.create(comm, "run", format="zarr", compression="zstd:3") as out:
    for step in range(3):
        out.begin_step(60.0 * step)
        values = np.random.default_rng(step).random((200, 300)) if step else np.zeros((200, 300))
        out.put("eta", "m", block, values[block.slices])
        out.end_step()
comm.free()
"""


@pytest.mark.programs
@pytest.mark.once
def test_a_step_of_zarr_has_its_line_and_its_size(browser: browsers.Browser, tmp_path: Path) -> None:
    assert run_python(ZARR, tmp_path).returncode == 0
    shards = [(tmp_path / f"run.zarr/eta/c.{step}.0.0").stat().st_size for step in range(3)]
    assert shards[0] < shards[1] / 5
    with served(tmp_path) as client:
        for step in (0, 2):
            opened(browser, client, "run.zarr", f"step=-1.{step}")
            values = np.random.default_rng(step).random((200, 300)) if step else np.zeros((200, 300))
            np.testing.assert_array_equal(data_of(text(browser, "python")), values)
            assert client.json(f"/api/{identifier('run.zarr')}/-1.{step}")["num_bytes"] == shards[step]
            assert text(browser, "bytes").startswith("this step")
        browser.wait("document.querySelector('#series').selectedOptions[0].textContent === 'run.zarr (3)'")


def test_the_line_of_python_reads_objects(
    browser: browsers.Browser, s3: object_servers.S3Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    obstore = pytest.importorskip("obstore")
    for name, value in {**s3.environment, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(name, value)
    objects._store.cache_clear()
    address = f"s3://{object_servers.BUCKET}"
    for name in ("days_000000.nc", "classic.nc", "moving.hdf"):
        obstore.put(objects._store(address), f"line/{name}", folder / name)
    with served(objects.ObjectPath.of(f"{address}/line")) as client:
        for name, number, field, time_ in (("days_######.nc", 0, "eta", 1), ("classic.nc", -1, "t", 0),
                                           ("moving.hdf", -1, "p", 1)):  # fmt: skip
            opened(browser, client, name, f"step={number}.{time_}")
            expected = values_of(folder / name.replace("#", "0"), field, time_)
            np.testing.assert_allclose(data_of(text(browser, "python")), expected)


def test_the_first_field_is_no_mask_nor_the_first_of_the_alphabet(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        for name, size in (("time", None), ("z", 3), ("y", 4), ("x", 5)):
            file.createDimension(name, size)
        flat, deep = ("time", "y", "x"), ("time", "z", "y", "x")

        def first_after(name: str, dtype: str, dims: tuple[str, ...], standard_name: str = "") -> str:
            variable = file.createVariable(name, dtype, dims)
            variable[:] = np.ones([2 if dim == "time" else file.dimensions[dim].size for dim in dims])
            if standard_name:
                variable.standard_name = standard_name
            file.sync()
            with open_step(tmp_path / "a.nc") as step:
                found = default_field(step)
            assert found is not None
            return found.name

        assert first_after("a_mask", "f8", ("z", "y", "x")) == "a_mask"
        assert first_after("b_kind", "i4", flat) == "b_kind"
        assert first_after("v", "f8", flat) == "v"
        assert first_after("a", "f8", flat) == "v"
        assert first_after("w", "f8", flat, "sea_surface_height") == "w"
        assert first_after("x3", "f8", deep) == "x3"


def test_colours_that_are_kept_from_another_step_are_called_held(browser: browsers.Browser, client: Client) -> None:
    opened(browser, client, "days_######.nc")
    chosen = "document.querySelector('#range').value"
    assert browser.run(f"return {chosen}") == "0.5"
    low = browser.run("return hakobi.now.look.low")
    browser.run("return hakobi.goTo(0)")
    browser.wait(f"{chosen} === 'held'")
    assert browser.run("return hakobi.now.look.low") == low
    browser.run("const e = document.querySelector('#range'); e.value = '0.5'; e.dispatchEvent(new Event('change'))")
    browser.wait(f"{chosen} === '0.5' && hakobi.now.look.low < {low} - 3")


def test_steps_are_counted_and_not_files(browser: browsers.Browser, client: Client) -> None:
    series = identifier("days_######.nc")
    assert client.json(f"/api/{series}/counts") == {"steps": [[2, 2], [1, 1]]}
    opened(browser, client, "days_######.nc")
    browser.wait("document.querySelector('#series').selectedOptions[0].textContent === 'days_….nc (5)'")
    assert text(browser, "when") == "5 / 5  ·  2001-03-03 00:00:00 UTC"
    seen = []
    for step in range(4, -1, -1):
        browser.wait(f"document.querySelector('#time').value === '{step}'")
        seen.append(browser.run("return hakobi.now.name"))
        browser.run("document.querySelector('#previous').click()")
    assert seen == ["4.0", "2.1", "2.0", "0.1", "0.0"]
    names = browser.wait(
        "(() => { const found = [...document.querySelector('#series').options].map((o) => o.textContent);"
        " return found.every((name) => / \\(\\d+\\)$/.test(name)) && found; })()"
    )
    assert names == ["classic.nc (1)", "days_….nc (5)", "deep_….nc (1)", "flow_….hdf (1)", "moving.hdf (2)"]
    assert errors(browser) == []


#: All that is written on canvases from now on, with the place.
WRITTEN = """
const write = CanvasRenderingContext2D.prototype.fillText;
window.written = [];
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
  const half = this.measureText(text).width / 2, m = this.getTransform();
  const middle = this.textAlign === 'left' ? x + half : this.textAlign === 'right' ? x - half : x;
  if (m.b === 0 && text) window.written.push([this.canvas.id, text, middle - half, middle + half, y]);
  return write.call(this, text, x, y, ...more);
};
"""


def collisions(written: list[list[Any]]) -> list[tuple[str, str]]:
    return [
        (a[1], b[1])
        for n, a in enumerate(written) for b in written[:n]
        if a[0] == b[0] and a[2] < b[3] + 5 and b[2] < a[3] + 5 and abs(a[4] - b[4]) < 12
    ]  # fmt: skip


def test_no_label_is_written_over_another(browser: browsers.Browser, client: Client) -> None:
    opened(browser, client, "moving.hdf")
    browser.wait("document.querySelector('#mesh').dataset.complete === 'true'")
    browser.run(WRITTEN)
    for turn in np.linspace(0, 6.2, 12):
        browser.run(f"hakobi.mesh.move({{ turn: {turn}, tilt: {np.sin(3 * turn)} }})")
        written = browser.run("window.written = []; hakobi.mesh.drawNow(); return window.written")
        assert len([each for each in written if each[0] == "labels"]) > 6
        assert collisions(written) == []


def test_the_axes_of_a_moving_mesh_are_where_it_is(browser: browsers.Browser, client: Client) -> None:
    opened(browser, client, "moving.hdf", "step=-1.1")
    browser.wait("document.querySelector('#mesh').dataset.complete === 'true'")
    labels = "document.querySelector('#labels').dataset.labels.split('|').map(Number).filter(Number.isFinite)"
    assert browser.run(f"const found = {labels}; return [Math.min(...found), Math.max(...found)]") == [10, 12]
    assert browser.run("return hakobi.mesh.extent.low") == [10, 10, 10]
    browser.run("return hakobi.goTo(0)")
    browser.wait(f"hakobi.mesh.isComplete && {labels}.includes(0)")
    assert browser.run("const e = hakobi.mesh.extent; return [...e.low, ...e.high]") == [0, 0, 0, 12, 12, 12]
    places = browser.run("return Array.from(hakobi.mesh.drawn.values().next().value.placed)")
    assert max(map(abs, places)) <= 0.51
    assert browser.run("hakobi.set({ view: 'cut' }); return document.querySelector('#index-where').textContent")
    browser.wait("document.querySelector('#index-where').textContent === 'of 0 to 2'")


def test_a_round_surface_is_drawn_round(browser: browsers.Browser, client: Client) -> None:
    """By the normals of the page; edges have none."""
    opened(browser, client, "moving.hdf")
    script = (
        "return import(document.querySelector('script[type=module]').src.replace('main.js', 'normals.js'))"
        ".then((n) => Array.from(n.normalsOf(arguments[0], arguments[1])))"
    )
    for part, is_round in ((ball(8), True), (block("hexahedra", (1, 1, 1)), False)):
        hexahedra = part["Connectivity"].reshape(-1, 8)
        quads = np.concatenate([hexahedra[:, list(quad)] for quad in QUADS])
        once = np.unique(np.sort(quads, axis=1), axis=0, return_index=True, return_counts=True)
        skin = quads[once[1][once[2] == 1]]
        triangles = np.concatenate([skin[:, [0, 1, 2]], skin[:, [0, 2, 3]]])
        found = np.reshape(browser.run(script, part["Points"].ravel().tolist(), triangles.ravel().tolist()), (-1, 4))
        used = np.unique(triangles)
        if is_round:
            assert (np.linalg.norm(found[used, :3] / 127 - part["Points"][used], axis=1) < 0.2).mean() > 0.9
        else:
            assert not found[used].any()


def test_a_step_that_takes_long_is_said_to_be_read(
    browser: browsers.Browser, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = server.Server._ask

    async def slow(self: server.Server, name: str, *arguments: Any) -> Any:
        if name in ("start", "step"):
            await asyncio.sleep(4)
        return await own(self, name, *arguments)

    monkeypatch.setattr(server.Server, "_ask", slow)
    with served(folder / "classic.nc") as client:  # which has waited for the first page already
        begin = time.monotonic()
        browser.go("about:blank")
        browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}")
        assert browser.run("return getComputedStyle(document.querySelector('#busy')).animationDelay") == "0.15s"
        browser.wait("document.querySelector('#busy').textContent === 'Reading classic.nc …'")
        assert not browser.run("return document.querySelector('#busy').hidden")
        assert time.monotonic() - begin < 4
        browser.wait("document.querySelector('#plane').dataset.complete === 'true'")
        assert browser.run("return document.querySelector('#busy').hidden")


def test_a_step_is_told_whose_first_field_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the page's first question is under way, which asks for the field's statistics too."""
    monkeypatch.setattr(server, "_START_S", 0.0)
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("p", shape=(10, 80_000_000), dtype="f4", chunks=(1, 80_000_000), compression="gzip")
    with served(tmp_path) as client:
        for _ in range(3):
            assert client.get("/")[0] == 200
            assert client.json(f"/api/{identifier('a.nc')}/-1.0")["default"] == "p"


def test_all_of_the_header_is_on_a_phone(browser: browsers.Browser, client: Client) -> None:
    resize = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.command("Emulation.setDeviceMetricsOverride", resize)
    try:
        opened(browser, client, "deep_#.nc", "step=0.0")
        beyond = browser.run(
            "return [...document.querySelectorAll('header *, #narrow *')].filter((e) => e.offsetParent &&"
            " e.getBoundingClientRect().right > 390.5).map((e) => e.id || e.textContent)"
        )
        assert beyond == []
        assert browser.run("return document.querySelector('#png').getBoundingClientRect().top") > 260
    finally:
        browser.command("Emulation.clearDeviceMetricsOverride", {})


def test_a_picture_says_which_step_it_is_and_when(
    hakobi: Command, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.png"
    said = hakobi("post", folder / "days", "--picture", out, "--step", "3").stdout
    assert said == f"{out}: eta, step 3, 2001-03-02 00:00:00 UTC (days_000002.nc)\n"
    write_times(tmp_path / "year.nc", 0, 4, calendar="360_day")
    said = hakobi("post", tmp_path / "year.nc", "--picture", out).stdout
    assert said == f"{out}: eta, step 3, 2001-02-30 00:00:00 360_day (year.nc)\n"
    assert hakobi("post", folder / "classic.nc", "--picture", out).stdout == f"{out}: t (classic.nc)\n"
    with h5py.File(write_step(tmp_path / "map.nc", {"eta": wave((40, 50))}), "a") as file:
        file["lon"][:] = np.linspace(150, 250, 50)
        file["eta"].attrs["units"] = "1"
    labels: list[str] = []
    save = Figure.savefig

    def watched(self: Figure, *arguments: Any, **words: Any) -> None:
        save(self, *arguments, **words)
        labels.extend(label.get_text() for label in self.axes[0].get_xticklabels())
        labels.append(self.axes[0].get_xlabel() + self.axes[1].get_ylabel())

    monkeypatch.setattr(Figure, "savefig", watched)
    assert hakobi("post", tmp_path / "map.nc", "--picture", out).status == 0
    assert {"160° E", "160° W", "120° W"} <= set(labels)
    assert labels[-1] == ""


def test_plain_numbers_have_no_units(browser: browsers.Browser, tmp_path: Path) -> None:
    with h5py.File(write_step(tmp_path / "a.nc", {"eta": wave((40, 50))}), "a") as file:
        file["eta"].attrs["units"] = "1"
    with served(tmp_path) as client:
        opened(browser, client, "a.nc")
        assert text(browser, "field-about") == "40 × 50 float32"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_ended_has_the_status_of_every_command(folder: Path, number: signal.Signals) -> None:
    process = start("post", folder, env=os.environ)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("http://")
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 130

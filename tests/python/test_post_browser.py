"""`hakobi post` in a real browser."""

from __future__ import annotations

import base64
import io
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from hakobi import records
from hakobi.post import indexing
from hakobi.post.catalogue import identifier
from hakobi_lab import browser as browsers
from mesh_files import block, write_mesh
from pixels_post import KINDS, compare, make_fields
from posting import TOKEN, Client, served, wave, write_step
from running import Result

# Nothing here knows of MPI: once, with Open MPI, is enough where the tests run for both libraries.
_WHY_NOT = browsers.why_not() or ("run with Open MPI" if os.environ.get("HAKOBI_MPI") == "mpich" else "")
pytestmark = pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT)
NASTY = "<img src=x onerror=alert(1)> \"'&"
FLAT = [wave((300, 530), phase) for phase in (0.0, 1.0, 2.0)]
SOLID = wave((40, 50, 60))
DRAWN = "document.querySelector('#plane').dataset.complete === 'true'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for number, values in enumerate(FLAT):
        indexing.make_overview(write_step(folder / f"flat_{number:03}.nc", {"eta": values}, 60.0 * number))
    write_step(folder / "solid_0.nc", {NASTY: SOLID})
    return folder


@pytest.fixture
def page(browser: browsers.Browser, client: Client) -> browsers.Browser:
    browser.go("about:blank")
    browser.console()
    browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}")
    browser.wait(DRAWN)
    return browser


def errors(browser: browsers.Browser) -> list[str]:
    return [line for line in browser.console() if "GL Driver" not in line and "readback" not in line]


def pixel(browser: browsers.Browser, row: int, column: int) -> list[int]:
    """The colour on the screen of a cell of the field."""
    return browser.run(  # type: ignore[no-any-return]
        "const p = hakobi.plane; const [x, y] = p.toScreen(arguments[1] + 0.5, arguments[0] + 0.5);"
        "const r = devicePixelRatio; return [...p.context.getImageData(x * r, y * r, 1, 1).data.slice(0, 3)]",
        row,
        column,
    )


def test_the_newest_step_is_drawn_in_its_colours(page: browsers.Browser) -> None:
    from hakobi.post.picture import colours_of

    assert page.run("return document.querySelector('#when').textContent").startswith("3 / 3  ·  2011-03-11 05:48:24")
    assert "token" not in page.run("return location.href")
    page.run("document.querySelector('#coast').click()")  # no coast line over the cells
    time.sleep(0.3)
    low, high, name = page.run("const l = hakobi.now.look; return [l.low, l.high, l.map]")
    for row, column in ((200, 300), (280, 40), (30, 500)):
        part = np.clip((FLAT[2][row, column] - low) / (high - low), 0, 1)
        expected = 255 * colours_of(name)[round(255 * float(part))]
        assert np.abs(np.array(pixel(page, row, column)) - expected).max() <= 6
    assert pixel(page, 10, 10) == [200, 196, 188]  # no value
    assert errors(page) == []


def test_a_click_asks_for_the_exact_value_and_the_steps(page: browsers.Browser) -> None:
    x, y = page.run(
        "const p = hakobi.plane, b = p.canvas.getBoundingClientRect(), [x, y] = p.toScreen(300.5, 200.5);"
        "return [Math.round(b.left + x), Math.round(b.top + y)]"
    )
    page.drag([(x, y)])
    page.wait("document.querySelector('#times path')")
    row, column = page.run("return hakobi.state.point")
    assert abs(row - 200) <= 1
    assert abs(column - 300) <= 1
    value = float(
        page.run("return document.querySelector('#point').textContent").split(": ")[1].split()[0].replace("−", "-")
    )
    assert value == pytest.approx(float(FLAT[2][row, column]), rel=1e-6)
    assert "point=" in page.wait("location.hash.includes('point') && location.hash")


def test_keys_go_through_steps_and_zoom(page: browsers.Browser) -> None:
    page.run("document.querySelector('#plane').focus()")
    page.press("\ue012")  # arrow left
    page.wait("hakobi.now.file === 1 && hakobi.plane.isComplete")
    before = page.run("return hakobi.plane.zoom()")
    page.press("+", "+")
    page.wait(f"hakobi.plane.zoom() > {before * 1.5}")
    page.press("0")
    page.wait(f"Math.abs(hakobi.plane.zoom() - {before}) < 1e-9")
    page.drag([(400, 400), (460, 430), (500, 450)], "touch")
    assert page.run("return hakobi.plane.view.x") < 265
    page.press("d")
    page.wait("hakobi.now.minus && hakobi.plane.isComplete && hakobi.now.look.map === 'swell'")
    shown = page.run("return hakobi.plane.peek(200, 300).value")
    assert shown == pytest.approx(float(FLAT[1][200, 300]) - float(FLAT[0][200, 300]), abs=3e-3)
    assert errors(page) == []


def test_a_view_is_a_link(page: browsers.Browser, client: Client) -> None:
    series = identifier("solid_#.nc")
    page.go("about:blank")
    page.go(f"http://127.0.0.1:{client.port}/#series={series}&axis=2&index=7&map=ember&range=held&low=-1&high=2")
    page.wait(DRAWN)
    found = page.run("const n = hakobi.now; return [n.axis, n.index, n.look.map, n.look.low, n.look.high]")
    assert found == [2, 7, "ember", -1, 2]
    assert page.run("return hakobi.plane.peek(30, 20).value") == pytest.approx(float(SOLID[30, 20, 7]), abs=2e-3)
    # The name that would be a script is text, wherever it stands.
    assert page.run("return document.querySelector('#field-title').textContent") == NASTY
    assert page.run("return document.querySelectorAll('img').length") == 0
    assert page.run("return document.querySelector('#python').textContent").endswith(".isel(time=0, x=7)")
    assert errors(page) == []


@pytest.mark.parametrize("view", ["volume", "surface"])
def test_volume_and_isosurface_are_drawn(page: browsers.Browser, client: Client, view: str) -> None:
    page.go("about:blank")
    page.go(f"http://127.0.0.1:{client.port}/#series={identifier('solid_#.nc')}&view={view}")
    page.wait("document.querySelector('#scene').dataset.complete === 'true'")
    colours = page.run(
        "const s = hakobi.scene, g = s.gl, w = s.canvas.width, h = s.canvas.height, d = new Uint8Array(4 * w * h);"
        "s.drawNow(); g.readPixels(0, 0, w, h, g.RGBA, g.UNSIGNED_BYTE, d);"
        "const c = new Set(); for (let i = 0; i < d.length; i += 4) c.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);"
        "return c.size"
    )
    assert colours > 100
    assert errors(page) == []


def test_twelve_windows_of_one_browser_are_drawn(page: browsers.Browser, client: Client) -> None:
    """A browser keeps six connections to a server, and a stream of events takes one for good."""
    place = f"http://127.0.0.1:{client.port}/#series={identifier('solid_#.nc')}&axis=2&index="
    script = "window.others = arguments[0].map(a => window.open(a, '_blank', 'popup,width=500,height=400'))"
    page.run(script, [f"{place}{index}" for index in range(12)])
    try:
        page.wait("window.others.every(w => w.document.querySelector('#plane')?.dataset.complete === 'true')")
    finally:
        page.run("window.others.forEach(w => w.close())")


def test_pictures_are_saved(page: browsers.Browser) -> None:
    page.run("document.querySelector('#png').click()")
    assert int(page.wait("document.body.dataset.saved")) > 10_000


def test_controls_have_names_and_contrast(page: browsers.Browser) -> None:
    unnamed = page.run(
        "return [...document.querySelectorAll('button, select, input, canvas[tabindex]')].filter(e => e.offsetParent &&"
        " !(e.textContent.trim() || e.getAttribute('aria-label') || e.closest('label')?.textContent.trim()))"
        ".map(e => e.id)"
    )
    assert unnamed == []
    ratio = page.run(
        "const rgb = c => c.match(/[\\d.]+/g).slice(0, 3).map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 :"
        " ((v + 0.055) / 1.055) ** 2.4 });"
        "const lum = c => { const [r, g, b] = rgb(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b };"
        "const a = lum(getComputedStyle(document.querySelector('#field-about')).color),"
        " b = lum(getComputedStyle(document.querySelector('aside')).backgroundColor);"
        "return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)"
    )
    assert ratio > 4.5


@pytest.mark.long
def test_the_benchmark_tells_how_soon_there_is_a_picture(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    words = ["bench", "post", "--size", "2M", "--rounds", 1, "--viewers", 1, "--link", "loopback", "--threads", 1]
    result = hakobi(*words, "--folder", tmp_path / "b", "--json", out)
    assert (result.status, result.stderr) == (0, "")
    found = records.read(out)
    pictures = [r for r in found if r["what"] == "first_picture"]
    assert [r["axis"] for r in pictures] == ["z", "y", "x"]
    assert all(0 < r["median_s"] < 60 and 1000 < r["wire_bytes"] < 10e6 for r in pictures)
    assert list((tmp_path / "b").iterdir()) == []
    assert hakobi("bench", "post", "--size", "many").line().startswith("hakobi bench post: size 'many' is not")


BENCHES = Path(__file__).resolve().parents[2] / "lab" / "post"


@pytest.mark.long
def test_a_comparison_times_what_is_on_the_screen(tmp_path: Path) -> None:
    """With the one contender that is always there."""
    out = tmp_path / "f.jsonl"
    words = ["--folder", tmp_path, "--size", "2M", "--link", "loopback", "--rounds", "1", "--json", out]
    done = subprocess.run([sys.executable, BENCHES / "compare.py", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = records.read(out)
    assert [record["axis"] for record in told] == ["z", "y", "x"]
    for record in told:
        assert 0 < record["median_s"] < 30
        assert record["last_s"][0] >= record["samples_s"][0]


@pytest.mark.programs
@pytest.mark.once
def test_steps_of_a_run_are_seen_while_it_goes_on(tmp_path: Path) -> None:
    words = ["--folder", tmp_path, "--link", "loopback", "--rounds", "1"]
    words += ["--", "--resolution", "20", "--steps-out", "3"]
    done = subprocess.run([sys.executable, BENCHES / "live.py", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(
        r"a step is on the screen ([0-9.]+) s after its renaming \[.*\], (\d+) steps; (\d+) were", done.stdout
    )
    assert found, done.stdout
    assert 0 < float(found[1]) < 30
    assert int(found[2]) + int(found[3]) == 3


def test_new_steps_appear_by_themselves(browser: browsers.Browser, tmp_path: Path) -> None:
    write_step(tmp_path / "run_0.nc", {"eta": FLAT[0]})
    with served(tmp_path) as client:
        browser.go("about:blank")
        browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}")
        browser.wait(DRAWN)
        time.sleep(0.3)  # until the page listens
        write_step(tmp_path / "new", {"eta": FLAT[1]}).rename(tmp_path / "run_1.nc")
        browser.wait("hakobi.now.file === 1 && hakobi.plane.isComplete")
        assert browser.run("return hakobi.plane.peek(200, 300).value") == pytest.approx(
            float(FLAT[1][200, 300]), abs=2e-3
        )
        (tmp_path / "run_1.nc").write_bytes(b"torn")
        browser.run("hakobi.goTo(0)")
        browser.wait("hakobi.now.file === 0")
        assert browser.run("return hakobi.plane.peek(200, 300) !== null")


def test_pixels_are_those_of_the_picture(browser: browsers.Browser, tmp_path: Path) -> None:
    """A few of the fields of pixels_post.py: a wave of 1 that ends in 1e-320, one bright cell in noise, a tile of other
    values."""
    numbers = [KINDS.index(kind) for kind in KINDS if kind.__name__ in ("_calm_sea", "_bright_cell", "_two_worlds")]
    fields = make_fields(tmp_path, numbers, 1)
    with served(tmp_path) as client:
        assert compare(browser, client, tmp_path, fields, tmp_path) == []
        assert errors(browser) == []


def test_a_narrow_range_of_colours_and_the_pointer_show_what_is_there(
    browser: browsers.Browser, tmp_path: Path
) -> None:
    values = np.linspace(300, 330, 300 * 530).reshape(300, 530)
    values[3, 7] = 0
    indexing.make_overview(write_step(tmp_path / "run_0.nc", {"t": values}))
    with served(tmp_path) as client:
        browser.go("about:blank")
        browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}")
        browser.wait(DRAWN)
        hover = (
            "hakobi.showReadout([arguments[0], arguments[1]]); return document.querySelector('#readout').textContent"
        )
        told = browser.run(hover, 200, 300)
        assert "about 3" in told
        shown = float(told.split("about ")[1].split()[0])
        digits = len(told.split("about ")[1].split()[0].replace(".", ""))
        assert abs(shown - values[200, 300]) < 10.0 ** (3 - digits)
        assert 3 <= digits <= 6
        for low, zoom in ((values[200, 300] - 0.001, ""), (values[200, 300] - 0.02, "zoom: 0.4, x: 265, y: 150,")):
            browser.run(f"return hakobi.set({{ low: {low}, high: {low + 0.01}, range: 'held', {zoom} map: 'tide' }})")
            browser.wait("(hakobi.plane.drawNow(), hakobi.plane.isComplete)")
            level = browser.run("return hakobi.plane.shown")
            assert level == (1 if zoom else 0)
            kept = browser.run("return [...hakobi.plane.tiles.kept.keys()].filter((a) => a.startsWith('exact'))")
            assert kept
        browser.run(f"return hakobi.set({{ low: {values[200, 300] - 0.001} }}).then(() => hakobi.plane.fit())")
        browser.wait("(hakobi.plane.drawNow(), hakobi.plane.shown === 0 && hakobi.plane.isComplete)")
        assert browser.run(hover, 200, 300).endswith(f"  {values[200, 300]:.8g} m")
        assert errors(browser) == []


def test_a_refused_request_is_one_clear_message(browser: browsers.Browser, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "chunk.nc", "w") as file:
        file.create_dataset("eta", shape=(10, 80_000_000), dtype="f4", chunks=(1, 80_000_000), compression="gzip")
    with served(tmp_path) as client:
        browser.go("about:blank")
        browser.console()
        browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}")
        browser.wait("!document.querySelector('#message').hidden")
        told = browser.run("return document.querySelector('#message').textContent")
        assert told.startswith("eta is stored in chunks of 305 MiB")
        assert all("422" in line for line in errors(browser))


#: The file that the page gives to be saved: as the next script finds it.
CATCH = """
window.given = [];
const make = URL.createObjectURL;
URL.createObjectURL = (blob) => { window.given.push(blob); return make(blob); };
HTMLAnchorElement.prototype.click = function () { window.given.at(-1).called = this.download; };
"""


def test_a_saved_picture_is_what_was_on_the_screen(page: browsers.Browser) -> None:
    page.run(CATCH)
    page.run("document.querySelector('#png').click()")
    page.wait("window.given.length")
    name, data = page.run("""
const blob = window.given[0];
const bytes = new Uint8Array(await blob.arrayBuffer());
return [blob.called, btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(''))];
""")
    assert name.endswith(".png")
    assert name.startswith("eta_")
    saved = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))
    left, top, width, height = page.run("return Object.values(window.hakobi.plane.area())")
    inside = saved[38 + top : 38 + top + height, left : left + width]
    assert inside.shape == (height, width, 3)
    shown = page.run("""
const { canvas } = window.hakobi.plane;
const { left, top, width, height } = window.hakobi.plane.area();
return Array.from(canvas.getContext('2d').getImageData(left, top, width, height).data.filter((_, n) => n % 400 < 4));
""")
    pixels = np.array(shown, np.uint8).reshape(-1, 4)
    is_field = pixels[:, 3] == 255
    assert is_field.mean() > 0.3
    assert np.array_equal(inside.reshape(-1, 3)[::100][is_field], pixels[is_field, :3])
    assert len(np.unique(inside.reshape(-1, 3), axis=0)) > 50  # a field, not a sheet


def pictures_of(webm: bytes) -> int:
    """How many pictures a WebM film has: the simple blocks of its clusters (EBML, RFC 8794)."""
    masters = {0x18538067, 0x1F43B675}  # segment, cluster: gone into
    count = at = 0
    while at < len(webm):
        width = 9 - webm[at].bit_length()
        kind = int.from_bytes(webm[at : at + width], "big")
        at += width
        width = 9 - webm[at].bit_length()
        size = int.from_bytes(webm[at : at + width], "big") & ((1 << (7 * width)) - 1)
        at += width
        count += kind == 0xA3
        at += 0 if kind in masters else size
    return count


def test_a_film_has_a_picture_of_every_step(page: browsers.Browser) -> None:
    page.run(CATCH)
    page.run("document.querySelector('#film').click()")
    page.wait("window.given.length", 30)
    name, data, width, height = page.run("""
const blob = window.given[0];
const bytes = new Uint8Array(await blob.arrayBuffer());
const video = Object.assign(document.createElement('video'), { muted: true, src: URL.createObjectURL(blob) });
await new Promise((resolve, reject) => { video.onloadeddata = resolve; video.onerror = () => reject(video.error); });
const text = btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(''));
return [blob.called, text, video.videoWidth, video.videoHeight];
""")
    assert name.endswith(".webm")
    assert min(width, height) > 400
    assert pictures_of(base64.b64decode(data)) == len(FLAT)
    assert not errors(page)


MESH_DRAWN = "document.querySelector('#mesh').dataset.complete === 'true'"


def test_meshes_are_drawn_cut_and_asked(browser: browsers.Browser, tmp_path: Path) -> None:
    parts = {"rotor": block("tetrahedra", (8, 8, 8)), "stator": block("hexahedra", (8, 8, 8), (8, 0, 0))}
    for name, part in parts.items():
        for number in range(2):
            points = part["Points"] + (number if name == "rotor" else 0)
            write_mesh(tmp_path / f"run_{name}_{number}.hdf", [{**part, "Points": points}], {"p": lambda x: x[:, 0]})
    with served(tmp_path) as client:
        browser.go("about:blank")
        browser.console()
        browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}")
        browser.wait(f"{MESH_DRAWN} && hakobi.mesh.numTriangles === 2 * 12 * 64")
        middle = """
const gl = hakobi.mesh.gl, p = new Uint8Array(4);
hakobi.mesh.drawNow();
gl.readPixels(gl.drawingBufferWidth / 2, gl.drawingBufferHeight / 2, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, p);
return [...p];
"""
        background = browser.run("return hakobi.mesh.background().map((v) => Math.round(255 * v))")
        assert browser.run(middle)[:3] != background
        x, y = browser.run(
            "const b = document.querySelector('#mesh').getBoundingClientRect();"
            "return [Math.round(b.left + b.width / 2), Math.round(b.top + b.height / 2)]"
        )
        browser.drag([(x, y)])
        browser.wait("document.querySelector('#times path') && hakobi.state.point")
        browser.run("hakobi.set({ view: 'cut', axis: 2, cut: 4.5 })")
        at = "Array.from(hakobi.mesh.drawn.values(), (d) => d.geometry.positions[0])"
        browser.wait(f"{at}.some((x) => Math.abs(x - 4.5) < 1e-3)")
        browser.run("document.querySelector('#with input').click()")
        browser.wait("hakobi.mesh.drawn.size === 1")
        assert errors(browser) == []


#: How many pixels at the picture's edges are not background, and how many of all.
DRAWN_PIXELS = """
const view = hakobi[arguments[0]], { gl } = view;
view.drawNow();
const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight], all = new Uint8Array(4 * width * height);
gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, all);
const ground = view.background().map((v) => Math.round(255 * v));
let [edge, inside] = [0, 0];
for (let n = 0; n < width * height; n += 1) {
  if (ground.every((v, d) => Math.abs(v - all[4 * n + d]) < 2)) continue;
  const [x, y] = [n % width, Math.floor(n / width)];
  if (x === 0 || y === 0 || x === width - 1 || y === height - 1) edge += 1; else inside += 1;
}
return [edge, inside / (width * height)];
"""


def test_meshes_and_volumes_are_whole_in_the_first_view(browser: browsers.Browser, tmp_path: Path) -> None:
    write_mesh(tmp_path / "cube_0.hdf", [block("hexahedra", (8, 8, 8))], {"p": lambda x: x[:, 0]})
    indexing.make_overview(write_step(tmp_path / "solid_0.nc", {"p": np.ones((40, 40, 40), "f4")}))
    with served(tmp_path) as client:
        browser.go("about:blank")
        browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}#series={identifier('cube_#.hdf')}")
        for name in ("mesh", "scene"):
            browser.wait(f"document.querySelector('#{name}').dataset.complete === 'true'")
            for turn, tilt in ((0.7, 0.5), (0.785, 0.615), (2.5, -0.9)):
                browser.run(f"hakobi.{name}.move({{ turn: {turn}, tilt: {tilt} }})")
                edge, share = browser.run(DRAWN_PIXELS, name)
                assert edge == 0
                assert share > 0.1
            browser.run(f"const v = hakobi.{name}; v.zoom(0.3); v.fitAgain();")
            assert browser.run(DRAWN_PIXELS, name)[0] == 0
            if name == "mesh":
                browser.run(f"hakobi.set({{ series: '{identifier('solid_#.nc')}', view: 'volume' }})")
        assert errors(browser) == []


def test_weather_has_coast_lines_arrows_and_a_range_for_each_level(browser: browsers.Browser, tmp_path: Path) -> None:
    shutil.copy(Path(__file__).parents[2] / "apps/weather/data/gfs_2011011012_f120.grib2", tmp_path / "gfs.grib2")
    with served(tmp_path) as client:
        browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}#field=gh&arrows=true&index=3")
        browser.wait(DRAWN)
        count = browser.wait("Number(document.querySelector('#plane').dataset.arrows)")
        assert 100 < count < 1000
        low, high = browser.run("return [hakobi.now.look.low, hakobi.now.look.high]")
        assert 4800 < low < high < 6000
        ink = (
            "const c = hakobi.plane.canvas; const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            "let n = 0; for (let i = 0; i < d.length; i += 4) n += Math.max(d[i], d[i + 1], d[i + 2]) < 60; return n"
        )
        shots = []
        for boxes in ((), ("arrows",), ("coast",)):
            for box in boxes:
                browser.run(f"document.querySelector('#{box}').click()")
            time.sleep(0.3)
            shots.append(browser.run(ink))
        assert shots[0] > shots[1] + 1000 > shots[2] + 3000
        browser.run("hakobi.set({ index: 7 })")
        browser.wait("hakobi.now.look.low > 20000")
        browser.run("hakobi.set({ axis: 2, index: 10 })")
        browser.wait("hakobi.now.look.low < 1000")
        assert (
            browser.run("return ['coast', 'arrows'].map((id) => document.querySelector(`#${id}-box`).hidden)")
            == [True] * 2
        )
        first, last = browser.run("return [0, 8].map((row) => hakobi.plane.toScreen(0, row)[1])")
        assert first > last  # 1000 hPa is below 10 hPa
        assert errors(browser) == []

"""The page of `hakobi post`: what it shows, and what it must not, in a real browser, through its controls."""

from __future__ import annotations

import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from hakobi.errors import InputError
from hakobi.post.catalogue import identifier
from hakobi.post.picture import picture
from hakobi.store import open_store
from hakobi_lab import browser as browsers
from mesh_files import block, write_mesh
from posting import TOKEN, Client, served, wave, write_step
from test_post_browser import errors
from test_post_browser import pytestmark as pytestmark
from test_post_curvilinear import write_curved

FLAT = wave((90, 120))
SOLID = wave((20, 24, 28))


def write_unreadable(path: Path, name: str, shape: tuple[int, ...]) -> None:
    """A field that is listed, but of which no value can be read in a viewer's memory."""
    with h5py.File(path, "w") as file:
        file.create_dataset(name, shape=shape, dtype="f4", chunks=shape, compression="gzip")


def write_without_field(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["words"] = np.full((3, 4), b"word")
        file["line"] = np.arange(5.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for number in (0, 3):
        write_step(folder / f"run_{number}.nc", {"eta": FLAT, "temp": FLAT + 10}, 60.0 * number)
    (folder / "run_1.nc").write_bytes(b"torn")
    write_without_field(folder / "run_2.nc")
    write_unreadable(folder / "large_0.nc", "p", (80_000_000, 2))
    write_step(folder / "solid_0.nc", {"p": SOLID, "q": 2 * SOLID})
    write_unreadable(folder / "solid_1.nc", "p", (10, 4000, 2000))
    cube = block("hexahedra", (4, 4, 4))
    write_mesh(folder / "cube_0.hdf", [cube], {"p": lambda x: x[:, 0], "q": lambda x: x[:, 1]})
    return folder


class Page:
    """The page at a state."""

    def __init__(self, browser: browsers.Browser, client: Client) -> None:
        self.browser, self.client = browser, client

    def open(self, name: str, state: str = "", drawn: str = "plane") -> None:
        self.browser.go("about:blank")
        self.browser.console()
        self.browser.go(f"http://127.0.0.1:{self.client.port}/?token={TOKEN}#series={identifier(name)}&{state}")
        if drawn:
            self.browser.wait(f"document.querySelector('#{drawn}').dataset.complete === 'true'")

    def until_listed(self, name: str) -> None:
        """New files are seen after a while."""
        until = time.monotonic() + 20
        while all(s["name"] != name for s in self.client.json("/api/series")["series"]):
            assert time.monotonic() < until
            time.sleep(0.05)

    def choose(self, control: str, value: str) -> None:
        """As a person does: the control's value, and the event that says so."""
        self.browser.run(
            "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
            "if (e.value !== arguments[1]) throw new Error(`${arguments[0]} cannot be ${arguments[1]}`);"
            "e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change'));",
            control,
            value,
        )

    def click(self, control: str) -> None:
        self.browser.run("document.querySelector(arguments[0]).click()", control)

    def text(self, control: str) -> str:
        return self.browser.run("return document.querySelector(arguments[0]).textContent", control)  # type: ignore[no-any-return]

    def message(self, part: str) -> str:
        self.browser.wait(f"document.querySelector('#message').textContent.includes({part!r})")
        assert self.browser.run("return !document.querySelector('#message').hidden")
        return self.text("#message")

    def pictures(self) -> list[str]:
        """The canvases that can be seen."""
        return self.browser.run(  # type: ignore[no-any-return]
            "return ['plane', 'scene', 'mesh'].filter((id) => !document.getElementById(id).hidden)"
        )


@pytest.fixture
def page(browser: browsers.Browser, client: Client) -> Page:
    return Page(browser, client)


def test_series_and_steps_can_be_chosen_at_a_step_that_cannot_be_drawn(page: Page) -> None:
    page.open("run_#.nc", "step=1.0", drawn="")
    page.message("run_1.nc is no whole NetCDF-4 or HDF5 file")
    assert page.pictures() == []
    page.open("run_#.nc", "step=0.0")
    page.click("#next")
    page.message("run_1.nc is no whole NetCDF-4 or HDF5 file")
    assert page.pictures() == []
    assert page.text("#when").startswith("2 / 4")
    assert page.text("#field-title") == ""
    page.click("#next")
    told = page.message("there is no field in two or three dimensions")
    assert "words: not a field of numbers" in told
    assert page.pictures() == []
    assert "words" in page.text("#left-out")
    page.browser.press("\ue014")  # arrow right
    page.browser.wait("hakobi.now.file === 3 && hakobi.plane.isComplete && !document.querySelector('#plane').hidden")
    assert page.text("#message") == ""
    page.choose("#time", "1")
    page.message("run_1.nc is no whole")
    page.choose("#series", identifier("solid_#.nc"))
    page.message("p is stored in chunks")
    page.choose("#time", "0")
    page.browser.wait("hakobi.plane.isComplete && hakobi.now.file === 0 && !document.querySelector('#plane').hidden")


def test_no_picture_stays_under_the_name_of_another_series_or_field(page: Page) -> None:
    page.open("run_#.nc")
    page.choose("#series", identifier("large_#.nc"))
    page.message("p is stored in chunks")
    assert page.pictures() == []
    page.choose("#series", identifier("run_#.nc"))
    page.browser.wait("hakobi.plane.isComplete && !document.querySelector('#plane').hidden")
    assert page.text("#message") == ""


VOLUME_COLOURS = """
const s = hakobi.scene, g = s.gl, w = s.canvas.width, h = s.canvas.height, d = new Uint8Array(4 * w * h);
g.readPixels(0, 0, w, h, g.RGBA, g.UNSIGNED_BYTE, d);
const c = new Set();
for (let i = 0; i < d.length; i += 4) c.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
return c.size;
"""


def test_no_volume_of_another_step_stays(page: Page) -> None:
    page.open("solid_#.nc", "step=0.0&view=volume", drawn="scene")
    assert page.browser.run(VOLUME_COLOURS) > 100
    page.click("#next")
    page.message("p is stored in chunks")
    page.browser.wait("document.querySelector('#scene').hidden || hakobi.scene.volume === undefined")
    assert page.browser.run(VOLUME_COLOURS) == 1
    page.click("#previous")
    page.browser.wait("document.querySelector('#scene').dataset.complete === 'true'")
    assert page.browser.run(VOLUME_COLOURS) > 100


def test_a_late_answer_is_not_drawn_in_place_of_what_is_wanted(page: Page) -> None:
    page.open("solid_#.nc", "step=0.0&view=volume", drawn="scene")
    page.choose("#field", "q")
    page.browser.wait("document.querySelector('#scene').dataset.complete === 'true' && hakobi.scene.shown")
    before = page.browser.run("return hakobi.scene.shown")
    page.browser.run("hakobi.scene.use([...hakobi.scene.kept.keys()][0], 0)")
    assert page.browser.run("return hakobi.scene.shown") == before


def test_the_same_step_of_another_series_has_the_same_number(browser: browsers.Browser, tmp_path: Path) -> None:
    for number in (0, 1, 2):
        write_step(tmp_path / f"a_{number}.nc", {"eta": np.full((8, 9), number, np.float32)})
    for number in (0, 2, 4):
        write_step(tmp_path / f"b_{number}.nc", {"eta": np.full((8, 9), 100 + number, np.float32)})
    with served(tmp_path) as client:
        page = Page(browser, client)
        page.open("a_#.nc", f"step=2.0&minus={identifier('b_#.nc')}")
        assert browser.run("return hakobi.plane.peek(3, 4).value") == -100
        page.open("a_#.nc", f"step=1.0&minus={identifier('b_#.nc')}", drawn="")
        page.message("b_….nc has no step 1.")


def test_links_that_lead_nowhere_say_so(page: Page) -> None:
    page.open("gone_#.nc", drawn="mesh")
    page.message("The link's series is not here")
    page.open("run_#.nc", "step=7.0")
    page.message("There is no step 7")
    page.open("run_#.nc", "step=0.0&field=gone")
    page.message("There is no field gone in this step. This is eta.")
    page.open("run_#.nc", "step=0.0&zoom=4")
    page.open("run_#.nc", "step=0.0&zoom=1e9&x=-1e9&y=1e9")
    page.open("run_#.nc", "step=0.0&minus=0123456789ab")
    page.message("this is no difference")
    page.open("run_#.nc", "step=3.0&minus=first")
    assert page.browser.run("return hakobi.plane.peek(50, 60).value") == 0
    page.open("run_#.nc", "step=3.0&minus=before", drawn="")
    page.message("run_2.nc has no field 'eta' to take away")
    assert not page.browser.run("return hakobi.plane.isComplete")


@pytest.mark.programs
def test_a_store_begins_with_a_field_that_can_be_drawn(browser: browsers.Browser, tmp_path: Path) -> None:
    with open_store(tmp_path / "flow", "flow") as store:
        store.archive("case=c,run=1,variable=p,step=1,block=0", np.arange(20.0).reshape(4, 5))
        store.archive("case=c,run=1,variable=p,step=2,block=0", np.arange(20.0))
        store.archive("case=c,run=1,variable=q,step=1,block=0", np.arange(20.0))
    with served(tmp_path) as client:
        browser.go("about:blank")
        browser.console()
        browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}")
        browser.wait("document.querySelector('#plane').dataset.complete === 'true'")
        told = browser.run(
            "return ['message', 'field-title', 'left-out'].map((i) => document.getElementById(i).textContent)"
        )
        assert told == [
            "The newest step has nothing that can be drawn; this is step 0.",
            "p",
            "qit does not have two or three dimensions",
        ]
        browser.run("document.querySelector('#next').click()")
        browser.wait("document.querySelector('#message').textContent.includes('there is no field')")


def test_reasons_reach_the_picture_too(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="words: not a field of numbers"):
        picture(folder / "run_2.nc", tmp_path / "p.png")
    with pytest.raises(InputError, match="'words' cannot be drawn: not a field of numbers"):
        picture(folder / "run_2.nc", tmp_path / "p.png", field="words")


def test_the_pointer_shows_no_digit_that_may_be_wrong(page: Page) -> None:
    page.open("run_#.nc", "step=0.0&field=temp")
    cells = [(row, column) for row in range(20, 90, 3) for column in range(30, 120, 7)]
    told = page.browser.run(
        "return arguments[0].map(([r, c]) => { hakobi.showReadout([r, c]);"
        " return document.querySelector('#readout').textContent.split(':  ')[1]; })",
        cells,
    )
    for text, cell in zip(told, cells, strict=True):
        words = text.replace("−", "-").split()
        assert words[0] == "about"
        digits = len(words[1].lstrip("-0.").replace(".", ""))
        assert float(words[1]) == float(f"{FLAT[cell] + 10:.{digits}g}"), (text, FLAT[cell] + 10)
    assert np.mean([len(text.split()[1]) for text in told]) > 3.5
    assert page.browser.run(
        "return import(document.querySelector('script[type=module]').src.replace('main.js', 'numbers.js')).then((n) =>"
        " [n.about(3.455, 0.001), n.about(0.00001, 0.1), n.about(-1.25, 1), n.about(299.99, 0.05)])"
    ) == ["about 3.5", "between −0.1 and 0.2", "between −3 and 0", "about 300"]
    assert errors(page.browser) == []


CUT_BOXES = """
return [...document.querySelectorAll('input[type=text], input[type=number]')]
  .filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth).map((e) => `${e.id} ${e.value}`);
"""
CUT_LABELS = """
return [...document.querySelectorAll('svg.chart text')].filter((e) => {
  const [a, b] = [e.getBoundingClientRect(), e.closest('svg').getBoundingClientRect()];
  return a.left < b.left - 0.5 || a.right > b.right + 0.5;
}).map((e) => e.textContent);
"""


def test_no_number_is_cut_or_wrong_in_a_digit_that_is_shown(page: Page, folder: Path) -> None:
    for name, values in (("small", FLAT * 1e-9), ("pressure", (FLAT + 101325).astype("f4"))):
        write_step(folder / f"{name}_0.nc", {"p": values})
    page.until_listed("pressure_#.nc")
    for name in ("small", "pressure"):
        page.open(f"{name}_#.nc")
        page.browser.wait("document.querySelector('#statistics dd')")
        assert page.browser.run(CUT_BOXES) == []
        assert page.browser.run(CUT_LABELS) == []
    shown = page.browser.run("return [...document.querySelectorAll('#statistics dd')].map((e) => e.textContent)")
    values = (FLAT + 101325).astype("f4").astype(float)
    for text, exact in zip(shown[:3], (np.nanmin(values), np.nanmax(values), np.nanmean(values)), strict=True):
        decimals = len(text.partition(".")[2])
        assert float(text) == round(exact, decimals), (text, exact)
        assert decimals >= 3
    assert page.browser.run(
        "return import(document.querySelector('script[type=module]').src.replace('main.js', 'numbers.js')).then((n) =>"
        " [n.text(101325.4, 3), n.about(1233.5, 0.5), n.about(0.0123, 0.0001),"
        " n.place(35.1234, { kind: 'lat' }, 0.01)])"
    ) == ["101325", "about 1.23e3", "about 0.012", "35.1234° N"]


def test_the_header_is_one_row_on_a_phone(page: Page) -> None:
    resize = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.browser.command("Emulation.setDeviceMetricsOverride", resize)
    try:
        page.open("solid_#.nc", "step=0.0")
        assert page.browser.run("return document.querySelector('header').offsetHeight") < 50
        assert page.browser.run("return document.documentElement.scrollWidth") <= 390
        assert page.browser.run(CUT_BOXES) == []
    finally:
        page.browser.command("Emulation.clearDeviceMetricsOverride", {})


def test_a_curvilinear_field_is_what_the_page_begins_with(page: Page, folder: Path) -> None:
    _, _, values = write_curved(folder / "curved_0.nc")
    page.until_listed("curved_#.nc")
    page.open("curved_#.nc")
    assert page.text("#field-title") == "tas"
    assert page.browser.run("return hakobi.now.look.hasCoast")
    page.browser.run("hakobi.showReadout([30, 40])")
    assert "° N" in page.text("#readout")
    page.browser.run("return hakobi.set({ point: [30, 40] })")
    page.browser.wait("document.querySelector('#point').textContent.includes(': 3')")
    assert np.isin(np.float32(page.text("#point").split(": ")[1].split()[0]), values)
    assert errors(page.browser) == []


def test_blades_are_shown_and_not_the_drum_around_them(browser: browsers.Browser, tmp_path: Path) -> None:
    parts = {"rotor": ((6, 6, 4), (-3.0, -3.0, 0.0)), "stator": ((12, 12, 6), (-6.0, -6.0, -1.0)),
             "wall": ((2, 2, 4), (-1.0, -1.0, 0.0))}  # fmt: skip
    for name, (cells, low) in parts.items():
        for number in range(2):
            write_mesh(
                tmp_path / f"run_{name}_{number}.hdf", [block("hexahedra", cells, low)], {"p": lambda x: x[:, 0]}
            )
    with served(tmp_path) as client:
        browser.go("about:blank")
        browser.console()
        browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}")
        browser.wait("document.querySelector('#mesh').dataset.complete === 'true'")
        assert browser.run("return hakobi.now.series.name") == "run_wall_#.hdf"
        assert browser.run("return [...hakobi.mesh.drawn.keys()]") == [identifier("run_wall_#.hdf")]
        assert browser.run("return [...document.querySelectorAll('#with input')].map((i) => i.checked)") == [
            False,
            False,
        ]
        browser.run("document.querySelector('#with input').click()")
        browser.wait("hakobi.mesh.drawn.size === 2")
        assert errors(browser) == []
    picture(tmp_path, tmp_path / "all.png")
    picture(tmp_path / "run_wall", tmp_path / "wall.png")
    assert (tmp_path / "all.png").read_bytes() == (tmp_path / "wall.png").read_bytes()


def test_volumes_and_meshes_have_axes(page: Page) -> None:
    page.open("solid_#.nc", "step=0.0&view=volume", drawn="scene")
    labels = page.browser.wait("document.querySelector('#labels').dataset.labels").split("|")
    assert {"x (m)", "y (m)", "z (m)"} <= set(labels)
    numbers = [float(label) for label in labels if "(" not in label]
    assert 10 <= min(numbers) < max(numbers) <= 25
    page.open("cube_#.hdf", drawn="mesh")
    labels = page.browser.wait("document.querySelector('#labels').dataset.labels").split("|")
    assert {"x", "y", "z", "0", "4"} <= set(labels)


def test_a_film_shows_how_far_it_is_and_leaves_out_what_cannot_be_drawn(page: Page) -> None:
    page.open("run_#.nc")
    page.browser.run(
        "window.told = []; window.given = [];"
        "URL.createObjectURL = (b) => { window.given.push(b.size); return 'data:,'; };"
        "new MutationObserver(() => told.push(document.querySelector('#film').textContent))"
        ".observe(document.querySelector('#film'), { childList: true })"
    )
    page.click("#film")
    page.browser.wait("window.given.length", 30)
    page.message("2 steps that cannot be drawn are not in the film")
    told = page.browser.run("return window.told")
    assert told[0] == "0 / 4 ✕"
    assert told[-1] == "Film"


SAVED = """
window.given = [];
const make = URL.createObjectURL;
URL.createObjectURL = (blob) => { window.given.push(blob); return 'data:,'; };
"""


def test_a_profile_has_its_distance_and_numbers_can_be_saved(page: Page) -> None:
    page.open("run_#.nc", "step=0.0&point=50,60&from=20,30&to=80,30")
    page.browser.run(SAVED)
    page.browser.wait("document.querySelector('#profile button')")
    assert "m over km along the line" in page.text("#profile")
    page.click("#profile button")
    page.browser.wait("window.given.length")
    lines = page.browser.run("return window.given[0].text()").splitlines()
    assert lines[0] == "distance (km),lat,lon,eta (m)"
    rows = np.array([[float(cell or "nan") for cell in line.split(",")] for line in lines[1:]])
    np.testing.assert_allclose(rows[-1, 0], 60 * 0.125 * np.pi / 180 * 6371.0088, rtol=1e-6)
    np.testing.assert_array_equal(rows[:, 3], FLAT[20:81, 30].astype(float))
    np.testing.assert_array_equal(rows[:, 1], 10 + 0.125 * np.arange(20, 81))
    page.browser.wait("document.querySelector('#times button')")
    assert "seconds since" in page.text("#times")
    page.open("solid_#.nc", "step=0.0&axis=0&index=5&from=5,4,4&to=5,7,8")
    page.browser.wait("document.querySelector('#profile button')")
    assert "m over m along the line" in page.text("#profile")


def test_logarithmic_colours_and_contours(page: Page, folder: Path) -> None:
    from hakobi.post.picture import colours_of

    steep = 10 ** np.linspace(-3, 3, 90 * 120).reshape(90, 120)
    write_step(folder / "steep_0.nc", {"a": steep, "b": steep - 1 / steep})
    page.until_listed("steep_#.nc")
    page.open("steep_#.nc", "low=0.001&high=1000&range=held&map=ember")
    page.choose("#scale", "log")
    page.browser.wait("(hakobi.plane.drawNow(), hakobi.plane.isComplete && hakobi.now.look.scale === 'log')")
    colours = 255 * colours_of("ember")
    colour = (
        "const p = hakobi.plane; const [x, y] = p.toScreen(arguments[1] + 0.5, arguments[0] + 0.5);"
        "const r = devicePixelRatio; return [...p.context.getImageData(x * r, y * r, 1, 1).data.slice(0, 3)]"
    )
    for row, column in ((5, 60), (45, 60), (80, 100)):
        at = (np.log10(steep[row, column]) + 3) / 6
        assert np.abs(np.array(page.browser.run(colour, row, column)) - colours[round(255 * at)]).max() <= 6
    page.click("#contours")
    page.browser.wait("hakobi.plane.drawNow(), (hakobi.plane.contours || []).length === 7")
    near = [page.browser.run(colour, row, 60) for row in np.linspace(44.2, 44.8, 13)]  # it is 1 between these rows
    assert np.max(near, axis=1).min() < colours[128].max() - 40
    page.open("steep_#.nc", "field=b&scale=symlog")
    assert page.browser.run("return hakobi.now.look.scale") == "symlog"
    assert page.browser.run("return document.querySelector('#scale option[value=log]').disabled")
    assert errors(page.browser) == []
    page.open("solid_#.nc", "step=0.0&scale=symlog")
    page.click("[data-view=volume]")
    page.browser.wait("hakobi.scene?.volume?.isBent && document.querySelector('#scene').dataset.complete === 'true'")
    assert page.browser.run(VOLUME_COLOURS) > 100
    for code in (1, 100, 255):
        back = page.browser.run("const s = hakobi.scene; return 255 * s.scaled(s.valueOf(arguments[0]))", code)
        assert back == pytest.approx(code)
    assert errors(page.browser) == []


ON_TOP = """
const m = hakobi.mesh; m.drawNow();
const { gl, frame } = m, [w, h] = [m.canvas.width, m.canvas.height], view = m.matrix(m.camera(), w, h);
const p = [...arguments[0].map((v, d) => (v - frame.middle[d]) / frame.size), 1];
const along = (row) => p.reduce((sum, v, column) => sum + v * view[4 * column + row], 0);
const pixel = (row, size) => Math.round((along(row) / along(3) + 1) / 2 * size);
const found = new Uint8Array(4);
gl.readPixels(pixel(0, w), pixel(1, h), 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, found);
return [...found.slice(0, 3)];
"""


@pytest.mark.parametrize("scale", ["log", "symlog", "linear"])
def test_meshes_have_logarithmic_colours(page: Page, folder: Path, scale: str) -> None:
    from hakobi.post.picture import colours_of

    values = np.array([1.0, 10.0, 100.0, 1000.0])
    write_mesh(folder / "steps_0.hdf", [block("hexahedra", (4, 1, 1))], None, {"p": values})
    page.until_listed("steps_#.hdf")
    page.open("steps_#.hdf", f"low=1&high=1000&range=held&map=grey&scale={scale}", drawn="mesh")
    seen = np.array([page.browser.run(ON_TOP, [cell + 0.5, 0.5, 1]) for cell in range(4)], float)
    curves = {"log": np.log, "linear": lambda v: v, "symlog": lambda v: np.log1p(v / 0.1)}
    curve = curves[scale]
    places = (curve(values) - curve(1.0)) / (curve(1000.0) - curve(1.0))
    colours = colours_of("grey")[np.round(255 * places).astype(int)]
    np.testing.assert_allclose(seen / seen[-1], colours / colours[-1], atol=0.03)  # the light is on all of them alike
    assert errors(page.browser) == []


#: Uses a control as a person does, and tells what the page said then; what opens dialogs and saves files is
#: left out.
USE = """
const skip = new Set(['png', 'film', 'share', 'copy', 'help-open', 'series', 'play']);
const element = (id) => document.getElementById(id);
const seen = [];
const look = async (name) => {
  const isDrawn = () => {
    const shown = ['plane', 'scene', 'mesh'].filter((id) => !element(id).hidden);
    return shown.length === 1 && element(shown[0]).dataset.complete === 'true';
  };
  await new Promise((r) => setTimeout(r, 60)); // until what changes has begun
  for (let n = 0; n < 500 && !isDrawn(); n += 1) await new Promise((r) => setTimeout(r, 40));
  if (!isDrawn()) seen.push(`${name}: no picture`);
  if (!element('message').hidden) seen.push(`${name}: ${element('message').textContent}`);
};
const visible = (e) => e.offsetParent && !e.disabled && !skip.has(e.id);
const all = (what) => [...document.querySelectorAll(what)].filter(visible);
const change = async (e, value, name = `${e.id} ${value}`) => {
  e.value = value;
  for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, { bubbles: true }));
  await look(name);
};
let used = 0;
const use = async () => {
  for (const e of all('header button, #zoom button, footer button, aside button')) {
    if (visible(e)) { e.click(); used += 1; await look(`button ${e.id || e.textContent}`); }
  }
  for (const e of all('select')) {
    const before = e.value;
    const choices = [...e.options].filter((o) => !o.disabled && !/^[0-9a-f]{12}$/.test(o.value));
    for (const { value } of choices.slice(0, 4)) { used += 1; await change(e, value); }
    await change(e, before);
  }
  for (const e of all('input[type=checkbox]')) {
    for (const n of [0, 1]) { e.click(); used += 1; await look(`${e.id} ${n}`); }
  }
  for (const e of all('input[type=range], input[type=number]')) {
    const [low, high] = [Number(e.min), Number(e.max)];
    for (const part of [0.25, 0.75]) { used += 1; await change(e, low + part * (high - low)); }
  }
  return [used, seen];
};
window.found = null;
use().then((found) => { window.found = found; }, (error) => { window.found = [used, [String(error)]]; });
"""


@pytest.mark.parametrize(
    ("name", "state", "drawn"),
    [
        ("flat_#.nc", "point=50,60&from=20,30&to=70,80", "plane"),
        ("bent_#.nc", "", "plane"),
        ("block_#.nc", "", "plane"),
        ("block_#.nc", "view=volume", "scene"),
        ("cube_#.hdf", "view=cut", "mesh"),
    ],
)
def test_every_control_does_something_and_none_breaks(
    page: Page, folder: Path, name: str, state: str, drawn: str
) -> None:
    for number in (0, 1):
        write_step(folder / f"flat_{number}.nc", {"eta": FLAT, "temp": FLAT + 10 + number}, 60.0 * number)
        write_curved(folder / f"bent_{number}.nc")
        write_step(folder / f"block_{number}.nc", {"p": SOLID, "q": SOLID + 3})
    page.until_listed("block_#.nc")
    page.open(name, state, drawn)
    page.browser.run(USE)
    used, seen = page.browser.wait("window.found", 300)
    assert (seen, errors(page.browser)) == ([], [])
    assert used > 20


def test_a_link_holds_all_digits_of_a_range(page: Page) -> None:
    page.open("run_#.nc", "step=3.0")
    written = page.browser.run(
        "const place = document.querySelector('link[rel=modulepreload]').href.replace(/[^/]*$/, 'state.js');"
        "const told = arguments[0]; return import(place).then((s) => s.write(told))",
        {"low": 101325.0123, "high": 101325.0987, "cut": 433201.625, "x": 1.23456789},
    )
    assert written == "#low=101325.0123&high=101325.0987&x=1.23457&cut=433201.625"

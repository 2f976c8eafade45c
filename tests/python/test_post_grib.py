"""GRIB files in `hakobi ls` and `hakobi post`: values as ecCodes has them, whatever lies in one file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, lpmv

from hakobi.errors import FormatError, InputError
from hakobi.post import grib, grib_scan, tiles, volume
from hakobi.post.catalogue import Catalogue, Steps
from hakobi.post.contents import contents_of
from hakobi.post.opening import open_step
from hakobi.post.picture import picture
from hakobi.post.reaching import open_location
from hakobi.post.source import Step
from hakobi.post.spectral import grid_of_truncation, synthesis
from hakobi.post.wind import winds_of
from hakobi.store import grib_grid
from hakobi.store.parameters import grib_array, grib_texts
from posting import decode_tile, served
from running import Result

ROOT = Path(__file__).parents[2]
SAMPLES = Path("/usr/share/eccodes/samples")
#: Files of NOAA, CMC, KNMI, ECMWF and others: Debian's package python-grib-doc.
EXAMPLES = Path("/usr/share/doc/python-grib-doc/examples")
ANALYSIS = ROOT / "apps/weather/data/gfs_2011011012_f120.grib2"
pytestmark = [
    pytest.mark.programs,
    pytest.mark.once,
    pytest.mark.skipif(not SAMPLES.is_dir(), reason="ecCodes' samples are not installed"),
]


def sample(name: str) -> bytes:
    data = (SAMPLES / f"{name}.tmpl").read_bytes()
    return data[: int.from_bytes(data[4:7], "big")] if data[7] == 1 else data


def encoded(path: Path, name: str, **keys: str) -> bytes:
    """A sample with other keys, by ecCodes' own program."""
    source = path / "source.grib"
    source.write_bytes(sample(name))
    setting = ",".join(f"{key}={value}" for key, value in keys.items())
    subprocess.run(["grib_set", "-s", setting, source, path / "made.grib"], check=True)
    return (path / "made.grib").read_bytes()


def with_values(path: Path, message: bytes, values: NDArray[np.float64], **keys: str) -> bytes:
    """The message with these values, by ecCodes' own program; keys are set before."""
    (path / "source.grib").write_bytes(message)
    text = "".join(f"set {key}={value};\n" for key, value in keys.items())
    rules = f"{text}set values={{{','.join(f'{v:.17g}' for v in values)}}};\nwrite;\n"
    (path / "rules").write_text(rules)
    subprocess.run(["grib_filter", "-o", path / "made.grib", path / "rules", path / "source.grib"], check=True)
    return (path / "made.grib").read_bytes()


def messages_of(path: Path) -> Iterator[bytes]:
    file = open_location(path)
    for record in grib_scan.scan(file).records:
        yield record.read(file)
    file.close()


def whole(step: Step, name: str, time: int = 0) -> NDArray[np.float64]:
    return np.asarray(step.read(name, time, tuple((0, n) for n in step.fields[name].shape)))


def test_a_file_of_the_weather_model_has_the_values_of_eccodes() -> None:
    with open_step(ANALYSIS) as step:
        assert list(step.fields) == ["gh", "u", "v"]
        assert (step.times, step.found.kind) == ((1295092800.0,), "grib")
        level, north, east = step.fields["gh"].axes
        assert level.coordinates == (1000, 850, 700, 500, 250, 150, 70, 30, 10)  # from the ground up
        assert (level.units, north.kind, east.kind) == ("hPa", "lat", "lon")
        fields = {name: whole(step, name) for name in step.fields}
        for message in messages_of(ANALYSIS):
            told = grib_texts(message, ["shortName", "level"])
            mine = fields[told["shortName"]][level.coordinates.index(float(told["level"]))]
            values, latitudes, longitudes = (grib_array(message, key) for key in ("values", "latitudes", "longitudes"))
            rows = np.rint(np.interp(latitudes, north.coordinates or (), np.arange(north.size))).astype(int)
            columns = np.rint(longitudes / 2.5).astype(int)
            np.testing.assert_array_equal(mine[rows, columns], values)


GRIDS = ["regular_ll_pl", "regular_gg_ml", "reduced_gg_pl_32", "regular_ll_sfc", "reduced_gg_sfc"]


@pytest.mark.parametrize("edition", [1, 2])
@pytest.mark.parametrize("name", GRIDS)
def test_every_value_is_where_eccodes_says(tmp_path: Path, name: str, edition: int) -> None:
    message = sample(f"{name}_grib{edition}")
    latitudes, longitudes = (grib_array(message, key) for key in ("latitudes", "longitudes"))
    wanted = np.round(300 + 50 * np.sin(np.radians(latitudes)) + 20 * np.cos(np.radians(2 * longitudes - 30)), 3)
    (tmp_path / "a.grib").write_bytes(with_values(tmp_path, message, wanted, bitsPerValue="24"))
    [made] = messages_of(tmp_path / "a.grib")
    values = grib_array(made, "values")
    with open_step(tmp_path / "a.grib") as step:
        [this] = step.fields.values()
        north, east = (np.array(axis.coordinates) for axis in this.axes)
        shown = whole(step, this.name)
        texts = grib_texts(made, ["validityDate", "validityTime", "shortName", "units"])
        assert (this.name, this.units) == (texts["shortName"], texts["units"])
        when = np.datetime64(int(step.times[0]), "s").item()
        assert f"{when:%Y%m%d} {int(f'{when:%H%M}')}" == f"{texts['validityDate']} {texts['validityTime']}"
    rows = np.abs(north[:, None] - latitudes).argmin(0)
    away = np.abs((east[:, None] - longitudes + 180) % 360 - 180)
    columns = away.argmin(0)
    np.testing.assert_allclose(north[rows], latitudes, atol=2e-3)
    if "reduced" not in name:
        np.testing.assert_allclose(away.min(0), 0, atol=2e-3)
        np.testing.assert_array_equal(shown[rows, columns], values)
    else:  # each value is on the map, and where a cell has another one it is as near
        np.testing.assert_array_equal(np.unique(shown), np.unique(values))
        assert np.abs(shown[rows, columns] - values).max() < 2


@pytest.mark.parametrize("edition", [1, 2])
@pytest.mark.parametrize("rows", [slice(8, 56), slice(4, 20)])
def test_a_part_of_a_gaussian_grid_has_its_latitudes(tmp_path: Path, edition: int, rows: slice) -> None:
    """From 22 degrees off either pole, or of the north alone."""
    latitudes = np.degrees(np.arcsin(np.polynomial.legendre.leggauss(64)[0]))[::-1][rows]
    keys = {"N": "32", "Ni": "128", "Nj": str(len(latitudes))}
    keys |= {f"latitudeOf{word}GridPointInDegrees": f"{latitudes[at]:.6f}" for word, at in (("First", 0), ("Last", -1))}
    grid = grib_grid.grid_of(encoded(tmp_path, f"regular_gg_pl_grib{edition}", **keys))
    assert isinstance(grid, grib_grid.Grid)
    np.testing.assert_allclose(grid.latitudes, latitudes[::-1], atol=1e-6)


def test_degrees_may_be_counted_in_other_units(tmp_path: Path) -> None:
    keys = {"basicAngleOfTheInitialProductionDomain": "1", "subdivisionsOfBasicAngle": "1000", "Ni": "8", "Nj": "6"}
    corners = {"latitudeOfFirst": 35, "latitudeOfLast": 10, "longitudeOfFirst": 0, "longitudeOfLast": 70}
    keys |= {f"{word}GridPoint": str(1000 * degrees) for word, degrees in corners.items()}
    grid = grib_grid.grid_of(encoded(tmp_path, "regular_ll_sfc_grib2", **keys))
    assert isinstance(grid, grib_grid.Grid)
    assert (grid.latitudes[[0, -1]].tolist(), grid.longitudes[[0, -1]].tolist()) == ([10, 35], [0, 70])


def test_levels_steps_members_and_grids_of_one_file(tmp_path: Path) -> None:
    parts = [
        encoded(tmp_path, "regular_ll_pl_grib2", shortName="t", level=str(level), stepRange=str(step), **more)
        for level in (500, 850, 300)
        for step in (0, 12, 6)
        for more in ({}, {"productDefinitionTemplateNumber": "1", "perturbationNumber": "7"})
    ]
    parts.append(encoded(tmp_path, "regular_ll_pl_grib2", shortName="t", level="500", stepRange="6", Ni="8", Nj="31"))
    parts.append(encoded(tmp_path, "regular_ll_sfc_grib2", shortName="2t", stepRange="6"))
    for span in ("0-6", "0-12", "6-12"):
        keys = {"productDefinitionTemplateNumber": "8", "shortName": "tp", "stepRange": span}
        parts.append(encoded(tmp_path, "regular_ll_sfc_grib2", **keys))
    junk = b"\r\r\nHEADING GRI BG\x00"
    (tmp_path / "a.grib2").write_bytes(junk.join([b"", *parts, b""]))
    with open_step(tmp_path / "a.grib2") as step:
        assert len(step.times) == 3
        assert np.diff(step.times).tolist() == [6 * 3600.0] * 2
        shapes = {name: (field.shape, field.at_times) for name, field in step.fields.items()}
        assert [name for name in shapes if name[0] == "t" and "span" not in name][:2]
        three = [name for name, (shape, _) in shapes.items() if shape == (3, 31, 16)]
        assert len(three) == 2
        assert sum("number=7" in name for name in three) == 1
        assert [shape for name, (shape, _) in shapes.items() if "8x31" in name] == [(31, 8)]
        assert shapes["2t"] == ((31, 16), (1,))
        assert {name: at for name, (_, at) in shapes.items() if name.startswith("tp")} == {
            "tp span=6h": (1, 2),
            "tp span=12h": (2,),
        }
        assert np.isnan(whole(step, "2t", 0)).all()
        assert not np.isnan(whole(step, "2t", 1)).any()
    with pytest.raises(InputError, match=r"not at that time; it is at 0\.1"):
        picture(tmp_path / "a.grib2", tmp_path / "a.png", field="2t", step="2")
    told: list[str] = []
    picture(tmp_path / "a.grib2", tmp_path / "a.png", field="2t", tell=told.append)
    assert "step 1" in told[0]


def test_missing_values_and_fields_that_share_a_message(tmp_path: Path) -> None:
    message = sample("regular_ll_sfc_grib2")
    values = np.arange(496.0)
    values[[3, 100, 495]] = 9999
    first = with_values(tmp_path, message, values, bitmapPresent="1", missingValue="9999", shortName='"2t"')
    second = with_values(tmp_path, message, values * 2, bitmapPresent="1", missingValue="19998", shortName='"2d"')
    # Sections 4 to 7 of the second behind those of the first, its bitmap the one that was defined before.
    at, sections = 16, {}
    while second[at : at + 4] != b"7777":
        size = int.from_bytes(second[at : at + 4], "big")
        sections[second[at + 4]] = second[at : at + size]
        at += size
    body = first[16:-4] + sections[4] + sections[5] + b"\0\0\0\6\6\xfe" + sections[7]
    (tmp_path / "one").write_bytes(first[:8] + (20 + len(body)).to_bytes(8, "big") + body + b"7777")
    with open_step(tmp_path / "one") as step:
        assert sorted(step.fields) == ["2d", "2t"]
        for name, factor in (("2t", 1), ("2d", 2)):
            shown = whole(step, name)[::-1].ravel()  # the first row is the northernmost
            assert np.flatnonzero(np.isnan(shown)).tolist() == [3, 100, 495]
            good = ~np.isnan(shown)
            np.testing.assert_allclose(shown[good], factor * np.arange(496.0)[good], atol=0.02)


def harmonics(
    truncation: int, coefficients: NDArray[np.complex128], mu: NDArray[np.float64], east: float
) -> NDArray[np.float64]:
    """The sum by its definition."""
    total = np.zeros_like(mu)
    number = 0
    for m in range(truncation + 1):
        for n in range(m, truncation + 1):
            norm = np.sqrt((2 * n + 1) * np.exp(gammaln(n - m + 1) - gammaln(n + m + 1))) * (-1) ** m
            wave = coefficients[number] * np.exp(1j * m * east)
            total += norm * lpmv(m, n, mu) * wave.real * (2 if m else 1)
            number += 1
    return total


@pytest.mark.parametrize("truncation", [1, 21, 42])
def test_spectral_fields_are_summed_as_they_are_defined(truncation: int) -> None:
    generator = np.random.default_rng(truncation)
    count = (truncation + 1) * (truncation + 2) // 2
    coefficients = generator.normal(size=count) + 1j * generator.normal(size=count)
    coefficients[: truncation + 1].imag = 0
    shown = synthesis(coefficients.view(np.float64), truncation)
    latitudes, longitudes = grid_of_truncation(truncation)
    for column in (0, 7, len(longitudes) - 1):
        wanted = harmonics(truncation, coefficients, np.sin(np.radians(latitudes)), np.radians(longitudes[column]))
        np.testing.assert_allclose(shown[:, column], wanted, atol=1e-9 * count)
    with pytest.raises(FormatError):
        synthesis(np.zeros(4), truncation + 1)


@pytest.mark.parametrize("edition", [1, 2])
def test_spectral_messages_are_maps(tmp_path: Path, edition: int) -> None:
    message = sample(f"sh_ml_grib{edition}")
    (tmp_path / "waves").write_bytes(message)
    truncation = int(grib_texts(message, ["J"])["J"])
    with open_step(tmp_path / "waves") as step:
        [this] = step.fields.values()
        assert f"from waves to T{truncation}" in this.long_name
        coefficients = grib_array(message, "values").view(np.complex128)
        latitudes = np.array(this.axes[0].coordinates)
        wanted = harmonics(truncation, coefficients, np.sin(np.radians(latitudes)), 0.0)
        np.testing.assert_allclose(whole(step, this.name)[:, 0], wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_the_models_own_files_agree_with_each_other(tmp_path: Path) -> None:
    """Winds on the grid have the vorticity that the spectral file has: no map is turned or mirrored."""
    program = ROOT / "build/openmpi/bin/hakobi-weather"
    if not program.exists():
        pytest.skip("hakobi-weather is not built")
    options = ["--resolution", "T63", "--levels", "1", "--pressure-levels", "0", "--grid-pressure-levels", "0"]
    subprocess.run([program, *options, "--hours", "1", "--output", f"files:{tmp_path}/run"], check=True)
    [grid, waves] = sorted(Catalogue(tmp_path).series.values(), key=lambda series: series.key)
    assert (grid.key, waves.key) == ("run_gg_######.grib2", "run_sh_######.grib2")
    with open_step(tmp_path / "run_gg_000001.grib2") as winds, open_step(tmp_path / "run_sh_000001.grib2") as spectral:
        north, east = (np.radians(axis.coordinates) for axis in winds.fields["u"].axes)
        u, v = whole(winds, "u"), whole(winds, "v")
        around = np.gradient(v, east, axis=1) - np.gradient(u * np.cos(north)[:, None], north, axis=0)
        mine = around / (6371229 * np.cos(north)[:, None])
        latitudes = np.radians(spectral.fields["vo"].axes[0].coordinates)
        told = whole(spectral, "vo")
        rows = np.abs(north[16:48, None] - latitudes).argmin(1)
        assert np.corrcoef(mine[16:48, 2:-2].ravel(), told[rows][:, 2:-2].ravel())[0, 1] > 0.95


def test_a_folder_with_other_files_in_it(tmp_path: Path) -> None:
    shutil.copy(ANALYSIS, tmp_path / "gfs.t12z.pgrb2.f120")
    shutil.copy(ANALYSIS, tmp_path / "gfs.t12z.pgrb2.f123")
    (tmp_path / "gfs.t12z.pgrb2.f120.idx").write_text("1:0:d=2011011012:HGT:10 mb:120 hour fcst:\n")
    (tmp_path / "README").write_text("GRIB is a format\n")
    (tmp_path / "empty.grb").write_bytes(b"")
    (tmp_path / "growing").write_bytes(b"GRI")
    (tmp_path / "text.grib").write_text("no message here, whatever the name says")
    catalogue = Catalogue(tmp_path)
    found = {series.key: contents_of(series, catalogue.root) for series in catalogue.series.values()}
    assert sorted(found) == ["empty.grb", "gfs.t12z.pgrb2.f###", "text.grib"]
    assert (found["gfs.t12z.pgrb2.f###"].numbers, found["gfs.t12z.pgrb2.f###"].problems) == ([120, 123], [])
    assert found["empty.grb"].problems == ["empty.grb is no whole GRIB file: there is no message in it"]
    assert "no whole GRIB file" in found["text.grib"].problems[0]
    (tmp_path / "growing").write_bytes(sample("GRIB2"))
    assert [series.key for series in catalogue.scan()] == ["growing"]


def test_a_file_that_is_cut_shows_what_is_whole(tmp_path: Path, hakobi: Callable[..., Result]) -> None:
    data = ANALYSIS.read_bytes()
    path = tmp_path / "cut.grib2"
    path.write_bytes(data[: len(data) // 2])
    result = hakobi("ls", path)
    assert result.status == 1
    assert "cut.grib2: message 14: the file ends within it" in result.stdout
    assert "cut, or is still being written" in result.stdout
    with open_step(path) as step:
        assert step.fields["gh"].shape[0] == 5
        assert "the rest of the file" in step.left_out
    path.write_bytes(data)  # it has grown
    with open_step(path) as step:
        assert (step.fields["gh"].shape[0], step.found.problems) == (9, [])
        path.write_bytes(data[:1000])
        with pytest.raises(FormatError, match="shorter than it was"):
            whole(step, "v")
    for damage in (data[:40] + bytes(200) + data[240:], data[:7] + b"\x03" + data[8:], b"GRIB"):
        path.write_bytes(damage)
        with pytest.raises(FormatError, match="no whole GRIB file"):
            open_step(path)


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    """Headers alone are read: so much of a file of 1,000 messages of 600 kB that a page each is."""
    one = sample("regular_ll_sfc_grib2")
    at = 16
    while one[at + 4] != 7:
        at += int.from_bytes(one[at : at + 4], "big")
    size = 600_000
    hole = int.from_bytes(one[at : at + 4], "big") + size
    head = one[:8] + (len(one) + size).to_bytes(8, "big") + one[16:at] + hole.to_bytes(4, "big") + b"\x07"
    with (tmp_path / "huge").open("wb") as file:
        for number in range(1000):
            file.seek(number * (len(one) + size))
            file.write(head)
            file.seek((number + 1) * (len(one) + size) - 4)
            file.write(b"7777")

    class Counting:
        def __init__(self) -> None:
            self.file, self.num_bytes = open_location(tmp_path / "huge"), 0
            self.path, self.identity = self.file.path, self.file.identity

        def read(self, count: int, offset: int) -> bytes:
            self.num_bytes += count
            return self.file.read(count, offset)

        def fileno(self) -> int:
            return self.file.fileno()

    counting = Counting()
    assert len(grib_scan.scan(counting).records) == 1000  # type: ignore[arg-type]
    assert counting.num_bytes < 40 << 20
    counting.file.close()


def test_without_eccodes_it_says_how_to_get_it() -> None:
    command = [sys.executable, "-m", "hakobi", "ls", str(ANALYSIS)]
    without = {**os.environ, "HAKOBI_ECCODES": "/nowhere/libeccodes.so"}
    done = subprocess.run(command, env=without, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "param=0-3-5" in done.stdout  # geopotential height, by its numbers
    assert "values cannot be read: " in done.stdout
    assert "ecCodes" in done.stdout


def test_pictures_have_coast_lines_and_arrows(tmp_path: Path) -> None:
    from PIL import Image

    shots = {}
    for name, options in {
        "plain": {"coast": False},
        "coast": {},
        "arrows": {"coast": False, "arrows": True},
    }.items():
        picture(ANALYSIS, tmp_path / f"{name}.png", field="gh", cut="level=500hPa", **options)  # type: ignore[arg-type]
        shots[name] = np.asarray(Image.open(tmp_path / f"{name}.png").convert("L"), float)
    for name in ("coast", "arrows"):
        changed = np.abs(shots[name] - shots["plain"]) > 40
        assert 0.003 < changed.mean() < 0.1
    with pytest.raises(InputError, match="no wind to be drawn over 'gh'"):
        picture(ANALYSIS, tmp_path / "a.png", field="gh", cut="latitude=3", arrows=True)
    with pytest.raises(InputError, match="a coordinate with its unit"):
        picture(ANALYSIS, tmp_path / "a.png", field="gh", cut="level=501hPa")
    with pytest.raises(InputError, match="no wind"):
        picture(SAMPLES / "regular_ll_sfc_grib2.tmpl", tmp_path / "a.png", arrows=True)


def test_a_coarse_map_is_of_the_level_that_was_asked_for() -> None:
    """No level stands for its neighbours: neither in pictures and tiles nor in volumes."""
    opened = Steps(ANALYSIS.parent).get(next(iter(Catalogue(ANALYSIS).series.values())), -1)
    this = opened.step.fields["gh"]
    exact = whole(opened.step, "gh")
    for detail in (0, 1, 2, 3):
        for level in range(9):
            plane = tiles.Plane(this, 0, detail, 0, level)
            plane.check()
            rows, columns = plane.shape
            values, _, _ = tiles.read_plane(opened, plane, plane.box((0, rows), (0, columns)))
            wanted = tiles._means(exact[level], 1 << detail, [0, 1])
            np.testing.assert_allclose(values.reshape(rows, columns), wanted)
    with pytest.raises(InputError):
        tiles.Plane(this, 0, 1, 0, 9).check()
    assert len(volume.volume(opened, this, 0, 1)) > 5 * 37 * 72


def test_a_server_sends_winds_and_levels_ranges(tmp_path: Path) -> None:
    shutil.copy(ANALYSIS, tmp_path / "state.grib2")
    with served(tmp_path) as client:
        [series] = client.json("/api/series")["series"]
        step = client.json(f"/api/{series['id']}/-1.0")
        fields = {field["name"]: field for field in step["fields"]}
        assert fields["gh"]["wind"] == [fields["u"]["id"], fields["v"]["id"]]
        [level] = [axis for axis in step["axes"].values() if axis["name"] == "level"]
        assert (level["is_down"], level["values"][0]) == (True, 1000)
        told = client.json(f"/api/{series['id']}/-1.0/{fields['gh']['id']}/statistics")
        assert len(told["planes"]) == 9
        assert 4800 < told["planes"][3]["min"] < told["planes"][3]["max"] < 6000
        status, _, tile = client.get(f"/tile/{series['id']}/-1.0/{step['version']}/{fields['u']['id']}/0/0/3/0/0")
        assert status == 200
        with open_step(ANALYSIS) as opened:
            np.testing.assert_allclose(decode_tile(tile), whole(opened, "u")[3], atol=0.05)
        status, _, coast = client.get("/static/coast.json")
        assert (status, len(json.loads(coast)["lines"]) > 100) == (200, True)


def test_components_along_a_projections_axes_are_no_wind(tmp_path: Path) -> None:
    for relative, count in (("8", 0), ("0", 1)):
        parts = [
            encoded(tmp_path, "polar_stereographic_pl_grib2", shortName=name, resolutionAndComponentFlags=relative)
            for name in ("u", "v")
        ]
        (tmp_path / "a.grb").write_bytes(b"".join(parts))
        with open_step(tmp_path / "a.grb") as step:
            assert {field.on_map is not None for field in step.fields.values()} == {True}
            assert len(step.fields) == 2
            assert len(winds_of(step)) == count


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="python-grib-doc is not installed")
@pytest.mark.parametrize("path", [
    pytest.param(path, id=path.name, marks=pytest.mark.long if path.stat().st_size > 500_000 else ())
    for path in sorted(EXAMPLES.glob("*.[gb]*"))
])  # fmt: skip
def test_files_of_others_have_the_values_of_eccodes(path: Path) -> None:
    """Each message is a place of one field, or left out with a reason; values and places are those of ecCodes."""
    file = open_location(path)
    records = grib_scan.scan(file).records
    if path.name == "regular_latlon_surface.grib2":  # its length is another file's, and its end not there
        return
    with open_step(path) as step:
        reader = step.found.reader
        assert isinstance(reader, grib._Reader)
        groups = reader._groups
        assert step.fields
        assert step.found.problems == []
        assert sum(len(group.places) for group in groups.values()) == len(records) or step.left_out
        for group in groups.values():
            messages = {id(record): record for record in group.places.values()}
            for record in list(messages.values())[:: max(1, len(messages) // 3)]:
                message = record.read(file)
                values = grib_array(message, "values")
                told = grib_texts(message, ["shortName", "validityDate", "validityTime", "level", "typeOfLevel"])
                level, valid = next(place for place, other in group.places.items() if other is record)
                when = np.datetime64(int(valid or 0), "s").item()
                assert f"{when:%Y%m%d} {int(f'{when:%H%M}')}" == f"{told['validityDate']} {told['validityTime']}"
                if told["typeOfLevel"] in ("isobaricInhPa", "hybrid"):
                    assert level == float(told["level"])
                assert group.keys.name == told["shortName"] or told["shortName"] == "unknown"
                if isinstance(group.layout, grib.Waves):
                    continue
                shown = grib._decode(record, group.layout, file)
                there = values[values != 9999] if group.layout.has_gaps else values
                np.testing.assert_array_equal(np.unique(shown[np.isfinite(shown)]), np.unique(there))
                if isinstance(group.layout, grib_grid.Grid) and not group.layout.rows:
                    check_places(group.layout, shown, message, values)
    file.close()


def check_places(grid: grib_grid.Grid, shown: NDArray[np.float64], message: bytes, values: NDArray[np.float64]) -> None:
    latitudes, longitudes = (grib_array(message, key) for key in ("latitudes", "longitudes"))
    rows = np.abs(np.asarray(grid.latitudes)[:, None] - np.unique(latitudes)).argmin(0)
    easts = np.unique(longitudes)
    away = np.abs((np.asarray(grid.longitudes)[:, None] - easts + 180) % 360 - 180)
    assert away.min(0).max() < 2e-3
    found = shown[rows[np.searchsorted(np.unique(latitudes), latitudes)]]
    found = found[np.arange(len(found)), away.argmin(0)[np.searchsorted(easts, longitudes)]]
    assert np.array_equal(found, np.where(values == 9999, np.nan, values) if grid.has_gaps else values, equal_nan=True)

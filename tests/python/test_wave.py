"""Frames out of NetCDF files, and the pictures that are made of them."""

from __future__ import annotations

import io
from pathlib import Path

import h5netcdf
import numpy as np
import pytest
from PIL import Image

from hakobi_lab import plots
from hakobi_lab.studies.output_methods import pictures, wave

LON = np.arange(140, 200, 1.0)
LAT = np.arange(20, 50, 1.0)


def write_step(path: Path, time_s: float, *, rows: int = LAT.size, columns: int = LON.size, field: str = "eta") -> None:
    lat, lon = np.linspace(20, 50, rows), np.linspace(140, 200, columns)
    x, y = np.meshgrid(lon, lat)
    eta = np.exp(-(((x - 145 - time_s / 400) / 2) ** 2) - ((y - 35) / 2) ** 2)
    eta[x < 142] = np.nan
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"lat": rows, "lon": columns}
        for name, values in (("lat", lat), ("lon", lon)):
            file.create_variable(name, (name,), float, data=values)
        time = file.create_variable("time", (), float)
        time[...] = time_s
        time.attrs["units"] = "seconds since 2011-03-11 05:46:24"
        peak = file.create_variable("a_max", ("lat", "lon"), float, data=np.abs(eta))
        peak.attrs["long_name"] = "highest sea surface so far"
        item = file.create_variable(field, ("lat", "lon"), float, data=eta)
        item.attrs["units"] = "m"
        item.attrs["standard_name"] = "sea_surface_height_above_mean_sea_level"
        file.attrs["title"] = "A wave"


@pytest.fixture
def series(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"wave_{step:06d}.nc" for step in range(7)]
    for step, path in enumerate(paths):
        write_step(path, 1800.0 * step)
    return paths


def test_a_series_becomes_frames_in_time(series: list[Path]) -> None:
    result = wave.read_wave(series, max_frames=4)
    assert result is not None
    assert result.times_s == [0, 3600, 7200, 10800]
    assert (result.title, result.name, result.units) == ("A wave", "sea surface height", "m")
    assert result.origin == "2011-03-11 05:46:24 UTC"
    assert (result.num_files, result.grid) == (7, (30, 60))
    assert result.frames[0].shape == (30, 60)
    assert np.isnan(result.frames[0][0, 0])
    assert np.nanargmax(result.frames[-1].max(axis=0)[3:]) > np.nanargmax(result.frames[0].max(axis=0)[3:])
    assert result.peak is not None


def test_a_large_field_is_thinned(tmp_path: Path) -> None:
    write_step(tmp_path / "x.nc", 0, rows=40, columns=2000)
    result = wave.read_wave([tmp_path / "x.nc"], max_frames=1)
    assert result is not None
    assert result.frames[0].shape == (40, 667)
    assert result.lon.size == 667
    assert result.grid == (40, 2000)


def test_other_units_of_time_become_seconds(tmp_path: Path) -> None:
    write_step(tmp_path / "x.nc", 2)
    with h5netcdf.File(tmp_path / "x.nc", "a") as file:
        file["time"].attrs["units"] = "hours since 2000-01-01"
    result = wave.read_wave([tmp_path / "x.nc"], max_frames=1)
    assert result is not None
    assert result.times_s == [7200]


def test_what_is_no_wave_gives_none(tmp_path: Path) -> None:
    (tmp_path / "text.nc").write_text("no NetCDF")
    assert wave.read_wave([tmp_path / "text.nc"], 1) is None
    assert wave.read_wave([tmp_path / "missing.nc"], 1) is None
    assert wave.read_wave([], 1) is None


def test_the_animation_has_a_frame_a_step_and_shows_motion(series: list[Path]) -> None:
    result = wave.read_wave(series, max_frames=5)
    assert result is not None
    with Image.open(io.BytesIO(pictures.animation_gif(result))) as gif:
        assert getattr(gif, "n_frames", 1) == 5
        first = np.asarray(gif.convert("RGB"))
        gif.seek(4)
        last = np.asarray(gif.convert("RGB"))
    assert first.shape == last.shape
    assert (first != last).any(axis=-1).mean() > 0.001
    assert tuple(first[0, 0]) == (255, 255, 255)


def test_every_picture_can_be_drawn(series: list[Path]) -> None:
    result = wave.read_wave(series, max_frames=9)
    assert result is not None
    peak = pictures.peak_figure(result)
    assert peak is not None
    for figure in (pictures.field_figure(result), pictures.series_figure(result), peak):
        with Image.open(io.BytesIO(plots.to_png(figure, 60))) as picture:
            assert picture.width > 400


def test_a_wave_of_one_frame_and_a_still_sea_can_be_drawn(tmp_path: Path) -> None:
    result = wave.Wave("", "height", "m", LAT, LON, times_s=[0.0], frames=[np.zeros((30, 60), np.float32)])
    assert pictures.height_limit(result) > 0
    plots.to_png(pictures.field_figure(result), 50)
    plots.to_png(pictures.series_figure(result), 50)
    assert pictures.peak_figure(result) is None


def test_svg_ids_of_two_figures_on_a_page_never_meet(series: list[Path]) -> None:
    texts = []
    for identity in ("one", "two"):
        figure, (axes,) = plots.new_figure(4, 3)
        axes.plot([1, 2], [3, 4])
        texts.append(plots.to_svg(figure, identity))
    ids = [{part.split('"')[0] for part in text.split(' id="')[1:]} for text in texts]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, own in zip(texts, ids, strict=True):
        assert {part.split('"')[0] for part in text.split('href="#')[1:]} <= own

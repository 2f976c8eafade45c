"""Field stores in `hakobi post`: maps of GRIB fields and of arrays, new ones as they are flushed."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from hakobi.errors import FormatError, InputError
from hakobi.post.catalogue import Catalogue, Steps, identifier
from hakobi.store import open_store
from hakobi.store.grib_grid import Grid, Projection, grid_of
from hakobi.store.grib_names import Words, words_of
from posting import decode_tile, served

SAMPLES = Path("/usr/share/eccodes/samples")
pytestmark = [
    pytest.mark.programs,
    pytest.mark.once,
    pytest.mark.skipif(not SAMPLES.is_dir(), reason="ecCodes' samples are not installed"),
]


def message(name: str) -> bytes:
    data = (SAMPLES / f"{name}.tmpl").read_bytes()
    return data[: int.from_bytes(data[4:7], "big")] if data[7] == 1 else data  # some are followed by padding


def test_grids_of_both_editions() -> None:
    for edition in ("grib1", "grib2"):
        grid = grid_of(message(f"regular_ll_sfc_{edition}"))
        assert isinstance(grid, Grid)
        assert (grid.shape, grid.rows) == ((31, 16), ())
        assert (grid.latitudes[[0, -1]].tolist(), grid.longitudes[[0, -1]].tolist()) == ([0, 60], [0, 30])
        values = np.arange(31.0 * 16)
        assert grid.map_of(values)[-1, 0] == 0  # the first row is the northernmost
        reduced = grid_of(message(f"reduced_gg_pl_32_{edition}"))
        assert isinstance(reduced, Grid)
        assert (reduced.shape, sum(reduced.rows)) == ((64, 128), 6114)
        assert reduced.latitudes[-1] == pytest.approx(87.8638, abs=1e-3)
        ends = np.cumsum(reduced.rows)
        row = reduced.map_of(np.arange(6114.0))[-1]
        assert (row.min(), row.max()) == (0, ends[0] - 1)
        with pytest.raises(FormatError):
            reduced.map_of(np.arange(10.0))
        latitudes, longitudes = reduced.points()
        assert (len(latitudes), latitudes[0], longitudes[1]) == (6114, reduced.latitudes[-1], 18)
        assert isinstance(grid_of(message(f"polar_stereographic_sfc_{edition}")), Projection)
        with pytest.raises(InputError, match=r"no grid of rows and columns \(sh\)"):
            grid_of(message(f"sh_ml_{edition}"))
    for torn in (b"", b"GRIB", message("GRIB2")[:60], message("GRIB1")[:20]):
        with pytest.raises((FormatError, InputError)):
            grid_of(torn)


def test_a_store_is_shown_and_followed(tmp_path: Path) -> None:
    folder = tmp_path / "weather"
    with open_store(folder, "weather") as store:
        store.archive_grib(message("reduced_gg_pl_32_grib2"))
    with served(tmp_path) as client:
        [series] = client.json("/api/series")["series"]
        assert (series["name"], series["count"]) == ("weather", 1)
        step = client.json(f"/api/{series['id']}/0.0")
        [field] = step["fields"]
        assert (field["name"], field["shape"]) == ("t", [64, 128])
        assert step["label"] == "date 20100912, time 1200, step 0"
        assert (field["long_name"], field["units"]) == ("Temperature", "K")
        assert (step["times"], step["time_units"]) == ([1284292800.0], "seconds since 1970-01-01 00:00:00")
        assert [a["kind"] for a in step["axes"].values()] == ["lat", "lon"]
        path = f"/tile/{series['id']}/0.0/{step['version']}/{identifier('t')}/0/0/0/0/0"
        status, _, tile = client.get(path)
        assert (status, decode_tile(tile).shape) == (200, (64, 128))
        with open_store(folder) as store:
            store.archive_grib(message("regular_gg_ml_grib1"))
        step = client.json(f"/api/{series['id']}/0.0")
        names = [f["name"] for s in (step, client.json(f"/api/{series['id']}/1.0")) for f in s["fields"]]
        assert len(names) == 2


def test_names_units_and_valid_times_of_messages() -> None:
    known = Words("Temperature", "K", 1284292800.0, "t", "air_temperature")
    assert words_of(message("reduced_gg_pl_32_grib2")) == known
    assert words_of(message("regular_ll_sfc_grib1")).units
    assert words_of(b"GRIB") == Words()
    assert words_of(message("GRIB2")[:60]) == Words()


def test_a_store_may_be_damaged_and_deleted_under_a_viewer(tmp_path: Path) -> None:
    folder = tmp_path / "weather"
    with open_store(folder, "weather") as store:
        store.archive_grib(message("reduced_gg_pl_32_grib2"))
        store.archive_grib(message("regular_gg_ml_grib1"))  # the page reads the last step's field beforehand
    with served(tmp_path) as client:
        [series] = client.json("/api/series")["series"]
        step = client.json(f"/api/{series['id']}/0.0")
        place = f"/{series['id']}/0.0/{step['version']}/{identifier('t')}/0/0/0/0/0"
        for path in folder.glob("*.data"):
            os.truncate(path, 500)
        status, _, body = client.get(f"/tile{place}")
        assert (status, b"Traceback" in body) == (422, False)
        shutil.rmtree(folder)
        for gone in (f"/tile{place}", f"/api/{series['id']}/0.0"):
            assert client.get(gone)[0] == 404
        until = time.monotonic() + 20
        while client.json("/api/series")["series"] and time.monotonic() < until:
            time.sleep(0.05)
        assert client.json("/api/series")["series"] == []


def test_arrays_of_a_store_are_fields(tmp_path: Path) -> None:
    values = np.arange(60.0).reshape(3, 4, 5)
    with open_store(tmp_path / "flow", "flow") as store:
        schema = (tmp_path / "flow" / "schema").read_text()
        assert "step" in schema
        store.archive("case=c,run=1,variable=p,step=1,block=0", values)
    steps = Steps(tmp_path)
    [series] = Catalogue(tmp_path).series.values()
    opened = steps.get(series, 0)
    assert list(opened.step.fields) == ["p"]
    np.testing.assert_array_equal(opened.step.read("p", 0, ((1, 3), (0, 4), (2, 3))), values[1:3, :, 2:3])

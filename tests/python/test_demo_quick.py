"""`hakobi demo --quick`: what it concludes, and the whole of it as a user sees it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import netCDF4
import numpy as np
import pytest
from PIL import Image

from building import needs_build
from hakobi.demo import drawing, quick, solver
from running import Result

Command = Callable[..., Result]


def times(own: list[float], hidden: list[float], none: list[float]) -> quick.Times:
    return quick.Times({quick.OWN: own, quick.HIDDEN: hidden, quick.NONE: none})


def test_the_sentence_says_what_was_measured_and_no_more() -> None:
    assert times([4.5, 4.6, 4.4], [3.1, 3.2, 3.0], [3.0, 3.1, 2.9]).sentence() == (
        "On a storage of 118 MB/s, one rank that writes while the others wait makes this run 1.50 times as long; "
        "Hakobi makes it 1.03 times as long."
    )
    alone = times([4.5], [2.99], [3.0]).sentence()
    assert alone.startswith("By one round only, since the machine is slow or busy: on a storage of 118 MB/s, one rank")
    assert alone.endswith("Hakobi costs it nothing that can be measured.")
    busy = times([4.5, 3.0, 4.4], [3.1, 3.2, 3.0], [3.0, 3.1, 2.9]).sentence()
    assert busy.endswith("cannot be told apart here: the machine was busy otherwise.")


def test_the_pictures_are_what_readers_of_png_read(tmp_path: Path) -> None:
    sea = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    is_land = np.zeros((3, 4), bool)
    is_land[0, 0] = True
    strip = drawing.film_strip([drawing.painted(sea, is_land, 1.0)] * 2, gap=2)
    (tmp_path / "film.png").write_bytes(drawing.png(strip))
    with Image.open(tmp_path / "film.png") as image:
        assert image.size == (10, 3)
        assert (np.asarray(image) == strip).all()
    assert tuple(strip[0, 0]) == (216, 208, 190)  # land
    assert tuple(strip[2, 3]) == (127, 0, 0)  # the highest water


def test_the_page_says_the_conclusion_first() -> None:
    page = drawing.page(
        "a <demo>", "It is faster.", [("own", 4.0), ("Hakobi", 2.0)], b"PNG", ["Same bytes."], "ls <run>"
    )
    words = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL).split()
    assert words[:6] == ["a", "&lt;demo&gt;", "It", "is", "faster.", "own"]
    assert "width:26.00%" in page
    assert "ls &lt;run&gt;" in page


def test_water_flows_out_of_no_sea() -> None:
    floor = solver.depth()
    assert floor.min() == 0
    assert floor.max() <= 1
    assert (floor[:, -1] == 0).all()
    assert (solver.hump(slice(0, solver.EXTENT))[floor == 0] == 0).all()


@needs_build
@pytest.mark.long
@pytest.mark.programs
@pytest.mark.once
@pytest.mark.timeout(300)
def test_the_demonstration_takes_a_minute(hakobi: Command, tmp_path: Path) -> None:
    begin_s = time.monotonic()
    result = hakobi("demo", "--quick", "--folder", tmp_path / "demo")
    assert result.status == 0, result.stderr
    assert time.monotonic() - begin_s < 120  # a machine that does something else, too
    assert "have the same bytes as those of a run that nobody killed" in result.stdout
    assert "On a storage of 118 MB/s" in result.stdout.splitlines()[1]
    steps = sorted((tmp_path / "demo").glob("wave_??????.nc"))
    assert len(steps) == quick.STEPS
    with netCDF4.Dataset(steps[-1]) as step:
        assert float(np.abs(step["eta"][0]).max()) > 0.1
    with Image.open(tmp_path / "demo" / "wave.png") as image:
        assert image.size == (4 * solver.EXTENT // 2 + 3 * 8, solver.EXTENT // 2)
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        *(path.name for path in steps),
        "wave.series.nc",
        "wave.png",
        "demo.html",
    }

"""Differences in `hakobi post`: which fields are taken from each other, and which are not."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from hakobi.errors import InputError
from hakobi.post import tiles
from hakobi.post.catalogue import Catalogue, OpenStep, Steps, identifier
from posting import Array, decode_tile, open_step, served, write_step


def test_rounded_coordinates_and_units_written_otherwise_are_the_same(tmp_path: Path) -> None:
    """As of a run in single precision beside one in double, or of one row of cells."""
    cells: dict[str, Array] = {"fine": 179 + np.arange(40) / 120, "metres": 5e6 + np.arange(40)}
    for name, places in cells.items():
        for kind, row in (("double", 10.1), ("single", np.float32(10.1))):
            path = write_step(tmp_path / f"{name}_{kind}.nc", {"eta": np.zeros((1, 40))})
            with h5py.File(path, "a") as file:
                file["lat"][...] = row
                file["lon"][...] = places if kind == "double" else places.astype("f4")
                file["eta"].attrs["units"] = "m s-1" if kind == "double" else "m s**-1"
    with h5py.File(tmp_path / "metres_double.nc", "a") as file:
        file["lon"][...] += 1
    first, second, third, fourth = (open_step(tmp_path / f"{a}_{b}.nc") for a in cells for b in ("double", "single"))

    def less(one: OpenStep, other: OpenStep) -> bytes:
        fine, rough = (tiles.Plane(opened.step.fields["eta"], 0, 0, 0, 0) for opened in (one, other))
        return tiles.difference_tile(one, other, (fine, rough), 0, 0)

    np.testing.assert_array_equal(decode_tile(less(first, second)), np.zeros((1, 40)))
    with pytest.raises(InputError, match="along lon"):  # a whole cell, though rounding might be as much
        less(third, fourth)


def test_rows_of_times_are_taken_away_at_other_times(tmp_path: Path) -> None:
    for number in range(2):
        with h5py.File(tmp_path / f"run_{number}.nc", "w") as file:
            file["time"] = np.arange(3.0) + 3 * number
            file["time"].make_scale("time")
            file["eta"] = np.full((3, 4), float(number))
            file["eta"].dims[0].attach_scale(file["time"])
    sides = [Steps(tmp_path).get(next(iter(Catalogue(tmp_path).series.values())), number) for number in range(2)]
    planes = [tiles.Plane(side.step.fields["eta"], 0, 0, 0, 0) for side in sides]
    data = tiles.difference_tile(sides[0], sides[1], (planes[0], planes[1]), 0, 0)
    np.testing.assert_array_equal(decode_tile(data), np.ones((3, 4)))


def test_a_field_with_fewer_times_is_taken_away_at_its_last(tmp_path: Path) -> None:
    for name, count in (("a", 2), ("b", 3)):
        with h5py.File(tmp_path / f"{name}.nc", "w") as file:
            for field, times in (("eta", count), ("other", 3)):
                file.create_dataset(field, data=np.arange(12.0 * times).reshape(times, 3, 4), maxshape=(None, 3, 4))
    with served(tmp_path) as client:
        one, other = identifier("a.nc"), identifier("b.nc")
        versions = [client.json(f"/api/{series}/-1.0")["version"] for series in (one, other)]
        path = f"/difference/{other}/-1.2/{versions[1]}/{identifier('eta')}/0/0/0/0/0"
        status, _, data = client.get(f"{path}/{one}:-1.2@{versions[0]}")
        assert status == 200, data
        np.testing.assert_array_equal(decode_tile(data), np.full((3, 4), 12))

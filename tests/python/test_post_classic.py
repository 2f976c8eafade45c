"""NetCDF's classic formats in `hakobi post`: what other libraries write is read value for value, damage is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hakobi.errors import FormatError
from hakobi.post.opening import open_step
from posting import wave

netcdf = pytest.importorskip("netCDF4")
FORMATS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
HEIGHTS = np.stack([wave((30, 40), phase) for phase in (0.0, 1.0, 2.0)])


def write(path: Path, kind: str) -> Path:
    with netcdf.Dataset(path, "w", format=kind) as file:
        file.createDimension("time", None)
        for name, size, units in (("lat", 30, "degrees_north"), ("lon", 40, "degrees_east")):
            file.createDimension(name, size)
            file.createVariable(name, "f8", (name,))[:] = np.arange(size) * 0.5
            file[name].units = units
        file.createVariable("time", "f8", ("time",)).units = "seconds since 2011-03-11 05:46:24"
        file["time"].calendar = "noleap"
        eta = file.createVariable("eta", "f4", ("time", "lat", "lon"), fill_value=-999.0)
        eta.units = "m"
        flags = file.createVariable("flags", "i2", ("time", "lat", "lon"))  # an odd number of bytes a record
        packed = file.createVariable("packed", "i2", ("lat", "lon"))
        packed.scale_factor, packed.add_offset = 0.5, 10.0
        packed[:] = np.arange(1200).reshape(30, 40) * 0.5 + 10
        file.createVariable("names", "S1", ("lat", "lon"))
        for number, values in enumerate(HEIGHTS):
            file["time"][number] = 60.0 * number
            eta[number] = np.where(np.isnan(values), -999, values)
            flags[number] = number
    return path


@pytest.mark.parametrize("kind", FORMATS)
def test_fields_are_read_as_they_were_written(tmp_path: Path, kind: str) -> None:
    with open_step(write(tmp_path / "run.nc", kind)) as step:
        assert list(step.fields) == ["eta", "flags", "packed"]
        assert (step.times, step.time_units) == ((0.0, 60.0, 120.0), "seconds since 2011-03-11 05:46:24")
        assert step.found.calendar == "noleap"
        assert step.left_out == {"names": "not a field of numbers"}
        eta = step.fields["eta"]
        assert (eta.num_times, eta.units, [a.kind for a in eta.axes]) == (3, "m", ["lat", "lon"])
        assert eta.axes[1].coordinates == tuple(np.arange(40) * 0.5)
        for time, values in enumerate(HEIGHTS):
            np.testing.assert_array_equal(step.read("eta", time, ((0, 30), (0, 40))), values)
            assert step.read("flags", time, ((29, 30), (3, 5))).tolist() == [[time, time]]
        np.testing.assert_array_equal(
            step.read("packed", 0, ((2, 30), (5, 6)))[:, 0], (np.arange(1200).reshape(30, 40) * 0.5 + 10)[2:, 5]
        )


def test_one_record_variable_of_short_values_has_no_padding(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    with netcdf.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        for name, size in (("n", None), ("y", 3), ("x", 5)):
            file.createDimension(name, size)
        values: NDArray[Any] = np.arange(45, dtype="i1").reshape(3, 3, 5)
        file.createVariable("only", "i1", ("n", "y", "x"))[:] = values
    with open_step(path) as step:
        for time in range(3):
            np.testing.assert_array_equal(step.read("only", time, ((0, 3), (0, 5))), values[time])


@pytest.mark.parametrize("kind", FORMATS)
def test_every_damage_is_a_clear_error(tmp_path: Path, kind: str) -> None:
    data = write(tmp_path / "whole.nc", kind).read_bytes()
    random = np.random.default_rng(1)
    path = tmp_path / "torn.nc"
    num_refused = 0
    for number in range(300):
        torn = bytearray(data[: int(random.integers(3, len(data)))] if number % 2 else data)
        for at in random.integers(4, 900, number % 5):
            if at < len(torn):
                torn[at] = int(random.choice([0, 1, 10, 127, 255]))
        path.write_bytes(torn)
        try:
            with open_step(path) as step:
                for field in step.fields.values():
                    step.read(field.name, 0, tuple((n - 1, n) for n in field.shape))
        except (FormatError, OSError):
            num_refused += 1
    assert 100 < num_refused < 300

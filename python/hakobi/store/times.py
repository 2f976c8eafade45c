"""When fields are valid: coordinates of datetimes beside the keywords date, time and step.

The keywords stay as requests have them. What is added has the names of the CF conventions: `forecast_reference_time`,
`forecast_period` (of a step that is an interval: its end), and `valid_time`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import xarray

from hakobi.store.parameters import step_end_s

_Array = TypeVar("_Array", xarray.DataArray, xarray.Dataset)
_ATTRIBUTES = {
    "forecast_reference_time": {"standard_name": "forecast_reference_time"},
    "forecast_period": {"standard_name": "forecast_period"},
    "valid_time": {"standard_name": "time", "long_name": "time for which the values are valid"},
}
#: The names of these coordinates.
TIMES = tuple(_ATTRIBUTES)


def with_times(array: _Array) -> _Array:
    """With coordinates for the keywords date, time and step that the fields have; unchanged where they have no date."""
    dates = _converted(array, "date", _date)
    if dates is None:
        return array
    clocks = _converted(array, "time", _clock)
    reference = dates if clocks is None else dates + clocks
    found = {"forecast_reference_time": reference}
    periods = _converted(array, "step", _period)
    if periods is not None:
        found["forecast_period"] = periods
        reference = reference + periods
    if periods is not None or "step" not in array.coords:
        found["valid_time"] = reference
    for name, values in found.items():
        array = array.assign_coords({name: values.variable.copy()})
        array[name].attrs.update(_ATTRIBUTES[name])
    return array


def _converted(
    array: xarray.DataArray | xarray.Dataset, keyword: str, convert: Callable[[str], Any]
) -> xarray.DataArray | None:
    """The labels of a keyword as times; None where it is not there, or one of them is none."""
    if keyword not in array.coords:
        return None
    labels = array.coords[keyword]
    times = [convert(str(label)) for label in labels.values.reshape(-1)]
    if any(time is None for time in times):
        return None
    values: npt.NDArray[np.generic] = np.array(times).reshape(labels.shape)
    return xarray.DataArray(xarray.Variable(labels.dims, values))


def _date(text: str) -> np.datetime64 | None:
    if not re.fullmatch(r"[0-9]{8}", text):
        return None
    try:
        return np.datetime64(f"{text[:4]}-{text[4:6]}-{text[6:]}", "ns")
    except ValueError:
        return None


def _clock(text: str) -> np.timedelta64 | None:
    if not re.fullmatch(r"[0-9]{1,4}", text):
        return None
    return np.timedelta64(60_000_000_000 * (60 * (int(text) // 100) + int(text) % 100), "ns")


def _period(text: str) -> np.timedelta64 | None:
    end_s = step_end_s(text)
    return None if end_s is None else np.timedelta64(1_000_000_000 * end_s, "ns")

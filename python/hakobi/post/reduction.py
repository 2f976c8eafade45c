"""The scaling of values for float16, and what float16 still tells of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: The largest finite float16.
LARGEST = 65504.0
_MOST = float(np.finfo(np.float64).max)
PERCENTILES = (0.5, 1, 2, 5, 10, 25, 50, 75, 90, 95, 98, 99, 99.5)
_BINS = 64


def percentiles(values: Array, points: tuple[float, ...]) -> list[float]:
    """The percentiles of finite values. Differences that no float64 holds are no harm."""
    values = values.astype(np.float64)
    size = 2.0**-2 if float(np.abs(values).max()) > _MOST / 4 else 1.0
    return [float(v) for v in np.percentile(values * size, points) / size]


def statistics_of(
    num_values: int, low: Array, high: Array, total: float, num_nan: int, sample: Array
) -> dict[str, Any]:
    """The statistics of a field: extremes, mean and the count of NaN are of every value, the rest of a sample. A number
    that JSON has no word for (an infinite mean) is left out."""
    result: dict[str, Any] = {"num_values": num_values, "num_nan": num_nan}
    if num_nan < num_values and low.size:
        result |= {"min": float(np.nanmin(low)), "max": float(np.nanmax(high)), "mean": total / (num_values - num_nan)}
    values = sample[np.isfinite(sample)]
    if values.size:
        with np.errstate(all="ignore"):
            result["std"] = float(values.std())
            points = percentiles(values, PERCENTILES)
        result["percentiles"] = dict(zip(map(str, PERCENTILES), points, strict=True))
        first, last = float(values.min()), float(values.max())
        counts = [int(values.size)]
        if np.isfinite(last - first) and (last - first) / _BINS > abs(last) * 1e-15:
            counts = [int(n) for n in np.histogram(values, bins=_BINS, range=(first, last))[0]]
        result["histogram"] = {"counts": counts, "from": first, "to": last}
        result["num_sampled"] = int(values.size)
    return {key: value for key, value in result.items() if not isinstance(value, float) or math.isfinite(value)}


def scaling(sample: Array) -> tuple[float, float]:
    """Offset and scale that bring values like the sample's to about -1 … 1, where float16 resolves 1/2048 of a value.
    `widened` makes room for others."""
    values = sample[np.isfinite(sample)].astype(np.float64)
    if values.size == 0:
        return 0.0, 1.0
    low, high = percentiles(values, (0.5, 99.5))
    half = high / 2 - low / 2
    offset = low + half
    if half <= abs(offset) * 2.0**-40:  # nearly all are one value: scale by what the others are
        with np.errstate(over="ignore"):
            away = np.abs(values - offset)
        away = away[away > abs(offset) * 2.0**-40]
        return offset, min(_MOST, float(np.median(away))) if away.size else abs(offset) or 1.0
    if low <= 0 <= high:  # keep zero exact
        return 0.0, max(abs(low), abs(high))
    return offset, half


def widened(offset: float, scale: float, extremes: Array) -> float:
    """The scale, or the larger one with which float16 holds the finite ones of these values too."""
    finite = extremes[np.isfinite(extremes)].astype(np.float64)
    if finite.size == 0:
        return scale
    most = 65000.0  # less than the largest, which may stand for any value beyond it
    away = max(abs(float(v) / most - offset / most) for v in (finite.min(), finite.max()))
    return max(scale, away)


def to_halves(values: Array, offset: float, scale: float) -> NDArray[np.float16]:
    """(value - offset) / scale as float16; a finite value stays finite."""
    with np.errstate(all="ignore"):
        wide = values.astype(np.float64)
        normal = (wide - offset) / scale
        halves: NDArray[np.float16] = np.where(np.isfinite(wide), np.clip(normal, -LARGEST, LARGEST), wide).astype("f2")
        return halves


def errors(halves: Array, scale: float) -> Array:
    """How far the values may lie from what their halves say. The largest half may stand for any value beyond it."""
    size = np.minimum(np.abs(halves), np.float16(LARGEST - 32))  # of the largest itself numpy's spacing is infinite
    with np.errstate(all="ignore"):
        return np.spacing(size).astype(np.float64) / 2 * abs(scale)


def resolves(halves: Array, offset: float, scale: float, low: float, high: float) -> bool:
    """Whether the halves place each value among 256 colours from `low` to `high` to a quarter of a colour.
    client/tiles.js decides alike."""
    with np.errstate(all="ignore"):
        values = halves.astype(np.float64) * scale + offset
        error = errors(halves, scale)
        is_open = np.isfinite(halves) & (np.abs(halves) >= LARGEST)
        is_up = (halves > 0) == (scale > 0)
        below = np.where(is_open & ~is_up, -np.inf, values - error)
        above = np.where(is_open & is_up, np.inf, values + error)
        is_coarse = is_open | ~(error <= (high / 256 - low / 256) / 4)
        return not bool((is_coarse & (above >= low) & (below <= high) & np.isfinite(halves)).any())

"""Halving a field in every direction: means that pass over NaN, smallest and largest values a brick."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: The largest finite float16.
_LARGEST = 65504.0


def make_even(block: Array) -> Array:
    """The block with the last cell of each odd direction repeated, which leaves that cell's mean as it is."""
    if all(n % 2 == 0 for n in block.shape):
        return block
    return np.pad(block, [(0, n % 2) for n in block.shape], mode="edge")


def _sum_pairs(block: Array) -> Array:
    """Sums over two cells a direction; in 3-D two planes at a time, which stay in the processor's cache."""
    if block.ndim == 3 and block.shape[0] > 2:
        sums = np.empty([n // 2 for n in block.shape], block.dtype)
        for place in range(len(sums)):
            plane = block[2 * place] + block[2 * place + 1]
            rows = plane[0::2] + plane[1::2]
            np.add(rows[:, 0::2], rows[:, 1::2], out=sums[place])
        return sums
    for axis in range(block.ndim):
        even = (slice(None),) * axis + (slice(0, None, 2),)
        odd = (slice(None),) * axis + (slice(1, None, 2),)
        block = block[even] + block[odd]
    return block


def halve(block: Array, offset: float = 0.0, scale: float = 1.0) -> NDArray[np.float16]:
    """Means over two cells a direction, as (mean - offset) / scale. NaN cells are passed over: a mean is NaN where all
    of its cells are. Infinities stay; finite means that float16 does not hold become its largest."""
    block = make_even(block)
    with np.errstate(all="ignore"):
        means = _sum_pairs(block)
        means *= block.dtype.type(0.5**block.ndim)
        if np.isfinite(means.sum()):
            result = means
            if (offset, scale) != (0.0, 1.0):
                result = means.astype(_wide(block, scale), copy=False)
                result -= result.dtype.type(offset)
                result /= result.dtype.type(scale)
        else:  # NaN, infinities or an overflow: with care
            result = _halve_with_care(block, offset, scale)
        halves = result.astype(np.float16)
        too_large = (halves.view(np.uint16) & 0x7FFF) == 0x7C00  # infinite
        if too_large.any():
            too_large &= np.isfinite(result)
            halves[too_large] = np.copysign(np.float16(_LARGEST), halves[too_large])
    return halves


def _wide(block: Array, scale: float) -> type[np.floating[Any]]:
    """float32 where the scale is one that it holds well, else float64."""
    return np.float32 if block.dtype.itemsize <= 4 and 1e-30 < scale < 1e30 else np.float64


def _halve_with_care(block: Array, offset: float, scale: float) -> Array:
    normal = (block.astype(np.float64) - offset) / scale
    valid = ~np.isnan(normal)
    normal[~valid] = 0.0
    return _sum_pairs(normal) / _sum_pairs(valid.astype(np.float64))


def extremes(block: Array, width: int) -> tuple[Array, Array]:
    """Smallest and largest value of each brick of a row: groups of `width` cells along the last direction, over all
    the others. NaN where a group has no value."""
    axes = tuple(range(block.ndim - 1))
    starts = np.arange(0, block.shape[-1], width)
    if block.ndim == 3:  # a plane at a time, which stays in the processor's cache
        pairs = [(plane.min(axis=0), plane.max(axis=0)) for plane in block]
        low, high = np.min([p[0] for p in pairs], axis=0), np.max([p[1] for p in pairs], axis=0)
    else:
        low, high = block.min(axis=axes), block.max(axis=axes)
    if np.isnan(low).any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a line of NaN only
            low, high = np.fmin.reduce(block, axis=axes), np.fmax.reduce(block, axis=axes)
    return np.fmin.reduceat(low, starts), np.fmax.reduceat(high, starts)


def scaling(sample: Array) -> tuple[float, float]:
    """Offset and scale that bring values like the sample's to about -1 … 1, where float16 resolves 1/2048 of a value.
    What the sample missed is held up to 65504 times beyond."""
    values = sample[np.isfinite(sample)].astype(np.float64)
    if values.size == 0:
        return 0.0, 1.0
    low, high = (float(v) for v in np.percentile(values, (0.5, 99.5)))
    half = high / 2 - low / 2
    offset = low + half
    if half <= abs(offset) * 2.0**-40:  # nearly all are one value: scale by what the others are
        away = np.abs(values - offset)
        away = away[away > abs(offset) * 2.0**-40]
        return offset, float(np.median(away)) if away.size else abs(offset) or 1.0
    if abs(offset) < 0.5 * half:  # values on both sides of zero: keep zero exact
        return 0.0, max(abs(low), abs(high))
    return offset, half

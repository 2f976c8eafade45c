"""The scaling of values for float16."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


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

"""Values as colours, and the bar that explains them: for float64 of any size, as the page paints them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def painted(values: Array, limits: tuple[float, float], colours: Array) -> NDArray[np.uint8]:
    """Red, green, blue and opacity of each value: colours are spread evenly between the limits, beyond them their ends
    go on, infinity is beyond, NaN is transparent. client/tiles.js paints alike."""
    low, high = limits
    size = 2.0**-10 if max(abs(low), abs(high)) > 1e300 else 1.0  # of larger ones the difference may be no number
    with np.errstate(all="ignore"):
        place = len(colours) * ((values.astype(np.float64) * size - low * size) / (high * size - low * size))
    number = np.clip(np.nan_to_num(place, nan=0.0), 0, len(colours) - 1).astype(np.intp)
    table = np.column_stack([np.rint(255 * colours), np.full(len(colours), 255)]).astype(np.uint8)
    rgba: NDArray[np.uint8] = table[number]
    rgba[np.isnan(values)] = 0
    return rgba


def add_bar(figure: Any, axes: Any, limits: tuple[float, float], colours: Array, units: str) -> None:
    """The bar of colours. Matplotlib takes limits below 1e-287 for zero: very small and very large ones are told in a
    power of ten."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    power = math.floor(math.log10(max(abs(limits[0]), abs(limits[1]))))
    unit = 1.0 if abs(power) < 100 else float(f"1e{power}")
    scale = Normalize(limits[0] / unit, limits[1] / unit)
    label = units if unit == 1.0 else f"1e{power} {units}".rstrip()
    figure.colorbar(
        ScalarMappable(scale, ListedColormap(colours)), ax=axes, shrink=0.85, pad=0.02, extend="both", label=label
    )

"""Spectral fields as maps: coefficients of spherical harmonics, summed at the points of a grid.

    f(lambda, mu) = sum over m = -T … T, n = |m| … T of  f_n^m P_n^m(mu) exp(i m lambda)

with 1/2 integral P^2 dmu = 1 and no alternating sign (ECMWF's IFS documentation, part III, 2.2; WMO Manual on Codes,
FM 92). A message has those of m >= 0, since the field is real: n fastest, a real and an imaginary part each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakobi.errors import FormatError

#: Larger ones take longer than a viewer waits.
MOST_TRUNCATION = 1279


def grid_of_truncation(truncation: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Latitudes from the south and longitudes of the map: even, and as fine as the waves need.

    >>> [len(axis) for axis in grid_of_truncation(159)]
    [160, 320]
    """
    rows = max(64, truncation + 1 + (truncation + 1) % 2)
    longitudes = np.arange(2 * rows, dtype=np.float64) * (180 / rows)
    return longitudes[:rows] - 90 + 90 / rows, longitudes


def synthesis(coefficients: NDArray[Any], truncation: int) -> NDArray[np.float64]:
    """The field at the points of `grid_of_truncation`. Raises FormatError where the coefficients are not as many as the
    triangular truncation has."""
    if coefficients.size != (truncation + 1) * (truncation + 2):
        raise FormatError("the message does not have as many coefficients as its truncation")
    latitudes, longitudes = grid_of_truncation(truncation)
    rows, columns = len(latitudes), len(longitudes)
    mu = np.sin(np.radians(latitudes[rows // 2 :]))  # of the north: P(-mu) is P(mu) with the sign of n - m
    pairs = coefficients.reshape(-1, 2)
    starts = np.concatenate([[0], np.cumsum(truncation + 1 - np.arange(truncation + 1))])
    even, odd = (np.zeros((truncation + 1, len(mu)), np.complex128) for _ in range(2))
    before, last = (np.zeros((truncation + 1, len(mu))) for _ in range(2))  # P of n - 2 and n - 1, by m
    for n in range(truncation + 1):
        m = np.arange(n + 1)
        now = np.zeros_like(last)
        if n == 0:
            now[0] = 1
        else:
            inner = m[:n]
            epsilon = np.sqrt((n**2 - inner**2) / (4 * n**2 - 1))[:, None]
            earlier = np.sqrt(np.maximum(0, (n - 1) ** 2 - inner**2) / max(1, 4 * (n - 1) ** 2 - 1))[:, None]
            now[:n] = (mu * last[:n] - earlier * before[:n]) / epsilon
            now[n] = np.sqrt((2 * n + 1) / (2 * n)) * np.sqrt(1 - mu**2) * last[n - 1]
        here = pairs[starts[m] + n - m]
        parts = (here[:, 0] + 1j * here[:, 1])[:, None] * now[: n + 1]
        is_even = (n - m) % 2 == 0
        even[: n + 1][is_even] += parts[is_even]
        odd[: n + 1][~is_even] += parts[~is_even]
        before, last = last, now
    waves = np.zeros((rows, columns // 2 + 1), np.complex128)
    waves[rows // 2 :, : truncation + 1] = (even + odd).T
    waves[: rows // 2, : truncation + 1] = (even - odd).T[::-1]
    found: NDArray[np.float64] = np.fft.irfft(waves, columns, axis=1) * columns
    return found

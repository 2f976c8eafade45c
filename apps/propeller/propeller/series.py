"""Blade sections of the Wageningen B-series with four blades or more.

Source: M. W. C. Oosterveld, P. van Oossanen, "Further computer-analyzed data of the Wageningen B-screw series",
International Shipbuilding Progress 22 (1975), tables 1 to 3. Transcriptions in circulation differ in a few entries
(V2 at 0.3 R and +0.4: 0.8920 or 0.8923; some mark their values at 0.15 R and 0.2 R as modified).

Radii are fractions of the propeller's radius R. Across the chord, `place` is 1 at the leading edge, 0 where the
section is thickest, -1 at the trailing edge. Ordinates stand on the pitch line, towards the suction side:

    pressure side = V1 t,  suction side = (V1 + V2) t,  t the section's greatest thickness.

The tables give no edge radii: leading and trailing edge are sharp here. They end at r = 0.9 R, where the chord is still
long; beyond, chord / sqrt(1 - r/R) and the middle of the chord are continued, which rounds the tip (`Screw.chord`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline, PchipInterpolator

Array = NDArray[np.float64]

HUB_RADIUS = 0.167  #: of the series with four blades and more
RAKE = np.radians(15.0)  #: of the generator line, aft

_RADII = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
_CHORD = np.array([1.662, 1.882, 2.050, 2.152, 2.187, 2.144, 1.970, 1.582])  # c/D Z / (A_E/A_0)
_LEADING_EDGE = np.array([0.617, 0.613, 0.601, 0.586, 0.561, 0.524, 0.463, 0.351])  # from the generator line, of c
_THICKEST = np.array([0.350, 0.350, 0.351, 0.355, 0.389, 0.443, 0.479, 0.500])  # from the leading edge, of c
_PITCH_RADII = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 1.0])
_PITCH = np.array([0.822, 0.887, 0.950, 0.992, 1.000, 1.000])  # four blades: less near the hub

_PLACES = np.array(
    [-1, -0.95, -0.9, -0.8, -0.7, -0.6, -0.5, -0.4, -0.2, 0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1]
)
_SECTION_RADII = np.array([0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 1.0])
_V1 = """
.3000 .2824 .2650 .2300 .1950 .1610 .1280 .0955 .0365 0 .0096 .0384 .0615 .0920 .1320 .1870 .2230 .2642 .3150 .3860
.2826 .2630 .2400 .1967 .1570 .1207 .0880 .0592 .0172 0 .0049 .0304 .0520 .0804 .1180 .1685 .2000 .2353 .2821 .3560
.2598 .2372 .2115 .1651 .1246 .0899 .0579 .0350 .0084 0 .0031 .0224 .0417 .0669 .1008 .1465 .1747 .2068 .2513 .3256
.2306 .2040 .1790 .1333 .0943 .0623 .0376 .0202 .0033 0 .0027 .0148 .0300 .0503 .0790 .1191 .1445 .1760 .2186 .2923
.1467 .1200 .0972 .0630 .0395 .0214 .0116 .0044 0     0 0     .0033 .0090 .0189 .0357 .0637 .0833 .1088 .1467 .2181
.0522 .0420 .0330 .0190 .0100 .0040 .0012 0     0     0 0     0     .0008 .0034 .0085 .0211 .0328 .0500 .0778 .1278
0     0     0     0     0     0     0     0     0     0 0     0     0     0     0     .0006 .0022 .0067 .0169 .0382
"""  # zero from 0.7 R outwards
_V2 = """
0 .0540 .1325 .2870 .4280 .5585 .6770 .7805 .9360 1 .9760 .8825 .8055 .7105 .5995 .4520 .3665 .2600 .1300 0
0 .0640 .1455 .3060 .4535 .5842 .6995 .7984 .9446 1 .9750 .8875 .8170 .7277 .6190 .4777 .3905 .2840 .1560 0
0 .0725 .1567 .3228 .4740 .6050 .7184 .8139 .9519 1 .9751 .8899 .8259 .7415 .6359 .4982 .4108 .3042 .1758 0
0 .0800 .1670 .3360 .4885 .6195 .7335 .8265 .9583 1 .9750 .8920 .8315 .7520 .6505 .5130 .4265 .3197 .1890 0
0 .0905 .1810 .3500 .5040 .6353 .7525 .8415 .9645 1 .9725 .8933 .8345 .7593 .6590 .5220 .4335 .3235 .1935 0
0 .0950 .1865 .3569 .5140 .6439 .7580 .8456 .9639 1 .9710 .8880 .8275 .7478 .6430 .5039 .4135 .3056 .1750 0
0 .0965 .1885 .3585 .5110 .6415 .7530 .8426 .9613 1 .9690 .8790 .8090 .7200 .6060 .4620 .3775 .2720 .1485 0
0 .0975 .1900 .3600 .5100 .6400 .7500 .8400 .9600 1 .9675 .8660 .7850 .6840 .5615 .4140 .3300 .2337 .1240 0
0 .0975 .1900 .3600 .5100 .6400 .7500 .8400 .9600 1 .9635 .8520 .7635 .6545 .5265 .3765 .2925 .2028 .1050 0
0 .0975 .1900 .3600 .5100 .6400 .7500 .8400 .9600 1 .9615 .8450 .7550 .6455 .5160 .3660 .2830 .1950 .1000 0
0 .0975 .1900 .3600 .5100 .6400 .7500 .8400 .9600 1 .9600 .8400 .7500 .6400 .5100 .3600 .2775 .1900 .0975 0
0 .0975 .1900 .3600 .5100 .6400 .7500 .8400 .9600 1 .9600 .8400 .7500 .6400 .5100 .3600 .2775 .1900 .0975 0
"""


def _rows(text: str, num_rows: int) -> Array:
    table = np.array([[float(word) for word in line.split()] for line in text.split("\n") if line.strip()])
    return np.vstack([table, np.zeros((num_rows - len(table), len(_PLACES)))])


@cache
def _ordinates() -> tuple[PchipInterpolator, PchipInterpolator]:
    """V1 and V2 of all table radii as functions of the place; monotone between the table's values."""
    num = len(_SECTION_RADII)
    return PchipInterpolator(_PLACES, _rows(_V1, num), axis=1), PchipInterpolator(_PLACES, _rows(_V2, num), axis=1)


@dataclass(frozen=True)
class Screw:
    """A screw of the series. `pitch`: P/D at 0.7 R; `area`: expanded area ratio A_E/A_0. Lengths are in diameters."""

    blades: int = 4
    area: float = 0.70
    pitch: float = 1.0

    def __post_init__(self) -> None:
        if not 4 <= self.blades <= 7:
            raise ValueError(f"{self.blades} blades: the tables here are those of 4 to 7")

    def chord(self, radius: Array) -> Array:
        """c/D. Divided by sqrt(1 - r/R) it is nearly straight, and is continued so to the tip and to the hub."""
        regular = CubicSpline(_RADII, _CHORD / np.sqrt(1 - _RADII), bc_type="natural")
        return np.asarray(regular(radius) * np.sqrt(1 - radius) * self.area / self.blades)

    def middle(self, radius: Array) -> Array:
        """Where the chord's middle is, from the generator line along the pitch line towards the leading edge."""
        offsets = _CHORD * (_LEADING_EDGE - 0.5)
        return np.asarray(CubicSpline(_RADII, offsets, bc_type="natural")(radius) * self.area / self.blades)

    def thickness(self, radius: Array) -> Array:
        """t/D, linear in r/R: A - B Z of the tables, which ends at 0.003 at the tip."""
        slope_a, slope_b = (0.0526 - 0.0030) / 0.8, 0.0040 / 0.8
        return np.asarray(0.0030 + (1 - radius) * (slope_a - slope_b * self.blades))

    def pitch_ratio(self, radius: Array) -> Array:
        """P/D at a radius."""
        if self.blades > 4:
            return np.full_like(radius, self.pitch)
        return np.asarray(self.pitch * PchipInterpolator(_PITCH_RADII, _PITCH)(radius))

    def section(self, radius: float, num_points: int = 41) -> tuple[Array, Array, Array]:
        """One section from the trailing to the leading edge: distances along the pitch line from the generator line,
        and the ordinates of pressure and suction side; spaced half as far at the edges as on the even."""
        at = np.array(radius)
        chord, middle, thickness = float(self.chord(at)), float(self.middle(at)), float(self.thickness(at))
        thickest = chord * float(np.interp(radius, _RADII, _THICKEST))  # from the leading edge
        even = np.linspace(-1.0, 1.0, num_points)
        along = 0.25 * chord * (even + np.sin(0.5 * np.pi * even))
        behind = 0.5 * chord - thickest  # the thickest place, from the chord's middle
        place = np.where(along > behind, (along - behind) / thickest, (along - behind) / (chord - thickest))
        place = np.clip(place, -1.0, 1.0)
        table = max(radius, float(_SECTION_RADII[0]))
        v1, v2 = (
            np.array([np.interp(table, _SECTION_RADII, column) for column in side(place).T]) for side in _ordinates()
        )
        return along + middle, v1 * thickness, (v1 + v2) * thickness

    def surface(self, radius: float, along: Array, ordinate: Array) -> Array:
        """Points of a section in space, (n, 3), in diameters: x downstream, the first blade's generator line along z.
        The screw is right-handed: it turns about -x, and its leading edges are ahead (at smaller x)."""
        r = 0.5 * radius
        pitch = np.arctan(float(self.pitch_ratio(np.array(radius))) / (2 * np.pi * r))
        ahead = along * np.sin(pitch) + ordinate * np.cos(pitch) - r * np.tan(RAKE)
        angle = (along * np.cos(pitch) - ordinate * np.sin(pitch)) / r  # about -x
        return np.column_stack([-ahead, r * np.sin(angle), r * np.cos(angle)])

    def expanded_area_ratio(self) -> float:
        """A_E/A_0 of the outline itself, from the hub to the tip: what `area` promises."""
        radius = 1 - np.linspace(np.sqrt(1 - HUB_RADIUS), 0.0, 2001) ** 2  # dense at the tip
        return float(self.blades * np.trapezoid(self.chord(radius), radius) * 0.5 / (np.pi / 4))

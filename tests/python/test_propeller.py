"""apps/propeller: the series' tables and the open-water polynomials."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest

from propeller import openwater
from propeller.series import HUB_RADIUS, Screw


def test_the_outline_has_the_area_that_it_promises() -> None:
    assert Screw().expanded_area_ratio() == pytest.approx(0.70, rel=0.02)
    assert Screw(area=0.55).expanded_area_ratio() == pytest.approx(0.55, rel=0.02)


def test_the_outline_is_smooth_and_ends_at_the_tip() -> None:
    radius = np.linspace(0.15, 0.999, 400)
    chord = Screw().chord(radius)
    assert np.all(chord > 0)
    assert np.count_nonzero(np.diff(np.sign(np.diff(chord)))) == 1, "one widest place"
    assert np.abs(np.diff(chord, 3)).max() < 0.02
    assert Screw().chord(np.array([1.0]))[0] == 0.0


def test_known_values_of_the_table() -> None:
    screw, at = Screw(), np.array([0.2, 0.7])
    assert screw.chord(at) == pytest.approx(np.array([1.662, 2.144]) * 0.7 / 4)
    assert screw.thickness(at) == pytest.approx([0.0526 - 4 * 0.0040, 0.0216 - 4 * 0.0015])
    assert screw.pitch_ratio(at) == pytest.approx([0.822, 1.0])


@pytest.mark.parametrize("radius", [0.167, 0.3, 0.5, 0.7, 0.95])
def test_a_section_is_closed_and_as_thick_as_the_series_says(radius: float) -> None:
    screw = Screw()
    along, pressure, suction = screw.section(radius, 201)
    assert np.all(np.diff(along) > 0)
    assert along[-1] - along[0] == pytest.approx(screw.chord(np.array(radius)))
    assert suction[[0, -1]] == pytest.approx(pressure[[0, -1]]), "sharp at both edges"
    assert np.all(suction[1:-1] > pressure[1:-1])
    assert (suction - pressure).max() == pytest.approx(screw.thickness(np.array(radius)), rel=2e-3)


def test_sections_lie_on_their_cylinders_and_the_screw_is_right_handed() -> None:
    along, pressure, _ = Screw().section(0.7)
    points = Screw().surface(0.7, along, pressure)
    assert np.hypot(points[:, 1], points[:, 2]) == pytest.approx(0.35)
    angle = np.arctan2(points[:, 1], points[:, 2])  # about -x
    assert angle[-1] > angle[0], "the leading edge goes first"
    assert points[-1, 0] < points[0, 0], "and is ahead of the trailing edge"


def test_three_blades_are_refused() -> None:
    with pytest.raises(ValueError, match="3 blades"):
        Screw(blades=3)


def test_thrust_against_published_values() -> None:
    assert doctest.testmod(openwater).failed == 0
    for advance, thrust in ((0.2, 0.392), (0.4, 0.314), (0.6, 0.226), (0.8, 0.130)):
        assert openwater.thrust(advance) == pytest.approx(thrust, abs=0.001)


def test_the_hub_is_the_series() -> None:
    assert pytest.approx(0.167) == HUB_RADIUS


def test_the_readmes_example() -> None:
    readme = Path(__file__).resolve().parents[2] / "apps" / "propeller" / "README.md"
    assert doctest.testfile(str(readme), module_relative=False).failed == 0

"""Arrival times that the application reports, beside the observed ones.

The application's record may hold `gauges`: a list of objects with `name`, `observed_min` (null where no observation is
known) and `computed_min` (null when the first crest has not come within the run), minutes after the run's origin, and
`crest_m`, the first crest's height.
"""

from __future__ import annotations

import math
from typing import Any

from hakobi.records import Record
from hakobi.table import Table
from hakobi.words import clock_text, percent_text

Gauges = list[dict[str, Any]]


def gauges_of(results: list[Record]) -> Gauges:
    """The gauges of the last record that has them: every run computes the same; empty when none does."""
    for record in reversed(results):
        gauges = record.get("gauges")
        if isinstance(gauges, list) and all(isinstance(gauge, dict) for gauge in gauges):
            return [gauge for gauge in gauges if "name" in gauge]
    return []


def arrival_table(gauges: Gauges) -> Table:
    """One line a gauge: observed, computed, and the difference as a part of the observed."""
    table = Table(
        "First crest of the wave, time after the earthquake", ["<gauge", "observed", "computed", "difference", "height"]
    )
    for gauge in gauges:
        observed, computed = _number(gauge.get("observed_min")), _number(gauge.get("computed_min"))
        height = _number(gauge.get("crest_m"))
        difference = ""
        if observed and computed is not None:
            difference = f"{'+' if computed >= observed else ''}{percent_text((computed - observed) / observed)}"
        table.add(
            str(gauge["name"]),
            clock_text(60 * observed) if observed is not None else "",
            clock_text(60 * computed) if computed is not None else "not within the run",
            difference,
            f"{height:.2f} m" if height is not None else "",
        )
    return table


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None  # type: ignore[arg-type]

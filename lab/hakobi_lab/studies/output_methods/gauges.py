"""Arrival times that the application reports, beside the observed ones.

The application's record may hold `gauges`: a list of objects with `name` and, in minutes after the run's origin,
`observed_min` and `computed_min` (the wave's arrival as the application defines it), `observed_crest_min` and
`computed_crest_min` (its first crest), and `crest_m`, that crest's computed height. Each may be null: not observed, or
not within the run.
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
        if isinstance(gauges, list) and gauges and all(isinstance(gauge, dict) for gauge in gauges):
            return [gauge for gauge in gauges if "name" in gauge]
    return []


def arrival_table(gauges: Gauges) -> Table:
    """One line a gauge: arrival and first crest, observed, computed, and the difference as a part of the observed."""
    columns = [
        "<gauge",
        "arrival observed",
        "computed",
        "difference",
        "crest observed",
        "computed",
        "difference",
        "height",
    ]
    table = Table("The wave at the gauges, time after the earthquake", columns)
    for gauge in gauges:
        height = _number(gauge.get("crest_m"))
        table.add(
            str(gauge["name"]),
            *_pair(_number(gauge.get("observed_min")), _number(gauge.get("computed_min"))),
            *_pair(_number(gauge.get("observed_crest_min")), _number(gauge.get("computed_crest_min"))),
            f"{height:.2f} m" if height is not None else "",
        )
    return table


def _pair(observed: float | None, computed: float | None) -> tuple[str, str, str]:
    """Three cells: the two times, and how much later the computed one is."""
    difference = ""
    if observed and computed is not None:
        share = (computed - observed) / observed
        difference = ("+" if share >= 0 else "") + percent_text(share)
    return (
        clock_text(60 * observed) if observed is not None else "",
        clock_text(60 * computed) if computed is not None else "not within the run",
        difference,
    )


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None  # type: ignore[arg-type]

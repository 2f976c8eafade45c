"""The study's report: its tables and a figure of speed over stride, one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hakobi import plots, statistics
from hakobi.conditions import Conditions
from hakobi.measuring.session import End
from hakobi.report import Report
from hakobi.studies.field_store.session import Case, Outcome, Plan, has_every_case
from hakobi.studies.field_store.tables import tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def stride_figure(plan: Plan, outcomes: dict[Case, Outcome]) -> Figure:
    """Mean forecast days per day over the stride, a line a storage; without output and with files as levels."""
    figure, (axes,) = plots.new_figure(7.2, 3.8)
    places = range(len(plan.strides))
    if outcomes[Case("none")].summaries:
        level = outcomes[Case("none")].median("mean_days_per_day")
        axes.axhline(level, color=plots.BASELINE_COLOUR, linestyle="--", label="no output")
    for storage, (colour, marker) in plots.series_style(list(plan.storages)).items():
        cases = [Case("store", storage, stride) for stride in plan.strides]
        known = [place for place in places if outcomes[cases[place]].summaries]
        speeds = [statistics.summarise(outcomes[cases[place]].values("mean_days_per_day")) for place in known]
        middle = [speed.median for speed in speeds]
        below = [speed.median - speed.quartile_low for speed in speeds]
        above = [speed.quartile_high - speed.median for speed in speeds]
        axes.errorbar(
            known, middle, yerr=[below, above], color=colour, marker=marker, capsize=3, label=f"store, {storage}"
        )
        if outcomes[Case("files", storage)].summaries:
            level = outcomes[Case("files", storage)].median("mean_days_per_day")
            axes.axhline(level, color=colour, linestyle=":", label=f"files, {storage}")
    axes.set_xticks(list(places), [str(stride) for stride in plan.strides])
    axes.set_xlabel("stride of the writers")
    axes.set_ylabel("forecast days per day")
    axes.set_ylim(bottom=0)
    figure.legend(loc="outside lower center", ncols=len(plan.storages) + 1)
    return figure


def write_report(path: Path, plan: Plan, outcomes: dict[Case, Outcome], end: End, facts: Conditions) -> None:
    """Raises StorageError."""
    report = Report(
        "Output of a weather model",
        lead=f"Forecast days per day of hakobi-weather ({' '.join(plan.arguments)}) on {plan.ranks} ranks: without "
        "output, with two GRIB files a step written by one task, and with the field store.",
    )
    for warning in end.warnings():
        report.warn(warning)
    if has_every_case(outcomes) or end.gaps:
        report.figure(
            stride_figure(plan, outcomes),
            f"Figure 1. Mean speed over the stride of the writers: medians of {plan.rounds} rounds, bars between "
            "the quartiles. Dashed: without output. Dotted: two files a step.",
            alt="Line chart of forecast days per day over the stride of the writers; the tables have its values.",
        )
    for table in tables(plan, outcomes, end):
        if table.rows:
            report.table(table)
        report.bullets(table.notes)
    report.conditions(facts)
    report.write(path)

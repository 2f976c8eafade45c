"""The study's figures: forecast days per day over the stride of the writers, over ranks, and over the forecast. A case
without a figure is not drawn; an axes without any says so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from hakobi import statistics
from hakobi_lab import plots
from hakobi_lab.studies.field_store.plan import Case, Model, Plan
from hakobi_lab.studies.field_store.session import Outcome

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Outcomes = dict[Case, Outcome]

MEAN, PEAK = "mean_days_per_day", "peak_days_per_day"
LABEL = "forecast days per day"


def known(cases: Sequence[Case], outcomes: Outcomes, name: str = MEAN) -> list[tuple[int, statistics.Summary]]:
    """Places of the cases that ran, and their figure."""
    found = [(place, outcomes.get(case)) for place, case in enumerate(cases)]
    return [(place, one.summary(name)) for place, one in found if one is not None and one.summaries]


def line(
    axes: Axes,
    points: Sequence[tuple[float, statistics.Summary]],
    colour: str,
    marker: str,
    label: str,
    *,
    has_bars: bool = True,
    **style: str,
) -> None:
    """Medians, at markers with bars between the quartiles; no bar where there are no rounds to have quartiles of."""
    if not points:
        return
    places = [place for place, _ in points]
    middle = [one.median for _, one in points]
    told = [one if one.count > 1 else None for _, one in points]
    bars = None
    if marker and has_bars and any(told):
        bars = [
            [one.median - one.quartile_low if one else math.nan for one in told],
            [one.quartile_high - one.median if one else math.nan for one in told],
        ]
    axes.errorbar(places, middle, yerr=bars, color=colour, marker=marker, capsize=3, label=label, **style)  # type: ignore[arg-type]


def finish(
    figure: Figure, all_axes: Sequence[Axes], columns: int, more: Mapping[str, Artist] = MappingProxyType({})
) -> None:
    """Finishes a figure as all are: the scale from zero, one legend for all axes with `more` in it, words in an empty
    one."""
    named: dict[str, Artist] = {}
    for axes in all_axes:
        handles, labels = axes.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
        if not axes.has_data():
            axes.text(0.5, 0.5, "no run has finished", transform=axes.transAxes, ha="center", va="center")
    all_axes[0].set_ylabel(LABEL)
    if named:
        named |= more
        all_axes[0].set_ylim(0, 1.05 * all_axes[0].get_ylim()[1])  # a marker at the top is whole
        legend_columns = min(columns, len(named))
        figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=legend_columns)


def stride_figure(plan: Plan, outcomes: Outcomes) -> Figure:
    """Mean speed over the stride, a line a storage; without output and with files as levels."""
    figure, (axes,) = plots.new_figure(7.6, 4.0)
    for _, level in known([Case("none", plan.base)], outcomes):
        axes.axhline(level.median, color=plots.BASELINE_COLOUR, linestyle="--", label="no output")
    for storage, (colour, marker) in plots.series_style(list(plan.storages)).items():
        cases = [Case("store", plan.base, storage, stride) for stride in plan.strides]
        line(axes, known(cases, outcomes), colour, marker, f"store, {storage}")
        for _, level in known([Case("files", plan.base, storage)], outcomes):
            axes.axhline(level.median, color=colour, linestyle=":", label=f"files, {storage}")
    axes.set_xticks(range(len(plan.strides)), [str(stride) for stride in plan.strides])
    axes.set_xlim(-0.3, len(plan.strides) - 0.7)
    axes.set_xlabel("stride of the writers")
    finish(figure, [axes], columns=3)
    return figure


def stride_data(plan: Plan, outcomes: Outcomes) -> plots.Data:
    """The data of `stride_figure`; mean and peak."""
    data = plots.Data("stride", LABEL)
    for storage in plan.storages:
        for stride in plan.strides:
            one = outcomes.get(Case("store", plan.base, storage, stride))
            for name in (MEAN, PEAK):
                summary = one.summary(name) if one and one.summaries else None
                data.add(storage, f"store, {name.partition('_')[0]}", stride, summary, "" if summary else "no run")
    return data


def ranks_figure(models: Sequence[Model], storages: Sequence[str], outcomes: Outcomes) -> Figure:
    """Mean speed over ranks without output, with files and with the store, an axes a storage."""
    figure, all_axes = plots.new_figure(4.2 * max(2, len(storages)), 4.0, columns=len(storages), share=True)
    colours = {"none": plots.BASELINE_COLOUR, "files": plots.PALETTE[1], "store": plots.PALETTE[0]}
    for axes, storage in zip(all_axes, storages, strict=True):
        for kind, marker in (("none", "x"), ("files", "s"), ("store", "o")):
            cases = [Case(kind, model, "" if kind == "none" else storage) for model in models]
            label = "no output" if kind == "none" else "two files a step" if kind == "files" else "store"
            line(axes, known(cases, outcomes), colours[kind], marker, label)
        axes.set_xticks(range(len(models)), [str(model.ranks) for model in models])
        axes.set_xlim(-0.3, len(models) - 0.7)
        axes.set_xlabel("ranks")
        axes.set_title(storage)
    finish(figure, all_axes, columns=3)
    return figure


def ranks_data(models: Sequence[Model], storages: Sequence[str], outcomes: Outcomes) -> plots.Data:
    """The data of `ranks_figure`."""
    data = plots.Data("ranks", LABEL)
    for storage in storages:
        for kind in ("none", "files", "store"):
            for model in models:
                one = outcomes.get(Case(kind, model, "" if kind == "none" else storage))
                summary = one.summary(MEAN) if one and one.summaries else None
                data.add(storage, kind, model.ranks, summary, "" if summary else "no run")
    return data


#: Speeds that the program says after each output, and how they are drawn.
_OVER = {
    "days_per_day": ("now", "-"),
    MEAN: ("mean", "--"),
    PEAK: ("peak", ":"),
}


def forecast_figure(runs: dict[str, Outcome | None], names: Sequence[str]) -> Figure:
    """Speeds over the hours of the forecast, a colour a run. `names`: which of the program's three speeds."""
    from matplotlib.ticker import MaxNLocator

    figure, (axes,) = plots.new_figure(7.6, 4.0)
    for run, (colour, marker) in plots.series_style(list(runs)).items():
        outcome = runs[run]
        for name in names if outcome and outcome.summaries else ():
            words, dashes = _OVER[name]
            label = f"{run}, {words}" if len(names) > 1 else run
            points = outcome.over_forecast(name) if outcome else []
            line(axes, points, colour, marker if name == "days_per_day" else "", label, linestyle=dashes)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("hours of forecast")
    finish(figure, [axes], columns=3 if len(names) > 1 else 2)
    return figure


def forecast_data(runs: dict[str, Outcome | None], names: Sequence[str]) -> plots.Data:
    """The data of `forecast_figure`."""
    data = plots.Data("hours of forecast", LABEL)
    for run, outcome in runs.items():
        for name in names:
            for hour, summary in outcome.over_forecast(name) if outcome else []:
                data.add("", f"{run}, {_OVER[name][0]}", f"{hour:g}", summary)
            if outcome is None or not outcome.summaries:
                data.add("", f"{run}, {_OVER[name][0]}", "", None, "no run")
    return data

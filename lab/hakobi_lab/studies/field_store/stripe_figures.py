"""Figures of stripes: forecast days per day over the number of stripes, over their size and over the stride of the
writers. A panel a storage; solid: mean; dotted: peak."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakobi import statistics
from hakobi.words import count_text
from hakobi_lab import plots
from hakobi_lab.studies.field_store.figures import LABEL, MEAN, PEAK, Outcomes, finish, known, line
from hakobi_lab.studies.field_store.plan import Case, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Over:
    """A figure: what changes along its axis, what tells its lines apart, and what stays as the plan has it."""

    name: str
    title: str
    axis: str
    x: Callable[[Case], int]
    series: Callable[[Case], int]
    words: Callable[[int], str]  #: a line's
    fixed: Callable[[Case], int]
    is_fixed_to: Callable[[int], str]


def _count(case: Case) -> int:
    return case.settings.striping_factor


def _unit(case: Case) -> int:
    return case.settings.striping_unit_mib


def _stride(case: Case) -> int:
    return case.stride


def _counts(value: int) -> str:
    return count_text(value, "stripe")


def _units(value: int) -> str:
    return f"stripes of {value} MiB"


def _strides(value: int) -> str:
    return f"stride {value}"


OVER = (
    Over("stripe-count", "number of stripes", "stripes of a file", _count, _unit, _units, _stride, _strides),
    Over("stripe-size", "size of a stripe", "MiB of a stripe", _unit, _count, _counts, _stride, _strides),
    Over("writer-stride", "stride of the writers", "stride of the writers", _stride, _count, _counts, _unit, _units),
)


def fixed_words(over: Over, plan: Plan) -> str:
    """The settings that all runs of a figure have in common: the first that the plan names."""
    return over.is_fixed_to(over.fixed(_cases(plan, plan.first_storage)[0]))


def _cases(plan: Plan, storage: str) -> list[Case]:
    return list(dict.fromkeys(plan.with_stripes(storage, one) for one in plan.stripings))


def lines(over: Over, plan: Plan, storage: str) -> dict[str, list[Case]]:
    """The cases of each line, by its words. Where any line has several places, those of one place are left out."""
    cases = _cases(plan, storage)
    fixed = over.fixed(cases[0])
    found: dict[str, list[Case]] = {}
    for case in sorted((case for case in cases if over.fixed(case) == fixed), key=over.x):
        found.setdefault(over.words(over.series(case)), []).append(case)
    is_line = any(len(each) > 1 for each in found.values())
    return {words: each for words, each in found.items() if len(each) > 1 or not is_line}


def stripes_figure(over: Over, plan: Plan, outcomes: Outcomes) -> Figure:
    """One of OVER."""
    from matplotlib.lines import Line2D

    storages = list(plan.storages)
    figure, all_axes = plots.new_figure(4.2 * max(2, len(storages)), 4.2, columns=len(storages), share=True)
    drawn = {storage: lines(over, plan, storage) for storage in storages}
    named = dict.fromkeys(words for each in drawn.values() for words in each)
    styles = plots.series_style(list(named))
    places = sorted({over.x(case) for each in drawn.values() for cases in each.values() for case in cases})
    for axes, storage in zip(all_axes, storages, strict=True):
        for words, cases in drawn[storage].items():
            colour, marker = styles[words]
            at = [places.index(over.x(case)) for case in cases]
            for name, dashes in ((MEAN, "-"), (PEAK, ":")):
                points = [(float(at[place]), summary) for place, summary in known(cases, outcomes, name)]
                is_mean = name == MEAN
                line(axes, points, colour, marker, words if is_mean else "", has_bars=is_mean, linestyle=dashes)
        axes.set_xticks(range(len(places)), [str(place) for place in places])
        axes.set_xlim(-0.3, len(places) - 0.7)
        axes.set_xlabel(over.axis)
        axes.set_title(storage)
    _add_baseline(all_axes, known([Case("none", plan.base)], outcomes))
    ways = [Line2D([], [], color=plots.BASELINE_COLOUR, linestyle=dashes) for dashes in ("-", ":")]
    finish(figure, all_axes, columns=4, more=dict(zip(("mean", "peak"), ways, strict=True)))
    return figure


def _add_baseline(all_axes: Sequence[Axes], found: Sequence[tuple[int, statistics.Summary]]) -> None:
    """The speed without output: a level, or words where it would squeeze everything else."""
    highest = max((axes.dataLim.y1 for axes in all_axes if axes.has_data()), default=0.0)
    for _, level in found:
        for axes in all_axes:
            if level.median <= 1.5 * highest:
                axes.axhline(level.median, color=plots.BASELINE_COLOUR, linestyle="--", label="no output")
            elif axes.has_data():
                words = f"no output: {level.median:.0f}"
                axes.text(0.99, 0.99, words, transform=axes.transAxes, ha="right", va="top")


def stripes_data(over: Over, plan: Plan, outcomes: Outcomes) -> plots.Data:
    """The data of `stripes_figure`."""
    data = plots.Data(over.axis, LABEL)
    for storage in plan.storages:
        for words, cases in lines(over, plan, storage).items():
            for case in cases:
                one = outcomes.get(case)
                for name in (MEAN, PEAK):
                    summary = one.summary(name) if one and one.summaries else None
                    series = f"{words}, {name.partition('_')[0]}"
                    data.add(storage, series, over.x(case), summary, "" if summary else "no run")
    return data

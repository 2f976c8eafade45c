"""The two figures: throughput over the size of the collective buffer, writing and reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hakobi.measuring.collective import FLOOR
from hakobi.words import binary_text, count_text
from hakobi_lab import plots
from hakobi_lab.studies.collective_buffer import result
from hakobi_lab.studies.collective_buffer.result import Point
from hakobi_lab.studies.collective_buffer.session import Case, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def throughput_figure(outcome: Outcome, operation: str, counts: Sequence[int] = ()) -> Figure:
    """A line a variant over buffer sizes, an axes a rank count (of `counts`, default: all), of one scale. Bands:
    quartiles. Dashed: the floor. In brackets below a size: the cycles of a call."""
    counts = counts or result.ranks_measured(outcome)
    figure, all_axes = plots.new_figure(4.9 * max(2, len(counts)) - 0.6, 4.1, columns=len(counts), share=True)
    styles = plots.series_style(list(result.VARIANTS))
    top = 0.0
    for axes, ranks in zip(all_axes, counts, strict=True):
        floor = result.series(outcome, operation, ranks, FLOOR)
        _draw(axes, floor, "floor (large contiguous blocks)", plots.BASELINE_COLOUR, "", dashes=(4, 3))
        for access in outcome.plan.accesses:
            points = result.series(outcome, operation, ranks, access)
            colour, marker = styles[access]
            _draw(axes, points, result.variant(access), colour, marker)
            top = max([top, *(point.figure.gb_s.quartile_high for point in points)])
        top = max([top, *(point.figure.gb_s.median for point in floor)])
        if outcome.limit_gb_s:
            axes.axhline(outcome.limit_gb_s, color="#8a949e", linewidth=1.2, linestyle=":", label="limit of the model")
            top = max(top, outcome.limit_gb_s)
        _size_axis(axes, outcome, ranks)
        axes.set_title(count_text(ranks, "rank"))
    # All axes have one scale: that of the highest.
    all_axes[0].set_ylim(0, 1.06 * top)
    all_axes[0].set_ylabel(f"{operation}, GB/s")
    handles, labels = all_axes[0].get_legend_handles_labels()
    columns = len(labels) if len(labels) < 6 else (len(labels) + 1) // 2  # more than a page is wide
    figure.legend(handles, labels, loc="outside upper center", ncols=columns)
    return figure


def throughput_data(outcome: Outcome, operation: str) -> plots.Data:
    """The data of `throughput_figure`, and why a point is missing."""
    data = plots.Data("collective buffer, bytes", f"{operation}, GB/s")
    gaps = outcome.end.gaps
    for ranks in outcome.plan.ranks:
        for access in (FLOOR, *outcome.plan.accesses):
            known = {point.cb_bytes: point.figure.gb_s for point in result.series(outcome, operation, ranks, access)}
            for size in sorted(outcome.plan.cb_bytes):
                gap = gaps.get(Case(ranks, size).words())
                if size in known or gap:
                    name = result.variant(access)
                    data.add(count_text(ranks, "rank"), name, size, known.get(size), gap.reason if gap else "")
    return data


def _draw(
    axes: Axes, points: list[Point], label: str, colour: str, marker: str, dashes: tuple[int, int] | None = None
) -> None:
    if not points:
        return
    sizes = [point.cb_bytes for point in points]
    rates = [point.figure.gb_s for point in points]
    style = {"linestyle": (0, dashes)} if dashes else {"marker": marker, "markersize": 5.5}
    if dashes and len(points) == 1:
        style = {"marker": "_", "markersize": 14}
    axes.plot(sizes, [rate.median for rate in rates], color=colour, linewidth=1.7, label=label, **style)
    if not dashes:
        low, high = [rate.quartile_low for rate in rates], [rate.quartile_high for rate in rates]
        axes.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)


def _size_axis(axes: Axes, outcome: Outcome, ranks: int) -> None:
    sizes = sorted(outcome.plan.cb_bytes)
    axes.set_xscale("log", base=2)
    shown = sizes if len(sizes) <= 5 else sizes[::2]
    axes.set_xticks(shown, [_tick(size, outcome.cycles.get(Case(ranks, size))) for size in shown])
    axes.minorticks_off()
    axes.set_xlabel("collective buffer (cycles of a call)")


def _tick(size: int, cycles: int | None) -> str:
    return f"{binary_text(size)}\n({cycles})" if cycles else binary_text(size)

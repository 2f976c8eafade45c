"""The figure: time, and the share of what the machine can do, over ranks; a marker says what limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hakobi import statistics
from hakobi_lab import plots
from hakobi_lab.studies.scale.simulation import LIMITS, METHODS, Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Marker of each limit: the colours are the methods'.
_MARKERS = dict(zip(LIMITS, ("s", "X", "o", "^", "D", "*", "p", "P", "v"), strict=True))


def scale_figure(outcome: Outcome) -> Figure:
    """Two axes over ranks, both logarithmic: seconds, and per cent of the possible."""
    from matplotlib.lines import Line2D

    plan = outcome.plan
    figure, (times, shares) = plots.new_figure(10.4, 5.2, columns=2)
    styles = plots.series_style(list(METHODS))
    limits = []
    for method in plan.methods:
        rows = outcome.of(method)
        if not rows:
            continue
        colour = styles[method][0]
        ranks = [row.ranks for row in rows]
        share = [100 * 1e9 * row.gb_s / plan.machine.possible(row.ranks) for row in rows]
        for axes, values in ((times, [row.time_s for row in rows]), (shares, share)):
            axes.plot(ranks, values, color=colour, linewidth=1.7, label=method)
            for row, value in zip(rows, values, strict=True):
                axes.plot([row.ranks], [value], color=colour, marker=_MARKERS[row.limit], markersize=6)
        limits += [row.limit for row in rows]
    ranks = sorted({row.ranks for row in outcome.rows})
    least = [ranks_bytes / plan.machine.possible(n) for n, ranks_bytes in _bytes(outcome).items()]
    times.plot(list(_bytes(outcome)), least, color=plots.BASELINE_COLOUR, linestyle=(0, (4, 3)), label="possible")
    most_ranks = int(plan.machine["nodes.count"] * plan.machine["nodes.ranks"])
    for axes in (times, shares):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        shown = ranks if len(ranks) <= 6 else ranks[:: -(-len(ranks) // 6)]
        axes.set_xticks(shown, [f"{count:,}" for count in shown])
        axes.minorticks_off()
        axes.set_xlabel("ranks")
        if ranks[0] < most_ranks < ranks[-1]:
            axes.axvline(most_ranks, color="#8a949e", linewidth=1.1, linestyle=":")
    times.set_title("time of a write, s")
    shares.set_title("per cent of what servers and nodes can do")
    shares.set_ylim(top=120)
    handles, labels = times.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    marks = [
        Line2D([], [], color=plots.TEXT_COLOUR, marker=_MARKERS[name], linestyle="", label=f"limit: {name}")
        for name in LIMITS
        if name in limits
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks))
    return figure


def _bytes(outcome: Outcome) -> dict[int, int]:
    return {row.ranks: row.bytes for row in sorted(outcome.rows, key=lambda row: row.ranks)}


def scale_data(outcome: Outcome) -> plots.Data:
    """The data of `scale_figure`."""
    data = plots.Data("ranks", "value")
    for method in outcome.plan.methods:
        for row in outcome.of(method):
            share = 1e9 * row.gb_s / outcome.plan.machine.possible(row.ranks)
            data.add("seconds", method, row.ranks, statistics.summarise([row.time_s]))
            data.add("share", method, row.ranks, statistics.summarise([share]))
    return data

"""The pages of `hakobi study mpi-cache`: the table on the terminal, and the report with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hakobi.statistics import Interval
from hakobi.table import Table
from hakobi.table import show as show_table
from hakobi.words import binary_text, count_text
from hakobi_lab.studies.mpi_cache.session import Figure, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

    from hakobi_lab import plots


def table_of(outcome: Outcome, name: str) -> Table:
    """Hot, cold and ratio over size with one transport."""
    view = Table(
        f"{outcome.plan.pattern}, {outcome.plan.ranks} ranks, transport {name}: {outcome.texts[name]}",
        ["size", "hot us", "±", "hot GB/s", "cold us", "±", "cold GB/s", "cold/hot", "interval", "<"],
    )
    for figure in outcome.measured[name]:
        marks = ["cache-inflated"] if figure.cache_inflated else []
        marks += ["wide"] if figure.wide else []
        marks += [] if figure.settled else ["not settled"]
        view.add(
            binary_text(figure.bytes),
            f"{1e6 * figure.hot_s.median:.4g}",
            _spread(1e6 * figure.hot_s.spread),
            _rate(figure.gb_s(figure.hot_s)),
            f"{1e6 * figure.cold_s.median:.4g}",
            _spread(1e6 * figure.cold_s.spread),
            _rate(figure.gb_s(figure.cold_s)),
            f"{figure.ratio.estimate:.2f}",
            _interval(figure.ratio.interval),
            ", ".join(marks),
        )
    return view


def _interval(interval: Interval) -> str:
    """An interval of a ratio; where it holds everything from a tenth to ten times, that nothing is known."""
    if interval.high > 100 * interval.low:
        return "unknown"
    return f"{interval.low:.2f} to {interval.high:.2f}"


def _spread(value: float) -> str:
    return f"{value:.0f}" if value >= 99.5 else f"{value:.2g}"


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def transports_table(outcome: Outcome) -> Table:
    """A row for each transport: its name, where it was skipped and why, and its rate with cold buffers at some
    sizes."""
    sizes = [figure.bytes for figure in next(iter(outcome.measured.values())) if figure.counted_bytes]
    shown = [size for size in sizes if size in (4096, 65536, 1 << 20, 16 << 20)] or sizes[-1:]
    view = Table("Transports, GB/s cold (hot)", ["<transport", *map(binary_text, shown), "<what moved the bytes"])
    for name in outcome.plan.names:
        if name in outcome.measured:
            by_size = {figure.bytes: figure for figure in outcome.measured[name]}
            cells = [_both(by_size.get(size)) for size in shown]
            view.add(name, *cells, outcome.texts[name])
        elif name in outcome.skipped:
            view.add(name, *["" for _ in shown], f"skipped: {outcome.skipped[name]}")
    return view


def _both(figure: Figure | None) -> str:
    return "" if figure is None else f"{_rate(figure.gb_s(figure.cold_s))} ({_rate(figure.gb_s(figure.hot_s))})"


def notes(outcome: Outcome) -> list[str]:
    """Notes that a reader must know beside the figures."""
    machine = outcome.machine
    result = []
    if machine:
        result.append(f"ranks 0 and 1: {machine.get('placement')}; {machine.get('num_cores')} cores")
        if machine.get("oversubscribed"):
            result.append("more ranks than cores: times hold waiting for a processor")
        window = binary_text(int(machine.get("window_bytes", 0)))
        if machine.get("cache_assumed"):
            result.append(f"cache sizes unknown: cold buffers rotate through {window}, a guess")
        else:
            warning = ", LESS: they are not cold" if machine["window_bytes"] < machine["cache_bytes"] else ""
            result.append(
                f"cold buffers rotate through {window}, the last-level cache has "
                f"{binary_text(machine['cache_bytes'])}{warning}"
            )
    num_rounds = _num_rounds(outcome)
    of = f"of {num_rounds} rounds' medians" if num_rounds > 1 else "of one process's samples"
    result.append(f"± is half the distance between the quartiles {of}; the interval holds the ratio with 98 %")
    intervals = [figure.ratio.interval for figures in outcome.measured.values() for figure in figures]
    if any(_interval(interval) == "unknown" for interval in intervals):
        result.append(f"unknown: {count_text(num_rounds, 'round')} say too little; --rounds 5 narrows the interval")
    if num_rounds == 1:
        result.append("one round: what differs from process to process is in no interval")
    if any(not figure.settled for figures in outcome.measured.values() for figure in figures):
        result.append("not settled: times still drifted when the warm-up's share of the budget ended")
    result += outcome.end.warnings()
    return result


def _num_rounds(outcome: Outcome) -> int:
    """Rounds that the first transport's figures are of."""
    return max((int(line["round"]) + 1 for line in outcome.measurements), default=0)


def show(outcome: Outcome) -> None:
    """Prints the default transport's table and the transports."""
    first = "default" if "default" in outcome.measured else next(iter(outcome.measured))
    view = table_of(outcome, first)
    view.notes += notes(outcome)
    show_table(view)
    if len(outcome.plan.names) > 1:
        show_table(transports_table(outcome))


def _mark_caches(axes: Axes, outcome: Outcome) -> None:
    for level in ("l1", "l2", "l3"):
        size = int(outcome.machine.get(f"{level}_bytes", 0))
        if size > 0:
            axes.axvline(size, color="#8a949e", linestyle=":", linewidth=1.2)
            axes.annotate(
                f"{level.upper()} {binary_text(size)}",
                (size, 1.0),
                xycoords=("data", "axes fraction"),
                rotation=90,
                va="top",
                ha="right",
                fontsize=8,
            )


def _size_axis(axes: Axes, sizes: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlabel("message size")
    ticks = [size for size in (64, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20) if min(sizes) <= size <= max(sizes)]
    axes.set_xticks(ticks, [binary_text(size) for size in ticks])
    axes.minorticks_off()


def _with_rate(figures: list[Figure]) -> list[Figure]:
    return [figure for figure in figures if figure.counted_bytes and figure.bytes > 0]


def bandwidth_figure(outcome: Outcome, name: str) -> Picture:
    """Bandwidth over size, hot and cold, with quartiles and the caches' sizes."""
    from hakobi_lab import plots

    picture, (axes,) = plots.new_figure(7.2, 4.2)
    for contender, colour, marker in (("hot", plots.PALETTE[1], "o"), ("cold", plots.PALETTE[0], "s")):
        _rate_line(axes, outcome, name, contender, f"{contender} buffers", colour, marker)
    _end_rates(axes, outcome, "GB/s")
    return picture


def places_figure(outcome: Outcome, names: Sequence[str], contender: str) -> Picture:
    """Bandwidth over size with hot or cold buffers, a line a transport or place, with quartiles and the caches."""
    from hakobi_lab import plots

    picture, (axes,) = plots.new_figure(7.6, 4.2)
    styles = plots.series_style(names)
    for name in (name for name in names if name in outcome.measured):
        _rate_line(axes, outcome, name, contender, name, *styles[name])
    _end_rates(axes, outcome, f"GB/s, {contender} buffers")
    return picture


def _rate_line(axes: Axes, outcome: Outcome, name: str, contender: str, label: str, colour: str, marker: str) -> None:
    """One transport's medians over size, with a band between the quartiles."""
    figures = _with_rate(outcome.measured[name])
    sizes, rates = [figure.bytes for figure in figures], [figure.rate(contender) for figure in figures]
    axes.plot(sizes, [rate.median for rate in rates], color=colour, marker=marker, markersize=4, label=label)
    low, high = [rate.quartile_low for rate in rates], [rate.quartile_high for rate in rates]
    axes.fill_between(sizes, low, high, color=colour, alpha=0.18, linewidth=0)
    _size_axis(axes, sizes)


def _end_rates(axes: Axes, outcome: Outcome, words: str) -> None:
    _mark_caches(axes, outcome)
    axes.set_ylabel(words)
    axes.set_ylim(bottom=0)
    _legend_above(axes)


def _legend_above(axes: Axes) -> None:
    """Where it hides no name of a cache."""
    handles, labels = axes.get_legend_handles_labels()
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.legend(handles, labels, loc="outside upper center", ncols=min(4, len(labels)))


def bandwidth_data(outcome: Outcome, names: Sequence[str]) -> plots.Data:
    """Bandwidths of every size, hot and cold."""
    from hakobi_lab import plots

    data = plots.Data("message size, bytes", "GB/s")
    for name in (name for name in names if name in outcome.measured):
        for figure in _with_rate(outcome.measured[name]):
            for contender in ("hot", "cold"):
                data.add(name, contender, figure.bytes, figure.rate(contender))
    return data


def ratio_figure(outcome: Outcome) -> Picture:
    """Hot bandwidth over cold bandwidth of every transport."""
    from hakobi_lab import plots

    picture, (axes,) = plots.new_figure(7.2, 3.8)
    styles = plots.series_style(list(outcome.measured))
    sizes: list[int] = []
    for name, all_figures in outcome.measured.items():
        figures = _with_rate(all_figures)
        sizes += [figure.bytes for figure in figures]
        colour, marker = styles[name]
        axes.plot(
            [figure.bytes for figure in figures],
            [figure.ratio.estimate for figure in figures],
            color=colour,
            marker=marker,
            markersize=4,
            label=name,
        )
    axes.axhline(1.0, color=plots.BASELINE_COLOUR, linewidth=1)
    _mark_caches(axes, outcome)
    _size_axis(axes, sizes)
    axes.set_ylabel("hot / cold bandwidth")
    _legend_above(axes)
    return picture


def write_report(path: Path, outcome: Outcome) -> None:
    """The report: one HTML file. Raises StorageError."""
    from hakobi_lab.report import Report

    first = "default" if "default" in outcome.measured else next(iter(outcome.measured))
    figures = outcome.measured[first]
    inflated = [figure for figure in _with_rate(figures) if figure.cache_inflated]
    report = Report(
        "MPI and the cache",
        lead=f"{outcome.plan.pattern} between {outcome.plan.ranks} ranks of one node, with buffers that are in the "
        "cache and with buffers that are not.",
    )
    for warning in outcome.end.warnings():
        report.warn(warning)
    if outcome.machine.get("oversubscribed"):
        report.warn("more ranks than cores: times hold waiting for a processor")
    if any(figure.wide for figure in figures):
        report.warn("some figures are wider than 5 % (marked wide): the budget was too short for this machine's noise")
    if inflated:
        worst = max(inflated, key=lambda figure: figure.ratio.estimate)
        report.text(
            f"{len(inflated)} of {len(_with_rate(figures))} sizes are cache-inflated: an application whose data is not "
            f"in the cache sees less than the classical figure. The most at {binary_text(worst.bytes)}: "
            f"{worst.ratio.estimate:.2f} times ({worst.ratio.interval.low:.2f} to {worst.ratio.interval.high:.2f})."
        )
    elif _with_rate(figures):
        report.text("No size differs between hot and cold buffers outside the spread.")
    if outcome.machine and outcome.machine["window_bytes"] < outcome.machine["cache_bytes"]:
        report.warn("the window is smaller than the last-level cache: the buffers called cold are not")
    if any(_with_rate(figures_) for figures_ in outcome.measured.values()):
        report.figure(
            bandwidth_figure(outcome, first),
            f"Figure 1. Bandwidth over message size, transport {first}. Bands are quartiles; dotted lines the caches.",
            alt="Two lines over message size: bandwidth with hot buffers, and lower, with cold ones.",
        )
    report.table(table_of(outcome, first))
    report.heading("Transports")
    report.table(transports_table(outcome))
    if any(_with_rate(figures_) for figures_ in outcome.measured.values()):
        report.figure(
            ratio_figure(outcome),
            "Figure 2. How many times faster hot buffers look, by transport.",
            alt="A line for each transport: the ratio of hot to cold bandwidth over message size.",
        )
    for name in outcome.measured:
        if name != first:
            report.table(table_of(outcome, name))
    report.heading("How it was measured")
    report.bullets(
        [
            *notes(outcome),
            "hot: one buffer again and again; cold: buffers rotate through the window, pages touched beforehand",
            "every byte that arrived was compared with what was sent, after the clock stopped",
            f"{count_text(_num_rounds(outcome), 'round')}, transports in turn; "
            "hot and cold samples in turn within each run",
        ]
    )
    report.conditions(outcome.conditions)
    report.write(path)

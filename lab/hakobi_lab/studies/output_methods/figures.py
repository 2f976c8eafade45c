"""The study's plots: time of a run, time over ranks, and output's share of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from hakobi.statistics import Summary
from hakobi.words import count_text, seconds_text
from hakobi_lab import plots
from hakobi_lab.studies.output_methods.plan import BASELINE, Case
from hakobi_lab.studies.output_methods.summary import Figures, Row, StudySummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hakobi_lab.studies.output_methods.result import Study


def times_figure(row: Row, title: str, words: Mapping[str, str]) -> Figure:
    """Time of a run by each method, a bar each: grey as far as the run without output takes, then the method's colour.
    Whiskers: quartiles. Behind each its median, and how many times as long the run is. `words`: of a method."""
    figure, (axes,) = plots.new_figure(9.2, 1.2 + 0.6 * (1 + len(row.figures)))
    methods = list(row.figures)
    styles = plots.series_style(methods)
    times = [row.baseline, *(row.figures[method].time for method in methods)]
    colours = [plots.BASELINE_COLOUR, *(styles[method][0] for method in methods)]
    base_s = row.baseline.median
    for place, (time, colour) in enumerate(zip(times, colours, strict=True)):
        axes.barh(place, min(time.median, base_s), 0.68, color="#b8c0c8")
        axes.barh(place, max(time.median - base_s, 0.0), 0.68, left=base_s, color=colour)
        reach = [[time.median - time.quartile_low], [time.quartile_high - time.median]]
        axes.errorbar(time.median, place, xerr=reach, color=plots.TEXT_COLOUR, elinewidth=1.2, capsize=3)
        ratio = f" ({time.median / base_s:.2f} times)" if place else ""
        where = (time.quartile_high, place)
        text = f"{seconds_text(time.median)}{ratio}"
        axes.annotate(text, where, (7, 0), textcoords="offset points", va="center")
    axes.axvline(base_s, color=plots.BASELINE_COLOUR, linestyle=(0, (4, 3)), linewidth=1.2)
    axes.set_xlim(0, 1.27 * max(time.quartile_high for time in times))
    labels = [f"{name}\n{words[name]}" if name in words else name for name in (BASELINE, *methods)]
    axes.set_yticks(range(len(times)), labels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"seconds of a run: median of {count_text(row.baseline.count, 'round')}, whiskers: quartiles")
    axes.set_title(title)
    return figure


def scaling_figure(summary: StudySummary) -> Figure:
    """Time of a run over its ranks, a line a method and one for the baseline; an axes a storage. Bars: quartiles."""
    storages = summary.storages()
    figure, all_axes = plots.new_figure(9.2, 4.3, columns=len(storages), share=True)
    styles = plots.series_style(summary.methods)
    for axes, storage in zip(all_axes, storages, strict=True):
        rows = summary.of_storage(storage)
        ranks = [row.ranks for row in rows]
        baseline = [row.baseline for row in rows]
        axes.plot(
            ranks,
            [item.median for item in baseline],
            color=plots.BASELINE_COLOUR,
            linestyle=(0, (4, 3)),
            linewidth=1.6,
            label="none (no output)",
        )
        for number, method in enumerate(summary.methods):
            colour, marker = styles[method]
            # Beside each other, or equal times would hide one another's bars.
            dodge = 2 ** (0.025 * (number - (len(summary.methods) - 1) / 2))
            figures = [row.figures[method].time for row in rows if method in row.figures]
            at = [row.ranks * dodge for row in rows if method in row.figures]
            low = [item.median - item.quartile_low for item in figures]
            high = [item.quartile_high - item.median for item in figures]
            axes.errorbar(
                at,
                [item.median for item in figures],
                yerr=[low, high],
                color=colour,
                marker=marker,
                markersize=5.5,
                linewidth=1.6,
                capsize=3,
                label=method,
            )
        axes.set_xscale("log", base=2)
        axes.set_xticks(ranks, [str(count) for count in ranks])
        axes.minorticks_off()
        axes.set_xlabel("ranks")
        axes.set_title(f"storage {storage}" if len(storages) > 1 else "Time of the run")
    all_axes[0].set_ylim(bottom=0)  # of all axes, so after the last one's lines: it ends their scaling
    all_axes[0].set_ylabel("seconds")
    _legend_beside(figure, all_axes[-1])
    return figure


def speed_up_figure(summary: StudySummary) -> Figure:
    """Speed-up of the whole run over ranks, against the run without output on the fewest: a line a method, both axes
    logarithmic, with the ideal line; an axes a storage."""
    storages = summary.storages()
    figure, all_axes = plots.new_figure(9.2, 4.3, columns=len(storages), share=True)
    styles = plots.series_style(summary.methods)
    for axes, storage in zip(all_axes, storages, strict=True):
        rows = summary.of_storage(storage)
        first = rows[0].ranks * rows[0].baseline.median
        ranks = [row.ranks for row in rows]
        axes.plot(ranks, ranks, color="#8a949e", linewidth=1.2, linestyle=":", label="ideal")
        base = [first / row.baseline.median for row in rows]
        style = {"color": plots.BASELINE_COLOUR, "linestyle": (0, (4, 3)), "linewidth": 1.6}
        axes.plot(ranks, base, label="none (no output)", **style)  # type: ignore[arg-type]
        for method in summary.methods:
            known = [row for row in rows if method in row.figures]
            speeds = [first / row.figures[method].time.median for row in known]
            colour, marker = styles[method]
            axes.plot(
                [row.ranks for row in known],
                speeds,
                color=colour,
                marker=marker,
                markersize=5.5,
                linewidth=1.6,
                label=method,
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(ranks, [str(count) for count in ranks])
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set_xlabel("ranks")
        axes.set_title(f"storage {storage}" if len(storages) > 1 else "Speed-up of the run")
    all_axes[0].set_ylabel("speed-up")
    _legend_beside(figure, all_axes[-1])
    return figure


def time_data(study: Study, summary: StudySummary) -> plots.Data:
    """The data of `scaling_figure`, and why a figure is missing."""
    data = plots.Data("ranks", "seconds")
    for case, row, gap in _cells(study, summary):
        found = row.figures.get(case.method) if row else None
        time = row.baseline if row and case.method == BASELINE else found.time if found else None
        if time or gap:
            data.add(f"storage {case.storage}", case.method, case.ranks, time, gap)
    return data


def speed_up_data(study: Study, summary: StudySummary) -> plots.Data:
    """The data of `speed_up_figure`, and why a figure is missing."""
    data = plots.Data("ranks", "speed-up")
    first = {name: rows[0] for name in summary.storages() if (rows := summary.of_storage(name))}
    for case, row, gap in _cells(study, summary):
        found = row.figures.get(case.method) if row else None
        time = row.baseline if row and case.method == BASELINE else found.time if found else None
        if time or gap:
            base = first[case.storage].ranks * first[case.storage].baseline.median if time else 0.0
            speed = time.inverse(base) if time else None
            data.add(f"storage {case.storage}", case.method, case.ranks, speed, gap)
    return data


def share_data(study: Study, summary: StudySummary) -> plots.Data:
    """The data of `share_figure`, in per cent, and why a figure is missing."""
    return _bars_data(study, summary, "per cent of the run", _percent)


def output_data(study: Study, summary: StudySummary) -> plots.Data:
    """The data of `output_figure`, and why a figure is missing."""
    return _bars_data(study, summary, "seconds of output", _output_time)


def _percent(found: Figures) -> Summary:
    return found.share.scaled(100)


def _output_time(found: Figures) -> Summary:
    return found.output_time


def _bars_data(study: Study, summary: StudySummary, unit: str, quantity: Callable[[Figures], Summary]) -> plots.Data:
    data = plots.Data("ranks", unit)
    for case, row, gap in _cells(study, summary):
        found = row.figures.get(case.method) if row else None
        if case.method != BASELINE and (found or gap):
            data.add(f"storage {case.storage}", case.method, case.ranks, quantity(found) if found else None, gap)
    return data


def _cells(study: Study, summary: StudySummary) -> Iterator[tuple[Case, Row | None, str]]:
    """Every case of the plan by storage, method and ranks, with its row of the summary and the reason of its gap."""
    order = [BASELINE, *study.plan.methods]
    cases = {job.case for job in study.plan.runs()}
    rows = {(row.storage, row.ranks): row for row in summary.rows}
    for case in sorted(cases, key=lambda case: (case.storage, order.index(case.method), case.ranks)):
        gap = study.outcome.end.gaps.get(case.words())
        yield case, rows.get((case.storage, case.ranks)), gap.reason if gap else ""


def share_figure(summary: StudySummary) -> Figure:
    """Output's share of the run, as `_bars`."""
    return _bars(summary, _percent, "per cent of the run", "Output's share of the run")


def output_figure(summary: StudySummary) -> Figure:
    """Seconds of output, as `_bars`."""
    return _bars(summary, _output_time, "seconds of output", "Output time")


def _bars(summary: StudySummary, quantity: Callable[[Figures], Summary], unit: str, title: str) -> Figure:
    """A group of bars a rank count, an axes a storage. Whiskers: quartiles. What is not above zero, or was run once, is
    a hollow mark: a bar would say more than is known."""
    storages = summary.storages()
    figure, all_axes = plots.new_figure(9.2, 3.9, columns=len(storages), share=True)
    styles = plots.series_style(summary.methods)
    width = 0.82 / max(1, len(summary.methods))
    for axes, storage in zip(all_axes, storages, strict=True):
        rows = summary.of_storage(storage)
        for number, method in enumerate(summary.methods):
            known = [(place, quantity(row.figures[method])) for place, row in enumerate(rows) if method in row.figures]
            at = (number - (len(summary.methods) - 1) / 2) * width
            bars = [(place + at, share) for place, share in known if _is_told(share)]
            marks = [(place + at, share) for place, share in known if not _is_told(share)]
            low = [share.median - share.quartile_low for _, share in bars]
            high = [share.quartile_high - share.median for _, share in bars]
            colour, marker = styles[method]
            axes.bar(
                [place for place, _ in bars],
                [share.median for _, share in bars],
                width * 0.92,
                yerr=[low, high],
                error_kw={"elinewidth": 1.0, "capsize": 2, "ecolor": plots.TEXT_COLOUR},
                color=colour,
            )
            axes.plot(
                [place for place, _ in marks],
                [share.median for _, share in marks],
                linestyle="none",
                marker=marker,
                markersize=4.5,
                markerfacecolor="none",
                color=colour,
            )
        axes.axhline(0, color=plots.TEXT_COLOUR, linewidth=0.8)
        axes.grid(visible=False, axis="x")
        axes.set_xticks(range(len(rows)), [str(row.ranks) for row in rows])
        axes.set_xlabel("ranks")
        axes.set_title(f"storage {storage}" if len(storages) > 1 else title)
    all_axes[0].set_ylabel(unit)
    from matplotlib.patches import Patch

    handles = [Patch(color=styles[method][0], label=method) for method in summary.methods]
    figure.legend(handles=handles, loc="outside right upper")
    return figure


def _is_told(share: Summary) -> bool:
    """Whether a bar may stand for it."""
    return share.count > 1 and share.median > 0


def _legend_beside(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")

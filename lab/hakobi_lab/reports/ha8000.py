"""`hakobi report ha8000`: a computing centre's warning that MPI benchmarks which reuse one buffer report the cache."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from hakobi import statistics
from hakobi.measuring import transports
from hakobi.table import Table
from hakobi.words import binary_text, count_text, list_text
from hakobi_lab.reports.page import MIN_SAMPLES, Content, Drawing, Finding
from hakobi_lab.reports.running import Order
from hakobi_lab.studies.mpi_cache import pages, session
from hakobi_lab.studies.mpi_cache.session import Figure, Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_PLACES = tuple(transports.PLACES)
_DEFAULT, _OFF = "default", "no-shared-memory"
#: Buffers in the caches at once: each of two ranks sends from one and receives into one.
_BUFFERS = 4
#: Where the report saw the benchmark's peak.
_PEAK = (32 << 10, 128 << 10)


def measure(order: Order) -> Content:
    """Raises HakobiError for what is wrong before the first run."""
    small = order.smallest
    plan = session.Plan(
        ranks=2,
        pattern="sendrecv",
        sizes="4K,64K,1M" if small else "1K:16M",
        names=(_DEFAULT, *_PLACES, _OFF),
        rounds=1 if small else 9,
        budget_s=0.05 if small else 0.4,
        window="",
        use_hwloc=True,
        timeout_s=900.0,
        total_s=order.budget.left_s(),
    )
    outcome = session.run(plan, order.json)
    content = Content(outcome.conditions)
    content.take_end(outcome.end)
    _add_curves(content, outcome, "Figure 1", "hot")
    _add_regions(content, outcome)
    _add_curves(content, outcome, "Figure 3", "cold")
    _add_without_memory(content, outcome)
    content.item("Figure 1").notes += pages.notes(outcome)
    content.findings += [_inflated(outcome), _peak(outcome), _without_memory(outcome)]
    return content


def _add_curves(content: Content, outcome: Outcome, place: str, contender: str) -> None:
    item = content.item(place)
    names = [name for name in _PLACES if name in outcome.measured]
    if not names:
        item.absent = "; ".join(f"{name}: {outcome.skipped.get(name, 'not measured')}" for name in _PLACES)
        return
    words = "one buffer, used again and again" if contender == "hot" else "buffers that are not in the cache"
    item.shown.append(
        Drawing(
            pages.places_figure(outcome, names, contender),
            f"Bandwidth of {outcome.plan.pattern} over message size, {words}, by where the two ranks are. Bands: "
            "quartiles; dotted: the caches.",
            f"Lines of bandwidth over message size, {contender} buffers; the table has their values.",
            f"places-{contender}",
            pages.bandwidth_data(outcome, names),
        )
    )
    item.shown.append(_places_table(outcome, names, contender))
    gone = [f"{name} ({outcome.skipped[name]})" for name in _PLACES if name in outcome.skipped]
    if gone:
        item.stand_in = f"Not on this machine: {list_text(gone)}."


def _places_table(outcome: Outcome, names: list[str], contender: str) -> Table:
    view = Table(f"GB/s, {contender} buffers", ["size", *names])
    by_size = {name: {figure.bytes: figure for figure in outcome.measured[name]} for name in names}
    for size in sorted({size for figures in by_size.values() for size in figures}):
        cells = [by_size[name].get(size) for name in names]
        view.add(binary_text(size), *[_rate(cell, contender) for cell in cells])
    return view


def _rate(figure: Figure | None, contender: str) -> str:
    if figure is None or not figure.counted_bytes:
        return ""
    rate = figure.rate(contender)
    digits = _digits(rate.median)
    return f"{rate.median:.{digits}f} ± {rate.spread:.{digits}f}" if rate.count > 1 else f"{rate.median:.{digits}f}"


def _digits(value: float) -> int:
    """Digits behind the point that show two of a value's own.

    >>> [_digits(value) for value in (12.3, 0.5, 0.051, 0.0)]
    [2, 2, 3, 2]
    """
    return max(2, 1 - math.floor(math.log10(value))) if value > 0 else 2


def _regions(outcome: Outcome) -> list[tuple[str, float, float]]:
    """Names of the regions of message size and their bounds, from the library's eager limit and the caches."""
    found = re.search(r"eager limit (\d+)", outcome.texts.get(_DEFAULT, ""))
    eager = int(found.group(1)) if found else 0
    cache = max(int(outcome.machine.get("l2_bytes", 0)), int(outcome.machine.get("l3_bytes", 0))) // _BUFFERS
    edges = [("through shared memory", 0, eager), ("single copy, in the cache", eager, cache)]
    return [
        (name, low, high) for name, low, high in [*edges, ("memory", max(cache, eager), float("inf"))] if high > low
    ]


def _add_regions(content: Content, outcome: Outcome) -> None:
    item = content.item("Figure 2")
    if _DEFAULT not in outcome.measured:
        item.absent = "nothing was measured with the library's own choice"
        return
    regions = _regions(outcome)
    item.shown.append(
        Drawing(
            _regions_figure(outcome, regions),
            "Where the bytes of a message are: copied twice through shared memory below the library's eager limit, "
            f"copied once above it; {_BUFFERS} buffers leave the last-level cache where it is divided by {_BUFFERS}.",
            "Two lines of bandwidth, hot and cold, over message size, with the regions shaded and named.",
            "regions",
            pages.bandwidth_data(outcome, [_DEFAULT]),
        )
    )
    view = Table("Regions, the library's own choice", ["<region", "<sizes", "hot GB/s", "cold GB/s", "hot / cold"])
    for name, low, high in regions:
        figures = [f for f in outcome.measured[_DEFAULT] if low < f.bytes <= high and f.counted_bytes]
        if figures:
            sizes = f"{binary_text(figures[0].bytes)} to {binary_text(figures[-1].bytes)}"
            hot, cold = (
                statistics.summarise([figure.rate(contender).median for figure in figures]).median
                for contender in ("hot", "cold")
            )
            ratio = statistics.summarise([figure.ratio.estimate for figure in figures]).median
            view.add(name, sizes, f"{hot:.2f}", f"{cold:.2f}", f"{ratio:.2f}")
    item.shown.append(view)
    item.notes.append(f"{outcome.texts[_DEFAULT]}; medians over the region's sizes")


def _regions_figure(outcome: Outcome, regions: list[tuple[str, float, float]]) -> Picture:
    picture = pages.bandwidth_figure(outcome, _DEFAULT)
    (axes,) = picture.axes
    low_size, high_size = axes.get_xlim()
    for number, (name, low, high) in enumerate(regions):
        left, right = max(low, low_size), min(high, high_size)
        if right <= left:
            continue
        axes.axvspan(left, right, color="#8a949e", alpha=0.06 + 0.1 * (number % 2), linewidth=0, zorder=0)
        words = name if right > 16 * left else name.replace(" ", "\n")
        at = ((left * right) ** 0.5, 0.5)
        axes.annotate(words, at, xycoords=("data", "axes fraction"), ha="center", fontsize=8.5, clip_on=True)
    axes.set_xlim(low_size, high_size)
    return picture


def _add_without_memory(content: Content, outcome: Outcome) -> None:
    item = content.item("Figure 4")
    if _OFF not in outcome.measured:
        item.absent = f"{_OFF}: {outcome.skipped.get(_OFF, 'not measured')}"
        return
    names = [name for name in (_DEFAULT, _OFF) if name in outcome.measured]
    for contender in ("hot", "cold"):
        item.shown.append(
            Drawing(
                pages.places_figure(outcome, names, contender),
                f"Bandwidth over message size with shared memory and without ({outcome.texts[_OFF]}), {contender} "
                "buffers.",
                f"Two lines of bandwidth over message size, {contender} buffers.",
                f"without-shared-memory-{contender}",
                pages.bandwidth_data(outcome, names),
            )
        )
    item.shown += [pages.table_of(outcome, name) for name in names]


def _rated(outcome: Outcome, name: str) -> list[Figure]:
    """The sizes whose figures can be told from chance."""
    return [
        figure
        for figure in outcome.measured.get(name, [])
        if figure.counted_bytes and min(figure.hot_s.count, figure.cold_s.count) >= MIN_SAMPLES
    ]


def _inflated(outcome: Outcome) -> Finding:
    published = "A benchmark that sends one buffer again and again reports bandwidths that no application sees."
    figures = _rated(outcome, _DEFAULT)
    inflated = [figure for figure in figures if figure.cache_inflated]
    if not figures:
        return Finding(published, None, f"no size was measured {MIN_SAMPLES} times.")
    text = f"{len(inflated)} of {count_text(len(figures), 'size')} are faster from the cache, outside the spread"
    if inflated:
        worst = max(inflated, key=lambda figure: figure.ratio.estimate)
        low, high = worst.ratio.interval.low, worst.ratio.interval.high
        text += f"; the most at {binary_text(worst.bytes)}: {worst.ratio.estimate:.2f} times ({low:.2f} to {high:.2f})"
    return Finding(published, len(inflated) > len(figures) / 2, f"{text}.")


def _peak(outcome: Outcome) -> Finding:
    """Whether the hot curve is highest where the report saw it, and the cold one does not follow."""
    published = "The benchmark's bandwidth peaks at 32 to 128 KiB, a peak of the cache."
    figures = _rated(outcome, _DEFAULT)
    if len(figures) < 3:
        return Finding(published, None, f"fewer than three sizes were measured {MIN_SAMPLES} times.")
    top = max(figures, key=lambda figure: figure.rate("hot").median)
    hot, cold = (top.rate(contender).median for contender in ("hot", "cold"))
    text = f"the hot curve is highest at {binary_text(top.bytes)}, {hot:.1f} GB/s; cold buffers reach {cold:.1f} there."
    return Finding(published, _PEAK[0] <= top.bytes <= _PEAK[1] and top.cache_inflated, text)


def _without_memory(outcome: Outcome) -> Finding:
    published = "With shared memory off, benchmark and application agree better."
    ratios = {}
    for name in (_DEFAULT, _OFF):
        if figures := _rated(outcome, name):
            ratios[name] = statistics.summarise([figure.ratio.estimate for figure in figures]).median
    if len(ratios) < 2:
        return Finding(published, None, f"{_OFF}: {outcome.skipped.get(_OFF, 'not measured')}.")
    told = [_agrees_better(outcome, size) for size in sorted({figure.bytes for figure in _rated(outcome, _OFF)})]
    better, worse = told.count(True), told.count(False)
    text = (
        f"median of cold over hot times: {ratios[_DEFAULT]:.2f} by default, {ratios[_OFF]:.2f} without shared memory; "
        f"nearer to 1 without it at {better} of {count_text(len(told), 'size')}, farther at {worse}, beyond the spread."
    )
    return Finding(published, None if better == worse == 0 else better > worse, text)


def _agrees_better(outcome: Outcome, size: int) -> bool | None:
    """Whether cold over hot is less without shared memory at a size; None where the spreads overlap."""
    intervals = [
        figure.ratio.interval for name in (_DEFAULT, _OFF) for figure in _rated(outcome, name) if figure.bytes == size
    ]
    if len(intervals) < 2:
        return None
    shared, off = intervals
    return True if off.high < shared.low else False if off.low > shared.high else None

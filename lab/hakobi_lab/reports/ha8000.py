"""`hakobi report ha8000`: a computing centre's warning that MPI benchmarks which reuse one buffer report the cache."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from hakobi import conditions, programs, statistics
from hakobi.errors import RunError
from hakobi.measuring import transports
from hakobi.table import Table
from hakobi.words import binary_text, list_text
from hakobi_lab.reports.judging import Cases, Value
from hakobi_lab.reports.page import Content, Drawing
from hakobi_lab.reports.published import HA8000
from hakobi_lab.reports.running import Order
from hakobi_lab.studies.mpi_cache import pages, session
from hakobi_lab.studies.mpi_cache.session import Figure, Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_PLACES = tuple(transports.PLACES)
_SOCKET, _SOCKETS = "same-core-complex", "other-socket"
_DEFAULT, _OFF = "default", "no-shared-memory"
#: Buffers in the caches at once: each of two ranks sends from one and receives into one.
_BUFFERS = 4


def measure(order: Order) -> Content:
    """Raises HakobiError for what is wrong before the first run."""
    small = order.smallest
    plan = session.Plan(
        ranks=2,
        pattern="sendrecv",
        sizes="4K,64K,1M" if small else "1K:32M",
        names=(_DEFAULT, *_PLACES, _OFF),
        rounds=1 if small else 9,
        budget_s=0.05 if small else 0.4,
        window="",
        use_hwloc=True,
        timeout_s=900.0,
        total_s=order.budget.left_s(),
    )
    content = Content(conditions.collect(programs.find(session.PROGRAM).flavour))
    try:
        outcome = session.run(plan, order.json)
    except RunError as error:
        if error.code == "interrupted":
            raise
        for place in HA8000.items:
            content.starve(place, str(error))
        outcome = Outcome(plan, "", content.facts)
    else:
        content.facts = outcome.conditions
        content.take_end(outcome.end)
        _add_caches(content, outcome)
        _add_curves(content, outcome, "Figure 1", "hot")
        _add_regions(content, outcome)
        _add_without_memory(content, outcome)
        _add_curves(content, outcome, "Advice", "cold")
        content.item("Figure 1").notes += pages.notes(outcome)
    content.judge("ha8000", evidence(outcome))
    return content


def _cache(outcome: Outcome, level: int) -> int:
    """Bytes; 0 where they are not known."""
    return int(outcome.machine.get(f"l{level}_bytes") or 0)


def _add_caches(content: Content, outcome: Outcome) -> None:
    """Both machines' caches; curves are compared in units of these."""
    view = Table("Caches", ["<cache", "here", "HA8000", "here / HA8000"])
    for level, theirs in ((1, 64 << 10), (2, 512 << 10), (3, 2 << 20)):
        size = _cache(outcome, level)
        view.add(f"L{level}", binary_text(size) if size else "unknown", binary_text(theirs), f"{size / theirs:.1f}")
    content.item("Table 1").shown.append(view)


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
    by_size = {name: _by_size(outcome, name) for name in names}
    for size in sorted({size for figures in by_size.values() for size in figures}):
        cells = [by_size[name].get(size) for name in names]
        view.add(binary_text(size), *[_rate(cell, contender) for cell in cells])
    for column, name in enumerate(names, 1):  # the peak at a glance
        top = _top(by_size[name], contender)
        if top is not None:
            view.best.add((sorted({size for each in by_size.values() for size in each}).index(top.bytes), column))
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


def _eager(outcome: Outcome) -> int:
    """The size up to which the library copies a message twice, through shared memory; 0 where it is not known."""
    found = re.search(r"eager limit (\d+)", outcome.texts.get(_DEFAULT, ""))
    return int(found.group(1)) if found else 0


def _regions(outcome: Outcome) -> list[tuple[str, float, float]]:
    """Names of the regions of message size and their bounds, from the library's eager limit and the caches."""
    eager = _eager(outcome)
    cache = max(_cache(outcome, 2), _cache(outcome, 3)) // _BUFFERS
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
            times = statistics.summarise([figure.ratio.estimate for figure in figures]).median
            view.add(name, sizes, f"{hot:.2f}", f"{cold:.2f}", f"{times:.2f}")
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
        if right < 3 * left:  # too narrow for its name, which the table has
            continue
        words = name if right > 16 * left else name.replace(" ", "\n")
        at = ((left * right) ** 0.5, 0.5)
        axes.annotate(words, at, xycoords=("data", "axes fraction"), ha="center", fontsize=8.5, clip_on=True)
    axes.set_xlim(low_size, high_size)
    return picture


def _add_without_memory(content: Content, outcome: Outcome) -> None:
    item = content.item("Figure 3")
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


def _by_size(outcome: Outcome, name: str) -> dict[int, Figure]:
    return {figure.bytes: figure for figure in outcome.measured.get(name, []) if figure.counted_bytes}


def _hot(figure: Figure | None) -> Value | None:
    return Value.of(figure.rate("hot")) if figure else None


def _cold_over_hot(figure: Figure) -> Value:
    return Value.of(figure.ratio, min(figure.hot_s.count, figure.cold_s.count))


def _top(figures: dict[int, Figure], contender: str = "hot") -> Figure | None:
    return max(figures.values(), key=lambda figure: figure.rate(contender).median, default=None)


def _near(figures: dict[int, Figure], size: float) -> Figure | None:
    """The one of a size, to half an octave."""
    return next((figure for known, figure in figures.items() if size / 1.42 < known < size * 1.42), None)


def _ratio(one: Figure | None, other: Figure | None) -> Value | None:
    first, second = _hot(one), _hot(other)
    return first.over(second) if first and second else None


def evidence(outcome: Outcome) -> dict[str, Cases]:
    """Sizes are in units of this machine's caches."""
    usual, off = _by_size(outcome, _DEFAULT), _by_size(outcome, _OFF)
    l2, l3, eager = _cache(outcome, 2), _cache(outcome, 3), _eager(outcome)
    last = off[max(off)] if off else None

    def inflation(low: float, high: float, why: str) -> Cases:
        found = {binary_text(size): _cold_over_hot(figure) for size, figure in usual.items() if low <= size <= high}
        return found or why

    without = f"{_OFF}: {outcome.skipped.get(_OFF, 'not measured')}"
    no_l2 = "the size of L2 is not known" if not l2 else "no size was measured"
    sides = [outcome.skipped[name] for name in (_SOCKET, _SOCKETS) if name in outcome.skipped]
    both = [_near(_by_size(outcome, name), l3 / 2) for name in (_SOCKET, _SOCKETS)]
    return {
        "peak": {"the peak": _peak(usual, l2)} if l2 and usual else no_l2,
        "falls": {f"at {binary_text(2 * l2)}": _ratio(_near(usual, 2 * l2), _near(usual, l2 / 4))} if l2 else no_l2,
        "one socket below": "; ".join(sides) or {f"at {binary_text(l3 // 2)}": _ratio(*both)},
        "memory": inflation(l3 or math.inf, math.inf, f"no message has the size of L3, {binary_text(l3)}"),
        "small real": inflation(0, eager, "no size is below the library's eager limit"),
        "cache high": inflation(l2 / 16, l2 / 4, no_l2) if l2 else no_l2,
        "smooth": {"highest": _ratio(_top(off), last)} if off else without,
        "agree better": {
            binary_text(size): _cold_over_hot(off[size]).over(_cold_over_hot(figure))
            for size, figure in usual.items()
            if size in off
        }
        or without,
        "inflated": inflation(0, math.inf, "no size was measured"),
    }


def _peak(figures: dict[int, Figure], l2: int) -> Value | None:
    """The place of the highest point over L2: from the smallest to the largest size that it cannot be told from."""
    top = _top(figures)
    if top is None:
        return None
    high = top.rate("hot")
    same = [size for size, one in figures.items() if one.rate("hot").interval.high >= high.interval.low]
    return Value(top.bytes / l2, min(same) / l2, max(same) / l2, high.count)

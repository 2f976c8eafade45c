"""Tables, figures and findings of `hakobi report pacs-cs`, of the benchmark's records: nothing is measured here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hakobi import statistics
from hakobi.records import Record
from hakobi.statistics import Summary
from hakobi.table import Table
from hakobi.words import binary_text, list_text, percent_text
from hakobi_lab import plots
from hakobi_lab.reports import theirs
from hakobi_lab.reports.judging import MIN_SAMPLES, Cases, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: As the benchmark takes them; the first two are plain MPI.
CONTENDERS = ("mpi", "mpi:4", "halo:2", "buffer-arrays:2")
OURS = CONTENDERS[2:]
WAYS = ("send", "receive", "both")
NAMES = {
    "mpi": "MPI, one at a time",
    "mpi:4": "MPI, 4 under way",
    "halo": "Halo",
    "halo:2": "Halo, 2 under way",
    "buffer-arrays": "Buffer arrays",
    "buffer-arrays:2": "Buffer arrays, 2 under way",
}


@dataclass(frozen=True, order=True)
class Case:
    contender: str  #: as the benchmark takes it: "mpi:4"
    dimensions: int
    way: str
    bytes: int


@dataclass
class Rates:
    """The rates in the benchmark's summaries, by case."""

    mb_s: dict[Case, Summary] = field(default_factory=dict)
    percent: dict[Case, float] = field(default_factory=dict)
    num_calls: dict[Case, int] = field(default_factory=dict)

    @staticmethod
    def of(records: Sequence[Record]) -> Rates:
        """A case that was wrong is left out: its rate says nothing."""
        rates = Rates()
        for line in records:
            if line.get("kind") != "summary" or not line["is_correct"]:
                continue
            name = line["contender"] + (f":{line['under_way']}" if line["under_way"] > 1 else "")
            case = Case(name, line["dimensions"], line["way"], line["bytes"])
            rates.mb_s[case] = statistics.summarise(line["samples"])
            rates.num_calls[case] = line["num_calls"]
            if "percent" in line:
                rates.percent[case] = line["percent"]
        return rates

    def share(self, case: Case) -> Summary:
        """The part of the links that is filled, with its interval."""
        return self.mb_s[case].scaled(self.percent[case] / 100 / self.mb_s[case].median)

    def at(self, contender: str, dimensions: int, way: str) -> Case | None:
        """The measured case of the largest message."""
        found = [
            case for case in self.percent if (case.contender, case.dimensions, case.way) == (contender, dimensions, way)
        ]
        return max(found, key=lambda case: case.bytes, default=None)


def dimensions_table(rates: Rates, size: int) -> Table:
    """The report's 3 x 3 table, for each contender."""
    columns = [f"{way} {unit}" for way in WAYS for unit in ("MB/s", "%")]
    table = Table(f"Links filled, messages of {binary_text(size)}", ["<", "<dimensions", *columns])
    table.num_frozen = 2
    for published in theirs.TABLES["pacs-cs"]["Table 1"]:
        for row in published.rows if isinstance(published, Table) else ():
            table.add("PACS-CS", *row)
    for contender in CONTENDERS:
        table.rules.add(len(table.rows))
        for dimensions in (1, 2, 3):
            cells = []
            for way in WAYS:
                case = Case(contender, dimensions, way, size)
                is_known = case in rates.percent
                cells += [f"{rates.mb_s[case].median:.1f}", f"{rates.percent[case]:.1f}"] if is_known else ["", ""]
            table.add(NAMES[contender], str(dimensions), *cells)
    return table


def evidence(rates: Rates, spreads: Sequence[Spread], packing: Rates) -> dict[str, Cases]:
    """Cases are each of ours, in every dimension and way that the table has; plain MPI stands beside them."""

    def shares(*ways: str) -> Cases:
        return {
            f"{NAMES[name]}, {dimensions} {way}": Value.of(rates.share(case)) if case else None
            for name in OURS
            for way in ways
            for dimensions in (1, 2, 3)
            for case in (rates.at(name, dimensions, way),)
        }

    def three_over_one(name: str, way: str) -> Value | None:
        one, three = (rates.at(name, dimensions, way) for dimensions in (1, 3))
        if one is None or three is None or one.bytes != three.bytes:
            return None
        return Value.of(rates.mb_s[three]).over(Value.of(rates.mb_s[one]))

    pairs = {(spread.contender, spread.is_alternating): spread for spread in spreads}
    ours = [name.partition(":")[0] for name in OURS]

    def against_alone(quantity: Callable[[Spread], Value]) -> Cases:
        both = {name: [pairs.get((name, is_alternating)) for is_alternating in (True, False)] for name in ours}
        return {
            NAMES[name]: quantity(computing).over(quantity(alone)) if computing and alone else None
            for name, (computing, alone) in both.items()
        }

    return {
        "one way": shares("send", "receive"),
        "both ways": shares("both"),
        "three times": {f"{NAMES[name]}, {way}": three_over_one(name, way) for name in OURS for way in WAYS},
        "spread": against_alone(Spread.deviation),
        "mean": against_alone(Spread.mean),
        "steady": {
            f"{NAMES[name]}, {'with computing' if when else 'alone'}": pairs[name, when].halves()
            if (name, when) in pairs
            else None
            for name in ours
            for when in (False, True)
        },
        "copies": _copies(packing),
    }


def _copies(packing: Rates) -> Cases:
    """The part of an exchange that is packed by hand which buffer arrays do not take."""
    packed, ours = (
        next((Value.of(rate) for case, rate in packing.mb_s.items() if case.contender == name), None)
        for name in ("mpi-packed", "buffer-arrays")
    )
    if packed is None or ours is None:
        return {"a face": None}
    left = packed.over(ours)  # rates: the time of ours over that of packing
    return {"a face": Value(1 - left.estimate, 1 - left.high, 1 - left.low, left.count)}


def _sizes(rates: Rates) -> list[int]:
    return sorted({case.bytes for case in rates.percent})


def sizes_figure(rates: Rates) -> Figure:
    """Per cent of the links over the size of a message, a line a contender."""
    figure, (axes,) = plots.new_figure(7.4, 4.0)
    styles = plots.series_style(CONTENDERS)
    for contender in CONTENDERS:
        known = [case for case in sorted(rates.percent, key=lambda case: case.bytes) if case.contender == contender]
        colour, marker = styles[contender]
        sizes = [case.bytes for case in known]
        axes.plot(sizes, [rates.percent[c] for c in known], color=colour, marker=marker, label=NAMES[contender])
    axes.axhline(100, color=plots.TEXT_COLOUR, linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xticks(_sizes(rates), [binary_text(size) for size in _sizes(rates)])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("size of a message")
    axes.set_ylabel("per cent of the links")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def sizes_data(rates: Rates) -> plots.Data:
    data = plots.Data("bytes", "MB/s")
    for case in sorted(rates.percent):
        data.add(f"{case.dimensions} dimensions, {case.way}", NAMES[case.contender], case.bytes, rates.mb_s[case])
    return data


def sizes_table(rates: Rates) -> Table:
    sizes = _sizes(rates)
    table = Table("Both ways in three dimensions, per cent of the links", ["<", *map(binary_text, sizes)])
    for contender in CONTENDERS:
        cases = [Case(contender, 3, "both", size) for size in sizes]
        table.add(NAMES[contender], *[f"{rates.percent[c]:.1f}" if c in rates.percent else "" for c in cases])
    return table


#: Exchanges below which a histogram's tails say nothing.
_MIN_EXCHANGES = 1000
#: Standard errors in an interval of 98 %.
_ERRORS = 2.33


@dataclass(frozen=True)
class Spread:
    """How the MB/s of a contender's single exchanges spread: `counts[i]` of them from i to i + 1 times `class_mb_s`.
    `tenths`: medians of each tenth of them, in order."""

    contender: str
    is_alternating: bool
    class_mb_s: float
    counts: tuple[int, ...]
    quantiles: dict[str, float]
    tenths: tuple[float, ...] = ()

    def _moment(self, power: int, about: float = 0.0) -> float:
        middles = [self.class_mb_s * (i + 0.5) - about for i in range(len(self.counts))]
        each = zip(middles, self.counts, strict=True)
        return sum(count * middle**power for middle, count in each) / sum(self.counts)

    def _value(self, estimate: float, error: float) -> Value:
        """Few exchanges count as no sample."""
        num = sum(self.counts)
        low, high = max(estimate - _ERRORS * error, 0.0), estimate + _ERRORS * error
        return Value(estimate, low, high, num if num >= _MIN_EXCHANGES else 0)

    def mean(self) -> Value:
        mean = self._moment(1)
        return self._value(mean, (self._moment(2, mean) / sum(self.counts)) ** 0.5)

    def deviation(self) -> Value:
        """The standard deviation; its error grows with the fourth moment, which tails make large."""
        mean = self._moment(1)
        variance = self._moment(2, mean)
        excess = max(self._moment(4, mean) - variance**2, 0.0)
        return self._value(variance**0.5, (excess / max(variance, 1e-12) / sum(self.counts)) ** 0.5 / 2)

    def halves(self) -> Value:
        """The rate of the second half over that of the first, from the tenths."""
        half = len(self.tenths) // 2
        if half < MIN_SAMPLES or sum(self.counts) < _MIN_EXCHANGES:
            return Value(1.0, 0.0, math.inf, 0)
        return Value.of(statistics.compare_separate(self.tenths[half:], self.tenths[:half]), half)


def spreads_of(records: Sequence[Record]) -> list[Spread]:
    quantiles = {"least": "least_mb_s", "1 % below": "percentile_1_mb_s", "median": "median_mb_s", "most": "most_mb_s"}
    return [
        Spread(
            line["contender"],
            line["alternating"],
            line["class_mb_s"],
            tuple(line["counts"]),
            {name: line[member] for name, member in quantiles.items()},
            tuple(line.get("tenths_mb_s", ())),
        )
        for line in records
        if line.get("kind") == "histogram" and line["is_correct"]
    ]


def histogram_figure(spreads: Sequence[Spread]) -> Figure:
    """Exchanges a class of MB/s, alone and alternating with computing."""
    figure, all_axes = plots.new_figure(9.2, 3.8, columns=2, share=True)
    names = list(dict.fromkeys(spread.contender for spread in spreads))
    styles = plots.series_style(names)
    for axes, is_alternating in zip(all_axes, (False, True), strict=True):
        for spread in spreads:
            if spread.is_alternating == is_alternating:
                edges = [spread.class_mb_s * i for i in range(len(spread.counts) + 1)]
                colour = styles[spread.contender][0]
                axes.stairs(spread.counts, edges, color=colour, label=NAMES[spread.contender], linewidth=1.4)
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
        axes.set_xlim(left=0)
        axes.set_xlabel("MB/s of an exchange")
        axes.set_title("alternating with computing" if is_alternating else "alone")
    all_axes[0].set_ylabel("exchanges")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(names))
    return figure


def histogram_data(spreads: Sequence[Spread]) -> plots.Data:
    data = plots.Data("MB/s from", "exchanges")
    for spread in spreads:
        for i, count in enumerate(spread.counts):
            if count:
                panel = "alternating" if spread.is_alternating else "alone"
                data.add(panel, NAMES[spread.contender], spread.class_mb_s * i, statistics.summarise([count]))
    return data


def spread_table(spreads: Sequence[Spread], what: str) -> Table:
    columns = ["least", "1 % below", "median", "most"]
    table = Table(f"MB/s of {what}", ["<", "<", *columns])
    table.num_frozen = 2
    for spread in spreads:
        when = "with computing" if spread.is_alternating else "alone"
        table.add(NAMES[spread.contender], when, *[f"{spread.quantiles[name]:.1f}" for name in columns])
    return table


#: The report has 13.
_MOST_CLASSES = 14


def classes_table(spreads: Sequence[Spread], what: str) -> Table:
    """The report's table of classes, for each contender alone and with computing."""
    names = [f"{NAMES[one.contender]}, {'with computing' if one.is_alternating else 'alone'}" for one in spreads]
    table = Table(f"Classes of MB/s of {what}", ["<MB/s", *names])
    width = max((one.class_mb_s for one in spreads), default=1.0)
    step = -(-max((len(one.counts) for one in spreads), default=1) // _MOST_CLASSES)
    for i in range(0, _MOST_CLASSES * step, step):
        counts = [sum(one.counts[i : i + step]) for one in spreads]
        if any(counts):
            table.add(f"{width * i:g} to {width * (i + step):g}", *map(str, counts))
    return table


def functions() -> Table:
    """The six functions of the report's library, and Hakobi's."""
    table = Table("Functions of the buffer arrays", ["<PMvX", "<what it does", "<Hakobi, C++", "<Hakobi, C"])
    rows = """
        pmGetSendBufferArray | opens a buffer array | BufferArrays::get, make | _arrays_get, _array_make
        - | appends a piece of memory | append | _array_append
        pmSendBufferArray | sends all pieces as one message | send | _array_send
        pmReceiveBufferArray | receives into all pieces | receive | _array_receive
        pmReleaseReceiveBufferArray, pmReleaseSendBufferArray | takes the pieces out again | release | _array_release
        pmSendDoneBufferArray | asks whether it is done | done, wait | _array_done, _array_wait
    """
    for line in rows.strip().splitlines():
        *cells, c_names = [cell.strip() for cell in line.split("|")]
        table.add(*cells, ", ".join(f"hakobi_buffer{name}" for name in c_names.split(", ")))
    table.notes.append("-: none of the six functions that the report lists")
    return table


_PACKING_NAMES = {
    "mpi-rows": "MPI, a message a row",
    "mpi": "MPI, datatype",
    "mpi-packed": "MPI, packed by hand",
    "halo": "Halo",
    "buffer-arrays": "Buffer arrays",
}


def _exchange_us(rates: Rates, contender: str) -> tuple[float, int] | None:
    """Microseconds and calls of one exchange both ways between two ranks."""
    for case, rate in rates.mb_s.items():
        if case.contender == contender:
            return 2 * case.bytes / rate.median, rates.num_calls[case]
    return None


def packing_table(together: Rates, late: Rates, size: int, row: int, late_us: int) -> Table:
    title = f"{binary_text(size)} in rows of {binary_text(row)}, both ways between two ranks of a node"
    lost = f"beyond the {late_us} us that the other is late, us"
    table = Table(title, ["<", "calls an exchange", "us an exchange", lost])
    for contender, name in _PACKING_NAMES.items():
        found, behind = _exchange_us(together, contender), _exchange_us(late, contender)
        if found:
            beyond = f"{behind[0] - late_us:.0f}" if behind else ""
            table.add(name, str(found[1]), f"{found[0]:.0f}", beyond)
    return table


def packing_words(together: Rates) -> str:
    """The saving of buffer arrays, in a sentence."""
    times = {name: found for name in _PACKING_NAMES if (found := _exchange_us(together, name))}
    ours = times.get("buffer-arrays")
    if ours is None:
        return "Buffer arrays were not measured."
    words = [
        f"{ours[0] / time_us:.2f} of the time of {_PACKING_NAMES[name]} ({ours[1]} calls against {calls})"
        for name, (time_us, calls) in times.items()
        if name != "buffer-arrays"
    ]
    packed = times.get("mpi-packed")
    saved = 1 - ours[0] / packed[0] if packed else 0.0
    copies = f" Copies are {percent_text(saved)} of an exchange packed by hand." if saved > 0 else ""
    return f"Buffer arrays take {list_text(words)}.{copies}"

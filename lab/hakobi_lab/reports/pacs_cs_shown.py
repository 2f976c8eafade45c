"""Tables, figures and findings of `hakobi report pacs-cs`, of the benchmark's records: nothing is measured here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hakobi import statistics
from hakobi.records import Record
from hakobi.statistics import Summary
from hakobi.table import Table
from hakobi.words import binary_text, list_text, percent_text
from hakobi_lab import plots
from hakobi_lab.reports import theirs
from hakobi_lab.reports.page import Finding, is_at_least, is_less, verdict

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
        """Per cent of the links, with its interval."""
        return self.mb_s[case].scaled(self.percent[case] / self.mb_s[case].median)

    def contenders(self) -> list[str]:
        """Ours that were measured at all."""
        return [name for name in OURS if any(case.contender == name for case in self.percent)]

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


def link_findings(rates: Rates) -> list[Finding]:
    """The findings of PACS-CS on its links. Each of ours must agree in every case; plain MPI stands beside them."""
    findings = []
    for published, ways, least in (
        ("A node fills 99 % of its links one way, in 1, 2 and 3 dimensions at once.", ("send", "receive"), 99.0),
        ("Both ways at once it fills 93 to 96 %.", ("both",), 93.0),
    ):
        cases = [
            is_at_least(rates.share(case), least - 0.05) if case is not None else None
            for name in rates.contenders()
            for case in _cases(rates, name, ways)
        ]
        findings.append(Finding(published, verdict(cases), _least_words(rates, ways)))
    findings.append(_three_times_one(rates))
    return findings


def _cases(rates: Rates, name: str, ways: Sequence[str]) -> list[Case | None]:
    """A contender's cases in 1 to 3 dimensions; None where one was not measured."""
    return [rates.at(name, dimensions, way) for way in ways for dimensions in (1, 2, 3)]


def _least_words(rates: Rates, ways: Sequence[str]) -> str:
    words, missing = [], []
    for name in CONTENDERS:
        cases = _cases(rates, name, ways)
        shares = [rates.percent[case] for case in cases if case is not None]
        if len(shares) == len(cases):
            words.append(f"{NAMES[name]} {min(shares):.1f} %")
        elif shares:
            missing.append(f"{NAMES[name]} ({len(shares)} of {len(cases)} cases)")
    if not words and not missing:
        return "Nothing was measured."
    lacking = f" Not whole: {list_text(missing)}." if missing else ""
    return (f"The least of each: {list_text(words)}." if words else "") + lacking


#: Three links' sum may lack a thirtieth and still be three times one.
_THREE_TIMES = 2.9


def _three_times_one(rates: Rates) -> Finding:
    published = "Three dimensions carry three times one: 750 MB/s of 3 x 250."
    words: list[str] = []
    told: list[bool | None] = []
    for contender in rates.contenders():
        ratios = {}
        for way in WAYS:
            one, three = (rates.at(contender, dimensions, way) for dimensions in (1, 3))
            if one is None or three is None or one.bytes != three.bytes:
                told.append(None)
                continue
            ratios[way] = rates.mb_s[three].median / rates.mb_s[one].median
            told.append(is_less(rates.mb_s[one].scaled(_THREE_TIMES), rates.mb_s[three]))
        if ratios:
            way = min(ratios, key=lambda way: ratios[way])
            words.append(f"{NAMES[contender]} {ratios[way]:.2f} times ({way}; {len(ratios)} of {len(WAYS)} ways)")
    if not words:
        return Finding(published, None, "Nothing was measured.")
    return Finding(published, verdict(told), f"The least: {list_text(words)}.")


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


@dataclass(frozen=True)
class Spread:
    """How the MB/s of a contender's single exchanges spread: `counts[i]` of them from i to i + 1 times `class_mb_s`."""

    contender: str
    is_alternating: bool
    class_mb_s: float
    counts: tuple[int, ...]
    quantiles: dict[str, float]


def spreads_of(records: Sequence[Record]) -> list[Spread]:
    quantiles = {"least": "least_mb_s", "1 % below": "percentile_1_mb_s", "median": "median_mb_s", "most": "most_mb_s"}
    return [
        Spread(
            line["contender"],
            line["alternating"],
            line["class_mb_s"],
            tuple(line["counts"]),
            {name: line[member] for name, member in quantiles.items()},
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


#: Exchanges below which a quantile of one in a hundred says nothing.
_MIN_EXCHANGES = 1000
#: Medians that differ by at most this part are about equal.
_ABOUT = 0.1


def steadiness_finding(spreads: Sequence[Spread]) -> Finding:
    """Whether computing between exchanges widens their spread and leaves their median, for each of ours."""
    published = "With computing between, exchanges spread more, and the mean is about equal (Table 2)."
    cases: list[bool | None] = []
    words = []
    for contender in dict.fromkeys(spread.contender for spread in spreads if spread.contender != "mpi"):
        both = {spread.is_alternating: spread for spread in spreads if spread.contender == contender}
        if len(both) < 2 or min(sum(spread.counts) for spread in both.values()) < _MIN_EXCHANGES:
            cases.append(None)
            continue
        medians = [both[key].quantiles["median"] for key in (False, True)]
        tails = [1 - both[key].quantiles["1 % below"] / both[key].quantiles["median"] for key in (False, True)]
        cases += [tails[1] > tails[0], abs(medians[1] / medians[0] - 1) <= _ABOUT]
        words.append(
            f"{NAMES[contender]}: median {medians[0]:.1f} MB/s alone and {medians[1]:.1f} with computing, one in a "
            f"hundred {percent_text(tails[0])} and {percent_text(tails[1])} below it"
        )
    because = "; ".join(words) or f"fewer than {_MIN_EXCHANGES:,} exchanges of each were measured"
    return Finding(published, verdict(cases), f"{because}.")


def functions() -> Table:
    """The six functions of the report's library, and Hakobi's."""
    table = Table("Functions of the buffer arrays", ["<what it does", "<Hakobi, C++", "<Hakobi, C"])
    table.add("opens a buffer array", "BufferArrays::get, make", "hakobi_buffer_arrays_get, hakobi_buffer_array_make")
    table.add("appends a piece of memory", "append", "hakobi_buffer_array_append")
    table.add("sends all pieces as one message", "send", "hakobi_buffer_array_send")
    table.add("receives into all pieces", "receive", "hakobi_buffer_array_receive")
    table.add("takes the pieces out again", "release", "hakobi_buffer_array_release")
    table.add("asks whether it is done", "done, wait", "hakobi_buffer_array_done, hakobi_buffer_array_wait")
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
    return f"Buffer arrays take {list_text(words)}."

"""`hakobi report pacs-cs`: the tables of PACS-CS's hyper-crossbar, on three shaped links of this machine."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hakobi import conditions, programs
from hakobi import records as record_files
from hakobi.errors import HakobiError
from hakobi.measuring.session import End, load_warnings
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.words import binary_text, count_text
from hakobi_lab.measuring import hypercrossbar
from hakobi_lab.reports import pacs_cs_shown as shown
from hakobi_lab.reports.judging import MIN_SAMPLES
from hakobi_lab.reports.page import IN_IT, Content, Drawing
from hakobi_lab.reports.running import Order

#: Mbit/s of a link: what two cores carry in six directions at once.
RATE_MBIT = 100
_KIB, _MIB = 1 << 10, 1 << 20
_HISTOGRAM_BYTES = 64 * _KIB
#: The time of MPI, halo and buffer arrays for a message on average, for the number of exchanges that fit.
_HISTOGRAM_S = 5.6e-3
#: The table's share of the time that is left: its weight, and that of all parts from it on.
_TABLE_SHARE = (55, 95)
#: Messages of a link, one after the other, in a case of the table: samples, warm-up, ways that take turns.
_EXCHANGES_A_CASE = 12
_NUM_EXCHANGES = 10_000
_LATE_US = 300


@dataclass(frozen=True)
class _Sizes:
    """The sizes that a budget allows."""

    table_bytes: int
    samples: int
    seconds: float
    sizes: tuple[int, ...]

    @staticmethod
    def of(order: Order) -> _Sizes:
        if order.smallest:
            return _Sizes(64 * _KIB, 1, 0.02, (64 * _KIB, 256 * _KIB))
        sizes = (64 * _KIB, 256 * _KIB, _MIB, 4 * _MIB)
        payload_bytes_s = 1e6 * hypercrossbar.payload_mb_s(RATE_MBIT)
        table_s = _TABLE_SHARE[0] / _TABLE_SHARE[1] * order.budget.left_s()
        fitting = table_s * payload_bytes_s / (9 * len(shown.CONTENDERS) * _EXCHANGES_A_CASE)
        table_bytes = max([4 * _MIB, *(size for size in (8 * _MIB, 16 * _MIB) if size <= fitting)])
        return _Sizes(table_bytes, MIN_SAMPLES, 0.2 if order.budget.left_s() < 450 else 0.5, sizes)


@dataclass
class _Runs:
    """Runs the benchmark part by part; a part that an earlier run has finished is taken from its records."""

    program: Program
    order: Order
    content: Content
    earlier: list[Record] = field(default_factory=list)

    def part(
        self,
        name: str,
        rate_mbit: int | None,
        arguments: Sequence[str],
        weight: float,
        of: float,
        least_s: float = 10.0,
    ) -> list[Record]:
        """A part's records. Where it fails or takes too long, those that it had, and a warning that says so; where less
        than `least_s` is left it does not begin."""
        own = {"report": "pacs-cs", "part": name, "arguments": " ".join(arguments)}
        known = [line for line in self.earlier if own.items() <= line.items()]
        if any(line["kind"] == "part" for line in known):
            sys.stderr.write(f"hakobi report pacs-cs: {name}: taken up from {self.order.json}\n")
            return known
        budget = self.order.budget
        if not self.content.has_room(place := name.partition(",")[0], budget, least_s):
            return []
        timeout_s = budget.limit_s(max(least_s, budget.share_s(weight, of)))
        sys.stderr.write(f"hakobi report pacs-cs: {name}: at most {timeout_s:.0f} s\n")
        with tempfile.TemporaryDirectory(prefix="hakobi-pacs-cs-") as made:
            file = Path(made) / "records"
            is_whole = False
            try:
                done = hypercrossbar.run(
                    self.program,
                    rate_mbit,
                    arguments,
                    records=file,
                    dimensions=3 if rate_mbit else 1,
                    timeout_s=timeout_s,
                )
                is_whole = done.status == 0
                if not is_whole:
                    self.fail(name, done.reason() if done.status != 1 else "bytes that arrived were not those sent")
            except HakobiError as error:
                self.fail(name, str(error))
            except KeyboardInterrupt:
                self.content.item(place).absent = IN_IT
                self.content.take_end(End(1, is_interrupted=True), name)
            found = [line | own for line in record_files.read(file)] if file.is_file() else []
        if self.order.json is not None:
            for line in [*found, *([{"kind": "part"} | own] if is_whole else [])]:
                record_files.append(self.order.json, line)
        return found

    def fail(self, name: str, why: str) -> None:
        self.content.warnings.append(f"{name}: {why}")
        self.content.exit_status = max(self.content.exit_status, 2)


def measure(order: Order) -> Content:
    """Raises HakobiError for what is wrong before the first run."""
    program = programs.find(hypercrossbar.PROGRAM)
    content = Content(conditions.collect(program.flavour), warnings=load_warnings())
    earlier = record_files.read(order.json) if order.json is not None and order.json.is_file() else []
    runs = _Runs(program, order, content, earlier)
    content.item("Table 3").shown.append(shown.functions())
    packing = _add_packing(content, runs)
    places = ("Table 1", "Sizes", "Table 2")
    table, spreads = shown.Rates(), []
    try:
        hypercrossbar.check(program, RATE_MBIT)
    except HakobiError as error:
        for place in places:
            content.item(place).absent = f"{error}."
    else:
        sizes = _Sizes.of(order)
        found = _add_table(content, runs, sizes)
        table = shown.Rates.of(found)
        _add_sizes(content, runs, sizes, found)
        spreads = _add_histogram(content, runs)
        rate = (
            f"Links of {RATE_MBIT} Mbit/s between network namespaces ({hypercrossbar.payload_mb_s(RATE_MBIT):.1f} MB/s"
        )
        for place in places:
            content.item(place).stand_in = f"{rate} of payload each way, TCP) stand in for PACS-CS's 250 MB/s each way."
    content.judge("pacs-cs", shown.evidence(table, spreads, packing))
    return content


def _arguments(samples: int, seconds: float, sizes: Sequence[int], contenders: Sequence[str]) -> list[str]:
    words = ["--samples", str(samples), "--seconds", f"{seconds:g}", "--sizes", ",".join(map(str, sizes))]
    return [*words, "--contenders", ",".join(contenders)]


def _add_table(content: Content, runs: _Runs, sizes: _Sizes) -> list[Record]:
    """The table; its records, which Sizes shows, too."""
    arguments = _arguments(sizes.samples, sizes.seconds, [sizes.table_bytes], shown.CONTENDERS)
    cases = 9 * len(shown.CONTENDERS)
    found = runs.part("Table 1", RATE_MBIT, arguments, *_TABLE_SHARE, least_s=5 + cases * sizes.samples * sizes.seconds)
    item = content.item("Table 1")
    rates = shown.Rates.of(found)
    if not rates.percent:
        content.starve(item.place, "no case was finished")
        return found
    item.shown.append(shown.dimensions_table(rates, sizes.table_bytes))
    item.notes += [
        "One at a time: the next message of a link starts when the one before has come.",
        f"Medians of {count_text(sizes.samples, 'sample')}; every word that arrived was compared.",
    ]
    return found


def _add_sizes(content: Content, runs: _Runs, sizes: _Sizes, table: Sequence[Record]) -> None:
    arguments = _arguments(sizes.samples, sizes.seconds, sizes.sizes, shown.CONTENDERS)
    found = runs.part("Sizes", RATE_MBIT, [*arguments, "--ways", "both", "--dimensions", "3"], 15, of=40, least_s=10.0)
    item = content.item("Sizes")
    lines = shown.Rates.of([*_largest_of(table), *found])
    if not lines.percent:
        content.starve(item.place, "no case was finished")
        return
    item.shown += [
        Drawing(
            shown.sizes_figure(lines),
            "Both ways in three dimensions at once, over the size of a message: per cent of the links. Medians.",
            "Line chart of the share of the links over the size of a message; the table below has its values.",
            "sizes",
            shown.sizes_data(lines),
        ),
        shown.sizes_table(lines),
    ]
    item.notes.append(
        "MPI asks the receiver before it sends a long message. Over TCP the answer waits behind the bytes that go its "
        "way, so two nodes that exchange one message at a time take turns. Halo and buffer arrays send parts of "
        "32 KiB, for which nobody asks."
    )


def _largest_of(found: Sequence[Record]) -> list[Record]:
    """The records for Table 1 from the figure's case: its largest size."""
    return [line for line in found if line.get("way") == "both" and line.get("dimensions") == 3]


def _add_histogram(content: Content, runs: _Runs) -> list[shown.Spread]:
    item = content.item("Table 2")
    fit = int(runs.order.budget.left_s() / (_HISTOGRAM_S * 6 * 1.1))
    num = 40 if runs.order.smallest else max(100, min(_NUM_EXCHANGES, fit))
    arguments = ["--histogram", str(num), "--sizes", str(_HISTOGRAM_BYTES), "--contenders", "mpi,halo,buffer-arrays"]
    found = runs.part("Table 2", RATE_MBIT, [*arguments, "--ways", "both", "--dimensions", "3"], 1, of=1)
    spreads = shown.spreads_of(found)
    if not spreads:
        content.starve(item.place, "no case was finished")
        return spreads
    item.here = f"{num:,} exchanges" if num != _NUM_EXCHANGES else ""
    what = f"{num:,} exchanges of {binary_text(_HISTOGRAM_BYTES)} both ways in three dimensions"
    item.shown += [
        Drawing(
            shown.histogram_figure(spreads),
            f"How many of {what} fell into each class of MB/s: alone, and alternating with computing.",
            "Histograms of the MB/s of single exchanges, a line a contender; the table below has their quantiles.",
            "histogram",
            shown.histogram_data(spreads),
        ),
        shown.spread_table(spreads, what),
        shown.classes_table(spreads, what),
    ]
    item.notes.append(
        "Above the links' rate: after a pause each link lets 64 KiB through at once, as a switch's buffer does. "
        "The ranks meet before each exchange."
    )
    return spreads


def _add_packing(content: Content, runs: _Runs) -> shown.Rates:
    """Within a node, where a copy costs more than a wire: MPI's ways, halo and buffer arrays on one face."""
    is_smallest = runs.order.smallest
    size, row = (64 * _KIB, _KIB) if is_smallest else (_MIB, _KIB)
    contenders = ["mpi-rows", "mpi", "mpi-packed", "halo", "buffer-arrays"]
    arguments = _arguments(1 if is_smallest else 7, 0.02 if is_smallest else 0.1, [size], contenders)
    arguments += ["--row-bytes", str(row), "--ways", "both"]
    together = shown.Rates.of(runs.part("Question 1", None, arguments, 3, of=100))
    late = shown.Rates.of(runs.part("Question 1, late", None, [*arguments, "--late-us", str(_LATE_US)], 3, of=97))
    item = content.item("Question 1")
    if not together.mb_s:
        content.starve(item.place, "no case was finished")
        return together
    item.shown.append(shown.packing_table(together, late, size, row, _LATE_US))
    item.notes.append(shown.packing_words(together))
    return together

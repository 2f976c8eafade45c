"""Compares two files of records: names differences outside the spread only.

1. Records meet by what they measure (benchmark, pattern, bytes, contender, transport, ranks, application, method, …),
   never by their order. What only one file has is listed, not judged.
2. Two sets of samples differ when all three hold: their quartile ranges are apart (more than each scatters within
   itself), the ratio's interval leaves out 1 at a confidence that is shared by all comparisons made (Bonferroni: a
   file with twenty rows is not twenty chances to err), and the medians are at least `least` apart (two runs of the
   same thing differ by placement in memory and by the machine's mood, which no single run's spread shows).
3. Fewer than MINIMUM samples on a side decide nothing, and no median of 0 has a ratio to another.
4. Records of another machine are compared and said to be so: the difference may be the machine's.
5. A record that measures something and cannot be read, a negative sample, or the same measurement in two units is a
   FormatError.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hakobi import records as records_file
from hakobi import statistics
from hakobi.errors import FormatError
from hakobi.records import Record
from hakobi.words import count_text

#: Samples on each side below which nothing is named.
MINIMUM = 5
#: Chance of naming any difference between two runs of the same thing, over a whole file.
ERROR_RATE = 0.02
#: Relative difference of medians that is named at least.
LEAST = 0.10

#: Members that identify a measurement, in the order in which it is printed.
KEYS = (
    "benchmark",
    "app",
    "pattern",
    "operation",
    "method",
    "storage",
    "bytes",
    "ranks",
    "contender",
    "transport",
    "placement",
    "piece_bytes",
    "cb_bytes",
    "sync",
    "is_synced",
    "arguments",
)
#: Keys whose value needs its name to be understood; of the others the value is enough.
NAMED_KEYS = ("piece_bytes", "cb_bytes", "sync", "is_synced", "arguments")

#: Members that must be equal for two files to be of one machine.
MACHINE = ("host", "machine", "processor", "cpu", "num_cores", "cores")
#: Other members that explain a difference.
CIRCUMSTANCES = ("mpi_library", "mpi", "kernel", "commit", "window_bytes", "consume", "oversubscribed")

Key = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Difference:
    """One measurement that both files have. `ratio` is b's median over a's."""

    key: Key
    a: statistics.Summary
    b: statistics.Summary
    ratio: float
    differs: bool
    unit: str

    def label(self) -> str:
        return label_of(self.key)


@dataclass
class Outcome:
    """All pairs, what stood alone, and what is known about the circumstances."""

    pairs: list[Difference] = field(default_factory=list)
    only_a: list[Key] = field(default_factory=list)
    only_b: list[Key] = field(default_factory=list)
    too_few: list[Key] = field(default_factory=list)
    without_ratio: list[Key] = field(default_factory=list)  #: a median is 0
    other_machine: list[str] = field(default_factory=list)  #: "processor: X | Y"
    circumstances: list[str] = field(default_factory=list)

    def unjudged(self) -> list[str]:
        """The records that both files have and that were not judged, with the reason."""
        reasons = (
            (self.too_few, f"had fewer than {MINIMUM} samples on a side"),
            (self.without_ratio, "had a median of 0 on a side"),
        )
        return [f"{count_text(len(keys), 'measurement')} {reason}: not judged" for keys, reason in reasons if keys]

    def differences(self) -> list[Difference]:
        return [pair for pair in self.pairs if pair.differs]


def label_of(key: Key) -> str:
    """The measurement in words, for people."""
    texts = {name: str(value) for name, value in key if value != ""}
    if "bytes" in texts:
        texts["bytes"] += " B"
    return ", ".join(f"{name} {text}" if name in NAMED_KEYS else text for name, text in texts.items())


def samples_of(records: Sequence[Record], where: str = "") -> tuple[dict[Key, list[float]], dict[Key, str]]:
    """The samples of each measurement, and their unit: of `samples` lists, and of records that are one run each with
    a `time_s`. Raises FormatError (rule 5), which names `where` the records are from."""
    samples: dict[Key, list[float]] = defaultdict(list)
    units: dict[Key, str] = {}
    for number, record in enumerate(records, start=1):
        place = f"{where or 'records'}, record {number}"
        if isinstance(record.get("samples"), list):
            values = [records_file.number({"samples": value}, "samples", place) for value in record["samples"]]
        elif "time_s" in record and record.get("kind", "run") in ("run", "sample"):
            values = [records_file.number(record, "time_s", place)]
        else:
            continue
        if any(value < 0 for value in values):
            raise FormatError(f"{place}: {min(values):g} is no measured value: it is negative")
        key = tuple((name, _key_value(record[name], name, place)) for name in KEYS if name in record)
        unit = record.get("unit", "s")
        if not isinstance(unit, str):
            raise FormatError(f"{place}: 'unit' is {unit!r}, not text")
        if units.setdefault(key, unit) != unit:
            raise FormatError(f"{place}: {label_of(key)} is in {unit}, before in {units[key]}")
        samples[key] += values
    return dict(samples), units


def _key_value(value: Any, name: str, place: str) -> Any:
    """A record's value as it stands in a key: lists of arguments as JSON text."""
    if name == "arguments":
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | dict):
        raise FormatError(f"{place}: '{name}' is {value!r}, neither text nor a number")
    return value


def compare(a: Sequence[Record], b: Sequence[Record], least: float = LEAST, error_rate: float = ERROR_RATE) -> Outcome:
    """`a` and `b` are the records of two files. Raises FormatError (rule 5)."""
    samples_a, units = samples_of(a, "first file")
    samples_b, units_b = samples_of(b, "second file")
    outcome = Outcome()
    outcome.only_a = [key for key in samples_a if key not in samples_b]
    outcome.only_b = [key for key in samples_b if key not in samples_a]
    common = [key for key in samples_a if key in samples_b]
    for key in common:
        if units[key] != units_b[key]:
            raise FormatError(f"{label_of(key)}: the first file is in {units[key]}, the second in {units_b[key]}")
    confidence = confidence_of_each(error_rate / max(1, len(common)))
    for key in common:
        if min(len(samples_a[key]), len(samples_b[key])) < MINIMUM:
            outcome.too_few.append(key)
            continue
        if min(statistics.summarise(samples[key]).median for samples in (samples_a, samples_b)) <= 0:
            outcome.without_ratio.append(key)
            continue
        outcome.pairs.append(_pair(key, samples_a[key], samples_b[key], units[key], least, confidence))
    outcome.other_machine = _unequal(a, b, MACHINE)
    outcome.circumstances = _unequal(a, b, CIRCUMSTANCES)
    return outcome


def confidence_of_each(error_rate: float) -> float:
    """The confidence of two intervals that are apart by chance, of equal medians, in a share `error_rate` of cases:
    apart means that the medians differ by both half widths, while their difference scatters only by root two of one.

    >>> round(confidence_of_each(0.05), 3), round(confidence_of_each(0.0005), 3)
    (0.834, 0.986)
    """
    from scipy import special

    z = -float(special.ndtri(error_rate / 2))
    return 1 - 2 * float(special.ndtr(-z / math.sqrt(2)))


def _are_apart(a: statistics.Interval, b: statistics.Interval) -> bool:
    return a.high < b.low or b.high < a.low


def _pair(key: Key, a: list[float], b: list[float], unit: str, least: float, confidence: float) -> Difference:
    first, second = statistics.summarise(a), statistics.summarise(b)
    apart = first.quartile_high < second.quartile_low or second.quartile_high < first.quartile_low
    ratio = second.median / first.median
    differs = (
        apart
        and not 1 / (1 + least) < ratio < 1 + least
        and _are_apart(statistics.interval_of_median(a, confidence), statistics.interval_of_median(b, confidence))
    )
    return Difference(key, first, second, ratio, differs, unit)


def _unequal(a: Sequence[Record], b: Sequence[Record], names: Sequence[str]) -> list[str]:
    def conditions(records: Sequence[Record]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for record in records:
            inner = record.get("conditions")  # a record of its own, or part of each
            if isinstance(inner, dict):
                found |= inner
            elif record.get("kind") == "conditions":
                found |= record
        return found

    first, second = conditions(a), conditions(b)
    return [
        f"{name}: {first[name]} | {second[name]}"
        for name in names
        if name in first and name in second and first[name] != second[name]
    ]

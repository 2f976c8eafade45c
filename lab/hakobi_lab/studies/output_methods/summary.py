"""Records -> medians with spread, output times, shares, and what may be said about them; pure.

Only complete pairs count: a method's run and the baseline's run of the same round, rank count and storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hakobi import statistics
from hakobi.records import Record
from hakobi.statistics import Summary
from hakobi.words import percent_text
from hakobi_lab.studies.output_methods.plan import BASELINE, Case


@dataclass(frozen=True)
class Figures:
    """One method at one rank count on one storage. `share`: output time as a part of the run's; `added`: as a part of
    the same run's without output. `is_zero`: it cannot be told from none."""

    case: Case
    time: Summary
    output_time: Summary
    share: Summary
    added: Summary
    is_zero: bool

    def share_text(self) -> str:
        """ "12 %"; in brackets where the output time cannot be told from zero, of its median, whose sign it has."""
        if self.is_zero:
            return f"({percent_text(self.output_time.median / self.time.median)})"
        return percent_text(self.share.median)


@dataclass(frozen=True)
class Row:
    """One rank count on one storage. `fastest`: one name, or the group that the fastest cannot be told from."""

    ranks: int
    storage: str
    baseline: Summary
    figures: dict[str, Figures]
    fastest: list[str]

    @property
    def has_winner(self) -> bool:
        """Whether one method is faster than every other, outside the spread."""
        return len(self.fastest) == 1 and len(self.figures) > 1


@dataclass(frozen=True)
class StudySummary:
    """All rows, by storage in the order of the study and then by rank count; `methods` in the order of the study."""

    app: str
    methods: tuple[str, ...]
    rows: list[Row]
    num_runs: int
    rounds: int
    output_bytes: int
    cached_share: dict[str, float]  #: storage -> median share of the files in the page cache at the end of a run
    sync: bool

    def storages(self) -> list[str]:
        return list(dict.fromkeys(row.storage for row in self.rows))

    def of_storage(self, storage: str) -> list[Row]:
        return [row for row in self.rows if row.storage == storage]


def summarise(results: Sequence[Record], methods: Sequence[str]) -> StudySummary | None:
    """The summary of the finished runs, or None when no method has one complete pair yet."""
    times: dict[Case, dict[int, float]] = {}
    for record in results:
        case = Case(record["method"], record["ranks"], record["storage"])
        times.setdefault(case, {})[record["repetition"]] = record["time_s"]
    storages = list(dict.fromkeys(record["storage"] for record in results))
    rows = []
    for storage in sorted(storages):
        for ranks in sorted({case.ranks for case in times}):
            row = _row(ranks, storage, times, methods)
            if row is not None:
                rows.append(row)
    if not rows:
        return None
    return StudySummary(
        app=results[0]["app"],
        methods=tuple(method for method in methods if any(method in row.figures for row in rows)),
        rows=rows,
        num_runs=len(results),
        rounds=max(row.baseline.count for row in rows),
        output_bytes=max(record["output_bytes"] for record in results),
        cached_share=_cached_share(results),
        sync=bool(results[0]["sync"]),
    )


def _row(ranks: int, storage: str, times: dict[Case, dict[int, float]], methods: Sequence[str]) -> Row | None:
    baseline = times.get(Case(BASELINE, ranks, storage), {})
    figures = {}
    for method in methods:
        case = Case(method, ranks, storage)
        rounds = sorted(times.get(case, {}).keys() & baseline.keys())
        if rounds:
            figures[method] = _figures(case, [times[case][i] for i in rounds], [baseline[i] for i in rounds])
    if not figures:
        return None
    # Methods are compared over the rounds that all of them have.
    complete = set(baseline)
    for method in figures:
        complete &= times[Case(method, ranks, storage)].keys()
    samples = {
        method: [times[Case(method, ranks, storage)][i] for i in sorted(complete)] for method in figures if complete
    }
    return Row(
        ranks=ranks,
        storage=storage,
        baseline=statistics.summarise(list(baseline.values())),
        figures=figures,
        fastest=statistics.fastest(samples),
    )


def _figures(case: Case, times: list[float], baseline: list[float]) -> Figures:
    outputs = [time - none for time, none in zip(times, baseline, strict=True)]
    confidence = statistics.COMPARISON_CONFIDENCE  # the verdict's: an interval that excludes zero is told from zero
    shares = [output / time for output, time in zip(outputs, times, strict=True)]
    added = [output / none for output, none in zip(outputs, baseline, strict=True)]
    return Figures(
        case=case,
        time=statistics.summarise(times),
        output_time=statistics.summarise(outputs, confidence),
        share=statistics.summarise(shares, confidence),
        added=statistics.summarise(added, confidence),
        is_zero=not statistics.compare_interleaved(times, baseline).differs,
    )


def _cached_share(results: Sequence[Record]) -> dict[str, float]:
    shares: dict[str, list[float]] = {}
    for record in results:
        if record["output_bytes"] > 0 and record["cached_bytes"] is not None:
            shares.setdefault(record["storage"], []).append(record["cached_bytes"] / record["output_bytes"])
    return {storage: statistics.summarise(sample).median for storage, sample in shares.items()}

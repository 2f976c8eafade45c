"""The study's table and the sentences below it; pure."""

from __future__ import annotations

from collections.abc import Mapping

from hakobi import conditions
from hakobi.conditions import Conditions
from hakobi.measuring.session import End, Gap
from hakobi.table import Table
from hakobi.words import bytes_text, count_text, list_text, percent_text
from hakobi_lab.studies.output_methods.plan import Case
from hakobi_lab.studies.output_methods.summary import Figures, Row, StudySummary

_NO_RDMA = (
    "A testbed has no RDMA: for SMB Direct or NFS over RDMA mount a real server (-o rdma) on real nodes and name that "
    "folder by --storage NAME=DIR (docs/storage.md)."
)


def make_table(summary: StudySummary, facts: Conditions, end: End | None = None) -> Table:
    """Three lines a storage and rank count: time, output time, share; a column a method. `end` has the gaps."""
    gaps = end.gaps if end else {}
    storages = summary.storages()
    is_named = len(storages) > 1
    size = bytes_text(summary.output_bytes)
    table = Table(
        f"{summary.app}: time of a run and its output, medians of {count_text(summary.rounds, 'round')}, {size} a run",
        [*(["<storage"] if is_named else []), "ranks", "<seconds", "none", *summary.methods],
        num_frozen=3 if is_named else 2,
    )
    for storage in storages:
        for row in summary.of_storage(storage):
            _add_row(table, summary, row, [storage] if is_named else [], gaps)
    table.notes += ["", *notes(summary, facts), *(end.gap_notes() if end else [])]
    return table


def _add_row(table: Table, summary: StudySummary, row: Row, name: list[str], gaps: Mapping[str, Gap]) -> None:
    first = len(table.rows)
    if first:
        table.rules.add(first)
    blank = ["" for _ in name]
    lines = [
        [*name, str(row.ranks), "time", row.baseline.seconds()],
        [*blank, "", "output", ""],
        [*blank, "", "share", ""],
    ]
    for method in summary.methods:
        figures = row.figures.get(method)
        if row.has_winner and method == row.fastest[0]:
            table.best.add((first, len(lines[0])))
        missing = "gap" if Case(method, row.ranks, row.storage).words() in gaps else ""
        lines[0].append(figures.time.seconds() if figures else missing)
        output = figures.output_time.seconds() if figures else ""
        lines[1].append(f"({output})" if figures and figures.is_zero else output)
        lines[2].append(figures.share_text() if figures else "")
    for line in lines:
        table.add(*line)


def notes(summary: StudySummary, facts: Conditions) -> list[str]:
    """The table's meaning and its limits, a sentence or two a line."""
    result = [
        "output: time of the run less that of the same run with method none, in the same round; share: its part.",
        "±: half the distance between the quartiles. (…): cannot be told from zero.",
    ]
    result += [verdict(row, is_named=len(summary.storages()) > 1) for row in summary.rows]
    return result + cache_notes(summary, facts)


def verdict(row: Row, *, is_named: bool) -> str:
    """Who is fastest, if anybody is."""
    where = f"{count_text(row.ranks, 'rank')}{f' @{row.storage}' if is_named else ''}"
    if row.baseline.count < 2:
        return f"{where}: one round says nothing about the spread, so no method is called the fastest"
    if len(row.figures) == 1:
        return f"{where}: one method, nothing to compare"
    if row.has_winner:
        others = sorted(row.figures.values(), key=lambda figures: figures.time.median)
        ratio = others[1].time.median / others[0].time.median
        behind = f"{others[1].case.method} takes {ratio:.2f} times as long"
        return f"{where}: {row.fastest[0]} is fastest, outside the spread ({behind})"
    return f"{where}: no difference outside the spread between {list_text(row.fastest)}"


def finding(row: Row, storage: str = "") -> str:
    """One sentence for who reads no table: what output takes of the run, by the cheapest method and by the dearest.
    `storage` describes it; its name else."""
    where = f"On {storage or f'storage {row.storage}'}, {count_text(row.ranks, 'rank')}"
    order = sorted(row.figures.values(), key=lambda figures: figures.time.median)
    first, last = order[0], order[-1]
    text = (
        f"{where}: output takes {_part(first)} of the run by {first.case.method}, {_part(last)} by {last.case.method}"
    )
    if len(order) == 1:
        return f"{where}: output takes {_part(first)} of the run by {first.case.method}"
    if row.baseline.count < 2:
        return f"{text} (one round: nothing is known of the spread)"
    if row.has_winner:
        return f"{text}; {first.case.method} is fastest, outside the spread"
    if len(row.fastest) == len(order):
        parts = list(dict.fromkeys([_part(first), _part(last)]))
        return f"{where}: no difference outside the spread; output takes {' to '.join(parts)} of the run"
    return f"{text}; {list_text(row.fastest)} cannot be told apart, the others take longer, outside the spread"


def conclusion(row: Row) -> str:
    """One line for who reads no table: what output by each method does to the run, the dearest first, with the interval
    of the median; and whether the methods differ outside the spread."""
    order = sorted(row.figures.values(), key=lambda figures: -figures.time.median)
    text = "; ".join(f"{figures.case.method} {_effect(figures)}" for figures in order)
    if row.baseline.count < 2:
        return f"{text}. One round: nothing is known of the spread."
    if len(row.fastest) == len(order):
        return f"{text}. No difference between them lies outside the spread."
    return f"{text}. {list_text(row.fastest)} {'is' if row.has_winner else 'are'} fastest, outside the spread."


def _effect(figures: Figures) -> str:
    """The effect of output on the run. Where it cannot be told from zero: the most that it may be; a median, or an
    interval that begins below zero, would say that output makes runs shorter."""
    added, between = figures.added, figures.added.interval
    if added.count > 1 and (figures.is_zero or between.low <= 0):
        most_s = max(0.0, figures.output_time.interval.high)
        return f"adds at most {most_s:.2f} s, which cannot be told from zero"
    if added.median >= 0.5:
        range_text = f" ({1 + between.low:.2f} to {1 + between.high:.2f})" if added.count > 1 else ""
        return f"makes the run {1 + added.median:.2f} times as long{range_text}"
    low = percent_text(between.low).removesuffix(" %")
    range_text = f" ({low} to {percent_text(between.high)})" if added.count > 1 else ""
    return f"adds {percent_text(added.median)}{range_text}"


def _part(figures: Figures) -> str:
    return "nothing that can be told from zero" if figures.is_zero else percent_text(figures.share.median)


def cache_notes(summary: StudySummary, facts: Conditions) -> list[str]:
    """Whether the figures are the storage's or the page cache's, and whether sync is in them."""
    result = []
    size, available = summary.output_bytes, facts["memory_available_bytes"]
    for storage in summary.storages():
        name = f"storage {storage}"
        described = facts.get("storage", {}).get(storage, {})
        share = summary.cached_share.get(storage, 0.0)
        if model := described.get("model"):
            result.append(f"{name}: {model}; every method's file calls pass it.")
            continue
        if testbed := described.get("testbed"):
            result.append(f"{name}: {testbed}; nodes are user-mode Linux, the server's files lie in its memory.")
            continue
        if conditions.in_memory(described):
            result.append(f"{name} lies in memory ({described['type']}): these are not the figures of a disk.")
            continue
        fitted = "fits" if size < available else "does not fit"
        text = (
            f"{name} ({described.get('type', 'unknown type')}): a run's {bytes_text(size)} {fitted} in the page cache "
        )
        text += f"({bytes_text(available)} available); {percent_text(share)} of it was there when the run ended."
        result.append(text)
    if any("testbed" in described for described in facts.get("storage", {}).values()):
        result.append(_NO_RDMA)
    if summary.sync:
        result.append("sync counted: every step's file was brought to storage before the next.")
    else:
        result.append("sync not counted: a run ends when its data is handed over, not when storage has it (--sync).")
    return result

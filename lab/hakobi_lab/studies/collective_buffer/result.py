"""The result of a sweep: a figure a point, and sentences in which a winner is named outside the spread only. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from hakobi.measuring import collective
from hakobi.measuring.collective import FLOOR, OPERATIONS, Figure
from hakobi.records import Record
from hakobi.statistics import Comparison
from hakobi.words import binary_text, count_text, list_text
from hakobi_lab.studies.collective_buffer.session import COMPONENTS, Case, Outcome

#: The variants of Tsujita's report, by the engine's name of the file access; and the MPI library's own.
VARIANTS = {"posix": "original", "uring": "asynchronous", "threads": "threads", "romio": "ROMIO", "ompio": "OMPIO"}


class Point(NamedTuple):
    cb_bytes: int
    figure: Figure


def contender(access: str) -> str:
    """As the benchmark's records call it."""
    return access if access == FLOOR else COMPONENTS.get(access, f"hakobi {access}")


def variant(access: str) -> str:
    """
    >>> variant("posix"), variant("floor"), variant("romio")
    ('original (posix)', 'floor', 'ROMIO')
    """
    name = VARIANTS.get(access, access)
    return name if name.lower() == access else f"{name} ({access})"


def ranks_measured(outcome: Outcome) -> list[int]:
    """Rank counts of which something was finished, in the plan's order."""
    return [ranks for ranks in outcome.plan.ranks if any(case.ranks == ranks for case in outcome.samples)]


def operations_measured(outcome: Outcome) -> list[str]:
    seen = {sample.operation for samples in outcome.samples.values() for sample in samples}
    return [operation for operation in OPERATIONS if operation in seen]


def series(outcome: Outcome, operation: str, ranks: int, access: str) -> list[Point]:
    """The points of a line, by buffer size."""
    result = []
    for case in sorted(outcome.samples, key=lambda case: case.cb_bytes):
        if case.ranks != ranks:
            continue
        for figure in collective.figures_of(outcome.samples[case], outcome.limit_gb_s):
            if figure.operation == operation and figure.contender == contender(access):
                result.append(Point(case.cb_bytes, figure))
    return result


def gains(outcome: Outcome, operation: str, ranks: int, access: str) -> list[tuple[int, Comparison]]:
    """How many times faster than the original an access is, at each buffer size; taken between neighbours in time."""
    result = []
    for case in sorted(outcome.samples, key=lambda case: case.cb_bytes):
        present = {sample.contender for sample in outcome.samples[case] if sample.operation == operation}
        if case.ranks == ranks and {contender(access), contender("posix")} <= present:
            pair = (contender(access), contender("posix"))
            result.append((case.cb_bytes, collective.ratio(outcome.samples[case], operation, *pair)))
    return result


def findings(outcome: Outcome) -> list[str]:
    """Each direction and rank count: where each variant is at its best, and whether it differs from the original."""
    result = []
    for operation in operations_measured(outcome):
        for ranks in ranks_measured(outcome):
            tops = []
            for access in outcome.plan.accesses:
                if points := series(outcome, operation, ranks, access):
                    top = max(points, key=lambda point: point.figure.gb_s.median)
                    size = binary_text(top.cb_bytes)
                    tops.append(f"{variant(access)} {top.figure.gb_s.median:.2f} GB/s at {size}")
            if tops:
                head = f"{operation}, {count_text(ranks, 'rank')}: highest medians are {list_text(tops)}."
                others = [access for access in outcome.plan.accesses if access != "posix"]
                tails = [gain_words(access, gains(outcome, operation, ranks, access)) for access in others]
                result.append(" ".join([head, *filter(None, tails)]))
    return result


def gain_words(access: str, ratios: list[tuple[int, Comparison]]) -> str:
    """At how many sizes an access is faster than the original, slower, or neither; "" without sizes."""
    if not ratios:
        return ""
    if not any(math.isfinite(item.interval.high) for _, item in ratios):
        return f"{variant(access).capitalize()} and the original: too few samples to tell them apart."
    faster = [item.estimate for _, item in ratios if item.differs and item.estimate > 1]
    slower = [item.estimate for _, item in ratios if item.differs and item.estimate < 1]
    unknown = len(ratios) - len(faster) - len(slower)
    name = variant(access).capitalize()
    sizes = count_text(len(ratios), "size")
    if not faster and not slower:
        return f"{name} cannot be told from the original at any of {sizes}."
    parts = []
    for words, found in (("faster", faster), ("slower", slower)):
        if found:
            span = f"{min(found):.2f} times" if len(found) == 1 else f"{min(found):.2f} to {max(found):.2f} times"
            parts.append(f"{words} than the original at {len(found)} ({span} its throughput)")
    if unknown:
        parts.append(f"not to be told apart at {unknown}")
    return f"{name}: of {sizes}, {list_text(parts)}."


def filling_notes(outcome: Outcome) -> list[str]:
    """Where buffers were larger than what the engine filled of them."""
    less = [key for key, size in outcome.filled.items() if size < key[0].cb_bytes]
    result = []
    for ranks in sorted({case.ranks for case, _ in less}):
        smallest = min(case.cb_bytes for case, _ in less if case.ranks == ranks)
        most = max(outcome.filled[key] for key in less if key[0].ranks == ranks)
        result.append(
            f"{count_text(ranks, 'rank')}: buffers of {binary_text(smallest)} and more were filled to "
            f"{binary_text(most)} at most, since the engine keeps every buffer in flight busy: from there on the lines "
            "show the same thing"
        )
    return result


def missing(outcome: Outcome) -> list[Case]:
    """Cases of the plan of which nothing was finished."""
    plan = outcome.plan
    wanted = [Case(ranks, size) for ranks in plan.ranks for size in sorted(plan.cb_bytes)]
    return [case for case in wanted if case not in outcome.samples]


def summaries(outcome: Outcome) -> Iterator[Record]:
    """One record a point and direction, the floor's too."""
    plan = outcome.plan
    for case in sorted(outcome.samples, key=lambda case: (case.ranks, case.cb_bytes)):
        for figure in collective.figures_of(outcome.samples[case], outcome.limit_gb_s):
            access = figure.contender.removeprefix("hakobi ")
            yield {
                "kind": "summary",
                "benchmark": "collective-buffer",
                "pattern": plan.pattern,
                "bytes": figure.bytes,
                "ranks": case.ranks,
                "cb_bytes": case.cb_bytes,
                "access": access,
                "variant": VARIANTS.get(access, access),
                "contender": figure.contender,
                "operation": figure.operation,
                "median_gb_s": figure.gb_s.median,
                "quartile_low_gb_s": figure.gb_s.quartile_low,
                "quartile_high_gb_s": figure.gb_s.quartile_high,
                "num_samples": figure.gb_s.count,
                "fraction_of_floor": figure.of_floor.median,
                "fraction_of_limit": figure.of_limit,
                "cpu_s_per_gb": figure.cpu_s_per_gb,
                "filled_bytes": outcome.filled.get((case, access)),
                "storage_model": plan.model.value() if plan.model else None,
            }

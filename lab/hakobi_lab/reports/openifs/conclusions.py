"""Evidence for the report's sentences: ratios of runs of the same rounds. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hakobi.words import count_text
from hakobi_lab.reports.judging import Cases, Value, over_rounds, ratio
from hakobi_lab.reports.openifs.parts import Measured
from hakobi_lab.studies.field_store import identity, stripes
from hakobi_lab.studies.field_store.plan import Case, Model, Striping

#: Pages of this size are the report's recommendation; larger ones have a case of their own where a machine
#: has them.
_USUAL_PAGE = "2 MiB"


def evidence(measured: dict[str, Measured], cores: int) -> dict[str, Cases]:
    """All cases that the parts' plans have. `cores`: of this machine, where threads beside ranks need some."""
    strides, layouts = measured["strides"], measured["stripes"]
    return {
        "bits": identical(measured),
        "store speed": _store_speed(measured["resolutions"], strides),
        "larger pages": f"this machine has no pages but those of 4 KiB and {_USUAL_PAGE} to choose",
        "fewer help": _strides(strides),
        "fewer cost": _strides(strides),
        "directories": _directories(strides),
        "threads": _threads(measured["ranks and threads"], cores),
        "variation": _variation(layouts),
        "streams": _streams(layouts),
        "stripe size": _sizes(layouts),
        "pages": _pages(measured["forecast"]),
        "a writer a node": _one_writer(strides),
    }


def _over(part: Measured, one: Case, other: Case) -> Value | None:
    """Wall time of one case over another's, round by round."""
    outcomes = [part.outcomes.get(case) for case in (one, other)]
    series = [outcome.by_round("wall_s") if outcome else {} for outcome in outcomes]
    return over_rounds(ratio, *series)


def identical(measured: dict[str, Measured]) -> Cases:
    """How many different fields the runs of a forecast wrote: bits have no spread, so a count is its own interval."""
    lines = [one for part in measured.values() for outcome in part.outcomes.values() for one in outcome.summaries]
    cases: dict[str, Value | None] = {}
    for what, by_digest in identity.compared(lines).items():
        runs = [one for same in by_digest.values() for one in same]
        if {one["output"] for one in runs} >= {"files", "store"}:
            cases[what] = Value(len(by_digest), len(by_digest), len(by_digest), max(3, len(runs)))
    return cases or "no forecast was written both ways"


def _store_speed(*parts: Measured) -> Cases:
    return {
        f"{model.words()}, {storage}": _over(part, Case("store", model, storage), Case("files", model, storage))
        for part in parts
        if {"files", "store"} <= set(part.plan.kinds)
        for model in part.plan.models
        for storage in part.plan.storages
    } or "no plan has both files and the store"


def _stride(part: Measured, storage: str, stride: int) -> Value | None:
    model = part.plan.base
    return _over(part, Case("store", model, storage, stride), Case("store", model, storage, 1))


def _strides(part: Measured) -> Cases:
    return {
        f"stride {stride}, {storage}": _stride(part, storage, stride)
        for storage in part.plan.storages
        for stride in part.plan.strides[1:]
    } or "one rank has no stride"


def _one_writer(part: Measured) -> Cases:
    """All ranks are on this node."""
    stride = part.plan.strides[-1]
    if stride < part.plan.base.ranks or stride == 1:
        return "no stride leaves one writer"
    return {f"{count_text(stride, 'rank')} a writer": _stride(part, next(iter(part.plan.storages)), stride)}


def _directories(part: Measured) -> Cases:
    if len(part.plan.storages) < 2:
        return "there is one directory"
    first, second = list(part.plan.storages)[:2]
    model = part.plan.base
    found = {
        f"stride {stride}": _over(part, Case("store", model, second, stride), Case("store", model, first, stride))
        for stride in part.plan.strides
    }
    return {name: value.distance() if value else None for name, value in found.items()}


def _threads(part: Measured, cores: int) -> Cases:
    """Where there are cores for the threads."""
    cases = {}
    for model in part.plan.models:
        single = Model(model.resolution, model.ranks)
        if model.threads > 1 and model.ranks * model.threads <= cores and single in part.plan.models:
            cases[model.words()] = _over(part, Case("none", model), Case("none", single))
    return cases or f"{count_text(cores, 'core')} are too few"


def _layouts(part: Measured) -> Iterable[tuple[str, Striping, Case, Case]]:
    """On each storage every layout that a file there can have, with the one of the fewest stripes and the same stride.
    Layouts of more stripes than servers are one case."""
    for storage in part.plan.storages:
        first = {one.stride: part.plan.with_stripes(storage, one) for one in reversed(part.plan.stripings)}
        seen = set(first.values())
        for one in part.plan.stripings:
            case = part.plan.with_stripes(storage, one)
            if case not in seen:
                seen.add(case)
                yield storage, one, case, first[one.stride]


def _variation(part: Measured) -> Cases:
    """How far a layout moves the time, over the range of the repeated runs without it."""
    cases: dict[str, Value | None] = {}
    for storage, _, case, usual in _layouts(part):
        value = _over(part, case, usual)
        outcome = part.outcomes.get(usual)
        times = outcome.values("wall_s") if outcome and outcome.summaries else []
        if value is None or len(times) < 2:
            cases[_words(storage, case)] = None
            continue
        far = value.distance()
        spread = max(math.log(max(times) / min(times)), 1e-9)
        middle, low, high = (math.log(x) / spread for x in (far.estimate, far.low, far.high))
        cases[_words(storage, case)] = Value(middle, low, high, far.count)
    return cases or "one layout has no other"


def _words(storage: str, case: Case) -> str:
    settings = case.settings
    layout = f"{settings.striping_factor} x {settings.striping_unit_mib} MiB"
    return f"{layout}, stride {case.stride}, {storage}"


def _streams(part: Measured) -> Cases:
    """Where at least as many ranks write as the storage has servers: a stripe on each server against one."""
    cases = {}
    for storage, one, case, usual in _layouts(part):
        servers = part.plan.storage_models[storage].servers if storage in part.plan.storage_models else 0
        same_size = case.settings.striping_unit_mib == usual.settings.striping_unit_mib
        if same_size and case.settings.striping_factor == servers and part.plan.base.ranks // one.stride >= servers:
            cases[_words(storage, case)] = _over(part, case, usual)
    return cases or "no storage has as few servers as there are writers"


def _sizes(part: Measured) -> Cases:
    """Stripes of 4 MiB against those of 1 MiB, as many of them."""
    cases = {}
    for storage, one, case, _ in _layouts(part):
        if one.unit_mib == 4:
            small = part.plan.with_stripes(storage, Striping(one.factor, 1, one.stride))
            cases[_words(storage, case)] = _over(part, case, small)
    return cases or "no stripes of 4 MiB were planned"


def _pages(part: Measured) -> Cases:
    """Each way to pages of 2 MiB against the smallest, which is the first of the plan's further cases."""
    small, *huge = part.plan.further
    return {
        f"everywhere by {case.model.huge_heap}" if case.model.huge_heap else "for the buffers": _over(part, case, small)
        for case in huge
    } or f"this machine has no pages but those of {stripes.SMALL_PAGES}"

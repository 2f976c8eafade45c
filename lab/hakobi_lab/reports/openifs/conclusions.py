"""The report's findings, and our figures' verdicts on them. Pure.

Every verdict comes from a comparison of runs of the same rounds (hakobi.statistics).
"""

from __future__ import annotations

from hakobi import statistics
from hakobi.words import count_text, list_text, percent_text
from hakobi_lab.reports.openifs.parts import Measured
from hakobi_lab.reports.page import MIN_SAMPLES, Finding, verdict
from hakobi_lab.studies.field_store import identity, tables
from hakobi_lab.studies.field_store.plan import Case


def findings(measured: dict[str, Measured]) -> list[Finding]:
    """The report's findings, and ours from the figures. Pure."""
    return [
        identity_finding(measured),
        one_task_finding(measured["resolutions"], measured["strides"]),
        stripes_finding(measured["stripes"]),
        writers_finding(_strides_compared(measured["strides"])),
        pages_finding(_pages_compared(measured["forecast"])),
        directories_finding(measured["strides"]),
    ]


def _finding(published: str, agrees: bool | None, because: str) -> Finding:
    """With `because` as a sentence."""
    return Finding(published, agrees, f"{because[:1].upper()}{because[1:]}.")


def identity_finding(measured: dict[str, Measured]) -> Finding:
    published = "With the FDB the model's fields are those of its serial writer."
    lines = [one for part in measured.values() for outcome in part.outcomes.values() for one in outcome.summaries]
    compared = identity.compared(lines)
    told = {what: runs for what, runs in compared.items() if sum(len(same) for same in runs.values()) > 1}
    if not any(
        {one["output"] for same in runs.values() for one in same} >= {"files", "store"} for runs in told.values()
    ):
        return _finding(published, None, "no forecast was written both ways")
    differing = [what for what, runs in told.items() if len(runs) > 1]
    num_runs = sum(len(same) for runs in told.values() for same in runs.values())
    if differing:
        return _finding(published, False, f"fields differ: {list_text(differing)}")
    return _finding(published, True, f"the fields of {num_runs} runs, read back one by one, are the same bit for bit")


def one_task_finding(*measured: Measured) -> Finding:
    """Whether the store costs less than files through one task, wherever both ran in the same rounds."""
    published = "Output through one task limits what can be run; with the FDB every task writes."
    cheaper: list[str] = []
    dearer: list[str] = []
    same = 0
    for part in measured:
        for model in part.plan.models:
            for storage in part.plan.storages:
                files, store = (part.outcomes.get(Case(kind, model, storage)) for kind in ("files", "store"))
                a, b = tables.paired(files, store, "wall_s")
                if len(a) < MIN_SAMPLES:
                    continue
                found = statistics.compare_interleaved(a, b)
                where = f"{model.words()}, {storage} ({percent_text(found.estimate / statistics.summarise(a).median)})"
                if not found.differs:
                    same += 1
                else:
                    (cheaper if found.estimate > 0 else dearer).append(where)
    if not cheaper and not dearer:
        why = f"files and store are never apart outside the spread ({count_text(same, 'comparison')})"
        return _finding(
            published, None, why if same else f"fewer than {MIN_SAMPLES} rounds: nothing is known of the spread"
        )
    text = []
    if cheaper:
        text.append(f"the run is shorter with the store: {list_text(cheaper)}")
    if dearer:
        text.append(f"longer with the store: {list_text(dearer)}")
    if same:
        text.append(f"no difference outside the spread in {count_text(same, 'other case')}")
    agrees = None if cheaper and dearer else bool(cheaper)
    return _finding(published, agrees, "; ".join(text))


Compared = dict[str, tuple[list[float], list[float]]]


def _changes(compared: Compared) -> dict[str, float | None]:
    """By change, the part of its time by which a run becomes longer, where that is outside the spread; 0 where it is
    not; None where too few rounds had both."""
    found: dict[str, float | None] = {}
    for name, (changed, usual) in compared.items():
        if len(changed) < MIN_SAMPLES:
            found[name] = None
            continue
        comparison = statistics.compare_interleaved(changed, usual)
        found[name] = comparison.estimate / statistics.summarise(usual).median if comparison.differs else 0.0
    return found


def _changes_words(changes: dict[str, float | None], noun: str) -> str:
    told = {name: share for name, share in changes.items() if share is not None}
    if not told:
        return f"fewer than {MIN_SAMPLES} rounds: nothing is known of the spread"
    differing = [
        f"{name} ({percent_text(abs(share))} {'longer' if share > 0 else 'shorter'})"
        for name, share in told.items()
        if share
    ]
    lacking = f"; {len(changes) - len(told)} were not run often enough" if len(told) < len(changes) else ""
    if not differing:
        return f"none of {count_text(len(told), noun)} changes the run outside the spread{lacking}"
    count = f"{len(differing)} of {count_text(len(told), noun)} change the run outside the spread"
    return f"{count}: {list_text(differing)}{lacking}"


def variation_finding(published: str, noun: str, compared: Compared) -> Finding:
    """Whether what was changed does not matter beside the variation between runs: `compared` has, by what was changed,
    wall times with and without of the same rounds."""
    changes = _changes(compared)
    cases = [None if share is None else share == 0 for share in changes.values()]
    return _finding(published, verdict(cases), _changes_words(changes, noun))


def writers_finding(compared: Compared) -> Finding:
    """Each stride of the writers against every rank writing."""
    changes = _changes(compared)
    cases = [None if share is None else share >= 0 for share in changes.values()]
    published = "Fewer tasks that write hardly help and often cost (Table 7)."
    return _finding(published, verdict(cases), _changes_words(changes, "stride"))


def pages_finding(compared: Compared) -> Finding:
    """Huge pages against the smallest. What cannot be told from no change is no gain and no loss."""
    changes = _changes(compared)
    cases = [None if not share else share < 0 for share in changes.values()]
    published = "Pages of 2 MiB are slightly better than small ones (Tables 5 and 6)."
    return _finding(published, verdict(cases), _changes_words(changes, "page size"))


def directories_finding(part: Measured) -> Finding:
    """The same runs in the two directories."""
    first, second = list(part.plan.storages)[:2] if len(part.plan.storages) > 1 else ("", "")
    compared: Compared = {}
    for stride in part.plan.strides if second else ():
        a, b = (part.outcomes.get(Case("store", part.plan.base, storage, stride)) for storage in (second, first))
        compared[f"{second} with stride {stride}"] = tables.paired(a, b, "wall_s")
    changes = _changes(compared)
    published = "The directory matters: the same runs differ between two of them (Table 7)."
    shares = list(changes.values())
    agrees = True if any(shares) else None if not shares or None in shares else False
    return _finding(published, agrees, _changes_words(changes, "stride"))


def stripes_finding(part: Measured) -> Finding:
    """A file's fewest stripes against every other layout on the same storage, at each stride."""
    compared: Compared = {}
    for storage in part.plan.storages:
        first = {one.stride: part.plan.with_stripes(storage, one) for one in reversed(part.plan.stripings)}
        for one in part.plan.stripings:
            case = part.plan.with_stripes(storage, one)
            usual = first[one.stride]
            if case != usual:
                layout = f"{case.settings.striping_factor} x {case.settings.striping_unit_mib} MiB"
                compared[f"{layout} on {storage}, stride {one.stride}"] = tables.paired(
                    part.outcomes.get(case), part.outcomes.get(usual), "wall_s"
                )
    return variation_finding(
        "What Lustre's parameters change is hardly noticed beside the variation between runs.", "setting", compared
    )


def _strides_compared(part: Measured) -> Compared:
    found: Compared = {}
    for storage in part.plan.storages:
        usual = part.outcomes.get(Case("store", part.plan.base, storage, 1))
        for stride in part.plan.strides[1:]:
            one = part.outcomes.get(Case("store", part.plan.base, storage, stride))
            found[f"stride {stride} on {storage}"] = tables.paired(one, usual, "wall_s")
    return found


def _pages_compared(part: Measured) -> Compared:
    """Each page size that the machine has against the smallest, which is the first of the plan's further cases."""
    small, *huge = part.plan.further
    usual = part.outcomes.get(small)
    found: Compared = {}
    for case in huge:
        where = f"everywhere by {case.model.huge_heap}" if case.model.huge_heap else "for the buffers"
        found[f"huge pages {where}"] = tables.paired(part.outcomes.get(case), usual, "wall_s")
    return found

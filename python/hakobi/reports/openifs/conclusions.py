"""The report's findings, and our figures' verdicts on them. Pure.

Every verdict comes from a comparison of runs of the same rounds (hakobi.statistics).
"""

from __future__ import annotations

from hakobi import statistics
from hakobi.reports.openifs.parts import Measured
from hakobi.reports.page import Finding
from hakobi.studies.field_store import identity, tables
from hakobi.studies.field_store.plan import Case, Settings
from hakobi.words import count_text, list_text, percent_text


def findings(measured: dict[str, Measured]) -> list[Finding]:
    """The report's findings, and ours from the figures. Pure."""
    return [
        identity_finding(measured),
        one_task_finding(measured["resolutions"], measured["strides"]),
        stripes_finding(measured["stripes"]),
        variation_finding(
            "It tried the FDB's configuration parameters (what it concluded is not at hand).",
            "parameter",
            _settings_compared(measured["parameters"]),
            is_known=False,
        ),
        variation_finding(
            "It tried the number of MPI tasks that write (what it concluded is not at hand).",
            "stride",
            _strides_compared(measured["strides"]),
            is_known=False,
        ),
        variation_finding(
            "It tried page sizes (what it concluded is not at hand).",
            "page size",
            _pages_compared(measured["forecast"]),
            is_known=False,
        ),
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
                if len(a) < 2:
                    continue
                found = statistics.compare_interleaved(a, b)
                where = f"{model.words()}, {storage} ({percent_text(found.estimate / statistics.summarise(a).median)})"
                if not found.differs:
                    same += 1
                else:
                    (cheaper if found.estimate > 0 else dearer).append(where)
    if not cheaper and not dearer:
        why = f"files and store are never apart outside the spread ({count_text(same, 'comparison')})"
        return _finding(published, None, why if same else "one round or none: nothing is known of the spread")
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


def variation_finding(published: str, noun: str, compared: Compared, *, is_known: bool = True) -> Finding:
    """Whether what was changed matters beyond the variation between runs: `compared` has, by what was changed, wall
    times with and without of the same rounds. `is_known`: the report says that it does not matter."""
    told = {name: pair for name, pair in compared.items() if len(pair[0]) > 1}
    if not told:
        return _finding(published, None, "one round or none: nothing is known of the spread")
    differing = []
    for name, (changed, usual) in told.items():
        found = statistics.compare_interleaved(changed, usual)
        if found.differs:
            share = found.estimate / statistics.summarise(usual).median
            word = "longer" if share > 0 else "shorter"
            differing.append(f"{name} ({percent_text(abs(share))} {word})")
    if not differing:
        because = f"none of {count_text(len(told), noun)} changes the run outside the spread"
        return _finding(published, True if is_known else None, because)
    because = f"{len(differing)} of {count_text(len(told), noun)} change the run outside the spread: "
    return _finding(published, False if is_known else None, because + list_text(differing))


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


def _settings_compared(part: Measured) -> Compared:
    usual = part.outcomes.get(part.plan.with_settings(Settings()))
    return {
        ", ".join(f"{name}: {value}" for name, value in settings.changes()): tables.paired(
            part.outcomes.get(part.plan.with_settings(settings)), usual, "wall_s"
        )
        for settings in part.plan.settings
        if settings.changes()
    }


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

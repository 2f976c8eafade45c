"""The study's tables: sizes, what output costs, stride, buffers, pages, stripes, and what each file took. Pure."""

from __future__ import annotations

from hakobi import conditions, statistics
from hakobi.measuring.session import End
from hakobi.studies.field_store.session import Case, Outcome, Plan, has_every_case, has_striping
from hakobi.table import Table

_SPEEDS = ("mean days/day", "peak", "wall s")


def _speeds(outcome: Outcome) -> list[str]:
    """Cells under _SPEEDS."""
    if not outcome.summaries:
        return ["gap", *["" for _ in _SPEEDS[1:]]]
    return [
        f"{outcome.median('mean_days_per_day'):.1f}",
        f"{outcome.median('peak_days_per_day'):.1f}",
        statistics.summarise(outcome.values("wall_s")).seconds(),
    ]


def _cost(one: Outcome, base: Outcome) -> str:
    """What output adds to the wall time, round by round; in brackets where it cannot be told from zero."""
    rounds = min(len(one.summaries), len(base.summaries))
    if rounds == 0:
        return ""
    with_output, without = one.values("wall_s")[:rounds], base.values("wall_s")[:rounds]
    cost = statistics.summarise([a - b for a, b in zip(with_output, without, strict=True)]).seconds()
    return cost if statistics.compare_interleaved(with_output, without).differs else f"({cost})"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.1f}"


def tables(plan: Plan, outcomes: dict[Case, Outcome], end: End) -> list[Table]:
    """All of them, in reading order."""
    if not has_every_case(outcomes) and (end.is_interrupted or end.failure):
        return [_finished_table(outcomes)]
    costs = cost_table(plan, outcomes, outcomes[Case("none")])
    costs.notes += end.gap_notes()
    return [
        _size_table(plan, outcomes),
        costs,
        *(_stride_table(plan, outcomes, storage) for storage in plan.storages),
        _buffer_table(plan, outcomes),
        _striping_table(plan, outcomes),
        *(_profile_table(case, outcome) for case, outcome in _profiled(plan, outcomes)),
    ]


def _finished_table(outcomes: dict[Case, Outcome]) -> Table:
    """What a study that was ended in its first round has."""
    columns = ["<output", "<storage", "stride", "<buffers", *_SPEEDS]
    table = Table("Finished runs of a study that was ended early", columns)
    for case, one in outcomes.items():
        if one.summaries:
            buffers = f"{case.num_buffers} x {case.buffer_mib} MiB" if case.kind == "store" else ""
            table.add(case.kind, case.storage, str(case.stride), buffers, *_speeds(one))
    return table


def _size_table(plan: Plan, outcomes: dict[Case, Outcome]) -> Table:
    first = next(iter(plan.storages))
    columns = ["<output", "grid", "spectral", "fields", "files"]
    table = Table("Size of a step in MB, and files in the folder at the run's end", columns)
    for case in (Case("files", first), Case("store", first, plan.strides[0])):
        one = outcomes[case]
        if not one.summaries:
            table.add(case.kind, "gap", "", "", "")
            continue
        table.add(
            case.kind,
            _megabytes(one.median("grid_bytes")),
            _megabytes(one.median("spectral_bytes")),
            str(int(one.median("grid_fields") + one.median("spectral_fields"))),
            str(one.num_files),
        )
    table.notes.append("the store has two files a writer, however many steps, and two of its own")
    return table


def cost_table(plan: Plan, outcomes: dict[Case, Outcome], base: Outcome) -> Table:
    columns = ["<output", "<storage", *_SPEEDS, "cost s"]
    table = Table("Forecast days per day, and what output costs", columns)
    table.add("none", "", *_speeds(base), "")
    for storage in plan.storages:
        for case in (Case("files", storage), Case("store", storage, plan.strides[0])):
            one = outcomes[case]
            table.add(case.kind, storage, *_speeds(one), _cost(one, base))
    table.notes.append(f"medians over {plan.rounds} rounds; ±: half the distance between the quartiles")
    table.notes.append(
        "cost: wall time less that of the run without output in the same round; (…): cannot be told from zero"
    )
    return table


def _stride_table(plan: Plan, outcomes: dict[Case, Outcome], storage: str) -> Table:
    columns = ["stride", "data files", "MB a file", *_SPEEDS]
    table = Table(f"Stride of the writers, {plan.ranks} ranks, {storage}", columns)
    for stride in plan.strides:
        one = outcomes[Case("store", storage, stride)]
        sizes = [float(profile["bytes"]) for profile in one.profiles]
        size = _megabytes(sum(sizes) / len(sizes)) if sizes else ""
        table.add(str(stride), str(len(sizes)), size, *_speeds(one))
    return table


def _buffer_table(plan: Plan, outcomes: dict[Case, Outcome]) -> Table:
    first = next(iter(plan.storages))
    columns = ["<buffers", "MiB each", "<huge pages", *_SPEEDS]
    table = Table(f"Asynchronous buffers and huge pages, stride 1, {first}", columns)
    table.add("none (synchronous)", "", "no", *_speeds(outcomes[Case("store", first, is_asynchronous=False)]))
    for count, mib in plan.buffers:
        table.add(str(count), str(mib), "no", *_speeds(outcomes[Case("store", first, 1, count, mib)]))
    table.add("4", "64", "yes", *_speeds(outcomes[Case("store", first, huge_pages=True)]))
    return table


def _striping_table(plan: Plan, outcomes: dict[Case, Outcome]) -> Table:
    columns = ["<storage", "striping_factor", "striping_unit MiB", *_SPEEDS]
    table = Table("Striping, stride 1", columns)
    for storage, folder in plan.storages.items():
        if not has_striping(folder):
            kind = str(conditions.file_system(folder).get("type", "unknown"))
            why = "lfs is not installed" if kind == "lustre" else f"{kind}, not Lustre"
            table.notes.append(f"{storage}: no striping to choose ({why})")
            continue
        for factor, mib in plan.stripings:
            one = outcomes[Case("store", storage, striping_factor=factor, striping_unit_mib=mib)]
            table.add(storage, str(factor), str(mib), *_speeds(one))
    return table


def _profiled(plan: Plan, outcomes: dict[Case, Outcome]) -> list[tuple[Case, Outcome]]:
    first = next(iter(plan.storages))
    cases = [Case("files", first), *(Case("store", first, stride) for stride in plan.strides[:1])]
    return [(case, outcomes[case]) for case in cases]


def _profile_table(case: Case, outcome: Outcome) -> Table:
    columns = ["seconds", "MB", "MB/s", "calls", "bytes/call", "<file"]
    table = Table(f"Writing of each file, {case.kind} on {case.storage}, last round", columns)
    for one in outcome.profiles:
        seconds, size, calls = float(one["seconds"]), float(one["bytes"]), int(one["calls"])
        rate = f"{size / 1e6 / seconds:.1f}" if seconds > 0 else ""
        each = str(int(size / calls)) if calls else ""
        table.add(f"{seconds:.3f}", _megabytes(size), rate, str(calls), each, str(one["name"]))
    return table

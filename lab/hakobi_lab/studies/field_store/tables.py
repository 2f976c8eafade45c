"""The study's tables: models, what output costs, stride, settings, pages, stripes, and what each file took. Pure."""

from __future__ import annotations

from hakobi import conditions, statistics
from hakobi.measuring.session import End
from hakobi.table import Table
from hakobi.words import count_text, list_text
from hakobi_lab.studies.field_store.plan import Case, Plan, Settings
from hakobi_lab.studies.field_store.session import Outcome, has_every_case

Outcomes = dict[Case, Outcome]

SPEEDS = ("mean days/day", "peak", "wall s")


def why_none(outcome: Outcome | None) -> str:
    """A cell of a case that has no figure."""
    return "gap" if outcome is not None and outcome.is_gap else "not run"


def speed(value: float) -> str:
    """Forecast days per day, in tenths where those are told."""
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def speeds(outcome: Outcome | None) -> list[str]:
    """Cells under SPEEDS."""
    if outcome is None or not outcome.summaries:
        return [why_none(outcome), *["" for _ in SPEEDS[1:]]]
    return [
        speed(outcome.median("mean_days_per_day")),
        speed(outcome.median("peak_days_per_day")),
        outcome.summary("wall_s").seconds(),
    ]


def paired(one: Outcome | None, other: Outcome | None, name: str) -> tuple[list[float], list[float]]:
    """Values of the rounds that both have."""
    if one is None or other is None:
        return [], []
    a, b = one.by_round(name), other.by_round(name)
    rounds = sorted(a.keys() & b.keys())
    return [a[number] for number in rounds], [b[number] for number in rounds]


def cost(one: Outcome | None, base: Outcome | None) -> str:
    """The wall time that output adds, round by round; in brackets where it cannot be told from zero."""
    with_output, without = paired(one, base, "wall_s")
    if not with_output:
        return ""
    text = statistics.summarise([a - b for a, b in zip(with_output, without, strict=True)]).seconds()
    return text if statistics.compare_interleaved(with_output, without).differs else f"({text})"


def megabytes(value: float) -> str:
    return f"{value / 1e6:.1f}"


def step_bytes(outcome: Outcome) -> float:
    """The bytes of one output, grid and spectral fields together."""
    return outcome.median("grid_bytes") + outcome.median("spectral_bytes")


def tables(plan: Plan, outcomes: Outcomes, end: End) -> list[Table]:
    """All of them, in reading order."""
    if not has_every_case(outcomes) and (end.is_interrupted or end.failure):
        return [finished_table(outcomes)]
    costs = cost_table(plan, outcomes)
    costs.notes += end.gap_notes()
    return [
        size_table(plan, outcomes),
        costs,
        *(stride_table(plan, outcomes, storage) for storage in plan.storages),
        *([settings_table(plan, outcomes)] if plan.settings else []),
        striping_table(plan, outcomes),
        *(profile_table(case, outcome) for case, outcome in _profiled(plan, outcomes)),
    ]


def finished_table(outcomes: Outcomes) -> Table:
    """The table of a study that was ended in its first round."""
    table = Table("Finished runs of a study that was ended early", ["<run", *SPEEDS])
    for case, one in outcomes.items():
        if one.summaries:
            table.add(case.words(), *speeds(one))
    return table


def size_table(plan: Plan, outcomes: Outcomes) -> Table:
    """Volume of a step by resolution, and how many files it becomes."""
    columns = ["<resolution", "<output", "grid", "spectral", "fields", "files"]
    table = Table("Size of a step in MB, and files in the folder at the run's end", columns, num_frozen=2)
    by_resolution = {model.resolution: model for model in plan.models}
    for model in by_resolution.values():
        for kind in ("files", "store"):
            one = outcomes.get(Case(kind, model, plan.first_storage))
            if one is None or not one.summaries:
                table.add(model.resolution, kind, why_none(one), "", "", "")
                continue
            table.add(
                model.resolution,
                kind,
                megabytes(one.median("grid_bytes")),
                megabytes(one.median("spectral_bytes")),
                str(int(one.median("grid_fields") + one.median("spectral_fields"))),
                str(one.num_files),
            )
    table.notes.append("the store has two files a writer, however many steps, and two of its own")
    return table


def cost_table(plan: Plan, outcomes: Outcomes) -> Table:
    """Each model without output, with files and with the store, on each storage."""
    columns = ["<resolution", "ranks", "threads", "<output", "<storage", *SPEEDS, "cost s"]
    table = Table("Forecast days per day, and what output costs", columns, num_frozen=5)
    for model in plan.models:
        base = outcomes.get(Case("none", model))
        if table.rows:
            table.rules.add(len(table.rows))
        head = [model.resolution, str(model.ranks), str(model.threads)]
        if "none" in plan.kinds:
            table.add(*head, "none", "", *speeds(base), "")
        for storage in plan.storages:
            for kind in (kind for kind in plan.kinds if kind != "none"):
                one = outcomes.get(Case(kind, model, storage))
                table.add(*head, kind, storage, *speeds(one), cost(one, base))
    table.notes.append(
        f"medians over at most {count_text(plan.rounds, 'round')}; ±: half the distance between the quartiles"
    )
    table.notes.append(
        "cost: wall time less that of the run without output in the same round; (…): cannot be told from zero"
    )
    return table


def stride_table(plan: Plan, outcomes: Outcomes, storage: str) -> Table:
    """Every n-th rank writes: files, their size, the output's, and the speed."""
    columns = ["stride", "data files", "MB a file", "MB in all", *SPEEDS]
    table = Table(f"Stride of the writers, {plan.base.words()}, {storage}", columns)
    for stride in plan.strides:
        one = outcomes.get(Case("store", plan.base, storage, stride))
        sizes = [float(profile["bytes"]) for profile in one.profiles] if one else []
        each = megabytes(sum(sizes) / len(sizes)) if sizes else ""
        table.add(str(stride), str(len(sizes) or ""), each, megabytes(sum(sizes)) if sizes else "", *speeds(one))
    return table


def settings_table(plan: Plan, outcomes: Outcomes) -> Table:
    """The store as it is by itself, and with one setting changed."""
    columns = ["<parameter", "<value", *SPEEDS]
    table = Table(f"Parameters of the store, {plan.base.words()}, stride 1, {plan.first_storage}", columns)
    for settings in plan.settings:
        changes = settings.changes()
        names = list_text([name for name, _ in changes]) or "(as it is)"
        values = list_text([value for _, value in changes])
        table.add(names, values, *speeds(outcomes.get(plan.with_settings(settings))))
    usual = Settings()
    table.notes.append(
        f"as it is: {usual.num_buffers} buffers of {usual.buffer_mib} MiB, which up to {usual.num_io_threads} threads "
        "write while the program goes on; no padding; at a flush data, index and directory are synced"
    )
    return table


def striping_table(plan: Plan, outcomes: Outcomes) -> Table:
    """Each layout that a storage can have, once; layouts of more stripes than servers are said below."""
    columns = ["<storage", "stripes", "MiB", "stride", *SPEEDS]
    table = Table("Striping", columns)
    for storage, folder in plan.storages.items():
        if not plan.has_stripes(storage):
            kind = str(conditions.file_system(folder).get("type", "unknown"))
            why = "lfs is not installed" if kind == "lustre" else f"{kind}, not Lustre"
            table.notes.append(f"{storage}: no striping to choose ({why})")
            continue
        if table.rows:
            table.rules.add(len(table.rows))
        for case in dict.fromkeys(plan.with_stripes(storage, one) for one in plan.stripings):
            settings = case.settings
            head = [str(settings.striping_factor), str(settings.striping_unit_mib), str(case.stride)]
            table.add(storage, *head, *speeds(outcomes.get(case)))
        more = [str(one.factor) for one in plan.stripings if plan.clamped(storage, one.factor) < one.factor]
        if more:
            servers = count_text(plan.storage_models[storage].servers, "server")
            table.notes.append(
                f"{storage}: {list_text(list(dict.fromkeys(more)))} stripes: a file has one on each of {servers}"
            )
    return table


def pages_table(cases: dict[str, Case], outcomes: Outcomes, lacking: dict[str, str]) -> Table:
    """Runs that differ in the pages behind their memory, by their words, and why other ways are not here
    (hakobi_lab.measuring.huge_pages)."""
    table = Table("Page sizes", ["<pages", *SPEEDS])
    for words, case in cases.items():
        table.add(words, *speeds(outcomes.get(case)))
    table.notes += [f"no 2 MiB by {way}: {why}" for way, why in lacking.items()]
    return table


def threads_table(plan: Plan, outcomes: Outcomes) -> Table:
    """Ranks x threads: speed without output and with the store, on the first storage."""
    columns = ["ranks x threads", "<output", *SPEEDS]
    storage = plan.first_storage
    table = Table(f"Ranks x threads, {plan.base.resolution}, {storage}", columns, num_frozen=2)
    for model in plan.models:
        for case in (Case("none", model), Case("store", model, storage)):
            table.add(f"{model.ranks} x {model.threads}", case.kind, *speeds(outcomes.get(case)))
    return table


def _profiled(plan: Plan, outcomes: Outcomes) -> list[tuple[Case, Outcome]]:
    kinds = (Case(kind, plan.base, plan.first_storage) for kind in ("files", "store"))
    return [(case, outcomes[case]) for case in kinds if case in outcomes]


def profile_table(case: Case, outcome: Outcome) -> Table:
    columns = ["seconds", "MB", "MB/s", "calls", "bytes/call", "<file"]
    table = Table(f"Writing of each file, {case.kind} on {case.storage}, last round", columns)
    for one in outcome.profiles:
        seconds, size, calls = float(one["seconds"]), float(one["bytes"]), int(one["calls"])
        rate = f"{size / 1e6 / seconds:.1f}" if seconds > 0 else ""
        each = str(int(size / calls)) if calls else ""
        table.add(f"{seconds:.3f}", megabytes(size), rate, str(calls), each, str(one["name"]))
    return table

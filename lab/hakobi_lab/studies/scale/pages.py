"""The tables on the terminal, and the page with the figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hakobi.table import Table
from hakobi.table import show as show_table
from hakobi.words import bytes_text, count_text, percent_text
from hakobi_lab.report import Report
from hakobi_lab.studies.scale import figures, hints, machine
from hakobi_lab.studies.scale.simulation import LIMITS, Outcome, Row


def time_table(outcome: Outcome) -> Table:
    """A row a rank count: seconds of each method, its share of the possible, and what limits it."""
    plan = outcome.plan
    columns = ["ranks", "nodes", "data", "possible GB/s"]
    for method in plan.methods:
        columns += [method, "share", "<limit"]
    view = Table(f"One collective write on {plan.machine.name}: seconds", columns, num_frozen=2)
    for ranks in sorted({row.ranks for row in outcome.rows}):
        rows = {row.method: row for row in outcome.rows if row.ranks == ranks}
        first = next(iter(rows.values()))
        possible = plan.machine.possible(ranks)
        cells = [_ranks_text(outcome, ranks), f"{first.nodes:,}", bytes_text(first.bytes), _rate(possible)]
        for method in plan.methods:
            found = rows.get(method)
            share = percent_text(_share(outcome, found)) if found else ""
            cells += [_seconds(found.time_s), share, found.limit] if found else ["", "", ""]
        fastest = min(rows.values(), key=lambda row: row.time_s).method
        view.best.add((len(view.rows), 4 + 3 * plan.methods.index(fastest)))
        view.add(*cells)
    return view


def plan_table(outcome: Outcome) -> Table:
    """The plan by the planner's own code: aggregators, phases, words of description, memory."""
    columns = ["ranks", "<method", "GB/s", "aggregators", "stripes", "phases", "words sent", "words held", "memory"]
    view = Table("What is planned: words of description and memory of a rank", columns, num_frozen=2)
    for method in (name for name in outcome.plan.methods if name != "per-process"):
        view.rules.add(len(view.rows))
        for row in outcome.of(method):
            view.add(
                _ranks_text(outcome, row.ranks),
                method,
                f"{row.gb_s:,.1f}",
                f"{row.aggregators:,}",
                f"{row.stripes:,}",
                f"{row.phases:,}",
                f"{row.words_sent:,.0f}",
                f"{row.words_held:,.0f}",
                bytes_text(row.memory_bytes),
            )
    view.rules.discard(0)
    return view


def _share(outcome: Outcome, row: Row) -> float:
    return 1e9 * row.gb_s / outcome.plan.machine.possible(row.ranks)


def _rate(bytes_s: float) -> str:
    return f"{1e-9 * bytes_s:,.4g}"


def _seconds(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _ranks_text(outcome: Outcome, ranks: int) -> str:
    beyond = outcome.plan.machine.num_nodes(ranks) > outcome.plan.machine["nodes.count"]
    return f"{ranks:,}{'*' if beyond else ''}"


def notes(outcome: Outcome) -> list[str]:
    plan = outcome.plan
    place = plan.machine.path.name if plan.machine.path else "a model"
    lines = [
        f"simulated, not measured: the planner's own code with the costs of {place}; {plan.pattern}, "
        f"{bytes_text(plan.rank_bytes)} a rank; at the most ranks {outcome.shape}",
        "possible: the least of what all servers, and all nodes of the job, can write to one file; share: of that",
        "pipelined+layout: stripes are chosen by the nodes, and each server is written by as few nodes as can fill it; "
        f"the others have the machine's default, {count_text(int(plan.machine['file.stripes']), 'stripe')} of "
        f"{plan.machine['file.stripe_mib']:g} MiB",
        *_hints_notes(outcome),
        "words: 8 bytes each, sent by a rank in a call on average, held by an aggregator at a time; memory: of a rank, "
        "beside its data",
    ]
    if any("*" in _ranks_text(outcome, ranks) for ranks in plan.ranks):
        lines.append(f"*: more than the {plan.machine['nodes.count']:,.0f} nodes that the machine has")
    return lines


def _hints_notes(outcome: Outcome) -> list[str]:
    if "pipelined+hints" not in outcome.plan.methods:
        return []
    lines = []
    for ranks in outcome.plan.ranks:
        asked = hints.advised(outcome.plan.machine, ranks, outcome.plan.piece_bytes)
        lines.append(f"pipelined+hints, {ranks:,} ranks: {hints.text_of(asked) or 'none: as pipelined+layout'}")
    return lines


def findings(outcome: Outcome) -> list[str]:
    """A sentence a method: how it grows from the fewest to the most nodes, and what limits it."""
    result = []
    for method in outcome.plan.methods:
        rows = outcome.of(method)
        if not rows:
            continue
        best = max(rows, key=lambda row: row.gb_s)
        last = rows[-1]
        text = f"{method}: {rows[0].gb_s:.3g} GB/s on {count_text(rows[0].ranks, 'rank')}"
        if last is not rows[0]:
            text += f", {last.gb_s:.3g} on {last.ranks:,} ({LIMITS[last.limit]})"
        if best is not last and best.gb_s > 1.1 * last.gb_s:
            text += f"; at its best {best.gb_s:.3g} on {best.ranks:,}"
        result.append(text)
    return result


def show(outcome: Outcome) -> None:
    views = [time_table(outcome), plan_table(outcome)]
    views[-1].notes += [*findings(outcome), *notes(outcome), *outcome.end.gap_notes()]
    for view in views:
        show_table(view)
        print()


def write_report(
    path: Path | None, outcome: Outcome, figures_folder: Path | None, checked: Sequence[Table] = ()
) -> None:
    """The page: one HTML file; figures with their values. Raises StorageError."""
    plan = outcome.plan
    report = Report(
        f"Collective writes on {plan.machine.name}",
        lead="Simulated by the planner's own code with the costs of a machine file: one collective write of "
        f"{plan.pattern}, {bytes_text(plan.rank_bytes)} a rank, by output method and ranks.",
    )
    for warning in outcome.end.warnings():
        report.warn(warning)
    report.heading("What was found")
    report.bullets(findings(outcome))
    report.figure(
        figures.scale_figure(outcome),
        "Time of a write, and its share of what the machine's servers and nodes can do, over ranks; all axes are "
        "logarithmic. A colour is a method, a marker what limits it. Dashed: what is possible. Dotted: all nodes.",
        alt="Line charts. " + " ".join(f"{text}." for text in findings(outcome)),
        name="scale",
        data=figures.scale_data(outcome),
    )
    report.heading("Figures in numbers")
    for view in (time_table(outcome), plan_table(outcome)):
        report.table(view)
    report.bullets(notes(outcome))
    report.terms(list(LIMITS.items()))
    for view in checked:
        report.heading(view.title)
        report.table(view)
        report.bullets(view.notes)
    report.heading("The machine")
    report.table(machine_table(plan.machine))
    report.conditions(outcome.conditions)
    report.save(path, figures_folder)


def machine_table(of: machine.Machine) -> Table:
    view = Table(of.name, ["<field", "value", "<what it is"])
    for section, fields in machine.FIELDS.items():
        for name, rule in fields.items():
            value = of.values[section][name]
            view.add(f"{section}.{name}", f"{value:,}" if isinstance(value, int) else str(value), rule.what)
    return view

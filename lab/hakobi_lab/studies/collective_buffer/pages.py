"""The tables on the terminal and the report with the two figures."""

from __future__ import annotations

from pathlib import Path

from hakobi.measuring import collective
from hakobi.measuring.collective import FLOOR
from hakobi.statistics import Comparison, Summary
from hakobi.table import Table
from hakobi.table import show as show_table
from hakobi.words import binary_text, bytes_text, count_text, list_text
from hakobi_lab.report import Report
from hakobi_lab.studies.collective_buffer import figures, result
from hakobi_lab.studies.collective_buffer.session import Case, Outcome


def table_of(outcome: Outcome, operation: str, ranks: int) -> Table:
    """Throughput over buffer size; beside each variant what it gains over the original."""
    accesses = outcome.plan.accesses
    others = [access for access in accesses if access != "posix" and "posix" in accesses]
    names = [FLOOR, *(result.VARIANTS[access] for access in accesses)]
    gains = [f"{result.VARIANTS[access]} gain" for access in others]
    view = Table(f"{operation}, {count_text(ranks, 'rank')}: GB/s", ["buffer", *names, *gains, "samples"])
    lines = {access: _by_size(outcome, operation, ranks, access) for access in (FLOOR, *accesses)}
    ratios = {access: dict(result.gains(outcome, operation, ranks, access)) for access in others}
    for size in sorted(lines[FLOOR]):
        rates = [_rate(lines[access].get(size)) for access in (FLOOR, *accesses)]
        gained = [_gain(ratios[access].get(size)) for access in others]
        view.add(binary_text(size), *rates, *gained, str(lines[FLOOR][size].count))
    for case in result.missing(outcome):
        if case.ranks == ranks and case.words() in outcome.end.gaps:
            view.add(binary_text(case.cb_bytes), "gap", *["" for _ in view.columns[2:]])
    return view


def _rate(rate: Summary | None) -> str:
    """A median and its spread; one sample has none."""
    if rate is None:
        return ""
    return f"{rate.median:.3f} ± {rate.spread:.3f}" if rate.count > 1 else f"{rate.median:.3f}        "


def _by_size(outcome: Outcome, operation: str, ranks: int, access: str) -> dict[int, Summary]:
    return {point.cb_bytes: point.figure.gb_s for point in result.series(outcome, operation, ranks, access)}


def _gain(comparison: Comparison | None) -> str:
    """The ratio, in brackets where it may be 1."""
    if comparison is None:
        return ""
    text = f"{comparison.estimate:.2f}"
    return text if comparison.differs else f"({text})"


def notes(outcome: Outcome) -> list[str]:
    """Notes that a reader must know beside the figures."""
    plan = outcome.plan
    is_forced = not any("hakobi_shuffle" in argument for argument in plan.arguments)
    lines = [
        "± is half the distance between the quartiles; gain: throughput over the original's, in brackets where it "
        "cannot be told from 1 (98 %, neighbours in time)",
        "open, close and fsync are not timed; every byte of every sample was verified after the clock had stopped",
        collective.cache_note(outcome.conditions, "file", outcome.file_bytes),
    ]
    if is_forced:
        lines.append("all bytes pass the collective buffers (hakobi_shuffle=always), also where the engine would not")
    if plan.model:
        lines.append(f"every file call, the floor's too, passes {plan.model.words()}")
    lines += result.filling_notes(outcome)
    crowd = collective.crowd_note(outcome.flavour, max(plan.ranks), outcome.conditions["cores"])
    return [*lines, crowd] if crowd else lines


def warnings(outcome: Outcome) -> list[str]:
    """Reasons why the figures are not what was asked for."""
    lines = outcome.end.warnings()
    if outcome.end.is_out_of_time:
        spent = f"{outcome.plan.budget_s:g} s were used up after {count_text(outcome.num_runs, 'run')}"
        lines.append(f"{spent} of {outcome.plan.rounds * len(outcome.plan.ranks) * len(outcome.plan.cb_bytes)}")
    if absent := [case for case in result.missing(outcome) if case.words() not in outcome.end.gaps]:
        lines.append(f"no figure for {_cases_text(absent)}: give more time, or go on with the same --json file")
    return lines


def _cases_text(absent: list[Case]) -> str:
    shown = [case.words() for case in absent[:3]]
    if len(absent) > 3:
        shown.append(f"{len(absent) - 3} more")
    return "; ".join(shown)


def show(outcome: Outcome) -> None:
    """The tables on stdout, what was found and the notes below the last."""
    pairs = [(operation, ranks) for operation in result.operations_measured(outcome) for ranks in outcome.plan.ranks]
    views = [table_of(outcome, *pair) for pair in pairs if pair[1] in result.ranks_measured(outcome)]
    views[-1].notes += [*result.findings(outcome), *notes(outcome), *outcome.end.gap_notes()]
    for view in views:
        show_table(view)
        print()


def write_report(path: Path | None, outcome: Outcome, figures_folder: Path | None = None) -> None:
    """The report: one HTML file. Raises StorageError."""
    plan = outcome.plan
    counts = [str(ranks) for ranks in result.ranks_measured(outcome)]
    variants = list_text([result.variant(access) for access in plan.accesses])
    where = plan.model.words() if plan.model else str(plan.folder)
    report = Report(
        "The collective buffer's size",
        lead=f"Throughput of collective writes and reads over the size of the collective buffer: {variants}, on "
        f"{list_text(counts)} ranks, {plan.pattern} of {bytes_text(outcome.file_bytes)}, "
        f"{outcome.conditions['mpi']}, {where}.",
    )
    for warning in warnings(outcome):
        report.warn(warning)
    report.heading("What was found")
    report.bullets(result.findings(outcome))
    for number, operation in enumerate(result.operations_measured(outcome), start=1):
        report.figure(
            figures.throughput_figure(outcome, operation),
            f"Figure {number}. Throughput of collective {operation}s over the size of the collective buffer: medians, "
            "bands from quartile to quartile. Dashed: what the same storage does with large contiguous blocks, in turn "
            "with the others.",
            alt=f"Line charts of {operation} throughput. " + " ".join(_in_words(outcome, operation)),
            data=figures.throughput_data(outcome, operation),
        )
    report.heading("Figures in numbers")
    for operation in result.operations_measured(outcome):
        for ranks in result.ranks_measured(outcome):
            report.table(table_of(outcome, operation, ranks))
    report.heading("How it was measured")
    report.bullets([*notes(outcome), _rounds_text(outcome)])
    report.terms(_terms(outcome))
    report.conditions(outcome.conditions)
    pieces = [f"{size} B on {ranks} ranks" for ranks, size in outcome.piece_bytes.items() if size]
    report.terms([("pieces in the file", list_text(pieces)), ("options", " ".join(plan.arguments) or "none further")])
    report.save(path, figures_folder)


def _in_words(outcome: Outcome, operation: str) -> list[str]:
    words = []
    for ranks in result.ranks_measured(outcome):
        for access in outcome.plan.accesses:
            points = result.series(outcome, operation, ranks, access)
            values = ", ".join(f"{binary_text(size)} {figure.gb_s.median:.2f}" for size, figure in points)
            words.append(f"{count_text(ranks, 'rank')}, {result.variant(access)}: {values}.")
    return words


def _rounds_text(outcome: Outcome) -> str:
    text = f"{count_text(outcome.num_runs, 'run')}: in each the floor and all variants took turns, write and read"
    if outcome.end.num_resumed:
        text += f"; {outcome.end.num_resumed} of them were taken up from the file of records"
    return text


def _terms(outcome: Outcome) -> list[tuple[str, str]]:
    depth = count_text(outcome.plan.depth, "buffer")
    every = {
        "posix": "One buffer an aggregator: it is filled by the ranks, then written while all wait, then filled again; "
        "reading likewise. The unpipelined two-phase method.",
        "uring": f"{depth} an aggregator; the kernel writes or reads full ones (io_uring) while others are filled.",
        "threads": f"{depth} an aggregator; I/O threads write or read full ones while others are filled.",
    }
    terms = [(result.variant(access), every[access]) for access in outcome.plan.accesses]
    return [*terms, ("floor", "Two ranks move large contiguous blocks of the same file, several in flight.")]

"""Runs `hakobi bench collective`: cases (pattern x ranks), each in rounds of jobs, one merged table a case.

Records are appended as jobs end, the summaries of all cases last. Interrupted, it shows and keeps what is finished.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hakobi import conditions, programs
from hakobi.conditions import Conditions
from hakobi.measuring import collective
from hakobi.measuring.collective import FLOOR, Component, Figure, Sample
from hakobi.measuring.job_log import Log
from hakobi.measuring.session import End, Job, Session, in_rounds
from hakobi.measuring.storage_model import StorageModel, library_beside
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.table import Table
from hakobi.table import show as show_table
from hakobi.words import count_text


@dataclass(frozen=True)
class Plan:
    patterns: tuple[str, ...]
    ranks: tuple[int, ...]
    accesses: tuple[str, ...]
    file_bytes: int
    folder: Path
    model: StorageModel | None
    compare: bool  #: with the MPI library's own MPI-IO
    rounds: int  #: 0: chosen, more where jobs alternate
    budget_s: float  #: of a case, all of its jobs together
    min_samples: int  #: of a contender in a case
    limit_gb_s: float  #: 0: the model's, else the floor's
    arguments: tuple[str, ...]  #: passed to the program as they are
    timeout_s: float
    is_profiled: bool = False  #: the engine's profile, and what it explains, go to stderr


@dataclass(frozen=True)
class Case:
    pattern: str
    ranks: int


@dataclass
class Result:
    """The result of a case."""

    case: Case
    samples: list[Sample] = field(default_factory=list)
    summary: Record = field(default_factory=dict)  #: any of the program's own: what does not differ between contenders
    cached_share: float | None = None  #: of the file, in the page cache before a read (median of the last job)
    num_jobs: int = 0


@dataclass
class Outcome:
    plan: Plan
    flavour: str
    conditions: Conditions
    components: list[Component]
    results: list[Result] = field(default_factory=list)
    end: End = field(default_factory=lambda: End(0))

    def limit_gb_s(self, case: Case) -> float:
        return self.plan.limit_gb_s or (self.plan.model.limit_of(case.ranks) if self.plan.model else 0.0)


def run(plan: Plan, json_file: Path | None) -> Outcome:
    """Raises InputError and StorageError before the first job, RunError when no job ended well (a wrong byte, too)."""
    program = programs.find(collective.PROGRAM)
    collective.check_room(plan.folder, plan.file_bytes)
    if plan.model:
        library_beside(program)
    facts = conditions.collect(program.flavour, {"file": plan.folder})
    peers = collective.components(program.flavour) if plan.compare else []
    outcome = Outcome(plan, program.flavour, facts, peers)
    settings = {"storage_model": plan.model.value() if plan.model else None, "arguments": list(plan.arguments)}
    log = Log(json_file, {"benchmark": "collective", **facts, **settings})
    outcome.end = _run_cases(plan, program, outcome, log).check()
    log.add(*summaries(outcome))
    return outcome


def _run_cases(plan: Plan, program: Program, outcome: Outcome, log: Log) -> End:
    """Case after case; in a case's rounds the MPI library's components take turns."""
    contenders: Sequence[Component | None] = outcome.components or [None]
    rounds = plan.rounds or (3 if len(contenders) > 1 else 1)
    share_s = plan.budget_s / (rounds * len(contenders))
    least = -(-plan.min_samples // rounds)
    results: dict[Case, Result] = {}

    def execute(job: Job[tuple[Case, Component | None]]) -> Sequence[Record]:
        case, component = job.case
        told = {"HAKOBI_PROFILE": "1", "HAKOBI_EXPLAIN": "1"} if plan.is_profiled else {}
        lines, stderr = collective.run_job(
            program,
            [
                *("--budget", f"{share_s:g}", "--min-samples", str(least)),
                *(("--compare", "mpi-io", "--mpi-io-name", component.contender) if component else ()),
                *_arguments(plan, outcome.limit_gb_s(case), case),
            ],
            case.ranks,
            plan.folder,
            model=plan.model,
            environment={**told, **(component.environment if component else {})},
            timeout_s=plan.timeout_s,
        )
        if plan.is_profiled:
            sys.stderr.write(stderr)
        if case not in results:
            outcome.results.append(results.setdefault(case, Result(case)))
        _keep(lines, job.round, results[case], log)
        return ()

    def words(one: tuple[Case, Component | None]) -> str:
        case, component = one
        return ", ".join([case.pattern, count_text(case.ranks, "rank"), *([component.contender] if component else [])])

    cases = [Case(pattern, ranks) for pattern in plan.patterns for ranks in plan.ranks]
    jobs = [job for case in cases for job in in_rounds([(case, one) for one in contenders], rounds)]
    return Session(jobs, words, expected_s=share_s + 1).run(execute)  # a second for starting it and making its file


def _arguments(plan: Plan, limit_gb_s: float, case: Case) -> list[str]:
    arguments = ["--pattern", case.pattern, "--size", str(plan.file_bytes), "--access", ",".join(plan.accesses)]
    if limit_gb_s > 0:
        arguments += ["--limit", f"{limit_gb_s:.9g}"]
    return [*arguments, *plan.arguments]


def _keep(lines: list[Record], number: int, result: Result, log: Log) -> None:
    result.samples += collective.samples_of(lines, result.num_jobs)
    result.summary = next((line for line in lines if line.get("kind") == "summary"), result.summary)
    shares = [line["cached_share"] for line in lines if line.get("cached_share") is not None]
    result.cached_share = shares[-1] if shares else result.cached_share
    # Settings by which records of different configurations are told apart.
    settings: Record = {name: result.summary[name] for name in ("piece_bytes", "is_synced") if name in result.summary}
    more = {**settings, "round": number, "job": result.num_jobs}
    log.add(*({**line, **more} for line in lines if line.get("kind") == "sample"))
    result.num_jobs += 1


def summaries(outcome: Outcome) -> Iterator[Record]:
    """One record a case, direction and contender."""
    plan = outcome.plan
    for result in outcome.results:
        for figure in collective.figures_of(result.samples, outcome.limit_gb_s(result.case)):
            yield {
                "kind": "summary",
                "benchmark": "collective",
                "pattern": result.case.pattern,
                "piece_bytes": result.summary.get("piece_bytes"),
                "bytes": figure.bytes,
                "ranks": result.case.ranks,
                "contender": figure.contender,
                "operation": figure.operation,
                "median_gb_s": figure.gb_s.median,
                "quartile_low_gb_s": figure.gb_s.quartile_low,
                "quartile_high_gb_s": figure.gb_s.quartile_high,
                "calls_gb_s": figure.calls_gb_s,
                "num_samples": figure.gb_s.count,
                "num_jobs": result.num_jobs,
                "fraction_of_floor": figure.of_floor.median,
                "fraction_of_limit": figure.of_limit,
                "limit_gb_s": outcome.limit_gb_s(result.case) or None,
                "cpu_s_per_gb": figure.cpu_s_per_gb,
                "is_file_kept": result.summary.get("is_file_kept"),
                "is_synced": result.summary.get("is_synced"),
                "cached_share": result.cached_share if figure.operation == "read" else None,
                "storage_model": plan.model.value() if plan.model else None,
                "mpi": outcome.conditions["mpi"],
            }


def show(outcome: Outcome) -> None:
    """One table a case, on stdout."""
    for number, result in enumerate(outcome.results):
        if number:
            sys.stdout.write("\n")
        show_table(table_of(outcome, result))


def table_of(outcome: Outcome, result: Result) -> Table:
    """The merged table of a case with its verdicts and conditions."""
    plan, case = outcome.plan, result.case
    figures = collective.figures_of(result.samples, outcome.limit_gb_s(case))
    piece = f"pieces of {result.summary.get('piece_bytes')} B, " if result.summary.get("piece_bytes") else ""
    title = f"{case.pattern}: {figures[0].bytes / 1e6:.1f} MB, {piece}{count_text(case.ranks, 'rank')}"
    headings = ["<contender", "<", "GB/s", "±", "calls GB/s", "of floor", "of limit", "CPU s/GB", "samples"]
    view = Table(f"{title}, {outcome.conditions['mpi']}, {plan.folder}", headings, num_frozen=2)
    for row, figure in enumerate(figures):
        if row and figure.operation != figures[row - 1].operation:
            view.rules.add(row)
        if figure.contender == _fastest(result.samples, figures, figure.operation):
            view.best.add((row, 2))
        view.add(
            figure.contender,
            figure.operation,
            f"{figure.gb_s.median:.3f}",
            f"{figure.gb_s.spread:.3f}",
            f"{figure.calls_gb_s:.3f}",
            f"{figure.of_floor.median:.3f}",
            f"{figure.of_limit:.3f}",
            f"{figure.cpu_s_per_gb:.3f}",
            str(figure.gb_s.count),
        )
    view.notes += [*verdicts(result.samples, figures), *_notes(outcome, result, figures[0].bytes)]
    return view


def _fastest(samples: list[Sample], figures: list[Figure], operation: str) -> str:
    """The contender that is faster than every other outside the spread, or ""."""
    rivals = [figure for figure in figures if figure.operation == operation and figure.contender != FLOOR]
    if len(rivals) < 2:
        return ""
    first = max(rivals, key=lambda figure: figure.gb_s.median).contender
    others = [figure.contender for figure in rivals if figure.contender != first]
    comparisons = [collective.ratio(samples, operation, first, other) for other in others]
    return first if all(item.differs and item.estimate > 1 for item in comparisons) else ""


def verdicts(samples: list[Sample], figures: list[Figure]) -> list[str]:
    """Each direction: the engine's first access against every other contender, a winner only outside the spread."""
    result = []
    for operation in collective.OPERATIONS:
        names = [item.contender for item in figures if item.operation == operation and item.contender != FLOOR]
        for other in names[1:]:
            comparison = collective.ratio(samples, operation, names[0], other)
            result.append(f"{operation}: {collective.ratio_words(comparison, names[0], other)}")
    return result


def _notes(outcome: Outcome, result: Result, file_bytes: int) -> list[str]:
    plan = outcome.plan
    notes = ["± is half the distance between the quartiles; ratios hold with 98 %, taken between neighbours in time"]
    notes.append("floor: large contiguous blocks of the same file by two ranks, in the same turn; its bytes alone are")
    is_synced = bool(result.summary.get("is_synced"))
    notes[-1] += (
        " not compared. time is from opening to closing, 'calls' leaves both out; "
        f"fsync is {'' if is_synced else 'not '}counted"
    )
    kept = (
        "one file is written again and again" if result.summary.get("is_file_kept") else "every write makes a new file"
    )
    if result.cached_share is not None:
        kept += f"; before a read {100 * result.cached_share:.0f} % of it lay in the page cache (measured)"
    notes.append(kept)
    notes.append(collective.cache_note(outcome.conditions, "file", file_bytes, is_synced=is_synced))
    if plan.model:
        notes.append(f"every contender's file calls pass {plan.model.words()}")
    elif not plan.limit_gb_s:
        notes.append("the limit is the floor: no other is known of this storage")
    if "--no-verify" in plan.arguments:
        notes.append("bytes were not verified (--no-verify)")
    else:
        notes.append("every byte of every sample was verified after the clock had stopped")
    if len(outcome.components) > 1:
        notes.append(f"{result.num_jobs} jobs, the MPI library's components in turn: no job can hold both")
    if crowd := collective.crowd_note(outcome.flavour, result.case.ranks, outcome.conditions["cores"]):
        notes.append(crowd)
    return [*notes, *outcome.end.warnings()]

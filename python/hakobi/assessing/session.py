"""Runs `hakobi assess`: one run looks, then rounds of the program without and with the drop-in, in turns.

1. Each run is the user's command under `hakobi run`, with HAKOBI_WATCH: the drop-in's front counts and times the
   program's calls (figures.py), also where HAKOBI_MPIIO=off leaves them to the MPI library. A run's time is that of the
   whole command.
2. The first run is without the drop-in, and warms up. Of a program that makes no call of MPI-IO it is all: there is
   nothing that the drop-in could change. PNETCDF_HINTS are set in it as `hakobi run` does, so that PnetCDF's own driver
   does not hide what the drop-in would meet.
3. How many rounds there are depends on the time alone. Fewer than LEAST_ROUNDS tell nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hakobi import conditions, drop_in, launch, progress
from hakobi.assessing import figures
from hakobi.assessing.figures import Figures
from hakobi.conditions import Conditions
from hakobi.errors import InputError
from hakobi.measuring.job_log import Log, key_of
from hakobi.measuring.session import End, Job, Session, in_rounds
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.statistics import Comparison, compare_interleaved
from hakobi.tuning.race import LEAST_ROUNDS
from hakobi.tuning.work import Application
from hakobi.words import bytes_text

WITHOUT, WITH = "without the drop-in", "with the drop-in"


@dataclass(frozen=True)
class Verdict:
    """`word`: "saves", "costs", "cannot be told" or, without LEAST_ROUNDS rounds, "not measured"."""

    word: str
    num_rounds: int = 0
    saved: Comparison | None = None  #: seconds of a run


def judge(without_s: Mapping[int, float], with_s: Mapping[int, float]) -> Verdict:
    """From the times of both by round: what is inside the spread cannot be told. Pure.

    >>> judge({0: 9.0, 1: 9.2, 2: 9.1}, {0: 5.0, 1: 5.1, 2: 5.0}).word
    'saves'
    """
    rounds = sorted(without_s.keys() & with_s.keys())
    if len(rounds) < LEAST_ROUNDS:
        return Verdict("not measured", len(rounds))
    saved = compare_interleaved([without_s[i] for i in rounds], [with_s[i] for i in rounds])
    word = "cannot be told" if not saved.differs else "saves" if saved.estimate > 0 else "costs"
    return Verdict(word, len(rounds), saved)


@dataclass(frozen=True)
class Run:
    time_s: float
    figures: Figures


@dataclass
class Outcome:
    work: Application
    conditions: Conditions
    look: Run
    runs: dict[str, dict[int, Run]] = field(default_factory=lambda: {WITHOUT: {}, WITH: {}})
    end: End = field(default_factory=lambda: End(0))

    def typical(self, way: str) -> Run | None:
        """The run whose time is the median."""
        those = sorted(self.runs[way].values(), key=lambda one: one.time_s)
        return those[(len(those) - 1) // 2] if those else None

    def times(self, way: str) -> dict[int, float]:
        return {number: one.time_s for number, one in self.runs[way].items()}

    def verdict(self) -> Verdict:
        return judge(self.times(WITHOUT), self.times(WITH))


@dataclass(frozen=True)
class Plan:
    work: Application
    num_rounds: int
    budget_s: float
    timeout_s: float


def run(plan: Plan, json_file: Path | None) -> Outcome:
    """Raises InputError (also for a program that has nothing to assess), StorageError, and RunError when the program
    fails by itself."""
    end_s = time.monotonic() + plan.budget_s
    program = plan.work.check()
    facts = conditions.collect(program.flavour, {"folder": plan.work.folder})
    with progress.phase(f"looking: {WITHOUT}"):
        look = _run(plan, program, WITHOUT, is_first=True)
    check(look.figures, program.name)
    outcome = Outcome(plan.work, facts, look)
    key = key_of("assess", program, facts, *plan.work.same())
    log = Log(json_file, {"benchmark": "assess", **facts, "work": plan.work.words()}, key)
    if look.figures.calls:
        session = Session(
            in_rounds([WITHOUT, WITH], plan.num_rounds),
            str,
            alike=lambda _way: None,
            budget_s=end_s - time.monotonic(),
            expected_s=look.time_s,
            log=log,
        )

        def execute(job: Job[str]) -> list[Record]:
            done = _run(plan, program, job.case)
            record = {"kind": "run", "benchmark": "assess", "drop_in": job.case == WITH, "time_s": done.time_s}
            return [record | {"figures": done.figures.record()}]

        def take(job: Job[str], lines: list[Record]) -> None:
            last = lines[-1]
            outcome.runs[job.case][job.round] = Run(float(last["time_s"]), figures.of_record(last["figures"]))

        outcome.end = session.run(execute, take)
    log.add(summary(outcome))
    return outcome


def check(found: Figures, name: str) -> None:
    """Raises InputError where there is nothing to assess."""
    if not found.num_ranks:
        raise InputError(f"no process of {name} has used MPI and ended by itself: there is nothing to assess")
    if not found.calls and not found.written_bytes:
        each = bytes_text(found.noise_bytes / found.num_ranks)
        raise InputError(
            f"no rank of {name} made a call of MPI-IO or wrote more than {each}: there is nothing to assess"
        )


def _run(plan: Plan, program: Program, way: str, is_first: bool = False) -> Run:
    with launch.own_folder(program.flavour) as folder:
        variables = {"HAKOBI_WATCH": folder, "HAKOBI_MPIIO": "" if way == WITH else "off"}
        if is_first:
            variables["PNETCDF_HINTS"] = drop_in.pnetcdf_hints_text(os.environ.get("PNETCDF_HINTS", ""))
        done = plan.work.started(program, variables, plan.timeout_s)
        return Run(done.wall_s, figures.read(Path(folder)))


def summary(outcome: Outcome) -> Record:
    """The `summary` record of docs/records.md."""
    verdict = outcome.verdict()
    run_ = outcome.typical(WITHOUT) or outcome.look
    record: Record = {"kind": "summary", "benchmark": "assess", "work": outcome.work.words()}
    record |= {"ranks": run_.figures.num_ranks, "time_s": run_.time_s, "output_s": run_.figures.output_s}
    record |= {"uses_mpi_io": bool(run_.figures.calls), "drop_in": verdict.word, "rounds": verdict.num_rounds}
    if verdict.saved is not None:
        interval = verdict.saved.interval
        record |= {"saved_s": verdict.saved.estimate, "saved_ci_low": interval.low, "saved_ci_high": interval.high}
    return record

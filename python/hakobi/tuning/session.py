"""Runs `hakobi tune`: a search in rounds that drop who is out (hakobi.tuning.race), then the confirmation.

1. A job is one candidate once: a pattern by hakobi-bench-collective, write and read, whose time is the sum of the
   operations' medians; or the user's program under the drop-in, whose time is that of the whole run.
2. The first run, of the defaults, warms up and tells how long a job is: a budget that does not hold LEAST_ROUNDS rounds
   of every candidate and a confirmation is refused at once.
3. The search takes SEARCH_SHARE of the budget, or LEAST_ROUNDS rounds, the confirmation what is left then, at most
   FINAL_ROUNDS rounds. How many rounds there are depends on the time alone, never on what they show.
4. A run that takes PATIENCE times as long as the first one, and LEAST_PATIENCE_S seconds at least, is ended: its
   candidate is out. A run that fails otherwise is run once more, and then a gap (hakobi.measuring.session).
5. Hints of the user's environment are left out of every job: what is tried stands beside the engine's own defaults.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hakobi import conditions, progress
from hakobi.conditions import Conditions
from hakobi.errors import InputError, RunError
from hakobi.measuring.job_log import Log, key_of
from hakobi.measuring.regressions import LEAST_PATIENCE_S, PATIENCE
from hakobi.measuring.session import End, Job, Session, in_rounds
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.tuning import candidates
from hakobi.tuning.candidates import DEFAULTS, Candidate
from hakobi.tuning.race import LEAST_ROUNDS, Choice, Race, choose
from hakobi.tuning.work import Work

SEARCH_ROUNDS, FINAL_ROUNDS = 8, 12
SEARCH_SHARE = 0.6


@dataclass(frozen=True)
class Plan:
    work: Work
    values: dict[str, tuple[str, ...]]  #: of each hint
    budget_s: float
    timeout_s: float


@dataclass
class Outcome:
    plan: Plan
    conditions: Conditions
    search: Race = field(default_factory=Race)
    confirmation: Race = field(default_factory=Race)
    choice: Choice | None = None  #: None where it ended early
    search_end: End = field(default_factory=lambda: End(0))
    final_end: End = field(default_factory=lambda: End(0))

    def exit_status(self) -> int:
        return max(self.search_end.exit_status(), self.final_end.exit_status())


@dataclass(frozen=True)
class Case:
    phase: str
    candidate: Candidate

    def words(self) -> str:
        return f"{self.phase}, {self.candidate.words()}"


def check_budget(budget_s: float, job_s: float, num_candidates: int) -> None:
    """Rule 2. Raises InputError.

    >>> check_budget(100, 1.0, 12)
    """
    needed_s = job_s * (1 + LEAST_ROUNDS * (num_candidates + 3))  # the warm-up; three are in a confirmation at most
    if needed_s > budget_s:
        raise InputError(
            f"--budget {budget_s:g} is too little: a run takes {job_s:.2g} s, and {LEAST_ROUNDS} rounds of "
            f"{num_candidates} candidates and a confirmation about {needed_s:.0f} s; --try names fewer hints"
        )


def run(plan: Plan, json_file: Path | None) -> Outcome:
    """Raises InputError (also for a budget that is too small), StorageError, and RunError when the defaults fail."""
    end_s = time.monotonic() + plan.budget_s
    work = plan.work
    program = work.check()
    tried = candidates.singles(plan.values)
    facts = conditions.collect(program.flavour, {"file": work.folder})
    outcome = Outcome(plan, facts)
    begin_s = time.monotonic()
    with progress.phase("warming up: the defaults"):
        work.run(program, DEFAULTS, plan.timeout_s)
    job_s = time.monotonic() - begin_s
    check_budget(plan.budget_s, job_s, len(tried))
    key = key_of("tune", program, facts, *work.same(), plan.values)
    log = Log(json_file, {"benchmark": "tune", **facts, "work": work.words()}, key)

    def rounds_of(phase: str, those: Sequence[Candidate], num_rounds: int, race: Race, left_s: float) -> End:
        session = Session(
            in_rounds([Case(phase, one) for one in those], num_rounds),
            Case.words,
            alike=lambda _case: None,
            budget_s=left_s,
            log=log,
            wanted=lambda job: not race.is_out(job.case.candidate),
        )
        return session.run(_executing(plan, program, job_s), lambda job, lines: _take(race, job, lines))

    search_s = max(SEARCH_SHARE * (end_s - time.monotonic()), LEAST_ROUNDS * len(tried) * job_s)
    outcome.search_end = rounds_of("search", tried, SEARCH_ROUNDS, outcome.search, search_s).check()
    if outcome.search_end.is_interrupted or outcome.search_end.failure:
        return outcome
    finalists = outcome.search.finalists()
    if finalists:
        final = [DEFAULTS, *finalists]
        left_s = end_s - time.monotonic()
        outcome.final_end = rounds_of("confirmation", final, FINAL_ROUNDS, outcome.confirmation, left_s)
        if outcome.final_end.is_interrupted or outcome.final_end.failure:
            return outcome
    outcome.choice = choose(outcome.confirmation, finalists)
    log.add(summary(outcome))
    return outcome


def summary(outcome: Outcome) -> Record:
    """The `summary` record of docs/records.md, of a search that has chosen."""
    choice = outcome.choice
    assert choice is not None
    record: Record = {"kind": "summary", "benchmark": "tune", "work": outcome.plan.work.words()}
    record |= {"hints": dict(choice.candidate.hints), "rounds": choice.num_rounds}
    if choice.speed is not None:
        interval = choice.speed.interval
        record |= {"speed": choice.speed.estimate, "speed_ci_low": interval.low, "speed_ci_high": interval.high}
    return record


def _executing(plan: Plan, program: Program, job_s: float) -> Callable[[Job[Case]], list[Record]]:
    limit_s = min(plan.timeout_s, max(LEAST_PATIENCE_S, PATIENCE * job_s))

    def execute(job: Job[Case]) -> list[Record]:
        candidate = job.case.candidate
        last: Record = {"kind": "run", "benchmark": "tune", "phase": job.case.phase, "hints": dict(candidate.hints)}
        if candidate == DEFAULTS:
            time_s, lines = plan.work.run(program, candidate, plan.timeout_s)
            return [*lines, {**last, "time_s": time_s}]
        begin_s = time.monotonic()
        try:
            time_s, lines = plan.work.run(program, candidate, limit_s)
        except RunError:
            if time.monotonic() - begin_s < limit_s:
                raise
            return [{**last, "time_s": None, "given_up_s": limit_s}]
        return [*lines, {**last, "time_s": time_s}]

    return execute


def _take(race: Race, job: Job[Case], lines: Sequence[Record]) -> None:
    last = lines[-1]
    if last["time_s"] is None:
        race.given_up_s[job.case.candidate] = float(last["given_up_s"])
    else:
        race.add(job.case.candidate, job.round, float(last["time_s"]))

"""A session: what a study or benchmark runs, job after job, each one shown; what was finished survives its end.

1. A job is a case in a round. A round has every case once, so that what drifts on the machine meets all of them.
2. While a job runs the session says which one it is and about how long it still takes: the longest that its like has
   taken so far. What runs in the round WARM_UP is not counted.
3. A job that fails is run once more. Failed again, it is a gap; a case that failed twice and has no figure is left out
   of the rounds that follow. So is, at once, one that the program refuses after it took others. `End` has the reasons.
4. Ctrl-C ends a session early, and so does what would meet every job: an option that the first is refused for, a
   storage that fails, a failed warm-up. So does its budget: no job is started for which the time left is shorter than
   the shortest of its like, and one that runs on behind the budget's end is ended (`limit_s`). `End` says which; the
   study reports what was finished until then. A job that is no longer `wanted` when its turn comes is none of the
   session's.
5. The records of a job reach the file as a whole, when it has ended. The conditions come first: what is known before
   them waits.
6. A later session of the same key into the same file takes up the jobs that it finds there whole. Each of a job's lines
   says in `session` of which key, run, case and round it is, and of how many lines.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from hakobi import conditions, launch, progress, reasons, records
from hakobi.errors import FormatError, HakobiError, InputError, RunError, TimeLimitError
from hakobi.measuring.job_log import Log
from hakobi.measuring.machine import contention
from hakobi.measuring.storage_model import StorageModel
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.words import count_text, list_text, seconds_text

CaseT = TypeVar("CaseT")

#: The round of a job that warms the machine up.
WARM_UP = -1

#: A job that was begun within the budget may go on behind its end for this part of it, or these seconds.
_MORE, _MORE_S = 0.1, 20.0

#: How a warning of what else the machine does begins.
LOADED = "the machine is loaded"


@dataclass(frozen=True)
class Job(Generic[CaseT]):
    case: CaseT
    round: int  #: from 0, or WARM_UP


@dataclass
class Gap:
    """A figure that a case lacks, and why."""

    rounds: list[int]
    reason: str
    is_whole: bool  #: no round has any


@dataclass
class End:
    """How a session ended, after `num_done` of `num_jobs` jobs; those taken up from a file count."""

    num_jobs: int
    num_done: int = 0
    num_resumed: int = 0
    is_interrupted: bool = False
    is_out_of_time: bool = False
    failure: HakobiError | None = None
    gaps: dict[str, Gap] = field(default_factory=dict)  #: by case
    repeated: list[str] = field(default_factory=list)  #: what failed at first, with its reason
    load: list[str] = field(default_factory=list)  #: what else the machine did when the session began
    told: list[str] = field(default_factory=list)  #: warnings of the programs

    @property
    def is_complete(self) -> bool:
        return self.num_done == self.num_jobs and self.failure is None

    def check(self) -> End:
        """Itself. Raises where no job has ended: what ended the session, or the first gap's reason."""
        if self.num_done:
            return self
        if self.failure is not None:
            raise self.failure
        if self.gaps:
            name, gap = next(iter(self.gaps.items()))
            more = f" (and so did {count_text(len(self.gaps) - 1, 'other case')})" if len(self.gaps) > 1 else ""
            raise RunError(f"{name}: {gap.reason}{more}")
        if self.is_interrupted:
            raise RunError("interrupted before the first run had ended", code="interrupted")
        return self

    def warnings(self) -> list[str]:
        """Warnings that a reader must know before the figures, a sentence each."""
        progress_text = f"{self.num_done} of {self.num_jobs} runs"
        result = list(self.load)
        if self.failure is not None:
            result.append(f"ended early after {progress_text}: {self.failure}")
        if self.is_interrupted:
            result.append(f"interrupted after {progress_text}: the figures are those of the finished ones")
        return result + self.gap_notes() + self.repeated + self.told

    def gap_notes(self) -> list[str]:
        """Notes on what a table lacks, for below it."""
        return [gap_text(name, gap) for name, gap in self.gaps.items()]

    def exit_status(self) -> int:
        """0, or 2 where figures are missing that a user has not given up by a budget; 130 after Ctrl-C."""
        return 130 if self.is_interrupted else 2 if self.failure or self.gaps else 0


def more_s(budget_s: float) -> float:
    """How long what was begun within a budget may go on behind its end.

    >>> more_s(60), more_s(600)
    (20.0, 60.0)
    """
    return max(_MORE_S, _MORE * budget_s)


def load_warnings() -> list[str]:
    """Warnings of what else the machine does now; it is looked at for half a second."""
    return [
        f"{LOADED}: {fact.topic} {fact.finding}: {fact.why}"
        for fact in contention(seconds=0.5)
        if fact.verdict == "trap"
    ]


def gap_text(name: str, gap: Gap) -> str:
    """
    >>> gap_text("root, 2 ranks", Gap([0, 2], "no space left", False))
    'gap: root, 2 ranks: rounds 1 and 3 failed twice: no space left'
    >>> gap_text("root, 2 ranks", Gap([0], "no space left", True))
    'gap: root, 2 ranks: no figure: no space left'
    """
    if gap.is_whole:
        return f"gap: {name}: no figure: {gap.reason}"
    numbers = list_text([str(number + 1) for number in gap.rounds])
    return f"gap: {name}: {'round' if len(gap.rounds) == 1 else 'rounds'} {numbers} failed twice: {gap.reason}"


def say_warnings(command: str, end: End) -> None:
    """Each as a line of `command`'s on stderr; the load was said when the session began."""
    for warning in end.warnings():
        if warning not in end.load:
            sys.stderr.write(f"{command}: {' '.join(warning.split())}\n")


def turned(cases: Sequence[CaseT], number: int) -> list[CaseT]:
    """The cases in the order of round `number`: in none of as many rounds is the same one first.

    >>> turned("abc", 4)
    ['b', 'c', 'a']
    """
    turn = number % max(1, len(cases))
    return [*cases[turn:], *cases[:turn]]


def in_rounds(cases: Sequence[CaseT], num_rounds: int) -> list[Job[CaseT]]:
    """Every case once a round, in turned order."""
    return [Job(case, number) for number in range(num_rounds) for case in turned(cases, number)]


class Session(Generic[CaseT]):
    """The jobs and the time that they may take. `words` names a case, each otherwise. `alike`: cases of which one's
    time says how long the other takes (default: those of the same words). `expected_s`: of a job of which nothing is
    known yet. `log`: where finished jobs are written and taken up from."""

    def __init__(
        self,
        jobs: Sequence[Job[CaseT]],
        words: Callable[[CaseT], str],
        *,
        alike: Callable[[CaseT], Hashable] | None = None,
        budget_s: float = math.inf,
        expected_s: float | None = None,
        log: Log | None = None,
        wanted: Callable[[Job[CaseT]], bool] = lambda _job: True,
    ) -> None:
        self._jobs = list(jobs)
        self._wanted = wanted
        self._words = words
        self._alike = alike or words
        self._budget_s = budget_s
        self._expected_s = expected_s
        self._log = log or Log(None)
        self._num_rounds = 1 + max((job.round for job in jobs), default=0)
        self._taken_s: dict[Hashable, list[float]] = {}
        self._end_s = math.inf
        self._num_left = 0
        self._finished: set[str] = set()  # cases that have a figure
        self._ended = End(sum(job.round != WARM_UP for job in jobs))

    @property
    def share_s(self) -> float:
        """The share of the time left that the running job may take so that those after it have as much."""
        return self._left_s() / self._num_left

    def limit_s(self, most_s: float) -> float:
        """The time limit for the running job: `most_s`, or what is left of the budget and a little more."""
        return min(most_s, self._left_s() + more_s(self._budget_s))

    def run(
        self,
        execute: Callable[[Job[CaseT]], Sequence[Record]],
        take: Callable[[Job[CaseT], list[Record]], None] = lambda _job, _lines: None,
    ) -> End:
        """Executes the jobs in order; raises nothing that rules 3 and 4 name. `execute` returns the records of its job,
        which are written and given to `take`, as those of the jobs that were taken up are before."""
        self._end_s = time.monotonic() + self._budget_s
        try:
            self._take_up(take)
            if any(job.round != WARM_UP for job in self._jobs):
                self._look_around()
                self._run_all(execute, take)
        except KeyboardInterrupt:
            self._ended.is_interrupted = True
        except HakobiError as error:
            self._ended.failure = error
        for name, gap in self._ended.gaps.items():
            gap.is_whole = name not in self._finished
        return self._ended

    def _take_up(self, take: Callable[[Job[CaseT], list[Record]], None]) -> None:
        finished = self._log.finished()
        left = []
        for job in self._jobs:
            lines = finished.get((self._words(job.case), job.round))
            if lines is None:
                left.append(job)
            else:
                self._count(job, lines, take)
        self._jobs = left
        self._ended.num_resumed = self._ended.num_done
        if self._ended.num_resumed:
            sys.stderr.write(f"{count_text(self._ended.num_resumed, 'run')} taken up from {self._log.path}\n")

    def _look_around(self) -> None:
        self._ended.load += load_warnings()
        for text in self._ended.load:
            progress.say(f"hakobi: warning: {text}")

    def _run_all(
        self,
        execute: Callable[[Job[CaseT]], Sequence[Record]],
        take: Callable[[Job[CaseT], list[Record]], None],
    ) -> None:
        for index, job in enumerate(self._jobs):
            name = self._words(job.case)
            self._num_left = len(self._jobs) - index
            if not self._wanted(job):
                self._ended.num_jobs -= 1
                continue
            if name in self._ended.gaps and name not in self._finished:
                self._ended.gaps[name].rounds.append(job.round)
                continue
            if self._left_s() <= min(self._taken_s.get(self._alike(job.case), []), default=0.0):
                self._ended.is_out_of_time = True
                return
            lines = self._execute(index, job, execute)
            if self._ended.is_out_of_time:
                return
            if job.round != WARM_UP and lines is not None:
                with launch.uninterrupted():  # a Ctrl-C must not tell the file and the table apart
                    self._count(job, list(lines), take)  # first, so that a full disk loses no figure
                    self._log.add_job(name, job.round, lines)

    def _execute(
        self, index: int, job: Job[CaseT], execute: Callable[[Job[CaseT]], Sequence[Record]]
    ) -> Sequence[Record] | None:
        """The job's records; None where it is a gap (rule 3)."""
        name = self._words(job.case)
        taken_s = self._taken_s.setdefault(self._alike(job.case), [])
        first = ""
        for attempt in (1, 2):
            begin_s = time.monotonic()
            try:
                with progress.phase(self._text(index), max(taken_s, default=self._expected_s)):
                    lines = execute(job)
            except (RunError, FormatError, InputError) as error:
                if isinstance(error, TimeLimitError) and self._left_s() <= 0:
                    self._ended.is_out_of_time = True
                    return None
                is_refused = isinstance(error, InputError)
                if job.round == WARM_UP or (is_refused and not self._finished):
                    raise
                self._log.add_failure(name, job.round, str(error))
                if attempt == 1 and not is_refused:
                    first = str(error)
                    progress.say(f"{name}, round {job.round + 1} failed and is run once more: {first}")
                else:
                    self._ended.gaps.setdefault(name, Gap([], str(error), True)).rounds.append(job.round)
                    return None
            else:
                taken_s.append(time.monotonic() - begin_s)
                if first:
                    self._ended.repeated.append(f"repeated: {name}: round {job.round + 1} failed at first: {first}")
                return lines
        return None

    def _count(self, job: Job[CaseT], lines: list[Record], take: Callable[[Job[CaseT], list[Record]], None]) -> None:
        take(job, lines)
        self._ended.num_done += 1
        self._finished.add(self._words(job.case))
        told = [str(text) for line in lines for text in line.get("warnings", [])]
        self._ended.told += [text for text in dict.fromkeys(told) if text not in self._ended.told]

    def _left_s(self) -> float:
        return self._end_s - time.monotonic()

    def _text(self, index: int) -> str:
        """ "run 3 of 40 (50 s left): root, 2 ranks, round 1 of 5"."""
        job = self._jobs[index]
        if job.round == WARM_UP:
            return f"warming up: {self._words(job.case)}"
        left_s = min(self._left_s(), self._expected_left_s(index) or math.inf)
        left = f" ({seconds_text(left_s)} left)" if math.isfinite(left_s) else ""
        number = f"run {self._ended.num_jobs - self._num_left + 1} of {self._ended.num_jobs}{left}"
        return f"{number}: {self._words(job.case)}, round {job.round + 1} of {self._num_rounds}"

    def _expected_left_s(self, index: int) -> float:
        """0 while nothing is known; nothing is said of the last job, which says it itself."""
        known = [value for values in self._taken_s.values() for value in values]
        left = self._jobs[index:]
        if not known or len(left) < 2:
            return 0.0
        mean_s = sum(known) / len(known)
        return sum(max(self._taken_s.get(self._alike(job.case)) or [mean_s]) for job in left)


def run_recorded(
    program: Program,
    arguments: Sequence[str],
    ranks: int,
    *,
    what: str = "",
    timeout_s: float | None = None,
    environment: Mapping[str, str] | None = None,
    model: StorageModel | None = None,
    folder: Path | None = None,
    ranks_each: int = 0,
) -> tuple[list[Record], launch.Finished]:
    """Runs one of Hakobi's programs, tells it by --json where its records go, and returns them. With a `model` its
    files below `folder` are modelled; `ranks_each` as in launch.command_line. `what` names the run in a failure's text.

    Raises InputError where it refuses an option (status 2), RunError where it fails, StorageError and FormatError.
    """
    with launch.own_folder(program.flavour) as own:
        extra = {"HAKOBI_COMMIT": conditions.commit() or "", **(environment or {})}
        if model is not None and folder is not None:
            extra |= model.environment(program, folder, Path(own))
        file = Path(own) / "records.jsonl"
        # The caller's own come last: an option that lacks its value must not swallow ours.
        command = ["--json", str(file), *arguments]
        done = launch.run(program, command, ranks, timeout_s=timeout_s, extra_environment=extra, ranks_each=ranks_each)
        if done.status == 2:
            raise InputError(f"{what}: {_refusal(done)}" if what else _refusal(done))
        launch.check(done, what or f"{program.name} on {count_text(ranks, 'rank')}")
        lines = records.read(file)
        if lines and (told := reasons.warnings_of(done.stderr)):
            lines[-1]["warnings"] = told
        return lines, done


def _refusal(done: launch.Finished) -> str:
    """The line in which a program says what is wrong with an option."""
    lines = [line for line in (done.stderr + done.stdout).splitlines() if not line.startswith("Run with --help")]
    return reasons.reason_of("\n".join(lines), done.status)

"""A session: what a study or benchmark runs, job after job, each one shown; what was finished survives its end.

1. A job is a case in a round. A round has every case once, so that what drifts on the machine meets all of them.
2. While a job runs the session says which one it is and about how long it still takes: the longest that its like has
   taken so far. What runs in the round WARM_UP is not counted.
3. Ctrl-C, or a HakobiError of a job, ends a session early. So does its budget: no job is started for which the time
   left is shorter than the shortest of its like. `End` says which; the study reports what was finished until then.
4. The records of a job reach the file as a whole, when it has ended. The conditions come first: what is known before
   them waits.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from hakobi import conditions, launch, progress, records
from hakobi.errors import HakobiError, InputError, RunError, StorageError
from hakobi.measuring.storage_model import StorageModel
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.words import count_text, seconds_text

CaseT = TypeVar("CaseT")

#: The round of a job that warms the machine up.
WARM_UP = -1


@dataclass(frozen=True)
class Job(Generic[CaseT]):
    case: CaseT
    round: int  #: from 0, or WARM_UP


@dataclass
class End:
    """How a session ended, after `num_done` of `num_jobs` jobs."""

    num_jobs: int
    num_done: int = 0
    is_interrupted: bool = False
    is_out_of_time: bool = False
    failure: HakobiError | None = None

    @property
    def is_complete(self) -> bool:
        return self.num_done == self.num_jobs

    def check(self) -> End:
        """Itself. Raises the failure, or RunError when Ctrl-C came before a job had ended."""
        if self.failure is not None:
            raise self.failure
        if self.is_interrupted and self.num_done == 0:
            raise RunError("interrupted before the first run had ended")
        return self


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
    """The jobs and the time that they may take. `words` names a case. `alike`: cases of which one's time says how
    long the other takes (default: those of the same words). `expected_s`: of a job of which nothing is known yet."""

    def __init__(
        self,
        jobs: Sequence[Job[CaseT]],
        words: Callable[[CaseT], str],
        *,
        alike: Callable[[CaseT], Hashable] | None = None,
        budget_s: float = math.inf,
        expected_s: float | None = None,
    ) -> None:
        self._jobs = jobs
        self._words = words
        self._alike = alike or words
        self._budget_s = budget_s
        self._expected_s = expected_s
        self._num_rounds = 1 + max((job.round for job in jobs), default=0)
        self._taken_s: dict[Hashable, list[float]] = {}
        self._end_s = math.inf
        self._ended = End(sum(job.round != WARM_UP for job in jobs))

    @property
    def share_s(self) -> float:
        """Of the time left, what the running job may take so that those after it have as much."""
        return self._left_s() / (self._ended.num_jobs - self._ended.num_done)

    def run(self, execute: Callable[[Job[CaseT]], None]) -> End:
        """Executes the jobs in order; raises nothing that rule 3 names."""
        self._end_s = time.monotonic() + self._budget_s
        try:
            for index, job in enumerate(self._jobs):
                taken_s = self._taken_s.setdefault(self._alike(job.case), [])
                if self._left_s() <= min(taken_s, default=0.0):
                    self._ended.is_out_of_time = True
                    break
                begin_s = time.monotonic()
                with progress.phase(self._text(index), max(taken_s, default=self._expected_s)):
                    execute(job)
                taken_s.append(time.monotonic() - begin_s)
                self._ended.num_done += job.round != WARM_UP
        except KeyboardInterrupt:
            self._ended.is_interrupted = True
        except HakobiError as error:
            self._ended.failure = error
        return self._ended

    def _left_s(self) -> float:
        return self._end_s - time.monotonic()

    def _text(self, index: int) -> str:
        """ "run 3 of 40 (50 s left): root, 2 ranks, round 1 of 5"."""
        job = self._jobs[index]
        if job.round == WARM_UP:
            return f"warming up: {self._words(job.case)}"
        left_s = self._left_s() if math.isfinite(self._end_s) else self._expected_left_s(index)
        left = f" ({seconds_text(left_s)} left)" if left_s else ""
        number = f"run {self._ended.num_done + 1} of {self._ended.num_jobs}{left}"
        return f"{number}: {self._words(job.case)}, round {job.round + 1} of {self._num_rounds}"

    def _expected_left_s(self, index: int) -> float:
        """0 while nothing is known; nothing is said of the last job, which says it itself."""
        known = [value for values in self._taken_s.values() for value in values]
        left = self._jobs[index:]
        if not known or len(left) < 2:
            return 0.0
        mean_s = sum(known) / len(known)
        return sum(max(self._taken_s.get(self._alike(job.case)) or [mean_s]) for job in left)


class Log:
    """A session's file of records, or none (rule 4)."""

    def __init__(self, path: Path | None, conditions_line: Record | None = None) -> None:
        """With `conditions_line` it is begun. Raises StorageError, and FormatError for a file of something else."""
        self._path = path
        self._waiting: list[Record] = []
        self._is_begun = False
        if path and path.is_file():
            records.read(path)
        if conditions_line is not None:
            self.begin(conditions_line)

    def begin(self, conditions_line: Record) -> None:
        """Writes the conditions if they are not there yet, then what waited for them. Raises StorageError."""
        if not self._is_begun:
            self._is_begun = True
            self.add({"kind": "conditions", **conditions_line}, *self._waiting)

    def add(self, *lines: Record) -> None:
        """Writes all of them, whatever signal comes meanwhile. Raises StorageError."""
        if not self._is_begun:
            self._waiting += lines
        elif self._path is not None:
            with launch.uninterrupted():
                for line in lines:
                    records.append(self._path, line)


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
) -> tuple[list[Record], launch.Finished]:
    """Runs one of Hakobi's programs, tells it by --json where its records go, and returns them. With a `model` its
    files below `folder` are modelled. `what` names the run in a failure's text.

    Raises InputError where it refuses an option (status 2), RunError where it fails, StorageError and FormatError.
    """
    with tempfile.TemporaryDirectory(prefix="hakobi-run-") as own:
        extra = {"HAKOBI_COMMIT": conditions.commit() or "", **(environment or {})}
        if model is not None and folder is not None:
            extra |= model.environment(program, folder, Path(own))
        file = Path(own) / "records.jsonl"
        # The caller's own come last: an option that lacks its value must not swallow ours.
        command = ["--json", str(file), *arguments]
        done = launch.run(program, command, ranks, timeout_s=timeout_s, extra_environment=extra)
        if done.status == 2:
            raise InputError(f"{what}: {_refusal(done)}" if what else _refusal(done))
        launch.check(done, what or f"{program.name} on {count_text(ranks, 'rank')}")
        return records.read(file), done


def place_below(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """A new folder for a job's files, which goes with them. Raises StorageError."""
    try:
        return tempfile.TemporaryDirectory(prefix="hakobi-run-", dir=folder)
    except OSError as error:
        raise StorageError(f"cannot write into {folder}: {error.strerror}") from error


def _refusal(done: launch.Finished) -> str:
    """The line in which a program says what is wrong with an option."""
    lines = [line for line in (done.stderr + done.stdout).splitlines() if not line.startswith("Run with --help")]
    return launch.reason_of("\n".join(lines), done.status)

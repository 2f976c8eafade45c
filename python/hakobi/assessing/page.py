"""The page of `hakobi assess`: a table of the calls, and a sentence for each thing that decides. Pure but for `storage`
and `show`."""

from __future__ import annotations

import shlex
from pathlib import Path

from hakobi import conditions
from hakobi.assessing.figures import Calls, Figures
from hakobi.assessing.session import WITH, WITHOUT, Outcome, Run, Verdict
from hakobi.table import Table
from hakobi.table import show as show_table
from hakobi.tuning.race import LEAST_ROUNDS
from hakobi.words import bytes_text, count_text, list_text, percent_text, seconds_digits, seconds_text

#: A function that moves no data has a row from this part of the run on.
_LEAST_SHARE = 0.01


def table_of(title: str, run: Run) -> Table:
    """A row for each function that counts, the longest first."""
    view = Table(title, ["<call", "<", "ranks", "calls", "bytes", "a call", "slowest rank", "of the run"])
    left: list[Calls] = []
    for one in run.figures.calls:
        if not one.bytes and one.slowest_s < _LEAST_SHARE * run.time_s:
            left.append(one)
            continue
        sizes = [bytes_text(one.bytes), bytes_text(one.bytes / one.num_calls)] if one.bytes else ["", ""]
        share = percent_text(one.slowest_s / run.time_s)
        times = [seconds_text(one.slowest_s), share]
        view.add(f"MPI_{one.name}", one.kind(), str(one.num_ranks), str(one.num_calls), *sizes, *times)
    if left:
        names = list_text([one.name.removeprefix("File_") for one in left])
        view.notes.append(f"less than 1 % of the run, and no data: {names}")
    if any(one.is_nonblocking for one in run.figures.calls):
        view.notes.append("of nonblocking calls, the waiting in MPI_Wait is not seen")
    return view


def moved_words(found: Figures) -> str:
    """
    >>> moved_words(Figures(2, (), (), 0, 0.0, 0.0, 0, 10_000_000, 0))
    'no call of MPI-IO; written otherwise: 10.0 MB, 5.00 MB a rank'
    """
    parts = ["no call of MPI-IO"]
    if found.calls:
        amounts = [bytes_text(found.asked_bytes(is_write)) for is_write in (True, False)]
        num_files = count_text(len(found.files) + found.num_more_files, "file")
        parts = [f"by MPI-IO: {amounts[0]} written, {amounts[1]} read, {num_files}"]
    if other := found.other_bytes():
        parts.append(f"written otherwise: {bytes_text(other)}, {bytes_text(other / found.num_ranks)} a rank")
    return "; ".join(parts)


def verdict_words(verdict: Verdict, without_s: float, is_out_of_time: bool = False) -> str:
    """The sentence on the drop-in; `without_s`: of a run without it."""
    if verdict.saved is None:
        why = f"{count_text(verdict.num_rounds, 'round')} ended of the {LEAST_ROUNDS} that are needed"
        budget_s = 1.3 * without_s * (1 + 2 * LEAST_ROUNDS)
        return f"drop-in: not measured: {why}{f': --budget {budget_s:.0f}' * is_out_of_time}"
    saved = verdict.saved
    low, high = saved.interval.low, saved.interval.high
    sign = -1 if verdict.word == "costs" else 1
    low, high = sorted((sign * low, sign * high))
    span = f"{seconds_digits(low)} to {seconds_digits(high)} s, {count_text(verdict.num_rounds, 'round')}"
    if verdict.word == "cannot be told":
        return (
            f"drop-in: whether it saves time cannot be told: {seconds_text(saved.estimate)} ({span}); --rounds for more"
        )
    amount_s = sign * saved.estimate
    share = percent_text(amount_s / without_s)
    return f"drop-in: {verdict.word} {seconds_text(amount_s)} of {seconds_text(without_s)}, {share} ({span})"


def hidden_words(run: Run) -> str:
    """The sentence on hidden output: a bound, and no guess."""
    found = run.figures
    if not found.asked_bytes(is_write=True):
        if found.other_bytes():
            return (
                "hidden output (hakobi::Output): how long the program waits in its own writes is not seen; it can save "
                "at most that"
            )
        return "hidden output (hakobi::Output): nothing, the program only reads"
    share = percent_text(found.output_s / run.time_s)
    way = "hakobi run --hidden=close, docs/hidden.md" if found.calls else "hakobi::Output"
    return (
        f"hidden output ({way}): the program waited {seconds_text(found.output_s)} of "
        f"{seconds_text(run.time_s)} ({share}) in output: it can save at most that"
    )


def line_words(outcome: Outcome, verdict: Verdict) -> str:
    """The line for the job script."""
    command = shlex.join(outcome.work.command)
    if verdict.word == "saves":
        launcher = outcome.work.command[0]
        return f"job script: hakobi run -- {command}\n            (export lines: hakobi run --print -- {launcher} …)"
    if not outcome.look.figures.calls:
        return "job script: no line: the drop-in serves MPI-IO alone; Output would be the way (docs/migrating)"
    if verdict.word == "not measured":
        return "job script: no line: nothing was measured"
    return "job script: no line: nothing was saved"


def storage(outcome: Outcome) -> str:
    """On which file systems the program's files were, or where it ran."""
    files = outcome.look.figures.files
    found = dict.fromkeys(_storage_of(Path(file).parent) for file in files)
    return f"storage: {', '.join(found)}" if found else f"storage: {_storage_of(outcome.work.folder)}, where it ran"


def _storage_of(folder: Path) -> str:
    facts = conditions.file_system(folder)
    stripes = f", {facts['layout']}" if facts.get("layout") else ""
    return f"{facts.get('type', 'unknown type')} at {facts.get('mount', folder)}{stripes}"


def sentences(outcome: Outcome) -> list[str]:
    """All below the table, but for `storage`."""
    measured, with_it = outcome.typical(WITHOUT), outcome.typical(WITH)
    run = measured or outcome.look
    verdict = outcome.verdict()
    result = [moved_words(run.figures)]
    if outcome.look.figures.calls:
        waited = f"{seconds_text(run.figures.waited_s)} ({percent_text(run.figures.waited_s / run.time_s)})"
        after = f", {seconds_text(with_it.figures.waited_s)} with the drop-in" if with_it else ""
        result.append(f"the rank that waited longest in MPI-IO: {waited} without the drop-in{after}")
        if not run.figures.calls:
            result.append("without the drop-in PnetCDF writes by its own driver, past MPI-IO")
        result.append(verdict_words(verdict, run.time_s, outcome.end.is_out_of_time))
    return [*result, hidden_words(run), line_words(outcome, verdict)]


def show(outcome: Outcome) -> None:
    run = outcome.typical(WITHOUT) or outcome.look
    title = f"{outcome.work.words()}: {count_text(run.figures.num_ranks, 'rank')}, {seconds_text(run.time_s)} a run"
    shown = run if run.figures.calls else outcome.look
    view = table_of(title, shown)
    first, *others = sentences(outcome)
    view.notes += [first, storage(outcome), *others]
    if shown.figures.calls:
        show_table(view)
    else:
        print("\n".join([title, *view.notes]))

"""`hakobi bench replay`: a recorded program's communication time beside three predictions of it.

The application's own time is the one that it spent in its MPI calls while it was recorded. The predictions: walking
through its trace with cold figures, with hot figures (prediction.py), and doing the same communication again between
waits as long as its own computing (the program hakobi-replay).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hakobi import conditions, launch, programs, progress, records, statistics
from hakobi.errors import FormatError, InputError
from hakobi.measuring.session import run_recorded
from hakobi.records import Record
from hakobi_lab.measuring import prediction
from hakobi_lab.measuring.trace import Trace

#: Distinct message sizes that are measured as they are; more are covered by powers of two.
MOST_SIZES = 12
#: The pattern whose figures stand for a message of a halo exchange: both ranks send and receive at once.
MESSAGE_PATTERN = "bidirectional"
LARGEST = 64 << 20


@dataclass
class Outcome:
    """Seconds, as the mean over ranks; `replays` are the repetitions."""

    application_s: float
    predicted_s: dict[str, float]  #: "cold", "hot", "replay"
    waiting_s: dict[str, float]  #: of "cold" and "hot": the part in which a partner had not come yet
    replays: list[float]
    other_s: float
    notes: list[str] = field(default_factory=list)

    def error(self, name: str) -> float:
        """Relative error of a prediction."""
        return self.predicted_s[name] / self.application_s - 1

    def nearest(self, names: tuple[str, ...] = ("cold", "hot", "replay")) -> str:
        return min((name for name in names if name in self.predicted_s), key=lambda name: abs(self.error(name)))


def sizes_to_measure(sizes: list[int]) -> list[int]:
    """The sizes themselves where they are few, else the powers of two around and between them.

    >>> sizes_to_measure([100, 8])
    [8, 100]
    >>> sizes_to_measure(list(range(100, 113)))
    [64, 128]
    """
    distinct = sorted({min(size, LARGEST) for size in sizes})
    if len(distinct) <= MOST_SIZES:
        return distinct
    low = 1 << max(0, max(1, distinct[0]).bit_length() - 1)
    result = [0] if distinct[0] == 0 else []
    while True:
        result.append(low)
        if low >= distinct[-1]:
            return result
        low *= 2


def measure_figures(trace: Trace, budget_s: float, timeout_s: float) -> list[Record]:
    """Hot and cold figures for what the trace has, from hakobi-bench-mpi: messages between 2 ranks, collectives on as
    many ranks as the program had. Raises RunError when the benchmark fails."""
    needs: dict[tuple[str, int], list[int]] = defaultdict(list)
    if sizes := list(trace.message_sizes()):
        needs[MESSAGE_PATTERN, 2] += sizes
    for call, size, count in trace.collectives():
        if size > 1:
            needs[prediction.STANDS_FOR[call], size].append(count)
    program = programs.find("hakobi-bench-mpi")
    result: list[Record] = []
    for (pattern, ranks), wanted in needs.items():
        sizes_text = ",".join(map(str, sizes_to_measure(wanted)))
        arguments = ["--pattern", pattern, "--sizes", sizes_text, "--budget", str(budget_s)]
        with progress.phase(f"measuring {pattern} on {ranks} ranks"):
            result += run_recorded(program, arguments, ranks, what=f"measuring {pattern}", timeout_s=timeout_s)[0]
    return result


_MOST_S = 1e9  #: of one message: what lies beyond is damage, and its sums would overflow


def figures_of(lines: list[Record], contender: str) -> dict[tuple[str, int], prediction.Figures]:
    """(pattern, ranks) -> seconds over bytes, of the `measurement` records of one contender ("hot" or "cold"); the
    median of what was measured several times. Raises InputError for several transports, FormatError."""
    points: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    transports: set[str] = set()
    for line in lines:
        if line.get("kind") == "measurement" and line.get("benchmark") == "mpi" and line.get("contender") == contender:
            where = "a measurement"
            transports.add(str(line.get("transport", "")))
            key = (str(line.get("pattern")), int(records.number(line, "ranks", where)))
            size, median = int(records.number(line, "bytes", where)), records.number(line, "median", where)
            if size < 0 or not 0 < median <= _MOST_S:
                raise FormatError(f"{where}: {median:g} s for {size} bytes is no figure")
            points[key][size].append(median)
    if len(transports) > 1:
        raise InputError(f"the figures are of several transports ({', '.join(sorted(transports))}): give those of one")
    return {
        key: prediction.Figures({size: float(np.median(medians)) for size, medians in values.items()})
        for key, values in points.items()
    }


def other_libraries(trace: Trace, lines: list[Record]) -> list[str]:
    """Notes where the trace, the figures and the replay are not of one MPI library."""
    own = _library_name(trace.mpi_library)
    seen = {_library_name(str(line.get("mpi_library", ""))) for line in lines if line.get("kind") == "conditions"}
    notes = [f"the program ran with {own}, the figures are of {name}" for name in sorted(seen) if own and name != own]
    here = {"openmpi": "Open MPI", "mpich": "MPICH"}.get(programs.flavour(), "")
    if own and here and not own.startswith(here):
        notes.append(f"the program ran with {own}, the replay with {here}: HAKOBI_MPI chooses another")
    return notes


def _library_name(version: str) -> str:
    """Name and number of an MPI library's version text.

    >>> _library_name("Open MPI v4.1.4, package: Debian"), _library_name("MPICH Version: 4.0.2 MPICH Release date: x")
    ('Open MPI 4.1.4', 'MPICH 4.0.2')
    """
    found = re.match(r"(Open MPI|MPICH|MVAPICH2?|Intel\S* MPI)\D*([\d.]+)", version)
    return f"{found.group(1)} {found.group(2)}" if found else version


def _collective(figures: dict[tuple[str, int], prediction.Figures]) -> Callable[[str, int, int], float]:
    def seconds(call: str, ranks: int, size: int) -> float:
        if ranks <= 1:
            return 0.0
        pattern = prediction.STANDS_FOR[call]
        if (pattern, ranks) not in figures:
            raise InputError(f"the figures have no {pattern} on {ranks} ranks, which the trace's {call} needs")
        return figures[pattern, ranks].seconds(size)

    return seconds


def predict(trace: Trace, lines: list[Record], contender: str, eager_bytes: int) -> prediction.Prediction:
    """The prediction by one contender's figures. Raises InputError when a pattern that the trace needs is missing."""
    figures = figures_of(lines, contender)
    message = figures.get((MESSAGE_PATTERN, 2))
    if message is None:
        if trace.message_sizes():
            raise InputError(f"the figures have no {contender} {MESSAGE_PATTERN} on 2 ranks")
        message = prediction.Figures({0: 1e-6})
    return prediction.predict(trace, message, _collective(figures), eager_bytes)


def replay(trace: Trace, repetitions: int, eager_bytes: int, timeout_s: float) -> tuple[list[float], int]:
    """Seconds in communication of each repetition (mean over ranks), by hakobi-replay, and how many calls failed.
    Raises FormatError where it finds that a replay would hang, RunError where it fails otherwise."""
    program = programs.find("hakobi-replay")
    arguments = [str(trace.path), "--repetitions", str(repetitions), "--eager", str(eager_bytes)]
    with progress.phase(f"replaying {len(trace.ranks)} ranks"):
        finished = launch.run(program, arguments, len(trace.ranks), timeout_s=timeout_s)
    if finished.status == 2:
        raise FormatError(finished.reason())
    launch.check(finished, "replaying")
    found: list[float] = []
    failed = 0
    for line in finished.stdout.splitlines():
        if line.startswith("{"):
            record: dict[str, Any] = json.loads(line)
            found.append(float(np.mean(record["communication_s"])))
            failed += int(record["num_failed_calls"])
    return found, failed


def evaluate(trace: Trace, lines: list[Record], *, repetitions: int, eager_bytes: int, timeout_s: float) -> Outcome:
    """Everything beside the application's own time."""
    predicted: dict[str, float] = {}
    waiting: dict[str, float] = {}
    for name in ("cold", "hot"):
        result = predict(trace, lines, name, eager_bytes)
        predicted[name] = float(np.mean(result.communication_s))
        waiting[name] = float(np.mean(result.waiting_s))
    replays: list[float] = []
    failed = 0
    not_replayed = ""
    if repetitions > 0:
        try:
            replays, failed = replay(trace, repetitions, eager_bytes, timeout_s)
        except FormatError as error:  # stricter than the prediction, which stands
            not_replayed = str(error)
    if replays:
        predicted["replay"] = float(np.median(replays))
    own = float(np.mean(trace.communication_s()))
    if own <= 0:
        raise InputError(f"{trace.path} holds no communication that could be predicted")
    outcome = Outcome(own, predicted, waiting, replays, float(np.mean(trace.other_s())))
    if not_replayed:
        outcome.notes.append(f"not replayed: {not_replayed}")
    if failed:
        outcome.notes.append(f"{failed} calls of the replays failed: their messages met others than in the program")
    if trace.dropped:
        outcome.notes.append(f"{trace.dropped} calls did not fit the recorder (HAKOBI_RECORD_EVENTS) and are missing")
    if outcome.other_s > 0.01 * own:
        named = f" (the program's: {names})" if (names := trace.not_replayed_text()) else ""
        outcome.notes.append(
            f"{outcome.other_s:.3g} s a rank were spent in calls whose messages are not recorded{named}; "
            "they are in no figure"
        )
    return outcome


def summary_record(trace: Trace, outcome: Outcome, steps: int | None) -> Record:
    """The `summary` record of docs/records.md."""
    return {
        "kind": "summary",
        "benchmark": "replay",
        "command": trace.command,
        "ranks": len(trace.ranks),
        "steps": steps,
        "communication_s": outcome.application_s,
        **{f"{name}_s": value for name, value in outcome.predicted_s.items()},
        **{f"{name}_error": outcome.error(name) for name in outcome.predicted_s},
        **{f"{name}_waiting_s": value for name, value in outcome.waiting_s.items()},
        "replay_spread_s": statistics.summarise(outcome.replays).spread if outcome.replays else None,
        "nearest": outcome.nearest(),
    }


def write_records(path: Path, trace: Trace, lines: list[Record], outcome: Outcome, steps: int | None) -> None:
    """Conditions, the figures that were used, and the summary."""
    records.append(path, {"kind": "conditions", "benchmark": "replay", "conditions": conditions.collect()})
    for line in lines:
        if line.get("kind") == "measurement":
            records.append(path, line)
    records.append(path, summary_record(trace, outcome, steps))

"""Runs `hakobi bench collective --suite NAME`: programs' MPI-IO with the drop-in, beside the library alone.

1. A job is a case by one contender on one storage; the contenders' jobs take turns, forwards and then backwards. A job
   repeats the case; the library's sets of hints take turns in its job.
2. A contender's time is the median of its samples in all rounds, from opening to closing. The verdict is the ratio of
   speeds, ours to the best contender's: 1 is as fast, less is slower. Beside it stands the range of the rounds' ratios.
3. A job of ours that fails, or whose bytes are wrong, is a verdict of 0. A peer's that fails is named and left out. One
   whose job takes PATIENCE times as long as ours, which goes first, is not the best contender: so is it.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hakobi import conditions, drop_in, files, launch, programs, progress
from hakobi.errors import HakobiError, RunError, unknown_name
from hakobi.measuring import collective
from hakobi.measuring.job_log import Log
from hakobi.measuring.regression_cases import CASES, MODEL, OVERLAP, SOLVER, STEPS, TMPFS, Case
from hakobi.measuring.session import End, Job, Session
from hakobi.measuring.storage_model import StorageModel
from hakobi.records import Record
from hakobi.table import Table

OURS, FLOOR, NO_OUTPUT = "hakobi", "plain calls", "no output"

#: A peer's job may take so many times as long as our longest of the case, and at least so many seconds.
PATIENCE, LEAST_PATIENCE_S = 5.0, 8.0


@dataclass(frozen=True)
class Contender:
    """A job's environment, and what its sets of hints are called."""

    names: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    method: str = ""  #: of hakobi-bench-steps
    words: str = ""  #: another shape than the case's
    has_drop_in: bool = False
    drop_in: Path | None = None  #: another than this build's


@dataclass
class Row:
    """A case on a storage. `samples`: by operation and contender, each round's."""

    case: Case
    storage: str
    samples: dict[tuple[str, str], dict[int, list[Record]]] = field(default_factory=lambda: defaultdict(dict))
    failed: dict[str, str] = field(default_factory=dict)  #: contender -> why
    ours_s: float = 0.0  #: of our longest job, launch to end


def chosen(suite: str, names: Sequence[str], storages: Sequence[str]) -> list[Row]:
    """Raises InputError for a case or storage that there is none of."""
    cases = [case for case in CASES if case.suite == suite]
    for name in names:
        if name not in (known := [case.name for case in cases]):
            raise unknown_name("case", name, known)
    for storage in storages:
        if storage not in (MODEL, TMPFS):
            raise unknown_name("storage", storage, (MODEL, TMPFS))
    return [
        Row(case, storage)
        for case in cases
        for storage in storages or (MODEL, TMPFS)
        if storage in case.storages and (not names or case.name in names)
    ]


def contenders_of(case: Case, peers: Sequence[collective.Component]) -> list[Contender]:
    """Ours first."""
    if case.program == STEPS:
        return [Contender((OURS,), method="pipelined"), *([Contender(("root",), method="root")] if peers else [])]
    if case.program == SOLVER:
        return _contenders_of_solver(case, peers)
    result = [Contender((OURS,), has_drop_in=True)]
    if case.floor and peers:
        result.append(Contender((FLOOR,), words=case.floor))
    for peer in peers:
        hints = case.hints if "ROMIO" in peer.contender else ()
        names = (peer.contender, *(f"{peer.contender} {hint}" for hint in hints))
        result.append(Contender(names, peer.environment, ("", *hints)))
    return result


def _contenders_of_solver(case: Case, peers: Sequence[collective.Component]) -> list[Contender]:
    result = [Contender((OURS,), words=f"{case.words} iwrite", has_drop_in=True)]
    if peers:
        result.append(Contender((NO_OUTPUT,), words=f"{case.words} none"))
    for peer in peers:
        hints = case.hints if "ROMIO" in peer.contender else ()
        for call in ("iwrite", "write"):
            names = tuple(" ".join([peer.contender, call, *([hint] if hint else [])]) for hint in ("", *hints))
            result.append(Contender(names, peer.environment, ("", *hints), words=f"{case.words} {call}"))
    return result


def run(rows: list[Row], folder: Path, json_file: Path | None, *, compare: bool, rounds: int, timeout_s: float) -> End:
    """Fills the rows. Raises InputError and StorageError before the first job."""
    files.prepare_folder(folder)
    flavour = programs.find(rows[0].case.program).flavour
    peers = collective.components(flavour) if compare else []
    facts = conditions.collect(flavour, {"file": folder})
    log = Log(json_file, {"benchmark": rows[0].case.suite, **facts, "storage_model": StorageModel().value()})
    jobs: list[Job[tuple[Row, Contender]]] = []
    last: dict[int, Row] = {}  # a row's last job -> the row
    for row in rows:
        order = contenders_of(row.case, peers)
        jobs += [Job((row, one), turn) for turn in range(rounds) for one in (order if turn % 2 == 0 else order[::-1])]
        last[id(jobs[-1])] = row

    def execute(job: Job[tuple[Row, Contender]]) -> Sequence[Record]:
        row, contender = job.case
        _run_job(row, contender, job.round, folder, timeout_s)
        if id(job) in last:
            log.add(*samples_of(row))
            found = ", ".join(_progress(verdict) for verdict in verdicts([row]))
            progress.say(f"{row.case.name}, {row.storage}: {found}")
        return ()

    def words(one: tuple[Row, Contender]) -> str:
        return f"{one[0].case.name}, {one[0].storage}, {one[1].names[0]}"

    return Session(jobs, words).run(execute)


def _progress(verdict: Record) -> str:
    ratio = verdict["ratio_to_best"]
    return f"{verdict['operation']} {'measured' if ratio is None else f'{ratio:.2f} of the best'}"


def _run_job(row: Row, contender: Contender, turn: int, folder: Path, timeout_s: float) -> None:
    name = contender.names[0]
    if name in row.failed:
        return
    is_peer_of_known = name != OURS and row.ours_s > 0
    if is_peer_of_known:
        timeout_s = min(timeout_s, max(LEAST_PATIENCE_S, PATIENCE * row.ours_s))
    begin_s = time.monotonic()
    try:
        lines = _samples(row, contender, folder, timeout_s)
    except HakobiError as error:
        row.failed[name] = str(error)
        for taken in row.samples.values():
            taken.pop(turn, None) if name == OURS else None
        if is_peer_of_known and time.monotonic() - begin_s >= timeout_s:
            row.failed[name] = f"a job took more than {timeout_s:.0f} s, ours {row.ours_s:.1f} s"
        progress.say(f"{name} failed: {error}" if name == OURS else f"{name} is left out: {row.failed[name]}")
        return
    if name == OURS:
        row.ours_s = max(row.ours_s, time.monotonic() - begin_s)
    for line in lines:
        one = contender.names[int(line["hint_set"])]
        row.samples[str(line["operation"]), one].setdefault(turn, []).append(line)


def _samples(row: Row, contender: Contender, folder: Path, timeout_s: float) -> list[Record]:
    case = row.case
    program = programs.find(case.program)
    with (
        launch.own_folder(program.flavour, folder) as place,
        launch.own_folder(program.flavour) as own,
    ):
        variables = {"LD_PRELOAD": "", **contender.environment}
        libraries: list[Path] = []
        if row.storage == MODEL:
            variables |= StorageModel().environment(program, Path(place), Path(own))
            libraries.append(Path(variables["LD_PRELOAD"]))
        if contender.has_drop_in:
            library, why = contender.drop_in, ""
            if library is None:
                library, why = drop_in.find_library(drop_in.look_at([str(program.path)]))
            if library is None:
                raise RunError(why)
            libraries.append(library)
        variables["LD_PRELOAD"] = ":".join(str(library) for library in libraries)
        if case.program == STEPS:
            arguments = [contender.method, *case.arguments(row.storage), str(Path(place) / "step")]
        else:
            arguments = ["--dir", place]
            if case.program != SOLVER:
                arguments += ["--budget", f"{case.budget_s:g}", "--min-samples", str(case.least)]
            arguments += [part for hint in contender.hints for part in ("--hints", hint)]
            arguments += contender.words.split() or case.arguments(row.storage)
        done = launch.run(program, arguments, case.ranks, timeout_s=timeout_s, extra_environment=variables)
        launch.check(done, f"{case.name} on {row.storage}, {contender.names[0]}")
        if case.program == STEPS:
            _compare_steps(row, contender, Path(place))
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise RunError(f"{case.name} on {row.storage}, {contender.names[0]}: no samples")
    return lines


#: The bytes of a case's steps, by whichever method came first.
_step_sums: dict[str, list[str]] = {}


def _compare_steps(row: Row, contender: Contender, place: Path) -> None:
    """All methods write the same bytes. Raises RunError."""
    import hashlib

    steps = sorted(place.glob("step_*"))
    sums = [hashlib.blake2b(path.read_bytes()).hexdigest() for path in steps]
    if len(steps) != int(row.case.arguments(row.storage)[0]) or sums != _step_sums.setdefault(row.case.name, sums):
        raise RunError(f"{row.case.name}, {contender.names[0]}: other bytes than the other method's")


def samples_of(row: Row) -> list[Record]:
    return [
        {
            **line,
            "case": row.case.name,
            "storage": row.storage,
            "contender": name,
            "ranks": row.case.ranks,
            "round": turn,
        }
        for (_, name), rounds in row.samples.items()
        for turn, lines in rounds.items()
        for line in lines
    ]


def _median_s(rounds: Mapping[int, Sequence[Record]], key: str = "time_s") -> float:
    """The median of the rounds' medians: samples of one job are alike in what a job does to them."""
    return float(np.median([np.median([line[key] for line in lines]) for lines in rounds.values()]))


def verdicts(rows: Sequence[Row]) -> list[Record]:
    """One a case, operation and storage, the worst ratio first. `ratio_to_best` is None where there is no peer."""
    result: list[Record] = []
    for row in rows:
        operations = dict.fromkeys(operation for operation, _ in row.samples) or {"write": None}
        for operation in operations:
            times = {name: rounds for (one, name), rounds in row.samples.items() if one == operation}
            verdict = _verdict(row, operation, times)
            result.append(verdict)
    return sorted(result, key=lambda one: (one["ratio_to_best"] is None, one["ratio_to_best"] or 0.0))


def _verdict(row: Row, operation: str, times: Mapping[str, Mapping[int, Sequence[Record]]]) -> Record:
    verdict: Record = {"kind": "verdict", "case": row.case.name, "operation": operation, "storage": row.storage}
    rivals = {name: _median_s(rounds) for name, rounds in times.items() if name not in (OURS, FLOOR, NO_OUTPUT)}
    best = min(rivals, key=lambda name: rivals[name]) if rivals else None
    if OURS in row.failed or OURS not in times:
        why = row.failed.get(OURS, "no samples")
        return {**verdict, "ratio_to_best": 0.0, "best_contender": best, "error": why}
    ours = times[OURS]
    verdict |= {"ratio_to_best": None, "best_contender": best, "time_s": _median_s(ours)}
    if best is not None:
        theirs = times[best]
        both = ours.keys() & theirs.keys()
        ratios = [_median_s({0: theirs[turn]}) / _median_s({0: ours[turn]}) for turn in both]
        ratio = float(np.median(ratios)) if ratios else rivals[best] / _median_s(ours)
        verdict |= {"ratio_to_best": ratio, "best_time_s": rivals[best]}
        verdict |= {"ratio_low": min(ratios), "ratio_high": max(ratios)} if ratios else {}
    if row.case.program != STEPS:
        verdict["call_time_s"] = _median_s(ours, "call_s")
        moved = next(iter(ours.values()))[0]["bytes"]
        verdict["cpu_s_per_gb"] = 1e9 * _median_s(ours, "cpu_s") / moved
        if alone := times.get(NO_OUTPUT):
            verdict["of_floor"] = _median_s(alone) / _median_s(ours)
        if row.storage == MODEL and row.case.floor:
            verdict["of_limit"] = moved / 1e9 / _median_s(ours) / StorageModel().limit_gb_s
        if plain := times.get(FLOOR):
            floor_bytes_s = next(iter(plain.values()))[0]["bytes"] / _median_s(plain)
            verdict["of_floor"] = moved / _median_s(ours) / floor_bytes_s
    return verdict


def table_of(found: Sequence[Record], rows: Sequence[Row], rounds: int) -> Table:
    is_overlap = any(row.case.suite == OVERLAP for row in rows)
    view = Table(
        "Overlap" if is_overlap else "Regressions",
        [
            "<case",
            "<",
            "<storage",
            "to best",
            "rounds",
            "ms",
            "best ms",
            "calls ms",
            "of floor",
            "of limit",
            "<best contender",
        ],
    )
    for one in found:
        ratio = one["ratio_to_best"]
        view.add(
            one["case"],
            one["operation"],
            one["storage"],
            "" if ratio is None else f"{ratio:.3f}",
            f"{one['ratio_low']:.2f}..{one['ratio_high']:.2f}" if "ratio_low" in one else "",
            _ms(one.get("time_s")),
            _ms(one.get("best_time_s")),
            _ms(one.get("call_time_s")),
            f"{one['of_floor']:.3f}" if "of_floor" in one else "",
            f"{one['of_limit']:.3f}" if "of_limit" in one else "",
            f"failed: {one['error']}" if "error" in one else one["best_contender"] or "",
        )
    if is_overlap:
        view.notes.append(
            "a step of a program that computes and writes; ours by MPI_File_iwrite_at_all, peers by that or"
        )
        view.notes.append("by MPI_File_write_at_all; to best: our speed over the fastest contender's")
        view.notes.append(
            "calls: what a step takes longer than its computing alone; floor: the same steps without output"
        )
    else:
        view.notes.append(
            "to best: our speed over that of the fastest contender; from opening a new file to closing it"
        )
        view.notes.append(
            "calls: ours without opening and closing; every byte was verified after the clock had stopped"
        )
        view.notes.append("floor: as many bytes by plain pwrite and pread of 4 MiB by every rank; limit: the model's")
    view.notes.append(f"rounds: the ratios of {rounds} rounds; model: {StorageModel().words()}")
    for row in rows:
        for name, why in row.failed.items():
            if name != OURS:
                view.notes.append(f"{row.case.name}, {row.storage}: {name} is left out: {why}")
    return view


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:.3g}" if seconds < 1 else f"{1000 * seconds:.0f}"

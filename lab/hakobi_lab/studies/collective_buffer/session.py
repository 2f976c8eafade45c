"""Runs `hakobi study collective-buffer`: throughput over the size of the collective buffer, by file access and ranks.

1. A job of hakobi-bench-collective measures one (ranks, buffer size): the floor and every access in turn, write and
   read. So the accesses are compared between neighbours in time; sizes and rank counts are jobs of their own. A
   second component of the MPI library cannot share a program: it takes turns with the floor and the original in one
   of its own, behind the first.
2. A round has every case once, few ranks before many. The first goes over every second size before the others, later
   ones turn back and forth: what a budget cuts off is spread over a figure, and drift falls on all sizes.
3. A job's samples take SAMPLING_SHARE of its share of the time left; a job for which that is too short ends the study.
4. With a file of records a finished job is appended as a whole: its samples, then its `run` record. A later study of
   the same plan into the same file takes it up (hakobi.measuring.session).
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hakobi import conditions, programs, reasons
from hakobi.conditions import Conditions
from hakobi.errors import RunError
from hakobi.measuring import collective
from hakobi.measuring.collective import Sample
from hakobi.measuring.job_log import Log, key_of
from hakobi.measuring.session import End, Job, Session
from hakobi.measuring.storage_model import StorageModel
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.words import count_text

_CYCLES = re.compile(r"(\d+) cycles of ([0-9.]+) MiB .*?access '(\w+)'")
#: The part of a job's share of the time that its samples may take. The rest is starting it and making files.
SAMPLING_SHARE = 0.7
#: Among a plan's accesses: components of the MPI library, told the same buffer size; their names in records.
COMPONENTS = {"romio": "mpi-io (ROMIO)", "ompio": "mpi-io (OMPIO)"}


@dataclass(frozen=True)
class Plan:
    ranks: tuple[int, ...]
    cb_bytes: tuple[int, ...]
    accesses: tuple[str, ...]
    pattern: str
    piece_bytes: int
    file_bytes: int
    depth: int  #: buffers in flight of every access but posix, which has one
    folder: Path
    model: StorageModel | None
    rounds: int
    budget_s: float
    arguments: tuple[str, ...]  #: passed to the program as they are
    timeout_s: float
    sample_s: float = 0.0  #: for a job's samples; 0: its share of the budget


@dataclass(frozen=True)
class Case:
    ranks: int
    cb_bytes: int

    def words(self) -> str:
        """
        >>> Case(8, 1 << 20).words(), Case(8, 1540 << 10).words(), Case(8, 1_000_001).words()
        ('8 ranks, buffer 1 MiB', '8 ranks, buffer 1540 KiB', '8 ranks, buffer 1000001 B')
        """
        units = ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
        size, name = next((self.cb_bytes // unit, name) for unit, name in units if self.cb_bytes % unit == 0)
        return f"{count_text(self.ranks, 'rank')}, buffer {size} {name}"


@dataclass
class Outcome:
    plan: Plan
    flavour: str
    conditions: Conditions
    samples: dict[Case, list[Sample]] = field(default_factory=dict)
    filled: dict[tuple[Case, str], int] = field(default_factory=dict)  #: (case, access) -> bytes of a buffer in use
    cycles: dict[Case, int] = field(default_factory=dict)  #: of a call, where the original fills its buffers
    end: End = field(default_factory=lambda: End(0))
    num_runs: int = 0
    file_bytes: int = 0  #: what the pattern made of the plan's
    piece_bytes: dict[int, int] = field(default_factory=dict)  #: by ranks

    @property
    def limit_gb_s(self) -> float:
        return self.plan.model.limit_gb_s if self.plan.model else 0.0


def cases(plan: Plan, number: int) -> list[Case]:
    """The cases in the order of round `number` (rule 2)."""
    sizes = sorted(plan.cb_bytes)
    order = [*sizes[::2], *sizes[1::2]] if number == 0 else sizes if number % 2 == 0 else sizes[::-1]
    return [Case(ranks, size) for ranks in sorted(plan.ranks) for size in order]


def run(plan: Plan, json_file: Path | None) -> Outcome:
    """Raises InputError and StorageError before the first job, RunError when nothing was finished; what else went wrong
    is in `Outcome.end`."""
    program = programs.find(collective.PROGRAM)
    collective.check_room(plan.folder, plan.file_bytes)
    facts = conditions.collect(program.flavour, {"file": plan.folder})
    outcome = Outcome(plan, program.flavour, facts)
    jobs = [Job(case, number) for number in range(plan.rounds) for case in cases(plan, number)]
    model = plan.model.value() if plan.model else None
    same = [plan.accesses, plan.pattern, plan.piece_bytes, plan.file_bytes, plan.depth, str(plan.folder.absolute())]
    key = key_of("collective-buffer", program, facts, *same, model, plan.arguments)
    log = Log(json_file, {"benchmark": "collective-buffer", **facts, "storage_model": model}, key)
    # Whether the time left is too short does not depend on the buffer's size.
    session = Session(jobs, Case.words, alike=lambda case: case.ranks, budget_s=plan.budget_s, log=log)
    outcome.end = session.run(
        lambda job: _run_job(
            replace(plan, timeout_s=session.limit_s(plan.timeout_s)),
            program,
            job,
            plan.sample_s or SAMPLING_SHARE * session.share_s,
        ),
        lambda job, lines: _take(outcome, job.case, lines),
    )
    outcome.end.check()
    if not outcome.samples:
        raise RunError(
            "no run was finished: give a larger --budget" if outcome.end.is_out_of_time else "nothing to run"
        )
    return outcome


def _run_job(plan: Plan, program: Program, job: Job[Case], budget_s: float) -> list[Record]:
    case, begin_s = job.case, time.monotonic()
    last: Record = {"kind": "run", "benchmark": "collective-buffer", "round": job.round}
    samples: list[Record] = []
    explained = ""
    groups = _groups(plan.accesses)
    num_contenders = sum(len(group) + 1 for group in groups)  # and the floor
    for number, group in enumerate(groups):
        component = next((access for access in group if access in COMPONENTS), "")
        lines, stderr = collective.run_job(
            program,
            _arguments(plan, case, group, budget_s * (len(group) + 1) / num_contenders),
            case.ranks,
            plan.folder,
            model=plan.model,
            environment={"HAKOBI_EXPLAIN": "1", **_selection(program.flavour, component, case.cb_bytes)},
            timeout_s=max(1.0, plan.timeout_s - (time.monotonic() - begin_s)),
        )
        explained += stderr
        summary = next((line for line in lines if line.get("kind") == "summary"), {})
        last |= {"ranks": case.ranks, "cb_bytes": case.cb_bytes, "bytes": summary.get("bytes")}
        last["piece_bytes"] = summary.get("piece_bytes")
        same = {name: last[name] for name in ("benchmark", "round", "cb_bytes", "piece_bytes")} | {"program": number}
        found = [{**line, **same} for line in lines if line.get("kind") == "sample"]
        collective.samples_of(found, 0)  # what is wrong with them is this job's failure
        samples += found
    last["filled_bytes"] = filled_bytes(explained)
    last["cycles"] = cycles(explained).get("posix")
    last["warnings"] = reasons.warnings_of(explained)
    last["wall_s"] = round(time.monotonic() - begin_s, 3)
    return [*samples, last]


def _groups(accesses: tuple[str, ...]) -> list[list[str]]:
    """The contenders of each of a job's programs (rule 1).

    >>> _groups(("posix", "threads", "romio", "ompio"))
    [['posix', 'threads', 'romio'], ['posix', 'ompio']]
    """
    engine = [access for access in accesses if access not in COMPONENTS]
    components = [access for access in accesses if access in COMPONENTS]
    return [engine + components[:1], *(["posix", component] for component in components[1:])]


def _arguments(plan: Plan, case: Case, accesses: list[str], budget_s: float) -> list[str]:
    arguments = ["--pattern", plan.pattern, "--piece", str(plan.piece_bytes), "--size", str(plan.file_bytes)]
    engine = [access for access in accesses if access not in COMPONENTS]
    arguments += ["--access", ",".join(engine), "--cb", str(case.cb_bytes), "--depth", str(plan.depth)]
    arguments += ["--budget", f"{budget_s:.3f}", "--min-samples", "1"]
    arguments += ["--file", "kept"] if plan.model else []  # the medium below shall never be slower than the model
    if plan.model:
        arguments += ["--limit", f"{plan.model.limit_gb_s:.9g}"]
    if not any("hakobi_shuffle" in argument for argument in plan.arguments):
        arguments += ["--hint", "hakobi_shuffle=always"]  # where pieces are coarse the engine would pass the buffers by
    for component in (COMPONENTS[access] for access in accesses if access in COMPONENTS):
        arguments += ["--compare", "mpi-io", "--mpi-io-name", component]
        for hint in (f"cb_buffer_size={case.cb_bytes}", "romio_cb_read=enable", "romio_cb_write=enable"):
            arguments += ["--mpi-hint", hint]
    return [*arguments, *plan.arguments]


def _selection(flavour: str, component: str, cb_bytes: int) -> Mapping[str, str]:
    """The variables for a component; OMPIO (Open MPI 4.1.4) passes over the hint cb_buffer_size."""
    size = {"OMPI_MCA_io_ompio_bytes_per_agg": str(cb_bytes)} if component == "ompio" else {}
    return {**(library_components(flavour).get(component) or {}), **size}


def library_components(flavour: str) -> dict[str, Mapping[str, str]]:
    """The accesses of COMPONENTS that the MPI library has, with the variables that select them."""
    known = {one.contender: one.environment for one in collective.components(flavour)}
    return {access: known[name] for access, name in COMPONENTS.items() if name in known}


def filled_bytes(explained: str) -> dict[str, int]:
    """Access -> bytes of a buffer that the engine said (HAKOBI_EXPLAIN) it fills at most; fewer than asked where a
    file has too few bytes to fill all buffers.

    >>> filled_bytes("hakobi: f: 2 aggregators, 8 cycles of 0.250 MiB aligned to 0 bytes, 4 buffers each, "
    ...              "access 'threads' with at most 4 threads")
    {'threads': 262144}
    """
    result: dict[str, int] = {}
    for _, size, access in _CYCLES.findall(explained):
        result[access] = max(result.get(access, 0), round(float(size) * (1 << 20)))
    return result


def cycles(explained: str) -> dict[str, int]:
    """Access -> the number of cycles of a call, in the same words of the engine.

    >>> cycles("hakobi: f: 2 aggregators, 8 cycles of 0.250 MiB aligned to 0 bytes, 4 buffers each, access 'threads'")
    {'threads': 8}
    """
    return {access: int(number) for number, _, access in _CYCLES.findall(explained)}


def _take(outcome: Outcome, case: Case, lines: list[Record]) -> None:
    *samples, last = lines
    for number in sorted({line.get("program", 0) for line in samples}):
        own = [line for line in samples if line.get("program", 0) == number]
        outcome.samples.setdefault(case, []).extend(collective.samples_of(own, outcome.num_runs))
        outcome.num_runs += 1
    outcome.file_bytes = int(last.get("bytes") or outcome.plan.file_bytes)
    outcome.piece_bytes[case.ranks] = int(last.get("piece_bytes") or 0)
    if last.get("cycles"):
        outcome.cycles[case] = int(last["cycles"])
    for access, size in (last.get("filled_bytes") or {}).items():
        known = outcome.filled.get((case, access), 0)
        outcome.filled[case, access] = max(known, int(size))

"""Jobs of hakobi-scale: one collective write a method and rank count, on a machine that a file describes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hakobi import conditions, files, programs
from hakobi.conditions import Conditions
from hakobi.errors import FormatError, InputError, RunError
from hakobi.measuring import session
from hakobi.measuring.job_log import Log, key_of
from hakobi.measuring.session import End, Job, Session
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.words import count_text
from hakobi_lab.studies.scale.hints import advised
from hakobi_lab.studies.scale.machine import Machine

PROGRAM = "hakobi-scale"
#: In the order of tables. "+layout": the file's stripes are part of the plan.
#: "+hints": and with the hints that such a machine wants (`hints.py`).
METHODS = ("root", "writers", "per-process", "parallel", "pipelined", "pipelined+layout", "pipelined+hints")
DEFAULT_METHODS = tuple(name for name in METHODS if name not in ("per-process", "pipelined+hints"))
MOST_RANKS = 100_000
#: Limits of a write, with their descriptions.
LIMITS = {
    "servers": "the file's servers, with data",
    "locks": "the file's servers, moving locks between nodes",
    "client": "a node's access to the file, or that of a writer's only thread",
    "network": "a node's network",
    "memory": "copies in a node's memory",
    "cores": "a node's processor time",
    "aggregator": "one aggregator's messages and copies, or its I/O threads",
    "descriptions": "telling aggregators who has what",
    "latency": "meetings, and requests that wait for each other",
}


@dataclass(frozen=True)
class Row:
    """One method at one rank count."""

    method: str
    ranks: int
    nodes: int
    bytes: int
    time_s: float
    limit: str  #: of LIMITS
    busy_s: dict[str, float]  #: by LIMITS: for how long the busiest was busy
    aggregators: int
    stripes: int
    phases: int
    words_sent: float  #: of descriptions, by a rank
    words_held: float  #: at a time, by an aggregator
    memory_bytes: float  #: beside the data, of a rank

    @property
    def gb_s(self) -> float:
        return 1e-9 * self.bytes / self.time_s


@dataclass(frozen=True)
class Case:
    machine: Machine
    ranks: int
    methods: tuple[str, ...]
    pattern: str = "block3d"
    bytes: int = 0
    piece_bytes: int = 4096
    stripes: int = 0  #: 0: the machine's default
    stripe_bytes: int = 0

    def words(self) -> str:
        """
        >>> from hakobi_lab.studies.scale.machine import load
        >>> Case(load("frontier"), 64, ()).words()
        'Frontier, Orion, 64 ranks'
        """
        return f"{self.machine.name}, {count_text(self.ranks, 'rank')}"

    def line(self) -> str:
        """As hakobi-scale reads it."""
        values: dict[str, Any] = {
            "name": self.words(),
            "machine": self.machine.costs(),
            "ranks": self.ranks,
            "methods": list(self.methods),
            "pattern": self.pattern,
            "bytes": self.bytes,
            "piece_bytes": self.piece_bytes,
            "stripes": self.stripes or int(self.machine["file.stripes"]),
            "stripe_bytes": self.stripe_bytes or int(self.machine["file.stripe_mib"] * (1 << 20)),
            "hints": advised(self.machine, self.ranks, self.piece_bytes),
        }
        return json.dumps(values)


@dataclass(frozen=True)
class Plan:
    machine: Machine
    ranks: tuple[int, ...]
    methods: tuple[str, ...]
    pattern: str
    rank_bytes: int  #: of each rank
    piece_bytes: int
    timeout_s: float = 600.0

    def cases(self) -> list[Case]:
        return [
            Case(self.machine, ranks, self.methods, self.pattern, ranks * self.rank_bytes, self.piece_bytes)
            for ranks in self.ranks
        ]


@dataclass
class Outcome:
    plan: Plan
    conditions: Conditions
    rows: list[Row] = field(default_factory=list)
    shape: str = ""  #: of the largest array
    end: End = field(default_factory=lambda: End(0))

    def of(self, method: str) -> list[Row]:
        """By ranks."""
        return sorted((row for row in self.rows if row.method == method), key=lambda row: row.ranks)


def parse_ranks(text: str) -> tuple[int, ...]:
    """Rank counts separated by commas, in order; "" is the study's own. Raises InputError.

    >>> parse_ranks("")[:3], parse_ranks("")[-2:], parse_ranks("4096,64")
    ((64, 128, 256), (65536, 100000), (64, 4096))
    """
    if not text.strip():
        return (*(64 << i for i in range(11)), MOST_RANKS)
    counts = [part.strip().replace("_", "") for part in text.split(",") if part.strip()]
    for count in counts:
        if not (count.isascii() and count.isdigit() and 2 <= int(count) <= 10 * MOST_RANKS):
            raise InputError(f"--ranks: '{count}' is not a number of ranks from 2 to {10 * MOST_RANKS}")
    if not counts:
        raise InputError("--ranks names no number")
    return tuple(sorted({int(count) for count in counts}))


def default_methods(machine: Machine, ranks: Sequence[int], piece_bytes: int) -> tuple[str, ...]:
    """DEFAULT_METHODS, and pipelined+hints where there are hints.

    >>> from hakobi_lab.studies.scale.machine import load
    >>> default_methods(load("fat-50"), [64, 16384], 4096)[-1], default_methods(load("frontier"), [64], 4096)[-1]
    ('pipelined+hints', 'pipelined+layout')
    """
    wants_hints = any(advised(machine, count, piece_bytes) for count in ranks)
    return (*DEFAULT_METHODS, "pipelined+hints") if wants_hints else DEFAULT_METHODS


def run(plan: Plan, json_file: Path | None) -> Outcome:
    """Simulates the plan, a job a rank count. Raises InputError without the program, RunError."""
    program = programs.find(PROGRAM)
    facts = conditions.collect(program.flavour)
    outcome = Outcome(plan, facts)
    same = [plan.machine.costs(), plan.machine.values["file"], plan.methods, plan.pattern, plan.rank_bytes]
    log = Log(json_file, {"benchmark": "scale", **facts}, key_of("scale", program, facts, *same, plan.piece_bytes))
    cases = {case.ranks: case for case in plan.cases()}

    def take(_job: Job[int], lines: list[Record]) -> None:
        outcome.rows += [row_of(line) for line in lines if line.get("kind") == "simulated"]
        outcome.shape = next((str(line["shape"]) for line in reversed(lines) if "shape" in line), outcome.shape)

    jobs = Session([Job(ranks, 0) for ranks in cases], lambda ranks: cases[ranks].words(), log=log)
    outcome.end = jobs.run(lambda job: lines_of(program, [cases[job.case]], plan.timeout_s), take)
    outcome.end.check()
    if not outcome.rows:
        raise RunError("nothing was simulated")
    return outcome


def rows_of(cases: Sequence[Case], timeout_s: float = 600.0) -> list[Row]:
    """Every method of every case, in one job. Raises InputError without the program, RunError, FormatError."""
    found = lines_of(programs.find(PROGRAM), cases, timeout_s)
    return [row_of(line) for line in found if line.get("kind") == "simulated"]


def lines_of(program: Program, cases: Sequence[Case], timeout_s: float) -> list[Record]:
    with files.own_folder() as own:
        path = Path(own) / "cases.jsonl"
        path.write_text("".join(f"{case.line()}\n" for case in cases))
        lines, _ = session.run_recorded(program, ["--cases", str(path)], 1, timeout_s=timeout_s)
    return lines


def row_of(line: Record) -> Row:
    """Raises FormatError for what is no line of hakobi-scale's."""
    try:
        return Row(
            method=str(line["method"]),
            ranks=int(line["ranks"]),
            nodes=int(line["nodes"]),
            bytes=int(line["bytes"]),
            time_s=float(line["time_s"]),
            limit=str(line["limit"]),
            busy_s={name: float(line["busy_s"][name]) for name in LIMITS},
            aggregators=int(line["aggregators"]),
            stripes=int(line["stripes"]),
            phases=int(line["phases"]),
            words_sent=float(line["words_sent"]),
            words_held=float(line["most_words_held"]),
            memory_bytes=float(line["memory_bytes"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{PROGRAM}: a record without {error}") from error

"""Runs `hakobi study mpi-cache`.

1. Each round runs the benchmark once with every transport, in an order that turns round by round: what drifts meets
   all of them. Within a run hot and cold samples are interleaved by the program.
2. A figure is the median over the rounds' medians, and so is the ratio of cold to hot: processes differ from each other
   by more than the samples of one (where its memory lies), so that a round, not a sample, is what counts once. Only a
   study of one round is judged by its samples.
3. With a file of records a finished run is appended as a whole: conditions with the first, summaries at the end.
4. What becomes of a run that fails, and of an interrupted study, is hakobi.measuring.session's. Another transport than
   the default that fails in all rounds is one that the library lacks here: it is skipped.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hakobi import conditions, files, launch, programs, records, statistics
from hakobi.conditions import Conditions
from hakobi.errors import FormatError, InputError, RunError, unknown_name
from hakobi.measuring import transports
from hakobi.measuring.job_log import Log, key_of
from hakobi.measuring.session import End, Job, Session, in_rounds, run_recorded
from hakobi.measuring.transports import Transport
from hakobi.programs import Program
from hakobi.records import Record
from hakobi_lab.measuring import nodes

PROGRAM = "hakobi-bench-mpi"


@dataclass(frozen=True)
class Plan:
    ranks: int
    pattern: str
    sizes: str
    names: tuple[str, ...]
    rounds: int
    budget_s: float
    window: str
    use_hwloc: bool
    timeout_s: float
    total_s: float = math.inf  #: after which no run is started


@dataclass(frozen=True)
class Figure:
    """One size with one transport: bandwidths from the medians, cold over hot time with its interval."""

    bytes: int
    hot_s: statistics.Summary
    cold_s: statistics.Summary
    counted_bytes: float
    ratio: statistics.Comparison
    cache_inflated: bool
    wide: bool
    settled: bool  #: all warm-ups ended because the series was stationary

    def rate(self, contender: str) -> statistics.Summary:
        """GB/s of "hot" or "cold" buffers; of a pattern that moves bytes."""
        times = self.hot_s if contender == "hot" else self.cold_s
        return times.inverse(self.counted_bytes / 1e9)

    def gb_s(self, summary: statistics.Summary) -> float | None:
        return self.counted_bytes / summary.median / 1e9 if self.counted_bytes else None


@dataclass
class Outcome:
    plan: Plan
    flavour: str
    conditions: Conditions
    machine: Record = field(default_factory=dict)  #: the benchmark's own conditions record
    measured: dict[str, list[Figure]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)  #: transport -> what moved the bytes
    skipped: dict[str, str] = field(default_factory=dict)
    measurements: list[Record] = field(default_factory=list)
    end: End = field(default_factory=lambda: End(0))


def parse_names(text: str) -> tuple[str, ...]:
    """Transports and places; "all" for the transports. Raises InputError for one that there is not.

    >>> parse_names("default,eager-1K,other-node")
    ('default', 'eager-1K', 'other-node')
    """
    if text == "all":
        return transports.NAMES
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    known = (*transports.NAMES, *transports.PLACES)
    for name in names:
        if name not in known:
            raise unknown_name("transport", name, known)
    if not names:
        raise InputError("--transports names no transport")
    return names


def run(plan: Plan, json_file: Path | None = None) -> Outcome:
    """Raises InputError (nothing to run with); StorageError and FormatError before the first run when the file cannot
    be appended to; RunError when nothing was finished. `Outcome.end` tells how it ended."""
    if plan.pattern == "all" or "," in plan.pattern:
        raise InputError(f"--pattern {plan.pattern}: a study is of one pattern")
    program = programs.find(PROGRAM)
    facts = conditions.collect(program.flavour)
    same = [plan.ranks, plan.pattern, plan.sizes, plan.budget_s, plan.window, plan.use_hwloc]
    log = Log(json_file, key=key_of("mpi-cache", program, facts, *same))
    rows = [*transports.transports(program.flavour), *transports.placed(launch.chooses_nodes(program.flavour))]
    available = {transport.name: transport for transport in rows}
    outcome = Outcome(plan, program.flavour, facts, machine=log.conditions)
    chosen: list[Transport] = []
    for name in plan.names:
        transport = available[name]
        if transport.missing:
            _skip(outcome, log, name, transport.missing)
        else:
            chosen.append(transport)
            outcome.texts[name] = transport.text
    jobs = in_rounds(chosen, plan.rounds)
    session = Session(jobs, lambda transport: transport.name, budget_s=plan.total_s, log=log)
    outcome.end = end = session.run(
        lambda job: _run_job(replace(plan, timeout_s=session.limit_s(plan.timeout_s)), program, job, outcome, log),
        lambda _job, lines: _take(outcome, lines),
    )
    end.check()
    for name in [name for name, gap in end.gaps.items() if gap.is_whole and name != "default"]:
        _skip(outcome, log, name, end.gaps.pop(name).reason)
    outcome.measured = figures_of(outcome.measurements)
    if not outcome.measured:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in outcome.skipped.items())
        raise RunError(f"nothing was measured{': ' if reasons else ''}{reasons}")
    return outcome


def _skip(outcome: Outcome, log: Log, name: str, reason: str) -> None:
    outcome.skipped[name] = reason
    log.add({"kind": "skipped", "benchmark": "mpi-cache", "transport": name, "reason": reason})


def _run_job(plan: Plan, program: Program, job: Job[Transport], outcome: Outcome, log: Log) -> list[Record]:
    transport = job.case
    lines, used = _run_once(plan, program, transport)
    text = transports.with_choice(transport.text, used) if used and job.round == 0 else ""
    if not outcome.machine:
        outcome.machine = next((line for line in lines if line.get("kind") == "conditions"), {})
    log.begin({**outcome.machine, "mpi_flavour": outcome.flavour})
    same = {"transport": transport.name, "round": job.round, **({"moved_by": text} if text else {})}
    kept = [{**line, **same} for line in lines if line.get("kind") == "measurement"]
    if not kept:
        raise FormatError(f"transport {transport.name}: no measurement")
    kept[-1]["warnings"] = [text for line in lines for text in line.get("warnings", [])]
    return kept


def _take(outcome: Outcome, lines: list[Record]) -> None:
    outcome.measurements += lines
    for line in lines:
        if "moved_by" in line:
            outcome.texts[str(line["transport"])] = str(line["moved_by"])


def _run_once(plan: Plan, program: Program, transport: Transport) -> tuple[list[Record], str]:
    """The records of one run, and what moved the bytes where the library below says so."""
    extra = dict(transport.environment)
    if transport.name == "default" or program.flavour == "mpich":
        extra |= transports.TALKING.get(program.flavour, {})
    arguments = ["--pattern", plan.pattern, "--budget", str(plan.budget_s), "--transport", transport.name]
    arguments += ["--sizes", plan.sizes] if plan.sizes else []
    arguments += ["--window", plan.window] if plan.window else []
    arguments += [] if plan.use_hwloc else ["--no-hwloc"]
    what = f"transport {transport.name}"
    is_elsewhere, is_allocated = transport.place == transports.OTHER_NODE, launch.chooses_nodes(program.flavour)
    if is_elsewhere and not is_allocated:
        return _run_on_nodes(plan, program, arguments, extra), ""
    arguments += ["--place", transport.place] if transport.place and not is_elsewhere else []
    each = 1 if is_elsewhere else plan.ranks if is_allocated else 0  # all other rows are of one node
    lines, done = run_recorded(
        program, arguments, plan.ranks, what=what, timeout_s=plan.timeout_s, environment=extra, ranks_each=each
    )
    return lines, transports.used(program.flavour, done.stdout + done.stderr)


def _run_on_nodes(plan: Plan, program: Program, arguments: list[str], extra: dict[str, str]) -> list[Record]:
    """The records of one run whose ranks are on nodes of their own."""
    with files.own_folder() as own:
        file = Path(own) / "records.jsonl"
        places = nodes.Nodes(num=plan.ranks)
        command = ["--json", str(file), *arguments]
        done = nodes.run(places, program, command, timeout_s=plan.timeout_s, variables=extra, folder=Path(own))
        launch.check(done, "two nodes")
        return records.read(file)


def figures_of(measurements: list[Record]) -> dict[str, list[Figure]]:
    """Transport -> figures by size, from all rounds' `measurement` records."""
    hot: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(dict)
    cold: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(dict)
    counted: dict[tuple[str, int], float] = {}
    settled: dict[tuple[str, int], bool] = defaultdict(lambda: True)
    for line in measurements:
        key = (str(line["transport"]), int(line["bytes"]))
        counted[key] = float(line.get("counted_bytes", 0))
        if line["contender"] in ("hot", "cold"):
            (hot if line["contender"] == "hot" else cold)[key][int(line["round"])] = line["samples"]
            settled[key] &= bool(line.get("stationary", True))
    result: dict[str, list[Figure]] = defaultdict(list)
    for key in sorted(hot.keys() & cold.keys()):
        rounds = sorted(hot[key].keys() & cold[key].keys())
        pairs = [(hot[key][number], cold[key][number]) for number in rounds]
        if pairs:
            result[key[0]].append(_figure(key[1], pairs, counted[key], settled[key]))
    return dict(result)


def _figure(size: int, pairs: list[tuple[list[float], list[float]]], counted: float, settled: bool) -> Figure:
    """`pairs` are a round's hot and cold samples each; equal places in the two are neighbours in time."""
    logs_of_rounds = [np.log(cold) - np.log(hot) for hot, cold in pairs]
    if len(pairs) == 1:
        hot_values, cold_values, log_ratios = pairs[0][0], pairs[0][1], list(logs_of_rounds[0])
    else:
        hot_values = [float(np.median(hot)) for hot, _ in pairs]
        cold_values = [float(np.median(cold)) for _, cold in pairs]
        log_ratios = [float(np.median(logs)) for logs in logs_of_rounds]
    hot_s, cold_s = statistics.summarise(hot_values), statistics.summarise(cold_values)
    logs = statistics.compare_interleaved(log_ratios, [0.0] * len(log_ratios))
    low, high = float(np.exp(logs.interval.low)), float(np.exp(logs.interval.high))
    ratio = statistics.Comparison(
        float(np.exp(logs.estimate)), statistics.Interval(low, high, logs.interval.confidence), logs.differs
    )
    # Rounds are slow or fast as a whole, which the ratio does not see; within one round the medians must be
    # apart, too.
    are_apart = len(pairs) > 1 or cold_s.interval.low > hot_s.interval.high
    inflated = counted > 0 and ratio.differs and ratio.estimate > 1 and are_apart
    wide = any((s.interval.high - s.interval.low) > 0.05 * s.median for s in (hot_s, cold_s))
    return Figure(size, hot_s, cold_s, counted, ratio, inflated, wide, settled)


def summary_records(outcome: Outcome) -> list[Record]:
    """One a size and transport; the default transport's come last, as `summary`."""
    result: list[Record] = []
    order = sorted(outcome.measured, key=lambda name: (name == "default", name))
    last = order[-1]
    for name in order:
        for figure in outcome.measured[name]:
            result.append(
                {
                    "kind": "summary" if name == last else "transport-summary",
                    "benchmark": "mpi-cache",
                    "pattern": outcome.plan.pattern,
                    "bytes": figure.bytes,
                    "hot_gb_s": figure.gb_s(figure.hot_s),
                    "cold_gb_s": figure.gb_s(figure.cold_s),
                    "ratio": figure.ratio.estimate,
                    "ratio_ci_low": figure.ratio.interval.low,
                    "ratio_ci_high": figure.ratio.interval.high,
                    "cache_inflated": figure.cache_inflated,
                    "wide": figure.wide,
                    "stationary": figure.settled,
                    "ranks": outcome.plan.ranks,
                    "transport": name,
                    "moved_by": outcome.texts[name],
                }
            )
    return result


def write_summaries(path: Path, outcome: Outcome) -> None:
    """Ends the records. Raises StorageError."""
    for line in summary_records(outcome):
        records.append(path, line)

"""`hakobi study collectives`: every contender in turn, records as they come, a table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hakobi import conditions, programs
from hakobi.measuring.job_log import Log, key_of
from hakobi.measuring.session import End, Job, Session
from hakobi.records import Record
from hakobi.table import Table
from hakobi_lab.studies.collectives import simulation
from hakobi_lab.studies.collectives.network import Network
from hakobi_lab.studies.collectives.simulation import OURS, Failure, Timing, Work


@dataclass
class Outcome:
    network: Network
    timings: list[Timing] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    end: End = field(default_factory=lambda: End(0))

    def of(self, work: Work) -> list[Timing]:
        """Ours first, then by time."""
        found = [timing for timing in self.timings if timing.work == work]
        return sorted(found, key=lambda timing: (timing.contender != OURS, timing.time_s))


def run(
    network: Network, works: Sequence[Work], only: Sequence[str], timeout_s: float, json_file: Path | None
) -> Outcome:
    """Simulates each work with each contender; what it finished before it failed or Ctrl-C came is kept. The summaries
    end the records. Raises RunError when nothing was finished."""
    outcome = Outcome(network)
    program = programs.find(simulation.PROGRAM)
    facts = conditions.collect(program.flavour)
    key = key_of("collectives", program, facts, asdict(network), [work.text for work in works])
    log = Log(json_file, _conditions(network), key)

    def execute(job: Job[tuple[str, bool, str]]) -> list[Record]:
        operation, is_large, contender = job.case
        mine = [work for work in works if (work.operation, work.is_large) == (operation, is_large)]
        timings, failures = simulation.run(network, mine, contender, timeout_s)
        outcome.failures += failures
        lines = [_record("sample", network, timing) for timing in timings]
        # A line of this kind keeps the run from being taken up: another study simulates it again.
        failed = [{"kind": "failed", "contender": contender, "reason": failure.reason} for failure in failures]
        return [*lines, *failed]

    def take(_job: Job[tuple[str, bool, str]], lines: list[Record]) -> None:
        outcome.timings += [_timing(line) for line in lines if line["kind"] == "sample"]

    cases = [
        (operation, is_large, contender)
        for operation, is_large in dict.fromkeys((work.operation, work.is_large) for work in works)
        for contender in simulation.contenders_of(operation, only)
    ]
    session = Session([Job(case, 0) for case in cases], _words, log=log)
    outcome.end = session.run(execute, take).check()
    log.add(*(_record("summary", network, timing) for timing in outcome.timings))
    return outcome


def _words(case: tuple[str, bool, str]) -> str:
    operation, is_large, contender = case
    return f"{operation} of {'large' if is_large else 'small'} blocks by {contender}"


def _conditions(network: Network) -> dict[str, Any]:
    return {
        "benchmark": "study collectives",
        "commit": conditions.commit(),
        "topology": network.topology,
        "nodes": network.num_nodes,
        "bandwidth_bytes_s": network.bandwidth,
        "latency_s": network.latency_s,
        "overhead_s": network.overhead_s,
    }


def _record(kind: str, network: Network, timing: Timing) -> dict[str, Any]:
    return {
        "kind": kind,
        "operation": timing.work.operation,
        "bytes": timing.work.num_bytes,
        "contender": timing.contender,
        "time_s": timing.time_s,
        "bound_s": network.bound_s(timing.work.operation, timing.work.num_bytes),
        "is_correct": timing.is_correct,
        "topology": network.topology,
        "form": timing.form,
    }


def _timing(line: Record) -> Timing:
    work = Work(str(line["operation"]), int(line["bytes"]))
    return Timing(work, str(line["contender"]), float(line["time_s"]), line["is_correct"], str(line["form"]))


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.4g}"


def table(outcome: Outcome) -> Table:
    network = outcome.network
    result = Table(
        title=f"Collectives on {network.topology}: {network.num_nodes} simulated nodes",
        columns=["<operation", "bytes", "<by", "ms", "of the bound", "hakobi is faster", "<correct"],
    )
    works = list(dict.fromkeys(timing.work for timing in outcome.timings))
    for work in works:
        bound_s = network.bound_s(work.operation, work.num_bytes)
        timings = outcome.of(work)
        ours = next((timing.time_s for timing in timings if timing.contender == OURS), None)
        result.rules.add(len(result.rows))
        result.add(work.operation, str(work.num_bytes), "lower bound", _milliseconds(bound_s), "1", "", "")
        for timing in timings:
            is_stock = timing.contender != OURS and ours
            result.add(
                work.operation,
                str(work.num_bytes),
                timing.contender,
                _milliseconds(timing.time_s),
                f"{timing.time_s / bound_s:.2f}" if bound_s else "",
                f"{timing.time_s / ours:.2f}" if is_stock and ours else "",
                {True: "yes", False: "NO", None: "not verified"}[timing.is_correct],
            )
    result.notes.append(
        f"{network.bandwidth / 1e6:g} MB/s a link and direction, {network.latency_s * 1e6:g} us a hop, "
        f"{network.overhead_s * 1e6:g} us of a processor a message sent or received; computing takes no time."
    )
    for failure in outcome.failures:
        texts = ", ".join(work.text for work in failure.works)
        result.notes.append(f"{failure.contender} did not complete {texts}: {failure.reason}")
    result.notes += outcome.end.warnings()
    return result

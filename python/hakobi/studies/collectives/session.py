"""`hakobi study collectives`: every contender in turn, records as they come, a table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hakobi.measuring.session import Job, Log, Session
from hakobi.studies.collectives import simulation
from hakobi.studies.collectives.network import Network
from hakobi.studies.collectives.simulation import OURS, Failure, Timing, Work
from hakobi.table import Table


@dataclass
class Outcome:
    network: Network
    timings: list[Timing] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    is_interrupted: bool = False

    def of(self, work: Work) -> list[Timing]:
        """Ours first, then by time."""
        found = [timing for timing in self.timings if timing.work == work]
        return sorted(found, key=lambda timing: (timing.contender != OURS, timing.time_s))


def run(
    network: Network, works: Sequence[Work], only: Sequence[str], timeout_s: float, json_file: Path | None
) -> Outcome:
    """Simulates each work with each contender; Ctrl-C keeps what was finished. The summaries end the records."""
    outcome = Outcome(network)
    log = Log(json_file, _conditions(network))

    def execute(job: Job[tuple[str, bool, str]]) -> None:
        operation, is_large, contender = job.case
        mine = [work for work in works if (work.operation, work.is_large) == (operation, is_large)]
        timings, failures = simulation.run(network, mine, contender, timeout_s)
        outcome.timings += timings
        outcome.failures += failures
        log.add(*(_record("sample", network, timing) for timing in timings))

    cases = [
        (operation, is_large, contender)
        for operation, is_large in dict.fromkeys((work.operation, work.is_large) for work in works)
        for contender in simulation.contenders_of(operation, only)
    ]
    jobs = [Job(case, 0) for case in cases]
    end = Session(jobs, lambda case: f"{case[0]} of {'large' if case[1] else 'small'} blocks by {case[2]}").run(execute)
    outcome.is_interrupted = end.is_interrupted
    log.add(*(_record("summary", network, timing) for timing in outcome.timings))
    if end.failure:
        raise end.failure
    return outcome


def _conditions(network: Network) -> dict[str, Any]:
    from hakobi import conditions

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
    return result

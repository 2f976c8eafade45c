"""`hakobi study collectives`: the library's collectives on a simulated network, against MPI's algorithms."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi.options import RECORDS, SECONDS, Number


@click.command()
@click.option(
    "--topology", default="hypercrossbar:8,8,8", show_default=True, help="hypercrossbar: or torus:, with extents."
)
@click.option(
    "--work",
    default="allreduce:16,allreduce:8388608,alltoall:4096",
    show_default=True,
    help="OPERATION:BYTES, separated by commas; BYTES is the vector for allreduce and broadcast, otherwise a block.",
)
@click.option("--contenders", default="", help="Only these, separated by commas: hakobi, SMPI's names. [default: all]")
@click.option(
    "--bandwidth",
    type=Number(min=1.0),
    default=250e6,
    show_default=True,
    help="Bandwidth of a link in each direction, bytes/s.",
)
@click.option(
    "--latency-us", type=Number(min=0), default=10.0, show_default=True, help="Latency between neighbouring nodes."
)
@click.option(
    "--overhead-us",
    type=Number(min=0),
    default=1.0,
    show_default=True,
    help="Processor time per message, on each side.",
)
@RECORDS
@click.option(
    "--timeout",
    "timeout_s",
    type=SECONDS,
    default=600.0,
    show_default=True,
    help="Time limit per contender in seconds.",
)
def command(
    topology: str,
    work: str,
    contenders: str,
    bandwidth: float,
    latency_us: float,
    overhead_us: float,
    json_file: Path | None,
    timeout_s: float,
) -> int:
    """Time collectives on a simulated network against MPI's algorithms.

    The library's own collectives, compiled unchanged for SimGrid's SMPI, beside the algorithms that SMPI offers, and
    the least time that the network allows. The defaults are PACS-CS's links; its nodes are hypercrossbar:16,16,10.

    \b
    hakobi study collectives --topology hypercrossbar:16,16,10 --json collectives.jsonl
    """
    from hakobi import files
    from hakobi.errors import RunError, unknown_name
    from hakobi.measuring.session import say_warnings
    from hakobi.table import show
    from hakobi_lab.studies.collectives import network, session, simulation

    declared = network.parse(topology, bandwidth, latency_us * 1e-6, overhead_us * 1e-6)
    works = simulation.parse_works(work)
    only = [name.strip() for name in contenders.split(",") if name.strip()]
    known = {name for item in works for name in simulation.contenders_of(item.operation, ())}
    for name in only:
        if name not in known:
            raise unknown_name("contender", name, sorted(known))
    simulation.find_simulator()
    if json_file:
        files.prepare_file(json_file)
    outcome = session.run(declared, works, only, timeout_s, json_file)
    show(session.table(outcome))
    say_warnings("hakobi study collectives", outcome.end)
    if any(timing.is_correct is False for timing in outcome.timings if timing.contender == simulation.OURS):
        return 1
    if not outcome.timings:
        reasons = "; ".join(failure.reason for failure in outcome.failures)
        raise RunError(f"no contender completed: {reasons}")
    return outcome.end.exit_status()

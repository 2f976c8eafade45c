"""A small hyper-crossbar on this machine: node 1 with a shaped link in each of three dimensions to a partner."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hakobi import conditions, launch
from hakobi.launch import Finished
from hakobi.programs import Program
from hakobi.records import append as append_record
from hakobi.records import read as read_records
from hakobi_lab.measuring import nodes
from hakobi_lab.measuring.nodes import Nodes, UnavailableError

PROGRAM = "hakobi-bench-hypercrossbar"

#: 1448 bytes of a full Ethernet frame of 1514 (as the shaper counts, without preamble and checksum) are
#: payload under TCP with time stamps. Acknowledgements of the other way are not taken off.
FRAME_BYTES, PAYLOAD_BYTES = 1514, 1448


def payload_mb_s(rate_mbit: float) -> float:
    """The payload that a link of that rate carries one way.

    >>> round(payload_mb_s(200), 2)
    23.91
    """
    return rate_mbit / 8 * PAYLOAD_BYTES / FRAME_BYTES


def _cluster(rate_mbit: int, dimensions: int = 3) -> Nodes:
    lines = tuple((1, 2 + dimension) for dimension in range(dimensions))
    return Nodes(1 + dimensions, lines=lines, rate=f"{rate_mbit}mbit")


def check(program: Program, rate_mbit: int) -> None:
    """Raises UnavailableError where this machine makes no such nodes."""
    nodes.check(_cluster(rate_mbit), program)


def run(
    program: Program,
    rate_mbit: int | None,
    arguments: Sequence[str],
    *,
    records: Path | None = None,
    dimensions: int = 3,
    timeout_s: float | None = None,
) -> Finished:
    """Runs the benchmark on one node and its partners, or as ranks of this machine where there is no rate. Its records
    are added to a file, also those of a run that did not end in time. Raises as nodes.run."""
    with tempfile.TemporaryDirectory(prefix="hakobi-hypercrossbar-") as made:
        written = Path(made) / "records"  # where nodes see it, too
        words = ["--json", str(written), *arguments]
        own = {"HAKOBI_COMMIT": conditions.commit() or ""}
        try:
            if rate_mbit is None:
                return launch.run(program, words, 1 + dimensions, timeout_s=timeout_s, extra_environment=own)
            cluster = _cluster(rate_mbit, dimensions)
            words += ["--payload-mb-s", f"{payload_mb_s(rate_mbit):.6f}"]
            return nodes.run(cluster, program, words, timeout_s=timeout_s, variables=own, folder=Path(made))
        finally:
            if records is not None and written.is_file():
                for record in read_records(written):
                    append_record(records, record)


__all__ = ["PROGRAM", "UnavailableError", "check", "payload_mb_s", "run"]

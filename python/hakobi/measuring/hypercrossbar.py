"""A small hyper-crossbar on this machine: node 1 with a shaped link in each of three dimensions to a partner."""

from __future__ import annotations

from collections.abc import Sequence

from hakobi.launch import Finished
from hakobi.measuring import nodes
from hakobi.measuring.nodes import Nodes
from hakobi.programs import Program

PROGRAM = "hakobi-bench-hypercrossbar"

#: Of a full Ethernet frame of 1514 bytes (as the shaper counts, without preamble and checksum) 1448 are payload under
#: TCP with time stamps. Acknowledgements of the other way are not taken off.
FRAME_BYTES, PAYLOAD_BYTES = 1514, 1448


def payload_mb_s(rate_mbit: float) -> float:
    """What a link of that rate carries one way.

    >>> round(payload_mb_s(200), 2)
    23.91
    """
    return rate_mbit / 8 * PAYLOAD_BYTES / FRAME_BYTES


def run(
    program: Program, rate_mbit: int, arguments: Sequence[str], *, dimensions: int = 3, timeout_s: float | None = None
) -> Finished:
    """Runs the benchmark on one node and its partners. Raises as nodes.run."""
    lines = tuple((1, 2 + dimension) for dimension in range(dimensions))
    cluster = Nodes(1 + dimensions, lines=lines, rate=f"{rate_mbit}mbit")
    own = ["--payload-mb-s", f"{payload_mb_s(rate_mbit):.6f}"]
    return nodes.run(cluster, program, [*own, *arguments], timeout_s=timeout_s)

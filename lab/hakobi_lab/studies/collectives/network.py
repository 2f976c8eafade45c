"""Declared networks: their shape, and the least time that an operation takes on them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hakobi.errors import InputError, unknown_name

WIRINGS = ("hypercrossbar", "torus")
OPERATIONS = ("allreduce", "alltoall", "allgather", "broadcast")


@dataclass(frozen=True)
class Network:
    """`bandwidth`: bytes/s of a link in one direction, of which a node has one a dimension (a torus: two). `latency_s`:
    from a node to the next of its line. `overhead_s`: of the processor, for a message sent and for one received."""

    wiring: str
    extents: tuple[int, ...]
    bandwidth: float
    latency_s: float
    overhead_s: float

    @property
    def num_nodes(self) -> int:
        return prod(self.extents)

    @property
    def topology(self) -> str:
        return f"{self.wiring}:{','.join(map(str, self.extents))}"

    @property
    def long_dims(self) -> list[int]:
        return [extent for extent in self.extents if extent > 1]

    def bound_s(self, operation: str, num_bytes: int) -> float:
        """The least time: docs/collectives.md has the formulas. `num_bytes` is the vector of an allreduce or a
        broadcast, else one rank's block."""
        if self.num_nodes == 1:
            return 0.0
        p, links = self.num_nodes, len(self.long_dims) * (2 if self.wiring == "torus" else 1)
        # Every node must hear of every other: so many lines, or steps on a ring, are between the furthest
        # two.
        hops = len(self.long_dims) if self.wiring == "hypercrossbar" else sum(n // 2 for n in self.long_dims)
        if operation == "alltoall":
            moving = max(p * num_bytes * self._crossings(n) / self.bandwidth for n in self.long_dims)
        else:
            node_bytes = {
                "allreduce": 2 * num_bytes * (p - 1) / p,
                "allgather": num_bytes * (p - 1),
                "broadcast": num_bytes,
            }[operation]
            moving = node_bytes / (links * self.bandwidth)
        return max(moving, hops * (self.latency_s + 2 * self.overhead_s))

    def _crossings(self, extent: int) -> float:
        """Links of one dimension that a block of an alltoall goes along, on average, for each that a node has there."""
        if self.wiring == "hypercrossbar":
            return (extent - 1) / extent
        return sum(min(d, extent - d) for d in range(extent)) / extent / 2


def parse(topology: str, bandwidth: float, latency_s: float, overhead_s: float) -> Network:
    """Reads `hypercrossbar:16,16,10`. Raises InputError.

    >>> parse("torus:4,4", 1e9, 1e-6, 0).num_nodes
    16
    """
    wiring, colon, rest = topology.partition(":")
    if wiring not in WIRINGS:
        raise unknown_name("wiring of --topology", wiring, WIRINGS)
    if not colon or not all(part.isascii() and part.isdigit() and int(part) > 0 for part in rest.split(",")):
        raise InputError(f"--topology {topology}: the nodes in each dimension are missing, as in {wiring}:16,16,10")
    extents = tuple(int(part) for part in rest.split(","))
    if prod(extents) > 1 << 16 or len(extents) > 8:
        raise InputError(f"--topology {topology}: more than 65536 nodes or 8 dimensions are not simulated")
    return Network(wiring, extents, bandwidth, latency_s, overhead_s)

"""The nodes of ranks, and mapping ranks to a grid: the calls of C++'s hakobi::Topology.

topology = hakobi.Topology.discover(comm)                     # collective over comm
order = topology.reorder((4, 4, 2), weights=face_bytes)       # local
print(order.text())                                           # between nodes: 1536 of 3072 instead of 2048 (25 % less)
grid_comm = hakobi.reordered(comm, order)                     # collective: renumbers the ranks
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from hakobi._capi import TrafficC
from hakobi._library import check, load, shown
from hakobi.errors import InputError
from hakobi.output import Comm
from hakobi.words import count_text


@dataclass(frozen=True, repr=False)
class Reordering:
    """The rank at each position of a grid, in C order, and its effect on one exchange of all faces.

    Traffic between nodes, in the weights' unit: in the ranks' original order, and reordered; and in total."""

    rank_at: tuple[int, ...]
    between_nodes_before: int
    between_nodes_after: int
    total: int

    def __repr__(self) -> str:
        return shown(self, f"{len(self.rank_at)} ranks, {self.text()}")

    def text(self) -> str:
        """
        >>> Reordering((0, 1), 2048, 1536, 3072).text()
        'between nodes: 1536 of 3072 instead of 2048 (25 % less)'
        """
        before, after = self.between_nodes_before, self.between_nodes_after
        less = 100 * (before - after) / before if before else 0
        return f"between nodes: {after} of {self.total} instead of {before} ({less:.0f} % less)"


class Topology:
    """The node and socket of each rank of a communicator."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._library = load()
        self._handle = handle
        self.num_ranks: int = self._library.hakobi_topology_num_ranks(handle)
        self.num_nodes: int = self._library.hakobi_topology_num_nodes(handle)

    def __repr__(self) -> str:
        return shown(self, f"{count_text(self.num_ranks, 'rank')} on {count_text(self.num_nodes, 'node')}")

    @classmethod
    def discover(cls, comm: Comm) -> Topology:
        """Asks the machine: ranks that share memory are on one node. Collective over `comm`."""
        library = load()
        handle = ctypes.c_void_p()
        check(library, library.hakobi_topology_discover(comm._handle, handle))
        return cls(handle)

    @classmethod
    def declare(cls, node_of_rank: Sequence[int], socket_of_rank: Sequence[int] | None = None) -> Topology:
        """As declared: a node for each rank, from 0, and a socket for each, or none. Local.

        Raises InputError for negative numbers, or lists of different lengths.
        """
        if socket_of_rank is not None and len(socket_of_rank) != len(node_of_rank):
            raise InputError("Topology: a socket for some ranks only")
        library = load()
        handle = ctypes.c_void_p()
        num = len(node_of_rank)
        sockets = None if socket_of_rank is None else (ctypes.c_int * num)(*socket_of_rank)
        check(library, library.hakobi_topology_declare(num, (ctypes.c_int * num)(*node_of_rank), sockets, handle))
        return cls(handle)

    def node_of(self, rank: int) -> int:
        return self._place(self._library.hakobi_topology_node_of, rank)

    def socket_of(self, rank: int) -> int:
        return self._place(self._library.hakobi_topology_socket_of, rank)

    def reorder(
        self,
        ranks: Sequence[int],
        weights: Sequence[int] | None = None,
        is_periodic: Sequence[bool] | None = None,
    ) -> Reordering:
        """Places for the ranks on a grid of `ranks` in each dimension, slowest first, so that neighbours share memory
        where they can; never worse than the ranks' own order. `weights`: bytes of a face normal to each dimension;
        None: all alike. Local; equal on ranks that have equal topologies.

        Raises InputError where the grid has not as many places as there are ranks.
        """
        num = len(ranks)
        for entries in (weights, is_periodic):
            if entries is not None and len(entries) != num:
                raise InputError("Topology: weights and is_periodic need one entry a dimension, or none")
        rank_at = (ctypes.c_int * self.num_ranks)()
        traffic = TrafficC()
        check(
            self._library,
            self._library.hakobi_topology_reorder(
                self._handle,
                num,
                (ctypes.c_int * num)(*ranks),
                None if weights is None else (ctypes.c_int64 * num)(*weights),
                None if is_periodic is None else (ctypes.c_int * num)(*map(int, is_periodic)),
                rank_at,
                traffic,
            ),
        )
        return Reordering(tuple(rank_at), traffic.between_nodes_before, traffic.between_nodes_after, traffic.total)

    def __del__(self) -> None:
        self._library.hakobi_topology_free(self._handle)

    def _place(self, function: ctypes._NamedFuncPointer, rank: int) -> int:
        found: int = function(self._handle, rank)
        if found < 0:
            raise InputError(f"Topology: there is no rank {rank}")
        return found


def reordered(comm: Comm, reordering: Reordering) -> Comm:
    """The same ranks, numbered by their places: they form the grid in C order, as Halo wants them.

    Collective over `comm`; `reordering` is equal on all ranks.

    Raises InputError where it is not one of this communicator's ranks.
    """
    library = load()
    handle = ctypes.c_void_p()
    num = len(reordering.rank_at)
    rank_at = (ctypes.c_int * num)(*reordering.rank_at)
    check(library, library.hakobi_comm_reordered(comm._handle, num, rank_at, handle))
    return Comm(handle)

"""The hints that a machine wants whose nodes write faster than one aggregator (decision 5)."""

from __future__ import annotations

from math import ceil, inf

from hakobi_lab.studies.scale.machine import Machine

MOST_AGGREGATORS = 8  #: of a node
CORES_OF_AGGREGATOR = 4  #: at least: it copies while its threads write
CYCLE_BYTES = 4 << 20  #: a collective buffer, and a stripe of the method's layout
USUAL_DEPTH = 6
#: An aggregator is asked for so much of its own rate: messages come in bursts.
SHARE = 0.75


def rate_of_aggregator(machine: Machine, piece_bytes: int) -> float:
    """Bytes per second that one rank receives and copies into its buffers.

    >>> from hakobi_lab.studies.scale.machine import load
    >>> round(1e-9 * rate_of_aggregator(load("fat-50"), 4096), 1)
    9.5
    """
    copied_s = 1 / machine.scaled("memory.core_gb_s") + machine.scaled("memory.piece_ns") / piece_bytes
    return min(1 / copied_s, machine.scaled("network.rank_gb_s") or inf)


def aggregators_of_node(machine: Machine, ranks: int, piece_bytes: int) -> int:
    """The storage's rate for a node over one aggregator's, from 1 to 8, with four cores each.

    >>> from hakobi_lab.studies.scale.machine import load
    >>> aggregators_of_node(load("frontier"), 1024, 4096), aggregators_of_node(load("fat-50"), 16384, 4096)
    (1, 8)
    """
    of_node = machine.possible(ranks) / machine.num_nodes(ranks)
    wanted = ceil(of_node / (SHARE * rate_of_aggregator(machine, piece_bytes)))
    cores = int(machine["nodes.cores"]) or int(machine["nodes.ranks"])
    return max(1, min(wanted, MOST_AGGREGATORS, int(machine["nodes.ranks"]), cores // CORES_OF_AGGREGATOR))


def advised(machine: Machine, ranks: int, piece_bytes: int) -> dict[str, int]:
    """The hints by name; none where one aggregator is as fast as its node's storage.

    >>> from hakobi_lab.studies.scale.machine import load
    >>> advised(load("frontier"), 1024, 4096)
    {}
    >>> advised(load("fat-50"), 16384, 4096)["cb_nodes"]
    1000
    """
    nodes = machine.num_nodes(ranks)
    one = SHARE * rate_of_aggregator(machine, piece_bytes)
    if machine.possible(int(machine["nodes.ranks"])) <= one:
        return {}
    servers = int(machine["storage.servers"])
    stripes = min(servers, 4 * nodes)
    # As many for each server, or as many servers for each.
    of_node = aggregators_of_node(machine, ranks, piece_bytes)
    aggregators = of_node * nodes if of_node > 1 else min(nodes, ceil(machine.possible(ranks) / one))
    if aggregators > stripes:
        aggregators = round(aggregators / stripes) * stripes
    else:
        stripes = stripes // aggregators * aggregators
    of_server = max(1, aggregators // stripes)
    # Threads that store what the rank receives: each waits for its request.
    stream = machine.scaled("storage.stream_gb_s") or inf
    thread = CYCLE_BYTES / (CYCLE_BYTES / stream + machine.scaled("storage.latency_ms"))
    threads = max(4, min(64, ceil(machine.possible(ranks) / aggregators / thread / 0.9)))
    return {
        "striping_factor": stripes,
        "cb_nodes": aggregators,
        "hakobi_io_threads": threads,
        "hakobi_server_requests": threads * of_server,
        "hakobi_depth": max(USUAL_DEPTH, 2 * threads),
    }


def text_of(hints: dict[str, int]) -> str:
    """As HAKOBI_HINTS takes them.

    >>> text_of({"cb_nodes": 8, "hakobi_depth": 6})
    'cb_nodes=8,hakobi_depth=6'
    """
    return ",".join(f"{name}={value}" for name, value in hints.items())

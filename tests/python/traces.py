"""Traces as the recorder writes them, by hand."""

from __future__ import annotations

import json
from pathlib import Path

Line = dict[str, object]


def write_trace(path: Path, ranks: list[list[list[object]]]) -> Path:
    """`ranks`: each rank's events as the recorder writes them; one communicator of all."""
    world = list(range(len(ranks)))
    lines: list[Line] = [
        {"kind": "trace", "schema": 1, "ranks": len(ranks), "command": "solver", "mpi_library": "test"}
    ]
    for rank, events in enumerate(ranks):
        head = {"num_events": len(events), "num_dropped": 0, "memory_bytes": 1 << 20, "end_us": 0, "groups": [world]}
        lines.append({"kind": "trace-rank", "rank": rank, **head})
        lines.append({"kind": "trace-events", "rank": rank, "first": 0, "events": events})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def halo(partner: int, size: int, start_us: float, took_us: float = 10) -> list[list[object]]:
    """A receive, a send and a wait for both, after computing until `start_us`."""
    return [
        ["ireceive", partner, 0, 0, size, 4096, start_us, start_us],
        ["isend", partner, 0, 0, size, 8192, start_us, start_us],
        ["wait", -1, -1, 0, 0, 0, start_us, start_us + took_us, [0, 1]],
    ]

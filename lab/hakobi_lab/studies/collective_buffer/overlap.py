"""One collective write as the traces of the engine and of the storage's model have it: exchange, file access and what
the servers do over time, original and pipelined."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hakobi import launch, programs, records
from hakobi.errors import FormatError, StorageError
from hakobi.measuring import collective
from hakobi.measuring.storage_model import StorageModel
from hakobi.records import Record
from hakobi_lab import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Names of a trace's events for a reader.
_KINDS = {"deposit": "exchange", "collect": "exchange", "write": "file access", "read": "file access"}
SERVER = "server"


@dataclass(frozen=True)
class Bar:
    row: str  #: "rank 0", "rank 0, I/O thread 1", "server 2"
    kind: str  #: exchange, file access, server
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Call:
    """The last collective call of a trace, from its first rank's begin."""

    bars: list[Bar]
    time_s: float
    num_events: int  #: of the whole trace
    queued_s: dict[str, float] = field(default_factory=dict)  #: by server, what its requests waited for their turn

    def busy_s(self, kind: str) -> float:
        """In how much of the call anything of a kind went on."""
        return float(_measure(_union([bar for bar in self.bars if bar.kind == kind])))

    def overlap_s(self) -> float:
        """In how much of it exchange and file access went on at once."""
        kinds = [[bar for bar in self.bars if bar.kind == kind] for kind in ("exchange", "file access")]
        each = [_measure(_union(bars)) for bars in kinds]
        both = sum(each) - _measure(_union([*kinds[0], *kinds[1]]))
        return float(max(0.0, both))


def record(
    access: str,
    depth: int,
    cb_bytes: int,
    file_bytes: int,
    ranks: int,
    model: StorageModel,
    at: Path,
    timeout_s: float = 120.0,
) -> Call:
    """Runs one write and reads its trace. Raises RunError, StorageError, and FormatError where the trace is no JSON."""
    program = programs.find(collective.PROGRAM)
    with launch.own_folder(program.flavour) as own:
        path = Path(own) / "trace.json"
        arguments = ["--size", str(file_bytes), "--cb", str(cb_bytes), "--depth", str(depth), "--access", access]
        arguments += ["--operation", "write", "--file", "kept", "--hint", "hakobi_shuffle=always"]
        arguments += ["--budget", "1", "--min-samples", "2", "--max-samples", "2"]
        served = Path(own) / "servers.jsonl"
        environment = {"HAKOBI_TRACE": str(path), "HAKOBI_STORAGE_MODEL_TRACE": str(served)}
        collective.run_job(program, arguments, ranks, at, model=model, environment=environment, timeout_s=timeout_s)
        return read(path, records.read(served) if served.is_file() else [])


def read(path: Path, served: Sequence[Record] = ()) -> Call:
    """The last call of a trace file. Raises FormatError, StorageError."""
    try:
        events = json.loads(path.read_text())
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise FormatError(f"{path.name}: not JSON: {error}") from error
    return last_call(events, served)


def last_call(events: list[dict[str, Any]], served: Sequence[Record] = ()) -> Call:
    """`served`: parts of requests, by the storage's model, on the same clock. Pure. Raises FormatError where there is
    no call."""
    timed = [event for event in events if event["ph"] == "X"]
    calls = [event for event in timed if event["name"] in ("write_all", "read_all")]
    if not calls:
        raise FormatError("the trace has no collective call")
    last: dict[int, dict[str, Any]] = {}
    for event in calls:
        if event["pid"] not in last or event["ts"] > last[event["pid"]]["ts"]:
            last[event["pid"]] = event
    begin = min(event["ts"] for event in last.values())
    end = max(event["ts"] + event["dur"] for event in last.values())
    bars = [
        Bar(
            _row(event),
            _KINDS[event["name"]],
            1e-6 * (event["ts"] - begin),
            1e-6 * (event["ts"] + event["dur"] - begin),
        )
        for event in timed
        if event["name"] in _KINDS and event["ts"] >= begin and event["ts"] + event["dur"] <= end
    ]
    queued_s: dict[str, float] = defaultdict(float)
    for part in sorted(served, key=lambda part: int(part["server"])):
        arrival, turn, done = (1e-9 * int(part[name]) - 1e-6 * begin for name in ("arrival_ns", "begin_ns", "end_ns"))
        if arrival >= 0 and done <= 1e-6 * (end - begin):
            row = f"server {part['server']}"
            bars.append(Bar(row, SERVER, turn, done))
            queued_s[row] += turn - arrival
    return Call(bars, 1e-6 * (end - begin), len(events), dict(queued_s))


def _row(event: dict[str, Any]) -> str:
    thread = f", I/O thread {event['tid'] - 1}" if event["tid"] else ""
    return f"rank {event['pid']}{thread}"


def _union(bars: list[Bar]) -> list[tuple[float, float]]:
    """The times in which any bar goes on."""
    result: list[tuple[float, float]] = []
    for bar in sorted(bars, key=lambda bar: bar.begin_s):
        if result and bar.begin_s <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], bar.end_s))
        else:
            result.append((bar.begin_s, bar.end_s))
    return result


def _measure(spans: list[tuple[float, float]]) -> float:
    return float(np.sum([end - begin for begin, end in spans])) if spans else 0.0


def timeline_figure(calls: dict[str, Call]) -> Figure:
    """Each call's bars, a row a rank and I/O thread, an axes a call; of one time scale."""
    figure, all_axes = plots.new_figure(9.2, 2.2 + 2.7 * len(calls), rows=len(calls), share=False)
    longest_ms = max(1000 * call.time_s for call in calls.values())
    for axes, (name, call) in zip(all_axes, calls.items(), strict=True):
        _draw(axes, call)
        axes.set_xlim(0, longest_ms)
        axes.set_title(name)
    all_axes[-1].set_xlabel("milliseconds since the call began")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure


def _draw(axes: Axes, call: Call) -> None:
    def place(row: str) -> tuple[bool, int, str]:
        return row.startswith("server"), int(row.split(",")[0].split()[1]), row

    rows = sorted({bar.row for bar in call.bars}, key=place)
    colours = {"exchange": plots.PALETTE[0], "file access": plots.PALETTE[1], SERVER: plots.PALETTE[2]}
    for kind, colour in colours.items():
        for number, row in enumerate(rows):
            spans = [
                (1000 * bar.begin_s, 1000 * (bar.end_s - bar.begin_s))
                for bar in call.bars
                if bar.row == row and bar.kind == kind
            ]
            axes.broken_barh(spans, (number - 0.4, 0.8), color=colour, linewidth=0, label=kind if number == 0 else None)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")

"""A program's recorded trace (docs/records.md, "Traces"): what each rank communicated, in order."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hakobi import records
from hakobi.errors import FormatError

#: Calls that carry a message between two ranks.
MESSAGES = ("send", "receive", "isend", "ireceive", "sendrecv")
#: Calls of all ranks of a communicator.
COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "scatter", "alltoall")
#: Every call that a trace can have.
CALLS = (*MESSAGES, *COLLECTIVES, "wait", "other")
#: Bytes of a message from which on hakobi-replay cannot send it: an int counts them.
TOO_LARGE = (1 << 31) - 1
#: Microseconds in a trace: 30 years.
MOST_US = 1e15


@dataclass(frozen=True)
class Event:
    """One call. Ranks are world ranks (-1: any, -2: nobody); times are seconds from the trace's start. `group` and
    `copy` are the communicator: its ranks, and which of several of the same ranks it is."""

    call: str
    partner: int
    tag: int
    group: tuple[int, ...]
    bytes: int
    begin_s: float
    end_s: float
    source: int = -2
    receive_bytes: int = 0
    receive_tag: int = -1
    requests: tuple[int, ...] = ()
    copy: int = 0


@dataclass
class Trace:
    """All ranks' events; `dropped` counts those that did not fit the recorder's bound, `not_replayed` by name the
    program's calls that communicate and are kept without their messages."""

    path: Path
    command: str
    mpi_library: str
    ranks: list[list[Event]] = field(default_factory=list)
    dropped: int = 0
    not_replayed: Counter[str] = field(default_factory=Counter)

    def communication_s(self) -> list[float]:
        """Each rank's seconds in calls that can be replayed."""
        return [sum(e.end_s - e.begin_s for e in events if e.call != "other") for events in self.ranks]

    def other_s(self) -> list[float]:
        """Each rank's seconds in calls that communicate but are kept without their messages."""
        return [sum(e.end_s - e.begin_s for e in events if e.call == "other") for events in self.ranks]

    def num_overlapping(self) -> int:
        """Calls that began before the one before them had ended: several threads made them."""
        return sum(
            event.begin_s < before.end_s for events in self.ranks for before, event in itertools.pairwise(events)
        )

    def not_replayed_text(self) -> str:
        """The names of those calls, the most frequent first; probes, which carry no messages, last.

        >>> counted = Counter({"MPI_Iprobe": 900, "MPI_Put": 3, "MPI_Rget": 4})
        >>> Trace(Path("t"), "", "", not_replayed=counted).not_replayed_text()
        'MPI_Rget, MPI_Put, MPI_Iprobe'
        """
        by_count = [name for name, _count in self.not_replayed.most_common()]
        return ", ".join(sorted(by_count, key=lambda name: name.lower().endswith("probe")))

    def message_sizes(self) -> Counter[int]:
        """Bytes of a sent message -> how many, over all ranks."""
        return Counter(
            e.bytes
            for events in self.ranks
            for e in events
            if e.call in ("send", "isend", "sendrecv") and e.partner != -2
        )

    def collectives(self) -> Counter[tuple[str, int, int]]:
        """(call, ranks, bytes) -> how many calls, over all ranks."""
        return Counter(
            (e.call, len(e.group), e.bytes) for events in self.ranks for e in events if e.call in COLLECTIVES
        )


def read(path: Path) -> Trace:
    """Raises StorageError (missing), FormatError when the file is no whole trace.

    It is read more than once, by replaying ranks too: a pipe will not do, and one without a writer would never end.
    """
    if path.exists() and not path.is_file():
        raise FormatError(f"{path} is no regular file, as a trace is")
    lines = records.read(path)
    if not lines or lines[0].get("kind") != "trace":
        raise FormatError(f"{path} is not a trace: 'hakobi run --record FILE -- …' makes one")
    head = lines[0]
    try:
        trace = Trace(path, str(head.get("command", "")), str(head.get("mpi_library", "")))
        num_ranks = _integer(head["ranks"])
        if not 0 < num_ranks < len(lines):  # each has a line of its own at least
            raise ValueError(f"{num_ranks} ranks in {len(lines)} lines")
        trace.ranks = [[] for _ in range(num_ranks)]
        groups: dict[int, list[tuple[int, ...]]] = {}
        copies: dict[int, list[int]] = {}
        expected: dict[int, int] = {}
        for line in lines[1:]:
            if line["kind"] not in ("trace-rank", "trace-events"):
                raise ValueError(f"a line of kind {line['kind']!r}")
            rank = _integer(line["rank"])
            if not 0 <= rank < num_ranks:
                raise ValueError(f"rank {rank} of {num_ranks}")
            if line["kind"] == "trace-rank":
                if rank in groups:
                    raise ValueError(f"rank {rank} comes twice")
                groups[rank] = [tuple(map(_integer, group)) for group in line["groups"]]
                copies[rank] = [_integer(copy) for copy in line.get("copies", [0] * len(groups[rank]))]
                if len(copies[rank]) != len(groups[rank]):
                    raise ValueError(f"{len(copies[rank])} copies for {len(groups[rank])} groups")
                for member in (member for group in groups[rank] for member in group):
                    if not 0 <= member < num_ranks:
                        raise ValueError(f"a communicator with rank {member} of {num_ranks}")
                expected[rank] = _integer(line["num_events"])
                trace.dropped += _integer(line["num_dropped"])
                for name, count in line.get("not_replayed", {}).items():
                    trace.not_replayed[str(name)] += _integer(count)
            else:
                events = trace.ranks[rank]
                if _integer(line["first"]) != len(events):
                    raise ValueError(f"rank {rank}'s events from {line['first']} on follow {len(events)}")
                for values in line["events"]:
                    event = _event(values, groups[rank], copies[rank])
                    if reason := _nonsense(event, events, num_ranks):
                        raise FormatError(f"{path}: rank {rank}'s event {len(events)} cannot be replayed: {reason}")
                    events.append(event)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise FormatError(f"{path} is not a whole trace: {type(error).__name__} {error}") from error
    for rank, events in enumerate(trace.ranks):
        if expected.get(rank) != len(events):
            raise FormatError(f"{path}: rank {rank}'s events are not all there")
    return trace


def loop(trace: Trace) -> list[tuple[int, int]]:
    """Each rank's events (first, end) of the program's main loop: its set-up and its end are not what repeats.

    The loop reaches from the first to the last of the messages that occur about as often as the commonest one, and is
    then widened to the collectives of all ranks around it: cut there, no rank's part holds what another's lacks. The
    whole trace when nothing repeats.
    """
    everyone = set(range(len(trace.ranks)))
    before: list[int] = []
    after: list[int] = []
    meetings: list[list[int]] = []
    for events in trace.ranks:
        often = Counter((e.call, e.partner, e.bytes) for e in events if e.call in MESSAGES and e.partner != -2)
        least = max(often.values(), default=0) / 2
        inside = [i for i, e in enumerate(events) if often[e.call, e.partner, e.bytes] >= max(2, least)]
        met = [i for i, e in enumerate(events) if e.call in COLLECTIVES and set(e.group) == everyone]
        meetings.append(met)
        if inside:
            before.append(sum(i < inside[0] for i in met))
            after.append(sum(i <= inside[-1] for i in met))
    if not before:
        return [(0, len(events)) for events in trace.ranks]
    first, last = min(before), max(after)
    return [
        (met[first - 1] + 1 if first > 0 else 0, met[last] + 1 if last < len(met) else len(events))
        for met, events in zip(meetings, trace.ranks, strict=True)
    ]


def crop(trace: Trace, ranges: list[tuple[int, int]], target: Path) -> Trace:
    """Writes the ranges of the trace's events to `target`, as a trace of its own that begins at 0, and reads it."""
    start_us = 1e6 * min(
        events[first - 1].end_s if first > 0 else 0.0 for events, (first, _end) in zip(trace.ranks, ranges, strict=True)
    )
    cut: list[list[Any]] = [[] for _ in trace.ranks]
    heads: list[dict[str, Any]] = []
    for line in records.read(trace.path):
        if line["kind"] != "trace-events":
            heads.append(line)
            continue
        first, end = ranges[line["rank"]]
        for number, values in enumerate(line["events"], start=line["first"]):
            if first <= number < end:
                values[6:8] = [values[6] - start_us, values[7] - start_us]
                if values[0] == "wait":
                    values[8] = [request - first for request in values[8] if request >= first]
                cut[line["rank"]].append(values)
    for head in heads:
        if head["kind"] == "trace":
            records.append(target, head)
            continue
        events = cut[head["rank"]]
        records.append(target, {**head, "num_events": len(events)})
        records.append(target, {"kind": "trace-events", "rank": head["rank"], "first": 0, "events": events})
    return read(target)


def _integer(value: Any) -> int:
    """A whole number that is written as one. Raises ValueError."""
    if type(value) is not int:
        raise ValueError(f"{value!r} is no whole number")
    return value


def _event(values: list[Any], groups: list[tuple[int, ...]], copies: list[int]) -> Event:
    call, partner, tag, group, size, address = values[0], *map(_integer, values[1:6])
    if call not in CALLS:
        raise ValueError(f"no call is named {call!r}")
    begin_us, end_us = values[6], values[7]
    for time_us in (begin_us, end_us):
        if type(time_us) not in (int, float) or not abs(time_us) <= MOST_US:
            raise ValueError(f"a {call} at {time_us!r} us")
    if address < 0:
        raise ValueError(f"a {call} at address {address}")
    if call not in ("wait", "other") and group < 0:
        raise ValueError(f"a {call} in group {group}")
    known, copy = (groups[group], copies[group]) if call not in ("wait", "other") else ((), 0)
    common = (str(call), partner, tag, known, size, begin_us / 1e6, end_us / 1e6)
    if call == "sendrecv":
        source, receive_bytes, _address = map(_integer, values[8:11])
        tag = _integer(values[11]) if len(values) > 11 else -1
        return Event(*common, source=source, receive_bytes=receive_bytes, receive_tag=tag, copy=copy)
    return Event(*common, requests=tuple(map(_integer, values[8]))) if call == "wait" else Event(*common, copy=copy)


def _nonsense(event: Event, before: list[Event], num_ranks: int) -> str:
    """Says what no recorder would have written behind a rank's events `before`, or hakobi-replay could not follow; ""
    where all is well."""
    for size in (event.bytes, event.receive_bytes):
        if not 0 <= size < TOO_LARGE:
            return f"a {event.call} of {size} bytes (2^31 - 1 or more are not replayed)"
    for rank in (event.partner, event.source):
        if not -2 <= rank < num_ranks:
            return f"a {event.call} with rank {rank} of {num_ranks}"
    if event.end_s < event.begin_s:
        return f"a {event.call} that ends before it begins"
    for request in event.requests:
        if not 0 <= request < len(before) or before[request].call not in ("isend", "ireceive"):
            return f"a wait for event {request}"
    return ""

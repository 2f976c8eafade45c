"""Predicts a recorded program's communication time from a benchmark's figures.

1. Each rank walks through its events on a clock of its own. Between two events passes the program's own time, as
   recorded: a rank that came late then comes late now, and its partner waits.
2. A message may be taken from the moment of its send. The receiver then works on it for the time that the figures
   have for its size (two ranks that send to each other at once: what a halo exchange does), one message after the
   other. A message larger than the eager limit holds its sender's wait until it has been taken: by the receiver's
   wait or, where ranks would wait for each other for ever, by any call in which the receiver waits meanwhile.
3. A collective begins when those have come whose data it needs: all, or the root.
4. Communication is the time between a call's begin and end; the part of it in which a partner had not come yet is
   counted as waiting. Figures change the rest only.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field

from hakobi.errors import FormatError
from hakobi_lab.measuring.trace import COLLECTIVES, Event, Trace

#: Bytes up to which a send completes by itself, where the library does not say another number.
EAGER_BYTES = 4096

#: The measured pattern that stands for a collective without one of its own.
STANDS_FOR = {
    "barrier": "barrier",
    "bcast": "bcast",
    "scatter": "bcast",
    "reduce": "bcast",
    "gather": "bcast",
    "allreduce": "allreduce",
    "allgather": "alltoall",
    "alltoall": "alltoall",
}


class Figures:
    """Seconds over bytes of one pattern; between measured sizes on a straight line through the logarithms, beyond
    the largest at its bandwidth."""

    def __init__(self, points: Mapping[int, float]) -> None:
        """`points`: bytes -> seconds. Raises ValueError when there is none or a time is not positive."""
        if not points or min(points.values()) <= 0:
            raise ValueError("figures are one size with a positive time or more")
        self._bytes = sorted(points)
        self._seconds = [points[size] for size in self._bytes]

    def seconds(self, size: int) -> float:
        """
        >>> figures = Figures({0: 1e-6, 1000: 2e-6, 100_000: 20e-6})
        >>> [round(1e6 * figures.seconds(n), 2) for n in (0, 500, 1000, 10_000, 100_000, 200_000)]
        [1.0, 1.87, 2.0, 6.32, 20.0, 40.0]
        """
        at = bisect.bisect_left(self._bytes, size)
        if at < len(self._bytes) and self._bytes[at] == size:
            return self._seconds[at]
        if at == 0:
            return self._seconds[0]
        if at == len(self._bytes):
            return self._seconds[-1] * size / self._bytes[-1] if self._bytes[-1] > 0 else self._seconds[-1]
        low, high = math.log1p(self._bytes[at - 1]), math.log1p(self._bytes[at])
        share = (math.log1p(size) - low) / (high - low)
        return math.exp(math.log(self._seconds[at - 1]) * (1 - share) + math.log(self._seconds[at]) * share)


@dataclass
class Prediction:
    """Seconds of each rank."""

    communication_s: list[float]
    waiting_s: list[float]


@dataclass
class _Message:
    sent_s: float
    bytes: int
    taken_s: float | None = None


@dataclass
class _Gathering:
    """A collective call that its ranks come to."""

    came_s: dict[int, float] = field(default_factory=dict)


class _World:
    """The state that the ranks' walks share."""

    def __init__(self, message: Figures, collective: Callable[[str, int, int], float], eager_bytes: int) -> None:
        self.message = message
        self.collective = collective
        self.eager_bytes = eager_bytes
        #: By ranks and copy of the communicator, sender and receiver: tags and messages.
        self.sent: dict[tuple[tuple[int, ...], int, int, int], deque[tuple[int, _Message]]] = defaultdict(deque)
        self.gatherings: dict[tuple[tuple[int, ...], int, int], _Gathering] = defaultdict(_Gathering)

    def post(self, event: Event, rank: int, clock_s: float) -> _Message:
        message = _Message(clock_s, event.bytes)
        self.sent[event.group, event.copy, rank, event.partner].append((event.tag, message))
        return message

    def take(self, receive: Event, source: int, rank: int, tag: int) -> _Message | None:
        """The earliest message on a receive's communicator that it matches, or None while there is none."""
        group, copy = receive.group, receive.copy
        sources = [source] if source >= 0 else [member for member in group if self.sent[group, copy, member, rank]]
        best: tuple[deque[tuple[int, _Message]], int] | None = None
        for member in sources:
            queue = self.sent[group, copy, member, rank]
            for place, (its_tag, message) in enumerate(queue):
                if tag in (-1, its_tag):
                    if best is None or message.sent_s < best[0][best[1]][1].sent_s:
                        best = (queue, place)
                    break
        if best is None:
            return None
        message = best[0][best[1]][1]
        del best[0][best[1]]
        return message


class _Walk:
    """One rank on its way through its events."""

    def __init__(self, world: _World, rank: int, events: list[Event]) -> None:
        self.world, self.rank, self.events = world, rank, events
        self.clock_s = self.communication_s = self.waiting_s = 0.0
        self.pending: dict[int, Event | _Message] = {}
        self.collectives: dict[tuple[tuple[int, ...], int], int] = defaultdict(int)

    def steps(self) -> Generator[None]:
        """Goes on until it must see what another rank does; then yields, and looks again."""
        previous_end_s = 0.0
        for number, event in enumerate(self.events):
            self.clock_s += max(0.0, event.begin_s - previous_end_s)
            previous_end_s = event.end_s
            begin_s = self.clock_s
            if event.call == "other":
                continue
            if event.call in COLLECTIVES:
                yield from self._collective(event)
            elif event.call == "wait":
                yield from self._wait(event.requests)
            elif event.partner == -2 and event.call != "sendrecv":
                pass
            elif event.call == "isend":
                self.pending[number] = self.world.post(event, self.rank, self.clock_s)
            elif event.call == "ireceive":
                self.pending[number] = event
            elif event.call == "send":
                yield from self._finish_send(self.world.post(event, self.rank, self.clock_s))
            elif event.call == "receive":
                yield from self._receive(event, event.partner, event.tag)
            elif event.call == "sendrecv":
                message = self.world.post(event, self.rank, self.clock_s) if event.partner != -2 else None
                if event.source != -2:
                    yield from self._receive(event, event.source, event.receive_tag)
                if message is not None:
                    yield from self._finish_send(message)
            self.communication_s += self.clock_s - begin_s

    def _wait(self, requests: tuple[int, ...]) -> Generator[None]:
        for request in requests:
            while isinstance(self.pending.get(request), Event) and not self._try(request):
                yield
        for message in [self.pending.pop(request, None) for request in requests]:
            if isinstance(message, _Message):
                yield from self._finish_send(message)

    def _try(self, request: int) -> bool:
        """Takes the message of a posted receive if it has been sent."""
        receive = self.pending[request]
        assert isinstance(receive, Event)
        message = self.world.take(receive, receive.partner, self.rank, receive.tag)
        if message is None:
            return False
        del self.pending[request]
        self._work(message)
        return True

    def progress(self) -> bool:
        """Does what MPI does for this rank while it waits in another call: takes messages of posted receives."""
        receives = [request for request, made in self.pending.items() if isinstance(made, Event)]
        return sum(self._try(request) for request in receives) > 0

    def _receive(self, receive: Event, source: int, tag: int) -> Generator[None]:
        while (message := self.world.take(receive, source, self.rank, tag)) is None:
            yield
        self._work(message)

    def _work(self, message: _Message) -> None:
        self.waiting_s += max(0.0, message.sent_s - self.clock_s)
        self.clock_s = max(self.clock_s, message.sent_s) + self.world.message.seconds(message.bytes)
        message.taken_s = self.clock_s

    def _finish_send(self, message: _Message) -> Generator[None]:
        if message.bytes <= self.world.eager_bytes:
            return
        while message.taken_s is None:
            yield
        self.waiting_s += max(0.0, message.taken_s - self.clock_s)
        self.clock_s = max(self.clock_s, message.taken_s)

    def _collective(self, event: Event) -> Generator[None]:
        number = self.collectives[event.group, event.copy]
        self.collectives[event.group, event.copy] += 1
        gathering = self.world.gatherings[event.group, event.copy, number]
        gathering.came_s[self.rank] = self.clock_s
        needed = {
            "bcast": {event.partner},
            "scatter": {event.partner},
            "reduce": set(event.group) if self.rank == event.partner else set[int](),
            "gather": set(event.group) if self.rank == event.partner else set[int](),
        }.get(event.call, set(event.group))
        while not needed <= gathering.came_s.keys():
            yield
        begin_s = max([self.clock_s, *(gathering.came_s[rank] for rank in needed)])
        self.waiting_s += begin_s - self.clock_s
        self.clock_s = begin_s + self.world.collective(event.call, len(event.group), event.bytes)


def predict(
    trace: Trace,
    message: Figures,
    collective: Callable[[str, int, int], float],
    eager_bytes: int = EAGER_BYTES,
) -> Prediction:
    """Walks all ranks through the trace. `collective(call, ranks, bytes)` gives a collective's seconds once all are
    there. Raises FormatError when ranks wait for messages that the trace has not."""
    world = _World(message, collective, eager_bytes)
    walks = [_Walk(world, rank, events) for rank, events in enumerate(trace.ranks)]
    going = {rank: walk.steps() for rank, walk in enumerate(walks)}
    while going:
        # A round in which no clock moves and nobody finishes will be followed by its like for ever.
        before = _state(walks, world)
        for rank in list(going):
            if next(going[rank], going) is going:
                del going[rank]
        if going and _state(walks, world) == before and sum(walks[rank].progress() for rank in going) == 0:
            ranks = ", ".join(map(str, going))
            raise FormatError(f"{trace.path}: ranks {ranks} wait for messages that nobody sends: {_why_stuck(trace)}")
    return Prediction([walk.communication_s for walk in walks], [walk.waiting_s for walk in walks])


def _why_stuck(trace: Trace) -> str:
    if trace.dropped:
        return f"{trace.dropped} calls did not fit the recorder (HAKOBI_RECORD_EVENTS)"
    if trace.num_overlapping():
        return "several threads communicated at once, and one cannot do that again in their order"
    named = f" ({names})" if (names := trace.not_replayed_text()) else ""
    return f"the trace is cut off, or they are in calls whose messages are not recorded{named}"


def _state(walks: list[_Walk], world: _World) -> tuple[float, int, int]:
    return (
        sum(walk.clock_s for walk in walks),
        sum(map(len, world.sent.values())),
        sum(len(gathering.came_s) for gathering in world.gatherings.values()),
    )

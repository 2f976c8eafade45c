"""A long, thin line on one machine: a relay that holds bytes back as such a line would.

The kernel shapes rates but does not delay here (no netem). So each direction gives bytes on when they would have
arrived: after those before them at the line's rate, and half a round trip. A new connection costs a round trip more.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Iterator

_PIECE = 4096


class _Direction:
    """All bytes one way, of all connections."""

    def __init__(self, bytes_per_s: float, delay_s: float) -> None:
        self._bytes_per_s, self._delay_s = bytes_per_s, delay_s
        self._lock = threading.Lock()
        self._free_at = 0.0

    def due(self, num_bytes: int) -> float:
        """When bytes that are sent now have arrived."""
        with self._lock:
            self._free_at = max(self._free_at, time.monotonic()) + num_bytes / self._bytes_per_s
            return self._free_at + self._delay_s


def _carry(source: socket.socket, target: socket.socket, way: _Direction, extra_s: float) -> None:
    arriving: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def give() -> None:
        while True:
            when, data = arriving.get()
            time.sleep(max(0.0, when - time.monotonic()))
            try:
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
            except OSError:
                return

    giver = threading.Thread(target=give, daemon=True)
    giver.start()
    with contextlib.suppress(OSError):
        while data := source.recv(_PIECE):
            arriving.put((way.due(len(data)) + extra_s, data))
    arriving.put((way.due(0) + extra_s, b""))
    giver.join()


@contextlib.contextmanager
def slow_line(port: int, bytes_per_s: float, round_trip_s: float) -> Iterator[int]:
    """A port at 127.0.0.1 that leads to `port` there over such a line."""
    there, back = (_Direction(bytes_per_s, round_trip_s / 2) for _ in range(2))
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

        def connect(near: socket.socket, far: socket.socket) -> None:
            with near, far:
                for end in (near, far):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                answers = threading.Thread(target=_carry, args=(far, near, back, 0.0), daemon=True)
                answers.start()
                _carry(near, far, there, round_trip_s)
                answers.join()

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    near, _ = listener.accept()
                    far = socket.create_connection(("127.0.0.1", port))
                    threading.Thread(target=connect, args=(near, far), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)

"""Answers kept in memory: bounded in bytes, shared by all viewers, each made once however many ask for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future


class Cache:
    """The most recently used answers of at most `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._coming: dict[str, Future[bytes]] = {}
        self.num_bytes = 0

    def get(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The answer of that key; who asks first makes it, the others wait for it. What `make` raises, all get."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            coming = self._coming.get(key)
            if coming is None:
                mine = self._coming[key] = Future()
        if coming is not None:
            return coming.result()
        try:
            answer = make()
        except BaseException as error:
            with self._lock:
                del self._coming[key]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._coming[key]
            self._keep(key, answer)
        mine.set_result(answer)
        return answer

    def _keep(self, key: str, answer: bytes) -> None:
        if len(answer) > self._most_bytes // 4:
            return
        self._kept[key] = answer
        self.num_bytes += len(answer)
        while self.num_bytes > self._most_bytes:
            self.num_bytes -= len(self._kept.popitem(last=False)[1])

"""Keeps answers made for viewers in memory: bounded in bytes, each made once however many ask for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Cache(Generic[Item]):
    """The most recently used items of at most `most_bytes` together; `size` says how large one is. An item of more
    than a half of that is not kept."""

    def __init__(self, most_bytes: int, size: Callable[[Item], int]) -> None:
        self._most_bytes, self._size = most_bytes, size
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Item] = OrderedDict()
        self._coming: dict[str, Future[Item]] = {}
        self.num_bytes = 0

    def get(self, key: str, make: Callable[[], Item]) -> Item:
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

    def find(self, key: str) -> Item | None:
        """The kept answer of that key."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: str, answer: Item) -> None:
        """An answer that was made elsewhere."""
        with self._lock:
            if key not in self._kept:
                self._keep(key, answer)

    def _keep(self, key: str, answer: Item) -> None:
        if self._size(answer) > self._most_bytes // 2:
            return
        self._kept[key] = answer
        self.num_bytes += self._size(answer)
        while self.num_bytes > self._most_bytes:
            self.num_bytes -= self._size(self._kept.popitem(last=False)[1])
